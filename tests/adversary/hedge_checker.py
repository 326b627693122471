"""What a written release of Hedge must be, from its file, the original and the public parameters.

Shares nothing with the package: cells are read by their notation, groups are the rows of equal
cells, everything is counted in fractions. A column `row` that is released as it is pairs the rows
of both tables.
"""

from __future__ import annotations

import datetime as dt
import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ..reference.hedge import step
from . import checker

TOKEN = re.compile(r'(?:"((?:[^"]|"")*)"|([^+":]+|))(?::(\d+))?(?:\+|$)')
NEAR = Fraction(1, 10**9)
COUNTED = re.compile(r":(\d+)\+\(missing\):(\d+)$")
EPOCH = dt.date(1970, 1, 1)


def shares(cell: str) -> dict[str | None, Fraction]:
    """The categories (None is missing) of a cell and their shares; a cell without counts has one."""
    counts: dict[str | None, int] = {}
    at = 0
    while at < len(cell):
        match = TOKEN.match(cell, at)
        assert match, "not a cell of shares"
        quoted, bare, count = match.groups()
        name = quoted.replace('""', '"') if quoted is not None else bare
        counts[None if bare == "(missing)" else name] = int(count or 1)
        at = match.end()
    if not counts:
        return {None: Fraction(1)}
    assert len(counts) == 1 or ":" in cell, "categories without counts"
    return {name: Fraction(n, sum(counts.values())) for name, n in counts.items()}


def days(value: Any) -> Any:
    """A date as days since 1970."""
    if isinstance(value, str):
        value = dt.date.fromisoformat(value)
    return (value - EPOCH).days if isinstance(value, dt.date) else value


def number_faults(cell: str, values: Sequence[Any], kind: str, unit: Fraction | None, k: int) -> str:
    """What is wrong with a group's cell of a number; empty when nothing is."""
    read = days if kind == "date" else Fraction
    known = [Fraction(v) for v in values if v is not None]
    if len(known) < k:
        return "" if cell in ("*", "")[: 2 - bool(known)] else "told from fewer than k values"
    # a text that begins with a minus stands behind an apostrophe in CSV files
    told, counts = cell.removeprefix("'"), COUNTED.search(cell)
    if counts is not None:
        told = told.removesuffix(counts[0])
        if (int(counts[1]), int(counts[2])) != (len(known), len(values) - len(known)):
            return "shares of known and missing values"
    elif len(known) < len(values):
        return "missing values are not told"
    mean = sum(known, Fraction(0)) / len(known)
    if unit is None:
        return "" if read(told) == mean else "not the mean"
    # doubles next to decimals that lie halfway may go either way
    near = {round(mean / unit + bit) * unit for bit in (-NEAR, 0, NEAR)}
    return "" if read(told) in near else "not the rounded mean"


def faults(
    original: Mapping[str, Sequence[Any]],
    released: Sequence[Mapping[str, str]],
    *,
    quasi: Mapping[str, str],
    sensitive: Mapping[str, str],
    k: int,
    cap: float | None,
) -> list[str]:
    """Everything that a release does not keep.

    Parameters
    ----------
    original : columns by name, None missing; `row` numbers the rows from 0
    released : the rows of release.csv as text
    quasi, sensitive : kind by name: "number", "date", "ordinal" (sensitive: ranks) or "category"
    k : people
    cap : largest disclosure, or None
    """
    n = len(original["row"])
    if sorted(int(r["row"]) for r in released) != list(range(n)):
        return ["rows were lost or made up"]
    found = set()
    cell_of: list[tuple[str, ...]] = [()] * n
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row in released:
        i = int(row["row"])
        cell_of[i] = tuple(row[q] for q in quasi)
        groups[cell_of[i]].append(i)
        for s, kind in sensitive.items():
            value, told = original[s][i], row[s]
            if kind in ("number", "ordinal") and None not in (value, told or None):
                same = Fraction(told) == Fraction(str(value))
            else:
                same = told == ("" if value is None else str(value))
            if not same:
                found.add(f"{s}: a sensitive value changed")
    if min(map(len, groups.values())) < k:
        found.add("a group of fewer than k")
    for at, (q, kind) in enumerate(quasi.items()):
        values = [days(v) for v in original[q]] if kind == "date" else original[q]
        unit = step(values) if kind in ("number", "date") else None
        for cell, members in groups.items():
            mine = [values[i] for i in members]
            if kind in ("number", "date"):
                fault = number_faults(cell[at], mine, kind, unit, k)
            else:
                real = {None if v is None else str(v): Fraction(c, len(mine)) for v, c in Counter(mine).items()}
                fault = "" if shares(cell[at]) == real else "not the group's shares"
            if fault:
                found.add(f"{q}: {fault}")
    if cap is not None:
        for s, kind in sensitive.items():
            values = [days(v) for v in original[s]] if kind == "date" else original[s]
            kind = "number" if kind == "date" else kind
            if checker.worst(cell_of, values, kind) > Fraction(repr(cap)):
                found.add(f"{s}: a group tells more than the cap")
    return sorted(found)


