"""Audit a release: a table of figures, each with what it needs and what it gives."""

from __future__ import annotations

import datetime as dt
import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, NotRequired, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..backends.select import remote_engine
from ..columns.table import Table
from ..errors import HedgerowError, ParameterError, PromiseError, UnsupportedError
from ..io.read import read
from ..measures import group
from ..measures.guarantees import Check
from ..measures.sizes import wildcard_sizes
from ..plan import Plan
from ..profiles import Profile, ProfileData
from ..progress import Progress, Tell, telling
from ..release import Release
from ..release.warnings import ExtremeEnds, extremes_in_words, rare_ends
from ..schema import SCHEMA, UNSAID, Schema
from ..texts import refusal, text
from ..validation import (
    DAY,
    FLAG,
    LIST,
    NAMES,
    NUMBER,
    PROGRESS,
    SEED,
    TEXT,
    Kind,
    check_one_of,
    check_share,
    one_of,
    takes,
    whole,
)
from . import column_comparison, file_rules, inference, influence
from .attacks import (
    composition,
    copies,
    downcoding,
    knows_method,
    linking,
    membership,
    most_exposed,
    regression,
    singling_out,
)
from .attacks.linking import linking_attacks
from .attacks.most_exposed import Remake, check_counts, remaking
from .attacks.special_uniques import FRACTION, SpecialUniques, SpecialUniquesData, special_uniques, summary
from .audit_data import Pictures, TableData
from .backend import check_room, holder
from .class_risk import ClassRisk, OtherColumns, Population, journalist, other_columns, released_risk, weighted_sizes
from .column_comparison import Scatter
from .figure import ON_SAMPLE, Definition, Figure
from .learners import LEARNERS, check_learners
from .non_members import FOLDS, Outside, Refit, left_out, read_control, refitting, with_strangers
from .pairing import pair_up, read_unpaired
from .profile_result import FAILS, MEASURED, MEETS, Judged, judged, needs_attacks, unmet
from .released_values import ReleasedColumn, unchanged
from .result import Audit
from .sample import Sample, part_of, sample_of
from .side_by_side import by_units, refuse_units
from .single_records import PerPerson, Shown, example_records, per_person
from .single_table import COMPARED, alone
from .spark_tables import counted, is_clustered, local_copies, put_there
from .subject import (
    Subject,
    Unpaired,
    UnreadCells,
    check_extent,
    check_order,
    not_as_planned,
    planned_groups,
    read_like,
    subject,
)
from .success import AttackData
from .table_pair import Pair, TablePair
from .utility import broken_rules, distributions, loss, models, queries, regressions, units_kept

# how rows count whose quasi-identifiers are all suppressed
SEPARATE, WILDCARD, STRICT = SUPPRESSED = ("separate", "wildcard", "strict")
S = TypeVar("S", bound=TablePair)


