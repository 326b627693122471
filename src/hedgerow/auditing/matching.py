"""Find the original row behind each released one: by what the release knows, by whole rows, or by a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc  # scipy.stats takes longer to load than a small table

from ..columns.column import Column
from ..columns.table import Table
from ..errors import InputError, SchemaError, did_you_mean
from ..measures import Ints, group
from ..texts import text
from .released_values import ReleasedColumn
from .subject import Subject, Unpaired
from .whole_rows import shared

# chance that rows in a random order pass the test of the order
LEVEL = 1e-6
# share of the rows that may have several originals before whole rows count as no match
UNSURE = 0.01
# pairs of rows with equal unchanged cells that are told apart by what other cells cover
_MOST_TRIED = 20_000_000


@dataclass(frozen=True, eq=False)
class RowPairs:
    """The pairs of original and released rows that belong together.

    Parameters
    ----------
    rows, released_rows : int64 arrays, shape (n_pairs,)
        Row of the original, ascending, and of the release.
    by : {"release", "key", "plan", "columns", "order"}
        The evidence that they belong together.
    columns : tuple of str
        The columns that show it.
    unsure : int
        Released rows that have several originals with the same unchanged cells.
    """

    rows: Ints
    released_rows: Ints
    by: str
    columns: tuple[str, ...] = ()
    unsure: int = 0

    def note(self) -> str | None:
        """Return a note on the evidence used to pair the rows; None if the release or its user gave the pairs."""
        if self.by not in ("columns", "order"):
            return None
        key = "paired_unsure" if self.unsure else f"paired_by_{self.by}"
        return text("note", key, names=", ".join(self.columns), unsure=self.unsure)


def find_rows(original: Table, subject: Subject, quasi: Sequence[ReleasedColumn], key: str | None = None) -> RowPairs:
    """Find the original row that each released row comes from.

    Rows are paired by the first of these that applies: the key, if one is named; the release or its
    plan, if they know the rows; the unchanged columns, if these identify rows; the order of the
    rows, if a test (`order_shown_by`) confirms it.

    Parameters
    ----------
    original : Table
    subject : Subject
        The release.
    quasi : sequence of ReleasedColumn
        Its quasi-identifiers as read, row by row of the released table.
    key : str, optional
        A column of both tables that numbers the rows.

    Raises
    ------
    Unpaired
        Nothing shows which rows belong together.
    InputError, SchemaError
        The key column is missing, or is not a key.
    """
    released = subject.table
    if key is not None:
        return _by_key(original, released, key)
    reason = None
    try:
        rows = subject.rows_of(original)
    except Unpaired as error:
        rows, reason = None, error
    if rows is not None:
        return _pairs(rows, "plan" if subject.rows is None else "release")
    if subject.in_order and original.n_rows == released.n_rows:
        return _pairs(np.arange(original.n_rows), "plan")
    pairs = by_columns(original, released, quasi)
    # a release in the order of its content (the reason) has no order to test
    may_be_in_order = pairs is None and original.n_rows == released.n_rows and reason is None
    if may_be_in_order and (columns := order_shown_by(original, released, quasi)):
        pairs = _pairs(np.arange(original.n_rows), "order", columns)
    if pairs is not None:
        return pairs
    if reason is not None:
        raise reason
    raise Unpaired(
        f"the tables cannot be aligned: nothing tells which of the {original.n_rows:,} original rows stand "
        f"behind the {released.n_rows:,} released ones: no unchanged columns identify them, and their order "
        "shows nothing",
        hint=(
            "give the Release itself or its folder, the plan (plan=, --plan), or a column with a different value in "
            "every row of both tables (key=, --key)"
        ),
    )


def _pairs(rows: npt.NDArray[Any], by: str, columns: Sequence[str] = (), unsure: int = 0) -> RowPairs:
    """Build `RowPairs` from the original row of each released row."""
    order = np.argsort(rows, kind="stable")
    return RowPairs(np.asarray(rows, np.int64)[order], order, by, tuple(columns), unsure)


def _by_key(before: Table, after: Table, key: str) -> RowPairs:
    if lost := [where for where, t in (("original", before), ("released", after)) if key not in t.names]:
        similar = did_you_mean(key, {*before.names, *after.names} - {key})
        raise SchemaError(f"there is no key column {key!r} in the {' and the '.join(lost)} table{similar}")
    numbers, released_numbers = before.column(key, kind="categorical"), after.column(key, kind="categorical")
    for where, column in (("original", numbers), ("released", released_numbers)):
        missing = int((column.codes == column.n_values).sum())
        counts = column.counts()[: column.n_values]
        twice = int(counts[counts > 1].sum())
        if missing or twice:
            raise InputError(
                f"{key!r} is no key of the {where} table: rows without a value: {missing:,}, that share one: {twice:,}"
            )
    originals = released_numbers.codes_in(numbers, unknown=-1)
    if unknown := int((originals < 0).sum()):
        raise InputError(
            f"the tables cannot be aligned: {unknown:,} of {after.n_rows:,} released rows have a {key!r} that the "
            "original table does not have"
        )
    row_of = np.empty(numbers.n_values, np.int64)
    row_of[numbers.codes] = np.arange(before.n_rows)
    return _pairs(row_of[originals], "key", [key])


def by_columns(before: Table, after: Table, quasi: Sequence[ReleasedColumn] = ()) -> RowPairs | None:
    """Pair rows by the columns that the release left unchanged, if these identify rows.

    A column counts as left where each of its values occurs at most as often as in the original,
    and still does together with the columns taken before it, the one of most values first. One
    such column alone might have been swapped between rows: then ranges or sets of the other
    columns must cover every row.
    """
    names: list[str] = []
    telling, changed = 0, []
    labels = np.zeros(before.n_rows + after.n_rows, np.int64)
    # columns of many values identify rows; later ones are held to what these already say
    most_first = sorted(shared(before, after), key=lambda both: (-both[0].n_values, both[0].name))
    for one, other in most_first:
        codes = np.concatenate([one.codes.astype(np.int64), other.codes_in(one, unknown=-1)])
        joint = group([labels, codes + 1]).labels.astype(np.int64)
        if (codes < 0).any() or not _contained(joint[: before.n_rows], joint[before.n_rows :]):
            changed.append((one.codes, other.codes))
            continue
        labels = joint
        names.append(one.name)
        telling += one.n_values + one.has_missing > 1
    if changed and not telling:
        return None
    of_quasi = [(c.original.codes, c.codes) for c in quasi]
    rows, unsure = _matched(labels, before.n_rows, quasi, [*of_quasi, *changed])
    if rows is None or (changed and telling < 2 and not _covered(quasi, rows)):
        return None
    return _pairs(rows, "columns", names, unsure)


def _contained(before: Ints, after: Ints) -> bool:
    """Return whether every label occurs at most as often after as before."""
    n = int(max(before.max(), after.max())) + 1
    return bool((np.bincount(after, minlength=n) <= np.bincount(before, minlength=n)).all())


def _matched(
    labels: Ints, n: int, quasi: Sequence[ReleasedColumn], others: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]]
) -> tuple[Ints | None, int]:
    """Return the original row of each released row with the same label, and the number of ambiguous rows.

    The rows are None if too many are ambiguous. Among several originals with the same label, the
    one is chosen that the released cells fit best, in columns whose cells cover all unambiguous
    rows. A choice that changes no figure is not ambiguous: between originals with equal other
    columns, or for equal released rows that are as many as the originals.
    """
    before, after = labels[:n], labels[n:]
    others_before = group([codes for codes, _ in others], n).labels
    others_after = group([codes for _, codes in others], len(after)).labels
    # by content, so that the order of the rows decides nothing
    order, order_after = np.lexsort((others_before, before)), np.lexsort((others_after, after))
    width = int(labels.max()) + 1
    # the start of each label among the sorted labels, then the total
    first, begin = (np.append(0, np.cumsum(np.bincount(part, minlength=width))) for part in (before, after))
    n_before, n_after = np.diff(first), np.diff(begin)
    rows_found = np.empty(len(after), np.int64)
    rows_found[order_after] = order[first[after[order_after]] + np.arange(len(after)) - begin[after[order_after]]]
    same = _one_value(before, others_before, width) | (_one_value(after, others_after, width) & (n_before == n_after))
    unclear = np.flatnonzero((n_before > 1) & (n_after > 0) & ~same)
    if n_before[unclear] @ n_after[unclear] > _MOST_TRIED:
        return None, int(n_after[unclear].sum())
    sure = (n_before[after] == 1).nonzero()[0]
    telling = [c for c in quasi if c.covers(c.original.codes[rows_found[sure]], c.codes[sure]).all()]
    unsure = 0
    if len(unclear):
        # imported here: most releases leave nothing to choose
        from scipy.optimize import linear_sum_assignment
    for label in unclear:
        candidates = order[first[label] : first[label + 1]]
        rows = order_after[begin[label] : begin[label + 1]]
        misfit = _misfit(telling, rows, candidates)
        for row in misfit:
            fitting = others_before[candidates[row == row.min()]]
            unsure += bool((fitting != fitting[0]).any())
        if unsure > UNSURE * len(after):
            return None, unsure
        rows_found[rows] = candidates[linear_sum_assignment(misfit)[1]]
    return rows_found, unsure


def _one_value(labels: Ints, codes: npt.NDArray[Any], width: int) -> npt.NDArray[np.bool_]:
    """Return which labels have at most one distinct code among their rows; shape (width,)."""
    low, high = np.full(width, len(codes)), np.full(width, -1)
    np.minimum.at(low, labels, codes)
    np.maximum.at(high, labels, codes)
    return low >= high


def _misfit(quasi: Sequence[ReleasedColumn], rows: Ints, candidates: Ints) -> npt.NDArray[np.int64]:
    """Count each released row's cells that do not cover a candidate's values; (n_rows, n_candidates)."""
    i, j = (x.ravel() for x in np.meshgrid(rows, candidates, indexing="ij"))
    missed = np.zeros(len(i), np.int64)
    for column in quasi:
        missed += ~column.covers(column.original.codes[j], column.codes[i])
    return missed.reshape(len(rows), len(candidates))


def _covered(quasi: Sequence[ReleasedColumn], rows: Ints) -> bool:
    """Return whether there are columns with ranges or sets, and all their cells cover the original values."""
    general = [c for c in quasi if c.general]
    return bool(general) and all(c.covers(c.original.codes[rows], c.codes).all() for c in general)


def order_shown_by(before: Table, after: Table, quasi: Sequence[ReleasedColumn] = ()) -> list[str]:
    """Return the columns that show that row i of one table belongs to row i of the other.

    Rows are taken in pairs of neighbours. In each column a pair fits better as it stands, or with
    its two rows exchanged, or equally well both ways. If the order is random, the first two cases
    are equally likely for each pair, so the number of pairs that fit as they stand is binomial with
    probability one half. A column shows the order if more pairs fit as they stand than chance gives
    with probability `LEVEL`, divided by the number of columns. Numbers fit by their distance,
    ranges and sets if they cover the original value.

    A column by which both tables are sorted shows nothing: neighbours would fit in any two sorted
    tables of the same people. The same holds for a column that is sorted within these columns.

    Parameters
    ----------
    before, after : Table
        Two tables with the same number of rows.
    quasi : sequence of ReleasedColumn
        The released quasi-identifiers, which replace those of `after`.

    Returns
    -------
    list of str
        The columns in the order of the original; empty if none shows that the rows correspond.
    """
    pairs = {one.name: (one, other) for one, other in shared(before, after)}
    read = {column.name: column for column in quasi}
    views = {n: _ranks(read[n]) if n in read else (one.codes, other.codes) for n, (one, other) in pairs.items()}
    in_order = _sorted_by([(name, *view) for name, view in views.items()])
    tested = [name for name in pairs if name not in in_order]
    # neighbours in the order as it stands; a last single row says nothing
    two = np.arange(before.n_rows // 2 * 2).reshape(-1, 2)
    columns = []
    for name in tested:
        if name in read:
            as_they_stand, changed = (_cell_distance(read[name], two, at) for at in (two, two[:, ::-1]))
        else:
            as_they_stand, changed = (_distance(*pairs[name], two, at) for at in (two, two[:, ::-1]))
        fit, misfit = int((as_they_stand < changed).sum()), int((as_they_stand > changed).sum())
        # Bonferroni: each of several columns has its chance to show an order that is none
        if len(tested) * bdtrc(fit - 1, fit + misfit, 0.5) <= LEVEL:
            columns.append(name)
    return columns


def _ranks(column: ReleasedColumn) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the codes of the original values and of the released cells; numeric cells are numbered in order."""
    if not column.is_number:
        return column.original.codes, column.codes
    place = np.empty(column.n_cells, np.int64)
    place[np.lexsort((column.hi, column.lo))] = np.arange(column.n_cells)
    return column.original.codes, place[column.codes]


