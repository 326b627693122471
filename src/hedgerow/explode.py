"""For the recipient: concatenated cells as weighted fractional records that any learner takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
import numpy.typing as npt

from .errors import ParameterError, SchemaError
from .plan.cells import MISSING, parse_range, split_concatenation
from .table import read


@dataclass(frozen=True)
class _Parts:
    """The distinct cells of one column, each taken apart."""

    code: npt.NDArray[np.int64]  # which distinct cell a row holds
    start: npt.NDArray[np.int64]  # first part of each distinct cell
    count: npt.NDArray[np.int64]
    value: npt.NDArray[np.object_]  # all parts, cell after cell
    share: npt.NDArray[np.float64]


def explode(
    table: Any,
    weighted: bool = True,
    *,
    columns: Sequence[str] | None = None,
    weight: str = "weight",
    ranges: Literal["keep", "midpoint"] = "keep",
    max_rows: int = 20_000_000,
) -> Any:
    """Turn records with concatenated values into records with one value each.

    A record whose `job` reads ``nurse+cook`` becomes two records, one a nurse and
    one a cook, of weight 1/2 each; ``nurse:4+cook:1`` gives weights 4/5 and 1/5.
    A record with several such cells becomes every combination, with the product
    of the shares as its weight. The weights of a record sum to 1, so totals and
    sensitive columns keep their sums.

    Parameters
    ----------
    table : path, pandas, Polars or Arrow table
        A released table.
    weighted : bool, default True
        Add the weight column; without it the records are repeated only.
    columns : sequence of str, optional
        The columns to take apart. By default every text column whose joined
        cells all read as concatenations; name them where another text column
        could be mistaken for one.
    weight : str, default "weight"
        Name of the weight column.
    ranges : {"keep", "midpoint"}, default "keep"
        What becomes of ranges such as ``[27-39]`` in the columns looked at.
        "midpoint" makes a column of ranges and numbers numeric.
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
    if ranges not in ("keep", "midpoint"):
        raise ParameterError(f"ranges is {ranges!r}; it is 'keep' or 'midpoint'")
    native = read(table).arrow if isinstance(table, (str, Path)) else table
    frame = nw.from_native(native, eager_only=True)
    if weighted and weight in frame.columns:
        raise ParameterError(f"the table already has a column {weight!r}", hint="choose another name by weight=")
    unknown = [name for name in columns or () if name not in frame.columns]
    if unknown:
        raise SchemaError(f"no column {', '.join(map(repr, unknown))} in the table")
    taken: dict[str, _Parts] = {}
    middles: dict[str, npt.NDArray[np.float64]] = {}
    for name in columns if columns is not None else frame.columns:
        series = frame[name]
        if not (series.dtype in (nw.String, nw.Object, nw.Enum) or series.dtype == nw.Categorical):
            continue
        cells = series.cast(nw.String).to_list() if series.dtype != nw.String else series.to_list()
        parts = _take_apart(name, cells, given=columns is not None)
        if parts is not None:
            taken[name] = parts
        elif ranges == "midpoint":
            found = _midpoints(cells)
            if found is not None:
                middles[name] = found

    n_rows = np.ones(len(frame))
    for parts in taken.values():
        n_rows *= parts.count[parts.code]
    if n_rows.sum() > max_rows:
        widest = sorted(taken, key=lambda name: -float(taken[name].count[taken[name].code].mean()))[:3]
        raise ParameterError(f"exploding makes {n_rows.sum():,.0f} records, more than {max_rows:,}",
                             hint=f"name fewer columns by columns=; the widest are {', '.join(widest)}")

    rows = np.arange(len(frame))
    chosen: dict[str, npt.NDArray[np.int64]] = {}
    for name, parts in taken.items():
        count = parts.count[parts.code[rows]]
        again = np.repeat(np.arange(len(rows)), count)
        nth = np.arange(len(again)) - np.repeat(np.cumsum(count) - count, count)
        rows = rows[again]
        chosen = {other: at[again] for other, at in chosen.items()}
        chosen[name] = parts.start[parts.code[rows]] + nth
    made = frame[rows.tolist()] if taken else frame
    share = np.ones(len(rows))
    new = []
    for name, parts in taken.items():
        share *= parts.share[chosen[name]]
        new.append(nw.new_series(name, parts.value[chosen[name]].tolist(), nw.String,
                                 backend=frame.implementation))
    new += [nw.new_series(name, middle[rows], nw.Float64, backend=frame.implementation)
            for name, middle in middles.items()]
    if weighted:
        new.append(nw.new_series(weight, share, nw.Float64, backend=frame.implementation))
    native_made = nw.to_native(made)
    if frame.implementation.is_pandas():
        made = nw.from_native(native_made.reset_index(drop=True), eager_only=True)
    return nw.to_native(made.with_columns(*new)) if new else nw.to_native(made)


def _distinct(cells: Sequence[str | None]) -> tuple[dict[str | None, int], npt.NDArray[np.int64]]:
    place: dict[str | None, int] = {}
    code = np.fromiter((place.setdefault(cell, len(place)) for cell in cells), np.int64, len(cells))
    return place, code


def _take_apart(name: str, cells: Sequence[str | None], given: bool) -> _Parts | None:
    """The parts of a column's cells; None when nothing in it is joined or quoted."""
    place, code = _distinct(cells)
    joined = False
    values: list[str | None] = []
    shares: list[float] = []
    counts: list[int] = []
    for cell in place:
        pairs: list[tuple[str | None, int]] = [(cell, 1)]
        if cell == MISSING:
            pairs, joined = [(None, 1)], True
        elif cell is not None and ("+" in cell or cell.startswith('"')):
            try:
                pairs = split_concatenation(cell)
                if any(value == "" and '""' not in cell for value, _ in pairs):
                    raise ValueError
            except ValueError:
                if not given:
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
    listed = np.empty(len(values), object)
    listed[:] = values
    return _Parts(code, np.cumsum(count) - count, count, listed, np.array(shares))


def _midpoints(cells: Sequence[str | None]) -> npt.NDArray[np.float64] | None:
    """The middle of every range and number; None when a cell is neither or none is a range."""
    place, code = _distinct(cells)
    middles = np.empty(len(place))
    for cell, at in place.items():
        ends = parse_range(cell) if cell is not None else (np.nan, np.nan)
        if ends is None:
            return None
        middles[at] = (ends[0] + ends[1]) / 2
    return middles[code] if any(cell is not None and cell.startswith("[") for cell in place) else None
