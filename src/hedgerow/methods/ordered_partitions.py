"""Polynomial regression on ordered partitions: the arithmetic of PoROP-k on one vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..kernels.masking_loops import normalise_blocks, place_back, trace_back
from ..kernels.sorting import stable_sort
from ..kernels.threads import in_parts
from ..progress import done
from .validation import check_whole

Floats = NDArray[np.float64]
Noise = Literal["synthetic", "perturbative"]


def polynomial_basis(k: int, degree: int) -> Floats:
    """Orthonormal polynomials over the points 0..k-1, shape (degree + 1, k).

    The discrete Legendre (Gram) polynomials, made by multiplying with x and
    orthogonalising twice, which stays exact at degrees where powers of x are
    hopeless. Sums run in a fixed order, whatever the number of threads.
    """
    x = np.linspace(-1.0, 1.0, k) if k > 1 else np.zeros(1)
    basis = np.empty((degree + 1, k))
    basis[0] = 1.0 / np.sqrt(k)
    for j in range(1, degree + 1):
        done(None)
        new = x * basis[j - 1]
        for _ in range(2):
            for known in basis[:j]:
                new -= (known * new).sum() * known
        basis[j] = new / np.sqrt((new * new).sum())
    return basis


def fit_blocks(blocks: Floats, degree: int) -> Floats:
    """Least-squares polynomials of all blocks at once: their values at 0..k-1.

    Parameters
    ----------
    blocks : array, shape (p, k)
        One block of k values a row.
    degree : int
        Degree of the polynomial, below k.
    """
    basis = polynomial_basis(blocks.shape[1], degree)
    coefficients = np.einsum("pk,dk->pd", blocks, basis)
    fitted = coefficients[:, :1] * basis[0]
    for j in range(1, degree + 1):
        fitted += coefficients[:, j : j + 1] * basis[j]
    return fitted


@dataclass(frozen=True)
class Ordered:
    """A vector after both sorts of PoROP-k, ready for any degree and any noise.

    Parameters
    ----------
    k : int
        Values a block.
    z : array, shape (n,)
        The normalised values in their second order.
    place : array of int, shape (n,)
        Where each of them stands in the original vector.
    block : array of int, shape (n,)
        The first-sort block each of them came from.
    lo, span : array, shape (n_blocks,)
        Minimum and extent of the first-sort blocks.
    """

    k: int
    z: Floats
    place: NDArray[np.uint32]
    block: NDArray[np.uint32]
    lo: Floats
    span: Floats

    @property
    def remainder(self) -> int:
        """Number of values r in the short last block; 0 when k divides n."""
        return len(self.z) % self.k

    @property
    def n_blocks(self) -> int:
        """Number of blocks, a short last one included."""
        return -(-len(self.z) // self.k)

    def protect(self, degree: int | Sequence[int], noise: Noise, normals: Floats) -> Floats:
        """The protected vector, in the order of the original one.

        Parameters
        ----------
        degree : int or sequence of int
            Degree of the polynomial of every block, or one for each block.
        noise : {"synthetic", "perturbative"}
            Noise of the block's residual spread, or of each value's own residual.
        normals : array, shape (n,)
            Standard normal numbers, in the second order; zeros give the bare fit.
        """
        n, k, r = len(self.z), self.k, self.remainder
        degrees = block_degrees(degree, self.n_blocks)
        fitted, spread = np.empty(n), np.empty(self.n_blocks)
        whole = n - r
        blocks = self.z[:whole].reshape(-1, k)
        for d in sorted(set(degrees)):
            chosen = np.flatnonzero(np.array(degrees[: len(blocks)]) == d)
            mine = blocks if len(chosen) == len(blocks) else blocks[chosen]
            if len(mine):
                curves = fit_blocks(mine, d)
                fitted[:whole].reshape(-1, k)[chosen] = curves
                spread[chosen] = _spread(mine, curves)
        if r:
            # The short block is fitted on the last k values, so that every curve
            # rests on as many points; only its own r values are kept.
            window = self.z[None, n - k :]
            curve = fit_blocks(window, degrees[-1])
            fitted[whole:] = curve[0, k - r :]
            spread[-1:] = _spread(window, curve)
        if noise == "synthetic":
            sizes = np.full(self.n_blocks, k)
            sizes[-1] = r or k
            deviation = np.repeat(spread, sizes)
        else:
            deviation = np.abs(self.z - fitted)
        released = np.empty(n)

        def part_back(part: slice) -> None:
            given = (fitted[part], deviation[part], normals[part], self.place[part])
            place_back(*given, self.block[part], self.lo, self.span, released)

        in_parts(part_back, n, n)
        return released


def order(values: Floats, k: int) -> Ordered:
    """Sort, cut into blocks of k, normalise each block, sort again (steps 1 to 4).

    Parameters
    ----------
    values : array, shape (n,)
        Finite values without missing ones.
    k : int
        Values a block, 1 < k <= n.
    """
    n = len(values)
    ordered, first = stable_sort(values)
    starts = np.arange(0, n, k)
    ends = np.minimum(starts + k, n) - 1
    lo = ordered[starts]
    with np.errstate(over="ignore"):
        span = ordered[ends] - lo
    if not np.isfinite(span).all():
        raise ParameterError(
            "the values lie so far apart that their differences overflow",
            hint="rescale the columns",
        )
    normalise_blocks(ordered, lo, span, k)
    z, second = stable_sort(ordered)
    place, block = np.empty(n, np.uint32), np.empty(n, np.uint32)
    in_parts(lambda part: trace_back(first, second[part], k, place[part], block[part]), n, n)
    return Ordered(k, z, place, block, lo, span)


def block_degrees(degree: int | Sequence[int], n_blocks: int) -> list[int]:
    """One degree a block; ParameterError when there are more or fewer than blocks."""
    chosen = [degree] * n_blocks if isinstance(degree, int) else list(degree)
    if len(chosen) != n_blocks:
        raise ParameterError(
            f"{len(chosen)} degrees are given for {n_blocks} blocks",
            hint="give one degree, or one for every block",
        )
    return chosen


def check_settings(k: Any, degree: Any, n: int) -> tuple[int, int | list[int]]:
    """A block size k and degree(s) that fit n values, else ParameterError."""
    k = check_whole("block_size", k, 2)
    single = isinstance(degree, (int, np.integer)) and not isinstance(degree, bool)
    if not single and not (isinstance(degree, (list, tuple)) and degree):
        raise ParameterError('degree must be a whole number, a list of them, or "auto"')
    degrees = [check_whole("degree", d, 0) for d in ([degree] if single else degree)]
    if k > n:
        raise ParameterError(
            f"block_size is {k}, but there are only {n} values that are not missing",
            hint=f"choose at most {n}",
        )
    if k <= max(degrees) + 1:
        raise ParameterError(
            f"block_size is {k}: a polynomial of degree {max(degrees)} passes through "
            f"{max(degrees) + 1} values, "
            f"so nothing would be protected",
            hint=f"choose more than {max(degrees) + 1}",
        )
    return k, degrees[0] if single else degrees


def _spread(blocks: Floats, curves: Floats) -> Floats:
    """Square root of the mean squared residual of every block."""
    residual = blocks - curves
    return np.sqrt(np.einsum("pk,pk->p", residual, residual) / blocks.shape[1])