@dataclass(frozen=True, eq=False)
class Task(Generic[S]):
    """The tables to measure, and the figures and options that were requested.

    Parameters
    ----------
    sides : TablePair
        The tables; the release as its own original if it is measured alone.
    what : Subject
        The release.
    original : Table, optional
        The original, which the release may be measured without.
    why : str
        Why nothing is compared with the original; "" if it is.
    wanted : set of str
        The optional figures (`ON_SAMPLE` and "per_person") to measure.
    options : mapping
        The options by name, as the audit's JSON has them.
    learners : sequence of str
    strangers, population : Table, optional
    others : sequence
        Further releases.
    report : callable
        Called with each step.
    sample : Sample, optional
        The records that attacks, learners and inference see; by default all.
    remake : callable, optional
        Releases a table in the same way, which attacks on the most exposed people need.
    """

    sides: S
    what: Subject
    original: Table | None
    why: str
    wanted: frozenset[str]
    options: Mapping[str, Any]
    learners: Sequence[str]
    strangers: Table | None
    population: Table | None
    others: Sequence[Any]
    report: Tell
    sample: Sample | None = None
    remake: Remake | None = None

    @property
    def is_compared(self) -> bool:
        """Return whether the release is compared with its original, not measured alone."""
        return not self.why

    @property
    def has_pairs(self) -> bool:
        """Return whether each released row is paired with one of the original; a release alone is a `Pair`, too."""
        return self.is_compared and isinstance(self.sides, Pair)

    @cached_property
    def there(self) -> dict[str, bool]:
        """Return, for each requirement that a figure may have, whether it is met."""
        return {
            **{name: self.is_compared and name in self.wanted for name in (*ON_SAMPLE, "per_person")},
            "an original": self.original is not None,
            "both tables": self.is_compared,
            "pairs": self.has_pairs,
            "no pairs": not isinstance(self.sides, Pair),
            "one table": not self.is_compared,
            "sensitive columns": bool(self.what.schema.sensitive),
            "other releases": bool(self.others),
            "k": self.options["k"] is not None,
            "special uniques": self.options["suda"] is not None,
            "drawn rows": self.in_rows,
            "own rows": self.has_pairs and not self.in_rows,
            "a foreign file": self.is_compared and self.what.plan is None and not self.what.is_private,
            "nobody's rows": self.is_compared and (self.in_rows or self.sides.plain.risk_model == "attacks"),
            "altered values": self.sides.plain.risk_model == "linkage",
            "a fitted method": "attacks" in self.wanted and self.what.method is not None,
            "remakes": self.remake is not None,
            "weights": self.original is not None and self.options["weights"] in self.original.names,
        }

    @property
    def in_rows(self) -> bool:
        """Return whether rows are drawn whole, so that none is a person's."""
        return self.what.guard is not None and self.what.guard.rows

    @property
    def sampled(self) -> Sample | None:
        """Return the sample, or None if all records are measured."""
        return None if self.sample is None or self.sample.whole else self.sample

    @cached_property
    def on_sample(self) -> Task[Any]:
        """Return the same task for the sampled records only, without the method."""
        if self.sample is None:
            return self
        task: Task[Any] = self
        return replace(task, sides=self.sample.pair, what=replace(self.what, method=None), sample=None)

    @cached_property
    def in_groups(self) -> TablePair:
        """Return the tables with the groups that are counted; if rows are drawn and unpaired, those of the original."""
        plain, plan = self.sides.plain, self.what.plan
        if not self.is_compared or plan is None or not plan.in_rows:
            return plain
        groups = planned_groups(plan, plain.original)
        if isinstance(plain, Pair):
            return replace(plain, planned=group([groups.labels[plain.rows]]))
        return replace(plain.unchanged, planned=groups)

    @cached_property
    def journalist(self) -> Population | None:
        """Return the `Population` of the classes, for an intruder who does not know who is in the table."""
        return self.journalist_of(self.sides.plain)

    def journalist_of(self, sides: TablePair) -> Population | None:
        """Return the `Population` of the classes of the given tables."""
        return journalist(sides, self.population, self.options["weights"])

    @cached_property
    def suppressed_rows(self) -> NDArray[np.bool_]:
        """Return the released rows whose quasi-identifiers are all suppressed.

        What is missing in both tables is a value, which others may share; of a release alone nobody can tell.
        """
        if self.is_compared:
            return self.sides.plain.wholly_suppressed
        return np.logical_and.reduce([column.wild[column.codes] for column in self.sides.plain.released_quasi])

    @cached_property
    def wholly_suppressed(self) -> NDArray[np.bool_]:
        """Return the released rows that class risks leave out, because all of their quasi-identifiers are suppressed.

        None where they count as classes of their own ("strict"), or where there are no others.
        """
        rows = self.suppressed_rows
        return rows & (self.options["suppressed"] != STRICT) & ~rows.all()

    @cached_property
    def has_wildcards(self) -> bool:
        """Return whether suppressed cells match anything in class sizes; people who have several rows do not."""
        plain = self.sides.plain
        counts_people = plain.persons is not None and plain.persons.unit is not None
        is_any = any(column.wild[column.codes].any() for column in plain.released_quasi)
        return self.options["suppressed"] == WILDCARD and is_any and not counts_people

    @cached_property
    def special(self) -> SpecialUniques:
        """Return the special uniques of the release."""
        return self.special_of(self.sides.plain.released_quasi)

    def special_of(self, quasi: Sequence[ReleasedColumn]) -> SpecialUniques:
        """Return the special uniques over the given columns."""
        return special_uniques(
            [column.codes for column in quasi],
            [column.name for column in quasi],
            size=self.options["suda"],
            progress=self.report,
        )

    @cached_property
    def refit(self) -> Refit | None:
        """Return a function that refits the method on part of the people, if the method is known."""
        what, plan = self.what, self.what.plan
        if what.method is None or not self.has_pairs:
            return None
        guard = None if plan is None else plan.guard
        return refitting(what.method, what.schema, guard, self.options["random_state"], what.units)

    @cached_property
    def non_members(self) -> list[Outside]:
        """Return people who took no part in a release: the control, or people left out when the method is refitted."""
        sides = self.sides
        if not self.is_compared or "attacks" not in self.wanted:
            return []
        outside = with_strangers(sides)
        # with fewer rows than folds one part would be empty
        if outside or not isinstance(sides, Pair) or self.refit is None or sides.n_rows < FOLDS:
            return outside
        try:
            return list(left_out(sides, self.refit, random_state=self.options["random_state"], progress=self.report))
        except HedgerowError:  # the figures of inference say why
            return []

    @cached_property
    def linked(self) -> list[AttackData]:
        """Return the linking attacks on pairs, which are also what judges altered values."""
        assert isinstance(self.sides, Pair)
        return linking_attacks(self.sides, **self.attack_options)

    @property
    def attack_options(self) -> dict[str, Any]:
        """Return the options shared by all attacks."""
        return {"people": self.options["people"], **self.drawing}

    @property
    def seed(self) -> dict[str, Any]:
        """Return the option of steps that draw at random."""
        return {"random_state": self.options["random_state"]}

    @property
    def drawing(self) -> dict[str, Any]:
        """Return the options for the slow steps that draw people at random."""
        return {**self.seed, "progress": self.report}


