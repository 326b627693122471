"""Equivalence classes: k, sizes, uniques and the risk of being re-identified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..grouping import Grouping, IntArray, group

BoolArray = npt.NDArray[np.bool_]


def sizes_summary(grouping: Grouping) -> dict[str, Any]:
    """k, the number of classes and how their sizes are distributed.

    Missing equals missing: two rows are in one class when every released cell
    is the same, missing cells included.
    """
    sizes = grouping.sizes
    quantiles = np.quantile(sizes, [0.25, 0.5, 0.75], method="inverted_cdf")
    return {
        "k": int(sizes.min()),
        "classes": grouping.n_groups,
        "average_size": float(sizes.mean()),
        "largest": int(sizes.max()),
        "quartiles": [int(q) for q in quantiles],
        "uniques": int((sizes == 1).sum()),
        "unique_share": float((sizes == 1).sum() / sizes.sum()),
        "histogram": _histogram(sizes),
    }


def _histogram(sizes: IntArray) -> list[dict[str, int]]:
    """Classes and records by size, in bins that double."""
    bins = np.floor(np.log2(sizes)).astype(np.int64)
    rows = []
    for b in range(int(bins.max()) + 1):
        chosen = sizes[bins == b]
        rows.append(
            {
                "from": 1 << b,
                "to": (2 << b) - 1,
                "classes": len(chosen),
                "records": int(chosen.sum()),
            }
        )
    return rows


def wildcard_k(
    grouping: Grouping,
    codes: Sequence[npt.NDArray[np.integer]],
    wild: Sequence[BoolArray],
    candidates: int = 1000,
) -> int:
    """The smallest of `wildcard_sizes`.

    It is at least k, so a few of the smallest classes that match nobody else settle it.
    """
    smallest = np.argsort(grouping.sizes, kind="stable")[:candidates]
    found = int(wildcard_sizes(grouping, codes, wild, smallest)[smallest].min())
    if found == grouping.sizes.min():
        return found
    return int(wildcard_sizes(grouping, codes, wild).min())


def wildcard_sizes(
    grouping: Grouping,
    codes: Sequence[npt.NDArray[np.integer]],
    wild: Sequence[BoolArray],
    only: IntArray | None = None,
) -> IntArray:
    """For each class the records that could be in it when ``*`` and missing match anything.

    Parameters
    ----------
    grouping : Grouping
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
    first, sizes = grouping.first, grouping.sizes
    if not any(w.any() for w in wild):
        return sizes
    keys = np.stack([np.asarray(c)[first].astype(np.int64) for c in codes])
    pattern = np.zeros(grouping.n_groups, np.int64)
    for j, w in enumerate(wild):
        pattern |= w[first].astype(np.int64) << j
    patterns = np.unique(pattern)
    members = {int(p): np.flatnonzero(pattern == p) for p in patterns}
    asked = np.zeros(grouping.n_groups, np.bool_)
    asked[slice(None) if only is None else only] = True
    out = np.zeros(grouping.n_groups, np.int64)
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
    sizes: IntArray, population: npt.NDArray[np.floating] | None = None, threshold: float = 0.2
) -> dict[str, dict[str, float]]:
    """Re-identification risk by what the intruder knows.

    Parameters
    ----------
    sizes : int64 array, shape (n_groups,)
        Records of each class in the release, f.
    population : array, shape (n_groups,), optional
        People of each class in the population, F: counted in a population table,
        or the summed sampling weights.
    threshold : float, in (0, 1]
        A record is at risk when its risk is above it.

    Returns
    -------
    dict
        ``prosecutor`` (the intruder knows the person is in the table): each
        record's risk is 1/f. ``journalist`` (does not know): 1/F. ``marketer``
        (wants as many as possible): the expected share re-identified. Each with
        ``highest``, ``average`` and ``above`` (the share of records at risk).

    References
    ----------
    K. El Emam, L. Arbuckle (2013), Anonymizing Health Data, ch. 2.
    """
    n = sizes.sum()
    models = {"prosecutor": 1.0 / sizes}
    if population is not None:
        models["journalist"] = 1.0 / np.maximum(population, sizes)
    out = {}
    for name, risk in models.items():
        out[name] = {
            "highest": float(risk.max()),
            "average": float((risk * sizes).sum() / n),
            "above": float(sizes[risk > threshold].sum() / n),
        }
    known = out.get("journalist", out["prosecutor"])
    out["marketer"] = {"average": known["average"]}
    return out
