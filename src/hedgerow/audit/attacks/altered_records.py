"""The risk of records whose values were altered: how well they are linked with their originals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...measures.masking_scores import Scores, score_arrays
from ...plan import Plan, Randomize
from ...progress import Tell
from ..pairing import Pair
from .linking import linking_attacks
from .reconstructed import reconstructed

COLUMNS = 20
"""Most numeric columns that the scores compare."""
RECORDS = 5_000
"""Most released records that the scores link."""


def linkage_summary(
    pair: Pair, plan: Plan | None = None, *, people: int, random_state: int, tell: Tell
) -> dict[str, Any]:
    """How many records are linked with their originals, by every quasi-identifier.

    Where classes of equal cells say nothing, for the cells are not true, this is
    what an intruder gets: who knows all quasi-identifiers of a person names the
    nearest released record.

    Returns
    -------
    dict
        ``attacks``: distance-based and probabilistic linkage of some people, as
        `linking_attacks` gives them; ``highest`` is the larger success.
        ``scores``: linkage of all records by the numeric quasi-identifiers, interval
        disclosure and information loss (Domingo-Ferrer & Torra), in per cent; None
        when no two records are complete. ``reconstructed``: what a reader of randomized columns
        guesses about a group, by `reconstructed`; None where no plan says how they were drawn.
    """
    tell("linking altered records with their originals")
    attacks = linking_attacks(pair, people=people, random_state=random_state)
    scores = numeric_scores(pair, random_state)
    return {
        "attacks": attacks,
        "highest": max(attack["success"] for attack in attacks),
        "scores": None if scores is None else scores.to_dict(),
        "reconstructed": reconstructed(pair, plan.recoding)
        if plan is not None and isinstance(plan.recoding, Randomize)
        else None,
    }


def numeric_scores(pair: Pair, random_state: int) -> Scores | None:
    """The scores of the numeric quasi-identifiers that were released as numbers."""
    chosen = [e for e in pair.released_quasi if e.is_number and not e.general][:COLUMNS]
    if not chosen or pair.n_rows < 2:
        return None
    rows = pair.canonical  # the records that are linked do not depend on the order of the rows
    before = np.stack([e.original.numbers[rows] for e in chosen], axis=1)
    after = np.stack([e.lo[e.codes[rows]] for e in chosen], axis=1)
    complete = np.isfinite(before).all(axis=1) & np.isfinite(after).all(axis=1)
    if complete.sum() < 2:
        return None
    return score_arrays(
        before[complete],
        after[complete],
        [e.name for e in chosen],
        records=RECORDS,
        random_state=random_state,
    )
