"""Fit a guard to a table and the groups of its release, and make the guarded columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtri

from ..backends.partitions import route
from ..backends.randomize import hashes
from ..backends.release_order import ReleasedCodes
from ..columns.arrays import WINDOW, decoded, slices, value_type
from ..columns.column import Column, smallest
from ..columns.order import ranks_of
from ..columns.roles import check_weights
from ..columns.table import Table
from ..errors import InfeasibleError, UnsupportedError
from ..kernels.even_draws import PairErrors, swap_impossible, swap_towards
from ..key import Key
from ..measures import Classes, Counts, Floats, Groups, Ints, Persons, group
from ..measures.guarantees import ColumnGuarantee, from_promise
from ..notation import moment
from ..plan import Guard, GuardedColumn, Partition, Plan, Vector
from ..plan.records import AGAIN, REDRAW, RUNS, dumps
from ..schema import Kind, Schema
from .draws import SMOOTHED, Draws, Joints
from .moments import SHRINK, group_tilts, scores_of
from .runs import EACH, Runs, previous_values, runs_of

# whole numbers of at most so many values are codes or counts: they are drawn by shares
FEW = 25
# people who share a released value where the plan promises no k
FEWEST = 10
# people who should have a pair of values that hardly anybody has
EXPECTED = 10
# records of tables whose drawn rows are brought near to them: in smaller ones that would show who is in them
LEAST_SWAPPED = 1000
# people of the table for each pair of bins whose count drawn rows are brought near to, on average
PER_PAIR = 50
# standard errors of a sample as large as the table within which counts and correlations stay as they were drawn
ERRORS = 2
# pairs of rows that are compared for each column, and in all columns together, at most
# and rows of its group that each row with a rare pair is held against in a turn
TURNS, COMPARED, LOOKED = 24, 3_000_000, 1_000
# columns whose rank correlation inside groups is above this are drawn together
TOGETHER = 0.8
# by two columns: 1 for the pairs of their bins that hardly anybody has, 2 for those that nobody has
Rare = dict[tuple[str, str], NDArray[np.uint8]]
# normal scores are rounded to whole numbers of 1024ths, so that their sums are exact
_EXACT = 1024
# and those of pairs to 32nds, so that their squares are
_UNIT = 32
# bytes that draws take for a cell, at most
DRAWN = 64


@dataclass(frozen=True)
class _Coded:
    """A column with its record, and the code of each row among the values that may be released."""

    record: GuardedColumn
    codes: Ints
    runs: Runs | None = None

    @property
    def visible(self) -> Ints:
        """Return the codes as readers see them: what is withheld is missing."""
        return np.where(self.codes < 0, self.record.n_values, self.codes)


def group_numbers(columns: Mapping[str, pa.Array | ReleasedCodes], names: Sequence[str], n_rows: int) -> Groups:
    """Return the classes of equal released cells, numbered in the order of their texts."""
    # columns that share their codes are grouped by these first, which are few
    shared: dict[int, list[tuple[NDArray[Any], NDArray[Any]]]] = {}
    for name in names:
        column = columns[name]
        if isinstance(column, ReleasedCodes):
            numbers, entries, place = column.numbers, column.entries, column.place
        else:
            coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode("encode")
            coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
            missing = len(coded.dictionary)
            numbers = coded.indices.fill_null(missing).to_numpy(zero_copy_only=False)
            entries = pa.concat_arrays([coded.dictionary, pa.nulls(1, coded.dictionary.type)])
            place = np.arange(missing + 1)
        shared.setdefault(id(numbers), []).append((numbers, ranks_of(entries)[0].astype(np.int64)[place]))
    keys = []
    for parts in shared.values():
        numbers = parts[0][0]
        keys.append((group([ranks for _, ranks in parts]).labels if len(parts) > 1 else parts[0][1])[numbers])
    return group(keys, n_rows)


@dataclass(frozen=True)
class GuardOptions:
    """The form of a guard that was asked for, and its key.

    Parameters
    ----------
    form : {"runs", "redraw"}
    people : int, optional
        Fewest people who share a released value; by default the plan's k.
    key : Key
        Of the draws.
    rows : bool, default False
        Whether quasi-identifiers are drawn as well.
    """

    form: str
    people: int | None
    key: Key
    rows: bool = False

    @classmethod
    def of(cls, method: Any, form: str, people: int | None, key: Key) -> GuardOptions:
        """Return the options for a method, which says whether quasi-identifiers are drawn as well."""
        return cls(form, people, key, form == REDRAW and getattr(method, "in_rows", False))


def unguarded_columns(plan: Plan, pseudonyms: Collection[str] = ()) -> list[str]:
    """Return the columns that a guarded release keeps row by row: other ones, and pseudonyms."""
    dropped = set(plan.left_out) - set(pseudonyms)
    guarded = {column.name for column in plan.guard.columns} if plan.guard else set()
    guarded |= {plan.weight} if plan.has_mean_weights else set()
    return [c.name for c in plan.columns if c.role != "quasi" and c.name not in dropped | guarded]


def guarded(
    options: GuardOptions, table: Table, schema: Schema, plan: Plan, columns: Mapping[str, Any],
    pseudonyms: Collection[str],
) -> tuple[Plan, dict[str, ReleasedCodes]]:  # fmt: skip
    """Return a plan with its guard, and the guarded columns of its release.

    Parameters
    ----------
    options : GuardOptions
    table, schema, plan
        The original, its roles and the fitted plan.
    columns : mapping of str to pyarrow array, or ReleasedCodes
        The released quasi-identifiers.
    pseudonyms : collection of str
        Identifiers that are replaced.
    """
    quasi = plan.names("quasi")
    # columns that no recoding changes
    same = {name: decoded_cells(table, name) for name in quasi if name not in columns}
    groups = group_numbers({**columns, **same}, quasi, table.n_rows)
    people = options.people or max((p["k"] for p in plan.promises if "k" in p), default=FEWEST)
    guard, joints, codes = fit_guard(options, people, table, schema, plan, groups)
    if guard.form == RUNS:
        withheld = [c.name for c in guard.columns if not c.n_values]
        if withheld:
            sensitive = [_column(c, codes[c.name]) for c in guard.columns if c.role == "sensitive"]
            classes = Classes.from_groups(groups, sensitive)
            promises = [p for p in map(from_promise, plan.promises) if isinstance(p, ColumnGuarantee)]
            if not all(promise.holds_in(classes).all() for promise in promises):
                raise InfeasibleError(
                    f"a promise about {', '.join(withheld)} cannot be kept, because all of its values are withheld",
                    hint="no value has enough people: join values, or lower guard_people (--guard-people)",
                )
        return replace(plan, guard=guard), {c.name: as_released(c, codes[c.name], table) for c in guard.columns}
    guard, items = draw(guard, joints, codes, plan, options.key)
    plan = replace(plan, guard=guard)
    return plan, assigned_to_rows(plan, items, table, groups, unguarded_columns(plan, pseudonyms), options.key)


def decoded_cells(table: Table, name: str) -> pa.Array:
    """Return the cells of a column, decoded."""
    parts = [decoded(table.take(name, at)) for at in slices(table.n_rows, WINDOW)]
    return pa.chunked_array(parts).combine_chunks()


def with_runs(table: Table, schema: Schema, people: int) -> tuple[Table, Schema]:
    """Return a table that has the runs of each sensitive column beside it, and a schema in which they are sensitive."""
    runs_by_name: dict[str, pa.Array] = {}
    kinds, categories, events = dict(schema.kinds), dict(schema.categories), dict(schema.events)
    for name in schema.sensitive:
        column = _coded(table, schema, name, people, _person(table, schema))
        if not column.record.n_values:  # nothing is told of it
            continue
        runs = f"{name} (runs)"
        while runs in table.names:
            runs += "'"
        runs_by_name[runs] = as_released(column.record, column.visible, table).cells()
        kinds[runs] = table.declared_kind(schema, name)
        if column.record.order:
            categories[runs] = column.record.order
        if column.record.events:
            events[runs] = column.record.events
    sensitive = (*schema.sensitive, *runs_by_name)
    roles = replace(schema, sensitive=sensitive, kinds=kinds, categories=categories, events=events)
    return table.replaced(runs_by_name), roles


def _person(table: Table, schema: Schema) -> Ints | None:
    """Return who each record counts as, a person or a household; None if every record is one."""
    persons = Persons.from_table(table, schema.person, schema.household)
    if persons is None:
        return None
    return persons.codes if persons.homes is None else persons.homes[persons.codes]


def _joined_cells(plan: Plan, table: Table, groups: Groups, person: Ints | None, people: int) -> Groups:
    """Return the cells of the plan's tree that groups were joined from; they are numbered group after group.

    A group with a cell of fewer than `people` people is one cell.
    """
    assert isinstance(plan.recoding, Partition)
    leaf = route(plan.recoding, [table.like(c) for c in plan.recoding.columns]).astype(np.int64)
    cells = group([groups.labels, leaf])
    labels = cells.labels.astype(np.int64)
    counted = cells.sizes if person is None else np.bincount(np.unique(np.stack([labels, person]), axis=1)[0])
    leaf[np.isin(groups.labels, groups.labels[cells.first[counted < people]])] = 0
    return group([groups.labels, leaf])


def fit_guard(
    options: GuardOptions, people: int, table: Table, schema: Schema, plan: Plan, groups: Groups
) -> tuple[Guard, Joints, dict[str, Ints]]:
    """Return the guard of a table's sensitive columns, what follows from what, and each row's code.

    Parameters
    ----------
    options : GuardOptions
    people : int
        Fewest people who share a released value.
    table, schema, plan
        The original, its roles and the fitted plan.
    groups : Groups
        The groups of the release.
    """
    person = _person(table, schema)
    roles = ("quasi", "sensitive") if options.rows else ("sensitive",)
    # whom others follow come before them
    names = [n for role in roles for n in sorted(plan.names(role), key=lambda n: len(schema.leaders(n)))]
    columns = [_coded(table, schema, name, people, person) for name in names]
    weight = schema.hidden_weight
    if options.form == RUNS:
        if weight is not None:
            columns.append(_coded(table, schema, weight, people, person))
        codes = {c.record.name: c.visible for c in columns}
        return Guard(RUNS, people, tuple(c.record for c in columns)), {}, codes
    by_role = {"sensitive": groups}
    by_role |= {"quasi": _joined_cells(plan, table, groups, person, people)} if options.rows else {}
    labels, sizes = groups.labels.astype(np.int64), groups.sizes
    columns = _sorted_categories(columns)
    within = _correlation_within(columns, labels, sizes)
    records, joints, heads = [], dict[str, tuple[Ints, Ints]](), []
    for i, column in enumerate(columns):
        role = column.record.role
        near = [j for j in range(i) if abs(within[i, j]) > TOGETHER and columns[j].record.role == role]
        declared = schema.follows.get(column.record.name)
        leader = names.index(declared) if declared is not None else near[-1] if near else None
        if leader is not None:
            records.append(replace(column.record, follows=columns[leader].record.name))
            # whose value is withheld lends none, or rows would have no value where everybody has one
            lends = column.codes >= 0 if (column.codes >= 0).any() else slice(None)
            first, second = columns[leader].visible[lends], column.visible[lends]
            order = np.lexsort((second, first))
            joints[column.record.name] = first[order], second[order]
            continue
        heads.append(i)
        records.append(_by_groups(column, by_role[role].labels.astype(np.int64), by_role[role].sizes))
    lower = np.rint(100 * within[np.ix_(heads, heads)]).astype(np.int64)[np.tril_indices(len(heads))]
    nothing = np.zeros(len(sizes), np.int64)
    cells = _whole(by_role["quasi"].sizes if options.rows else nothing[:0])
    weights = [] if weight is None else mean_weights(check_weights(table, weight), labels, sizes)
    guard = Guard(
        REDRAW, people, tuple(records), _whole(sizes), _whole(nothing), _whole(lower), cells=cells,
        weights=Vector("d", weights),
    )  # fmt: skip
    return guard, joints, {c.record.name: c.codes for c in columns}


def draw(
    guard: Guard, joints: Joints, codes: Mapping[str, Ints], plan: Plan, key: Key
) -> tuple[Guard, dict[str, Ints]]:
    """Draw the items of all groups; return them with the guard, which counts the groups drawn again.

    A group may tell more than its originals, and more than was promised: a tail is told of all groups
    alike, so means weigh more. It is drawn again then, more and more from the whole table. Drawing until
    chance favours a promise would leave out what is far from the middle.
    """
    promises = [p for p in map(from_promise, plan.promises) if isinstance(p, ColumnGuarantee)]
    bound = key_of(key, plan, guard)
    again, draws = np.asarray(guard.again, np.int64).copy(), Draws(guard, bound, joints)
    every = np.arange(len(draws.sizes))
    items = draws.items("quasi", np.arange(len(guard.cells)), np.zeros(len(guard.cells), np.int64))
    items |= draws.items("sensitive", every, again)
    labels = np.repeat(every, draws.sizes).astype(np.uint32)
    groups = Groups(labels, draws.starts[:-1])
    while promises:
        sensitive = [_column(c, items[c.name]) for c in guard.columns if c.role == "sensitive"]
        classes = Classes.from_groups(groups, sensitive)
        bad = np.flatnonzero(~np.all([promise.holds_in(classes) for promise in promises], axis=0))
        if not len(bad):
            break
        again[bad] += 1
        if again.max() > 2 * AGAIN:
            raise InfeasibleError(
                "a group drawn from the whole table still breaks a promise about it",
                hint="ask for larger groups (k), or for less",
            )
        at = np.bincount(bad, minlength=len(every))[labels] > 0
        for name, codes_again in draws.items("sensitive", bad, again).items():
            items[name][at] = codes_again
    guard = replace(guard, again=_whole(again))
    if not guard.rows:
        return guard, draws.reordered(items)
    bins, rare = rare_pairs(guard, codes)
    items = draws.reordered(possible(guard, items, bins, rare))
    items = near_table(guard, items, codes)
    items, n_impossible = without_impossible(guard, items, bins, rare)
    return replace(guard, impossible=n_impossible), items


def rare_pairs(guard: Guard, codes: Mapping[str, Ints]) -> tuple[dict[str, Ints], Rare]:
    """Return the bin of each code of each column, and which pairs of bins hardly anybody has.

    A pair is rare if fewer people have it than share a released value, and `EXPECTED` and ten times as
    many would if the two columns had nothing to do with each other: one person more makes no pair possible.
    """
    bins = {c.name: _coarse(c) for c in guard.columns}
    rows = {name: (of_code[codes[name]], codes[name] >= 0) for name, of_code in bins.items()}
    rare: Rare = {}
    unit = _bundles(guard)
    for i, a in enumerate(guard.columns):
        for j, b in enumerate(guard.columns[:i]):
            if unit[i] == unit[j]:  # they move together, so no swap parts them
                continue
            n_a, n_b = (int(bins[c.name].max(initial=0)) + 1 for c in (a, b))
            counted = _pair_counts(rows[a.name], rows[b.name], n_a * n_b, n_b).reshape(n_a, n_b)
            expected = np.outer(counted.sum(axis=1), counted.sum(axis=0)) / max(int(counted.sum()), 1)
            few = (counted < guard.people) & (expected >= EXPECTED) & (EXPECTED * counted <= expected)
            if few.any():
                rare[a.name, b.name] = (few * (1 + (counted == 0))).astype(np.uint8)
    return bins, rare


def _pair_counts(one: tuple[Ints, Any], two: tuple[Ints, Any], n_cells: int, width: int) -> Ints:
    """Count the pairs of bins of two columns' rows, each with whether its value may be released; both must."""
    cells, with_value = one[0] * width + two[0], one[1] & two[1]
    return np.bincount(cells if with_value.all() else cells[with_value], minlength=n_cells)


