"""Special uniques: records that few columns are enough to single out (SUDA2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from ...errors import ParameterError
from ...json_types import Count, Positive, Share
from ...measures import Bools, Floats, Ints, group
from ...progress import Progress, telling

# the default share of the population in the sample
FRACTION = 0.01
# most sets of columns that are searched
MOST = 100_000


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """The minimal sample uniques of every record in a table.

    A record has a minimal sample unique for each set of columns on which no other record equals
    it, although some record does on every smaller part of the set.

    Parameters
    ----------
    names : tuple of str
        The columns.
    counts : int64 array, shape (n_rows, size)
        Number of each record's minimal sample uniques of 1, 2, ... columns.
    shares : float array, shape (n_rows, n_columns)
        The share of a record's score that comes from sets with each column. A set counts for all
        its columns, so a row may sum to more than 1.
    uniques, pairs : int
        Number of records that no other record equals on all columns, and number of records that
        exactly one other equals (so two for each pair).
    """

    names: tuple[str, ...]
    counts: Ints
    shares: Floats
    uniques: int
    pairs: int

    @property
    def scores(self) -> Floats:
        """Return each record's SUDA score: (m - k)! for each minimal sample unique of k of m columns."""
        return np.asarray(self.counts @ weights(len(self.names), self.counts.shape[1]))

    @property
    def by_column(self) -> Floats:
        """Return each column's share of the sum of all scores, shape (n_columns,)."""
        scores = self.scores
        return np.asarray(scores @ self.shares / max(float(scores.sum()), 1.0))

    def intrusion(self, fraction: float = FRACTION) -> float:
        """Return DIS: the chance that a match with a unique record is correct (Skinner and Elliot 2002).

        U f / (U f + P (1 - f)) with U unique records, P records in pairs and sampling fraction f.

        Parameters
        ----------
        fraction : float, in (0, 1)
            The share of the population in the sample.
        """
        if not 0 < fraction < 1:
            raise ParameterError(f"the sampling fraction must lie between 0 and 1, not {fraction}")
        right, wrong = self.uniques * fraction, self.pairs * (1 - fraction)
        return right / (right + wrong) if right else 0.0

    def dis_scores(self, fraction: float = FRACTION) -> Floats:
        """Return each record's DIS-SUDA score: the chance of `intrusion` spread by the SUDA scores.

        With U unique records, score s of a record and q = 1 + (8 - m) / 20 for m columns it is
        1 / (1 + (U / DIS - U) / (s^q a)), where a is the sum of s^-q over the records that have a
        score; 0 for a record without a score. This formula, with its q, is that of sdcMicro's
        code (function Suda2 in src/Suda2.h).

        Parameters
        ----------
        fraction : float, in (0, 1)
            The share of the population in the sample.
        """
        return spread_over_records(self.intrusion(fraction), self.scores, self.uniques, len(self.names))


def spread_over_records(chance: float, scores: Floats, uniques: int, columns: int) -> Floats:
    """Return each record's DIS-SUDA score from the chance of intrusion; see `SpecialUniques.dis_scores`.

    Examples
    --------
    >>> spread_over_records(0.1, np.array([0.0, 2.0, 2.0]), 2, 8).round(4).tolist()
    [0.0, 0.1, 0.1]
    """
    chances = np.zeros(len(scores))
    some = scores > 0
    if chance:
        powers = scores[some] ** (1.0 + (8.0 - columns) / 20.0)
        rest = uniques / chance - uniques
        chances[some] = 1.0 / (1.0 + rest / (powers * np.sum(1.0 / powers)))
    return chances


def weights(columns: int, size: int) -> Floats:
    """Return what a minimal sample unique of 1, 2, ... columns adds to a score, shape (size,).

    Examples
    --------
    >>> weights(4, 3).tolist()
    [6.0, 2.0, 1.0]
    """
    return np.array([float(factorial(columns - k)) for k in range(1, size + 1)])


