"""A tree that learns from released rows is asked about a ward: what three columns tell is not promised."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import hedgerow as hr

from ..guard.test_cap_on import WARDS, ward

pytestmark = pytest.mark.filterwarnings("ignore")


def guessed(table: pd.DataFrame, people: pd.DataFrame) -> float:
    """Return how ill a tree with leaves of ten takes the people of ward X to be, in the mean."""
    both = pd.concat([table, people])
    known = pd.get_dummies(both[list(WARDS.quasi)], dtype=float).to_numpy()
    tree = DecisionTreeRegressor(min_samples_leaf=10, random_state=0)
    tree.fit(known[: len(table)], (table["ill"] == "yes").to_numpy(float))
    of_ward = (people["ward"] == "X").to_numpy()
    return float(tree.predict(known[len(table) :][of_ward]).mean())


@pytest.mark.parametrize(("people", "cap", "most"), [(100, 0.2, 0.4), (600, 0.2, 0.5), (600, 0.5, 0.75)])
def test_a_tree_learns_little_more_than_the_cap_on_the_file_allows(people: int, cap: float, most: float) -> None:
    original, told = ward(people), {}
    for cap_on in ("groups", "file"):
        release = hr.protect(original, WARDS, hr.Hedge(max_disclosure=cap), random_state=0, cap_on=cap_on)
        told[cap_on] = guessed(release.table, original)
    assert np.round(told["groups"], 2) >= 0.9
    assert told["file"] <= most
