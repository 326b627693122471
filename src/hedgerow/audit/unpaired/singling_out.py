"""Singling out without pairs: does what is unique in the release fit one member, and one stranger?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...measures import BoolArray, FloatArray, IntArray, group
from ..intervals import Rate, attack_record, rate_of, wilson
from ..pairing import by_name
from ..released_values import ReleasedColumn, unchanged
from .unpaired_tables import Apart, People

KINDS = ("one column", "several columns", "whole record")
TRIES = 20
"""Random descriptions that are drawn for each that is asked for; few fit one released row."""


Test = tuple[int, str, int]
"""A column, "is", "at least" or "at most", and the released cell that is meant."""
Description = tuple[Test, ...]


def singling_out(
    tables: Apart, *, people: int = 500, random_state: int = 0
) -> list[dict[str, Any]]:
    """Descriptions that fit one released row, asked of the members and of strangers.

    Three intruders: "one column" describes by a value that occurs once or an end of a
    column, "several columns" by a random choice of columns of a random row (numbers: at
    least as extreme), "whole record" by all measured columns. Only a description that fits
    exactly one released row is asked; it succeeds when exactly one member fits.

    The control asks the same of as many other people. Where there are fewer strangers than
    members, as many members as there are strangers are exchanged for them, and the change is
    scaled up to all members; both are expectations over every choice, so nothing is drawn.

    Parameters
    ----------
    tables : Apart
        The tables.
    people : int
        Most descriptions that each intruder asks.
    random_state : int
        Draws rows and columns.

    References
    ----------
    M. Giomi et al. (2023), A unified framework for quantifying privacy risk in synthetic
    data. `predicate_singling_out` counts no description that luck fits to one person; here all count,
    and the control tells what luck does.
    """
    columns = by_name((*tables.released_quasi, *tables.sensitive_cells))
    asked = _Asked(columns)
    mine = asked.codes(tables.members)
    theirs = None if tables.strangers is None else asked.codes(tables.strangers)
    generator = np.random.default_rng(random_state)
    drawn = [asked.at_random(generator) for _ in range(people)]
    before = _Asked([unchanged(c.original) for c in columns])
    guess = float(np.mean([asked.fitting(d, mine) == 1 for d in drawn])) if drawn else 0.0
    out = []
    for kind in KINDS:
        if kind == "several columns" and len(columns) < 3:
            continue
        found = asked.unique(kind, people, generator)
        told = len(before.unique(kind, people, generator))  # each fits its own person alone
        fits = np.array([asked.fitting(d, mine) for d in found], np.int64)
        success = rate_of(fits == 1)
        control = None
        if theirs is not None:
            others = np.array([asked.fitting(d, theirs) for d in found], np.int64)
            sizes = (tables.members.n_rows, tables.strangers.n_rows)  # type: ignore[union-attr]
            control = exchanged(fits, others, *sizes)
        out.append(
            attack_record(
                "singling out",
                learner=kind,
                target="one person",
                means="a description that fits one released row fits exactly one person",
                success=success,
                control=control,
                original=wilson(float(told), told),
                public_guess=guess,
                public_best=guess,
                random_row=guess,
            )
        )
    return out


def exchanged(mine: IntArray, theirs: IntArray, n: int, m: int) -> Rate:
    """How often descriptions would fit one of n people, none of whom the release was made from.

    Parameters
    ----------
    mine, theirs : int arrays, shape (n_descriptions,)
        How many members, and how many strangers, fit each description.
    n, m : int
        How many members and strangers there are.

    Returns
    -------
    Rate
        The share. With fewer strangers than members it is uncertain as if fewer
        descriptions had been asked: as large a part as strangers are of members.
    """
    if not len(mine):
        return wilson(0.0, 0)
    s = min(n, m)
    kept = [_drawn(mine, n, n - s, hits) for hits in (0, 1)]
    added = [_drawn(theirs, m, s, hits) for hits in (0, 1)]
    one = kept[0] * added[1] + kept[1] * added[0]
    before = mine == 1
    share = float(np.clip((before - (before - one) * (n / s)).mean(), 0.0, 1.0))
    weight = len(mine) * s / n
    found = wilson(share * weight, weight)  # type: ignore[arg-type]
    return Rate(share, found.low, found.high, len(mine))


def _drawn(fitting: IntArray, n: int, size: int, hits: int) -> FloatArray:
    """The chance that a draw of some of n people holds so many of those who fit."""
    from scipy.stats import hypergeom

    return np.asarray(hypergeom.pmf(hits, n, fitting, size), np.float64)


class _Asked:
    """Descriptions of released rows, and who fits them."""

    def __init__(self, columns: Sequence[ReleasedColumn]) -> None:
        self.columns = columns
        self.rows = group([c.codes for c in columns])
        self._upto = np.cumsum(self.rows.sizes)
        self._cells = [c.codes[self.rows.first] for c in columns]
        self._medians = [
            float(np.median(c.middle[c.codes])) if c.is_number else 0.0 for c in columns
        ]
        self._held = [_Held(c) for c in columns]

    def codes(self, people: People) -> list[npt.NDArray[Any]]:
        """Per column the people's codes."""
        own = {c.name: c.codes for c in (*people.quasi, *people.sensitive)}
        return [own[c.name] for c in self.columns]

    def unique(self, kind: str, most: int, generator: np.random.Generator) -> list[Description]:
        """Different descriptions that fit one released row."""
        made: Iterable[Description]
        if kind == "one column":
            rare = self._rare()
            made = (rare[i] for i in generator.permutation(len(rare)))
        elif kind == "whole record":
            alone = generator.permutation(np.flatnonzero(self.rows.sizes == 1))
            every = range(len(self.columns))
            made = (tuple((j, "is", int(self._cells[j][r])) for j in every) for r in alone)
        else:
            made = (self._several(generator) for _ in range(TRIES * most))
        found: dict[Description, None] = {}
        for description in made:
            if description not in found and self._released(description) == 1:
                found[description] = None
                if len(found) == most:
                    break
        return list(found)

    def at_random(self, generator: np.random.Generator) -> Description:
        """A description of nobody: random cells of random columns."""
        chosen = self._chosen(generator, 1)
        return tuple(
            self._test(j, int(generator.integers(self.columns[j].n_cells)), generator)
            for j in chosen
        )

    def fitting(self, description: Description, people: Sequence[npt.NDArray[Any]]) -> int:
        """How many people fit."""
        return _fitting(
            [(self._held[j].values(how, cell), people[j]) for j, how, cell in description]
        )[0]

    def _released(self, description: Description) -> int:
        """How many released rows may fit."""
        classes = _fitting(
            [(self._held[j].cells(how, cell), self._cells[j]) for j, how, cell in description]
        )[1]
        return int(self.rows.sizes[classes].sum())

    def _rare(self) -> list[Description]:
        """Values that occur once, and the ends of numbers."""
        made: list[Description] = []
        for j, column in enumerate(self.columns):
            made += [((j, "is", int(cell)),) for cell in np.flatnonzero(column.counts == 1)]
            known = np.flatnonzero(np.isfinite(column.lo) & ~column.anything)
            if column.is_number and len(known):
                made.append(((j, "at least", int(known[column.lo[known].argmax()])),))
                made.append(((j, "at most", int(known[column.hi[known].argmin()])),))
        return made

    def _several(self, generator: np.random.Generator) -> Description:
        """Some columns of a random row, numbers at least as far from the middle."""
        row = int(np.searchsorted(self._upto, generator.integers(self._upto[-1]), "right"))
        made = []
        for j in self._chosen(generator, 2):
            cell = int(self._cells[j][row])
            made.append((j, self._side(j, cell), cell))
        return tuple(made)

    def _chosen(self, generator: np.random.Generator, fewest: int) -> list[int]:
        n = len(self.columns)
        size = int(generator.integers(fewest, n + 1))
        return sorted(generator.choice(n, size, replace=False).tolist())

    def _test(self, j: int, cell: int, generator: np.random.Generator) -> Test:
        if not self.columns[j].is_number:
            return j, "is", cell
        return j, ("at least", "at most")[int(generator.integers(2))], cell

    def _side(self, j: int, cell: int) -> str:
        column = self.columns[j]
        if not column.is_number or not np.isfinite(column.lo[cell]) or column.anything[cell]:
            return "is"
        return "at least" if column.middle[cell] > self._medians[j] else "at most"


