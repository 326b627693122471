"""Guarantees of a release: thresholds on the measures of classes that every group must keep.

A guarantee is stated once, for the methods that keep it, the verification of the release, and its
reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, TypedDict, cast

import numpy as np

from ..errors import ParameterError, PlanError, singular
from ..notation import figure, number, percent
from ..plan.records import Promise
from ..schema import Schema
from ..texts import text
from ..validation import NAMES, check_share
from . import Bools, Classes, Floats, SensitiveCounts
from .class_measures import distinct, entropy_l, equal_distance, frequency_l, ordered_distance, recursive_c
from .disclosure import LARGE, SLACK, Exposed

# sets of columns that a promise lists at most
SETS = 6
# a certainty penalty above which the recoded cells say little
LOST = 0.8


class CheckData(TypedDict):
    """A promise as it was verified: `Check`."""

    name: str
    required: Any
    reached: Any
    holds: bool
    detail: str


@dataclass(frozen=True)
class Check:
    """The result of checking one promise on a table.

    Parameters
    ----------
    name : str
        The name of the promise.
    required, reached : int, float or str
        The promised value and the value in the table.
    holds : bool
    detail : str
        The place where the promise is broken or the value is reached; only columns and counts.
    """

    name: str
    required: Any
    reached: Any
    holds: bool
    detail: str = ""

    def to_json(self) -> CheckData:
        """Return the check as a plain dict."""
        return cast(CheckData, asdict(self) | {"holds": bool(self.holds)})

    @classmethod
    def none(cls, name: str, count: int, words: str) -> Check:
        """Build a check that holds if `count` is 0; otherwise `words` name what was counted."""
        return cls(name, 0, count, count == 0, words if count else "")


# as a plan holds them, or an audit that was read from a file
Promises = Iterable[Promise]
# the guarantees that a plan may promise, by kind
KINDS: dict[str, type[Guarantee]] = {}


@dataclass(frozen=True)
class Guarantee:
    """Base class of the promises about released groups."""

    # the name in a plan
    kind: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):  # else it is a base of others, or another class of a kind that is there
            KINDS[cls.kind] = cls

    @property
    def side(self) -> str:
        """Return the side of the limit on which every group must stay: "at least", "at most" or "below" it."""
        return "at most"

    def promise(self) -> Promise:
        """Return the guarantee as plan data, which `from_promise` reads back."""
        return cast(Promise, {"kind": self.kind, **{k: v for k, v in vars(self).items() if v is not None}})

    def check(self, classes: Classes) -> Check:
        """Check the guarantee on the classes of a released table."""
        raise NotImplementedError

    def holds_in(self, classes: Classes) -> Bools:
        """Return, for each class, whether it satisfies the guarantee; shape (n_groups,)."""
        raise NotImplementedError

    def words(self) -> str:
        """Return the guarantee as a sentence for people who sign or receive the release."""
        return text("promises", self.kind, promise=self)


def from_promise(promise: Mapping[str, object]) -> Guarantee:
    """Return the guarantee that a plan's promise describes; raise PlanError if it is unknown or malformed.

    Examples
    --------
    >>> from_promise({"kind": "k_anonymity", "k": 5})
    KAnonymity(k=5, unit=None, household=None)
    """
    kind = promise.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise PlanError(f"the plan holds a promise of an unknown kind: {kind!r}", hint=f"known: {', '.join(KINDS)}")
    # JSON has lists where guarantees have tuples.
    fields = {k: tuple(v) if isinstance(v, list) else v for k, v in promise.items() if k != "kind"}
    try:
        return KINDS[kind](**fields)
    except (TypeError, ParameterError):
        raise PlanError(f"the plan's promise {kind!r} is damaged") from None


@dataclass(frozen=True)
class KAnonymity(Guarantee):
    """The promise that every group has at least k people (Samarati 2001, Sweeney 2002).

    A record counts as a person, unless a column identifies people: then, from k = 2
    on, no person has more than half of a group's records either.

    Parameters
    ----------
    k : int
        At least 1.
    unit : str, optional
        The column that identifies a person.
    household : str, optional
        The column that identifies people who live together: every group has people of k households too.
    """

    kind: ClassVar[str] = "k_anonymity"
    side: ClassVar[str] = "at least"
    k: int
    unit: str | None = None
    household: str | None = None

    @classmethod
    def from_schema(cls, k: int, schema: Schema) -> KAnonymity:
        """Build the promise from a method's k, with the person and household columns of its schema."""
        return cls(int(k), schema.person, schema.household)

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 1:
            raise ParameterError("k must be a whole number of at least 1")
        for part in ("unit", "household"):
            if not isinstance(getattr(self, part), (str, type(None))):
                raise ParameterError(f"the {part} of k is not the name of a column")

    def holds_in(self, classes: Classes) -> Bools:
        """Return, for each class, whether it has at least k people; shape (n_groups,)."""
        return classes.people >= self.k

    def check(self, classes: Classes) -> Check:
        """Check that the smallest group has at least k people."""
        counts = (self.unit, classes.persons), (self.household, classes.households)
        # Without the column of people nobody can say how many a group has.
        if lacking := [repr(name) for name, sizes in counts if name is not None and sizes is None]:
            why = f"nothing tells the people of {', '.join(lacking)}"
            return Check("k-anonymity", self.k, "not measured", False, why)
        people = classes.people
        small = int(np.count_nonzero(people < self.k))
        reached = int(people.min()) if len(people) else 0
        if small:
            detail = singular(f"{small:,} of {len(people):,} groups are smaller")
            detail += ", or one person has more than half of their records" if self.unit else ""
        else:
            named = {"people": self.unit, "households": self.household}
            by = [f"{who} by {name!r}" for who, name in named.items() if name]
            detail = ", ".join([singular(f"{len(people):,} groups"), *by])
        return Check("k-anonymity", self.k, reached, reached >= self.k, detail)

    def words(self) -> str:
        """Return the promise as a sentence."""
        shared = f"every combination of released quasi-identifier values is shared by at least {self.k:,}"
        homes = f" of {self.k:,} households (told apart by {self.household})"
        homes = homes if self.household is not None else ""
        if self.unit is None:
            return f"{shared} {'people' if homes else 'records'}{homes}"
        half = ", none of whom has more than half of its records" if self.k > 1 else ""
        return f"{shared} people (told apart by {self.unit}){homes}{half}"


