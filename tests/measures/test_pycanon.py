"""The figures of pycanon 1.1 on a small table, entered as it prints them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hedgerow.measures import Counts, class_measures, group, sizes

ROWS = [
    ("a", "flu", 3),
    ("a", "flu", 4),
    ("a", "cold", 5),
    ("a", "none", 5),
    ("a", "none", 7),
    ("a", "none", 7),
    ("b", "cold", 6),
    ("b", "none", 11),
    ("b", "none", 8),
    ("b", "flu", 3),
    ("c", "flu", 7),
    ("c", "flu", 9),
    ("c", "none", 10),
    ("c", "none", 10),
    ("c", "cold", 4),
    ("c", "cold", 5),
    ("c", "cold", 6),
    ("c", "none", 3),
]


def counts_of(column):
    values, codes = np.unique([r[column] for r in ROWS], return_inverse=True)
    groups = group([np.unique([r[0] for r in ROWS], return_inverse=True)[1]])
    return groups, Counts.from_codes(groups, codes, len(values))


# (distinct l, whole entropy l, alpha, t, basic beta, enhanced beta, delta) as pycanon prints them;
# its t is the equal distance for text and the ordered one for numbers
@pytest.mark.parametrize(
    ("column", "printed"),
    [
        (1, (3, 2, 0.5, 0.11111111111111112, 0.3499999999999999, 0.3499999999999999, 0.5108256237659907)),
        (2, (4, 3, 0.3333333333333333, 0.1388888888888889, 3.5000000000000004, 2.890371757896165, 1.5040773967762742)),
    ],
)
def test_figures_equal_pycanon(column, printed):
    groups, counts = counts_of(column)
    distinct, entropy, alpha, t, basic, enhanced, delta = printed
    assert sizes.summary(groups.sizes)["smallest"] == 4
    assert class_measures.distinct(counts).min() == distinct
    assert math.floor(class_measures.entropy_l(counts).min()) == entropy
    assert class_measures.largest_share(counts).max() == pytest.approx(alpha)
    distance = class_measures.equal_distance if column == 1 else class_measures.ordered_distance
    assert distance(counts).max() == pytest.approx(t)
    assert class_measures.basic_beta(counts).max() == pytest.approx(basic)
    assert class_measures.enhanced_beta(counts)[0] == pytest.approx(enhanced)
    assert class_measures.delta_disclosure(counts).max() == pytest.approx(delta)


def test_recursive_diversity_follows_the_definition_where_pycanon_sorts_the_other_way():
    # class a has 3 none, 2 flu, 1 cold: r1 / r3 = 3; pycanon divides the smallest by the largest
    _, counts = counts_of(1)
    assert class_measures.recursive_c(counts, 3)[0] == pytest.approx(3.0)
    # class b of the pay column has four single values: both ways of sorting give 1 / 1
    assert class_measures.recursive_c(counts_of(2)[1], 4)[1] == pytest.approx(1.0)
