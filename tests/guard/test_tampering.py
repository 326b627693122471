"""Guarded releases and plans that were changed: `verify` fails for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.backends import memory
from hedgerow.errors import PromiseError
from hedgerow.plan.records import Plan, Vector
from hedgerow.release.rederive.guard_recipe import GuardRecipe
from hedgerow.release.verify import verify

from .test_draws import people

SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["income", "tax", "ill", "hours"], other=["note"])


@cache
def original_release(guard: str, cells: str) -> tuple[pd.DataFrame, Any]:
    table = people(500)
    method = hr.Hedge(5, cells=cells) if cells else hr.MART(5)
    key = 1 if guard == "redraw" else None
    return table, hr.protect(table, SCHEMA, method, guard=guard, random_state=key)


@pytest.fixture(params=["runs", "redraw", "rows"])
def release(request: pytest.FixtureRequest) -> hr.Release:
    """Return a release that a test may change."""
    form = request.param
    _, kept = original_release("runs" if form == "runs" else "redraw", "rows" if form == "rows" else "")
    again = object.__new__(hr.Release)
    again.__dict__.update(kept.__dict__)
    again.table = kept.table.copy()
    return again


def fails(release: hr.Release) -> None:
    with pytest.raises(PromiseError):
        release.verify()


pytestmark = pytest.mark.filterwarnings("ignore")


def test_it_holds_as_it_was_made(release: hr.Release) -> None:
    assert all(check.holds for check in release.verify())


@pytest.mark.parametrize("sensitive", [["smoker"], ["income", "smoker"]])
def test_a_quasi_identifier_that_a_plan_no_longer_draws_is_not_released_as_it_was(sensitive: list[str]) -> None:
    table = hr.datasets.make_people(1_500).to_pandas()[["age", "sex", "income", "smoker"]]
    schema = hr.Schema(quasi=["age", "sex"], sensitive=sensitive)
    release = hr.protect(table, schema, hr.Hedge(10, max_disclosure=0.95), random_state=1)
    guard, rows = release.plan.guard, release.rows.copy()
    drawn = [c for c in guard.columns if not c.follows]
    lower = np.tril_indices(len(drawn))
    matrix = np.zeros((len(drawn), len(drawn)), int)
    matrix[lower] = np.asarray(guard.correlation)
    rest = Vector("i", matrix[1:, 1:][np.tril_indices(len(drawn) - 1)])
    columns = tuple(c for c in guard.columns if c.name != "age")
    release.plan = replace(release.plan, guard=replace(guard, columns=columns, correlation=rest))
    recipe = GuardRecipe(release.plan, release.original, release.released, rows, release._key, [])
    release.table["age"] = table["age"].to_numpy()[rows]
    for name in ("sex", *sensitive):
        made = recipe._values[name].take(recipe._released_codes[name][rows]).to_pandas()
        release.table[name] = made.astype(release.table[name].dtype).to_numpy()
    with pytest.raises(PromiseError, match=r"mapped|whole rows"):
        release.verify()


def groups(release: hr.Release) -> pd.Series:
    """Return the group of each released row."""
    guard = release.plan.guard
    assert guard is not None
    if not guard.rows:
        return release.table.groupby(["age", "job"], observed=True).ngroup()
    from hedgerow.release.rederive.guard_recipe import _planned_groups

    return pd.Series(_planned_groups(release.plan, release.original)[0][release.rows])


def two(release: hr.Release, column: str, same_group: bool) -> tuple[int, int]:
    """Return two rows with different values of a column, of one group or of two."""
    group, values = groups(release), release.table[column]
    for i in range(len(values)):
        here = (group == group[i]) == same_group
        others = np.flatnonzero(here & values.notna() & (values != values[i]))
        if len(others) and pd.notna(values[i]):
            return i, int(others[0])
    raise AssertionError


@pytest.mark.parametrize("column", ["income", "tax", "ill", "hours"])
def test_a_changed_value(release: hr.Release, column: str) -> None:
    i, j = two(release, column, False)
    release.table.loc[i, column] = release.table.loc[j, column]
    fails(release)


@pytest.mark.parametrize("column", ["income", "tax"])
def test_a_value_of_no_run(release: hr.Release, column: str) -> None:
    i, _ = two(release, column, False)
    release.table.loc[i, column] += 1
    fails(release)


@pytest.mark.parametrize("column", ["income", "tax", "ill", "hours"])
def test_values_swapped_between_groups(release: hr.Release, column: str) -> None:
    i, j = two(release, column, False)
    values = release.table[column].to_numpy(copy=True)
    values[[i, j]] = values[[j, i]]
    release.table[column] = values
    fails(release)


@pytest.mark.parametrize("column", ["income", "tax", "ill"])
def test_values_swapped_within_a_group(release: hr.Release, column: str) -> None:
    guard = release.plan.guard
    assert guard is not None
    if guard.rows and column == "ill":
        pytest.skip("inside a group of the plan, columns of rows may stand in any order")
    i, j = two(release, column, True)
    values = release.table[column].to_numpy(copy=True)
    values[[i, j]] = values[[j, i]]
    release.table[column] = values
    fails(release)


def test_a_value_left_out(release: hr.Release) -> None:
    i, _ = two(release, "ill", True)
    release.table.loc[i, "ill"] = None
    fails(release)


def test_a_group_of_originals(release: hr.Release) -> None:
    group, rows = groups(release), release.rows
    here = np.flatnonzero(group == group.mode()[0])
    table, _ = original_release("redraw", "")
    for column in ("income", "tax"):
        values = release.table[column].to_numpy(copy=True)
        values[here] = table[column].to_numpy()[rows[here]]
        release.table[column] = values
    fails(release)


def altered(plan: Plan, column: str, **changed: Callable[[Any], Any]) -> Plan:
    """Return a plan in which fields of a guarded column have other values."""
    assert plan.guard is not None
    columns = [
        replace(c, **{name: change(getattr(c, name)) for name, change in changed.items()}) if c.name == column else c
        for c in plan.guard.columns
    ]
    return replace(plan, guard=replace(plan.guard, columns=tuple(columns)))


def raised(by: float = 1) -> Callable[[Any], Any]:
    """Return a function that adds to the first number of a vector."""

    def change(numbers: Any) -> Vector:
        kind = np.asarray(numbers).dtype.kind
        return Vector("i" if kind == "i" else "d", [numbers[0] + by, *numbers[1:]])

    return change


def altered_guard(plan: Plan, field: str, change: Callable[[Any], Any]) -> Plan:
    """Return a plan in which a field of the guard has another value."""
    assert plan.guard is not None
    return replace(plan, guard=replace(plan.guard, **{field: change(getattr(plan.guard, field))}))


PLANS: dict[str, Callable[[Plan], Plan]] = {
    "moments": lambda plan: altered(plan, "income", moments=raised()),
    "tilts": lambda plan: altered(plan, "income", tilts=raised(0.05)),
    "weights": lambda plan: altered(plan, "income", weights=raised(3)),
    "scores": lambda plan: altered(plan, "income", scores=raised(-1)),
    "people": lambda plan: altered(plan, "income", people=raised()),
    "people of categories": lambda plan: altered(plan, "ill", people=raised()),
    "missing": lambda plan: altered(plan, "income", missing=raised()),
    "counts": lambda plan: altered(plan, "ill", counts=raised()),
    "cuts": lambda plan: altered(plan, "income", cuts=lambda c: Vector("d", [*c[:-1], c[-1] * 1.05])),
    "values": lambda plan: altered(plan, "income", values=lambda v: (*v[:-1], v[-1] + 1)),
    "again": lambda plan: altered_guard(plan, "again", raised()),
    "sizes": lambda plan: altered_guard(plan, "sizes", raised()),
    "correlation": lambda plan: altered_guard(plan, "correlation", raised(-40)),
    "fewer people": lambda plan: altered_guard(plan, "people", lambda people: people - 1),
    "more people": lambda plan: altered_guard(plan, "people", lambda people: people + 20),
}  # fmt: skip
OF_RUNS = ("people", "people of categories", "cuts", "values", "more people")


@pytest.mark.parametrize("what", PLANS)
def test_an_altered_plan(release: hr.Release, what: str) -> None:
    guard = release.plan.guard
    assert guard is not None
    if guard.form == "runs" and what not in OF_RUNS:
        return  # runs have no draws
    release.plan = PLANS[what](release.plan)
    fails(release)


def another_pair(plan: Plan, same: int) -> Plan:
    """Return a plan in which a group has the tilt of others: with their spread (1), or with their mean (0)."""
    assert plan.guard is not None
    column = next(c for c in plan.guard.columns if c.name == "income")
    pair, moments = np.array(column.pair), np.asarray(column.moments).reshape(-1, 2)
    for g, i in enumerate(pair):
        others = np.flatnonzero((moments[:, same] == moments[i, same]) & (moments[:, 1 - same] != moments[i, 1 - same]))
        if len(others):
            pair[g] = others[0]
            return altered(plan, "income", pair=lambda _: Vector("i", pair))
    raise AssertionError


OF_GROUPS: dict[str, Callable[[Plan], Plan]] = {
    "moments": lambda plan: altered(plan, "income", moments=raised()),
    "another mean": lambda plan: another_pair(plan, 1),
    "another spread": lambda plan: another_pair(plan, 0),
    "tilts": lambda plan: altered(plan, "income", tilts=raised(0.05)),
    "tilts that are excused": lambda plan: altered(plan, "income", tilts=raised(0.05), moved=lambda n: n + 10**6),
    "moved": lambda plan: altered(plan, "income", moved=lambda n: n + 1),
    "missing": lambda plan: altered(plan, "income", missing=raised()),
}  # fmt: skip


@pytest.mark.parametrize("what", OF_GROUPS)
def test_what_a_plan_says_of_groups_is_derived_again(what: str) -> None:
    """The check of the groups fails by itself; other draws, under another key, are not needed."""
    release = original_release("redraw", "")[1]
    plan = OF_GROUPS[what](release.plan)
    for each, holds in ((release.plan, True), (plan, False)):
        recipe = GuardRecipe(each, release.original, release.released, release.rows, release._key, ["note"])
        assert {check.name: check.holds for check in recipe.checks()}["drawn from their groups"] == holds


@pytest.mark.parametrize("what", ["constant", "slope", "all"])
def test_a_rule_is_that_of_the_table(what: str) -> None:
    """A rule of somebody's choice would put into each group the values that it wants to show of its people."""
    release = original_release("redraw", "rows")[1]

    def another(rule: Any) -> Vector:
        changed = np.asarray(rule).copy()
        of = {"constant": slice(0, 1), "slope": slice(len(changed) - 1, None), "all": slice(None)}[what]
        changed[of] += 1_000  # a quarter
        return Vector("i", changed)

    plan = altered(release.plan, "ill", rule=another)
    for each, holds in ((release.plan, True), (plan, False)):
        recipe = GuardRecipe(each, release.original, release.released, release.rows, None, ["note"])
        assert {check.name: check.holds for check in recipe.checks()}["drawn from their groups"] == holds


