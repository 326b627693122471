"""Find people's rows and values that stand in a file as they were, and how many of these chance explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, pdtrc

from ...columns.table import Table
from ...json_types import Count, Length, OrNull, Positive, Share
from ...measures import Floats, Ints, group
from ...plan import UnitForm
from ...plan.records import MEMBER
from ..design_matrix import Known
from ..figure import Figure
from ..record_distance import Reach
from ..released_values import ReleasedColumn
from ..success import Rate, rate_of, wilson
from ..table_pair import People, TablePair
from ..whole_rows import row_labels

# the part of a column's people, at either end, whose values are looked at by themselves
EXTREME = 0.01
# numbers of equal rows that chance is estimated from
_TERMS = 8
# the estimate's further error, as a share of it: rows that occur often say little of those that occur once
_ROUGH = 0.25
# doubles have no more decimals that say anything
_MOST_DECIMALS = 15
# of released numbers so many must have no more decimals than the original, where few may have some by chance
_MOSTLY = 0.95


def surprise(hits: int, n: int, others: int, m: int) -> float:
    """Return how likely so many hits of n are, if the n are like the m others (Fisher's exact test, one-sided).

    Examples
    --------
    >>> round(surprise(10, 1_000, 0, 990), 3), round(surprise(1, 1, 0, 1), 3)
    (0.001, 0.5)
    """
    from scipy.stats import hypergeom  # scipy.stats takes longer to load than a small table

    return min(1.0, float(hypergeom.sf(hits - 1, n + m, n, hits + others))) if n and hits else 1.0


class EqualRows(TypedDict):
    """Released rows that equal people's, if the released rows are nobody's.

    ``rows``: the share of released rows that are a member's in all measured columns; ``copied``: the number of
    people who have a released row each that equals theirs. Of the people whose row nobody else of their
    table has, ``members`` and ``strangers`` are the shares who equal a released row. ``chance``: the share
    of members that a fresh sample would give (`found_again`), in a larger file at most. ``p_value``: how
    likely ``members`` is by what strangers find, or by the larger of this chance and their share.
    """

    rows: OrNull[Share]
    copied: Count
    members: Share | None
    strangers: Share | None
    chance: Share | None
    p_value: OrNull[Share]


def equal_rows(sides: TablePair, strangers: Table | None) -> EqualRows:
    """Count the released rows that equal a member's, and how many people whose row is alone equal a released row."""
    names = {*sides.schema.quasi, *sides.schema.sensitive}
    counts, released = _row_counts(sides.original, sides.released, names)
    hits, alone = _found_alone(counts, released)
    chance, error = found_again(counts, released)
    by_strangers, p_value, least = None, 1.0, chance
    if strangers is not None:
        others = _found_alone(*_row_counts(strangers, sides.released, names))
        by_strangers, p_value = _share(*others), surprise(hits, alone, *others)
        least = max(chance, by_strangers or 0.0)
    # a few strangers must not hide what chance alone shows
    share = hits / max(alone, 1)
    deviation = (error**2 + share * (1 - share) / max(alone, 1)) ** 0.5
    by_chance = NormalDist().cdf(-(share - least) / deviation) if share > least else 1.0
    return {
        "rows": float(released[counts > 0].sum() / max(int(released.sum()), 1)),
        "copied": int(np.minimum(counts, released).sum()),
        "members": _share(hits, alone),
        "strangers": by_strangers,
        "chance": chance if alone else None,
        "p_value": min(p_value, by_chance),
    }


class FoundCourse(TypedDict):
    """The course of one column over all rows of a unit, or the composition of a household.

    ``alone``: the units who alone have theirs; ``members`` and ``strangers``: the shares of these, and of such units
    who are not in the table, whose own stands in the release.
    """

    alone: Count
    members: Share | None
    strangers: Share | None


def found_by_course(sides: TablePair, form: UnitForm | None, strangers: Table | None) -> dict[str, FoundCourse] | None:
    """Measure who is found by the course of a column over all rows of a unit, or by a household's composition.

    A course is the values in all slots, as somebody knows them who has another record of them: jobs over the years,
    the diagnoses of a patient. A composition is the quasi-identifiers of all members. None for other tables.
    """
    if form is None:
        return None
    columns_of = {name: {form.wide_name(name, slot) for slot in form.slots_of(name)} for name in form.repeated}
    if form.order == MEMBER:
        in_slots = {name for name in sides.schema.quasi if name in form.in_slots}
        columns_of = {"composition": {form.presence, *in_slots}} if in_slots else {}
    courses = {}
    for name, columns in columns_of.items():
        counts, released = _row_counts(sides.original, sides.released, columns)
        hits, alone = _found_alone(counts, released)
        others = None if strangers is None else _share(*_found_alone(*_row_counts(strangers, sides.released, columns)))
        courses[name] = FoundCourse(alone=alone, members=_share(hits, alone), strangers=others)
    return courses


def found_again(counts: Ints, released: Ints) -> tuple[float, float]:
    """Estimate the share of sample uniques whose row would occur in an independent sample.

    Parameters
    ----------
    counts, released : int64 arrays
        The count of each distinct row in the original, and in the release, treated as an independent sample.

    Returns
    -------
    float
        The share 2 N2 / N1 - 3 N3 / N1 + ..., where Ni rows occur i times in the original. If the release is larger
        than the original, this is uncertain: the result is then an upper bound, three standard errors higher but at
        most the share of released rows that are not unique in the release.
    float
        Its standard error.

    References
    ----------
    I. J. Good, G. H. Toulmin (1956), The number of new species, and the increase in population coverage, when a
    sample is increased, Biometrika 43, 45-63; smoothed as by B. Efron, R. Thisted (1976), Biometrika 63, 435-447.

    Examples
    --------
    >>> found_again(np.array([1, 1, 1, 1]), np.array([0, 2, 1, 1]))[0]
    0.0
    """
    part, n = float(released.sum() / counts.sum()), int(released.sum())
    terms = np.arange(1, _TERMS + 1)
    occurring = np.bincount(counts, minlength=_TERMS + 2)[: _TERMS + 2]
    weights = bdtrc(terms - 1, _TERMS, 0.5) * (terms + 1) * min(part, 1.0) ** terms / max(int(occurring[1]), 1)
    share = float(np.clip((-((-1.0) ** terms) * weights) @ occurring[2:], 0.0, 1.0))
    # as if one row more occurred twice: of none at all nothing would be uncertain
    error = float(np.sqrt(weights**2 @ (occurring[2:] + (terms == 1)) + (_ROUGH * share) ** 2))
    if part <= 1:
        return share, error
    share = min(1 - (1 - share) ** part + 3 * error * part, 1 - np.count_nonzero(released == 1) / n)
    return share, (share * (1 - share) / n) ** 0.5


def _row_counts(one: Table, two: Table, names: set[str]) -> tuple[Ints, Ints]:
    """Return how often each distinct row occurs in both tables; values that only the second has share a code."""
    labels, n = row_labels(one, two, names), one.n_rows
    counts = np.bincount(labels[:n], minlength=int(labels.max()) + 1)
    return counts, np.bincount(labels[n:], minlength=len(counts))


def _found_alone(people: Ints, released: Ints) -> tuple[int, int]:
    """Return how many of the people who are alone with their row have an equal released one, and how many are alone."""
    return int(np.count_nonzero((people == 1) & (released > 0))), int(np.count_nonzero(people == 1))


def _share(hits: int, n: int) -> float | None:
    return hits / n if n else None


class CopiedExtremes(TypedDict):
    """The outermost people of a column, whose value nobody else has, and how many are found in the file.

    ``found``: the share of them, ``others``: of all other such people; ``p_value``: how likely that is by chance.
    """

    people: Positive
    found: OrNull[Share]
    others: Share | None
    p_value: OrNull[Share]


class CopiedDecimals(TypedDict):
    """The most decimals of a column's numbers, where the release has more."""

    original: Count
    released: Count


class CopiedValues(TypedDict):
    """Signs that single values were copied into a file whose rows are not paired.

    ``unknown``: rows with cells that no original value explains, where they are more than other people's rare
    values would be. Only columns that show a sign are named.
    """

    extremes: Mapping[str, CopiedExtremes]
    decimals: Mapping[str, CopiedDecimals]
    unknown: Mapping[str, Positive]


def left_as_they_were(sides: TablePair) -> CopiedValues:
    """Return signs that single values were copied into a file that somebody else made.

    Of paired rows decimals alone, where most values are nobody else's: means of groups have decimals, too.
    """
    plain, more = sides.plain, _more_decimals(sides)
    if sides.is_paired:
        return {"extremes": {}, "decimals": more, "unknown": {}}
    extremes = dict[str, CopiedExtremes]()
    cells = (*plain.released_quasi, *plain.sensitive_cells)
    for column in (each for each in cells if each.original.kind == "numeric"):
        visible = column.lo[column.counts > 0][column.lo[column.counts > 0] == column.hi[column.counts > 0]]
        extremes |= {f"{column.name}, {end}": figures for end, figures in _by_end(column, visible)}
    unknown = {column.name: rows for column in cells if (rows := _unexplained(column))}
    return {"extremes": extremes, "decimals": more, "unknown": unknown}


def _more_decimals(sides: TablePair) -> dict[str, CopiedDecimals]:
    """Return the decimals of the numbers that have more of them in the release than in the original."""
    before, after, more = sides.plain.original, sides.plain.released, dict[str, CopiedDecimals]()
    for name in (name for name in before.names if name in after.names):
        if before.kind(name) == after.kind(name) == "numeric":
            column = after.column(name)
            old, new = _decimals(before.column(name).values), _decimals(column.values, _MOSTLY)
            is_shared = sides.is_paired and 2 * column.n_values < column.counts()[:-1].sum()
            if new > old and not is_shared:
                more[name] = {"original": old, "released": new}
    return more


def _by_end(column: ReleasedColumn, visible: Floats) -> Iterator[tuple[str, CopiedExtremes]]:
    """Yield for both ends of a number whether values of the outermost people are shown more often than others'."""
    counts = column.whole.counts()[:-1]
    values, is_alone = np.asarray(column.whole.values), counts == 1
    is_shown, most = np.isin(values, visible), max(1, round(EXTREME * counts.sum()))
    for end, order in (("highest", slice(None, None, -1)), ("lowest", slice(None))):
        is_outer = np.zeros(len(counts), bool)
        is_outer[order] = np.cumsum(counts[order]) <= most
        hits, people, others, rest = (
            int(np.count_nonzero(is_alone & side & which))
            for side in (is_outer, ~is_outer)
            for which in (is_shown, True)
        )
        if people:
            p_value, by_chance = surprise(hits, people, others, rest), _share(others, rest)
            yield end, {"people": people, "found": hits / people, "others": by_chance, "p_value": p_value}


def _decimals(values: npt.NDArray[Any], part: float = 1.0) -> int:
    """Return how many decimals at least a part of the distinct values of a column have at most.

    Examples
    --------
    >>> _decimals(np.array([3.0, 1.25])), _decimals(np.array([10.0, 20.0]))
    (2, 0)
    """
    finite = np.asarray(values, np.float64)
    finite = finite[np.isfinite(finite)]
    fitting = (n for n in range(_MOST_DECIMALS) if (np.round(finite, n) == finite).sum() >= part * len(finite))
    return next(fitting, _MOST_DECIMALS)


def _unexplained(column: ReleasedColumn) -> int:
    """Count the rows with a cell that no value of the original can have given; 0 where chance gives as many.

    As many of other people have such a value as have one that nobody else has (Good and Turing); rows count that
    chance gives once in a thousand times.
    """
    is_empty = np.isnan(column.lo) if column.is_number else np.array([not len(each) for each in column.members])
    rows = int(column.counts[is_empty & ~column.missing & ~column.anything].sum())
    counts = column.whole.counts()[:-1]
    expected = (np.count_nonzero(counts == 1) + 1) * len(column.codes) / max(int(counts.sum()), 1)
    return rows if rows and pdtrc(rows - 1, expected) < 0.001 else 0


# people whose values are looked up to count those whose row they find
LOOKED_UP = 5_000


class FoundColumn(TypedDict):
    """The share of people whose released row is found by their value of a column: it alone may have the value.

    ``control``: the same of strangers, of members without their own row, or by chance (`FoundByValue`).
    """

    role: Literal["sensitive", "other"]
    found: Share
    interval: Annotated[Sequence[Share], Length(2)]
    control: Share | None


Control = Literal["strangers", "other members", "other rows"]


class FoundByValue(TypedDict):
    """People whose released row is found by their value of a sensitive or other column.

    ``together``: by all sensitive values; ``against``: whom the control is.
    """

    columns: Mapping[str, FoundColumn]
    together: FoundColumn | None
    against: Control


def found_by_value(sides: TablePair, released: Table, random_state: int = 0) -> FoundByValue | None:
    """Measure whose released row is found by the values of other columns than the quasi-identifiers.

    A row is found if it alone may have the person's value: equal values, or a range or set that covers it.
    Where rows are paired it must be the person's own.

    Parameters
    ----------
    sides : TablePair
    released : Table
        The release, with columns of any role.
    random_state : int
        Chooses 5,000 people if there are more.

    Returns
    -------
    FoundByValue or None
        None without such columns. The control is the share of strangers whose value fits one row, else that of
        members after their own row is left out; if rows are not paired, that of released rows (or of people, if it is
        larger) whose value exactly one other has, which is what somebody without a row would find.
    """
    cells, schema = sides.sensitive_cells, sides.schema
    people = sides.people if cells else ()
    picked = [each.some(LOOKED_UP, random_state) for each in people]
    fitting = [_fitting(sides, each, rows) for each, rows in zip(people, picked, strict=True)]
    names = [*(column.name for column in cells), "together"]
    columns: dict[str, FoundColumn] = {}
    for j, name in enumerate(names if cells else ()):
        counts, fits_own = fitting[0][:, j].T
        is_found = (counts == 1) & ((fits_own == 1) | (not sides.is_paired))
        control = None
        if len(fitting) > 1:
            control = float((fitting[1][:, j, 0] == 1).mean())
        elif sides.is_paired:
            control = float((counts - fits_own == 1).mean())
        else:
            some = slice(None) if name == "together" else slice(j, j + 1)
            both = ([column.codes for column in each[some]] for each in (cells, sides.members.sensitive))
            control = max(map(_with_one_other, both))
        columns[name] = _found_record("sensitive", rate_of(is_found), control)
    together = columns.pop("together", None)
    for name in sorted(n for n in released.names if schema.role(n) in ("other", "undeclared")):
        counts = released.column(name).counts()
        counts, n = counts[:-1], max(int(counts.sum()), 1)
        # who has a value with one other person is found by that person's value
        columns[name] = _found_record("other", wilson(int((counts == 1).sum()), n), 2 * int((counts == 2).sum()) / n)
    if not columns:
        return None
    against: Control = "strangers" if len(people) > 1 else "other members" if sides.is_paired else "other rows"
    return {"columns": columns, "together": together, "against": against}


def _fitting(sides: TablePair, people: People, picked: Ints) -> Ints:
    """Count the rows that fit people's values, and whether their own does, by column and all together."""
    cells = sides.sensitive_cells
    every = dict.fromkeys(sorted(range(len(cells)), key=lambda j: -cells[j].n_cells), 0.0)
    reach = Reach(cells, np.arange(sides.n_rows))
    # a number is looked up as the run that it is released as
    values, released_values = (each.values_for(cells, picked).columns for each in (people, sides.as_shown(people)))
    people_values = Known(
        tuple(
            number if column.is_number else np.minimum(code, column.original.n_values)
            for column, code, number in zip(cells, values, released_values, strict=True)
        )
    )
    out = np.zeros((len(picked), len(cells) + 1, 2), np.int64)
    for i, person in enumerate(picked.tolist()):
        for j, shares in enumerate([*({j: 0.0} for j in range(len(cells))), every]):
            rows = reach.agreeing(people_values, i, shares)
            if sides.groups is not None:  # who is in which row of a group is not told
                rows = np.flatnonzero(np.isin(sides.groups.labels, sides.groups.labels[rows]))
            out[i, j] = len(rows), np.count_nonzero(rows == person)
    return out


def _with_one_other(codes: Sequence[npt.NDArray[Any]]) -> float:
    """Return the share of rows that are equal to exactly one other row."""
    sizes = group(codes).sizes
    return 2 * int((sizes == 2).sum()) / max(int(sizes.sum()), 1)


def _found_record(role: Literal["sensitive", "other"], rate: Rate, control: float | None) -> FoundColumn:
    return {"role": role, "found": rate.value, "interval": rate.interval, "control": control}


FIGURES = (
    Figure(
        {"risk.found": FoundByValue | None},
        # rows that are nobody's find nobody
        lambda t: None if t.what.is_private else found_by_value(t.sides, t.what.table, **t.seed),
        needs=("both tables",),
    ),
    Figure({"risk.equal": EqualRows | None}, lambda t: equal_rows(t.sides, t.strangers), needs=("nobody's rows",)),
    Figure(
        {"risk.courses": Mapping[str, FoundCourse] | None},
        lambda t: found_by_course(t.sides, t.what.units, t.strangers),
        needs=("nobody's rows",),
    ),
    Figure({"risk.copied": CopiedValues | None}, lambda t: left_as_they_were(t.sides), needs=("a foreign file",)),
)
