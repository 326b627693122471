"""The release plan: frozen records, and their versioned JSON; reading refuses unknown fields and kinds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from os.path import isdir
from pathlib import Path
from typing import Any, ClassVar, Required, TypedDict, cast

from .. import facade
from ..errors import PlanError, SchemaError, UnsupportedError
from ..files import read_text, write_private
from ..notation import Cell
from ..rules import ColumnRule, parse
from ..schema import KINDS, READING, ROLES
from ..validation import PATH, TEXT, takes
from .fields import PRIVATE, Discreet, Vector, plain, public_fields, read, texts

# version 2 is of rows that are drawn by rules and moments of the whole table, 3 of numbers with steps of the calendar
# or between powers of ten
VERSIONS = (1, 2, 3, 4, 5)
# steps of days: the firsts of months and of years; days of the week are -1 to -127, of which Monday is -1, Tuesday -2,
# Wednesday -4 and so on
MONTHS, YEARS = -128.0, -256.0
# no step, and the steps of times that are no powers of ten: a minute, an hour and a day in microseconds
_HOURS = (0.0, 6e7, 3.6e9, 8.64e10)


def width_of(step: float) -> float:
    """Return how far apart multiples of a step are at least; of steps of days, in days."""
    return step if step >= 0 else {MONTHS: 28.0, YEARS: 365.0}.get(step, 1.0)


class Contradiction(ValueError):
    """Error for a record whose fields do not fit together; its message holds no person's value."""


# how a released cell relates to the original it stands for, so that releases can be verified: it is the
# same; it covers it (means by the extent that the plan keeps of their group), and is that of its group;
# the column's map gives it; it is the same or missing; chance or the whole table gives it
UNCHANGED, COVERS, MAPPED, LEFT_OUT, RANDOM = "unchanged", "covers", "mapped", "left-out", "random"


@dataclass(frozen=True)
class PlanColumn(Discreet):
    """A column of the original table, as the plan describes it.

    Parameters
    ----------
    name, role, kind : str
    unit : str
        For dates, "day" or "us" (since 1970); empty otherwise.
    zone : str
        The time zone of a quasi-identifier's time stamps; plan and cells show them in UTC.
    order : tuple of str
        The declared categories of an ordinal column, in their order.
    events : tuple of str
        Declared events of a number, such as "> 200000".
    declared : bool
        Whether somebody declared the kind, which the type of the column need not show.
    """

    # how a released cell relates to its original
    relation: ClassVar[str] = UNCHANGED

    name: str
    role: str
    kind: str
    unit: str = ""
    zone: str = field(default="", kw_only=True)
    order: tuple[str, ...] = field(default=(), kw_only=True)
    events: tuple[str, ...] = field(default=(), kw_only=True)
    declared: bool = field(default=False, kw_only=True)

    @property
    def is_unchanged(self) -> bool:
        """Return whether every cell is certain to be released unchanged."""
        return self.relation == UNCHANGED

    @property
    def in_name_only(self) -> bool:
        """Return whether the column is released unchanged or nearly unchanged."""
        return self.is_unchanged


@dataclass(frozen=True)
class Recoding(Discreet):
    """Base class of a plan's recoding of the quasi-identifiers, with one subclass per type of recoding.

    Subclasses are frozen dataclasses of plain data with a `kind`, by which plan files name them.
    Fields whose metadata is `PRIVATE` contain values taken from the data (thresholds, extents) and
    are left out of `Plan.public`.

    Attributes
    ----------
    applies : bool
        Whether the plan can recode other people; otherwise it holds for one table alone.
    draws : bool
        Whether a secret `Key` decides what becomes of a row.
    second_file : str
        Name, without ending, of the file of a second table that the released one cannot be read
        without; both are files of one kind.
    complete : bool
        Whether a plan of this kind recodes every quasi-identifier.
    """

    kind: ClassVar[str] = ""
    applies: ClassVar[bool] = True
    draws: ClassVar[bool] = False
    second_file: ClassVar[str] = ""
    complete: ClassVar[bool] = False

    def refuse(self) -> UnsupportedError:
        """Return the error that `apply` raises for a plan that holds for only one table."""
        return UnsupportedError(
            f"a plan of the kind {self.kind!r} cannot be applied to other people", hint="protect their table by itself"
        )

    @property
    def risk_model(self) -> str:
        """Return how risk is measured: in "classes" of equal cells, or by "linkage" of altered records."""
        return "classes"

    @property
    def most_changed(self) -> str:
        """Return the phrase that reports put before the column with the greatest loss of detail."""
        return "coarsened most"

    def recoded(self) -> tuple[PlanColumn, ...]:
        """Return the recoded columns, with their kinds in the original table."""
        return getattr(self, "columns", ())

    def relations(self) -> Mapping[str, str]:
        """Return, for each recoded column, how its released cells relate to the original ones."""
        return {column.name: column.relation for column in self.recoded()}

    def meanings(self) -> Mapping[str, tuple[Cell, ...]]:
        """Return, for each recoded column, the original values that its released cells stand for; {} if not known."""
        return {}


@dataclass(frozen=True)
class Recoded(PlanColumn):
    """A quasi-identifier with its released cells, each distinct cell listed once.

    Means and medians are rounded to multiples of `step`; 0 leaves them as they are.
    """

    relation: ClassVar[str] = COVERS

    style: str = "range"
    cells: tuple[Cell, ...] = field(default=(), metadata=PRIVATE)
    step: float = 0.0

    @property
    def silent(self) -> bool:
        """Return whether every cell is suppressed."""
        return bool(self.cells) and all(cell.anything for cell in self.cells)


# fields of a partition that are kept as a `Vector` of a kind of numbers
_WHOLE, _DOUBLES, _FLAGS = ({**PRIVATE, "numbers": kind} for kind in ("i", "d", "?"))


