"""The recipient's estimators: the original table of proportions from the randomized one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .rr_matrix import Channel

Floats = NDArray[np.float64]

GAIN = 1e-3
"""EM stops when a step raises the log-likelihood by less than this times the cells."""
_STEPS = 2_000


def clipped(estimate: Floats) -> Floats:
    """Negative cells set to 0 and the rest scaled to sum 1 (the paper's estimator)."""
    kept = np.maximum(estimate, 0.0)
    return kept / kept.sum()


def projected(estimate: Floats) -> Floats:
    """The nearest table of proportions in Euclidean distance (Duchi et al. 2008)."""
    flat = estimate.ravel()
    ordered = np.sort(flat)[::-1]
    excess = np.cumsum(ordered) - 1
    rank = np.arange(1, len(flat) + 1)
    last = int(np.flatnonzero(ordered - excess / rank > 0)[-1])
    return np.maximum(estimate - excess[last] / (last + 1), 0.0)


@dataclass(frozen=True)
class Fitted:
    """What `em` returns: the proportions, the steps taken, whether it stopped by its rule."""

    share: Floats
    steps: int
    stopped: bool


def em(channel: Channel, counts: Floats, gain: float = GAIN, steps: int = _STEPS) -> Fitted:
    """Iterative Bayes (EM), stopped early: the converged estimate overfits the noise.

    Parameters
    ----------
    channel : Channel
        How the table was randomized.
    counts : array of shape (prod(dims),)
        Released records per cell.
    gain : float
        Stop when the log-likelihood gains less than ``gain * cells`` in one step.
    steps : int
        Most steps.
    """
    n, cells = float(counts.sum()), counts.size
    seen = counts > 0
    share = np.full(cells, 1.0 / cells)
    before = -np.inf
    for step in range(1, steps + 1):
        expected = channel.forward(share)
        likelihood = float(counts[seen] @ np.log(expected[seen]))
        if likelihood - before < gain * cells:
            return Fitted(share, step - 1, True)
        before = likelihood
        ratio = np.zeros(cells)
        np.divide(counts, n * expected, out=ratio, where=seen)
        share = share * channel.forward(ratio)
        share /= share.sum()
    return Fitted(share, steps, False)


def distances(true: Floats, estimate: Floats) -> dict[str, float]:
    """Squared Euclid, KL (with 1e-6 uniform mass mixed into the estimate) and chi2."""
    mixed = (1 - 1e-6) * estimate + 1e-6 / estimate.size
    kept = true > 0
    both = true + estimate > 0
    return {
        "euclid": float(((true - estimate) ** 2).sum()),
        "kl": float((true[kept] * np.log(true[kept] / mixed[kept])).sum()),
        "chi2": float(((true - estimate)[both] ** 2 / (true + estimate)[both]).sum()),
    }


def cube_error(true: Floats, estimate: Floats, base_only: bool = False) -> float:
    """Mean of |actual - estimate|/actual over the cells with actual > 0 of all cuboids."""
    total, cells = 0.0, 0
    axes = range(true.ndim)
    for chosen in range(1 if base_only else 2**true.ndim):
        summed = tuple(a for a in axes if chosen >> a & 1)
        actual, guessed = true.sum(axis=summed), estimate.sum(axis=summed)
        here = actual > 0
        total += float((np.abs(actual - guessed)[here] / actual[here]).sum())
        cells += int(np.count_nonzero(here))
    return total / cells


def uncertainty(joint: Floats) -> float:
    """U(Y|X) = I(X;Y)/H(Y) of a joint table with X on the rows; 0 when Y is constant."""
    joint = joint / joint.sum()
    x, y = joint.sum(axis=1), joint.sum(axis=0)
    kept = joint > 0
    information = float((joint[kept] * np.log(joint[kept] / np.outer(x, y)[kept])).sum())
    entropy = -float((y[y > 0] * np.log(y[y > 0])).sum())
    return information / entropy if entropy > 0 else 0.0
