"""Singling out: how often a description from the release fits exactly one person, compared with luck and strangers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from ...measures import Bools, Counts, Floats, Ints, group
from ..figure import Figure
from ..non_members import Outside
from ..released_values import ReleasedColumn, unchanged
from ..success import ATTACKS, AttackData, Rate, Rates, attack_record, rate_of, wilson
from ..table_pair import People, TablePair, by_name
from .downcoding import FinerSteps

# most descriptions per intruder: those that the fewest people should fit
DESCRIPTIONS = 300
ROUNDING = 1e-9
# descriptions drawn at random for each one that is used; few fit exactly one released row
DRAWN = 20
KINDS = ("one column", "several columns", "whole record")

# a column, "is", "at least" or "at most", and the released cell that is meant
Test = tuple[int, str, int]
Tests = tuple[Test, ...]


@dataclass(frozen=True)
class Predicate:
    """A description of a person, with the share of people expected to fit it.

    Parameters
    ----------
    weight : float
        The expected share: the product of the columns' public shares, as if columns were independent.
    tests : tuple of Test
        Tests of quasi-identifiers, in the order of their names, then of sensitive columns.
    chance : float
        The probability with which a random draw keeps each person who fits.
    """

    weight: float
    tests: Tests
    chance: float = 1.0


class _Crowd:
    """A set of people with their true values, used to count the people who fit a description."""

    def __init__(self, columns: Sequence[ReleasedColumn], people: People) -> None:
        by_column = {c.name: c for c in (*people.quasi, *people.sensitive)}
        self.n, self._columns = people.n_rows, columns
        self._people = [by_column[column.name] for column in columns]

    def fitting(self, tests: Tests) -> int:
        """Count the people who pass all tests of a description."""
        return len(_rows_passing([(self._passing(*test), self._people[test[0]].codes) for test in tests]))

    def _passing(self, j: int, how: str, cell: int) -> Bools:
        """Return, for each code of a column, whether it passes a test; a category that no member has never passes."""
        column, people = self._columns[j], self._people[j]
        if not column.is_number:
            codes = np.arange(column.original.n_values + 1)
            return np.append(column.covers(codes, np.full(len(codes), cell)), False)
        if how == "is":
            return column.cover.covers_numbers(people.by_code, np.full(people.n_values + 1, cell))
        low, high = _ends(column, how, cell)
        return np.asarray((people.by_code >= low) & (people.by_code <= high))


def _ends(column: ReleasedColumn, how: str, cell: int) -> tuple[float, float]:
    """Return the lowest and the highest number that pass a test."""
    low = -np.inf if how == "at most" else float(column.lo[cell])
    return low, np.inf if how == "at least" else float(column.hi[cell])


def _rows_passing(tests: Sequence[tuple[Bools, npt.NDArray[Any]]]) -> Ints:
    """Return the rows whose codes pass every test; the narrowest test is applied first."""
    tests = sorted(tests, key=lambda t: float(t[0].mean()))
    allowed, codes = tests[0]
    rows = np.flatnonzero(allowed[codes])
    for allowed, codes in tests[1:]:
        rows = rows[allowed[codes[rows]]]
    return rows


def _chosen(generator: np.random.Generator, n: int, fewest: int = 1) -> list[int]:
    """Choose a random set of at least `fewest` of n columns; return their sorted positions."""
    return sorted(generator.choice(n, int(generator.integers(fewest, n + 1)), replace=False).tolist())


def predicate_singling_out(
    sides: TablePair, outside: Sequence[Outside] = (), *, random_state: int = 0
) -> list[AttackData]:
    """Attack by predicate singling out: describe one person by a predicate that few people should fit.

    A description isolates a person when the true values of exactly one record of the release
    fit it. That also happens by luck: a description that fits a share w of all people isolates with
    chance n w (1 - w)^(n - 1) in a table of n, at best (w = 1/n) 37%. So a description counts only if
    at most 1/n of all people should fit, by the original's totals of single columns. Three
    intruders, each with the descriptions that fewest should fit:

    - ``description``: released cells of some quasi-identifiers of a random row;
    - ``group and value``: all cells of a group, and a sensitive value that is rare in it (of people whose
      value the release tells so, where it is guarded);
    - ``group and chance``: all cells of a group of s, and a coin that keeps one in s, or fewer, of
      those who fit. No group size stops it; its success is an expectation, no coin is thrown.

    Parameters
    ----------
    sides : TablePair
        The original and the release.
    outside : sequence of Outside
        Releases with strangers, who show what share of people truly fits the descriptions.
    random_state : int
        Draws rows and columns.

    Returns
    -------
    list of dict
        ``success`` is the share of descriptions that isolate. ``control`` is the success by luck
        at the weight that strangers show, ``public_guess`` at the weight by totals,
        ``public_best`` at the best weight, and ``random_row`` the success of random descriptions;
        ``original`` describes the whole original by itself.

    References
    ----------
    A. Cohen, K. Nissim (2020), Towards formalizing the GDPR's notion of singling out. PNAS 117.
    """
    described, before = _Described(sides, random_state), _Described(sides.unchanged, random_state)
    n = sides.n_rows
    others = [(_Described(o.sides, random_state), o) for o in outside]
    random = _share(before, before.at_random())
    out = []
    for learner in ("description", "group and value", "group and chance"):
        if not (predicates := described.by(learner)):
            continue
        out.append(
            attack_record(
                "predicate singling out",
                learner=learner,
                target="one person",
                means="exactly one person fits, where at most one in all should",
                rates=Rates(
                    _share(described, predicates),
                    _luck_of_strangers(others, learner),
                    _share(before, before.by(learner)),
                ),
                public=fmean(_luck(d.weight, n) for d in predicates),
                best=_luck(1 / n, n),
                random_row=random.value,
            )
        )
    return out


def _luck(weight: float, n: int) -> float:
    """Return the chance that exactly one of n people fits by luck; weights above 1/n count as 1/n, the best one."""
    weight = min(weight, 1 / n)
    return n * weight * float((1 - weight) ** (n - 1))


def _share(described: _Described, predicates: Sequence[Predicate]) -> Rate:
    """Return the expected share of predicates that isolate a person, with Wilson's interval."""
    n = described.members.n
    right = [described.isolates(d) if d.weight * n <= 1 + ROUNDING else 0.0 for d in predicates]
    return wilson(fsum(right), len(predicates))