# ------------------------------------------------------------------ random tables


def _numbers(draw: random.Random, n: int, hidden: Sequence[float]) -> list[Any]:
    """Whole or broken numbers, evenly or heavily spread, few or many, with or without zeros."""
    style = draw.choice(["even", "few", "heavy", "zeros", "cents", "huge", "below"])
    made: list[Any] = []
    for h in hidden:
        if style == "even":
            made.append(round(18 + 60 * h + draw.randrange(8)))
        elif style == "few":
            made.append(round(3 * h) + draw.randrange(2))
        elif style == "heavy":
            made.append(round(1000 * draw.paretovariate(1.2) * (0.2 + h)))
        elif style == "zeros":
            made.append(0 if draw.random() < 0.8 - 0.5 * h else round(400 * h) + draw.randrange(90))
        elif style == "cents":
            made.append(float(f"{10 * h + draw.random():.2f}"))
        elif style == "huge":
            made.append(round(h) * 10**12 + draw.randrange(100))
        else:
            made.append(-round(50 * h) + draw.randrange(-5, 5))
    return made


def _categories(draw: random.Random, hidden: Sequence[float]) -> list[str]:
    """Few or many categories, some that need quotes, some rare."""
    names = ["a", "b+c", 'd"e', "f:2", "g h", *(f"c{i}" for i in range(draw.choice([0, 3, 20])))]
    many = draw.randrange(2, len(names) + 1)
    return [names[min(int(h * many), many - 1) if draw.random() < 0.7 else draw.randrange(many)] for h in hidden]


def random_table(seed: int) -> tuple[dict[str, list[Any]], dict[str, str], dict[str, str], Any]:
    """A table, the kinds of its quasi-identifiers and sensitive columns, and (k, cap)."""
    draw = random.Random(seed)
    n = draw.randrange(20, 160)
    hidden = [draw.random() for _ in range(n)]
    table: dict[str, list[Any]] = {"row": list(range(n))}
    roles: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for kinds, letter, most in zip(roles, "qs", (4, 2), strict=True):
        for j in range(draw.randrange(1, most + 1)):
            name = f"{letter}{j}"
            own = hidden if draw.random() < 0.6 else [draw.random() for _ in range(n)]
            kinds[name] = draw.choice(["number", "number", "category"])
            make = _numbers(draw, n, own) if kinds[name] == "number" else _categories(draw, own)
            gone = draw.choice([0, 0, 0, 0.05, 0.5])
            table[name] = [None if i > 1 and draw.random() < gone else v for i, v in enumerate(make)]
            if len({v for v in table[name] if v is not None}) < 2:
                table[name][0], table[name][1] = (1, 2) if kinds[name] == "number" else ("a", "z")
    k = draw.choice([2, 3, 5, 10])
    return table, *roles, (k, draw.choice([None, 0.5, 0.3, 0.2]))
