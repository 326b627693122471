"""Joining groups until every promise holds: checked on sums that add up, then exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import InfeasibleError
from ..kernels.joins import ENTROPY, JOINED, LARGEST, RANKED, SHARES, SQUARED, JoinGroups, Limits, join
from ..measures import Classes, Counts, Floats, Ints, SensitiveCounts
from ..measures.guarantees import Disclosure, Guarantee, LDiversity
from ..measures.proper_scores import BrierScore, RankedScore, SquaredScore
from ..progress import done

# Joins between two reports of progress.
SLICE = 16
# Most categories kept separate while joining; rarer ones are merged, but not in the exact check.
WIDEST = 1_024
# The part of a cap that numbers may reach where rows will be drawn. Rows are drawn by rounded means, which may disclose
# more than the originals, and a group above the cap is drawn again towards the whole table, which flattens slopes.
DRAWN = 0.8


class _Block(NamedTuple):
    """Sums of every group, and the limit on each type of term computed from them.

    Fields
    ------
    sums : float array of shape (n_groups, m)
    kinds : sequence of int
        SQUARED, SHARES, RANKED, LARGEST or ENTROPY.
    limit : float
    fewest : int
        Groups with fewer records are judged together, by the exact check.
    public, loss, ranked : float arrays of shape (m,), optional
        Public shares, and the losses of the local and the ranked score; zeros by default.
    """

    sums: Floats
    kinds: Sequence[int]
    limit: float
    fewest: int = 0
    public: Floats | None = None
    loss: Floats | None = None
    ranked: Floats | None = None


def _scores(column: SensitiveCounts, n: int, cap: float) -> Iterator[_Block]:
    """Yield a block for each proper score of a column, with its sums over n groups and the cap as limit."""
    counts, ranked = column.counts, None
    for score, cell in column.public.scores:
        if isinstance(score, SquaredScore):
            is_known = counts.values < column.n_values
            inside = np.where(is_known, counts.values, 0)
            number = counts.counts * is_known
            sums = (number, number * score.deviations[inside], number * score.weight[inside])
            columns = [np.bincount(counts.groups, s.astype(np.float64), n) for s in sums]
            yield _Block(np.stack(columns, axis=1, dtype=np.float64), [SQUARED], cap, column.fewest)
        elif isinstance(score, RankedScore):
            ranked = score.weight  # the local score comes next and has the same cells
        elif isinstance(score, BrierScore):
            m, loss = len(score.weight), score.weight
            shares = _cells(counts, np.arange(m) if cell is None else cell, m, n)
            public = np.array(score.counts) / score.n
            # A group has a sum for every category: very many would not fit into memory together.
            if m > WIDEST:
                shares, public, loss = _frequent(shares, public, loss)
            kinds = [SHARES] if ranked is None else [SHARES, RANKED]
            yield _Block(shares, kinds, cap, column.fewest, public, loss, ranked)
            ranked = None


def _cells(counts: Counts, cell: Ints, m: int, n: int) -> Floats:
    """Count the records of each group in each cell, shape (n, m); codes without a cell are left out."""
    inside = counts.values < len(cell)
    key = counts.groups[inside] * m + cell[counts.values[inside]]
    return np.asarray(np.bincount(key, counts.counts[inside].astype(np.float64), n * m).reshape(n, m), np.float64)


def _frequent(sums: Floats, public: Floats, loss: Floats) -> tuple[Floats, Floats, Floats]:
    """Merge all categories but the most frequent into one, in the sums, public shares and losses."""
    first = np.sort(np.argsort(-public, kind="stable")[: WIDEST - 1])
    rest = np.setdiff1d(np.arange(len(public)), first)
    share = public[rest] / max(public[rest].sum(), 1e-300)
    return (
        np.column_stack([sums[:, first], sums[:, rest].sum(axis=1)]),
        np.append(public[first], public[rest].sum()),
        np.append(loss[first], loss[rest] @ share),
    )


def limits_of(classes: Classes, promises: Sequence[Guarantee], *, in_rows: bool = False) -> tuple[Floats, Limits]:
    """Return, for each group, sums that add up when groups are joined, and the limit each promise sets on them.

    t-closeness is no such sum; the exact check handles it.

    Parameters
    ----------
    classes : Classes
    promises : sequence of Guarantee
    in_rows : bool, default False
        Whether a guard will draw rows inside the groups: numbers then reach at most `DRAWN` of a cap.
    """
    n, blocks = classes.n_groups, [_Block(np.zeros((classes.n_groups, 0)), (), 0.0)]
    for promise in promises:
        if isinstance(promise, Disclosure):
            for column in classes.sensitive.values():
                blocks += _scores(column, n, promise.limit * (DRAWN if in_rows and column.is_number else 1.0))
        elif isinstance(promise, LDiversity) and promise.diversity in ("frequency", "entropy"):
            for name in promise.columns or classes.sensitive:
                counts, fewest = classes.sensitive[name].counts, classes.sensitive[name].fewest
                sums = _cells(counts, np.arange(counts.n_values), counts.n_values, n)
                by_entropy = promise.diversity == "entropy"
                limit = float(np.log(promise.l)) if by_entropy else 1 / promise.l
                blocks.append(_Block(sums, [ENTROPY if by_entropy else LARGEST], limit, fewest))
    ends = np.cumsum([block.sums.shape[1] for block in blocks])
    terms, vectors = [], []
    for block, end in zip(blocks, ends, strict=True):
        m = block.sums.shape[1]
        terms += [(kind, end - m, m) for kind in block.kinds]
        vectors.append([np.zeros(m) if x is None else x for x in block[4:]])
    limits = np.array([block.limit for block in blocks for _ in block.kinds])
    least = np.array([block.fewest for block in blocks for _ in block.kinds], np.int64)
    public, loss, ranked = map(np.concatenate, zip(*vectors, strict=True))
    places = np.array(terms, np.int64).reshape(-1, 3)
    sums = np.concatenate([block.sums for block in blocks], axis=1)
    return sums, Limits(places, limits, public, loss, ranked, least)


def joined(
    n: Ints, means: Floats, classes_of: Callable[[Ints], Classes], promises: Sequence[Guarantee], in_rows: bool
) -> Ints:
    """Join cells until every group keeps every promise, and return the group of each cell.

    The group that exceeds a promise most is joined first. Its partner is the group of least Ward's loss
    with which the union keeps all promises or, if there is none, of least loss per reduction of the
    excess. Promises that the sums cannot decide are checked exactly.

    Parameters
    ----------
    n : int array of shape (n_cells,)
        Number of records of each cell.
    means : float array of shape (n_cells, d)
        Means of each cell; cells with similar means are joined first.
    classes_of : callable
        Returns the classes that the promises check, given the group (0 .. g - 1) of every cell.
    promises : sequence of Guarantee
    in_rows : bool
        As `limits_of` takes it.

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
    sums, limits = limits_of(classes, promises, in_rows=in_rows)
    groups = JoinGroups.from_sums(n, means, sums, limits)
    while True:
        while join(groups, limits, SLICE):
            done(None)
        first, number = np.unique(groups.first(), return_inverse=True)
        number = number.reshape(-1).astype(np.int64)
        if groups.state[JOINED]:
            classes = classes_of(number)
        good = np.all([promise.holds_in(classes) for promise in promises], axis=0)
        if good.all():
            return number
        if len(first) == 1:
            broken = "; ".join(p.words() for p in promises if not p.holds_in(classes).all())
            raise InfeasibleError(f"all people together break a promise: {broken}", hint="ask for less")
        # The sums allow for rounding and leave some promises out: groups that the exact check
        # refuses are marked as the worst, and joined on.
        groups.excess[first[~good]] = np.maximum(groups.excess[first[~good]], 2.0)
        groups.heaped()
