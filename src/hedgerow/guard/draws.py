"""Draw the columns of a guarded release from its plan: evenly inside each group, then in a new order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..backends.randomize import words_of
from ..kernels.even_draws import draw_by_moments, draw_by_shares, order_within
from ..key import Key
from ..measures import Floats, Ints
from ..plan import Guard, GuardedColumn
from ..plan.records import AGAIN
from .moments import SCALE, tilted

# people of the whole table who are added to the shares of each group
SMOOTHED = 5
# runs on either side of a value from whose people its companion comes
NEAR = 2
# times as many people as share a released value, from which on a value's companions come from its own people
PLENTY = 5

# by column that follows another: the pairs of their codes, one of each record, sorted
Joints = Mapping[str, tuple[Ints, Ints]]


def uniforms(words: NDArray[np.uint64]) -> Floats:
    """Convert 64-bit words to numbers in [0, 1)."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


class Draws:
    """The draws of a guard under one key: the same plan and key give the same items.

    An *item* is a record of the release; the items of a group are neighbours, in the order of the groups,
    and those of a cell are neighbours inside their group.
    """

    def __init__(self, guard: Guard, key: Key, joints: Joints) -> None:
        self._guard, self._key, self._joints = guard, key, joints
        self.sizes = np.asarray(guard.sizes, np.int64)
        self.starts = np.append(0, np.cumsum(self.sizes))
        self._sizes = {"sensitive": self.sizes, "quasi": np.asarray(guard.cells, np.int64)}
        self._samplers: dict[str, _ByMoments | _ByShares] = {
            c.name: _ByMoments(c, self._sizes[c.role]) if c.by_moments else _ByShares(c)
            for c in guard.columns
            if not c.follows
        }

    def items(self, role: str, groups: Ints, again: Ints) -> dict[str, Ints]:
        """Return the codes of the items of some groups; those of a column that follows no other ascend.

        Parameters
        ----------
        role : {"quasi", "sensitive"}
            Of the columns; for "quasi" the groups are cells.
        groups : int64 array
        again : int64 array of shape (n_groups,)
            How often each group was drawn before.
        """
        items_of: dict[str, Ints] = {}
        every = self._sizes[role]
        sizes = every[groups]
        turn = again[groups] * len(every) + groups
        item = _ranges((np.cumsum(every) - every)[groups], sizes)
        item += np.repeat(again[groups], sizes) * int(self.starts[-1])
        # caps are on what groups tell of sensitive columns: cells are never drawn again
        towards = np.minimum(again[groups] / AGAIN, 1.0)
        for column in (c for c in self._guard.columns if c.role == role):
            if column.follows:
                words = words_of(item.astype(np.uint64), self._key, f"guard donor {column.name}")
                items_of[column.name] = self._followed(column, items_of[column.follows], uniforms(words))
                continue
            words = words_of(turn.astype(np.uint64), self._key, f"guard draw {column.name}")
            out = np.empty(int(sizes.sum()), np.int64)
            self._samplers[column.name].fill(groups, sizes, uniforms(words), towards, out)
            items_of[column.name] = out
        return items_of

    def _followed(self, column: GuardedColumn, before: Ints, uniform: Floats) -> Ints:
        """Return the code that somebody with nearly the same code of the column before has."""
        first, second = self._joints[column.name]
        leader = next(c for c in self._guard.columns if c.name == column.follows)
        last = leader.n_values - 1
        has_value = before <= last
        # what many people share, such as no visits, has donors of its own
        alone = np.append(np.asarray(leader.people)[: last + 1] >= PLENTY * self._guard.people, True)[before]
        near = np.where(alone | (leader.kind not in ("numeric", "date")), 0, NEAR)
        low = np.where(has_value, np.maximum(before - near, 0), before)
        high = np.where(has_value, np.minimum(before + near, last), before)
        begin = np.searchsorted(first, low)
        n = np.searchsorted(first, high, side="right") - begin
        # no value, where one person has none, would tell that person's own: then anybody is a donor
        few = n < self._guard.people
        begin, n = np.where(few, 0, begin), np.where(few, len(first), n)
        return second[begin + np.minimum((uniform * n).astype(np.int64), n - 1)]

    def reordered(self, items: Mapping[str, Ints]) -> dict[str, Ints]:
        """Put the items of each column into a random order inside groups, with the table's rank correlations.

        Columns that follow another move with it (Iman and Conover 1982). Quasi-identifiers stay in their
        cells, and cells differ; so later columns go by the ranks that their items really have in the group.
        """
        heads = [c for c in self._guard.columns if not c.follows]
        lower, at = cholesky(self._guard.correlation, len(heads)), np.arange(self.starts[-1], dtype=np.uint64)
        normal = [ndtri(uniforms(words_of(at, self._key, f"guard order {c.name}")) + 2.0**-54) for c in heads]
        place: dict[str, Ints] = {}
        first, size = (np.repeat(x, self.sizes) for x in (self.starts[:-1], self.sizes))
        for i, column in enumerate(heads):
            before = np.zeros(len(at))
            for j in range(i):
                before += lower[i, j] * normal[j]
            scores = before + lower[i, i] * normal[i]
            place[column.name] = np.empty(len(at), np.int64)
            order_within(self._sizes[column.role], scores, place[column.name])
            if column.role == "quasi":
                # by code, and by score among equal ones: two passes inside groups are faster than one sort of all
                rank = np.empty(len(at), np.int64)
                order_within(self.sizes, scores, rank)
                key = items[column.name][place[column.name]] * size + (rank - first)
                order_within(self.sizes, key.astype(np.float64), rank)
                normal[i] = (ndtri((rank - first + 0.5) / size) - before) / lower[i, i]
        moved = {}
        for column in self._guard.columns:
            # a column that follows has the order of the first of its bundle
            place[column.name] = place[column.follows or column.name]
            moved[column.name] = items[column.name][place[column.name]]
        return moved


