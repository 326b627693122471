"""Problem 1: the probabilities of keeping that lose the least, under a cap on every cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .risk import Cells, Risk
from .rr_matrix import to_p, to_t

Floats = NDArray[np.float64]

WORKING_SET = 50
SMALLEST = 1e-4
"""Smallest t searched: below it nothing can be reconstructed from any table of real size."""
_LARGEST = 1 - 1e-6  # lambda has empty cells at t = 1, where its derivative jumps
_DIGITS = 6


@dataclass(frozen=True)
class Optimum:
    """The result of the search.

    Parameters
    ----------
    t, p : arrays, one entry per randomized attribute
    worst : float
        Largest risk over cap on the full table, at most 1.
    rounds : int
        Working sets solved; 0 when nothing had to be randomized.
    """

    t: Floats
    p: Floats
    worst: float
    rounds: int


def optimize(risk: Risk, start: Floats | None = None) -> Optimum | None:
    """Minimise sum_i log(1 + (d_i - 1)/t_i^2) subject to every cell's cap.

    Parameters
    ----------
    risk : Risk
    start : array, optional
        First t instead of the largest feasible common t.

    Returns
    -------
    Optimum, or None when no t of at least `SMALLEST` meets the caps
    """
    d = np.asarray(risk.dims, dtype=np.int64)
    free = np.flatnonzero(d > 1)
    whole = np.ones(len(d))
    worst = risk.worst(whole)
    if worst <= 1:
        return Optimum(whole, whole.copy(), worst, 0)
    if not len(free):
        return None
    common = _ray(risk, np.full(len(d), _LARGEST), free)
    if common is None:
        return None
    t = common if start is None else np.clip(start, SMALLEST, _LARGEST)
    cells = risk.largest(risk.ratios(t), WORKING_SET)
    rounds = 0
    while rounds < 30:
        t = _solve(risk, cells, t, free)
        rounds += 1
        ratios = risk.ratios(t)
        if max(float(r.max()) for r in ratios) <= 1 + 1e-7:
            break
        more = cells.merged(risk.largest(ratios, 20, 1 + 1e-7))
        if len(more) == len(cells):
            break
        cells = more
    return _finish(risk, t, common, d, free, rounds)


def _solve(risk: Risk, cells: Cells, t: Floats, free: NDArray[np.int64]) -> Floats:
    from scipy import optimize as scipy_optimize

    minimize: Any = scipy_optimize.minimize

    others = np.asarray(risk.dims, dtype=float)[free] - 1
    cache: dict[bytes, tuple[Floats, Floats]] = {}

    def at(x: Floats) -> Floats:
        out = np.ones(len(risk.dims))
        out[free] = np.exp(x)
        return out

    def evaluate(x: Floats) -> tuple[Floats, Floats]:
        key = x.tobytes()
        if key not in cache:
            cache.clear()
            here = at(x)
            value, gradient = risk.log_ratio(here, cells)
            cache[key] = -value, -gradient[:, free] * here[free]
        return cache[key]

    def loss(x: Floats) -> tuple[float, Floats]:
        spread = others * np.exp(-2 * x)
        return float(np.log1p(spread).sum()), -2 * spread / (1 + spread)

    found = minimize(
        loss,
        np.log(t[free]),
        jac=True,
        method="SLSQP",
        bounds=[(np.log(SMALLEST), np.log(_LARGEST))] * len(free),
        constraints={
            "type": "ineq",
            "fun": lambda x: evaluate(x)[0],
            "jac": lambda x: evaluate(x)[1],
        },
        options={"maxiter": 200, "ftol": 1e-10},
    )
    x = np.clip(found.x, np.log(SMALLEST), np.log(_LARGEST))
    return at(x) if np.all(np.isfinite(x)) else t


def _ray(risk: Risk, t: Floats, free: NDArray[np.int64]) -> Floats | None:
    """The largest feasible point on the ray from 0 to t; None when there is none."""

    def point(scale: float) -> Floats:
        out = np.ones(len(t))
        out[free] = np.maximum(t[free] * scale, SMALLEST)
        return out

    if risk.worst(point(1.0)) <= 1:
        return point(1.0)
    low, high = SMALLEST, 1.0
    if risk.worst(point(low)) > 1:
        return None
    while high - low > 1e-9 * high + 1e-12:
        middle = (low + high) / 2
        if risk.worst(point(middle)) <= 1:
            low = middle
        else:
            high = middle
        if high / low < 1 + 1e-7:
            break
    return point(low)


def _finish(
    risk: Risk,
    t: Floats,
    common: Floats,
    d: NDArray[np.int64],
    free: NDArray[np.int64],
    rounds: int,
) -> Optimum:
    # Shrink to strict feasibility, release p with six digits, look at the full table again.
    feasible = _ray(risk, t, free)
    t = common if feasible is None else feasible
    snapped = np.where(t > 1 - 1e-4, 1.0, t)
    if risk.worst(snapped) <= 1:
        t = snapped
    scale = 10.0**_DIGITS
    p = np.where(t < 1, np.floor(to_p(t, d) * scale) / scale, 1.0)
    p = np.maximum(p, to_p(SMALLEST, d))
    t = to_t(p, d)
    worst = risk.worst(t)
    while worst > 1 and np.any(t[free] > SMALLEST):
        p = np.where(d > 1, np.maximum(p - 2 / scale, to_p(SMALLEST / 2, d)), 1.0)
        t = to_t(p, d)
        worst = risk.worst(t)
    return Optimum(t, p, worst, rounds)
