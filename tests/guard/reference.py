"""Runs and draws by their definitions, with lists and loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

Members = list[tuple[float, int]]


def runs(records: Sequence[tuple[float, int]], least: int) -> list[Members]:
    """Return the records (value, person) of each run, ascending."""
    by_value: dict[float, set[int]] = {}
    for value, person in records:
        by_value.setdefault(value, set()).add(person)
    closed: list[list[float]] = []
    over: list[float] = []
    waiting: list[float] = []
    for value in sorted(by_value):
        if len(by_value[value]) >= least:
            over += waiting
            waiting = []
            closed.append([value])
            continue
        waiting.append(value)
        if len(set().union(*(by_value[v] for v in waiting))) >= least:
            closed.append(waiting)
            waiting = []
    over += waiting
    if not closed:
        return []
    before = [list(run) for run in closed]
    for value in over:
        below = [i for i, run in enumerate(before) if run[0] < value]
        above = [i for i, run in enumerate(before) if run[0] > value]
        if not below or (above and value - before[below[-1]][-1] > before[above[0]][0] - value):
            closed[above[0]].append(value)
        else:
            closed[below[-1]].append(value)
    return [sorted(r for r in records if r[0] in run) for run in closed]


def heap(run: Members, least: int) -> float | None:
    """Return the value of a run that enough people share by itself."""
    for value in {v for v, _ in run}:
        if len({p for v, p in run if v == value}) >= least:
            return value
    return None


def shares_drawn(weights: Sequence[Fraction], size: int, uniform: Fraction) -> list[int]:
    """Return the item in which each of `size` evenly spaced places lies, for items of these weights."""
    total, drawn = sum(weights), []
    for i in range(size):
        place, reached = (uniform + i) / size * total, Fraction(0)
        code = -1
        while code < len(weights) - 1 and (code < 0 or place >= reached):
            code += 1
            reached += weights[code]
        drawn.append(code)
    return drawn


def swapped_towards(
    sizes: Sequence[int], units: Sequence[int], features: Sequence[Sequence[int]],
    wanted: Mapping[tuple[int, int], tuple[int, int]], turns: int, moves: Sequence[Sequence[int]],
    classes: Sequence[Sequence[int]],
) -> list[list[int]]:  # fmt: skip
    """Return each feature in each row after every swap that lowers the loss was made, row by row.

    A move swaps the values of some units at once, between rows of one class.
    """
    rows = [list(feature) for feature in features]

    def left() -> list[int]:
        sums = {(f, g): sum(x * y for x, y in zip(rows[f], rows[g], strict=True)) for f, g in wanted}
        return [max(abs(sums[pair] - want) - slack, 0) for pair, (want, slack) in wanted.items()]

    def swap(unit: int, a: int, b: int) -> None:
        for row in (row for row, u in zip(rows, units, strict=True) if u == unit):
            row[a], row[b] = row[b], row[a]

    for turn in range(1, turns + 1):
        begin = 0
        for size in sizes:
            for i in range(size if turn < size else 0):
                a, b = begin + i, begin + (i + turn) % size
                for move in moves:
                    if not all(may_swap(classes, unit, a, b) for unit in move):
                        continue
                    before = sum(each**2 for each in left())
                    for unit in move:
                        swap(unit, a, b)
                    if sum(each**2 for each in left()) >= before:
                        for unit in move:
                            swap(unit, a, b)
            begin += size
    return rows


def may_swap(classes: Sequence[Sequence[int]], unit: int, a: int, b: int) -> bool:
    """Return whether two rows may swap their values of a unit; all may if there are no classes."""
    return not classes or classes[unit][a] == classes[unit][b] != 255


def swapped_impossible(
    sizes: Sequence[int], units: Sequence[int], bins: Sequence[Sequence[int]],
    impossible: Mapping[tuple[int, int], set[tuple[int, int]]], looked: int, classes: Sequence[Sequence[int]],
) -> list[list[int]]:  # fmt: skip
    """Return the item whose values of each unit stand in each row after swaps that make fewer pairs impossible."""
    place = [list(range(len(bins[0]))) for _ in set(units)]

    def faults(unit: int, *rows: int) -> int:
        at = [[column[place[u][row]] for column, u in zip(bins, units, strict=True)] for row in rows]
        pairs = [pair for pair in impossible if unit in (units[pair[0]], units[pair[1]])]
        return sum((row[c], row[d]) in impossible[c, d] for row in at for c, d in pairs)

    def swap(unit: int, a: int, b: int) -> None:
        place[unit][a], place[unit][b] = place[unit][b], place[unit][a]

    begin = 0
    for size in sizes:
        for turn in range(16):
            n_faulty = n_better = 0
            for i in range(size):
                row = begin + i
                n_faulty += any(faults(unit, row) for unit in range(len(place)))
                for unit in range(len(place)):
                    even = None
                    skipped = turn * looked if size > looked else 0
                    for step in range(1, min(size, looked) if faults(unit, row) else 0):
                        other = begin + (i + skipped + step) % size
                        if not may_swap(classes, unit, row, other):
                            continue
                        before = faults(unit, row, other)
                        swap(unit, row, other)
                        after = faults(unit, row, other)
                        if after < before:
                            n_better, even = n_better + 1, None
                            break
                        swap(unit, row, other)
                        if after == before and (even is None or (i + step) % 7 == turn):
                            even = other
                    if even is not None and turn < 12:
                        swap(unit, row, even)
            if not n_faulty or (not n_better and turn >= 12):
                break
        begin += size
    return place
