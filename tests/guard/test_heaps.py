"""Values that many people have are classes: groups keep their shares of them, and tilts are of the rest alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import PromiseError
from hedgerow.guard import rule
from hedgerow.guard.features import HEAP
from hedgerow.guard.moments import LEAST, reachable, tilted, tilts_of
from hedgerow.guard.rule import ALIKE, RULED, SMOOTHED, sampler_of
from hedgerow.io.read import read
from hedgerow.plan import GuardedColumn, Plan, Vector
from hedgerow.plan.records import Contradiction
from hedgerow.release.rederive import guard_recipe
from hedgerow.release.rederive.possible import faults

from . import reference

pytestmark = pytest.mark.filterwarnings("ignore")


def costs(n: int = 2000, seed: int = 5) -> pd.DataFrame:
    """Return people of whom 60% have no cost; who has one, and which, depends on years that go with age."""
    draws = np.random.default_rng(seed)
    age = np.round(draws.uniform(18, 60, n))
    years = np.round(np.clip((age - 20) * 0.7 + draws.normal(0, 4, n), 0, 35))
    rating = draws.integers(1, 6, n)
    some = draws.random(n) < 1 / (1 + np.exp(0.5 + 0.10 * (age - 39) - 0.18 * (years - 13.5) + 0.6 * (rating - 3)))
    cost = np.exp(draws.normal(1 - 0.02 * (age - 39) + 0.03 * (years - 13.5), 0.6)).round(2)
    return pd.DataFrame({"age": age, "years": years, "rating": rating, "cost": np.where(some, cost, 0)})


SCHEMA = hr.Schema(quasi=["age", "years", "rating"], sensitive=["cost"])


def cost_of(plan: Plan) -> GuardedColumn:
    assert plan.guard is not None
    return next(column for column in plan.guard.columns if column.name == "cost")


@cache
def release_of(seed: int = 1, cells: str = "rows", missing: bool = False) -> tuple[pd.DataFrame, hr.Release]:
    table = costs()
    if missing:
        table["cost"] = table["cost"].where(np.random.default_rng(1).random(len(table)) < 0.8)
    method = hr.Hedge(10) if cells == "rows" else hr.MART(10, max_disclosure=None)
    return table, hr.protect(table, SCHEMA, method, guard="redraw", random_state=seed)


def test_no_key_turns_a_sign() -> None:
    def slopes(table: pd.DataFrame) -> Any:
        x = np.column_stack([np.ones(len(table)), table[["age", "years", "rating"]]])
        return np.linalg.lstsq(x, table["cost"].to_numpy(float), rcond=None)[0][1:]

    table = costs()
    wanted = np.sign(slopes(table))
    assert np.corrcoef(table["age"], table["years"])[0, 1] > 0.9
    assert 0.55 < (table["cost"] == 0).mean() < 0.65
    for seed in range(20):
        assert np.sign(slopes(release_of(seed)[1].table)).tolist() == wanted.tolist()


def test_a_group_keeps_its_share_of_zeros() -> None:
    """Of n items the share is rounded to a whole number of them, once five people of the table were added."""
    table, release = release_of(cells="groups")
    public = (table["cost"] == 0).mean()
    group = release.table.groupby(["age", "years", "rating"], observed=True).ngroup().to_numpy()
    before, after = (np.asarray(t["cost"] == 0, float) for t in (table.iloc[release.rows], release.table))
    for g in range(group.max() + 1):
        n, zeros, drawn = (group == g).sum(), before[group == g].sum(), after[group == g].sum()
        assert abs(drawn - n * (zeros + SMOOTHED * public) / (n + SMOOTHED)) < 1 + 1e-9


def test_who_is_of_a_class_follows_a_rule_and_the_rest_is_tilted() -> None:
    table, release = release_of()
    column = cost_of(release.plan)
    assert list(column.classes).count(0) == len(column.scores) == len(column.values) - 1
    assert column.values[list(column.classes).index(1)] == 0
    assert column.smoothed == ALIKE
    assert list(column.ruled) == [1]
    rest = table["cost"][table["cost"] > 0]
    low, high = np.quantile(rest, [0.02, 0.98])
    assert abs(column.centre - rest.clip(low, high).mean()) < 0.05
    assert release.plan.version == 2


@given(
    counts=st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4).filter(any), min_size=3, max_size=3),
    sizes=st.lists(st.integers(1, 9), min_size=3, max_size=3),
    towards=st.sampled_from([0.0, 0.25, 1.0]),
    uniform=st.integers(0, 15),
)
def test_classes_are_drawn_by_the_definition(counts: Any, sizes: Any, towards: float, uniform: int) -> None:
    """Values 0 to 4, of which many people have 1 and 4, and missing; both paths, and the chances of an audit."""
    present = [[i for i, n in enumerate(group) if n] for group in counts]
    column = GuardedColumn(
        "cost", "sensitive", "numeric", values=(0.0, 1.0, 2.0, 3.0, 4.0, None), cuts=Vector("d", [0.5, 1.5, 2.5, 3.5]),
        people=Vector("i", [3, 9, 2, 4, 7, 5]), classes=Vector("i", [0, 1, 0, 0, 2, 3]),
        scores=Vector("i", [-32, 0, 0]), weights=Vector("d", [3.0, 6.0]), moments=Vector("i", [0, 1] * 3),
        tilts=Vector("d", [0.0, 0.0, 0.5, 0.1, -0.5, 0.0]), pair=Vector("i", [0, 1, 2]), missing=Vector("i", [0] * 3),
        starts=Vector("i", np.append(0, np.cumsum([len(p) for p in present])).astype(np.int32)),
        codes=Vector("i", [i for p in present for i in p]), counts=Vector("i", [n for g in counts for n in g if n]),
        smoothed=5,
    )  # fmt: skip
    column.check()
    size, out = np.array(sizes), np.empty(sum(sizes), np.int64)
    starts, parts = np.full(3, uniform / 16 + 1 / 37), np.full(3, towards)
    sampler_of(column, None, size).fill(np.arange(3), size, starts, parts, out)
    chances = tilted(np.array([-1.0, 0.0]), np.asarray(column.weights), np.asarray(column.tilts).reshape(-1, 2))
    whole, wanted = [Fraction(9, 30), Fraction(9, 30), Fraction(7, 30), Fraction(5, 30)], []
    for group, n, mine in zip(counts, sizes, chances, strict=True):
        own = [(c + 5 * p) / Fraction(sum(group) + 5) for c, p in zip(group, whole, strict=True)]
        shares = [(1 - Fraction(towards)) * o + Fraction(towards) * p for o, p in zip(own, whole, strict=True)]
        level = [Fraction((1 - towards) * a + towards * b) for a, b in zip(mine, chances[0], strict=True)]
        rest = [level[0], level[1] * Fraction(2, 6), level[1] * Fraction(4, 6)]
        # the rest first, so that its runs are drawn evenly as well; then in the order of the codes
        drawn = reference.shares_drawn([*(shares[0] * r for r in rest), *shares[1:]], n, Fraction(float(starts[0])))
        wanted += sorted([0, 2, 3, 1, 4, 5][i] for i in drawn)
    assert out.tolist() == wanted
    unit, public = np.repeat(np.arange(3), size), np.array([9, 9, 7, 5]) / 30
    read_at = guard_recipe._by_classes(column, lambda units: np.tile(public, (3, 1)), size, parts)
    again = read_at(guard_recipe._places(starts, size), unit)
    assert again[np.lexsort((again, unit))].tolist() == wanted


@pytest.mark.parametrize("missing", [False, True])
def test_a_second_path_draws_the_same(missing: bool, tmp_path: Path) -> None:
    table, release = release_of(missing=missing)
    assert all(check.holds for check in release.verify())
    release.plan.save(tmp_path / "plan.json")
    plan = Plan.load(tmp_path / "plan.json")
    assert plan == release.plan
    if missing:
        assert max(cost_of(plan).classes) == cost_of(plan).classes[-1] == 2
        assert abs(release.table["cost"].isna().mean() - table["cost"].isna().mean()) < 0.02
    # without the key: a file that the plan makes, and one with more zeros
    sources = read(table, schema=SCHEMA), read(release.table, schema=SCHEMA)
    assert faults(plan, *sources, None) == []
    more = release.table.assign(cost=release.table["cost"].mask(np.arange(len(table)) % 10 == 0, 0.0))
    assert "too often or too rarely" in " ".join(faults(plan, sources[0], read(more, schema=SCHEMA), None))


def test_every_engine_draws_the_same_bytes(tmp_path: Path) -> None:
    costs().to_parquet(tmp_path / "people.parquet")
    files = []
    for engine in ("memory", "duckdb"):
        release = hr.protect(
            tmp_path / "people.parquet", SCHEMA, hr.Hedge(10), guard="redraw", random_state=1, engine=engine
        )
        release.write(tmp_path / engine)
        files.append((tmp_path / engine / release.file_name).read_bytes())
    assert files[0] == files[1]


def test_the_mean_of_one_alone_in_the_rest_counts_a_fifth() -> None:
    """Of two, half; of many, all: whoever knows that one of a ward has a cost would read it from the rows otherwise."""
    table = costs().assign(ward=np.repeat([f"w{i}" for i in range(100)], 20))
    for alone in (1, 2, 10):
        table.loc[:19, "cost"] = [*np.full(alone, 20.0), *np.zeros(20 - alone)]
        schema = hr.Schema(quasi=["ward"], sensitive=["cost"])
        guard = hr.protect(table, schema, hr.Hedge(10, max_disclosure=None), random_state=1).plan.guard
        assert guard is not None
        cost = next(column for column in guard.columns if column.name == "cost")
        z = np.asarray(cost.scores)[np.searchsorted(np.asarray(cost.values)[np.asarray(cost.classes) == 0], 20.0) - 1]
        moments, step = np.asarray(cost.moments).reshape(-1, 2), cost.step / cost.spread
        means = moments[np.asarray(cost.pair), 0]
        in_ward = alone**2 / (alone**2 + 4) * z / 32 / step
        assert abs(means[0] - in_ward) < 1


def test_the_key_decides_whether_a_value_is_a_class() -> None:
    """Between 5% and 10% of the people; below no value is one, above each, and so is none of few people."""

    def classes(share: float, n: int, seed: int) -> list[int]:
        values = np.append(np.zeros(round(share * n)), np.arange(n - round(share * n)) + 0.5)
        table = pd.DataFrame({"age": np.arange(n) % 60, "cost": values})
        schema = hr.Schema(quasi=["age"], sensitive=["cost"])
        plan = hr.protect(table, schema, hr.MART(10, max_disclosure=None), guard="redraw", random_state=seed).plan
        return [number for number in cost_of(plan).classes if number]

    assert HEAP[0] == 0.05
    assert RULED == 50
    assert {len(classes(0.075, 1200, seed)) for seed in range(12)} == {0, 1}
    assert {len(classes(0.04, 1200, seed)) for seed in range(3)} == {0}
    assert {len(classes(0.11, 1200, seed)) for seed in range(3)} == {1}
    assert {len(classes(0.11, 400, seed)) for seed in range(3)} == {0}


def test_a_plan_whose_classes_are_not_those_of_its_values_is_refused() -> None:
    column = cost_of(release_of()[1].plan)
    n = len(column.values)
    for classes in ([0] * n, [1] * n, [2, *[0] * (n - 1)], [0] * (n - 1) + [1], list(column.classes)[:-1]):
        with pytest.raises(Contradiction, match=r"classes|moments"):
            replace(column, classes=Vector("i", classes), scores=Vector("i", column.scores[:3])).check()
    with pytest.raises(Contradiction, match="shares"):
        replace(column, codes=Vector("i", [7] * len(column.codes))).check()


def test_a_class_of_few_people_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads a release could otherwise learn the share that each group has at a value of few people."""
    table = costs()
    table.loc[table.index[table["cost"] > 0][:60], "cost"] = 1.255
    assert max(cost_of(hr.protect(table, SCHEMA, hr.MART(10), guard="redraw", random_state=1).plan).classes) == 1
    monkeypatch.setattr(rule, "RULED", 20)
    monkeypatch.setattr(rule, "HEAP", (0.01, 0.02))
    with pytest.raises(PromiseError, match="other means, spreads or shares"):
        hr.protect(table, SCHEMA, hr.MART(10), guard="redraw", random_state=1)


