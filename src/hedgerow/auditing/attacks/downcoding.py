"""Downcoding: the finer values behind coarsened cells, named from the release alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ...columns.column import Column
from ...measures import Floats, Ints, group
from ...progress import Tell, telling
from ..figure import Figure
from ..learners import quiet
from ..released_values import ReleasedColumn
from ..success import ATTACKS, AttackColumn, AttackData, Rates, attack_record, wilson
from ..table_pair import Pair, by_name, evenly, spread

# released classes that dependence is learnt from, spread evenly over their sorted cells
LEARNT_FROM = 20_000
# the factor on the weight of a finer value that the rule excludes
ODDS = 1e-9
# candidate weights for the evidence of the other columns; the release itself decides
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
# released rows on which that weight is chosen
TRIED = 2_000
_BLOCK = 64


def downcoding(
    pair: Pair, *, people: int = 500, random_state: int = 0, progress: Tell = telling(None)
) -> list[AttackData]:
    """Guess the finer value behind every coarsened cell of the attacked people, from the release alone.

    The intruder knows the values that a column may have, from a hierarchy or elsewhere, but not
    how frequent they are. Two intruders try:

    - ``rule``: asks why a cell was coarsened. If cells contain one another as in a hierarchy, a
      record is not in a finer released class, or it would have been released there. If ranges
      and sets overlap, they are the extents of their groups, and somebody has each end. Weights
      that a cell shows are taken as they are.
    - ``dependence``: uses the other columns, by the dependence that the release shows, and ends
      and weights. Half of the records are predicted from the other half to decide how much
      weight the other columns get. It does not ask why: if cells were hidden by chance, only
      this intruder is right.

    Numbers beyond 128 different values share 128 steps, and categories beyond as many the last
    one; a cell within one step is not coarsened.

    Parameters
    ----------
    pair : Pair
        The original and the release.
    people : int
        Number of people attacked, spread evenly over the sorted table.
    random_state : int
        Seed for the choice of people.

    Returns
    -------
    list of dict
        ``success`` is the share of coarsened cells whose finer value is guessed right.
        ``public_guess`` guesses the most frequent value that the cell allows, by frequencies estimated
        from the release, ``public_best`` by those of the original. ``control`` is the success of the
        same guesses if values were drawn within their cells from the original's totals,
        independently of the rest of the row. Intervals count a person's cells as one attempt. The
        list is empty if no cell is coarse.

    References
    ----------
    A. Cohen (2022), Attacks on Deidentification's Defenses. USENIX Security.
    """
    released = by_name(pair.released_quasi)
    columns = [FinerSteps.from_released(column) for column in released]
    sample = spread(pair.canonical, people, random_state)
    targets = [j for j, c in enumerate(columns) if released[j].general and c.coarse[c.codes[sample]].any()]
    if not targets:
        return []
    progress("downcoding: what the release tells of coarsened cells")
    labels, place = np.unique(pair.classes.labels[sample], return_inverse=True)
    with quiet():
        intruder = _Intruder(pair, released, columns)
        weights = intruder.cell_weights(labels.astype(np.int64), targets)
        narrowed = intruder.excluding(labels.astype(np.int64), weights)
        step_names: dict[str, dict[int, Ints]] = {
            "rule": {j: narrowed[j].argmax(axis=1)[place] for j in targets},
            "dependence": {j: intruder.named(j, sample, weights[j][place]) for j in targets},
        }
        if any((narrowed[j] != weights[j]).any() for j in targets):
            step_names["rule and dependence"] = {j: intruder.named(j, sample, narrowed[j][place]) for j in targets}
    return [intruder.record(learner, names, sample) for learner, names in step_names.items()]


class _Intruder:
    """An intruder who guesses finer values from the release alone.

    There are two sources of evidence: the rule by which the method coarsened a cell (`cell_weights`,
    `excluding`), and the dependence between columns (`named`).
    """

    def __init__(self, pair: Pair, released: Sequence[ReleasedColumn], columns: Sequence[FinerSteps]) -> None:
        self.released, self.columns, self.classes = released, columns, pair.classes
        self.public = [column.shares(np.arange(pair.n_rows)) for column in columns]
        self.nested = [nested(c) for c in released]
        self.cells = np.stack([c.codes[self.classes.first].astype(np.int64) for c in released])
        self._mass = [np.maximum(c.cover @ p, 1e-300) for c, p in zip(columns, self.public, strict=True)]
        self.evidence = [
            *(FinerSteps.from_released(column, FEW) for column in released),
            *(FinerSteps.from_column(column) for column in by_name(pair.released_sensitive)),
        ]
        rows = np.flatnonzero(np.isin(self.classes.labels, evenly(np.arange(self.classes.n_groups), LEARNT_FROM)))
        # sorted by content: the two halves must not depend on the order of rows
        self.rows = rows[np.lexsort([e.codes[rows] for e in self.evidence[::-1]])]

    def cell_weights(self, labels: Ints, targets: Sequence[int]) -> dict[int, Floats]:
        """Return each target column's step weights in the given classes, computed from the classes' own cells alone."""
        out = {j: self._within(j, self.cells[j, labels]) for j in targets}
        return {j: w if self.nested[j] else self._attained(j, labels, w) for j, w in out.items()}

    def excluding(self, labels: Ints, weights_shown: Mapping[int, Floats]) -> Mapping[int, Floats]:
        """Multiply step weights by the chance that a person is in no finer class, if all columns are nested."""
        if not all(self.nested):
            return weights_shown
        out = {j: weights.copy() for j, weights in weights_shown.items()}
        for begin in range(0, len(labels), _BLOCK):
            part = np.arange(begin, min(begin + _BLOCK, len(labels)))
            for i, finer in self._finer(labels[part]):
                for j in out:
                    out[j][part[i]] *= self._remaining(j, int(labels[part[i]]), finer)
        return out

    def _within(self, j: int, cells: Ints) -> Floats:
        """Return the step weights of each cell: those it states, or else the public shares of the steps it covers."""
        column, weights = self.columns[j], self.columns[j].cover[cells].toarray() * self.public[j]
        source = self.released[j]
        for i, cell in enumerate(cells):
            cell_weights = source.weights[cell]
            if not source.anything[cell] and len(cell_weights) > 1 and np.ptp(cell_weights) > 0:
                weights[i] = np.bincount(column.step[source.members[cell]], cell_weights, column.n_steps)
        return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))

    def _attained(self, j: int, labels: Ints, shares: Floats) -> Floats:
        """Return the expected records at each step: one per end or member of the cell, the rest split by `shares`."""
        column, source, out = self.columns[j], self.released[j], shares.copy()
        for i, label in enumerate(labels):
            cell, n = int(self.cells[j, label]), int(self.classes.sizes[label])
            if source.anything[cell] or not column.coarse[cell]:
                continue
            steps = column.cover.indices[column.cover.indptr[cell] : column.cover.indptr[cell + 1]]
            if source.is_number:
                values = steps[steps < column.n_steps - 1]
                steps = values[[0, -1]] if len(values) else values
            # each end or member of a cell is the value of at least one record; the other records follow the shares
            if len(steps) <= n:
                out[i] *= n - len(steps)
                out[i, steps] += 1
        return out

    def _finer(self, labels: Ints) -> list[tuple[int, Ints]]:
        """Return the released classes inside each of the given classes, as pairs of its position and their labels."""
        inside = np.ones((len(labels), self.classes.n_groups), np.bool_)
        # a class is no finer class of its own
        inside[np.arange(len(labels)), labels] = False
        for source, cells in zip(self.released, self.cells, strict=True):
            # many classes share a cell, so that each cell is compared once
            distinct, place = np.unique(cells[labels], return_inverse=True)
            inside &= _within_cells(source, distinct)[:, cells][place]
        return [(int(i), np.flatnonzero(inside[i])) for i in np.flatnonzero(inside.any(axis=1))]

    def _remaining(self, j: int, label: int, finer: Ints) -> Floats:
        """Return for each step the chance that a person of the class is in none of the finer classes."""
        share = np.ones(len(finer))
        # the other columns are taken as independent within the class
        for i, mass in enumerate(self._mass):
            if i != j:
                share *= np.minimum(mass[self.cells[i, finer]] / mass[self.cells[i, label]], 1.0)
        return np.maximum(1.0 - self.columns[j].cover[self.cells[j, finer]].T @ share, ODDS)

    def named(self, j: int, people: Ints, weights: Floats) -> Ints:
        """Return each person's likeliest step, from the `weights` of the person's cell and the other columns."""
        others = [i for i, e in enumerate(self.evidence) if i != j and len(np.unique(e.codes)) > 1]
        target, rows = self.columns[j], self.rows
        # learnt on one half, tried on the other: dependence that is noise gets no weight
        learnt, tried = rows[::2], evenly(rows[1::2], TRIED)
        if not others or not len(tried):
            return np.asarray(weights.argmax(axis=1))
        shares = target.shares(learnt)
        evidence = self._evidence(j, others, learnt, tried, shares)
        covered = target.cover[target.codes[tried]].toarray()
        likely = [_likelihood(covered, shares, evidence * w) for w in WEIGHTS]
        # equal up to rounding, the smallest weight wins: the first one, on every machine
        best = WEIGHTS[int(np.argmax(np.round(likely, 9)))]
        if best == 0:
            return np.asarray(weights.argmax(axis=1))
        log = self._evidence(j, others, rows, people, self.public[j]) * best
        # or the exponential would overflow
        log -= log.max(axis=1, keepdims=True)
        return np.asarray((weights * np.exp(log)).argmax(axis=1))

    def _evidence(self, j: int, others: Sequence[int], learnt: Ints, people: Ints, shares: Floats) -> Floats:
        """Return the log-likelihood ratio that the other columns' cells give each step; shape (n, n_steps)."""
        target, out = self.columns[j], np.zeros((len(people), self.columns[j].n_steps))
        for i in others:
            other = self.evidence[i]
            other_shares = other.shares(learnt)
            pairs = together(target, other, learnt, shares, other_shares)
            cells, place = np.unique(other.codes[people], return_inverse=True)
            covered = other.cover[cells]
            mass = np.maximum(covered @ other_shares, 1e-300)
            both = covered @ pairs.T
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = np.log(both / (mass[:, None] * shares[None, :]))
            # 0 / 0 is no evidence; an impossible step is excluded, but not beyond repair by other columns
            out += np.nan_to_num(gain, nan=0.0, neginf=-30.0, posinf=30.0)[place]
        return out

    def record(self, learner: str, names: Mapping[int, Ints], people: Ints) -> AttackData:
        """Return the attack as plain data, over all columns together and by column."""
        touched = np.zeros(len(people), np.bool_)
        by_column: dict[str, AttackColumn] = {}
        total, sums = 0, np.zeros(5)
        for j, named in names.items():
            column = self.columns[j]
            coarse = column.coarse[column.codes[people]]
            right, n = self._compared(j, people[coarse], named[coarse]), int(coarse.sum())
            touched |= coarse
            sums, total = sums + right, total + n
            success, control, guess, best, _ = (right / n).tolist()
            by_column[column.name] = {
                "cells": n,
                "success": success,
                "control": control,
                "public_guess": guess,
                "public_best": best,
            }
        # a person's cells count as one attempt: they are no independent evidence
        attempts = int(touched.sum())
        shares = [*(sums / total).tolist(), 1.0]
        rates = [wilson(min(share, 1.0) * attempts, attempts) for share in shares]
        record = attack_record(
            "downcoding",
            learner=learner,
            target="coarsened cells",
            means="the finer value behind the cell is named",
            rates=Rates(rates[0], rates[1], rates[-1]),
            public=shares[2],
            best=shares[3],
            random_row=shares[4],
        )
        return {**record, "cells": total, "columns": by_column}

    def _compared(self, j: int, people: Ints, named: Ints) -> Floats:
        """Count the cells that the attack, the control, both public guesses and a random draw get right; shape (5,)."""
        column, source = self.columns[j], self.released[j]
        cells, true_steps = column.codes[people], column.step[source.original.codes[people]]
        totals = np.bincount(column.step, source.whole.counts(), column.n_steps)
        distinct, place = np.unique(cells, return_inverse=True)
        covered = column.cover[distinct].toarray()
        chances = covered * totals
        chances /= np.maximum(chances.sum(axis=1, keepdims=True), 1e-300)
        guess, best = (covered * self.public[j]).argmax(axis=1)[place], chances.argmax(axis=1)[place]
        by_chance, by_draw = chances[place, named], chances[place, true_steps]
        right = [named == true_steps, by_chance, guess == true_steps, best == true_steps, by_draw]
        return np.array([fsum(each) for each in right])  # the same sum in any order


