"""X as scikit-learn's conventions have it: two-dimensional, and the features that were fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ..columns.table import Table
from ..errors import InputError, PlanError
from ..io.read import read
from ..progress import caution

_SHOWN = 5


@dataclass(frozen=True)
class Features:
    """A frame or array that was given as X.

    Parameters
    ----------
    source : frame or array
    table : Table
        It, as read.
    named : bool
        Whether its columns have names of their own; those of arrays are numbered.
    names : sequence of str
        The columns under the names that were fitted, in order.
    """

    source: Any
    table: Table
    named: bool
    names: Sequence[str]

    @classmethod
    def of(cls, X: Any) -> Features:
        """Read X; InputError when it is no table of plain values.

        Parameters
        ----------
        X : frame, two-dimensional array, or list of rows
        """
        if hasattr(X, "nnz"):
            raise InputError(
                "X is a sparse matrix, and sparse input is not supported",
                hint="give a frame, or X.toarray()",
            )
        array = as_array(X)
        X = X if array is None else array
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if isinstance(X, (pa.Array, pa.ChunkedArray)) or len(shape) == 1:
            raise InputError(
                "X has one dimension, and a table has two",
                hint="Reshape your data: X.reshape(-1, 1) for one column, a frame of one "
                "column for a series",
            )
        if array is not None and len(shape) == 2 and not shape[1]:
            raise InputError(
                f"0 feature(s) (shape=({shape[0]}, 0)) while a minimum of 1 is required."
            )
        table = read(X)
        own = list(X.columns) if hasattr(X, "set_axis") else table.names  # pandas: of any type
        named = array is None and all(isinstance(name, str) for name in own)
        return cls(X, table, named, table.names)

    def as_fitted(self, names: Sequence[str], named: bool, method: str) -> Features:
        """The same under the names that were fitted.

        Parameters
        ----------
        names : sequence of str
            The columns that were fitted, in order.
        named : bool
            Whether they had names of their own; otherwise columns are told by their place.
        method : str
            Its class, for messages.

        Raises
        ------
        PlanError
            These are other columns, or they stand in another order.
        """
        mine = self.table.names
        if self.named and named and mine != list(names):
            raise _other_names(mine, names)
        if len(mine) != len(names):
            raise PlanError(
                f"X has {len(mine)} features, but {method} is expecting {len(names)} features "
                "as input"
            )
        if self.named == named:
            return self
        caution(
            f"X does not have valid feature names, but {method} was fitted with feature names"
            if named
            else f"X has feature names, but {method} was fitted without feature names"
        )
        if not self.named:
            return replace(self, names=names)
        renamed = _renamed(self.source, dict(zip(mine, names, strict=True)))
        return Features(renamed, read(renamed), True, names)

    @property
    def fitted(self) -> Table:
        """The table under the names that were fitted."""
        if list(self.names) == self.table.names:
            return self.table
        return Table(self.table.arrow.rename_columns(list(self.names)))

    def restore(self, columns: Mapping[str, Any]) -> Any:
        """The kind of frame that was given, with columns replaced by their fitted names."""
        own = dict(zip(self.names, self.table.names, strict=True))
        return self.table.restore({own[name]: values for name, values in columns.items()})


def output_as(kind: str, made: Any, names: Sequence[str]) -> Any:
    """A released frame or array as the kind of frame that `set_output` asked for.

    Parameters
    ----------
    kind : {"default", "pandas", "polars"}
    made : frame or array
    names : sequence of str
        Names for the columns of an array.
    """
    if kind == "default":
        return made
    if isinstance(made, np.ndarray):
        import importlib

        library = importlib.import_module(kind)
        columns = {name: made[:, i] for i, name in enumerate(names)}
        return library.DataFrame(columns)
    import narwhals

    wrapped = narwhals.from_native(made)
    frame = wrapped.collect() if isinstance(wrapped, narwhals.LazyFrame) else wrapped
    if type(made).__module__.split(".")[0] == kind and frame is wrapped:
        return made
    return frame.to_pandas() if kind == "pandas" else frame.to_polars()


def _renamed(frame: Any, names: Mapping[str, str]) -> Any:
    """A frame with other names for its columns."""
    if hasattr(frame, "set_axis"):  # pandas, whose names need not be text
        return frame.set_axis(list(names.values()), axis=1)
    import narwhals

    return narwhals.from_native(frame).rename(dict(names)).to_native()


def as_array(X: Any) -> Any:
    """X or y as a numpy array when it is one, holds one, or is a list; else None."""
    if isinstance(X, np.ndarray):
        array = X
    elif isinstance(X, (list, tuple)):
        array = np.array(X, dtype=object)  # each column finds its own type
    elif hasattr(X, "__array__") and not isinstance(X, (pa.Array, pa.ChunkedArray)):
        if any(hasattr(X, name) for name in ("columns", "column_names", "schema", "index", "name")):
            return None
        array = np.asarray(X)
    else:
        return None
    if array.dtype.kind == "c":
        raise InputError("Complex data not supported", hint="give real numbers")
    return array


def _other_names(mine: Sequence[str], fitted: Sequence[str]) -> PlanError:
    said = ["The feature names should match those that were passed during fit."]
    for words, here, there in (
        ("Feature names unseen at fit time:", mine, fitted),
        ("Feature names seen at fit time, yet now missing:", fitted, mine),
    ):
        odd = sorted(set(here) - set(there))
        if odd:
            more = ["- ..."] if len(odd) > _SHOWN else []
            said += [words, *(f"- {name}" for name in odd[:_SHOWN]), *more]
    if len(said) == 1:
        said.append("Feature names must be in the same order as they were in fit.")
    return PlanError("\n".join(said) + "\n")
