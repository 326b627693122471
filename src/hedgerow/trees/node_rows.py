"""The rows that are reordered while a tree grows, each stored as one record of 64-bit words.

A record contains the fields of a row that the grower needs, in the smallest types: its codes
in the quasi-identifiers, its classes and whole numbers in the sensitive columns,
and its row number. All views (bytes, 16-bit, 32-bit, 64-bit) share the same
memory, so a record moves as a whole; it may be mapped from a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels import Bools, Bytes, Codes, Ints, Ints32, Records, Words
from ..kernels.compiled import inner
from .responses import Responses

Allocate = Callable[[tuple[int, ...], Any], npt.NDArray[Any]]

# width of a field: 1, 2, 4 or 8 bytes; also the views of `Views`, in order
BYTE, SHORT, LONG, WORD = range(4)
# where a record has a code: the view and position of its field, and the bits of the word that it lies in
FIELD = np.dtype(
    [("width", np.int64), ("at", np.int64), ("word", np.uint64), ("shift", np.uint64), ("mask", np.uint64)]
)
# rows written at once, so that a batch stays in the processor's cache
BATCH = 1 << 16
# rows after which memory that was read or written may be released
_REST = 1 << 23


class Views(NamedTuple):
    """The same records viewed as bytes, 16-bit, 32-bit and 64-bit numbers, each of shape (n, fields)."""

    bytes: Bytes
    shorts: npt.NDArray[np.uint16]
    longs: Ints32
    words: Words


@dataclass(frozen=True)
class Predictors:
    """The quasi-identifiers in the form the grower expects: each one's number of codes, and whether it is ordered.

    Parameters
    ----------
    n_codes : int array of shape (p,)
        Codes of each column, missing excluded; the missing code is `n_codes`.
    ordered : bool array of shape (p,)
        True for numeric columns (split by thresholds), False for categories.
    """

    n_codes: Ints
    ordered: Bools


class Place(NamedTuple):
    """The width of a field, and its position among the fields of this width."""

    width: int
    at: int


class Format(NamedTuple):
    """The positions of a record's fields.

    Parameters
    ----------
    codes : FIELD array of shape (p,)
        Where every quasi-identifier's code is; its width is BYTE, SHORT or LONG.
    quantities : int array
        Positions of the whole numbers, among the 32-bit fields.
    classes : int array
        Positions of the classes, among the 16-bit fields.
    cells : int array
        Positions of the cells of the columns that a cap limits (`ScoredColumn`), among the bytes.
    number : Place
        Of the row's number; its width is LONG, or WORD beyond 2^32 - 1 rows.
    n_words : int
        Length of a record.
    """

    codes: Records
    quantities: Ints
    classes: Ints
    cells: Ints
    number: Place
    n_words: int

    @classmethod
    def from_counts(cls, n_codes: Ints, n_quantities: int, n_classes: int, n_rows: int, n_cells: int = 0) -> Format:
        """Return the smallest format for so many codes a column, and so many fields of the other kinds."""
        width = np.where(n_codes < 1 << 8, BYTE, np.where(n_codes < 1 << 16, SHORT, LONG))
        # Widest first, every field lies at a multiple of its size without any gaps.
        end = 0  # in bytes

        def place(count: int, size: int) -> Ints:
            nonlocal end
            begin = end // size
            end += count * size
            return np.arange(begin, begin + count)

        far = n_rows > np.iinfo(np.uint32).max
        codes = np.zeros(len(n_codes), FIELD)
        codes["width"] = width
        number = Place(WORD, int(place(1, 8)[0])) if far else Place(LONG, int(place(1, 4)[0]))
        # Quantities follow the number: counting reads them with the field before them and replaces
        # its value by 1 (`one_and_three`).
        quantities = place(n_quantities, 4)
        codes["at"][width == LONG] = place(int((width == LONG).sum()), 4)
        classes = place(n_classes, 2)
        codes["at"][width == SHORT] = place(int((width == SHORT).sum()), 2)
        codes["at"][width == BYTE] = place(int((width == BYTE).sum()), 1)
        cells = place(n_cells, 1)
        size = 1 << width
        # Loops that move rows find a code by the bits of its word, so one loop serves all widths.
        byte = codes["at"] * size
        codes["word"], codes["shift"], codes["mask"] = byte // 8, byte % 8 * 8, (1 << 8 * size) - 1
        return cls(codes, quantities, classes, cells, number, -(-end // 8))


@dataclass(frozen=True)
class RowCodes:
    """The codes of a table's rows, or of some that follow each other.

    Parameters
    ----------
    quasi, sensitive : sequences of unsigned integer arrays of shape (n,)
        The codes of every quasi-identifier, and the value codes of every sensitive column.
    lookups : sequence of arrays or None, optional
        Each quasi-identifier's new codes by old code (see `Bins.lookup`); None keeps the codes.
    persons : int32 array of shape (n,), optional
        Each row's share of a person, in units of 2^-30; by default a row is a person.
    """

    quasi: Sequence[Codes]
    sensitive: Sequence[Codes]
    lookups: Sequence[Codes | None] | None = None
    persons: Ints32 | None = None

    def batch(self, rows: slice) -> RowCodes:
        """Return the codes of some rows that follow each other."""
        persons = None if self.persons is None else self.persons[rows]
        return RowCodes([c[rows] for c in self.quasi], [c[rows] for c in self.sensitive], self.lookups, persons)


@dataclass(frozen=True)
class NodeRows:
    """The records of a table, which growing a tree reorders in place.

    Parameters
    ----------
    predictors : Predictors
    format : Format
    words : uint64 array of shape (n, format.n_words)
    """

    predictors: Predictors
    format: Format
    words: Words

    @classmethod
    def from_codes(
        cls,
        predictors: Predictors,
        responses: Responses,
        codes: RowCodes,
        allocate: Allocate = np.empty,
        rest: Callable[[], None] | None = None,
    ) -> NodeRows:
        """Return the records of a table.

        Parameters
        ----------
        predictors : Predictors
        responses : Responses
        codes : RowCodes
        allocate : callable, optional
            Takes shape and type, gives the array to fill; `numpy.empty`, or memory of a file.
        rest : callable, optional
            Called now and then to release memory that was read or written.
        """
        records = cls.empty(predictors, responses, codes.persons is not None, allocate)
        n = responses.n_rows
        for a in range(0, n, BATCH):
            records.write(a, responses, codes.batch(slice(a, min(n, a + BATCH))))
            if rest is not None and a % _REST == 0:
                rest()
        return records

    @classmethod
    def empty(
        cls, predictors: Predictors, responses: Responses, persons: bool = False, allocate: Allocate = np.empty
    ) -> NodeRows:
        """Return records for a table, not yet filled; `write` fills them batch by batch."""
        n = responses.n_rows
        quantities = int(persons) + len(responses.numbers)
        n_classes, n_cells = len(responses.classes), len(responses.judged)
        form = Format.from_counts(predictors.n_codes, quantities, n_classes, n, n_cells)
        return cls(predictors, form, np.asarray(allocate((n, form.n_words), np.dtype(np.uint64))))

    def write(self, start: int, responses: Responses, codes: RowCodes) -> None:
        """Write the records of a batch of consecutive rows, from row `start` on."""
        sensitive, persons = codes.sensitive, codes.persons
        end = start + len((*codes.quasi, *sensitive)[0])
        there = NodeRows(self.predictors, self.format, self.words[start:end]).views
        lookups = codes.lookups or [None] * len(codes.quasi)
        for field, column, lookup in zip(self.format.codes, codes.quasi, lookups, strict=True):
            there[field["width"]][:, field["at"]] = column if lookup is None else lookup[column]
        looked_up: Iterator[Any] = (q.units[sensitive[q.source]] for q in responses.numbers)
        quantities = looked_up if persons is None else (persons, *looked_up)
        for at, numbers in zip(self.format.quantities, quantities, strict=True):
            there.longs[:, at] = numbers
        for at, classes in zip(self.format.classes, responses.classes, strict=True):
            there.shorts[:, at] = classes.lookup[sensitive[classes.source]]
        for at, judged in zip(self.format.cells, responses.judged, strict=True):
            there.bytes[:, at] = judged.lookup[sensitive[judged.source]]
        width, at = self.format.number
        numbers = np.arange(start, end, dtype=np.uint64)
        # The view of 32-bit fields is signed; the bits are those of the unsigned number.
        there[width][:, at] = numbers if width == WORD else numbers.astype(np.uint32).view(np.int32)

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return len(self.words)

    @property
    def views(self) -> Views:
        """Return the records as numbers of each width."""
        words = self.words
        return Views(words.view(np.uint8), words.view(np.uint16), words.view(np.int32), words)

    def persons(self) -> int:
        """Return the sum of the rows' shares of people, which are their first quantity."""
        # In 64 bits: a single person takes 30 of them.
        return int(self.views.longs[:, self.format.quantities[0]].sum(dtype=np.int64))

    def numbers(self) -> Codes:
        """Return the row numbers in the records' current order."""
        width, at = self.format.number
        stored = self.views[width][:, at]
        return np.ascontiguousarray(stored if width == WORD else stored.view(np.uint32))


@inner
def code_at(words: Words, i: int, fields: Records, c: int) -> np.int64:
    """Return the code of record i in column c; `fields` is `Format.codes`."""
    field = fields[c]
    return np.int64((words[i, field.word] >> field.shift) & field.mask)
