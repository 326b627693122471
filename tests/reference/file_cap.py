"""Swaps below a cap on the file by their definition, with lists and loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Caps:
    """As `hedgerow.kernels.even_draws.Caps`, of lists."""

    cells: list[list[int]]
    column: list[int]
    is_ordered: list[bool]
    spare: list[list[int]]
    off: list[list[int]]
    weight: list[int]
    sizes: list[int]
    leave: list[int]

    def changed(self, cell: int, column: int, old: int, new: int) -> list[int]:
        """Return what a combination's levels are off if a row of one level becomes one of another."""
        off = list(self.off[cell])
        for level in range(len(off)):
            if self.is_ordered[column]:
                off[level] += 64 * ((new <= level) - (old <= level))
            else:
                off[level] += 64 * ((new == level) - (old == level))
        return off

    def gain(self, cell: int, column: int, old: int, new: int) -> int:
        """Return by how much the loss of a combination rises."""
        squares = sum(x * x for x in self.changed(cell, column, old, new)) - sum(x * x for x in self.off[cell])
        spare = self.spare[column][new] - self.spare[column][old]
        return self.weight[cell] * (16 * squares // self.sizes[cell] - spare)


def exchanged(caps: Caps, levels: Sequence[Sequence[int]], a: int, b: int) -> list[tuple[int, int, int, int, bool]]:
    """Return the combinations that change if two rows swap: number, column, level before and after, and whose."""
    moves = []
    for part, column in enumerate(caps.column):
        here, there = caps.cells[a][part], caps.cells[b][part]
        old, new = levels[column][a], levels[column][b]
        if old != new and here != there:
            moves += [(here, column, old, new, True)] if here >= 0 else []
            moves += [(there, column, new, old, False)] if there >= 0 else []
    return moves


def swapped_below_caps(
    visits: Sequence[Sequence[int]], place: list[int], levels: list[list[int]], caps: Caps, looked: int
) -> int:
    """Swap as `hedgerow.kernels.even_draws.swap_below_caps` does, and return how often."""
    swaps = 0
    for row, first, n, start in visits:
        rights = [caps.leave[cell] for cell in caps.cells[row] if cell >= 0]
        if not any(right > 0 for right in rights) or any(right < 0 for right in rights):
            continue
        best, other = 0, row
        for step in range(min(n, looked)):
            near = first + (start + step) % n
            change = sum(caps.gain(*move[:4]) for move in exchanged(caps, levels, row, near))
            if change < best:
                best, other = change, near
        if best < 0:
            for cell, column, old, new, is_row in exchanged(caps, levels, row, other):
                caps.off[cell] = caps.changed(cell, column, old, new)
                if is_row and caps.leave[cell] > 0:
                    caps.leave[cell] = caps.leave[cell] - 1 or -1
            place[row], place[other] = place[other], place[row]
            for level in levels:
                level[row], level[other] = level[other], level[row]
            swaps += 1
    return swaps
