"""People, others, and releases of which it is known how much they give away."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hedgerow.auditing.pairing import read_unpaired
from hedgerow.auditing.subject import subject
from hedgerow.schema import Schema

SCHEMA = Schema(quasi=["age", "place", "job", "height"], sensitive=["pay", "ill"])


def drawn(n, seed):
    """People whose pay depends on age and job; hardly two are alike."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    job = rng.choice(["nurse", "cook", "clerk", "driver"], n)
    pay = 1000 + 20 * age + 400 * (job == "nurse") + rng.normal(0, 200, n)
    return pd.DataFrame(
        {
            "age": age,
            "place": rng.integers(1, 400, n),
            "job": job,
            "height": rng.normal(170, 10, n).round(1),
            "pay": pay.round(),
            "ill": np.where(rng.random(n) < 0.2 + 0.5 * (age > 60), "flu", "none"),
        }
    )


def leaky(members, share, seed):
    """A release of independent rows, a share of which stands for as many members."""
    rng = np.random.default_rng(seed)
    n = round(share * len(members))
    copied = members.iloc[rng.choice(len(members), n, replace=False)]
    made = pd.concat([copied, drawn(len(members) - n, seed + 1000)])
    return made.iloc[rng.permutation(len(made))].reset_index(drop=True)


def tables_of(members, released, control=None, schema=SCHEMA):
    return read_unpaired(members, subject(released, schema, None), control)


@pytest.fixture(scope="session")
def members():
    return drawn(800, 1)


@pytest.fixture(scope="session")
def others():
    return drawn(800, 2)
