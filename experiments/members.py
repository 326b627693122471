"""Attacks on members by the moments of a released table, by somebody who knows everybody's values, or all but one's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score, roc_curve

import hedgerow as hr

Array = np.ndarray[Any, Any]
# categories of a column, values of a number that many people have, and products of three features, at most
CATEGORIES, HEAPS, TRIPLES = 12, 3, 400


def features(people: pd.DataFrame, known: pd.DataFrame, sensitive: Sequence[str]) -> tuple[Array, Array, Array]:
    """Return all that rows are brought near to the table by, in standard deviations of the people who are known.

    Of numbers the value, its square and their normal score, of values that a twentieth has and of categories who has
    them.

    Returns
    -------
    features : float64 array of shape (n_people, n_features)
    column : int64 array of shape (n_features,)
        The number of the column of each.
    is_linear : bool array of shape (n_features,)
        Of sensitive columns, 2.
    """
    made, column, linear = list[Array](), list[int](), list[int]()
    for number, name in enumerate(known.columns):
        ours, theirs = people[name], known[name]
        if pd.api.types.is_numeric_dtype(theirs):
            value, every = ours.to_numpy(np.float64), np.sort(theirs.to_numpy(np.float64))
            z = np.clip((value - every.mean()) / (every.std() or 1), -3, 3)
            rank = (np.searchsorted(every, value) + np.searchsorted(every, value, "right") + 1) / (2 * len(every) + 2)
            heaps = theirs.value_counts(normalize=True)
            new = [z, z**2, rank, *(value == heap for heap in heaps[heaps > 0.05].index[:HEAPS])]
        else:
            new = [(ours == category).to_numpy() for category in theirs.value_counts().index[:CATEGORIES]]
        made += [np.asarray(each, np.float64) for each in new]
        column += [number] * len(new)
        linear += [1 + (name in sensitive)] + [0] * (len(new) - 1)
    return np.column_stack(made), np.array(column), np.array(linear)


def products(people: pd.DataFrame, known: pd.DataFrame, sensitive: Sequence[str], *, triples: bool) -> Array:
    """Return the products of all pairs of features of different columns; shape (n_people, n_products).

    With triples also those of the first feature of two quasi-identifiers and a sensitive column.
    """
    x, column, linear = features(people, known, sensitive)
    centre = features(known, known, sensitive)[0]
    x = (x - centre.mean(axis=0)) / (centre.std(axis=0) + 1e-9)
    one, two = np.triu_indices(x.shape[1], 1)
    apart = column[one] != column[two]
    made = [x, x[:, one[apart]] * x[:, two[apart]]]
    if triples:
        quasi, hidden = np.flatnonzero(linear == 1), np.flatnonzero(linear == 2)
        pairs = [(a, b) for i, a in enumerate(quasi) for b in quasi[:i]]
        made.append(np.column_stack([x[:, a] * x[:, b] * x[:, c] for a, b in pairs for c in hidden][:TRIPLES]))
    return np.concatenate(made, axis=1)


def by_moments(
    known: pd.DataFrame, quasi: Sequence[str], sensitive: Sequence[str], releases: int, *, triples: bool, **options: Any
) -> tuple[Array, Array]:
    """Return the area under the ROC curve, and the share found at 1% of false alarms, for releases of random halves.

    Scores are the release's moments less those of the other releases, whitened, times the person's own.
    """
    own = products(known, known, sensitive, triples=triples)
    mean, spread = own.mean(axis=0), own.std(axis=0) + 1e-9
    is_member = np.array([np.random.default_rng(r).permutation(len(known)) < len(known) // 2 for r in range(releases)])
    schema = hr.Schema(quasi=quasi, sensitive=sensitive)
    shown = []
    for seed, members in enumerate(is_member):
        released = hr.protect(known[members].reset_index(drop=True), schema, random_state=seed + 1, **options).table
        shown.append((products(released, known, sensitive, triples=triples).mean(axis=0) - mean) / spread)
    own = (own - mean) / spread
    white = np.linalg.inv(np.cov(own.T) + 0.3 * np.eye(own.shape[1]))
    area, found = [], []
    for r, members in enumerate(is_member):
        scores = own @ white @ (shown[r] - np.delete(shown, r, axis=0).mean(axis=0))
        alarms, caught, _ = roc_curve(members, scores)
        area.append(roc_auc_score(members, scores))
        found.append(np.interp(0.01, alarms, caught))
    return np.array(area), np.array(found)


def last_person(
    people: pd.DataFrame, quasi: Sequence[str], sensitive: Sequence[str], column: str, targets: int, keys: int,
    **options: Any,
) -> Array:  # fmt: skip
    """Return the area under the ROC curve for what the last person has, to whom knows everybody else; one a person.

    Each of some people has either of the two commonest values of a column, in releases under as many keys. Scores are
    the release's moments less those of everybody else, whitened, times by what the two rows of the person differ.
    """
    draws = np.random.default_rng(0)
    first, second = people[column].value_counts().index[:2]
    schema, areas = hr.Schema(quasi=quasi, sensitive=sensitive), []
    for who in draws.choice(np.flatnonzero(people[column].isin([first, second])), targets, replace=False):
        tables = [people.copy(), people.copy()]
        for table, value in zip(tables, (first, second), strict=True):
            table.loc[who, column] = value
        rest = people.drop(index=who)
        own = products(rest, rest, sensitive, triples=False)
        rows = [products(table.iloc[[who]], rest, sensitive, triples=False)[0] for table in tables]
        direction = np.linalg.solve(np.cov(own.T) + 0.3 * np.eye(own.shape[1]), rows[1] - rows[0])
        scores = [
            (products(hr.protect(table, schema, random_state=1_000 * who + 2 * key + i, **options).table, rest,
                      sensitive, triples=False).sum(axis=0) - own.sum(axis=0)) @ direction
            for i, table in enumerate(tables) for key in range(keys)
        ]  # fmt: skip
        areas.append(roc_auc_score(np.repeat([0, 1], keys), scores))
    return np.array(areas)
