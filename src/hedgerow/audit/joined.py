"""A sensitive column that was released as group numbers, joined from its second table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns.column import Column
from ..columns.table import Table
from ..errors import InputError
from ..kernels.siphash import siphash_words
from ..measures import Groups, group
from ..methods.anatomy_tables import COUNT, GROUP, codes_of


def join(
    own: Column, numbered: Column, second: Table, beside: Sequence[npt.NDArray[Any]]
) -> tuple[Column, Groups]:
    """The column as a reader joins it: within a group the values are dealt at random.

    Parameters
    ----------
    own : Column
        The original column.
    numbered : Column
        The group of each row, as released in the column's place; numbers or their text.
    second : Table
        Group, value and count.
    beside : sequence of integer arrays, shape (n_rows,)
        Codes of other columns. With them and the original value a row is dealt its
        value by a hash, so that no order of the rows matters.

    Returns
    -------
    Column
        One of the values of its group for each row, in the original's codes.
    Groups
        The rows by group.

    Raises
    ------
    InputError
        The two tables do not fit.
    """
    where = {str(name): i for i, name in enumerate(numbered.values)}
    names, labels = numbered.values, numbered.codes.astype(np.int64)
    groups = np.array(
        [where.get(str(g), len(names)) for g in second.arrow.column(GROUP).to_pylist()], np.int64
    )
    counts = second.arrow.column(COUNT).to_numpy().astype(np.int64)
    codes = codes_of(own, second)
    unknown = int((codes < 0).sum())
    held = np.bincount(groups, counts, len(names) + 1).astype(np.int64)
    wrong = int((held != np.bincount(labels, minlength=len(names) + 1)).sum())
    if unknown or wrong:
        raise InputError(
            f"the two released tables do not fit: {wrong:,} groups have another number of "
            f"records, {unknown:,} values are not in the original"
        )
    at = np.lexsort((codes, groups))
    values = np.repeat(codes[at], counts[at])
    dealt = np.empty(len(labels), np.int64)
    dealt[np.lexsort((_mixed([labels, own.codes, *beside]), labels))] = values
    return replace(own, codes=dealt), group([labels])


def _mixed(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.uint64]:
    mixed = np.zeros(len(columns[0]), np.uint64)
    for codes in columns:
        mixed = siphash_words(mixed ^ codes.astype(np.uint64), np.uint64(0), np.uint64(0))
    return mixed
