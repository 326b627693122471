"""The linking attack: which released records could be this person's?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...classes import FloatArray, IntArray, group
from ...errors import ParameterError
from ..design_matrix import Known, distances, known_rows
from ..intervals import attack_record, wilson
from ..pairing import Pair
from ..released_values import ReleasedColumn
from .learners import nearest_sets

MAX_COLUMNS = 20
_BLOCK = 1 << 22


def linking_attacks(
    pair: Pair, *, columns: Sequence[str] | None = None, people: int = 500, progress: Any = None
) -> list[dict[str, Any]]:
    """Distance-based and probabilistic record linkage on the quasi-identifiers.

    Parameters
    ----------
    pair : Pair
        The original and the release.
    columns : sequence of str, optional
        The quasi-identifiers that the intruder knows; by default all of them.
    people : int
        How many people are looked up, spread evenly over the sorted table.

    Returns
    -------
    list of dict
        ``success`` is the expected share of people linked to their own record:
        a person whose record shares the best score with t - 1 others counts
        1/t. The baseline names a record at random; ``original`` is the same on
        the unprotected table; ``control`` is the share of people who are linked
        without any disagreement although their own record was withheld, so that
        the intruder cannot tell them from people in the table.
    """
    chosen = [e for e in pair.released_quasi if columns is None or e.name in columns]
    if columns is not None and len(chosen) < len(set(columns)):
        lost = [c for c in columns if c not in {e.name for e in chosen}]
        raise ParameterError(
            "the linking attack was asked about columns that are no "
            "quasi-identifiers: " + ", ".join(map(repr, lost))
        )
    chosen = chosen[:MAX_COLUMNS]
    groups = group([e.codes for e in chosen], pair.n_rows)
    first, sizes = groups.first, groups.sizes.astype(np.float64)
    n = pair.n_rows
    picked = pair.canonical[np.unique(np.linspace(0, n - 1, min(people, n)).astype(np.int64))]
    own = groups.labels[picked].astype(np.int64)
    known = known_rows(chosen, picked)
    before = group([e.original.codes for e in chosen], n)
    unprotected = 1.0 / before.sizes[before.labels[picked]]
    weights = match_weights(chosen, first, sizes, known)
    agree = _alone(chosen, first, known, own, sizes)
    out = []
    for name, score in (("distance", None), ("probabilistic", weights)):
        if progress:
            progress(f"linking attack: {name}")
        credit = np.zeros(len(picked))
        for part, best in nearest_sets(chosen, first, known, score):
            mine = best[np.arange(len(best)), own[part]]
            credit[part] = mine / (best @ sizes)
        out.append(
            attack_record(
                "linking",
                learner=name,
                target="own record",
                means="the person's own record is named",
                success=wilson(float(credit.sum()), len(credit)),
                control=wilson(float(agree.sum()), len(agree)),
                original=wilson(float(unprotected.sum()), len(unprotected)),
                public_guess=1 / n,
                public_best=1 / n,
                random_row=1 / n,
                controlled=False,
            )
        )
    return out


def _alone(
    released: Sequence[ReleasedColumn],
    rows: IntArray,
    people: Known,
    own: IntArray,
    sizes: FloatArray,
) -> FloatArray:
    """Whether a record other than the person's own agrees in every column."""
    out = np.zeros(len(people))
    step = max(1, _BLOCK // max(len(rows), 1))
    for begin in range(0, len(people), step):
        part = slice(begin, min(begin + step, len(people)))
        total = np.sum(distances(released, people.part(part), rows), axis=0)
        fits = total <= 1e-6
        others = fits @ sizes - fits[np.arange(len(total)), own[part]]
        out[part] = others > 0.5
    return out


def match_weights(
    released: Sequence[ReleasedColumn],
    rows: IntArray,
    sizes: FloatArray,
    people: Known,
    rounds: int = 50,
) -> Any:
    """Fellegi and Sunter's weights, estimated as an intruder would, as a scoring function.

    A column agrees when the released cell may stand for the person's value.
    u is how often it agrees over all pairs; m is estimated by expectation
    maximisation over the agreement patterns of all pairs, one match a person. Score: minus the sum
    of log(m / u) over agreeing and log((1 - m) / (1 - u)) over other columns.

    References
    ----------
    I. P. Fellegi, A. B. Sunter (1969), A theory for record linkage. JASA 64.
    M. A. Jaro (1989), the EM estimate. JASA 84.
    """
    q = len(released)
    totals = np.zeros(1 << q)
    step = max(1, _BLOCK // max(len(rows), 1))
    for begin in range(0, len(people), step):
        part = people.part(slice(begin, min(begin + step, len(people))))
        pattern = np.zeros((len(part), len(rows)), np.int64)
        for j, away in enumerate(distances(released, part, rows)):
            pattern |= (away <= 1e-6).astype(np.int64) << j
        weight = np.broadcast_to(sizes, pattern.shape)
        totals += np.bincount(pattern.reshape(-1), weight.reshape(-1), 1 << q)
    seen = np.flatnonzero(totals)
    bits = ((seen[:, None] >> np.arange(q)) & 1).astype(np.float64)
    share = totals[seen] / totals.sum()
    u = np.clip(share @ bits, 1e-6, 1 - 1e-6)
    # everybody has one record, so the prevalence is known; and ranges and sets hold
    # the true value by construction, so only plain (perhaps perturbed) columns need an m
    m, prevalence = np.full(q, 0.99), 1.0 / sizes.sum()
    sure = np.array([column.general for column in released])
    for _ in range(rounds):
        matched = np.prod(np.where(bits == 1, m, 1 - m), axis=1) * prevalence
        other = np.prod(np.where(bits == 1, u, 1 - u), axis=1) * (1 - prevalence)
        chance = matched / np.maximum(matched + other, 1e-300)
        mass = float(share @ chance)
        found = np.clip((share * chance) @ bits / max(mass, 1e-300), 1e-6, 1 - 1e-6)
        m = np.where(sure, 0.999, found)
    # a column that agrees less often among matches than at random says nothing
    yes, no = np.maximum(np.log(m / u), 0.0), np.minimum(np.log((1 - m) / (1 - u)), 0.0)

    def score(columns: list[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        total = np.zeros(columns[0].shape)
        for j, away in enumerate(columns):
            total -= np.where(away <= 1e-6, yes[j], no[j])
        return total.astype(np.float32)

    return score
