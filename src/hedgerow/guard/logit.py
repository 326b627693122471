"""The rule of a column: a multinomial logit of its values on the features of quasi-identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..columns.arrays import slices
from ..measures import Floats, Ints, group
from ..plan import GuardedColumn
from .features import Feature
from .moments import SCALE

# values of a column with coefficients of their own, and coefficients, at most
VALUES, COEFFICIENTS = 15, 512
# coefficients are whole numbers of 4096ths, since processors differ in the last digits
UNIT = 4096
# shares of rows are whole numbers of 2^-20, and so are coefficients on the way, so that their sums are exact
_FINE = 2.0**-20
# the penalty on half of a squared coefficient, in people
PENALTY = 1.0
# fewest and most contents that a rule is fitted on at first; multiplications that a step may take; people of each class
# and of each value with a feature that a sample of a larger table has at least
AT_FIRST, WORK, RARE = (5_000, 100_000), 2_000_000_000, 200
# steps towards the rule of all people from there, and rows that are read at once
STEPS, BLOCK = 3, 1 << 16
_TRIES, _HALVINGS, _CLOSE, _NEARER = 100, 40, 1e-9, 1e-3


@dataclass(frozen=True)
class FeatureRows:
    """The features of rows, which are made a block at a time.

    Parameters
    ----------
    features : sequence of Feature
    codes : sequence of int64 array of shape (n_rows,)
        The codes of the columns that features are of; -1 for what is withheld.
    """

    features: Sequence[Feature]
    codes: Sequence[Ints]

    @cached_property
    def contents(self) -> Ints:
        """Return a number for each row, shape (n_rows,): equal where all codes are equal, ascending with the codes."""
        return group([codes + 1 for codes in self.codes]).labels.astype(np.int64)

    def read(self, rows: slice | Ints, n_features: int) -> Floats:
        """Return the first features of some rows in standard deviations, after a constant; (n_rows, 1 + n_features)."""
        columns = [f.of_code[self.codes[f.column][rows]] / SCALE for f in self.features[:n_features]]
        return np.column_stack([np.ones(len(columns[0])), *columns])


@dataclass(frozen=True)
class Rule:
    """The shares of a column's values that people like a given one have.

    Parameters
    ----------
    values : int64 array of shape (n_values,)
        The codes that have coefficients; all others are one class, the last.
    coefficients : int64 array of shape (1 + n_features, n_values)
        In 4096ths, the constant first.
    """

    values: Ints
    coefficients: Ints

    @classmethod
    def from_column(cls, column: GuardedColumn) -> Rule:
        """Return the rule in the record of a column."""
        values = np.asarray(column.ruled, np.int64)
        return cls(values, np.asarray(column.rule, np.int64).reshape(-1, len(values)))

    def class_of(self, n_codes: int) -> Ints:
        """Return the class of each of so many codes."""
        return _class_of(self.values, n_codes)

    def shares(self, rows: FeatureRows, labels: Ints, sizes: Ints) -> Floats:
        """Return the mean shares of the classes in groups of rows; shape (n_groups, n_values + 1)."""
        total = np.zeros((len(self.values) + 1, len(sizes)))
        for block in slices(len(labels), BLOCK):
            x = rows.read(block, len(self.coefficients) - 1)
            shares = np.rint(_shares(x @ (self.coefficients / UNIT)) / _FINE)
            for sums, of_rows in zip(total, shares.T, strict=True):
                sums += np.bincount(labels[block], of_rows, len(sizes))
        return np.asarray(total.T * _FINE / sizes[:, None], np.float64)


def fit_rule(rows: FeatureRows, codes: Ints, people: Ints, least: Floats) -> Rule | None:
    """Fit the rule of a column. Return None without features, or if no value has enough people beside enough others.

    Parameters
    ----------
    rows : FeatureRows
    codes : int64 array of shape (n_rows,)
        The column's; a row with a negative one tells nothing.
    people : int64 array of shape (n_codes,)
        How many rows of the table have each code.
    least : float64 array of shape (n_codes,)
        How many rows a code must have to get coefficients.
    """
    values = np.argsort(-people, kind="stable")[:VALUES]
    values = values[people[values] >= least[values]]
    # all others are a class as well, and not one of fewer people
    values = values[people.sum() - np.cumsum(people[values]) >= least[values]]
    n_features = min(len(rows.features), COEFFICIENTS // max(len(values), 1))
    if not len(values) or not n_features:
        return None
    with_class, class_of = np.flatnonzero(codes >= 0), _class_of(values, len(people))
    # rows of the same content are one; in its order, so that sums do not depend on that of the table
    content = group([rows.contents[with_class], class_of[codes[with_class]]])
    at, counts = with_class[content.first], content.sizes
    classes, n_first = class_of[codes[at]], np.clip(WORK // (len(values) * (n_features + 1)) ** 2, *AT_FIRST)
    some, weights = _sampled(rows, at, counts, classes, n_features, int(n_first))
    has = weights[:, None] * (classes[some, None] == np.arange(len(values) + 1))
    fitted, curvature = fit_logit(rows.read(at[some], n_features), has, is_sample=len(some) < len(at))
    if len(some) < len(at):
        fitted = _of_all(fitted, curvature, rows, at, counts, classes)
    return Rule(values, np.rint(fitted * UNIT).astype(np.int64))


def _sampled(
    rows: FeatureRows, at: Ints, counts: Ints, classes: Ints, n_features: int, n_first: int
) -> tuple[Ints, Floats]:
    """Return the contents that a rule is fitted on at first, and how many people each stands for."""
    if len(at) <= n_first:
        return np.arange(len(at)), counts.astype(np.float64)
    chance = np.full(len(at), n_first / counts.sum())
    values = [f.of_code[rows.codes[f.column][at]] == f.of_code.max() for f in rows.features[:n_features]]
    for has in [classes == c for c in range(classes.max() + 1)] + values:
        chance[has] = np.maximum(chance[has], RARE / max(counts[has].sum(), 1))
    chance = np.minimum(chance, 1.0)
    # at equal distances over all contents in their order
    picked = np.diff(np.floor(np.cumsum(counts * chance)), prepend=0.0)
    some = np.flatnonzero(picked)
    return some, picked[some] / chance[some]


def _of_all(fitted: Floats, curvature: Floats, rows: FeatureRows, at: Ints, counts: Ints, classes: Ints) -> Floats:
    """Move coefficients that were fitted on some contents to those of all, by steps that lower the loss of all.

    The curvature is the sample's, so a step may overshoot; the first that does is not taken, and no other is tried.
    """
    least, best, penalty = np.inf, fitted, np.full(fitted.shape, PENALTY)
    penalty[0] = 0
    for _ in range(STEPS + 1):
        fitted = np.rint(fitted / _FINE) * _FINE
        loss, slope = float((penalty * fitted**2).sum() / 2), -penalty * fitted
        for block in slices(len(at), BLOCK):
            x, n = rows.read(at[block], len(fitted) - 1), counts[block, None]
            shares, has = _shares(x @ fitted), classes[block, None] == np.arange(fitted.shape[1] + 1)
            slope += x.T @ (n * np.rint((has - shares)[:, :-1] / _FINE) * _FINE)
            loss -= float((n[:, 0] * np.log(np.maximum(shares[has], 1e-300))).sum())
        if loss > least + 1e-9 * abs(least):
            break
        least, best = loss, fitted
        fitted = fitted + _step(curvature, slope)
    return best


def _step(curvature: Floats, slope: Floats) -> Floats:
    """Return Newton's step."""
    return np.asarray(np.linalg.solve(curvature, slope.T.ravel()).reshape(slope.shape[::-1]).T, np.float64)


