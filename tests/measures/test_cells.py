"""Classes in which not every row has a cell of a column."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.columns.column import Column
from hedgerow.measures import Classes, Groups, SensitiveCounts
from hedgerow.measures.guarantees import Disclosure


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 8))
def test_classes_of_few_rows_with_a_cell_are_judged_together(rows: list[int], fewest: int) -> None:
    """By brute force: those below the bar, with all of the next larger size until they have enough."""
    labels = np.repeat(np.arange(len(rows)), 10)
    here = np.concatenate([np.arange(10) < n for n in rows])
    groups = Groups(labels.astype(np.uint32), np.arange(len(rows)) * 10)
    column = Column(
        "pay",
        "numeric",
        "",
        (np.arange(len(here)) % 3).astype(np.uint8),
        np.arange(3.0),
        False,
        here=here,
        fewest=fewest,
    )
    counted = SensitiveCounts.from_groups(groups, column)
    assert counted.counts.sizes.tolist() == rows
    bar = fewest if any(0 < n < fewest for n in rows) else 1
    while bar > 1 and sum(n for n in rows if n < bar) < fewest and any(n >= bar for n in rows):
        bar = min(n for n in rows if n >= bar) + 1
    number = counted.judged_as
    assert [of == -1 for of in number] == [n == 0 for n in rows]
    assert {of for of, n in zip(number.tolist(), rows, strict=True) if 0 < n < bar} <= {0}
    alone = [of for of, n in zip(number.tolist(), rows, strict=True) if n >= bar]
    assert len({*alone}) == len(alone)
    assert not (bar > 1) or 0 not in alone
    together = counted.judged
    assert together.counts.totals.tolist() == counted.counts.totals.tolist()
    assert together.counts.sizes.min(initial=fewest) >= min(fewest, sum(rows)) or bar == 1
    holds = Disclosure(0.3).holds_in(Classes(groups.sizes, {"pay": counted}))
    each = Disclosure(0.3).holds_for(together)
    assert holds.tolist() == [of == -1 or bool(each[of]) for of in number]
