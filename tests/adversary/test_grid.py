"""With public cut points a release states nobody's own extreme value."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import HedgerowError, SchemaError, UnsupportedError

AGES, DATES = (20, 85, 5), ["1950-01-01", "1970-01-01", dt.date(1990, 1, 1)]
SCHEMA = hr.Schema(quasi=["age", "born", "job"], sensitive=["pay"])
GRID = SCHEMA.replace(grid={"age": AGES, "born": DATES})
METHODS = {
    "MART": hr.MART(5),
    "median": hr.Mondrian(5),
    "loss": hr.Mondrian(5, objective="loss"),
    "regression": hr.Mondrian(5, objective="regression"),
}


def people(n: int = 500) -> pd.DataFrame:
    """One person of 109, one of 3; ages from 30 to 80 else, and a few that are missing."""
    rng = np.random.default_rng(4)
    age = rng.integers(300, 800, n) / 10
    age[:2], age[2::40] = (109.0, 3.0), np.nan
    day = [dt.date(1940, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 22_000, n)]
    job = rng.choice(["cook", "nurse", "smith"], n)
    return pd.DataFrame({"age": age, "born": day, "job": job, "pay": rng.lognormal(8, 1, n)})


def told(release: Any, name: str) -> set[str]:
    """The different numbers or dates that stand in a column's cells."""
    cells = "\n".join(set(release.table[name].dropna().astype(str)))
    pattern = r"\d{4}-\d\d-\d\d" if name == "born" else r"\d+(?:\.\d+)?"
    return set(re.findall(pattern, cells))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_only_public_points_are_told(name: str) -> None:
    table = people()
    release = hr.protect(table, GRID, METHODS[name], guard=None)
    assert told(release, "age") <= {str(a) for a in range(20, 86, 5)}
    assert told(release, "born") <= {str(d) for d in DATES}
    assert "109" in told(hr.protect(table, SCHEMA, METHODS[name], guard=None), "age"), "the attack works"
    tree = release.plan.recoding
    points = {float(a) for a in range(20, 86, 5)} | {-7305.0, 0.0, 7305.0}
    assert {t for t, j in zip(tree.threshold, tree.split, strict=True) if j in (0, 1)} <= points


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_every_cell_holds_its_record(name: str) -> None:
    """Read by hand: `[20-35)` is half-open, `[85-]` and `[-20)` are open."""
    table = people()
    release = hr.protect(table, GRID, METHODS[name], guard=None)
    shown = 0
    for cell, age in zip(release.table["age"], table["age"].to_numpy()[release.rows], strict=True):
        if pd.isna(cell):
            assert pd.isna(age)
            continue
        if pd.isna(age):
            assert cell == "*" or cell.endswith("+(missing)")
            continue
        cell = cell.removesuffix("+(missing)")
        made = re.fullmatch(r"\[(\d+)?-(\d+)?([)\]])", cell)
        assert cell == "*" or made
        if made:
            shown += 1
            assert float(made[1] or -np.inf) <= age < float(made[2] or np.inf)
            assert (made[3] == "]") == (made[2] is None)
    assert shown > len(table) / 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_sql_cuts_at_the_same_points(name: str) -> None:
    table = people().assign(number=np.arange(500))
    release = hr.protect(table, GRID.replace(other=["number"]), METHODS[name], guard=None)
    with duckdb.connect() as database:
        database.register("everybody", table)
        found = database.sql(release.plan.to_sql("everybody")).df()
    for column in ("age", "born", "job"):
        one, other = (
            t.sort_values("number")[column].astype(object).fillna("").astype(str).tolist()
            for t in (found, release.table)
        )
        assert one == other


@pytest.mark.filterwarnings("ignore")
def test_people_beyond_the_grid_are_covered_by_its_open_ends() -> None:
    release = hr.protect(people(), GRID, hr.MART(5))
    far = people().assign(age=np.linspace(-1000, 1000, 500), born=dt.date(2090, 1, 1))
    made = release.plan.apply(far)
    assert made["age"].iloc[0][0:2] in ("[-", "*")
    cells = [c for c in made["age"] if c != "*"]
    assert all("(missing)" in c or c.startswith("[") for c in cells)
    recoded = hr.audit(far, made, GRID, attacks=False, learning=False, allow_outside=True)
    beyond = [note for note in recoded.table["notes"] if "do not cover" in note]
    assert all("'age'" not in note and "'born'" not in note for note in beyond)


