"""The whole audit: its promises about form, order, input and what it says."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.auditing.result import MEASURES
from hedgerow.errors import InputError, ParameterError, SchemaError

from .conftest import people_of


@pytest.fixture(scope="module")
def found(people, release, schema):
    return hr.audit(people, release, schema, people=100, k=10, population=people_of(3000, seed=0))


def test_it_states_what_decides(found):
    risk = found.risk["release"]
    assert risk["classes"]["k"] >= 10 > found.risk["original"]["classes"]["k"]
    assert risk["reidentification"]["prosecutor"]["highest"] == 1 / risk["classes"]["k"]
    assert risk["reidentification"]["journalist"]["highest"] <= 1 / risk["classes"]["k"]
    for name in ("pay", "ill"):
        given = risk["sensitive"][name]["disclosure"]
        assert given["mean_over_groups"] <= given["worst"]
        assert (
            given["mean_over_records"] <= found.risk["original"]["sensitive"][name]["disclosure"]["mean_over_records"]
        )
    assert risk["sensitive"]["ill"]["matching"] is None
    tried = {"regression", "linking", "predicate singling out", "downcoding"}
    assert {a["attack"] for a in found.attacks} == tried
    assert 0 < found.utility["loss"]["ncp"] < 1
    assert found.utility["loss"]["c_avg"] >= 1


def test_json_fits_the_published_schema(found):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.validate(json.loads(found.to_json()), hr.audit.json_schema())


def test_json_schema_names_every_part(found):
    data, described = json.loads(found.to_json()), hr.audit.json_schema()
    release, measured = (set(parts["required"]) for parts in described["anyOf"])
    assert release == {"release"}
    assert set(described["required"]) | measured == set(data)
    assert set(described["properties"]) == set(data) | release | {"private"}  # of a release of PrivateTree
    for part in ("risk", "utility", "table"):
        assert set(described["properties"][part]["required"]) == set(data[part])
    attack = described["$defs"]["AttackData"]["properties"]
    assert all(set(a) <= set(attack) for a in data["attacks"])
    side = described["$defs"]["SensitiveRisk"]["properties"]
    # what groups tell of true values is measured of guarded releases alone
    assert set(data["risk"]["release"]["sensitive"]["pay"]) == set(side) - {"originals"}


def test_every_measure_states_direction_range_and_formula():
    for measure in MEASURES.values():
        assert measure["better"] in ("higher", "lower")
        assert measure["formula"]
        assert measure["low"] is not None or measure["high"] is not None
        if measure["low"] is not None and measure["high"] is not None:
            assert measure["low"] < measure["high"]


def test_text_shows_original_beside_release(found):
    text = str(found)
    assert "k (smallest group)" in text
    assert "regression: pay (right: within 10% of the value)\n  tree " in text
    assert "regression: ill (right: the exact value)\n" in text
    pay = next(a for a in found.attacks if (a["learner"], a["target"]) == ("tree", "pay"))
    low, high = pay["over_control_interval"]
    assert f"{pay['over_control']:.1%} ({low:.1%} to {high:.1%})" in text
    assert "safe" not in text


def test_the_same_audit_whatever_the_row_order_and_frame(people, release, schema):
    order = np.random.default_rng(1).permutation(len(people))
    options = {"attacks": False}
    one = hr.audit(people, release, schema, **options)
    two = hr.audit(people.iloc[order], release.iloc[order], schema, **options)
    left, right = json.loads(one.to_json()), json.loads(two.to_json())
    assert left["risk"]["release"]["classes"] == right["risk"]["release"]["classes"]
    assert left["utility"]["learning"] == right["utility"]["learning"]
    assert left["utility"]["queries"]["range"] == right["utility"]["queries"]["range"]
    assert _rounded(left) == _rounded(right)
    for frame in (pl.from_pandas, pa.Table.from_pandas):
        other = hr.audit(frame(people), frame(release), schema, **options)
        assert json.loads(other.to_json()) == left


def _rounded(value):
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return round(value, 9) if isinstance(value, float) else value


def test_any_release_of_mart_is_understood(people, schema):
    for style in ("range", "mean"):
        release = hr.protect(people, schema, hr.MART(k=15, max_disclosure=0.6, numeric=style, categorical="weighted"))
        found = hr.audit(people, release, schema, attacks=False, learning=False)
        assert found.risk["release"]["classes"]["k"] >= 15
        assert found.risk["release"]["sensitive"]["pay"]["disclosure"]["worst"] <= 0.6 + 1e-9


def test_suppressed_rows_and_cells(people, schema):
    numbered = people.assign(row=range(len(people)))
    release = numbered.iloc[5:].assign(sex="*")
    found = hr.audit(numbered, release, schema, key="row", attacks=False, learning=False)
    assert found.table["suppressed"] == 5
    assert found.utility["loss"]["columns"]["sex"]["suppressed"] == 1.0


def test_nothing_sensitive_is_an_audit_of_classes(people, release):
    found = hr.audit(people, release, hr.Schema(quasi=["age", "job"]), people=50)
    assert found.risk["release"]["sensitive"] == {}
    assert [a["attack"] for a in found.attacks] == ["linking"] * 2 + ["predicate singling out"] * 2 + ["downcoding"] * 2
    assert str(found)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a b.c": [1], "y": [2.0]}),
        pd.DataFrame({"a b.c": [1, 1], "y": [2.0, 2.0]}),
        pd.DataFrame({"a b.c": [None, "x"], "y": [None, 3.0]}),
        pd.DataFrame({"a b.c": [True, False, None], "y": ['é,"', "b", "b"]}),
        pd.DataFrame({"a b.c": pd.to_datetime(["2020-01-01", "2021-05-05", None]), "y": [1, 2, 3]}),
    ],
    ids=["one row", "constant", "nulls", "booleans", "dates"],
)
def test_odd_tables_audit_against_themselves(table):
    found = hr.audit(table, table, hr.Schema(quasi=["a b.c"], sensitive=["y"]), people=5, learning=len(table) > 2)
    assert found.utility["loss"]["ncp"] == 0.0
    json.loads(found.to_json())


def test_bad_input_is_named(people, release, schema):
    with pytest.raises(InputError, match="cannot be aligned"):
        hr.audit(people, release.head(50).assign(pay=1.0, ill="flu"), schema, paired=True)
    with pytest.raises(SchemaError, match="lacks 'pay'"):
        hr.audit(people, release.drop(columns="pay"), schema)
    with pytest.raises(InputError, match="no original value"):
        hr.audit(people, release.assign(age="[900-901]"), schema)
    for wrong in ({"k": 0}, {"threshold": 0}, {"people": 0}, {"learners": ["oracle"]}):
        with pytest.raises(ParameterError):
            hr.audit(people, release, schema, **wrong)


def test_saved_files_are_private(found, tmp_path):
    found.save(tmp_path / "audit.json")
    assert (tmp_path / "audit.json").stat().st_mode & 0o777 == 0o600
    assert json.loads((tmp_path / "audit.json").read_text())["hedgerow_audit"] == 1


def test_disclosure_is_the_promise_kept_for_missing_categories():
    """Missing sensitive values take no part, in the promise and in the audit alike."""
    people = pa.table(
        {
            "age": [20, 21, 22, 23, 50, 51, 52, 53] * 4,
            "job": (["cook", None, "nurse", "cook", "nurse", None, None, "smith"] * 4),
        }
    )
    schema = hr.Schema(quasi=["age"], sensitive=["job"])
    release = hr.protect(people, schema, hr.MART(k=4, max_disclosure=0.9))
    measured = hr.audit(people, release, schema, attacks=False, learning=False)
    promised = next(c for c in release.checks if c.name == "disclosure")
    worst = measured.risk["release"]["sensitive"]["job"]["disclosure"]["worst"]
    assert worst == pytest.approx(promised.reached, abs=1e-9)
    assert len(set(release.table["age"].to_pylist())) > 1


def test_the_order_of_the_rows_changes_no_number():
    """A release and its audit, as plain data, are the same for shuffled rows."""
    people = hr.datasets.make_people(3000, seed=5)
    mixed = people.take(np.random.default_rng(0).permutation(people.num_rows))
    schema = hr.Schema(quasi=["age", "education", "job"], sensitive=["income", "diagnosis"])
    found = []
    for table in (people, mixed):
        release = hr.protect(table, schema, hr.MART(k=10))
        measured = hr.audit(table, release, schema, attacks=False, learning=False)
        found.append((release.plan, release.summary(), measured.to_json()))
    assert found[0] == found[1]
