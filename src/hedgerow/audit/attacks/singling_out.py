"""Predicate singling out: does the release describe exactly one person, and not by luck?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from ...columns.column import Column
from ...columns.table import Table
from ...measures import BoolArray, Counts, FloatArray, IntArray, group
from ..design_matrix import true_values, values_in
from ..non_members import Outside
from ..pairing import Pair, by_name
from ..released_values import ReleasedColumn, unchanged
from ..success import Rate, attack_record, rate_of, wilson
from ..unpaired.unpaired_tables import Apart, People
from .downcoding import Finer

DESCRIPTIONS = 300
"""Descriptions that each intruder asks, those that fewest people should fit."""
ROUNDING = 1e-9
DRAWN = 20
"""Descriptions that are drawn at random for each that is asked."""


@dataclass(frozen=True)
class Predicate:
    """Who is meant, and how many of all people should be by the totals of single columns.

    Parameters
    ----------
    weight : float
        The share of people that fit if columns were independent.
    cells : tuple of pairs of int
        Quasi-identifier and released cell, by name and in order.
    value : pair of int, optional
        Sensitive column and the code of its value.
    chance : float
        Share of those who fit that a coin keeps, which knows nothing of anybody.
    """

    weight: float
    cells: tuple[tuple[int, int], ...]
    value: tuple[int, int] | None = None
    chance: float = 1.0


def predicate_singling_out(
    pair: Pair, outside: Sequence[Outside] = (), *, random_state: int = 0
) -> list[dict[str, Any]]:
    """Describe exactly one person of the table, in words that are unlikely to fit anybody.

    A description isolates a person when the true values of exactly one record of the release
    fit it. Anybody does that by luck: one that fits a share w of all people isolates with chance
    n w (1 - w)^(n - 1) in a table of n, at best (w = 1/n) 37%. So a description counts only if
    at most 1/n of all people should fit, by the original's totals of single columns. Three
    intruders, each with the descriptions that fewest should fit:

    - ``description``: released cells of some quasi-identifiers of a random row;
    - ``group and value``: all cells of a group, and the sensitive value that it holds least often;
    - ``group and chance``: all cells of a group of s, and a coin that keeps one in s, or fewer, of
      whoever fits. No group size stops it; its success is an expectation, no coin is thrown.

    Parameters
    ----------
    pair : Pair
        The original and the release.
    outside : sequence of Outside
        Releases with strangers; how many of these fit is what descriptions truly weigh.
    random_state : int
        Draws rows and columns.

    Returns
    -------
    list of dict
        ``success`` is the share of descriptions that isolate. ``control`` is the most that luck
        gives at the weight that strangers show, ``public_guess`` at the weight by totals,
        ``public_best`` at the best weight, and ``random_row`` what random descriptions reach;
        ``original`` describes the whole original by itself.

    References
    ----------
    A. Cohen, K. Nissim (2020), Towards formalizing the GDPR's notion of singling out. PNAS 117.
    """
    found, before = _Described(pair, random_state), _Described(pair.unchanged, random_state)
    n = pair.n_rows
    others = [(_Described(o.pair, random_state), o) for o in outside]
    random = _share(before, before.at_random())
    out = []
    for learner in ("description", "group and value", "group and chance"):
        asked = found.by(learner)
        if not asked:
            continue
        out.append(
            attack_record(
                "predicate singling out",
                learner=learner,
                target="one person",
                means="exactly one person fits, where at most one in all should",
                success=_share(found, asked),
                control=_luck_of_strangers(others, learner),
                original=_share(before, before.by(learner)),
                public_guess=fsum(_luck(d.weight, n) for d in asked) / len(asked),
                public_best=_luck(1 / n, n),
                random_row=random.value,
            )
        )
    return out


def _luck(weight: float, n: int) -> float:
    """The chance that exactly one of n people fits; beyond 1/n that of 1/n, which is the best."""
    weight = min(weight, 1 / n)
    return n * weight * float((1 - weight) ** (n - 1))


def _share(described: _Described, asked: Sequence[Predicate]) -> Rate:
    """How many descriptions isolate, of those that are asked."""
    n = described.people.n
    right = [described.isolates(d) if d.weight * n <= 1 + ROUNDING else 0.0 for d in asked]
    return wilson(fsum(right), len(asked))


def _luck_of_strangers(others: Sequence[tuple[_Described, Outside]], learner: str) -> Rate | None:
    """What luck gives at the weight that strangers show; None without strangers."""
    rates, asked = [], 0
    for described, outside in others:
        n, made = described.people.n, described.by(learner)
        strangers = described.of_table(outside.people)
        hits = fsum(strangers.fitting(d) * d.chance for d in made)
        weight = wilson(hits, len(made) * strangers.n)
        rates.append([_luck(w, n) for w in (weight.value, weight.low, weight.high)])
        asked += len(made)
    if not asked:
        return None
    value, low, high = (fsum(r) / len(rates) for r in zip(*rates, strict=True))
    return Rate(value, low, high, asked)


@dataclass(frozen=True, eq=False)
class _People:
    """The true values of some people: numbers, or codes of the original's categories."""

    quasi: Sequence[npt.NDArray[Any]]
    sensitive: Sequence[npt.NDArray[Any]]
    columns: Sequence[ReleasedColumn]
    own: Sequence[Column]

    @property
    def n(self) -> int:
        return len(self.quasi[0])

    def fitting(self, description: Predicate) -> int:
        """How many fit, but for the coin."""
        rows: Any = slice(None)
        if description.value is not None:
            j, code = description.value
            wanted = self.own[j].by_code[code] if self.own[j].is_number else code
            rows = np.flatnonzero(self.sensitive[j] == wanted)
        for j, cell in description.cells:
            column, values = self.columns[j], self.quasi[j][rows]
            cells = np.full(len(values), cell)
            covers = column.cover.numbers if column.is_number else column.cover.categories
            fits = np.flatnonzero(covers(values, cells))
            rows = fits if isinstance(rows, slice) else rows[fits]
        return len(rows)


