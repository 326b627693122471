"""Rows that break rules are mended by values of others, until they keep all."""

import numpy as np
import pandas as pd

import hedgerow as hr


def test_a_row_that_breaks_two_rules_is_mended_one_at_a_time() -> None:
    draws = np.random.default_rng(3)
    age = draws.integers(0, 90, 1_000)
    works = (age >= 15) & (draws.random(1_000) < 0.5)
    weeks = np.where(works, draws.integers(1, 53, 1_000), 0)
    size = np.where(works, draws.integers(1, 7, 1_000), 0)
    married = np.where((age >= 15) & (draws.random(1_000) < 0.6), "yes", "no")
    people = pd.DataFrame({"age": age, "married": married, "weeks": weeks, "size": size})
    rules = ["age >= 15 OR weeks = 0", "age >= 15 OR married = 'no'", "weeks > 0 OR size = 0", "weeks = 0 OR size > 0"]
    schema = hr.Schema(quasi=["age", "married"], sensitive=["weeks", "size"], unit=None, rules=rules)

    rows = hr.protect(people, schema, random_state=3).table

    assert not ((rows["age"] < 15) & ((rows["weeks"] > 0) | (rows["married"] == "yes"))).any()
    assert ((rows["weeks"] > 0) == (rows["size"] > 0)).all()
