"""Fit regressions on the original and on the release: which estimates hold, and what to multiply their errors by.

Every sensitive column is explained by the quasi-identifiers, then also by the other sensitive columns, then also by the
squares of all numbers: by least squares if it is a number, by a logit if it has two values. Of more categories, the
logit explains the commonest against the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import chain
from typing import Any, Literal, NamedTuple, TypedDict, cast, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtr
from threadpoolctl import threadpool_limits

from ...columns.column import Column
from ...json_types import Count, Share
from ...kernels.threads import side_by_side
from ...measures import Bools, Floats, Ints
from ...release.recipient import REPLACED, SHRUNK
from ..figure import Figure
from ..released_values import ReleasedColumn
from ..table_pair import TablePair
from .distributions import column_distances

# people who must share a category, or have the rarer outcome
FEWEST = 50
# columns to explain, terms of a regression, and records for each term
RESPONSES, TERMS, PER_TERM = 40, 150, 10
# rows laid out at a time; a logit of more rows than `FIRST` begins with about so many of them
BLOCK, FIRST = 1 << 15, 100_000
# part of a term's variance that the terms before it leave unexplained
_UNEXPLAINED = 1e-4
# standard deviations between nought and the mean, from which on squares are taken about the mean
_FAR = 5.0
# curvature added to a logit, whose slopes stay finite where outcomes are parted completely
_RIDGE = 0.01
# rounds of a logit, its longest step, and the step in standard errors at which it ends
_ROUNDS, _LONGEST, _STILL = 25, 4.0, 0.02
# a smaller standard error, in standard deviations, is rounding: the column is the sum of others
_EXACT = 1e-9
# its square is far below the largest double
_LARGEST = 1e150
# the two-sided 95% point of the normal distribution, the smallest and the largest factor
_Z, _LEAST, _MOST = 1.959963985, 0.01, 100.0
# standard errors from which on an estimate shows how much slopes shrink, and how many such estimates show it together
_CLEAR, _SEVERAL = 3.0, 3
# weight of the factor of all estimates in that of one kind or column, as a number of estimates
_LEAN = 8
# the largest factor, change of slopes and change of the distribution of a column that holds
_HOLDS = (1.5, SHRUNK, REPLACED)
# the largest share of lost estimates, of those that are clear in a table, and changes as above, of a weakened one
_WEAKENED = (0.3, 0.5, 0.2)
# how many times as wide as printed an interval of the release must be to hold the original's estimate, if that is lost
_LOST = 3.0
# estimates that are farthest off, in the audit
_WORST = 12

Kind = Literal["differences", "slopes", "squares", "sensitive", "hidden squares"]
_SQUARED = {"slopes": "squares", "sensitive": "hidden squares"}
Verdict = Literal["holds", "weakened", "do not use", "not measured"]


class Accuracy(TypedDict):
    """The accuracy of some estimates.

    ``inside``: share of the release's estimates in the original's 95% intervals. ``attenuation``: median ratio of the
    two, if three or more of the original's are beyond three standard errors. ``factor``: what the release's standard
    errors must be multiplied by so that 95% of the intervals hold the value of the population. ``resample_inside`` and
    ``resample_factor``: what chance makes of the same people drawn again with replacement.
    """

    estimates: Count
    inside: Share | None
    attenuation: float | None
    factor: float | None
    resample_inside: Share | None
    resample_factor: float | None


class ColumnAccuracy(Accuracy):
    """The accuracy of the estimates that a column takes part in, and the change of its distribution."""

    verdict: Verdict
    changed: Share | None


class Estimate(TypedDict):
    """One coefficient of both tables with its standard errors; numbers are in standard deviations of the original."""

    outcome: str
    term: str
    kind: Kind
    original: float
    release: float
    error: float
    release_error: float


class Models(TypedDict):
    """The accuracy of regressions: of usable columns by kind, by column, and the estimates farthest off."""

    every: Accuracy
    kinds: dict[str, Accuracy]
    columns: dict[str, ColumnAccuracy]
    worst: list[Estimate]


class Term(NamedTuple):
    """A column of the design: what each code of a column counts in the original, and each of its cells in the release.

    So many `people` have its value; a term without a `kind` is fitted and not reported.
    """

    column: str
    text: str
    kind: str
    people: float
    values: tuple[Floats, Floats]


class Dependent(NamedTuple):
    """A column to explain: the value of each code in the original and of each cell in the release, NaN if missing."""

    column: str
    is_logit: bool
    values: tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Layout:
    """One of the two tables (`side` 0 is the original), laid out a block of rows at a time."""

    columns: Sequence[Column | ReleasedColumn]
    terms: Sequence[Term]
    responses: Sequence[Dependent]
    side: Literal[0, 1]

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].codes)

    def blocks(self, step: int = 1) -> Iterator[tuple[Floats, dict[str, Floats]]]:
        """Yield terms, of which the first is 1, and responses of every `step`-th row."""
        for low in range(0, self.n_rows, BLOCK * step):
            codes = {c.name: c.codes[low : low + BLOCK * step : step] for c in self.columns}
            ones = np.ones(len(codes[self.columns[0].name]))
            x = np.column_stack([ones, *(t.values[self.side][codes[t.column]] for t in self.terms)])
            yield x, {r.column: r.values[self.side][codes[r.column]] for r in self.responses}

    @cached_property
    def sums(self) -> Floats:
        """Return the sums of products of all terms and responses; NaN for a response with missing values."""
        total = np.zeros((1 + len(self.terms) + len(self.responses),) * 2)
        for x, responses in self.blocks():
            both = np.column_stack([x, *responses.values()])
            total += both.T @ both
        return total

    @cached_property
    def independent(self) -> Bools:
        """Return which terms have more than a ten-thousandth of their variance left by the terms before them."""
        n = 1 + len(self.terms)
        rest = self.sums[:n, :n] / self.n_rows
        rest = rest - np.outer(rest[:, 0], rest[0])
        variance = np.diag(rest).copy()
        chosen = np.arange(n) == 0
        for at in range(1, n):
            # of a constant the variance is rounding
            chosen[at] = variance[at] > _EXACT and rest[at, at] > _UNEXPLAINED * variance[at]
            if chosen[at]:
                rest = rest - np.outer(rest[:, at], rest[at]) / rest[at, at]
        return chosen

    def fit(self, regressions: Sequence[Regression]) -> None:
        """Fit regressions: least squares by one step from the sums, logits together by rounds over all rows.

        If there are many rows, a logit begins with a part of them.
        """
        n = 1 + len(self.terms)
        for each in regressions:
            at = n + self.responses.index(each.response)
            y, squares = self.sums[at, :n], float(self.sums[at, at])
            # a response that is missing somewhere has no sums
            if not each.response.is_logit and np.isfinite(squares):
                each.add_sums(self.sums[:n, :n], y, squares, self.n_rows)
                each.step()
        if (step := max(1, self.n_rows // FIRST)) > 1:
            self._rounds([each for each in regressions if each.response.is_logit], step)
            for each in regressions:
                each.is_fitted &= not each.response.is_logit
        self._rounds(regressions)
        # some rows may part outcomes that all rows do not, and lead too far away
        for each in (astray := [each for each in regressions if not each.is_fitted]):
            each.values = np.zeros(len(each.terms))
        self._rounds(astray)

    def _rounds(self, regressions: Sequence[Regression], step: int = 1) -> None:
        """Take Newton's steps from every `step`-th row until all regressions are fitted, or too many were taken."""
        for _ in range(_ROUNDS):
            if not (unfitted := [each for each in regressions if not each.is_fitted]):
                return
            for x, responses in self.blocks(step):
                side_by_side(partial(Regression.add, x=x, responses=responses), unfitted, cost=x.size)
            for each in unfitted:
                each.step()

    def add_robust(self, regressions: Sequence[Regression]) -> None:
        """Compute the robust errors of fitted regressions, from some of the rows if these are many."""
        step = max(1, self.n_rows // FIRST)
        for x, responses in self.blocks(step):
            for each in regressions:
                each.robust += step * each.robust_part(x, responses)


class Regression:
    """A regression that is fitted by Newton's steps, from sums over blocks of rows; least squares take one.

    Parameters
    ----------
    response : Dependent
    terms : int array
        Columns of the design; the first is the constant.
    start : float array, optional
        Coefficients to begin with.

    Attributes
    ----------
    values, errors : float arrays, shape (n_terms,)
        Coefficients, and their standard errors as software prints them.
    robust : float array, shape (n_terms,)
        Squared standard errors that hold where variances differ (White 1980), after `Layout.add_robust`.
    """

    def __init__(self, response: Dependent, terms: Ints, start: Floats | None = None) -> None:
        self.response, self.terms, self.is_fitted = response, terms, False
        # columns of the design up to the last that it uses, which need no copy
        self._width = int(terms[-1]) + 1
        # least squares take one step, from 0, about which their sums are
        self.values = np.zeros(len(terms)) if start is None or not response.is_logit else start
        self.errors, self.robust = np.zeros(len(terms)), np.zeros(len(terms))
        self._forget()

    def _forget(self) -> None:
        self._curvature, self._slope = np.zeros((self._width,) * 2), np.zeros(self._width)
        self._rows, self._squares = 0, 0.0

    def _residuals(self, x: Floats, responses: Mapping[str, Floats]) -> tuple[Floats, Floats, Bools]:
        """Return the expectation of each row, its residual (0 if its response is missing), and whether it has one."""
        y = responses[self.response.column]
        everywhere = np.zeros(self._width)
        everywhere[self.terms] = self.values
        expected = x[:, : self._width] @ everywhere
        expected = expit(expected) if self.response.is_logit else expected
        return expected, np.nan_to_num(y - expected, nan=0.0), np.isfinite(y)

    def add(self, x: Floats, responses: Mapping[str, Floats]) -> None:
        """Add a block of rows to the sums of the next step."""
        x = x[:, : self._width]
        expected, residuals, is_there = self._residuals(x, responses)
        weights = is_there * (expected * (1 - expected) if self.response.is_logit else 1.0)
        self.add_sums(x.T @ (x * weights[:, None]), x.T @ residuals, float(residuals @ residuals), int(is_there.sum()))

    def add_sums(self, curvature: Floats, slope: Floats, squares: float, rows: int) -> None:
        """Add sums of products of all terms, of terms and residuals, and of squared residuals over some rows."""
        self._curvature += curvature[: self._width, : self._width]
        self._slope += slope[: self._width]
        self._squares += squares
        self._rows += rows

    def step(self) -> None:
        """Take Newton's step by the sums, not too long for a logit, and forget them."""
        is_logit, variance, length = self.response.is_logit, 1.0, 1.0
        ridge = _RIDGE * is_logit * (np.arange(len(self.values)) > 0)
        slope = self._slope[self.terms] - ridge * self.values
        curvature = self._curvature[np.ix_(self.terms, self.terms)] + np.diag(ridge)
        try:
            self._inverse = np.linalg.inv(curvature)
        except np.linalg.LinAlgError:  # terms that differ only where the response is missing
            self._inverse = np.linalg.pinv(curvature, hermitian=True)
        step = self._inverse @ slope
        if is_logit:
            length = min(1.0, _LONGEST / max(float(np.abs(step).max()), _LONGEST))
        else:
            variance = max(self._squares - float(slope @ step), 0.0) / max(self._rows - len(step), 1)
        self.values = self.values + length * step
        self.errors = np.sqrt(np.maximum(np.diag(self._inverse) * variance, 0.0))
        self.is_fitted = not is_logit or bool((np.abs(step) <= _STILL * self.errors).all())
        self._forget()

    def robust_part(self, x: Floats, responses: Mapping[str, Floats]) -> Floats:
        """Return the part of the squared robust errors that a block of rows contributes."""
        _, residuals, _ = self._residuals(x, responses)
        return residuals**2 @ (x[:, self.terms] @ self._inverse) ** 2


def _numbers(column: Column, released: ReleasedColumn) -> tuple[Floats, Floats, float, float]:
    """Return the number of each code and of each cell, NaN if missing or hidden, with mean and standard deviation.

    The deviation is 0 if there is none, or if squares would be infinite.
    """
    is_hidden = released.anything | (released.absent >= 0.5)
    values, people = column.by_code, column.counts()[:-1]
    cells = np.where(is_hidden, np.nan, released.middle)
    if not people.sum() or not np.abs(values[:-1]).max() < _LARGEST:
        return values, cells, 0.0, 0.0
    mean = float(np.average(values[:-1], weights=people))
    return values, cells, mean, float(np.sqrt(np.average((values[:-1] - mean) ** 2, weights=people)))


def _terms(column: Column, released: ReleasedColumn, kind: str) -> Iterator[Term]:
    """Yield the terms of a column: a number in standard deviations, or each category but the commonest."""
    name, n, before, after = column.name, column.n_values, column.counts(), released.counts
    codes = np.arange(n + 1)
    if not column.is_number:
        people = np.minimum(before, after @ released.shares)
        for code in np.flatnonzero((people >= FEWEST) & (codes != before.argmax())):
            # missing is no group that anybody compares
            text, its_kind = ("missing", "") if code == n else (str(column.values[code]), kind)
            share = released.shares[:, [code]].toarray()[:, 0]
            yield Term(name, f"{name} = {text}", its_kind, float(people[code]), (1.0 * (codes == code), share))
        return
    *both, mean, spread = _numbers(column, released)
    if not spread:
        return
    origin = 0.0 if abs(mean) < _FAR * spread else mean
    # a missing number stands at the mean, and a term of its own says that it is missing
    first, second = ((np.where(np.isfinite(x), x, mean) - origin) / spread for x in both)
    yield Term(name, name, "differences" if n == 2 and kind == "slopes" else kind, np.inf, (first, second))
    absent = 1.0 * np.isnan(both[0]), 1.0 * np.isnan(both[1])
    if min(before @ absent[0], after @ absent[1]) >= FEWEST:
        yield Term(name, f"{name} = missing", "", float(before[-1]), absent)


def _response(column: Column, released: ReleasedColumn) -> Dependent | None:
    """Return a sensitive column as it is explained; None if all people but a few have one value."""
    n, people = column.n_values, column.counts()[:-1]
    if n < 2 or people.sum() - people.max() < FEWEST:
        return None
    commonest = int(people.argmax())
    if not column.is_number:
        shares = released.shares[:, [commonest, n]].toarray()
        is_commonest = np.where(shares[:, 1] < 0.5, shares[:, 0] / np.maximum(1 - shares[:, 1], 0.5), np.nan)
        return Dependent(column.name, True, (np.append(1.0 * (np.arange(n) == commonest), np.nan), is_commonest))
    before, after, low, scale = _numbers(column, released)
    if n == 2:
        low, scale = before[0], before[1] - before[0]
    if not scale:
        return None
    before, after = (before - low) / scale, (after - low) / scale
    return Dependent(column.name, n == 2, (before, np.clip(after, 0, 1) if n == 2 else after))


def factor(differences: Floats, errors: Floats, robust: Floats) -> float:
    """Return what standard errors must be multiplied by, so that 95% of intervals hold the population's values.

    Parameters
    ----------
    differences : float array, shape (n,)
        Coefficients of the release minus those of the original.
    errors : float array, shape (n,)
        Standard errors of the release.
    robust : float array, shape (n,)
        Standard errors of the original, which itself is that far from its population.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(3)
    >>> round(factor(0 * one, one, one), 2), round(factor(2 * one, one, one), 2)
    (1.0, 1.86)
    """
    low, high = _LEAST, _MOST
    for _ in range(26):
        middle = (low + high) / 2
        width = _Z * middle * errors
        holds = float(np.mean(ndtr((differences + width) / robust) - ndtr((differences - width) / robust)))
        low, high = (middle, high) if holds < 0.95 else (low, middle)
    return round(high, 6)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Coefficients of both tables; arrays of shape (n_estimates,).

    Parameters
    ----------
    outcome, column, term, kind : arrays of str
        What is explained, by which column and which term of it, and the kind of estimate.
    original, release, error, release_error, robust : float arrays
        Coefficients with their standard errors, and the original's robust ones.
    """

    outcome: npt.NDArray[Any]
    column: npt.NDArray[Any]
    term: npt.NDArray[Any]
    kind: npt.NDArray[Any]
    original: Floats
    release: Floats
    error: Floats
    release_error: Floats
    robust: Floats

    def part(self, which: Bools) -> Coefficients | None:
        """Return the chosen coefficients; None if there are none."""
        return Coefficients(*(getattr(self, each.name)[which] for each in fields(self))) if which.any() else None

    @cached_property
    def off(self) -> Floats:
        """Return how many standard errors of the original each estimate of the release is away from it."""
        return (self.release - self.original) / self.error

    @cached_property
    def factor(self) -> float:
        """Return what the release's standard errors must be multiplied by."""
        return factor(self.release - self.original, self.release_error, self.robust)

    @property
    def is_lost(self) -> Bools:
        """Return which estimates of the original lie outside intervals of the release, `_LOST` times as wide."""
        return np.abs(self.release - self.original) > _LOST * _Z * self.release_error

    def with_any(self, names: Sequence[str]) -> Bools:
        """Return which estimates have one of the columns, explained or explaining."""
        return np.isin(self.column, names) | np.isin(self.outcome, names)

    def accuracy(self, which: Bools) -> Accuracy:
        """Return how well some of the estimates hold; their factor leans on that of all if they are few."""
        if (some := self.part(which)) is None:
            return cast(Accuracy, {**dict.fromkeys(Accuracy.__annotations__), "estimates": 0})
        n, clear = len(some.kind), np.abs(some.original) > _CLEAR * some.error
        ratio = float(np.median(some.release[clear] / some.original[clear])) if clear.any() else None
        return {
            "estimates": n,
            "inside": float((np.abs(some.off) <= _Z).mean()),
            "attenuation": ratio if clear.sum() >= _SEVERAL else None,
            "factor": round(float(np.exp(np.average(np.log([some.factor, self.factor]), weights=[n, _LEAN]))), 6),
            "resample_inside": float((2 * ndtr(_Z * some.error / some.robust) - 1).mean()),
            "resample_factor": factor(np.zeros(n), some.error, some.robust * np.sqrt(2)),
        }

    def worst(self) -> list[Estimate]:
        """Return the estimates that are farthest off, those beyond chance alone."""
        order = np.argsort(-np.abs(self.off), kind="stable")[:_WORST]
        order = order[np.abs(self.off[order]) > _CLEAR]
        parts = {name: getattr(self, name)[order].tolist() for name in Estimate.__annotations__}
        return [cast(Estimate, dict(zip(parts, row, strict=True))) for row in zip(*parts.values(), strict=True)]


def _columns(sides: TablePair) -> tuple[list[tuple[Column, ReleasedColumn]], ...]:
    """Return the original and released columns of the quasi-identifiers, and those of the sensitive columns."""
    whole = sides.unchanged
    quasi = zip(whole.quasi, sides.released_quasi, strict=True)
    return [*quasi], [*zip(whole.sensitive, sides.sensitive_cells, strict=True)]


def _design(sides: TablePair, most: int) -> tuple[list[Term], int]:
    """Return the terms of at most `most` columns of the design, and how many of them are of quasi-identifiers.

    Where there are more, numbers come first, then what most people have. The squares of numbers come last, beyond them.
    """
    quasi, hidden = _columns(sides)
    terms = [t for c, r in quasi for t in _terms(c, r, "slopes" if c.is_number else "differences")]
    n_quasi = len(terms)
    terms += [t for c, r in hidden for t in _terms(c, r, "sensitive")]
    chosen = np.sort(np.argsort([-t.people for t in terms], kind="stable")[:most])
    terms = [terms[at] for at in chosen]
    for term in [t for t in terms if t.people == np.inf and t.kind != "differences"]:
        squares = term.values[0] ** 2, term.values[1] ** 2
        terms.append(term._replace(text=f"{term.column}²", kind=_SQUARED[term.kind], values=squares))
    return terms, int((chosen < n_quasi).sum())


def coefficients(sides: TablePair) -> Coefficients | None:
    """Fit the regressions of every sensitive column on both tables; return None if there are none.

    Where a model has the square of a number, that number's slope is the one at nought (at the mean, if nought is far
    away), and counts among the squares.
    """
    quasi, hidden = _columns(sides)
    responses = [r for pair in hidden if (r := _response(*pair)) is not None][:RESPONSES]
    terms, n_quasi = _design(sides, min(TERMS, len(quasi[0][0].codes) // PER_TERM, sides.n_rows // PER_TERM))
    if not (responses and terms) or sides.by_group is not None:
        return None
    columns, cells = zip(*quasi, *hidden, strict=True)
    with threadpool_limits(1):  # threads of small products wait for each other
        return _fitted(Layout(columns, terms, responses, 0), Layout(cells, terms, responses, 1), n_quasi)


def _fitted(before: Layout, after: Layout, n_quasi: int) -> Coefficients | None:
    """Fit the regressions on two layouts, whose first terms are those of the quasi-identifiers."""
    terms, responses = before.terms, before.responses
    name, text, kind = (np.array(["", *each]) for each in zip(*(t[:3] for t in terms), strict=True))
    places = np.flatnonzero(before.independent & after.independent)
    is_square = np.isin(kind, [*_SQUARED.values()])
    # beside its square, a slope is another one than without, and is of the kind of the square
    squared = {str(name[at]): str(kind[at]) for at in places if is_square[at]}
    beside_squares = np.where(is_square | (text == name), [squared.get(str(each), "") for each in name], "")
    to_fit = []
    for response in responses:
        others = places[name[places] != response.column]
        to_fit.append((response, places[places <= n_quasi], np.where(kind == "sensitive", "", kind)))
        to_fit.append((response, others[~is_square[others]], np.where(kind == "sensitive", kind, "")))
        to_fit.append((response, others, beside_squares))
    original = [Regression(response, at) for response, at, _ in to_fit]
    before.fit(original)
    before.add_robust(original)
    release = [Regression(each.response, each.terms, each.values) for each in original]
    after.fit(release)
    parts = [
        (
            *(np.full(len(at), response.column), name[at], text[at], kinds[at]),
            *(one.values, other.values, one.errors, other.errors, np.sqrt(one.robust)),
        )
        for one, other, (response, at, kinds) in zip(original, release, to_fit, strict=True)
        if one.is_fitted and other.is_fitted
    ]
    if not parts:
        return None
    every = Coefficients(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    # what is left of a sum of the others is rounding
    return every.part((every.kind != "") & (np.minimum(every.error, every.robust) > _EXACT))


def _verdict(accuracy: Accuracy, lost: float, changed: float | None) -> Verdict:
    """Return whether a column holds, by its factor or the share of lost estimates, its slopes and its distribution."""
    shrinks = 0.0 if accuracy["attenuation"] is None else abs(1 - accuracy["attenuation"])
    if accuracy["factor"] is None and (changed or 0) <= _WEAKENED[2]:
        return "not measured"
    for says, first, limits in (("holds", accuracy["factor"] or 0.0, _HOLDS), ("weakened", lost, _WEAKENED)):
        if all(value <= limit for value, limit in zip((first, shrinks, changed or 0.0), limits, strict=True)):
            return cast(Verdict, says)
    return "do not use"


def _lost(fitted: Coefficients, judged: Bools) -> list[str]:
    """Return the columns whose relations to others are lost: few that explain all lost pairs, one after the other.

    A pair of an outcome and a column that explains it is lost if an estimate of theirs is. The column with most lost
    pairs is to blame, of several the one with the larger share of its pairs.
    """
    pairs, bad = (
        {(str(o), str(c)) for o, c in zip(fitted.outcome[rows], fitted.column[rows], strict=True)}
        for rows in (judged, judged & fitted.is_lost)
    )
    names = list[str]()

    def blame(name: str) -> tuple[int, float, str]:
        n = sum(name in pair for pair in bad)
        return n, n / sum(name in pair for pair in pairs), name

    while bad:
        names.append(max({name for pair in bad for name in pair}, key=blame))
        bad = {pair for pair in bad if names[-1] not in pair}
    return names


def models(sides: TablePair) -> Models | None:
    """Compare regressions of every sensitive column on the original and on the release.

    Returns
    -------
    Models, or None if nothing can be explained
    """
    if (fitted := coefficients(sides)) is None:
        return None
    # squares of hidden numbers fail more often than all else, and say nothing else of a column
    judged = fitted.kind != "hidden squares"
    lost = _lost(fitted, judged)
    columns = dict[str, ColumnAccuracy]()
    for column, released in chain(*_columns(sides)):
        rest = fitted.part(judged & ~fitted.with_any([name for name in lost if name != column.name])) or fitted
        mine = rest.with_any([column.name])
        shows = mine & (
            (np.abs(rest.original) > _CLEAR * rest.error) | (np.abs(rest.release) > _CLEAR * rest.release_error)
        )
        accuracy, share = rest.accuracy(mine), float(rest.is_lost[shows].mean()) if shows.any() else 0.0
        changed = None if column.is_number else column_distances(released)["total_variation"]
        columns[column.name] = {**accuracy, "verdict": _verdict(accuracy, share, changed), "changed": changed}
    # of the others is said what holds with them; their factors are not those of what nobody should compute
    bad = [name for name, column in columns.items() if column["verdict"] == "do not use"]
    usable = fitted.part(~fitted.with_any(bad)) or fitted
    return {
        "every": usable.accuracy(np.ones(len(usable.kind), np.bool_)),
        "kinds": {kind: usable.accuracy(usable.kind == kind) for kind in get_args(Kind)},
        "columns": columns,
        "worst": fitted.worst(),
    }


FIGURES = (
    Figure(
        {"utility.models": Models | None},
        lambda t: models(t.sides.plain),
        needs=("both tables", "sensitive columns"),
        says="regressions",
    ),
)
