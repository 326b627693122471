"""How large the classes are: k, uniques, and what a record's class says about finding it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import hyp2f1

from .class_counts import FloatArray
from .groups import BoolArray, Groups, IntArray, group


@dataclass(frozen=True)
class SizeSummary:
    """The sizes of classes in a few numbers.

    Parameters
    ----------
    groups : int
        Number of classes.
    smallest, largest : int
        Records of the smallest class (k) and of the largest.
    lower_quartile, median, upper_quartile : int
        Of the sizes, every class counting once; each is the size of a class.
    mean : float
    uniques : int
        Records that are alone in their class.
    unique_share : float
        The same as a share of all records.
    histogram : tuple of mapping
        Classes and records by size, in bins that double: ``from``, ``to``,
        ``classes``, ``records``.
    """

    groups: int
    smallest: int
    lower_quartile: int
    median: int
    mean: float
    upper_quartile: int
    largest: int
    uniques: int
    unique_share: float
    histogram: tuple[dict[str, int], ...]

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**vars(self), "histogram": [dict(entry) for entry in self.histogram]}


def summary(sizes: IntArray) -> SizeSummary:
    """Summarise the sizes of classes; at least one class.

    Examples
    --------
    >>> made = summary(np.array([4, 1, 3]))
    >>> made.smallest, made.median, made.uniques, made.histogram[1]
    (1, 3, 1, {'from': 2, 'to': 3, 'classes': 1, 'records': 3})
    """
    low, first, middle, third, high = (
        int(q) for q in np.quantile(sizes, [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf")
    )
    uniques = int(np.count_nonzero(sizes == 1))
    return SizeSummary(
        groups=len(sizes),
        smallest=low,
        lower_quartile=first,
        median=middle,
        mean=float(sizes.mean()),
        upper_quartile=third,
        largest=high,
        uniques=uniques,
        unique_share=uniques / int(sizes.sum()),
        histogram=tuple(_histogram(sizes)),
    )


def _histogram(sizes: IntArray) -> list[dict[str, int]]:
    bins = np.floor(np.log2(sizes)).astype(np.int64)
    classes = np.bincount(bins)
    records = np.bincount(bins, sizes).astype(np.int64)
    return [
        {"from": 1 << b, "to": (2 << b) - 1, "classes": int(c), "records": int(r)}
        for b, (c, r) in enumerate(zip(classes, records, strict=True))
    ]


def wildcard_k(
    groups: Groups,
    codes: Sequence[npt.NDArray[Any]],
    wild: Sequence[BoolArray],
    candidates: int = 1000,
) -> int:
    """The smallest of `wildcard_sizes`.

    It is at least k, so one of the smallest classes that matches nobody else settles it;
    a few of those with the fewest wild cells, which are alike in these, are tried first.
    """
    sizes = groups.sizes
    smallest = np.flatnonzero(sizes == sizes.min())
    pattern = _patterns(groups, wild)[smallest]
    fewest = min(np.unique(pattern).tolist(), key=int.bit_count)
    tried = smallest[pattern == fewest][:candidates]
    found = int(wildcard_sizes(groups, codes, wild, tried)[tried].min())
    if found == sizes.min():
        return found
    return int(wildcard_sizes(groups, codes, wild).min())


def _patterns(groups: Groups, wild: Sequence[BoolArray]) -> IntArray:
    """Bit j of a class's number: its cell of column j matches anything."""
    pattern = np.zeros(groups.n_groups, np.int64)
    for j, w in enumerate(wild):
        pattern |= w[groups.first].astype(np.int64) << j
    return pattern


def wildcard_sizes(
    groups: Groups,
    codes: Sequence[npt.NDArray[Any]],
    wild: Sequence[BoolArray],
    only: IntArray | None = None,
) -> IntArray:
    """For each class the records that could be in it when ``*`` and missing match anything.

    Parameters
    ----------
    groups : Groups
        The strict classes.
    codes : sequence of integer arrays, shape (n_rows,)
        Released codes, one array a quasi-identifier.
    wild : sequence of boolean arrays, shape (n_rows,)
        Which cells match anything.
    only : int64 array, optional
        The classes that are asked about; the others' entries mean nothing.

    Returns
    -------
    int64 array, shape (n_groups,)
        At least the strict size of the class.
    """
    first, sizes = groups.first, groups.sizes
    if not any(w.any() for w in wild):
        return sizes
    keys = np.stack([np.asarray(c)[first].astype(np.int64) for c in codes])
    pattern = _patterns(groups, wild)
    patterns = np.unique(pattern)
    members = {int(p): np.flatnonzero(pattern == p) for p in patterns}
    asked = np.zeros(groups.n_groups, np.bool_)
    asked[slice(None) if only is None else only] = True
    out = np.zeros(groups.n_groups, np.int64)
    for p in members:
        mine = members[p][asked[members[p]]]
        if not len(mine):
            continue
        for q in members:
            theirs = members[q]
            if p == q == 0:  # classes without wildcards match themselves alone
                out[mine] += sizes[mine]
                continue
            compared = [j for j in range(len(codes)) if not ((p | q) >> j) & 1]
            both = np.concatenate([mine, theirs])
            merged = group([keys[j, both] for j in compared], len(both))
            totals = np.bincount(merged.labels[len(mine) :], sizes[theirs], merged.n_groups)
            out[mine] += totals[merged.labels[: len(mine)]].astype(np.int64)
    return out


