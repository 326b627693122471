from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.kernels.group import distinct_sets


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=12))
def test_sets_are_those_of_python(groups: list[list[int]]) -> None:
    codes = np.array([c for g in groups for c in g], np.uint8)
    starts = np.cumsum([0, *map(len, groups[:-1])])
    labels, members, ends = distinct_sets(codes, starts, 6)
    sets = np.split(members, ends[:-1])
    assert [sets[label].tolist() for label in labels] == [sorted(set(g)) for g in groups]
    assert len(sets) == len({frozenset(g) for g in groups})
    assert list(dict.fromkeys(labels.tolist())) == list(range(len(sets)))


def test_many_sets_that_share_slots() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.choice(200, rng.integers(1, 9), replace=False) for _ in range(5000)]
    codes = np.concatenate(groups).astype(np.uint16)
    starts = np.cumsum([0, *map(len, groups[:-1])])
    labels, members, ends = distinct_sets(codes, starts, 200)
    sets = np.split(members, ends[:-1])
    for label, held in zip(labels, groups, strict=True):
        assert sets[label].tolist() == sorted(held.tolist())
    assert len(sets) == len({tuple(sorted(g.tolist())) for g in groups})
