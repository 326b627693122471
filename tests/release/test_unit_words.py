"""RECIPIENT.md and the sentences of `protect`, where several rows are of one person or household."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.io.read import read
from hedgerow.release.guard_words import dominated
from hedgerow.report.page import render
from hedgerow.workflow.outcome import outcome
from tests.audit.test_units_kept import homes, panel, visits

pytestmark = pytest.mark.filterwarnings("ignore")
PANEL = hr.Schema(quasi=["age"], sensitive=["job", "wage"], unit="id", wave="year")
HOMES = hr.Schema(quasi=["who"], sensitive=["edu", "pay"], household="home", member="who")
VISITS = hr.Schema(quasi=["day"], sensitive=["pressure"], unit="patient", time="day")
TABLES = {"panel": (panel(1, 0.8), PANEL), "homes": (homes(1), HOMES), "visits": (visits(1, 40), VISITS)}


def cells(words: str) -> dict[str, tuple[str, str]]:
    """The table of columns, with the role and the content of each."""
    table = words.partition("|---|---|---|\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {name: (role, content) for name, role, content in rows}


@pytest.fixture(scope="module", params=TABLES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, hr.Release, Path]:
    table, schema = TABLES[request.param]
    release = hr.protect(table, schema, hr.Hedge(k=10), random_state=1)
    folder = tmp_path_factory.mktemp("units") / "out"
    audit = hr.audit(table, release, attacks=False, learning=False) if request.param == "panel" else None
    release.write(folder, measured=audit)
    return request.param, release, folder


def test_recipients_read_of_the_long_table(made: tuple[str, hr.Release, Path]) -> None:
    name, release, folder = made
    words, written = (folder / "RECIPIENT.md").read_text(), read(folder / "release.parquet").arrow
    form = release.plan.units
    assert form is not None
    who, one = ("households", "household") if name == "homes" else ("people", "person")
    units = len(written.column(form.unit).unique())
    assert f"holds {written.num_rows:,} rows of {units:,} {who}," in words
    assert list(cells(words)) == written.column_names
    assert cells(words)[form.unit][0] == "identifier"
    assert cells(words)[form.by][0] == "quasi"
    assert f"Rows with the same {form.unit} are of one {one}." in words
    assert f"such as k, counts {who}, not rows" in words
    assert f"at least 10 {who}" in words
    # the sentences on what was promised name the columns of the file
    promised = words.partition("## What was promised")[2].partition("##")[0]
    assert "[" not in promised
    assert "(step)" not in promised
    assert not form.left_out or f"{form.left_out:,} rows" not in words
    for moving in form.moving:
        assert f"Never falling from row to row: {moving}." in words
        assert "a first value and steps" in cells(words)[moving][1]


def test_recipients_read_of_relations_between_rows(made: tuple[str, hr.Release, Path]) -> None:
    name, _, folder = made
    words = (folder / "RECIPIENT.md").read_text()
    number = r"-?\d\.\d\d"
    both = rf"{number} here, {number} in the original"
    title, sentence = {
        "panel": ("From wave to wave", rf"- wage: correlation with that of the wave before {both}"),
        "homes": ("Within households", rf"- pay: correlation of head and spouse {both}"),
        "visits": ("From one time to the next", rf"- day: mean step in days \S+ here, {number} times the original's;"),
    }[name]
    assert re.search(rf"## {title}\n[^#]*{sentence}", words), words
    # the original's own figures stay with the steward
    original = json.loads((folder / "audit.json").read_text()).get("utility", {}).get("units")
    if name == "panel":
        change = next(r for r in original["relations"] if r["measure"] == "change")
        assert f"{change['original']:.0f}" not in words.partition("## From wave to wave")[2].partition("##")[0]


def test_of_dominated_columns_nothing_of_the_original_is_named(tmp_path: Path) -> None:
    table = panel(1, 0.8)
    table.loc[table["id"] == 7, "wage"] = 1_000_000
    release = hr.protect(table, PANEL, hr.Hedge(k=10), random_state=1)
    assert dominated(release.summary()["guard"], release.plan) == ["wage"]
    release.write(tmp_path / "out")
    (line,) = re.findall(r"^- wage: correlation.*", (tmp_path / "out" / "RECIPIENT.md").read_text(), re.M)
    assert "original" not in line
    assert "here" in line


def test_a_long_column_has_one_line(made: tuple[str, hr.Release, Path]) -> None:
    name, release, _ = made
    form = release.plan.units
    assert form is not None
    names = [form.cells[wide][0] for wide in form.cells]
    lines = [line for line in outcome(release) if ": standard deviation" in line]
    columns = [name for line in lines for name in dict.fromkeys(names) if line.startswith(name)]
    assert columns
    assert len(columns) == len(set(columns)) == len(lines)
    moved = [line.partition(" ")[0] for line in release.cautions if "its standard deviation is" in line]
    assert len(moved) == len(set(moved))
    if name == "panel":
        assert any("of 5 slots the one that changed most" in line for line in lines)


def test_the_page_shows_the_original_to_the_steward_alone(made: tuple[str, hr.Release, Path]) -> None:
    name, release, folder = made
    if name != "panel":
        return
    audit = json.loads((folder / "audit.json").read_text())
    for audience, heads in (("steward", 3), ("recipient", 2)):
        page = render(audit, audience=audience, plan=release.plan, checks=release.checks)
        table = page.partition("<caption>From wave to wave</caption>")[2].partition("</table>")[0]
        assert table.partition("<tbody>")[0].count("<th") == heads + 1  # and <thead>
        assert "wage: correlation with that of the wave before" in table
