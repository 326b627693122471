"""The trial of values that are drawn anew inside groups."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from experiments import guarded
from hedgerow.io.read import read

ROLES = hr.Schema(quasi=["age", "education", "job"], sensitive=["income"])


def _people(n=1_200, seed=3):
    people = hr.datasets.make_people(n, seed=seed).select(["age", "education", "job", "income"])
    members = read(people)
    age = np.asarray(people["age"])
    return members, np.searchsorted(np.quantile(age, np.arange(1, 20) / 20), age)


def test_every_run_holds_m_people_and_is_told_as_one_of_its_values_or_between_them():
    draw = np.random.default_rng(0)
    for trial in range(50):
        values = np.round(draw.lognormal(8, 1, 300) * draw.choice([0, 1], 300), trial % 3)
        column = read(pa.table({"x": values})).column("x")
        runs = guarded.runs_of(column, 7)
        people = np.bincount(runs.of_code[column.codes])
        assert (people == runs.people).all()
        assert people.min() >= 7
        for run, told in enumerate(runs.values):
            mine = values[runs.of_code[column.codes] == run]
            assert mine.min() <= told <= mine.max()
        zeros = np.flatnonzero(runs.values == 0)
        assert len(zeros) == 1, "what many people share is told as it is"


def test_each_value_of_a_left_over_joins_the_nearer_neighbour():
    values = np.repeat([0.0, 1, 2, 90, 100], [10, 1, 1, 1, 10])
    runs = guarded.runs_of(read(pa.table({"x": values})).column("x"), 10)
    assert runs.values.tolist() == [0, 100]
    assert runs.people.tolist() == [12, 11]
    near_zero = np.repeat([0.0, 1, 2, 100], [10, 1, 1, 10])
    runs = guarded.runs_of(read(pa.table({"x": near_zero})).column("x"), 10)
    assert runs.people.tolist() == [12, 10]


def test_tilted_weights_have_the_moments_that_were_asked_for():
    draw = np.random.default_rng(1)
    values, people = np.sort(draw.lognormal(size=80)), draw.integers(10, 30, 80)
    scores = guarded.scores_of(values, people)
    mean, variance = np.array([-0.5, 0.0, 1.0]), np.array([0.2, 1.0, 0.8])
    chances = guarded.tilted(scores, people.astype(float), mean, variance)
    assert chances.sum(axis=1) == pytest.approx(1)
    assert chances @ scores == pytest.approx(mean, abs=1e-8)
    assert chances @ scores**2 - mean**2 == pytest.approx(variance, abs=1e-8)


def test_redrawn_rows_keep_groups_means_and_types_and_copy_nobody():
    members, group = _people()
    released, _ = guarded.redraw(members, ROLES, group, seed=1)
    whole = members.arrow.select(released.column_names)
    assert released.schema.types == whole.schema.types
    assert released.num_rows == whole.num_rows
    sizes = np.bincount(group)
    shown = np.repeat(np.arange(len(sizes)), sizes)
    income = [np.asarray(t["income"], float) for t in (whole, released)]
    means = [np.bincount(g, x) / sizes for g, x in zip((group, shown), income, strict=True)]
    assert np.corrcoef(*means)[0, 1] > 0.95
    assert income[1].mean() == pytest.approx(income[0].mean(), rel=0.03)
    rows = [set(zip(*(t[n].to_pylist() for n in t.column_names), strict=True)) for t in (whole, released)]
    assert len(rows[0] & rows[1]) < 0.02 * len(group)


def test_exact_values_tell_members_from_strangers_and_redrawn_ones_do_not():
    members, group = _people(seed=4)
    others = read(hr.datasets.make_people(600, seed=9).select(members.names))
    case = guarded.Case("people", lambda: members.arrow, ROLES.quasi, ROLES.sensitive)
    own = guarded.features(members, members, ROLES.quasi)[0]
    assert guarded.membership(own, members, members, others, case) > 0.7
    drawn = read(guarded.redraw(members, ROLES, group)[0])
    places = guarded.features(members, drawn, ROLES.quasi)[1]
    assert guarded.membership(places, drawn, members, others, case) < 0.58


def test_correcting_the_weights_keeps_the_middle_of_a_skewed_column():
    draw = np.random.default_rng(2)
    age = draw.integers(20, 70, 2_000)
    wealth = np.round(np.exp(age / 10 + draw.normal(size=2_000)))
    members = read(pa.table({"age": age, "wealth": wealth}))
    schema = hr.Schema(quasi=["age"], sensitive=["wealth"])
    group = np.searchsorted(np.arange(22, 70, 2), age, side="right")
    off = []
    for rounds in (0, guarded.ROUNDS):
        released, _ = guarded.redraw(members, schema, group, rounds=rounds)
        off.append(abs(np.median(np.asarray(released["wealth"])) / np.median(wealth) - 1))
    assert off[1] < 0.1 < off[0]