def fit_logit(x: Floats, counts: Floats, *, is_sample: bool = True) -> tuple[Floats, Floats]:
    """Fit a multinomial logit with a small penalty on slopes, by Newton's method.

    Parameters
    ----------
    x : float64 array of shape (n_rows, 1 + n_features)
        The first column is 1.
    counts : float64 array of shape (n_rows, n_classes)
        How many people a row stands for, by their class. The last class is the one that others are compared with.
    is_sample : bool
        Whether the curvature is needed; else it may be that of a place nearby.

    Returns
    -------
    fitted : float64 array of shape (1 + n_features, n_classes - 1)
        The constants first.
    curvature : float64 array of shape (fitted.size, fitted.size)
        Of the penalised likelihood there, class after class.
    """
    people, target, total = counts.sum(axis=1), counts[:, :-1], counts.sum(axis=0)
    n_x, n_y = x.shape[1], target.shape[1]
    penalty = np.append(0.0, np.full(n_x - 1, PENALTY))[:, None]
    fitted = np.zeros((n_x, n_y))
    fitted[0] = np.log(np.maximum(total[:-1], 1.0) / max(total[-1], 1.0))

    def loss(fitted: Floats) -> float:
        powers = np.column_stack([x @ fitted, np.zeros(len(x))])
        top = powers.max(axis=1)
        logs = top + np.log(np.exp(powers - top[:, None]).sum(axis=1))
        return float(people @ logs - (counts * powers).sum() + (penalty * fitted**2).sum() / 2)

    weighted, each = (x * np.sqrt(people)[:, None]).T.copy(), np.empty((n_y, n_x, len(x)))

    def curved(shares: Floats) -> Floats:
        np.multiply(shares.T.copy()[:, None, :], weighted, out=each)
        rows = each.reshape(n_y * n_x, len(x))
        # of a product with itself half is computed
        curvature = np.diag(np.tile(penalty[:, 0] + 1e-9, n_y)) - rows @ rows.T
        of_class = rows @ weighted.T
        for block in slices(n_y * n_x, n_x):
            curvature[block, block] += of_class[block]
        return np.asarray(curvature, np.float64)

    longest, is_near = np.inf, False
    for _ in range(_TRIES):
        shares = _shares(x @ fitted)[:, :-1]
        slope = x.T @ (target - people[:, None] * shares) - penalty * fitted
        if not is_near:  # there it hardly changes, and most of the time goes into it
            curvature = curved(shares)
        step = _step(curvature, slope)
        length, before = 1.0, loss(fitted)
        for _ in range(_HALVINGS):
            if loss(fitted + length * step) <= before + 1e-9 * abs(before):
                break
            length /= 2
        fitted = fitted + length * step
        longest, before_that, was_near = float(np.abs(step).max()), longest, is_near
        is_near = longest < before_that / 10 < np.inf and length == 1
        if longest < _CLOSE * (_NEARER if was_near else 1):
            break
    return np.asarray(fitted, np.float64), curved(shares) if is_sample and was_near else curvature


def _class_of(values: Ints, n_codes: int) -> Ints:
    classes = np.full(n_codes, len(values))
    classes[values] = np.arange(len(values))
    return classes


def _shares(powers: Floats) -> Floats:
    """Return the shares of all classes from the powers of all but the last."""
    powers = np.column_stack([powers, np.zeros(len(powers))])
    shares = np.exp(powers - powers.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), np.float64)
