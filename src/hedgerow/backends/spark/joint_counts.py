"""Match original and released rows on a cluster, as counted pairs of codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.table import Table
from ...kernels import Ints
from ...plan import Plan
from ..base import transform
from .cluster import Entries, codes_of, reading
from .packing import Packing, check_room, combined, ordered
from .spark_table import Gathered, Maker, SparkTable

# prefixes of column names, because both tables may have the same names
_ORIGINAL, _RELEASED = "original ", "released "


def paired(
    original: Table, released: Table, plan: Plan | None, names: Sequence[str], *, besides: int = 0, memory: Any = None
) -> tuple[Gathered, Gathered] | None:
    """Return columns of a table and of its release as two tables with matching rows, sorted by their codes.

    Executors recode every row again and count the pairs of original and released codes.

    Parameters
    ----------
    original, released : SparkTable
    plan : Plan, optional
        The plan to make the release again; by default, it is made as it was before.
    names : sequence of str
        The columns to take from each table that has them.
    besides : int
        Bytes that the caller needs in addition.
    memory : str or int, optional
        Most memory of this process; by default half of the machine's.

    Returns
    -------
    tuple of Gathered, or None
        None if the release differs from the one that is made again from the original.

    Raises
    ------
    UnsupportedError
        The codes do not fit into the memory of this process.
    """
    assert isinstance(original, SparkTable)
    assert isinstance(released, SparkTable)
    maker = released.maker
    if plan is not None:
        columns: Any = transform(plan, original).columns.values()
        maker = next((column.maker for column in columns), Maker(()))
    before = [n for n in names if n in original.names]
    after = [n for n in names if n in released.names]
    if original.n_rows != released.n_rows or {*maker.names, *after} - set(original.names) or not after:
        return None
    if released.rows_here is not None:
        names_here, rows = released.rows_here
        mine = original.with_local_codes(names_here, besides)
        assert isinstance(mine, Gathered)
        theirs_here = released.with_local_codes(after, besides, in_order=True)
        assert isinstance(theirs_here, Gathered)
        return Gathered(original, {n: mine.codes[n][rows] for n in before}), theirs_here
    among = token_hex(8)
    entries = {n: Entries.from_values(original.entries(n), among) for n in before}
    released_entries = {n: Entries.from_values(released.entries(n), among) for n in after}
    sizes = {_ORIGINAL + n: len(e.values) for n, e in entries.items()}
    sizes |= {_RELEASED + n: len(e.values) + 1 for n, e in released_entries.items()}  # one more code: values not in it
    check_room(
        original.n_rows,
        sizes,
        besides,
        "an audit",
        "ask from a larger machine; release.summary() counts groups and disclosure on the cluster",
        memory or original.memory,
    )
    used = list(dict.fromkeys([*before, *after, *maker.names]))
    read = reading(original.types, used)

    def coded(part: pa.Table) -> Mapping[str, NDArray[Any]]:
        cells = read(part)
        output = maker.columns(cells)
        codes = {_ORIGINAL + n: codes_of(cells.column(n), entries[n], n) for n in before}
        for n in after:
            cell = pa.chunked_array([output[n]]) if n in output else cells.column(n)
            codes[_RELEASED + n] = codes_of(cell, released_entries[n], n, unknown=len(released_entries[n].values))
        return codes

    frame = maker.rows(original).select(*(original.place(n) for n in used))
    codes, counts = combined(frame, coded, Packing.from_sizes(sizes), whole=maker.whole)
    if counts.sum() != original.n_rows:
        raise original.changed()
    theirs = {n: codes[_RELEASED + n] for n in after}
    if not _same(theirs, counts, *released.combinations(after)):
        return None
    return (
        Gathered(original, {n: np.repeat(codes[_ORIGINAL + n], counts) for n in before}),
        Gathered(released, {n: np.repeat(c, counts) for n, c in theirs.items()}),
    )


def same_rows(one: Table, other: Table, names: Sequence[str]) -> bool:
    """Return whether two tables hold the same rows in the named columns, in any order."""
    assert isinstance(one, SparkTable)
    assert isinstance(other, SparkTable)
    if one is other or one.given is other.given:
        return True
    if one.n_rows != other.n_rows or set(names) - {*one.names} or set(names) - {*other.names}:
        return False
    if any(not one.entries(n).equals(other.entries(n)) for n in names):
        return False
    codes, counts = one.combinations(names)
    return _same(codes, counts, *other.combinations(names))


def _same(codes: Mapping[str, NDArray[Any]], counts: Ints, wanted: Mapping[str, NDArray[Any]], numbers: Ints) -> bool:
    """Return whether combinations, which may repeat, have the same codes and total counts as the wanted ones."""
    mine, rows = ordered(codes, counts)
    new = np.zeros(len(rows), np.bool_)
    new[:1] = True
    for column in mine.values():
        new[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(new)
    if len(first) != len(numbers) or (np.add.reduceat(rows, first) != numbers).any():
        return False
    return all((mine[n][first] == wanted[n]).all() for n in wanted)
