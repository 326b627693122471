"""Attacks on members by the numbers that a release shows, by somebody who knows all people asked about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.metrics import roc_auc_score, roc_curve

import hedgerow as hr
from hedgerow.columns.table import Table
from hedgerow.datasets import load_casc
from hedgerow.guard.code import coded
from hedgerow.guard.pieces import numbers_of_runs
from hedgerow.key import Key

from .hedge import Case

Array = np.ndarray[Any, Any]
# simulated releases of halves, and places at which their numbers are counted
SIMULATED, PLACES = 1_500, 400


NUMBERS = (
    Case(
        "CASC Census, 7 columns", partial(load_casc, "census"), ("EMCONTRB", "POTHVAL", "INTVAL", "WSALVAL"),
        ("AGI", "FEDTAX", "PEARNVAL"),
    ),
    Case(
        "CASC Census, 13 columns", partial(load_casc, "census"), ("EMCONTRB", "POTHVAL", "INTVAL", "WSALVAL"),
        ("AGI", "FEDTAX", "PEARNVAL", "AFNLWGT", "PTOTVAL", "STATETAX", "TAXINC", "FICA", "ERNVAL"),
    ),
    Case(
        "Tarragona", partial(load_casc, "tarragona"), ("FIXED.ASSETS", "CURRENT.ASSETS", "TREASURY", "SALES"),
        ("PAID.UP.CAPITAL", "SHORT.TERM.DEBT", "LABOR.COSTS", "DEPRECIATION", "NET.PROFIT"),
    ),
    Case("EIA", partial(load_casc, "eia"), ("RESSALES", "COMSALES"), ("INDREVENUE", "TOTREVENUE", "RESREVENUE")),
)  # fmt: skip


def simulated(values: Array, least: int, draws: np.random.Generator) -> Array:
    """Return the numbers that a column of members could be told as, drawn evenly over all of them."""
    key, n = Key(draws.bytes(32)), len(values)
    record = coded(Table(pa.table({"x": values})), hr.Schema(sensitive=["x"]), "x", least, None, key).record
    reached = np.cumsum(np.asarray(record.people)[: record.n_values])
    codes = np.searchsorted(reached, np.floor(np.arange(n) + draws.random(n)), side="right")
    return numbers_of_runs(record, np.minimum(codes, record.n_values - 1), draws.random(n), draws.random(n))


def linear(known: Array, shown: Array, least: int, draws: np.random.Generator) -> Array:
    """Return scores by a linear rule from counts of shown numbers to members, learned from simulated releases."""
    places = np.unique(np.quantile(np.unique(known), np.linspace(0, 1, PLACES)))

    def counts(numbers: Array) -> Array:
        here = np.bincount(np.searchsorted(places, numbers, side="right"), minlength=len(places) + 1)
        return np.concatenate([here, np.cumsum(here) / 5, np.isin(places, numbers)])

    n, members, features = len(known), [], []
    for _ in range(SIMULATED):
        is_member = draws.permutation(n) < n // 2
        members.append(is_member - 0.5)
        features.append(counts(simulated(known[is_member], least, draws)))
    mean, spread = np.mean(features, axis=0), np.std(features, axis=0)
    varies = spread > 0
    z = ((np.array(features) - mean) / np.where(varies, spread, 1))[:, varies]
    here = np.clip(((counts(shown) - mean) / np.where(varies, spread, 1))[varies], -4, 4)
    rule = np.linalg.solve(z.T @ z + 0.3 * SIMULATED * np.eye(z.shape[1]), z.T @ np.array(members))
    return np.asarray(here @ rule)


def density(known: Array, shown: Array, widths: Sequence[int] = (4, 8, 20, 40)) -> Array:
    """Return scores by how many shown numbers lie near each known one, for how many known ones."""
    ordered, numbers = np.sort(known), np.sort(shown)
    at, scores = np.searchsorted(ordered, known), np.zeros(len(known))
    for width in widths:
        low, high = ordered[np.maximum(at - width, 0)], ordered[np.minimum(at + width, len(known) - 1)]
        here, there = (np.searchsorted(x, high, "right") - np.searchsorted(x, low) for x in (numbers, ordered))
        scores += np.log((here + 1) / (there * len(shown) / len(known) + 1))
    return scores


def nearest(known: Array, shown: Array) -> Array:
    """Return scores by how near the nearest shown number is."""
    numbers = np.unique(shown)
    at = np.clip(np.searchsorted(numbers, known), 1, len(numbers) - 1)
    near = np.minimum(np.abs(known - numbers[at - 1]), np.abs(known - numbers[at]))
    return -np.argsort(np.argsort(near, kind="stable")) / len(known)


def exact(known: Array, shown: Array) -> Array:
    """Return 1 for whose number is shown."""
    return np.isin(known, shown).astype(np.float64)


def attack(
    case: Case, people: int, seed: int, *, learn: bool = True, **options: Any
) -> Mapping[str, tuple[float, float]]:
    """Return the area under the ROC curve of each attack, and the share found at 1% of false alarms.

    So many people are known, half of them members of one release. "control" is another half, by the same scores.
    """
    draws = np.random.default_rng(seed)
    names = *case.quasi, *case.sensitive
    table = case.load().select(names).to_pandas().astype(float).dropna()
    known = table.iloc[draws.permutation(len(table))[:people]].reset_index(drop=True)
    members, others = (draws.permutation(len(known)) < len(known) // 2 for _ in range(2))
    schema = hr.Schema(quasi=case.quasi, sensitive=case.sensitive, kinds=dict.fromkeys(names, "numeric"))
    shown = hr.protect(known[members].reset_index(drop=True), schema, random_state=seed, **options).table
    ways: dict[str, Callable[[Array, Array], Array]] = {"density": density, "nearest": nearest, "exact value": exact}
    if learn:
        ways = {"linear": lambda values, told: linear(values, told, 10, draws)} | ways
    found: dict[str, tuple[float, float]] = {}
    columns = [(known[c].to_numpy(np.float64), np.asarray(shown[c], np.float64)) for c in names]
    for way, score in ways.items():
        scores = np.sum([score(values, told) for values, told in columns], axis=0)
        for name, whom in ((way, members), (f"{way}, control", others)):
            alarms, caught, _ = roc_curve(whom, scores)
            found[name] = float(roc_auc_score(whom, scores)), float(np.interp(0.01, alarms, caught))
    return found