def _distance(one: Column, other: Column, rows: Ints, at: Ints) -> npt.NDArray[Any]:
    """Return the distance between original and released values, summed over each pair of rows."""
    if not one.is_number:
        return np.sum(one.codes[rows] != other.codes_in(one, unknown=-1)[at], axis=1)
    x, y = one.numbers, other.numbers
    span = float(one.values[-1] - one.values[0]) if one.n_values else 0.0
    distance = np.abs(x[rows] - y[at]) / (span or 1.0)
    missing = np.isnan(x)[rows].astype(np.int64) + np.isnan(y)[at]
    return np.sum(np.where(missing == 0, np.minimum(distance, 1.0), missing == 1), axis=1)


def _cell_distance(column: ReleasedColumn, rows: Ints, at: Ints) -> npt.NDArray[Any]:
    """Return the distance between original values and released cells, summed over each pair of rows."""
    codes, cells = column.original.codes[rows], column.codes[at]
    missed = ~column.covers(codes, cells)
    if not column.is_number:
        return np.sum(missed, axis=1)
    x = column.original.by_code[codes]
    distance = np.maximum(column.lo[cells] - x, x - column.hi[cells]) / (column.span or 1.0)
    distance = np.where(np.isfinite(distance), np.clip(distance, 0.0, 1.0), 1.0)
    return np.sum(np.where(missed, distance, 0.0), axis=1)


