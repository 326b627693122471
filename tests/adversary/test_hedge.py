"""Releases of Hedge on random tables, read from their files by a checker of its own."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import pytest

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
    job = [("cook", "cook", "a+b", "nurse", "smith")[i * i % 7 % 5] for i in range(90)]
    pay = [100 * (i // 3) + (37 * i) % 900 for i in range(90)]
    table: dict[str, list[Any]] = {"row": list(range(90)), "age": age, "job": job, "pay": pay}
    return table, released(table, {"age": "number", "job": "category"}, {"pay": "number"}, 5, 0.5)


@pytest.mark.parametrize("how", [None, *BROKEN], ids=lambda how: how and how.__name__)
def test_what_is_broken_is_found(people: Any, how: Any) -> None:
    table, good = people
    rows = [dict(row) for row in good]
    asked: Any = {"quasi": {"age": "number", "job": "category"}, "sensitive": {"pay": "number"}}
    if how is None:
        assert not faults(table, rows, **asked, k=5, cap=0.5)
        assert faults(table, rows, **asked, k=12, cap=0.5)[0] == "a group of fewer than k"
        too_much = faults(table, rows, **asked, k=5, cap=0.3)
        assert too_much == ["pay: a group tells more than the cap"]
        return
    how(rows)
    assert BROKEN[how] in faults(table, rows, **asked, k=5, cap=0.5)