@pytest.mark.filterwarnings("ignore")
def test_files_and_audit_read_the_cells(tmp_path: Path) -> None:
    table = people()
    table.to_csv(tmp_path / "people.csv", index=False)
    words = ["protect", str(tmp_path / "people.csv"), "--quasi", "age,born,job", "--sensitive"]
    words += ["pay", "--method", "mart", "-k", "5", "--out", str(tmp_path / "out"), "--no-report"]
    words += ["--grid", "age=20:85:5", "--grid", "born=1950-01-01,1970-01-01,1990-01-01"]
    assert run(words) == 0
    folder = tmp_path / "out"
    same = hr.protect(tmp_path / "people.csv", GRID, hr.MART(5))
    same.write(tmp_path / "again")
    assert (folder / "release.csv").read_bytes() == (tmp_path / "again/release.csv").read_bytes()
    text = (folder / "RECIPIENT.md").read_text()
    assert "`[20-25)` says" in text
    assert "`[2001-05-01/2003-01-31)` says" in text
    quick: dict[str, Any] = {"attacks": False, "learning": False}
    of_folder = hr.audit(tmp_path / "people.csv", folder, **quick)
    assert not any(" age range" in note for note in of_folder.table["notes"])
    assert 0 < of_folder.utility["loss"]["ncp"] < 1
    plain = hr.protect(tmp_path / "people.csv", SCHEMA, hr.MART(5))
    notes = hr.audit(tmp_path / "people.csv", plain, **quick).table["notes"]
    assert any(re.match(r"\d+ age ranges? ends? on a value that fewer than 5", n) for n in notes)
    exploded = hr.explode(pd.read_csv(folder / "release.csv"))
    assert np.isfinite(pd.to_numeric(exploded["age"], errors="coerce").dropna()).all()
    assert run([*words[:-4], "--force", "--grid", "20:85:5"]) == 2


def test_what_a_grid_cannot_cut_is_refused() -> None:
    table = people()
    for schema, method, words in (
        (SCHEMA.replace(grid={"job": [1, 2]}), hr.MART(5), "does not fit its kind"),
        (SCHEMA.replace(grid={"age": ["1990-01-01"]}), hr.MART(5), "does not fit its kind"),
        (SCHEMA.replace(grid={"born": ["1990-01-01T12:00"]}), hr.MART(5), "does not fit its kind"),
        (SCHEMA.replace(grid={"pay": [1, 2]}), hr.MART(5), "no quasi-identifiers: 'pay'"),
    ):
        with pytest.raises(SchemaError, match=words):
            hr.protect(table, schema, method)
    for method in (hr.MART(5, numeric="mean"), hr.Anatomy(3), hr.LocalSuppression(5)):
        with pytest.raises(UnsupportedError, match="grid"):
            hr.protect(table, GRID, method)


BERLIN = "Europe/Berlin"
"""An hour ahead of UTC in winter."""


def visits(zone: str | None = BERLIN, n: int = 200) -> pd.DataFrame:
    """Visits of January 2020, their times by the clocks of a zone."""
    rng = np.random.default_rng(0)
    seconds = pd.to_timedelta(rng.integers(0, 86_400 * 30, n), unit="s")
    time = pd.Timestamp("2020-01-01") + seconds
    return pd.DataFrame({"time": time.tz_localize(zone), "pay": rng.lognormal(8, 1, n)})


