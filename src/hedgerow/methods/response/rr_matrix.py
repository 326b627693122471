"""The randomizing matrices of Guo, Ying & Wu (2010), and the estimators that undo them.

Two numbers describe a matrix, t and d: a value is kept with probability t, else drawn from all d.

P      = t I + ((1-t)/d) J
P^-1   = (1/t) I - ((1-t)/(d t)) J
P o P  = A I + B J,  A = t^2 + 2 t (1-t)/d,  B = ((1-t)/d)^2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...kernels import Floats
from ...kernels.kron import modes


def to_t(p: Floats | float, d: NDArray[np.int64] | int) -> Floats:
    """Return t = (d p - 1)/(d - 1) from the probability p of keeping a value; 1 if d is 1."""
    wide = np.maximum(np.asarray(d, dtype=float), 2.0)
    return np.where(np.asarray(d) > 1, (wide * p - 1) / (wide - 1), 1.0)


def to_p(t: Floats | float, d: NDArray[np.int64] | int) -> Floats:
    """Return the probability of keeping a value: t + (1 - t)/d."""
    d = np.asarray(d, dtype=float)
    return np.asarray(t + (1 - np.asarray(t)) / d)


@dataclass(frozen=True)
class Channel:
    """A randomization of a table that changes each mode (attribute) independently.

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
        """Return the number of categories of each mode, as an array."""
        return np.asarray(self.dims, dtype=float)

    def forward(self, x: Floats) -> Floats:
        """Return P x, which is also P' x because P is symmetric."""
        return modes(x.copy(), self.dims, self.t, (1 - self.t) / self.d)

    def inverse(self, x: Floats) -> Floats:
        """Return P^-1 x (Guo, Ying & Wu 2010, equation 2)."""
        return modes(x.copy(), self.dims, 1 / self.t, -(1 - self.t) / (self.d * self.t))

    def square(self, x: Floats) -> Floats:
        """Return (P o P) x, with P o P the element-wise square of P."""
        a, b = self._square()
        return modes(x.copy(), self.dims, a, b)

    def inverse_square(self, x: Floats) -> Floats:
        """Return (P^-1 o P^-1) x, from which the variances of the inverted table are computed."""
        diagonal = 1 / self.t - (1 - self.t) / (self.d * self.t)
        off = (1 - self.t) / (self.d * self.t)
        return modes(x.copy(), self.dims, diagonal**2 - off**2, off**2)

    def mean(self, x: Floats, i: int) -> Floats:
        """Return E_i x: each entry replaced by its mean over mode i."""
        a, b = np.ones(len(self.dims)), np.zeros(len(self.dims))
        a[i], b[i] = 0.0, 1 / self.dims[i]
        return modes(x.copy(), self.dims, a, b)

    def _square(self) -> tuple[Floats, Floats]:
        t, d = self.t, self.d
        return t**2 + 2 * t * (1 - t) / d, ((1 - t) / d) ** 2

    def reconstruction(self, pi: Floats) -> Floats:
        """Return the chance that the attacker's posterior draw hits the true cell (Guo, Ying & Wu 2010, equation 9).

        ``pi`` may carry leading batch axes; its cells need not sum to 1, only
        their proportions count.
        """
        return pi * self.square(_reciprocal(self.forward(pi)))

    def reconstruction_gradient(self, pi: Floats) -> tuple[Floats, Floats]:
        """Return `reconstruction` and its derivatives by every t_i, shape (m, *pi.shape)."""
        t, d = self.t, self.d
        lam = self.forward(pi)
        inverse = _reciprocal(lam)
        raw = self.square(inverse)
        a, b = self._square()
        da = 2 * t + 2 * (1 - 2 * t) / d
        db = -2 * (1 - t) / d**2
        out = np.empty((len(self.dims), *pi.shape))
        for i in range(len(self.dims)):
            # For mode i, P = t I + (1 - t) E, so dP/dt x = x - E x = (P x - E P x) / t.
            dlam = (lam - self.mean(lam, i)) / t[i]
            on_mean = (da[i] + d[i] * db[i]) / (a[i] + d[i] * b[i]) - da[i] / a[i]
            part = (da[i] / a[i]) * raw + on_mean * self.mean(raw, i)
            part -= self.square(dlam * inverse**2)
            out[i] = pi * part
        return pi * raw, out

    def forward_gradient(self, forwarded: Floats, i: int) -> Floats:
        """Return d(P x)/dt_i, computed from P x."""
        return (forwarded - self.mean(forwarded, i)) / self.t[i]


def _reciprocal(x: Floats) -> Floats:
    return np.divide(1.0, x, out=np.zeros_like(x), where=x > 0)


# EM stops when a step raises the log-likelihood by less than this times the number of cells
GAIN = 1e-3
_STEPS = 2_000


def clipped(estimate: Floats) -> Floats:
    """Return the estimate with negative cells set to 0 and the rest scaled to sum 1 (Guo, Ying & Wu 2010)."""
    positive = np.maximum(estimate, 0.0)
    return positive / positive.sum()


def projected(estimate: Floats) -> Floats:
    """Return the table of proportions nearest to the estimate in Euclidean distance (Duchi et al. 2008)."""
    flat = estimate.ravel()
    ordered = np.sort(flat)[::-1]
    excess = np.cumsum(ordered) - 1
    last = int(np.flatnonzero(ordered - excess / np.arange(1, len(flat) + 1) > 0)[-1])
    return np.maximum(estimate - excess[last] / (last + 1), 0.0)


def em(channel: Channel, counts: Floats, gain: float = GAIN, steps: int = _STEPS) -> Floats:
    """Estimate the original proportions by iterative Bayes (EM), stopped early because convergence overfits noise.

    Parameters
    ----------
    channel : Channel
        The randomization of the released table.
    counts : array of shape (prod(dims),)
        Released records per cell.
    gain : float
        Stop when the log-likelihood gains less than ``gain * cells`` in one step.
    steps : int
        Largest number of steps.
    """
    n, cells = float(counts.sum()), counts.size
    occupied = counts > 0
    share = np.full(cells, 1.0 / cells)
    before = -np.inf
    for _ in range(steps):
        expected = channel.forward(share)
        # Empty cells take no part: log 0 would stand where a count of 0 weighs nothing.
        likelihood = float(counts[occupied] @ np.log(expected[occupied]))
        if likelihood - before < gain * cells:
            break
        before = likelihood
        ratio = np.zeros(cells)
        np.divide(counts, n * expected, out=ratio, where=occupied)
        share = share * channel.forward(ratio)
        share /= share.sum()
    return share
