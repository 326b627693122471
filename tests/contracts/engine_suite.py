"""One suite of odd tables for every engine, compared with the engine in memory.

from tests.contracts.engine_suite import check_engine
check_engine("duckdb")
"""

from __future__ import annotations

import datetime as dt
import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hedgerow.backends import engine
from hedgerow.backends.spark.spark_files import is_held
from hedgerow.errors import HedgerowError, PromiseError, UnsupportedError
from hedgerow.io.verify_read import plain_types
from hedgerow.methods.base import Method
from hedgerow.methods.full_domain import Datafly, Incognito
from hedgerow.methods.hedge import Hedge
from hedgerow.methods.mart import MART
from hedgerow.methods.mondrian import Mondrian
from hedgerow.methods.randomized_response import RandomizedResponse
from hedgerow.methods.tpp import TreePatternPreserving
from hedgerow.plan.records import dumps
from hedgerow.progress import cautions
from hedgerow.schema import Schema
from hedgerow.workflow.protect import protect

_ROWS = 60
_QUASI, _PAY = ("age", "job"), ("pay",)
_PLAIN = Schema(quasi=_QUASI, sensitive=_PAY)


@dataclass(frozen=True, eq=False)
class OddTable:
    """An odd table as users bring it, and the roles of its columns."""

    columns: Mapping[str, Any]
    schema: Schema = _PLAIN


def _people(n: int = _ROWS, **columns: Any) -> dict[str, Any]:
    i = np.arange(n)
    columns_by_name = {
        "age": 18 + i * 7 % 60,
        "job": [("clerk", "cook", "nurse")[j % 3] for j in i],
        "pay": np.round(1000 + i * 37 % 501 + i / 7, 2),
    }
    return columns_by_name | columns


def _cycle(*values: Any) -> list[Any]:
    return [values[i % len(values)] for i in range(_ROWS)]


_START = dt.datetime(2021, 3, 28, 1, 30)
_NAMES = (" the age.of it ", 'job "quoted", with; all', "pay (€) = 100%")
_MANY = Schema(quasi=["x"], sensitive=["pay"])

