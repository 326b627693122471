"""Run functions of tables on the executors of a cluster, where the rows are.

Executors run this very package, and only small results come back. A function is sent to them with
plain data, never with a key of the steward.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import re
import shutil
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ... import errors
from ...columns.arrays import is_moment, is_text, value_class
from ...columns.numbers import one_zero
from ...columns.row_hashes import RowHasher
from ...columns.table import check_names
from ...columns.workspace import memory_of
from ...errors import HedgerowError, InputError, UnsupportedError, needed
from ...files import temporary_folder
from ...key import Key

# most rows that are collected before work is called with them
AT_ONCE = 1 << 20
_RAISED = re.compile(r"^hedgerow\.errors\.(\w+): (.*)(?:\n  (\S.*))?$", re.MULTILINE)
_MISSING = re.compile(r"No module named '(\w+)")
LARGEST = "spark.driver.maxResultSize"
_LOCAL = re.compile(r"local(?:\[([\d*]+)[,\]]|$)")
# our message and hint for errors, by the end of Spark's name for each
_KNOWN = {
    "FileNotFoundException": ("a file of the table is gone", "read the table again"),
    "COLUMN_ALREADY_EXISTS": ("names of columns differ in case alone", "start Spark with spark.sql.caseSensitive=true"),
    "SchemaColumnConvertNotSupportedException": (
        "its files differ in types of columns",
        "write them with the same types",
    ),
    "OutOfMemoryError": (
        "an executor had too little memory",
        "set spark.executor.memory higher (on one machine spark.driver.memory), or cut the table "
        "into more parts: frame.repartition(...)",
    ),
}

# values of a column from which on their hashes are looked up
MANY = 1 << 22
# bytes of a function's arrays from which on they go to the executors of Spark Connect as a file: messages have a limit
FILE_FROM = 1 << 22
# hashes in which this process looks up, of the columns of one table or pair of tables, by the tokens of both
_TABLES: dict[tuple[str, str], tuple[NDArray[Any], ...]] = {}

T = TypeVar("T")
Work = Callable[[pa.Table], Iterable[pa.RecordBatch]]
Parts = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def session() -> Any:
    """Return the active Spark session, or start one on this machine if there is none.

    Raises
    ------
    UnsupportedError
        Spark or Java is missing, or Spark does not start.
    """
    needed("pyspark", "spark", "tables on a cluster")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    with suppress(PySparkException):
        running = SparkSession.active()  # of this thread, or of all
        if not has_ended(running):
            return running
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and Path(home, "bin", "java").exists()):
        raise UnsupportedError(
            "the engine 'spark' needs Java, which was not found on the path or in JAVA_HOME",
            hint="Java 17 or newer is needed (on Debian: apt-get install openjdk-17-jre-headless)",
        )
    # nothing here hands pandas over
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    folder = ExitStack()
    atexit.register(folder.close)
    settings = {
        # Spark's temporary files contain data of people, and would be readable by all users elsewhere
        "spark.local.dir": str(folder.enter_context(temporary_folder())),
        # a task is tried four times: without that, local Spark gives up at the first failure
        "spark.master": f"local[{os.cpu_count() or 1},4]",
        "spark.app.name": "hedgerow",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.caseSensitive": "true",
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else another Python may be found
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        started = builder.getOrCreate()
    except Exception as error:
        raise UnsupportedError(
            f"Spark does not start: {type(error).__name__}",
            hint="Java 17 or newer is needed (on Debian: apt-get install openjdk-17-jre-headless)",
        ) from None
    started.sparkContext.setLogLevel("OFF")  # failures are raised here, without Java stack traces
    return started


def is_connected(session: Any) -> bool:
    """Return whether a session is one of Spark Connect, a client of a server."""
    return hasattr(session, "is_stopped")


def has_ended(session: Any) -> bool:
    """Return whether a Spark session has been stopped."""
    if is_connected(session):
        return bool(session.is_stopped)
    try:
        return session.sparkContext._jsc is None
    except Exception:
        return True


def setting_bytes(session: Any, name: str, default: str = "1g", unit: str = "m") -> int:
    """Return a setting of Spark that is a size, in bytes; `unit` is that of a number alone."""
    number, written = re.findall(r"(\d+)([bkmgt]?)", session.conf.get(name, default).lower())[0]
    return int(number) << 10 * "bkmgt".index(written or unit)


def task_memory(frame: Any, memory: str | int | None = None) -> int:
    """Return the bytes that a task may take: its share of the executor's memory, and at most `memory`.

    A Spark on one machine has no executors but its driver. `spark.executor.pyspark.memory` counts if it is set.
    """
    session = frame.sparkSession
    local = _LOCAL.match(session.conf.get("spark.master", ""))
    cores = local[1] or "1" if local else session.conf.get("spark.executor.cores", "1")
    size = setting_bytes(session, "spark.driver.memory" if local else "spark.executor.memory")
    size = setting_bytes(session, "spark.executor.pyspark.memory", f"{size}b")
    share = size // (int(cores) if cores != "*" else os.cpu_count() or 1)
    return share if memory is None else min(share, memory_of(memory))


def run(job: Callable[[], T]) -> T:
    """Run a Spark job, and raise its errors without the rows that Spark may quote in messages.

    Raises
    ------
    HedgerowError
        An executor raised it, or the job failed for another reason.
    """
    try:
        return job()
    except HedgerowError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.", "grpc.")):
            raise
        raised = _RAISED.findall(str(error))
        kind = getattr(errors, raised[-1][0], None) if raised else None
        if isinstance(kind, type) and issubclass(kind, HedgerowError):
            # what our own code raised on an executor arrives as text inside Spark's error
            raise kind(raised[-1][1], hint=raised[-1][2] or None) from None
        if missing := _MISSING.search(str(error)):
            raise UnsupportedError(
                f"the executors of the cluster do not have the Python package {missing[1]!r}",
                hint="install the same version of Hedgerow there; PYSPARK_PYTHON names the Python that they run",
            ) from None
        if LARGEST in str(error):
            raise UnsupportedError(
                f"what comes back from the cluster is more than {LARGEST} allows",
                hint=f"raise {LARGEST} and spark.driver.memory, or coarsen the columns with the most values",
            ) from None
        named = _named(error)
        why, hint = next(
            (message for name, message in _KNOWN.items() if named.endswith(name)),
            (named, "Spark's own log says why, in a session that you start yourself"),
        )
        raise InputError(f"the job on the cluster failed: {why}", hint=hint) from None


def _named(error: Exception) -> str:
    """Return the names of an error and its root cause, never their messages, which may quote rows."""
    names = [type(error).__name__]
    with suppress(Exception):
        names.append(error.getCondition())  # type: ignore[attr-defined]
    with suppress(Exception):
        cause = error.java_exception  # type: ignore[attr-defined]
        while cause is not None:
            last, cause = cause, cause.getCause()
        names.append(last.getClass().getName())
    return ", ".join(filter(None, names))


def collected(frame: Any) -> pa.Table:
    """Collect a small Spark result into an Arrow table in this process."""
    return run(frame.toArrow)


def map_parts(frame: Any, work: Work, schema: Any, *, whole: bool = False, at_once: int = AT_ONCE) -> Any:
    """Return a frame of the batches that `work` yields on the executors, where it gets a few rows at a time.

    Parameters
    ----------
    frame : Spark DataFrame
    work : callable
        Takes a table of at least one row and yields batches.
    schema : str or StructType
        Schema of the batches.
    whole : bool
        Pass all rows of a partition to `work` at once.
    at_once : int
        Most rows to pass at once otherwise.
    """
    most = 1 << 62 if whole else at_once

    def parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _together(batches, most):
            yield from work(table)

    function = _with_file(parts, frame.sparkSession) if is_connected(frame.sparkSession) else parts
    return frame.mapInArrow(function, schema)


def _with_file(parts: Parts, session: Any) -> Parts:
    """Return a function that does the same and whose arrays, if they are large, executors read from a file."""
    from pyspark import cloudpickle

    arrays: list[pickle.PickleBuffer] = []
    code = cloudpickle.dumps(parts, protocol=5, buffer_callback=arrays.append)
    sizes = [array.raw().nbytes for array in arrays]
    if sum(sizes) < FILE_FROM:
        return parts
    # at multiples of what Arrow aligns its buffers to
    begins = [0, *accumulate(-(-size // 64) * 64 for size in sizes)]
    with temporary_folder() as folder:
        path = folder / f"arrays-{token_hex(16)}"
        with open(path, "wb") as file:
            for array, begin in zip(arrays, begins, strict=False):
                file.seek(begin)
                file.write(array.raw())
        run(lambda: session.addArtifacts(str(path), file=True))
    name = path.name

    def read_and_run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import SparkFiles, cloudpickle

        data = pa.memory_map(SparkFiles.get(name)).read_buffer()
        buffers = [data[begin : begin + size] for begin, size in zip(begins, sizes, strict=False)]
        yield from cloudpickle.loads(code, buffers=buffers)(batches)

    return read_and_run


def _together(batches: Iterator[pa.RecordBatch], most: int) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    n = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            n += batch.num_rows
        if n >= most:
            yield pa.Table.from_batches(waiting)
            waiting, n = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def gathered(frame: Any, name: str, number: Callable[[pa.Table], NDArray[np.int64]], n_parts: int) -> Any:
    """Return a frame with row numbers as its last column, and with rows of equal number in one partition."""
    from pyspark.sql import types as t

    def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
        yield from part.append_column(name, pa.array(number(part))).to_batches(1 << 16)

    schema = t.StructType([*frame.schema.fields, t.StructField(name, t.LongType())])
    return map_parts(frame, work, schema).repartition(n_parts, name)


def parts_for(n_rows: int, size: int = AT_ONCE) -> int:
    """Return the number of partitions for a table of `n_rows` rows, at `size` rows each."""
    return max(-(-n_rows // size), 1)


def results(frame: Any, work: Callable[[pa.Table], T], *, whole: bool = False, at_once: int = AT_ONCE) -> list[T]:
    """Run `work` on the executors, a few rows at a time, and return the list of its results.

    Parameters
    ----------
    frame : Spark DataFrame
    work : callable
        Takes a table of at least one row and returns numbers, texts, arrays, counters, records of
        this package, and tuples of these.
    whole : bool
        Give it all rows of a partition at once.
    at_once : int
        Most rows to give it at once otherwise.
    """

    def answer(part: pa.Table) -> Iterator[pa.RecordBatch]:
        arrays: list[bytes] = []
        cells = [pa.array([json.dumps(_as_json(work(part), arrays))]), pa.array([arrays], pa.list_(pa.binary()))]
        yield pa.RecordBatch.from_arrays(cells, ["answer", "arrays"])

    # its name alone: functools.wraps would send the attributes of `work` to executors as well
    answer.__qualname__ = getattr(work, "__qualname__", type(work).__qualname__)
    frame = map_parts(frame, answer, "answer string, arrays array<binary>", whole=whole, at_once=at_once)
    rows = collected(frame).to_pylist()
    return [_from_json(json.loads(row["answer"]), row["arrays"]) for row in rows]


def _as_json(value: Any, arrays: list[bytes]) -> Any:
    """Convert a result to plain JSON data, appending its arrays to `arrays` as Arrow tensors.

    Unlike a pickle, such data runs no code here, whatever an executor sends.
    """
    if isinstance(value, np.ndarray):
        sink = pa.BufferOutputStream()
        pa.ipc.write_tensor(pa.Tensor.from_numpy(np.ascontiguousarray(value)), sink)
        arrays.append(sink.getvalue().to_pybytes())
        return {"array": len(arrays) - 1}
    if isinstance(value, Counter):
        return {"counts": list(value.items())}
    if is_dataclass(value):
        kind, parts = type(value), [getattr(value, f.name) for f in fields(value)]
        return {"record": [kind.__module__, kind.__name__], "fields": _as_json(parts, arrays)}
    if isinstance(value, (tuple, list)):
        return [_as_json(each, arrays) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _from_json(data: Any, arrays: Sequence[bytes]) -> Any:
    """Return the result that `_as_json` converted; sequences come back as tuples."""
    if isinstance(data, list):
        return tuple(_from_json(each, arrays) for each in data)
    if not isinstance(data, dict):
        return data
    if "array" in data:
        return np.array(pa.ipc.read_tensor(pa.BufferReader(arrays[data["array"]])))
    if "counts" in data:
        return Counter(dict(data["counts"]))
    module, name = data["record"]
    kind: Any = getattr(import_module(module), name) if module.startswith("hedgerow.") else None
    if kind is None or not is_dataclass(kind):
        raise InputError(f"an executor answered with {name!r}, which is no record of this package")
    return cast(Any, kind)(*_from_json(data["fields"], arrays))


# the collation that compares texts byte by byte
_BINARY = "UTF8_BINARY"


def columns_of(frame: Any, where: str) -> pa.Schema:
    """Return the names and types of a frame's columns, after checking that its rows can be counted.

    Raises
    ------
    InputError
        Its session has ended, it is a stream, or its columns have no names of their own.
    UnsupportedError
        Spark does not hand over the values of a column.
    """
    if has_ended(frame.sparkSession):
        raise InputError("the Spark session of this table has ended", hint="read it again in a session that runs")
    if frame.isStreaming:
        raise InputError("the table is a stream, which never ends", hint="write what came so far, and give that")
    names = list(frame.columns)
    check_names(names, where)
    # a query would take dots and quotes in a name for a path
    renamed = frame.toDF(*map(place, range(len(names))))
    try:
        types = collected(renamed.limit(0)).schema.types
    except HedgerowError:
        refused = [
            f"{name!r} ({frame.schema[i].dataType.simpleString()})"
            for i, name in enumerate(names)
            if not _is_readable(renamed.select(place(i)))
        ]
        if not refused or len(refused) == len(names) > 1:
            raise
        raise UnsupportedError(
            f"Spark does not hand over the types of these columns: {', '.join(refused)}",
            hint="leave them out of the table, or cast them to text or numbers",
        ) from None
    return pa.schema(list(zip(names, types, strict=True)))


def placed(frame: Any) -> Any:
    """Return a frame with its columns renamed c0, c1, ... and its text compared byte by byte."""
    from pyspark.sql import functions as f

    renamed = frame.toDF(*map(place, range(len(frame.columns))))
    for entry in renamed.schema:
        if getattr(entry.dataType, "collation", _BINARY) not in (None, _BINARY):
            renamed = renamed.withColumn(entry.name, f.collate(entry.name, _BINARY))
    return renamed


def moments_as_numbers(frame: Any) -> Any:
    """Return a frame with dates and times replaced by days and microseconds since 1970.

    Spark's settings decide in which calendar and type it writes dates and times to files; times
    without a zone are always written as they are.
    """
    from pyspark.sql import functions as f

    functions = {"date": f.unix_date, "timestamp": f.unix_micros}
    columns = [functions.get(entry.dataType.typeName(), f.col)(entry.name).alias(entry.name) for entry in frame.schema]
    return frame.select(*columns)


def place(number: int) -> str:
    """Return a column's internal name, because its own may hold dots or quotes, or differ only in case."""
    return f"c{number}"