def cholesky(correlation: Iterable[int], n: int) -> Floats:
    """Return the lower factor of a correlation matrix, given the hundredths of its lower triangle."""
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = np.array(list(correlation), np.float64) / 100
    matrix += np.tril(matrix, -1).T
    # rounded correlations may be those of no columns
    values, vectors = np.linalg.eigh(matrix)
    matrix = (vectors * np.maximum(values, 1e-3)) @ vectors.T
    scale = np.sqrt(np.diag(matrix))
    return np.asarray(np.linalg.cholesky(matrix / np.outer(scale, scale)), np.float64)


def _ranges(starts: Ints, sizes: Ints) -> Ints:
    """Return the numbers starts[i] .. starts[i] + sizes[i] - 1 for each i, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(sizes.sum())) + np.repeat(starts - ends + sizes, sizes)


class _ByMoments:
    """A column of numbers whose groups have the table's runs, tilted to their mean and spread."""

    def __init__(self, column: GuardedColumn, sizes: Ints) -> None:
        scores, people = np.asarray(column.scores), np.asarray(column.people, np.float64)
        levels, first = np.unique(scores, return_index=True)
        chances = tilted(levels / SCALE, np.asarray(column.weights), np.asarray(column.tilts).reshape(-1, 2))
        self._reached = np.cumsum(chances, axis=1)
        self._first = np.append(first, len(scores))
        self._people = np.append(0.0, np.cumsum(people[: len(scores)]))
        self._pair, self._whole = np.asarray(column.pair, np.int64), column.whole
        self._missing = np.zeros(len(sizes))
        self._public = float(people[-1] / people.sum()) if column.has_missing else 0.0
        if column.has_missing:
            absent = np.asarray(column.missing) + column.smoothed * self._public
            self._missing = absent / (sizes + column.smoothed)

    def fill(self, groups: Ints, sizes: Ints, uniform: Floats, towards: Floats, out: Ints) -> None:
        """Write the codes of the items of some groups; `towards` is the part drawn from the whole table."""
        missing = self._missing[groups] * (1 - towards) + self._public * towards
        draw_by_moments(
            sizes, uniform, towards, missing, self._pair[groups], self._whole,
            (self._reached, self._first, self._people), out,
        )  # fmt: skip


class _ByShares:
    """A column whose groups have their own shares of its values, smoothed by the table's."""

    def __init__(self, column: GuardedColumn) -> None:
        people = np.asarray(column.people, np.float64)
        self._public, self._smoothed = people / max(people.sum(), 1.0), float(column.smoothed)
        self._starts, self._codes, self._counts = (
            np.asarray(part, np.int64) for part in (column.starts, column.codes, column.counts)
        )

    def fill(self, groups: Ints, sizes: Ints, uniform: Floats, towards: Floats, out: Ints) -> None:
        """Write the codes of the items of some groups; `towards` is the part drawn from the whole table."""
        begin = self._starts[groups]
        n = self._starts[groups + 1] - begin
        at = _ranges(begin, n)
        draw_by_shares(
            sizes, uniform, towards, (np.append(0, np.cumsum(n)), self._codes[at], self._counts[at]),
            self._public, self._smoothed, out,
        )  # fmt: skip