@dataclass(frozen=True)
class KInCombinations(Guarantee):
    """The promise that every combination of values in certain sets of columns belongs to several people.

    Of all quasi-identifiers together it promises nothing.

    Parameters
    ----------
    least : int
        Fewest people, at least 1; they are counted as `KAnonymity` counts them.
    sets : sequence of sequences of str
        Quasi-identifiers that an intruder may know together.
    unit, household : str, optional
        As in `KAnonymity`.
    """

    kind: ClassVar[str] = "k_in_combinations"
    # the name of its check
    name: ClassVar[str] = "k-anonymity in combinations"
    side: ClassVar[str] = "at least"
    least: int
    sets: Sequence[Sequence[str]]
    unit: str | None = None
    household: str | None = None

    def __post_init__(self) -> None:
        KAnonymity(self.least, self.unit, self.household)
        if not self.sets or not all(NAMES.fits(each) and each for each in self.sets):
            raise ParameterError("k in combinations names no columns")

    def check_in(self, classes_of: Callable[[Sequence[str]], Classes]) -> Check:
        """Check that the smallest group of every set of columns has enough people."""
        whole = KAnonymity(self.least, self.unit, self.household)
        checks = [whole.check(classes_of(each)) for each in self.sets]
        broken = [check for check in checks if not check.holds]
        words = f"{len(broken):,} of {len(checks):,} combinations of columns: {broken[0].detail}" if broken else ""
        worst = broken[0] if broken else min(checks, key=lambda check: check.reached)
        return replace(worst, name=self.name, detail=words or singular(f"{len(checks):,} combinations of columns"))

    def words(self) -> str:
        """Return the promise as a sentence."""
        sizes, several = {len(each) for each in self.sets}, len(self.sets) > SETS
        listed = f"{len(self.sets):,} sets of {min(sizes)}{f' to {max(sizes)}' if len(sizes) > 1 else ''} columns"
        columns = listed if several else "; ".join(", ".join(each) for each in self.sets)
        shared = KAnonymity(self.least, self.unit, self.household).words()
        shared = shared.replace("quasi-identifier values", f"values in {columns}", 1)
        return f"{shared}; of all quasi-identifiers together nothing is promised"


