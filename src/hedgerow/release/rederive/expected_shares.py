"""Derive a second time, plainly, the shares that people like those of each group have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...kernels import Floats, Ints
from ...plan import Guard, GuardedColumn

# the parts that a number is cut off at, the share of a heap, and the people of a value with a full feature
_ENDS, _HEAP, _FULL = (0.005, 0.995), (0.05, 0.1), 100
# rows that are read at once
_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class ExpectedShares:
    """The shares of a column's codes that people like those of each group have, by the rule of a plan.

    Parameters
    ----------
    ratio : float64 array of shape (n_groups, n_classes)
        How much larger the share of a class of codes is in a group than in the table.
    class_of : int64 array of shape (n_codes,)
    public : float64 array of shape (n_codes,)
        The shares of the table.
    off : float
        By how much of a person for each person the rule misses what it should have of a feature, at most.
    """

    ratio: Floats
    class_of: Ints
    public: Floats
    off: float

    def in_groups(self, groups: slice) -> Floats:
        """Return the shares in some groups, shape (n_groups, n_codes); those of all may not fit memory."""
        return np.asarray(self.ratio[groups][:, self.class_of] * self.public)


def expected_shares(
    guard: Guard, column: GuardedColumn, codes: Mapping[str, Ints], of_column: Ints, labels: Ints
) -> ExpectedShares:
    """Derive the shares from the rule of a column, and how well that rule fits the table.

    The slope of the likelihood, less the penalty of one person, is 0 at the fitted rule: of each feature the people
    with a value have as much as the rule expects.

    Parameters
    ----------
    guard : Guard
    column : GuardedColumn
        Its shares follow a rule.
    codes : mapping of str to int64 array of shape (n_rows,)
        Of the original.
    of_column : int64 array of shape (n_rows,)
        The codes that the column's shares are of; -1 for a row that tells nothing.
    labels : int64 array of shape (n_rows,)
        The group of each row.
    """
    people, sizes = np.asarray(column.people, np.float64), np.asarray(guard.sizes)
    public, ruled = people / people.sum(), list(column.ruled)
    class_of = np.full(len(public), len(ruled))
    class_of[ruled] = np.arange(len(ruled))
    coefficients = np.asarray(column.rule, np.float64).reshape(-1, len(ruled)) / 4096
    quasi = [c for c in guard.columns if c.role == "quasi"]
    features = [(of, c.name, of_code) for c in quasi for of, of_code in _features(c, guard.people)]
    features.sort(key=lambda feature: -feature[0])
    classes, slope = np.zeros((len(sizes), len(ruled) + 1)), -coefficients
    slope[0] = 0
    for start in range(0, len(labels), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        x = np.ones((len(labels[rows]), len(coefficients)))
        for i, (_, name, of_code) in enumerate(features[: len(coefficients) - 1], start=1):
            x[:, i] = np.append(of_code, 0)[codes[name][rows]] / 32
        powers = np.column_stack([x @ coefficients, np.zeros(len(x))])
        shares = np.exp(powers - powers.max(axis=1)[:, None])
        shares /= shares.sum(axis=1)[:, None]
        # in whole numbers of 2^-20, whose sums are exact
        np.add.at(classes, labels[rows], np.rint(shares * 2**20))
        code = of_column[rows]
        has = class_of[code][:, None] == np.arange(len(ruled))
        slope += x.T @ np.where(code[:, None] >= 0, has - shares[:, :-1], 0)
    classes /= sizes[:, None] * 2.0**20
    whole = np.maximum(np.bincount(class_of, public, len(ruled) + 1), 2.0**-53)
    return ExpectedShares(
        np.rint(classes / whole * 2**30) / 2**30, class_of, public, float(np.abs(slope).max() / people.sum())
    )


def _features(column: GuardedColumn, least: int) -> list[tuple[float, Ints]]:
    """Return the people and the values of each feature of a column that is not 0 everywhere."""
    people, n = np.asarray(column.people, np.float64), column.n_values
    features: list[tuple[float, Ints]] = []
    if column.n_members:  # lists of values
        for member, codes in column.members():
            features += [(of, values[codes]) for of, values in _features(member, least)]
        return features
    size = [min(max((p - least) / (max(_FULL, 2 * least) - least), 0.0), 1.0) for p in column.with_category]
    everybody = people.sum()
    if column.kind in ("numeric", "date") and n > 2:
        z = np.append(_scores(column.values[:n], people[:n]), np.zeros(len(people) - n))
        features.append((everybody, z.astype(np.int64)))
        linear = (people * z**3).sum() / max((people * z**2).sum(), 1.0)
        square = (z**2 - linear * z)[:n]
        mean = (square * people[:n]).sum() / max(people[:n].sum(), 1.0)
        spread = math.sqrt(((square - mean) ** 2 * people[:n]).sum() / max(people[:n].sum(), 1.0))
        square = np.append(np.rint(32 * (square - mean) / (spread or 1.0)), np.zeros(len(people) - n))
        features.append((math.ceil(everybody / 5), square.astype(np.int64)))
        heaps = sorted(range(n), key=lambda code: -people[code])[:3]
        for code in [*heaps, *range(n, len(people))]:
            share = people[code] / everybody
            part = min(max((share - _HEAP[0]) / (_HEAP[1] - _HEAP[0]), 0.0), 1.0) * (share < 1 - _HEAP[0])
            features.append((people[code], _one(code, people, size[code] * (part if code < n else 1.0))))
    else:
        occurring = sorted((code for code in range(len(people)) if people[code]), key=lambda code: -people[code])
        if len(occurring) == 2:
            features.append((everybody, _one(occurring[1], people, size[occurring[1]])))
        else:
            values = occurring[:-1] if occurring and size[occurring[-1]] == 1 else occurring
            features += [(people[code], _one(code, people, size[code])) for code in values[:40]]
    return [feature for feature in features if feature[1].any()]


def _one(code: int, people: Floats, size: float) -> Ints:
    """Return the standardised feature of having one code."""
    share = people[code] / people.sum()
    spread = math.sqrt(share * (1 - share)) or 1.0
    has = np.arange(len(people)) == code
    return np.rint(size * np.rint(32 * (has - share) / spread)).astype(np.int64)


def _scores(values: Sequence[object], people: Floats) -> Floats:
    """Return the standardised scores of numbers, cut off at both ends."""
    numbers = np.array(values, np.float64)
    reached = np.cumsum(people) / people.sum()
    low, high = (numbers[min(int(np.searchsorted(reached, end)), len(numbers) - 1)] for end in _ENDS)
    scale = 2.0 ** -math.frexp(max(abs(low), abs(high), 1e-300))[1]
    cut = np.clip(numbers, low, high) * scale
    mean = float((cut * people).sum() / people.sum())
    spread = math.sqrt(float(((cut - mean) ** 2 * people).sum() / people.sum()))
    return np.rint(32 * (cut - mean) / spread) if low < high and spread / scale / 8 > 0 else np.zeros(len(numbers))
