"""Regressions on original and release: the estimates, what they are worth, and who is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.special import expit

import hedgerow as hr
from hedgerow.auditing.pairing import align
from hedgerow.auditing.utility import regressions
from hedgerow.auditing.utility.regressions import Coefficients, coefficients, factor, models

pytestmark = pytest.mark.filterwarnings("ignore")
SCHEMA = hr.Schema(quasi=["age", "sex", "job"], sensitive=["income", "ill", "visits"], kinds={"visits": "numeric"})
QUICK: dict[str, Any] = {"attacks": False, "learning": False}


def people(n: int = 1_500, seed: int = 0, missing: float = 0.0) -> pd.DataFrame:
    """Make people whose income and illness depend on all that others may know."""
    draw = np.random.default_rng(seed)
    age = draw.integers(18, 80, n).astype(float)
    sex = draw.choice(["female", "male"], n)
    job = draw.choice(["clerk", "cook", "nurse", "smith"], n, p=[0.4, 0.3, 0.2, 0.1])
    income = np.round(
        20 + 0.3 * age - 0.003 * age**2 + 4 * (job == "nurse") - 3 * (sex == "female") + draw.normal(0, 5, n), 1
    )
    ill = np.where(draw.random(n) < expit(-2 + 0.04 * (age - 50) - 0.05 * (income - 30)), "yes", "no")
    visits = draw.poisson(1 + 2 * (ill == "yes")).astype(float)
    for column in (age, visits):
        column[draw.random(n) < missing] = np.nan
    return pd.DataFrame({"age": age, "sex": sex, "job": job, "income": income, "ill": ill, "visits": visits})


def weights_of(x: Any, y: Any, is_logit: bool) -> tuple[Any, Any, Any]:
    """Return coefficients, standard errors and White's errors by textbook matrices."""
    b = np.zeros(x.shape[1])
    for _ in range(30 if is_logit else 1):
        mean = expit(x @ b) if is_logit else x @ b
        weights = mean * (1 - mean) if is_logit else np.ones(len(y))
        ridge = np.diag([0.0, *[0.01] * (len(b) - 1)]) if is_logit else 0.0
        inverse = np.linalg.inv((x.T * weights) @ x + ridge)
        b = b + inverse @ (x.T @ (y - mean) - (ridge @ b if is_logit else 0.0))
    left = y - (expit(x @ b) if is_logit else x @ b)
    variance = 1.0 if is_logit else left @ left / (len(y) - len(b))
    robust = np.sqrt(np.diag(inverse @ (x.T * left**2) @ x @ inverse))
    return b, np.sqrt(np.diag(inverse) * variance), robust


def of(found: Coefficients, outcome: str, term: str, kind: str) -> tuple[float, ...]:
    """Return one coefficient with its errors: original, release, error, release's error, robust error."""
    (at,) = np.flatnonzero((found.outcome == outcome) & (found.term == term) & (found.kind == kind))
    return tuple(float(v[at]) for v in (found.original, found.release, found.error, found.release_error, found.robust))


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_estimates_are_those_of_textbook_matrices(missing: float) -> None:
    one, other = people(seed=1, missing=missing), people(seed=2, missing=missing)
    found = coefficients(align(one, other, SCHEMA))
    assert found is not None
    mean, deviation = one["age"].mean(), one["age"].std(ddof=0)
    for outcome, is_logit in (("income", False), ("ill", True), ("visits", False)):
        by_table = []
        for table in (one, other):
            y = (
                1.0 * (table["ill"] == "no")
                if is_logit
                else (table[outcome] - one[outcome].mean()) / one[outcome].std(ddof=0)
            )
            x = [np.ones(len(table)), table["age"].fillna(mean) / deviation]
            x += [1.0 * table["age"].isna()] * (missing > 0)
            x += [1.0 * (table["sex"] == one["sex"].value_counts().idxmin())]
            x += [1.0 * (table["job"] == job) for job in ("cook", "nurse", "smith")]
            known = y.notna().to_numpy()
            by_table.append(weights_of(np.column_stack(x)[known], y.to_numpy()[known], is_logit))
        for term, at in (("age", 1), ("job = nurse", -2)):
            kind = "slopes" if term == "age" else "differences"
            (b, error, robust), (c, release_error, _) = ([each[at] for each in part] for part in by_table)
            assert of(found, outcome, term, kind) == pytest.approx((b, c, error, release_error, robust), rel=2e-3)


