"""Fit how the values of each group are drawn: by its shares, by its mean and spread, or with another column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

from ..backends.partitions import route
from ..backends.randomize import uniforms, words_of
from ..columns.column import Column
from ..columns.roles import check_weights
from ..columns.table import Table
from ..kernels.even_draws import Expected, Levels, Shares, draw_by_moments, draw_by_shares, order_within
from ..kernels.threads import side_by_side
from ..key import Key
from ..measures import Counts, Floats, Groups, Ints, group
from ..plan import Guard, GuardedColumn, Partition, Plan, Vector
from ..plan.records import REDRAW
from ..schema import Schema
from .code import CodedColumn, as_vector, coded, coded_in_slots, persons_of, sorted_categories
from .derived import DrawnForms
from .features import HEAP, features_of
from .logit import BLOCK, COEFFICIENTS, FeatureRows, Rule, fit_rule
from .moments import HALF, SCALE, SHRINK, group_tilts, scores_of, tilted
from .slots import Slots

# whole numbers of at most so many values are codes or counts: they are drawn by shares
FEW = 25
# people added to the shares of each group: with those of the whole table, or (in rows) of people like the group's own
SMOOTHED, ALIKE = 5, 20
# people that a value needs for its share to follow a rule; the key asks for up to twice as many
RULED = 50
# columns whose rank correlation inside groups is above this are drawn together
TOGETHER = 0.8
# normal scores are rounded to whole numbers of 1024ths, so that their sums are exact
_EXACT = 1024


@dataclass(frozen=True)
class Donors:
    """The people whose values a column that follows another is drawn from.

    Parameters
    ----------
    leader, follower : int64 arrays of shape (n_donors,)
        Each one's codes of both columns, sorted by the leader's and then by the follower's.
    """

    leader: Ints
    follower: Ints


@dataclass(frozen=True)
class FittedGuard:
    """A guard that is fitted to a table, with what only its draws need.

    Parameters
    ----------
    guard : Guard
        As the plan stores it; no group was drawn again yet.
    donors : mapping of str to Donors
        By column that follows another.
    codes : mapping of str to int64 array of shape (n_rows,)
        By column, the codes of the table's rows; -1 for a category that is withheld.
    shares : mapping of str to float64 array of shape (n_groups, n_classes)
        By column with a rule, the mean shares that its rule gives the people of each group.
    released : mapping of str to GuardedColumn
        By column that is drawn in another form, its record in its own.
    slots : Slots
        Of units with several rows.
    """

    guard: Guard
    donors: Mapping[str, Donors]
    codes: Mapping[str, Ints]
    shares: Mapping[str, Floats]
    released: Mapping[str, GuardedColumn]
    slots: Slots


def fit_guard(
    people: int, table: Table, schema: Schema, plan: Plan, groups: Groups, key: Key, *, in_rows: bool
) -> FittedGuard:
    """Fit the draws of a table's columns to the groups of its release.

    Parameters
    ----------
    people : int
        Fewest people who share a released value.
    table, schema, plan
        The original, its roles and the fitted plan.
    groups : Groups
        The groups of the release.
    key : Key
    in_rows : bool
        Whether quasi-identifiers are drawn as well.
    """
    person = persons_of(table, schema)
    roles = ("quasi", "sensitive") if in_rows else ("sensitive",)
    # whom others follow come before them
    slots = Slots(plan.units)
    names = [
        n
        for role in roles
        for n in sorted(plan.names(role), key=lambda n: (n != slots.presence, len(schema.leaders(n))))
    ]
    here = {name: has for name in names if (has := table.has_cell(name)) is not None}
    forms = DrawnForms.from_rules(plan, table, schema, names, people)
    form = forms.table if forms.columns else table

    def code(
        some: Sequence[str], of: Table, roles: Schema, key: Key | None, original: Table | None = None
    ) -> dict[str, CodedColumn]:
        columns: dict[str, CodedColumn] = {}
        for name in some:
            if name not in here:
                columns[name] = coded(of, roles, name, people, person, key, original)
            elif name not in columns:
                together = {each: here[each] for each in slots.siblings(name) if each in some}
                columns |= coded_in_slots(of, roles, together, people, person, key, original)
        return columns

    released = {name: column.record for name, column in code([*forms.columns], table, schema, None).items()}
    by_name = code([n for n in names if n not in forms.columns], table, schema, key)
    by_name |= code([n for n in names if n in forms.columns], form, forms.schema, key, table)
    columns = sorted_categories([by_name[name] for name in names])
    columns = [_all_released(c) if c.record.name == slots.presence else c for c in columns]
    n_members = Counter(each.inside for each in forms.derived if each.inside)
    if slots.form is not None:
        # whether there is a row in each slot with a name, and how many there are in the others
        n_members[slots.presence] = min(slots.form.labelled + 1, len(slots.form.slots))
    columns = [replace(c, record=replace(c.record, n_members=n_members[c.record.name])) for c in columns]
    groups_of = {"sensitive": groups}
    if in_rows:
        groups_of["quasi"] = _joined_cells(plan, table, groups, person, people)
    labels, sizes = groups.labels.astype(np.int64), groups.sizes
    within = _correlation_within(columns, labels, sizes)
    quasi = [c for c in columns if c.record.role == "quasi"]
    features = features_of([c.record for c in quasi], people)[:COEFFICIENTS]
    rows = FeatureRows(features, [c.codes for c in quasi])
    records, donors, heads = [], dict[str, Donors](), []
    for i, column in enumerate(columns):
        record = column.record
        near = [
            j
            for j in range(i)
            if abs(within[i, j]) > TOGETHER
            and columns[j].record.role == record.role
            and slots.may_move_with(record.name, columns[j].record.name)
        ]
        declared = schema.follows.get(record.name)
        declared = None if declared in forms.computed else declared  # nothing is drawn that it could go with
        leader = names.index(declared) if declared is not None else near[-1] if near else None
        if leader is None:
            heads.append(i)
            records.append(_with_draws(column, groups_of[record.role], key))
        else:
            records.append(replace(record, follows=columns[leader].record.name))
            donors[record.name] = _donors(columns[leader], column)
    # in small products threads wait for each other; of large tables one rule at a time takes memory enough
    cost = len(labels) * len(heads) if len(labels) <= BLOCK else 0
    with threadpool_limits(1):
        ruled = side_by_side(lambda i: _with_rule(records[i], rows, columns[i].codes, key), heads, cost)
    for i, record in zip(heads, ruled, strict=True):
        records[i] = record
    lower = np.rint(100 * within[np.ix_(heads, heads)]).astype(np.int64)[np.tril_indices(len(heads))]
    weight = schema.hidden_weight
    again = np.zeros(len(sizes) * max(1, in_rows * sum(columns[i].record.role == "sensitive" for i in heads)), np.int64)
    guard = Guard(
        REDRAW, people, tuple(records), as_vector(sizes), as_vector(again), as_vector(lower),
        cells=as_vector(groups_of["quasi"].sizes if in_rows else sizes[:0]),
        weights=Vector("d", [] if weight is None else mean_weights(check_weights(table, weight), labels, sizes)),
        derived=tuple(forms.derived),
    )  # fmt: skip
    shares = {r.name: Rule.from_column(r).shares(rows, labels, sizes) for r in records if r.ruled}
    # one above all others where there is no cell
    codes = {
        c.record.name: c.codes if c.here is None else np.where(c.here, c.codes, len(c.record.values)) for c in columns
    }
    return FittedGuard(guard, donors, codes, shares, released, slots)


def _all_released(column: CodedColumn) -> CodedColumn:
    """Return a column whose withheld categories are released as the commonest one, since every unit has some rows."""
    people = np.asarray(column.record.people, np.int64)
    codes = np.where(column.codes < 0, int(people.argmax()), column.codes)
    record = replace(column.record, people=as_vector(np.bincount(codes, minlength=len(people))), withheld=0)
    return replace(column, record=record, codes=codes)


def _donors(leader: CodedColumn, column: CodedColumn) -> Donors:
    """Return the donors of a column's values; whose value is withheld is none, unless all are."""
    is_donor = column.codes >= 0 if (column.codes >= 0).any() else slice(None)
    first, second = leader.visible[is_donor], column.visible[is_donor]
    order = np.lexsort((second, first))
    return Donors(first[order], second[order])


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