def _is_readable(column: Any) -> bool:
    try:
        collected(column.limit(0))
    except HedgerowError:
        return False
    return True


def reading(types: pa.Schema, names: Sequence[str]) -> Callable[[pa.Table], pa.Table]:
    """Return a function that restores the table's own column names and types in rows of `SparkTable.frame`."""
    places = [(place(types.names.index(n)), types.field(n)) for n in names]

    def read(part: pa.Table) -> pa.Table:
        columns = [part.column(place).cast(entry.type) for place, entry in places]
        return pa.Table.from_arrays(columns, schema=pa.schema([entry for _, entry in places]))

    return read


def changed(what: str) -> InputError:
    """Build the error for a table or column that gives different values each time it is computed."""
    return InputError(f"{what} gives other values each time it is computed", hint="persist it, or write it down first")


@dataclass(frozen=True)
class Entries:
    """The distinct values of a column, in which executors look up cells; many values are hashed once in a process.

    Parameters
    ----------
    values : pyarrow.Array
    hasher : RowHasher, optional
        Of many values, whose hashes stand for them: Arrow would build its table anew for every few rows.
    token : tuple of str
        The first one is that of all columns that are looked up together, so that a process keeps theirs alone.
    """

    values: pa.Array
    hasher: RowHasher | None
    token: tuple[str, str]

    @classmethod
    def from_values(cls, values: pa.Array, among: str) -> Entries:
        """Return the entries of a column with the given values; `among` is the same for columns looked up together."""
        kind = values.type
        hashed = is_text(kind) or is_moment(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)
        # the hash of NaN is that of a missing value
        if len(values) < MANY or not hashed or (pa.types.is_floating(kind) and pc.any(pc.is_nan(values)).as_py()):
            return cls(one_zero(values), None, ("", ""))
        return cls(values, RowHasher({"": value_class(kind)}, Key.new()), (among, token_hex(8)))

    def find(self, cells: pa.Array) -> NDArray[np.int64]:
        """Return the index of each cell among the values, or -1."""
        # Spark groups 0.0 and -0.0 together, so they are one value here
        if self.hasher is None:
            return pc.index_in(one_zero(cells), value_set=self.values).fill_null(-1).to_numpy().astype(np.int64)
        if self.token not in _TABLES:
            first, second = self._hashes(self.values)
            order, bits = np.argsort(first), len(first).bit_length()
            # hashes are even: where those with the same first bits begin, a few are compared
            starts = np.searchsorted(first[order] >> np.uint64(64 - bits), np.arange(1 << bits, dtype=np.uint64))
            for old in [each for each in _TABLES if each[0] != self.token[0]]:
                del _TABLES[old]
            first, second = (np.append(each[order], ~np.uint64(0)) for each in (first, second))
            _TABLES[self.token] = first, second, order, starts
        first, second, order, starts = _TABLES[self.token]
        mine, other = self._hashes(cells)
        at = starts[mine >> np.uint64(64 - len(order).bit_length())]
        while (before := first[at] < mine).any():
            at += before
        return np.where((first[at] == mine) & (second[at] == other), order[np.minimum(at, len(order) - 1)], -1)

    def _hashes(self, cells: pa.Array) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        first, second = (np.zeros(len(cells), np.uint64) for _ in range(2))
        cast(RowHasher, self.hasher).hash_into([cells], first, second)
        return first, second


def codes_of(cells: pa.ChunkedArray, entries: Entries, name: str, unknown: int | None = None) -> NDArray[np.int64]:
    """Return the index of each cell among the distinct values of its column.

    `unknown` is the index for a value that is not among them; by default, such a value is an error.
    """
    values = cells.combine_chunks()
    try:
        values = values.cast(entries.values.type)
    except pa.ArrowException:
        if unknown is None:
            raise
        return np.full(len(values), unknown, np.int64)
    codes = entries.find(values)
    if unknown is None and codes.min(initial=0) < 0:
        raise changed(f"column {name!r}")
    return codes if unknown is None else np.where(codes < 0, unknown, codes)