def _before(task: Task[Any]) -> ClassRisk:
    behind, weights, whole = None, None, task.sides.plain.unchanged
    if task.is_compared:
        weights = task.options["weights"]
    elif task.original is not None:
        whole = alone(Subject(task.original, task.what.schema))
        # texts of an original mean what they say, whatever they mean in a release
        whole = replace(whole, released_quasi=tuple(map(unchanged, whole.quasi)))
    if task.population is None and weights in whole.original.names:
        behind = journalist(whole, None, weights)
    return released_risk(whole, behind, task.options["threshold"], task.options["population_size"])[0]


def _after(task: Task[Any]) -> tuple[ClassRisk, dict[str, Scatter]]:
    sides, rows, matching, totals = task.in_groups, task.wholly_suppressed, None, None
    sizes = task.options["threshold"], task.options["population_size"]
    if sides.planned:
        return released_risk(sides, None, *sizes)
    if task.has_wildcards:
        columns = sides.released_quasi
        every = wildcard_sizes(sides.classes, [c.codes for c in columns], [c.wild[c.codes] for c in columns])
        matching = every[np.unique(sides.classes.labels[~rows])]
    if rows.any():
        # rows without any quasi-identifier are nobody's class: whoever looks for a person finds all of them
        totals = {column.name: column.counts() for column in sides.released_sensitive}
        sides = part_of(sides, np.flatnonzero(~rows))
    population = task.journalist_of(sides) if rows.any() else task.journalist
    return released_risk(sides, population, *sizes, matching, totals)


def _extremes(task: Task[TablePair]) -> dict[str, ExtremeEnds]:
    """Count, for each column, the cells whose range ends at a value shared by fewer than k records."""
    extremes, sides = {}, task.sides.plain
    for column, released in zip(sides.quasi, sides.released_quasi, strict=True):
        ends = list(zip(released.lo.tolist(), released.hi.tolist(), strict=True))
        extremes[column.name] = rare_ends(column, task.options["k"], released.labels, ends, released.counts)
    return {name: extreme for name, extreme in extremes.items() if extreme["cells"]}


def _special(task: Task[Any]) -> SpecialUniquesData:
    """Return the special uniques of release and original, with the sampling fraction that the weights imply."""
    plain, weights, before = task.sides.plain, task.options["weights"], None
    fraction = FRACTION
    if weights is not None and isinstance(plain, Pair):
        stands_for = float(weighted_sizes(plain, weights).sum())
        # DIS divides by the fraction and by its complement: neither may vanish
        fraction = min(max(plain.n_rows / stands_for, 1e-6), 1 - 1e-6)
    if task.is_compared:
        before = summary(task.special_of(plain.unchanged.released_quasi), fraction)
    return {
        "size": task.options["suda"],
        "fraction": fraction,
        "original": before,
        "release": summary(task.special, fraction),
    }


def _per_person(task: Task[Pair]) -> PerPerson:
    special = None if task.options["suda"] is None else task.special
    return per_person(task.sides, task.journalist, task.options["key"], special)


# where the figures that are declared beside their function stand, in the order in which they are measured: those
# that are measured at the same time as the classes, and all others
BESIDE_CLASSES = (loss, queries, distributions)
MODULES = (
    copies,
    regression,
    linking,
    singling_out,
    downcoding,
    membership,
    most_exposed,
    influence,
    file_rules,
    knows_method,
    composition,
    inference,
    models,
    column_comparison,
    regressions,
    broken_rules,
    units_kept,
)
FIGURES: tuple[Figure, ...] = (
    Figure({"per_person": PerPerson | None}, _per_person, needs=("pairs", "per_person")),
    Figure(
        {"risk.original": ClassRisk | None},
        _before,
        needs=("an original",),
        says="classes, disclosure and utility",
        parallel=True,
    ),
    Figure({"risk.release": ClassRisk, "pictures.scatters": Mapping[str, Scatter]}, _after, parallel=True),
    *(replace(figure, parallel=True) for module in BESIDE_CLASSES for figure in module.FIGURES),
    Figure(
        {"risk.other": OtherColumns | None},
        lambda t: other_columns(t.what.table, t.what.schema, t.what.plan and t.what.plan.relations()),
    ),
    Figure({"risk.special_uniques": SpecialUniquesData | None}, _special, needs=("special uniques",)),
    *(figure for module in MODULES for figure in module.FIGURES),
    Figure({"table.extremes": Mapping[str, ExtremeEnds]}, _extremes, needs=("both tables", "k"), empty={}),
    Figure({"shown": Shown | None}, lambda t: example_records(t.sides), needs=("own rows",)),
    Figure({"missing": Sequence[str]}, lambda t: [f"{COMPARED}: {t.why}"], needs=("one table",), empty=[]),
)


