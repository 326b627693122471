"""What an audit measures of each kind of tables: a row a figure, with what it needs and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Generic, TypeVar

from ..columns.table import Table
from ..errors import HedgerowError
from ..progress import Tell
from ..release.warnings import rare_ends
from .attacks.class_risk import (
    Population,
    journalist,
    other_columns,
    released_risk,
    unprotected_risk,
    weighted_sizes,
)
from .attacks.composition import composition, other_releases
from .attacks.downcoding import downcoding
from .attacks.influence import influence
from .attacks.knows_method import knows_method
from .attacks.linking import linkage_summary, linking
from .attacks.membership import membership
from .attacks.regression import regression
from .attacks.singling_out import predicate_singling_out, singling_out
from .attacks.special_uniques import FRACTION, SpecialUniques, special_uniques, summary
from .example_records import shown
from .histograms import histograms
from .inference import infer
from .non_members import FOLDS, Outside, Refit, left_out, refitting, with_strangers
from .per_person import per_person
from .release_only import Alone
from .released_values import ReleasedColumn
from .sample import Sample
from .subject import Subject
from .table_pair import Pair, UnpairedTables
from .utility.distributions import distribution_summary
from .utility.estimates import estimates
from .utility.loss import loss_summary, loss_unpaired
from .utility.models import learning, learning_apart
from .utility.queries import query_summary

ASKED = ("attacks", "inference", "learning", "per person")
ON_SAMPLE = ("attacks", "inference", "learning")
"""What a sample of the records is chosen for."""
S = TypeVar("S", bound=Pair | UnpairedTables | Alone)


@dataclass(frozen=True, eq=False)
class Task(Generic[S]):
    """Tables that are measured, and what was asked.

    Parameters
    ----------
    sides : Pair, UnpairedTables or Alone
        The tables.
    what : Subject
        The release.
    asked : set of str
        Which of `ASKED` somebody wants.
    strangers, population : Table, optional
    others : sequence
        Further releases.
    key, weights, population_size, k, threshold, people, learners, random_state, suda
        As of `audit`.
    tell : callable
        Told what is being done.
    sample : Sample, optional
        The records that attacks, learners and inference see; by default all.
    """

    sides: S
    what: Subject
    asked: frozenset[str]
    strangers: Table | None
    population: Table | None
    others: Sequence[Any]
    key: str | None
    weights: str | None
    population_size: int | None
    k: int | None
    threshold: float
    people: int
    learners: Sequence[str]
    random_state: int
    suda: int | None
    tell: Tell
    sample: Sample | None = None

    @cached_property
    def there(self) -> dict[str, bool]:
        """What figures may need, and whether it is there: what was asked, and what is known."""
        return {
            **{name: name in self.asked for name in ASKED},
            "sensitive columns": bool(self.what.schema.sensitive),
            "other releases": bool(self.others),
            "k": self.k is not None,
            "special uniques": self.suda is not None,
            "altered values": self.sides.plain.risk_model == "linkage",
            "an original": self.sides.original is not None,
            "a fitted method": "attacks" in self.asked and self.what.method is not None,
            "weights": self.sides.original is not None
            and self.weights in self.sides.original.names,
        }

    @property
    def sampled(self) -> Sample | None:
        """The sample, where it is not of all records."""
        return None if self.sample is None or self.sample.whole else self.sample

    @cached_property
    def on_sample(self) -> Task[Any]:
        """The same of the records that were chosen, which no method releases again."""
        if self.sample is None:
            return self
        what = replace(self.what, method=None)
        given: Task[Any] = self
        return replace(given, sides=self.sample.pair, what=what, sample=None)

    @cached_property
    def journalist(self) -> Population | None:
        """The population behind each class, for who does not know who is in the table."""
        return journalist(self.sides.plain, self.population, self.weights)

    @cached_property
    def special(self) -> SpecialUniques | None:
        """The special uniques of the release."""
        return None if self.suda is None else self.special_of(self.sides.plain.released_quasi)

    def special_of(self, quasi: Sequence[ReleasedColumn]) -> SpecialUniques:
        """The special uniques of some columns."""
        return special_uniques(
            [column.codes for column in quasi],
            [column.name for column in quasi],
            size=self.suda or 1,
            progress=self.tell,
        )

    @cached_property
    def refit(self) -> Refit | None:
        """How the release's method releases a part of the people, where it is at hand."""
        method = self.what.method if isinstance(self.sides, Pair) else None
        return None if method is None else refitting(method, self.what.schema)

    @cached_property
    def outside(self) -> list[Outside]:
        """People who took no part: those given, or those left out of releases made again."""
        sides = self.sides
        if isinstance(sides, Alone) or "attacks" not in self.asked:
            return []
        outside = with_strangers(sides)
        if outside or not isinstance(sides, Pair) or self.refit is None or sides.n_rows < FOLDS:
            return outside
        try:
            return list(left_out(sides, self.refit, random_state=self.random_state, tell=self.tell))
        except HedgerowError:  # who measures inference says why
            return []

    @property
    def drawn(self) -> dict[str, Any]:
        """How attacks are tried."""
        return {"people": self.people, "progress": self.tell, "random_state": self.random_state}


