"""The window kernel against trying every guess."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.kernels.measures import best_windows


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-50, 50), st.integers(1, 4)), max_size=30),
    st.sampled_from([0.0, 0.05, 0.3, 0.9]),
    st.sampled_from([0.0, 2.0]),
)
def test_equals_trying_both_ends_of_every_interval(rows, share, width):
    rows = sorted(rows)
    groups = np.array([r[0] for r in rows], int)
    values = np.array([r[1] for r in rows], float)
    weights = np.array([r[2] for r in rows], int)
    found, at = best_windows(np.searchsorted(groups, np.arange(5)), values, weights, share, width)
    for g in range(4):
        y, w = values[groups == g], weights[groups == g]
        reach = share * abs(y) + width
        ends = np.concatenate([y - reach, y + reach])
        hits = [w[np.abs(e - y) <= reach + 1e-9].sum() for e in ends]
        assert found[g] == max(hits, default=0)
        assert found[g] == w[np.abs(at[g] - y) <= reach + 1e-9].sum()  # the guess hits them