def cut_at(*points: Any) -> hr.Schema:
    return hr.Schema(quasi=["time"], sensitive=["pay"], grid={"time": list(points)})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("zone", "points", "cuts"),
    [
        (BERLIN, ["2020-01-10T00:00", "2020-01-20"], ["09T23", "19T23"]),  # its own clocks
        (BERLIN, ["2020-01-10T00:00Z", "2020-01-20T00:00Z"], ["10T00", "20T00"]),  # the instants
        (BERLIN, ["2020-01-10T00:00+02:00", "2020-01-20T00:00-02:00"], ["09T22", "20T02"]),
        ("UTC", ["2020-01-10T00:00", "2020-01-20T00:00"], ["10T00", "20T00"]),
        ("+01:00", ["2020-01-10T00:00", "2020-01-20T00:00"], ["09T23", "19T23"]),
        (None, ["2020-01-10T00:00", "2020-01-20T00:00"], ["10T00", "20T00"]),
    ],
)
def test_points_without_an_offset_are_those_of_the_clocks(zone: str | None, points: list[str], cuts: list[str]) -> None:
    release = hr.protect(visits(zone), cut_at(*points), hr.MART(5, max_disclosure=None))
    one, two = (f"2020-01-{cut}:00:00" for cut in cuts)
    assert set(release.table["time"]) == {f"[/{one})", f"[{one}/{two})", f"[{two}/]"}


@pytest.mark.filterwarnings("ignore")
def test_points_that_no_clock_or_every_clock_shows_are_refused_by_name() -> None:
    spring = visits().assign(time=lambda f: f["time"] + pd.Timedelta(days=75))
    autumn = visits().assign(time=lambda f: f["time"] + pd.Timedelta(days=290))
    method = hr.MART(5)
    for people, schema, words in (
        (visits(None), cut_at("2020-01-10T00:00+01:00"), "'time' have a time zone, and its times"),
        (spring, cut_at("2020-03-29T02:30"), "'time' falls into an hour"),
        (autumn, cut_at("2020-10-25T02:30"), "'time' falls into an hour"),
    ):
        with pytest.raises(SchemaError, match=words):
            hr.protect(people, schema, method)
    assert hr.protect(autumn, cut_at("2020-10-25T02:30+01:00"), method).checks


@pytest.mark.filterwarnings("ignore")
def test_times_of_another_zone_are_told_as_those_of_utc(tmp_path: Path) -> None:
    release = hr.protect(visits(), cut_at("2020-01-10T00:00"), hr.MART(5))
    said = "time: its times are in the zone Europe/Berlin; recoded cells give them in UTC"
    assert said in release.cautions
    assert "those of UTC: time (its zone is Europe/Berlin)" in release.plan.explain()
    folder = release.write(tmp_path / "out")
    assert "Times in recoded cells are those of UTC: time." in (folder / "RECIPIENT.md").read_text()
    clocks = "time: the points of its grid have no offset and are taken by the clocks of {}"
    assert any(text.startswith(clocks.format(BERLIN)) for text in release.cautions)
    visits().assign(time=lambda f: f["time"].map(str)).to_csv(tmp_path / "p.csv", index=False)
    for point, told in (("2020-01-10T00:00", True), ("2020-01-10T00:00+01:00", False)):
        read = hr.protect(tmp_path / "p.csv", cut_at(point), hr.MART(5))  # as UTC's
        assert any(text.startswith(clocks.format("UTC")) for text in read.cautions) is told
    plain = hr.protect(visits(None), cut_at("2020-01-10T00:00"), hr.MART(5))
    assert not any("UTC" in text for text in [*plain.cautions, plain.plan.explain()])
    for plan, people in ((release.plan, visits(None)), (plain.plan, visits())):
        with pytest.raises(HedgerowError, match="'time'"):
            plan.apply(people)
    elsewhere = visits().assign(time=lambda f: f["time"].dt.tz_convert("Asia/Tokyo"))
    pd.testing.assert_frame_equal(release.plan.apply(visits()), release.plan.apply(elsewhere))
    with duckdb.connect() as database:
        database.sql("SET TimeZone = 'Asia/Tokyo'")
        database.register("people", visits().assign(pay=np.arange(200)))
        cells = dict(database.sql(f"SELECT pay, time FROM ({release.plan.to_sql()})").fetchall())
    cut = pd.Timestamp("2020-01-10", tz=BERLIN)
    assert all(cells[i].startswith("[/") == (t < cut) for i, t in enumerate(visits()["time"]))
