"""What a release keeps and hides when its values are drawn anew inside each group, beside its rivals.

Two thirds of some people are released, one third is left out. Every release is asked what learners
make of it, whether members are told from strangers, how many of its rows are a member's, and how far
counts, means and regressions are off. The rivals are exact values of `MART` and `Hedge`, a synthetic
table by sequential trees, and a fresh sample of as many people, which shows what chance does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from hedgerow.auditing.pairing import pair_up
from hedgerow.auditing.subject import of_release
from hedgerow.auditing.table_pair import Pair
from hedgerow.columns.column import Column
from hedgerow.columns.table import Table
from hedgerow.datasets import load_casc
from hedgerow.guard.runs import runs_of
from hedgerow.io.read import read
from hedgerow.methods.base import Method
from hedgerow.methods.hedge import Hedge
from hedgerow.methods.mart import MART
from hedgerow.workflow.protect import protect

from .cart_synthesis import synthesised
from .hedge import ADULT, CASES, CENSUS, JUDGED, Case, K, numbers, sample, scored

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COMMON = 64
"""Categories that learners see one by one."""
DUMMIES = 8
"""Categories that regressions have a coefficient of."""
EXPECTED = 10
"""A pair of values that no member has is impossible where so many should have it by chance."""
BINS = 20
"""Parts of a number of many values where pairs and cell means are looked at."""
SMALLEST = 30
"""Fewest people of a cell whose mean is compared."""

_BY_NAME = {case.name: case for case in CASES}
TABLES = (
    Case("Adult", _BY_NAME["Adult, hours"].load, ADULT, ("hours-per-week", "occupation")),
    Case("Census", _BY_NAME["Census, wage"].load, CENSUS, ("weeks_worked_in_year", "wage_per_hour")),
    *(_BY_NAME[name] for name in ("German Credit", "Alcohol", "French portfolio")),
    Case(
        "CASC Census", partial(load_casc, "census"), ("EMCONTRB", "POTHVAL", "INTVAL", "WSALVAL"),
        ("AGI", "FEDTAX", "PEARNVAL"),
    ),
    Case(
        "CASC EIA", partial(load_casc, "eia"), ("STATE", "YEAR", "MONTH", "RESSALES", "COMSALES"),
        ("INDREVENUE", "TOTREVENUE"),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Quasi:
    """The released cells of a column: numbers between ends, or shares of categories.

    Parameters
    ----------
    low, high : arrays of shape (n_rows,)
        Ends of numbers, NaN where missing; equal for plain numbers.
    middle : array of shape (n_rows,)
    shares : array of shape (n_rows, n_categories + 1)
        Of the members' categories, missing last.
    """

    low: Floats
    high: Floats
    middle: Floats
    shares: Floats


@dataclass(frozen=True)
class View:
    """A release as a recipient reads it.

    Parameters
    ----------
    cells : mapping of str to Quasi
        By quasi-identifier.
    table : Table
        A table that has the sensitive columns of the same rows.
    plain : bool
        Whether all cells are ordinary values.
    """

    cells: Mapping[str, Quasi]
    table: Table
    plain: bool = True


class Members:
    """The people of a release beside as many others, and everything that is asked of each release."""

    def __init__(self, case: Case, members: Table, others: Table) -> None:
        self.case, self.members, self.others = case, members, others
        self.names = (*case.quasi, *case.sensitive)

    def of_table(self, table: Table) -> View:
        """Return the view of a table of ordinary values."""
        return View({name: self._plain(table, name) for name in self.case.quasi}, table)

    def of_pair(self, pair: Pair) -> View:
        """Return the view of a release of groups."""
        cells = {}
        for column in pair.released_quasi:
            if column.is_number:
                parts = (column.lo, column.hi, column.middle)
                low, high, middle = (np.where(column.anything, np.nan, part)[column.codes] for part in parts)
                cells[column.name] = Quasi(low, high, middle, np.zeros((0, 0)))
            else:
                nothing = np.zeros(0)
                shares = np.asarray(column.shares @ np.eye(column.original.n_values + 1))[column.codes]
                cells[column.name] = Quasi(nothing, nothing, nothing, shares)
        table = read(pair.released.arrow.select(list(self.case.sensitive)).take(pa.array(pair.released_rows)))
        return View(cells, table, plain=False)

    def _plain(self, table: Table, name: str) -> Quasi:
        column = self.members.column(name)
        if column.is_number:
            x = numbers(table, self.members, name)
            return Quasi(x, x, x, np.zeros((0, 0)))
        nothing = np.zeros(0)
        return Quasi(nothing, nothing, nothing, np.eye(column.n_values + 1)[_categories(column, table)])

    def features(self, cells: Mapping[str, Quasi]) -> Floats:
        """Return cells as learners see them: standardised numbers, the commonest categories as shares."""
        parts = []
        for name, cell in cells.items():
            column = self.members.column(name)
            if column.is_number:
                own = numbers(self.members, self.members, name)
                mean, spread = float(np.nanmean(own)), float(np.nanstd(own)) or 1.0
                parts.append(((np.nan_to_num(cell.middle, nan=mean) - mean) / spread)[:, None])
                if column.has_missing:
                    parts.append(np.isnan(cell.middle)[:, None].astype(float))
            else:
                parts.append(cell.shares[:, np.argsort(-column.counts()[:-1], kind="stable")[:COMMON]])
        return np.hstack(parts)

    @cached_property
    def known(self) -> Floats:
        """Return the members' true features."""
        return self.features(self.of_table(self.members).cells)

    @cached_property
    def strange(self) -> Floats:
        """Return the true features of people left out."""
        return self.features(self.of_table(self.others).cells)

    def learnt(self, view: View) -> dict[str, Floats]:
        """Of each learner the R2 on people left out and on members, means over sensitive columns."""
        targets = [
            tuple(numbers(t, self.members, n) for t in (view.table, self.members, self.others))
            for n in self.case.sensitive
        ]
        return scored(self.features(view.cells), self.known, self.strange, targets)

    def nearest(self, view: View) -> float:
        """Return how well the nearest released row tells members from strangers (area under the ROC curve)."""
        wide = self._plain_features
        released = np.hstack([self.features(view.cells), wide(view.table)])
        sides = [np.hstack([self.known, wide(self.members)]), np.hstack([self.strange, wide(self.others)])]
        near = NearestNeighbors(n_neighbors=1).fit(released)
        return _above(*(-near.kneighbors(side)[0][:, 0] for side in sides))

    def _plain_features(self, table: Table) -> Floats:
        return self.features({name: self._plain(table, name) for name in self.case.sensitive})

    def membership(self, view: View) -> float:
        """Return how well members are told from strangers by the values near their quasi-identifiers.

        The released rows near a person weigh by a kernel on the distance; a person's score is how much more
        often they hold the person's run than the table does (a neighbouring run counts a tenth), over all
        sensitive columns. The best of three bandwidths, as the area under the ROC curve: .5 is luck.
        """
        places = self.features(view.cells)
        near = NearestNeighbors(n_neighbors=min(300, len(places))).fit(places)
        looked = [near.kneighbors(x) for x in (self.known, self.strange)]
        unit = float(np.median(looked[0][0][:, min(19, len(places) - 1)])) + 1e-9
        coded = [_common_codes(n, self.members, (view.table, self.members, self.others)) for n in self.case.sensitive]
        best = 0.5
        for bandwidth in (0.1, 0.3, 1.0):
            sides = []
            for side, (distance, rows) in enumerate(looked, start=1):
                weight = np.exp(-0.5 * (distance / (bandwidth * unit)) ** 2) + 1e-12
                weight /= weight.sum(axis=1, keepdims=True)
                score = np.zeros(len(distance))
                for codes in coded:
                    apart = np.abs(codes[0][rows] - codes[side][:, None])
                    share = (weight * ((apart == 0) + 0.1 * (apart == 1))).sum(axis=1)
                    n_codes = int(max(c.max() for c in codes)) + 1
                    public = (np.bincount(codes[1], minlength=n_codes) + 0.5) / len(codes[1])
                    score += np.log(np.maximum(share, 1e-4) / public[codes[side]])
                sides.append(score)
            best = max(best, _above(*sides))
        return best

    def equal(self, view: View) -> float:
        """Return the share of released rows that are a member's in every column."""
        members: set[tuple[Any, ...]] = set()
        told: list[tuple[Any, ...]] = []
        for table, cells in ((self.members, self.of_table(self.members).cells), (view.table, view.cells)):
            parts = []
            for cell in cells.values():
                if len(cell.shares):
                    parts.append(np.where(cell.shares.max(axis=1) > 0.9999, cell.shares.argmax(axis=1), -1))
                else:
                    parts.append(np.where(cell.low == cell.high, cell.low, np.where(np.isnan(cell.low), -0.5, np.inf)))
            parts += [np.array(_texts(table, n)) for n in self.case.sensitive]
            told = list(zip(*(p.tolist() for p in parts), strict=True))
            members = members or set(told)
        return float(np.mean([row in members for row in told]))

    def counts_off(self, view: View, queries: int = 300) -> tuple[float, float]:
        """Return the median and the nine-in-ten relative error of counts by two or three columns, in %."""
        generator = np.random.default_rng(0)
        whole, off = self.of_table(self.members), list[float]()
        scale = self.members.n_rows / view.table.n_rows
        sides = [dict(v.cells) | {n: self._plain(v.table, n) for n in self.case.sensitive} for v in (whole, view)]
        while len(off) < queries:
            fits = [np.ones(self.members.n_rows), np.ones(view.table.n_rows)]
            most = min(int(generator.integers(2, 4)), len(self.names))
            for name in generator.choice(self.names, most, replace=False):
                one, two = generator.integers(0, self.members.n_rows, 2)
                own = sides[0][name]
                for at, side in enumerate(sides):
                    if len(own.shares):
                        fits[at] = fits[at] * side[name].shares[:, own.shares[one].argmax()]
                    else:
                        low, high = sorted(np.nan_to_num(own.low[[one, two]]))
                        fits[at] = fits[at] * _inside(side[name], low, high)
            true = float(fits[0].sum())
            if true >= 0.01 * self.members.n_rows:
                off.append(abs(float(fits[1].sum()) * scale - true) / true)
        return 100 * float(np.median(off)), 100 * float(np.quantile(off, 0.9))

    def overlap(self, view: View) -> float:
        """Return how far 95% intervals of coefficients overlap those of the original, 0 to 1, on average.

        Each sensitive column goes by all quasi-identifiers, whose `DUMMIES` commonest categories count.
        """
        found = []
        for name in self.case.sensitive:
            sides = []
            for v in (self.of_table(self.members), view):
                y, x = numbers(v.table, self.members, name), self._regressors(v.cells)
                sides.append(_intervals(x[np.isfinite(y)], y[np.isfinite(y)]))
            (a, b), (c, d) = sides
            shared = np.minimum(b, d) - np.maximum(a, c)
            useful = np.isfinite(shared) & (b > a)
            lengths = np.maximum(d - c, 1e-12)[useful]
            shares = (shared[useful] / (b - a)[useful] + shared[useful] / lengths) / 2
            found.append(np.clip(shares, 0, 1).mean())
        return float(np.mean(found))

    def _regressors(self, cells: Mapping[str, Quasi]) -> Floats:
        parts = []
        for name, cell in cells.items():
            column = self.members.column(name)
            if column.is_number:
                parts.append(self.features({name: cell})[:, :1])
            else:
                common = np.argsort(-column.counts()[:-1], kind="stable")
                parts.append(cell.shares[:, common[1 : DUMMIES + 1]])  # beside the commonest
        return np.hstack(parts)

    def bins(self, name: str) -> tuple[Floats | None, int]:
        """Return the cuts between the bins of a column, or None where every value is one, and their number."""
        column = self.members.column(name)
        values, counts = column.values, column.counts()[:-1]
        if not column.is_number:
            return None, column.n_values + 1
        values = np.asarray(values, np.float64)
        if len(values) <= 60:
            return values[1:], len(values) + 1
        part = (np.cumsum(counts) - counts) * BINS // counts.sum()
        heap = counts * 50 >= counts.sum()
        first = np.append(False, (np.diff(part) > 0) | heap[1:] | heap[:-1])
        return values[first], int(first.sum()) + 2

    def binned(self, cell: Quasi, name: str) -> Ints:
        """Return the bin of each plain cell; missing has the last."""
        cuts, n = self.bins(name)
        if cuts is None:
            return np.asarray(cell.shares.argmax(axis=1), np.int64)
        return np.where(np.isnan(cell.low), n - 1, np.searchsorted(cuts, np.nan_to_num(cell.low), side="right"))

    def impossible(self, view: View, seen_by: int = 1) -> float:
        """Return the share of rows with a pair of values that fewer than `seen_by` members have, though 10 should."""
        if not view.plain:
            return float("nan")
        codes = []
        for table in (self.members, view.table):
            codes.append([self.binned(self._plain(table, n), n) for n in self.names])
        bad = np.zeros(view.table.n_rows, np.bool_)
        for i in range(len(self.names)):
            for j in range(i):
                n, m = self.bins(self.names[i])[1], self.bins(self.names[j])[1]
                seen = np.bincount(codes[0][i] * m + codes[0][j], minlength=n * m).reshape(n, m)
                expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / self.members.n_rows
                bad |= ((seen < seen_by) & (expected >= EXPECTED))[codes[1][i], codes[1][j]]
        return float(bad.mean())

    def means_off(self, view: View) -> float:
        """Return how far means of sensitive columns by each quasi-identifier are off, in standard deviations."""
        off = []
        for name in self.case.quasi:
            cuts = self.bins(name)[0]
            weights = []
            for v in (self.of_table(self.members), view):
                cell = v.cells[name]
                if cuts is None:
                    weights.append(cell.shares)
                else:
                    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
                    inside = [_inside(cell, a, np.nextafter(b, -np.inf)) for a, b in pairwise(ends)]
                    weights.append(np.stack(inside, 1))
            for other in self.case.sensitive:
                means = []
                for table, w in zip((self.members, view.table), weights, strict=True):
                    y = numbers(table, self.members, other)
                    is_known = np.isfinite(y)
                    people = w[is_known].sum(axis=0)
                    means.append((w[is_known].T @ y[is_known] / np.maximum(people, 1e-9), people))
                spread = float(np.nanstd(numbers(self.members, self.members, other))) or 1.0
                large = (means[0][1] >= SMALLEST) & (means[1][1] > 0)
                if large.any():
                    off.append(np.abs(means[1][0] - means[0][0])[large].mean() / spread)
        return float(np.mean(off))

    def asked(self, view: View) -> dict[str, float]:
        """Return every figure of a release."""
        taught = self.learnt(view)
        median, nine = self.counts_off(view)
        return {
            **{f"r2_{n}": max(float(taught[n][0]), 0.0) for n in JUDGED},
            "advantage": float(taught["boosting"][1] - taught["boosting"][0]),
            "nearest": self.nearest(view),
            "membership": self.membership(view),
            "equal": self.equal(view),
            "counts_median": median,
            "counts_nine_in_ten": nine,
            "overlap": self.overlap(view),
            "impossible": self.impossible(view),
            "rare": self.impossible(view, K),
            "cell_means": self.means_off(view),
        }


