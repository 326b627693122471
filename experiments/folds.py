"""The papers' protocol: release the training folds, learn from them, ask about the test fold.

All records of a released group are alike, so the learners fit each distinct
released record once, with the number of people behind it as its weight: the
same fit as on all records, in a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.measures import Counts
from hedgerow.measures import group as by_codes
from hedgerow.measures.disclosure import Disclosed, number_disclosure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LEARNERS = ("linear", "tree")
LEAF = 10
"""Fewest records of a leaf of the recipient's regression tree."""


@dataclass(frozen=True)
class Feature:
    """A released column: the distinct released values, and which of them each record got.

    Parameters
    ----------
    values : float array, or list of str
        Numbers enter the learners as they are, categories as indicators.
    codes : int array of shape (n,)
    """

    values: Floats | list[str]
    codes: Ints


def folds(n: int, n_folds: int, random_state: int) -> Iterator[Bools]:
    """The training records of each fold: equal blocks of a random order."""
    order = np.random.default_rng(random_state).permutation(n)
    for block in np.array_split(order, n_folds):
        training = np.ones(n, bool)
        training[block] = False
        yield training


def by_group(cells: Sequence[Floats | list[str]], leaf: Ints) -> list[Feature]:
    """Features of which every record of a group has the same value."""
    made = []
    for values in cells:
        if isinstance(values, np.ndarray):
            made.append(Feature(values, leaf))
        else:
            names, index = np.unique(np.array(values, dtype=object).astype(str), return_inverse=True)
            made.append(Feature(names.tolist(), index.astype(np.int64)[leaf]))
    return made


def predict(features: Sequence[Feature], responses: Floats, training: Bools) -> dict[str, Floats]:
    """Each learner's guesses for the test records, from the released training records.

    Parameters
    ----------
    features : sequence of Feature
        The released columns of all records.
    responses : float array of shape (n, r)
    training : bool array of shape (n,)

    Returns
    -------
    dict of str to float array of shape (n test records, r)
        "linear": least squares (of least norm where it is not unique);
        "tree": a regression tree for each response.
    """
    alike = by_codes([f.codes for f in features])
    kind, first, n_kinds = alike.labels, alike.first, alike.n_groups
    weight = np.bincount(kind[training], minlength=n_kinds).astype(float)
    total = np.stack([np.bincount(kind[training], y[training], minlength=n_kinds) for y in responses.T], axis=1)
    seen = weight > 0
    mean = total[seen] / weight[seen, None]
    x = _design([Feature(f.values, f.codes[first]) for f in features], weight)
    asked = kind[~training]
    found = {
        "linear": _least_squares(x, seen, weight[seen], mean),
        "tree": _regression_tree(x, seen, weight[seen], mean),
    }
    return {name: guess[asked] for name, guess in found.items()}


def _design(features: Sequence[Feature], weight: Floats) -> Floats:
    """Numbers at mean 0 and deviation 1, an indicator for each category of the training records."""
    parts = []
    for feature in features:
        if isinstance(feature.values, np.ndarray):
            x = feature.values[feature.codes]
            x = x - np.average(x, weights=weight)
            spread = float(np.sqrt(np.average(x**2, weights=weight)))
            parts.append((x / (spread or 1.0))[:, None])
        else:
            present = np.unique(feature.codes[weight > 0])
            parts.append((feature.codes[:, None] == present).astype(float))
    return np.hstack(parts)


def _least_squares(x: Floats, seen: Bools, weight: Floats, mean: Floats) -> Floats:
    """Weighted least squares by the smaller of the two Gram matrices, of least norm."""
    centre_x = np.average(x[seen], axis=0, weights=weight)
    centre_y = np.average(mean, axis=0, weights=weight)
    root = np.sqrt(weight)[:, None]
    a, b = (x[seen] - centre_x) * root, (mean - centre_y) * root
    tall = a.shape[0] >= a.shape[1]
    value, vector = np.linalg.eigh(a.T @ a if tall else a @ a.T)
    kept = value > 1e-10 * max(float(value[-1]), 1e-300)
    inverse = (vector[:, kept] / value[kept]) @ vector[:, kept].T
    beta = inverse @ (a.T @ b) if tall else a.T @ (inverse @ b)
    return np.asarray(centre_y + (x - centre_x) @ beta, np.float64)


