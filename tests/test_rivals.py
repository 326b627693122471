"""The page "Hedgerow or synthetic data?": its table is that of the figures kept, and the measuring finds people."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from benchmarks import rivals
from experiments.guarded import Case, Members

import hedgerow as hr
from hedgerow.io.read import read

QUASI, SENSITIVE = ("age", "education", "job"), ("income", "assets")


@pytest.fixture(scope="module")
def people():
    whole = hr.datasets.make_people(900, seed=4).select([*QUASI, *SENSITIVE])
    case = Case("people", lambda: whole, QUASI, SENSITIVE)
    return Members(case, read(whole.slice(0, 600)), read(whole.slice(600)))


def measured(people, name):
    return rivals.measured(people, rivals.domain_of(people.case), name, 1)


def test_the_page_has_the_table_of_the_figures_kept():
    page = rivals.PAGE.read_text(encoding="utf-8")
    assert rivals.with_table(page, rivals.table_of(rivals.saved())) == page


def test_a_page_without_new_figures_stays_as_it_is(tmp_path, monkeypatch):
    for name in ("RESULTS", "PAGE"):
        kept = getattr(rivals, name)
        (tmp_path / kept.name).write_bytes(kept.read_bytes())
        monkeypatch.setattr(rivals, name, tmp_path / kept.name)
    monkeypatch.setattr(rivals, "HOME", tmp_path / "nothing")
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    rivals.write_page(3_000)
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before


def test_every_release_of_the_script_has_its_line():
    kept = {r["release"] for r in rivals.saved()}
    assert kept == set(rivals.RELEASES)
    assert len({r["table"] for r in rivals.saved()}) >= 5
    assert {r["split"] for r in rivals.saved()} == {0, 1, 2}


def test_exact_values_find_people_and_drawn_ones_find_members_no_more_than_strangers(people):
    exact = measured(people, "MART, exact values")
    drawn = measured(people, "Hedge, redrawn rows (the default)")
    assert exact["found"] > 0.9 > 0.1 > exact["found_strangers"]
    assert abs(drawn["found"] - drawn["found_strangers"]) < 0.06
    assert drawn["membership"] < exact["membership"]
    assert drawn["counts_median"] < exact["counts_median"]


def test_the_port_of_synthpop_is_measured_as_rows_of_people(people):
    port = measured(people, rivals.HELD[0])
    assert set(rivals.FIGURES) - set(port) == {"singled_out", "linked", "inferred"}  # anonymeter's
    assert port["found"] > 0.05 > port["found_strangers"]  # values are somebody's own
    assert port["overlap"] > 0.4


def test_people_come_back_from_a_file_as_they_were():
    table = read(
        pa.table(
            {
                "born": pa.array([dt.date(1990, 1, 2), dt.date(1890, 3, 4)]),
                "code": pa.array(["01", None]),
                "spent": pa.array([1.5, -2.25]),
                "children": pa.array([3, 0], pa.int8()),
            }
        )
    )
    assert rivals.returned(rivals.handed(table), table).arrow == table.arrow
    made = rivals.handed(table)
    made["c3"] += 0.4
    assert rivals.returned(made, table).arrow.column("children").to_pylist() == [3, 0]


def test_means_over_tables_are_of_every_split_and_errors_between_them():
    row = dict.fromkeys(rivals.FIGURES, 0.0) | {"release": rivals.FRESH}
    found = [
        row | {"table": table, "split": split, "overlap": value}
        for table, split, value in (("a", 0, 0.2), ("b", 0, 0.4), ("a", 1, 0.4), ("b", 1, 0.6))
    ]
    lines = rivals.table_of(found).splitlines()
    at = list(rivals.COLUMNS).index("overlap") + 2
    assert lines[2].split("|")[at].strip() == ".40"
    error = np.std([0.3, 0.5], ddof=1) / np.sqrt(2)
    assert float(lines[-1].split("|")[at]) == pytest.approx(error, abs=0.005)


def test_the_readme_says_of_rivals_what_the_page_has():
    """Its line of sequential trees sets four figures beside those of the default."""
    lines = (rivals.HERE.parent / "README.md").read_text(encoding="utf-8").splitlines()
    told = next(line for line in lines if line.startswith("| synthetic rows by sequential trees"))
    trees, rows = (rivals.means_of(rivals.saved(), n) for n in ("synthpop in R", "Hedge, redrawn rows (the default)"))
    for figure in ("nearest", "advantage"):
        theirs, ours = (rivals.in_words(figure, each[figure]) for each in (trees, rows))
        assert f"({theirs} against {ours}" in told
    assert f"{100 * trees['equal']:.0f}% of its rows are a member's ({100 * rows['equal']:.0f}%)" in told
    assert trees["overlap"] > rows["overlap"]  # for models and regressions it is better
    assert all(trees[f"r2_{n}"] > rows[f"r2_{n}"] - 0.005 for n in ("boosting", "ridge", "tree"))
