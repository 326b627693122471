"""PRAM, the post-randomisation method: categories moved by a Markov matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..backends.row_ids import words_of
from ..columns.column import Column
from ..columns.table import Table
from ..errors import ParameterError, SchemaError
from ..key import Key
from ..schema import Schema
from ..validation import FLAG, Kind
from .masking import Masked, Masking, category_column, masked_column
from .validation import check_named, check_share

Floats = NDArray[np.float64]

CATEGORICAL = ("categorical", "ordinal", "boolean")
MOST_CATEGORIES = 2_000
"""Categories of a column: the plan holds a number for every two of them."""


@dataclass(eq=False, repr=False)
class PRAM(Masking):
    """Move categories by chance, with chances that are given or keep the counts on average.

    Single cells need not be true afterwards. The chances may be published with the table, so that
    its reader can correct counts.

    Parameters
    ----------
    stay : float
        Probability of keeping a category, 0 to 1, in the default matrix; the rest
        goes to the other categories alike.
    matrix : array (d, d), or mapping of str to array, optional
        Row i holds the probabilities of what category i becomes, categories in the
        column's order (declared, else sorted). One for all columns or for each that is named.
    invariant : bool
        Follow the matrix P by its inverse in Bayes' sense, so that the expected
        counts of the categories stay as they are: a release needs no correction.
    key : Key or path, optional
        The steward's secret, or its file (made when it is not there), from which the moves are
        drawn: whoever has it can take them back. By default a fresh one, forgotten with this object.
    random_state : int, optional
        In place of a key, for experiments alone: it hides nothing.
    schema : Schema, optional
        Kinds and category orders where the columns' own types do not tell.

    Attributes
    ----------
    matrices_ : dict of str to array
        The matrix that was used, per column; it may be published with the release.

    Notes
    -----
    Gouweleeuw, Kooiman, Willenborg & de Wolf (1998), "Post randomisation for
    statistical disclosure control". Missing cells stay missing.

    Examples
    --------
    >>> import pandas as pd
    >>> jobs = pd.DataFrame({"job": ["cook", "nurse"] * 50})
    >>> PRAM(0.7, random_state=1).fit(jobs).matrices_["job"].round(2).tolist()
    [[0.58, 0.42], [0.42, 0.58]]
    """

    kinds: ClassVar[Mapping[str, Kind]] = {"invariant": FLAG}
    words: ClassVar[str] = "post-randomisation (PRAM)"
    draws = True

    stay: float = 0.8
    _: KW_ONLY
    matrix: ArrayLike | Mapping[str, ArrayLike] | None = None
    invariant: bool = True
    key: Key | str | Path | None = None
    random_state: int | None = None
    schema: Schema | None = None

    def _mask(self, table: Table, schema: Schema) -> Masked:
        stay = check_share("stay", self.stay, zero=True)
        other = [n for n in schema.quasi if table.declared_kind(schema, n) not in CATEGORICAL]
        if other:
            raise SchemaError(
                f"PRAM moves categories, not {', '.join(map(repr, other))}",
                hint='declare their kind as "categorical", or leave them out',
            )
        if isinstance(self.matrix, Mapping):
            check_named("matrix", self.matrix, schema)
        for name in schema.quasi:
            if (found := table.declared_column(schema, name).n_values) > MOST_CATEGORIES:
                raise ParameterError(
                    f"column {name!r} has {found:,} categories, and a matrix between more than "
                    f"{MOST_CATEGORIES:,} is not made",
                    hint="join categories that are alike, leave the column out, or take another "
                    "method",
                )
        rows = self._rows(table)
        key = self._release_key(rows, schema)
        released, columns, self.matrices_ = {}, [], {}
        for name in schema.quasi:
            column = table.declared_column(schema, name)
            given = self.matrix.get(name) if isinstance(self.matrix, Mapping) else self.matrix
            base = (
                default_matrix(column.n_values, stay) if given is None else _check_matrix(given, column)
            )
            counts = column.counts()[: column.n_values].astype(np.float64)
            used = invariant_matrix(base, counts) if self.invariant else base
            self.matrices_[name] = used
            moved = move(column.codes, words_of(rows.ids, key, f"pram {name}"), used)
            released[name] = category_column(table, column, moved)
            there = column.codes < column.n_values
            kept = moved == column.codes
            columns.append(
                masked_column(schema, name, column.kind, released[name], there, unchanged=kept)
            )
        facts = {
            "invariant": self.invariant,
            "matrices": {n: m.tolist() for n, m in self.matrices_.items()},
        }
        return Masked(released, tuple(columns), facts)


def default_matrix(d: int, stay: float) -> Floats:
    """`stay` on the diagonal, the rest spread evenly; shape (d, d)."""
    if d < 2:
        return np.ones((d, d))
    return np.full((d, d), (1 - stay) / (d - 1)) + np.eye(d) * (stay - (1 - stay) / (d - 1))


def invariant_matrix(matrix: Floats, counts: Floats) -> Floats:
    """P followed by its Bayes inverse: a Markov matrix Q with counts @ Q = counts.

    Parameters
    ----------
    matrix : array, shape (d, d)
        Rows sum to 1.
    counts : array, shape (d,)
        How often each category occurs.
    """
    joint = matrix * counts[:, None]
    arrived = joint.sum(axis=0)
    back = np.divide(joint, arrived, where=arrived > 0, out=np.zeros_like(joint)).T
    return matrix @ back if len(counts) else matrix


def move(codes: NDArray[Any], words: NDArray[np.uint64], matrix: Floats) -> NDArray[np.int64]:
    """Codes moved by `matrix`, one drawn word a row; codes outside it (missing) stay."""
    draws = (words >> np.uint64(11)) / 2.0**53
    moved = codes.astype(np.int64)
    bounds = np.cumsum(matrix, axis=1)
    for i in range(len(matrix)):
        mine = np.flatnonzero(codes == i)
        possible = np.flatnonzero(matrix[i] > 0)
        # The last possible category takes what rounding leaves between its bound and 1.
        place = np.searchsorted(bounds[i, possible][:-1], draws[mine], side="right")
        moved[mine] = possible[place]
    return moved


def _check_matrix(given: ArrayLike, column: Column) -> Floats:
    try:
        matrix = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"the matrix for column {column.name!r} is not numeric") from None
    d = column.n_values
    if matrix.shape != (d, d):
        raise ParameterError(
            f"the matrix for column {column.name!r} has the shape {matrix.shape}; "
            f"the column has {d} categories"
        )
    if (
        not np.isfinite(matrix).all()
        or (matrix < 0).any()
        or np.abs(matrix.sum(axis=1) - 1).max() > 1e-9
    ):
        raise ParameterError(
            f"the rows of the matrix for column {column.name!r} are not probabilities that sum to 1"
        )
    return matrix