def _correlation_within(columns: Sequence[CodedColumn], group: Ints, sizes: Ints) -> Floats:
    """Return the correlations of the columns' normal scores within groups, rounded to hundredths."""
    scores = []
    for column in columns:
        here = slice(None) if column.here is None else column.here
        codes = np.where(column.codes < 0, len(column.record.values) - 1, column.codes)
        counts = np.bincount(codes[here])
        middle = (np.cumsum(counts) - counts / 2) / counts.sum()
        score = np.zeros(len(codes), np.int64)
        score[here] = np.rint(ndtri(np.clip(middle, 1e-6, 1 - 1e-6)) * _EXACT).astype(np.int64)[codes[here]]
        scores.append(score)
    sums = [np.bincount(group, z, len(sizes)) for z in scores]
    cross = np.array([[float(a @ b) for b in scores] for a in scores])
    cross -= [[float((a * b / sizes).sum()) for b in sums] for a in sums]
    spread = np.sqrt(np.maximum(np.diag(cross), 1e-9))
    rounded = np.round(cross / np.outer(spread, spread), 2)
    np.fill_diagonal(rounded, 1.0)
    return np.asarray(rounded, np.float64)


def _classes_of(column: CodedColumn, key: Key) -> Ints:
    """Return the class of each code of a number: what many people have, and missing, from 1 on; 0 for the rest."""
    record, runs = column.record, column.runs
    assert runs is not None
    people, classes = np.asarray(record.people, np.int64), np.zeros(len(record.values), np.int64)
    # nobody can tell from a class how many people have its value
    enough = 1 + uniforms(words_of(runs.values.view(np.uint64), key, "guard class"))
    heaps = np.flatnonzero(runs.is_heap)
    heaps = heaps[people[heaps] >= enough[heaps] * max(RULED, HEAP[0] * people.sum())]
    heaps = heaps[np.argsort(-people[heaps], kind="stable")]
    # the rest is a class as well, and not one of fewer people
    heaps = heaps[people[: record.n_values].sum() - np.cumsum(people[heaps]) >= enough[heaps] * RULED]
    several = np.append(np.sort(heaps), np.arange(record.n_values, len(classes)))
    classes[several] = 1 + np.arange(len(several))
    return classes