def figures_of(task: Task[Any]) -> dict[str, Any]:
    """Measure all figures and return them by place, empty if not measured."""
    values: dict[str, Any] = {"attacks": []}
    for figure in FIGURES:
        values |= {place: copy(figure.empty) for place in figure.gives if place != "attacks"}
    for figure, value in _measured(task):
        for place, part in zip(figure.gives, value if len(figure.gives) > 1 else [value], strict=True):
            values[place] = values[place] + part if place == "attacks" else part
    return values


def _measured(task: Task[Any]) -> Iterator[tuple[Figure, Any]]:
    """Measure the figures, some of them in parallel, and yield each with its value."""
    wanted = [f for f in FIGURES if all(task.there[n] for n in f.needs)]
    for parallel, figures in groupby(wanted, lambda figure: figure.parallel):
        if not parallel:
            for figure in figures:
                if figure.says:
                    task.report(figure.says)
                yield figure, figure.measured(task)
            continue
        several, _ = list(figures), task.journalist  # which more than one of them asks for
        for figure in several:
            if figure.says:
                task.report(figure.says)
        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(figure.measured, task) for figure in several]
            yield from zip(several, (each.result() for each in futures), strict=True)


_TOOL = Kind("a command or a function", lambda value: isinstance(value, str) or PROGRESS.fits(value))