ODD_TABLES: dict[str, Callable[[], OddTable]] = {
    "plain": lambda: OddTable(_people()),
    "spaces, dots and quotes in names": lambda: OddTable(
        dict(zip(_NAMES, _people().values(), strict=True)), Schema(quasi=_NAMES[:2], sensitive=_NAMES[2:])
    ),
    "nulls": lambda: OddTable(
        _people(age=_cycle(30, None, 41, 52), job=_cycle("a", "b", None), pay=_cycle(1.5, 2.5, None, 7))
    ),
    "dates": lambda: OddTable(_people(x=[dt.date(1899, 12, 30) + dt.timedelta(i * 997) for i in range(_ROWS)]), _MANY),
    "times": lambda: OddTable(_people(x=pa.array([_START + dt.timedelta(0, i) for i in range(_ROWS)])), _MANY),
    "times with a zone": lambda: OddTable(
        _people(x=pa.array([_START + dt.timedelta(i) for i in range(_ROWS)], pa.timestamp("ms", "Europe/Paris"))), _MANY
    ),
    "nanoseconds": lambda: OddTable(
        _people(x=pa.array([10**18 + i * 1001 for i in range(_ROWS)], pa.timestamp("ns"))), _MANY
    ),
    "booleans": lambda: OddTable(_people(x=_cycle(True, False, None), pay=_cycle(True, False)), _MANY),
    "constants": lambda: OddTable(_people(age=[7] * _ROWS, job=["x"] * _ROWS, pay=[1.0] * _ROWS)),
    "one row": lambda: OddTable(_people(1)),
    "no rows": lambda: OddTable({n: pa.array(v)[:0] for n, v in _people().items()}),
    "unicode": lambda: OddTable(
        _people(job=_cycle("é́", "日本", "🦔", "", " edge ", "a+b", "c:3", "*", "line\nbreak", "=1+1"))
    ),
    "both zeros": lambda: OddTable(_people(x=_cycle(0.0, -0.0, 1.0), pay=_cycle(-0.0, 0.0, 2.0)), _MANY),
    "NaN and NULL": lambda: OddTable(
        _people(
            x=pa.array(_cycle(1.0, float("nan"), None, 2.0)), pay=pa.array(_cycle(float("nan"), None, 3.0, 4.0, 5.0))
        ),
        _MANY,
    ),
    "infinities": lambda: OddTable(_people(x=_cycle(float("inf"), 1.0, -float("inf"))), _MANY),
    "infinities that stay": lambda: OddTable(
        _people(note=_cycle(float("inf"), float("nan"), -0.0, None)),
        Schema(quasi=_QUASI, sensitive=_PAY, other=["note"]),
    ),
    "large whole numbers": lambda: OddTable(
        _people(
            x=[2**62 + i % 9 for i in range(_ROWS)], pay=pa.array([2**63 + i % 4 for i in range(_ROWS)], pa.uint64())
        ),
        _MANY,
    ),
    "decimals": lambda: OddTable(
        _people(x=[Decimal(i % 8) / 4 for i in range(_ROWS)], pay=_cycle(Decimal("0.10"), Decimal(3))), _MANY
    ),
    "narrow numbers": lambda: OddTable(
        _people(x=pa.array(range(_ROWS), pa.int8()), pay=pa.array(np.arange(_ROWS) / 4, pa.float32())), _MANY
    ),
    "dictionaries": lambda: OddTable(_people(job=pa.array(_cycle("b", "a", None)).dictionary_encode())),
    "ordered categories": lambda: OddTable(
        _people(
            job=pa.DictionaryArray.from_arrays(
                pa.array(_cycle(0, 2, 1), pa.int8()), pa.array(["low", "mid", "high"]), ordered=True
            )
        )
    ),
    "long text": lambda: OddTable(_people(job=pa.array([f"job {i % 20}" for i in range(_ROWS)], pa.large_string()))),
    "all text differs": lambda: OddTable(
        _people(note=[f"note {i * 7919 % 1000}" for i in range(_ROWS)]),
        Schema(quasi=_QUASI, sensitive=_PAY, other=["note"]),
    ),
    "wholly missing": lambda: OddTable(_people(x=pa.nulls(_ROWS)), Schema(quasi=_QUASI, sensitive=_PAY, other=["x"])),
    "bytes and clocks": lambda: OddTable(
        _people(x=_cycle(b"\x00", b"\xff", None), y=_cycle(dt.time(1), dt.time(2))),
        Schema(quasi=_QUASI, sensitive=_PAY, other=["x", "y"]),
    ),
    "nested": lambda: OddTable(
        _people(x=[[i] for i in range(_ROWS)]), Schema(quasi=_QUASI, sensitive=_PAY, other=["x"])
    ),
    "several records a person": lambda: OddTable(
        _people(who=[f"P{i // 2}" for i in range(_ROWS)]),
        Schema(quasi=_QUASI, sensitive=_PAY, identifiers=["who"], unit="who"),
    ),
    "rows alike": lambda: OddTable(_people(age=_cycle(1, 2), job=_cycle("a", "b"), pay=_cycle(3, 4))),
    "identifiers": lambda: OddTable(
        _people(who=[f"P{i}" for i in range(_ROWS)], extra=1 + np.arange(_ROWS)),
        Schema(quasi=_QUASI, sensitive=_PAY, identifiers=["who"]),
    ),
    # every odd cell at once: a slow engine is tested on these two alone (tests/backends)
    "missing, zeros and booleans at once": lambda: OddTable(
        _people(
            zero=_cycle(0.0, -0.0, float("nan"), None, 2.0),
            flag=_cycle(True, False, None),
            pay=_cycle(-0.0, 7.0, float("nan"), 0.0, None, 3.5, 4.25),
        ),
        Schema(quasi=["zero", "flag"], sensitive=_PAY),
    ),
    "text, decimals and dictionaries at once": lambda: OddTable(
        _people(
            age=_cycle(30, 40, 50),
            job=pa.array(_cycle("é́", "日本", None, "")).dictionary_encode(),
            rate=[Decimal(i % 4) / 4 for i in range(_ROWS)],
            pay=[Decimal(i * 37 % 17) / 2 for i in range(_ROWS)],
            note=_cycle(" edge ", "🦔", "line\nbreak", '"=1+1"', None),
        ),
        Schema(quasi=["age", "job", "rate"], sensitive=_PAY, other=["note"]),
    ),
}
"""Makers of the tables, by name."""

METHODS: dict[str, Callable[[], Method]] = {
    "MART": lambda: MART(3),
    "Hedge": lambda: Hedge(3),
    "drawn rows": lambda: Hedge(3),
    "drawn in ranges": lambda: MART(3),
    "Mondrian": lambda: Mondrian(3),
    "Datafly": lambda: Datafly(3),
    "Incognito": lambda: Incognito(3, suppression=0.1),
    "RandomizedResponse": lambda: RandomizedResponse(12, relax="halfway", bins=3, random_state=1),
    "TreePatternPreserving": lambda: TreePatternPreserving(k=3, response="pay"),
}
"""The methods that are tried on an engine, where they run there."""