def _texts(table: Table, name: str) -> list[str | None]:
    return table.arrow.column(name).cast(pa.string()).to_pylist()


def _categories(column: Column, table: Table) -> Ints:
    """Return the members' codes of categories in a table; what they do not have counts as missing."""
    place = {value: i for i, value in enumerate(column.values)}
    texts = [str(v) if v is not None else None for v in table.arrow.column(column.name).to_pylist()]
    return np.array([place.get(v, column.n_values) for v in texts], np.int64)


def _common_codes(name: str, members: Table, tables: Sequence[Table]) -> list[Ints]:
    """Return the members' runs, or categories, of a column in several tables."""
    column = members.column(name)
    if not column.is_number:
        return [_categories(column, table) for table in tables]
    runs = runs_of(column.value_counts, K)
    each = (numbers(table, members, name) for table in tables)
    return [np.where(np.isnan(x), len(runs.values), np.searchsorted(runs.cuts, x, side="right")) for x in each]


def _inside(cell: Quasi, low: float, high: float) -> Floats:
    """Return the share of each released number that lies between two ends."""
    width = cell.high - cell.low
    shared = (np.minimum(cell.high, high) - np.maximum(cell.low, low)) / np.where(width > 0, width, 1.0)
    alone = (cell.low >= low) & (cell.low <= high)
    return np.nan_to_num(np.where(width > 0, np.clip(shared, 0, 1), alone), nan=0.0)


