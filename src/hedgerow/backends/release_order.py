"""Sort the rows of a release by their content when there are too many to sort at once.

Released cells have few distinct values, so each row is stored as a handful of small numbers: its
leaf, and the codes of the columns that stay as they are. Rows are distributed over files by the ranks
of their first cells, and each file is sorted on its own, so that every row is read and written once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns.arrays import one_piece, regrouped, slices
from ..columns.column import tally
from ..columns.order import order_by_ranks, ranks_of
from ..columns.workspace import Workspace, full
from ..io.frames import values_only
from ..kernels import Ints
from ..measures import group

Words = NDArray[np.uint64]

# the type of recoded text: a file has each distinct value once
TEXT = pa.dictionary(pa.int32(), pa.string())
_WINDOW = 1 << 20
# rows in the sample that is used to distribute rows evenly over files
_SAMPLE = 1 << 17
_MOST = 1 << 63
# bytes of memory that sorting takes for a row
_ROW = 256
# most files that rows are distributed over
_FILES = 512


@dataclass(frozen=True, eq=False)
class ReleasedCodes:
    """A released column, stored as a code for each row and the released value of each code.

    Parameters
    ----------
    name : str
    type : pyarrow.DataType
        A dictionary type if the file is to have a dictionary.
    entries : pyarrow.Array
        The released values, perhaps with a missing one.
    numbers : integer array of shape (n_rows,)
        The code of each row; several columns may share one array.
    place : integer array
        The index of each code's released value in `entries`.
    """

    name: str
    type: pa.DataType
    entries: pa.Array
    numbers: NDArray[Any]
    place: NDArray[Any]

    def occurring(self, counts: Ints) -> Ints:
        """Return the indices of the entries that occur in the release, leaving out missing ones.

        `counts` is the number of rows with each code. A file shows its whole dictionary, so the
        dictionary must not contain values that occur only in another table.
        """
        occurs = np.zeros(len(self.entries), bool)
        occurs[self.place[counts[: len(self.place)] > 0]] = True
        return np.flatnonzero(occurs & self.entries.is_valid().to_numpy(zero_copy_only=False))

    def cells(self) -> pa.Array:
        """Return the released cell of each row; a dictionary holds only values that occur."""
        values, place = self.entries, self.place
        if pa.types.is_dictionary(self.type):
            valid = self.occurring(tally(self.numbers, len(place)))
            index = np.full(len(values), -1, np.int32)
            index[valid] = np.arange(len(valid))
            values, place = values.take(pa.array(valid)), index[place]
        return _cells(self.type, values, place[self.numbers])


def _cells(kind: pa.DataType, values: pa.Array, places: NDArray[Any]) -> pa.Array:
    """Return cells, given the index of each among `values`; in a dictionary, -1 marks a missing cell."""
    if not pa.types.is_dictionary(kind):
        return values.take(pa.array(places))
    missing = places < 0
    indices = pa.array(places, mask=missing if missing.any() else None).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered, safe=False)


class Ordered:
    """The rows of a release, sorted by their content; large releases are sorted in temporary files.

    Parameters
    ----------
    columns : sequence of ReleasedCodes
    workspace : Workspace
    """

    def __init__(self, columns: Sequence[ReleasedCodes], workspace: Workspace) -> None:
        self._columns, self._workspace = columns, workspace
        sources = {id(c.numbers): c.numbers for c in columns}
        self._at = {key: i for i, key in enumerate(sources)}
        self._sources = list(sources.values())
        self.n_rows = len(self._sources[0])
        self._values = [self._values_in_file(column) for column in columns]

    @property
    def schema(self) -> pa.Schema:
        """Return the names and types of the released columns."""
        return pa.schema([(c.name, c.type) for c in self._columns])

    def tables(self, size: int, rows: NDArray[Any] | None) -> Iterator[pa.Table]:
        """Yield the release in tables of `size` rows, writing the input row of each released row to `rows`.

        Without `rows` they are left where they stand.
        """
        # pieces are as large as memory allows; row groups have the size that is best for a file
        pieces = (pa.table({str(i): numbers for i, numbers in enumerate(piece)}) for piece in self._pieces(rows))
        done = 0
        for piece in regrouped(pieces, size):
            numbers = [one_piece(column).to_numpy() for column in piece.columns]
            if rows is not None:
                rows[done : done + len(numbers[0])] = numbers[0]
            done += len(numbers[0])
            self._workspace.release_memory()
            arrays = [
                _cells(column.type, values, place[numbers[1 + self._at[id(column.numbers)]]])
                for column, (values, place) in zip(self._columns, self._values, strict=True)
            ]
            yield pa.Table.from_arrays(arrays, schema=self.schema)

    def _values_in_file(self, column: ReleasedCodes) -> tuple[pa.Array, NDArray[Any]]:
        """Return a column's values as its file stores them, and the index of each code's value among them."""
        if not pa.types.is_dictionary(column.type):
            return values_only(pa.table({"x": column.entries})).column(0).chunk(0), column.place
        valid = column.occurring(self._counts[self._at[id(column.numbers)]])
        coded = pa.DictionaryArray.from_arrays(
            pa.array(valid).cast(column.type.index_type), column.entries, ordered=column.type.ordered
        )
        one = values_only(pa.table({"x": coded})).column(0).chunk(0)
        index = np.full(len(column.entries), -1, np.int64)
        index[valid] = one.indices.to_numpy()
        return one.dictionary, index[column.place]

    @cached_property
    def _counts(self) -> list[Ints]:
        """Return the number of rows with each code, for every distinct array of codes."""
        sizes = [max(len(c.place) for c in self._columns if c.numbers is numbers) for numbers in self._sources]
        return [tally(numbers, n) for numbers, n in zip(self._sources, sizes, strict=True)]

    @cached_property
    def _ranks(self) -> list[tuple[int, Words, int]]:
        """Return the sort keys, most significant first: an array of codes, the rank of each code, the number of ranks.

        Neighbouring columns that share their codes are sorted by one key.
        """
        deciding = []
        for at, run in groupby(self._columns, key=lambda c: self._at[id(c.numbers)]):
            tables = []
            for column in run:
                ranks, n = ranks_of(column.entries)
                tables.append(ranks[column.place])
            if len(tables) > 1:
                # labels of groups are in the order of the ranks
                groups = group([ranks.astype(np.int64) for ranks in tables])
                deciding.append((at, groups.labels.astype(np.uint64), groups.n_groups))
            else:
                deciding.append((at, tables[0], n))
        return deciding

    def _pieces(self, rows: NDArray[Any] | None) -> Iterator[list[NDArray[Any]]]:
        """Yield row numbers and the rows' codes in the order of the release."""
        if rows is None:
            for part in slices(self.n_rows, _WINDOW):
                yield [np.arange(part.start, part.stop), *(each[part] for each in self._sources)]
            return
        n_rows = max(self._workspace.memory // 8 // _ROW, _WINDOW)
        n_files = min(-(-self.n_rows // n_rows), _FILES)
        if n_files < 2:
            yield self._sorted(np.arange(self.n_rows), self._sources)
            return
        for dealt in self._dealt(n_files):
            sources = [dealt[f"s{i}"] for i in range(len(self._sources))]
            yield self._sorted(dealt["row"], sources)

    def _sorted(self, rows: NDArray[Any], sources: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        order = order_by_ranks(len(rows), ((sources[at], r, n) for at, r, n in self._ranks))
        return [rows[order], *(numbers[order] for numbers in sources)]

    def _keys(self, sources: Sequence[NDArray[Any]]) -> Words:
        """Return one number per row that sorts rows by their first columns; rows equal there get the same number."""
        key, width = np.zeros(len(sources[0]), np.uint64), 1
        for at, ranks, n in self._ranks:
            if width > _MOST // n:
                break
            key = key * np.uint64(n) + ranks[sources[at]]
            width *= n
        return key

    def _dealt(self, n_files: int) -> Iterator[NDArray[Any]]:
        """Yield the rows in groups of increasing sort key, from temporary files that are deleted once read."""
        step = max(self.n_rows // _SAMPLE, 1)
        # from a sample: if files are uneven, sorting takes more memory and gives the same order
        sample = np.sort(self._keys([numbers[::step] for numbers in self._sources]))
        bounds = np.unique(sample[[len(sample) * i // n_files for i in range(1, n_files)]])
        # rows are written and read once, so fewer bytes take less time
        wide = np.uint32 if self.n_rows <= np.iinfo(np.uint32).max else np.uint64
        kind = np.dtype([("row", wide), *[(f"s{i}", numbers.dtype) for i, numbers in enumerate(self._sources)]])
        paths = [self._workspace.folder / f"rows-{i}" for i in range(len(bounds) + 1)]
        with ExitStack() as stack:
            files = [stack.enter_context(open(path, "wb")) for path in paths]
            try:
                for window in slices(self.n_rows, _WINDOW):
                    sources = [numbers[window] for numbers in self._sources]
                    file = np.searchsorted(bounds, self._keys(sources), "right").astype(np.uint16)
                    order = np.argsort(file, kind="stable")
                    rows = np.empty(len(order), kind)
                    rows["row"] = (order + window.start).astype(wide)
                    for i, numbers in enumerate(sources):
                        rows[f"s{i}"] = numbers[order]
                    if window.start // _WINDOW % 8 == 0:
                        self._workspace.release_memory()
                    ends = np.cumsum(np.bincount(file, minlength=len(files)))[:-1]
                    for target, part in zip(files, np.split(rows, ends), strict=True):
                        part.tofile(target)
            except OSError as error:
                raise full(self._workspace.folder, self.n_rows * kind.itemsize, error) from None
        for path in paths:
            dealt = np.fromfile(path, kind)
            path.unlink()
            if len(dealt):
                yield dealt
