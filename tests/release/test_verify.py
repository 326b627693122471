"""Verification beside its plain reference, and shown to bite: on tables, on files, on plans."""

from __future__ import annotations

import dataclasses
import datetime as dt
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.backends import memory as room
from hedgerow.columns.table import Table
from hedgerow.errors import PromiseError
from hedgerow.io.read import read
from hedgerow.plan import Cell, ColumnMap, Maps, Plan, PlanColumn, Recoded
from hedgerow.release import expected_rows as rows_of_a_release
from hedgerow.release.rederive.recipes import Numbers, untrue
from hedgerow.release.verify import classes, verify

from ..plan.partitions import mixed, plan_of
from . import reference

EXTRA = (
    PlanColumn("name", "identifier", "categorical"),
    PlanColumn("pay", "sensitive", "numeric"),
    PlanColumn("ill", "sensitive", "boolean"),
    PlanColumn("note", "other", "categorical"),
)
MAPS = Maps(
    (
        ColumnMap("age", "quasi", "numeric", cuts=(40.0,), labels=("-39", "40-"), missing="?"),
        ColumnMap("job", "quasi", "categorical", categories=("nurse", "a+b"), labels=("health", "other")),
        ColumnMap("born", "quasi", "date", "day", cuts=(11.0,), labels=("early", "late")),
        ColumnMap("height", "quasi", "numeric", cuts=(0.5, 160.0), labels=(0.0, 80.0, 170.0)),
    ),
    suppressed=(("40-", "other", "late", 170.0), ("-39", "health", "early", 0.0)),
)
TREE_PLAN = plan_of(mixed(), EXTRA)
MAP_PLAN = Plan("Datafly", {}, TREE_PLAN.columns, MAPS)
TYPES = {
    "age": pa.float64(),
    "job": pa.string(),
    "born": pa.date32(),
    "height": pa.float64(),
    "name": pa.string(),
    "pay": pa.int64(),
    "ill": pa.bool_(),
    "note": pa.string(),
}

people_rows = st.fixed_dictionaries(
    {
        "age": st.sampled_from([None, 20.0, 39.0, 40.0, 95.0]),
        "job": st.sampled_from([None, "nurse", "O'Hara", "a+b", "cook\\"]),
        "born": st.sampled_from([dt.date(1970, 1, d) for d in (1, 11, 12, 20)]),
        "height": st.sampled_from([0.0, 0.5, 155.5, 175.0]),
        "name": st.just("somebody"),
        "pay": st.integers(0, 2),
        "ill": st.sampled_from([None, True, False]),
        "note": st.sampled_from(["", "x", None]),
    }
)


def table_of(rows: list[dict[str, Any]], types: dict[str, pa.DataType] | None = None) -> Table:
    names = list(rows[0])
    found = types or {}
    return Table(pa.table({n: pa.array([row[n] for row in rows], found.get(n)) for n in names}))


TAMPERINGS = ("nothing", "shuffle", "swap", "cell", "drop", "double", "column", "order")


def tampered(rows: list[dict[str, Any]], how: str, rng: random.Random) -> list[dict[str, Any]]:
    rows = [dict(row) for row in rows]
    i, j = rng.randrange(len(rows)), rng.randrange(len(rows))
    name = rng.choice([n for n in rows[0] if n != "born"])
    if how == "shuffle":
        rng.shuffle(rows)
    elif how == "swap":
        rows[i][name], rows[j][name] = rows[j][name], rows[i][name]
    elif how == "cell":
        rows[i][name] = rows[j][name]
    elif how == "drop" and len(rows) > 1:
        rows.pop(i)
    elif how == "double":
        rows.append(dict(rows[i]))
    elif how == "column":
        rows = [{**row, "name": "somebody"} for row in rows]
    elif how == "order":
        rows = [dict(reversed(row.items())) for row in rows]
    return rows


