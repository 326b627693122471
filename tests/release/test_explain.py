from __future__ import annotations

import re
from dataclasses import replace

import pytest

import hedgerow as hr
from hedgerow.plan import PlanColumn

from ..plan.partitions import chain, mixed, plan_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_a_plan_in_words_names_every_column_promise_and_split() -> None:
    plan = plan_of(
        mixed(),
        (
            PlanColumn("name", "identifier", "categorical"),
            PlanColumn("pay", "sensitive", "numeric"),
            PlanColumn("town", "other", "categorical"),
            PlanColumn("height", "undeclared", "numeric"),
        ),
        promises=({"kind": "k_anonymity", "k": 2}, {"kind": "t_closeness", "t": 0.2}),
        n_rows=1234,
    )
    told = plan.explain()
    for words in (
        "fitted on 1,234 records",
        "left out (identifiers): name",
        "unchanged (sensitive): pay",
        "released unchanged (other: declared harmless): town",
        "left out (undeclared: nobody said what they are): height",
        "at least 2 records",
        "an earth mover's distance of 0.2",
        "age < 39.5 or missing",
        "age >= 39.5",
        "job is nurse, O'Hara, missing",
        "job is anything else",
        "born < 1970-01-12",
        "4 groups by these splits",
    ):
        assert words in told
    assert told.count("one group") == 4


def test_splits_stand_below_their_parents() -> None:
    lines = plan_of(mixed()).explain().splitlines()
    at = {line.strip(): len(line) - len(line.lstrip()) for line in lines}
    assert at["age < 39.5 or missing"] < at["job is anything else: one group"]


def test_splits_whose_sides_are_one_group_are_left_out() -> None:
    told = plan_of(replace(mixed(), groups=(0, 0, 1, 2))).explain()
    assert "3 groups, joined from 4 cells" in told
    places = re.findall(r"group \d+", told)
    assert places == ["group 1", "group 2", "group 3"]


def test_an_example_is_of_no_other_column() -> None:
    release = hr.protect(hr.datasets.make_people(300), hr.Schema(quasi=["sex"], sensitive=["income"]), hr.Hedge())
    assert "nurse" not in release.plan.explain()


def test_long_trees_are_cut_with_counts() -> None:
    told = plan_of(chain(300)).explain()
    assert "301 groups by these splits (the first 12 of 300 levels)" in told
    assert ": 289 groups" in told
    assert len(told.splitlines()) < 100