@dataclass(frozen=True)
class Figure:
    """One thing that is measured.

    Parameters
    ----------
    gives : str
        Where it stands in an audit; several places with commas, for as many values. What is
        given as "attacks" joins those that are there.
    of : callable
        Measures it of a `Task`.
    needs : tuple of str
        What must be there (`Task.there`); else it is left out.
    says : str
        Told before it.
    beside : bool
        Whether it is measured beside the next one: numpy leaves the interpreter free most of
        the time.
    """

    gives: str
    of: Callable[[Any], Any]
    needs: tuple[str, ...] = ()
    says: str = ""
    beside: bool = False

    def measured(self, task: Task[Any]) -> Any:
        """The figure of a task, of the records that were chosen where people are asked about."""
        return self.of(task.on_sample if set(self.needs) & set(ON_SAMPLE) else task)


def _before(task: Task[Pair] | Task[UnpairedTables]) -> dict[str, Any]:
    whole = task.sides.plain.unchanged
    weighted = task.population is None and task.weights in whole.original.names
    behind = journalist(whole, None, task.weights) if weighted else None
    return unprotected_risk(whole, behind, task.threshold, task.population_size)


def _after(task: Task[Any]) -> dict[str, Any]:
    plain, size = task.sides.plain, task.population_size
    return released_risk(plain, task.journalist, task.threshold, size)


def _before_alone(task: Task[Alone]) -> dict[str, Any]:
    assert task.sides.before is not None
    return unprotected_risk(task.sides.before, None, task.threshold, task.population_size)


def _extremes(task: Task[Pair] | Task[UnpairedTables]) -> dict[str, dict[str, int]]:
    """Columns whose ranges state a value that fewer than k of the records have."""
    found, sides = {}, task.sides.plain
    for own, released in zip(sides.quasi, sides.released_quasi, strict=True):
        ends = list(zip(released.lo.tolist(), released.hi.tolist(), strict=True))
        found[own.name] = rare_ends(own, task.k or 0, released.labels, ends, released.counts)
    return {name: told for name, told in found.items() if told["cells"]}


def _special(task: Task[Any]) -> dict[str, Any]:
    """Special uniques of release and original; the sample's share of the population by its weights."""
    plain, before = task.sides.plain, None
    fraction = FRACTION
    if task.weights is not None and isinstance(plain, Pair):
        stands_for = float(weighted_sizes(plain, task.weights).sum())
        fraction = min(max(plain.n_rows / stands_for, 1e-6), 1 - 1e-6)
    if not isinstance(task.sides, Alone):
        before = summary(task.special_of(plain.unchanged.released_quasi), fraction)
    assert task.special is not None
    return {
        "size": task.suda,
        "fraction": fraction,
        "original": before,
        "release": summary(task.special, fraction),
    }


