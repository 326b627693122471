"""What a class gives away about numeric values: the covariance test, matching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import chdtrc

from ...kernels.sorting import stable_sort
from ...measures import Counts, FloatArray, Groups
from ..tolerances import Tolerance


def covariance_test(groups: Groups, responses: FloatArray) -> FloatArray | None:
    """For each class the p-value that its covariances are those of the table (formula 9).

    L = (n - 1) (log det C - log det C_t + trace(C_t C^-1) - r), compared with
    chi-squared on r(r+1)/2 degrees of freedom; covariances with divisor n - 1.

    Parameters
    ----------
    groups : Groups
        The released classes.
    responses : float array, shape (n_rows, r)
        The numeric responses; no missing values.

    Returns
    -------
    float array, shape (n_groups,), or None
        0 where the class's covariance matrix is singular; None when the whole
        table's is.
    """
    n, r = responses.shape
    if n < 2:
        return None
    scale = np.ptp(responses, axis=0)
    if not (scale > 0).all():
        return None
    order = np.arange(n)
    for key in (*responses.T, groups.labels):  # sums run in an order that the values give
        order = order[stable_sort(key[order])[1]]
    labels, responses = groups.labels[order], responses[order]
    y = (responses - responses.mean(axis=0)) / scale
    overall = y.T @ y / (n - 1)
    sign, log_overall = np.linalg.slogdet(overall)
    if sign <= 0 or np.linalg.cond(overall) > 1e12:
        return None
    large = np.flatnonzero(groups.sizes > r)
    place = np.full(groups.n_groups, -1)
    place[large] = np.arange(len(large))
    labels = place[labels]
    y, labels = y[labels >= 0], labels[labels >= 0]
    sizes, n_large = groups.sizes[large], len(large)
    mean = np.stack([np.bincount(labels, y[:, j], n_large) / sizes for j in range(r)], axis=1)
    y = y - mean[labels]
    inside = np.empty((n_large, r, r))
    for i in range(r):
        for j in range(i, r):
            s = np.bincount(labels, y[:, i] * y[:, j], n_large)
            inside[:, i, j] = inside[:, j, i] = s / (sizes - 1)
    spread = np.sqrt(np.einsum("gii->gi", inside))
    regular = (spread > 1e-12).all(axis=1)
    signs, logs = np.linalg.slogdet(np.where(regular[:, None, None], inside, np.eye(r)))
    # rounding leaves singular matrices a determinant of about 1e-16 of its scale
    floor = 2 * np.log(np.where(spread > 0, spread, 1.0)).sum(axis=1) + np.log(1e-13)
    regular &= (signs > 0) & (logs > floor)
    trace = np.einsum("gij,ji->g", inside, np.linalg.inv(overall))
    statistic = (sizes - 1) * (log_overall - np.where(regular, logs, 0.0) + trace - r)
    p = np.zeros(groups.n_groups)
    p[large] = np.where(regular, chdtrc(r * (r + 1) / 2, np.maximum(statistic, 0.0)), 0.0)
    return p


def matching(counts: Counts, values: FloatArray, tolerances: Sequence[Tolerance]) -> dict[str, Any]:
    """The share of people whose value the best guess hits, against the public's best guess.

    Of every class the intruder names the one number that lies within the
    tolerance of most of its values; in public only the table's own
    distribution is known, so one number is named for everybody. Within a share of
    the value a zero is hit by zero alone, negative values by their size. Both are what the best
    possible guess reaches, so a small class scores high even where an intruder would have to be
    lucky.

    Returns
    -------
    dict
        One entry a tolerance, by its key, with ``means``, ``release``, ``public`` and
        ``gain``: (release - public) / (1 - public).
    """
    known = np.isfinite(values[counts.values])
    y = values[counts.values][known]
    weight = counts.counts[known]
    total = int(weight.sum())
    starts = np.searchsorted(counts.groups[known], np.arange(counts.n_groups + 1))
    code = counts.values[known]
    public = np.bincount(code, weight, counts.n_values).astype(np.int64)
    used = np.flatnonzero(public)
    out = {}
    for tolerance in tolerances:
        hits = int(tolerance.best(starts, y, weight)[0].sum())
        base = int(tolerance.best(np.array([0, len(used)]), values[used], public[used])[0].sum())
        release, open_ = hits / max(total, 1), base / max(total, 1)
        out[tolerance.key] = {
            "means": tolerance.words,
            "release": release,
            "public": open_,
            "gain": (release - open_) / (1 - open_) if open_ < 1 else 0.0,
        }
    return out