@pytest.mark.parametrize("plan", [TREE_PLAN, MAP_PLAN], ids=["partition", "maps"])
@given(rows=st.lists(people_rows, min_size=1, max_size=7), how=st.sampled_from(TAMPERINGS), seed=st.integers(0, 1000))
def test_every_check_is_the_references(plan: Plan, rows: list[dict[str, Any]], how: str, seed: int) -> None:
    rows = [{name: row[name] for name in TYPES} for row in rows]
    wanted, _ = reference.expected(plan, rows)
    released = tampered(wanted, how, random.Random(seed))
    types = TYPES | dict.fromkeys(("age", "job", "born"), pa.string())
    types["height"] = pa.float64() if plan is TREE_PLAN else pa.string()
    found = verify(plan, table_of(rows, TYPES), table_of(released, types)).checks
    told = {check.name: bool(check.holds) for check in found}
    expected = reference.holds(plan, rows, released)
    if plan is MAP_PLAN:
        expected.pop("covered", None), told.pop("covered", None)
    assert told == expected


def people(n: int = 300, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": pa.array(rng.integers(18, 90, n), mask=rng.random(n) < 0.1),
            "job": rng.choice(["nurse", "cook", "=1+1", "007"], n),
            "born": pa.array(rng.integers(0, 9000, n), pa.int32()).cast(pa.date32()),
            "income": rng.lognormal(10, 1, n).round(2),
            "ill": rng.choice(["yes", "no"], n),
            "member": rng.random(n) < 0.5,
            "note": pa.array([["=2", "a,b", None, ""][i % 4] for i in range(n)]),
        }
    )


SCHEMA = hr.Schema(
    quasi=["age", "job"], sensitive=["income", "ill"], identifiers=["name"], other=["born", "member", "note"]
)
METHODS: dict[str, Any] = {
    "ranges": lambda: hr.MART(k=5, max_disclosure=None),
    "means": lambda: hr.MART(k=5, max_disclosure=None, numeric="mean", categorical="weighted"),
    "medians": lambda: hr.MART(k=5, max_disclosure=None, numeric="median", categorical="suppress"),
    "maps": lambda: hr.Datafly(k=5, suppression=0.2),
    "draws": lambda: hr.RandomizedResponse(l=2.0, bins=3),
    "masks": lambda: hr.RankSwapping(0.1, random_state=1),
    "leaves out": lambda: hr.LocalSuppression(k=2),
    "moves away": lambda: hr.Anatomy(l=2),
}


def protected(name: str, source: Any = None, **changes: Any) -> Any:
    schema = SCHEMA
    if name in ("masks", "moves away"):
        others = [*SCHEMA.other, *SCHEMA.sensitive]
        schema = SCHEMA.replace(quasi=["age"], sensitive=["job"], other=others)
    return hr.protect(people() if source is None else source, schema, METHODS[name](), **changes)


def replaced(table: pa.Table, name: str, change: Any) -> pa.Table:
    at = table.column_names.index(name)
    cells = table.column(name).to_pylist()
    made = change(cells)
    return table.set_column(at, name, pa.array(made, table.schema.field(name).type))


def swap(cells: list[Any]) -> list[Any]:
    """Two different values exchanged."""
    known = [i for i, cell in enumerate(cells) if cell is not None]
    j = next(j for j in known if cells[j] != cells[known[0]])
    cells[known[0]], cells[j] = cells[j], cells[known[0]]
    return cells


def put(value: Any) -> Any:
    def change(cells: list[Any]) -> list[Any]:
        cells[7] = value
        return cells

    return change


def cast(name: str, *types: pa.DataType) -> Any:
    """A column under other types, one after the other."""

    def change(table: pa.Table) -> pa.Table:
        column = table.column(name)
        for kind in types:
            column = column.cast(kind, safe=False)
        return table.set_column(table.column_names.index(name), name, column)

    return change