def test_squares_and_hidden_columns_are_asked_of_the_wider_model() -> None:
    found = coefficients(align(people(seed=1), people(seed=2), SCHEMA))
    assert found is not None
    assert set(found.kind) == {"differences", "slopes", "squares", "sensitive", "hidden squares"}
    assert set(found.term[found.kind == "squares"]) == {"age", "age²"}
    assert set(found.term[found.kind == "hidden squares"]) == {"income", "income²", "visits", "visits²"}
    assert set(found.column[found.kind == "sensitive"]) == {"income", "ill", "visits"}
    assert not (found.column == found.outcome).any()


def test_a_table_beside_itself_holds_in_all() -> None:
    table = people()
    found = models(align(table, table, SCHEMA))
    assert found is not None
    assert found["every"]["inside"] == 1.0
    assert found["every"]["attenuation"] == pytest.approx(1.0)
    assert found["every"]["factor"] == pytest.approx(1.0, abs=0.1)
    assert {column["verdict"] for column in found["columns"].values()} == {"holds"}
    assert found["worst"] == []


def test_the_factor_covers_the_population_where_half_of_a_slope_is_gone() -> None:
    """Nurses earn 4 more; in each release half of the incomes are other people's, so they earn 2 more there."""
    schema = hr.Schema(quasi=["age", "sex", "job"], sensitive=["income"])
    held = []
    for seed in range(40):
        table, draw = people(1_000, seed), np.random.default_rng(seed)
        swapped = np.where(draw.random(1_000) < 0.5, table["income"], draw.permutation(table["income"]))
        found = coefficients(align(table, table.assign(income=swapped), schema))
        assert found is not None
        f = factor(found.release - found.original, found.release_error, found.robust)
        _, nurse, _, error, _ = of(found, "income", "job = nurse", "differences")
        off = abs(nurse - 4 / table["income"].std(ddof=0))
        held.append((off <= 1.96 * error, off <= 1.96 * f * error))
    as_usual, with_factor = np.mean(held, axis=0)
    assert as_usual < 0.3
    # the slope that is farthest off of seven
    assert 0.6 < with_factor < 1


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(0.1, 3), st.floats(0.1, 3)), min_size=1, max_size=9))
def test_the_factor_gives_intervals_that_hold_95_of_100(rows: list[tuple[float, float, float]]) -> None:
    difference, error, robust = (np.array(each) for each in zip(*rows, strict=True))
    width = 1.959963985 * factor(difference, error, robust) * error
    population = np.random.default_rng(0).normal(size=(4_000, len(rows))) * robust
    held = (np.abs(difference - population) <= width).mean()
    assert held == pytest.approx(0.95, abs=0.02)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.randoms(use_true_random=False), block=st.sampled_from([70, 9999]), first=st.sampled_from([250, 9999]))
