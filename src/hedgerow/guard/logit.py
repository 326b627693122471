"""The rule of a column: a multinomial logit of its values on the features of quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from ..columns.arrays import slices
from ..measures import Floats, Ints
from ..plan import GuardedColumn
from .moments import SCALE

# values of a column with coefficients of their own, and coefficients, at most
VALUES, COEFFICIENTS = 15, 512
# coefficients are whole numbers of 4096ths, since processors differ in the last digits
UNIT = 4096
# the penalty on half of a squared coefficient, in people
PENALTY = 1.0
_TRIES, _HALVINGS, _CLOSE = 100, 40, 1e-9


@dataclass(frozen=True)
class Rule:
    """The shares of a column's values that people like those of a group have.

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

    def shares(self, sums: Ints, sizes: Ints) -> Floats:
        """Return the shares of the classes in groups with these sums of features; shape (n_groups, n_values + 1)."""
        constant, slopes = self.coefficients[0], self.coefficients[1:]
        powers = (sums[:, : len(slopes)] @ slopes) / (sizes[:, None] * SCALE) + constant
        return _shares(powers / UNIT)


def fit_rule(features: Ints, codes: Ints, people: Ints, least: Floats) -> Rule | None:
    """Fit the rule of a column; None if no two values have enough people, or there are no features.

    Parameters
    ----------
    features : int64 array of shape (n_rows, n_features)
        In 32nds.
    codes : int64 array of shape (n_rows,)
        The column's; a row with a negative one tells nothing.
    people : int64 array of shape (n_codes,)
        How many people of the table have each code.
    least : float64 array of shape (n_codes,)
        People with a code from whom on it has coefficients.
    """
    values = np.argsort(-people, kind="stable")
    # the rarest value is the class of all others, if no other is
    values = values[people[values] >= least[values]][: min(VALUES, np.count_nonzero(people) - 1)]
    class_of = _class_of(values, len(people))
    features, codes = features[codes >= 0, : COEFFICIENTS // max(len(values), 1)], codes[codes >= 0]
    if not len(values) or not features.size:
        return None
    # in the order of their content, so that sums do not depend on that of the table
    rows, counts = np.unique(np.column_stack([features, class_of[codes]]), axis=0, return_counts=True)
    has = counts[:, None] * (rows[:, -1:] == np.arange(len(values) + 1))
    with threadpool_limits(1):  # threads of so small products wait for each other
        fitted = fit_logit(rows[:, :-1] / SCALE, has.astype(np.float64))
    return Rule(values, np.rint(fitted * UNIT).astype(np.int64))


def fit_logit(features: Floats, counts: Floats) -> Floats:
    """Fit a multinomial logit with a small penalty on slopes, by Newton's method.

    Parameters
    ----------
    features : float64 array of shape (n_rows, n_features)
    counts : float64 array of shape (n_rows, n_classes)
        How many people a row stands for, by their class. The last class is the one that others are compared with.

    Returns
    -------
    float64 array of shape (1 + n_features, n_classes - 1)
        The constants first.
    """
    x = np.column_stack([np.ones(len(features)), features])
    people, target, total = counts.sum(axis=1), counts[:, :-1], counts.sum(axis=0)
    n_x, n_y = x.shape[1], target.shape[1]
    penalty = np.append(0.0, np.full(n_x - 1, PENALTY))[:, None]
    fitted = np.zeros((n_x, n_y))
    fitted[0] = np.log(total[:-1] / max(total[-1], 1.0))

    def loss(fitted: Floats) -> float:
        powers = np.column_stack([x @ fitted, np.zeros(len(x))])
        top = powers.max(axis=1)
        logs = top + np.log(np.exp(powers - top[:, None]).sum(axis=1))
        return float(people @ logs - (counts * powers).sum() + (penalty * fitted**2).sum() / 2)

    for _ in range(_TRIES):
        shares = _shares(x @ fitted)[:, :-1]
        slope = x.T @ (target - people[:, None] * shares) - penalty * fitted
        each = (shares[:, :, None] * x[:, None, :]).reshape(len(x), n_y * n_x)
        curvature = np.diag(np.tile(penalty[:, 0] + 1e-9, n_y)) - (people[:, None] * each).T @ each
        for block in slices(n_y * n_x, n_x):
            curvature[block, block] += x.T @ (each[:, block] * people[:, None])
        step = np.linalg.solve(curvature, slope.T.ravel()).reshape(n_y, n_x).T
        length, before = 1.0, loss(fitted)
        for _ in range(_HALVINGS):
            if loss(fitted + length * step) <= before + 1e-9 * abs(before):
                break
            length /= 2
        fitted = fitted + length * step
        if np.abs(step).max() < _CLOSE:
            break
    return np.asarray(fitted, np.float64)


def _class_of(values: Ints, n_codes: int) -> Ints:
    classes = np.full(n_codes, len(values))
    classes[values] = np.arange(len(values))
    return classes


def _shares(powers: Floats) -> Floats:
    """Return the shares of all classes from the powers of all but the last."""
    powers = np.column_stack([powers, np.zeros(len(powers))])
    shares = np.exp(powers - powers.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), np.float64)
