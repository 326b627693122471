"""Composition: what several releases of the same people disclose together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import fsum
from typing import Annotated, Any, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ...columns.column import Column
from ...columns.table import Table
from ...errors import InputError
from ...io.read import read
from ...json_types import Count, OrNull, Positive, Range, Share
from ...measures import Bools, Counts, Floats, Groups, Ints, SensitiveCounts
from ...release import Release
from ...texts import refusal
from ..backend import Holder
from ..figure import Figure
from ..pairing import pair_up
from ..subject import of_release, plan_of, read_like, subject
from ..success import ATTACKS, AttackData, Rates, attack_record, rate_of
from ..table_pair import Pair, People, by_name, evenly
from ..whole_rows import rows_alike

# most people who are attacked; if there are more, they are picked evenly from the sorted values
MOST_ASKED = 5_000
# most values of people's groups examined in total; with large groups fewer people are attacked
MOST_CELLS = 20_000_000
_BLOCK = 2_000_000


@dataclass(frozen=True, eq=False)
class ReleaseGroups:
    """The groups of one release, and the released row of each person in the original.

    Parameters
    ----------
    name : str
        For a reader.
    labels : Groups
        The groups of the released rows.
    at : int array, shape (n_people,)
        The released row of each row of the original, -1 without one.
    sensitive : mapping of str to Column
        The released sensitive columns, by released row.
    """

    name: str
    labels: Groups
    at: Ints
    sensitive: dict[str, Column]

    @classmethod
    def from_pair(cls, name: str, pair: Pair, rows: Ints, n_people: int) -> ReleaseGroups:
        """Build the groups of a release from a pair; `rows` gives the original row of each released row."""
        at = np.full(n_people, -1)
        at[rows] = np.arange(len(rows))
        return cls(name, pair.value_groups, at, {c.name: c for c in pair.released_sensitive})


def other_releases(pair: Pair, others: Sequence[Any], key: str | None = None) -> list[ReleaseGroups]:
    """Read further releases that cover all or some of the original's people, for `composition`.

    Parameters
    ----------
    pair : Pair
        The release that is audited.
    others : sequence of Release, release folders, paths, frames
        A release or a release folder has its own roles; a plain file takes those of `pair` for
        the columns that it has.
    key : str, optional
        A column that numbers the rows; used for the files that have it.

    Raises
    ------
    InputError
        A release has none of the quasi-identifiers, alters values, is of other people, or its
        rows cannot be paired.
    """
    _check_values(pair, pair, "the release", "leave others (--also) out; ")
    return [_other(pair, other, key, f"other release {i}") for i, other in enumerate(others, 1)]


def _check_values(pair: Pair, other: Pair, name: str, instead: str) -> None:
    """Raise InputError if values were altered or drawn, or if one release has exact values and the other ranges."""
    if other.risk_model == "linkage":
        raise InputError(**refusal("altered", name=name, instead=instead))
    if other.is_drawn:
        raise InputError(
            f"{name} has values that were drawn inside groups, so a value that a group lacks excludes nothing",
            hint="leave others (--also) out",
        )
    if (pair.guard is None) != (other.guard is None):
        raise InputError(
            f"{name} and the audited release do not both tell exact values, or both runs",
            hint="leave it out of others (--also)",
        )


def _other(pair: Pair, other: Any, key: str | None, name: str) -> ReleaseGroups:
    if isinstance(other, Release):
        paired = pair_up(other.original, of_release(other))
        rows = _rows_in(other.original, pair.original, name)[paired.rows]
    else:
        plan, schema = plan_of(other), None
        if plan is None:
            other = read(other)
            measured = {"quasi": pair.schema.quasi, "sensitive": pair.schema.sensitive}
            there = {role: [n for n in names if n in other.names] for role, names in measured.items()}
            schema = pair.schema.replace(**there)
            if not schema.quasi:
                raise InputError(
                    f"{name} has none of the quasi-identifiers",
                    hint="give a release of the same people, or a release folder, which knows its roles",
                )
        what = read_like(pair.original, subject(other, schema, plan), Holder())
        paired = pair_up(pair.original, what, key=key if key in what.table.names else None)
        rows = paired.rows
    _check_values(pair, paired, name, "leave it out of others (--also); ")
    return ReleaseGroups.from_pair(name, paired, rows, pair.original.n_rows)


def _rows_in(part: Table, whole: Table, name: str) -> Ints:
    """Return the row of `whole` that equals each row of `part`; raise InputError if there is none."""
    if part is whole:
        return np.arange(whole.n_rows)
    rows, lost = rows_alike(whole, part)
    if lost:
        raise InputError(
            f"{lost:,} of {part.n_rows:,} people of {name} are not in the original",
            hint="give as original a table that holds the people of all releases",
        )
    return rows


class RemainingDisclosure(TypedDict):
    """The disclosure of a person's value by those that remain possible: the mean, and the worst person."""

    mean: OrNull[float]
    worst: OrNull[float]


