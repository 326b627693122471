"""Check a written guarded release against its original from the definitions, with pandas and numpy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

SLACK = 1e-9


def runs(values: pd.Series, people: int, whole: bool) -> list[tuple[float, float, float | None]]:
    """Return the least and largest value of each run, and the value that enough people of it share."""
    counts = values.dropna().value_counts().sort_index()
    closed: list[list[float]] = []
    waiting: list[float] = []
    over: list[float] = []
    n = 0
    for value, count in counts.items():
        if count >= people:
            over += waiting
            closed.append([value])
            waiting, n = [], 0
            continue
        waiting.append(value)
        n += count
        if n >= people:
            closed.append(waiting)
            waiting, n = [], 0
    over += waiting
    ends = [(run[0], run[-1]) for run in closed]
    shared = [run[0] if counts[run[0]] >= people else None for run in closed]
    for value in over:
        gaps = [max(low - value, value - high) for low, high in ends]
        # of two that are as near, the lower
        closed[int(np.argmin(gaps))].append(value) if gaps else None
    return [(min(run), max(run), value) for run, value in zip(closed, shared, strict=True)]


def wrong_numbers(before: pd.Series, told: np.ndarray[Any, Any], pieces: Any, people: int) -> list[str]:
    """Return what is wrong with drawn numbers, given where the pieces of the sorted originals begin and their ends."""
    values = np.sort(before.dropna().to_numpy(float))
    begins, ends = list(pieces[0]), np.reshape(pieces[1], (-1, 2))
    if not len(told):
        return []
    if begins != sorted(set(begins)) or begins[0] != 0 or begins[-1] >= len(values):
        return ["pieces of no people"]
    # what the numbers of all but few are multiples of; the key says how few, fewer than twice `people`
    steps = [float(f"1e{p}") for p in range(12, -7, -1)]
    finer = [np.sum(np.abs(values / step - np.rint(values / step)) > 1e-9 * np.abs(values / step)) for step in steps]
    unit = next((step for step, n in zip(steps, finer, strict=True) if n < 2 * people), 0.0)
    wrong = []
    for a, b, (low, high) in zip(begins, [*begins[1:], len(values)], ends, strict=True):
        if b - a < people:
            wrong.append("a piece of few")
        below, above = values[a - 1] if a else values[0], values[b] if b < len(values) else values[-1]
        if not below - unit <= low <= high <= above + unit:
            wrong.append("a piece whose numbers are others'")
    # a piece may have no multiple of the unit inside
    reach = np.where(ends[:, 0] < ends[:, 1], unit, 0.0) + 1e-12 * np.abs(ends).max()
    if not ((ends[:, 0] - reach <= told[:, None]) & (ends[:, 1] + reach >= told[:, None])).any(axis=1).all():
        wrong.append("a value of no piece")
    distinct, counts = np.unique(values, return_counts=True)
    for i in np.flatnonzero(counts >= 2 * people):
        first, stop = int(counts[:i].sum()), int(counts[: i + 1].sum())
        piece = int(np.searchsorted(begins, first, side="right")) - 1
        if [*begins, len(values)][piece + 1] < stop or (ends[piece] != distinct[i]).any():
            wrong.append("a shared value that is not told")
        # unless somebody who was left over joined it, nothing lies between it and its neighbours
        if {first, stop} <= {*begins, len(values)}:
            low, high = distinct[max(i - 1, 0)], distinct[min(i + 1, len(distinct) - 1)]
            if ((told > low) & (told < high) & (told != distinct[i])).any():
                wrong.append("a value next to one that many share")
    return wrong


def cuts(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the cut points of a number: sixteenths, and around values that more than a sixteenth has."""
    ordered = np.sort(values)
    n = len(ordered)
    points = {ordered[-(-b * n // 16) - 1] for b in range(1, 16)}
    distinct, counts = np.unique(ordered, return_counts=True)
    for i in np.flatnonzero(counts * 16 > n):
        points.add(distinct[i])
        if i:
            points.add(distinct[i - 1])
    return np.array(sorted(p for p in points if p < distinct[-1]))


def disclosure(group: np.ndarray[Any, Any], values: pd.Series, is_number: bool) -> float:
    """Return the largest disclosure of any group by any proper score, "missing or not" included."""
    known = values.notna().to_numpy()
    tables = [known[:, None].astype(float)] if not known.all() else []
    which = [np.ones(len(values), bool)] * len(tables)
    here = values[known]
    if is_number and len(here):
        y = here.to_numpy(float)
        events = (y[:, None] <= cuts(y)[None, :]).astype(float)
        cell = (y[:, None] > cuts(y)[None, :]).sum(axis=1)
        scale = np.abs(y).max() or 1.0
        tables += [y[:, None] / scale, events, np.eye(cell.max() + 1)[cell]]
    elif len(here):
        tables.append(pd.get_dummies(here).to_numpy(float))
    which += [known] * (len(tables) - len(which))
    worst = 0.0
    for table, rows in zip(tables, which, strict=True):
        if not table.shape[1]:
            continue
        labels = np.unique(group[rows], return_inverse=True)[1]
        n = np.bincount(labels)
        public = table.mean(axis=0)
        loss = ((table - public) ** 2).sum(axis=1)
        means = np.stack([np.bincount(labels, column) for column in table.T], axis=1) / n[:, None]
        gain = n * ((means - public) ** 2).sum(axis=1)
        against = np.bincount(labels, np.maximum(loss, loss.mean() / 4))
        told = np.divide(gain, against, out=np.zeros(len(n)), where=against > 0)
        worst = max(worst, float(told.max()))
    return worst


def faults(
    original: pd.DataFrame, released: pd.DataFrame, group: np.ndarray[Any, Any], origin: np.ndarray[Any, Any],
    *, quasi: list[str], sensitive: list[str], k: int, people: int, cap: float | None, rows: bool, pieces: Any = None,
) -> list[str]:  # fmt: skip
    """Return what is wrong with a written release.

    Parameters
    ----------
    original, released : data frames
    group : int array
        The group of each released row.
    origin : int array
        The row of the original behind each released one.
    quasi, sensitive : names of columns
    k, people : int
        Fewest people of a group, and of a run.
    cap : float, optional
        Largest disclosure.
    rows : bool
        Whether quasi-identifiers were drawn as well.
    pieces : mapping of str to pair of sequences, optional
        Where pieces begin and their ends, of the numbers that were drawn.
    """
    wrong = []
    if len(original) != len(released) or not np.array_equal(np.sort(origin), np.arange(len(original))):
        wrong.append("rows")
    if np.bincount(group).min() < k:
        wrong.append("a group of fewer than k")
    if not rows:
        cells = released[quasi].fillna("?").astype(str).agg("|".join, axis=1)
        if pd.crosstab(cells, group).gt(0).sum().max() > 1:
            wrong.append("a group of two cells")
    for name in [*(quasi if rows else []), *sensitive]:
        before, after = original[name], released[name]
        is_number = pd.api.types.is_numeric_dtype(before)
        if is_number:
            whole = bool((before.dropna() % 1 == 0).all())
            wanted = runs(before, people, whole)
            told = np.sort(after.dropna().unique().astype(float))
            if whole and (told % 1 != 0).any():
                wrong.append(f"{name}: a broken number")
            if pieces and name in pieces:
                wrong += [f"{name}: {fault}" for fault in wrong_numbers(before, told, pieces[name], people)]
                wanted = told = ()
            at = [[i for i, (low, high, _) in enumerate(wanted) if low <= value <= high] for value in told]
            if any(len(found) != 1 for found in at) or len({found[0] for found in at}) != len(told):
                wrong.append(f"{name}: a value of no run")
                continue
            for value, found in zip(told, at, strict=True):
                low, high, shared = wanted[found[0]]
                if ((before >= low) & (before <= high)).sum() < people:
                    wrong.append(f"{name}: a run of few")
                if shared is not None and value != shared:
                    wrong.append(f"{name}: a shared value that is not told")
        else:
            counts = before.value_counts()
            if any(counts.get(value, 0) < people for value in after.dropna().unique()):
                wrong.append(f"{name}: a category of few")
        if cap is not None and name in sensitive:
            exact = before.iloc[origin].reset_index(drop=True)
            if disclosure(group, exact, is_number) > cap + SLACK:
                wrong.append(f"{name}: the originals of a group tell more than the cap")
            if disclosure(group, after, is_number) > cap + SLACK:
                wrong.append(f"{name}: a group tells more than the cap")
    return wrong
