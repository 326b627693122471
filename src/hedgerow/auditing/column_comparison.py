"""Compare one column of a release with the original: by shares, or by quantiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

import numpy as np

from .. import facade
from ..columns.column import Column
from ..display import aligned, cell, notebook_html
from ..errors import SchemaError, did_you_mean
from ..json_types import OrNull
from ..measures import Floats, Ints
from ..notation import moment, number, percent
from ..texts import refusal
from ..validation import AXES, takes
from .figure import Figure
from .pairing import pair_up, released_column
from .released_values import ReleasedColumn, unchanged
from .subject import Subject, UnreadCells
from .subject import subject as subject_of
from .table_pair import TablePair
from .utility.distributions import category_shares, sensitive_shares, value_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 20
TOP = 12
POINTS = 1000
_WHOLE = 2.0**53


class Histogram(TypedDict):
    """Shares of a column's records in a few bins, before and after."""

    kind: Literal["numbers", "categories"]
    labels: Sequence[str]
    before: Sequence[OrNull[float]]
    after: Sequence[OrNull[float]]


def histograms(pair: TablePair) -> dict[str, Histogram]:
    """Return binned shares before and after protection: of quasi-identifiers, and of sensitive columns that changed."""
    both = zip(pair.unchanged.sensitive, pair.released_sensitive, strict=True)
    shares = ((column, sensitive_shares(column, released)) for column, released in both)
    changed = {
        column.name: _number_bins(column, *each) if column.is_number else _category_bins(column, *each[1:])
        for column, each in shares
        if (each[1] != each[2]).any()
    }
    return {e.name: histogram(e) for e in pair.released_quasi} | changed


def histogram(column: ReleasedColumn) -> Histogram:
    """Return a column's shares before and after protection, in a few bins or by its most frequent categories."""
    if column.is_number:
        return _number_bins(column.whole, *value_shares(column))
    return _category_bins(column.whole, *category_shares(column))


def _number_bins(column: Column, values: Floats, *shares: Floats) -> Histogram:
    if not len(values):
        return {"kind": "numbers", "labels": [], "before": [], "after": []}
    # of a few people far off, as of incomes, only the number is shown
    ends = np.searchsorted(np.cumsum(shares[0] + shares[1]), 2 * np.array([0.01, 0.99]))
    middle = values[np.minimum(ends, len(values) - 1)]
    is_long = values[-1] / 2 - values[0] / 2 > middle[1] - middle[0] > 0
    edges, labels = _bins(column, values[(values >= middle[0]) & (values <= middle[1])] if is_long else values)
    if is_long and len(labels) > 1:
        first, last = (labels[i].split(" to ")[0] for i in (1, -1))
        labels[0], labels[-1] = f"below {first}", f"{last} and more"
    place = np.clip(np.searchsorted(edges, values, "right") - 1, 0, len(labels) - 1)
    before, after = (np.bincount(place, share, len(labels)).tolist() for share in shares)
    return {"kind": "numbers", "labels": labels, "before": before, "after": after}