def test_neither_order_nor_blocks_of_rows_change_the_estimates(
    order: Random, block: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, release = people(600, 3, missing=0.3), people(600, 4, missing=0.3)
    expected = coefficients(align(table, release, SCHEMA))
    rows = order.sample(range(600), 600)
    with monkeypatch.context() as patch:
        patch.setattr(regressions, "BLOCK", block)
        patch.setattr(regressions, "FIRST", first)
        shuffled = coefficients(align(table.iloc[rows], release.iloc[rows[::-1]], SCHEMA))
    assert expected is not None
    assert shuffled is not None
    for name in ("outcome", "term", "kind"):
        assert (getattr(shuffled, name) == getattr(expected, name)).all()
    # a logit ends within some thousandths of a standard error, from wherever it began
    exact = 1e-6 if first == 9999 else 5e-3
    for name in ("original", "release"):
        assert (np.abs(getattr(shuffled, name) - getattr(expected, name)) <= exact * expected.error).all()


def test_a_shuffled_column_is_not_to_be_used() -> None:
    table = people()
    shuffled = table.assign(income=np.random.default_rng(0).permutation(table["income"].to_numpy()))
    found = hr.audit(table, shuffled, SCHEMA, **QUICK).to_dict()
    columns = found["utility"]["models"]["columns"]
    assert columns["income"]["verdict"] == "do not use"
    assert columns["income"]["inside"] < 0.7
    # factors are those of the columns that can be used
    assert found["utility"]["models"]["every"]["inside"] == 1.0
    assert "do not use" not in (columns["age"]["verdict"], columns["job"]["verdict"])
    assert "job = nurse" in {each["term"] for each in found["utility"]["models"]["worst"]}
    from hedgerow.report.reasons import reasons

    assert any("not to be relied on" in words and "income" in words for words in reasons(found, None))


LOST = {
    "income shuffled": ("income", lambda t, draw: t.assign(income=draw.permutation(t["income"]))),
    "sex shuffled": ("sex", lambda t, draw: t.assign(sex=draw.permutation(t["sex"]))),
    "age shuffled": ("age", lambda t, draw: t.assign(age=draw.permutation(t["age"]))),
    "job shuffled": ("job", lambda t, draw: t.assign(job=draw.permutation(t["job"]))),
    "income gone": ("income", lambda t, _: t.assign(income=np.nan)),
    "age tripled": ("age", lambda t, _: t.assign(age=3 * t["age"])),
    "age turned round": ("age", lambda t, _: t.assign(age=98 - t["age"])),
}


@pytest.mark.parametrize("name", LOST)
def test_the_column_that_is_lost_is_to_blame_and_no_other(name: str) -> None:
    column, lose = LOST[name]
    table = people(1_500, 5)
    found = models(align(table, lose(table, np.random.default_rng(0)), SCHEMA))
    assert found is not None
    assert [n for n, c in found["columns"].items() if c["verdict"] == "do not use"] == [column]
    assert found["every"]["factor"] == pytest.approx(1.0, abs=0.1)


def test_a_column_of_one_cell_spoils_no_other() -> None:
    """The variance of a constant of 2.7 is rounding, and factors were 100."""
    table = people(1_500, missing=0.2)
    release = hr.protect(table, SCHEMA, hr.Datafly(k=5))
    found = hr.audit(table, release, **QUICK).utility["models"]
    assert found["every"]["factor"] < 3
    assert all(abs(each["release"]) < 1e3 for each in found["worst"])


def test_replaced_categories_are_not_to_be_used() -> None:
    table = people()
    replaced = table.assign(job=table["job"].replace({"nurse": "clerk", "smith": "clerk"}))
    column = hr.audit(table, replaced, SCHEMA, **QUICK).utility["models"]["columns"]["job"]
    assert column["changed"] == pytest.approx((table["job"].isin(["nurse", "smith"])).mean())
    assert column["verdict"] == "do not use"


ODD = {
    "one value": lambda t: t.assign(income=1.0),
    "extreme": lambda t: t.assign(income=np.where(t.index % 2, 1e308, -1e308)),
    "infinite": lambda t: t.assign(income=np.where(t.index % 2, np.inf, t["income"])),
    "all missing": lambda t: t.assign(income=np.nan),
    "the sum of others": lambda t: t.assign(income=3 * t["visits"]),
    "a copy": lambda t: t.assign(age=t["income"]),
    "parted": lambda t: t.assign(ill=np.where(t["age"] > 50, "yes", "no")),
    "few": lambda t: t.head(4),
    "one row": lambda t: t.head(1),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_odd_tables_have_figures_or_none(name: str) -> None:
    table = ODD[name](people(400))
    found = models(align(table, table, SCHEMA))
    if found is not None:
        assert json.dumps(found, allow_nan=False)
        assert found["every"]["inside"] == 1.0


def test_what_is_written_says_what_was_measured(tmp_path: Path) -> None:
    release = hr.protect(people(), SCHEMA, random_state=0)
    measured = hr.audit(release.original, release, **QUICK)
    for name, audit in (("short", None), ("long", measured)):
        release.write(tmp_path / name, measured=audit)
    short, long = ((tmp_path / name / "RECIPIENT.md").read_text(encoding="utf-8") for name in ("short", "long"))
    part = short.partition("## What estimates are worth")[2].partition("\n## ")[0]
    # with an audit or without: the same figures
    assert part == long.partition("## What estimates are worth")[2].partition("\n## ")[0]
    kinds = measured.utility["models"]["kinds"]
    # one person changes the exact number of estimates and their exact share
    assert not re.search(r"[0-9]+ (coefficients|estimates)", part)
    assert {int(share) % 5 for share in re.findall(r"([0-9]+)%", part)} == {0}
    for kind, words in (("differences", "difference between groups"), ("squares", "square of a number")):
        told = max(1.0, np.ceil(10 * kinds[kind]["factor"] - 1e-6) / 10)
        assert f"| {words} | {told:.1f} |" in part
    assert all(f"| {name} | " in part for name in ("age", "job", "visits"))
    assert "as usual" not in short


def test_nothing_is_told_of_relations_that_a_cap_on_the_file_hides(tmp_path: Path) -> None:
    """The size of slopes beside the original's would undo the cap."""
    table = people()
    schema = hr.Schema(quasi=["age", "sex"], sensitive=["ill"])
    release = hr.protect(table, schema, hr.Hedge(max_disclosure=0.5), random_state=0, cap_on="file")
    measured = hr.audit(table, release, **QUICK)
    assert measured.utility["models"]["every"]["estimates"]
    release.write(tmp_path / "release", measured=measured)
    words = (tmp_path / "release" / "RECIPIENT.md").read_text(encoding="utf-8")
    assert "do not estimate regressions" in " ".join(words.split())
    assert "What estimates are worth" not in words
    pages = {who: tmp_path / f"{who}.html" for who in ("recipient", "steward")}
    for who, page in pages.items():
        measured.report(page, audience=who, plan=release.plan, checks=release.checks)
    full, short = (" ".join(pages[who].read_text(encoding="utf-8").split()) for who in ("steward", "recipient"))
    for words in ("Multiply standard errors by", "Pairwise dependence"):
        assert words in full
        assert words not in short


def test_a_private_release_says_nothing_that_was_not_paid_for(tmp_path: Path) -> None:
    table = people(3_000)[["age", "sex", "job", "income"]]
    schema = hr.Schema(
        quasi=["age", "sex", "job"],
        sensitive=["income"],
        bounds={"age": (18, 80), "income": (0, 60)},
        categories={"sex": ["female", "male"], "job": ["clerk", "cook", "nurse", "smith"]},
    )
    release = hr.protect(table, schema, hr.PrivateTree(epsilon=2.0))
    measured = hr.audit(table, release, **QUICK)
    release.write(tmp_path / "release", measured=measured)
    assert measured.utility["models"] is not None
    assert "standard errors by" not in (tmp_path / "release" / "RECIPIENT.md").read_text(encoding="utf-8")


def test_engines_measure_the_same(tmp_path: Path) -> None:
    table = people()
    table.to_parquet(tmp_path / "people.parquet")
    found = []
    for engine in ("memory", "duckdb"):
        release = hr.protect(tmp_path / "people.parquet", SCHEMA, random_state=0, engine=engine)
        release.write(tmp_path / engine)
        found.append((tmp_path / engine / "RECIPIENT.md").read_bytes())
    assert found[0] == found[1]
