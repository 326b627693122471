"""Tables with several rows a unit, from the public door to the written file and its audit."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import InfeasibleError, PromiseError, SchemaError, UnsupportedError
from hedgerow.plan.records import Plan

from .long_tables import faults, homes, panel, random_table, visits

pytestmark = pytest.mark.filterwarnings("ignore")
K = 5
SCHEMA = hr.Schema(quasi=["sex", "age"], sensitive=["job", "pay"], unit="person", wave="year")
HOMES = hr.Schema(quasi=["region", "age"], sensitive=["income"], household="home", member="relation")
VISITS = hr.Schema(quasi=["sex"], sensitive=["dose", "drug"], unit="patient", time="day")
NAMES = [*SCHEMA.quasi, *SCHEMA.sensitive]
Change = Callable[[pd.DataFrame], pd.DataFrame]


def protected(people: Any, schema: hr.Schema = SCHEMA, k: int = K, **more: Any) -> hr.Release:
    return hr.protect(people, schema, hr.Hedge(k=k), **{"random_state": 1, **more})


@cache
def made() -> tuple[pd.DataFrame, hr.Release]:
    people = panel()
    return people, protected(people)


@pytest.mark.parametrize("order", ["wave", "member", "line", "time"])
def test_released_long_tables_are_ones(order: str) -> None:
    table, schema, unit, by = {
        "wave": (panel(), SCHEMA, "person", "year"), "time": (visits(), VISITS, "patient", "day"),
        "member": (homes(), HOMES, "home", "relation"),
        "line": (homes(), HOMES.replace(member="line", quasi=["region", "age", "relation"]), "home", "line"),
    }[order]  # fmt: skip
    release = protected(table, schema)
    names = [name for name in table if name in (unit, by, *schema.quasi, *schema.sensitive)]
    assert list(release.table.columns) == names
    assert release.table.dtypes[names].equals(table.dtypes[names])
    kind = {"line": "member"}.get(order, order)
    assert faults(table, release.table, unit, by, kind, K) == []
    assert release.plan.guard is not None
    assert min(release.plan.guard.sizes) >= K
    assert release.plan.version == 5
    assert repr(release).startswith(f"Release(Hedge, {len(release.table)} rows of {table[unit].nunique()} units")
    assert {"slots", f"shared by {K}", "whole rows"} <= {check.name for check in release.checks}


def test_the_checker_finds_what_is_wrong() -> None:
    people, release = made()
    table = release.table
    changes: dict[str, Change] = {
        "an id of the original": lambda t: t.assign(person=t["person"] - t["person"].min() + 1000),
        "rows of a unit stand apart": lambda t: t.sort_values("year"),
        "two rows in a wave": lambda t: t.assign(year=2020),
        "sex: two values of a unit": lambda t: t.assign(sex=["f", "m"] * (len(t) // 2) + ["f"] * (len(t) % 2)),
        "units are lost or made up": lambda t: t[t["person"] > t["person"].min()],
    }
    for fault, change in changes.items():
        assert fault in faults(people, change(table.copy()), "person", "year", "wave", K)
    assert {"rows of few", "sex: a value of few"} <= {*faults(people, table, "person", "year", "wave", 40)}


def test_ages_move_by_the_time_between_waves() -> None:
    people, release = made()
    assert release.plan.units is not None
    assert release.plan.units.moving == ("age",)
    steps = release.table.groupby("person")[["year", "age"]].diff().dropna()
    assert (steps["age"] >= 0).all()
    assert steps["age"].mean() == pytest.approx(
        people.sort_values("year").groupby("person")["age"].diff().mean(), abs=0.2
    )


def frames(people: pd.DataFrame, tmp_path: Path) -> dict[str, Any]:
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_parquet(tmp_path / "people.parquet")
    return {
        "pandas": people, "polars": pl.from_pandas(people), "arrow": pa.Table.from_pandas(people, preserve_index=False),
        "csv": tmp_path / "people.csv", "parquet": tmp_path / "people.parquet",
        "nullable": people.convert_dtypes(), "categories": people.astype({"sex": "category", "job": "category"}),
    }  # fmt: skip


def test_every_kind_of_frame_gives_the_same_rows(tmp_path: Path) -> None:
    people, release = made()
    for name, frame in frames(people, tmp_path).items():
        table = protected(frame).table
        as_pandas = table if isinstance(table, pd.DataFrame) else table.to_pandas()
        assert as_pandas.astype(str).equals(release.table.astype(str)), name
        if isinstance(frame, pd.DataFrame):
            assert table.dtypes[list(table)].equals(frame.dtypes[list(table)]), name
        assert isinstance(table, type(frame) if not isinstance(frame, Path) else pa.Table), name


def test_an_audit_knows_a_release_of_coded_columns() -> None:
    people = pa.Table.from_pandas(made()[0].astype({"job": "category"}), preserve_index=False)
    release = protected(people)
    assert pa.types.is_dictionary(release.table.schema.field("job").type)
    assert hr.audit(people, release, attacks=False, learning=False).to_dict()["table"]["rows"] == 70


@pytest.mark.parametrize("order", ["wave", "member", "time"])
def test_neither_the_order_of_rows_nor_the_engine_changes_a_byte(order: str, tmp_path: Path) -> None:
    table, schema = {"wave": (panel(), SCHEMA), "member": (homes(), HOMES), "time": (visits(), VISITS)}[order]
    files = []
    for i, engine in enumerate(["memory", "memory", "duckdb"]):
        table.sample(frac=1, random_state=i).to_parquet(tmp_path / f"{i}.parquet", index=False)
        protected(tmp_path / f"{i}.parquet", schema, engine=engine).write(tmp_path / f"{i}")
        files.append((tmp_path / f"{i}" / "release.parquet").read_bytes())
    assert files[0] == files[1] == files[2]


def test_missing_values_inside_rows_stay_there() -> None:
    people = panel(90)
    draw = np.random.default_rng(3)
    people["job"] = people["job"].mask(draw.random(len(people)) < 0.3)
    people["pay"] = people["pay"].mask(draw.random(len(people)) < 0.2)
    release = protected(people)
    for name in ("job", "pay"):
        assert release.table[name].isna().mean() == pytest.approx(people[name].isna().mean(), abs=0.06)
    assert faults(people, release.table, "person", "year", "wave", K) == []


def test_a_wave_that_few_are_in_is_left_out() -> None:
    people = panel()
    late = people[people["year"] == 2022].head(4).assign(year=2031)
    with pytest.warns(UserWarning, match="left out are 4 rows of 4 people"):
        release = protected(pd.concat([people, late]))
    assert {*release.table["year"]} == {2020, 2021, 2022}
    assert faults(pd.concat([people, late]), release.table, "person", "year", "wave", K) == []


@pytest.mark.parametrize("kind", ["text", "date", "time", "category"])
def test_waves_of_any_kind(kind: str) -> None:
    people = panel()
    year = people["year"].astype(str)
    people["year"] = {
        "text": lambda: "wave " + year, "date": lambda: pd.to_datetime(year + "-03-01").dt.date,
        "time": lambda: pd.to_datetime(year + "-03-01 12:30"),
        "category": lambda: pd.Categorical(year, ["2022", "2020", "2021"], ordered=True),
    }[kind]()  # fmt: skip
    release = protected(people)
    assert {*release.table["year"]} == {*people["year"]}
    assert release.table.dtypes["year"] == people.dtypes["year"]
    assert faults(people, release.table, "person", "year", "wave", K) == []


@pytest.mark.parametrize("kind", ["date", "time", "number"])
def test_times_of_any_kind(kind: str) -> None:
    table = visits()
    days = (table["day"] - pd.Timestamp("2023-01-01")).dt.days
    table["day"] = {
        "date": lambda: table["day"].dt.date, "time": lambda: table["day"] + pd.Timedelta(minutes=45),
        "number": lambda: days * 0.5,
    }[kind]()  # fmt: skip
    release = protected(table, VISITS)
    assert release.table.dtypes["day"] == table.dtypes["day"]
    assert faults(table, release.table, "patient", "day", "time", K) == []
    if kind == "time":  # steps of whole days stay such
        steps = release.table.groupby("patient")["day"].diff().dropna()
        assert (steps % pd.Timedelta(days=1) == pd.Timedelta(0)).all()


def test_one_wave_and_few_units() -> None:
    people = panel()
    one = protected(people[people["year"] == 2020])
    assert one.table["person"].is_unique
    with pytest.raises(SchemaError, match="no wave has rows of 5 people"):
        protected(people[people["person"] < 1003])
    two = protected(people[people["person"] < 1002].assign(year=2020).drop_duplicates("person"), k=2)
    assert len(two.table) == 2


def test_rows_that_hardly_anybody_shares_are_joined() -> None:
    people = pd.DataFrame([(i, w) for i in range(31) for w in range(5) if i + 1 >> w & 1], columns=["id", "w"])
    people["sex"], people["pay"] = np.where(people["id"] % 2, "f", "m"), people.index * 1.0
    table = protected(people, hr.Schema(quasi=["sex"], sensitive=["pay"], unit="id", wave="w")).table
    sets = table.groupby("id")["w"].apply(tuple)
    assert sets.value_counts().min() >= 5
    # each has nearly as many rows as those that it stands for
    assert abs(len(table) - len(people)) <= 31 / 4


RULES = hr.Schema(
    quasi=["sex", "age"], sensitive=["wages", "rent", "pay"], unit="person", wave="year", rules=["pay = wages + rent"]
)


def test_rules_between_columns_hold_in_every_row(tmp_path: Path) -> None:
    people = panel(90)
    people["few"] = np.where(people["job"] == "none", 0, people.index % 7)
    schema = RULES.replace(
        sensitive=["wages", "rent", "pay", "job", "few"], rules=[*RULES.rules, "few = 0 OR job <> 'none'"]
    )
    release = protected(people, schema)
    table = release.table
    assert ((table["pay"] - table["wages"] - table["rent"]).abs() < 0.06).all()
    assert not ((table["few"] > 0) & (table["job"] == "none")).any()
    assert len(without := protected(people, schema.replace(rules=[])).table) > 0
    assert ((without["pay"] - without["wages"] - without["rent"]).abs() > 0.06).any()
    assert made_notes(people, release, tmp_path) == []


def test_what_determines_another_does_so_in_every_row(tmp_path: Path) -> None:
    people = panel(90)
    people["branch"] = people["job"].map({"none": "-", "nurse": "health", "cook": "food"})
    schema = SCHEMA.replace(sensitive=["job", "branch"], determines={"job": "branch"})
    release = protected(people, schema)
    pairs = {*zip(people["job"], people["branch"], strict=True)}
    assert {*zip(release.table["job"], release.table["branch"], strict=True)} <= pairs
    assert made_notes(people, release, tmp_path) == []
    with pytest.raises(SchemaError, match="cannot be said where one record is made of several rows"):
        protected(people, SCHEMA.replace(determines={"job": "sex"}))


def test_columns_that_follow_others(tmp_path: Path) -> None:
    people = panel(200)
    people["tax"] = (people["pay"] * 0.3).round(1)
    schema = SCHEMA.replace(sensitive=["pay", "tax"], follows={"tax": "pay"})
    release = protected(people, schema)
    assert release.table["tax"].corr(release.table["pay"]) > 0.9
    # where there is no row both are missing, which is no draw
    people = panel(300, present=0.3)
    people["few"] = people.index % 4
    people["pay"] = people["few"] % 2
    schema = SCHEMA.replace(sensitive=["few", "pay"], follows={"pay": "few"})
    assert made_notes(people, protected(people, schema), tmp_path) == []
    with pytest.raises(SchemaError, match="'pay' follows 'height'"):
        protected(
            people.assign(height=people["person"] % 30),
            SCHEMA.replace(sensitive=["pay", "height"], follows={"pay": "height"}),
        )


def test_hierarchies_weights_and_fewest_people(tmp_path: Path) -> None:
    people = panel(90)
    people["job"] = people["job"] + (people.index % 12 % 10).astype(str).to_numpy()
    people["weight"] = 1.0 + people["person"] % 5
    paths = {job: [job, job[:-1], "*"] for job in people["job"].unique()}
    schema = SCHEMA.replace(hierarchies={"job": hr.Hierarchy(paths)}, weight="weight")
    release = protected(people, schema, guard_people=8)
    assert (release.table.groupby("person")["weight"].nunique() == 1).all()
    assert {*release.table["job"]} & {"none", "nurse", "cook"}
    assert faults(people, release.table, "person", "year", "wave", 8) == []
    assert made_notes(people, release, tmp_path) == []


@pytest.mark.parametrize("kind", ["sex", "job"])
def test_households_of_people_are_counted(kind: str) -> None:
    people = panel(90)
    people["home"] = people["person"] // 3
    release = protected(people, SCHEMA.replace(household="home"))
    assert "home" not in release.table
    assert faults(people, release.table, "person", "year", "wave", K, "home") == []
    # what one household alone has is no value of five
    of_one = people.assign(**{kind: people[kind].mask(people["home"].isin([*range(334, 337)]), "odd")})
    table = protected(of_one, SCHEMA.replace(household="home")).table
    assert "odd" not in {*table[kind]}


def test_rows_that_two_households_share_are_joined_to_others() -> None:
    people = panel(168, waves=4, present=1.0)
    people["home"] = (people["person"] - 1000) // 6
    # 14 homes are there in all waves, 12 in the first, and 2 of twelve people in the first two
    last = np.select([people["home"] < 14, people["home"] < 26], [2023, 2020], 2021)
    people = people[people["year"] <= last]
    assert {*protected(people, SCHEMA.replace(household="home")).table.groupby("person").size()} == {1, 4}
    assert {*protected(people).table.groupby("person").size()} == {1, 2, 4}


def test_groups_that_are_drawn_again_are_no_false_alarm(tmp_path: Path) -> None:
    table, fields, settings = random_table(15)
    release = hr.protect(table, hr.Schema(**fields), hr.Hedge(settings["k"], max_disclosure=0.2), random_state=15)
    assert release.plan.guard is not None
    assert sum(release.plan.guard.again) > 0
    assert made_notes(table, release, tmp_path) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.assign(pay=t["pay"] + 1), "mapped"),
        (lambda t: t.assign(pay=np.where(t["year"] == 2021, np.roll(t["pay"], 7), t["pay"])), "whole rows"),
        (lambda t: t.iloc[1:], "whole rows"),
        (lambda t: t[t["person"] > t["person"].min()], "rows"),
        (lambda t: t.assign(person=t["person"].mask(t["person"] == t["person"].max(), t["person"].min())), "two rows"),
        (lambda t: t.assign(sex=[{"f": "m", "m": "f"}[t["sex"][0]], *t["sex"][1:]]), "two values of 'sex'"),
        (lambda t: t.assign(age=t["age"] + (t["year"] == 2022)), "mapped"),
        (lambda t: t.assign(year=t["year"].replace({2021: 2022, 2022: 2021})), "mapped"),
        (lambda t: t.assign(year=t["year"] + 1), "has no place"),
        (lambda t: t.assign(person=t["person"] - t["person"].min() + 1000), "70 ids of the original"),
    ],
)  # fmt: skip
def test_a_changed_frame_is_found(change: Change, words: str) -> None:
    _, kept = made()
    release = object.__new__(type(kept))
    release.__dict__.update(kept.__dict__)
    release.table = change(kept.table.copy())
    with pytest.raises(PromiseError, match=words):
        release.verify()
    release.table = kept.table.sample(frac=1, random_state=1)  # in any order, and as it was made
    release.verify()


def made_notes(people: pd.DataFrame, release: hr.Release, tmp_path: Path) -> list[str]:
    """Write a release and return what an audit that has no key finds wrong with its file."""
    release.write(tmp_path / "written")
    notes = hr.audit(people, tmp_path / "written", attacks=False, learning=False).to_dict()["table"]["notes"]
    return [note for note in notes if "not what its plan makes" in note or "identifiers" in note]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (None, ""),
        (lambda t: t.assign(pay=t["pay"] * 2), "never releases"),
        (lambda t: t.assign(job="cook"), "too often or too rarely"),
        (lambda t: t[t["person"] > t["person"].min()], "too often or too rarely"),
        (lambda t: t.iloc[1:], "year (rows)"),
        (lambda t: t.assign(age=t["age"] + 3 * (t["year"] == 2022)), "age (step)"),
        (lambda t: pd.concat([t, t.tail(1).assign(person=99_999)]), "year (rows)"),
        (lambda t: t.assign(sex=[{"f": "m", "m": "f"}[t["sex"][0]], *t["sex"][1:]]), "two values of 'sex'"),
        (lambda t: t.assign(year=t["year"] + 1), "has no place"),
        (lambda t: t.assign(person=t["person"] - t["person"].min() + 1000), "direct identifiers"),
    ],
)  # fmt: skip
def test_a_forged_file_is_found_without_the_key(
    change: Change | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people, release = made()
    people.to_csv(tmp_path / "people.csv", index=False)
    release.write(tmp_path / "release")
    file, record = (tmp_path / "release" / name for name in ("release.parquet", "audit.json"))
    before = file.read_bytes()
    if change is not None:
        kind = pq.read_schema(file)
        pq.write_table(pa.Table.from_pandas(change(pd.read_parquet(file)), kind, preserve_index=False), file)
        one, two = (hashlib.sha256(each).hexdigest() for each in (before, file.read_bytes()))
        record.write_text(record.read_text().replace(one, two))
    run(["audit", str(tmp_path / "people.csv"), str(tmp_path / "release"), "--no-attacks", "--no-learning"])
    told = "".join(capsys.readouterr())
    assert ("not what its plan makes" in told or "direct identifiers" in told) == (change is not None)
    assert words in told


def test_a_changed_file_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, release = made()
    long = release._file_table.arrow
    pay = pc.add(long["pay"].combine_chunks(), pa.array([1.0] + [0.0] * (len(long) - 1)))
    monkeypatch.setattr(release, "_long", long.set_column(long.column_names.index("pay"), "pay", pay))
    with pytest.raises(PromiseError, match=r"release\.parquet"):
        release.write(tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_the_commands_take_waves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, _ = made()
    people.to_csv(tmp_path / "people.csv", index=False)
    words = ["--quasi", "sex,age", "--sensitive", "job,pay", "--unit", "person", "--wave", "year", "--k", "5"]
    out = str(tmp_path / "release")
    assert run(["protect", str(tmp_path / "people.csv"), *words, "--out", out, "--no-report"]) in (0, None)
    released = pd.read_csv(tmp_path / "release" / "release.csv")
    assert faults(people, released, "person", "year", "wave", K) == []
    assert Plan.load(tmp_path / "release").units is not None
    assert "error" not in capsys.readouterr().err


def test_plans_are_read_back_told_and_not_applied(tmp_path: Path) -> None:
    people, release = made()
    release.write(tmp_path / "release")
    plan = Plan.load(tmp_path / "release")
    assert plan == release.plan
    assert plan.version == 5
    assert plan.units is not None
    assert "year (rows)" in plan.explain()
    public = (tmp_path / "release" / "RECIPIENT.md").read_text()
    assert not re.search(r"\b10[0-6]\d\b", public)  # no id of anybody
    with pytest.raises(UnsupportedError, match="knows nothing of other people's"):
        plan.apply(people)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        (hr.MART(K), {}, "MART draws no whole rows here"),
        (hr.Mondrian(K), {}, "Mondrian"),
        (hr.Hedge(K, cells="means"), {}, "draws no whole rows"),
        (hr.Hedge(K), {"guard": "runs"}, "draws no whole rows"),
        (hr.Hedge(K), {"guard": None}, "draws no whole rows"),
        (hr.Hedge(K), {"keep_order": True}, "keep_order"),
        (hr.Hedge(K), {"parts": True}, "parts"),
        (hr.Hedge(K), {"cap_on": "file"}, 'cap_on="file"'),
        (hr.Hedge(K), {"pseudonym_key": b"0" * 32}, "pseudonym_key"),
        (hr.Hedge(K), {"engine": "spark"}, "several machines of a cluster"),
        (hr.PrivateTree(), {}, "wave, member or time"),
    ],
)
def test_what_does_not_go_with_units_is_refused(method: Any, options: dict[str, Any], words: str) -> None:
    schema = SCHEMA.replace(identifiers=["rent"]) if "pseudonym_key" in options else SCHEMA
    with pytest.raises(UnsupportedError, match=re.escape(words)):
        hr.protect(panel(), schema, method, **options)


def test_other_columns_of_each_row_are_refused() -> None:
    people = panel()
    with pytest.raises(SchemaError, match="'rent': other columns are released as they are"):
        protected(people, SCHEMA.replace(other=["rent"]))
    colour = people["person"].map(lambda i: "red" if i % 3 else "blue")
    table = protected(people.assign(colour=colour), SCHEMA.replace(other=["colour"])).table
    assert (table.groupby("person")["colour"].nunique() == 1).all()


def test_audits_of_releases_folders_and_other_tools_files(tmp_path: Path) -> None:
    people, release = made()
    release.write(tmp_path / "release")
    told = [
        hr.audit(people, each, *schema, attacks=False, learning=False).to_dict()
        for each, *schema in ((release,), (tmp_path / "release",), (release.table.sample(frac=1), SCHEMA))
    ]
    assert {each["table"]["rows"] for each in told} == {70}
    assert told[0]["utility"]["queries"] == told[1]["utility"]["queries"]
    of_one_wave = hr.audit(people, release.table.assign(year=2020), SCHEMA, attacks=False, learning=False).to_dict()
    n = len(release.table) - 70
    assert f"{n} rows are not measured, because their 'year' has no place" in of_one_wave["table"]["notes"][0]
    with pytest.raises(UnsupportedError, match="which rows of units belong to which slot"):
        hr.audit(None, release.table, SCHEMA, attacks=False, learning=False)


def test_models_of_long_releases_are_compared() -> None:
    people, release = made()
    compared = hr.compare_models(people, release, "pay ~ age + sex")
    assert "coefficient" in str(compared)


def test_a_limit_on_inference_is_measured_of_units() -> None:
    people, _ = made()
    release = protected(people, max_inference=0.95)
    assert release.checks[-1].name == "inference (measured)"


@pytest.mark.parametrize("part", range(8))
def test_random_long_tables_hold_with_and_without_the_key(part: int, tmp_path: Path) -> None:
    held = 0
    for seed in range(25 * part, 25 * part + 25):
        table, fields, settings = random_table(seed)
        people = settings["people"] or settings["k"]
        method = hr.Hedge(k=settings["k"], max_disclosure=settings["cap"])
        try:
            release = hr.protect(table, hr.Schema(**fields), method, guard_people=settings["people"], random_state=seed)
        except InfeasibleError:
            continue
        folder = tmp_path / str(seed)
        release.write(folder)
        notes = hr.audit(table, folder, attacks=False, learning=False).to_dict()["table"]["notes"]
        assert not [note for note in notes if "not what its plan makes" in note], seed
        written = pd.read_parquet(folder / "release.parquet")
        order = "wave" if "wave" in fields else "time"
        assert faults(table, written, "unit", "by", order, people, fields.get("household", "")) == [], seed
        if "rules" in fields:
            assert (written["total"] == written["a"] + written["b"]).all(), seed
        held += 1
    assert held > 15
