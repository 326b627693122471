"""The randomizing matrices, by their two numbers: keep with probability t, else draw from all.

P      = t I + ((1-t)/d) J
P^-1   = (1/t) I - ((1-t)/(d t)) J
P o P  = A I + B J,  A = t^2 + 2 t (1-t)/d,  B = ((1-t)/d)^2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...kernels.kron import modes

Floats = NDArray[np.float64]


def to_t(p: Floats | float, d: NDArray[np.int64] | int) -> Floats:
    """t = (d p - 1)/(d - 1); 1 for a column of one category."""
    wide = np.maximum(np.asarray(d, dtype=float), 2.0)
    return np.where(np.asarray(d) > 1, (wide * p - 1) / (wide - 1), 1.0)


def to_p(t: Floats | float, d: NDArray[np.int64] | int) -> Floats:
    """The probability of keeping the value: t + (1 - t)/d."""
    d = np.asarray(d, dtype=float)
    return np.asarray(t + (1 - np.asarray(t)) / d)


def epsilon(t: Floats | float, d: NDArray[np.int64] | int) -> Floats:
    """Local guarantee per attribute, ln(1 + d t/(1 - t)); infinite at t = 1."""
    t, d = np.asarray(t, dtype=float), np.asarray(d, dtype=float)
    with np.errstate(divide="ignore"):
        return np.where(t < 1, np.log1p(d * t / np.where(t < 1, 1 - t, 1.0)), np.inf)


@dataclass(frozen=True)
class Channel:
    """Independent randomization of the modes of a table.

    Parameters
    ----------
    dims : tuple of int
        Categories per mode.
    t : array of shape (m,)
        In (0, 1] per mode; 1 keeps the mode as it is.
    """

    dims: tuple[int, ...]
    t: Floats

    @property
    def d(self) -> Floats:
        """The sizes as an array."""
        return np.asarray(self.dims, dtype=float)

    def forward(self, x: Floats) -> Floats:
        """P x (P is symmetric, so P' x as well)."""
        return modes(x.copy(), self.dims, self.t, (1 - self.t) / self.d)

    def inverse(self, x: Floats) -> Floats:
        """P^-1 x."""
        return modes(x.copy(), self.dims, 1 / self.t, -(1 - self.t) / (self.d * self.t))

    def square(self, x: Floats) -> Floats:
        """(P o P) x, the element-wise square."""
        a, b = self._square()
        return modes(x.copy(), self.dims, a, b)

    def inverse_square(self, x: Floats) -> Floats:
        """(P^-1 o P^-1) x: the variances of the inverted table come from it."""
        diagonal = 1 / self.t - (1 - self.t) / (self.d * self.t)
        off = (1 - self.t) / (self.d * self.t)
        return modes(x.copy(), self.dims, diagonal**2 - off**2, off**2)

    def mean(self, x: Floats, i: int) -> Floats:
        """E_i x: mode i replaced by its mean."""
        a, b = np.ones(len(self.dims)), np.zeros(len(self.dims))
        a[i], b[i] = 0.0, 1 / self.dims[i]
        return modes(x.copy(), self.dims, a, b)

    def _square(self) -> tuple[Floats, Floats]:
        t, d = self.t, self.d
        return t**2 + 2 * t * (1 - t) / d, ((1 - t) / d) ** 2

    def reconstruction(self, pi: Floats) -> Floats:
        """Pr(the attacker's posterior draw hits the true cell), per cell (equation 9).

        ``pi`` may carry leading batch axes; its cells need not sum to 1, only
        their proportions count.
        """
        return pi * self.square(_reciprocal(self.forward(pi)))

    def reconstruction_gradient(self, pi: Floats) -> tuple[Floats, Floats]:
        """`reconstruction` and its derivative by every t_i, on the first axis."""
        t, d = self.t, self.d
        lam = self.forward(pi)
        inverse = _reciprocal(lam)
        raw = self.square(inverse)
        a, b = self._square()
        da = 2 * t + 2 * (1 - 2 * t) / d
        db = -2 * (1 - t) / d**2
        out = np.empty((len(self.dims), *pi.shape))
        for i in range(len(self.dims)):
            dlam = (lam - self.mean(lam, i)) / t[i]
            on_mean = (da[i] + d[i] * db[i]) / (a[i] + d[i] * b[i]) - da[i] / a[i]
            part = (da[i] / a[i]) * raw + on_mean * self.mean(raw, i)
            part -= self.square(dlam * inverse**2)
            out[i] = pi * part
        return pi * raw, out

    def forward_gradient(self, forwarded: Floats, i: int) -> Floats:
        """d(P x)/dt_i from P x."""
        return (forwarded - self.mean(forwarded, i)) / self.t[i]


def _reciprocal(x: Floats) -> Floats:
    return np.divide(1.0, x, out=np.zeros_like(x), where=x > 0)


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