class Remaining(TypedDict):
    """The records and values left of each person, on average, by one release or by all together.

    ``records`` and ``values`` that remain possible; shares of people: with fewer than k records left, ``named``: one
    record is left, ``certain``: one value is left.
    """

    release: NotRequired[str]
    people: Count
    records: OrNull[float]
    fewer_than_k: OrNull[Share]
    values: OrNull[float]
    named: OrNull[Share]
    certain: OrNull[Share]
    disclosure: RemainingDisclosure | None


class ComposedColumn(TypedDict):
    """The intersection of several releases on one sensitive column: all together, and each alone."""

    people: Positive
    together: Remaining
    alone: Sequence[Remaining]


class Composition(TypedDict):
    """The intersection of several releases of the same people."""

    releases: Annotated[int, Range(2)]
    k: Positive
    columns: Mapping[str, ComposedColumn]


def composition(
    pair: Pair, others: Sequence[ReleaseGroups], *, k: int | None = None
) -> tuple[Composition, list[AttackData]]:
    """Measure what an intruder learns by intersecting each person's groups over several releases.

    The intruder knows the quasi-identifiers of a person who is in the releases, finds the
    person's group in each release, and keeps the sensitive values that occur in all these groups.
    A value counts as often as in the group where it is rarest.

    Parameters
    ----------
    pair : Pair
        The release that is audited.
    others : sequence of ReleaseGroups
        The other releases.
    k : int, optional
        The smallest number of records that should remain for a person; by default the size of the
        smallest group.

    Returns
    -------
    dict
        For each sensitive column, the remaining values and the disclosure of all releases together, and
        of each release by itself.
    list of dict
        One attack per sensitive column. ``success`` is the share of people for whom only one value
        remains and it is their own; ``public_best`` is the highest such share for a single release;
        ``control`` leaves the person's own record out of every group; ``original`` uses the groups
        of the original.
    """
    audited = ReleaseGroups.from_pair("this release", pair, pair.rows, pair.original.n_rows)
    k = int(pair.value_groups.sizes.min()) if k is None else k
    columns, attacks = {}, []
    # true values are looked for as the release tells them: by their runs, where it has runs
    for column in by_name(pair.as_shown(pair.members).sensitive):
        having = [t for t in (audited, *others) if column.name in t.sensitive]
        if (measured := _column(pair, column, having, k)) is not None:
            columns[column.name], attack = measured
            attacks.append(attack)
    return {"releases": 1 + len(others), "k": k, "columns": columns}, attacks