@dataclass(frozen=True)
class Together(Guarantee):
    """The promise that all members of a household are in one group.

    Parameters
    ----------
    household : str
        The column that identifies people who live together.
    """

    kind: ClassVar[str] = "together"
    # the name of its check
    name: ClassVar[str] = "households together"
    household: str

    def __post_init__(self) -> None:
        if not isinstance(self.household, str):
            raise ParameterError("the household is not the name of a column")

    def holds_in(self, classes: Classes) -> Bools:
        """Return True for every class: one class alone cannot show that a household is split."""
        return np.ones(classes.n_groups, np.bool_)

    def check(self, classes: Classes) -> Check:
        """Check that no household has members in several groups."""
        if classes.households is None:
            why = f"nothing tells the people of {self.household!r}"
            return Check(self.name, 0, "not measured", False, why)
        further = int(classes.households.sum()) - classes.n_homes
        return Check.none(self.name, further, "households in a further group")


@dataclass(frozen=True)
class ColumnGuarantee(Guarantee):
    """Base class of the promises about each sensitive column in each group.

    A subclass computes a figure for each group, and sets the limit that no group may cross.
    """

    # the words about groups that break the promise
    broken_words: ClassVar[str] = ""
    # the words about the column that comes nearest to breaking the promise
    worst_words: ClassVar[str] = ""
    title: ClassVar[str] = ""
    # the parameter that says what must be kept
    bound: ClassVar[str] = ""
    columns: tuple[str, ...] | None = field(default=None, kw_only=True)

    @property
    def name(self) -> str:
        """Return the name of the check."""
        return self.title

    @property
    def limit(self) -> float:
        """Return the limit that every group must keep."""
        return getattr(self, self.bound)

    def reached(self, column: SensitiveCounts) -> Floats:
        """Return the figure of every group for one sensitive column; shape (n_groups,)."""
        raise NotImplementedError

    def holds_for(self, column: SensitiveCounts) -> Bools:
        """Return, for each group, whether it keeps the promise, allowing for rounding; shape (n_groups,)."""
        reached = self.reached(column)
        return reached >= self.limit - SLACK if self.side == "at least" else reached <= self.limit + SLACK

    def holds_in(self, classes: Classes) -> Bools:
        """Return, for each class, whether it keeps the promise in every column that the promise covers."""
        good = np.ones(classes.n_groups, np.bool_)
        for name in self.columns or classes.sensitive:
            column = classes.sensitive[name]
            (holds,) = column.judged.per_class(self.holds_for)
            good &= np.append(holds, True)[column.judged_as] if column.fewest else holds
        return good

    def check(self, classes: Classes) -> Check:
        """Check the promise in all groups, and report the column that comes nearest to the limit or breaks it most."""
        worst, where, broken = self.limit, "", 0
        worst_of = np.min if self.side == "at least" else np.max
        names = self.columns or tuple(classes.sensitive)
        if lacking := [name for name in names if name not in classes.sensitive]:
            why = f"no sensitive column {', '.join(map(repr, lacking))}"
            return Check(self.name, self.limit, "not measured", False, why)
        for name in names:
            reached, good = classes.sensitive[name].judged.per_class(self.reached, self.holds_for)
            if not len(reached):
                continue
            broken += int(np.count_nonzero(~good))
            in_column = float(worst_of(reached))
            if not where or worst_of([worst, in_column]) != worst:
                worst, where = in_column, name
        detail = f"{self.worst_words} {where!r}" if where else ""
        if broken:
            detail = f"{broken:,} groups {self.broken_words}"
        return Check(self.name, self.limit, worst, broken == 0, detail)

    @property
    def every_column(self) -> str:
        """Return the columns that the promise is about, joined by commas."""
        return ", ".join(self.columns or ()) or "every sensitive column"

    @property
    def any_column(self) -> str:
        """Return the columns that the promise is about, joined by "or"."""
        return " or ".join(self.columns or ()) or "any sensitive column"