def _with_counts(record: GuardedColumn, groups: Groups, codes: Ints, n_codes: int) -> GuardedColumn:
    """Return the record with how often each group has each code; those below 0 do not count."""
    visible = Groups(groups.labels[codes >= 0].astype(np.uint32), np.arange(len(groups.sizes)))
    counts = Counts.from_codes(visible, codes[codes >= 0], n_codes)
    starts, values, times = map(as_vector, (counts.starts, counts.values, counts.counts))
    return replace(record, starts=starts, codes=values, counts=times)


def _with_draws(column: CodedColumn, groups: Groups, key: Key) -> GuardedColumn:
    """Return the record of a column with what its draws need of each group."""
    record, n, codes = column.record, column.record.n_values, column.codes
    labels, sizes = groups.labels.astype(np.int64), groups.sizes
    people, classes = np.asarray(record.people, np.int64), np.zeros(len(record.values), np.int64)
    # shares of quasi-identifiers are the group's own: others would make impossible pairs
    shrink, smoothed = (SHRINK, SMOOTHED) if record.role == "sensitive" else (0, 0)
    scores, rest = None, np.arange(n)
    if column.runs is not None and (n > FEW or (column.runs.values != np.rint(column.runs.values)).any()):
        if record.role == "sensitive":
            classes = _classes_of(column, key)
            rest = np.flatnonzero(classes[:n] == 0)
        some = np.flatnonzero(people[rest])
        if len(some):
            scores = scores_of(column.runs.values[rest[some]], people[rest[some]])
            # a run that nobody has in this slot is as the next one, so that there is a tilt for every group
            near = np.minimum(np.searchsorted(some, np.arange(len(rest))), len(some) - 1)
            scores = replace(scores, of_run=scores.of_run[near])
    if scores is None or not scores.spread:
        return replace(_with_counts(record, groups, codes, len(record.values)), smoothed=smoothed)
    # what is missing, withheld or of another class is not of the rest
    run = np.full(len(record.values) + 1, -1)
    run[rest] = np.arange(len(rest))
    run = run[codes]
    present = np.bincount(labels[run >= 0], minlength=len(sizes))
    with_cell = sizes if column.here is None else np.bincount(labels[column.here], minlength=len(sizes))
    tilts = group_tilts(
        scores, people[rest], run[run >= 0], labels[run >= 0], present, shrink, HALF if classes.any() else 0
    )
    if classes.any():
        record = replace(record, classes=as_vector(classes))
        record = _with_counts(record, groups, np.append(classes, -1)[codes], int(classes.max()) + 1)
    return replace(
        record, scores=as_vector(scores.of_run), centre=scores.centre, spread=scores.spread, step=scores.step,
        weights=Vector("d", tilts.weights), moments=as_vector(tilts.moments.view(np.int64)),
        tilts=Vector("d", tilts.theta.ravel()), moved=tilts.moved, pair=as_vector(tilts.pair), whole=tilts.whole,
        missing=as_vector(with_cell - present), smoothed=smoothed,
    )  # fmt: skip