def possible(guard: Guard, items: Mapping[str, Ints], bins: Mapping[str, Ints], rare: Rare) -> dict[str, Ints]:
    """Move numbers that would make a rare pair with every category drawn in their cell.

    They go to the nearest run of the table that does not. Only quasi-identifiers outside bundles are
    looked at: shares of sensitive columns are smoothed. Nothing of the cell enters but its draws.
    """
    sizes = np.asarray(guard.cells, np.int64)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    leaders = {c.follows for c in guard.columns}
    alone = [c for c in guard.columns if c.role == "quasi" and not c.follows and c.name not in leaders]
    moved = dict(items)
    for column in (c for c in alone if c.by_moments):
        n = column.n_values
        bin_of, codes = bins[column.name], items[column.name]
        n_bins = int(bin_of[n - 1]) + 1
        fits = np.ones((len(sizes), n_bins), np.bool_)
        for other in alone:
            few = rare.get((column.name, other.name))
            few = rare[other.name, column.name].T if (other.name, column.name) in rare else few
            if few is None or other.by_moments:
                continue
            occurs = np.zeros((len(sizes), few.shape[1]), np.float32)
            occurs[labels, bins[other.name][items[other.name]]] = 1
            harmless: NDArray[np.bool_] = np.asarray(few[:n_bins].T == 0)
            fits &= np.greater(occurs @ harmless, 0)
        number = np.arange(n_bins)
        first = np.searchsorted(bin_of[:n], number)
        last = np.searchsorted(bin_of[:n], number, side="right") - 1
        below: Ints = np.maximum.accumulate(np.where(fits, number, -1), axis=1)
        above: Ints = np.minimum.accumulate(np.where(fits, number, n_bins)[:, ::-1], axis=1)[:, ::-1]
        some: NDArray[np.bool_] = np.asarray(fits.any(axis=1))
        at = np.flatnonzero((codes < n) & some[labels])
        at = at[~fits[labels[at], bin_of[codes[at]]]]
        place = labels[at], bin_of[codes[at]]
        low, high = last[below[place]], first[np.minimum(above[place], n_bins - 1)]
        down = np.where(below[place] >= 0, codes[at] - low, n)
        up = np.where(above[place] < n_bins, high - codes[at], n)
        moved[column.name] = codes.copy()
        moved[column.name][at] = np.where(down <= up, low, high)
    return moved


