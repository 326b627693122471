"""Shadow models: how well an attacker who has the method itself tells members from strangers.

Half of some people, drawn anew for each of several tables, is released by the same method. An attacker who knows
the method, its settings and everybody's values, and who of all these people was in each of the other releases,
asks of one release who is in it. Every release is attacked once, with the others as shadows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from hedgerow.auditing.attacks.membership import altered_numbers, attack_scores, known_strangers
from hedgerow.auditing.attacks.most_exposed import ALARMS, guesses
from hedgerow.auditing.pairing import read_unpaired
from hedgerow.auditing.subject import Subject, of_release
from hedgerow.auditing.table_pair import by_name
from hedgerow.columns.table import Table
from hedgerow.methods.hedge import Hedge
from hedgerow.schema import Schema
from hedgerow.workflow.protect import protect

from .cart_synthesis import synthesised
from .hedge import Case, sample

Floats = NDArray[np.float64]
Release = Callable[[Table, Schema, int], Subject]


def _hedge(table: Table, schema: Schema, seed: int, cells: str, guard: str | None) -> Subject:
    return of_release(protect(table, schema, Hedge(cells=cells), guard=guard, random_state=seed if guard else None))


RELEASES: Mapping[str, Release] = {
    "Hedge, exact": lambda t, schema, seed: _hedge(t, schema, seed, "means", None),
    "Hedge, redrawn means": lambda t, schema, seed: _hedge(t, schema, seed, "means", "redraw"),
    "Hedge, redrawn rows": lambda t, schema, seed: _hedge(t, schema, seed, "rows", "redraw"),
    "sequential CART": lambda t, schema, seed: Subject(Table(synthesised(t, seed)), schema),
}


def attack(case: Case, release: Release, *, rows: int = 600, shadows: int = 16) -> dict[str, Any]:
    """Attack a method by shadow models on one table.

    Parameters
    ----------
    case : Case
    release : callable
        Releases a table, given its schema and a seed.
    rows : int
        People, of whom each release has half; half as many others serve for comparison.
    shadows : int
        Releases besides the one that is attacked.

    Returns
    -------
    dict
        ``auc``: the area under the ROC curve, the mean over the attacked releases; ``found``: the share of members
        found where 1% of strangers are taken for members; each with the interval of the mean (95%).
    """
    schema = case.schema
    people = pa.concat_tables([part.arrow for part in sample(case, rows + rows // 2, 0)])
    is_member = np.zeros((shadows + 1, rows), np.bool_)
    scores = []
    for seed, inside in enumerate(is_member):
        inside[np.random.default_rng(seed).permutation(rows)[: rows // 2]] = True
        members = Table(people.take(pa.array(np.flatnonzero(inside))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = release(members, schema, seed + 1)
        outside = [*np.flatnonzero(~inside), *range(rows, people.num_rows)]
        scores.append(_of_everybody(members, Table(people.take(pa.array(outside))), made, inside))
    found = np.array([_attacked(np.array(scores), is_member, target) for target in range(shadows + 1)])
    mean, half = found.mean(axis=0), 1.96 * found.std(axis=0, ddof=1) / len(found) ** 0.5
    ends = [[float(m - h), float(m + h)] for m, h in zip(mean, half, strict=True)]
    return {"auc": float(mean[0]), "auc_interval": ends[0], "found": float(mean[1]), "found_interval": ends[1]}


def _of_everybody(members: Table, others: Table, release: Subject, inside: NDArray[np.bool_]) -> Floats:
    """Return the scores of every attack of the audit, members and strangers in their places: (people, attacks)."""
    sides = read_unpaired(members, release, others)
    assert sides.strangers is not None
    columns = [*by_name(sides.quasi), *by_name(sides.sensitive)]
    coded = known_strangers(columns, sides.strangers)
    n = int((~inside).sum())
    asked = sides.members.values_for(columns), coded.part(np.arange(n))
    nobody = coded.part(np.arange(0))
    by_attack = attack_scores(
        sides, coded.part(np.arange(n, len(coded))), [asked, (nobody, nobody)], set(altered_numbers(sides))
    )
    out = np.zeros((len(inside), len(by_attack)))
    for place, each in enumerate(by_attack.values()):
        out[inside, place], out[~inside, place] = each.members, each.strangers
    return np.nan_to_num(out, posinf=50, neginf=-50)


def _attacked(scores: Floats, is_member: NDArray[np.bool_], target: int) -> tuple[float, float]:
    """Return area and share found of the attack on one release."""
    guess, inside = guesses(scores, is_member, np.arange(len(scores)), target)[0], is_member[target]
    cut = np.quantile(guess[~inside], 1 - ALARMS)
    return float(roc_auc_score(inside, guess)), float((guess[inside] > cut).mean())