MOVED = r"whole rows: required as expected, reached different \(.*not in the right rows"
TAMPERED: dict[str, tuple[Any, str]] = {
    "one cell": (lambda t: replaced(t, "income", put(1.0)), "columns that changed: income"),
    "a cell emptied": (lambda t: replaced(t, "ill", put(None)), "columns that changed: ill"),
    "a text emptied": (
        lambda t: replaced(t, "note", lambda cells: [v or "" for v in cells]),
        "columns that changed: note",
    ),
    "swapped incomes": (lambda t: replaced(t, "income", swap), MOVED),
    "swapped cells": (lambda t: replaced(t, "age", swap), MOVED),
    "a row less": (lambda t: t.slice(1), "rows: required 300, reached 299"),
    "a row twice": (lambda t: pa.concat_tables([t, t.slice(3, 1)]), "required 300, reached 301"),
    "a row for another": (lambda t: pa.concat_tables([t.slice(1), t.slice(5, 1)]), "columns that changed"),
    "a column more": (lambda t: t.append_column("name", people().column("name")), "columns: .*at fault: name"),
    "a column less": (lambda t: t.drop_columns(["note"]), "columns: .*at fault: note"),
    "columns in another order": (lambda t: t.select(t.column_names[::-1]), "fault: their order"),
    "a number as text": (cast("income", pa.string()), "columns that changed: income"),
    "a flag as a number": (cast("member", pa.int8()), "columns that changed: member"),
    "a day as a moment": (cast("born", pa.timestamp("us")), "types: .*another type: born"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", TAMPERED)
def test_a_tampered_table_is_found(how: str, method: str, tmp_path: Path) -> None:
    release = protected(method)
    change, words = TAMPERED[how]
    if how == "swapped cells" and method in ("draws", "masks"):
        change = TAMPERED["swapped incomes"][0]  # their quasi-identifiers are what was drawn
    release.table = change(release.table)
    with pytest.raises(PromiseError, match=words):
        release.verify()
    with pytest.raises(PromiseError, match=words):
        release.write(tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_the_rows_is_free(method: str, tmp_path: Path) -> None:
    release = protected(method)
    order = np.random.default_rng(1).permutation(300)
    if release.plan.recoding.complete:
        release.table = release.table.take(pa.array(order))
        assert all(check.holds for check in release.verify())
        release.write(tmp_path / "out")


@pytest.mark.parametrize("method", ["ranges", "means", "maps", "draws"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".feather"])
def test_written_files_hold_in_every_format(suffix: str, method: str, tmp_path: Path) -> None:
    from hedgerow.io.write import write_table

    table = people() if suffix != ".csv" else replaced(people(), "note", lambda c: [v or None for v in c])
    write_table(table, tmp_path / f"people{suffix}")
    release = protected(method, tmp_path / f"people{suffix}")
    folder = release.write(tmp_path / "out")
    assert read(folder / f"release{suffix}", unescape_formulas=True).n_rows == 300


# What a file without types cannot show: whether a number was a text, or nothing an empty one.
FILES = [how for how in TAMPERED if " as " not in how and how != "a text emptied"]


@pytest.mark.parametrize("how", [*FILES, "shuffled rows"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".feather"])
@pytest.mark.parametrize("method", ["means", "draws"])
def test_a_tampered_file_is_found(
    method: str, suffix: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = room.write_table
    real(people(), tmp_path / f"people{suffix}")
    release = protected(method, tmp_path / f"people{suffix}")
    order = pa.array(np.random.default_rng(1).permutation(300))
    change, words = (lambda t: t.take(order), "") if how == "shuffled rows" else TAMPERED[how]
    monkeypatch.setattr(room, "write_table", lambda table, *args, **kwargs: real(change(table), *args, **kwargs))
    if how == "shuffled rows":
        release.write(tmp_path / "out")
        return
    with pytest.raises(PromiseError, match=f"(?s)the written file release{suffix} .*({words})"):
        release.write(tmp_path / "out")
    assert [entry.name for entry in tmp_path.iterdir()] == [f"people{suffix}"]


def test_a_file_of_other_types_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, release = room.write_table, protected("ranges")

    def wider(table: pa.Table, *args: Any, **kwargs: Any) -> None:
        real(cast("income", pa.float32())(table), *args, **kwargs)

    monkeypatch.setattr(room, "write_table", wider)
    with pytest.raises(PromiseError, match=r"types: .*columns of another type: income"):
        release.write(tmp_path / "out")


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_a_frame_that_is_changed_in_place_is_found(frame: str, tmp_path: Path) -> None:
    import polars as pl

    source = people().to_pandas() if frame == "pandas" else pl.from_arrow(people())
    release = protected("ranges", source)
    release.write(tmp_path / "out")
    if frame == "pandas":
        release.table.isetitem(list(release.table).index("income"), np.arange(300.0))
    else:
        release.table.replace_column(release.table.columns.index("income"), pl.Series("income", np.arange(300.0)))
    with pytest.raises(PromiseError, match="columns that changed: income"):
        release.write(tmp_path / "other")
    with pytest.raises(PromiseError, match="columns that changed: income"):
        release.verify()


def test_a_change_in_place_is_found_in_the_release_and_does_not_reach_it_from_the_original(tmp_path: Path) -> None:
    """pandas lends its numbers to whoever reads them."""
    frame = people().to_pandas()
    release = protected("ranges", frame)

    def turn(table: Any) -> None:
        values = table["income"].to_numpy()
        if not values.flags.writeable:
            values.flags.writeable = True
        values[:] = values[::-1].copy()

    before = release.table.copy(deep=True)
    turn(frame)
    assert release.table.equals(before)
    turn(release.table)
    with pytest.raises(PromiseError, match="whole rows"):
        release.write(tmp_path / "out")


def forged(plan: Plan, column: int, change: Any) -> Plan:
    """The plan with the cells of one column changed."""
    recoding: Any = plan.recoding
    columns = list(recoding.columns)
    cells = tuple(map(change, columns[column].cells))
    columns[column] = dataclasses.replace(columns[column], cells=cells)
    made = dataclasses.replace(recoding, columns=tuple(columns))
    return dataclasses.replace(plan, recoding=made)


def trimmed(cell: Cell, lo: int = 0, hi: int = 0) -> Cell:
    """A range that ends a little earlier; what is one number stays."""
    if cell.lo is None or cell.lo == cell.hi:
        return cell
    return dataclasses.replace(cell, lo=cell.lo + lo, hi=cell.hi + hi)


@pytest.mark.parametrize(
    ("column", "change", "words"),
    [
        (0, lambda c: dataclasses.replace(c, hi=c.lo), "covered: required 0, reached .* in age"),
        (0, lambda c: dataclasses.replace(c, label="[0-99]"), "mapped: .*plan does not make: age"),
        (1, lambda c: dataclasses.replace(c, categories=("nurse",)), "covered: .* in job"),
        (0, lambda c: Cell("*", anything=True), "mapped: .*plan does not make: age"),
        # every end is somebody's, and one missing value is enough
        (0, lambda c: trimmed(c, hi=-1), r"covered: required 0, reached [1-9].* in age"),
        (0, lambda c: trimmed(c, lo=1), r"covered: required 0, reached [1-9].* in age"),
        (0, lambda c: dataclasses.replace(c, missing=False), "covered: .* in age"),
    ],
)
def test_a_forged_plan_is_found(column: int, change: Any, words: str) -> None:
    release = protected("ranges")
    release.plan = forged(release.plan, column, change)
    with pytest.raises(PromiseError, match=words):
        release.verify()


def test_faults_in_every_part_of_the_rows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    release = protected("ranges")
    plan = forged(release.plan, 0, lambda c: trimmed(c, hi=-1))

    def uncovered() -> Any:
        found = verify(plan, release.original, release.released, rows=release.rows).checks
        return next(check.reached for check in found if check.name == "covered")

    whole = uncovered()
    assert whole > 10
    monkeypatch.setattr(rows_of_a_release, "WINDOW", 64)
    assert uncovered() == whole


def test_the_key_of_the_sums_is_new_each_time() -> None:
    """Whoever knew it could make other rows of the same sum."""
    release = protected("ranges")
    one, two = (verify(release.plan, release.original, release.released, rows=release.rows).expected for _ in range(2))
    assert one is not None
    assert two is not None
    assert one.sums.whole != two.sums.whole


@pytest.mark.parametrize(("label", "faults"), [(25.9, 0), (24.1, 0), (26.1, 1), (23.9, 1), ("25:4+(missing):1", 1)])
def test_a_mean_is_held_to_half_its_step(label: Any, faults: int) -> None:
    assert untrue_means([10, 20, 30, 40], label) == faults


@pytest.mark.parametrize(
    ("label", "faults"), [("25:4+(missing):1", 0), ("25:3+(missing):2", 1), ("25:4+(missing):2", 1), (25.0, 1)]
)
def test_who_has_no_value_is_counted_beside_a_mean(label: Any, faults: int) -> None:
    assert untrue_means([10, 20, None, 30, 40], label) == faults


def untrue_means(ages: list[int | None], label: Any) -> int:
    """How many cells are not the mean of one group, told in steps of 2."""
    column = Recoded("age", "quasi", "numeric", "", "mean", (Cell(label, 10, 40),), 2.0)
    source = Numbers(column, Table(pa.table({"age": ages})))
    return untrue(column, source, np.array([0]), np.zeros(len(ages), np.int64))


@pytest.mark.parametrize("change", [lambda label: label.replace(":", ":1", 1), lambda label: label + "+nobody:0"])
def test_shares_beside_ranges_are_held_against_their_group(change: Any) -> None:
    release = hr.protect(people(), SCHEMA, hr.MART(k=5, max_disclosure=None, categorical="weighted"))
    release.plan = forged(
        release.plan, 1, lambda c: dataclasses.replace(c, label=change(c.label)) if ":" in str(c.label) else c
    )
    with pytest.raises(PromiseError, match=r"means and shares: .* in job"):
        release.verify()


@pytest.mark.parametrize("style", ["mean", "median"])
@pytest.mark.parametrize("unit", ["day", "us"])
def test_dates_are_told_in_whole_units(style: str, unit: str) -> None:
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 9000, 300)
    born = pa.array(counts.astype("int32"), pa.date32())
    if unit == "us":
        born = pa.array(counts * 1_000_003, pa.timestamp("us"))
    table = pa.table({"born": born, "pay": rng.integers(10, 90, 300)})
    schema = hr.Schema(quasi=["born"], sensitive=["pay"])
    release = hr.protect(table, schema, hr.MART(k=5, numeric=style))
    assert "means and shares" in {check.name for check in release.checks}
    recoding = release.plan.recoding
    (told,) = recoding.columns
    step = np.timedelta64(int(told.step), "D" if unit == "day" else "us")
    later = [str(np.datetime64(c.label) + step) for c in told.cells]
    cells = [dataclasses.replace(c, label=t) for c, t in zip(told.cells, later, strict=True)]
    forged = dataclasses.replace(recoding, columns=(dataclasses.replace(told, cells=tuple(cells)),))
    plan = dataclasses.replace(release.plan, recoding=forged)
    found = verify(plan, release.original, release.released, rows=release.rows).checks
    assert {"means and shares"} <= {check.name for check in found if not check.holds}


def test_cells_that_read_alike_are_one_group_to_a_reader() -> None:
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1]), ["[20-39]", "[20-39]"])
    columns = {name: ["x"] * 4 for name in ("job", "born", "height", "pay", "ill", "note")}
    table = Table(pa.table({"age": twice, **columns, "pay": [1, 2, 3, 4]}))
    assert classes(TREE_PLAN, table).sizes.tolist() == [4]


