"""What random groups tell, as the documents say it: why a small k cannot have a small cap."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hedgerow.io.read import read
from hedgerow.measures import Classes, disclosure

N = 60_000


def of_random_groups(values: np.ndarray, size: int) -> np.ndarray:
    groups = [f"g{i}" for i in range(N // size)]
    table = read(pd.DataFrame({"group": np.repeat(groups, size), "value": values}))
    return disclosure.column_disclosure(Classes.from_table(table, ["group"], ["value"]).sensitive["value"])


def flags(rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(N) < 0.3, "yes", "no").astype(object)


def test_one_score_tells_one_in_n() -> None:
    """A category has one score: n |p - P|^2 has the mean sum P (1 - P), a record's public loss."""
    told = of_random_groups(np.random.default_rng(1).integers(0, 10, N).astype(str), 10)
    assert told.mean() * 10 == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("skewed", [False, True])
def test_the_worst_of_a_number_s_scores_tells_more(skewed: bool) -> None:
    made = np.random.default_rng(1).normal(size=N)
    ten, fifteen, thirty = (of_random_groups(np.exp(made) if skewed else made, n) for n in (10, 15, 30))
    for told, n in ((ten, 10), (fifteen, 15), (thirty, 30)):
        assert 1.3 < told.mean() * n < 1.9
    assert 1 / 6.5 < np.mean(ten > 0.2) < 1 / 3
    assert 0.05 < np.mean(fifteen > 0.2) < 0.16  # k = 3 / cap: fewer, and still some


def test_a_flag_is_broken_by_chance_as_well() -> None:
    told = of_random_groups(flags(np.random.default_rng(1)), 10)
    assert 1 / 6.5 < np.mean(told > 0.2) < 1 / 3


@pytest.mark.parametrize(("cap", "flag", "many"), [(0.2, 20, 45), (0.3, 30, 55), (0.5, 50, 71)])
def test_what_a_rare_value_may_be_had_by(cap: float, flag: int, many: int) -> None:
    """The largest share in a class of 100, of 1 in 1,000 in the table, that a cap lets pass."""

    def told(held: int, others: np.ndarray, public: np.ndarray) -> float:
        rare = np.repeat("rare", held)
        elsewhere = np.concatenate([np.repeat("rare", 100 - held), public[100:]])
        value = np.concatenate([rare, others[: 100 - held], elsewhere]).astype(object)
        group = np.repeat(["a", "b"], [100, len(value) - 100])
        made = Classes.from_table(read(pd.DataFrame({"group": group, "value": value})), ["group"], ["value"])
        return float(disclosure.column_disclosure(made.sensitive["value"])[0])

    plain = np.repeat("no", 100_000)
    spread = np.array([f"v{i % 1000}" for i in range(100_000)])
    for values, share in ((plain, flag), (spread, many)):
        tried = {*range(share - 3, share + 4), *range(share + 4, 100, 8), 99}  # it grows with h
        largest = max(h for h in tried if told(h, values, values) <= cap)
        assert largest == pytest.approx(share, abs=2)
