"""Exact planning of one numeric attribute's released values: the corrected step 3 of Fu et al. (2010).

Thresholds cut the values of an attribute into cells, cells are cut into blocks, and each block is
released as one value between its smallest and its largest. The released values of the two blocks
around a threshold keep the sum of the two original values there, so the midpoint that a recipient
computes is the same double as the threshold. Each kept sum ties two blocks, so all blocks tied to a
root block depend on one unknown, `rho`, the released value of the root in units of 2**-shift. `form`
gives the sign and the offset of each of these blocks in r = sign * rho + offset, and `fixed` is 2 rho
if a cycle of sums leaves only one solution, else None. All arithmetic is on integers, blocks are
merged while a solution exists, and `rho` comes from a dyadic grid so that floats hold every value.

What the printed step 3 does, and what was corrected (docs/tpp.md, "Why the printed algorithm fails"):

- Its conditions 3(a) and 3(b) admit one value for a whole column, which removes the split. Here no
  block crosses a threshold, so values stay in strict order there.
- It moves the values of one node after the other, so the later of two nodes that share a boundary
  overwrites the earlier one. Here the sums of all nodes are solved together.
- It moves values in doubles, in which (v1 - d) + (v2 + d) need not be v1 + v2. Here sums are exact.
- It assigns no value that lies between a node's two boundaries but does not occur in the node. Here
  every value of the column belongs to a block.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from math import floor, frexp

import numpy as np

from ...kernels import Floats, Ints, Ints32


@dataclass(frozen=True)
class Boundary:
    """The ranks of the two neighbouring values in a node on either side of its threshold."""

    lo: int
    hi: int
    threshold: float
    # whether a value equal to the threshold goes left
    closed_left: bool = False


@dataclass(frozen=True)
class ColumnPlan:
    """The release of one predictor: the group of each rank, and the released value of each numeric group.

    The groups of numbers are blocks of neighbouring ranks. A column that no tree tests has the
    single group 0.
    """

    group: Ints32
    values: tuple[float, ...] = ()

    @property
    def n_groups(self) -> int:
        """Return the number of released values."""
        return int(self.group.max()) + 1


def plan_blocks(values: Floats, counts: Ints, boundaries: Collection[Boundary], bits: int = 53) -> ColumnPlan:
    """Plan the released values of a numeric attribute.

    Parameters
    ----------
    values : array of float64, shape (d,)
        Sorted distinct values of the table.
    counts : array of int64, shape (d,)
        Records per value.
    boundaries : collection of Boundary
        One per node, over all trees, that tests the attribute.
    bits : int
        Significant bits of a released value: 53 for float64, 24 for float32.

    Returns
    -------
    ColumnPlan
        Blocks in order with their exact values.
    """
    return _Planner(values, counts, boundaries, bits).plan()


class _Planner:
    """The search for one attribute's blocks and their values, in whole multiples of 2**-shift."""

    def __init__(self, values: Floats, counts: Ints, boundaries: Collection[Boundary], bits: int) -> None:
        self.values, self.n, self.bits = values, len(values), bits
        pairs = sorted({(b.lo, b.hi) for b in boundaries})
        self.pairs = pairs
        cuts = {(bisect_right if b.closed_left else bisect_left)(values, b.threshold) for b in boundaries}
        self.cells = [0, *sorted(cuts), self.n]
        self.marks = sorted({rank for pair in pairs for rank in pair})
        # the binary places that represent every value exactly
        denominators = (float(value).as_integer_ratio()[1] for value in values[self._needed()])
        self.shift = max(denominators, default=1).bit_length() - 1
        self.weight = np.concatenate([[0], np.cumsum(counts)])
        self.moment = np.concatenate([[0.0], np.cumsum(values * counts)])
        # Where a threshold had to be the upper value itself, the midpoint cannot move.
        off = [b for b in boundaries if (float(values[b.lo]) + float(values[b.hi])) / 2 != b.threshold]
        self.pinned = {rank for b in off for rank in (b.lo, b.hi)}

    def _needed(self) -> list[int]:
        """Return the ranks whose exact values the search may need: boundaries, and the ends of possible blocks."""
        near = set(self.marks)
        near |= {*self.cells, *(cell - 1 for cell in self.cells)}
        for a, b in itertools.pairwise(self.marks):
            middle = self._between(a, b)
            near |= {middle - 1, middle}
        return sorted(r for r in near if 0 <= r < self.n)

    def _between(self, a: int, b: int) -> int:
        """Return the rank at which to cut between boundary ranks a and b, so that each value joins the nearer one."""
        middle = float(self.values[a]) / 2 + float(self.values[b]) / 2
        return min(max(bisect_right(self.values, middle), a + 1), b)

    def exact(self, rank: int) -> int:
        """Return the value of a rank in units of 2**-shift."""
        numerator, denominator = float(self.values[rank]).as_integer_ratio()
        return numerator * ((1 << self.shift) // denominator)

    def plan(self) -> ColumnPlan:
        """Return one block per cell if that keeps every sum; otherwise merge smaller blocks while every sum is kept."""
        starts: list[int] = []
        spans: list[tuple[int, int]] = []
        for begin, end in itertools.pairwise(self.cells):
            inside = self.marks[bisect_left(self.marks, begin) : bisect_left(self.marks, end)]
            starts += [begin, *(self._between(a, b) for a, b in itertools.pairwise(inside))]
            spans.append((begin, end))
        best = self._solve(starts, fallback=True)
        assert best is not None
        # One block a cell hides most, and is nearly always feasible.
        whole_cells = [begin for begin, _ in spans]
        if (attempt := self._solve(whole_cells)) is not None:
            return self._planned(whole_cells, attempt)
        for begin, end in spans:
            inside = [s for s in starts if begin < s < end]
            # The whole cell first, then block by block.
            for dropped in [inside] * (len(inside) > 1) + [[s] for s in inside]:
                fewer = [s for s in starts if s not in dropped]
                if (attempt := self._solve(fewer) if len(fewer) < len(starts) else None) is not None:
                    starts, best = fewer, attempt
        return self._planned(starts, best)

    def _planned(self, starts: list[int], solved: list[int]) -> ColumnPlan:
        group = np.repeat(np.arange(len(starts), dtype=np.int32), np.diff([*starts, self.n]))
        return ColumnPlan(group, tuple(_ratio(r, self.shift) for r in solved))

    def _solve(self, starts: list[int], fallback: bool = False) -> list[int] | None:
        """Return the exact value of each block in units of 2**-shift, or None if no values preserve every sum."""
        ends = [*starts[1:], self.n]
        low = [self.exact(s) for s in starts]
        high = [self.exact(e - 1) for e in ends]
        for rank in self.pinned:
            j = bisect_right(starts, rank) - 1
            value = self.exact(rank)
            if not low[j] <= value <= high[j]:
                return None
            low[j] = high[j] = value
        weight = self.weight[ends] - self.weight[starts]
        mean = (self.moment[ends] - self.moment[starts]) / weight
        # The two blocks around a threshold keep the sum, so its midpoint stays where it was.
        links: dict[int, list[tuple[int, int]]] = {}
        for lo, hi in self.pairs:
            a, b = bisect_right(starts, lo) - 1, bisect_right(starts, hi) - 1
            total = self.exact(lo) + self.exact(hi)
            links.setdefault(a, []).append((b, total))
            links.setdefault(b, []).append((a, total))
        feasible = self.marks if fallback else []
        marks = {bisect_right(starts, rank) - 1: self.exact(rank) for rank in feasible}
        solved: list[int | None] = [None] * len(starts)
        for root in range(len(starts)):
            if solved[root] is not None:
                continue
            if (component := self._propagate(root, links)) is None:
                return None
            form, fixed = component
            if (rho := self._choose(form, fixed, low, high, mean, weight)) is None:
                if not fallback or root not in marks:
                    return None
                rho = marks[root]  # root has the form +rho, and its boundary value is feasible
            for j, (sign, offset) in form.items():
                solved[j] = sign * rho + offset
        return [r for r in solved if r is not None]

    def _propagate(
        self, root: int, links: dict[int, list[tuple[int, int]]]
    ) -> tuple[dict[int, tuple[int, int]], int | None] | None:
        """Return `form` and `fixed` for all blocks tied to `root`, or None if two sums contradict each other."""
        form = {root: (1, 0)}
        stack, fixed = [root], None
        while stack:
            a = stack.pop()
            sign, offset = form[a]
            for b, total in links.get(a, ()):
                other = (-sign, total - offset)
                if b not in form:
                    form[b] = other
                    stack.append(b)
                # Two paths lead to block b: they agree, contradict each other, or fix rho.
                elif form[b][0] == other[0]:
                    if form[b][1] != other[1]:
                        return None
                else:
                    # sign * rho + o1 = -sign * rho + o2
                    twice = form[b][0] * (other[1] - form[b][1])
                    if fixed is not None and fixed != twice:
                        return None
                    fixed = twice
        return form, fixed

    def _choose(
        self,
        form: dict[int, tuple[int, int]],
        fixed: int | None,
        low: list[int],
        high: list[int],
        mean: Floats,
        weight: Ints,
    ) -> int | None:
        """Return the rho nearest to the least-squares optimum on the coarsest dyadic grid that fits, or None."""
        ends = [sorted((sign * (low[j] - offset), sign * (high[j] - offset))) for j, (sign, offset) in form.items()]
        least, most = max(a for a, _ in ends), min(b for _, b in ends)
        if fixed is not None:
            if fixed % 2 or not least <= fixed // 2 <= most:
                return None
            least = most = fixed // 2
        if least > most:
            return None
        # The finest step of each block's values that its bits can hold, as a power of two.
        steps = [max(max(abs(low[j]), abs(high[j])).bit_length() - self.bits, 0) for j in form]
        optimum = sum(
            int(weight[j]) * sign * (float(mean[j]) - _ratio(offset, self.shift)) for j, (sign, offset) in form.items()
        ) / sum(int(weight[j]) for j in form)
        target = min(max(self._near(optimum), least), most)
        # 64 points of the coarsest grid lie between the bounds, so the nearest one loses little.
        coarse = max((most - least).bit_length() - 7, 0)
        for grid in range(coarse, -1, -1):
            if (rho := _on_grid(form, [max(grid, s) for s in steps], target, least, most)) is not None:
                return rho
        return None

    def _near(self, value: float) -> int:
        numerator, denominator = value.as_integer_ratio()
        return (numerator << self.shift) // denominator


def _on_grid(form: dict[int, tuple[int, int]], steps: list[int], target: int, least: int, most: int) -> int | None:
    """Return the rho in [least, most] nearest to `target` for which every r is a multiple of its 2**step, or None."""
    residue, modulus = 0, 0
    for (sign, offset), step in zip(form.values(), steps, strict=True):
        wanted = -sign * offset
        if step > modulus:
            if (wanted - residue) % (1 << modulus):
                return None
            residue, modulus = wanted % (1 << step), step
        elif (wanted - residue) % (1 << step):
            return None
    size = 1 << modulus
    below = target - (target - residue) % size
    options = [r for r in (below, below + size) if least <= r <= most]
    return min(options, key=lambda r: (abs(r - target), r)) if options else None


def _ratio(units: int, shift: int) -> float:
    """Return units / 2**shift as a float, exact if a float can hold it."""
    return units / (1 << shift)


def unused_value(values: Floats, counts: Ints, bits: int = 53) -> float:
    """Return the mean of an attribute that no tree tests, as a float of at most `bits` significant bits."""
    mean = float((values * counts).sum() / counts.sum())
    mean = min(max(mean, float(values[0])), float(values[-1]))
    if bits >= 53 or mean == 0:
        return mean
    exponent = frexp(mean)[1]
    return float(np.ldexp(floor(np.ldexp(mean, bits - exponent)), exponent - bits))
