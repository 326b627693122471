"""Standards as profiles: a table that meets each, one that does not, and what a checker gets."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import hedgerow as hr
from hedgerow.auditing.safe_harbor import identifiers_found
from hedgerow.cli.app import run
from hedgerow.columns.table import Table
from hedgerow.errors import Cancelled, ParameterError, PromiseError
from hedgerow.release.records import evidence_schema
from hedgerow.report.standards import standard_verdict
from hedgerow.report.verdict import verdict, verdicts
from hedgerow.workflow.protect import stronger

SCHEMA = hr.Schema(quasi=["job"], sensitive=["ill"])
QUIET = {"attacks": False, "learning": False, "inference": False}


def groups(*sizes: int) -> pa.Table:
    """A released table with groups of these sizes."""
    jobs = [f"job{i}" for i, size in enumerate(sizes) for _ in range(size)]
    return pa.table({"job": jobs, "ill": [i % 2 == 0 for i in range(len(jobs))]})


def against(released: pa.Table, profile: Any, original: Any = None, **more: Any) -> Any:
    schema = more.pop("schema", SCHEMA)
    return hr.audit(original, released, schema, profile=profile, **{**QUIET, **more}).profile


@pytest.mark.parametrize(
    ("profile", "meets", "fails"),
    [
        ("ema-0070", (12, 30), (11, 30)),  # 1/12 = .083, 1/11 = .0909
        ("health-canada-prci", (12, 30), (11, 30)),
        ("ontario-ipc-low", (12, 30), (11, 30)),
        ("ontario-ipc-medium", (14, 30), (13, 30)),  # 1/14 = .0714, 1/13 = .0769
        ("ontario-ipc-high", (20, 30), (19, 30)),  # 1/20 = .05, 1/19 = .0526
        ("cms-cell-size", (22, 30), (10, 30)),
    ],
)
def test_thresholds_of_group_sizes(profile: str, meets: tuple[int, ...], fails: tuple[int, ...]) -> None:
    found = against(groups(*meets), profile)
    assert found["state"] == "meets"
    assert all(row["clause"] and row["threshold"] for row in found["criteria"])
    found = against(groups(*fails), profile)
    assert found["state"] == "does not meet"
    (row, *_) = found["criteria"]
    assert row["figure"] == pytest.approx(min(fails) if row["statistic"] == "k" else 1 / min(fails), abs=1e-9)


def test_an_average_may_keep_what_the_maximum_does_not() -> None:
    rows = {row["name"]: row for row in against(groups(5, 100, 100), "ema-0070")["criteria"]}
    assert rows["maximum risk"]["state"] == "does not meet"
    assert rows["average risk"]["state"] == "meets"  # 3 groups of 205 records: .0146
    assert rows["average risk"]["figure"] == pytest.approx(3 / 205, abs=1e-9)


@pytest.mark.parametrize("k", [3, 5])
def test_ihsn(k: int) -> None:
    people = groups(k, 20)
    population = pa.concat_tables([people] * 4)
    found = against(people, f"ihsn-k{k}", people, population=population)
    told, highest, risk = found["criteria"]
    assert (told["state"], told["figure"]) == ("meets", k)
    assert (highest["state"], highest["figure"]) == ("measured", pytest.approx(1 / k))
    assert (risk["state"], risk["figure"]) == ("measured", pytest.approx(1 / (4 * k)))
    assert found["state"] == "meets"
    found = against(groups(k - 1, 20), f"ihsn-k{k}")
    assert found["state"] == "does not meet"
    assert found["criteria"][2]["state"] == "not measured"


def test_ihsn_lets_a_missing_value_match_any_other() -> None:
    """As its guide does: five records of a class without a job fit the others of their age."""
    table = pa.table({"age": [30] * 12, "job": ["cook"] * 10 + [None] * 2, "pay": list(range(12))})
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"])
    found = hr.audit(None, table, schema, profile="ihsn-k3", **QUIET)
    assert found.risk["release"]["classes"]["k"] == 2
    (k, highest, _) = found.profile["criteria"]
    assert (k["figure"], k["state"]) == (12.0, "meets")
    assert "match anything" in k["detail"]
    assert highest["figure"] == pytest.approx(1 / 12)
    people = table.append_column("who", pa.array([str(i // 2) for i in range(12)]))
    by_person = hr.audit(None, people, schema.replace(unit="who"), profile="ihsn-k3", **QUIET)
    (k, *_) = by_person.profile["criteria"]
    assert (k["figure"], k["state"]) == (1.0, "does not meet")  # people are counted strictly


@pytest.mark.parametrize(("ill", "state"), [(5, "does not meet"), (11, "meets"), (0, "meets")])
def test_cms_counts_the_cells_of_sensitive_categories(ill: int, state: str) -> None:
    """Cells of 5 and 3 people met it, for k alone was tested."""
    pieces = [("a", "yes")] * ill + [("a", "no")] * (40 - ill) + [("b", "no")] * 30 + [("b", "yes")] * 12
    table = pa.table({"job": [j for j, _ in pieces], "ill": [i for _, i in pieces]})
    found = against(table, "cms-cell-size", schema=hr.Schema(quasi=["job"], sensitive=["ill"]))
    assert found["state"] == state
    size, cells = found["criteria"]
    assert size["state"] == "meets"
    assert cells["figure"] == (ill if ill else 12)
    assert "smallest in ill" in cells["detail"]


@pytest.mark.parametrize("role", ["other", "undeclared", "sensitive"])
def test_cms_is_not_met_where_a_released_column_is_not_counted(role: str) -> None:
    """A ward of three people, and a number of 40 values, met it."""
    table = pa.table({"job": ["a"] * 40, "ill": [True, False] * 20, "ward": [3] * 3 + [4] * 37})
    schema = hr.Schema(quasi=["job"], sensitive=["ill"], other=["ward"] if role == "other" else [])
    why = "not counted, for they are not sensitive: ward"
    if role == "sensitive":
        table = table.set_column(2, "ward", pa.array(range(40)))
        schema, why = schema.replace(sensitive=["ill", "ward"]), "not counted, for they have more than 20"
    found = against(table, "cms-cell-size", schema=schema)
    size, cells = found["criteria"]
    assert (size["state"], cells["state"], found["state"]) == ("meets", "not measured", "not measured")
    assert cells["figure"] is None
    assert why in cells["detail"]
    assert "smallest in ill: 20" in cells["detail"]
    assert "not measured where a released column is not counted" in cells["asks"]
    assert "neither quasi-identifiers nor sensitive" in found["note"]
    few = table.set_column(1, "ill", pa.array([True] * 5 + [False] * 35))
    _, cells = against(few, "cms-cell-size", schema=schema)["criteria"]
    assert (cells["state"], cells["figure"]) == ("does not meet", 5.0)  # counted cells are enough to fail
    assert why in cells["detail"]


def test_no_marginal_count_or_difference_is_smaller_than_the_smallest_cell() -> None:
    """The profile says so: every count by fewer columns, and a total less it, is a sum of cells."""
    rng = np.random.default_rng(5)
    n = 400
    table = pd.DataFrame({c: rng.choice(list("xyz"), n) for c in ("a", "b", "ill")})
    schema = hr.Schema(quasi=["a", "b"], sensitive=["ill"])
    found = hr.audit(None, table, schema, **QUIET).risk["release"]["sensitive"]["ill"]["smallest_cell"]
    assert found == table.groupby(["a", "b", "ill"]).size().min()
    for names in (["a", "ill"], ["b", "ill"], ["a"], ["ill"], ["a", "b"]):
        counts = table.groupby(names).size()
        assert counts.min() >= found
        assert min(c for c in n - counts if c) >= found


def test_cells_count_people_and_say_what_is_no_category() -> None:
    table = pa.table(
        {
            "job": ["a"] * 24,
            "ill": ["yes"] * 12 + ["no"] * 12,
            "pay": list(range(24)),
            "who": [str(i // 3) for i in range(24)],
        }
    )
    schema = hr.Schema(quasi=["job"], sensitive=["ill", "pay"], unit="who")
    _, cells = against(table, "cms-cell-size", schema=schema)["criteria"]
    assert cells["figure"] == 4  # 12 records of 4 people
    assert "not counted, for they have more than 20 values: pay" in cells["detail"]


def test_iso_27559_tells_what_was_measured_under_each_clause(tmp_path: Path) -> None:
    people = groups(30, 30)
    population = pa.concat_tables([people] * 2)
    found = against(people, "iso-27559", people, population=population, attacks=True, people=20)
    assert found["state"] == "measured"
    assert {row["clause"] for row in found["criteria"]} == {"7.3.2", "7.3.3", "8.2.3"}
    page = hr.audit(None, people, SCHEMA, profile="iso-27559", **QUIET).to_dict()
    assert [v.meets for v in verdicts(page, None, [])] == [False]  # two were not measured
    says = verdict(page, None, [], [])
    assert says["says"].startswith("Do not share, because ISO/IEC 27559")
    assert says["broken"] == []  # `Audit.broken` knows the criteria, and one that was not measured is no fault
    page["profile"] = found
    assert verdicts(page, None, []) == []  # nothing was compared, so nothing is met
    found = against(people, "iso-27559")
    assert found["state"] == "not measured"
    lacking = [row["name"] for row in found["criteria"] if row["state"] == "not measured"]
    assert lacking == ["population", "adversarial testing"]
    # thresholds are the organisation's: in a file of its own
    own = tmp_path / "ours.toml"
    own.write_text(
        'title = "Ours"\nsource = "house rule 7"\ndate = "2026-01-01"\n'
        '[[criteria]]\nname = "maximum"\nclause = "7.3.2"\nasks = "At most .04."\n'
        'statistic = "risk_maximum"\nat_most = 0.04\nread = "primary"\n'
    )
    assert against(groups(25, 30), own)["state"] == "meets"  # 1/25
    assert against(groups(24, 30), str(own))["state"] == "does not meet"


def test_wp216_is_answered_by_attacks() -> None:
    # everybody's quasi-identifiers, and a flag that follows the job
    people = pa.table(
        {
            "job": [f"job{i % 20}" for i in range(200)],
            "age": [20 + i % 7 for i in range(200)],
            "ill": [i % 20 < 10 for i in range(200)],
        }
    )
    schema = hr.Schema(quasi=["job", "age"], sensitive=["ill"])
    found = against(people, "wp216", people, schema=schema, attacks=True, people=60)
    assert found["state"] == "does not meet"
    linked = found["criteria"][1]
    assert linked["state"] == "does not meet"
    assert all(row["ours"] for row in found["criteria"])
    hidden = people.set_column(0, "job", pa.array(["*"] * 200)).set_column(1, "age", pa.array(["*"] * 200))
    found = against(hidden, "wp216", people, schema=schema, attacks=True, people=60, paired=True)
    states = {row["name"]: row["state"] for row in found["criteria"]}
    assert states == {"singling out": "meets", "linkability": "meets", "inference": "meets"}
    found = against(people, "wp216", people, schema=schema)
    assert found["state"] == "not measured"


FINE = {
    "state": ["NY", "CA"],
    "zip": ["100", "941"],
    "age": ["[30-89]", "[90-]"],
    "year": [1990, 2001],
    "admission": pa.array([dt.date(1990, 1, 1), dt.date(2001, 1, 1)]),  # years, as days
    "cost": [100.5, 99.0],
}
# fmt: off
ODD: dict[str, tuple[str, list[Any], str]] = {
    "names": ("patient_surname", ["Roe", "Doe"], "by its name"),
    "geography": ("zip", ["10001", "94110"], "2 of its distinct cells look like whole ZIP"),
    "dates": ("seen", ["2020-05-17", "2021-01-09"], "days or months"),
    "telephone": ("contact", ["212-555-0187", "(415) 555-0133"], "look like it"),
    "fax": ("fax", ["1", "2"], "by its name"),
    "email": ("note", ["write to a.b@example.org", "-"], "1 of its distinct cells"),
    "social security": ("n", ["078-05-1120", "219-09-9999"], "look like it"),
    "medical record": ("MRN", [1, 2], "by its name"),
    "health plan": ("beneficiary", ["a", "b"], "by its name"),
    "account": ("account", [1, 2], "by its name"),
    "licence": ("license", ["a", "b"], "by its name"),
    "vehicle": ("car", ["1HGCM82633A004352", "-"], "look like it"),
    "device": ("imei", [1, 2], "by its name"),
    "url": ("page", ["https://example.org/a", "-"], "look like it"),
    "ip": ("from", ["192.0.2.17", "-"], "look like it"),
    "biometric": ("iris", ["a", "b"], "by its name"),
    "photograph": ("photo", ["a", "b"], "by its name"),
    "other": ("key", [f"123e4567-e89b-12d3-a456-42661417400{i}" for i in (0, 1)],
              "universal identifiers"),
}
# fmt: on


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("birth_year", list(range(1910, 2000))),
        ("yob", [1911, 1980]),
        ("born", ["[1910-1940]", "[1940-1999]"]),
        ("born", ["[-1920)", "[1950-1999]"]),  # 106 and older is finer than 90 and older
        ("birth_year", ["1912", "1990"]),
        ("birth_year", ["1935 or earlier", "1980"]),  # 91 and older: one year too fine
    ],
)
def test_years_of_birth_that_mean_ages_over_89_do_not_meet(name: str, cells: list[Any]) -> None:
    assert name in identifiers_found(Table(pa.table({name: cells})), 2026).sure["dates"]
    unnamed = identifiers_found(Table(pa.table({"v7": [1910, 1980]})), 2026)
    assert "v7" in unnamed.unsure["dates"]


@pytest.mark.parametrize("cells", [[1937, 1980], ["[-1937)", "[1937-1999]"], ["1936 or earlier", "1980"]])
def test_years_of_birth_that_are_pooled_are_left_alone(cells: list[Any]) -> None:
    told = identifiers_found(Table(pa.table({"birth_year": cells})), 2026)
    assert not told.sure["dates"]
    assert not told.unsure["dates"]


@pytest.mark.parametrize("name", ["patient_nm", "pt_name", "PatientName", "client_names", "nm"])
def test_names_of_columns_in_short_are_names(name: str) -> None:
    assert name in identifiers_found(Table(pa.table({name: ["Carla", "Ines"]}))).sure["names"]


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("v7", ["Nowak, Carla", "Lee, Ann Marie"], "names"),
        ("job", ["Nowak, Carla", "Lee, Ann Marie"], "names"),  # whatever the name promises
        ("physician", ["Ito", "Nowak"], "names"),
        ("dr", ["Ito", "Nowak"], "names"),
        ("place_name", ["north", "south"], "names"),
        ("notes", ["seen with her sister"], "names"),
        ("diagnosis", ["patient came with her sister on foot"], "names"),
        ("v7", [10000000 + 7919 * i for i in range(1, 30)], "other"),
        ("rec", [10000 + 791 * i for i in range(1, 100)], "other"),
        ("area", [10000 + 791 * i for i in range(1, 100)], "geography"),  # some begin as no ZIP code does
        ("physician", ["Li", "Ng", "Wu"], "names"),
        ("v7", ["Li", "Ng", "Wu"], "names"),
        ("pt", ["J.S.", "M.K."], "names"),
        ("pt", ["J S", "M-K"], "names"),
        ("child", ["mia", "tom", "ida"], "names"),
        ("children", ["mia+tom", "ida:2+tom:1"], "names"),
        ("treating_physician", ["Ito", "Nowak"], "names"),
        ("treatmentDoctor2", ["Ito", "Nowak"], "names"),  # treatment is sensitive, and a doctor is a person
        ("employer", ["Nowak and Sons"], "names"),
        ("surgeon", ["Li", "*"], "names"),
        ("notes", ["JS", "-"], "names"),
    ],
)
def test_content_that_no_rule_explains_is_not_measured(name: str, cells: list[Any], kind: str) -> None:
    """Never met: 18 of 18 were, of surnames, of physicians, of record numbers of eight digits."""
    cells = cells * (1 if isinstance(cells[0], int) else 20)
    table = pa.table({name: cells, "state": ["NY"] * len(cells)})
    found = against(table, "hipaa-safe-harbor", schema=hr.Schema(quasi=["state"]))
    (row,) = (row for row in found["criteria"] if row["name"] == kind)
    assert row["state"] == "not measured"
    assert f"{name}: " in row["detail"]
    assert not any(str(cell) in row["detail"] for cell in cells)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("job", ["nurse", "cook+nurse", "*"]),
        ("diagnosis", ["flu", "asthma"]),
        ("v7", ["yes", "no"]),
        ("v7", ["M", "F"]),
        ("v7", ["[20-35]+(missing)"]),
        ("v7", ["a+b", "c", "(missing)"]),
        ("v7", ["yes:3+no:2", "n/a"]),
        ("v7", ["S1", "S2"]),
        ("job", ["nurse:7+cook:3"]),
        ("state", ["NY", "CA"]),
        ("relationship", ["wife", "husband"]),
        ("spouse_occupation", ["nurse", "cook"]),
        ("education_of_mother", ["school"]),
        ("child_sex", ["boy", "girl"]),
        ("patient_diagnosis", ["flu"]),
    ],
)
def test_categories_are_explained_by_their_column_or_say_nothing(name: str, cells: list[Any]) -> None:
    assert not identifiers_found(Table(pa.table({name: cells * 20}))).unsure["names"]


def test_safe_harbor_is_met_by_states_years_and_ages_pooled() -> None:
    table = pa.concat_tables([pa.table(FINE)] * 20)  # 20 people of each kind
    found = against(table, "hipaa-safe-harbor", schema=hr.Schema(quasi=["state"]))
    assert [row["detail"] for row in found["criteria"] if row["state"] != "meets"] == []
    assert found["state"] == "meets"
    assert len(found["criteria"]) == 18
    assert {row["clause"][-2] for row in found["criteria"]} == set("ABCDEFGHIJKLMNOPQR")


@pytest.mark.parametrize("kind", ODD)
def test_safe_harbor_finds_each_kind(kind: str) -> None:
    name, cells, why = ODD[kind]
    table = pa.concat_tables([pa.table({**FINE, name: cells})] * 20)
    found = against(table, "hipaa-safe-harbor", schema=hr.Schema(quasi=["state"]))
    assert found["state"] == "does not meet"
    (row,) = (row for row in found["criteria"] if row["name"] == kind)
    assert (row["figure"], row["state"]) == (1.0, "does not meet")
    assert name in row["detail"]
    assert why in row["detail"]
    assert not any(str(cell) in row["detail"] for cell in cells if len(str(cell)) > 3)


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("age", [35, 93], "dates"),
        ("age", ["[85-94]"], "dates"),
        ("age", ["[95-]"], "dates"),
        ("zip", ["036", "100"], "geography"),  # too few people live in 036
        ("home", ["10001", "94110"], "geography"),
        ("born", ["[2001-05-01/2003-01-31]"], "dates"),
        ("seen", ["1950", "1951", "1952", "1953-02-01"], "dates"),  # one day among years
        ("seen", ["1950/02/03", "*"], "dates"),
        ("seen", ["02-03-1950", "*"], "dates"),
        ("seen", ["February 3, 1950", "*"], "dates"),
        ("seen", ["3 Feb 1950", "*"], "dates"),
        ("seen", ["02/1950", "*"], "dates"),
        ("dob", [19500203, 19510304], "dates"),
        ("dob", [19500203.0, None], "dates"),
        ("age", ["95 years", "45 years"], "dates"),
        ("age", ["91+", "45"], "dates"),
        ("age", ["90 to 94", "45"], "dates"),
        ("name", ["Ann Lee", "Bo Ray"], "names"),
    ],
)
def test_safe_harbor_reads_cells(name: str, cells: list[Any], kind: str) -> None:
    assert name in identifiers_found(Table(pa.table({name: cells}))).sure[kind]


def _amounts(low: int, high: int) -> list[int]:
    """Numbers without a rule, spread over a span by a fixed stride."""
    return [low + (i * 7919) % (high - low) for i in range(400)]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("age", [35, 89]),
        ("age", ["[85-90)", "[90-]", "*"]),
        ("age", ["90+", "90 or older", ">=90", "89 years", "95 months"]),
        ("seen", ["1950", "1951-1952", "[1950-1960]"]),
        ("account_code", [10010101, 99999999]),
        ("zip", ["*", "*"]),
        ("born", ["[2001-01-01/2003-12-31]"]),
        ("cost", _amounts(10_000, 99_999)),  # a sixteenth would be no ZIP codes
        ("turnover", _amounts(1_000_000_000, 9_999_999_999)),
        ("balance", list(range(20_000, 60_000, 500))),  # round
        ("year", list(range(1950, 2024))),
        ("income", [10001, 12345, 19999]),  # its name says an amount
        ("weight", [2108, 3115, 2916]),  # grams
        ("v7", ["[10000-20000)", "[20000-45000]"]),
        ("v7", ["54001.25", "54002.75"]),
        ("v7", [10000101, 45673921, 99999913]),  # eight digits that are no dates
        ("hours_per_week", [40, 99]),
        ("score", [3, 99]),
        ("temperature", [36.5, 90.5]),
        ("v7", [3, 45, 89]),
        ("v7", ["[0-17]", "[18-89]", "[90-]"]),
        ("v7", ["[80-90)", "[90-]"]),
        ("age_months", [1, 7]),
        ("study_day", [1, 31]),
        ("days_past_visit", [1, 31]),
        ("birth_month", ["[1-12]", "*"]),
        ("part", ["123-456-7890", "101-222-3333"]),  # no area begins with 1
    ],
)
def test_safe_harbor_leaves_alone(name: str, cells: list[Any]) -> None:
    seen = identifiers_found(Table(pa.table({name: cells})))
    for kind in ("names", "dates", "geography", "telephone", "social security"):
        assert not seen.sure[kind]
        assert not seen.unsure[kind]


# Post codes of 90 towns, as numbers: hardly a column of other numbers that span as much keeps clear of
# the prefixes that the Postal Service has given to nobody.
TOWNS = [
    *(2108, 2903, 3101, 4101, 5401, 6103, 7102, 8608, 10001, 11201, 12207, 13202, 14202, 15222, 16501),
    *(17101, 18503, 19103, 20001, 21202, 22301, 23219, 24011, 25301, 26501, 27601, 28202, 29201),
    *(30303, 31401, 32202, 33130, 35203, 36104, 37219, 38103, 39201, 40202, 43215, 44113, 46204),
    *(48226, 50309, 53202, 55401, 57104, 58102, 60602, 63101, 64106, 66603, 68102, 70112, 72201),
    *(73102, 75201, 80202, 84111, 89101, 94110),
    *(32801, 33602, 37402, 43604, 44308, 45202, 47708, 49503, 53703, 59101, 61602, 62701, 65101),
    *(67202, 68508, 70802, 71101, 74103, 76102, 77002, 78205, 78701, 79901, 80903, 83702, 85004),
    *(85701, 87102, 90012, 92101, 93721, 95113, 95814, 97204, 98101, 99201),
]
PHONES = [2125550187, 4155550133, 3125550142, 6175550108, 2065550171, 3035550116, 7025550153,
          5035550129, 4045550164, 3055550137, 6025550192, 7135550121, 2145550175, 9165550146,
          5105550118, 8185550163, 9495550150, 6195550189]  # fmt: skip


# What the card companies print in their guides for testing a shop.
CARDS = [4111111111111111, 4012888888881881, 5555555555554444, 5105105105105100, 378282246310005,
         371449635398431, 6011111111111117, 6011000990139424]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("area", TOWNS, "geography"),
        ("area", [float(n) for n in TOWNS] + [None], "geography"),
        ("area", [*TOWNS, 99999], "geography"),  # 99999: no value
        ("area", [n * 10_000 + 1234 for n in TOWNS], "geography"),  # ZIP+4
        ("area", ["9410*", "9411*"], "geography"),  # four digits are one too many
        ("v7", CARDS, "account"),
        ("v7", [str(n) for n in CARDS], "account"),
        ("v7", [19500203, 19510304, 19960229], "dates"),  # no name needed
        ("contact", PHONES, "telephone"),
        ("contact", [str(n) for n in PHONES], "telephone"),
        ("contact", [10**10 + n for n in PHONES], "telephone"),  # with the country's 1
        ("contact", [f"1{n}" for n in PHONES], "telephone"),
        ("contact", ["212 555 0187", "-"], "telephone"),
        ("contact", ["(212)555-0187 ext. 12", "-"], "telephone"),
        ("contact", ["212/555-0187", "-"], "telephone"),
        ("contact", ["1-212-555-0187", "-"], "telephone"),
        ("contact", ["0049 30 1234567", "-"], "telephone"),
        ("contact", ["030/1234567", "089/7654321"], "telephone"),
        ("remark", ["call 212-555-0187 at night", "-"], "telephone"),
        ("remark", ["his number is 078-05-1120", "-"], "social security"),
        ("birth_month", [1, 7, 12], "dates"),
        ("birth_day", [1, 17, 31], "dates"),
        ("birthMonth", ["May", "June"], "dates"),
        ("month_of_birth", ["[1-6]", "[7-12]"], "dates"),
        ("admission_week", [3, 51], "dates"),
        ("seen", ["2020-Q1", "2020-Q2"], "dates"),
        ("born", [36000, 36001.0], "dates"),  # days as a spreadsheet counts them
        ("alter", [35, 93], "dates"),
    ],
)
def test_safe_harbor_tells_by_content(name: str, cells: list[Any], kind: str) -> None:
    assert name in identifiers_found(Table(pa.table({name: cells * 20}))).sure[kind]


@pytest.mark.parametrize(
    ("name", "cells", "kind", "why"),
    [
        ("area", [10001, 94110], "geography", "2 of its distinct cells look like ZIP codes"),
        ("code", list(range(10000, 20000, 37)), "geography", "as other numbers may"),
        ("area", [2108, 2115, 2116, 2139], "geography", "4 of its distinct cells look like ZIP codes"),
        ("area", ["[94102-94110)", "[94110-94131]"], "geography", "2 of its ranges lie within the first"),
        ("contact", PHONES[:3], "telephone", "telephone numbers, as other numbers may"),
        ("n", [123456789, 234567891, 345678912], "social security", "as other numbers may"),
        ("v7", [3, 45, 93], "dates", "some over 89, as ages are"),
        ("v7", ["[80-94]", "[95-]"], "dates", "some over 89, as ages are"),
        ("month", [1, 7], "dates", "as months of dates"),
        ("day", [1, 31], "dates", "as days of dates"),
    ],
)
def test_safe_harbor_says_what_must_be_confirmed(name: str, cells: list[Any], kind: str, why: str) -> None:
    table = pa.table({"state": ["NY", "CA"] * (len(cells) * 10), name: cells * 20})
    found = against(table, "hipaa-safe-harbor", schema=hr.Schema(quasi=["state"]))
    (row,) = (row for row in found["criteria"] if row["name"] == kind)
    assert (row["figure"], row["state"]) == (None, "not measured")
    assert row["detail"].startswith("to be confirmed by you")
    assert f"{name}: " in row["detail"]
    assert why in row["detail"]
    assert found["state"] == "not measured"
    others = [row for row in found["criteria"] if row["name"] != kind]
    assert {row["state"] for row in others} == {"meets"}
    assert all(row["detail"].endswith("confirm it") for row in others)


def test_every_profile_says_where_its_thresholds_come_from() -> None:
    for name in hr.Profile.names():
        profile = hr.Profile.load(name)
        assert profile.source
        dt.date.fromisoformat(profile.date)
        for criterion in profile.criteria:
            assert criterion.clause
            assert criterion.asks
        if any(criterion.read == "secondary" for criterion in profile.criteria):
            assert "secondary" in profile.note


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 3", "is no profile"),
        ('title = "t"\nsource = "s"\ndate = "d"\ncriteria = []\n', "has no criteria"),
        ('title = "t"\nsource = "s"\ndate = "d"\nlevel = 3\n[[criteria]]\n', "is no profile"),
    ],
)
def test_a_file_that_is_no_profile_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(ParameterError, match=message):
        hr.Profile.load(path)
    with pytest.raises(ParameterError, match=r"no profile 'ema-70' \(did you mean 'ema-0070'"):
        hr.Profile.load("ema-70")


ROLES = ["--quasi", "age,education", "--sensitive", "income"]


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pacsv.write_csv(hr.datasets.make_people(600, seed=1), "people.csv")
    return tmp_path


def test_protect_keeps_a_profile_and_writes_evidence(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protect", "people.csv", *ROLES, "--profile", "ema-0070", "--out", "out"]) == 0
    said = capsys.readouterr()
    assert "k was raised to 12" in said.err
    assert "of 2 criteria 2 met" in said.out
    one = {"title": "T", "date": "2026", "criteria": [{"state": "meets"}]}
    assert standard_verdict(one) == ["T (2026): of 1 criterion 1 met."]
    plan = hr.Plan.load(people / "out/plan.json")
    assert {"kind": "k_anonymity", "k": 12} in [dict(p) for p in plan.promises]
    told = json.loads((people / "out/evidence.json").read_text())
    jsonschema.validate(told, evidence_schema())
    jsonschema.validate(json.loads((people / "out/audit.json").read_text()), hr.Audit.json_schema())
    assert told["profile"]["state"] == "meets"
    assert set(told["files"]) == {"released", "original"}
    page = (people / "out/report.html").read_text()
    assert "Held against: EMA policy 0070" in page
    assert "threshold not verified in the source" in page
    assert "compliant" not in page
    assert "<span><b>meets</b><br>" in page  # on a narrow screen a cell is a row of its children
    # the judgement made again from the files gives the same figures
    command = ["audit", "people.csv", "out", "--profile", "ema-0070", "--no-attacks", "--no-learning"]
    assert run([*command, "--evidence", "again.json"]) == 0
    again = json.loads((people / "again.json").read_text())
    assert again["profile"] == told["profile"]
    assert again["files"] == told["files"]


def test_what_does_not_meet_a_profile_is_not_written(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["protect", "people.csv", *ROLES, "--method", "mart", "--out", "out", "--profile"]
    assert run([*command, "ema-0070", "-k", "5"]) == 2
    assert "takes a k of 12 at least" in capsys.readouterr().err
    assert run([*command, "ema-0070", "-k", "5", "--no-report"]) == 2
    assert "takes a k of 12 at least" in capsys.readouterr().err  # the report comes second
    own = people / "own.toml"
    own.write_text(
        'title = "Ours"\nsource = "s"\ndate = "2026-01-01"\n[[criteria]]\nname = "small"\n'
        'clause = "1"\nasks = "a"\nstatistic = "risk_average"\nat_least = 0.5\nread = "primary"\n'
    )
    assert run([*command, str(own)]) == 1
    said = capsys.readouterr().err
    assert "Ours, 1: small is" in said
    assert "choose a stronger method, or another profile" in said  # it is no fault of Hedgerow
    assert not (people / "out").exists()
    assert run([*command, "ema-0070", "--no-report"]) == 2


SCHEMA_OF_PEOPLE = hr.Schema(quasi=["age", "education"], sensitive=["income"])


@pytest.mark.filterwarnings("ignore:left out", "ignore:.*age ranges end")
def test_protect_in_python_keeps_a_profile(people: Path) -> None:
    with pytest.warns(UserWarning, match="k was raised to 12: EMA policy 0070"):
        release = hr.protect("people.csv", SCHEMA_OF_PEOPLE, hr.MART(), profile="ema-0070")
    assert {"kind": "k_anonymity", "k": 12} in [dict(p) for p in release.plan.promises]
    check = release.verify()[-1]
    assert (check.name, check.required, check.reached) == ("profile ema-0070", 2, 2)
    release.write("python")
    words = ["protect", "people.csv", *ROLES, "--method", "mart", "--profile", "ema-0070"]
    assert run([*words, "--out", "flags"]) == 0
    Path("kept.toml").write_text(
        'quasi = ["age", "education"]\nsensitive = ["income"]\nmethod = "mart"\nprofile = "ema-0070"\nout = "config"\n'
    )
    assert run(["protect", "people.csv", "--config", "kept.toml"]) == 0
    assert len({Path(name, "release.csv").read_bytes() for name in ("python", "flags", "config")}) == 1
    plans = [hr.Plan.load(Path(name, "plan.json")) for name in ("python", "flags", "config")]
    assert [plan.parameters["profile"] for plan in plans] == ["ema-0070"] * 3
    assert {plan.parameters["profile_date"] for plan in plans} == {"2017-09-20"}
    assert "ema-0070" in Path("python/RECIPIENT.md").read_text()
    session = hr.Session("people.csv")
    with pytest.warns(UserWarning, match="k was raised to 12"):
        session.choose(SCHEMA_OF_PEOPLE, hr.MART(), profile="ema-0070")
    session.protect()
    session.write("steps")
    assert "--profile ema-0070" in session.command_line()
    assert "profile='ema-0070'" in session.python()
    assert hr.Plan.load("steps/plan.json").parameters["profile"] == "ema-0070"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", hr.Profile.names())
def test_profiles_that_count_equal_rows_take_means(people: Path, name: str) -> None:
    release = hr.protect("people.csv", SCHEMA_OF_PEOPLE, random_state=1)
    counted = [c for c in release.against(name).criteria if "no groups of equal cells" in c["detail"]]
    # nothing is said of classes that a reader of the rows cannot see, but which cells have them
    assert all(c["state"] == "not measured" and 'cells="means"' in c["detail"] for c in counted)
    if hr.Profile.load(name).k == 1:
        return
    assert counted
    with pytest.warns(UserWarning, match="counts equal rows"):
        method = stronger(name, hr.Hedge())
    assert method.cells == "means"


@pytest.mark.filterwarnings("ignore")
def test_measuring_for_a_profile_tells_where_it_is_and_can_be_stopped(people: Path) -> None:
    heard: list[str] = []

    def tell(step: str, share: float | None) -> None:
        heard.append(step)
        if step == "pairing the tables":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hr.protect("people.csv", SCHEMA_OF_PEOPLE, hr.MART(), profile="ema-0070", progress=tell)
    assert "verifying" in heard
    session = hr.Session("people.csv")
    session.choose(SCHEMA_OF_PEOPLE, hr.MART(), profile="ema-0070")
    session.protect()
    with pytest.raises(KeyboardInterrupt):
        session.write("steps", progress=tell)
    session.cancel()
    with pytest.raises(Cancelled):
        session.write("steps")
    assert not Path("steps").exists()


@pytest.mark.filterwarnings("ignore")
def test_protect_in_python_refuses_what_does_not_meet(people: Path) -> None:
    with pytest.raises(ParameterError, match="takes a k of at least 12, not 5"):
        hr.protect("people.csv", SCHEMA_OF_PEOPLE, hr.MART(k=5), profile="ema-0070")
    own = people / "own.toml"
    own.write_text(
        'title = "Ours"\nsource = "s"\ndate = "2026-01-01"\n[[criteria]]\nname = "small"\n'
        'clause = "1"\nasks = "a"\nstatistic = "risk_average"\nat_least = 0.5\nread = "primary"\n'
    )
    with pytest.raises(PromiseError, match="Ours, 1: small is"):
        hr.protect("people.csv", SCHEMA_OF_PEOPLE, hr.MART(), profile=own)
    session = hr.Session("people.csv")
    session.choose(SCHEMA_OF_PEOPLE, hr.MART(), profile=own)
    session.protect()
    with pytest.raises(PromiseError, match="Ours, 1: small is"):
        session.write("out")
    with pytest.raises(PromiseError, match="Ours, 1: small is"):
        session.measure()
    assert not Path("out").exists()


def test_households_stand_beside_people(capsys: pytest.CaptureFixture[str]) -> None:
    # Two groups of 12 people: of 12 households, and of 4 households of 3 each
    people = pa.table(
        {
            "job": ["a"] * 12 + ["b"] * 12,
            "ill": [True, False] * 12,
            "home": [*range(12), *(100 + i % 4 for i in range(12))],
        }
    )
    schema = SCHEMA.replace(household="home", other=["ill"], sensitive=[])
    found = against(people.drop(["home"]), "ema-0070", people, schema=schema, paired=True)
    assert found["state"] == "meets"  # a standard judges people
    # three members at 1/12 each, and one member alone
    three, one = 1 - (11 / 12) ** 3, 1 / 12
    homes = found["households"]
    assert (homes["k"], homes["by"]) == (4.0, "prosecutor")
    assert homes["highest"] == pytest.approx(three)
    assert homes["average"] == pytest.approx((12 * one + 4 * three) / 16)
    most, mean = found["criteria"]
    assert f"{three:.4g} that anybody of a household is found" in most["detail"]
    assert f"{homes['average']:.4g} that anybody" in mean["detail"]
    (said,) = standard_verdict(found)
    assert "of households the smallest group has 4" in said
    assert f"found by somebody who knows who is in the table is {three:.3g} at most" in said
    found = against(people.drop(["home"]), "cms-cell-size", people, schema=schema, paired=True)
    assert "the smallest group is of 4 households" in found["criteria"][0]["detail"]
    assert against(groups(12, 30), "ema-0070")["households"] is None
    weighted = people.append_column("w", pa.array([100.0] * 24))
    asked = {"schema": schema.replace(weight="w"), "paired": True}
    found = against(weighted.drop(["home"]), "iso-27559", weighted, **asked)
    rows = {row["name"]: row["detail"] for row in found["criteria"]}
    assert "household" in rows["population"]  # of the intruder whose risk it is, and of no other
    assert "household" not in rows["maximum risk"]
    assert found["households"]["by"] == "journalist"


def test_audit_fails_on_a_profile_and_profiles_are_listed(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["audit", "--release-only", "people.csv", *ROLES, "--profile", "cms-cell-size"]
    assert run(command) == 1
    said = capsys.readouterr()
    assert "cell size is 1, not at least 11" in said.err
    assert "DOES NOT MEET" in said.out
    assert run(["profiles"]) == 0
    assert "hipaa-safe-harbor" in capsys.readouterr().out
    assert run(["profiles", "iso-27559"]) == 0
    assert "[8.2.3]" in capsys.readouterr().out


def test_a_session_repeats_its_profile(people: Path) -> None:
    session = hr.Session("people.csv")
    schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    session.choose(schema, hr.Profile.load("cms-cell-size").strengthened(hr.MART(k=5)))
    session.protect()
    session.measure(profile="cms-cell-size")
    session.write("out")
    assert "--profile cms-cell-size" in session.command_line()
    assert "-k 11" in session.command_line()
    assert "profile='cms-cell-size'" in session.python()
    assert (people / "out/evidence.json").stat().st_mode & 0o077 == 0
