"""Sampling weights beside hidden values: each group's mean, or the exact ones where they are asked for."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import PromiseError
from hedgerow.plan import Vector

from .test_draws import people

pytestmark = pytest.mark.filterwarnings("ignore")
FORMS = {
    "rows": (hr.Hedge(5), "redraw"),
    "means": (hr.Hedge(5, cells="means"), "redraw"),
    "ranges": (hr.MART(5), "redraw"),
    "runs": (hr.MART(5), "runs"),
}


def table() -> pd.DataFrame:
    """Return people of whom those under 40 have one weight, as in a stratum."""
    survey = people(400)
    weights = np.round(1 + 99 * np.random.default_rng(0).random(400), 3)
    return survey.assign(w=np.where(survey.age < 40, 12.34567, weights))


@cache
def kept(form: str, other: tuple[str, ...]) -> hr.Release:
    return made(form, table(), other)


def protected(form: str, other: tuple[str, ...] = ()) -> hr.Release:
    """Return a release that a test may change."""
    again = object.__new__(hr.Release)
    again.__dict__.update(kept(form, other).__dict__)
    again.table = again.table.copy()
    return again


def made(form: str, survey: pd.DataFrame | Path, other: tuple[str, ...] = ()) -> hr.Release:
    method, guard = FORMS[form]
    schema = hr.Schema(quasi=["age", "job"], sensitive=["income", "tax"], weight="w", other=other)
    return hr.protect(survey, schema, method, guard=guard, random_state=1 if guard == "redraw" else None)


@pytest.mark.parametrize("form", ["means", "ranges"])
def test_each_group_gets_its_mean_weight(form: str) -> None:
    survey = table()
    release = protected(form)
    assert release.rows is not None
    cells = release.table.groupby(["age", "job"], observed=True).ngroup().to_numpy()
    exact = survey.w.iloc[release.rows].reset_index(drop=True)
    mean = exact.groupby(cells).transform(lambda group: math.fsum(group) / len(group))
    unit = 10.0 ** (np.floor(np.log10(mean)) - 3)
    is_alike = exact.groupby(cells).transform("nunique") == 1
    assert set(is_alike) == {True, False}
    assert (release.table.w[is_alike] == exact[is_alike]).all()
    assert ((release.table.w - mean).abs() <= 0.5001 * unit).all()
    assert (release.table.w[~is_alike] == [float(f"{w:.4g}") for w in release.table.w[~is_alike]]).all()
    assert release.table.w.sum() == pytest.approx(survey.w.sum(), rel=1e-4)


def test_rows_of_a_group_share_its_weight() -> None:
    survey = table()
    release = protected("rows")
    guard = release.plan.guard
    assert guard is not None
    assert len(set(guard.weights)) > 3
    own = pd.Series(np.repeat(np.asarray(guard.weights), np.asarray(guard.sizes)))
    assert sorted(release.table.w) == sorted(own)
    assert release.table.w.sum() == pytest.approx(survey.w.sum(), rel=1e-4)
    assert release.table.w.isin(survey.w).mean() < 0.6
    mixed = hr.protect(
        survey.sample(frac=1, random_state=3), release.schema, FORMS["rows"][0], guard="redraw", random_state=1
    )
    pd.testing.assert_frame_equal(mixed.table.reset_index(drop=True), release.table.reset_index(drop=True))


def test_runs_tell_weights_as_runs_and_other_people_get_them_too() -> None:
    survey = table()
    release = protected("runs")
    assert (release.table.w.value_counts() >= 5).all()
    assert release.table.w.nunique() < survey.w.nunique() / 3
    applied = release.plan.apply(survey.head(40), unseen="suppress")
    assert set(applied.w) <= set(release.table.w)
    assert 'END AS "w"' in release.plan.to_sql()


@pytest.mark.parametrize("form", FORMS)
def test_exact_weights_leave_on_request(form: str) -> None:
    survey = table()
    release = protected(form, other=("w",))
    assert sorted(release.table.w) == sorted(survey.w)
    assert "w: exact weights are released" in "\n".join(release.cautions)
    hidden = protected(form)
    assert "w" not in "\n".join(words.split(":")[0] for words in hidden.cautions).split()
    totals = hidden.summary()["guard"]["weights"]
    assert totals["before"] == pytest.approx(survey.w.sum())
    assert totals["after"] == pytest.approx(hidden.table.w.sum())


def test_a_weight_that_outweighs_the_others_is_said() -> None:
    survey = table()
    survey.loc[survey.age.idxmax(), "w"] = 5_000.0
    assert "w: one record has" in "\n".join(made("means", survey).cautions)
    assert "w: one record has" not in "\n".join(protected("means").cautions)


def test_without_a_guard_weights_are_exact() -> None:
    survey = table()
    schema = hr.Schema(quasi=["age", "job"], sensitive=["income"], weight="w")
    assert sorted(hr.protect(survey, schema, hr.MART(5)).table.w) == sorted(survey.w)


@pytest.mark.parametrize("form", ["rows", "means"])
@pytest.mark.parametrize("both", [False, True])
def test_a_wrong_weight_is_caught(form: str, both: bool) -> None:
    """In the table alone, or in table and plan."""
    release = protected(form)
    assert {check.name: check.holds for check in release.verify()}["mean weights"]
    guard, old = release.plan.guard, release.table.w.iloc[0]
    assert guard is not None
    new = float(f"{old * 1.001:.4g}")
    assert new != old
    if both:
        weights = [new if weight == old else weight for weight in guard.weights]
        release.plan = replace(release.plan, guard=replace(guard, weights=Vector("d", weights)))
        release.table = release.table.assign(w=release.table.w.replace(old, new))
    else:
        release.table.loc[release.table.index[0], "w"] = new
    with pytest.raises(PromiseError, match="mean weights" if both else "whole rows|mapped"):
        release.verify()


@pytest.mark.parametrize("form", FORMS)
def test_files_say_what_a_weight_is(form: str, tmp_path: Path) -> None:
    survey = table().assign(w=lambda t: t.w.round().astype(int))
    survey.to_csv(tmp_path / "people.csv", index=False)
    release = made(form, tmp_path / "people.csv")
    audit = hr.audit(tmp_path / "people.csv", release, attacks=False, learning=False)
    release.write(tmp_path / "out", measured=audit)
    measured = json.loads((tmp_path / "out" / "audit.json").read_text())
    jsonschema.validate(measured, hr.Audit.json_schema())
    assert set(measured["release"]["guard"]["weights"]) == {"before", "after", "largest"}
    words = (tmp_path / "out" / "RECIPIENT.md").read_text()
    mean = "| w | other | the mean weight of its group: rows with the same one are of one group, or of several with"
    assert (mean in words) == (form != "runs")
    assert "| w | other | unchanged" not in words
    # rows have no other mark of their group
    assert ("Rows with the same w are of one group" in words) == (form == "rows")
    assert "cannot be seen in this table" not in words
    again = hr.Plan.load(next((tmp_path / "out").rglob("plan.json")))
    assert again.guard == release.plan.guard
    assert "released with other values, as said under “Guard” at the end (other): w" in again.explain()
    assert "weights" not in again.public()["guard"]


@pytest.mark.parametrize("form", ["rows", "means"])
def test_a_weight_that_all_groups_share_is_not_said_to_tell_them_apart(form: str, tmp_path: Path) -> None:
    release = made(form, table().assign(w=100.0))
    audit = hr.audit(table().assign(w=100.0), release, attacks=False, learning=False)
    words = (release.write(tmp_path / "out", measured=audit) / "RECIPIENT.md").read_text()
    assert "| w | other | the mean weight of its group, which is the same in all groups |" in words
    assert "of one group" not in words
    assert ("You cannot check this from the table" in words) == (form == "rows")
    # it is no further column that finds rows
    assert audit.risk["other"] is None