def _sorted_by(columns: Sequence[tuple[str, npt.NDArray[Any], npt.NDArray[Any]]]) -> list[str]:
    """Return the columns by which both tables are sorted, from the outermost to the innermost."""
    names: list[str] = []
    runs = [np.zeros(len(columns[0][1]), np.int64) for _ in range(2)] if columns else []
    n = len(runs[0]) if runs else 0
    going = True
    while going and all(r[-1] < n // 2 for r in runs):
        going = False
        for name, *both in columns:
            if name not in names and all(map(_in_order, both, runs)):
                runs = [_runs(codes, run) for codes, run in zip(both, runs, strict=True)]
                names.append(name)
                going = True
                break
    return names


def _in_order(codes: npt.NDArray[Any], runs: Ints) -> bool:
    """Return whether the codes in every run ascend, descend, or keep equal codes next to each other."""
    within = runs[1:] == runs[:-1]
    step = np.diff(codes.astype(np.int64))[within]
    if (step >= 0).all() or (step <= 0).all():
        return True
    together = group([runs, codes]).n_groups
    return together <= len(codes) // 2 and int(_runs(codes, runs)[-1]) + 1 == together


def _runs(codes: npt.NDArray[Any], runs: Ints) -> Ints:
    """Split runs of rows wherever the code changes, and return the new run of each row."""
    return np.concatenate([[0], np.cumsum((codes[1:] != codes[:-1]) | (runs[1:] != runs[:-1]))])
