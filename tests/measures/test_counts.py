"""Sparse counts, whole and batch by batch, against dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.columns.table import Table
from hedgerow.errors import UnsupportedError
from hedgerow.io.read import read
from hedgerow.measures import Classes, Counts, Groups, group
from hedgerow.measures.guarantees import Disclosure

rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 6)), max_size=60)


def cells(counts: Counts) -> dict[tuple[int, int], int]:
    found = zip(counts.groups.tolist(), counts.values.tolist(), counts.counts.tolist(), strict=True)
    listed = [((g, v), n) for g, v, n in found]
    assert listed == sorted(listed)
    return dict(listed)


@given(rows, st.sampled_from([7, 500]))
def test_counts_of_rows(made: list[tuple[int, int, int]], n_values: int) -> None:
    labels = np.array([a for a, _, _ in made], np.int64)
    codes = np.array([c for _, _, c in made], np.uint16)
    groups = group([labels])
    counts = Counts.from_codes(groups, codes, n_values)
    assert cells(counts) == Counter((int(g), int(c)) for g, c in zip(groups.labels, codes, strict=True))
    assert counts.sizes.tolist() == groups.sizes.tolist()
    assert counts.totals.tolist() == np.bincount(codes, minlength=n_values).tolist()
    assert counts.starts.tolist() == [int((counts.groups < g).sum()) for g in range(groups.n_groups + 1)]
    full = np.zeros((groups.n_groups, n_values), np.int64)
    np.add.at(full, (groups.labels, codes), 1)
    assert cells(Counts.dense(full)) == cells(counts)


@given(rows, st.integers(0, 60))
def test_counts_of_parts_add_up(made: list[tuple[int, int, int]], cut: int) -> None:
    table = np.array(made, np.int64).reshape(-1, 3)
    groups = group([table[:, 0]])
    parts = [
        Counts.from_codes(Groups(groups.labels[part], groups.first), table[part, 2], 7)
        for part in (slice(0, cut), slice(cut, None))
    ]
    assert cells(parts[0] + parts[1]) == cells(Counts.from_codes(groups, table[:, 2], 7))


@given(rows, st.sampled_from([1, 7, 13]))
def test_many_rows_are_counted_a_few_at_a_time(made: list[tuple[int, int, int]], few: int) -> None:
    table = np.array(made, np.int64).reshape(-1, 3)
    groups = group([table[:, 0]])
    whole = Counts.from_codes(groups, table[:, 2], 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hedgerow.measures.class_counts._AT_ONCE", few)
        assert cells(Counts.from_codes(groups, table[:, 2], 7)) == cells(whole)


def test_counts_of_other_classes_do_not_add_up() -> None:
    one, two = Counts.dense(np.ones((2, 3), np.int64)), Counts.dense(np.ones((2, 4), np.int64))
    with pytest.raises(ValueError, match="other classes"):
        one + two
    with pytest.raises(UnsupportedError, match="more pairs than can be numbered"):
        Counts.dense(np.ones((2, 3), np.int64)).placed(n_groups=1 << 40, n_values=1 << 30)


def test_counts_under_other_numbers() -> None:
    counts = Counts.dense(np.array([[1, 2], [3, 4], [0, 5]]))
    merged = counts.placed(groups=np.array([1, 0, 1]), n_groups=2)
    assert cells(merged) == {(0, 0): 3, (0, 1): 4, (1, 0): 1, (1, 1): 7}
    turned = counts.placed(values=np.array([2, 0]), n_values=3)
    assert cells(turned) == {(0, 0): 2, (0, 2): 1, (1, 0): 4, (1, 2): 3, (2, 0): 5}


def test_classes_of_a_table_show_no_value() -> None:
    people = Table(pa.table({"job": ["x", "x", None], "ill": ["flu", None, "flu"]}))
    made = Classes.from_groups(
        group([people.column("job", kind="categorical").codes]), [people.column("ill", kind="categorical")]
    )
    assert made.sizes.tolist() == [2, 1]
    assert made.people is made.sizes
    assert Classes(made.sizes, {}, persons=np.array([1, 1])).people.tolist() == [1, 1]
    assert cells(made.sensitive["ill"].counts) == {(0, 0): 1, (0, 1): 1, (1, 0): 1}
    assert repr(made) == "Classes(2 classes, 3 records)"
    assert repr(made.sensitive["ill"]) == "SensitiveCounts('ill', 'categorical', 1 values)"


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_promises_on_rows_that_stand_class_by_class_are_those_on_counts(seed):
    """Whether a class keeps a cap does not depend on how its numbers were counted."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 120))
    table = read(
        pa.table(
            {
                "pay": pa.array(rng.integers(0, 9, n) / 7, mask=rng.random(n) < 0.2),
                "ill": rng.choice(["a", "b", "c"], n),
            }
        )
    )
    columns = [table.column("pay", kind="numeric"), table.column("ill")]
    labels = np.sort(rng.integers(0, 6, n))
    rows = rng.permutation(n).astype(np.uint32)
    place = np.empty(n, np.int64)
    place[rows] = labels
    groups = group([place])
    starts = np.flatnonzero(np.diff(labels, prepend=-1))
    by_row, counted = Classes.from_rows(rows, starts, columns), Classes.from_groups(groups, columns)
    assert by_row.sizes.tolist() == counted.sizes.tolist()
    for maximum in (0.05, 0.25, 0.5, 0.9, 1.0):
        cap = Disclosure(maximum)
        assert cap.holds_in(by_row).tolist() == cap.holds_in(counted).tolist()
        for size in (1, 10, n):  # a few classes at a time keep what all of them keep
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("hedgerow.measures.classes._AT_ONCE", size)
                ranged = Classes.from_rows(rows, starts, columns)
                assert cap.holds_in(ranged).tolist() == cap.holds_in(counted).tolist()
