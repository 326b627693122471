"""A reader of the file trains a tree of their own: the audit says what it finds, and not less."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import hedgerow as hr

SCHEMA = hr.Schema(quasi=["age", "hours"], sensitive=["pay"])


def people_of(n, seed):
    rng = np.random.default_rng(seed)
    age, hours = rng.integers(18, 80, n), rng.integers(5, 60, n)
    return pd.DataFrame({"age": age, "hours": hours, "pay": 9 * age + rng.normal(0, 150, n)})


def middle(cell):
    """The middle of a released range, or the number itself."""
    found = re.fullmatch(r"\[(-?[\d.]+)-(-?[\d.]+)\]", str(cell))
    return (float(found[1]) + float(found[2])) / 2 if found else float(cell)


def explained(file, people):
    """R squared of a tree that was trained on the file alone, asked about true values."""
    release = pd.read_csv(file)
    x = release[["age", "hours"]].map(middle)
    tree = DecisionTreeRegressor(random_state=0).fit(x.to_numpy(), release["pay"])
    guess = tree.predict(people[["age", "hours"]].to_numpy(float))
    return 1 - ((people["pay"] - guess) ** 2).sum() / ((people["pay"] - release["pay"].mean()) ** 2).sum()


@pytest.mark.parametrize("k", [5, 40])
def test_a_tree_on_the_file_alone_finds_what_the_audit_says(tmp_path, k):
    members, strangers = people_of(1500, 1), people_of(1500, 2)
    members.to_csv(tmp_path / "people.csv", index=False)
    release = hr.protect(tmp_path / "people.csv", SCHEMA, hr.MART(k=k, max_disclosure=None))
    release.write(tmp_path / "out")
    found = hr.inference(tmp_path / "people.csv", SCHEMA, release=release).columns["pay"]
    file = tmp_path / "out" / "release.csv"
    tree = found["learners"]["tree"]
    # the file's own figures; a refit on two thirds of the people is a little worse
    assert explained(file, members) == pytest.approx(tree["members"]["explained"], abs=0.02)
    assert explained(file, strangers) == pytest.approx(tree["strangers"]["explained"], abs=0.1)
    assert found["members"]["explained"] >= tree["members"]["explained"]