def _column(
    pair: Pair, column: Column, releases: Sequence[ReleaseGroups], k: int
) -> tuple[ComposedColumn, AttackData] | None:
    """Return one column's figures and attack; None if no two releases have a person in common."""
    groups = [
        _Groups.from_release(t, _value_shown(pair, t.sensitive[column.name]), column, pair.rows) for t in releases
    ]
    shared = np.sum([g.is_member for g in groups], axis=0) > 1
    order = pair.canonical[shared[pair.canonical]]
    if not len(order):
        return None
    cells = np.sum([np.diff(g.counts.indptr)[g.groups[order]] for g in groups], axis=0)
    chosen = evenly(order, int(np.clip(MOST_CELLS / cells.mean(), 100, MOST_ASKED)))
    public = _value_shown(pair, pair.original.declared_column(pair.schema, column.name))
    # block by block: large groups times many people would not fit into memory
    blocks = np.array_split(chosen, max(int(cells.mean() * len(chosen)) // _BLOCK, 1))
    per_release: list[list[dict[str, Any]]] = [[] for _ in range(len(releases) + 1)]
    for people in blocks:
        truth = column.codes[people].astype(np.int64)
        each = [g.remaining(people) for g in groups]
        for several, remaining in zip(per_release, (*each, reduce(_Remaining.and_by, each)), strict=True):
            several.append(_by_person(remaining, public, truth))
    *singly, together = (
        {name: np.concatenate([part[name] for part in several]) for name in several[0]} for several in per_release
    )
    alone: list[Remaining] = [{"release": t.name, **_summary(one, k)} for t, one in zip(releases, singly, strict=True)]
    before = pair.unchanged.classes
    same = before.labels[pair.rows[chosen]]
    distinct = Counts.from_codes(before, public.codes, public.n_values + 1)
    attack = attack_record(
        "composition",
        learner="intersection",
        target=column.name,
        means="one value is left, and it is the person's",
        rates=Rates(
            rate_of(together["certain"]), rate_of(together["withheld"]), rate_of(np.diff(distinct.starts)[same] == 1)
        ),
        public=float(column.n_values == 1),
        best=max(one["certain"] for one in alone),
    )
    return {"people": len(chosen), "together": _summary(together, k), "alone": alone}, attack


def _value_shown(pair: Pair, column: Column) -> Column:
    return pair.as_shown(People((), (column,))).sensitive[0]


@dataclass(frozen=True, eq=False)
class _Groups:
    """The counts of a sensitive column's values in each group of a release, in the original's codes.

    Parameters
    ----------
    counts : sparse int array, shape (n_groups + 1, n_values)
        Records of each group by value; the last group is empty.
    groups, codes : int arrays, shape (n_people,)
        The group of each person (the empty one for people not in the release) and their released value.
    """

    counts: csr_array
    groups: Ints
    codes: Ints

    @classmethod
    def from_release(cls, release: ReleaseGroups, released: Column, column: Column, people: Ints) -> _Groups:
        unknown, n = column.n_values + 1, release.labels.n_groups
        codes = released.codes_in(column, unknown=unknown).astype(np.int64)
        cells = Counts.from_codes(release.labels, codes, unknown + 1)
        starts = np.append(cells.starts, len(cells.counts))
        # one empty group more, for people who are not in the release
        counts = csr_array((cells.counts, cells.values, starts), shape=(n + 1, unknown + 1))
        at = release.at[people]
        return cls(counts, np.where(at >= 0, release.labels.labels[at], n), codes[at])

    @property
    def is_member(self) -> Bools:
        """Return whether each person is in the release; shape (n_people,)."""
        return self.groups < self.counts.shape[0] - 1

    def remaining(self, people: Ints) -> _Remaining:
        """Return the sensitive values that the release leaves possible for the given people."""
        counts, is_member = self.counts[self.groups[people]], self.is_member[people]
        rows = np.flatnonzero(is_member)
        cells = rows, self.codes[people[rows]]
        own_records = csr_array((np.ones(len(rows), np.int64), cells), shape=counts.shape)
        return _Remaining(counts, counts - own_records, is_member)


@dataclass(frozen=True, eq=False)
class _Remaining:
    """The sensitive values still possible for each person, with the number of records of each value.

    Parameters
    ----------
    counts, withheld : sparse int arrays, shape (n_people, n_values)
        Number of records still possible with each value, with and without the person's own record.
    is_member : bool array, shape (n_people,)
        True for people in the release; the counts of all others are empty.
    """

    counts: csr_array
    withheld: csr_array
    is_member: Bools

    def and_by(self, other: _Remaining) -> _Remaining:
        """Return the values that both releases leave possible, each with the smaller of its two counts."""

        def of_both(mine: csr_array, theirs: csr_array) -> csr_array:
            # who is in one release alone keeps what that one leaves: the minimum would leave nothing
            mine_alone = mine.multiply(~other.is_member[:, None])
            return mine.minimum(theirs) + mine_alone + theirs.multiply(~self.is_member[:, None])

        return _Remaining(
            of_both(self.counts, other.counts), of_both(self.withheld, other.withheld), self.is_member | other.is_member
        )


def _by_person(remaining: _Remaining, public: Column, truth: Ints) -> dict[str, npt.NDArray[Any]]:
    """Compare the values still possible for each of the given people with their true values.

    Parameters
    ----------
    remaining : _Remaining
    public : Column
        The original's whole column.
    truth : int array, shape (n_people,)

    Returns
    -------
    dict of arrays, each of shape (n_people,)
        ``is_member``: who is in the release. ``records``, ``values``: how many are left. ``named``:
        the chance that the most frequent value left is the person's; ties share. ``certain``: only
        one value is left and it is the person's; ``withheld``: the same without the person's own
        record. ``disclosure``: of the values left, scored like a group; NaN if none is left.
    """
    n, cells = len(truth), remaining.counts.tocoo()
    who, values, counts = cells.row.astype(np.int64), cells.col.astype(np.int64), cells.data
    right = values == truth[who]

    def per_person(amounts: Any) -> Floats:
        return np.bincount(who, amounts, n).astype(np.float64)

    def certain(records: csr_array) -> Bools:
        first = np.append(records.indices, -1)[records.indptr[:-1]]
        return np.asarray((np.diff(records.indptr) == 1) & (first == truth))

    top = np.zeros(n, np.int64)
    np.maximum.at(top, who, counts)
    first = counts == top[who]
    ties = per_person(first)
    return {
        "is_member": remaining.is_member,
        "records": per_person(counts),
        "values": np.diff(remaining.counts.indptr).astype(np.float64),
        "named": np.divide(per_person(first & right), ties, out=np.zeros(n), where=ties > 0),
        "certain": certain(remaining.counts),
        "withheld": certain(remaining.withheld),
        "disclosure": _disclosure(who, values, counts, public, n),
    }


def _summary(people: Mapping[str, npt.NDArray[Any]], k: int) -> Remaining:
    """Summarise the figures of `_by_person` over the people who are in the release."""
    members = {name: figure[people["is_member"]] for name, figure in people.items()}
    disclosure = people["disclosure"][np.isfinite(people["disclosure"])]
    return {
        "people": len(members["records"]),
        "records": _mean(members["records"]),
        "fewer_than_k": _mean(members["records"] < k),
        "values": _mean(members["values"]),
        "named": _mean(members["named"]),
        "certain": _mean(members["certain"]),
        "disclosure": {"mean": _mean(disclosure), "worst": float(disclosure.max())} if len(disclosure) else None,
    }


def _mean(values: Any) -> float:
    """Return the mean, summed exactly so that its last bit does not depend on the order of people."""
    return fsum(values.tolist()) / max(len(values), 1)


def _disclosure(who: Ints, values: Ints, counts: Ints, public: Column, n_people: int) -> Floats:
    """Return the disclosure of each person's remaining values, scored like a group; NaN if none is left."""
    out = np.full(n_people, np.nan)
    n_values = public.n_values + public.has_missing
    used = values < n_values
    if not used.any():
        return out
    people, groups = np.unique(who[used], return_inverse=True)
    whole = public.counts()[:n_values].astype(np.int64)
    by_person = Counts(groups.astype(np.int64), values[used], counts[used], len(people), n_values, whole)
    scored = SensitiveCounts(public.name, public.kind, public.values, by_person, public.exact, public.events)
    out[people] = scored.scores.worst
    return out


FIGURES = (
    Figure(
        {"risk.composition": Composition | None, **ATTACKS},
        lambda t: composition(t.sides, other_releases(t.sides, t.others, t.options["key"]), k=t.options["k"]),
        needs=("pairs", "other releases"),
        says="what the releases tell together",
    ),
)
