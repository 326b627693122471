"""A small release made by hand: groups of a plain tree, ranges and joined categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

from hedgerow.notation import concatenation, interval
from hedgerow.schema import Schema


def grouped(people, quasi, sensitive, k):
    """The table released in groups of at least k, grown on the sensitive columns."""
    x = np.stack(
        [people[c] if people[c].dtype.kind in "if" else people[c].astype("category").cat.codes for c in quasi], axis=1
    )
    y = np.stack(
        [people[c] if people[c].dtype.kind in "if" else people[c].astype("category").cat.codes for c in sensitive],
        axis=1,
    ).astype(float)
    leaf = DecisionTreeRegressor(min_samples_leaf=k, random_state=0).fit(x, y).apply(x)
    out = people.copy()
    for c in quasi:
        parts = people[c].groupby(leaf)
        number = people[c].dtype.kind in "if"
        label = {g: interval(s.min(), s.max()) if number else concatenation(sorted(s.unique())) for g, s in parts}
        out[c] = pd.Series(leaf, index=people.index).map(label)
    return out


def people_of(n, seed=0):
    """Made people whose pay depends on age and job."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    job = rng.choice(["nurse", "cook", "clerk", "driver"], n)
    sex = rng.choice(["f", "m"], n)
    bonus = np.select([job == "nurse", job == "cook"], [900, 100], 400)
    pay = (1000 + 20 * age + bonus + rng.normal(0, 150, n)).round()
    ill = np.where(rng.random(n) < 0.2 + 0.5 * (age > 60), "flu", "none")
    return pd.DataFrame({"age": age, "job": job, "sex": sex, "pay": pay, "ill": ill})


@pytest.fixture(scope="session")
def people():
    return people_of(1200)


@pytest.fixture(scope="session")
def schema():
    return Schema(quasi=["age", "job", "sex"], sensitive=["pay", "ill"])


@pytest.fixture(scope="session")
def release(people):
    return grouped(people, ["age", "job", "sex"], ["pay"], 10)