class _Held:
    """Which values, and which released cells, a test of one column lets pass."""

    def __init__(self, column: ReleasedColumn) -> None:
        self._column = column
        self._values = column.original.by_code if column.is_number else None
        sizes = [len(members) for members in column.members]
        self._members = np.concatenate([np.zeros(0, np.int64), *column.members])
        self._of = np.repeat(np.arange(column.n_cells), sizes)

    def values(self, how: str, cell: int) -> BoolArray:
        """The codes of people's values that pass; the last one is missing."""
        column = self._column
        if how == "is" or self._values is None:
            codes = np.arange(column.original.n_values + 1)
            return column.covers(codes, np.full(len(codes), cell))
        with np.errstate(invalid="ignore"):
            if how == "at least":
                return np.asarray(self._values >= column.lo[cell])
            return np.asarray(self._values <= column.hi[cell])

    def cells(self, how: str, cell: int) -> BoolArray:
        """The released cells that may stand for a value that passes."""
        column = self._column
        missing = column.missing if how == "is" and column.missing[cell] else column.anything
        if column.is_number:
            low = -np.inf if how == "at most" else column.lo[cell]
            high = np.inf if how == "at least" else column.hi[cell]
            with np.errstate(invalid="ignore"):
                return np.asarray((column.lo <= high) & (column.hi >= low) | missing)
        fits = self.values("is", cell)[self._members]
        return np.asarray((np.bincount(self._of, fits, column.n_cells) > 0) | missing)


def _fitting(tests: Sequence[tuple[BoolArray, npt.NDArray[Any]]]) -> tuple[int, IntArray]:
    """How many rows pass every test, and which; the narrowest test goes first."""
    tests = sorted(tests, key=lambda t: float(t[0].mean()))
    allowed, codes = tests[0]
    rows = np.flatnonzero(allowed[codes])
    for allowed, codes in tests[1:]:
        rows = rows[allowed[codes[rows]]]
    return len(rows), rows
