"""What every released group must satisfy, stated once for growing, verifying and reporting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .errors import ParameterError, PlanError
from .kernels.exact import moments, scale
from .kernels.group import group_rows
from .table import Column
from .table.encode import encode, kind_of

SLACK = 1e-9
"""Rounding that a check forgives, relative to 1."""


@dataclass(frozen=True)
class Check:
    """One promise, as it was found on a table.

    Parameters
    ----------
    name : str
        What was checked.
    required, reached : int, float or str
        What was promised and what the table has.
    holds : bool
    detail : str
        Where it is reached or broken; columns and counts only.
    """

    name: str
    required: Any
    reached: Any
    holds: bool
    detail: str = ""


@dataclass(frozen=True)
class Classes:
    """Equivalence classes of a released table and its sensitive columns.

    Missing equals missing, strictly: a missing released value only matches
    another missing one.
    """

    group: npt.NDArray[np.uint32]
    n_groups: int
    sensitive: Mapping[str, Column]

    @classmethod
    def of(cls, columns: Sequence[Any], sensitive: Mapping[str, Any]) -> Classes:
        """Group rows by the released quasi-identifiers.

        Parameters
        ----------
        columns : sequence of pyarrow arrays, each of n values
            The released quasi-identifiers; compared as text.
        sensitive : mapping of str to pyarrow array
            The sensitive columns, of n values each.
        """
        coded = [encode("quasi", _chunked(c), "categorical") for c in columns]
        n = (
            len(columns[0])
            if columns
            else (len(next(iter(sensitive.values()))) if sensitive else 0)
        )
        group, n_groups = group_rows([c.codes for c in coded], n)
        made = {}
        for name, array in sensitive.items():
            chunked = _chunked(array)
            made[name] = encode(name, chunked, kind_of(chunked.type))
        return cls(group, n_groups, made)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Records of every class."""
        return np.bincount(self.group, minlength=self.n_groups)

    def rsd(self, name: str) -> npt.NDArray[np.float64]:
        """The relative squared deviation of one sensitive column in every class."""
        return rsd(self.group, self.n_groups, self.sensitive[name])

    def shares(
        self, name: str
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(class, value code, count) of every value that occurs in a class."""
        return value_counts(self.group, self.sensitive[name].codes)


def _chunked(array: Any) -> pa.ChunkedArray:
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def value_counts(
    group: npt.NDArray[np.uint32], codes: npt.NDArray[np.unsignedinteger]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(group, code, count) of every code that occurs in a group, in order of first appearance."""
    pair, n_pairs = group_rows([group, codes])
    first = np.full(n_pairs, -1, np.int64)
    first[pair[::-1]] = np.arange(len(pair) - 1, -1, -1)
    return (
        group[first].astype(np.int64),
        codes[first].astype(np.int64),
        np.bincount(pair, minlength=n_pairs),
    )


def rsd(group: npt.NDArray[np.uint32], n_groups: int, column: Column) -> npt.NDArray[np.float64]:
    """How much of the public uncertainty about a sensitive column is left in each group.

    For numbers: the squared error of guessing the group's mean over that of
    guessing the public mean, the term of formula (10) in Li & Sarkar (2014).
    For categories: the Brier score of the group's shares over that of the
    public shares, (1 - sum p^2) / (1 - 2 sum p P + sum P^2). A group whose
    denominator is 0 counts as 1. Missing values take no part. The disclosure
    of a group is 1 - RSD.

    Parameters
    ----------
    group : uint32 array of shape (n,)
    n_groups : int
    column : Column
        The sensitive column, of n codes.

    Returns
    -------
    float64 array of shape (n_groups,)
        In [0, 1] up to rounding: 1 tells nothing, 0 tells all.
    """
    ratio = np.ones(n_groups)
    if not column.n_values:
        return ratio
    if column.is_number:
        scaled = scale(np.asarray(column.values, np.float64), column.counts()[:-1])
        m = moments(group, n_groups, column.codes, scaled.units)
        known = max(int(m.n.sum()), 1)
        off = int(m.total.sum()) / known  # the rounded centre is off the mean by less than one unit
        n = np.maximum(m.n, 1).astype(float)
        outside = m.square - 2 * off * m.total + m.n * off * off
        apart = m.total - m.n * off
        inside = outside - apart * apart / n
        positive = (outside > 0) & (m.n > 0)
        np.divide(np.maximum(inside, 0), outside, out=ratio, where=positive)
        return ratio
    codes, rows = column.codes, group
    if column.has_missing:
        present = codes != column.n_values
        codes, rows = codes[present], group[present]
    n = np.bincount(rows, minlength=n_groups).astype(float)
    public = np.bincount(codes, minlength=column.n_values).astype(float)
    at, code, count = value_counts(rows, codes)
    square = np.bincount(
        at, count.astype(float) ** 2, n_groups
    )  # whole numbers: exact in any order
    cross = np.bincount(at, count * public[code], n_groups)
    known = max(len(codes), 1)
    inside = n - square / np.maximum(n, 1)
    outside = n - 2 * cross / known + n * math.fsum(public**2) / known**2
    np.divide(
        np.maximum(inside, 0),
        outside,
        out=ratio,
        where=(outside > 1e-12 * np.maximum(n, 1)) & (n > 0),
    )
    return ratio


@dataclass(frozen=True)
class Criterion:
    """Base of the promises about released groups."""

    kind: ClassVar[str] = ""

    def promise(self) -> dict[str, Any]:
        """The criterion as plan data."""
        return {"kind": self.kind, **{k: v for k, v in vars(self).items() if v is not None}}

    def check(self, classes: Classes) -> Check:
        """What a released table reaches."""
        raise NotImplementedError


@dataclass(frozen=True)
class KAnonymity(Criterion):
    """Every group has at least k records (Samarati 2001, Sweeney 2002).

    Parameters
    ----------
    k : int
        At least 1.
    """

    kind: ClassVar[str] = "k_anonymity"
    k: int

    def __post_init__(self) -> None:
        if not _whole(self.k) or self.k < 1:
            raise ParameterError("k must be a whole number of at least 1")

    def check(self, classes: Classes) -> Check:
        """The smallest group."""
        sizes = classes.sizes
        small = int(np.count_nonzero(sizes < self.k))
        reached = int(sizes.min()) if len(sizes) else 0
        return Check(
            "k-anonymity",
            self.k,
            reached,
            reached >= self.k,
            f"{small:,} of {len(sizes):,} groups are smaller"
            if small
            else f"{len(sizes):,} groups",
        )


@dataclass(frozen=True)
class Disclosure(Criterion):
    """In every group and for every sensitive column, 1 - RSD is at most `maximum`.

    Guessing a group's mean leaves an intruder at least the share 1 - `maximum`
    of the squared error of guessing the public mean.

    Parameters
    ----------
    maximum : float
        In (0, 1].
    columns : tuple of str, optional
        Sensitive columns; all by default.
    """

    kind: ClassVar[str] = "disclosure"
    maximum: float
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.maximum <= 1:
            raise ParameterError(
                "max_disclosure must lie in (0, 1]",
                hint="0.5 leaves an intruder half of the public squared error; 1 switches it off",
            )

    def check(self, classes: Classes) -> Check:
        """The largest disclosure of any group and column."""
        worst, where, broken = 0.0, "", 0
        for name in self.columns or tuple(classes.sensitive):
            told = 1.0 - classes.rsd(name)
            broken += int(np.count_nonzero(told > self.maximum + SLACK))
            if len(told) and float(told.max()) > worst:
                worst, where = float(told.max()), name
        detail = (
            f"{broken:,} groups tell more"
            if broken
            else (f"the most in {where!r}" if where else "")
        )
        return Check("disclosure", self.maximum, worst, broken == 0, detail)


DIVERSITIES = ("frequency", "distinct", "entropy", "recursive")


@dataclass(frozen=True)
class LDiversity(Criterion):
    """l-diversity of categorical sensitive columns (Machanavajjhala et al. 2006).

    Parameters
    ----------
    l : float
        At least 1.
    diversity : {"frequency", "distinct", "entropy", "recursive"}
        The largest share is at most 1/l; at least l distinct values; the
        entropy is at least log l; r1 < c (rl + ... + rm).
    c : float
        For "recursive".
    columns : tuple of str, optional
        Sensitive columns; all by default.
    """

    kind: ClassVar[str] = "l_diversity"
    l: float
    diversity: str = "entropy"
    c: float | None = None
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.diversity not in DIVERSITIES:
            raise ParameterError(f"diversity must be one of {', '.join(DIVERSITIES)}")
        if not self.l >= 1:
            raise ParameterError("l must be at least 1")
        if (self.diversity == "recursive") != (self.c is not None):
            raise ParameterError("c belongs to recursive (c, l)-diversity, and only to it")

    def reached(self, classes: Classes, name: str) -> npt.NDArray[np.float64]:
        """Per group: the l reached (for "recursive" the c needed; groups with fewer than l values need infinity)."""
        at, _, count = classes.shares(name)
        n = classes.sizes.astype(float)
        groups = classes.n_groups
        if self.diversity == "distinct":
            return np.bincount(at, minlength=groups).astype(float)
        if self.diversity == "frequency":
            largest = np.zeros(groups)
            np.maximum.at(largest, at, count.astype(float))
            return n / largest
        order = np.lexsort((-count, at))
        at, count = at[order], count[order]
        if self.diversity == "entropy":
            p = count / n[at]
            return np.exp(-np.bincount(at, p * np.log(p), groups))
        begin = np.searchsorted(at, np.arange(groups))
        rank = np.arange(len(at)) - begin[at]
        tail = np.bincount(at, np.where(rank >= self.l - 1, count, 0), groups)
        with np.errstate(divide="ignore"):
            return count[begin] / tail

    def check(self, classes: Classes) -> Check:
        """The least diverse group of any column."""
        worst, broken, where = math.inf, 0, ""
        limit = self.c if self.diversity == "recursive" else self.l
        for name in self.columns or tuple(classes.sensitive):
            reached = self.reached(classes, name)
            if self.diversity == "recursive":  # r1 < c * tail, strictly
                bad, least = reached >= float(limit or 0), -float(reached.max(initial=0))
            else:
                bad, least = (
                    reached < float(limit or 0) - SLACK,
                    float(reached.min(initial=math.inf)),
                )
            broken += int(np.count_nonzero(bad))
            if least < worst:
                worst, where = least, name
        detail = (
            f"{broken:,} groups are less diverse"
            if broken
            else (f"the least in {where!r}" if where else "")
        )
        return Check(f"{self.diversity} l-diversity", limit, abs(worst), broken == 0, detail)


@dataclass(frozen=True)
class TCloseness(Criterion):
    """t-closeness (Li et al. 2007): every group's distribution is near the public one.

    The distance is the earth mover's: over ranks for numbers and ordinal
    columns ("ordered"), half the total variation for categories ("equal").

    Parameters
    ----------
    t : float
        In [0, 1].
    columns : tuple of str, optional
        Sensitive columns; all by default.
    """

    kind: ClassVar[str] = "t_closeness"
    t: float
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.t <= 1:
            raise ParameterError("t must lie in [0, 1]")

    def check(self, classes: Classes) -> Check:
        """The most distant group of any column."""
        worst, broken, where = 0.0, 0, ""
        for name in self.columns or tuple(classes.sensitive):
            column = classes.sensitive[name]
            apart = emd(
                classes.group,
                classes.n_groups,
                column,
                column.is_number or column.kind == "ordinal",
            )
            broken += int(np.count_nonzero(apart > self.t + SLACK))
            if len(apart) and float(apart.max()) > worst:
                worst, where = float(apart.max()), name
        detail = (
            f"{broken:,} groups are farther"
            if broken
            else (f"the farthest in {where!r}" if where else "")
        )
        return Check("t-closeness", self.t, worst, broken == 0, detail)


def emd(
    group: npt.NDArray[np.uint32], n_groups: int, column: Column, ordered: bool
) -> npt.NDArray[np.float64]:
    """Earth mover's distance of every group's distribution from the public one, in [0, 1].

    Parameters
    ----------
    group : uint32 array of shape (n,)
    n_groups : int
    column : Column
        A missing value is a value of its own, after the others.
    ordered : bool
        Neighbouring values lie 1/(m - 1) apart; otherwise all values lie 1 apart.

    Returns
    -------
    float64 array of shape (n_groups,)
    """
    counts = column.counts()
    m = column.n_values + (1 if column.has_missing else 0)
    n = len(group)
    sizes = np.bincount(group, minlength=n_groups).astype(float)
    at, code, count = value_counts(group, column.codes)
    order = np.lexsort((code, at))
    at, code, count = at[order], code[order], count[order]
    public = counts[:m] / max(n, 1)
    share = count / sizes[at]
    if not ordered:
        gain = np.maximum(share - public[code], 0)
        return np.asarray(np.bincount(at, gain, n_groups), np.float64)
    if m < 2:
        return np.zeros(n_groups)
    # |F_group - F_public| summed over values: between two values of the group F_group is flat
    below = np.concatenate([[0.0], np.cumsum(public)])
    cumulated = np.cumsum(share)
    begin = np.searchsorted(at, np.arange(n_groups))
    before = cumulated - share - (cumulated - share)[begin][at]
    last = np.append(at[1:] != at[:-1], True)
    after = np.where(last, m, np.append(code[1:], 0))
    apart = _flat(below, before[begin], np.zeros(n_groups, np.int64), code[begin])
    level = np.where(last, 1.0, before + share)
    return (apart + np.bincount(at, _flat(below, level, code, after), n_groups)) / (m - 1)


def _flat(
    below: npt.NDArray[np.float64],
    level: npt.NDArray[np.float64],
    start: npt.NDArray[np.int64],
    stop: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """Sum of |level - F(v)| over the values v in [start, stop), F the public distribution function."""
    f = below[1:]
    sums = np.concatenate([[0.0], np.cumsum(f)])
    cut = np.clip(np.searchsorted(f, level), start, stop)
    lower = level * (cut - start) - (sums[cut] - sums[start])
    upper = (sums[stop] - sums[cut]) - level * (stop - cut)
    return lower + upper


_KINDS: dict[str, type[Criterion]] = {
    c.kind: c for c in (KAnonymity, Disclosure, LDiversity, TCloseness)
}


def from_promise(promise: Mapping[str, Any]) -> Criterion:
    """The criterion of a plan's promise; PlanError when it is unknown or malformed."""
    kind = promise.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise PlanError(
            f"the plan promises the unknown {kind!r}", hint=f"known: {', '.join(_KINDS)}"
        )
    fields = {k: tuple(v) if isinstance(v, list) else v for k, v in promise.items() if k != "kind"}
    try:
        return _KINDS[kind](**fields)
    except (TypeError, ParameterError):
        raise PlanError(f"the plan's promise {kind!r} is damaged") from None


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