def _luck_of_strangers(others: Sequence[tuple[_Described, Outside]], learner: str) -> Rate | None:
    """Return the success by luck at the weight measured on strangers; None without strangers."""
    rates, tried = [], 0
    for described, outside in others:
        n, predicates = described.members.n, described.by(learner)
        strangers = _Crowd(described.columns, described.sides.as_shown(outside.people))
        hits = fsum(strangers.fitting(d.tests) * d.chance for d in predicates)
        # all descriptions together: each alone is fitted by hardly a stranger
        weight = wilson(hits, len(predicates) * strangers.n)
        rates.append([_luck(w, n) for w in (weight.value, weight.low, weight.high)])
        tried += len(predicates)
    if not tried:
        return None
    value, low, high = (fmean(r) for r in zip(*rates, strict=True))
    return Rate(value, low, high, tried)


class _Described:
    """The predicates that intruders form from a release, and the people they describe."""

    def __init__(self, sides: TablePair, random_state: int) -> None:
        self.sides, self.random_state = sides, random_state
        people = sides.as_shown(sides.members)
        self.quasi, self.sensitive = by_name(sides.released_quasi), by_name(people.sensitive)
        self.columns = [*self.quasi, *map(unchanged, self.sensitive)]
        self.members = _Crowd(self.columns, people)
        self._mass = [_masses(column) for column in self.quasi]

    def isolates(self, description: Predicate) -> float:
        """Return the chance that exactly one person fits a description and is also kept by its coin."""
        fitting = self.members.fitting(description.tests)
        return fitting * description.chance * (1 - description.chance) ** max(fitting - 1, 0)

    def by(self, learner: str) -> list[Predicate]:
        """Return one intruder's descriptions: those that the fewest people are expected to fit."""
        if learner == "description":
            return self._of_rows()
        return self._of_values() if learner == "group and value" else self._by_chance()

    def at_random(self) -> list[Predicate]:
        """Return descriptions that aim at no particular person: random values of random columns."""
        generator = np.random.default_rng(self.random_state + 1)
        return [
            self._weighed(
                (j, "is", int(generator.integers(self.quasi[j].n_cells))) for j in _chosen(generator, len(self.quasi))
            )
            for _ in range(DESCRIPTIONS)
        ]

    def _weighed(self, tests: Iterable[Test]) -> Predicate:
        tests = tuple(tests)
        return Predicate(float(np.prod([self._mass[j][cell] for j, _, cell in tests])), tests)

    def _of_rows(self) -> list[Predicate]:
        generator = np.random.default_rng(self.random_state)
        different = set()
        for _ in range(DRAWN * DESCRIPTIONS):
            row = self.sides.canonical[int(generator.integers(self.sides.n_rows))]
            chosen = _chosen(generator, len(self.quasi))
            different.add(tuple((j, "is", int(self.quasi[j].codes[row])) for j in chosen))
        # a set has no order of its own: equal weights are told apart by the tests
        return sorted(map(self._weighed, different), key=lambda d: (d.weight, d.tests))[:DESCRIPTIONS]

    @property
    def _boxes(self) -> Floats:
        """Return the share of people who would fit each group's cells if the columns were independent."""
        first, out = self.sides.classes.first, np.ones(self.sides.classes.n_groups)
        for column, mass in zip(self.quasi, self._mass, strict=True):
            out *= mass[column.codes[first]]
        return out

    def _group(self, label: int) -> Tests:
        row = self.sides.classes.first[label]
        return tuple((j, "is", int(c.codes[row])) for j, c in enumerate(self.quasi))

    def _of_values(self) -> list[Predicate]:
        """Describe people by their group's cells and a sensitive value; rarest values first, ties by least weight."""
        rare, boxes, classes = [], self._boxes, self.sides.classes
        for j, (original, released) in enumerate(
            zip(self.sensitive, by_name(self.sides.released_sensitive), strict=True), len(self.quasi)
        ):
            codes = released.codes_in(original, unknown=original.n_values)
            counts = Counts.from_codes(classes, codes, original.n_values + 1)
            public = original.counts() / max(len(original.codes), 1)
            weight = boxes[counts.groups] * public[counts.values]
            is_known = np.flatnonzero((counts.values < original.n_values) & (weight > 0))
            # the rarest in its group first: a single record with the value is isolated for certain
            order = np.lexsort((weight[is_known], counts.counts[is_known]))[:DESCRIPTIONS]
            for at in is_known[order].tolist():
                tests = (*self._group(int(counts.groups[at])), (j, "is", int(counts.values[at])))
                rare.append((int(counts.counts[at]), Predicate(float(weight[at]), tests)))
        rare.sort(key=lambda m: (m[0], m[1].weight, m[1].tests))
        return [description for _, description in rare[:DESCRIPTIONS]]

    def _by_chance(self) -> list[Predicate]:
        """Describe groups by their cells and a coin that keeps the expected share at or below 1/n."""
        boxes = np.maximum(self._boxes, 1e-300)
        # one in s isolates best in a group of s; a smaller share keeps the weight of large cells allowed
        coin = np.minimum(1 / self.sides.classes.sizes, 1 / (self.sides.n_rows * boxes))
        weight = boxes * coin
        order = np.argsort(weight, kind="stable")[:DESCRIPTIONS].tolist()
        return [Predicate(float(weight[g]), self._group(g), float(coin[g])) for g in order]


