"""Attribute disclosure: the paper's Result 1, its floors and gradients; the operational success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .contingency import SensitiveView, Setting, Target
from .rr_matrix import Channel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bound = Literal["paper", "operational"]


@dataclass(frozen=True)
class Cells:
    """Chosen (view, occupied cell, value) triples: the constraints of a working set."""

    view: Ints
    row: Ints
    value: Ints

    def __len__(self) -> int:
        return len(self.row)

    def merged(self, other: Cells) -> Cells:
        """Both sets, each triple once, in order."""
        keys = np.stack(
            [
                np.concatenate([getattr(self, f), getattr(other, f)])
                for f in ("view", "row", "value")
            ],
            axis=1,
        )
        keys = np.unique(keys, axis=0)
        return Cells(keys[:, 0], keys[:, 1], keys[:, 2])


class Risk:
    """Risk of a setting as a function of t, one t per randomized attribute.

    Parameters
    ----------
    setting : Setting
    target : {"quasi", "sensitive", "both"}
    bound : {"paper", "operational"}
        What is capped: Pr(S|QI) of Result 1, or the operational success.

    Notes
    -----
    The vector t holds the randomized attributes only: the quasi-identifiers unless
    `target` is "sensitive", then the sensitive ones unless it is "quasi".
    """

    def __init__(self, setting: Setting, target: Target, bound: Bound = "paper") -> None:
        self.setting, self.target, self.bound = setting, target, bound
        self.n_quasi = 0 if target == "sensitive" else len(setting.quasi)
        self.n_sensitive = 0 if target == "quasi" else len(setting.sensitive)
        self.dims = (setting.quasi if self.n_quasi else ()) + (
            setting.sensitive if self.n_sensitive else ()
        )

    def quasi_channel(self, t: Floats) -> Channel:
        """The quasi-identifiers' randomization."""
        keep = np.ones(len(self.setting.quasi))
        return Channel(self.setting.quasi, t[: self.n_quasi] if self.n_quasi else keep)

    def view_channel(self, view: SensitiveView, t: Floats) -> Channel | None:
        """A view's randomization; None when the sensitive attributes stay as they are."""
        if not self.n_sensitive:
            return None
        return Channel(view.dims, t[self.n_quasi :][list(view.attributes)])

    # --- the whole table

    def full(self, t: Floats) -> list[Floats]:
        """Risk of every occupied cell and value, one (cells x values) array per view."""
        if self.bound == "operational":
            return self.success(t)
        setting = self.setting
        eta = self.eta(t)[:, None]
        out = []
        for view in setting.views:
            risk = eta * setting.sharpened(view)
            channel = self.view_channel(view, t)
            if channel is not None:
                risk = risk * self._zeta(view, channel)
            out.append(np.where(view.share > 0, risk, 0.0))
        return out

    def eta(self, t: Floats) -> Floats:
        """Pr(the quasi-identifiers are reconstructed) of the occupied cells."""
        setting = self.setting
        if not self.n_quasi:
            return np.ones(len(setting.occupied))
        return self.quasi_channel(t).reconstruction(setting.pi)[setting.occupied]

    def _zeta(self, view: SensitiveView, channel: Channel) -> Floats:
        setting = self.setting
        if setting.negations == 0:
            return channel.reconstruction(view.share)
        return np.stack(
            [
                channel.reconstruction(setting.known(view, u))[:, u]
                for u in range(view.share.shape[1])
            ],
            axis=1,
        )

    def success(self, t: Floats) -> list[Floats]:
        """sum_beta P[beta, alpha] Pr(S = u | released QI = beta), per view.

        Right guesses made through other people's records count. It does not depend on
        how S is randomized: the attacker can reconstruct the proportions.
        """
        setting = self.setting
        channel = self.quasi_channel(t)
        lam = channel.forward(setting.pi)
        out = []
        for view in setting.views:
            table = np.empty_like(view.share)
            for u in range(view.share.shape[1]):
                column = np.zeros_like(setting.pi)
                column[setting.occupied] = setting.mass * view.share[:, u]
                column = channel.forward(column)
                np.divide(column, lam, out=column, where=lam > 0)
                table[:, u] = channel.forward(column)[setting.occupied]
            out.append(np.where(view.share > 0, table, 0.0))
        return out

    def ratios(self, t: Floats) -> list[Floats]:
        """Risk over cap, per view; at most 1 everywhere when the request is met."""
        return [
            risk / view.cap for risk, view in zip(self.full(t), self.setting.views, strict=True)
        ]

    def worst(self, t: Floats) -> float:
        """The largest risk over cap."""
        return max(float(r.max()) for r in self.ratios(t))

    def largest(self, ratios: list[Floats], count: int, least: float = 0.0) -> Cells:
        """The cells of the `count` largest ratios above `least`.

        Where S stays as it is one value per cell binds, so only that one is taken.
        """
        found = []
        one = self.bound == "paper" and not self.n_sensitive
        for number, ratio in enumerate(ratios):
            if one:
                value = ratio.argmax(axis=1)
                row, score = np.arange(len(ratio)), ratio.max(axis=1)
            else:
                row, value = np.nonzero(ratio > least)
                score = ratio[row, value]
            found.append((np.full(len(row), number), row, value, score))
        view, row, value, score = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.lexsort((value, row, view, -score))[:count]
        order = order[score[order] > least]
        return Cells(view[order], row[order], value[order])

    # --- a working set, with gradients

    def log_ratio(self, t: Floats, cells: Cells) -> tuple[Floats, Floats]:
        """log(risk / cap) of some cells and its derivative by t: shapes (k,), (k, len(t))."""
        value, gradient = (self._success_at if self.bound == "operational" else self._paper_at)(
            t, cells
        )
        cap = np.empty(len(cells))
        for number, view in enumerate(self.setting.views):
            at = cells.view == number
            cap[at] = view.cap[cells.row[at], cells.value[at]]
        return np.log(value / cap), gradient / value[:, None]

    def _paper_at(self, t: Floats, cells: Cells) -> tuple[Floats, Floats]:
        setting = self.setting
        k = len(cells)
        value, slope = np.ones(k), np.zeros((k, len(t)))  # slope of the logarithm
        if self.n_quasi:
            eta, gradient = self.quasi_channel(t).reconstruction_gradient(setting.pi)
            cell = setting.occupied[cells.row]
            value *= eta[cell]
            slope[:, : self.n_quasi] = (gradient[:, cell] / eta[cell]).T
        for number, view in enumerate(setting.views):
            at = np.flatnonzero(cells.view == number)
            if not len(at):
                continue
            rows, values = cells.row[at], cells.value[at]
            share = _known_rows(setting, view, rows, values)
            pick = np.arange(len(at)), values
            value[at] *= share[pick]
            channel = self.view_channel(view, t)
            if channel is not None:
                zeta, gradient = channel.reconstruction_gradient(share)
                value[at] *= zeta[pick]
                for i, attribute in enumerate(view.attributes):
                    slope[at, self.n_quasi + attribute] = gradient[i][pick] / zeta[pick]
        return value, slope * value[:, None]

    def _success_at(self, t: Floats, cells: Cells) -> tuple[Floats, Floats]:
        setting = self.setting
        channel = self.quasi_channel(t)
        lam = channel.forward(setting.pi)
        inverse = np.divide(1.0, lam, out=np.zeros_like(lam), where=lam > 0)
        slopes = [channel.forward_gradient(lam, i) for i in range(self.n_quasi)]
        value, gradient = np.zeros(len(cells)), np.zeros((len(cells), len(t)))
        for number, u in sorted(set(zip(cells.view.tolist(), cells.value.tolist(), strict=True))):
            at = np.flatnonzero((cells.view == number) & (cells.value == u))
            cell = setting.occupied[cells.row[at]]
            column = np.zeros_like(setting.pi)
            column[setting.occupied] = setting.mass * setting.views[number].share[:, u]
            mixed = channel.forward(column)
            guess = mixed * inverse
            outer = channel.forward(guess)
            value[at] = outer[cell]
            for i in range(self.n_quasi):
                inner = (channel.forward_gradient(mixed, i) - guess * slopes[i]) * inverse
                gradient[at, i] = (channel.forward_gradient(outer, i) + channel.forward(inner))[
                    cell
                ]
        return value, gradient

    # --- floors

    def floors(self) -> list[Floats]:
        """The risk that full randomization (t -> 0) leaves, per view."""
        setting = self.setting
        out = []
        for view in setting.views:
            share = setting.sharpened(view)
            if self.bound == "operational":
                whole = setting.mass @ view.share
                floor = np.broadcast_to(whole, share.shape) if self.n_quasi else view.share
            else:
                floor = share * (setting.mass[:, None] if self.n_quasi else 1.0)
                floor = floor * (share if self.n_sensitive else 1.0)
            out.append(np.where(view.share > 0, floor, 0.0))
        return out


def _known_rows(setting: Setting, view: SensitiveView, rows: Ints, values: Ints) -> Floats:
    if setting.negations == 0:
        return view.share[rows]
    out = np.empty((len(rows), view.share.shape[1]))
    for u in np.unique(values):
        at = values == u
        out[at] = setting.known(view, int(u))[rows[at]]
    return out
