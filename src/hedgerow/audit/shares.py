"""Shares of the public loss that learners take off, with their intervals, and the worst tenth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..measures import FloatArray, IntArray

REPEATS = 500
"""Bootstrap samples of the people asked."""


def in_shares(
    base: FloatArray,
    members: Mapping[str, FloatArray],
    strangers: Mapping[str, FloatArray] | None,
    cells: IntArray,
    random_state: int,
    others: FloatArray | None = None,
) -> dict[str, Any]:
    """Shares with their intervals, of each learner and of the best one.

    `others` are the public losses of strangers who are other people than the members.
    """
    shares = _resampled(base, random_state)
    own = {name: shares(errors) for name, errors in members.items()}
    best = max(own, key=lambda name: float(own[name][0]))
    tenth = {name: _worst_tenth(base, errors, cells) for name, errors in members.items()}
    hardest = max(tenth, key=lambda name: tenth[name])
    # nobody does worse than guessing from public totals: the figures of the best learner end at 0
    reached = np.maximum(own[best], 0.0)
    out: dict[str, Any] = {
        "members": _share(reached) | {"learner": best},
        "strangers": None,
        "advantage": None,
        "worst_tenth": {"explained": max(tenth[hardest], 0.0), "learner": hardest},
        "learners": {
            name: {
                "members": _share(found),
                "strangers": None,
                "advantage": None,
                "worst_tenth": tenth[name],
            }
            for name, found in own.items()
        },
    }
    if strangers is not None:
        theirs = shares if others is None else _resampled(others, random_state + 1)
        other = {name: theirs(errors) for name, errors in strangers.items()}
        rule = max(other, key=lambda name: float(other[name][0]))
        out["strangers"] = _share(np.maximum(other[rule], 0.0)) | {"learner": rule}
        out["advantage"] = _share(reached - np.maximum(other[rule], 0.0))
        for name, found in other.items():
            out["learners"][name]["strangers"] = _share(found)
            out["learners"][name]["advantage"] = _share(own[name] - found)
    return out


def _resampled(base: FloatArray, random_state: int) -> Callable[[FloatArray], FloatArray]:
    """How much of the public losses errors take off: of all people first, then of samples."""
    n = len(base)
    draws = np.random.default_rng(random_state).multinomial(
        n, np.full(n, 1 / max(n, 1)), size=REPEATS if n else 0
    )
    weights = np.vstack([np.ones((1, n)), draws])
    spread = weights @ base

    def shares(errors: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(spread > 0, 1 - (weights @ errors) / spread, 0.0)

    return shares


def _share(found: FloatArray) -> dict[str, Any]:
    """The share of all people, which stands first, and the interval of the samples."""
    value = float(found[0])
    if len(found) < 2:
        return {"explained": value, "interval": [value, value]}
    low, high = np.quantile(found[1:], [0.025, 0.975])
    return {"explained": value, "interval": [float(low), float(high)]}


def _worst_tenth(base: FloatArray, errors: FloatArray, cells: IntArray) -> float:
    """The share explained in the best explained cells that hold a tenth of the people."""
    n = len(base)
    if not n:
        return 0.0
    # the floor of each record keeps what nearly everybody shares from counting as a secret
    floored = np.maximum(base, base.mean() / 4)
    size = np.bincount(cells)
    gain, spread = np.bincount(cells, base - errors), np.bincount(cells, floored)
    filled = np.flatnonzero(size)
    size, gain, spread = size[filled], gain[filled], spread[filled]
    share = np.divide(gain, spread, out=np.zeros(len(filled)), where=spread > 0)
    order = np.argsort(-share, kind="stable")
    need = n / 10
    before = np.cumsum(size[order]) - size[order]
    part = np.clip((need - before) / size[order], 0.0, 1.0)
    total = float(part @ spread[order])
    return float(part @ gain[order]) / total if total > 0 else 0.0