def test_a_plan_of_other_splits_is_found() -> None:
    release = protected("ranges")
    tree: Any = release.plan.recoding
    moved = [t + 7 for t in tree.threshold]
    release.plan = dataclasses.replace(release.plan, recoding=dataclasses.replace(tree, threshold=moved))
    with pytest.raises(PromiseError, match=r"mapped|covered|whole rows"):
        release.verify()


@pytest.mark.parametrize("method", METHODS)
def test_a_release_in_another_order_is_paired_by_its_rows(method: str) -> None:
    release, order = protected(method), np.random.default_rng(2).permutation(300)
    rows = release.rows[order]
    release.table = release.table.take(pa.array(order))
    if not release.plan.recoding.complete:
        with pytest.raises(PromiseError, match="whole rows"):
            release.verify()  # what was drawn stands in other rows than it was drawn for
    release._rows = rows
    assert all(check.holds for check in release.verify())
    release._rows = np.where(rows == 0, 1, rows)
    with pytest.raises(PromiseError, match="rows: required 300, reached some rows twice"):
        release.verify()


def test_pseudonyms_stand_for_one_person_each() -> None:
    doubled = pa.concat_tables([people(), people()])
    key, method = b"0123456789abcdef", METHODS["ranges"]()
    release = hr.protect(doubled, SCHEMA.replace(unit="name"), method, pseudonym_key=key)
    whole = release.table
    own = doubled.column("name").take(pa.array(release.rows)).to_pylist()
    for change in (
        lambda cells: ["same"] * len(cells),
        lambda cells: [f"{i}" for i in range(len(cells))],
        lambda cells: doubled.column("name").to_pylist(),
        lambda cells: own,  # one each, and everybody's own
    ):
        release.table = replaced(whole, "name", change)
        with pytest.raises(PromiseError, match=r"pseudonyms: .*not replaced one by one: name"):
            release.verify()


