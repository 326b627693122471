"""What learners infer where rows are not paired: of members, and of people who took no part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...classes import IntArray
from ...progress import Tell
from ..design_matrix import Known, true_values
from ..inference import MOST_ASKED, Inference, in_shares, losses_of, public_loss, tree_cells
from ..risk.learners import MOST_CLASSES
from .matches import nearest_rows
from .tables import Apart

WITHOUT = "Strangers need people who took no part (control); none were given."


def infer_apart(
    tables: Apart, *, learners: Sequence[str], random_state: int, tell: Tell
) -> Inference:
    """`hedgerow.inference` of a release whose rows are not paired; strangers are the control."""
    asked = [people.some(MOST_ASKED) for people in tables.people]
    known = [
        people.known(tables.released_quasi, rows)
        for people, rows in zip(tables.people, asked, strict=True)
    ]
    near = _near(tables, known)
    columns: dict[str, Any] = {}
    for j, own in enumerate(tables.sensitive):
        bases, errors = [], []
        for people, rows, knows in zip(tables.people, asked, known, strict=True):
            truth = true_values(people.sensitive[j], rows)
            base = public_loss(own, truth)
            there = np.isfinite(base)
            found = losses_of(tables, j, near, knows, truth, learners, random_state, tell)
            bases.append(base[there])
            errors.append({name: losses[there] for name, losses in found.items()})
        mine = asked[0][np.isfinite(public_loss(own, true_values(own, asked[0])))]
        columns[own.name] = in_shares(
            bases[0],
            errors[0],
            errors[1] if len(errors) > 1 else None,
            tree_cells(tables.unchanged, own.name, mine),
            random_state,
            bases[1] if len(bases) > 1 else None,
        )
    n_classes = tables.classes.n_groups
    return Inference(
        columns,
        tuple(learners),
        len(asked[0]),
        tables.original.n_rows,
        n_classes,
        min(n_classes, MOST_CLASSES),
        0,
        () if tables.strangers is not None else (WITHOUT,),
    )


def _near(tables: Apart, known: Sequence[Known]) -> IntArray:
    """Of very many released rows those that lie nearest to who is asked about."""
    if tables.classes.n_groups <= MOST_CLASSES:
        return np.zeros(0, np.int64)
    first = tables.classes.first
    return np.concatenate([nearest_rows(tables.released_quasi, k, first) for k in known])