@dataclass(frozen=True)
class Partition(Recoding):
    """A tree of splits, with one released cell for each leaf and column.

    Nodes stand in pre-order, so the left child of node i is i + 1. A node tests
    `columns[split[i]]`: a number or date goes left when it is less than
    `threshold[i]`; a category goes left when it is in `subsets[subset[i]]`,
    otherwise right. A missing number goes left if `missing_left[i]`; missing
    categories stand as None in a subset. Leaves have split -1 and are numbered
    in pre-order; `leaf_cells[column][leaf]` points into that column's cells.
    Leaves with the same entry in `groups` are one group and have the same cells; if
    `groups` is empty, every leaf is a group.
    Node arrays may be given as any sequences; they are kept as `Vector`.
    """

    kind: ClassVar[str] = "partition"
    complete: ClassVar[bool] = True

    columns: tuple[Recoded, ...]
    split: Vector = field(metadata=_WHOLE)
    threshold: Vector = field(metadata=_DOUBLES)
    subset: Vector = field(metadata=_WHOLE)
    missing_left: Vector = field(metadata=_FLAGS)
    right: Vector = field(metadata=_WHOLE)
    subsets: tuple[tuple[str | None, ...], ...] = field(metadata=PRIVATE)
    leaf_cells: tuple[Vector, ...] = field(metadata=PRIVATE)
    groups: Vector = field(default=Vector("i", ()), metadata=_WHOLE)

    def __post_init__(self) -> None:
        super().__post_init__()
        cells = (c if isinstance(c, Vector) else Vector("i", c) for c in self.leaf_cells)
        object.__setattr__(self, "leaf_cells", tuple(cells))

    def meanings(self) -> Mapping[str, tuple[Cell, ...]]:
        """Return the released cells of each column."""
        return {column.name: column.cells for column in self.columns}

    @cached_property
    def n_leaves(self) -> int:
        """Return the number of leaves in the tree."""
        return sum(1 for column in self.split if column < 0)

    @cached_property
    def n_groups(self) -> int:
        """Return the number of groups, which are the leaves if none were joined."""
        return len(set(self.groups)) if len(self.groups) else self.n_leaves

    def check(self) -> None:
        """Raise Contradiction if the arrays contradict each other."""
        n = len(self.split)
        arrays = (self.threshold, self.subset, self.missing_left, self.right)
        if n == 0 or any(len(a) != n for a in arrays):
            raise Contradiction("the node arrays differ in length")
        if len(self.leaf_cells) != len(self.columns) or any(len(c) != self.n_leaves for c in self.leaf_cells):
            raise Contradiction("the leaf cells do not match the leaves")
        by_number = [column.kind in ("numeric", "date") for column in self.columns]
        below = [1] * n  # nodes at and below each; children stand after their parent
        for i in range(n - 1, -1, -1):
            column, right = self.split[i], self.right[i]
            if column < 0:
                continue
            if not (column < len(self.columns) and i + 1 < right < n):
                raise Contradiction("a node points outside the tree")
            # Else a subtree could be reached twice, and a loop of nodes would never end.
            if right != i + 1 + below[i + 1]:
                raise Contradiction("the nodes do not stand in pre-order")
            if by_number[column] and self.subset[i] >= 0:
                raise Contradiction("a node that cuts numbers points to a subset")
            if not by_number[column] and not 0 <= self.subset[i] < len(self.subsets):
                raise Contradiction("a node points to a subset that is not there")
            below[i] = 1 + below[i + 1] + below[right]
        if below[0] != n:
            raise Contradiction("the nodes do not stand in pre-order")
        # NaN alone differs from itself; neither side of a split by it would be defined.
        if any(t != t for t in self.threshold):
            raise Contradiction("a threshold is no number")
        for recoded, cells in zip(self.columns, self.leaf_cells, strict=True):
            if min(cells) < 0 or max(cells) >= len(recoded.cells):
                raise Contradiction("a leaf points to a cell that is not there")
        if len(self.groups):
            if len(self.groups) != self.n_leaves or min(self.groups) < 0:
                raise Contradiction("the groups do not match the leaves")
            cells_of: dict[int, tuple[int, ...]] = {}
            for number, *mine in zip(self.groups, *self.leaf_cells, strict=True):
                # k counts a group as one class, which it is only if its released cells are equal.
                if cells_of.setdefault(number, tuple(mine)) != tuple(mine):
                    raise Contradiction("leaves of one group have different cells")


# how exact values are hidden: each told as its run, or all drawn anew inside each group
RUNS, REDRAW = "runs", "redraw"
# draws of a group after the first, until it is drawn from the whole table
AGAIN = 8
# what keeps a cap: the groups that values are drawn in, or every combination that the file shows as well
CAPPED = GROUPS, FILE = "groups", "file"

_NONE, _NO_DOUBLES = Vector("i", ()), Vector("d", ())


