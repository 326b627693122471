"""What releases with drawn values keep and hide, measured beside their rivals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from experiments.cart_synthesis import synthesised

import hedgerow as hr
from experiments import guarded
from hedgerow.io.read import read

QUASI, SENSITIVE = ("age", "education", "job"), ("income",)


@pytest.fixture(scope="module")
def people():
    whole = hr.datasets.make_people(1_800, seed=4).select([*QUASI, *SENSITIVE])
    case = guarded.Case("people", lambda: whole, QUASI, SENSITIVE)
    return guarded.Members(case, read(whole.slice(0, 1_200)), read(whole.slice(1_200)))


@pytest.fixture(scope="module")
def views(people):
    wanted = ("original", "MART, exact", "MART of the papers", "Hedge, exact", "Hedge, redrawn, means",
              "Hedge, redrawn, rows", "sequential CART")  # fmt: skip
    return {name: make() for name, make in guarded.releases(people, 1) if name in wanted}


def test_the_original_is_off_in_nothing_and_hides_nobody(people, views):
    view = views["original"]
    assert people.equal(view) == 1
    assert people.counts_off(view) == (0, 0)
    assert people.overlap(view) == pytest.approx(1)
    assert people.means_off(view) == 0
    assert people.impossible(view) == 0
    assert people.nearest(view) > 0.95
    assert people.membership(view) > 0.7


def test_drawn_rows_hide_members_and_copy_few(people, views):
    view = views["Hedge, redrawn, rows"]
    assert people.membership(view) < 0.58
    assert people.nearest(view) < 0.6
    assert people.equal(view) < 0.05
    assert people.impossible(view) <= 0.02


def test_categories_with_counts_are_read_nearer_than_sets(people, views):
    """Sets without shares are read as if each category were equally frequent."""
    assert people.counts_off(views["MART, exact"])[0] < 0.7 * people.counts_off(views["MART of the papers"])[0]


def test_cells_of_groups_are_read_as_means_and_shares(people, views):
    for name in ("MART, exact", "Hedge, exact", "Hedge, redrawn, means"):
        view = views[name]
        assert not view.plain
        for quasi, cell in view.cells.items():
            if people.members.column(quasi).is_number:
                assert (cell.low <= cell.high).all()
            else:
                assert cell.shares.sum(axis=1) == pytest.approx(1)
        assert people.counts_off(view)[0] > 0


def test_synthetic_rows_by_trees_have_the_types_and_leaves_of_five(people):
    made = synthesised(people.members, 3)
    whole = people.members.arrow.select(made.column_names)
    assert made.schema.types == whole.schema.types
    assert made.num_rows == whole.num_rows
    # what one column says of another is kept
    age = np.arange(600) % 60
    table = read(pa.table({"age": age, "old": np.where(age > 30, "yes", "no")}))
    twin = synthesised(table, 1)
    assert all((a > 30) == (o == "yes") for a, o in zip(twin["age"].to_pylist(), twin["old"].to_pylist(), strict=True))


def test_a_range_counts_by_the_part_that_lies_inside():
    low, high = np.array([0.0, 5.0, np.nan]), np.array([10.0, 5.0, np.nan])
    cell = guarded.Quasi(low, high, low, np.zeros((0, 0)))
    assert guarded._inside(cell, 4, 6).tolist() == [0.2, 1.0, 0.0]


def test_means_over_tables_count_each_table_once():
    rows = [{"table": t, "release": "a", "overlap": o} for t, o in (("x", 0.0), ("y", 1.0))]
    assert guarded.averaged(rows) == [{"table": "mean", "release": "a", "overlap": 0.5}]
