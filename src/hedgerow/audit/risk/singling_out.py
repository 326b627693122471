"""Singling out: can the release be used to describe exactly one person?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...classes import IntArray
from ..intervals import Rate, attack_record, wilson
from ..pairing import Pair, by_name
from ..released_values import ReleasedColumn

BoolArray = npt.NDArray[np.bool_]
DESCRIPTIONS = 300


def singling_out(pair: Pair, *, random_state: int = 0) -> list[dict[str, Any]]:
    """Descriptions taken from released rows, and whether exactly one person fits them.

    A description asks for the released cells of one random row in a random
    choice of quasi-identifiers ("age 27-39 and cook or nurse"). The people are
    split into two halves by the order of their values: descriptions come from
    the rows of one half and succeed when they fit exactly one person of it; the
    control asks the same descriptions of the other half, whose rows the intruder
    did not use. The baseline draws its descriptions at random from the columns'
    public values; ``original`` takes them from the unprotected rows. Doubled
    descriptions count once.

    References
    ----------
    M. Giomi et al. (2023), A unified framework for quantifying privacy risk in
    synthetic data (Anonymeter); Article 29 Working Party, Opinion 05/2014.
    """
    results = {}
    for name, side in (("original", pair.unchanged), ("release", pair)):
        mine, theirs = side.canonical[::2], side.canonical[1::2]
        quasi = tuple(by_name(side.released_quasi))
        found = _from_rows(quasi, mine, DESCRIPTIONS, np.random.default_rng(random_state))
        results[name] = [_fits(quasi, p, mine, theirs) for p in found]
    drawn = _at_random(quasi, DESCRIPTIONS, np.random.default_rng(random_state + 1))
    base = [_fits(quasi, p, mine, theirs) for p in drawn]
    random = _share([mine for mine, _ in base]).value
    return [
        attack_record(
            "singling out",
            learner="descriptions",
            target="one person",
            means="a description fits exactly one person",
            success=_share([mine for mine, _ in results["release"]]),
            control=_share([theirs for _, theirs in results["release"]]),
            original=_share([mine for mine, _ in results["original"]]),
            public_guess=random,
            public_best=random,
            random_row=random,
        )
    ]


def _share(people: list[int]) -> Rate:
    """How many descriptions fit exactly one person."""
    return wilson(people.count(1), len(people))


Predicate = dict[int, BoolArray]
"""Per column the original value codes that fit."""


def _allowed(column: ReleasedColumn, cell: int) -> BoolArray:
    """The original value codes that a released cell may stand for."""
    codes = np.arange(column.original.n_values + 1)
    return column.covers(codes, np.full(len(codes), cell))


def _from_rows(
    released: tuple[ReleasedColumn, ...], rows: IntArray, n: int, generator: np.random.Generator
) -> list[Predicate]:
    out: dict[tuple[tuple[int, int], ...], Predicate] = {}
    for _ in range(n):
        row = rows[int(generator.integers(0, len(rows)))]
        size = int(generator.integers(1, len(released) + 1))
        chosen = sorted(generator.choice(len(released), size, replace=False).tolist())
        key = tuple((j, int(released[j].codes[row])) for j in chosen)
        if key not in out:
            out[key] = {j: _allowed(released[j], cell) for j, cell in key}
    return list(out.values())


def _at_random(
    released: tuple[ReleasedColumn, ...], n: int, generator: np.random.Generator
) -> list[Predicate]:
    out = []
    for _ in range(n):
        size = int(generator.integers(1, len(released) + 1))
        predicate: Predicate = {}
        for j in generator.choice(len(released), size, replace=False):
            m = max(released[j].original.n_values, 1)
            value = int(generator.integers(0, m))
            codes = np.arange(released[j].original.n_values + 1)
            if released[j].is_number:
                above = bool(generator.integers(0, 2))
                fits = (codes >= value) if above else (codes <= value)
                predicate[int(j)] = fits & (codes < m)
            else:
                predicate[int(j)] = codes == value
        out.append(predicate)
    return out


def _fits(
    released: tuple[ReleasedColumn, ...], predicate: Predicate, *parts: IntArray
) -> tuple[int, ...]:
    """How many people of each part fit."""
    out = []
    for rows in parts:
        for j, allowed in predicate.items():
            rows = rows[allowed[released[j].original.codes[rows]]]
        out.append(len(rows))
    return tuple(out)