@takes(
    schema=SCHEMA,
    plan=one_of(Plan, "a plan", "such as hr.Plan.load(...)"),
    threshold=NUMBER,
    others=LIST,
    learners=NAMES,
    random_state=SEED,
    **dict.fromkeys(("attacks", "learning", "inference", "paired", "per_person"), FLAG),
    **dict.fromkeys(("key", "weights", "engine"), TEXT),
    **dict.fromkeys(("k", "people", "suda", "sample"), whole(1)),
    population_size=whole(),
    most_exposed=whole(4),
    remake=_TOOL,
    remakes=whole(20),
    date=DAY,
    progress=PROGRESS,
)
def audit(
    original: Any,
    released: Any,
    schema: Schema | None = None,
    *,
    plan: Plan | None = None,
    key: str | None = None,
    paired: bool | None = None,
    attacks: bool = True,
    learning: bool = True,
    inference: bool | None = None,
    control: Any = None,
    others: Sequence[Any] = (),
    population: Any = None,
    weights: str | None = None,
    population_size: int | None = None,
    suda: int | None = None,
    suppressed: str = SEPARATE,
    most_exposed: int | None = None,
    remake: str | Callable[[Any, int], Any] | None = None,
    remakes: int = 100,
    k: int | None = None,
    threshold: float = 0.2,
    people: int = 500,
    learners: Sequence[str] | None = None,
    random_state: int = 0,
    allow_outside: bool = False,
    per_person: bool = False,
    date: str | dt.date | None = None,
    profile: str | Path | Profile | None = None,
    sample: int | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Measure the disclosure and utility of a release.

    This works for any released file, made with Hedgerow or not. If a method alters values (noise,
    swapping, randomized response ...), risk is measured by how often its records are linked with
    their originals, not by classes of equal cells. If the rows stand for no real person (synthetic
    data) or cannot be paired, risk is measured by attacks on people who are in the original, compared
    with the same attacks on people who are not (`control`).

    Memory grows linearly with the rows (about 1.5 KB per row with ten quasi-identifiers), and learners
    are trained on 20,000 distinct rows with at most 62 features per quasi-identifier. A million rows
    with a column of 80,000 values need 2 GB with all attacks (`benchmarks/speed.py attacks`).

    Parameters
    ----------
    original : path, pandas, Polars or Arrow table, DuckDB relation
        The table before protection. Without it (None), or if the released cells cannot be read, only the
        groups of the release are measured, and their disclosure compared with the release's own
        totals. Figures that were not measured are None; `not_measured` in the data gives the reasons.
    released : Release, release folder, path or frame
        The table after protection. A `Release` knows its rows, its schema and its plan; a
        folder contains its plan. Otherwise rows are paired by `key`, by the columns that were
        left unchanged, or by their order if a test confirms it.
    schema : Schema, optional
        The roles of the columns; by default those of the release or its plan.
    plan : Plan, optional
        The plan of a released file, if its cells cannot be read without it.
    key : str, optional
        A column of both tables that numbers the rows.
    paired : bool, optional
        False: never compare rows with their originals. True: refuse tables whose rows cannot be
        paired. By default rows are paired if there is evidence which belong together; a note
        says so if there is none.
    attacks : bool
        Run the regression, linking, singling-out, downcoding and membership attacks.
    learning : bool
        Compare learning from the release with learning from the original.
    inference : bool, optional
        Measure what learners infer about members and strangers (`hedgerow.inference`); by
        default as `attacks`. Strangers are the people of `control`, or people who are left out when the
        method of a `Release` is fitted again on the others.
    control : frame or path, optional
        People who are not in the original, as a control group for the attacks. By default the
        control is the same people with their own rows withheld; if rows are not paired, there is none.
        The membership attack needs such people, or a `Release`, whose method can be fitted again
        without some of its people.
    others : sequence of Release, release folders, paths or frames
        Further releases of the same people, or of some of them, to measure what all of them together
        disclose.
    population : frame or path, optional
        The population that the original was drawn from (journalist risk).
    weights : str, optional
        Column of sampling weights, by default the schema's `weight` (journalist risk without a
        population table): each class's expected risk, by Benedetti and Franconi, population uniques,
        and weighted estimates before and after.
    population_size : int, optional
        Size of the population that the original was drawn from, for population uniques; by
        default the number of rows of the population table, or the sum of the weights.
    suda : int, at least 1, optional
        Find the special uniques of original and release (SUDA2): records that are unique in this many
        quasi-identifiers or fewer. The sampling fraction, for DIS, comes from `weights`, else
        it is .01.
    suppressed : {"separate", "wildcard", "strict"}
        How released rows count whose quasi-identifiers are all suppressed (``*`` or missing): by themselves, left out
        of classes and their risks (as in ARX); as rows that match every class (as in sdcMicro, where any suppressed
        cell matches any value); or as a class of equal rows.
    most_exposed : int, at least 4, optional
        Attack so many of the most exposed people by shadow models: the table is released again and again,
        with and without them. An even number; 20 if only `remake` is given. It takes as long as `remakes` releases.
    remake : str or callable, optional
        The tool that releases a table again, for `most_exposed`: a command in which {in} stands for a CSV file to
        read and {out} for one to write, or a function of an Arrow table and the number of the release that
        returns a frame. By default the method of a `Release`.
    remakes : int, a multiple of 20
        The number of those releases.
    k : int, at least 1, optional
        The required k, for the average class size over k; by default the k that the plan promises.
    threshold : float, in (0, 1]
        Re-identification risk above which a record counts as at risk.
    people : int, at least 1
        How many people each attack is tried on.
    learners : sequence of str, optional
        The learners to attack with: "tree", "gradient boosting", "nearest", "linear".
    random_state : int
        Seed for random queries, descriptions, folds, the intervals of learners and the choice of people to
        attack. The maker of a release cannot know it in advance.
    allow_outside : bool
        Accept released ranges and sets that miss their row's original value.
    per_person : bool
        Also measure each record's disclosure by its group, highest first:
        `Audit.per_person`, which is in no report and no JSON.
    date : str or datetime.date, optional
        The date to print in the report, such as ``2026-01-31``. No clock is read, so the same call
        gives the same report.
    profile : str, path or Profile, optional
        A standard (`Profile.names`, or a TOML file of your own): the audit then says for each criterion
        whether the release meets it. Criteria whose figures are not measured here (attacks, a
        population) are reported as not measured.
    sample : int, at least 1, optional
        Run attacks, learners and inference on about this many records, chosen by a keyed hash of their
        content: whole groups of equal released quasi-identifiers, or single records if values
        were altered. `table` reports the sample. By default all records are used, which a table
        that is read in chunks does not allow.
    engine : {"auto", "memory", "duckdb", "spark"}, default "auto"
        The engine that holds the tables; see `hedgerow.protect`. "duckdb" reads them a few rows at a
        time, "spark" reads files on the executors; the figures are the same. For Spark DataFrames with
        a plan, pairs of rows are counted on the cluster and only codes are transferred. Without a plan,
        both tables are copied once into a private local folder, and read as by "duckdb".
    memory : str or int, optional
        Most memory that "duckdb", or codes from a cluster, may use.
    progress : callable, optional
        Called with a line of text and None before each long step; what it raises
        stops the audit.

    Returns
    -------
    Audit
        `.to_dict()`, `.to_json()`, `.report(path)`; printing it gives a summary.

    Raises
    ------
    InputError, SchemaError
        The tables cannot be paired, columns are missing, or the release holds
        values that no original value could have given.
    ParameterError
        A parameter lies outside its range.

    Examples
    --------
    >>> import pandas as pd
    >>> import hedgerow as hr
    >>> people = pd.DataFrame({"age": [27, 39, 41, 58], "pay": [10, 12, 30, 31]})
    >>> release = people.assign(age=["[27-39]", "[27-39]", "[41-58]", "[41-58]"])
    >>> found = hr.audit(people, release, hr.Schema(quasi=["age"], sensitive=["pay"]),
    ...                  attacks=False, learning=False)
    >>> found.risk["release"]["classes"]["k"]
    2
    """
    check_share("threshold", threshold)
    check_one_of("suppressed", suppressed, SUPPRESSED)
    if learners:
        check_learners(learners)
    if most_exposed is None and remake is not None:
        most_exposed = 20
    if most_exposed is not None:
        check_counts(most_exposed, remakes)
    check_order(original, released)
    standard = None if profile is None else Profile.load(profile)
    by_person = bool(others) or per_person
    if by_person and paired is False:
        raise ParameterError("figures of single people (per_person, --per-person) need rows paired with originals")
    requested: dict[str, Any] = {
        "attacks": attacks,
        "learning": learning,
        "inference": inference,
        "per_person": per_person,
        "others": others,
        "most_exposed": most_exposed,
    }
    report = telling(progress)
    needing_rows, counted_pairs = [name for name, value in requested.items() if value], None
    notes: tuple[str, ...] = ()
    if (there := remote_engine(None, engine)) is not None:
        refuse_whole(needing_rows, sample)
        # opened on the cluster only now, after what cannot be done there was refused
        original, released, plan, notes = put_there(there, original, released, schema, plan, memory)
    if is_clustered(original) or is_clustered(released):
        refuse_whole(needing_rows, sample)
        if key is None and paired is not False:
            report("counting what is on a cluster")
            counted_pairs = counted(original, released, schema, plan, weights, memory)
        if counted_pairs is None:
            report("copying what is on a cluster")
            original, released, schema, plan = local_copies(
                original, released, schema, plan, memory, key is not None or paired is False
            )
        engine = "auto" if there is not None else engine  # the copies say what holds them
    if counted_pairs is None:
        holds = holder(original, released, engine, memory)
        if holds.streams:
            refuse_whole(needing_rows, sample)
        report("pairing the tables")
        what = subject(released, schema, plan, holds)
        original = None if original is None else holds.original(original, what.schema)
        what = what if original is None else read_like(original, what, holds)
        if what.schema.is_long:
            refuse_units(key=key, population=population)
            what, original, control = by_units(what, original, what.schema, control)
        # refused now: running out of memory would come after minutes of work
        check_room(original)
    else:
        original, what = counted_pairs
    what = replace(what, notes=(*what.notes, *notes))
    needing_original = {
        "key": key,
        "paired": by_person or paired,
        "control": control is not None,
        "population": population is not None,
        "most_exposed": most_exposed is not None,
    }
    if original is None and any(needing_original.values()):
        names = ", ".join(name for name, value in needing_original.items() if value)
        raise ParameterError(f"for {names} you need an original to compare with")
    if original is not None and counted_pairs is None:
        what = replace(what, notes=(*what.notes, *not_as_planned(what, original)))
    strangers, unlike = (None, ()) if control is None else read_control(control, original, what.schema)
    sides, why = _sides(original, what, key, by_person or paired, strangers, allow_outside)
    requested["inference"] = attacks if inference is None else inference
    wanted = frozenset(name for name in (*ON_SAMPLE, "per_person") if requested[name])
    is_tried = bool(wanted.intersection(ON_SAMPLE))
    if why:  # nothing is compared with other people either
        strangers = population = None
    if strangers is not None and isinstance(sides, Pair):
        sides = replace(sides, strangers=sides.people_of(strangers))
    if weights is None and isinstance(sides, Pair):  # else weights are nobody's
        weights = what.schema.weight
        weights = weights if weights in (*what.table.names, *sides.original.names) else None
    if population_size is not None and population_size < sides.plain.n_rows:
        raise ParameterError(f"population_size is {population_size:,}, below {sides.plain.n_rows:,} released records")
    without_control = "withheld rows" if isinstance(sides, Pair) and not why else "nobody"
    parameters = {
        "key": key,
        "threshold": threshold,
        "people": people,
        "random_state": random_state,
        "k": what.k if k is None else k,
        "paired": paired,
        "control": without_control if strangers is None else "other people",
        "others": len(others),
        "population": needing_original["population"],
        "weights": weights,
        "population_size": population_size,
        "suda": suda,
        "suppressed": suppressed,
        "most_exposed": most_exposed,
        "remakes": remakes,
        "sample": sample,
        "allow_outside": allow_outside,
        "profile": None if standard is None else standard.name,
    }
    parameters |= {} if date is None else {"date": str(date)}
    result = _audit(
        Task(
            sides=sides,
            what=what,
            original=original,
            why=why,
            wanted=wanted,
            options=parameters,
            learners=learners or LEARNERS,
            strangers=strangers,
            population=None if population is None else read(population, schema=what.schema),
            others=others,
            report=report,
            sample=_sample(sides, original, why, sample, random_state) if is_tried else None,
            remake=None if most_exposed is None else remaking(remake, what, random_state),
        )
    )
    # where nothing is compared, nobody of the control is asked about
    result.table["notes"] = [*result.table["notes"], *(() if why else unlike)]
    return result if standard is None else replace(result, profile=judged(result.to_dict(), what.table, standard))


# users ask the function for it as well as the class
audit.json_schema = Audit.json_schema  # type: ignore[attr-defined]


def refuse_whole(figures: Sequence[str], sample: int | None) -> None:
    """Raise UnsupportedError if a figure needs all rows in memory, but the table is read in chunks."""
    if whole := [name for name in figures if sample is None or name not in ON_SAMPLE]:
        key = "rows_or_sample" if all(name in ON_SAMPLE for name in whole) else "rows_in_memory"
        raise UnsupportedError(**refusal(key, names=", ".join(whole)))


def _sample(sides: TablePair, original: Table | None, why: str, n: int | None, random_state: int) -> Sample | None:
    """Choose the records to attack; None for all records of a table in memory."""
    streams = original is not None and not original.is_loaded
    if n is None or (n >= sides.plain.n_rows and not streams):
        return None
    if why or not isinstance(sides, Pair):
        raise UnsupportedError(
            "a sample is drawn from rows that are paired with their originals, and these are not paired",
            hint="leave sample out (--sample), or pair them by a key",
        )
    return sample_of(sides, n, random_state)


def _sides(
    original: Any, what: Subject, key: str | None, paired: bool | None, strangers: Table | None, allow_outside: bool
) -> tuple[TablePair, str]:
    """Pair the rows if their order or content allows it; else give the release alone, and why nothing is compared."""
    if original is None:
        return alone(what), "no original was given"
    if paired is False and key is not None:
        raise ParameterError(f"the key {key!r} pairs the rows, and paired=False (--unpaired) forbids it")
    sides: TablePair
    try:
        try:
            if paired is False:
                sides = read_unpaired(original, what, strangers)
            else:
                sides = pair_up(original, what, key=key, allow_outside=allow_outside)
        except Unpaired as error:
            if paired:
                raise
            sides = read_unpaired(original, what, strangers, why=error.message)
        except UnreadCells as error:
            # cells that nobody has, up to half of a column's, are no reason to compare nothing
            is_most = any(2 * sum(cells.values()) > what.table.n_rows for cells in error.cells.values())
            if paired is not None or what.plan is not None or is_most:
                raise
            sides = read_unpaired(original, what, strangers, why=error.message)
    except UnreadCells as error:
        return alone(what), f"{error.message} ({error.hint})"
    check_extent(sides.original, what.schema)
    return sides, ""


def _audit(task: Task[Any]) -> Audit:
    """Measure the figures of a task and return them as an `Audit`."""
    sides, plain, schema = task.sides, task.sides.plain, task.what.schema
    values = figures_of(task)
    extremes = values["table.extremes"]
    # a plan in whose groups rows were drawn, if nothing in the table shows them
    planned = task.in_groups.planned.n_groups if task.in_groups.planned else None
    # which rows were drawn for which group is known of pairs alone
    whose = text("note", "drawn_values" if task.there["pairs"] else "hidden_values")
    table: TableData = {
        "rows": plain.n_rows,
        "counted": "records" if schema.unit is UNSAID and schema.household is None else "people",
        "original_rows": None if task.original is None else task.original.n_rows,
        "strangers": 0 if task.strangers is None else task.strangers.n_rows,
        "paired": task.there["pairs"],
        "alone": not task.is_compared,
        "suppressed": sides.suppressed if task.is_compared else None,
        "wholly_suppressed": int(task.suppressed_rows.sum()),
        "quasi": list(schema.quasi),
        "sensitive": list(schema.sensitive),
        "identifiers": list(schema.identifiers),
        "yardstick": plain.risk_model,
        "planned_groups": planned,
        "sample": task.sampled.to_dict() if task.sampled else None,
        "released_columns": plain.released.names,
        "extremes": extremes,
        "notes": [
            *task.what.notes,
            *plain.notes,
            *([text("note", "planned", groups=planned, values=whose)] if planned else []),
            *([task.sampled.note()] if task.sampled else []),
            *([] if planned else _suppression(task)),
            *(extremes_in_words(n, task.options["k"] or 0, e) for n, e in extremes.items()),
        ],
    }
    if not task.is_compared and task.original is not None:
        table["uncompared"] = task.why.partition(" (")[0]
    if task.what.notes:
        table["altered"] = list(task.what.notes)
    if task.what.is_private:
        table["epsilon"] = task.what.epsilon
    return Audit(
        promises=task.what.plan.promises if task.what.plan else (),
        redrawn=tuple(task.what.guard.relations()) if task.what.guard else (),
        table=table,
        risk=_section("risk", values),
        attacks=values["attacks"],
        utility=_section("utility", values),
        pictures=cast(Pictures, _section("pictures", values)),
        parameters=task.options,
        versions=versions(),
        per_person=values["per_person"],
        shown=values["shown"],
        missing=values["missing"],
    )


def _suppression(task: Task[Any]) -> Iterator[str]:
    """Yield a note on how suppressed rows and cells were counted, if there are any."""
    n, how = int(task.suppressed_rows.sum()), task.options["suppressed"]
    if task.has_wildcards:
        yield text("note", "suppressed_wildcard", rows=n)
    elif n:
        is_separate = how != STRICT and task.wholly_suppressed.any()
        yield text("note", "suppressed_separate" if is_separate else "suppressed_strict", rows=n)


def _places(section: str) -> Iterator[tuple[str, str, Figure]]:
    """Yield the key and the place of each figure in one section of an audit, with the figure."""
    for figure in FIGURES:
        yield from ((p.partition(".")[2], p, figure) for p in figure.gives if p.startswith(f"{section}."))


def figure_types(section: str) -> dict[str, Any]:
    """Return the type of each figure in one section of an audit by its key."""
    kinds = ((key, figure.gives[place], figure.is_listed) for key, place, figure in _places(section))
    return {key: kind if is_listed else NotRequired[kind] for key, kind, is_listed in kinds}


def rows_of_figures() -> list[Definition]:
    """Return how the figures are shown that stand in no other table of a reader."""
    return [row for figure in FIGURES for row in figure.rows]


def _section(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of one section of an audit by their keys, without those that stand there only if measured."""
    listed = ((key, values[place], figure.is_listed) for key, place, figure in _places(name))
    return {key: value for key, value, is_listed in listed if is_listed or value is not None}


