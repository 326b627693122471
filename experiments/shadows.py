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
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hedgerow.audit.attacks.membership import _altered, _scores, known_strangers
from hedgerow.audit.pairing import read_unpaired
from hedgerow.audit.subject import Subject, of_release
from hedgerow.audit.table_pair import by_name
from hedgerow.columns.table import Table
from hedgerow.methods.hedge import Hedge
from hedgerow.schema import Schema
from hedgerow.workflow.protect import protect

from .cart_synthesis import synthesised
from .hedge import Case, sample

Floats = NDArray[np.float64]
Release = Callable[[Table, Schema, int], Subject]

ALARMS = 0.01
"""Share of strangers who are wrongly taken for members."""
PRIOR = 2.0
"""Shadows whose spread is that of everybody, who are added to a person's own."""


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
    by_attack = _scores(sides, coded.part(np.arange(n, len(coded))), [asked, (nobody, nobody)], set(_altered(sides)))
    out = np.zeros((len(inside), len(by_attack)))
    for place, attack_scores in enumerate(by_attack.values()):
        out[inside, place], out[~inside, place] = attack_scores.members, attack_scores.strangers
    return np.nan_to_num(out, posinf=50, neginf=-50)


def _ratios(scores: Floats, is_member: NDArray[np.bool_], of: Floats) -> Floats:
    """Return, by each attack, the log-likelihood ratio that a person is in, from scores in the shadows."""
    spread = scores.std(axis=(0, 1)) ** 2 + 1e-12
    logs = []
    for inside in (is_member, ~is_member):
        n = inside.sum(axis=0)[:, None]
        total, square = (np.einsum("sp,spf->pf", inside, part) for part in (scores, scores**2))
        mean = total / np.maximum(n, 1)
        variance = (np.maximum(square - n * mean**2, 0) + PRIOR * spread) / (n + PRIOR)
        logs.append(-0.5 * np.log(variance) - (of - mean) ** 2 / (2 * variance))
    return np.clip(logs[0] - logs[1], -50, 50)


def guesses(scores: Floats, is_member: NDArray[np.bool_], parts: NDArray[np.int64], target: int) -> Floats:
    """Return the log odds that people are in each release of one part, learnt from all other parts."""
    known = parts != target

    def seen(part: int) -> Floats:
        now, others = parts == part, known & (parts != part)
        features = [scores[now], _ratios(scores[others], is_member[others], scores[now])]
        return np.concatenate(features, axis=2).reshape(-1, 2 * scores.shape[2])

    rest = np.unique(parts[known])
    x, y = np.vstack([seen(s) for s in rest]), np.concatenate([is_member[parts == s].ravel() for s in rest])
    learners = (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        HistGradientBoostingClassifier(max_iter=50, min_samples_leaf=40, random_state=0),
    )
    now = seen(target)
    chances = (np.clip(each.fit(x, y).predict_proba(now)[:, 1], 1e-12, 1 - 1e-12) for each in learners)
    return np.asarray(sum(np.log(p / (1 - p)) for p in chances)).reshape(-1, scores.shape[1])


def _attacked(scores: Floats, is_member: NDArray[np.bool_], target: int) -> tuple[float, float]:
    """Return area and share found of the attack on one release."""
    guess, inside = guesses(scores, is_member, np.arange(len(scores)), target)[0], is_member[target]
    cut = np.quantile(guess[~inside], 1 - ALARMS)
    return float(roc_auc_score(inside, guess)), float((guess[inside] > cut).mean())