def test_pseudonyms_swapped_between_two_people_are_seen(tmp_path: Path) -> None:
    release = protected("ranges", pseudonym_key=b"0123456789abcdef")
    whole = release.table
    release.table = replaced(whole, "name", swap)
    with pytest.raises(PromiseError, match="whole rows"):
        release.verify()
    release.table = replaced(whole, "name", lambda cells: [cell[::-1] for cell in cells])
    with pytest.raises(PromiseError, match="plan does not make: name"):
        release.verify()
    release.table = whole
    release.write(tmp_path / "out")
    assert b"0123456789abcdef" not in pickle.dumps(release._secret)


def test_two_spellings_of_one_value_are_two_texts_to_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """k is counted on what stands in the file: 30 and 30.0 would be two groups of a CSV."""
    real = room.write_table
    real(people(), tmp_path / "people.csv")
    release = protected("means", tmp_path / "people.csv")

    def respelled(table: pa.Table, path: Path, **kwargs: Any) -> None:
        real(table, path, **kwargs)
        lines = path.read_text().splitlines(keepends=True)
        cell, _, rest = lines[-1].partition(",")
        lines[-1] = f"{cell}{'0' if '.' in cell else '.0'},{rest}"
        path.write_text("".join(lines))

    monkeypatch.setattr(room, "write_table", respelled)
    with pytest.raises(PromiseError, match="plan does not make: age"):
        release.write(tmp_path / "out")