def _within_cells(column: ReleasedColumn, cells: Ints) -> npt.NDArray[np.bool_]:
    """Return, for each of n given cells, which of the column's cells lie inside it; bool, shape (n, n_cells)."""
    anything, missing = column.anything, column.missing
    if column.is_number:
        empty = np.isnan(column.lo) & ~anything
        lo = np.where(empty, np.inf, column.lo)
        hi = np.where(empty, -np.inf, column.hi)
        inside = (lo >= lo[cells, None]) & (hi <= hi[cells, None])
    else:
        of_cell, categories = column.categories
        shape = column.n_cells, column.original.n_values
        member = csr_array((np.ones(len(categories), np.int64), (of_cell, categories)), shape=shape)
        inside = (member[cells] @ member.T).toarray() == member.sum(axis=1)
    inside &= ~missing | missing[cells, None]
    inside &= ~anything
    return np.asarray(inside | anything[cells, None])


def _likelihood(covered: Floats, shares: Floats, log: Floats) -> float:
    """Return the mean log-likelihood of released cells, given step shares weighted by the evidence."""
    weight = shares * np.exp(log - log.max(axis=1, keepdims=True))
    inside = (covered * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-300)
    return float(np.log(np.maximum(inside, 1e-300)).mean())


# most steps of a column: numbers beyond that share steps, rarer categories share one
STEPS = 128
# the same for a column that is used as evidence on another one
FEW = 32
# EM rounds for one column; two columns together take a quarter of them
ROUNDS = 60


