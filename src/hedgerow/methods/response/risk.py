"""Attribute disclosure risk, and the randomization that loses the least under a cap on it.

Result 1, Problem 1 and the equations are those of L. Guo, X. Ying and X. Wu (2010), "On attribute
disclosure in randomization based privacy preserving data publishing", ICDM Workshops. The risk is
their Result 1 (``bound="paper"``) or the operational success, the chance to guess right through any
record; both have gradients and floors. `optimize` solves their Problem 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...kernels import Floats, Ints
from .contingency import Contingency, SensitiveView, Target
from .rr_matrix import Channel, to_p, to_t

Bound = Literal["paper", "operational"]


@dataclass(frozen=True)
class CellSet:
    """The constraints of a working set: (view, occupied cell, value) triples."""

    view: Ints
    row: Ints
    value: Ints

    def __len__(self) -> int:
        return len(self.row)

    def merged(self, other: CellSet) -> CellSet:
        """Return the union of both sets, sorted."""
        triples = [np.stack([s.view, s.row, s.value]) for s in (self, other)]
        return CellSet(*np.unique(np.concatenate(triples, axis=1), axis=1))


class Risk:
    """The disclosure risk of a table as a function of t, with one t per randomized attribute.

    Parameters
    ----------
    contingency : Contingency
    target : {"quasi", "sensitive", "both"}
    bound : {"paper", "operational"}
        The capped risk: Pr(S|QI) of Guo, Ying & Wu (2010), Result 1, or the operational success.

    Notes
    -----
    The vector t holds the randomized attributes only: the quasi-identifiers unless
    `target` is "sensitive", then the sensitive ones unless it is "quasi".
    """

    def __init__(self, contingency: Contingency, target: Target, bound: Bound = "paper") -> None:
        self.contingency, self.target, self.bound = contingency, target, bound
        self.n_quasi = 0 if target == "sensitive" else len(contingency.quasi)
        self.n_sensitive = 0 if target == "quasi" else len(contingency.sensitive)
        self.dims = (contingency.quasi if self.n_quasi else ()) + (contingency.sensitive if self.n_sensitive else ())

    def quasi_channel(self, t: Floats) -> Channel:
        """Return the randomization of the quasi-identifiers as a `Channel`."""
        keep = np.ones(len(self.contingency.quasi))
        return Channel(self.contingency.quasi, t[: self.n_quasi] if self.n_quasi else keep)

    def view_channel(self, view: SensitiveView, t: Floats) -> Channel | None:
        """Return the randomization of a view's attributes as a `Channel`; None if they are not randomized."""
        return None if not self.n_sensitive else Channel(view.dims, t[self.n_quasi :][list(view.attributes)])

    # --- the whole table

    def full(self, t: Floats) -> list[Floats]:
        """Return the risk of every occupied cell and value: one (cells x values) array per view."""
        if self.bound == "operational":
            return self.success(t)
        contingency = self.contingency
        # Guo, Ying & Wu (2010), Result 1: Pr(QI reconstructed) c'(alpha, u) Pr(S reconstructed | QI)
        eta = np.ones((len(contingency.occupied), 1))
        if self.n_quasi:
            eta = self.quasi_channel(t).reconstruction(contingency.pi)[contingency.occupied, None]
        out = []
        for view in contingency.views:
            risk = eta * contingency.target_shares(view)
            if (channel := self.view_channel(view, t)) is not None:
                risk = risk * self._zeta(view, channel)
            out.append(np.where(view.share > 0, risk, 0.0))
        return out

    def _zeta(self, view: SensitiveView, channel: Channel) -> Floats:
        contingency = self.contingency
        if contingency.negations == 0:
            return channel.reconstruction(view.share)
        return np.stack(
            [channel.reconstruction(contingency.sharpened(view, u))[:, u] for u in range(view.share.shape[1])], axis=1
        )

    def success(self, t: Floats) -> list[Floats]:
        """Return sum_beta P[beta, alpha] Pr(S = u | released QI = beta): one (cells x values) array per view.

        This is the operational success: it counts right guesses made through other people's
        records. It does not depend on the randomization of S, because the attacker can reconstruct
        the proportions.
        """
        contingency = self.contingency
        channel = self.quasi_channel(t)
        lam = channel.forward(contingency.pi)
        out = []
        for view in contingency.views:
            table = np.empty_like(view.share)
            for u in range(view.share.shape[1]):
                column = np.zeros_like(contingency.pi)
                column[contingency.occupied] = contingency.mass * view.share[:, u]
                column = channel.forward(column)
                np.divide(column, lam, out=column, where=lam > 0)
                table[:, u] = channel.forward(column)[contingency.occupied]
            out.append(np.where(view.share > 0, table, 0.0))
        return out

    def ratios(self, t: Floats) -> list[Floats]:
        """Return risk / cap of every cell and value, one array per view; at most 1 if the request is met."""
        return [risk / view.cap for risk, view in zip(self.full(t), self.contingency.views, strict=True)]

    def worst(self, t: Floats) -> float:
        """Return the largest risk / cap over all cells and values."""
        return max(float(r.max()) for r in self.ratios(t))

    def largest(self, ratios: list[Floats], count: int, least: float = 0.0) -> CellSet:
        """Return the cells with the `count` largest ratios above `least`.

        If S is not randomized, only one value per cell can bind, so only that one is taken.
        """
        parts = []
        one = self.bound == "paper" and not self.n_sensitive
        for number, ratio in enumerate(ratios):
            if one:
                value = ratio.argmax(axis=1)
                row, score = np.arange(len(ratio)), ratio.max(axis=1)
            else:
                row, value = np.nonzero(ratio > least)
                score = ratio[row, value]
            parts.append((np.full(len(row), number), row, value, score))
        view, row, value, score = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((value, row, view, -score))[:count]
        order = order[score[order] > least]
        return CellSet(view[order], row[order], value[order])

    # --- a working set, with gradients

    def log_ratio(self, t: Floats, cells: CellSet) -> tuple[Floats, Floats]:
        """Return log(risk / cap) of the given cells, shape (k,), and its derivative by t, shape (k, len(t))."""
        value, gradient = (self._success_at if self.bound == "operational" else self._paper_at)(t, cells)
        cap = np.empty(len(cells))
        for number, view in enumerate(self.contingency.views):
            at = cells.view == number
            cap[at] = view.cap[cells.row[at], cells.value[at]]
        # In logarithms the constraints of small and of large caps weigh alike.
        return np.log(value / cap), gradient / value[:, None]

    def _paper_at(self, t: Floats, cells: CellSet) -> tuple[Floats, Floats]:
        contingency = self.contingency
        k = len(cells)
        value, slope = np.ones(k), np.zeros((k, len(t)))  # slope of the logarithm
        if self.n_quasi:
            eta, gradient = self.quasi_channel(t).reconstruction_gradient(contingency.pi)
            cell = contingency.occupied[cells.row]
            value *= eta[cell]
            slope[:, : self.n_quasi] = (gradient[:, cell] / eta[cell]).T
        for number, view in enumerate(contingency.views):
            at = np.flatnonzero(cells.view == number)
            if not len(at):
                continue
            rows, values = cells.row[at], cells.value[at]
            share = _known_rows(contingency, view, rows, values)
            pick = np.arange(len(at)), values
            value[at] *= share[pick]
            if (channel := self.view_channel(view, t)) is not None:
                zeta, gradient = channel.reconstruction_gradient(share)
                value[at] *= zeta[pick]
                for i, attribute in enumerate(view.attributes):
                    slope[at, self.n_quasi + attribute] = gradient[i][pick] / zeta[pick]
        return value, slope * value[:, None]

    def _success_at(self, t: Floats, cells: CellSet) -> tuple[Floats, Floats]:
        contingency = self.contingency
        channel = self.quasi_channel(t)
        lam = channel.forward(contingency.pi)
        inverse = np.divide(1.0, lam, out=np.zeros_like(lam), where=lam > 0)
        slopes = [channel.forward_gradient(lam, i) for i in range(self.n_quasi)]
        value, gradient = np.zeros(len(cells)), np.zeros((len(cells), len(t)))
        for number, u in sorted(set(zip(cells.view.tolist(), cells.value.tolist(), strict=True))):
            at = np.flatnonzero((cells.view == number) & (cells.value == u))
            cell = contingency.occupied[cells.row[at]]
            column = np.zeros_like(contingency.pi)
            column[contingency.occupied] = contingency.mass * contingency.views[number].share[:, u]
            mixed = channel.forward(column)
            guess = mixed * inverse
            outer = channel.forward(guess)
            value[at] = outer[cell]
            for i in range(self.n_quasi):
                inner = (channel.forward_gradient(mixed, i) - guess * slopes[i]) * inverse
                gradient[at, i] = (channel.forward_gradient(outer, i) + channel.forward(inner))[cell]
        return value, gradient

    # --- floors

    def floors(self) -> list[Floats]:
        """Return the risk that remains under full randomization (t -> 0): one (cells x values) array per view."""
        contingency = self.contingency
        out = []
        for view in contingency.views:
            share = contingency.target_shares(view)
            if self.bound == "operational":
                # Nothing is left of the quasi-identifiers: guesses follow the public shares.
                whole = contingency.mass @ view.share
                floor = np.broadcast_to(whole, share.shape) if self.n_quasi else view.share
            else:
                floor = share * (contingency.mass[:, None] if self.n_quasi else 1.0)
                floor = floor * (share if self.n_sensitive else 1.0)
            out.append(np.where(view.share > 0, floor, 0.0))
        return out