def versions() -> dict[str, str]:
    """Return the versions of Hedgerow, Python and the libraries with which the figures were computed."""
    out = {"hedgerow": __version__, "python": platform.python_version()}
    return out | {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}


def models_of(release: Release) -> regressions.Models | None:
    """Return how well regressions on a release hold; None with a second file, or if there are none to fit."""
    original, schema, plan = release.original, release.schema, release.plan
    if plan.recoding.second_file:
        return None
    what = Subject(release.released, schema, plan)
    if is_clustered(release):
        try:
            original, what = counted(original, release, schema, plan) or _copied(release)
        except UnsupportedError:  # too large for this machine
            return None
    return regressions.models(read_unpaired(original, what))


def _copied(release: Release) -> tuple[Table, Subject]:
    """Copy the tables of a release from a cluster to this machine, whose rows need no order."""
    original, released, *_ = local_copies(release.original, release.released, release.schema, release.plan, keyed=True)
    return read(original, schema=release.schema), Subject(read(released), release.schema, release.plan)


def against(release: Release, profile: str | Path | Profile, options: Mapping[str, Any]) -> Judged:
    """Compare a release with a profile, running attacks if the profile needs them."""
    audited = audit_against(release, Profile.load(profile), options)
    assert audited.profile is not None
    return Judged(audited.profile)


