"""Releases of Hedge on random tables, read from their files by a checker of its own."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Hashable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import hedgerow as hr

from ..reference.hedge import Column, hedge
from .hedge_checker import faults, random_table


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in '+":') else name


def as_text(cell: Hashable) -> str:
    """A cell of the reference as it is written."""
    if isinstance(cell, Fraction):
        return str(float(cell))
    if isinstance(cell, tuple) and isinstance(cell[0], Fraction):
        return f"{float(cell[0])}:{cell[1]}+(missing):{cell[2]}"
    if isinstance(cell, tuple):
        return "+".join(f"{'(missing)' if v is None else quoted(v)}:{n}" for v, n in cell)
    return "" if cell is None else cell if cell == "*" else quoted(str(cell))


def released(table: dict[str, list[Any]], quasi: Any, sensitive: Any, k: int, cap: Any) -> Any:
    """Rows as text, made by the reference."""
    groups = hedge(
        [Column(kind, table[name]) for name, kind in quasi.items()],
        [Column(kind, table[name]) for name, kind in sensitive.items()],
        k=k,
        cap=None if cap is None else Fraction(repr(cap)),
    )
    return [
        dict(zip(quasi, map(as_text, cells), strict=True))
        | {"row": str(i)}
        | {s: "" if table[s][i] is None else str(table[s][i]) for s in sensitive}
        for cells, members in groups.items()
        for i in members
    ]


@pytest.mark.parametrize("seed", range(12))
def test_the_reference_keeps_what_the_checker_asks(seed: int) -> None:
    table, quasi, sensitive, (k, cap) = random_table(seed)
    rows = released(table, quasi, sensitive, k, cap)
    asked = {"quasi": quasi, "sensitive": sensitive}
    assert not faults(table, rows, **asked, k=k, cap=cap)


def two_cells_moved(rows: list[dict[str, str]]) -> None:
    """A cook trades places with somebody of a group without cooks."""
    one = next(r for r in rows if r["job"] == "cook")
    other = next(r for r in rows if "cook" not in r["job"])
    one["row"], other["row"] = other["row"], one["row"]
    one["pay"], other["pay"] = other["pay"], one["pay"]


def one_step_off(rows: list[dict[str, str]]) -> None:
    first = rows[0]["age"]
    for row in rows:
        if row["age"] == first:
            row["age"] = str(float(first) + 5)


def exact_mean(rows: list[dict[str, str]]) -> None:
    first = rows[0]["age"]
    for row in rows:
        if row["age"] == first:
            row["age"] = str(float(first) + 0.25)


def counts_of_two(rows: list[dict[str, str]]) -> None:
    for row in rows:
        row["job"] = row["job"].replace(":", ":1")


def pay_of_two(rows: list[dict[str, str]]) -> None:
    """Two people of a group trade their pay."""
    other = next(r for r in rows[1:] if r["age"] == rows[0]["age"] and r["pay"] != rows[0]["pay"])
    rows[0]["pay"], other["pay"] = other["pay"], rows[0]["pay"]


def row_left_out(rows: list[dict[str, str]]) -> None:
    rows.pop()


BROKEN = {
    two_cells_moved: "job: not the group's shares",
    one_step_off: "age: not the rounded mean",
    exact_mean: "age: not the rounded mean",
    counts_of_two: "job: not the group's shares",
    pay_of_two: "pay: a sensitive value changed",
    row_left_out: "rows were lost or made up",
}


@pytest.fixture(scope="module")
def people() -> tuple[dict[str, list[Any]], list[dict[str, str]]]:
    age = [20 + i // 2 + (7 * i) % 5 for i in range(90)]
    job = [("cook", "cook", "a+b", "nurse", "smith")[i // 3 * 7 % 11 % 5] for i in range(90)]
    pay = [100 * (i // 3) + (37 * i) % 900 for i in range(90)]
    table: dict[str, list[Any]] = {"row": list(range(90)), "age": age, "job": job, "pay": pay}
    return table, released(table, {"age": "number", "job": "category"}, {"pay": "number"}, 7, 0.5)


@pytest.mark.parametrize("how", [None, *BROKEN], ids=lambda how: how and how.__name__)
def test_what_is_broken_is_found(people: Any, how: Any) -> None:
    table, good = people
    rows = [dict(row) for row in good]
    asked: Any = {"quasi": {"age": "number", "job": "category"}, "sensitive": {"pay": "number"}}
    if how is None:
        assert not faults(table, rows, **asked, k=7, cap=0.5)
        assert faults(table, rows, **asked, k=40, cap=0.5)[0] == "a group of fewer than k"
        too_much = faults(table, rows, **asked, k=5, cap=0.3)
        assert too_much == ["pay: a group tells more than the cap"]
        return
    how(rows)
    assert BROKEN[how] in faults(table, rows, **asked, k=7, cap=0.5)


def written(folder: Path, table: Any, quasi: Any, sensitive: Any, method: Any, text: bool = False) -> Any:
    """Rows of the file that a release writes, as text; of a CSV file, from one."""
    kinds = {n: "numeric" if kind == "number" else "categorical" for n, kind in {**quasi, **sensitive}.items()}
    schema = hr.Schema(quasi=list(quasi), sensitive=list(sensitive), other=["row"], kinds=kinds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        source: Any = pa.table(table)
        if text:
            pacsv.write_csv(source, folder / "people.csv")
            source = folder / "people.csv"
        made = hr.protect(source, schema, method, guard=None).write(folder / "made", force=True)
    if text:
        with (made / "release.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    rows = pq.read_table(made / "release.parquet").to_pylist()
    return [{n: "" if v is None else str(v) for n, v in row.items()} for row in rows]


@pytest.mark.parametrize("part", range(4))
def test_written_releases_keep_every_promise(part: int, tmp_path: Path) -> None:
    """A few tables here; HEDGEROW_SEARCH=1 takes 2,000."""
    many = 500 if os.environ.get("HEDGEROW_SEARCH") else 25
    for seed in range(500 * part, 500 * part + many):
        table, quasi, sensitive, (k, cap) = random_table(seed)
        method = hr.Hedge(k, max_disclosure=cap, screen=bool(seed % 2))
        rows = written(tmp_path, table, quasi, sensitive, method, text=seed % 4 < 2)
        # a screened column is left out; one that fewer than k of each group have is judged as it is
        silent = {n for n in quasi if seed % 2 and {row[n] for row in rows} == {"*"}}
        told = {n: kind for n, kind in quasi.items() if n not in silent}
        asked = {"quasi": told, "sensitive": sensitive}
        assert not faults(table, rows, **asked, k=k, cap=cap), seed