@dataclass(frozen=True)
class GuardedColumn(PlanColumn):
    """A guarded column: the values that may be released, and what each group's draws are made of.

    A column of numbers that is drawn "by moments" has `scores`; any other is drawn by shares.

    Parameters
    ----------
    values : tuple of str, float or None
        The released values in the order of their codes; None, for missing, comes last.
    people : Vector of int
        How many records of the table have each of them.
    cuts : Vector of float
        For numbers: values below ``cuts[i]`` are told as one of ``values[: i + 1]``.
    withheld : int
        Records whose category is released as no value; it is missing for readers of runs, and another one is drawn.
    joined : int
        Records whose category fewer than `Guard.people` people have, and is released as a parent, the rest or missing.
    by_prefix : bool
        Whether such categories are codes, which are released as ``011**`` if that is a released value.
    children, parents : tuples of str
        Such categories of a declared hierarchy, and the parent that each is released as.
    rest : str
        The released value of all other categories; empty without one.
    rest_is_missing : bool
        Whether all other categories are missing.
    scores : Vector of int
        The standardised value of each run, clipped, in 32nds of a standard deviation.
    centre, spread, step : float
        Mean and standard deviation of the clipped column, and the step that the means and standard
        deviations of groups are rounded to.
    weights : Vector of float
        The weight of each distinct score, which the tilts act on.
    moments : Vector of int
        Mean (from `centre`) and standard deviation in steps, two numbers for each distinct pair.
    tilts : Vector of float
        The two parameters a and b of the tilt exp(a z + b z^2) of each pair.
    moved : int
        Groups whose rounded moments no tilt has; they got the nearest that one has.
    pair : Vector of int
        The pair of each group; from the number of pairs on, less that number, the one run of a
        group that is told as it is.
    whole : int
        The pair of the whole table, which groups above a cap are partly drawn from.
    missing : Vector of int
        Records of each group without a value; with classes, of all others than the rest.
    classes : Vector of int
        For moments: the class of each code. A value that many people have is a class by itself, and so is missing, from
        1 on; all others are the rest, 0, which alone is tilted. Empty for one class.
    starts, codes, counts : Vectors of int
        For shares: the codes that occur in each group and their records, group after group; with classes, these.
    smoothed : int
        People of the whole table who are added to the shares of each group; with a rule, people like its own.
    ruled : Vector of int
        The codes (or classes) whose shares follow a rule of the whole table; all others are one. Empty without a rule.
    rule : Vector of int
        The coefficients of that rule, a multinomial logit on the features of people's quasi-identifiers, in 4096ths:
        the constants of all ruled codes, then their slopes, feature after feature.
    follows : str
        The column that this one is drawn from, where both belong together; empty if none.
    begins : Vector of int
        Where a drawn number is told as one of its own: the first record of each piece of the table's sorted numbers.
    ends : Vector of float
        The two numbers that those of each piece lie between.
    steps : Vector of float
        What these numbers are multiples of, the finest first; 0 for any number, below 0 for days of the calendar
        (`MONTHS`). Where the second is less than ten of the first, numbers of the first are no multiples of it.
    stepped : Vector of int
        How many records of the table have numbers of each step, and of no coarser one.
    of_all : Vector of int
        Where the column is one slot of several: how many records of all slots have each of the numbers, in which pieces
        are counted, or how many people have each of the categories in any slot. Empty for `people`.
    n_members : int
        How many columns its categories list the values of, as JSON; 0 for categories of its own.
    style : str
        How days or times are written that the table has as text or whole numbers, as %d.%m.%Y %H:%M; empty for ISO.
    """

    relation: ClassVar[str] = RANDOM

    values: tuple[str | float | None, ...] = field(default=(), metadata=PRIVATE)
    people: Vector = field(default=_NONE, metadata=_WHOLE)
    cuts: Vector = field(default=_NO_DOUBLES, metadata=_DOUBLES)
    withheld: int = field(default=0, metadata=PRIVATE)
    joined: int = field(default=0, metadata={**PRIVATE, "optional": True})
    by_prefix: bool = field(default=False, metadata={"optional": True})
    children: tuple[str, ...] = field(default=(), metadata={**PRIVATE, "optional": True})
    parents: tuple[str, ...] = field(default=(), metadata={**PRIVATE, "optional": True})
    rest: str = field(default="", metadata={"optional": True})
    rest_is_missing: bool = field(default=False, metadata={"optional": True})
    scores: Vector = field(default=_NONE, metadata=_WHOLE)
    centre: float = field(default=0.0, metadata=PRIVATE)
    spread: float = field(default=0.0, metadata=PRIVATE)
    step: float = field(default=0.0, metadata=PRIVATE)
    weights: Vector = field(default=_NO_DOUBLES, metadata=_DOUBLES)
    moments: Vector = field(default=_NONE, metadata=_WHOLE)
    tilts: Vector = field(default=_NO_DOUBLES, metadata=_DOUBLES)
    moved: int = field(default=0, metadata=PRIVATE)
    pair: Vector = field(default=_NONE, metadata=_WHOLE)
    whole: int = field(default=0, metadata=PRIVATE)
    missing: Vector = field(default=_NONE, metadata=_WHOLE)
    starts: Vector = field(default=_NONE, metadata=_WHOLE)
    codes: Vector = field(default=_NONE, metadata=_WHOLE)
    counts: Vector = field(default=_NONE, metadata=_WHOLE)
    smoothed: int = 0
    follows: str = ""
    ruled: Vector = field(default=_NONE, metadata={**_WHOLE, "optional": True})
    rule: Vector = field(default=_NONE, metadata={**_WHOLE, "optional": True})
    begins: Vector = field(default=_NONE, metadata={**_WHOLE, "optional": True})
    ends: Vector = field(default=_NO_DOUBLES, metadata={**_DOUBLES, "optional": True})
    steps: Vector = field(default=_NO_DOUBLES, metadata={**_DOUBLES, "optional": True})
    stepped: Vector = field(default=_NONE, metadata={**_WHOLE, "optional": True})
    classes: Vector = field(default=_NONE, metadata={**_WHOLE, "optional": True})
    of_all: Vector = field(default=_NONE, metadata={**_WHOLE, "optional": True})
    n_members: int = field(default=0, metadata={"optional": True})
    style: str = field(default="", metadata={"optional": True})

    def members(self) -> list[tuple[GuardedColumn, list[int]]]:
        """Return the columns whose values the categories list, each with its code of each category."""
        texts = self.values if self.n_members else ()
        lists = [[None] * self.n_members if text is None else self._listed(str(text)) for text in texts]
        members = []
        for entries in zip(*lists, strict=True):
            some = sorted({entry for entry in entries if entry is not None})
            values = (*some, *[None] * (None in entries))
            people = [0] * len(values)
            for entry, n in zip(entries, self.people, strict=True):
                people[values.index(entry)] += n
            kind = "categorical" if any(isinstance(entry, str) for entry in some) else "numeric"
            member = GuardedColumn(self.name, self.role, kind, values=values, people=Vector("i", people))
            members.append((member, [values.index(entry) for entry in entries]))
        return members

    def _listed(self, text: str) -> list[Any]:
        """Return the values that a category lists: JSON, or digits of slots, the last ones added up."""
        if not text.isdigit():
            return list(json.loads(text))
        digits, n = [*map(int, text)], self.n_members - 1
        return [*digits[:n], sum(digits[n:])]

    @property
    def in_pieces(self) -> Vector:
        """Return how many records have each value, missing not counted, among which pieces are counted."""
        return Vector("i", (self.of_all if len(self.of_all) else self.people)[: self.n_values])

    @property
    def with_category(self) -> Vector:
        """Return how many people have each value, of categories in any slot."""
        return self.people if self.kind in ("numeric", "date") or not len(self.of_all) else self.of_all

    @property
    def by_moments(self) -> bool:
        """Return whether the groups' means and spreads are kept, instead of their shares."""
        return len(self.scores) > 0

    @property
    def has_missing(self) -> bool:
        """Return whether a missing cell may be released."""
        return bool(self.values) and self.values[-1] is None

    @property
    def n_values(self) -> int:
        """Return the number of released values, missing not counted."""
        return len(self.values) - self.has_missing

    def codes_of(self, categories: Iterable[str]) -> list[int]:
        """Return the code of what each category is released as: `n_values` if it is missing, -1 if it is nothing."""
        place = {value: code for code, value in enumerate(self.values[: self.n_values])}
        parent = dict(zip(self.children, self.parents, strict=True))
        rest = self.n_values if self.rest_is_missing else place[self.rest] if self.rest else -1

        def code(category: str) -> int:
            ways = [category, parent.get(category)]
            if self.by_prefix:
                ways += (category[:k] + "*" * (len(category) - k) for k in range(len(category) - 1, 0, -1))
            return next((place[way] for way in ways if way in place), rest)

        return list(map(code, categories))

    def parts(self) -> tuple[GuardedColumn, GuardedColumn]:
        """Return the classes as a column that is drawn by shares, and the rest as one that is drawn by moments."""
        people, rest = [0] * (1 + max(self.classes)), [code for code, number in enumerate(self.classes) if not number]
        for number, n in zip(self.classes, self.people, strict=True):
            people[number] += n
        values, some = tuple(map(float, range(len(people)))), tuple(self.values[code] for code in rest)
        return (
            replace(self, values=values, people=Vector("i", people), scores=_NONE, classes=_NONE),
            replace(self, values=some, people=Vector("i", [self.people[code] for code in rest]), classes=_NONE),
        )

    def check(self) -> None:
        """Raise Contradiction if the fields contradict each other."""
        if None in self.values[:-1] or len(self.people) != len(self.values):
            raise Contradiction("the values of a guarded column and their people differ in number")
        if len(self.children) != len(self.parents) or (self.rest and self.rest not in self.values):
            raise Contradiction("the rare categories of a guarded column do not match its values")
        if self.kind in ("numeric", "date") and len(self.cuts) != max(self.n_values - 1, 0):
            raise Contradiction("a guarded number has one run more than it has cuts")
        classes = sorted(number for number in self.classes if number)
        n_codes = len(classes) + 1 if classes else len(self.values)
        if len(self.classes) and (
            len(self.classes) != len(self.values)
            or classes != list(range(1, n_codes))
            or not (self.by_moments and len(self.starts))
            or (self.has_missing and self.classes[-1] != n_codes - 1)
        ):
            raise Contradiction("the classes of a guarded number do not match its values")
        if self.by_moments and (
            len(self.scores) != (len(self.values) - len(classes) if classes else self.n_values)
            or len(self.weights) != len(set(self.scores))
            or len(self.moments) != len(self.tilts)
            or len(self.pair) != len(self.missing)
            or not 0 <= self.whole < len(self.moments) // 2
            or not all(0 <= at < len(self.moments) // 2 + self.n_values for at in self.pair)
        ):
            raise Contradiction("the moments of a guarded number do not match its runs or groups")
        if len(self.begins) and (
            self.begins[0] != 0
            or not all(a < b for a, b in pairwise([*self.begins, sum(self.in_pieces)]))
            or len(self.of_all) not in (0, len(self.values))
            or len(self.ends) != 2 * len(self.begins)
            or not all(low <= high for low, high in zip(self.ends[::2], self.ends[1::2], strict=True))
            or not 0 < len(self.steps) == len(self.stepped)
        ):
            raise Contradiction("the pieces of a guarded number do not match its records")
        n_ruled = len(self.ruled)
        if (
            (n_ruled > 0) != (len(self.rule) > n_ruled)
            or len(self.rule) % max(n_ruled, 1)
            or not all(0 <= code < n_codes for code in self.ruled)
        ):
            raise Contradiction("the rule of a guarded column does not match the values that it is of")
        if len(self.starts) and (
            self.starts[-1] != len(self.codes)
            or len(self.codes) != len(self.counts)
            or not all(0 <= code < n_codes for code in self.codes)
        ):
            raise Contradiction("the shares of a guarded column do not match its groups")


@dataclass(frozen=True)
class DerivedColumn(Discreet):
    """A guarded column whose released values follow from drawn ones, so that a rule holds.

    Parameters
    ----------
    name : str
    sql : str
        What it equals, such as ``total = rent + food``: released values of other columns and, where its own name stands
        on the right, what was drawn of it. Where that name does not, what was drawn says whether it has a value.
    inside : str
        The column whose drawn categories are lists of values, one of which is that of this column; empty without one.
    place : int
        The place of this column's value in such a list.
    decimals : int
        Of its numbers.
    unit, zone : str
        Of its dates.
    """

    name: str
    sql: str = ""
    inside: str = ""
    place: int = 0
    decimals: int = 0
    unit: str = ""
    zone: str = ""

    @property
    def reads(self) -> list[str]:
        """Return the other columns whose released values it is computed from."""
        return [name for name in parse(self.sql).names if name != self.name] if self.sql else []


@dataclass(frozen=True)
class PlanRule(Discreet):
    """A rule between columns that a release keeps, or is measured by.

    Parameters
    ----------
    sql : str
        A condition; empty for a column that determines another.
    determines : tuple of str
        The column, and the one that it determines; empty for a condition.
    broken : int
        Records of the original that break it: a release that keeps it has no more.
    """

    sql: str = ""
    determines: tuple[str, ...] = ()
    broken: int = field(default=0, metadata=PRIVATE)

    @property
    def rule(self) -> ColumnRule:
        """Return the rule, parsed."""
        return ColumnRule(parse(self.sql) if self.sql else None, self.determines)


@dataclass(frozen=True)
class Guard(Discreet):
    """The way in which the columns of a release hide exact values.

    Parameters
    ----------
    form : {"runs", "redraw"}
        Whether each value is told as its run, or all are drawn anew inside each group.
    people : int
        Fewest people of the table who share a released value.
    columns : tuple of GuardedColumn
    sizes : Vector of int
        Records of each group, in the order of the released quasi-identifiers; empty for runs.
    cells : Vector of int
        Records of each cell that the groups were joined from, group after group; quasi-identifiers
        are drawn in cells. Empty where they are not drawn.
    weights : Vector of float
        The mean sampling weight of each group, which its records get; empty if there are no weights, or
        they are not hidden.
    again : Vector of int
        How often each group was drawn again because it was above a cap: each time a further part,
        1 / `AGAIN`, is drawn from the whole table. One count a group, or (version 2) one a group for each sensitive
        column that follows no other, column after column.
    correlation : Vector of int
        The rank correlations within groups of the columns that follow no other, in hundredths:
        the lower triangle of their matrix, row by row.
    impossible : int
        Rows left with a pair of values that nobody has, though many should.
    moments : int
        How many sums of products of two features the drawn rows were brought near to the table's in.
    cap_on : {"groups", "file"}
        What keeps the promises about sensitive columns besides the groups: nothing, or every combination of one or two
        quasi-identifiers that at least k rows of the file have.
    derived : tuple of DerivedColumn
        The columns that are computed from drawn ones, in the order in which that is done.
    forms : tuple of GuardedColumn
        These columns in the form in which they are drawn; `columns` has them as they are released.
    mended : Vector of int
        Rows with values of other groups, so that rules hold: one number for each bundle of columns. Empty if none has.
    """

    form: str
    people: int
    columns: tuple[GuardedColumn, ...]
    sizes: Vector = field(default=_NONE, metadata=_WHOLE)
    again: Vector = field(default=_NONE, metadata=_WHOLE)
    correlation: Vector = field(default=_NONE, metadata=_WHOLE)
    impossible: int = field(default=0, metadata=PRIVATE)
    cells: Vector = field(default=_NONE, metadata=_WHOLE)
    weights: Vector = field(default=_NO_DOUBLES, metadata={**_DOUBLES, "optional": True})
    moments: int = field(default=0, metadata={**PRIVATE, "optional": True})
    cap_on: str = field(default=GROUPS, metadata={"optional": True})
    derived: tuple[DerivedColumn, ...] = field(default=(), metadata={"optional": True})
    forms: tuple[GuardedColumn, ...] = field(default=(), metadata={"optional": True})
    mended: Vector = field(default=_NONE, metadata={**_WHOLE, "optional": True})

    def as_drawn(self) -> Guard:
        """Return the guard with all columns in the form in which they are drawn."""
        form = {column.name: column for column in self.forms}
        return replace(self, columns=tuple(form.get(column.name, column) for column in self.columns), forms=())

    @property
    def rows(self) -> bool:
        """Return whether quasi-identifiers are drawn too; then rows with equal cells are not a group."""
        return any(column.role == "quasi" for column in self.columns)

    @property
    def version(self) -> int:
        """Return 4 if columns are computed from others, 3 if one has steps of the calendar or of parts of ten, 2 if
        rows follow rules or moments of the table, or each column counts its own draws; otherwise 1.
        """
        if self.derived:
            return 4
        if any(step not in _HOURS and not f"{step:e}".startswith("1.000") for c in self.columns for step in c.steps):
            return 3
        again = len(self.again) > len(self.sizes)
        return 2 if again or self.moments or any(len(c.ruled) or len(c.begins) for c in self.columns) else 1

    def bundles(self) -> dict[str, str]:
        """Return, for each column, the one that follows no other and that it is drawn with."""
        head: dict[str, str] = {}
        for column in self.columns:  # whom others follow come before them
            head[column.name] = head[column.follows] if column.follows else column.name
        return head

    def times_drawn(self) -> dict[str, slice]:
        """Return, for each sensitive column that follows no other, where `again` counts its groups."""
        n, heads = len(self.sizes), [c.name for c in self.columns if c.role == "sensitive" and not c.follows]
        return {name: slice(i * n, i * n + n) if len(self.again) > n else slice(0, n) for i, name in enumerate(heads)}

    def relations(self) -> Mapping[str, str]:
        """Return, for each guarded column, how its released cells relate to the original ones."""
        return dict.fromkeys((c.name for c in self.columns), MAPPED if self.form == RUNS else RANDOM)

    def check(self) -> None:
        """Raise Contradiction if the fields contradict each other."""
        if self.form not in (RUNS, REDRAW) or self.people < 1:
            raise Contradiction("the guard is of an unknown form")
        if self.cap_on not in CAPPED or (self.cap_on == FILE and not self.rows):
            raise Contradiction("a cap on the file is of rows that are drawn")
        heads = sum(not column.follows for column in self.columns)
        if self.form == REDRAW and (
            len(self.again) not in (len(self.sizes), len(self.sizes) * len(self.times_drawn()))
            or len(self.correlation) != heads * (heads + 1) // 2
        ):
            raise Contradiction("the guard does not match its groups or columns")
        if len(self.weights) not in (0, len(self.sizes)):
            raise Contradiction("the mean weights do not match the groups")
        for column in self.columns:
            groups = len(self.cells if column.role == "quasi" else self.sizes)
            if (column.by_moments and len(column.pair) != groups) or (
                len(column.starts) and len(column.starts) != groups + 1
            ):
                raise Contradiction("a guarded column does not match the groups")


# what tells the rows of a unit apart
ORDERS = WAVE, MEMBER, TIME = "wave", "member", "time"
# units of a group who have a row in a slot, with fewer of whom it is judged together with other groups
JUDGED = 6


@dataclass(frozen=True)
class UnitForm(Discreet):
    """The way in which a long table, of several rows a person or household, is one row a unit while it is protected.

    Parameters
    ----------
    unit : str
        The column that identifies units.
    order : {"wave", "member", "time"}
    by : str
        The column of waves, members or times.
    slots : tuple of str
        A label for each place that a row of a unit may have.
    once : tuple of str
        Columns that a unit has once.
    repeated : tuple of str
        Columns with a cell in each slot.
    moving : tuple of str
        Numbers and dates that never fall: a unit's first value, and steps from the slot before that has a row.
    presence : str
        The wide column that says in which slots a unit has a row: "1" or "0" for each slot.
    names : tuple of str
        The columns of the released long table, in their order.
    labelled : int
        How many slots, the first ones, have a value of `by` as their label; the others are numbered.
    step_units : tuple of int
        For each moving column what a step counts: microseconds of times, 1 for the days of dates, 0 for numbers.
    decimals : tuple of int
        For each moving column the decimals of its numbers.
    left_out : int
        Rows of the original without a slot.
    people : int
        The fewest units that decided anything of this.
    schema : str
        The schema of the long table, as TOML.
    """

    unit: str
    order: str
    by: str
    slots: tuple[str, ...]
    once: tuple[str, ...]
    repeated: tuple[str, ...]
    moving: tuple[str, ...]
    presence: str
    names: tuple[str, ...]
    labelled: int = 0
    step_units: tuple[int, ...] = ()
    decimals: tuple[int, ...] = ()
    left_out: int = field(default=0, metadata=PRIVATE)
    people: int = 0
    schema: str = field(default="", metadata=PRIVATE)

    def slots_of(self, column: str) -> range:
        """Return the slots in which the wide table has a column for a column of the long one; none for one a unit."""
        if column in self.moving:
            return range(len(self.slots))
        return range(self.labelled if column == self.by else 0, len(self.slots) if column in self.repeated else 0)

    @cached_property
    def cells(self) -> Mapping[str, tuple[str, int]]:
        """Return the columns of the wide table in their order, each with the long column and the slot it is made from.

        The slot is -1 for columns that a unit has once, and for the presence. Slot 0 of a moving column is its first
        value, and the others are steps.
        """
        wide: dict[str, tuple[str, int]] = {}
        for column in self.names:
            if column == self.by:
                wide[self.presence] = column, -1
            if column in self.once:
                wide[column] = column, -1
            for slot in self.slots_of(column):
                label = f"[{self.slots[slot]}]"
                if column in self.moving:
                    label = f"(step) {label}" if slot else "(first)"
                name = f"{column} {label}"
                while name in wide or name in (*self.names, *self.once, self.presence):
                    name += "'"
                wide[name] = column, slot
        return wide

    @property
    def fewest(self) -> int:
        """Return how many units of a group must have a cell for a promise to be about them alone."""
        return min(self.people, JUDGED)

    @cached_property
    def in_slots(self) -> Mapping[str, tuple[str, int]]:
        """Return the wide columns with a cell in one slot alone, each with the long column and that slot."""
        return {name: (of, i) for name, (of, i) in self.cells.items() if i > 0 or (i == 0 and of in self.repeated)}

    def siblings(self, name: str) -> list[str]:
        """Return the wide columns that are slots of the same long column, the given one among them."""
        of = self.in_slots.get(name, (name, -1))[0]
        return [each for each, (other, _) in self.in_slots.items() if other == of] or [name]

    @cached_property
    def _names_by_cell(self) -> Mapping[tuple[str, int], str]:
        return {cell: name for name, cell in self.cells.items() if name != self.presence}

    def wide_name(self, column: str, slot: int) -> str:
        """Return the wide column of a long column in a slot; the column itself for one that a unit has once."""
        return column if column in self.once else self._names_by_cell[column, slot]

    def has_cell(self, name: str, presence: str | None) -> bool:
        """Return whether a unit whose rows are in the slots of `presence` has a value in a wide column.

        Examples
        --------
        >>> names = ("id", "year", "pay", "age")
        >>> form = UnitForm("id", "wave", "year", ("1", "2", "3"), (), ("pay",), ("age",), "rows", names)
        >>> [form.has_cell(name, "011") for name in ("pay [2]", "age (step) [2]", "age (step) [3]")]
        [True, False, True]
        """
        column, slot = self.cells.get(name, (name, -1))
        if slot < 0:
            return True
        before, here = (presence or "")[:slot], (presence or "")[slot : slot + 1]
        if column in self.moving:
            return "1" in (presence or "") if slot == 0 else here == "1" and "1" in before
        return here == "1"

    def check(self) -> None:
        """Raise Contradiction if the fields contradict each other."""
        columns = (*self.once, *self.repeated, *self.moving)
        if self.order not in ORDERS or not self.slots or not 0 <= self.labelled <= len(self.slots):
            raise Contradiction("the slots of units are of an unknown form")
        if len({*columns}) < len(columns) or not {self.unit, self.by, *self.repeated, *self.moving} <= {*self.names}:
            raise Contradiction("a column of units has no name of its own")
        if not len(self.moving) == len(self.step_units) == len(self.decimals):
            raise Contradiction("the moving columns of units do not say what they count")


class Promise(TypedDict, total=False):
    """A promise as JSON: its kind, and the fields of the guarantee of that kind that are not None.

    Parameters
    ----------
    kind : str
        One of `measures.guarantees.KINDS`; it is always there.
    k : int
        Fewest people of a group, at least 1, of a column of people (`unit`) or of households.
    maximum : float
        The most that a group discloses of a sensitive column, in (0, 1].
    columns : sequence of str
        The sensitive columns that it is about; without it all.
    least : int
        Fewest people who share a combination of columns (`KInCombinations`).
    sets : sequence of sequences of str
        These combinations, column by column.
    """

    kind: Required[str]
    k: int
    least: int
    sets: Sequence[Sequence[str]]
    unit: str
    household: str
    maximum: float
    columns: Sequence[str]


@dataclass(frozen=True)
class Plan:
    """A record of how a table was, or will be, recoded: plain data, without code or key.

    A plan is private: it holds thresholds taken from the data. `public` leaves
    out every field marked private.

    Parameters
    ----------
    method : str
        The class that made the plan, for the reader; never executed.
    parameters : mapping
        Its parameters, as plain JSON values.
    columns : tuple of PlanColumn
        Every column of the original table with its role and kind.
    recoding : Recoding
        The change to the quasi-identifiers.
    promises : tuple of mapping
        The promises that `Release.verify` checks on the released table, e.g.
        ``{"kind": "k_anonymity", "k": 10}``.
    n_rows : int
        Rows of the table the plan was fitted on.
    missing, decimal, encoding
        How a CSV file of such people is read: words for no value, the decimal separator if numbers can
        be read in two ways, and the encoding if it is not UTF-8 (`Schema`).
    weight : str
        The column of sampling weights, used for risks and estimates; empty if there is none, or if
        an older Hedgerow wrote the plan, which did not store it.
    guard : Guard, optional
        How exact values are hidden; None where sensitive columns are released as they are.
    rules : tuple of PlanRule
        Rules between columns that hold in the original: drawn rows keep them.
    units : UnitForm, optional
        The slots of units that have several rows, where these were protected side by side.
    """

    method: str
    parameters: Mapping[str, Any]
    columns: tuple[PlanColumn, ...]
    recoding: Recoding
    promises: tuple[Promise, ...] = ()
    n_rows: int = 0
    missing: tuple[str, ...] = ()
    decimal: str = ""
    encoding: str = ""
    weight: str = ""
    guard: Guard | None = None
    rules: tuple[PlanRule, ...] = ()
    units: UnitForm | None = None

    def __repr__(self) -> str:
        return f"Plan({self.method}, {self.n_rows:,} rows, {len(self.columns)} columns, {len(self.promises)} promises)"

    @property
    def risk_model(self) -> str:
        """Return how risk is measured: in "classes" of equal cells, or by "linkage" of altered records."""
        return "linkage" if self.in_rows else self.recoding.risk_model

    @property
    def version(self) -> int:
        """Return the version of the plan's JSON: 5 of units with several rows, else that of the guard."""
        return 5 if self.units else self.guard.version if self.guard else 1

    @property
    def in_rows(self) -> bool:
        """Return whether all cells are drawn, those of quasi-identifiers included."""
        return self.guard is not None and self.guard.rows

    @property
    def has_mean_weights(self) -> bool:
        """Return whether records get the mean sampling weight of their group."""
        return self.guard is not None and len(self.guard.weights) > 0

    def relations(self) -> Mapping[str, str]:
        """Return, for each changed column, how its released cells relate to the original ones."""
        guarded = {} if self.guard is None else self.guard.relations()
        weights = {self.weight: RANDOM} if self.has_mean_weights else {}
        return {**self.recoding.relations(), **guarded, **weights}

    @property
    def in_name_only(self) -> list[str]:
        """Return the recoded columns that are released unchanged or nearly unchanged, and not drawn."""
        guarded = {} if self.guard is None else self.guard.relations()
        return [c.name for c in self.recoding.recoded() if c.in_name_only and c.name not in guarded]

    def names(self, role: str) -> list[str]:
        """Return the names of the columns that have a role, in table order."""
        return [c.name for c in self.columns if c.role == role]

    @property
    def left_out(self) -> list[str]:
        """Return the names of the columns that are not released: identifiers and undeclared columns."""
        return [c.name for c in self.columns if c.role in ("identifier", "undeclared")]

    def released_as(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return the columns of the released table that have the cells of the given ones, each with these."""
        cells, parts = self.units.cells if self.units else {}, dict[str, list[str]]()
        for name in names:
            parts.setdefault(cells[name][0] if name in cells else name, []).append(name)
        return parts

    @property
    def unit(self) -> str | None:
        """Return the column that identified people, or None if k counts records."""
        return next((p["unit"] for p in self.promises if p.get("unit")), None)

    @property
    def household(self) -> str | None:
        """Return the column that identified households, or None if k does not count households."""
        return next((p["household"] for p in self.promises if p.get("household")), None)

    @property
    def counts(self) -> str:
        """Return what a row stands for, in words: people or households, where somebody said so, or else records."""
        is_known = self.unit or self.household or self.parameters.get("row_is_person")
        if self.units is not None and self.units.order == MEMBER:
            return "households"
        return "people" if is_known else "records"

    def counted(self, n: int) -> str:
        """Return a number of rows with what they stand for, such as "10 people"."""
        return f"{n:,} {self.counts}"

    @property
    def is_order_kept(self) -> bool:
        """Return whether the released rows stand in the order of the input, which may show who is who."""
        return bool(self.parameters.get("keep_order"))

    @property
    def zones(self) -> dict[str, str]:
        """Return the time zone of each recoded column whose cells show times in UTC."""
        recoded = {column.name for column in self.recoding.recoded() if not column.is_unchanged}
        return {c.name: c.zone for c in self.columns if c.zone and c.name in recoded}

    def check(self) -> None:
        """Raise Contradiction if the columns contradict each other or the recoding."""
        roles = {column.name: column.role for column in self.columns}
        if not roles or len(roles) < len(self.columns) or not all(isinstance(n, str) and n for n in roles):
            raise Contradiction("a column has no name of its own")
        for column in self.columns:
            if column.role not in ROLES or column.kind not in KINDS:
                raise Contradiction("a column has an unknown role or kind")
        if self.weight and roles.get(self.weight, "undeclared") in ("identifier", "undeclared"):
            raise Contradiction("its column of sampling weights is not released")
        for promise in self.promises:
            if type(promise.get("kind")) is not str or type(promise.get("k", 0)) is not int:
                raise Contradiction("a promise does not say what it promises")
        recoded = {column.name for column in self.recoding.recoded()}
        if any(roles.get(column.name) != column.role for column in self.recoding.recoded()):
            raise Contradiction("the recoding names a column that the plan does not know by that role")
        if self.guard and any(roles.get(c.name) != c.role for c in (*self.guard.columns, *self.guard.forms)):
            raise Contradiction("the guard names a column that the plan does not know by that role")
        try:
            named = {name for each in self.rules for name in each.rule.names}
            named |= {name for each in self.guard.derived for name in each.reads} if self.guard else set()
        except SchemaError:
            raise Contradiction("a rule cannot be read") from None
        if not named <= roles.keys():
            raise Contradiction("a rule names a column that the plan does not know")
        if self.has_mean_weights and roles.get(self.weight) != "other":
            raise Contradiction("the guard has mean weights, and the plan no weight")
        # A quasi-identifier without a recoding would be released as it is.
        if self.recoding.complete and not set(self.names("quasi")) <= recoded:
            raise Contradiction("a quasi-identifier is not recoded")

    @takes(path=PATH)
    def save(self, path: str | Path) -> None:
        """Write the plan to a JSON file that only its owner can read (mode 0600)."""
        write_private(path, pieces(self))

    @classmethod
    @takes(path=PATH)
    def load(cls, path: str | Path) -> Plan:
        """Read a plan from a file, or from the folder of its release.

        Raises
        ------
        PlanError
            It is malformed, or of an unknown version or kind.
        """
        file = Path(path) / "plan.json" if isdir(path) else Path(path)
        return loads(read_text(file, "the plan", PlanError), str(file))

    def public(self) -> dict[str, Any]:
        """Return the plan as JSON data, without its private fields."""
        # By way of text, so that the result shares nothing with the plan.
        return json.loads(dumps(self, public=True))

    def apply(self, people: Any, *, keep_order: bool = False, unseen: str = "error") -> Any:
        """Apply this plan to the records of other people.

        A plan promises nothing about people it was not fitted on: `verify` decides.
        Rows come in the order of their released content, unless `keep_order` is set.

        Parameters
        ----------
        people : path, pandas, Polars or Arrow table, DuckDB relation
        keep_order : bool, default False
            Leave the rows in the order they came in, which may show who is who. A pandas frame loses its
            index, which may name people: align by position (``.to_numpy()``, ``set_axis(frame.index)``).
        unseen : {"error", "suppress", "count"}, default "error"
            How to treat values outside the plan's ranges and sets, such as an age above all ages that the
            plan was made from: raise PlanError with their number, release them as `*` (numbers: as
            missing), or release them as the plan recodes them and warn with their number.

        Returns
        -------
        the same kind of frame as given (a pyarrow table for a path, a Spark DataFrame for one)

        Raises
        ------
        PlanError
            Cells are not covered, or quasi-identifiers of the plan are missing.
        """
        return facade.apply_plan(self, people, keep_order=keep_order, unseen=unseen).table

    @takes(table=TEXT, dialect=TEXT, create=TEXT, name=TEXT)
    def to_sql(
        self, table: str = "people", dialect: str = "duckdb", *, create: str | None = None, name: str = "release"
    ) -> str:
        """Return SQL that produces the same release in a database: a SELECT, or a CREATE statement around it.

        Parameters
        ----------
        table : str, default "people"
            The name of the table in the database; dots separate schema and table.
        dialect : str, default "duckdb"
            The database, as sqlglot calls it: "duckdb", "spark", "postgres", "snowflake",
            "bigquery" ...
        create : {None, "view", "table"}
            Create something of the SELECT instead: a view recodes whenever it is read, a table
            once, with its rows in the order of their released cells.
        name : str, default "release"
            The name of what is created; dots separate schema and name.

        Raises
        ------
        PlanError
            The dialect is unknown.
        UnsupportedError
            The recoding cannot be written as SQL.
        """
        return facade.to_sql(self, table, dialect, create=create, name=name)

    @takes(released=TEXT, original=TEXT, dialect=TEXT)
    def check_sql(self, released: str = "release", original: str = "people", dialect: str = "duckdb") -> str:
        """Return a SELECT that checks a released table of a database against its original, as `verify` does.

        It gives a row for each check that fails, and none if all hold: released rows that the plan
        does not make of the original, or lacks; cells that the plan does not know, or that do not
        cover their originals; means and shares that are not their group's; groups below k; sensitive
        columns of which a group discloses more than the cap. Columns: ``check_name``,
        ``column_name``, ``faults`` (how many rows, cells or groups) and ``reached``.

        Parameters
        ----------
        released, original : str
            The names of both tables in the database; dots separate schema and table.
        dialect : str, default "duckdb"
            The database, as sqlglot calls it: "duckdb", "spark", "postgres", "snowflake",
            "bigquery" ...

        Raises
        ------
        PlanError
            The dialect is unknown.
        UnsupportedError
            SQL cannot recode so, or cannot check what the plan promises.
        """
        return facade.check_sql(self, released, original, dialect)

    def explain(self) -> str:
        """Return the plan in words: what is released, recoded, dropped and promised."""
        return facade.explain(self)


def dumps(plan: Plan, *, public: bool = False) -> str:
    """Return the plan as JSON text, without private fields if `public`."""
    return "".join(pieces(plan, public=public))


def pieces(plan: Plan, *, public: bool = False) -> Iterator[str]:
    """Yield the text of `dumps` in pieces."""
    data = {
        "hedgerow_plan": plan.version,
        "method": plan.method,
        "parameters": plan.parameters,
        "n_rows": plan.n_rows,
        "columns": plain(plan.columns),
        "promises": plain(plan.promises),
        "recoding": {"kind": plan.recoding.kind, **public_fields(plan.recoding, public=public)},
    }
    reading = {name: plain(getattr(plan, name)) for name in (*READING, "weight")}
    if plan.guard is not None:
        data["guard"] = plan.guard
    if plan.rules:
        data["rules"] = plain(plan.rules)
    if plan.units is not None:
        data["units"] = plan.units
    # What says nothing is left out, so plans of tables without it stay byte for byte.
    data |= {name: value for name, value in reading.items() if value}
    return texts(data, public=public)


def _no_constant(name: str) -> None:
    """Raise ValueError for NaN and Infinity, which JSON does not have."""
    raise ValueError(name)


def parsed(text: str, where: str) -> Any:
    """Return the data in a JSON text; raise PlanError if it is not valid JSON."""
    # Python would accept NaN and Infinity, but no value is below a threshold of NaN. Deeply nested
    # brackets end in a RecursionError.
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise PlanError(f"{where} is not valid JSON") from None


def check_version(data: Any, what: str, versions: Sequence[int], where: str, hint: str) -> None:
    """Raise PlanError if the data are not a Hedgerow plan or model (`what`), or have none of these versions."""
    mark = f"hedgerow_{what}"
    if not isinstance(data, dict) or mark not in data:
        raise PlanError(f"{where} is not a Hedgerow {what}", hint=hint)
    # Refused and not guessed, because another version may mean something else by the same fields.
    if data[mark] not in versions:
        read = " and ".join(filter(None, [", ".join(map(str, versions[:-1])), str(versions[-1])]))
        raise PlanError(f"{where} has version {data[mark]!r}; this Hedgerow reads version {read}")


def loads(text: str, where: str = "the plan") -> Plan:
    """Return the plan in a JSON text; raise PlanError if this version cannot read it."""
    data = parsed(text, where)
    hint = "a plan is the plan.json that `hedgerow protect` writes"
    if isinstance(data, dict) and "hedgerow_private_plan" in data:
        hint = "it makes the rows of its release, which come from no person, and recodes no table"
        raise PlanError(f"{where} is the public plan of a private release", hint=hint)
    check_version(data, "plan", VERSIONS, where, hint)
    try:
        recoding = dict(data["recoding"])
        kind = recoding.pop("kind")
        kinds = {each.kind: each for each in Recoding.__subclasses__()}
        # Only kinds: a name of a class in a file could make it run any code.
        if kind not in kinds:
            listed = ", ".join(sorted(kinds))
            raise PlanError(f"{where} has a recoding of the unknown kind {kind!r}", hint=f"known kinds: {listed}")
        plan = Plan(
            method=read(str, data["method"]),
            parameters=dict(data["parameters"]),
            columns=tuple(read(PlanColumn, column) for column in data["columns"]),
            recoding=read(kinds[kind], recoding),
            promises=tuple(cast(Promise, dict(p)) for p in data["promises"]),
            n_rows=read(int, data["n_rows"]),
            # Fields that say nothing are not written, so the rest may be absent.
            missing=read(tuple[str, ...], data.get("missing", [])),
            decimal=read(str, data.get("decimal", "")),
            encoding=read(str, data.get("encoding", "")),
            weight=read(str, data.get("weight", "")),
            guard=read(Guard, data["guard"]) if "guard" in data else None,
            rules=tuple(read(PlanRule, rule) for rule in data.get("rules", [])),
            units=read(UnitForm, data["units"]) if "units" in data else None,
        )
        plan.check()
        if plan.version != data["hedgerow_plan"]:
            raise Contradiction(f"its records are of version {plan.version}")
        return plan
    # A Contradiction is a ValueError as well, but its own words say more.
    except Contradiction as error:
        raise PlanError(f"{where} is damaged: {error}") from None
    except PlanError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        # Only the kind of error is named: its text might quote a value from the plan.
        raise PlanError(f"{where} is damaged: {type(error).__name__} in its records") from None