def _with_rule(record: GuardedColumn, rows: FeatureRows, codes: Ints, key: Key) -> GuardedColumn:
    """Return the record of a sensitive column with the rule that its shares are smoothed towards, if it has one."""
    if record.role != "sensitive" or (record.by_moments and not len(record.classes)):
        return record
    people = np.asarray(record.people, np.int64)
    if record.by_moments:
        people, codes = np.asarray(record.parts()[0].people), np.append(np.asarray(record.classes), -1)[codes]
    words = words_of(np.arange(len(people), dtype=np.uint64), key, f"guard rule {record.name}")
    rule = fit_rule(rows, codes, people, RULED * (1 + uniforms(words)))
    if rule is None:
        return record
    values, coefficients = as_vector(rule.values), as_vector(rule.coefficients.ravel())
    return replace(record, smoothed=ALIKE, ruled=values, rule=coefficients)


def mean_weights(column: Column, labels: Ints, sizes: Ints) -> list[float]:
    """Return the mean weight of each group to four digits; the one that all have, as it is."""
    order = np.lexsort((column.codes, labels))
    # added one by one from the smallest, whatever the order of the rows
    weights = np.asarray(column.values, np.float64)[column.codes[order]]
    means = np.bincount(labels[order], weights) / sizes
    starts = np.cumsum(sizes) - sizes
    least, most = weights[starts], weights[starts + sizes - 1]
    return [a if a == b else float(f"{mean:.4g}") for mean, a, b in np.stack([means, least, most], axis=1).tolist()]


class ByMoments:
    """A column of numbers whose groups have the table's runs, tilted to their mean and spread.

    Parameters
    ----------
    column : GuardedColumn
    missing : float64 array of shape (n_groups,)
        The share of each group's items that have no run, and come last.
    public : float
        That share in the whole table.
    """

    def __init__(self, column: GuardedColumn, missing: Floats, public: float = 0.0) -> None:
        scores, people = np.asarray(column.scores), np.asarray(column.people, np.float64)
        levels, first = np.unique(scores, return_index=True)
        chances = tilted(levels / SCALE, np.asarray(column.weights), np.asarray(column.tilts).reshape(-1, 2))
        reached, n_people = np.cumsum(chances, axis=1), np.append(0.0, np.cumsum(people[: len(scores)]))
        self._levels = Levels(reached, np.append(first, len(scores)), n_people)
        self._pair, self._whole = np.asarray(column.pair, np.int64), column.whole
        self._missing, self._public = missing, public

    def fill(self, groups: Ints, sizes: Ints, uniform: Floats, towards: Floats, out: Ints) -> None:
        """Write the codes of the items of some groups; `towards` is the part drawn from the whole table."""
        missing = self._missing[groups] * (1 - towards) + self._public * towards
        draw_by_moments(sizes, uniform, towards, missing, self._pair[groups], self._whole, self._levels, out)