def near_table(guard: Guard, items: Mapping[str, Ints], codes: Mapping[str, Ints]) -> dict[str, Ints]:
    """Swap values inside groups until pairs of columns are about as frequent, and as correlated, as in the table.

    Counts are of pairs of coarse bins. What lies within `ERRORS` standard errors, or half as many people as share a
    released value, is left: it would tell who happens to be in the table, and not what people are like.
    """
    columns, unit, n = guard.columns, _bundles(guard), int(np.asarray(guard.sizes).sum())
    turns = min(COMPARED // max(n * (int(unit.max()) + 1), 1), TURNS)
    if n < LEAST_SWAPPED or not turns:
        return dict(items)
    parts = int(np.clip(np.sqrt(n / PER_PAIR), 2, 20))
    bins, scores = ([f(c) for c in columns] for f in (partial(_coarse, parts=parts), _normal_scores))
    # of the table's rows, and of those that were drawn
    original, released = (
        [np.stack([at[x[c.name]] for c, at in zip(columns, each, strict=True)]) for each in (bins, scores)]
        for x in (codes, items)
    )
    visible = np.stack([codes[c.name] >= 0 for c in columns])
    wanted_sums, sums = (np.einsum("in,jn", z, z).tolist() for z in (original[1] * visible, released[1]))
    pairs = np.zeros((len(unit), len(unit), 4), np.int64)
    counts, products, start = [np.zeros((0, 3), np.int64)], list[tuple[int, int]](), 0
    for i, j in combinations(range(len(unit)), 2):
        if unit[i] == unit[j]:
            continue
        width = int(bins[j].max()) + 1
        n_cells = (int(bins[i].max()) + 1) * width
        wanted = _pair_counts((original[0][i], visible[i]), (original[0][j], visible[j]), n_cells, width)
        current = np.bincount(released[0][i] * width + released[0][j], minlength=n_cells)
        n_visible = max(int(wanted.sum()), 1)
        # not rounded: at the border of two multiples one person more would move what is wanted by the whole step
        wanted = np.rint(wanted * (n / n_visible)).astype(np.int64)
        slack = np.maximum(np.sqrt(wanted) * ERRORS, guard.people / 2).astype(np.int64)
        counts.append(np.stack([current - wanted, slack, _UNIT**4 // (wanted + 1)], axis=1))
        pairs[i, j] = len(products), start, width, 1
        pairs[j, i] = len(products), start, 1, width
        products.append((sums[i][j] - wanted_sums[i][j] * n // n_visible, int(ERRORS * np.sqrt(n) * _UNIT**2)))
        start += n_cells
    place, off = np.tile(np.arange(n), (int(unit.max()) + 1, 1)), np.concatenate(counts)
    bin_of_row, score_of_row = (np.ascontiguousarray(x.T, np.int32) for x in released)
    too_large = np.array(products, np.int64).reshape(-1, 2)
    errors = PairErrors(unit, bin_of_row, score_of_row, pairs, off, np.zeros((len(off), 2), np.int64), too_large)
    swap_towards(np.asarray(guard.sizes, np.int64), place, errors, turns)
    return {c.name: items[c.name][place[u]] for c, u in zip(columns, unit, strict=True)}


def without_impossible(
    guard: Guard, items: Mapping[str, Ints], bins: Mapping[str, Ints], rare: Rare
) -> tuple[dict[str, Ints], int]:
    """Swap values inside groups to remove rare pairs; return the rows that keep one that nobody has."""
    names, unit = [c.name for c in guard.columns], _bundles(guard)
    if not rare:
        return dict(items), 0
    starts, sides = np.cumsum([0, *(few.size for few in rare.values())]), list[tuple[int, ...]]()
    for ((a, b), few), at in zip(rare.items(), starts.tolist(), strict=False):
        i, j, width = names.index(a), names.index(b), few.shape[1]
        sides += [(unit[i], i, j, at, width, 1), (unit[j], j, i, at, 1, width)]
    pairs, n_units = np.array(sorted(sides)), int(unit.max()) + 1
    place = np.tile(np.arange(len(items[names[0]])), (n_units, 1))
    coarse = np.stack([bins[name].astype(np.uint32)[items[name]] for name in names], axis=1)
    impossible = np.concatenate([few.ravel() for few in rare.values()]) > 0
    ends, others = np.searchsorted(pairs[:, 0], np.arange(n_units + 1)), pairs[:, 1:].astype(np.uint32)
    swap_impossible(np.asarray(guard.sizes, np.int64), place, unit, coarse, others, ends, impossible, LOOKED)
    swapped = {name: items[name][place[u]] for name, u in zip(names, unit, strict=True)}
    is_impossible = np.zeros(place.shape[1], np.bool_)
    for (a, b), few in rare.items():
        is_impossible |= few[bins[a][swapped[a]], bins[b][swapped[b]]] == 2
    return swapped, int(is_impossible.sum())


def _bundles(guard: Guard) -> Ints:
    """Return the number of each column's bundle, whose columns move together."""
    leader = {c.name: c.follows or c.name for c in guard.columns}
    for _ in leader:  # a leader may follow another
        leader = {name: leader[first] for name, first in leader.items()}
    number = {first: i for i, first in enumerate(dict.fromkeys(leader.values()))}
    return np.array([number[first] for first in leader.values()], np.int64)


def _normal_scores(column: GuardedColumn) -> Ints:
    """Return the standardised normal score of each code of a column, in 32nds."""
    people = np.asarray(column.people, np.int64)
    middle = (np.cumsum(people) - people / 2) / max(people.sum(), 1)
    scores = ndtri(np.clip(middle, 1e-6, 1 - 1e-6))
    scores -= (scores * people).sum() / max(people.sum(), 1)
    spread = np.sqrt((scores**2 * people).sum() / max(people.sum(), 1))
    # a value that hardly anybody has is far from the others: their products must be numbers that integers hold
    return np.rint(np.clip(scores / (spread or 1.0), -8, 8) * _UNIT).astype(np.int64)


def _coarse(column: GuardedColumn, parts: int = 20) -> Ints:
    """Return the bin of each code: the code itself where these are few, else one of some `parts` of as many people.

    A value that many people have is a bin of its own, such as no income at all.
    """
    people = np.asarray(column.people, np.int64)
    if len(people) <= 3 * parts:
        return np.arange(len(people))
    n, heap = people.sum(), 5 * parts * people >= 2 * people.sum()
    number = (np.cumsum(people) - people) * parts // n
    return np.cumsum(np.append(False, (np.diff(number) > 0) | heap[1:] | heap[:-1]))


def key_of(key: Key, plan: Plan, guard: Guard) -> Key:
    """Return the key of the draws of one release: another plan draws independently under the same key.

    A plan lists its columns in the order of the table, so another order of columns is another plan.
    """
    # before anything was drawn; tilts follow from moments, up to a last digit that processors differ in
    columns = tuple(replace(c, weights=Vector("d", ()), tilts=Vector("d", ())) for c in guard.columns)
    again = _whole(np.zeros(len(guard.again), np.int64))
    none = replace(guard, columns=columns, again=again, impossible=0)
    return key.bound(dumps(replace(plan, guard=none, parameters={})))


def assigned_to_rows(
    plan: Plan, items: Mapping[str, Ints], table: Table, groups: Groups, others: Sequence[str], key: Key
) -> dict[str, ReleasedCodes]:
    """Return the released columns: the items of each group, given to its rows.

    Which row of a group gets which item shows where other columns are released as they are, so it
    follows from a keyed hash of these.
    """
    labels, guard = groups.labels, plan.guard
    assert guard is not None
    if others:
        words = hashes(table, others, key_of(key, plan, guard))[0]
        order = np.lexsort((words, labels))
    else:
        order = np.argsort(labels, kind="stable")
    released = {}
    for column in guard.columns:
        codes = np.empty(len(order), smallest(len(column.values) + 1))
        codes[order] = items[column.name]
        released[column.name] = as_released(column, codes, table)
    if plan.has_mean_weights:
        record, of_group = released_weights(plan)
        released[plan.weight] = as_released(record, of_group[labels], table)
    return released


def mean_weights(column: Column, labels: Ints, sizes: Ints) -> list[float]:
    """Return the mean weight of each group to four digits; the one that all have, as it is."""
    order = np.lexsort((column.codes, labels))
    # added one by one from the smallest, whatever the order of the rows
    weights = np.asarray(column.values, np.float64)[column.codes[order]]
    means = np.bincount(labels[order], weights) / sizes
    starts = np.cumsum(sizes) - sizes
    least, most = weights[starts], weights[starts + sizes - 1]
    return [a if a == b else float(f"{mean:.4g}") for mean, a, b in np.stack([means, least, most], axis=1).tolist()]


def released_weights(plan: Plan) -> tuple[GuardedColumn, Ints]:
    """Return the released weights as a record of their values, and the code of each group's."""
    assert plan.guard is not None
    values, of_group = np.unique(np.asarray(plan.guard.weights, np.float64), return_inverse=True)
    codes = of_group.astype(smallest(len(values) + 1))
    return GuardedColumn(plan.weight, "other", "numeric", values=tuple(values.tolist())), codes


def as_released(column: GuardedColumn, codes: NDArray[Any], table: Table) -> ReleasedCodes:
    """Return a guarded column from its codes, in the type that it has in the table where that holds its values."""
    entries = entries_of(column, table.types.field(column.name).type)
    return ReleasedCodes(column.name, entries.type, entries, codes, np.arange(len(entries)))


def entries_of(column: GuardedColumn, kind: pa.DataType) -> pa.Array:
    """Return the released values of a column of this type, and missing after them."""
    entries = released_values(column, value_type(kind))
    # for a category that is withheld
    return entries if column.has_missing else pa.concat_arrays([entries, pa.nulls(1, entries.type)])


def released_values(column: GuardedColumn, wanted: pa.DataType) -> pa.Array:
    """Return the released values in a column's own type, or as doubles or text if that cannot hold them."""
    values = list(column.values)
    if column.kind == "date" and pa.types.is_temporal(wanted):
        whole = pa.array([None if v is None else int(v) for v in values], pa.int64())
        unit = whole.cast(pa.int32()).cast(pa.date32()) if column.unit == "day" else whole.cast(pa.timestamp("us"))
        if pa.types.is_timestamp(wanted) and wanted.tz and column.unit == "us":
            unit = whole.cast(pa.timestamp("us", wanted.tz))
        return unit.cast(wanted)
    if column.kind == "date":  # of a file that writes its dates in another way
        values = [None if v is None else moment(float(v), column.unit) for v in values]
    entries = pa.array(values, pa.float64() if column.kind == "numeric" else pa.string())
    try:
        return entries.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return entries


def _coded(table: Table, schema: Schema, name: str, people: int, person: Ints | None) -> _Coded:
    """Return a sensitive column by the values that may be released of it."""
    column = table.declared_column(schema, name)
    if column.exact:
        raise UnsupportedError(
            f"{column.name!r} has numbers that doubles do not hold, and no means of such numbers are told",
            hint="round them, or release them as they are (guard=None, --guard none)",
        )
    codes, counts = column.codes.astype(np.int64), column.value_counts
    described: dict[str, Any] = {
        "name": name, "role": schema.role(name), "kind": column.kind, "unit": column.unit,
        "order": tuple(column.values) if column.kind == "ordinal" else (),
        "events": tuple(schema.events.get(name, ())), "declared": name in schema.kinds, "zone": column.zone,
    }  # fmt: skip
    if column.is_number:
        previous = EACH if person is None else previous_values(codes, person, column.n_values)
        runs = runs_of(counts, people, _unit(column.doubles), previous)
        codes = runs.of_code[codes] if len(runs.values) else np.zeros_like(codes)
        values, cuts = runs.values.tolist(), runs.cuts
    else:
        shared = counts.counts
        if person is not None:  # each once
            n_people = int(person.max()) + 1
            shared = np.bincount(np.unique(codes * n_people + person) // n_people, minlength=column.n_values)
        frequent = shared[: column.n_values] >= people
        # codes of the categories that are released; others are as if nothing were known of them
        place = np.append(np.where(frequent, np.cumsum(frequent) - 1, -1), frequent.sum())
        codes, cuts = place[codes], np.zeros(0)
        values = [value for value, is_frequent in zip(column.values, frequent, strict=True) if is_frequent]
    withheld = int(np.count_nonzero(codes < 0))
    if column.has_missing or not values:
        values = [*values, None]
    counted = np.bincount(codes[codes >= 0], minlength=len(values))
    record = GuardedColumn(
        **described, values=tuple(values), people=_whole(counted), cuts=Vector("d", cuts), withheld=withheld
    )
    return _Coded(record, codes, runs if column.is_number else None)


def _unit(values: Floats) -> float:
    """Return the largest of 1, .1, .01 ... that all values are multiples of, down to a millionth; else 0.

    Examples
    --------
    >>> _unit(np.array([75.9, 80.0])), _unit(np.array([1 / 3]))
    (0.1, 0.0)
    """
    return next((float(f"1e-{digits}") for digits in range(7) if (np.round(values, digits) == values).all()), 0.0)


def _sorted_categories(columns: Sequence[_Coded]) -> list[_Coded]:
    """Return the columns with unordered categories in the order of their mean of the first number.

    Ranks mean something then, and correlations of ranks keep what they can.
    """
    numbers = [c for c in columns if c.runs is not None and len(c.runs.values)]
    main = next((c for c in numbers if c.record.role == "sensitive"), numbers[0] if numbers else None)
    in_order = []
    for column in columns:
        record, n = column.record, column.record.n_values
        if main is None or record.kind not in ("categorical", "boolean") or n < 2:
            in_order.append(column)
            continue
        assert main.runs is not None
        n_runs = main.record.n_values
        scores = np.append(scores_of(main.runs.values, np.asarray(main.record.people)[:n_runs]).of_run, 0)
        visible = (column.codes >= 0) & (column.codes < n)
        z = scores[np.minimum(main.codes, n_runs)]
        sums = np.bincount(column.codes[visible], z[visible], n)
        order = np.lexsort((np.arange(n), sums / np.asarray(record.people)[:n]))
        rank = np.append(np.argsort(order), [n, -1])  # missing, and what is withheld
        values = (*(record.values[i] for i in order), *record.values[n:])
        people = np.append(np.asarray(record.people)[order], np.asarray(record.people)[n:])
        in_order.append(
            _Coded(replace(record, values=values, people=_whole(people)), rank[column.codes].astype(np.int64))
        )
    return in_order


def _correlation_within(columns: Sequence[_Coded], group: Ints, sizes: Ints) -> Floats:
    """Return the correlations of the columns' normal scores within groups, rounded to hundredths."""
    scores = []
    for column in columns:
        codes = np.where(column.codes < 0, len(column.record.values) - 1, column.codes)
        counts = np.bincount(codes)
        middle = (np.cumsum(counts) - counts / 2) / len(codes)
        scores.append(np.rint(ndtri(np.clip(middle, 1e-6, 1 - 1e-6)) * _EXACT).astype(np.int64)[codes])
    sums = [np.bincount(group, z, len(sizes)) for z in scores]
    cross = np.array([[float(a @ b) for b in scores] for a in scores])
    cross -= [[float((a * b / sizes).sum()) for b in sums] for a in sums]
    spread = np.sqrt(np.maximum(np.diag(cross), 1e-9))
    rounded = np.round(cross / np.outer(spread, spread), 2)
    np.fill_diagonal(rounded, 1.0)
    return np.asarray(rounded, np.float64)


def _by_groups(column: _Coded, labels: Ints, sizes: Ints) -> GuardedColumn:
    """Return the record of a column with what its draws need of each group."""
    record, n, codes = column.record, column.record.n_values, column.codes
    people = np.asarray(record.people, np.int64)
    # shares of quasi-identifiers are the group's own: others would make impossible pairs
    shrink, smoothed = (SHRINK, SMOOTHED) if record.role == "sensitive" else (0, 0)
    scores = scores_of(column.runs.values, people[:n]) if column.runs is not None and n else None
    is_measured = column.runs is not None and (n > FEW or (column.runs.values != np.rint(column.runs.values)).any())
    if scores is None or not scores.spread or not is_measured:
        groups = Groups(labels[codes >= 0].astype(np.uint32), np.arange(len(sizes)))
        counts = Counts.from_codes(groups, codes[codes >= 0], len(record.values))
        return replace(
            record, starts=_whole(counts.starts), codes=_whole(counts.values), counts=_whole(counts.counts),
            smoothed=smoothed,
        )  # fmt: skip
    with_value = codes < n
    present = np.bincount(labels[with_value], minlength=len(sizes))
    tilts = group_tilts(scores, people[:n], codes[with_value], labels[with_value], present, shrink)
    return replace(
        record, scores=_whole(scores.of_run), centre=scores.centre, spread=scores.spread, step=scores.step,
        weights=Vector("d", tilts.weights), moments=_whole(tilts.moments.ravel()),
        tilts=Vector("d", tilts.theta.ravel()), moved=tilts.moved, pair=_whole(tilts.pair), whole=tilts.whole,
        missing=_whole(sizes - present), smoothed=smoothed,
    )  # fmt: skip


def _column(record: GuardedColumn, codes: Ints) -> Column:
    """Return drawn codes as the column that a reader of the release sees."""
    n = record.n_values
    is_number = record.kind in ("numeric", "date")
    values: Any = np.array(record.values[:n], np.float64) if is_number else [str(v) for v in record.values[:n]]
    order = np.arange(n)
    if record.kind == "ordinal":
        order = np.array([record.order.index(v) for v in values])
    occurs = np.bincount(codes, minlength=n + 1) > 0
    in_order = np.argsort(order)
    occurring = in_order[occurs[in_order]]
    place = np.full(n + 1, len(occurring), np.int64)
    place[occurring] = np.arange(len(occurring))
    values = values[occurring] if isinstance(values, np.ndarray) else [values[i] for i in occurring]
    kind = cast(Kind, record.kind)
    return Column(record.name, kind, record.unit, place[codes], values, bool(occurs[n:].any()), (), record.events)


def _whole(values: NDArray[Any]) -> Vector:
    return Vector("i", np.asarray(values, np.int32))