@dataclass(frozen=True)
class Disclosure(ColumnGuarantee):
    """The promise that no group discloses more than `maximum` of any sensitive column, by any proper score.

    An intruder forecasts a member's value from the whole table and is wrong by some loss. A
    group's disclosure is the share of that loss which knowing the group's distribution takes
    away: the largest of the squared, ranked and local score for numbers, of ranked and local for
    ordinal columns, the Brier score for categories, and the same for whether a value is
    missing. No record's public loss counts for less than a quarter of the average
    one. The cap is decided exactly, without rounding. A union of groups never discloses more than
    the worse of them.

    Parameters
    ----------
    maximum : float
        In (0, 1]; disclosure is 0 if a group reveals nothing, 1 if it reveals everything.
    columns : tuple of str, optional
        Sensitive columns; all by default.
    """

    kind: ClassVar[str] = "disclosure"
    broken_words: ClassVar[str] = "tell more"
    worst_words: ClassVar[str] = "the most in"
    title: ClassVar[str] = "disclosure"
    bound: ClassVar[str] = "maximum"
    maximum: float

    def __post_init__(self) -> None:
        check_share("max_disclosure", self.maximum)

    def reached(self, column: SensitiveCounts) -> Floats:
        """Return the disclosure of a column in every group; shape (n_groups,)."""
        return column.scores.worst

    def holds_for(self, column: SensitiveCounts) -> Bools:
        """Return, for each group, whether it stays within the cap, decided exactly; shape (n_groups,)."""
        # `reached` is rounded, and a cap is kept or not.
        return ~column.scores.exceeding(self.maximum)


# what every promise of `Disclosure` leaves open
BEYOND = text("unbounded", "beyond")
DIVERSITIES = ("frequency", "distinct", "entropy", "recursive")


@dataclass(frozen=True)
class LDiversity(ColumnGuarantee):
    """The promise that sensitive columns are l-diverse (Machanavajjhala et al. 2006).

    A missing value counts as a value like any other.

    Parameters
    ----------
    l : float
        At least 1.
    diversity : {"frequency", "distinct", "entropy", "recursive"}
        The largest share is at most 1/l; at least l distinct values; the
        entropy is at least log l; r1 < c (rl + ... + rm).
    c : float
        The constant c of "recursive".
    columns : tuple of str, optional
        Sensitive columns. By default all of them; with MART, Mondrian and Hedge all that are not numeric.
    """

    kind: ClassVar[str] = "l_diversity"
    broken_words: ClassVar[str] = "are less diverse"
    worst_words: ClassVar[str] = "the least in"
    l: float
    diversity: str = "entropy"
    c: float | None = None

    def __post_init__(self) -> None:
        if self.diversity not in DIVERSITIES:
            raise ParameterError(f"diversity must be one of {', '.join(DIVERSITIES)}")
        if not self.l >= 1:
            raise ParameterError("l must be at least 1")
        if (self.diversity == "recursive") != (self.c is not None):
            raise ParameterError("c belongs to recursive (c, l)-diversity, and only to it")

    @property
    def name(self) -> str:
        """Return the name of the check, including the type of diversity."""
        return f"{self.diversity} l-diversity"

    @property
    def limit(self) -> float:
        """Return the l that every group must reach; for "recursive", the c that its figure must stay below."""
        return self.l if self.c is None else self.c

    @property
    def side(self) -> str:
        """Return "below" for recursive diversity, otherwise "at least"."""
        return "below" if self.diversity == "recursive" else "at least"

    def reached(self, column: SensitiveCounts) -> Floats:
        """Return the l of every group; for "recursive", the c it needs (infinite if it has fewer than l values)."""
        counts = column.counts
        if self.diversity == "distinct":
            return distinct(counts).astype(float)
        if self.diversity == "recursive":
            return recursive_c(counts, int(self.l))
        return frequency_l(counts) if self.diversity == "frequency" else entropy_l(counts)

    def holds_for(self, column: SensitiveCounts) -> Bools:
        """Return for each group whether it keeps the promise; "recursive" needs r1 < c (rl + ... + rm), strictly."""
        return self.reached(column) < self.limit if self.diversity == "recursive" else super().holds_for(column)

    @property
    def diversity_in_words(self) -> str:
        """Return the type of diversity, with its c if it has one."""
        return self.diversity if self.c is None else f"{self.diversity}, c = {self.c:g}"


