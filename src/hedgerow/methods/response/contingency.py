"""The contingency table of a request: cells, sensitive views, caps, and values the attacker excludes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...columns.arrays import slices
from ...columns.column import Bins as ColumnBins
from ...columns.column import Column, grid_bins, quantile_bins
from ...columns.table import Table
from ...errors import ParameterError, SchemaError
from ...kernels import Floats
from ...notation import interval

Bins = int | Mapping[str, int | Sequence[float]]
DEFAULT_BINS = 8


@dataclass(frozen=True)
class Coded:
    """A column encoded as categories 0 .. d - 1; missing values are a category of their own (the last).

    Parameters
    ----------
    name, kind, unit : str
    codes : unsigned integer array of shape (n,)
    categories : tuple of str, float or None
    cuts : tuple of float
        Cut points of numbers and dates.
    """

    name: str
    kind: str
    unit: str
    codes: NDArray[np.unsignedinteger]
    categories: tuple[str | float | None, ...]
    cuts: tuple[float, ...] = ()

    @property
    def d(self) -> int:
        """Return the number of categories."""
        return len(self.categories)


def coded(table: Table, name: str, kind: str | None, categories: Sequence[str] | None, bins: Bins) -> Coded:
    """Encode one column as categories; numbers and dates are cut into bins that never separate equal values."""
    column = table.column(name, kind=kind, categories=categories)
    if column.infinite:
        raise SchemaError(f"column {name!r} holds infinite values", hint="repair or drop those rows")
    if column.n_values == 0:
        raise SchemaError(f"column {name!r} holds missing values only", hint="leave it out")
    codes, labels, cuts = column.codes, tuple(column.values), ()
    if column.is_number:
        cut = _cut(column, bins)
        codes, cuts = cut.codes(column.codes), tuple(cut.thresholds.tolist())
        # Bins of one value each are released as the numbers that they are.
        if np.array_equal(cut.lo, cut.hi) and not column.unit:
            labels = tuple(cut.lo.tolist())
        else:
            labels = tuple(interval(a, b, column.unit) for a, b in zip(cut.lo, cut.hi, strict=True))
    if column.has_missing:
        labels = (*labels, None)
    return Coded(name, column.kind, column.unit, codes, labels, cuts)


def _cut(column: Column, bins: Bins) -> ColumnBins:
    name = column.name
    requested = bins.get(name, DEFAULT_BINS) if isinstance(bins, Mapping) else bins
    if isinstance(requested, (int, np.integer)) and not isinstance(requested, bool):
        if requested < 2:
            raise ParameterError(f"column {name!r} must be cut into at least 2 bins, not {requested}")
        return quantile_bins(column.value_counts, int(requested))
    cuts = np.asarray(requested, dtype=float)
    if cuts.ndim != 1 or not np.all(np.diff(cuts) > 0) or not np.all(np.isfinite(cuts)):
        raise ParameterError(f"the cuts of column {name!r} must be increasing numbers")
    return grid_bins(column.value_counts, cuts)


def label(category: str | float | None) -> str:
    """Return a category as text for a message."""
    if category is None:
        return "(missing)"
    return interval(category, category) if isinstance(category, float) else category


def find_value(columns: Sequence[Coded], text: str) -> tuple[int, int]:
    """Return (column, category) for ``column=value``, or for a bare value if there is only one column.

    The value is matched with its released label (a bin's label for numbers).
    """
    name, sign, value = text.partition("=")
    for number, column in enumerate(columns):
        labels = {label(c): i for i, c in enumerate(column.categories)}
        if sign and column.name == name and value in labels:
            return number, labels[value]
        if len(columns) == 1 and text in labels:
            return number, labels[text]
    raise ParameterError(
        f"a named value is not a category of these columns: {', '.join(c.name for c in columns)}",
        hint="write column=value with a value that occurs (a bin's label for numbers)",
    )


Ints = NDArray[Any]
Target = Literal["quasi", "sensitive", "both"]

# cells of the quasi-identifiers' table: about ten arrays of doubles are held at once
MAX_CELLS = 50_000_000
# records whose cells are numbered at once
WINDOW = 1 << 20


@dataclass(frozen=True)
class SensitiveView:
    """One sensitive attribute, or several as one composite, with the share and the cap of each value.

    Parameters
    ----------
    attributes : tuple of int
        Positions of the sensitive attributes.
    dims : tuple of int
        Their sizes; the composite value is their row-major index.
    share : array of shape (n_occupied, prod(dims))
        Pr(S = u | QI = alpha) per occupied cell.
    cap : array of the same shape
        Largest risk allowed; infinite if nothing is promised.
    """

    attributes: tuple[int, ...]
    dims: tuple[int, ...]
    share: Floats
    cap: Floats


@dataclass(frozen=True)
class Contingency:
    """The table of proportions from which risk, optimum and success are computed.

    Parameters
    ----------
    quasi, sensitive : tuple of int
        Categories of each quasi-identifier and of each sensitive attribute.
    n : int
        Records.
    pi : array of shape (prod(quasi),)
        Proportions of the quasi-identifiers' cells.
    occupied : array of int
        Cells of `pi` that hold records.
    views : tuple of SensitiveView
        The sensitive attributes, each on its own; with several and a randomized S, the
        composite as well.
    negations : int or tuple of tuple of int
        How many sensitive values the attacker can exclude (the worst ones), or which
        ones per sensitive attribute.
    """

    quasi: tuple[int, ...]
    sensitive: tuple[int, ...]
    n: int
    pi: Floats
    occupied: Ints
    views: tuple[SensitiveView, ...]
    negations: int | tuple[tuple[int, ...], ...] = 0

    @property
    def mass(self) -> Floats:
        """Return the proportion pi of each occupied cell."""
        return self.pi[self.occupied]

    def excluded(self, view: SensitiveView, u: int) -> NDArray[np.bool_] | None:
        """Return a mask (cells x values) of what the attacker excludes if the target's value is u, or None."""
        width = view.share.shape[1]
        if isinstance(self.negations, int):
            if self.negations == 0:
                return None
            # The worst case: the most frequent values that are not the target's.
            ranked = view.share.copy()
            ranked[:, u] = -1.0
            order = np.argsort(-ranked, axis=1, kind="stable")[:, : min(self.negations, width - 1)]
            out = np.zeros(view.share.shape, dtype=bool)
            np.put_along_axis(out, order, True, axis=1)
            return out
        parts = np.unravel_index(np.arange(width), view.dims)
        flat = np.zeros(width, dtype=bool)
        for part, attribute in zip(parts, view.attributes, strict=True):
            flat |= np.isin(part, self.negations[attribute])
        # An intruder who excludes the true value knows something false, which helps nobody.
        return None if not flat.any() or flat[u] else np.broadcast_to(flat, view.share.shape)

    def sharpened(self, view: SensitiveView, u: int) -> Floats:
        """Return the attacker's proportions (cells x values) after exclusion, if the target's value is u."""
        if (out := self.excluded(view, u)) is None:
            return view.share
        remaining = np.where(out, 0.0, view.share)
        total = remaining.sum(axis=1, keepdims=True)
        return np.divide(remaining, total, out=np.zeros_like(remaining), where=total > 0)

    def target_shares(self, view: SensitiveView) -> Floats:
        """Return c' = pi[alpha, u] / (pi[alpha] - pi[alpha, W]) for every cell and value (W: excluded values)."""
        if self.negations == 0:
            return view.share
        return np.stack([self.sharpened(view, u)[:, u] for u in range(view.share.shape[1])], axis=1)


def check_size(dims: Sequence[int], names: Sequence[str]) -> None:
    """Raise ParameterError if the table of all quasi-identifiers has too many cells for memory."""
    cells = 1
    for d in dims:
        # Python's whole numbers: a product of many sizes overflows 64 bits.
        cells *= int(d)
    if cells > MAX_CELLS:
        widest = int(np.argmax(dims))
        raise ParameterError(
            f"the quasi-identifiers span {cells:,} cells; randomized response holds at most {MAX_CELLS:,}",
            hint=f"coarsen {names[widest]!r} ({dims[widest]:,}): fewer bins, a hierarchy level, or leave a column out",
        )


def cells_of(codes: Sequence[Ints], dims: Sequence[int], rows: slice) -> Ints:
    """Return the cell number of each record in `rows`, in the table over several columns."""
    cell = np.zeros(len(codes[0][rows]), np.int64)
    for column, d in zip(codes, dims, strict=True):
        cell *= d
        cell += column[rows]
    return cell


def build(
    quasi: Sequence[Ints],
    quasi_dims: Sequence[int],
    sensitive: Sequence[Ints],
    sensitive_dims: Sequence[int],
    target: Target,
    cap: float,
    negations: int | tuple[tuple[int, ...], ...] = 0,
) -> Contingency:
    """Count the contingency table of codes, and give every cell and value the same cap."""
    n = len(sensitive[0])
    dims_q, dims_s = tuple(map(int, quasi_dims)), tuple(map(int, sensitive_dims))
    counts = np.zeros(int(np.prod(dims_q, dtype=np.int64)), np.int64)
    # Window by window, for the cells of all records would take eight bytes each.
    for rows in slices(n, WINDOW):
        counts += np.bincount(cells_of(quasi, dims_q, rows), minlength=len(counts))
    occupied = np.flatnonzero(counts)
    place = np.full(len(counts), -1, dtype=np.int64)
    place[occupied] = np.arange(len(occupied))
    groups: list[tuple[int, ...]] = [(j,) for j in range(len(dims_s))]
    if target != "quasi" and len(dims_s) > 1:
        groups.append(tuple(range(len(dims_s))))
    views = []
    for group in groups:
        dims = tuple(dims_s[j] for j in group)
        width = int(np.prod(dims, dtype=np.int64))
        if width * len(occupied) > MAX_CELLS:
            raise ParameterError(
                f"the sensitive attributes span {width:,} values in {len(occupied):,} groups: over {MAX_CELLS:,}",
                hint="coarsen the sensitive attribute with the most categories, or protect fewer",
            )
        table = np.zeros(len(occupied) * width, np.int64)
        for rows in slices(n, WINDOW):
            value = place[cells_of(quasi, dims_q, rows)] * width
            value += cells_of([sensitive[j] for j in group], dims, rows)
            # np.bincount would make a table of all cells for every window.
            np.add.at(table, value, 1)
        share = table.reshape(-1, width) / counts[occupied][:, None]
        views.append(SensitiveView(group, dims, share, np.full(share.shape, float(cap))))
    return Contingency(dims_q, dims_s, n, counts / n, occupied, tuple(views), negations)
