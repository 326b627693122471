"""Predicate singling out: does the release describe exactly one person, and not by luck?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from ...columns.column import Column
from ...columns.table import Table
from ...measures import Counts, FloatArray
from ..design_matrix import true_values, values_in
from ..intervals import Rate, attack_record, wilson
from ..non_members import Outside
from ..pairing import Pair, by_name
from ..released_values import ReleasedColumn
from .finer_values import Finer

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
            counts = Counts.of(self.pair.classes, codes, own.n_values + 1)
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
