"""Measure the share of the public uncertainty about a sensitive column that each class removes.

Disclosure is measured by proper scores (`proper_scores`): 0 if a class adds nothing to the whole
table, 1 if it reveals everything. The papers measure the remaining uncertainty, only by squared
errors: their RSD (Li & Sarkar 2014, formula 10) is high if a class reveals little. A cap on
disclosure also bounds the share of a column that the classes explain:

Let T be the public loss of all records by one score (squared error, say), G_g the part of it that
class g removes, and L_g the sum over its records of max(loss, U / 4), where U = T / n. A cap of d
requires G_g <= d L_g for every class. Summed over the classes,

    explained = sum G_g / T <= d sum L_g / T = d floor_ratio,   1 <= floor_ratio < 1 + 1/4,

because max(a, b) <= a + b, so sum L_g is at most T + n U / 4. `floor_ratio` depends only on the
table, so no partition of its people, by any method, explains more under the cap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from ..json_types import Count, Share
from ..kernels import Floats, Ints
from ..kernels.exact_sums import deviations, total
from ..kernels.measures import brier_disclosures, number_disclosures
from .class_counts import Counts
from .classes import SensitiveCounts, distinct_values

# rounding that a check forgives, relative to 1
SLACK = 1e-9
# disclosure of a group, and share of linked people, above which a release must say so
LARGE = 0.5


def column_disclosure(column: SensitiveCounts) -> Floats:
    """Return the disclosure of a sensitive column in every class; shape (n_groups,), in [0, 1].

    It is the largest disclosure by any of the column's proper scores.
    """
    return column.scores.worst


class Exposed(TypedDict):
    """The number of groups, and of records in them, that give away much of a column.

    ``worst``: the most that one tells, 0 to 1. ``over_half``: tell more than half of the column.
    ``single_valued``: everybody has the same value, which not everybody in the table has.
    """

    groups: Count
    worst: Share
    over_half: Count
    over_half_records: Count
    single_valued: Count
    single_valued_records: Count


def exposed(column: SensitiveCounts, sizes: Ints) -> Exposed:
    """Count the classes, and their records, that disclose over half of a column or have a single value.

    Parameters
    ----------
    column : SensitiveCounts
    sizes : int64 array, shape (n_groups,)

    Returns
    -------
    dict
        ``groups``, ``worst``, ``over_half`` and ``single_valued`` (everybody of a class has the same
        value, which is known and which not everybody of the table has), the last two with ``_records``.
    """
    disclosures, distinct = column.per_class(column_disclosure, distinct_values)
    # where everybody has the same value, a group of it reveals nothing, nor does one of which nobody's value is known
    varies = np.bincount(column.counts.groups[column.counts.values < column.n_values], minlength=len(sizes)) > 0
    varies &= np.count_nonzero(column.totals) > 1
    over_half, single_valued = disclosures > LARGE + SLACK, varies & (distinct == 1)
    return {
        "groups": len(sizes),
        "worst": float(disclosures.max(initial=0.0)),
        "over_half": int(over_half.sum()),
        "over_half_records": int(sizes[over_half].sum()),
        "single_valued": int(single_valued.sum()),
        "single_valued_records": int(sizes[single_valued].sum()),
    }


def rsd(column: SensitiveCounts) -> Floats:
    """Return the RSD (Li & Sarkar 2014, formula 10) of a sensitive column in every class; shape (n_groups,).

    1 adds nothing to the whole table, 0 reveals everything. Missing values are left out;
    a class without a known value has 1.
    """
    if column.is_number:
        numbers = np.append(column.deviations, np.nan)[: column.counts.n_values]
        return 1 - number_disclosure(column.counts, numbers)
    return 1 - category_disclosure(column.counts, column.n_values)


def number_disclosure(counts: Counts, values: Floats) -> Floats:
    """Return the share of the public squared error that guessing the class's mean removes; shape (n_groups,).

    1 minus a term of formula (10) in Li & Sarkar (2014). A class whose records
    all lie at the public mean discloses nothing by this measure.

    Parameters
    ----------
    counts : Counts
        The column's values by class.
    values : float array, shape (n_values,)
        The number behind each code; NaN for missing, which is left out.

    Examples
    --------
    >>> from hedgerow.measures import group
    >>> values = np.array([10.0, 20.0, 30.0])
    >>> counts = Counts.from_codes(group([np.array([0, 0, 1, 1])]), np.array([0, 0, 1, 2]), 3)
    >>> number_disclosure(counts, values).round(3).tolist()
    [1.0, 0.692]
    """
    # From the mean: squares of large numbers that hardly differ would lose all their digits.
    return number_disclosures(counts.counts, deviations(values, counts.totals)[counts.values], counts.starts)


def category_disclosure(counts: Counts, n_known: int) -> Floats:
    """Return the share of the public Brier score that guessing the class's shares removes; shape (n_groups,).

    |p - P|^2 / (1 - 2 p.P + P.P) over the known values, for shares p of the class
    and P of the table.

    Parameters
    ----------
    counts : Counts
        The column's values by class.
    n_known : int
        Codes from here on are missing values, which are left out.

    Examples
    --------
    >>> from hedgerow.measures import group
    >>> counts = Counts.from_codes(group([np.array([0, 0, 1, 1])]), np.array([0, 0, 0, 1]), 2)
    >>> category_disclosure(counts, 2).round(3).tolist()
    [1.0, 0.2]
    """
    totals = counts.totals[:n_known]
    public = np.full(counts.n_values, -1.0)
    public[:n_known] = totals / max(int(totals.sum()), 1)
    return brier_disclosures(counts.counts, public[counts.values], counts.starts, total(public[:n_known] ** 2))


@dataclass(frozen=True)
class Disclosed:
    """The disclosure over all classes: two means and the worst, because any single figure would mislead.

    Parameters
    ----------
    mean_over_groups : float
        Every class counts once.
    mean_over_records : float
        Every record counts once; near the share of the variance that the classes explain.
    worst : float
        Disclosure of the class that discloses most.
    """

    mean_over_groups: float
    mean_over_records: float
    worst: float

    @classmethod
    def from_classes(cls, disclosure: Floats, sizes: Ints) -> Disclosed:
        """Summarise the disclosure of classes, given their sizes."""
        if not len(disclosure):
            return cls(0.0, 0.0, 0.0)
        groups = total(disclosure) / len(disclosure)
        return cls(groups, total(disclosure * sizes) / float(sizes.sum()), float(disclosure.max()))

    @classmethod
    def over_columns(cls, each: Iterable[Disclosed]) -> Disclosed | None:
        """Average the summaries of several columns, and keep the worst of any; None if there are no columns."""
        columns = list(each)
        if not columns:
            return None
        return cls(
            # Correctly rounded, so the order of the columns does not matter.
            math.fsum(d.mean_over_groups for d in columns) / len(columns),
            math.fsum(d.mean_over_records for d in columns) / len(columns),
            max(d.worst for d in columns),
        )


@dataclass(frozen=True)
class Explained:
    """The share of a column's public loss that the classes explain, and the ratio that bounds this share.

    Parameters
    ----------
    share : float
        In [0, 1]: of numbers R squared, of categories the part of the Brier score.
    floor_ratio : float
        In [1, 1.25): the public loss with the floor of each record, over the loss without.
    """

    share: float
    floor_ratio: float


def explained_share(column: SensitiveCounts) -> Explained | None:
    """Return the share of a column's public loss that the classes explain; None if it has a single value.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.measures import Classes, group
    >>> from hedgerow.io.read import read
    >>> ill = read({"ill": ["yes", "yes", "no", "no"]}).column("ill")
    >>> classes = Classes.from_groups(group([np.array([0, 0, 0, 1])]), [ill])
    >>> explained = explained_share(classes.sensitive["ill"])
    >>> round(explained.share, 3), explained.floor_ratio
    (0.333, 1.0)
    """
    if (leading := column.scores.leading) is None:
        return None
    score, counts, scored = leading
    # Known from the table alone: the same for every partition of its people.
    floored = total(score.weight * counts.totals[: len(score.weight)])
    return Explained(min(total(scored.gain) / score.spread, 1.0), floored / score.spread)