def _composition(task: Task[Pair]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return composition(task.sides, other_releases(task.sides, task.others, task.key), k=task.k)


def _inference(task: Task[Pair] | Task[UnpairedTables]) -> dict[str, Any]:
    return infer(
        task.sides,
        task.refit,
        learners=task.learners,
        random_state=task.random_state,
        progress=task.tell,
        without=task.outside,
        promises=task.what.plan.promises if task.what.plan else (),
    ).to_dict()


ATTACKED, INFERRED = ("attacks",), ("inference", "sensitive columns")
LEARNT = ("learning", "sensitive columns")
OTHER = Figure("risk.other", lambda t: other_columns(t.sides.released, t.what.schema))
"""What columns without a role tell of every release."""
SPECIAL = Figure("risk.special_uniques", _special, ("special uniques",))
"""How few columns are enough to single records out."""
COMPARED = (
    Figure("utility.distributions", lambda t: distribution_summary(t.sides.plain), beside=True),
    Figure(
        "utility.queries",
        lambda t: query_summary(t.sides.plain, random_state=t.random_state),
        beside=True,
    ),
)
"""Of every release and its original."""
ATTACKS = (
    Figure("attacks", lambda t: regression(t.sides, learners=t.learners, **t.drawn), ATTACKED),
    Figure("attacks, risk.nearest", lambda t: linking(t.sides, **t.drawn), ATTACKED),
)
MEMBERSHIP = Figure("attacks", lambda t: membership(t.outside, **t.drawn), ATTACKED)
INFERENCE = Figure("risk.inference", _inference, INFERRED)
"""Of every release and its original, paired or not."""
SHOWN = (
    Figure("table.extremes", _extremes, ("k",)),
    Figure("pictures.histograms", lambda t: histograms(t.sides.plain)),
)

OF_PAIRS = (
    Figure(
        "per_person", lambda t: per_person(t.sides, t.journalist, t.key, t.special), ("per person",)
    ),
    Figure("risk.original", _before, says="classes, disclosure and utility", beside=True),
    Figure("risk.release", _after, beside=True),
    Figure("utility.loss", lambda t: loss_summary(t.sides, t.k), beside=True),
    Figure("utility.estimates", lambda t: estimates(t.sides, t.weights), ("weights",), beside=True),
    *COMPARED,
    OTHER,
    SPECIAL,
    Figure(
        "risk.linkage",
        lambda t: linkage_summary(
            t.sides, t.what.plan, people=t.people, random_state=t.random_state, tell=t.tell
        ),
        ("altered values",),
    ),
    *ATTACKS,
    Figure(
        "attacks",
        lambda t: predicate_singling_out(t.sides, t.outside, random_state=t.random_state),
        ATTACKED,
        says="predicate singling out",
    ),
    Figure("attacks", lambda t: downcoding(t.sides, **t.drawn), ATTACKED),
    MEMBERSHIP,
    Figure(
        "risk.influence",
        lambda t: influence(t.sides),
        ATTACKED,
        says="which columns give people away",
    ),
    Figure(
        "risk.knows_method",
        lambda t: knows_method(
            t.sides, t.what.method, t.what.plan, random_state=t.random_state, progress=t.tell
        ),
        ("a fitted method",),
        says="what the method refused",
    ),
    Figure(
        "risk.composition, attacks",
        _composition,
        ("other releases",),
        says="what the releases tell together",
    ),
    INFERENCE,
    Figure(
        "utility.learning",
        lambda t: learning(t.sides, random_state=t.random_state, progress=t.tell),
        LEARNT,
    ),
    *SHOWN,
    Figure("shown", lambda t: shown(t.sides)),
)
"""Of a release whose rows are paired with those of its original."""

OF_APART = (
    Figure("risk.original", _before, says="classes, disclosure and utility", beside=True),
    Figure("risk.release", _after, beside=True),
    Figure("utility.loss", lambda t: loss_unpaired(t.sides.plain, t.k), beside=True),
    *COMPARED,
    OTHER,
    SPECIAL,
    *ATTACKS,
    Figure(
        "attacks",
        lambda t: singling_out(t.sides, people=t.people, random_state=t.random_state),
        ATTACKED,
        says="singling out",
    ),
    MEMBERSHIP,
    INFERENCE,
    Figure(
        "utility.learning",
        lambda t: learning_apart(t.sides, random_state=t.random_state, progress=t.tell),
        LEARNT,
    ),
    *SHOWN,
)
"""Of a release and an original whose rows are nobody's, or cannot be paired."""

OF_ONE = (
    Figure("risk.release", _after),
    Figure("risk.original", _before_alone, ("an original",)),
    OTHER,
    SPECIAL,
    Figure("missing", lambda t: [t.sides.missing]),
)
"""Of a release that is compared with nothing."""


@dataclass(frozen=True)
class Case:
    """A kind of tables: what is measured of them, and how the audit names them."""

    figures: tuple[Figure, ...]
    paired: bool
    alone: bool
    control: str
    """Who is asked as control where nobody was given."""


CASES: dict[type, Case] = {
    Pair: Case(OF_PAIRS, True, False, "withheld rows"),
    UnpairedTables: Case(OF_APART, False, False, "nobody"),
    Alone: Case(OF_ONE, False, True, "nobody"),
}


def figures_of(task: Task[Any]) -> dict[str, Any]:
    """Every figure by its place; what was not measured is empty."""
    found: dict[str, Any] = {
        "risk.original": None,
        "risk.release": None,
        "risk.influence": [],
        "risk.knows_method": None,
        "risk.nearest": None,
        "risk.other": None,
        "risk.special_uniques": None,
        "risk.linkage": None,
        "risk.composition": None,
        "risk.inference": None,
        "utility.loss": None,
        "utility.estimates": None,
        "utility.distributions": None,
        "utility.queries": None,
        "utility.learning": [],
        "pictures.histograms": {},
        "table.extremes": {},
        "attacks": [],
        "per_person": None,
        "shown": None,
        "missing": [],
    }
    for figure, value in _measured(task):
        places = figure.gives.split(", ")
        for place, part in zip(places, value if len(places) > 1 else [value], strict=True):
            found[place] = found[place] + part if place == "attacks" else part
    return found


def _measured(task: Task[Any]) -> Iterator[tuple[Figure, Any]]:
    """One figure after the other, or some beside each other."""
    wanted = [f for f in CASES[type(task.sides)].figures if all(task.there[n] for n in f.needs)]
    for beside, figures in groupby(wanted, lambda figure: figure.beside):
        if not beside:
            for figure in figures:
                if figure.says:
                    task.tell(figure.says)
                yield figure, figure.measured(task)
            continue
        several, _ = list(figures), task.journalist  # which more than one of them asks for
        for figure in several:
            if figure.says:
                task.tell(figure.says)
        with ThreadPoolExecutor(2) as pool:
            made = [pool.submit(figure.measured, task) for figure in several]
            yield from zip(several, (each.result() for each in made), strict=True)