class ByShares:
    """A column whose groups have their own shares of its values, smoothed by those of people like theirs."""

    def __init__(self, column: GuardedColumn, shares: Floats | None, sizes: Ints) -> None:
        people = np.asarray(column.people, np.float64)
        public, self._smoothed = people / max(people.sum(), 1.0), float(column.smoothed)
        self._shares = Shares(*(np.asarray(part, np.int64) for part in (column.starts, column.codes, column.counts)))
        self._expected = Expected(public, np.zeros(len(people), np.int64), np.ones((len(sizes), 1)))
        if shares is not None:
            class_of = Rule.from_column(column).class_of(len(people))
            ratio = shares / np.maximum(np.bincount(class_of, public, shares.shape[1]), 2.0**-53)
            # processors differ in the last digits
            self._expected = Expected(public, class_of, np.rint(ratio * 2.0**30) / 2.0**30)

    def fill(self, groups: Ints, sizes: Ints, uniform: Floats, towards: Floats, out: Ints) -> None:
        """Write the codes of the items of some groups; `towards` is the part drawn from the whole table."""
        begin = self._shares.starts[groups]
        n = self._shares.starts[groups + 1] - begin
        at = ranges(begin, n)
        shares = Shares(np.append(0, np.cumsum(n)), self._shares.codes[at], self._shares.counts[at])
        expected = self._expected._replace(ratio=self._expected.ratio[groups])
        draw_by_shares(sizes, uniform, towards, shares, expected, self._smoothed, out)

    def others(self) -> tuple[Floats, float]:
        """Return the share that codes from 1 on have in each group, and the one that they have in the whole table."""
        starts, codes, counts = self._shares
        public, class_of, ratio = self._expected
        reached = np.append(0, np.cumsum(counts * (codes == 0))), np.append(0, np.cumsum(counts))
        first, total = (sums[starts[1:]] - sums[starts[:-1]] for sums in reached)
        first = first + self._smoothed * ratio[:, class_of[0]] * public[0]
        return 1 - first / (total + self._smoothed), float(1 - public[0])


class ByClasses:
    """A column of numbers whose groups have their own shares of its classes, and in the rest tilted runs."""

    def __init__(self, column: GuardedColumn, shares: Floats | None, sizes: Ints) -> None:
        by_class, rest = column.parts()
        self._classes = ByShares(by_class, shares, sizes)
        self._rest = ByMoments(rest, *self._classes.others())
        self._n_rest = len(rest.values)
        # codes of the rest, then of the other classes
        self._codes = np.argsort(np.asarray(column.classes), kind="stable")

    def fill(self, groups: Ints, sizes: Ints, uniform: Floats, towards: Floats, out: Ints) -> None:
        """Write the codes of the items of some groups; `towards` is the part drawn from the whole table."""
        number, run = np.empty_like(out), np.empty_like(out)
        # the rest is the first class, so both have its items in the same places
        self._classes.fill(groups, sizes, uniform, towards, number)
        self._rest.fill(groups, sizes, uniform, towards, run)
        codes = self._codes[run + (run == self._n_rest) * (number - 1)]
        order_within(sizes, codes.astype(np.float64), number)
        out[number] = codes


def sampler_of(column: GuardedColumn, shares: Floats | None, sizes: Ints) -> ByClasses | ByMoments | ByShares:
    """Return what draws a column in groups of these sizes, given the shares that its rule expects there."""
    if len(column.classes):
        return ByClasses(column, shares, sizes)
    if column.by_moments:  # what is missing of a sensitive column is a class
        return ByMoments(column, column.has_missing * np.minimum(np.asarray(column.missing) / np.maximum(sizes, 1), 1))
    return ByShares(column, shares, sizes)


def ranges(starts: Ints, sizes: Ints) -> Ints:
    """Return the numbers starts[i] .. starts[i] + sizes[i] - 1 for each i, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(sizes.sum())) + np.repeat(starts - ends + sizes, sizes)