@dataclass(frozen=True, eq=False)
class FinerSteps:
    """The steps (finer values) of one column, and the steps that each of its cells can stand for.

    Parameters
    ----------
    name : str
    codes : integer array, shape (n_rows,)
        Cell of each row.
    step : int array, shape (n_values + 1,)
        The step of each original value, the last one missing.
    size : float array, shape (n_steps,)
        Number of values in each step.
    cover : sparse float array, shape (n_cells, n_steps)
        The share of a step's values that a cell may stand for.
    """

    name: str
    codes: npt.NDArray[Any]
    step: Ints
    size: Floats
    cover: csr_array

    @classmethod
    def from_released(cls, column: ReleasedColumn, most: int = STEPS) -> FinerSteps:
        """Build from a released quasi-identifier."""
        step = _steps(column.original, most)
        size = np.bincount(step).astype(np.float64)
        covered = _covered(column, step, len(size))
        return cls(column.name, column.codes, step, size, covered.multiply(1 / np.maximum(size, 1)).tocsr())

    @classmethod
    def from_column(cls, column: Column, most: int = FEW) -> FinerSteps:
        """Build from a column whose values are released unchanged."""
        step = _steps(column, most)
        size = np.bincount(step).astype(np.float64)
        return cls(column.name, step[column.codes], step, size, csr_array(np.eye(len(size))))

    @property
    def n_steps(self) -> int:
        """Return the number of steps, including the one for missing values."""
        return len(self.size)

    @cached_property
    def coarse(self) -> npt.NDArray[np.bool_]:
        """Return whether each cell may stand for more than one step; shape (n_cells,)."""
        return np.diff(self.cover.indptr) > 1

    def shares(self, rows: Ints) -> Floats:
        """Estimate the share of each step among the given rows from their cells, by EM; shape (n_steps,).

        The shares make the released cells likeliest; each round divides every cell among its
        steps in proportion to the shares so far. One extra record, spread over all values,
        keeps a step that no cell shows alone from a share of 0.
        """
        counts = np.bincount(self.codes[rows], minlength=self.cover.shape[0]).astype(np.float64)
        present = np.flatnonzero(counts)
        covered, counts = self.cover[present], counts[present]
        estimate = anywhere = self.size / self.size.sum()
        for _ in range(ROUNDS):
            # EM: each cell is dealt to its steps by the shares so far
            estimate = estimate * (covered.T @ (counts / np.maximum(covered @ estimate, 1e-300))) + anywhere
            estimate /= estimate.sum()
        return np.asarray(estimate)


