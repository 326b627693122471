"""Numbers that doubles cannot hold, two zeros, texts like numbers: does every written cell cover?

The release is written and its text is read by plain Python alone: whole numbers, decimals and
time stamps to their last digit, groups by the texts that a recipient sees.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.auditing.pairing import same as unchanged
from hedgerow.columns.table import Table
from hedgerow.errors import HedgerowError, InfeasibleError
from hedgerow.io.read import read
from tests.contracts.methods import CASES, Case

N = 36
STAMP = 1_600_000_000_123_456_000

WORLDS: dict[str, tuple[list[Any], pa.DataType]] = {
    "whole numbers beyond 2^53": ([2**53 + i // 2 for i in range(N)], pa.int64()),
    "of both signs, some missing": (
        [None if i % 9 == 4 else (-1) ** i * (2**60 + i % 11) for i in range(N)],
        pa.int64(),
    ),
    "unsigned": ([2**63 + i * 3 % 20 for i in range(N)], pa.uint64()),
    "cents": ([Decimal(i * 7 % 45) / 100 for i in range(N)], pa.decimal128(15, 2)),
    "long decimals": (
        [Decimal(12345678901234567890 + i % 13).scaleb(-20) for i in range(N)],
        pa.decimal128(25, 20),
    ),
    "forty digits": (
        [Decimal(f"1234567890123456789012345678901234567{i % 13:02}.5") for i in range(N)],
        pa.decimal256(45, 1),
    ),
    "nanoseconds": ([STAMP + i % 13 for i in range(N)], pa.timestamp("ns")),
    "before 1970": ([-STAMP - i % 13 for i in range(N)], pa.timestamp("ns")),
    "the end of time": (
        [253402300799999900 + i % 17 for i in range(N)],
        pa.timestamp("us"),
    ),
    "two zeros": ([[-0.0, 0.0, 1.5, -1.5][i % 4] for i in range(N)], pa.float64()),
    "not a number": ([[float("nan"), None, 0.5, 2.0][i % 4] for i in range(N)], pa.float64()),
    "17 digits": ([0.1 + i % 13 * 2.0**-56 for i in range(N)], pa.float64()),
    "doubles beyond 2^53": ([1e22 + i % 13 * 2.0**21 for i in range(N)], pa.float64()),
    "texts like numbers": (
        [["1", "1.0", "01", "1e0", "-0", "0", "[1-2]", "nan", "9007199254740993"][i % 9]
         for i in range(N)],
        pa.string(),
    ),
}  # fmt: skip
EPOCH = dt.datetime(1970, 1, 1)


def text_of(value: Any, kind: pa.DataType) -> str:
    """A value as a CSV file holds it; empty where it is missing."""
    if value is None or value != value:
        return ""
    if pa.types.is_timestamp(kind):
        per = 1_000 if kind.unit == "ns" else 1
        whole = EPOCH + dt.timedelta(microseconds=value // per)
        text = whole.isoformat("T", "microseconds")
        return text + (f"{value % per:03}" if per > 1 else "")
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def people(world: str, suffix: str, folder: Path) -> Path:
    """A file with the odd values in `v` and, without a role, in `kept`."""
    values, kind = WORLDS[world]
    rng = np.random.default_rng(3)
    table = pa.table(
        {
            "v": pa.array(values, kind),
            "w": rng.integers(20, 23, N),
            "job": np.array(["cook", "nurse"])[rng.integers(0, 2, N)],
            "pay": rng.lognormal(8, 1, N).round(2),
            "ill": np.array(["flu", "none", "burn"])[rng.integers(0, 3, N)],
            "kept": pa.array(values, kind),
        }
    )
    path = folder / f"people{suffix}"
    if suffix == ".parquet":
        pq.write_table(table, path)
        return path
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(table.column_names)
        odd = [text_of(value, kind) for value in values]
        rest = table.drop_columns(["v", "kept"]).to_pylist()
        rows.writerows([o, *row.values(), o] for o, row in zip(odd, rest, strict=True))
    return path


def texts(path: Path) -> list[dict[str, str]]:
    """The rows of a file as texts, by readers that are not the project's."""
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        # an apostrophe stands before what a spreadsheet would run, as docs say
        return [{n: re.sub(r"^'(?=[-+=@])", "", t) for n, t in row.items()} for row in rows]
    table = pq.read_table(path)
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_timestamp(column.type):
            values = column.cast(pa.int64()).to_pylist()
        else:
            values = column.to_pylist()
        columns[name] = [text_of(value, column.type) for value in values]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def exactly(text: str) -> Decimal | None:
    """A text as a number; a moment as nanoseconds since 1970."""
    stamp = re.fullmatch(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?", text)
    if stamp:
        whole = dt.datetime.fromisoformat(f"{stamp[1]}T{stamp[2]}") - EPOCH
        return Decimal(whole // dt.timedelta(seconds=1) * 10**9 + int((stamp[3] or "0").ljust(9, "0")))
    try:
        return Decimal(text) if re.fullmatch(r"[-+.\deE]+", text) else None
    except InvalidOperation:
        return None


def same(a: str, b: str, number: bool) -> bool:
    """Whether two texts are one value."""
    if number and exactly(a) is not None and exactly(b) is not None:
        return exactly(a) == exactly(b)
    return a == b


def covers(cell: str, value: str, number: bool) -> bool:
    """Whether a released text is true of an original one."""
    if cell == "*" or same(cell, value, number):
        return True
    if made := re.fullmatch(r"(.*)\+?\(missing\)(:\d+)?", cell):
        return not value or covers(made[1].rstrip("+"), value, number)
    if "T" in value and (
        made := re.fullmatch(r"(\d{4}(?:-\d\d){0,2})|(\d{3})0s", cell)
    ):  # a day, month, year or decade
        return value.startswith(made[1] or made[2])
    made = re.fullmatch(r"\[(-?[\d.e+]+)-(-?[\d.e+]+)\]|\[([^/]+)/([^/]+)\]", cell)
    if number and made and value:
        low, high = (exactly(end) for end in made.groups() if end)
        return low <= exactly(value) <= high
    if made := re.fullmatch(r"\{(.*)\.\.(.*)\}", cell):
        ends = [exactly(t) if number else t for t in (made[1], value, made[2])]
        return value != "" and ends == sorted(ends)
    parts = re.findall(r'"(?:[^"]|"")*"|[^+"]+', re.sub(r":\d+(?=\+|$)", "", cell))
    listed = [p[1:-1].replace('""', '"') if p[0] == '"' else p for p in parts]
    return any(same(name, value, number) for name in listed)


def released(case: Case, world: str, suffix: str, categories: bool, folder: Path) -> Any:
    """The written release as texts, the original, the plan; or the error."""
    path = people(world, suffix, folder)
    kinds = {"v": "categorical", "w": "categorical"} if categories else {}
    sensitive = ["ill"] if case.table == "categories" else ["pay"]
    schema = hr.Schema(quasi=["v", "w"], sensitive=sensitive, other=["kept"], kinds=kinds)
    try:
        made = hr.protect(path, schema, case.method(schema), guard=None, keep_order=True)  # rows side by side
    except HedgerowError as error:
        return error
    out = made.write(folder / "out")
    found = read(path)
    number = found.kind("v") in ("numeric", "date")
    return (texts(path), texts(out / f"release{suffix}"), json.loads((out / "plan.json").read_text()), number)


VARIANTS = ("MART with means and counts", "Incognito with suppression")
CLASSES = [type(case.make()) for case in CASES]
ONE_EACH = [case for i, case in enumerate(CASES) if CLASSES[i] not in CLASSES[:i] or case.name in VARIANTS]
"""Every method once, and the recodings that its variants add."""


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", ONE_EACH, ids=lambda case: case.name)
def test_written_cells_cover_their_originals_to_the_last_digit(
    case: Case, world: str, suffix: str, tmp_path: Path
) -> None:
    for categories in (False, True) if suffix == ".parquet" else (False,):
        folder = tmp_path / str(categories)
        folder.mkdir()
        made = released(case, world, suffix, categories or case.table == "categories", folder)
        if isinstance(made, HedgerowError):
            assert "fault in the method" not in f"{made} {made.hint}", made
            continue
        before, after, plan, number = made
        assert len(before) == len(after) == N
        if case.k:
            groups = Counter((row.get("v"), row.get("w")) for row in after)
            assert min(groups.values()) >= case.k
        for old, new in zip(before, after, strict=True):
            assert same(new["kept"], old["kept"], number)
        check_cells(case, plan, before, after, number)


def check_cells(case: Case, plan: Any, before: Any, after: Any, number: bool) -> None:
    """What each kind of recoding owes the cells of `v`."""
    recoding = plan["recoding"]
    old, new = [row["v"] for row in before], [row.get("v", "") for row in after]
    pairs = list(zip(old, new, strict=True))
    column = {}
    if recoding["kind"] == "partition":
        column = next(c for c in recoding["columns"] if c["name"] == "v")
    if column.get("style") in ("mean", "median"):
        by_group: dict[Any, list[str]] = {}
        for row, value in zip(after, old, strict=True):
            by_group.setdefault((row["v"], row["w"]), []).append(value)
        for (mean, _), values in by_group.items():
            known = [float(exactly(v)) for v in values if v]
            if mean == "*":  # fewer than k have a value
                assert len(known) < case.k
            elif known:
                told = re.sub(r":\d+\+\(missing\):\d+$", "", mean)
                # a mean is a double, or a whole microsecond, to the nearest public step
                off = max(1000 * ("T" in told), column["step"] / 2)
                assert min(known) - off <= float(exactly(told)) <= max(known) + off
    elif recoding["kind"] in ("partition", "maps") and case.name != "TPP":
        wrong = [pair for pair in pairs if not covers(pair[1], pair[0], number)]
        assert not wrong, wrong[:3]
    elif case.name == "local suppression":
        assert all(cell == "" or same(cell, value, number) for value, cell in pairs)
        assert any(row["v"] or row["w"] for row in after)
    elif case.name == "rank swapping":
        assert Counter(map(exactly, filter(None, old))) == Counter(map(exactly, filter(None, new)))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("world", WORLDS)
def test_odd_sensitive_values_are_released_and_held_exactly(world: str, suffix: str, tmp_path: Path) -> None:
    path = people(world, suffix, tmp_path)
    schema = hr.Schema(quasi=["w", "job"], sensitive=["v"])
    number = read(path).kind("v") in ("numeric", "date")
    old = [row["v"] for row in texts(path)]
    kept = hr.protect(path, schema, hr.MART(3, max_disclosure=None), keep_order=True)
    rows = texts(kept.write(tmp_path / "mart") / f"release{suffix}")
    assert all(same(row["v"], value, number) for row, value in zip(rows, old, strict=True))
    anatomy = hr.protect(path, schema, hr.Anatomy(2, random_state=1), keep_order=True)
    folder = anatomy.write(tmp_path / "anatomy")
    groups = [row["v"] for row in texts(folder / f"release{suffix}")]
    beside = texts(folder / f"{anatomy.plan.recoding.second_file}{suffix}")
    shown = {(row["group"], row["v"]): int(row["count"]) for row in beside}

    def seen(text: str) -> Any:
        return exactly(text) if number and text else text

    wanted = Counter((group, seen(value)) for group, value in zip(groups, old, strict=True))
    assert wanted == Counter({(group, seen(value)): n for (group, value), n in shown.items()})


def test_swapped_ids_that_share_a_double_are_no_unchanged_column() -> None:
    low, high = 2**60 + 1, 2**60 + 3
    one, other = (Table(pa.table({"id": ids})).column("id") for ids in ([low, high], [high, low]))
    assert unchanged(one, one)
    assert not unchanged(one, other)


def test_two_ids_that_share_a_double_are_two_sensitive_values(tmp_path: Path) -> None:
    """Groups a and b hold one id each, c holds both halves: by hand 1, 1, 0 are told."""
    low, high = 2**60 + 1, 2**60 + 3
    assert float(low) == float(high)
    table = pa.table({"town": ["a"] * 4 + ["b"] * 4 + ["c"] * 4, "id": [low] * 4 + [high] * 4 + [low, high] * 2})
    from hedgerow.measures import Classes, disclosure

    made = Classes.from_table(Table(table), ["town"], ["id"]).sensitive["id"]
    assert disclosure.column_disclosure(made).tolist() == [1.0, 1.0, 0.0]
    assert made.counts.counts.tolist() == [4, 4, 2, 2]
    schema = hr.Schema(quasi=["town"], sensitive=["id"])
    release = hr.protect(table, schema, hr.MART(4, max_disclosure=0.5))
    assert set(release.table["town"].to_pylist()) == {"a:4+b:4+c:4"}
    assert release.summary()["disclosure"]["worst"] == 0.0
    with pytest.raises(InfeasibleError):
        hr.protect(table, schema, hr.Incognito(4, l=3, diversity="distinct"))


def test_a_false_cell_of_a_number_that_shares_its_double_is_found() -> None:
    ids = [2**53 + i for i in (0, 1, 3, 4, 5, 7)]
    table = pa.table({"id": ids * 3, "pay": range(18)})
    release = hr.protect(table, hr.Schema(quasi=["id"], sensitive=["pay"]), hr.MART(3))
    cells = release.plan.recoding.columns[0].cells
    assert {(c.lo, c.hi) for c in cells} <= {(a, b) for a in ids for b in ids}
    assert any(c.lo < c.hi for c in cells)
    from dataclasses import replace

    from hedgerow.release.verify import verify

    short = tuple(replace(c, hi=c.hi - 1) for c in cells)
    column = replace(release.plan.recoding.columns[0], cells=short)
    forged = replace(release.plan, recoding=replace(release.plan.recoding, columns=(column,)))
    found = {c.name: c for c in verify(forged, Table(table), release.released).checks}
    assert not found["covered"].holds
    assert all(c.holds for c in verify(release.plan, Table(table), release.released).checks)