@dataclass(frozen=True)
class TCloseness(ColumnGuarantee):
    """The promise that every group's distribution is near the whole table's (t-closeness, Li et al. 2007).

    The distance is the earth mover's: over ranks for numbers and ordinal
    columns ("ordered"), with all values 1 apart for categories ("equal": half the L1 distance).

    Parameters
    ----------
    t : float
        In [0, 1].
    columns : tuple of str, optional
        Sensitive columns; all by default.
    """

    kind: ClassVar[str] = "t_closeness"
    broken_words: ClassVar[str] = "are farther"
    worst_words: ClassVar[str] = "the farthest in"
    title: ClassVar[str] = "t-closeness"
    bound: ClassVar[str] = "t"
    t: float

    def __post_init__(self) -> None:
        check_share("t", self.t, zero=True)

    def reached(self, column: SensitiveCounts) -> Floats:
        """Return the distance of every group from the whole table; shape (n_groups,)."""
        return (ordered_distance if column.is_ordered else equal_distance)(column.counts)


def grouped(risk_model: str, promises: Promises) -> bool:
    """Return whether rows with equal released cells form groups that show their own true sensitive values.

    They do if the release consists of equivalence classes, or if it promises a k above 1
    (microaggregation). Altered records that are equal by chance show other people's values.
    """
    return risk_model == "classes" or any(p["kind"] == KAnonymity.kind and p["k"] > 1 for p in promises)


def cap_of(promises: Promises, name: str | None = None) -> float | None:
    """Return the cap on what a group discloses of one column, or of every column; None if there is none."""
    # A promise that names no columns is about all of them.
    caps = (p for p in promises if p["kind"] == Disclosure.kind)
    return next((p["maximum"] for p in caps if not p.get("columns") or name in p["columns"]), None)


def promised_k(promises: Promises) -> int | None:
    """Return the largest k that a plan promises; None if it promises none."""
    return max((p["k"] for p in promises if "k" in p), default=None)


def column_guarantees(promises: Promises) -> list[ColumnGuarantee]:
    """Return the guarantees of a plan that are about sensitive columns."""
    return [guarantee for guarantee in map(from_promise, promises) if isinstance(guarantee, ColumnGuarantee)]


def unbounded(
    promises: Promises,
    sensitive: Mapping[str, Exposed],
    *,
    records: int,
    alone: int = 0,
    lost: float | None = None,
    linked: float | None = None,
    unchanged: Sequence[str] = (),
    others: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return sentences on disclosure and losses of a release that no promise limits.

    Parameters
    ----------
    promises : iterable of mapping
        The promises of the release's plan.
    sensitive : mapping of str to mapping
        The result of `measures.disclosure.exposed` for each column.
    records, alone : int
        Number of records in the release, and of those with unique quasi-identifiers.
    lost : float, optional
        The normalised certainty penalty.
    linked : float, optional
        The share of people who are linked with their altered record.
    unchanged : sequence of str
        Columns that the method should have altered, but whose cells are all as they were.
    others : mapping, optional
        ``columns`` without a role and the share of records that they leave ``unique``.
    """
    sentences = []
    if unchanged:
        sentences.append(text("unbounded", "unchanged", columns=", ".join(unchanged)))
    if alone:
        sentences.append(text("unbounded", "alone", alone=alone, records=records))
    for name, figures in sensitive.items():
        worst, single = figures["worst"], figures["single_valued"]
        cap = cap_of(promises, name)
        if single:
            # of a cap that holds, a group of one value is no contradiction
            key = "single_valued" if cap is None or worst > cap + SLACK else "single_valued_capped"
            sentences.append(text("unbounded", key, name=name, most=figure(worst), cap=number(cap or 1), **figures))
        # Groups of one value tell more than half as well, and have their own sentence.
        if worst > LARGE + SLACK and figures["over_half"] > single and cap in (None, 1):
            sentences.append(text("unbounded", "over_half", name=name, most=figure(worst), **figures))
    if others and others["unique"] > LARGE:
        columns = ", ".join(others["columns"])
        sentences.append(text("unbounded", "others", share=percent(others["unique"]), columns=columns))
    if lost is not None and lost > LOST:
        sentences.append(text("unbounded", "lost", share=percent(min(lost, 1.0), 0)))
    if linked is not None and linked > LARGE:
        sentences.append(text("unbounded", "linked", share=percent(linked)))
    return sentences