def _above(members: Floats, strangers: Floats) -> float:
    """Return the area under the ROC curve of two scores."""
    below = np.searchsorted(np.sort(strangers), members)
    equal = np.searchsorted(np.sort(strangers), members, side="right") - below
    return float((below + equal / 2).mean() / len(strangers))


def _intervals(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the ends of 95% intervals of least-squares coefficients; NaN where a column says nothing."""
    x = np.column_stack([x, np.ones(len(x))])
    inverse = np.linalg.pinv(x.T @ x)
    slopes = inverse @ x.T @ y
    free = max(len(y) - x.shape[1], 1)
    half = 1.96 * np.sqrt(np.maximum(np.diag(inverse), 0) * ((y - x @ slopes) ** 2).sum() / free)
    constant = x.std(axis=0) < 1e-9
    low, high = (np.where(constant, np.nan, slopes + s * half)[:-1] for s in (-1, 1))
    return low, high


def releases(people: Members, seed: int) -> Iterator[tuple[str, Callable[[], View]]]:
    """Yield every release by name, and how it is made."""
    members, schema = people.members, people.case.schema

    def drawn(method: Method, guard: str | None) -> View:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = protect(members, schema, method, guard=guard, random_state=None if guard is None else seed)
        if made.plan.guard is not None and made.plan.guard.rows:
            return people.of_table(read(made.released.arrow))
        return people.of_pair(pair_up(members, of_release(made)))

    hedge = partial(Hedge, K, max_disclosure=0.5)
    yield "original", lambda: people.of_table(members)
    yield "MART of the papers", lambda: drawn(MART(K, max_disclosure=0.5, categorical="concatenate"), None)
    yield "MART, exact", lambda: drawn(MART(K, max_disclosure=0.5), None)
    for screen in (False, True):
        name = "Hedge, screened" if screen else "Hedge"
        means, rows = hedge(screen=screen, cells="means"), hedge(screen=screen, cells="rows")
        yield f"{name}, exact", partial(drawn, means, None)
        yield f"{name}, redrawn, means", partial(drawn, means, "redraw")
        yield f"{name}, redrawn, rows", partial(drawn, rows, "redraw")
    yield "sequential CART", lambda: people.of_table(read(synthesised(members, seed)))


SCREENED = ("Hedge, screened, exact", "Hedge, screened, redrawn, means", "Hedge, screened, redrawn, rows")
"""Releases that leave out, as ``*``, columns that explain nothing."""


def measure(case: Case, *, rows: int, splits: int, leave: Sequence[str] = SCREENED) -> Iterator[dict[str, Any]]:
    """Yield one record a release, means over the splits.

    Parameters
    ----------
    case : Case
    rows : int
        At most so many of the table; two thirds of them are released.
    splits : int
    leave : sequence of str
        Releases that are not measured.
    """
    found: dict[str, list[dict[str, float]]] = {}
    for split in range(splits):
        people = Members(case, *sample(case, rows, split))
        for name, make in releases(people, split):
            if name not in leave:
                found.setdefault(name, []).append(people.asked(make()))
        # people left out, as a survey of them would be: nobody is a member
        fresh = people.of_table(people.others)
        median, nine = people.counts_off(fresh)
        found.setdefault("a fresh sample", []).append({
            "equal": people.equal(fresh), "counts_median": median, "counts_nine_in_ten": nine,
            "overlap": people.overlap(fresh), "impossible": people.impossible(fresh),
            "rare": people.impossible(fresh, K), "cell_means": people.means_off(fresh),
        })  # fmt: skip
    for name, parts in found.items():
        yield {"table": case.name, "release": name} | {
            key: float(np.mean([part[key] for part in parts])) for key in parts[0]
        }


def averaged(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return means over the tables by release, each table counting the same."""
    names = dict.fromkeys(record["release"] for record in records)
    made = []
    for name in names:
        parts = [record for record in records if record["release"] == name]
        means = {key: float(np.mean([p[key] for p in parts])) for key in parts[0] if key not in ("table", "release")}
        made.append({"table": "mean", "release": name} | means)
    return made


def guarded(*, rows: int = 1_200, splits: int = 1) -> dict[str, Any]:
    """Compare exact and redrawn values with their rivals, by default on few rows and one split."""
    tables = [record for case in TABLES for record in measure(case, rows=rows, splits=splits)]

    def rounded(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [{k: round(v, 3) if isinstance(v, float) else v for k, v in r.items()} for r in records]

    return {
        "protocol": f"at most {rows:,} rows a table, two thirds released; {splits} split(s), k = {K}, "
        "a cap of .5, all columns kept; benchmarks/use.py --guarded has the options",
        "tables": rounded(tables),
        "means_over_the_tables": rounded(averaged(tables)),
    }