def _masses(column: ReleasedColumn) -> Floats:
    """Return the share of the original's people that each cell can stand for; shape (n_cells,)."""
    finer = FinerSteps.from_released(column)
    totals = np.bincount(finer.step, column.whole.counts(), finer.n_steps)
    return np.asarray(finer.cover @ (totals / max(totals.sum(), 1)))


def singling_out(tables: TablePair, *, people: int = 500, random_state: int = 0) -> list[AttackData]:
    """Attack by singling out: test whether descriptions that fit one released row fit exactly one person.

    Three intruders: "one column" describes by a value that occurs once or an end of a
    column, "several columns" by a random choice of columns of a random row (numbers: at
    least as extreme), "whole record" by all measured columns. Only descriptions that fit
    exactly one released row are used; one succeeds if exactly one member fits.

    The control tests them on as many other people. If there are fewer strangers than
    members, as many members as there are strangers are exchanged for them, and the change is
    scaled up to all members; both are expectations over every choice, so nothing is drawn.

    Parameters
    ----------
    tables : TablePair
        The tables.
    people : int
        Most descriptions per intruder.
    random_state : int
        Draws rows and columns.

    References
    ----------
    M. Giomi et al. (2023), A unified framework for quantifying privacy risk in synthetic
    data. `predicate_singling_out` counts no description that fits one person by luck; here all
    count, and the control shows the success by luck.
    """
    columns = by_name((*tables.released_quasi, *tables.sensitive_cells))
    rows = _Rows(columns)
    mine, *others = (_Crowd(columns, people) for people in tables.people)
    generator = np.random.default_rng(random_state)
    nobody = [rows.at_random(generator) for _ in range(people)]
    before = _Rows([unchanged(c.original) for c in columns])
    # descriptions that ignore the release: what fits one person by luck
    guess = float(np.mean([mine.fitting(d) == 1 for d in nobody])) if nobody else 0.0
    out = []
    for kind in KINDS:
        if kind == "several columns" and len(columns) < 3:
            continue
        descriptions = rows.unique(kind, people, generator)
        alone = len(before.unique(kind, people, generator))  # each fits its own person alone
        fits, *theirs = (np.array(list(map(c.fitting, descriptions)), np.int64) for c in (mine, *others))
        out.append(
            attack_record(
                "singling out",
                learner=kind,
                target="one person",
                means="a description that fits one released row fits exactly one person",
                rates=Rates(
                    rate_of(fits == 1),
                    exchanged(fits, theirs[0], mine.n, others[0].n) if others else None,
                    wilson(float(alone), alone),
                ),
                public=guess,
            )
        )
    return out


