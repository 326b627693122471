"""Columns of unusual types in every role: released truly, or refused by name."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError
from hedgerow.io.read import read
from hedgerow.io.write import write_table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N = 60
BYTES = [bytes([i % 7, 200]) for i in range(N)]
LISTS = [[i % 3] for i in range(N)]
NUMBERS = list(range(N))

COLUMNS: dict[str, Any] = {
    "binary": pa.array(BYTES, pa.binary()),
    "large_binary": pa.array(BYTES, pa.large_binary()),
    "fixed_size_binary": pa.array(BYTES, pa.binary(2)),
    "binary_view": pa.array(BYTES, pa.binary_view()),
    "dictionary of binary": pa.array(BYTES, pa.binary()).dictionary_encode(),
    "list": pa.array(LISTS),
    "large_list": pa.array(LISTS, pa.large_list(pa.int64())),
    "fixed_size_list": pa.array([[i % 3, 1] for i in range(N)], pa.list_(pa.int64(), 2)),
    "list_view": pa.array(LISTS, pa.list_view(pa.int64())),
    "struct": pa.array([{"a": i % 3, "b": "x"} for i in range(N)]),
    "map": pa.array([[("a", i % 3)] for i in range(N)], pa.map_(pa.string(), pa.int64())),
    "union": pa.UnionArray.from_sparse(pa.array([0] * N, pa.int8()), [pa.array(NUMBERS)]),
    "interval": pa.array([pa.MonthDayNano([1, i % 3, 2]) for i in range(N)]),
    "time": pa.array([dt.time(i % 24) for i in range(N)]),
    "duration": pa.array([dt.timedelta(i % 5) for i in range(N)]),
    "half": pa.array(np.arange(N).astype(np.float16)),
    "decimal256": pa.array([Decimal(i) / 4 for i in range(N)], pa.decimal256(50, 2)),
    "run ends": pa.RunEndEncodedArray.from_arrays(pa.array([30, N], pa.int32()), ["x", "y"]),
    "string_view": pa.array([f"x{i % 4}" for i in range(N)], pa.string_view()),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([i % 2 for i in range(N)], "i1")),
    "null": pa.nulls(N),
}
ROLES = ("quasi", "sensitive", "identifiers", "other")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_released_truly_or_refused_by_name(name: str, role: str, tmp_path: Path) -> None:
    """Whatever stands before it is tied, so that the column itself decides the order."""
    half = pa.array([i % 2 for i in range(N)])
    table = pa.table({"age": half, "pay": half, "odd": COLUMNS[name]})
    roles: dict[str, list[str]] = {"quasi": ["age"], "sensitive": ["pay"]}
    roles[role] = [*roles.get(role, []), "odd"]
    schema = hr.Schema(**roles, unit=None)
    pq_file = tmp_path / "people.parquet"
    sources: list[Any] = [table]
    try:
        pq.write_table(table, pq_file)
        sources.append(pq_file)
    except pa.ArrowException:
        pass
    for i, source in enumerate(sources):
        refused = ""
        try:
            release = hr.protect(source, schema, hr.MART(2, max_disclosure=None))
            folder = release.write(tmp_path / f"out{i}")
        except HedgerowError as error:
            refused = str(error)
        if refused:
            assert "odd" in refused
            continue
        made = pq.read_table(folder / "release.parquet")
        if role == "other":  # as they came, each beside its record
            source = read(source).arrow.take(pa.array(release.rows))
            assert made.column("odd").to_pylist() == source.column("odd").to_pylist()
            assert made.column("age").to_pylist() == [str(a) for a in source["age"].to_pylist()]


METHODS: dict[str, Any] = {
    "MDAV": hr.Microaggregation(3),
    "local suppression": hr.LocalSuppression(2),
    "Datafly": hr.Datafly(2),
    "Incognito": hr.Incognito(2),
    "rank swapping": hr.RankSwapping(0.1, random_state=1),
    "PRAM": hr.PRAM(random_state=1),
    "randomized response": hr.RandomizedResponse(1.5, random_state=1),
    "Anatomy": hr.Anatomy(2, random_state=1),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", COLUMNS)
def test_every_method_recodes_a_column_or_names_it(name: str, method: str, tmp_path: Path) -> None:
    ill = np.array(["yes", "no", "so"])[np.random.default_rng(0).integers(0, 3, N)]
    table = pa.table({"odd": COLUMNS[name], "ill": ill})
    schema, refused = hr.Schema(quasi=["odd"], sensitive=["ill"]), ""
    try:
        release = hr.protect(table, schema, METHODS[method])
        hr.audit(table, release, attacks=False, learning=False)
        release.write(tmp_path / "out")
    except HedgerowError as error:
        refused = str(error)
    if refused:
        assert "odd" in refused


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv"])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_writer_holds_a_column_or_names_it(name: str, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"people{suffix}"
    refused = ""
    try:
        write_table(pa.table({"age": NUMBERS, "odd": COLUMNS[name]}), file)
    except HedgerowError as error:
        refused = str(error)
    if refused:
        assert "'odd'" in refused
        assert not file.exists()
        return
    assert read(file).arrow.column("age").to_pylist() == NUMBERS


def test_numbers_that_are_none_do_not_tell_the_order(tmp_path: Path) -> None:
    """NaN has many bit patterns; a register that marks people by them is not given away."""
    patterns = np.array([0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000], np.uint64)
    marks = np.resize(patterns.view(np.float64), 40)
    nested = pa.ListArray.from_arrays(pa.array(range(41), pa.int32()), pa.array(marks))
    ages = np.repeat([30, 40], 20)
    table = pa.table({"age": ages, "pay": ages, "mark": marks, "list": nested})
    schema = hr.Schema(quasi=["age"], sensitive=["pay"], other=["mark", "list"])
    for suffix in (".parquet", ".feather"):
        made = set()
        for order in (np.arange(40), np.arange(40)[::-1]):
            release = hr.protect(table.take(pa.array(order)), schema, hr.MART(5, max_disclosure=1))
            write_table(release.released.arrow, tmp_path / f"out{suffix}")
            made.add((tmp_path / f"out{suffix}").read_bytes())
        assert len(made) == 1


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv"])
def test_parts_of_a_file_do_not_tell_how_the_table_came(suffix: str, tmp_path: Path) -> None:
    whole = pa.table({"age": np.arange(90_000), "job": [f"a job of some length {i}" for i in range(90_000)]})
    parts = pa.concat_tables([whole.slice(0, 7), whole.slice(7, 40_000), whole.slice(40_007)])
    for name, table in (("one", whole), ("two", parts)):
        write_table(table, tmp_path / f"{name}{suffix}")
    files = [(tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "two")]
    assert files[0] == files[1]


def test_parts_of_a_parquet_file_have_one_size(tmp_path: Path) -> None:
    n = (1 << 20) + 5
    write_table(pa.table({"age": np.zeros(n, np.int8)}), tmp_path / "people.parquet")
    about = pq.read_metadata(tmp_path / "people.parquet")
    assert [about.row_group(i).num_rows for i in range(about.num_row_groups)] == [1 << 20, 5]