def special_uniques(
    codes: Sequence[npt.NDArray[Any]], names: Sequence[str], *, size: int = 3, progress: Progress | None = None
) -> SpecialUniques:
    """Find the minimal sample uniques of every record (Elliot, Manning and Mayes; SUDA2).

    Sets of columns are tried by their size. A record that is alone on a smaller set is alone on
    the larger, and no other record shares its values there: so each set groups only the records
    that were never alone on a part of it, and those that are alone then are the minimal ones.

    Parameters
    ----------
    codes : sequence of integer arrays, shape (n_rows,)
        The columns; a missing value has a code like any other and equals itself.
    names : sequence of str
    size : int, at least 1
        Most columns in a set.
    progress : callable, optional

    Raises
    ------
    ParameterError
        There are more sets than can be searched.

    Examples
    --------
    >>> found = special_uniques([np.array([2, 1, 1]), np.array([0, 1, 0])], ["a", "b"])
    >>> found.counts.tolist(), found.scores.tolist()
    ([[1, 0], [1, 0], [0, 1]], [1.0, 1.0, 1.0])
    """
    m, n = len(codes), len(codes[0]) if codes else 0
    size = min(size, m)
    if (sets := sum(comb(m, k) for k in range(1, size + 1))) > MOST:
        raise ParameterError(
            f"{m} columns have {sets:,} sets of up to {size}, more than {MOST:,}",
            hint="search smaller sets, or fewer columns",
        )
    report = telling(progress)
    counts = np.zeros((n, size), np.int64)
    parts = np.zeros((n, m))
    worth = weights(m, size)
    # one bit a record and set, for there may be many sets of a size
    alone: dict[tuple[int, ...], npt.NDArray[np.uint8]] = {(): np.packbits(np.zeros(n, np.bool_))}
    for k in range(1, size + 1):
        report(f"special uniques of {k} column{'s' if k > 1 else ''}")
        larger = {}
        for chosen in combinations(range(m), k):
            before = alone[chosen[1:]].copy()
            for i in range(1, k):
                before |= alone[chosen[:i] + chosen[i + 1 :]]
            excluded: Bools = np.unpackbits(before, count=n).view(np.bool_)
            rows = np.flatnonzero(~excluded)
            groups = group([codes[c][rows] for c in chosen], len(rows))
            minimal = rows[groups.first[groups.sizes == 1]]
            counts[minimal, k - 1] += 1
            for c in chosen:
                parts[minimal, c] += worth[k - 1]
            excluded[minimal] = True
            larger[chosen] = np.packbits(excluded)
        # sets of the next size look back at these alone
        alone = larger
    sizes = group(list(codes), n).sizes
    # a record without a score has no parts either: 1 only avoids 0 / 0
    scores = np.maximum(counts @ worth, 1.0)
    single, twice = (int(np.count_nonzero(sizes == n)) for n in (1, 2))
    return SpecialUniques(tuple(names), counts, parts / scores[:, None], single, 2 * twice)


class SpecialUniquesSummary(TypedDict):
    """The special uniques of one table.

    ``records`` that have one, ``by_size`` how many; SUDA scores over all records; ``intrusion``: the share of unique
    pairs that are unique in the population; the highest DIS-SUDA; ``by_column``: each column's part of the scores.
    """

    records: Count
    by_size: Sequence[int]
    mean_score: float
    highest_score: float
    intrusion: Share
    highest_dis: Share
    by_column: Mapping[str, float]


class SpecialUniquesData(TypedDict):
    """Minimal sample uniques of at most ``size`` quasi-identifiers (SUDA2), at the sampling ``fraction``."""

    size: Positive
    fraction: float
    original: SpecialUniquesSummary | None
    release: SpecialUniquesSummary


def summary(uniques: SpecialUniques, fraction: float = FRACTION) -> SpecialUniquesSummary:
    """Summarise the special uniques of a table as plain data for the audit.

    Parameters
    ----------
    uniques : SpecialUniques
    fraction : float, in (0, 1)
        The share of the population in the sample.
    """
    scores = uniques.scores
    n = max(len(scores), 1)
    return {
        "records": int(np.count_nonzero(scores)),
        "by_size": uniques.counts.sum(axis=0).tolist(),
        "mean_score": float(scores.sum()) / n,
        "highest_score": float(scores.max(initial=0.0)),
        "intrusion": uniques.intrusion(fraction),
        "highest_dis": float(uniques.dis_scores(fraction).max(initial=0.0)),
        "by_column": dict(zip(uniques.names, uniques.by_column.tolist(), strict=True)),
    }
