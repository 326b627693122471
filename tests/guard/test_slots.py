"""Rows of several slots: who has a cell, what moves together, and that draws keep to it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.columns.table import Table
from hedgerow.columns.units import widened
from hedgerow.errors import PromiseError
from hedgerow.guard.draw import Draws
from hedgerow.guard.slots import Slots
from hedgerow.io.read import read
from hedgerow.kernels.even_draws import FIXED
from hedgerow.plan import UnitForm
from hedgerow.release.rederive.possible import faults

from ..release.long_tables import panel, random_table

pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = ("id", "wave", "sex", "age", "pay", "tax")
FORM = UnitForm(
    "id", "wave", "wave", ("1", "2"), ("sex",), ("pay", "tax"), ("age",), "wave (rows)", NAMES, 2, (0,), (0,)
)
WIDE = {"wave (rows)": ["11", "01", "10", None], "sex": list("fmfm"), "age (first)": [1, 2, 3, 4]} | {
    name: [5, None, 7, None] for name in ("age (step) [2]", "pay [1]", "pay [2]", "tax [1]", "tax [2]")
}
SCHEMA = hr.Schema(quasi=["sex", "age"], sensitive=["job", "pay"], unit="person", wave="year")


def test_which_rows_have_a_cell() -> None:
    slots, table = Slots(FORM), Table(pa.table(WIDE))
    assert not any(table.has_cell(name) is not None for name in WIDE)
    table.units = FORM
    here = {name: rows for name in WIDE if (rows := table.has_cell(name)) is not None}
    assert {name: rows.tolist() for name, rows in here.items()} == {
        "age (step) [2]": [True, False, False, False],  # whose first row it is has no step
        "pay [1]": [True, False, True, False], "tax [1]": [True, False, True, False],
        "pay [2]": [True, True, False, False], "tax [2]": [True, True, False, False],
    }  # fmt: skip
    assert all(table.column(name).here is table.has_cell(name) is None for name in {*WIDE} - {*here})
    assert all(table.column(name).here.tolist() == rows.tolist() for name, rows in here.items())
    assert (Slots().presence, slots.presence) == ("", "wave (rows)")


def test_what_may_move_together_has_its_cells_in_the_same_rows() -> None:
    slots, names = Slots(FORM), [*WIDE]
    together = {(a, b) for a in names for b in names if a < b and slots.may_move_with(a, b)}
    assert together == {("age (first)", "sex"), ("pay [1]", "tax [1]"), ("pay [2]", "tax [2]")}
    assert Slots().may_move_with("anything", "else")


def released(seed: int = 2, **more: object) -> tuple[pd.DataFrame, hr.Release]:
    people = panel(90, seed=seed)
    return people, hr.protect(people, SCHEMA.replace(**more), hr.Hedge(k=5), random_state=1)


def test_rows_of_different_slots_swap_nothing() -> None:
    _, release = released()
    guard, slots = release.plan.guard, Slots(release.plan.units)
    assert guard is not None
    patterns = next(column for column in guard.columns if column.name == slots.presence)
    codes = {column.name: np.zeros(4, np.int64) for column in guard.columns}
    codes[slots.presence] = np.arange(4) % len(patterns.values)
    units = np.arange(len(guard.columns))
    classes = slots.exchangeable(guard, codes, units)
    for column, of_rows in zip(guard.columns, classes, strict=True):
        shown = [patterns.values[code] for code in codes[slots.presence]]
        assert release.plan.units is not None
        wanted = [FIXED if column.name == slots.presence else int(release.plan.units.has_cell(column.name, each))
                  for each in shown] if column.name in {*slots.cells, slots.presence} else [0] * 4  # fmt: skip
        assert of_rows.tolist() == wanted
    assert Slots().exchangeable(guard, codes, units).shape == (0, 0)


@pytest.mark.parametrize("seed", range(3))
def test_draws_keep_the_share_of_rows_in_each_slot(seed: int) -> None:
    people, release = released(seed)
    before, after = (Counter(t["year"]) for t in (people, release.table))
    assert all(abs(before[year] - after[year]) <= 6 for year in before)
    assert release.table[["job", "pay"]].notna().all(axis=None)
    # relations of two columns in one row, and of one column in two rows, stay
    for table in (people, release.table):
        wide = table.pivot(index="person", columns="year", values="pay").corr().to_numpy()
        assert wide[np.triu_indices(3, 1)].min() > 0.3


def test_a_value_without_a_row_is_found() -> None:
    people, release = released()
    form, guard = release.plan.units, release.plan.guard
    assert form is not None
    assert guard is not None
    original = widened(read(people), SCHEMA, form.people).table
    assert faults(release.plan, original, release.released, None) == []
    wide = release.released.arrow.to_pandas()
    absent = wide["year (rows)"].str[1] == "0"
    wide.loc[absent, "pay [2021]"] = wide.loc[~absent, "pay [2021]"].iloc[0]
    wrong = faults(release.plan, original, Table(pa.Table.from_pandas(wide, release.released.types)), None)
    assert any("values in slots in which their unit has no row" in each for each in wrong)


def test_numbers_that_grow_by_what_another_column_says_do_not_move_with_it() -> None:
    """Steps and values of one slot have their cells in different rows, however related they are."""
    draw = np.random.default_rng(4)
    rows = [(i, w) for i in range(120) for w in range(3) if draw.random() < 0.8]
    people = pd.DataFrame(rows, columns=["person", "year"])
    people["grown"] = draw.integers(0, 9, len(people))
    people["total"] = (people["person"] % 50) * 100 + people.groupby("person")["grown"].cumsum()
    schema = hr.Schema(quasi=["total", "grown"], unit="person", wave="year")
    release = hr.protect(people, schema, hr.Hedge(k=5, max_disclosure=None), random_state=1)
    assert release.plan.units is not None
    assert release.plan.units.moving == ("total",)
    assert release.table.notna().all(axis=None)
    assert release.plan.guard is not None
    leaders = {c.name: c.follows for c in release.plan.guard.columns if c.follows}
    slots = Slots(release.plan.units)
    assert all(slots.may_move_with(*pair) for pair in leaders.items())


def test_swaps_for_rules_keep_to_the_rows_that_have_a_cell() -> None:
    people = panel(90)
    people["limit"] = people["pay"] + 1 + people.index % 3
    people["job"] = people["job"].mask(people["pay"] <= 15, "none")
    schema = SCHEMA.replace(sensitive=["pay", "limit", "job"], rules=["pay <= limit", "pay > 15 OR job = 'none'"])
    table = hr.protect(people, schema, hr.Hedge(k=5), random_state=1).table
    assert (table["pay"] <= table["limit"]).all()
    assert ((table["pay"] > 15) | (table["job"] == "none")).all()
    assert table[["pay", "limit", "job"]].notna().all(axis=None)


def test_groups_are_drawn_again_in_their_slots() -> None:
    for seed in (15, 89):
        table, fields, settings = random_table(seed)
        method = hr.Hedge(k=settings["k"], max_disclosure=settings["cap"])
        release = hr.protect(table, hr.Schema(**fields), method, random_state=seed)
        assert release.plan.guard is not None
        assert sum(release.plan.guard.again) > 0
        release.verify()


def test_another_key_is_another_release() -> None:
    people, release = released()
    other = hr.protect(people, SCHEMA, hr.Hedge(k=5), random_state=2)
    assert not other.table.equals(release.table)
    forged = object.__new__(type(release))
    forged.__dict__.update(release.__dict__)
    forged.table = other.table
    with pytest.raises(PromiseError):
        forged.verify()


def test_what_few_have_in_a_slot_is_another_value_there_and_numbers_go_by_all_slots() -> None:
    """Twelve people are 'rare', but only two of them in the last wave, in which few have a row."""
    people = panel(90, seed=4, waves=4, present=1.0)
    people["pay"] = people["pay"].round()
    few = people["person"] < 1012
    people.loc[few & (people["year"] < 2023), "job"] = "rare"
    people.loc[people["person"].isin([1000, 1001]) & (people["year"] == 2023), "job"] = "rare"
    people = people[(people["year"] < 2023) | (people["person"] < 1025)]
    release = hr.protect(people, SCHEMA, hr.Hedge(k=10), random_state=1)
    assert release.plan.guard is not None
    jobs = {c.name: c for c in release.plan.guard.columns if c.name.startswith("job")}
    assert all("rare" in column.values for column in jobs.values())
    assert jobs["job [2023]"].people[jobs["job [2023]"].values.index("rare")] == 0
    assert jobs["job [2020]"].people[jobs["job [2020]"].values.index("rare")] == 12
    assert jobs["job [2020]"].of_all[jobs["job [2020]"].values.index("rare")] == 12
    last = release.table["year"] == 2023
    assert {*release.table.loc[last, "job"]} <= {"none", "nurse", "cook"}
    assert "rare" in {*release.table.loc[~last, "job"]}
    pay = {c.name: c for c in release.plan.guard.columns if c.name.startswith("pay")}
    assert len({(column.values, tuple(column.of_all), tuple(column.begins)) for column in pay.values()}) == 1
    assert sum(pay["pay [2020]"].of_all) == len(people)
    assert sum(np.array([list(column.people) for column in pay.values()])).tolist() == list(pay["pay [2020]"].of_all)


def test_a_column_that_is_withheld_in_one_slot_alone_is_missing_there() -> None:
    people = panel(90, seed=4, waves=3, present=1.0)
    last = people["year"] == 2022  # whole numbers have no room for (other)
    people["job"] = people["job"].map({"none": 1, "nurse": 2, "cook": 3})
    people.loc[last, "job"] = np.arange(last.sum()) + 100
    schema = SCHEMA.replace(kinds={"job": "categorical"})
    release = hr.protect(people, schema, hr.Hedge(k=5, max_disclosure=None), random_state=1)
    assert release.table.loc[release.table["year"] == 2022, "job"].isna().mean() > 0.9
    assert release.table.loc[release.table["year"] < 2022, "job"].notna().all()


def test_waves_of_a_group_are_drawn_from_the_same_places() -> None:
    """Pay that never changes has the same values in all waves of a group, whatever the order of its rows."""
    people = panel(120, seed=6, waves=3, present=1.0)
    people["pay"] = people.groupby("person")["pay"].transform("first")
    people["pay"] += people["person"].isin(range(1000, 1010)) * (people["year"] - 2020) * 1e-3  # not had once
    fitted: list[dict[str, Any]] = []
    old = Draws.reordered
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Draws, "reordered", lambda self, items: fitted.append(items) or old(self, items))
        release = hr.protect(people, SCHEMA, hr.Hedge(k=10), random_state=3)
    drawn = [fitted[0][name] for name in fitted[0] if name.startswith("pay")]
    assert len(drawn) == 3
    assert np.mean([drawn[0] == drawn[1], drawn[1] == drawn[2]]) > 0.9
    guard = release.plan.guard
    assert guard is not None
    slots = Slots(release.plan.units)
    names = [c.name for c in guard.columns if c.name.startswith("pay")]
    assert len(names) == 3
    assert {slots.drawn_with(name) for name in names} == {"pay [2020]"}
    assert slots.drawn_with("sex") == "sex"
    assert Slots().drawn_with("sex") == "sex"


def test_one_persons_value_in_a_late_slot_changes_nothing() -> None:
    """Of six people in the last wave one has what others have in earlier waves alone."""
    people = panel(120, seed=9, waves=3, present=1.0)
    people = people[(people["year"] < 2022) | (people["person"] < 1006)]
    late = people["year"] == 2022
    people.loc[late, "job"] = "none"
    found = set()
    for hers in ("none", "cook"):
        people.loc[late & (people["person"] == 1000), "job"] = hers
        for key in range(6):
            table = hr.protect(people, SCHEMA, hr.Hedge(k=5), random_state=key).table
            found |= {*table.loc[table["year"] == 2022, "job"]}
    assert found == {"none"}


@pytest.mark.parametrize("kind", ["wave", "member"])
def test_a_slot_without_any_value_is_released_without_one(kind: str) -> None:
    draw = np.random.default_rng(0)
    if kind == "wave":
        people = pd.DataFrame({"id": np.repeat(range(60), 3), "w": np.tile(range(3), 60)})
        people["sex"] = np.where(people["id"] % 2, "f", "m")
        people["pay"] = np.where(people["w"] == 1, np.nan, draw.integers(1, 99, 180))
        schema = hr.Schema(quasi=["sex"], sensitive=["pay"], unit="id", wave="w")
        table = hr.protect(people, schema, hr.Hedge(k=3), random_state=1).table
        assert table["pay"].isna().groupby(table["w"]).mean().tolist() == [0, 1, 0]
        return
    for seed in range(6):
        draw = np.random.default_rng(seed)
        who = [(i, m) for i in range(24) for m in range(5) if m == 0 or draw.random() < 0.35]
        unit, member = map(np.array, zip(*who, strict=True))
        people = pd.DataFrame({"id": unit, "by": np.array(["head", "spouse", "child", "other", "guest"])[member]})
        people["one"], people["sex"] = draw.integers(0, 4, len(unit)), np.array(["f", "m"])[unit % 2]
        schema = hr.Schema(quasi=["sex"], sensitive=["one"], household="id", member="by")
        assert hr.protect(people, schema, hr.Hedge(k=8), random_state=0).checks
