"""Split concatenated cells into weighted records that any learner accepts, for a release's recipient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..backends import engine
from ..columns.arrays import indexed
from ..columns.to_parquet import OpenOptions
from ..errors import ParameterError, SchemaError, reprs
from ..notation import MISSING, split_concatenation
from ..texts import refusal
from ..validation import NAMES, NUMBER, TEXT, takes


@dataclass(frozen=True)
class _Parts:
    """The distinct cells of one column, each split into its values and their shares."""

    code: npt.NDArray[np.int64]  # which distinct cell a row holds
    start: npt.NDArray[np.int64]  # first part of each distinct cell
    count: npt.NDArray[np.int64]
    value: pa.Array  # all parts, cell after cell
    share: npt.NDArray[np.float64]


@takes(columns=NAMES, weight=TEXT, max_rows=NUMBER)
def explode(
    table: Any, *, columns: Sequence[str] | None = None, weight: str = "weight", max_rows: int = 20_000_000
) -> Any:
    """Split records with concatenated values into records with one value each.

    A record whose `job` reads ``nurse+cook`` becomes two records, one a nurse and
    one a cook, of weight 1/2 each; ``nurse:4+cook:1`` gives weights 4/5 and 1/5.
    A record with several such cells becomes every combination, with the product
    of the shares as its weight. The weights of a record sum to 1, so totals and
    sensitive columns keep their sums.

    Parameters
    ----------
    table : path, pandas, Polars or Arrow table
        A released table.
    columns : sequence of str, optional
        The columns to take apart. By default every text column whose joined
        cells all read as concatenations; name them where another text column
        could be mistaken for one.
    weight : str, default "weight"
        Name of the column of weights that is added.
    max_rows : int, default 20,000,000
        Refuse to make more records than this.

    Returns
    -------
    the same kind of frame as given (a pyarrow table for a path)

    Raises
    ------
    ParameterError
        The result would pass `max_rows`, the weight column exists, or a named
        column holds a cell that is not a concatenation.
    SchemaError
        A named column does not exist.

    References
    ----------
    The open question at the end of Li & Sarkar, "Digression and value concatenation".

    Examples
    --------
    >>> import pyarrow as pa
    >>> released = pa.table({"job": ["nurse+cook", "cook"], "income": [10.0, 20.0]})
    >>> explode(released).to_pydict()
    {'job': ['nurse', 'cook', 'cook'], 'income': [10.0, 10.0, 20.0], 'weight': [0.5, 0.5, 1.0]}
    """
    frame = _frame(table)
    if weight in frame.columns:
        raise ParameterError(f"the table already has a column {weight!r}", hint="choose another name by weight=")
    if unknown := [name for name in columns or () if name not in frame.columns]:
        raise SchemaError(f"no column {reprs(unknown)} in the table")
    parts_of: dict[str, _Parts] = {}
    for name in columns if columns is not None else frame.columns:
        series = frame[name]
        if not (series.dtype in (nw.String, nw.Object, nw.Enum) or series.dtype == nw.Categorical):
            continue
        code, entries = indexed(pa.chunked_array([series.to_arrow()]).cast(pa.large_string()))
        # the code -1, for a missing cell, is the last place
        if (parts := _split(name, [*entries.to_pylist(), None], code, is_named=columns is not None)) is not None:
            parts_of[name] = parts

    # doubles, for the product of counts can pass 64 bits
    n_rows = np.ones(len(frame))
    for parts in parts_of.values():
        n_rows *= parts.count[parts.code]
    if n_rows.sum() > max_rows:
        widths = {name: parts.count[parts.code].mean() for name, parts in parts_of.items()}
        widest = sorted(widths, key=lambda name: -float(widths[name]))[:3]
        words = refusal("exploded", "release", records=n_rows.sum(), max_rows=max_rows, widest=", ".join(widest))
        raise ParameterError(**words)

    rows = np.arange(len(frame))
    chosen: dict[str, npt.NDArray[np.int64]] = {}
    for name, parts in parts_of.items():
        count = parts.count[parts.code[rows]]
        repeated = np.repeat(np.arange(len(rows)), count)
        # the place of each new row among those of its record
        nth = np.arange(len(repeated)) - np.repeat(np.cumsum(count) - count, count)
        rows = rows[repeated]
        chosen = {other: at[repeated] for other, at in chosen.items()}
        chosen[name] = parts.start[parts.code[rows]] + nth
    share = np.ones(len(rows))
    new: dict[str, pa.Array] = {}
    for name, parts in parts_of.items():
        share *= parts.share[chosen[name]]
        new[name] = parts.value.take(pa.array(chosen[name]))
    new[weight] = pa.array(share)
    selected = frame[rows]
    if frame.implementation.is_pandas():  # a repeated index would be joined on
        selected = nw.from_native(nw.to_native(selected).reset_index(drop=True), eager_only=True)
    added = nw.from_arrow(pa.table(new), backend=frame.implementation)
    return nw.to_native(selected.with_columns(*(added[name] for name in new)))


def _frame(table: Any) -> Any:
    """Return the table as a narwhals frame; inputs that are not frames are read first."""
    try:
        if not isinstance(table, (str, Path)) and (frame := nw.from_native(table, eager_only=True)).columns:
            return frame
    except (TypeError, nw.exceptions.NarwhalsError):
        pass
    return nw.from_native(engine("memory").open(table, OpenOptions(unescape_formulas=True)).arrow, eager_only=True)


def _split(name: str, cells: Sequence[str | None], code: npt.NDArray[np.int64], is_named: bool) -> _Parts | None:
    """Split a column's distinct cells into values; None if no cell is a concatenation or quoted."""
    joined = False
    values: list[str | None] = []
    shares: list[float] = []
    counts: list[int] = []
    for cell in cells:
        pairs: list[tuple[str | None, int]] = [(cell, 1)]
        if cell == MISSING:
            pairs, joined = [(None, 1)], True
        elif cell is not None and ("+" in cell or cell.startswith('"')):
            try:
                pairs = split_concatenation(cell)
                # a text such as C++ is no concatenation
                if any(value == "" and '""' not in cell for value, _ in pairs):
                    raise ValueError
            except ValueError:
                if not is_named:
                    return None
                raise ParameterError(f"column {name!r} holds a cell that is not a concatenation") from None
            joined = True
        total = sum(n for _, n in pairs)
        values += [value for value, _ in pairs]
        shares += [n / total for _, n in pairs]
        counts.append(len(pairs))
    if not joined:
        return None
    count = np.array(counts, np.int64)
    return _Parts(code, np.cumsum(count) - count, count, pa.array(values, pa.string()), np.array(shares))
