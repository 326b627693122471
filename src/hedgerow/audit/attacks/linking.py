"""The linking attack: which released records could be this person's?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...kernels.neighbours import count_patterns
from ...measures import FloatArray, IntArray, group
from ...measures.agreement import MOST_COLUMNS, Agreement, bits_of
from ..design_matrix import Known, known_rows
from ..intervals import attack_record, rate_of
from ..pairing import Pair, spread
from ..record_distance import Reach
from ..released_values import ReleasedColumn


def linking_attacks(
    pair: Pair, *, people: int = 500, random_state: int = 0, progress: Any = None
) -> list[dict[str, Any]]:
    """Distance-based and probabilistic record linkage on the quasi-identifiers.

    Parameters
    ----------
    pair : Pair
        The original and the release.
    people : int
        How many people are looked up, spread evenly over the sorted table.
    random_state : int
        Whom.

    Returns
    -------
    list of dict
        ``success`` is the expected share of people linked to their own record:
        a person whose record shares the best score with t - 1 others counts
        1/t. Of records that may be the person's, those whose cells fit the fewest people
        come first. The baseline names a record at random; ``original`` is the same on
        the unprotected table; ``control`` is the share of people who are linked
        without any disagreement and as closely although their own record was withheld, so
        that the intruder cannot tell them from people in the table.
    """
    chosen = pair.released_quasi[:MOST_COLUMNS]
    groups = group([e.codes for e in chosen], pair.n_rows)
    n = pair.n_rows
    picked = spread(pair.canonical, people, random_state)
    own = groups.labels[picked].astype(np.int64)
    before = group([e.whole.codes for e in chosen], pair.original.n_rows)
    unprotected = 1.0 / before.sizes[before.labels[pair.rows[picked]]]
    if progress:
        progress("linking attack: distance and probability")
    people_known = known_rows(chosen, picked)
    nearest, likeliest, agree = _linked(chosen, people_known, groups.first, groups.sizes, own)
    out = []
    for name, chance in (("distance", nearest), ("probabilistic", likeliest)):
        out.append(
            attack_record(
                "linking",
                learner=name,
                target="own record",
                means="the person's own record is named",
                success=rate_of(chance),
                control=rate_of(agree),
                original=rate_of(unprotected),
                public_guess=1 / n,
                public_best=1 / n,
                random_row=1 / n,
                controlled=False,
            )
        )
    return out


def _linked(
    released: Sequence[ReleasedColumn],
    people: Known,
    rows: IntArray,
    sizes: IntArray,
    own: IntArray,
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Each person's chance to be named by distance and by probability, and whether others fit.

    A column agrees wholly when the released cell may stand for the person's value; the
    own record is named among all that are linked as well. Others fit when a record
    that is not the person's agrees wholly in every column, and no cells fit fewer people.
    """
    q, n, bits = len(released), len(people), bits_of(len(released))
    full = np.uint32((1 << (bits * q)) - 1)
    reach = Reach(released, rows)
    nearest, fits = np.zeros(n), np.zeros(n, np.bool_)
    counts = np.zeros(1 << (bits * q), np.int64)
    for i in range(n):
        away, agree = reach.sums(people, i), reach.patterns(people, i)
        best = reach.nearest(away)
        nearest[i] = _named(own[i], best, sizes)
        counts += count_patterns(agree[None], sizes, bits * q)
        wholly = reach.likeliest(np.flatnonzero(agree == full))
        fits[i] = sizes[wholly].sum() > (wholly == own[i]).any()
    # ranges and sets hold the true value by construction; plain columns may be perturbed
    sure = np.array([column.general and not column.stands_in for column in released])
    belong = 1.0 / int(sizes.sum())
    weights = Agreement.estimated(counts, q, belong, sure).weights(informative=True)
    likeliest = np.zeros(n)
    for i in range(n):
        agree = reach.patterns(people, i)
        weight = weights[agree]
        best = np.flatnonzero(weight == weight.max())
        if (agree[best] == full).all():
            best = reach.likeliest(best)
        likeliest[i] = _named(own[i], best, sizes)
    return nearest, likeliest, fits


def _named(own: int, best: IntArray, sizes: IntArray) -> float:
    """The chance that a record is named, where some classes of records share the link."""
    return float((best == own).any() / sizes[best].sum())