def _regression_tree(x: Floats, seen: Bools, weight: Floats, mean: Floats) -> Floats:
    from sklearn.tree import DecisionTreeRegressor

    made = np.empty((len(x), mean.shape[1]))
    least = min(0.5, LEAF / float(weight.sum()) * (1 - 1e-9))
    for j in range(mean.shape[1]):
        tree = DecisionTreeRegressor(min_weight_fraction_leaf=least, random_state=0)
        made[:, j] = tree.fit(x[seen], mean[:, j], sample_weight=weight).predict(x)
    return made


@dataclass(frozen=True)
class Errors:
    """What a learner's guesses missed by, averaged over responses.

    Parameters
    ----------
    by_response : float array of shape (r,)
        Formula (11) over the records whose true value is not 0.
    mae : float
        Mean absolute error over the mean of the response, all records.
    each : float array
        Per record, |error / value| averaged over the responses that are not 0;
        NaN where none is.
    """

    by_response: Floats
    mae: float
    each: Floats

    @property
    def mape(self) -> float:
        """Formula (11), averaged over responses."""
        return float(self.by_response.mean())


def errors(truth: Floats, guess: Floats) -> Errors:
    """Compare guesses of shape (n, r) with the truth."""
    off = np.abs(truth - guess)
    counts = truth != 0
    share = np.divide(off, np.abs(truth), out=np.zeros_like(off), where=counts)
    mape = share.sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
    mae = off.mean(axis=0) / np.abs(truth.mean(axis=0))
    known = counts.sum(axis=1)
    each = np.where(known > 0, share.sum(axis=1) / np.maximum(known, 1), np.nan)
    return Errors(mape, float(mae.mean()), each)


@dataclass(frozen=True)
class RemainingUncertainty:
    """What a partition leaves of the public uncertainty, RSD averaged over responses.

    Parameters
    ----------
    groups : int
    rsd : float
        Mean over groups (formula 10).
    records : float
        Mean over records.
    worst : float
        Smallest of any group and response.
    worst_group : float
        Smallest of any group, averaged over its responses.
    r2 : float
        Share of the scaled squared error that the groups explain.
    """

    groups: int
    rsd: float
    records: float
    worst: float
    worst_group: float
    r2: float


def remaining_uncertainty(group: Ints, responses: Floats) -> RemainingUncertainty:
    """Formula (10) and its companions for the groups of a released table.

    Parameters
    ----------
    group : int array of shape (n,)
        Every number from 0 up to the largest occurs.
    responses : float array of shape (n, r)
    """
    groups = by_codes([group])
    told, error = [], []
    for y in responses.T:
        values, codes = np.unique(y, return_inverse=True)
        told.append(number_disclosure(Counts.from_codes(groups, codes, len(values)), values))
        away = (y - y.mean()) / (float(np.ptp(y)) or 1.0)
        error.append(np.bincount(group, away**2))
    over = Disclosed.over_columns(Disclosed.from_classes(each, groups.sizes) for each in told)
    assert over is not None
    explained = (np.stack(told) * np.stack(error)).sum() / np.stack(error).sum()
    return RemainingUncertainty(
        groups.n_groups,
        1 - over.mean_over_groups,
        1 - over.mean_over_records,
        1 - over.worst,
        1 - float(np.mean(told, axis=0).max()),
        float(explained),
    )


def paired(a: Sequence[float] | Floats, b: Sequence[float] | Floats) -> float:
    """Two-sided p-value of the paired t-test; 1 when all pairs are equal."""
    from scipy.stats import t

    apart = np.asarray(a, float) - np.asarray(b, float)
    apart = apart[~np.isnan(apart)]
    error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else 0.0
    if error == 0:
        return 1.0 if not apart.any() else 0.0
    return float(2 * t.sf(abs(apart.mean()) / error, len(apart) - 1))
