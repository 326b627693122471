"""Guarded releases of random tables, read from their files by a checker of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError, PromiseError

from .guard_checker import faults

pytestmark = pytest.mark.filterwarnings("ignore")


def numbers(rng: np.random.Generator, hidden: Any) -> Any:
    """Return whole or broken numbers, even or heavy, with heaps, few values or one dominant value."""
    n = len(hidden)
    style = rng.integers(8)
    if style == 0:
        return (40 + 12 * hidden).round()
    if style == 1:
        return np.exp(9 + hidden).round(2)
    if style == 2:
        return np.where(rng.random(n) < 0.4, 0, np.exp(8 + hidden).round())
    if style == 3:
        return rng.choice([20.0, 37.5, 40.0], n)
    if style == 4:
        values = np.exp(9 + hidden).round()
        values[rng.integers(n)] = 1e9
        return values
    if style == 5:
        return (hidden * 1e-5).round(7)
    if style == 6:
        return -(np.abs(hidden) * 1000).round(-2)
    return (1e12 + 1e6 * hidden).round()


def random_case(seed: int) -> tuple[pd.DataFrame, dict[str, Any], Any, str]:
    """Return a table, the schema's roles, a method and a guard."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 400))
    hidden = rng.normal(size=n)

    def near() -> Any:
        return hidden + rng.choice([0.1, 1, 3]) * rng.normal(size=n)

    table = {"q0": numbers(rng, near()), "q1": rng.choice(list("abcd"), n), "q2": (near() > 0).astype(int)}
    for j in range(int(rng.integers(1, 4))):
        made = rng.choice(["u", "v", "w", "rare"], n, p=[0.5, 0.3, 0.19, 0.01])
        if rng.random() < 0.7:
            made = numbers(rng, near())
        if rng.random() < 0.3:
            made = pd.Series(made).mask(rng.random(n) < 0.1)
        table[f"s{j}"] = made
    k = int(rng.choice([2, 3, 5, 10]))
    cap = rng.choice([None, 0.5, 0.3])
    rows = rng.random() < 0.4
    if rows:
        method: Any = hr.Hedge(k, cells="rows", max_disclosure=cap)
    else:
        capped = [hr.MART(k, max_disclosure=cap), hr.Hedge(k, max_disclosure=cap)]
        method = [*capped, hr.Mondrian(k), hr.LocalSuppression(k)][int(rng.integers(4))]
    frame = pd.DataFrame(table)
    roles = {"quasi": ["q0", "q1", "q2"], "sensitive": [c for c in frame if c.startswith("s")]}
    guard = "redraw" if rows or rng.random() < 0.6 else "runs"
    return frame, roles, method, guard


def check(seed: int, folder: Path) -> str:
    """Return "held" or the name of a refusal; fail on any fault of a written release."""
    table, roles, method, guard = random_case(seed)
    people = [None, 2, 7][seed % 3]
    key = seed if guard == "redraw" else None
    try:
        release = hr.protect(table, hr.Schema(**roles), method, guard=guard, guard_people=people, random_state=key)
    except PromiseError:
        raise
    except HedgerowError as error:
        return type(error).__name__ if error.hint else pytest.fail(f"no hint: {error}")
    release.write(folder / str(seed), mapping=True)
    file = next((folder / str(seed)).glob("release.*"))
    told = pd.read_csv(file) if file.suffix == ".csv" else pd.read_parquet(file)
    origin = release.rows
    is_rows = release.plan.guard is not None and release.plan.guard.rows
    if is_rows:
        from hedgerow.release.rederive.guard_recipe import _planned_groups

        group = _planned_groups(release.plan, release.original)[0][origin]
    else:
        group = told.groupby(roles["quasi"], dropna=False, observed=True).ngroup().to_numpy()
    promised = next((p for p in release.plan.promises if "disclosure" in p["kind"]), {})
    cap = getattr(method, "max_disclosure", None) if promised else None
    m = people or method.k
    guarded = release.plan.guard.columns if release.plan.guard else ()
    pieces = {c.name: (list(c.begins), list(c.ends)) for c in guarded if len(c.begins)}
    assert guard == "runs" or {c.name for c in guarded if c.kind == "numeric" and c.n_values} == set(pieces)
    found = faults(
        table, told, group, origin, **roles, k=method.k, people=m, cap=cap, rows=is_rows, pieces=pieces,
    )  # fmt: skip
    assert not found, (seed, method, guard, m, found)
    return "held"


