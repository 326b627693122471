"""Rare categories are released as a parent, as one value for all of them or as missing: never as another category."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import SchemaError, UnsupportedError
from hedgerow.guard.code import coded
from hedgerow.guard.draw import _together
from hedgerow.guard.rare import parents_of
from hedgerow.hierarchy import Hierarchy
from hedgerow.io.read import read
from hedgerow.plan import GuardedColumn, Vector
from hedgerow.release.rederive.possible import faults
from hedgerow.release.verify import verify
from hedgerow.report.reasons import reasons

pytestmark = pytest.mark.filterwarnings("ignore")
N, K = 3_000, 10
HIERARCHY = Hierarchy({f"Town {i}": (f"Town {i}", f"County {i // 20}", f"Land {i // 100}", "*") for i in range(400)})


def people(seed: int = 0, n: int = N) -> pd.DataFrame:
    """Make n people in 400 places of very different sizes."""
    draws = np.random.default_rng(seed)
    sizes = 1 / np.arange(1, 401)
    at, home = draws.choice(400, (2, n), p=sizes / sizes.sum())
    return pd.DataFrame(
        {
            "age": draws.integers(18, 90, n),
            "postcode": [f"{code:05d}" for code in draws.permutation(np.arange(1_000, 1_400))[home]],
            "town": [f"Town {i}" for i in at],
            "number": at + 100,
            "income": draws.lognormal(10, 0.5, n).round(-2),
        }
    )


def schema(*sensitive: str, **more: Any) -> hr.Schema:
    kinds = {"number": "categorical"} if "number" in sensitive else {}
    return hr.Schema(quasi=["age", "postcode"], sensitive=[*sensitive, "income"], kinds=kinds, unit=None, **more)


def kept(before: pd.Series[Any], after: pd.Series[Any]) -> None:
    """Check that categories that enough people have keep their counts within 2% or 2 root n, and no other is left."""
    count, now = before.value_counts(), after.value_counts()
    frequent = count[count >= K]
    assert set(frequent.index) <= set(now.index)
    for value, n in frequent.items():
        assert abs(now[value] - n) <= max(0.02 * n, 2 * np.sqrt(len(before)))
    assert not set(count.index[count < K]) & set(now.index)


@pytest.mark.parametrize("seed", range(3))
def test_a_rare_category_is_nobody_elses(seed: int) -> None:
    """Of 1,319 postcodes 143 were left, and the common ones swelled."""
    table = people(seed)
    released = hr.protect(table, schema("town", "number"), random_state=seed).table
    kept(table["postcode"], released["postcode"])
    kept(table["town"], released["town"])
    kept(table["number"], released["number"].dropna().astype(int))
    rare = {name: table[name].map(table[name].value_counts()) < K for name in ("postcode", "town", "number")}
    assert abs((released["town"] == "(other)").sum() - rare["town"].sum()) <= 2 * np.sqrt(N)
    assert abs(released["number"].isna().sum() - rare["number"].sum()) <= 2 * np.sqrt(N)
    # codes keep their beginnings: those with 010 are as many as before
    before, after = ((t["postcode"].str[:3] == "010").sum() for t in (table, released))
    assert abs(before - after) <= 2 * np.sqrt(N)


def test_a_hierarchy_and_declared_values_say_what_rare_categories_become() -> None:
    table = people(1)
    said = schema("town", "number", hierarchies={"town": HIERARCHY}, rare={"number": "999"})
    released = hr.protect(table, said, random_state=1).table
    assert "(other)" not in {*released["town"]}
    count = table["town"].value_counts()
    counties = table["town"].map(lambda town: HIERARCHY.generalize(town, 1))[table["town"].map(count) < K]
    shared = counties.value_counts()
    assert {v for v in released["town"] if v.startswith("County")} == {*shared.index[shared >= K]}
    assert released["number"].dtype == table["number"].dtype
    assert (released["number"] == 999).sum() > 100


def test_it_is_said_where_it_is_read(tmp_path: Path) -> None:
    table = people(2)
    release = hr.protect(table, schema("town"), random_state=2)
    rare = int((table["town"].map(table["town"].value_counts()) < K).sum())
    assert rare > N / 5
    assert any(f"town: {rare:,} records" in each and "(other)" in each for each in release.cautions)
    release.write(tmp_path / "out")
    line = next(x for x in (tmp_path / "out" / "RECIPIENT.md").read_text().splitlines() if x.startswith("| town"))
    assert f"{rare:,} records have a category that fewer than 10 people have, and hold (other)" in line
    because = " ".join(reasons(hr.audit(table, release, attacks=False, learning=False).to_dict(), release.plan))
    assert "many records have a category that fewer than 10 people have" in because


def test_what_cannot_be_kept_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="town"):
        hr.protect(people(), schema("town", rare={"town": "elsewhere"}), guard=None)
    with pytest.raises(SchemaError, match="rare categories"):
        schema("town", rare={"town": None})


def test_other_engines_join_the_same(tmp_path: Path) -> None:
    table = people(3)
    file = tmp_path / "people.parquet"
    table.to_parquet(file)
    made = [hr.protect(file, schema("town", "number"), random_state=3, engine=e) for e in ("memory", "duckdb")]
    for i, release in enumerate(made):
        release.write(tmp_path / str(i))
    assert len({(tmp_path / str(i) / "release.parquet").read_bytes() for i in range(2)}) == 1
    again = hr.protect(table.sample(frac=1, random_state=1), schema("town", "number"), random_state=3)
    pd.testing.assert_frame_equal(again.table, hr.protect(table, schema("town", "number"), random_state=3).table)


def test_a_plan_that_joins_other_categories_is_found() -> None:
    table = people(4)
    said = schema("town", hierarchies={"town": HIERARCHY})
    release = hr.protect(table, said, random_state=4)
    assert release.plan.guard is not None
    column = next(c for c in release.plan.guard.columns if c.name == "town")
    frequent = max(zip(column.people, column.values, strict=True))[1]
    for changed in (
        {"parents": (*column.parents[1:], column.parents[0])},
        {"values": tuple("(other)" if v == frequent else v for v in column.values), "rest": "(other)"},
    ):
        columns = tuple(replace(c, **changed) if c is column else c for c in release.plan.guard.columns)
        plan = replace(release.plan, guard=replace(release.plan.guard, columns=columns))
        checks = verify(plan, release.original, release.released, rows=release.rows).checks
        assert not all(check.holds for check in checks)


def naive(counts: dict[str, int], parents: dict[str, tuple[str, ...]], least: int) -> dict[str, str | None]:
    """Return what each category is released as, level by level, by the definition."""
    out: dict[str, str | None] = {name: name for name, n in counts.items() if n >= least}
    labels = set[str]()
    for level in range(max(map(len, parents.values()), default=0)):
        sums: dict[str, int] = {}
        alone = [name for name in counts if name not in out and not labels & {*parents[name]}]
        for name in alone:
            sums[parents[name][level]] = sums.get(parents[name][level], 0) + counts[name]
        labels |= {label for label, n in sums.items() if n >= least}
    return out | {name: next((p for p in parents[name] if p in labels), None) for name in counts if name not in out}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=24), st.booleans())
def test_parents_are_the_nearest_that_enough_people_share(sizes: list[int], codes: bool) -> None:
    names = [f"{i // 6}{i % 6 // 2}{i % 6}" for i in range(len(sizes))]
    counts = {name: n for name, n in zip(names, sizes, strict=True) if n}
    if not counts:
        return
    paths = {name: (name[:2] + "*", name[:1] + "**") for name in counts}
    hierarchies = {} if codes else {"c": Hierarchy({name: (name, *paths[name], "*") for name in counts})}
    frame = pd.DataFrame({"c": [name for name, n in counts.items() for _ in range(n)], "q": 1})
    column = coded(read(frame), hr.Schema(quasi=["q"], sensitive=["c"], hierarchies=hierarchies), "c", 5, None)
    wanted = naive(counts, paths, 5)
    rest = {name for name, label in wanted.items() if label is None}
    released = {name: column.record.values[code] if code >= 0 else None
                for name, code in zip(counts, column.record.codes_of(counts), strict=True)}  # fmt: skip
    told = {label for label in wanted.values() if label is not None}
    if not told:
        assert column.record.values == (None,)
        return
    for name in counts:
        if name not in rest:
            assert released[name] == wanted[name]
        else:
            assert released[name] == ("(other)" if sum(counts[n] for n in rest) >= 5 else None)
    people_of = np.asarray(column.record.people)[: column.record.n_values]
    assert (people_of >= 5).all()


def sparse(n: int, seed: int, known: float) -> pd.DataFrame:
    """Make n people of whom few have a known benefit."""
    draws = np.random.default_rng(seed)
    age, benefit = draws.integers(18, 90, n), draws.lognormal(8, 1, n).round()
    benefit[draws.random(n) > known] = np.nan
    return pd.DataFrame({"age": age, "region": draws.integers(0, 12, n), "benefit": benefit})


@pytest.mark.parametrize("known", [0.05, 0.1, 0.4])
@pytest.mark.parametrize("cap", [0.2, 0.5])
def test_a_column_that_few_people_have_is_drawn(known: float, cap: float) -> None:
    """One known value alone tells itself, and evenly drawn groups of some sizes had one in every draw."""
    sparsely = hr.Schema(quasi=["age", "region"], sensitive=["benefit"], unit=None)
    for seed in range(4):
        table = sparse(1_500, seed, known)
        release = hr.protect(table, sparsely, hr.Hedge(max_disclosure=cap), random_state=seed)
        n, drawn = table["benefit"].notna().sum(), release.table["benefit"].notna().sum()
        assert abs(int(drawn) - int(n)) <= 3 * np.sqrt(n)
        # whoever has no key finds nothing that the plan could not have made
        assert not faults(release.plan, release.original, release.released, None)


def test_values_that_come_together_are_as_many_as_before() -> None:
    """Of groups in which one item would have a value, so many have none that as many items have one on average."""
    record = GuardedColumn("x", "sensitive", "numeric", values=(1.0, 2.0, 3.0, None), people=Vector("i", [5, 3, 2, 90]))
    n, sizes = 20_000, np.full(20_000, 12)
    out = np.full(n * 12, 3)
    out[::12] = 1
    _together(record, np.full(n, 9), sizes, np.random.default_rng(0).random(n), out)
    present = (out.reshape(n, 12) < 3).sum(axis=1)
    assert set(present) == {0, 6}
    assert abs(present.mean() - 1) < 4 * np.sqrt(5 / n)
    shares = np.bincount(out[out < 3]) / (out < 3).sum()
    np.testing.assert_allclose(shares, [0.5, 0.3, 0.2], atol=0.02)


@pytest.mark.parametrize("value", ["07", "abc", "1.5", "1e9999"])
def test_a_value_for_rare_ones_is_as_the_cells_are(value: str) -> None:
    with pytest.raises(UnsupportedError, match="'number' are int64"):
        hr.protect(people(0, 300), schema("number", rare={"number": value}))


def test_a_number_has_no_rare_categories() -> None:
    with pytest.raises(UnsupportedError, match="'income' are double"):
        hr.protect(people(0, 300), schema("town", rare={"income": "5"}))


def test_empty_text_that_many_people_have_takes_no_other() -> None:
    table = pd.DataFrame({"age": np.arange(1_000) % 60, "income": np.arange(1_000) * 100})
    table["job"] = (
        [""] * 300 + ["nurse"] * 300 + ["cook"] * 300 + [f"rare {'abcdefghij'[i % 10]}{i}" for i in range(100)]
    )
    known = hr.Schema(quasi=["age", "job"], sensitive=["income"], unit=None, rare={"job": "REST"})
    counts = hr.protect(table, known, random_state=1).table["job"].value_counts()
    assert (counts[""], counts["REST"]) == (300, 100)


def test_one_person_does_not_dissolve_a_parent() -> None:
    """Fewer than k people took the smallest parent along, however large: crafts vanished for one spy."""
    crafts = {f"craft {i}": ("crafts", "*") for i in range(700)}
    jobs = {"sales": ("sales", "*"), "spy": ("secrets", "*"), **crafts}
    hierarchy = Hierarchy({job: (job, *path) for job, path in jobs.items()})
    table = pd.DataFrame({"age": np.arange(1_401) % 60, "income": np.arange(1_401) * 10})
    table["job"] = [*crafts] + ["sales"] * 700 + ["spy"]
    known = hr.Schema(quasi=["age", "job"], sensitive=["income"], unit=None, hierarchies={"job": hierarchy})
    counts = hr.protect(table, known, random_state=1).table["job"].value_counts()
    assert {*counts.index} == {"crafts", "sales"}
    assert abs(counts["crafts"] - 700) <= 1


@pytest.mark.parametrize(
    ("form", "are_codes"),
    [("%d.%m.%Y", False), ("%m/%d/%Y", False), ("%Y-%m-%d", True), ("%Y%m%d", True), ("99.%m.%Y", True)],
)
def test_days_are_no_codes_whose_beginnings_name_groups(form: str, are_codes: bool) -> None:
    """31.12.2020 was released as 3*********, which is no period."""
    days = pd.Series(pd.date_range("2020-01-01", periods=400)).dt.strftime(form)
    column = read(pd.DataFrame({"day": days})).column("day", kind="categorical")
    assert bool(parents_of(column, np.ones(column.n_values, np.int64), None, 10.0)) == are_codes