def engine_checks(name: str, methods: Sequence[str] = tuple(METHODS)) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Yield the checks of an engine, each to be called with an empty folder.

    Parameters
    ----------
    name : str
    methods : sequence of str
        Keys of `METHODS`.

    Yields
    ------
    title : str
    check : callable
        Raises PromiseError where the engine differs from the one in memory.
    """
    for title, make in ODD_TABLES.items():

        def one(folder: Path, make: Callable[[], OddTable] = make, title: str = title) -> None:
            _check(name, title, make(), folder, methods)

        yield title, one


def check_engine(name: str, methods: Sequence[str] = tuple(METHODS)) -> int:
    """Compare an engine with the one in memory on every odd table; return the number of tables.

    An engine must refuse, before work starts, what its `Capabilities` exclude.

    Raises
    ------
    PromiseError
        Its table, plan or file differs, or the kind of its error.
    """
    count = 0
    for _, check in engine_checks(name, methods):
        with tempfile.TemporaryDirectory() as folder:
            check(Path(folder))
        count += 1
    return count


def _check(name: str, title: str, odd: OddTable, folder: Path, methods: Sequence[str]) -> None:
    table = pa.table(dict(odd.columns))
    pq.write_table(table, folder / "people.parquet")
    (folder / "parts").mkdir()
    for i, start in enumerate(range(0, max(table.num_rows, 1), 25)):
        pq.write_table(table.slice(start, 25), folder / "parts" / f"{i}.parquet")

    def equal(what: str, one: Any, other: Any) -> None:
        if one != other:
            raise PromiseError(f"the engine {name!r} differs on the table {title!r}: {what}")

    refused = _is_refused(name, table.schema, odd.schema)
    is_readable = not any(pa.types.is_nested(kind) for kind in table.schema.types)
    is_readable &= _holds(name, table.schema.types)
    if table.num_rows and is_readable:
        _check_columns(name, folder / "people.parquet", equal)
    for method, make in METHODS.items():
        if method not in methods or name not in make().engines:
            continue
        # one method is enough to test a table in several files
        for source in (folder / "people.parquet", folder / "parts")[: 2 if method == "MART" else 1]:
            guard = {"guard": "redraw", "random_state": 1} if method.startswith("drawn") else {"guard": None}
            result, is_begun = _outcome(name, source, odd.schema, make(), folder / "result", guard)
            # two zeros of a column that stays are one code on a cluster
            two_zeros = title == "infinities that stay" and method.startswith("drawn")
            may_refuse = refused or (two_zeros and not engine(name).capabilities.positions)
            if may_refuse and isinstance(result, UnsupportedError) and not is_begun:
                continue
            expected, _ = _outcome("memory", source, odd.schema, make(), folder / "expected", guard)
            if isinstance(expected, dict) and not engine(name).capabilities.positions:
                del expected["rows"]
            for what in expected if isinstance(expected, dict) else ("error",):
                one, other = (
                    each[what] if isinstance(each, dict) else (type(each), str(each)) for each in (expected, result)
                )
                equal(f"{what} of {method} from {source.name}", one, other)


def _holds(name: str, types: Sequence[pa.DataType]) -> bool:
    """Return whether an engine stores values of all these types, not nested, without change."""
    return name != "spark" or all(map(is_held, types))


def _is_refused(name: str, types: pa.Schema, schema: Schema) -> bool:
    """Return whether an engine cannot work on such a table."""
    flat = [kind for kind in types.types if not pa.types.is_nested(kind)]
    nested = len(flat) < len(types.types) and name != "memory"
    units = any(each is not None for each in (schema.person, schema.household, schema.weight))
    return nested or not _holds(name, flat) or (units and not engine(name).capabilities.positions)


def _check_columns(name: str, path: Path, equal: Callable[[str, Any, Any], None]) -> None:
    one, other = engine("memory").open(path), engine(name).open(path)
    equal("names", one.names, other.names)
    equal("rows", one.n_rows, other.n_rows)
    equal("types", plain_types(one.types), plain_types(other.types))
    other.encode(other.names)
    for column in one.names:
        a, b = one.column(column), other.column(column)
        for what in ("kind", "unit", "zone", "has_missing", "exact"):
            equal(f"{what} of {column!r}", getattr(a, what), getattr(b, what))
        equal(f"values of {column!r}", list(a.values), list(b.values))
        if engine(name).capabilities.positions:
            equal(f"codes of {column!r}", a.codes.tolist(), b.codes.tolist())
        counts = b.value_counts
        equal(f"counts of {column!r}", a.value_counts.counts.tolist(), counts.counts.tolist())
        equal(f"missing of {column!r}", a.value_counts.missing, counts.missing)


def _outcome(
    name: str, source: Path, schema: Schema, method: Method, out: Path, guard: Mapping[str, Any]
) -> tuple[dict[str, Any] | HedgerowError, bool]:
    """Return plan, rows and files of a release, or the error; and whether fitting began."""
    steps: set[str] = set()

    def progress(step: str, share: float | None) -> None:
        steps.add(step)

    try:
        with cautions() as warned:
            release = protect(source, schema, method, engine=name, progress=progress, **guard)
            release.write(out, force=True)
    except HedgerowError as error:
        return error, "fitting" in steps
    files = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(out.iterdir())}
    result = {"plan": dumps(release.plan), "cautions": warned, "files": files}
    if engine(name).capabilities.positions:
        result["rows"] = np.asarray(release.rows).tolist()
    return result, True
