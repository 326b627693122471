"""Pack several small codes into 64-bit numbers, to store rows while they are counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.column import smallest
from ...columns.workspace import memory_of
from ...errors import UnsupportedError, reprs
from ...kernels import Ints
from .cluster import collected, map_parts

# Spark's 64-bit numbers are signed, and words stay positive
_BITS = 63


@dataclass(frozen=True)
class Packing:
    """A layout that packs the codes of several columns into the bits of 64-bit words.

    Parameters
    ----------
    places : mapping of str to (int, int, int)
        For each column its word, its shift and its number of bits.
    n_words : int

    Examples
    --------
    >>> packing = Packing.from_sizes({"age": 90, "job": 12})
    >>> words = packing.packed({"age": np.array([89, 3]), "job": np.array([0, 11])})
    >>> packing.codes(words, "age").tolist(), packing.codes(words, "job").tolist(), len(words)
    ([89, 3], [0, 11], 1)
    """

    places: Mapping[str, tuple[int, int, int]]
    n_words: int

    @classmethod
    def from_sizes(cls, sizes: Mapping[str, int]) -> Packing:
        """Return the packing for the given columns, from the number of codes of each."""
        places, word, used = {}, 0, 0
        for name, size in sizes.items():
            bits = max(int(size - 1).bit_length(), 1)
            if used + bits > _BITS:
                word, used = word + 1, 0
            places[name] = (word, used, bits)
            used += bits
        return cls(places, word + 1)

    def names(self) -> list[str]:
        """Return the column names of the words: w0, w1 and so on."""
        return [f"w{i}" for i in range(self.n_words)]

    def packed(self, codes: Mapping[str, NDArray[np.integer]]) -> list[Ints]:
        """Pack the codes of the given rows into words."""
        n = len(next(iter(codes.values())))
        words = [np.zeros(n, np.int64) for _ in range(self.n_words)]
        for name, (word, shift, _) in self.places.items():
            words[word] |= codes[name].astype(np.int64) << shift
        return words

    def codes(self, words: Sequence[Ints], name: str) -> NDArray[np.unsignedinteger]:
        """Unpack the codes of a column from the words of the given rows."""
        word, shift, bits = self.places[name]
        return ((words[word] >> shift) & ((1 << bits) - 1)).astype(smallest(1 << bits))


def together(n_rows: int, sizes: Mapping[str, int]) -> int:
    """Estimate the bytes that the codes of `n_rows` rows take when collected in this process.

    A combination arrives as one or more words and its count, stored twice. It is unpacked (two numbers
    of 8 bytes at a time), counted (8) and sorted (8). The codes of every row are then stored three
    times: as values, as recoded values, and by the method. There are at most as many combinations
    as rows, or as the product of the numbers of values.

    Parameters
    ----------
    n_rows : int
    sizes : mapping of str to int
        Number of values of each column.

    Examples
    --------
    A thousand rows of 90 ages and 12 jobs: one word, two bytes of codes, and as many combinations
    as rows.

    >>> together(1000, {"age": 90, "job": 12}) == 1000 * (2 * 8 * 2 + 32 + 2 * 2) + 1000 * 3 * 2
    True
    """
    words = Packing.from_sizes(sizes).n_words
    width = sum(np.dtype(smallest(size)).itemsize for size in sizes.values())
    combinations = min(n_rows, math.prod(sizes.values()))
    return combinations * (16 * (words + 1) + 32 + 2 * width) + n_rows * 3 * width


# most combinations of values that are collected in this process
MOST_TOGETHER = 1 << 27


def combined(
    frame: Any, coded: Callable[[pa.Table], Mapping[str, NDArray[Any]]], packing: Packing, *, whole: bool = False
) -> tuple[dict[str, NDArray[Any]], Ints]:
    """Return the distinct combinations of the given codes, sorted, and the number of rows with each.

    Parameters
    ----------
    frame : Spark DataFrame
    coded : callable
        Returns the codes of some rows; called on the executors.
    packing : Packing
        The packing of these codes; combinations are sorted by them, column by column.
    whole : bool
        Whether `coded` is given all rows of a partition at once.

    Returns
    -------
    dict of str to unsigned integer array, int64 array
        The codes of each combination, and its rows.

    Raises
    ------
    UnsupportedError
        There are too many combinations for this process.
    """
    from pyspark.sql import functions as f

    words = packing.names()

    def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
        counted = pa.table(dict(zip(words, packing.packed(coded(part)), strict=True))).group_by(words)
        grouped = counted.aggregate([([], "count_all")]).select([*words, "count_all"])
        yield from grouped.rename_columns([*words, "n"]).to_batches()

    schema = ", ".join(f"{w} long" for w in [*words, "n"])
    grouped = map_parts(frame, work, schema, whole=whole)
    # counted twice: within each part here, and then over the cluster, so little is shuffled
    grouped = grouped.groupBy(*words).agg(f.sum("n").alias("n"))
    table = collected(grouped.limit(MOST_TOGETHER + 1))
    if table.num_rows > MOST_TOGETHER:
        raise UnsupportedError(
            f"{reprs(packing.places)} have more than {MOST_TOGETHER:,} combinations of values, held in memory",
            hint="coarsen those that have the most values, or take MART, which counts on the cluster",
        )
    columns = [table.column(w).to_numpy() for w in words]
    codes = {n: packing.codes(columns, n) for n in packing.places}
    return ordered(codes, table.column("n").to_numpy().astype(np.int64))


def ordered(codes: Mapping[str, NDArray[Any]], counts: Ints) -> tuple[dict[str, NDArray[Any]], Ints]:
    """Sort combinations by their codes, column by column, and return them with their counts."""
    order = np.lexsort(list(codes.values())[::-1])
    return {n: c[order] for n, c in codes.items()}, counts[order]


def check_room(n_rows: int, sizes: Mapping[str, int], besides: int, what: str, hint: str, memory: Any = None) -> None:
    """Raise UnsupportedError if the codes of `n_rows` rows do not fit into this process's memory.

    Parameters
    ----------
    n_rows : int
    sizes : mapping of str to int
        Number of values of each column.
    besides : int
        Bytes that the caller needs in addition.
    what, hint : str
        The purpose of the codes, and the advice to give instead.
    memory : str or int, optional
        Most memory to take; by default half of the machine's.
    """
    needed, allowed = besides + together(n_rows, sizes), memory_of(memory)
    if needed > allowed:
        half = "" if memory else ", half of this machine's memory,"
        words = f"codes of {n_rows:,} records come together for {what} and take some {needed / 1e9:,.1f} GB"
        raise UnsupportedError(f"{words} in this process, and {allowed / 1e9:,.1f} GB{half} are allowed", hint=hint)
