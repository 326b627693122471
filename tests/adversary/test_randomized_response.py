"""What intruders learn from randomized releases: of one, and of two under one key."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import hedgerow as hr
from hedgerow.backends.randomize import Rows
from hedgerow.io.read import read
from hedgerow.methods.randomized_response import likelihood_of_kept

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N = 800


def people(seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    n = N
    return pa.table(
        {
            "person": np.arange(n),
            "age": rng.integers(20, 60, n).astype(float),
            "pay": rng.normal(3_000, 500, n).round(2),
            "job": np.array(list("abcd"))[rng.integers(0, 4, n)],
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
            "ill": np.array(list("uvwxyz"))[rng.integers(0, 6, n)],
        }
    )


WORDS, NUMBERS = ["job", "sex"], ["age", "pay"]
METHODS = {
    "randomized response": (hr.RandomizedResponse, WORDS, {"l": 5.0}, {"l": 6.0}),
    "PRAM": (hr.PRAM, WORDS, {"stay": 0.7}, {"stay": 0.6}),
    "noise": (hr.NoiseAddition, NUMBERS, {"scale": 0.2}, {"scale": 0.3}),
    "rank swapping": (hr.RankSwapping, NUMBERS, {"proportion": 0.1}, {"proportion": 0.12}),
    "PoROP": (hr.PoROP, NUMBERS, {"block_size": 50, "degree": 2}, {"block_size": 50, "degree": 2, "clip": True}),
}


def key(number: int) -> hr.Key:
    return hr.Key((number + 1).to_bytes(32, "little"))


def changes(name: str, which: str, secret: int) -> dict[int, float]:
    """For every person how the first quasi-identifier was changed: by how much, or whether.

    The releases are the first one, and one with other parameters, people or columns.
    """
    make, quasi, parameters, others = METHODS[name]
    method = make(**(others if which == "parameters" else parameters), key=key(secret))
    table = people().slice(100) if which == "people" else people().slice(0, N - 100)
    quasi = quasi[:1] if which == "columns" else quasi
    schema = hr.Schema(quasi=quasi, sensitive=["ill"], other=["person"])
    release = hr.protect(table, schema, method)
    rows = pa.array(release.rows)
    before = table.column(quasi[0]).take(rows).to_pylist()
    after = release.table.column(quasi[0]).to_pylist()
    told = [b - a if isinstance(a, float) else float(b == a) for a, b in zip(before, after, strict=True)]
    return dict(zip(table.column("person").take(rows).to_pylist(), told, strict=True))


def agreement(one: dict[int, float], two: dict[int, float]) -> float:
    """The correlation of what was done to the people that both releases hold."""
    both = sorted(one.keys() & two.keys())
    return float(np.corrcoef([one[p] for p in both], [two[p] for p in both])[0, 1])


kept = cache(changes)


@pytest.mark.parametrize("name", METHODS)
def test_two_releases_under_one_key_agree_as_under_two(name: str) -> None:
    """What a method's own arithmetic makes them agree is the same in both, and so is the chance."""
    for which in ("parameters", "people", "columns"):
        same, apart = (
            [agreement(kept(name, "first", i), kept(name, which, i + far)) for i in range(8)] for far in (0, 8)
        )
        assert stats.ttest_ind(same, apart).pvalue > 1e-3, which


@pytest.mark.parametrize("name", METHODS)
def test_draws_that_are_bound_to_key_and_row_alone_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old binding: whoever sees both releases sees one draw twice."""
    monkeypatch.setattr(Rows, "release_key", lambda rows, parameters: rows.key)
    first = changes(name, "first", 0)
    told = [agreement(first, changes(name, which, 0)) for which in ("parameters", "columns")]
    assert max(told) > 0.3


def grouped(n: int = 20_000) -> pa.Table:
    """85% of every district have the illness that is common there, 20% of everybody each."""
    rng = np.random.default_rng(1)
    district = rng.integers(0, 5, n)
    ill = np.where(rng.random(n) < 0.8125, district, rng.integers(0, 5, n))
    names = np.array(list("abcde"))
    return pa.table({"district": names[district], "ill": names[ill]})


@pytest.mark.parametrize("bound", ["paper", "operational"])
def test_the_reconstruction_tells_what_a_group_has_in_common(bound: str, tmp_path: Path) -> None:
    """What the cap does not hold, as docstring, caution and documents say."""
    table = grouped()
    schema = hr.Schema(quasi=["district"], sensitive=["ill"])
    method = hr.RandomizedResponse(2.5, bound=bound, key=key(3))
    with pytest.warns(UserWarning, match="In 5 of the 5 groups .* is right for 85% of"):
        release = hr.protect(table, schema, method)
    if bound == "operational":
        assert release.method.success_ <= 0.4
    else:
        assert release.method.risk_ <= 0.4
    out = release.write(tmp_path / "out")
    for private in ("plan.json", "audit.json"):
        (out / private).unlink()
    told = hr.reconstruct(out).group_by(["district", "ill"]).to_pandas()
    best = told.sort_values("count").groupby("district").tail(1)
    guess = dict(zip(best["district"], best["ill"], strict=True))
    truth = table.to_pandas()
    assert (truth["district"].map(guess) == truth["ill"]).mean() > 0.8
    # the intruder whom the operational bound caps: a random record released with what the
    # target's may have been moved to
    if bound == "operational":
        seen = read(out / "release.parquet").arrow.to_pandas()
        place = {d: g["ill"].to_numpy() for d, g in seen.groupby("district")}
        rng = np.random.default_rng(0)
        p = release.method.p_["district"]
        place_of = {d: i for i, d in enumerate("abcde")}
        at = truth["district"].map(place_of).to_numpy()
        away = (at + rng.integers(1, 5, len(at))) % 5
        moved = np.array(list("abcde"))[np.where(rng.random(len(at)) < p, at, away)]
        stay = np.array([rng.choice(place[d]) for d in moved])
        assert (stay == truth["ill"]).mean() <= 0.4 + 3 * (0.4 * 0.6 / len(truth)) ** 0.5


def test_a_group_above_the_cap_is_told_where_the_mean_is_below_it() -> None:
    """36 of 40 in one district have one value; of all 200 such guesses are right for 38%."""
    ill = ["a"] * 36 + ["b", "c", "d", "e"] + ["a", "b", "c", "d"] * 40
    table = pa.table({"district": ["x"] * 40 + ["y"] * 160, "ill": ill})
    schema = hr.Schema(quasi=["district"], sensitive=["ill"])
    with pytest.warns(UserWarning, match="In 1 of the 2 groups .* is right for 90% of 40 people"):
        hr.protect(table, schema, hr.RandomizedResponse(2.0, bound="operational", key=key(3)))


def test_rare_moves_are_no_fault() -> None:
    """Of 1,000 values one in 10,000 moves: three that moved are no wonder, forty are."""
    assert likelihood_of_kept(997, 1_000, 0.9999) > 1e-5
    by_normal = abs(996 - 999.9) / (1_000 * 0.9999 * 0.0001) ** 0.5
    assert by_normal > 7  # what was called a fault before
    assert likelihood_of_kept(996, 1_000, 0.9999) > 1e-12
    assert likelihood_of_kept(960, 1_000, 0.9999) < 1e-12
    assert likelihood_of_kept(1_000, 1_000, 1.0) == 1.0
    assert likelihood_of_kept(999, 1_000, 1.0) == 0.0
    # by hand: 2 values, each kept with 1/2
    assert likelihood_of_kept(2, 2, 0.5) == pytest.approx(0.25)
    assert likelihood_of_kept(0, 2, 0.5) == pytest.approx(0.25)
