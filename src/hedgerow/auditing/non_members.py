"""Find people whom a release was not made from: a control, or people left out of a refit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns.table import Table
from ..errors import HedgerowError, InputError, translated
from ..guard.guarding import GuardOptions, with_runs
from ..io.read import read
from ..key import Key
from ..measures import Ints
from ..methods.base import Method
from ..plan import Guard, UnitForm
from ..plan.records import RUNS
from ..progress import Tell
from ..schema import Schema
from ..texts import refusal, text
from .design_matrix import in_codes_of
from .pairing import pair_up
from .subject import Subject, of_fitted
from .table_pair import Pair, People, TablePair
from .whole_rows import row_labels

# parts that people are dealt into, each left out once
FOLDS = 3

# releases some of the people by the same method, and pairs the release with them
Refit = Callable[[Table], Pair]


@dataclass(frozen=True, eq=False)
class Outside:
    """A release with its original, and other people whose data the release does not contain.

    Parameters
    ----------
    sides : TablePair
    people : People
        The other people, in the codes of the original.
    members : int array
        The members who may be attacked.
    places : int array
        Places of `people` in the pair that they were left out of; empty for a control.
    """

    sides: TablePair
    people: People
    members: Ints
    places: Ints


def refitting(
    method: Method, schema: Schema, guard: Guard | None = None, random_state: int = 0, units: UnitForm | None = None
) -> Refit:
    """Return a function that refits a method, with its guard, on part of the people and pairs the result."""
    return lambda part: pair_up(part, fitted_again(method, part, schema, guard, random_state, units))


def fitted_again(
    method: Method, part: Table, schema: Schema, guard: Guard | None, random_state: int, units: UnitForm | None = None
) -> Subject:
    """Fit a method to part of the people, and return its release, guarded as the whole one is."""
    fitting, roles, options = part, schema, None
    if guard is not None:
        drawing = Key.from_key_or_seed(random_state=random_state)
        options = GuardOptions(guard.form, guard.people, drawing, guard.rows, guard.cap_on)
        if guard.form == RUNS:
            fitting, roles = with_runs(part, schema, guard.people)
    fitted = method.copy().fit_table(fitting, roles, in_rows=guard is not None and guard.rows)
    return of_fitted(fitted, part, schema, options, units)


def read_control(control: Any, original: Table, schema: Schema) -> tuple[Table, tuple[str, ...]]:
    """Read a control, and leave out whom a category shows to be no member where more than a twentieth have such.

    The release has no category that nobody of the original has, so these people would be told from members by how
    the control was chosen or written. Also returned are notes on them, and on columns without any value.

    Raises
    ------
    InputError
        The control cannot be read, or contains people of the original.
    """
    schema.check(original.names)
    columns = [original.declared_column(schema, name) for name in (*schema.quasi, *schema.sensitive)]
    with translated(HedgerowError, lambda error: type(error)(f"the control: {error.message}", hint=error.hint)):
        table, names, empty = read(control, schema=schema), list[str](), list[str]()
        check_control(original, table, schema)
        unknown = np.zeros(table.n_rows, bool)
        for column in columns:
            codes = in_codes_of(column, table.like(column), column.n_values + 1).codes
            theirs = codes > column.n_values
            # nobody of the control has a value, and most of the original have one
            if (codes == column.n_values).all() and 2 * column.counts()[-1] < original.n_rows:
                empty.append(column.name)
            if not column.is_number and theirs.any():
                names, unknown = [*names, column.name], unknown | theirs
    notes = (text("note", "without_values", names=", ".join(empty)),) if empty else ()
    if 20 * unknown.sum() <= len(unknown):
        return table, notes
    # of a column of many categories most people have one that nobody else has: nobody would be left
    is_most = 2 * unknown.sum() > len(unknown)
    key = "unlike_most" if is_most else "unlike"
    note = text("note", key, n=unknown.sum(), control=len(unknown), names=", ".join(names))
    return table if is_most else Table(table.arrow.take(np.flatnonzero(~unknown))), (note, *notes)


def check_control(original: Table, control: Table, schema: Schema) -> None:
    """Raise InputError if a control contains people of the original, because attacks would show no gain on them.

    Records are compared by all measured columns. Strangers should share somebody else's record as
    often as members do by chance; if far more of them do, they are members themselves.

    Raises
    ------
    SchemaError
        The control lacks a column.
    InputError
        At least a twentieth of the control, beyond chance, shares records with the original.
    """
    Schema(quasi=schema.quasi, sensitive=schema.sensitive, other=schema.other).check(control.names)
    n, m = original.n_rows, control.n_rows
    labels = row_labels(original, control, (*schema.quasi, *schema.sensitive))
    counts = np.bincount(labels[:n], minlength=int(labels.max()) + 1)
    shared = int(np.count_nonzero(counts[labels[n:]]))
    by_chance = float(np.mean(counts[labels[:n]] > 1))
    # a twentieth, and four standard deviations of what chance shares
    if shared / m > by_chance + 4 * math.sqrt(by_chance * (1 - by_chance) / m) + 0.05:
        raise InputError(**refusal("control", shared=shared, control=m, by_chance=by_chance * m))


def with_strangers(sides: TablePair) -> list[Outside]:
    """Return a release with its strangers, as a list that is empty if there are none."""
    if sides.strangers is None:
        return []
    return [Outside(sides, sides.strangers, np.arange(sides.members.n_rows), np.zeros(0, np.int64))]


def left_out(
    pair: Pair, refit: Refit, *, folds: int = FOLDS, random_state: int = 0, progress: Tell
) -> Iterator[Outside]:
    """Refit the method repeatedly, each time without one fold of the people.

    The people of the next part are the members to be asked about, so that everybody is
    once a member and once left out.
    """
    n = pair.n_rows
    fold = np.empty(n, np.int64)
    # dealt over the sorted people, so that neither row order nor equal records decide the parts
    fold[pair.canonical] = np.random.default_rng(random_state).permutation(np.arange(n) % folds)
    for f in range(folds):
        others = np.flatnonzero(fold == f)
        if not len(others):
            continue
        progress(f"strangers: releasing without part {f + 1} of {folds}")
        stay = np.flatnonzero(fold != f)
        # in the order of the original, as if these people alone had been released
        stay = stay[np.argsort(pair.rows[stay])]
        part = refit(Table(pair.original.arrow.take(pair.rows[stay])))
        people = part.people_of(Table(pair.original.arrow.take(pair.rows[others])))
        yield Outside(part, people, np.flatnonzero(fold[stay[part.rows]] == (f + 1) % folds), others)
