"""Spark DataFrames as they are handed over: whether their rows can be counted, and their columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ...columns.table import check_names
from ...errors import HedgerowError, InputError, UnsupportedError
from .cluster import collected, has_ended

_BINARY = "UTF8_BINARY"
"""The collation by which texts are equal where their bytes are."""


def columns_of(frame: Any, where: str) -> pa.Schema:
    """Names and types of a frame whose rows can be counted.

    Raises
    ------
    InputError
        Its session has ended, it is a stream, or its columns have no names of their own.
    UnsupportedError
        Spark does not hand over the values of a column.
    """
    if has_ended(frame.sparkSession):
        raise InputError(
            "the Spark session of this table has ended, and its rows with it",
            hint="read the table again in a session that runs",
        )
    if frame.isStreaming:
        raise InputError(
            "the table is a stream, which never ends",
            hint="write what came so far into a table, and give that: spark.read.parquet(...)",
        )
    names = list(frame.columns)
    check_names(names, where)
    made = frame.toDF(*map(place, range(len(names))))
    try:
        types = collected(made.limit(0)).schema.types
    except HedgerowError:
        odd = [
            f"{name!r} ({frame.schema[i].dataType.simpleString()})"
            for i, name in enumerate(names)
            if not _is_given(made.select(place(i)))
        ]
        if not odd or len(odd) == len(names) > 1:
            raise
        raise UnsupportedError(
            f"Spark does not hand over the types of these columns: {', '.join(odd)}",
            hint="leave them out of the table, or cast them to text or numbers",
        ) from None
    return pa.schema(list(zip(names, types, strict=True)))


def placed(frame: Any) -> Any:
    """A frame under names that no query takes for a path, with text that is equal byte for byte."""
    from pyspark.sql import functions as f

    made = frame.toDF(*map(place, range(len(frame.columns))))
    for entry in made.schema:
        if getattr(entry.dataType, "collation", _BINARY) not in (None, _BINARY):
            made = made.withColumn(entry.name, f.collate(entry.name, _BINARY))
    return made


def moments_as_numbers(frame: Any) -> Any:
    """A frame with days and microseconds since 1970 in place of dates and times.

    Settings of Spark say in which calendar and type it writes those to files; times without a zone
    are always written as they are.
    """
    from pyspark.sql import functions as f

    made = {"date": f.unix_date, "timestamp": f.unix_micros}
    columns = [
        made.get(entry.dataType.typeName(), f.col)(entry.name).alias(entry.name)
        for entry in frame.schema
    ]
    return frame.select(*columns)


def place(number: int) -> str:
    """The name of a column inside, for names may hold dots and quotes, or differ in case alone."""
    return f"c{number}"


def _is_given(column: Any) -> bool:
    try:
        collected(column.limit(0))
    except HedgerowError:
        return False
    return True
