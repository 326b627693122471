"""Rows into classes, against dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import UnsupportedError
from hedgerow.kernels import group as kernel
from hedgerow.measures import group

KINDS = (np.uint8, np.uint16, np.uint32, np.int64)


@given(st.integers(0, 2**32 - 1), st.integers(0, 80), st.integers(0, 6))
def test_classes_are_numbered_by_their_codes(seed: int, n: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    columns = []
    for j in range(p):
        kind = KINDS[j % 4]
        # wide codes: six columns overflow 64 bits several times
        columns.append((rng.integers(0, 3, n) * (np.iinfo(kind).max >> 34 * (j % 4 == 3)) // 2).astype(kind))
    found = group(columns, n)
    rows = [tuple(int(c[i]) for c in columns) for i in range(n)]
    distinct = sorted(set(rows))
    assert found.labels.tolist() == [distinct.index(row) for row in rows]
    assert found.first.tolist() == [rows.index(row) for row in distinct]
    assert found.sizes.tolist() == [rows.count(row) for row in distinct]
    assert (found.n_rows, found.n_groups) == (n, len(distinct))


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_changes_no_number(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 5, 200), rng.integers(0, 9, 200)]
    order = rng.permutation(200)
    before, after = group(columns), group([c[order] for c in columns])
    assert before.labels[order].tolist() == after.labels.tolist()
    assert before.sizes.tolist() == after.sizes.tolist()


def test_the_table_of_keys_grows() -> None:
    """Past 4,096 and 16,384 distinct keys, with collisions and repeats."""
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 2**62, 40_000)
    keys = rng.permutation(np.concatenate([keys, keys[:5_000]]))
    labels, distinct, first = kernel.number_keys(keys)
    values, where, inverse = np.unique(keys, return_index=True, return_inverse=True)
    assert np.array_equal(distinct, values)
    assert np.array_equal(labels, inverse)
    assert np.array_equal(first, where)


def test_more_groups_than_can_be_numbered_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_number", lambda keys, labels: (keys[:0], keys[:0]))
    with pytest.raises(UnsupportedError, match="different combinations of values"):
        kernel.number_keys(np.arange(3))
    assert len(kernel.number_keys(np.arange(0))[1]) == 0
