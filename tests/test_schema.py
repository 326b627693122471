"""Roles and kinds: contradictions named, everything at fault in one error, TOML there and back."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import HedgerowError, SchemaError, UnsupportedError
from hedgerow.hierarchy import Hierarchy
from hedgerow.schema import KINDS, TABLES, Event, Schema


def test_roles():
    schema = Schema(quasi=["age", "job"], sensitive="income", identifiers=("name",))
    assert schema.sensitive == ("income",)
    roles = [schema.role(n) for n in ("age", "income", "name", "height")]
    assert roles == ["quasi", "sensitive", "identifier", "undeclared"]


def test_contradictions_come_in_one_error():
    with pytest.raises(SchemaError) as caught:
        Schema(quasi=["a", "b", "a"], sensitive=["b"], kinds={"c": "number"}, categories={"d": ["x", "x"]})
    for part in (
        "'a' is twice in quasi",
        "'b' is quasi and sensitive",
        "'c' has the unknown kind 'number'",
        "'d' declares a category twice",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    "fields", [{"quasi": 5}, {"categories": {"a": "xy"}}, {"categories": {"a": 5}}, {"kinds": ["a"]}]
)
def test_fields_of_the_wrong_shape(fields):
    with pytest.raises(SchemaError):
        Schema.from_mapping(fields)


@pytest.mark.parametrize(
    ("fields", "message", "hint"),
    [
        ({"quasi": ["a", "a"]}, "column 'a' is twice in quasi", "name each column once"),
        ({"quasi": ["a"], "sensitive": ["a"]}, "column 'a' is quasi and sensitive", "give each column one role"),
        ({"kinds": {"a": "categorial"}}, "unknown kind 'categorial' (did you mean 'categorical'?)", "the kinds are"),
        ({"missing": 5}, "missing is not a list of words", 'write for example missing = ["a", "b"]'),
        ({"quasi": 5}, "quasi is not a list of column names", 'write for example quasi = ["a", "b"]'),
        ({"encoding": "x"}, "encoding is 'x'", "such as cp1252"),
        ({"decimal": ";"}, "decimal is ';'", "the decimal separator is ',' or '.'"),
        ({"rest": "all"}, "rest is 'all'", "released with rest=release"),
        ({"together": True}, "no household is named", "name the column that says who lives together"),
        ({"sensitive": ["a"], "follows": {"a": "a"}}, "column 'a' follows itself", "name another column"),
        ({"quasi": ["a"], "unit": "a"}, "the unit 'a' is quasi as well", "or give it a copy"),
    ],
)
def test_every_fault_has_a_hint_of_its_own(fields: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_mapping(fields)
    assert message in caught.value.message
    assert hint in str(caught.value.hint)
    assert hint == "give each column one role" or "one role" not in str(caught.value.hint)


def test_all_columns_at_fault_with_near_names():
    schema = Schema(quasi=["agee", "Job", "x9"], sensitive=["incom"], other=["zzz"], kinds={"hight": "numeric"})
    with pytest.raises(SchemaError) as caught:
        schema.check(["age", "job", "income", "height"])
    message = str(caught.value)
    for part in (
        "no column 'agee' (did you mean 'age'?)",
        "no column 'Job' (did you mean 'job'?)",
        "no column 'x9';",
        "no column 'incom' (did you mean 'income'?)",
        "no column 'zzz'",
        "no column 'hight' (did you mean 'height'?)",
        "the table's columns are: age, job, income, height",
    ):
        assert part in message


def test_check_passes():
    schema = Schema(quasi=["a"], sensitive=["b"])
    schema.check(["a", "b", "c"])
    with pytest.raises(SchemaError):
        schema.check(["a"])


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@st.composite
def schemas(draw):
    columns = draw(st.lists(names, unique=True, max_size=8))
    roles = [draw(st.sampled_from(["quasi", "sensitive", "identifiers", "other"])) for _ in columns]
    chosen = {role: [c for c, r in zip(columns, roles, strict=True) if r == role] for role in set(roles)}
    kinds = {c: draw(st.sampled_from(KINDS)) for c in columns[:3]}
    categories = {c: draw(st.lists(names, unique=True, max_size=4)) for c in columns[:2]}
    values = draw(st.lists(names.filter(lambda v: v != "*"), unique=True, max_size=3))
    hierarchies = {c: Hierarchy({v: (v, "a group of all", "*") for v in values}) for c in columns[:1] if values}
    return Schema(**chosen, kinds=kinds, categories=categories, hierarchies=hierarchies)


@given(schemas())
def test_toml_round_trip(schema):
    assert Schema.from_toml(schema.to_toml()) == schema


def test_toml_files_with_a_hierarchy_beside_them(tmp_path):
    (tmp_path / "job.csv").write_text("nurse;health;*\ncook;service;*\n")
    (tmp_path / "s.toml").write_text('quasi = ["job"]\n[hierarchies]\njob = "job.csv"\n')
    schema = Schema.from_toml(tmp_path / "s.toml")
    assert schema.hierarchies["job"].generalize("cook", 1) == "service"
    assert Schema.from_toml(str(tmp_path / "s.toml")) == schema
    assert Schema.from_toml('quasi = ["a"]').quasi == ("a",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("quasi = [\n", "not valid TOML"),
        ('quasy = ["a"]\n', "unknown schema keys: quasy"),
        ("none.toml", "cannot read the schema none.toml"),
    ],
)
def test_toml_faults(text, message):
    with pytest.raises(SchemaError, match=message):
        Schema.from_toml(text)


def test_toml_that_is_no_text(tmp_path):
    (tmp_path / "s.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="not UTF-8"):
        Schema.from_toml(tmp_path / "s.toml")


def test_replace():
    schema = Schema(quasi=["a"]).replace(sensitive=["b"])
    assert (schema.quasi, schema.sensitive) == (("a",), ("b",))


def test_a_grid_is_written_out() -> None:
    schema = Schema(quasi=["age"], grid={"age": (0, 20, 5), "size": [1.5, 2], "zip": "-50:-10:20"})
    assert schema.grid == {"age": (0, 5, 10, 15, 20), "size": (1.5, 2), "zip": (-50, -30, -10)}
    assert schema.replace(sensitive=["pay"]).grid == schema.grid
    three = Schema(grid={"age": [0, 18, 25]})
    assert three.replace(quasi=["age"]).grid == {"age": (0, 18, 25)}
    born = Schema(grid={"born": [dt.date(1990, 1, 1), "2000-01-01"]})
    assert born.grid == {"born": ("1990-01-01", "2000-01-01")}


@pytest.mark.parametrize("grid", [(5, 0, 1), (0, 5, 0), [3, 2], [], "0-85", 7, ["1990-01-01", 5], ["x"]])
def test_a_grid_that_is_none(grid: object) -> None:
    with pytest.raises(SchemaError, match="grid of column 'age'"):
        Schema(grid={"age": grid})  # type: ignore[dict-item]


def test_a_unit_is_an_identifier_unless_it_is_other() -> None:
    schema = Schema(quasi=["age"], unit="person")
    assert schema.role("person") == "identifier"
    assert Schema(quasi=["age"], other=["person"], unit="person").role("person") == "other"
    with pytest.raises(SchemaError, match="the unit 'age' is quasi as well"):
        Schema(quasi=["age"], unit="age")
    with pytest.raises(SchemaError, match="no column 'person'"):
        schema.check(["age"])


def test_undeclared_columns_have_no_role_unless_the_rest_is_released() -> None:
    schema = Schema(quasi=["age"], identifiers=["name"], other=["year"])
    assert schema.undeclared(["age", "name", "year", "height"]) == ["height"]
    assert schema.role("height") == "undeclared"
    assert schema.replace(rest="release").role("height") == "other"
    with pytest.raises(SchemaError, match="rest is 'keep'"):
        Schema(rest="keep")


def test_a_grid_of_dates_by_a_step_is_told_how_dates_are_written() -> None:
    with pytest.raises(SchemaError) as refused:
        hr.Schema(quasi=["day"], grid={"day": "2020-01-01:2021-01-01:30"})
    assert '["2020-01-01", "2020-07-01"]' in str(refused.value)
    days = hr.Schema(quasi=["day"], grid={"day": ["2020-01-01", "2020-07-01"]})
    assert list(days.grid["day"]) == ["2020-01-01", "2020-07-01"]


def test_units_grids_and_events_survive_toml() -> None:
    for unit in ("person", None):
        schema = Schema(
            quasi=["age"],
            sensitive=["income"],
            unit=unit,
            grid={"age": (0, 10, 5)},
            events={"income": [">200000", "< 0"]},
            rest="release",
        )
        assert schema.events == {"income": ("> 200000", "< 0")}
        assert Schema.from_toml(schema.to_toml()) == schema
    assert Schema.from_toml(Schema(quasi=["age"]).to_toml()).unit is Schema().unit
    with pytest.raises(SchemaError, match="event of column 'income'"):
        Schema(sensitive=["income"], events={"income": ["rich"]})
    with pytest.raises(SchemaError, match="steps over its last point"):
        Schema(quasi=["age"], grid={"age": (30, 50, 70)})
    with pytest.raises(SchemaError, match="with and without a time zone"):
        Schema(quasi=["day"], grid={"day": ["2020-06-01", "2021-06-01T00:00:00+02:00"]})
    with pytest.raises(SchemaError, match="events of column 'age' are declared, but it is not"):
        Schema(quasi=["age"], events={"age": ["> 17"]})
    told = Schema(quasi=["a"], sensitive=["b"], events={"b": "> 1"})
    with pytest.raises(SchemaError, match="it holds no numbers"):
        hr.protect({"a": [1, 1], "b": ["x", "y"]}, told, hr.MART(2))


def test_a_method_refuses_what_it_does_not_heed() -> None:
    table = {"id": [1, 2, 3, 4], "a": [1, 2, 3, 4], "b": [1.0, 2.0, 3.0, 4.0]}
    roles = Schema(quasi=["a"], sensitive=["b"], identifiers=["id"])
    for said, method in (({"grid": {"a": (0, 9, 3)}}, hr.LocalSuppression(2)), ({"unit": "id"}, hr.Anatomy(2))):
        schema = roles.replace(**said)
        with pytest.raises(UnsupportedError, match=f"does not support {next(iter(said))}"):
            hr.protect(table, schema, method)
        assert hr.protect(table, schema.replace(unit=None, grid={}), method).checks


def test_events_compare_numbers_as_they_are_written() -> None:
    """2^53 + 1 has no double, and 0.3 is none; whoever writes them means them."""
    above = Event.parse("id", "> 9007199254740992")
    assert above.holds(2**53 + 1)
    assert not above.holds(2**53)
    assert Event.parse("pay", "= 0.10000000000000000001").holds(Decimal("0.10000000000000000001"))
    assert not Event.parse("pay", "= 0.1").holds(Decimal("0.10000000000000000001"))
    assert Event.parse("pay", "= 0.3").holds(0.3)
    assert Event.parse("pay", ">= 1e2").holds(100.0)
    assert Event.parse("id", ">=9007199254740993").text == ">= 9007199254740993"


@pytest.mark.parametrize("bound", ["nan", "inf", "-Infinity", "1e999", "1e-999", "sNaN"])
def test_the_bound_of_an_event_is_a_number(bound: str) -> None:
    with pytest.raises(SchemaError, match="not a sign and a number"):
        Schema(sensitive=["pay"], events={"pay": [f"> {bound}"]})


def test_a_grid_of_too_many_points_is_refused_before_it_is_written_out():
    with pytest.raises(SchemaError, match="850,000,000 points"):
        Schema(grid={"age": (0, 85, 1e-7)})


def test_a_household_is_left_out_and_a_weight_is_kept() -> None:
    schema = Schema(quasi=["age"], household="home", weight="w", together=True)
    assert [schema.role(n) for n in ("home", "w", "age")] == ["identifier", "other", "quasi"]
    assert schema.undeclared(["home", "w", "age", "x"]) == ["x"]
    assert Schema(quasi=["age", "w"], weight="w").role("w") == "quasi"
    assert Schema.from_toml(schema.to_toml()) == schema
    with pytest.raises(SchemaError, match="no column 'home'; no column 'w'"):
        schema.check(["age"])
    for fields, told in (
        ({"household": "age"}, "the household 'age' is quasi as well"),
        ({"household": "id", "unit": "id"}, "the household 'id' is the unit or the weight as well"),
        ({"weight": "id", "unit": "id"}, "the weight 'id' is the unit as well"),
        ({"weight": "id", "identifiers": ["id"]}, "the weight 'id' is identifier as well"),
        ({"weight": "pay", "sensitive": ["pay"]}, "the weight 'pay' is sensitive as well"),
        ({"household": 5}, "household is not the name of a column"),
        ({"weight": ["w"]}, "weight is not the name of a column"),
    ):
        with pytest.raises(SchemaError, match=told):
            Schema(quasi=["age"], **fields)


@pytest.mark.parametrize("ends", [(100, 0), "0:5", (1,), ("31.12.1950", "31.12.2023"), 5])
def test_bounds_are_two_values_the_smaller_first(ends: Any) -> None:
    with pytest.raises(
        SchemaError, match="bounds of column 'income' must be two numbers or two dates, the smaller first"
    ):
        hr.Schema(sensitive=["income"], bounds={"income": ends})


def test_columns_of_several_levels_get_no_advice_for_the_command_line() -> None:
    with pytest.raises(SchemaError, match="give columns plain names first") as refused:
        hr.Schema(quasi=["age"], sensitive=["pay"]).check(["('x', 'age')", "('x', 'pay')"])
    assert "--quasi" not in str(refused.value)


def test_a_leader_that_is_no_name_is_a_fault_and_no_crash() -> None:
    with pytest.raises(SchemaError, match="'b'"):
        hr.Schema(quasi=["a", "b"], follows={"a": "b", "b": ["c"]})


ODD: dict[str, Any] = {
    "nothing": lambda: None,
    "number": lambda: 5,
    "text": lambda: "cook",
    "bytes": lambda: b"cook",
    "mapping": lambda: {"cook": "service"},
    "list of lists": lambda: [["cook"], ["nurse"]],
    "set": lambda: {"cook", "nurse"},
    "list with none": lambda: ["cook", None],
    "array of no dimension": lambda: np.array(5),
    "array of arrays": lambda: np.array([[1, 2], [3, 4]]),
    "series of texts": lambda: pd.Series(["cook", "nurse"]),
}
LISTS = ("quasi", "sensitive", "identifiers", "other", "missing")
WORDS = ("unit", "household", "weight", "together", "rest", "decimal", "encoding")


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("part", [*TABLES, "hierarchies"])
def test_what_is_said_of_a_column_is_refused_by_its_name(part: str, odd: str) -> None:
    told = {part: {"pay": ODD[odd]()}, "quasi": ["age"], "sensitive": ["pay"]}
    if (part, odd) == ("categories", "series of texts"):
        assert getattr(Schema(**told), part)["pay"] == ("cook", "nurse")
        return
    if part == "rare" and odd in ("text", "number"):
        assert Schema(**told).rare == {"pay": str(ODD[odd]())}
        return
    with pytest.raises(SchemaError, match="'pay'") as refused:
        Schema(**told)
    assert refused.value.hint or part == "hierarchies"
    assert "nurse" not in refused.value.message


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("part", [*LISTS, *WORDS, *TABLES, "hierarchies"])
def test_fields_of_an_odd_type_are_refused_at_the_schema_or_at_the_table(part: str, odd: str) -> None:
    people = {"age": [1, 2, 3, 4], "job": ["a", "b", "a", "b"], "pay": [1, 2, 3, 4]}
    with suppress(HedgerowError):  # no other error
        schema = Schema(**{"quasi": ["age", "job"], "sensitive": ["pay"], part: ODD[odd]()})
        hr.protect(people, schema, hr.MART(2))


@pytest.mark.parametrize("part", ["kinds", "rest", "decimal", "encoding"])
def test_a_word_that_is_a_column_is_told_by_its_type(part: str) -> None:
    column = pd.Series(["secret", "secrets"])
    with pytest.raises(SchemaError, match="'Series'") as refused:
        Schema(**{part: {"job": column} if part == "kinds" else column})
    assert "secret" not in str(refused.value)


def test_columns_named_by_numbers_are_named_so_everywhere() -> None:
    schema = Schema(quasi=[0], kinds={0: "categorical"}, categories={0: [1, 2]})  # type: ignore[list-item, dict-item]
    assert schema == Schema(quasi=["0"], kinds={"0": "categorical"}, categories={"0": ["1", "2"]})
    with pytest.raises(SchemaError, match="no column '1'"):
        Schema(quasi=[0], kinds={1: "numeric"}).check(["0"])  # type: ignore[list-item, dict-item]


@pytest.mark.parametrize("method", [hr.MART(3), hr.Hedge(3), hr.Mondrian(3), hr.Datafly(3), hr.LocalSuppression(3)])
@pytest.mark.parametrize("listed", [["100"], [str(100 * i) for i in range(1, 9)]], ids=["one", "all"])
def test_numbers_with_declared_categories_are_categories_for_plan_and_method(method: Any, listed: list[str]) -> None:
    draws = np.random.default_rng(3)
    people = pd.DataFrame(
        {
            "age": draws.integers(20, 30, 60),
            "job": draws.choice(["nurse", "cook", "smith"], 60),
            "pay": draws.integers(1, 9, 60) * 100,
        }
    )
    schema = Schema(quasi=["age", "job"], sensitive=["pay"], categories={"pay": listed})
    plan = hr.protect(people, schema, method).plan
    assert {c.name: c.kind for c in plan.columns}["pay"] == "categorical"


@pytest.mark.parametrize("method", [hr.MART(3), hr.Hedge(3), hr.Datafly(3), hr.RandomizedResponse(random_state=1)])
@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_categories_that_are_not_declared_come_after_those_that_are(method: Any, kind: str) -> None:
    people = pd.DataFrame({"age": range(24), "job": ["nurse", "cook", "smith"] * 8, "ill": ["flu", "none"] * 12})
    schema = Schema(
        quasi=["age", "job"],
        sensitive=["ill"],
        kinds={"job": kind, "ill": kind},
        categories={"job": ["smith"], "ill": ["none"]},
    )
    assert all(check.holds for check in hr.protect(people, schema, method).checks)
