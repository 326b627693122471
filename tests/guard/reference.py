"""Runs and draws by their definitions, with lists and loops."""

from __future__ import annotations

from collections.abc import Sequence
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