def test_cells_are_derived_again() -> None:
    release = original_release("redraw", "rows")[1]
    guard = release.plan.guard
    moved = [guard.cells[0] + 1, guard.cells[1] - 1, *guard.cells[2:]]
    plan = altered_guard(release.plan, "cells", lambda _: Vector("i", moved))
    for each, holds in ((release.plan, True), (plan, False)):
        recipe = GuardRecipe(each, release.original, release.released, release.rows, release._key, ["note"])
        assert {check.name: check.holds for check in recipe.checks()}["drawn from their groups"] == holds


def test_a_cap_holds_of_the_originals_as_well() -> None:
    release = original_release("redraw", "")[1]
    lower = [{**p, "maximum": 0.001} if "maximum" in p else p for p in release.plan.promises]
    plan = replace(release.plan, promises=tuple(lower))
    verified = verify(plan, release.original, release.released, key=release._key, rows=release.rows)
    failed = [check.name for check in verified.checks if not check.holds]
    assert [name for name in failed if name.endswith("(originals)")]


def test_values_altered_in_plan_and_table(release: hr.Release) -> None:
    """A forged value that plan and table agree on is outside its run."""
    guard = release.plan.guard
    assert guard is not None
    if guard.form != "runs":
        pytest.skip("draws depend on the plan as well")
    column = guard.columns[0]
    top = float(column.values[-1])  # type: ignore[arg-type]
    forged = float(original_release("runs", "")[0].income.max()) + 1
    release.table.loc[release.table.income == top, "income"] = forged
    release.plan = altered(release.plan, "income", values=lambda v: (*v[:-1], forged))
    fails(release)


def test_another_key(release: hr.Release) -> None:
    guard = release.plan.guard
    assert guard is not None
    if guard.form == "runs":
        pytest.skip("runs have no draws")
    release._key = hr.Key.from_key_or_seed(None, 2)
    fails(release)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("guard", ["runs", "redraw", "rows"])
def test_a_written_file_is_read_back(guard: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"people{suffix}"
    table, real = people(300), memory.write_table
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    method = hr.Hedge(5, cells="rows") if guard == "rows" else hr.Hedge(5)
    form = "runs" if guard == "runs" else "redraw"
    release = hr.protect(path, SCHEMA, method, guard=form, random_state=1 if form == "redraw" else None)
    release.write(tmp_path / "right")

    def swapped(made: pa.Table, *rest: Any, **more: Any) -> None:
        at = made.column_names.index("income")
        cells = made.column(at).to_pylist()
        i = next(i for i, v in enumerate(cells) if v != cells[0])
        cells[0], cells[i] = cells[i], cells[0]
        cells = pa.array(cells, made.schema.field(at).type)
        real(made.set_column(at, made.schema.field(at), cells), *rest, **more)

    monkeypatch.setattr(memory, "write_table", swapped)
    with pytest.raises(PromiseError, match="written file"):
        release.write(tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()