@given(
    levels=st.sets(st.integers(-60, 75), min_size=3, max_size=60),
    weights=st.lists(st.integers(1, 400), min_size=60, max_size=60),
    at=st.lists(st.floats(0, 1), min_size=1, max_size=20),
)
def test_the_narrowest_spreads_have_tilts(levels: Any, weights: Any, at: Any) -> None:
    """Where tilts are steep, rounding moves their loss by more than the last steps do."""
    z = np.array(sorted(levels)) / 32
    mean, variance = reachable(z, z[0] + np.array(at) * (z[-1] - z[0]), np.zeros(len(at)))
    chances = tilted(
        z, np.array(weights[: len(z)], float), tilts_of(z, np.array(weights[: len(z)], float), mean, variance)
    )
    assert np.allclose(chances @ z, mean, atol=1e-7)
    assert np.allclose(chances @ z**2 - (chances @ z) ** 2, variance, atol=1e-7)


def test_spreads_stay_away_from_the_least_that_is_possible() -> None:
    levels = np.array([-2.0, -1.0, 0.0, 1.0, 5.0])
    _, least = reachable(levels, np.array([0.5]), np.array([0.0]))
    assert least[0] == pytest.approx(0.25 + LEAST * (2.5 * 4.5 - 0.25))
    assert guard_recipe._nearest_moments(levels, 0.5, 0.0, LEAST)[1] == pytest.approx(least[0])
