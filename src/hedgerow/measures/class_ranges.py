"""What very many classes tell, a range of them at a time: their counts are never there all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns.column import Column
from .class_counts import Counts
from .classes import Classes, Measure, SensitiveCounts, totals
from .groups import Groups, IntArray, spans
from .persons import Persons

_AT_ONCE = 1 << 19
"""Records whose counts are made at once; with what is measured on them they take some 150 bytes each."""


class SensitiveRanges(SensitiveCounts):
    """A sensitive column whose counts are made for a range of classes at a time, and not kept.

    What a measure said of every class is kept: one number each.

    Parameters
    ----------
    rows : uint32 array, shape (n_rows,)
        Row numbers, class by class.
    starts : int64 array, shape (n_groups,)
        Where each class begins among them; none is empty.
    column : Column
    asked : sequence of callables
        The measures that will be asked for: they are taken together, in one look at the rows.
    """

    _rows: npt.NDArray[np.uint32]
    _starts: IntArray
    _column: Column
    _asked: Sequence[Measure]
    _told: dict[Measure, npt.NDArray[Any]]

    def __init__(
        self,
        rows: npt.NDArray[np.uint32],
        starts: IntArray,
        column: Column,
        asked: Sequence[Measure] = (),
    ) -> None:
        names = "name", "kind", "values", "exact", "events"
        held = {name: getattr(column, name) for name in names}
        own = {"_rows": rows, "_starts": starts, "_column": column, "_asked": asked, "_told": {}}
        vars(self).update(held | own)  # it is frozen

    def per_class(self, *measures: Measure) -> list[npt.NDArray[Any]]:
        """What each measure says of every class; arrays of shape (n_groups,)."""
        if any(each not in self._told for each in measures):
            wanted = [m for m in dict.fromkeys([*measures, *self._asked]) if m not in self._told]
            found = [[measure(piece) for measure in wanted] for piece in self._pieces(_AT_ONCE)]
            each = (np.concatenate(parts) for parts in zip(*found, strict=True))
            self._told.update(zip(wanted, each, strict=True))
        return [self._told[each] for each in measures]

    @cached_property
    def totals(self) -> IntArray:
        """Records of each value in all classes, those of a missing one last."""
        return totals(self._column)

    @property
    def counts(self) -> Counts:
        """The counts of all classes at once, for whoever asks for more than figures of a class."""
        (whole,) = self._pieces(len(self._rows))
        return whole.counts

    def _pieces(self, size: int) -> Iterator[SensitiveCounts]:
        for some, here in spans(self._starts, len(self._rows), size):
            sizes = np.diff(self._starts[some], append=here.stop)
            by_class = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
            groups = Groups(by_class, self._starts[some] - here.start)
            codes = self._column.codes[self._rows[here]]
            counts = replace(Counts.of(groups, codes, len(self.totals)), whole=self.totals)
            yield SensitiveCounts(
                self.name, self.kind, self.values, counts, self.exact, self.events
            )


def by_ranges(
    groups: Groups,
    columns: Sequence[Column],
    asked: Sequence[Measure],
    persons: Persons | None = None,
) -> Classes:
    """The classes of rows as `Classes.of` makes them, with `SensitiveRanges` as their columns."""
    made = []
    if columns:
        rows, starts = groups.in_order()
        made = [SensitiveRanges(rows, starts, column, asked) for column in columns]
    return Classes.counted(groups.sizes, made, groups, persons)