def attackers(
    sizes: IntArray,
    journalist: FloatArray | None = None,
    threshold: float = 0.2,
    people: IntArray | None = None,
) -> dict[str, dict[str, float]]:
    """Re-identification risk by what the intruder knows.

    Parameters
    ----------
    sizes : int64 array, shape (n_groups,)
        Records of each class in the release; f, where each is a person.
    journalist : array, shape (n_groups,), optional
        The risk of each class's records for an intruder who does not know who is in the
        release: 1/F where the people F of the class are counted in the population, or
        `expected_risk` where they are estimated from a sample's weights.
    threshold : float, in (0, 1]
        A record is at risk when its risk is above it.
    people : int64 array, shape (n_groups,), optional
        People of each class in the release (`Persons.sizes`), where they may have several
        records; f counts these then.

    Returns
    -------
    dict
        ``prosecutor`` (the intruder knows the person is in the table): each
        record's risk is 1/f. ``journalist`` (does not know). ``marketer``
        (wants as many as possible): the expected share re-identified. Each with
        ``highest``, ``average``, ``above`` (the share of records at risk) and ``expected``
        (re-identifications: the sum of the records' risks).

    References
    ----------
    K. El Emam, L. Arbuckle (2013), Anonymizing Health Data, ch. 2.
    """
    n, found = sizes.sum(), sizes if people is None else people
    models = {"prosecutor": 1.0 / found}
    if journalist is not None:
        models["journalist"] = journalist
    out = {}
    for name, risk in models.items():
        out[name] = {
            "highest": float(risk.max()),
            "average": float((risk * sizes).sum() / n),
            "above": float(sizes[risk > threshold].sum() / n),
            "expected": float((risk * sizes).sum()),
        }
    known = out.get("journalist", out["prosecutor"])
    out["marketer"] = {"average": known["average"], "expected": known["expected"]}
    return out


_TERMS = 100
_SERIES = 30
"""From so many people of a class on, `_TERMS` terms of the series are exact to the last digits."""


def expected_risk(found: IntArray, estimated: FloatArray) -> FloatArray:
    """The expected risk E(1/F | f) of a sample's records, F estimated by their summed weights.

    Given f people of a class in the sample, the F people of the class in the population are taken
    to follow a negative binomial distribution with success probability p = f / (summed weights), so

        E(1/F | f) = p^f / f * 2F1(f, f; f + 1; q) = p / f * 2F1(1, 1; f + 1; q),    q = 1 - p,

    and -(p / q) log p for f = 1. It lies above 1 / (summed weights), for F varies and small
    ones weigh more.

    Parameters
    ----------
    found : int64 array, shape (n_groups,)
        People of each class in the sample, f.
    estimated : float array, shape (n_groups,)
        Their summed weights, at least f.

    Returns
    -------
    float array, shape (n_groups,)

    References
    ----------
    R. Benedetti, L. Franconi (1998), Statistical and technological solutions for controlled data
    dissemination; L. Franconi, S. Polettini (2004), Individual risk estimation in mu-Argus: a review.

    Examples
    --------
    >>> expected_risk(np.array([1, 1, 4]), np.array([17.0, 1.0, 4.0])).round(4).tolist()
    [0.1771, 1.0, 0.25]
    """
    f, p = found.astype(np.float64), np.minimum(found / estimated, 1.0)
    q = 1.0 - p
    out = np.empty(len(f))
    one, many = found == 1, found >= _SERIES
    sure = q <= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        out[one] = np.where(sure[one], 1.0, -p[one] / q[one] * np.log(p[one]))
    few = ~one & ~many
    out[few] = p[few] / f[few] * hyp2f1(1.0, 1.0, f[few] + 1.0, q[few])
    term = np.ones(int(many.sum()))
    total = term.copy()
    for n in range(1, _TERMS):
        term *= n / (f[many] + n) * q[many]
        total += term
    out[many] = p[many] / f[many] * total
    return np.asarray(np.minimum(out, 1.0 / f))