def audit_against(release: Release, profile: Profile, options: Mapping[str, Any]) -> Audit:
    """Run the audit that a profile needs; options can add more figures."""
    settings = {"attacks": needs_attacks(profile), "learning": False, "inference": False, **options}
    return audit(release.original, release, profile=profile, **settings)


class ProfileCheck:
    """A check that a release meets a profile, as far as its criteria could be measured.

    Parameters
    ----------
    profile : Profile
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._measured: tuple[Any, ProfileData] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters to store in the plan."""
        return {"profile": self.profile.name, "profile_date": self.profile.date}

    def measure(self, release: Release, audit: Audit | None = None, progress: Progress | None = None) -> ProfileData:
        """Return a release's results on the profile's criteria, from `audit` or measured once per released table."""
        # a release that was drawn again has another table object, and is measured anew
        if audit is not None or self._measured is None or self._measured[0] is not release.released:
            audit = audit or audit_against(release, self.profile, {"progress": progress})
            assert audit.profile is not None
            self._measured = release.released, audit.profile
        return self._measured[1]

    def __call__(self, release: Release) -> Check:
        """Check a release in its current state."""
        result = self.measure(release)
        states = Counter(row["state"] for row in result["criteria"])
        notes = [
            f"{n} {'without a threshold' if state == MEASURED else state}"
            for state, n in states.items()
            if state not in (MEETS, FAILS)
        ]
        faults = unmet(result)
        detail = "; ".join([f"criteria of {self.profile.title} ({self.profile.date})", *notes, *faults])
        return Check(f"profile {self.profile.name}", states[MEETS] + states[FAILS], states[MEETS], not faults, detail)


def bind_profile(
    release: Release, profile: str | Path | Profile, measured: Audit | None = None, progress: Progress | None = None
) -> None:
    """Check that a release meets a profile, and store the check in its plan for later verifications.

    Raises
    ------
    PromiseError
        A criterion that could be measured is not met.
    """
    check = ProfileCheck(Profile.load(profile))
    if broken := unmet(check.measure(release, measured, progress)):
        raise PromiseError("; ".join(broken), hint="nothing was written: choose a stronger method, or another profile")
    if release.plan.parameters.get("profile") != check.profile.name:  # else it is bound already
        release.bind(check, check.parameters)