class _Described:
    """What a release says of its people, for describing them."""

    def __init__(self, pair: Pair, random_state: int) -> None:
        self.pair, self.random_state = pair, random_state
        self.columns = by_name(pair.released_quasi)
        self.own = by_name(pair.sensitive)
        self.people = _People(
            [true_values(c) for c in by_name(pair.quasi)],
            [true_values(c) for c in self.own],
            self.columns,
            self.own,
        )
        self._mass = [_masses(column) for column in self.columns]

    def of_table(self, table: Table) -> _People:
        """Other people."""
        return _People(
            [values_in(c.original, table) for c in self.columns],
            [values_in(c, table) for c in self.own],
            self.columns,
            self.own,
        )

    def isolates(self, description: Predicate) -> float:
        """The chance that exactly one person is left."""
        fitting = self.people.fitting(description)
        return fitting * description.chance * (1 - description.chance) ** max(fitting - 1, 0)

    def by(self, learner: str) -> list[Predicate]:
        """The descriptions of one intruder that fewest people should fit."""
        if learner == "description":
            return self._of_rows()
        return self._of_values() if learner == "group and value" else self._by_chance()

    def at_random(self) -> list[Predicate]:
        """Descriptions of nobody: random values of random columns."""
        generator = np.random.default_rng(self.random_state + 1)
        made = []
        for _ in range(DESCRIPTIONS):
            chosen = _chosen(generator, len(self.columns))
            made.append(
                self._made((j, int(generator.integers(self.columns[j].n_cells))) for j in chosen)
            )
        return made

    def _made(self, cells: Any) -> Predicate:
        cells = tuple(cells)
        weight = float(np.prod([self._mass[j][cell] for j, cell in cells]))
        return Predicate(weight, cells)

    def _of_rows(self) -> list[Predicate]:
        generator = np.random.default_rng(self.random_state)
        made = set()
        for _ in range(DRAWN * DESCRIPTIONS):
            row = self.pair.canonical[int(generator.integers(self.pair.n_rows))]
            chosen = _chosen(generator, len(self.columns))
            made.add(tuple((j, int(self.columns[j].codes[row])) for j in chosen))
        return _lightest([self._made(cells) for cells in made])

    @property
    def _boxes(self) -> FloatArray:
        """The share of people in each group's cells, if columns were independent."""
        first, out = self.pair.classes.first, np.ones(self.pair.classes.n_groups)
        for column, mass in zip(self.columns, self._mass, strict=True):
            out *= mass[column.codes[first]]
        return out

    def _group(self, label: int) -> tuple[tuple[int, int], ...]:
        row = self.pair.classes.first[label]
        return tuple((j, int(c.codes[row])) for j, c in enumerate(self.columns))

    def _of_values(self) -> list[Predicate]:
        """Of every sensitive column the values that a group holds least often, lightest first."""
        made = []
        boxes = self._boxes
        for j, (own, shown) in enumerate(
            zip(self.own, by_name(self.pair.released_sensitive), strict=True)
        ):
            codes = shown.codes_in(own, unknown=own.n_values)
            counts = Counts.from_codes(self.pair.classes, codes, own.n_values + 1)
            public = own.counts() / max(len(own.codes), 1)
            weight = boxes[counts.groups] * public[counts.values]
            known = np.flatnonzero((counts.values < own.n_values) & (weight > 0))
            order = np.lexsort((weight[known], counts.counts[known]))[:DESCRIPTIONS]
            for at in known[order].tolist():
                cells = self._group(int(counts.groups[at]))
                value = (j, int(counts.values[at]))
                made.append((int(counts.counts[at]), Predicate(float(weight[at]), cells, value)))
        made.sort(key=lambda m: (m[0], m[1].weight, m[1].cells, m[1].value))
        return [description for _, description in made[:DESCRIPTIONS]]

    def _by_chance(self) -> list[Predicate]:
        """The coin keeps the whole at or below 1/n."""
        boxes = np.maximum(self._boxes, 1e-300)
        coin = np.minimum(1 / self.pair.classes.sizes, 1 / (self.pair.n_rows * boxes))
        weight = boxes * coin
        order = np.argsort(weight, kind="stable")[:DESCRIPTIONS].tolist()
        return [Predicate(float(weight[g]), self._group(g), chance=float(coin[g])) for g in order]


def _masses(column: ReleasedColumn) -> FloatArray:
    """The share of the original's people that each cell may stand for."""
    finer = Finer.of(column)
    totals = np.bincount(finer.step, column.whole.counts(), finer.n_steps)
    return np.asarray(finer.held @ (totals / max(totals.sum(), 1)))


def _chosen(generator: np.random.Generator, n: int) -> list[int]:
    size = int(generator.integers(1, n + 1))
    return sorted(generator.choice(n, size, replace=False).tolist())


def _lightest(made: list[Predicate]) -> list[Predicate]:
    return sorted(made, key=lambda d: (d.weight, d.cells))[:DESCRIPTIONS]


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
