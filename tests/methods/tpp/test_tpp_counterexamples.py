"""Every counterexample: the printed algorithm fails where it should, the corrected one not."""

from __future__ import annotations

import numpy as np
import pytest
from tpp_paper import Shortcut, printed_step_3
from tpp_tables import categories, numbers

from hedgerow.methods.tpp import TreeSettings
from hedgerow.methods.tpp.builder import Builder
from hedgerow.methods.tpp.encoding import PredictedColumn
from hedgerow.methods.tpp.sanitize import Sanitizer, groups_of, release_column
from hedgerow.methods.tpp.targets import PreservedModel


def corrected(columns, response, settings):
    """The number of differences over all sizes."""
    sanitizer = Sanitizer(columns, [response], [PreservedModel(settings)])
    found = [sanitizer.compare(sanitizer.state(step)) for step in range(1, sanitizer.n_steps + 1)]
    assert found
    return sum(difference is not None for difference in found)


def printed(columns, response, settings):
    """Original and rebuilt tree under the printed step 3."""
    old = Builder(columns, response, settings).grow()
    made = [
        printed_step_3(c, f, old) if f in {n.feature for n in old.nodes} else numbers(c.name, np.zeros(len(c.codes)))
        for f, c in enumerate(columns)
    ]
    return old, Builder(made, response, settings).grow()


def test_ce1_equal_values_satisfy_the_theorem_and_lose_the_split():
    x = np.arange(1.0, 7.0)
    y = PredictedColumn.from_classes(list("000111"))
    columns = [numbers("x", x)]
    settings = TreeSettings("entropy", n_splits=1)
    tree = Builder(columns, y, settings).grow()
    root = tree.nodes[0]
    flat = np.full(6, 3.5)
    assert (np.diff(flat) >= 0).all()  # 3(a): order kept
    assert flat[root.lo] + flat[root.hi] == x[root.lo] + x[root.hi]  # 3(b): sum kept
    tree = Builder([numbers("x", flat)], y, settings).grow()
    assert tree.n_splits == 0
    assert corrected(columns, y, settings) == 0


def test_ce3_two_nodes_want_different_distances():
    columns = [numbers("x0", [4, 7, 7, 6, 1, 6, 2]), numbers("x1", [7, 0, 5, 5, 3, 3, 1])]
    y = PredictedColumn.from_classes(list("0011001"))
    failing = []
    for criterion in ("entropy", "gini"):
        for splits in range(1, 7):
            settings = TreeSettings(criterion, n_splits=splits)
            old, new = printed(columns, y, settings)
            failing += [
                (a.threshold, b.threshold)
                for a, b in zip(old.nodes, new.nodes, strict=False)
                if a.feature == b.feature == 0 and a.threshold != b.threshold
            ]
            assert corrected(columns, y, settings) == 0
    assert (4.0, 3.75) in failing


def test_ce4_the_last_bit_of_a_threshold():
    columns = [numbers("x", [0.1, 0.2, 0.0, 0.9])]
    y = PredictedColumn.from_classes(list("1011"))
    settings = TreeSettings("entropy", n_splits=1)
    old, new = printed(columns, y, settings)
    assert (old.nodes[0].threshold, new.nodes[0].threshold) == (0.15000000000000002, 0.15)
    assert corrected(columns, y, settings) == 0


def merged(columns, tree):
    """The sanitized category columns of a tree."""
    from hedgerow.methods.tpp.representatives import ColumnPlan

    return [
        release_column(c, ColumnPlan(groups_of(c.n_values, [n for n in tree.nodes if n.feature == f])))
        for f, c in enumerate(columns)
    ]


@pytest.mark.parametrize(
    ("c0", "c1", "y", "min_leaf"),
    [
        ("dbbac", "acbaa", "22001", 1),  # CE5: three classes
        ("fcadbfefafff", "dacfedefbfdc", "011001110100", 3),  # CE6: smallest leaf 3
    ],
)
def test_ce5_ce6_the_ordering_shortcut_breaks_the_guarantee(c0, c1, y, min_leaf):
    columns = [categories("c0", list(c0)), categories("c1", list(c1))]
    response = PredictedColumn.from_classes(list(y))
    broken = 0
    for criterion in ("entropy", "gini"):
        for splits in range(1, 6):
            settings = TreeSettings(criterion, n_splits=splits, min_leaf=min_leaf)
            old = Shortcut(columns, response, settings).grow()
            new = Shortcut(merged(columns, old), response, settings).grow()
            told = [[(n.path, n.feature, n.threshold, n.n, n.value) for n in tree.nodes] for tree in (old, new)]
            broken += told[0] != told[1] or not np.array_equal(old.leaf, new.leaf)
            assert corrected(columns, response, settings) == 0
    assert broken