@pytest.mark.parametrize("seed", range(30))
def test_written_releases_keep_every_promise(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


@pytest.mark.parametrize("hundred", range(10))
def test_a_thousand_written_releases(hundred: int, tmp_path: Path) -> None:
    held = [check(seed, tmp_path) for seed in range(1000 + 100 * hundred, 1100 + 100 * hundred)]
    assert held.count("held") > 50


def run_of_one(table: pd.DataFrame, told: pd.DataFrame) -> None:
    told.loc[told.s.idxmax(), "s"] = table.s.max() - 1


def two_of_a_run(table: pd.DataFrame, told: pd.DataFrame) -> None:
    told.loc[np.flatnonzero(told.s == told.s.max())[0], "s"] += 1


def zero_as_one(table: pd.DataFrame, told: pd.DataFrame) -> None:
    told.loc[told.s == 0, "s"] = 1


def rare_category(table: pd.DataFrame, told: pd.DataFrame) -> None:
    told.loc[0, "c"] = "rare"


def one_cell_moved(table: pd.DataFrame, told: pd.DataFrame) -> None:
    told.loc[0, "q"] = "other"


def richest_together(table: pd.DataFrame, told: pd.DataFrame) -> None:
    told["s"] = np.sort(told.s)[np.argsort(np.argsort(told.q, kind="stable"), kind="stable")]


@pytest.mark.parametrize(
    "change", [run_of_one, two_of_a_run, zero_as_one, rare_category, one_cell_moved, richest_together]
)
def test_the_checker_finds_what_is_wrong(change: Any) -> None:
    rng = np.random.default_rng(0)
    pay = np.where(rng.random(300) < 0.2, 0, np.exp(9 + rng.normal(size=300)).round())
    ill = ["rare" if i < 2 else "xy"[i % 2] for i in range(300)]
    table = pd.DataFrame({"q": rng.integers(18, 90, 300), "s": pay, "c": ill})
    schema = hr.Schema(quasi=["q"], sensitive=["s", "c"])
    release = hr.protect(table, schema, hr.Hedge(10, max_disclosure=0.5, cells="means"), guard="redraw", random_state=1)
    told = release.table.astype({"q": str})
    asked = {"quasi": ["q"], "sensitive": ["s", "c"], "k": 10, "people": 10, "cap": 0.5, "rows": False}
    pay_record = next(c for c in release.plan.guard.columns if c.name == "s")
    asked["pieces"] = {"s": (list(pay_record.begins), list(pay_record.ends))}
    group = told.groupby("q").ngroup().to_numpy()
    assert not faults(table, told, group, release.rows, **asked)
    rows = release.rows
    change(table, told)
    group = told.groupby("q").ngroup().to_numpy()
    assert faults(table, told, group, rows, **asked)


def test_one_dominant_wage_shows_nowhere() -> None:
    rng = np.random.default_rng(0)
    n = 1500
    age = rng.integers(18, 90, n)
    pay = np.exp(9 + 0.01 * age + 0.7 * rng.normal(size=n)).round()
    most, near = 1000 * np.quantile(pay, 0.999), np.quantile(pay, 0.99)
    schema, shift, noise = hr.Schema(quasi=["age"], sensitive=["pay"]), [], []
    for seed in range(6):
        i = int(rng.integers(n))

        def rank(value: float, key: int, i: int = i) -> float:
            """Return the mean rank of the values drawn in the group of i."""
            table = pd.DataFrame({"age": age, "pay": pay})
            table.loc[i, "pay"] = value
            release = hr.protect(table, schema, hr.Hedge(10, cells="means"), guard="redraw", random_state=key)
            # the step of a run, and its mean, would both tell the largest value
            assert release.table.pay.max() < 2 * np.quantile(pay, 0.999)
            own = release.table.age == release.table.age[np.flatnonzero(release.rows == i)[0]]
            return float(np.searchsorted(np.sort(pay), release.table.pay[own]).mean() / n)

        plain = rank(near, seed)
        shift.append(rank(most, seed) - plain)
        noise.append(rank(near, seed + 50) - plain)
    assert np.abs(shift).mean() < max(2 * np.abs(noise).mean(), 0.02)