def _known_rows(contingency: Contingency, view: SensitiveView, rows: Ints, values: Ints) -> Floats:
    if contingency.negations == 0:
        return view.share[rows]
    out = np.empty((len(rows), view.share.shape[1]))
    for u in np.unique(values):
        at = values == u
        out[at] = contingency.sharpened(view, int(u))[rows[at]]
    return out


WORKING_SET = 50
# smallest t searched: below it nothing can be reconstructed from any table of real size
SMALLEST = 1e-4
_LARGEST = 1 - 1e-6  # lambda has empty cells at t = 1, where its derivative jumps
_DIGITS = 6
_MOST_ROUNDS = 30


@dataclass(frozen=True)
class Optimum:
    """The randomization that `optimize` finds.

    Parameters
    ----------
    t, p : arrays, one entry per randomized attribute
    worst : float
        Largest risk over cap on the full table, at most 1.
    """

    t: Floats
    p: Floats
    worst: float


def optimize(risk: Risk, start: Floats | None = None) -> Optimum | None:
    """Minimise sum_i log(1 + (d_i - 1)/t_i^2) under every cell's cap (Guo, Ying & Wu 2010, Problem 1).

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
    unchanged = np.ones(len(d))
    if (worst := risk.worst(unchanged)) <= 1:
        return Optimum(unchanged, unchanged.copy(), worst)
    if not len(free):
        return None
    if (common := _ray(risk, np.full(len(d), _LARGEST), free)) is None:
        return None
    t = common if start is None else np.clip(start, SMALLEST, _LARGEST)
    cells = risk.largest(risk.ratios(t), WORKING_SET)
    for _ in range(_MOST_ROUNDS):
        t = _solve(risk, cells, t, free)
        ratios = risk.ratios(t)
        if max(float(r.max()) for r in ratios) <= 1 + 1e-7:
            break
        more = cells.merged(risk.largest(ratios, 20, 1 + 1e-7))
        if len(more) == len(cells):
            break
        cells = more
    feasible = _ray(risk, t, free)
    return _rounded(risk, common if feasible is None else feasible)


def _solve(risk: Risk, cells: CellSet, t: Floats, free: NDArray[np.int64]) -> Floats:
    from scipy import optimize as scipy_optimize

    minimize: Any = scipy_optimize.minimize

    others = np.asarray(risk.dims, dtype=float)[free] - 1

    def at(x: Floats) -> Floats:
        out = np.ones(len(risk.dims))
        out[free] = np.exp(x)
        return out

    # SLSQP asks for values and for derivatives at one point in two calls: one computation.
    @lru_cache(1)
    def evaluate(x: bytes) -> tuple[Floats, Floats]:
        point = at(np.frombuffer(x))
        value, gradient = risk.log_ratio(point, cells)
        return -value, -gradient[:, free] * point[free]

    def loss(x: Floats) -> tuple[float, Floats]:
        spread = others * np.exp(-2 * x)
        return float(np.log1p(spread).sum()), -2 * spread / (1 + spread)

    caps = {"type": "ineq", "fun": lambda x: evaluate(x.tobytes())[0], "jac": lambda x: evaluate(x.tobytes())[1]}
    least, most = np.log(SMALLEST), np.log(_LARGEST)
    settings = {"bounds": [(least, most)] * len(free), "options": {"maxiter": 200, "ftol": 1e-10}}
    result = minimize(loss, np.log(t[free]), jac=True, method="SLSQP", constraints=caps, **settings)
    x = np.clip(result.x, least, most)
    return at(x) if np.all(np.isfinite(x)) else t


def _ray(risk: Risk, t: Floats, free: NDArray[np.int64]) -> Floats | None:
    """Return the largest multiple of t, not above t itself, that meets every cap; None if there is none."""

    def point(scale: float) -> Floats:
        out = np.ones(len(t))
        out[free] = np.maximum(t[free] * scale, SMALLEST)
        return out

    if risk.worst(point(1.0)) <= 1:
        return point(1.0)
    # Bisection takes the risk to grow along the ray; `_rounded` looks at the whole table again.
    low, high = SMALLEST, 1.0
    if risk.worst(point(low)) > 1:
        return None
    while high - low > 1e-9 * high + 1e-12 and high / low >= 1 + 1e-7:
        middle = (low + high) / 2
        if risk.worst(point(middle)) <= 1:
            low = middle
        else:
            high = middle
    return point(low)


def _rounded(risk: Risk, t: Floats) -> Optimum:
    # p is published with six digits: round it down, look at the full table again.
    d = np.asarray(risk.dims, dtype=np.int64)
    # A column that hardly needs it is better left alone: readers need not correct for it.
    snapped = np.where(t > 1 - 1e-4, 1.0, t)
    if risk.worst(snapped) <= 1:
        t = snapped
    scale = 10.0**_DIGITS
    p = np.where(t < 1, np.floor(to_p(t, d) * scale) / scale, 1.0)
    p = np.maximum(p, to_p(SMALLEST, d))
    t = to_t(p, d)
    worst = risk.worst(t)
    while worst > 1 and np.any(t[d > 1] > SMALLEST):
        p = np.where(d > 1, np.maximum(p - 2 / scale, to_p(SMALLEST / 2, d)), 1.0)
        t = to_t(p, d)
        worst = risk.worst(t)
    return Optimum(t, p, worst)