def exchanged(mine: Ints, theirs: Ints, n: int, m: int) -> Rate:
    """Estimate the share of descriptions that would fit exactly one of n people who are not in the release.

    Parameters
    ----------
    mine, theirs : int arrays, shape (n_descriptions,)
        Number of members, and of strangers, who fit each description.
    n, m : int
        Number of members and of strangers.

    Returns
    -------
    Rate
        The share. With fewer strangers than members it is uncertain as if fewer
        descriptions had been asked: as large a part as strangers are of members.
    """
    if not len(mine):
        return wilson(0.0, 0)
    # of n members n - s stay and s strangers take the place of the others
    s = min(n, m)
    stay = [_chance_of_hits(mine, n, n - s, hits) for hits in (0, 1)]
    added = [_chance_of_hits(theirs, m, s, hits) for hits in (0, 1)]
    one = stay[0] * added[1] + stay[1] * added[0]
    before = mine == 1
    share = float(np.clip((before - (before - one) * (n / s)).mean(), 0.0, 1.0))
    # with fewer strangers than members the interval is as wide as if fewer descriptions had been asked
    weight = len(mine) * s / n
    uncertain = wilson(share * weight, weight)  # type: ignore[arg-type]
    return Rate(share, uncertain.low, uncertain.high, len(mine))


def _chance_of_hits(fitting: Ints, n: int, size: int, hits: int) -> Floats:
    """Return the chance that a random draw of `size` of n people includes exactly `hits` who fit."""
    from scipy.stats import hypergeom

    return np.asarray(hypergeom.pmf(hits, n, fitting, size), np.float64)


