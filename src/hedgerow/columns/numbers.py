"""Convert numeric columns to one array of doubles, and back to columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, SchemaError, reprs
from ..kernels import Floats
from .arrays import beyond_doubles, decoded, floats, inexact
from .table import Table

# squares of larger numbers do not fit a double
LARGEST = 1e150
LEAVE_OUT = "leave these columns out of the quasi-identifiers"


def _refuse(what: str, names: Sequence[str], hint: str) -> None:
    if names:
        raise InputError(f"{what} in: {reprs(names)}", hint=hint)


def check_numbers(table: Table, names: Sequence[str], kinds: Mapping[str, str]) -> None:
    """Raise an error if columns are not numeric, by their kinds, or hold no value at all."""
    empty = [n for n in names if pc.all(pc.is_null(table.arrow.column(n), nan_is_null=True)).as_py()]
    declared = {name: kinds.get(name) or table.kind(name) for name in names if name not in empty}
    if other := [f"{name!r} ({kind})" for name, kind in declared.items() if kind != "numeric"]:
        raise SchemaError(f"only numeric columns can be used here, not {', '.join(other)}", hint=LEAVE_OUT)
    _refuse("every value is missing", empty, LEAVE_OUT)


def numeric_matrix(table: Table, names: Sequence[str], kinds: Mapping[str, str] | None = None) -> Floats:
    """Return numeric columns as an array of shape (rows, columns), with NaN for missing values.

    Parameters
    ----------
    table : Table
    names : sequence of str
    kinds : mapping of str to str, optional
        Declared kinds, which count more than the columns' types.

    Raises
    ------
    SchemaError
        Some columns are not numeric; all of them are named.
    InputError
        Some columns hold no value at all, or infinite or huge ones; all are named.
    """
    check_numbers(table, names, kinds or {})
    values = np.empty((table.n_rows, len(names)))
    for c, name in enumerate(names):
        try:
            values[:, c] = floats(table.arrow.column(name)).to_numpy()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise SchemaError(f"column {name!r} cannot be read as numbers") from None
    if long := [name for name in names if beyond_doubles(decoded(table.arrow.column(name)))]:
        raise inexact(long)
    infinite = [name for c, name in enumerate(names) if np.isinf(values[:, c]).any()]
    _refuse("infinite values", infinite, "make them missing, or cap them")
    huge = [name for c, name in enumerate(names) if (np.abs(values[:, c]) > LARGEST).any()]
    _refuse(f"values beyond {LARGEST:g}", huge, "give these columns in a larger unit")
    return values


def standardise(values: Floats) -> Floats:
    """Return every column scaled to mean 0 and standard deviation 1; constant columns become 0."""
    centred = values - values.mean(axis=0)
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    # values are compared too, because rounding gives some equal numbers a deviation above 0
    constant = (values == values[:1]).all(axis=0) | (spread == 0)
    centred[:, constant] = 0.0
    return centred / np.where(constant, 1.0, spread)


def one_zero(array: pa.Array) -> pa.Array:
    """Return an array with -0.0 replaced by 0.0, because they are one value with two texts."""
    return array if not pa.types.is_floating(array.type) else pc.add(array.cast(pa.float64()), 0.0).cast(array.type)


def released_column(values: Floats, original: pa.DataType, integers: bool = False) -> pa.Array:
    """Return masked numbers as an Arrow array; NaN becomes missing.

    Parameters
    ----------
    values : array, shape (rows,)
    original : pyarrow type
        The type of the original column.
    integers : bool
        Round to whole numbers, in the original type, where the original is an integer.
    """
    values = values + 0.0  # one zero
    missing = np.isnan(values)
    if integers and pa.types.is_integer(original):
        whole_numbers = np.where(missing, 0.0, np.rint(values))
        limits = np.iinfo(original.to_pandas_dtype())
        # Doubles cannot represent the largest 64-bit integers: stay one step inside.
        top = float(limits.max) if limits.bits < 64 else np.nextafter(float(limits.max), 0.0)
        whole = np.clip(whole_numbers, float(limits.min), top).astype(limits.dtype)
        return pa.array(whole, mask=missing, type=original)
    return pa.array(values, mask=missing, type=pa.float64())
