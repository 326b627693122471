"""Matching against a plain reference, and what stands beside it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.auditing import class_risk
from hedgerow.auditing.success import Tolerance
from hedgerow.measures import Counts, group

labelled = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=40)


def make(rows):
    labels = np.array([a for a, _ in rows])
    codes = np.array([b for _, b in rows])
    groups = group([labels])
    return groups, Counts.from_codes(groups, codes, 6), codes


@settings(max_examples=80, deadline=None)
@given(labelled, st.sampled_from([0.05, 0.1, 0.2, 0.5]), st.sampled_from([0.0, 6.0]))
def test_matching_equals_trying_every_guess(rows, share, width):
    groups, counts, codes = make(rows)
    values = np.array([-105.0, -100.0, 0.0, 95.0, 100.0, 130.0])
    y = values[codes]

    def most(sample):
        reach = share * abs(sample) + width
        ends = np.concatenate([sample - reach, sample + reach])
        return max(int((np.abs(g - sample) <= reach + 1e-12).sum()) for g in ends)

    found = class_risk.matching(counts, values, (Tolerance("near", "near", share, width),))["near"]
    hits = sum(most(y[groups.labels == g]) for g in range(groups.n_groups))
    assert found["release"] == pytest.approx(hits / len(y))
    assert found["public"] == pytest.approx(most(y) / len(y))


def test_closeness_is_shown_in_the_distance_that_fits_the_column():
    rng = np.random.default_rng(9)
    people = pd.DataFrame(
        {
            "a": np.repeat(np.arange(20), 20),
            "pay": rng.lognormal(7, 1, 400),
            "flag": rng.integers(0, 2, 400),
            "ill": rng.choice(["flu", "cold", "none"], 400),
            "grade": pd.Categorical(rng.choice(list("xyz"), 400), categories=list("zxy"), ordered=True),
        }
    )
    schema = hr.Schema(quasi=["a"], sensitive=["pay", "flag", "ill", "grade"])
    found = hr.audit(people, people, schema, attacks=False, learning=False)
    told = found.risk["release"]["sensitive"]
    assert {name: column["t_distance"] for name, column in told.items()} == {
        "pay": "ordered",
        "flag": "equal",
        "ill": "equal",
        "grade": "ordered",
    }
    for column in told.values():
        assert column["t"] == column[f"t_{column['t_distance']}"]
    assert "t-closeness, ordered distances" in str(found)