def _bins(column: Column, values: Floats) -> tuple[Floats, list[str]]:
    """Return the left edges and the labels of the bins; whole numbers and days get whole edges."""
    unit, domain = column.unit, column.values
    first, last = float(values[0]), float(values[-1])
    if not np.isfinite(last - first):  # no double says how far apart they are
        return values[:1], [f"{first:.6g} to {last:.6g}"]
    steps = max(-first, last) < _WHOLE  # beyond it a double and its next are more than 1 apart
    if unit != "us" and steps and (domain == np.floor(domain)).all():
        first, last = np.floor(first), np.ceil(last)
        wide = max(-(-(last - first + 1) // BINS), 1.0)
        edges = np.arange(first, last + 1, wide)
        ends = edges if wide == 1 or unit else edges + wide - 1
    else:
        edges = np.linspace(first, last, min(BINS, max(len(values) - 1, 1)) + 1)[:-1]
        ends = edges
    names = [moment(e, unit) if unit else number(float(f"{e:.6g}")) for e in (*edges, *ends)]
    pairs = zip(names[: len(edges)], names[len(edges) :], strict=True)
    return edges, [a if a == b else f"{a} to {b}" for a, b in pairs]


def _category_bins(column: Column, before: Floats, after: Floats) -> Histogram:
    names = [*column.values, "(missing)", "(others)"][: len(before)]
    used = [i for i in range(len(names)) if before[i] > 0 or after[i] > 1e-12]
    most, rest = used, []
    if len(used) > TOP:
        most = sorted(sorted(used, key=lambda i: (-before[i], i))[: TOP - 1])
        rest = [i for i in used if i not in most]

    def shares(of: Floats) -> list[float]:
        return [*map(float, of[most]), *([float(of[rest].sum())] if rest else [])]

    labels = [*(names[i] for i in most), *([f"({len(rest)} others)"] if rest else [])]
    return {"kind": "categories", "labels": labels, "before": shares(before), "after": shares(after)}


class Scatter(TypedDict):
    """Sizes and disclosure of groups, or counts of groups between edges of both if there are many."""

    sizes: NotRequired[Sequence[int]]
    disclosure: NotRequired[Sequence[float]]
    size_edges: NotRequired[Sequence[float]]
    disclosure_edges: NotRequired[Sequence[float]]
    classes: NotRequired[Sequence[Sequence[int]]]


def scatter(sizes: Ints, disclosure: Floats) -> Scatter:
    """Return the data of a scatter plot of class size and disclosure; binned counts above 1,000 classes."""
    if len(sizes) <= POINTS:
        order = np.lexsort((disclosure, sizes))
        return {"sizes": sizes[order].tolist(), "disclosure": disclosure[order].round(6).tolist()}
    top = int(np.ceil(np.log2(float(sizes.max()) + 1)))
    x_edges = np.unique(
        np.concatenate([[float(sizes.min())], np.geomspace(max(float(sizes.min()), 1.0), 2.0**top, 25)])
    )
    y_edges = np.linspace(0, 1, 21)
    table, _, _ = np.histogram2d(sizes, disclosure, [x_edges, y_edges])
    return {"size_edges": x_edges.tolist(), "disclosure_edges": y_edges.tolist(), "classes": table.astype(int).tolist()}


# no smallest and no largest value: those are of single people
QUANTILES = {"5%": 0.05, "25%": 0.25, "half": 0.5, "75%": 0.75, "95%": 0.95}


@dataclass(frozen=True, repr=False)
class Comparison:
    """A comparison of one column before and after protection. Private: it shows shares of the original.

    Parameters
    ----------
    column : str
    kind : {"numbers", "categories"}
    rows : tuple of (str, before, after)
        For numbers, the quantiles and the mean (days as dates); for categories, the shares of the twelve
        most frequent and of all others together; then the share of missing values. A released range is
        read as spread evenly over the original's values inside it.
    moved : float
        The share of the records that would have to change to make both distributions equal, in the
        bins or categories that `plot` draws.
    shape : mapping
        The data that `plot` draws.
    """

    column: str
    kind: str
    rows: tuple[tuple[str, Any, Any], ...]
    moved: float
    shape: Histogram

    @takes(ax=AXES)
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plot the column's shares before and after protection.

        Parameters
        ----------
        ax : matplotlib axes, optional
            The axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib axes
        """
        return facade.plot_column(self.column, self.shape, ax)

    def __repr__(self) -> str:
        return f"Comparison({self.column}, {self.kind}, {percent(self.moved)} moved)"

    def __str__(self) -> str:
        return "\n".join([*aligned(self._text_rows(), (self.column, "original", "release")), self._sentence()])

    def _repr_html_(self) -> str:
        return notebook_html(
            f"{self.column}, before and after", [self._sentence()], ("", ("", "original", "release"), self._text_rows())
        )

    def _sentence(self) -> str:
        return f"{percent(self.moved)} of the records would have to move to make both the same."

    def _text_rows(self) -> list[tuple[str, ...]]:
        shares = [self.kind == "categories" or what == "missing" for what, _, _ in self.rows]
        return [
            (what, *(_text(value, share) for value in two))
            for (what, *two), share in zip(self.rows, shares, strict=True)
        ]


def _text(value: Any, share: bool) -> str:
    if value is None:
        return "-"
    return percent(value) if share else cell(float(f"{value:.4g}") if isinstance(value, float) else value)


def moved_share(shape: Histogram) -> float:
    """Return the total variation: the share of records that would have to move to make both distributions equal."""
    return float(sum(abs(a - b) for a, b in zip(shape["before"], shape["after"], strict=True)) / 2)


def compare(release: Any, name: str) -> Comparison:
    """Compare a column of a release with the original.

    Parameters
    ----------
    release : Release or PrivateRelease
    name : str
        A released column.

    Raises
    ------
    SchemaError
        The table has no such column, or it was left out.
    UnreadCells
        The release holds cells that nothing explains.
    """
    original, subject = release.original, subject_of(release, None, None)
    if name not in release.released.names:
        key, similar = "left_out", ""
        if name not in original.names:
            key, similar = "no_column", did_you_mean(name, original.names)
        raise SchemaError(**refusal(key, name=name, similar=similar, names=", ".join(release.released.names)))
    column = _column(release, subject, name)
    shape = histogram(column)
    moved = moved_share(shape)
    if not column.is_number:
        rows = tuple(zip(shape["labels"], shape["before"], shape["after"], strict=True))
        return Comparison(name, "categories", rows, moved, shape)
    return Comparison(name, "numbers", _number_rows(column), moved, shape)


def _column(release: Any, subject: Subject, name: str) -> ReleasedColumn:
    original = release.original.declared_column(subject.schema, name)
    if name == subject.numbered:  # which a second table tells the values of
        values = next(c for c in pair_up(release.original, subject).released_sensitive if c.name == name)
        return replace(unchanged(original), codes=values.codes_in(original, unknown=original.n_values))
    released = released_column(original, subject)
    if released.unread:
        raise UnreadCells({name: released.rows_of(released.unread)})
    return released.column


def _number_rows(column: ReleasedColumn) -> tuple[tuple[str, Any, Any], ...]:
    """Return the quantiles, the mean and the share of missing values, before and after."""
    values, *both = value_shares(column)
    unit = column.original.unit
    original = column.whole

    def as_text(value: float) -> Any:
        return moment(value, unit) if unit else value

    def at(shares: Floats, part: float) -> Any:
        if not shares.any():
            return None
        # a sum of shares may miss the quantile by rounding
        position = np.searchsorted(np.cumsum(shares), part - 1e-12)
        return as_text(float(values[min(int(position), len(values) - 1)]))

    def mean(shares: Floats) -> Any:
        return as_text(float(values @ shares)) if shares.any() else None

    rows = [(words, *(at(shares, part) for shares in both)) for words, part in QUANTILES.items()]
    before = float(original.counts()[-1]) / max(len(original.codes), 1)
    after = float(column.counts @ column.absent) / max(len(column.codes), 1)
    return (*rows, ("mean", *map(mean, both)), ("missing", before, after))


FIGURES = (
    Figure(
        {"pictures.histograms": Mapping[str, Histogram]},
        lambda t: histograms(t.sides.plain),
        needs=("both tables",),
        empty={},
    ),
)
