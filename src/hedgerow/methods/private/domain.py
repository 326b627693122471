"""Describe columns by what is public: declared bounds, grids and categories, and the bins made of them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...columns.column import Column
from ...columns.table import Table
from ...errors import SchemaError
from ...io.text_cells import MARKERS
from ...kernels import Ints
from ...notation import moment
from ...schema import Schema
from . import LEAVES
from .noise import Purchase

# the most cells that are counted at once
_MOST_CELLS = 2**26
# bins of a number without a declared grid, and cells of the public grid that they are chosen on
_BINS, _FINE = 16, 1024
_SENSITIVE_BINS = 32
# of whole numbers, which are drawn as such
_LARGEST = 2**62
# bounds that are nearer, also as a share of the farther from 0, have no bins between them that doubles could hold
_NARROWEST, _NEAREST = 1e-290, 2.0**-40
# of a sensitive number: the noisy share of people beyond the top code, and how much finer its bins are near 0
_TAIL, _FINER = 0.02, 50.0
_DOUBLINGS = 24
OTHER = "other"


@dataclass(frozen=True)
class PublicColumn:
    """A column as its recipient may know it.

    Bin i of a number holds the values from ``edges[i]`` to below ``edges[i + 1]``; a category's bins
    are its labels. Values beyond the edges belong to the outer bins, unlisted categories to "other".
    The bin after the last one is for missing values.

    Parameters
    ----------
    name, role, kind, unit : str
    edges : tuple of float
    labels : tuple of str
    whole : bool
        Whether it has whole numbers alone, as its declared bounds have.
    origin, scale : float
        Values are drawn evenly on the scale asinh((value - origin) / scale); evenly on their own if 0.
    zone : str
        "UTC" for times whose bounds were declared with an offset.
    """

    name: str
    role: str
    kind: str
    unit: str = ""
    edges: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    whole: bool = False
    origin: float = 0.0
    scale: float = 0.0
    zone: str = ""

    @property
    def n_bins(self) -> int:
        """Return the number of bins, with the one for missing values."""
        return max(len(self.edges) - 1, len(self.labels)) + 1

    @property
    def is_number(self) -> bool:
        """Return whether its bins are ranges."""
        return self.kind in ("numeric", "date")

    @property
    def ends(self) -> list[str]:
        """Return the smallest and the largest number that rows can have, as text."""
        ends = self.edges[0], self.edges[-1] - self.whole
        return [moment(end, self.unit) if self.unit else f"{end:,.15g}" for end in ends]

    @property
    def is_ordered(self) -> bool:
        """Return whether neighbouring bins belong together."""
        return self.is_number or self.kind == "ordinal"

    def bins(self, column: Column) -> NDArray[np.uint16]:
        """Return the bin of every row of a column of the table."""
        return self._by_code(column).astype(np.uint16)[column.codes]

    def _by_code(self, column: Column) -> Ints:
        if not self.is_number:
            place = {label: i for i, label in enumerate(self.labels)}
            # one odd cell makes True and False of a file text
            cells = (v.lower() for v in column.values) if self.kind == "boolean" else column.values
            return np.array([*(_bin_of(cell, place) for cell in cells), len(self.labels)], np.int64)
        bins = np.searchsorted(np.asarray(self.edges[1:-1]), np.asarray(column.values, np.float64), side="right")
        return np.append(bins, len(self.edges) - 1).astype(np.int64)

    def column_of(self, table: Table) -> Column:
        """Return the column of a table, in this kind and unit."""
        return table.column(self.name, kind=self.kind, categories=self.labels or None, unit=self.unit or None)

    def stretched(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values on the scale on which they are drawn evenly."""
        return np.arcsinh((values - self.origin) / self.scale) if self.scale else values

    def unstretched(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of places on that scale."""
        return np.sinh(places) * self.scale + self.origin if self.scale else places


def _bin_of(cell: str, place: Mapping[str, int]) -> int:
    """Return the bin of a category, by its cell alone: how others' cells made the file be read must not decide.

    Blanks beside a delimiter are none of it, UTF-8 is known again in a file that was read as Windows-1252, and a word
    for missing is one whether or not the column was read as numbers.
    """
    cell = cell if cell in place else cell.strip()
    if cell not in place:
        with suppress(UnicodeError):
            cell = cell.encode("cp1252").decode()
    return place.get(cell, len(place) if cell in MARKERS else place[OTHER])


def declared(table: Table, schema: Schema) -> list[PublicColumn]:
    """Return the quasi-identifiers and sensitive columns with the edges and labels that the schema declares.

    A number has its grid, or its two bounds.

    Raises
    ------
    SchemaError
        The schema says too little about some columns; all of them are named.
    """
    columns: list[PublicColumn] = []
    silent: dict[str, list[str]] = {"bounds": [], "categories": []}
    for name in (*schema.quasi, *schema.sensitive):
        kind, points = table.declared_kind(schema, name), schema.grid.get(name) or schema.bounds.get(name)
        # whatever its cells look like: one person's must not decide
        if name in schema.categories and kind not in ("categorical", "ordinal"):
            kind = "categorical"
        elif points and kind not in ("numeric", "date"):
            kind = "date" if isinstance(points[0], str) else "numeric"
        column = PublicColumn(name, schema.role(name), kind)
        if column.is_number:
            if points is None:
                silent["bounds"].append(name)
                continue
            columns.append(_number(column, points))
        elif kind == "boolean":
            columns.append(replace(column, labels=("false", "true", OTHER)))
        elif name in schema.categories:
            labels = tuple(label for label in schema.categories[name] if label != OTHER)
            columns.append(replace(column, labels=(*labels, OTHER)))
        else:
            silent["categories"].append(name)
    if any(silent.values()):
        lacks = "; ".join(f"{what} of {', '.join(names)}" for what, names in silent.items() if names)
        raise SchemaError(
            f"PrivateTree does not infer bounds or categories from the data, and these are not declared: {lacks}",
            hint="declare what is public, as `hedgerow inspect --declare` proposes: Schema(bounds=..., categories=...)",
        )
    _check_size(columns)
    return columns


def _check_size(columns: Sequence[PublicColumn]) -> None:
    """Raise SchemaError if the counts of all cells of a deepest tree do not fit: dense, so it depends on no data."""
    bins = {role: [_most_bins(c) for c in columns if c.role == role] for role in ("quasi", "sensitive")}
    widest = max(bins["quasi"], default=1)
    # joint counts of the last level's nodes, and a column's cuts by its bins
    if (cells := max(LEAVES * widest * max(bins["sensitive"], default=1), widest * widest)) > _MOST_CELLS:
        wide = sorted(columns, key=_most_bins)[-2:]
        listed = ", ".join(f"{c.name} has {_most_bins(c):,} {'categories' if c.labels else 'bins'}" for c in wide)
        size = cells * 8 / 1e9
        raise SchemaError(
            f"every declared cell is counted, here {cells:,} ({size:,.1f} GB; at most {_MOST_CELLS:,}): {listed}",
            hint="declare fewer and coarser categories, such as regions for postcodes, or leave the column out",
        )


def _most_bins(column: PublicColumn) -> int:
    """Return the most bins that a column can get, from what is declared."""
    return column.n_bins if column.labels or len(column.edges) > 2 else _SENSITIVE_BINS + 9


def _number(column: PublicColumn, points: Sequence[object]) -> PublicColumn:
    """Return a column with declared points as its edges."""
    unit, zone, are_dates = "", "", isinstance(points[0], str)
    if are_dates != (column.kind == "date"):
        kinds = ("dates", "numbers") if column.kind == "date" else ("numbers", "dates")
        raise SchemaError(
            f"column {column.name!r} holds {kinds[0]}, and its bounds or grid are {kinds[1]}",
            hint='declare for example bounds={"income": (0, 1_000_000)} (--bounds day=1950-01-01:2023-12-31)',
        )
    if are_dates:
        moments = [dt.datetime.fromisoformat(str(point)) for point in points]
        unit = "day" if all(len(str(point)) <= 10 for point in points) else "us"
        step = dt.timedelta(days=1) if unit == "day" else dt.timedelta(microseconds=1)
        start = dt.datetime(1970, 1, 1, tzinfo=moments[0].tzinfo)
        zone = "UTC" if moments[0].tzinfo and unit == "us" else ""
        points = [(moment - start) // step for moment in moments]
    whole = all(isinstance(point, int) for point in points)
    if whole and max(abs(point) for point in points) > _LARGEST:  # type: ignore[arg-type]
        raise SchemaError(
            f"the bounds of column {column.name!r} are too large for whole numbers",
            hint="write them with a fraction or an exponent: 1e19",
        )
    edges = [float(point) for point in points]  # type: ignore[arg-type]
    if not edges[-1] - edges[0] > max(_NARROWEST, _NEAREST * max(map(abs, edges))):
        raise SchemaError(f"the bounds of column {column.name!r} are too near to each other", hint="widen them")
    if whole:
        edges[-1] += 1  # the last whole number belongs to the last bin
    return replace(column, unit=unit, zone=zone, edges=tuple(edges), whole=whole)


def fine(column: PublicColumn) -> PublicColumn:
    """Return a column of two bounds with many cells between them, as its bins are chosen on."""
    first, last = column.edges[0], column.edges[-1]
    top = max(-first, last) if first < 0 < last else last - first
    return _even(column, top, _FINE, 4 * _FINE, first, last)


def _even(column: PublicColumn, top: float, n: int, most: int, first: float, last: float) -> PublicColumn:
    """Return a column with n bins of one width on a scale that is finer near 0, or near its first value.

    Up to `most` whole numbers have a bin each.
    """
    if column.whole and last - first <= most:
        return replace(column, edges=tuple(np.arange(first, last + 1).tolist()))
    wide = replace(column, origin=0.0 if first < 0 < last else first, scale=top / _FINER)
    ends = wide.stretched(np.array([first, last]))
    edges = wide.unstretched(np.linspace(ends[0], ends[1], n + 1))
    edges[0], edges[-1] = first, last
    if column.whole:
        edges = np.unique(np.round(edges))
    return replace(wide, edges=tuple(edges.tolist()))


def by_medians(column: PublicColumn, counts: Ints, buy: Sequence[Purchase]) -> PublicColumn:
    """Return a column with bins that hold about as many people each, found by halving again and again.

    Parameters
    ----------
    column : PublicColumn
        With the fine cells of `fine`.
    counts : int64 array of shape (n_cells,)
        People in each cell.
    buy : sequence of Purchase
        One for each halving, whose parts have no row in common.
    """
    below = np.concatenate([[0], np.cumsum(counts)])
    cuts = [0, len(counts)]
    for purchase in buy:
        chosen = []
        for first, last in pairwise(cuts):
            if last - first < 2:
                continue
            inside = below[first + 1 : last] - below[first]
            chosen.append(first + 1 + purchase.pick(-np.abs(2 * inside - (below[last] - below[first]))))
        cuts = sorted({*cuts, *chosen})
    return replace(column, edges=tuple(column.edges[i] for i in cuts))


def doublings(column: PublicColumn) -> PublicColumn:
    """Return a column whose bins double from one to the next, on which a top code is chosen; of absolute values."""
    first, last = column.edges[0], column.edges[-1]
    reach = max(abs(first), abs(last)) if first < 0 else last - first
    return replace(column, edges=(0.0, *(reach * 2.0**-i for i in range(_DOUBLINGS, -1, -1))))


def reached(column: PublicColumn, private: Column) -> Ints:
    """Return the doubling of each row: of absolute values if some may be negative, else of those above the first."""
    first = column.edges[0]
    values = np.asarray(private.values, np.float64)
    size = np.abs(values) if first < 0 else values - first
    inner = np.asarray(doublings(column).edges[1:-1])
    return np.append(np.searchsorted(inner, size, side="left"), len(inner) + 1).astype(np.int64)[private.codes]


def topped(column: PublicColumn, noisy: Ints, deviation: float) -> PublicColumn:
    """Return a sensitive number in bins up to a top code: the lowest doubling with few people beyond."""
    ends = doublings(column).edges[1:]
    total, top = max(int(noisy.sum()), 1), ends[-1]
    # where noise may hide a quarter of the people, it says of no end that few are beyond
    for i, end in enumerate(ends if 8 * deviation * math.sqrt(len(ends)) <= total else ()):
        beyond = noisy[i + 1 :]
        if beyond.sum() <= max(_TAIL * total, 2.0 * deviation * math.sqrt(max(len(beyond), 1))):
            top = end
            break
    first, last = column.edges[0], column.edges[-1]
    if column.whole:
        top = math.ceil(top)
    first, last = (max(first, -top), min(last, top)) if first < 0 else (first, min(last, first + top))
    return _even(column, top, _SENSITIVE_BINS, _SENSITIVE_BINS + 8, first, last)