def together(one: FinerSteps, other: FinerSteps, rows: Ints, alone: Floats, other_alone: Floats) -> Floats:
    """Estimate the joint distribution of two columns' steps from the cells of the given rows.

    Parameters
    ----------
    one, other : FinerSteps
    rows : int array
    alone, other_alone : float arrays
        The result of `shares` for each; the estimate starts from, and is shrunk towards, their product.

    Returns
    -------
    float array, shape (one.n_steps, other.n_steps)
    """
    pairs = group([one.codes[rows], other.codes[rows]])
    first = rows[pairs.first]
    mine, place = np.unique(one.codes[first], return_inverse=True)
    theirs, beside_place = np.unique(other.codes[first], return_inverse=True)
    covered, other_covered = one.cover[mine], other.cover[theirs]
    weight = pairs.sizes.astype(np.float64)
    shape = (len(mine), len(theirs))
    independent = np.outer(alone, other_alone)
    # few rows prove no dependence: as many as there are steps are taken as independent
    lean = other.n_steps / (len(rows) + other.n_steps)
    joint, other_dense = independent, other_covered.toarray()
    for _ in range(ROUNDS // 4):
        expected = covered @ joint
        likely = np.einsum("pj,pj->p", expected[place], other_dense[beside_place])
        each = csr_array((weight / np.maximum(likely, 1e-300), (place, beside_place)), shape)
        joint = joint * (covered.T @ (each @ other_dense))
        joint /= max(joint.sum(), 1e-300)
        joint = (1 - lean) * joint + lean * independent
    return np.asarray(joint)


def nested(column: ReleasedColumn) -> bool:
    """Return whether a column's cells form a hierarchy: any two are disjoint, or one contains the other."""
    if column.is_number:
        wide = np.isfinite(column.lo) & ~column.anything
        lo, hi = column.lo[wide], column.hi[wide]
        open_ends: list[float] = []
        # ascending, the wider first: the stack holds the ranges that are still open
        for i in np.lexsort((-hi, lo)):
            while open_ends and open_ends[-1] < lo[i]:
                open_ends.pop()
            if open_ends and open_ends[-1] < hi[i]:
                return False
            open_ends.append(float(hi[i]))
        return True
    around = np.full(column.original.n_values, -1)
    sets = [(len(m), i) for i, m in enumerate(column.members) if not column.anything[i]]
    # the largest first: all members of a smaller one must lie in the same larger one
    for _, i in sorted(sets, key=lambda s: (-s[0], s[1])):
        members = column.members[i]
        if len(members) and (around[members] != around[members[0]]).any():
            return False
        around[members] = i
    return True


def _steps(column: Column, most: int) -> Ints:
    """Return the step of each code: at most `most` steps, and one more for missing values."""
    m = column.n_values
    step = np.arange(m)
    if m > most:
        step = np.arange(m) * most // m
        if not column.is_number:
            # the most frequent categories keep a step of their own, the rest shares the last one
            order = np.lexsort((np.arange(m), -column.counts()[:m]))
            step = np.full(m, most - 1)
            step[order[: most - 1]] = np.arange(most - 1)
    return np.append(step, min(m, most)).astype(np.int64)


def _covered(column: ReleasedColumn, step: Ints, n_steps: int) -> csr_array:
    """Count the values of each step that each cell can stand for; sparse, shape (n_cells, n_steps)."""
    original, m = column.original, column.original.n_values
    missing = np.flatnonzero((column.missing | column.anything) & original.has_missing)
    if column.is_number:
        lo = np.where(column.anything, -np.inf, column.lo)
        hi = np.where(column.anything, np.inf, column.hi)
        values = np.asarray(original.values, np.float64)
        begin, end = np.searchsorted(values, lo, "left"), np.searchsorted(values, hi, "right")
        # values between those of the original stand for the next one
        end = np.where(np.isnan(lo), begin, np.maximum(end, np.minimum(begin + 1, m)))
        begin = np.minimum(begin, np.maximum(end - 1, 0))
        bounds = np.searchsorted(step[:m], np.arange(n_steps))
        upto = np.append(bounds[1:], m)
        first = step[np.minimum(begin, max(m - 1, 0))]
        last = step[np.minimum(np.maximum(end - 1, 0), max(m - 1, 0))]
        wide = np.where(end > begin, last - first + 1, 0)
        cells = np.repeat(np.arange(column.n_cells), wide)
        at = np.arange(wide.sum()) - np.repeat(np.cumsum(wide) - wide, wide) + first[cells]
        amount = np.minimum(end[cells], upto[at]) - np.maximum(begin[cells], bounds[at])
    else:
        cells, members = column.categories
        at, amount = step[members], np.ones(len(members))
    cells = np.concatenate([cells, missing])
    at = np.concatenate([at, np.full(len(missing), step[m])])
    amount = np.concatenate([amount, np.ones(len(missing))]).astype(np.float64)
    covered = csr_array((amount, (cells, at)), shape=(column.n_cells, n_steps))
    covered.sum_duplicates()
    covered.sort_indices()
    return covered


FIGURES = (Figure(ATTACKS, lambda t: downcoding(t.sides, **t.attack_options), needs=("own rows", "attacks")),)
