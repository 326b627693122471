"""`hedgerow.score`: compare a masked file with its original, by information loss and record linkage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..columns.numbers import numeric_matrix
from ..columns.table import Table
from ..errors import InputError
from ..io.read import read
from ..measures import Ints
from ..measures.masking_scores import MOST_LINKED, Scores, score_arrays
from ..progress import caution
from ..release import Release
from ..schema import Schema
from ..texts import refusal, text
from ..validation import NAMES, SEED, TEXT, takes, whole
from .matching import by_columns, order_shown_by
from .subject import plan_of, subject


@takes(columns=NAMES, known=whole(), records=whole(), random_state=SEED, missing=NAMES, decimal=TEXT, encoding=TEXT)
def score(
    original: Any,
    masked: Any,
    *,
    columns: list[str] | None = None,
    known: int | None = None,
    records: int | None = MOST_LINKED,
    random_state: int = 0,
    missing: Sequence[str] = (),
    decimal: str = "",
    encoding: str = "",
) -> Scores:
    """Score a masked file against its original: information loss, disclosure risk and their mean.

    A `Release` knows its rows, a release folder by its ``mapping.json``. For other files, row i of one
    must belong to row i of the other, which is tested, or columns that were left unchanged must show
    which rows belong together (`Scores.paired_by`). A caution says if neither is the case. Rows with a
    missing value in a compared column of either file are left out, and counted.

    Parameters
    ----------
    original : path, pandas, Polars or Arrow table, DuckDB relation, array
    masked : the same, or a Release or its folder
    columns : list of str, optional
        Columns to compare, in the order in which an intruder learns them; by
        default every numeric column that both files have, except nameless ones at the front.
    known : int, optional
        Number of columns the intruder knows, at least 1 and at most 20; by default half of the
        compared columns, rounded up.
    records : int or None, default 20,000
        Link at most this many random masked records with all originals; None links all. The time
        grows with the number of rows times `records`.
    random_state : int
        Seed for drawing the records to link.
    missing, decimal, encoding
        How CSV files are read; see `hedgerow.Schema`.

    Raises
    ------
    InputError
        The files differ in rows, share no numeric column, hold infinities, or no
        two rows are complete.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 44, 58, 23], "wage": [20.0, 35.0, 31.0, 15.0]})
    >>> score(people, people).il
    0.0
    """
    reading = Schema(missing=missing, decimal=decimal, encoding=encoding)
    if isinstance(masked, Release) or plan_of(masked) is not None:
        release = subject(masked, None, plan_of(masked))
        # without options the original is read as the release's own table was
        if reading == Schema():
            reading = release.schema.reading()
        first = read(original, schema=reading)
        second, rows, paired_by = release.table, release.rows_of(first), "release"
        if rows is None and release.in_order and first.n_rows == second.n_rows:
            rows = np.arange(first.n_rows)
    else:
        first = read(original, schema=reading)
        second, rows = read(masked, unescape_formulas=True, schema=reading), None
    names, recoded = _compared(first, second, columns)
    if rows is None:
        rows, paired_by = _rows(first, second)
    # masked rows in the order of their originals
    x, y = numeric_matrix(first, names), numeric_matrix(second, names)[np.argsort(rows)]
    complete = ~(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1))
    if complete.sum() < 2:
        raise InputError("fewer than 2 rows are complete in both files", hint="leave out columns mostly missing")
    x, y = x[complete], y[complete]
    scores = score_arrays(x, y, names, known, records, random_state)
    same = tuple(name for name, equal in zip(names, (x == y).all(axis=0).tolist(), strict=True) if equal)
    if same:
        rest = "" if len(same) < len(names) else text("score", "nothing_else")
        caution(text("score", "same", names=", ".join(same), rest=rest))
    if recoded:
        caution(text("score", "recoded", names=", ".join(recoded)))
    return replace(scores, paired_by=paired_by, unchanged=same)


def _rows(original: Table, masked: Table) -> tuple[Ints, str]:
    """Return the original row of each masked row, and the evidence: "order", "columns" or "nothing"."""
    every = np.arange(original.n_rows)
    if order_shown_by(original, masked):
        return every, "order"
    if (match := by_columns(original, masked)) is not None:
        return match.rows[np.argsort(match.released_rows)], "columns"
    caution(text("score", "unpaired"))
    return every, "nothing"


def _compared(first: Table, second: Table, columns: list[str] | None) -> tuple[list[str], list[str]]:
    """Return the columns to compare, and the original's numeric columns that the masked file recoded."""
    if first.n_rows != second.n_rows:
        raise InputError(
            f"the files have {first.n_rows} and {second.n_rows} rows",
            hint="row i of the masked file must belong to row i of the original",
        )
    numbers = [n for n in first.names if n in second.names and first.kind(n) == "numeric"]
    shared = [n for n in numbers if second.kind(n) == "numeric"]
    recoded = [n for n in numbers if n not in shared]
    if columns is None:
        if not (numeric := [n for n in shared if n not in first.layout.dialect.unnamed]):
            raise InputError("the files share no numeric column")
        return numeric, recoded
    if (wrong := [name for name in columns if name not in shared]) or not columns:
        raise InputError(**refusal("not_numeric", names=", ".join(map(repr, wrong)), shared=", ".join(shared)))
    return list(columns), recoded
