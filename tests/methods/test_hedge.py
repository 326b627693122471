"""Hedge with people, grids, further promises, other forms; what it screens; its compiled parts."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.columns.column import ValueCounts
from hedgerow.columns.table import Table, Window
from hedgerow.errors import InfeasibleError, ParameterError, UnsupportedError
from hedgerow.io.read import read
from hedgerow.kernels import joins
from hedgerow.measures.guarantees import LDiversity, TCloseness
from hedgerow.methods.group_cells import GroupedCodes, between_points, public_step, rounded
from hedgerow.methods.hedge import telling
from hedgerow.release.expected_rows import plainly


def people(n: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    job = rng.choice(["nurse", "cook", "smith", "clerk"], n)
    pay = (900 + 30 * age + 400 * (job == "smith") + rng.normal(0, 300, n)).round()
    ill = np.where(rng.random(n) < age / 160, "x", rng.choice(["y", "z"], n))
    town = rng.integers(0, 500, n)
    return pd.DataFrame({"age": age, "job": job, "town": town, "pay": pay, "ill": ill})


SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["pay", "ill"])


def made(table: Any, schema: hr.Schema, method: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return hr.protect(table, schema, method, guard=None)


def groups(release: Any, schema: hr.Schema = SCHEMA) -> pd.Series:
    table = release.table
    return table[list(schema.quasi)].astype(str).agg("|".join, axis=1)


def test_people_with_several_records_count_once(tmp_path: Path) -> None:
    visits = people().assign(person=np.arange(600) // 4, visit=np.arange(600))
    schema = SCHEMA.replace(identifiers=["person"], other=["visit"], unit="person")
    release = made(visits, schema, hr.Hedge(5, max_disclosure=0.4))
    person = visits["person"].to_numpy()[release.table["visit"].to_numpy()]
    smallest = pd.Series(person).groupby(groups(release).to_numpy()).nunique().min()
    assert smallest >= 5
    assert {c.name: c.holds for c in release.checks}["k-anonymity"]


def test_means_are_told_from_k_people() -> None:
    visits = people().assign(person=np.arange(600) // 6)
    visits["age"] = visits["age"].astype(float).mask(np.arange(600) % 6 < 4)
    schema = SCHEMA.replace(identifiers=["person"], unit="person", other=["town"])
    release = made(visits.assign(town=np.arange(600)), schema, hr.Hedge(5))
    rows = release.table["town"].to_numpy()
    told = release.table["age"].astype(str) != "*"
    frame = pd.DataFrame(
        {"group": groups(release), "person": visits["person"].to_numpy()[rows],
         "known": visits["age"].notna().to_numpy()[rows], "told": told}
    )  # fmt: skip
    known = frame[frame["known"]].groupby("group")["person"].nunique()
    for group, part in frame.groupby("group"):
        assert part["told"].all() == (known.get(group, 0) >= 5)


@pytest.mark.parametrize("whose", [{"unit": "person"}, {"household": "home"}, {"unit": "person", "household": "home"}])
@pytest.mark.parametrize("numeric", ["mean", "median"])
@pytest.mark.parametrize("seed", range(5))
def test_a_number_that_whole_groups_lack_is_told_from_k_people(whose: dict[str, str], numeric: str, seed: int) -> None:
    """A laboratory value is there for people of 50 and more alone, and not for all of them."""
    n, rng = 600, np.random.default_rng(seed)
    table = people(n, seed).assign(row=np.arange(n), person=np.arange(n) // (2 if "unit" in whose else 1))
    table["home"] = table["person"] // 3
    table["lab"] = rng.normal(5, 1, n).round(1)
    table.loc[(table["age"] < 50) | (rng.random(n) < 0.3), "lab"] = np.nan
    schema = hr.Schema(quasi=["age", "lab"], sensitive=["pay"], identifiers=["person", "home"], other=["row"], **whose)
    method = hr.Hedge(5, numeric=numeric, screen=False, max_disclosure=None)
    release = made(table, schema, method).table
    there = table.loc[release["row"]].reset_index(drop=True)
    there["group"] = release[["age", "lab"]].astype(str).agg("|".join, axis=1).to_numpy()
    known = there[there["lab"].notna()]
    lacking = set(there["group"]) - set(known["group"])
    assert lacking  # groups without a number stand among the others
    told = dict(zip(there["group"], release["lab"].astype(str), strict=True))
    for group, part in known.groupby("group"):
        counts = [part[c].nunique() for c in whose.values()]
        most = part["person"].value_counts().iloc[0] if "unit" in whose else 0
        enough = min(counts) >= 5 and 2 * most <= len(part)
        assert (told[group] != "*") == enough
    assert {told[group] for group in lacking} == {"*"}, {told[group] for group in lacking}


def test_a_group_that_is_mostly_one_persons_is_joined() -> None:
    """Ten people are in region A, and thirty of its 39 records are those of one."""
    who = ["v"] * 30 + list("abcdefghi") + [f"b{i}" for i in range(60)]
    region = ["A"] * 39 + ["B"] * 60
    table = pd.DataFrame({"who": who, "region": region, "pay": [1.0] * 39 + [9.0] * 60})
    schema = hr.Schema(quasi=["region"], sensitive=["pay"], unit="who")
    released = made(table, schema, hr.Hedge(10, screen=False, max_disclosure=None)).table
    assert set(released["region"]) == {"A:39+B:60"}
    table = table.iloc[29:]  # with one record each both stay
    released = made(table, schema, hr.Hedge(10, screen=False, max_disclosure=None)).table
    assert set(released["region"]) == {"A", "B"}


def test_nobody_makes_up_most_of_a_mean() -> None:
    """One person holds 95 of the 109 known ages of a group of ten people."""
    who = ["v"] * 95 + [p for p in "abcdefghi" for _ in range(11)] + [f"b{i}" for i in range(300)]
    age = [97.0] * 95 + ([30.0] + [np.nan] * 10) * 9 + [20.0 + i % 40 for i in range(300)]
    table = pd.DataFrame(
        {"who": who, "age": age, "region": ["A"] * 194 + ["B"] * 300,
         "pay": np.random.default_rng(0).normal(size=494)}
    )  # fmt: skip
    schema = hr.Schema(quasi=["age", "region"], sensitive=["pay"], unit="who")
    for numeric in ("mean", "median"):
        method = hr.Hedge(10, numeric=numeric, screen=False, max_disclosure=None)
        told = made(table, schema, method).table
        of_a = told["region"].str.startswith("A:1")  # the group of the one and all who have none
        assert of_a.sum() > 150
        assert set(told["age"][of_a]) == {"*"}


def test_a_grid_is_told_as_ranges_and_the_rest_as_means() -> None:
    schema = hr.Schema(
        quasi=["age", "town"], sensitive=["pay"], grid={"age": [20, 35, 50, 65]}
    )  # fmt: skip
    release = made(people(), schema, hr.Hedge(5, screen=False))
    ends = {"*", *(f"[{a}-{b})" for a in (20, 35, 50) for b in (35, 50, 65) if a < b)}
    ends |= {"[65-]", "[-20)", "[50-]", "[35-]", "[20-]", "[-35)", "[-50)", "[-65)"}
    assert set(release.table["age"]) <= ends
    step = release.plan.recoding.columns[1].step
    assert step > 0
    assert not (release.table["town"].astype(float) % step).any()


@pytest.mark.parametrize(
    "criterion",
    [LDiversity(2, "frequency"), LDiversity(1.8, "entropy"), LDiversity(3, "distinct"),
     TCloseness(0.2)],
)  # fmt: skip
def test_further_promises_are_kept(criterion: Any) -> None:
    release = made(people(), SCHEMA, hr.Hedge(5, max_disclosure=0.5, criteria=[criterion]))
    assert release.plan.recoding.n_groups > 1
    shares = pd.crosstab(groups(release), release.table["ill"], normalize="index").to_numpy()
    if isinstance(criterion, LDiversity) and criterion.diversity == "frequency":
        assert shares.max() <= 0.5
    if isinstance(criterion, LDiversity) and criterion.diversity == "distinct":
        assert (shares > 0).sum(axis=1).min() >= 3
    if isinstance(criterion, TCloseness):
        free = made(people(), SCHEMA, hr.Hedge(5, max_disclosure=0.5))
        public = people()["ill"].value_counts(normalize=True)
        for of, far in ((free, True), (release, False)):
            own = pd.crosstab(groups(of), of.table["ill"], normalize="index")
            assert ((own - public).abs().sum(axis=1).max() / 2 > 0.2) == far


def test_what_cannot_be_kept_is_an_error() -> None:
    with pytest.raises(InfeasibleError, match="all people together"):
        hr.protect(people(), SCHEMA, hr.Hedge(5, criteria=[LDiversity(4, "distinct")]))
    with pytest.raises(UnsupportedError, match="sensitive columns"):
        hr.protect(people(), SCHEMA, hr.Hedge(5, criteria=["l"]))
    with pytest.raises(ParameterError, match="'nix', which is not sensitive"):
        hr.protect(people(), SCHEMA, hr.Hedge(5, criteria=[LDiversity(2, columns=("nix",))]))
    with pytest.raises(ParameterError, match="screen"):
        hr.protect(people(), SCHEMA, hr.Hedge(5, screen=2))


def test_columns_that_tell_nothing_are_screened_and_said() -> None:
    schema = hr.Schema(quasi=["age", "job", "town"], sensitive=["pay", "ill"])
    with pytest.warns(UserWarning, match=r"released as \* in every record.*: town;.*without --screen"):
        release = hr.protect(people(), schema, hr.Hedge(5, screen=True), guard=None)
    assert release.method.screened_ == ("town",)
    assert set(release.table["town"]) == {"*"}
    whole = made(people(), schema, hr.Hedge(5, screen=False))
    assert whole.method.screened_ == ()
    assert whole.table["town"].nunique() > 1
    alone = schema.replace(quasi=["town"])
    assert made(people(), alone, hr.Hedge(5, screen=True)).method.screened_ == ()


def _cell_size(frame: pd.DataFrame, sensitive: list[str], k: int = 5, **options: Any) -> int:
    quasi = [c for c in frame if c not in (*sensitive, "person")]
    unit = {"unit": "person"} if "person" in frame else {}
    schema = hr.Schema(quasi=quasi, sensitive=sensitive, **unit)
    method = hr.Hedge(k, max_disclosure=None, **{"screen": True} | options).fit_table(read(frame), schema)
    size = np.bincount(method.tree_.leaf_of_rows()).min()
    assert size >= method.cell_size_ or unit
    return method.cell_size_


def test_cells_are_larger_where_there_is_nothing_to_learn() -> None:
    """Of chance cells of k people tell no more than larger ones; of a rule that many see they do."""
    sizes = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        frame = people(600, seed).assign(pay=rng.lognormal(size=600), ill=rng.choice([*"xyz"], 600))
        sizes.append(_cell_size(frame[["age", "job", "pay", "ill"]], ["pay", "ill"]))
    assert np.mean(np.array(sizes) >= 20) > 0.7
    assert max(sizes) <= 40
    told = people().assign(pay=lambda t: 100 * t["age"] + 5_000 * (t["job"] == "smith"))
    assert _cell_size(told[["age", "job", "pay"]], ["pay"]) == 5
    assert _cell_size(frame[["age", "job", "pay", "ill"]], ["pay", "ill"], screen=False) == 5
    assert _cell_size(frame[["age", "job"]], []) == 5


def test_records_of_one_person_are_no_evidence_for_small_cells() -> None:
    """Ten records of each of 300 people who have nothing in common: a group tells of its own."""
    larger = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        once = pd.DataFrame({"person": np.arange(300), "age": rng.integers(18, 80, 300)})
        once["pay"] = rng.lognormal(size=300)
        larger += _cell_size(once.loc[once.index.repeat(10)], ["pay"]) > 5
    assert larger >= 6


def test_what_was_not_looked_at_is_not_screened() -> None:
    """Texts that hardly repeat: nearly all stand beyond the most frequent ones."""
    rng = np.random.default_rng(0)
    day = rng.integers(0, 20_000, 1500)
    born = pd.Series(pd.to_datetime(day, unit="D").strftime("%d.%m.%Y"), dtype=object)
    frame = pd.DataFrame({"born": born, "age": rng.integers(18, 80, 1500), "pay": day * 1.0})
    table = read(frame)
    assert telling(table.column("born", kind="categorical"), [table.column("pay")])


def test_one_group_is_told_as_one() -> None:
    frame = pd.DataFrame({"age": np.arange(400) % 62 + 18})
    frame["pay"] = 100.0 * frame["age"] + np.random.default_rng(0).normal(0, 500, 400)
    schema = hr.Schema(quasi=["age"], sensitive=["pay"], grid={"age": [30]})
    with pytest.warns(UserWarning, match="all records are one group"):
        release = hr.protect(frame, schema, hr.Hedge(screen=True))
    assert release.plan.recoding.n_groups == 1


def test_records_of_one_person_are_no_further_evidence() -> None:
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        table = read(pd.DataFrame(rng.normal(size=(200, 2)).repeat(20, axis=0), columns=["u", "y"]))
        found += telling(table.column("u"), [table.column("y")], 200)
    assert found <= 1


def test_means_halfway_between_steps_go_to_the_even_one() -> None:
    """2.5 steps are told as 2, and 3.5 as 4; steps are those of the column."""
    column = read(pd.DataFrame({"x": [5, 5, 7, 7]})).column("x")
    grouped = GroupedCodes(column, column.codes, np.array([0, 2]))
    cells, index = rounded(grouped, "mean", 2.0, np.ones(2, bool))
    assert [cells[at].label for at in index] == [4.0, 8.0]


def test_a_range_between_points_does_not_hold_the_one_where_it_ends() -> None:
    column = read(pd.DataFrame({"x": [21.5, 29.0]})).column("x")
    grouped = GroupedCodes(column, column.codes, np.array([0]))
    (cell,), _ = between_points(grouped, np.array([20.0]), np.array([30.0]))
    assert (cell.lo, cell.hi) == (20.0, np.nextafter(30.0, 0.0))


@pytest.mark.parametrize(
    "values",
    [[1e-308, -1e-308], np.array(["0001-01-01", "2000-01-01", "9999-01-01"], "datetime64[D]")],
    ids=["next to 0", "all of the calendar"],
)
def test_odd_ends_are_rounded_all_the_same(values: Any) -> None:
    n = 60
    frame = pd.DataFrame({"job": ["a", "b", "c"] * 20, "pay": np.arange(n) * 1.0})
    column = np.resize(np.asarray(values), n)
    table = pa.Table.from_pandas(frame).append_column("odd", pa.array(column))
    schema = hr.Schema(quasi=["odd", "job"], sensitive=["pay"])
    assert made(table, schema, hr.Hedge(5, max_disclosure=None, screen=False)).checks


def test_chance_is_seldom_taken_for_telling() -> None:
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {"noise": rng.normal(size=400), "many": rng.integers(0, 20, 400).astype(str),
             "pay": rng.lognormal(size=400), "ill": rng.choice(list("abcd"), 400)}
        )  # fmt: skip
        table = read(frame)
        secret = [table.column("pay"), table.column("ill")]
        found += sum(telling(table.column(name), secret) for name in ("noise", "many"))
    assert found <= 4


def test_a_plan_is_applied_explained_and_written_as_sql(tmp_path: Path) -> None:
    import duckdb

    release = made(people(), SCHEMA, hr.Hedge(5, max_disclosure=0.4))
    folder = release.write(tmp_path / "out")
    plan = hr.Plan.load(folder / "plan.json")
    assert plan == release.plan
    others = people(200, seed=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        applied = plan.apply(others, keep_order=True, unseen="count")
    con = duckdb.connect()
    con.register("people", others)
    by_sql = con.execute(plan.to_sql("people")).df()
    columns = list(applied.columns)
    key = [*columns]
    one, two = (t[columns].astype(str).sort_values(key).reset_index(drop=True)
                for t in (applied, by_sql))  # fmt: skip
    pd.testing.assert_frame_equal(one, two)
    words = plan.explain()
    assert f"{plan.recoding.n_groups} groups, joined from {plan.recoding.n_leaves} cells" in words
    assert "to the nearest multiple of 2" in words
    broken = json.loads((folder / "plan.json").read_text())
    tree = broken["recoding"]
    tree["groups"] = [0] * len(tree["groups"])
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    with pytest.raises(hr.HedgerowError, match="different cells"):
        hr.Plan.load(tmp_path / "broken.json")


def test_a_mean_that_is_not_its_groups_is_seen() -> None:
    """Cells of a forged plan are held against the original by the second recoding."""
    release = made(people(), SCHEMA, hr.Hedge(130, max_disclosure=0.4))
    recoding, original = release.plan.recoding, Table(release.original.arrow)
    changes: dict[str, Any] = {"age": lambda label: label + 10, "job": lambda label: str(label).replace(":", ":1", 1)}
    for at, column in enumerate(recoding.columns):
        change = changes[column.name]
        cells = tuple(replace(cell, label=change(cell.label)) for cell in column.cells)
        assert cells != column.cells
        columns = list(recoding.columns)
        columns[at] = replace(column, cells=cells)
        for made_by, faults in ((recoding, []), (replace(recoding, columns=tuple(columns)), [column.name])):
            recipe: Any = plainly(made_by, original)
            rows = slice(0, original.n_rows)
            recipe.recode(Window(rows, {n: original.take(n, rows) for n in recipe.columns_read}))
            assert list(recipe.untrue()) == faults


@pytest.mark.parametrize("seed", range(3))
def test_joins_of_many_groups_look_near_first(seed: int, monkeypatch: Any) -> None:
    """Above the limit partners stand within reach; the promise holds all the same."""
    rng = np.random.default_rng(seed)
    n, cells = np.full(300, 10), rng.multinomial(10, [0.4, 0.3, 0.2, 0.1], 300)
    cells[::3] = [10, 0, 0, 0]
    public = cells.sum(axis=0) / cells.sum()
    loss = np.maximum(1 - 2 * public + (public**2).sum(), (1 - (public**2).sum()) / 4)
    limits = joins.Limits(
        np.array([[joins.SHARES, 0, 4]]), np.array([0.3]), public, loss, np.zeros(4), np.zeros(1, np.int64)
    )  # fmt: skip
    left = joins.JoinGroups.from_sums(n, rng.normal(size=(300, 3)), cells, limits)
    before = left.excess.copy()
    while joins.join(left, limits, 7):
        pass
    first = left.first()
    assert (left.excess[np.unique(first)] <= 1).all()
    for group in np.unique(first):
        total = cells[first == group].sum(axis=0)
        share = total / total.sum()
        told = total.sum() * ((share - public) ** 2).sum() / (total @ loss)
        assert told / 0.3 == pytest.approx(left.excess[group], abs=1e-9)
        assert group == np.flatnonzero(first == group)[0]
    assert (before > 1).sum() > 50


def test_the_public_step_of_days_and_times() -> None:
    def step(unit: str, values: list[float]) -> float:
        counts = np.ones(len(values), np.int64)
        return public_step(ValueCounts("x", "date", unit, np.array(values), counts))

    day = 86_400_000_000.0
    assert step("day", [0, 3]) == 1
    assert step("day", [0, 400]) == 50
    assert step("us", [0, 400 * day]) == 50 * day
    assert step("us", [0, 3600e6]) == 200e6
    assert step("us", [0, 2]) == 1