def test_odd_columns_are_released_as_they_are(tmp_path: Path) -> None:
    n = 60
    odd = people(n).append_column("list", pa.array([[i, None] for i in range(n)]))
    odd = odd.append_column("time", pa.array(range(n), pa.time64("us")))
    odd = odd.append_column("price", pa.array([i / 4 for i in range(n)]).cast(pa.decimal128(9, 2)))
    odd = odd.append_column("raw", pa.array([b"%d" % i for i in range(n)]))
    odd = odd.append_column("empty", pa.nulls(n))
    release = hr.protect(odd, SCHEMA, hr.MART(k=5, max_disclosure=None))
    release.write(tmp_path / "out")
    for name in ("list", "time", "price", "raw"):
        release.table = replaced(odd.drop_columns(["name"]), name, swap)
        with pytest.raises(PromiseError):
            release.verify()


def test_a_table_in_another_order_keeps_its_promises_but_nobody_knows_whose_rows_they_are() -> None:
    import hedgerow as hr
    from hedgerow.errors import PromiseError

    people = hr.datasets.make_people(300, seed=1).to_pandas()
    schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    release = hr.protect(people, schema, hr.MART(k=5))
    assert sorted(release.rows) == list(range(300))
    release.table = release.table.sort_values("income").reset_index(drop=True)
    release.verify()
    with pytest.raises(PromiseError, match="another order"):
        _ = release.rows
    with pytest.raises(PromiseError, match="another order"):
        hr.audit(people, release, attacks=False, learning=False)
