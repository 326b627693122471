"""Joining groups until every promise is kept: what is counted of them, and the exact last word."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..errors import InfeasibleError
from ..kernels.joins import (
    ENTROPY,
    JOINED,
    LARGEST,
    RANKED,
    SHARES,
    SQUARED,
    Groups,
    Limits,
    join,
)
from ..measures import Classes, Counts, SensitiveCounts
from ..measures.guarantees import Disclosure, Guarantee, LDiversity
from ..measures.proper_scores import BrierScore, RankedScore, SquaredScore
from ..progress import done

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SLICE = 16
"""Joins between two looks at the outside world."""
WIDEST = 1_024
"""Categories beyond so many are not told apart while joining; the exact check does."""


class _Terms:
    """Blocks of sums beside each other, and what is asked of each."""

    def __init__(self, n_groups: int) -> None:
        self.told: list[Floats] = [np.zeros((n_groups, 0))]
        self.terms: list[tuple[int, int, int]] = []
        self.limits: list[float] = []
        self.public: list[Floats] = [np.zeros(0)]
        self.loss: list[Floats] = [np.zeros(0)]
        self.ranked: list[Floats] = [np.zeros(0)]
        self.width = 0

    def block(
        self, told: Floats, public: Floats | None = None, loss: Floats | None = None
    ) -> tuple[int, int]:
        """Where the new sums stand."""
        at, m = self.width, told.shape[1]
        self.told.append(told)
        self.public.append(np.zeros(m) if public is None else public)
        self.loss.append(np.zeros(m) if loss is None else loss)
        self.ranked.append(np.zeros(m))
        self.width += m
        return at, m

    def ask(self, kind: int, at: int, m: int, limit: float) -> None:
        """Hold the sums at a place against a limit."""
        self.terms.append((kind, at, m))
        self.limits.append(limit)

    def disclosure(self, column: SensitiveCounts, cap: float) -> None:
        """Every proper score of a column under one cap."""
        n = len(self.told[0])
        ranked: RankedScore | None = None
        for score, cell in column.public.scores:
            if isinstance(score, SquaredScore):
                counts = column.counts
                known = counts.values < column.n_values
                inside = np.where(known, counts.values, 0)
                number = counts.counts * known
                sums = (number, number * score.apart[inside], number * score.weight[inside])
                columns = [np.bincount(counts.groups, s.astype(np.float64), n) for s in sums]
                self.ask(SQUARED, *self.block(np.stack(columns, axis=1, dtype=np.float64)), cap)
            elif isinstance(score, RankedScore):
                ranked = score  # the local score comes next and has the same cells
            elif isinstance(score, BrierScore):
                m, loss = len(score.weight), score.weight
                told = _cells(column.counts, np.arange(m) if cell is None else cell, m, n)
                public = np.array(score.counts) / score.n
                if m > WIDEST:
                    told, public, loss = _frequent(told, public, loss)
                at, m = self.block(told, public, loss)
                self.ask(SHARES, at, m, cap)
                if ranked is not None:
                    self.ranked[-1] = ranked.weight
                    self.ask(RANKED, at, m, cap)
                    ranked = None

    def made(self) -> tuple[Floats, Limits]:
        """The sums of every group and what is asked of them."""
        return np.concatenate(self.told, axis=1), Limits(
            np.array(self.terms, np.int64).reshape(-1, 3),
            np.array(self.limits),
            *(np.concatenate(parts) for parts in (self.public, self.loss, self.ranked)),
        )


def _cells(counts: Counts, cell: Ints, m: int, n: int) -> Floats:
    """Records of every cell, one row a group; codes without a cell take no part."""
    inside = counts.values < len(cell)
    key = counts.groups[inside] * m + cell[counts.values[inside]]
    dense = np.bincount(key, counts.counts[inside].astype(np.float64), n * m)
    return np.asarray(dense.reshape(n, m), np.float64)


def _frequent(told: Floats, public: Floats, loss: Floats) -> tuple[Floats, Floats, Floats]:
    """The most frequent categories and one for all others."""
    kept = np.sort(np.argsort(-public, kind="stable")[: WIDEST - 1])
    rest = np.setdiff1d(np.arange(len(public)), kept)
    share = public[rest] / max(public[rest].sum(), 1e-300)
    return (
        np.column_stack([told[:, kept], told[:, rest].sum(axis=1)]),
        np.append(public[kept], public[rest].sum()),
        np.append(loss[kept], loss[rest] @ share),
    )


def limits_of(classes: Classes, promises: Sequence[Guarantee]) -> tuple[Floats, Limits]:
    """What groups tell, as sums that add up, and what the promises ask of them.

    Promises that are no limit on such sums (t-closeness, say) are left to the exact check.

    Parameters
    ----------
    classes : Classes
    promises : sequence of Guarantee
    """
    n = classes.n_groups
    terms = _Terms(n)
    for promise in promises:
        if isinstance(promise, Disclosure):
            for column in classes.sensitive.values():
                terms.disclosure(column, promise.limit)
        elif isinstance(promise, LDiversity) and promise.diversity in ("frequency", "entropy"):
            for name in promise.columns or classes.sensitive:
                counts = classes.sensitive[name].counts
                told = _cells(counts, np.arange(counts.n_values), counts.n_values, n)
                at, m = terms.block(told)
                by_entropy = promise.diversity == "entropy"
                limit = np.log(promise.l) if by_entropy else 1 / promise.l
                terms.ask(ENTROPY if by_entropy else LARGEST, at, m, float(limit))
    return terms.made()


def joined(
    n: Ints,
    means: Floats,
    classes_of: Callable[[Ints], Classes],
    promises: Sequence[Guarantee],
) -> Ints:
    """The group of every cell, once cells are joined until each keeps every promise.

    The worst group first, to the partner that repairs it at the least loss (Ward's, of what
    groups explain); where none does, to the one that lowers best what it tells. What the sums
    leave open, or cannot say, `promises` decide exactly.

    Parameters
    ----------
    n : int array of shape (n_cells,)
        Records.
    means : float array of shape (n_cells, d)
        Cells are alike where these are near.
    classes_of : callable
        Groups as the promises judge them, from the group (0 .. g - 1) of every cell.
    promises : sequence of Guarantee

    Returns
    -------
    int64 array of shape (n_cells,)
        Numbered by the first cell of each group.

    Raises
    ------
    InfeasibleError
        All people together break a promise.
    """
    number = np.arange(len(n))
    if not promises:
        return number
    classes = classes_of(number)
    told, limits = limits_of(classes, promises)
    groups = Groups.of(n, means, told, limits)
    while True:
        while join(groups, limits, SLICE):
            done(None)
        first, number = np.unique(groups.first(), return_inverse=True)
        number = number.reshape(-1).astype(np.int64)
        if groups.state[JOINED]:
            classes = classes_of(number)
        kept = np.all([promise.kept_by(classes) for promise in promises], axis=0)
        if kept.all():
            return number
        if len(first) == 1:
            raise InfeasibleError(
                "all people together break a promise: "
                + "; ".join(p.words() for p in promises if not p.kept_by(classes).all()),
                hint="ask for less",
            )
        groups.excess[first[~kept]] = np.maximum(groups.excess[first[~kept]], 2.0)
        groups.heaped()
