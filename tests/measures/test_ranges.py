"""Counts that are made for a range of classes at a time say what those of all classes say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.columns.table import Table
from hedgerow.measures import Classes, SensitiveCounts, class_measures, disclosure, group
from hedgerow.measures.class_counts import Counts
from hedgerow.measures.classes import by_ranges, distinct_values
from hedgerow.measures.guarantees import Disclosure, LDiversity, TCloseness

MEASURES: list[Callable[[SensitiveCounts], Any]] = [
    disclosure.column_disclosure,
    disclosure.rsd,
    distinct_values,
    lambda column: class_measures.entropy_l(column.counts),
    lambda column: class_measures.recursive_c(column.counts, 2),
    lambda column: class_measures.equal_distance(column.counts),
    lambda column: class_measures.ordered_distance(column.counts),
    lambda column: class_measures.delta_disclosure(column.counts),
]


def people(n: int = 900) -> Table:
    rng = np.random.default_rng(3)
    pay = np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(8, 1, n).round(-1))
    ill = [None if i % 11 == 0 else f"dx {i * 7 % 5}" for i in range(n)]
    return Table(pa.table({"group": rng.integers(0, 70, n), "pay": pay, "ill": ill}))


@pytest.mark.parametrize("at_once", [1, 40, 10**6])
def test_ranges_of_classes_say_what_all_say(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people()
    groups = group([table.column("group").codes])
    columns = [table.column("pay"), table.column("ill")]
    whole = Classes.from_groups(groups, columns)
    monkeypatch.setattr("hedgerow.measures.classes._AT_ONCE", at_once)
    counted, most = [0], int(groups.sizes.max())
    counts = Counts.from_codes.__func__  # type: ignore[attr-defined]

    def of(cls: Any, found: Any, codes: Any, n_values: int) -> Any:
        counted.append(len(codes))
        return counts(cls, found, codes, n_values)

    monkeypatch.setattr(Counts, "from_codes", classmethod(of))
    made = by_ranges(groups, columns, MEASURES)
    assert made.sizes.tolist() == whole.sizes.tolist()
    for name, column in made.sensitive.items():
        for measure in MEASURES:
            (found,) = column.per_class(measure)
            assert found.tolist() == measure(whole.sensitive[name]).tolist()
    assert sum(counted) == 2 * 900  # every record once a column, whatever is asked
    assert max(counted) <= max(at_once, most)  # and never more at once
    for promise in (Disclosure(0.2), LDiversity(2), TCloseness(0.3)):
        assert promise.check(made) == promise.check(whole)
        assert promise.holds_in(made).tolist() == promise.holds_in(whole).tolist()
    pay = made.sensitive["pay"]
    assert pay.counts.counts.tolist() == whole.sensitive["pay"].counts.counts.tolist()


def test_rows_stand_class_by_class_in_their_own_order() -> None:
    rows, starts = group([np.array([3, 1, 3, 1, 0])]).in_order()
    assert rows.tolist() == [4, 1, 3, 0, 2]
    assert starts.tolist() == [0, 1, 3]
