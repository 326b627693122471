"""Codes of several columns that come together: each combination once, with its count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.workspace import memory_of
from ...errors import UnsupportedError
from .cluster import collected, over_parts
from .packing import Packing, together

MOST_TOGETHER = 1 << 27
"""Combinations of values that are brought here."""


def combined(
    frame: Any,
    coded: Callable[[pa.Table], Mapping[str, NDArray[Any]]],
    packing: Packing,
    *,
    whole: bool = False,
) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """The combinations of some codes in their order, and the rows of each.

    Parameters
    ----------
    frame : Spark DataFrame
    coded : callable
        Gives the codes of some rows, where they are.
    packing : Packing
        Of these codes; combinations are ordered by them, one after the other.
    whole : bool
        Whether `coded` is given all rows of a partition at once.

    Returns
    -------
    dict of str to unsigned integer array, int64 array
        The codes of each combination, and its rows.

    Raises
    ------
    UnsupportedError
        There are too many to be held.
    """
    from pyspark.sql import functions as f

    words = packing.names()

    def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
        here = packing.packed(coded(part))
        counted = pa.table(dict(zip(words, here, strict=True))).group_by(words)
        made = counted.aggregate([([], "count_all")]).select([*words, "count_all"])
        yield from made.rename_columns([*words, "n"]).to_batches()

    schema = ", ".join(f"{w} long" for w in [*words, "n"])
    made = over_parts(frame, work, schema, whole=whole)
    made = made.groupBy(*words).agg(f.sum("n").alias("n"))
    found = collected(made.limit(MOST_TOGETHER + 1))
    if found.num_rows > MOST_TOGETHER:
        named = ", ".join(map(repr, packing.places))
        raise UnsupportedError(
            f"{named} have more than {MOST_TOGETHER:,} combinations of values, which are held in "
            "memory",
            hint="coarsen those that have the most values, or take MART, which counts on the "
            "cluster",
        )
    given = [found.column(w).to_numpy() for w in words]
    codes = {n: packing.codes(given, n) for n in packing.places}
    counts = found.column("n").to_numpy().astype(np.int64)
    return ordered(codes, counts)


def ordered(
    codes: Mapping[str, NDArray[Any]], counts: NDArray[np.int64]
) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """Combinations in the order of their codes, column after column."""
    order = np.lexsort(list(codes.values())[::-1])
    return {n: c[order] for n, c in codes.items()}, counts[order]


def check_room(
    n_rows: int, sizes: Mapping[str, int], besides: int, what: str, hint: str, memory: Any = None
) -> None:
    """Raise UnsupportedError where codes of so many rows do not fit into this process.

    Parameters
    ----------
    n_rows : int
    sizes : mapping of str to int
        By column, how many values it has.
    besides : int
        Bytes that whoever asked takes besides.
    what, hint : str
        Who asked, and what may be done instead.
    memory : str or int, optional
        Most memory to take; by default half of the machine's.
    """
    needed, allowed = besides + together(n_rows, sizes), memory_of(memory)
    if needed > allowed:
        half = "" if memory else ", half of this machine's memory,"
        raise UnsupportedError(
            f"codes of {n_rows:,} records come together for {what} and take some "
            f"{needed / 1e9:,.1f} GB in this process, and {allowed / 1e9:,.1f} GB{half} are allowed",
            hint=hint,
        )
