"""Who fits a description, before and after: what somebody finds who knows a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns.column import Column
from ..errors import InputError, UnsupportedError
from ..measures import BoolArray, FloatArray
from ..notation import plain
from .example_records import labels
from .released_values import ReleasedColumn
from .table_pair import Pair


@dataclass(frozen=True)
class Fits:
    """The records of one table that fit a description.

    Parameters
    ----------
    records : int
    groups : int
        Classes that these records lie in.
    told : mapping
        Of each sensitive column the typical error of a guess (numbers and dates, the spread), or the
        share of the likeliest value (categories); None where no record fits.
    """

    records: int
    groups: int
    told: Mapping[str, float | None]


@dataclass(frozen=True)
class Found:
    """A description, looked up before and after.

    Parameters
    ----------
    before : Fits
        In the original.
    after : Fits or None
        In the release; None where there is none yet.
    nobody : mapping
        What somebody guesses who knows nobody: the same figures over the whole original.
    numbers : tuple of str
        The sensitive columns whose figure is an error and no share.
    """

    before: Fits
    after: Fits | None
    nobody: Mapping[str, float | None]
    numbers: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        sides = {"before": vars(self.before), "after": self.after and vars(self.after)}
        made: dict[str, Any] = plain({**vars(self), **sides})
        return made


def look_up(pair: Pair, wanted: Mapping[str, str], *, released: bool = True) -> Found:
    """Look a description up.

    Parameters
    ----------
    pair : Pair
    wanted : mapping of str to str
        What is known of a person: values of quasi-identifiers as the table shows them; columns that
        are left out may be anything. No message repeats them.
    released : bool
        False looks in the original alone.

    Raises
    ------
    InputError
        A name is no quasi-identifier, or what is known of a number or date is none.
    UnsupportedError
        The method altered values, so that cells rule nobody out.
    """
    if released and pair.risk_model == "linkage":
        raise UnsupportedError(
            "this release altered values, so no released record can be ruled out by its cells",
            hint="the linking attack of the audit says how many people are found",
        )
    columns = {column.name: column for column in pair.released_quasi}
    if odd := [name for name in wanted if name not in columns]:
        raise InputError(
            f"{', '.join(odd)}: no quasi-identifier", hint=f"these are {', '.join(columns)}"
        )
    known = {name: _code(columns[name].whole, text) for name, text in wanted.items()}
    whole = pair.unchanged
    own = {column.name: column for column in whole.quasi}
    before = np.ones(whole.n_rows, np.bool_)
    for name, code in known.items():
        before &= own[name].codes == code
    after = None
    if released:
        fits = np.ones(pair.n_rows, np.bool_)
        for name, code in known.items():
            column = columns[name]
            fits &= _covers(column, code)[column.codes]
        after = _fits(pair, fits)
    everybody = _fits(whole, np.ones(whole.n_rows, np.bool_))
    numbers = tuple(column.name for column in pair.sensitive if column.is_number)
    return Found(_fits(whole, before), after, everybody.told, numbers)


def _code(column: Column, text: str) -> float:
    """The code of a value; of a number that nobody has, between two codes; -1 for none."""
    text = text.strip()
    if not text:
        return float(column.n_values)
    shown = labels(column)
    if text in shown:
        return float(shown.index(text))
    if not column.is_number or column.unit:
        return -1.0
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"what is known of {column.name} is not a number") from None
    at = int(np.searchsorted(column.values, value))
    same = at < column.n_values and column.values[at] == value
    return float(at) if same else at - 0.5


def _covers(column: ReleasedColumn, code: float) -> BoolArray:
    """Which cells may stand for a value."""
    m = column.original.n_values
    free = column.anything | column.stands_in
    if code == m:
        return column.missing | free
    if column.is_number:
        values = column.original.values
        known = np.isfinite(column.lo)
        lo = np.searchsorted(values, np.where(known, column.lo, np.inf), "left")
        hi = np.searchsorted(values, np.where(known, column.hi, -np.inf), "right") - 1
        return np.asarray(free | ((lo <= code) & (code <= hi)))
    held = [bool((members == code).any()) for members in column.members]
    return np.asarray(column.anything | np.array(held, np.bool_))


def _fits(side: Pair, rows: BoolArray) -> Fits:
    found = np.flatnonzero(rows)
    groups = len(np.unique(side.classes.labels[found]))
    told = side.value_groups.labels.astype(np.int64)
    # a group tells all of its values, each as surely as records of it fit
    share = np.bincount(told[found], minlength=len(side.value_groups.sizes)) / side.value_groups.sizes
    weights = share[told]
    names = [column.name for column in side.sensitive]
    figures = [_guess_error(column, weights) for column in side.released_sensitive]
    return Fits(len(found), groups, dict(zip(names, figures, strict=True)))


def _guess_error(column: Column, weights: FloatArray) -> float | None:
    if column.is_number:
        y = column.numbers
        known = np.isfinite(y) & (weights > 0)
        if not known.any():
            return None
        mean = np.average(y[known], weights=weights[known])
        return float(np.sqrt(np.average((y[known] - mean) ** 2, weights=weights[known])))
    counts = np.bincount(column.codes, weights, column.n_values + 1)
    return float(counts.max() / counts.sum()) if counts.sum() else None
