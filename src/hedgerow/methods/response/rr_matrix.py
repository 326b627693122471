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
