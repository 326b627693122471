"""Mondrian: its four objectives against plain references, and its loss on Adult."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.backends.partitions import route
from hedgerow.columns.table import Table
from hedgerow.datasets import load_adult, make_people
from hedgerow.errors import HedgerowError
from hedgerow.io.read import read
from hedgerow.measures.guarantees import LDiversity
from hedgerow.methods.design import Quasi
from hedgerow.methods.mart import MART
from hedgerow.methods.mondrian import Mondrian, positions
from hedgerow.schema import Schema
from hedgerow.workflow.protect import protect

QUASI = ("age", "sex", "marital", "job", "children")


def groups(method: Mondrian | MART, table: Table) -> tuple[np.ndarray, int, float]:
    """Leaf of each row, number of leaves, and the information loss."""
    recoding = method.plan_.recoding
    columns = [table.like(c) for c in recoding.columns]
    leaf = route(recoding, columns)
    return leaf, recoding.n_leaves, information_loss(columns, leaf, recoding.n_leaves)


def information_loss(columns: list, leaf: np.ndarray, n_leaves: int) -> float:
    """Normalised certainty penalty, group by group: 0 (exact) to 1 (everything hidden)."""
    total = 0.0
    for column in columns:
        span = column.values[-1] - column.values[0] if column.is_number else 0
        domain = column.n_values + column.has_missing
        for g in range(n_leaves):
            codes = column.codes[leaf == g]
            if column.is_number:
                known = np.asarray(column.values)[codes[codes < column.n_values]]
                extent = np.ptp(known) / span if len(known) and span else 0.0
            else:
                extent = (len(np.unique(codes)) - 1) / (domain - 1) if domain > 1 else 0.0
            total += extent * len(codes)
    return total / (len(leaf) * len(columns))


@pytest.fixture(scope="module")
def people() -> Table:
    return read(make_people(400, seed=3))


def plain_loss(quasi: Quasi, rows: np.ndarray) -> float:
    """Records times summed extents of one group, from the definition."""
    total = 0.0
    for column, cut in zip(quasi.columns, quasi.cuts, strict=True):
        binned = cut.codes(column.codes)
        codes = binned[rows].astype(int)
        if column.is_number:
            known = codes[codes < cut.n_bins]
            if len(known):
                middle = (cut.lo + cut.hi) / 2
                total += (middle[known.max()] - middle[known.min()]) / (middle[-1] - middle[0])
        elif column.kind == "ordinal":
            known = codes[codes < cut.n_bins]
            if len(known):
                total += (known.max() - known.min()) / (cut.n_bins - 1)
        else:
            total += (len(np.unique(codes)) - 1) / max(len(np.unique(binned)) - 1, 1)
    return len(rows) * total


def plain_median(quasi: Quasi, k: int) -> set[tuple[int, ...]]:
    """Strict Mondrian in plain Python: the widest column that can be cut, at its median."""

    def grow(rows: np.ndarray) -> list[tuple[int, ...]]:
        if len(rows) >= 2 * k:
            extents = []
            for j in range(len(quasi.columns)):
                one = Quasi((quasi.columns[j],), (quasi.cuts[j],), quasi.table)
                extents.append(plain_loss(one, rows) / len(rows))
            for j in sorted(range(len(extents)), key=lambda j: (-round(extents[j], 11), j)):
                if extents[j] <= 0:
                    break
                codes = quasi.cuts[j].codes(quasi.columns[j].codes)[rows].astype(int)
                present = np.unique(codes)
                if quasi.columns[j].is_number or quasi.columns[j].kind == "ordinal":
                    present = present[present < quasi.cuts[j].n_bins]
                cuts = [
                    (abs(2 * int((codes <= c).sum()) - len(rows)), c)
                    for c in present[:-1]
                    if k <= (codes <= c).sum() <= len(rows) - k
                ]
                if cuts:
                    cut = min(cuts)[1]
                    return grow(rows[codes <= cut]) + grow(rows[codes > cut])
        return [tuple(sorted(rows.tolist()))]

    return set(grow(np.arange(len(quasi.columns[0].codes))))


def as_sets(leaf: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(np.flatnonzero(leaf == g).tolist()) for g in np.unique(leaf)}


@pytest.mark.parametrize("k", [2, 7, 25])
def test_median_equals_the_plain_reference(people: Table, k: int) -> None:
    schema = Schema(quasi=QUASI)
    method = Mondrian(k=k).fit_table(people, schema)
    quasi = Quasi.from_table(people, schema, 1024)
    assert as_sets(groups(method, people)[0]) == plain_median(quasi, k)


def test_loss_takes_the_best_first_cut(people: Table) -> None:
    """With k over a third of the rows only one cut fits: it must be the best threshold or subset found."""
    small = read(people.arrow.slice(0, 60))
    names = ("age", "sex", "children")
    schema = Schema(quasi=names)
    k = 21
    quasi = Quasi.from_table(small, schema, 1024)
    method = Mondrian(k=k, objective="loss").fit_table(small, schema)
    leaf, n, _ = groups(method, small)
    assert n == 2
    reached = sum(plain_loss(quasi, np.flatnonzero(leaf == g)) for g in range(2))
    every = []
    for column, cut in zip(quasi.columns, quasi.cuts, strict=True):
        codes = cut.codes(column.codes).astype(int)
        last = cut.n_bins if not column.is_number else cut.n_bins - 1
        for c in range(last):
            left = codes <= c
            if k <= left.sum() <= 60 - k:
                every.append(plain_loss(quasi, np.flatnonzero(left)) + plain_loss(quasi, np.flatnonzero(~left)))
    assert reached == pytest.approx(min(every), rel=1e-12)


@pytest.mark.parametrize("objective", ["median", "regression", "information_gain", "loss"])
def test_every_objective_keeps_k_whatever_the_row_order(people: Table, objective: str) -> None:
    sensitive = ("diagnosis",) if objective == "information_gain" else ("income",)
    schema = Schema(quasi=QUASI, sensitive=sensitive)
    leaf, n, _ = groups(Mondrian(k=9, objective=objective).fit_table(people, schema), people)
    assert n > 5
    assert np.bincount(leaf).min() >= 9
    order = np.random.default_rng(1).permutation(people.n_rows)
    shuffled = read(people.arrow.take(order))
    again = Mondrian(k=9, objective=objective).fit_table(shuffled, schema)
    assert np.array_equal(groups(again, shuffled)[0], leaf[order])


def test_loss_beats_median(people: Table) -> None:
    schema = Schema(quasi=QUASI)
    made = {o: groups(Mondrian(k=5, objective=o).fit_table(people, schema), people)[2] for o in ("median", "loss")}
    assert made["loss"] < made["median"]


def test_regression_is_mart_without_its_cap(people: Table) -> None:
    quasi = [name for name in people.names if name in QUASI]  # as the plan of Mondrian lists them
    schema = Schema(quasi=quasi, sensitive=("income",))
    plain = Mondrian(k=8, objective="regression").fit_table(people, schema)
    mart = MART(k=8, max_disclosure=None, categorical="concatenate").fit_table(people, schema)
    assert plain.plan_.recoding == mart.plan_.recoding


def test_adult_loss_meets_the_bound(need_data: None) -> None:
    """Normalised certainty penalty on Adult, k = 10: at most 0.027 (peers reach 0.038 and 0.047)."""
    adult = read(load_adult())
    quasi = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
    method = Mondrian(k=10, objective="loss").fit_table(adult, Schema(quasi=quasi))
    leaf, _, loss = groups(method, adult)
    assert np.bincount(leaf).min() >= 10
    assert loss <= 0.027


@pytest.mark.parametrize(
    ("method", "schema", "words"),
    [
        (Mondrian(objective="widest"), Schema(quasi=QUASI), "objective"),
        (Mondrian(objective="regression"), Schema(quasi=QUASI), "sensitive"),
        (Mondrian(objective="information_gain"), Schema(quasi=QUASI, sensitive=("income",)), "categorical"),
        (Mondrian(criteria=[LDiversity(2)]), Schema(quasi=QUASI), "criteria"),
        (Mondrian(k=1), Schema(quasi=QUASI), "k must"),
        (Mondrian(k=401), Schema(quasi=QUASI), "rows"),
    ],
)
def test_bad_requests(people: Table, method: Mondrian, schema: Schema, words: str) -> None:
    with pytest.raises(HedgerowError, match=words):
        method.fit_table(people, schema)


def test_entropy_diversity_is_kept(people: Table) -> None:
    schema = Schema(quasi=QUASI, sensitive=("diagnosis",))
    method = Mondrian(k=5, objective="regression", criteria=[LDiversity(2, "entropy")])
    leaf, n, _ = groups(method.fit_table(people, schema), people)
    codes = people.column("diagnosis").codes
    for g in range(n):
        p = np.bincount(codes[leaf == g]) / (leaf == g).sum()
        assert np.exp(-(p[p > 0] * np.log(p[p > 0])).sum()) >= 2 - 1e-9
    assert {"kind": "l_diversity", "l": 2, "diversity": "entropy", "columns": ("diagnosis",)} in method.plan_.promises


def test_positions_span_the_unit_interval(people: Table) -> None:
    quasi = Quasi.from_table(people, Schema(quasi=("age", "children")), 1024)
    made = positions(quasi)
    n = quasi.cuts[0].n_bins
    assert made[0] == 0.0
    assert made[n - 1] == 1.0
    assert np.all(np.diff(made[:n]) > 0)


@pytest.mark.parametrize("objective", ["median", "loss", "regression", "information_gain"])
def test_the_order_of_the_roles_decides_nothing(objective: str) -> None:
    people, sensitive = make_people(400, seed=2), ["diagnosis" if "gain" in objective else "income"]
    made = [
        protect(people, Schema(quasi=quasi, sensitive=sensitive), Mondrian(5, objective=objective))
        for quasi in (["age", "education"], ["education", "age"])
    ]
    assert made[0].table.equals(made[1].table)