class _Rows:
    """The distinct released rows, for describing one of them."""

    def __init__(self, columns: Sequence[ReleasedColumn]) -> None:
        self.columns = columns
        self.rows = group([c.codes for c in columns])
        self._upto = np.cumsum(self.rows.sizes)
        self._cells = [c.codes[self.rows.first] for c in columns]
        self._medians = [float(np.median(c.middle[c.codes])) if c.is_number else 0.0 for c in columns]

    def unique(self, kind: str, most: int, generator: np.random.Generator) -> list[Tests]:
        """Return at most `most` different descriptions, each of which fits exactly one released row."""
        candidates: Iterable[Tests]
        if kind == "one column":
            rare = self._rare()
            candidates = (rare[i] for i in generator.permutation(len(rare)))
        elif kind == "whole record":
            alone = generator.permutation(np.flatnonzero(self.rows.sizes == 1))
            every = range(len(self.columns))
            candidates = (tuple((j, "is", int(self._cells[j][r])) for j in every) for r in alone)
        else:
            candidates = (self._several(generator) for _ in range(DRAWN * most))
        different: dict[Tests, None] = {}
        for tests in candidates:
            if tests not in different and self._released(tests) == 1:
                different[tests] = None
                if len(different) == most:
                    break
        return list(different)

    def at_random(self, generator: np.random.Generator) -> Tests:
        """Return a description that aims at no particular person: random cells of random columns."""
        tests = []
        for j in _chosen(generator, len(self.columns)):
            cell = int(generator.integers(self.columns[j].n_cells))
            is_number = self.columns[j].is_number
            tests.append((j, ("at least", "at most")[generator.integers(2)] if is_number else "is", cell))
        return tuple(tests)

    def _released(self, tests: Tests) -> int:
        """Count the released rows that can fit a description."""
        classes = _rows_passing([(self._passing(*test), self._cells[test[0]]) for test in tests])
        return int(self.rows.sizes[classes].sum())

    def _passing(self, j: int, how: str, cell: int) -> Bools:
        """Return, for each released cell, whether it can stand for a value that passes a test; shape (n_cells,)."""
        column = self.columns[j]
        missing = column.missing if how == "is" and column.missing[cell] else column.anything
        if column.is_number:
            low, high = _ends(column, how, cell)
            return np.asarray((column.lo <= high) & (column.hi >= low) | missing)
        cells, categories = column.categories
        fits = column.covers(categories, np.full(len(categories), cell))
        passes = (np.bincount(cells, fits, column.n_cells) > 0) | missing
        passes[cell] = True  # a category that no person has fits its own row alone
        return np.asarray(passes)

    def _rare(self) -> list[Tests]:
        """Return tests for the values that occur once, and for both ends of each number."""
        tests: list[Tests] = []
        for j, column in enumerate(self.columns):
            tests += [((j, "is", int(cell)),) for cell in np.flatnonzero(column.counts == 1)]
            numbers = np.flatnonzero(np.isfinite(column.lo) & ~column.anything)
            if column.is_number and len(numbers):
                tests.append(((j, "at least", int(numbers[column.lo[numbers].argmax()])),))
                tests.append(((j, "at most", int(numbers[column.hi[numbers].argmin()])),))
        return tests

    def _several(self, generator: np.random.Generator) -> Tests:
        """Describe a random row by several columns; numbers by being at least as far from the median as its own."""
        row = int(np.searchsorted(self._upto, generator.integers(self._upto[-1]), "right"))
        cells = ((j, int(self._cells[j][row])) for j in _chosen(generator, len(self.columns), 2))
        return tuple((j, self._side(j, cell), cell) for j, cell in cells)

    def _side(self, j: int, cell: int) -> str:
        column = self.columns[j]
        if not column.is_number or not np.isfinite(column.lo[cell]) or column.anything[cell]:
            return "is"
        return "at least" if column.middle[cell] > self._medians[j] else "at most"


FIGURES = (
    Figure(
        ATTACKS,
        lambda t: predicate_singling_out(t.sides, t.non_members, **t.seed),
        needs=("pairs", "attacks"),
        says="predicate singling out",
    ),
    Figure(
        ATTACKS,
        lambda t: singling_out(t.sides, people=t.options["people"], **t.seed),
        needs=("no pairs", "attacks"),
        says="singling out",
    ),
)
