"""Draw the items of each group from a fitted guard: evenly, until promises are kept, then in a new order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from scipy.special import ndtri

from ..backends.randomize import uniforms, words_of
from ..errors import InfeasibleError
from ..kernels import Bools
from ..kernels.even_draws import order_within
from ..key import Key
from ..measures import Classes, Floats, Groups, Ints
from ..measures.guarantees import column_guarantees
from ..plan import Guard, GuardedColumn, Plan, Vector
from ..plan.records import AGAIN, FILE, dumps
from .code import as_column, as_vector
from .pieces import as_told
from .rule import ByClasses, ByMoments, ByShares, FittedGuard, ranges, sampler_of

# runs on either side of a value from whose people its companion comes
NEAR = 2
# times as many people as share a released value, from which on a value's companions come from its own people
PLENTY = 5
# times `AGAIN` that a group is drawn again, at most: another draw of the whole table may help
LAST = 4
# how many items of a group have a value at least, if any has one, in turn; small groups keep a cap with few alone
SEVERAL = (4, 6, 8, 16)


class Draws:
    """The draws of a guard under one key: the same plan and key give the same items.

    An *item* is a record of the release; the items of a group are neighbours, in the order of the groups,
    and those of a cell are neighbours inside their group.
    """

    def __init__(self, fitted: FittedGuard, key: Key) -> None:
        guard = fitted.guard
        self._guard, self._donors, self._key = guard, fitted.donors, key
        self.sizes = np.asarray(guard.sizes, np.int64)
        self.starts = np.append(0, np.cumsum(self.sizes))
        self._labels = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self._sizes = {"sensitive": self.sizes, "quasi": np.asarray(guard.cells, np.int64)}
        self._slots, self._samplers = fitted.slots, dict[str, ByClasses | ByMoments | ByShares]()
        # by column, how many items of each group or cell have a cell of it: in which slots they do is drawn first
        self._n_cells, in_slots = dict[str, Ints](), dict[str, Bools]()
        for column in guard.columns:
            sizes = self._sizes[column.role]
            if column.name in in_slots:
                unit = np.repeat(np.arange(len(sizes)), sizes)
                sizes = np.bincount(unit[in_slots[column.name]], minlength=len(sizes))
            self._n_cells[column.name] = sizes
            if not column.follows:
                self._samplers[column.name] = sampler_of(column, fitted.shares.get(column.name), sizes)
            if column.name == self._slots.presence:
                patterns = self.items([column], np.arange(len(sizes)), np.zeros_like(sizes))
                in_slots = self._slots.in_rows(guard, patterns)

    def items(self, columns: Sequence[GuardedColumn], groups: Ints, again: Ints) -> dict[str, Ints]:
        """Return the codes of the items of some groups; those of a column that follows no other ascend.

        Parameters
        ----------
        columns : sequence of GuardedColumn
            Of one role; for quasi-identifiers the groups are cells.
        groups : int64 array
        again : int64 array of shape (n_groups,)
            How often these columns were drawn before in each group.
        """
        if not columns:
            return {}
        items_of: dict[str, Ints] = {}
        every = self._sizes[columns[0].role]
        sizes = every[groups]
        turn = again[groups] * len(every) + groups
        item = ranges((np.cumsum(every) - every)[groups], sizes)
        item += np.repeat(again[groups], sizes) * int(self.starts[-1])
        # caps are on what groups tell of sensitive columns: cells are never drawn again
        towards = np.minimum(again[groups] / AGAIN, 1.0)
        for column in columns:
            drawn_with = self._slots.drawn_with(column.name)
            if column.follows:
                words = words_of(item.astype(np.uint64), self._key, f"guard donor {drawn_with}")
                items_of[column.name] = self._followed(column, items_of[column.follows], uniforms(words))
                continue
            n_cells = self._n_cells[column.name][groups]
            some = np.flatnonzero(n_cells)
            n, number, out = n_cells[some], turn[some].astype(np.uint64), np.empty(int(n_cells.sum()), np.int64)
            words = words_of(number, self._key, f"guard draw {drawn_with}")
            self._samplers[column.name].fill(groups[some], n, uniforms(words), towards[some], out)
            if column.has_missing:
                words = words_of(number, self._key, f"guard together {column.name}")
                _together(column, again[groups[some]], n, uniforms(words), out)
            if len(out) < len(item):  # those without a cell come last
                cells, out = out, np.full(len(item), len(column.values))
                out[ranges((np.cumsum(sizes) - sizes)[some], n)] = cells
            items_of[column.name] = out
        return items_of

    def _followed(self, column: GuardedColumn, before: Ints, uniform: Floats) -> Ints:
        """Return the code that somebody with nearly the same code of the column before has."""
        donors = self._donors[column.name]
        leader = next(c for c in self._guard.columns if c.name == column.follows)
        last = leader.n_values - 1
        has_value, has_cell = before <= last, before < max(len(leader.values), 1)
        before = np.minimum(before, last + 1)
        # what many people share, such as no visits, has donors of its own
        alone = np.append(np.asarray(leader.people)[: last + 1] >= PLENTY * self._guard.people, True)[before]
        near = np.where(alone | (leader.kind not in ("numeric", "date")), 0, NEAR)
        low = np.where(has_value, np.maximum(before - near, 0), before)
        high = np.where(has_value, np.minimum(before + near, last), before)
        begin = np.searchsorted(donors.leader, low)
        n = np.searchsorted(donors.leader, high, side="right") - begin
        if len(leader.of_all) and len(leader.begins):  # runs of all slots may be of few people in this one
            wanted = (2 * NEAR + 1) * self._guard.people
            n_valued = int(np.searchsorted(donors.leader, last, side="right"))
            short, first = has_value & (n < wanted), begin + n // 2 - wanted // 2
            begin = np.where(short, np.maximum(first, 0), begin)
            n = np.where(short, np.minimum(first + wanted, n_valued) - begin, n)
        # no value, where one person has none, would tell that person's own: then anybody is a donor
        few = n < self._guard.people
        begin, n = np.where(few, 0, begin), np.where(few, len(donors.leader), n)
        codes = donors.follower[begin + np.minimum((uniform * n).astype(np.int64), n - 1)]
        return codes if column.name not in self._slots.cells else np.where(has_cell, codes, len(column.values))

    def here(self, items: Mapping[str, Ints]) -> dict[str, Bools]:
        """Return, for each column of one slot, which of some items have a cell of it."""
        slotted = [c for c in self._guard.columns if c.name in self._slots.cells and c.name in items]
        return {c.name: items[c.name] < max(len(c.values), 1) for c in slotted}

    def as_told(
        self, columns: Sequence[GuardedColumn], items: Mapping[str, Ints]
    ) -> tuple[list[GuardedColumn], dict[str, Ints]]:
        """Return the records and codes of some columns as readers see them; where there is no cell, it is missing."""
        codes = {
            c.name: np.minimum(items[c.name], c.n_values) if c.name in self._slots.cells else items[c.name]
            for c in columns
        }
        return as_told(self._guard, columns, codes, self._labels, self._key)

    def reordered(self, items: Mapping[str, Ints]) -> dict[str, Ints]:
        """Put the items of each column into a random order inside groups, with the table's rank correlations.

        Columns that follow another move with it (Iman and Conover 1982). Quasi-identifiers stay in their
        cells, and cells differ; so later columns go by the ranks that their items really have in the group.
        """
        heads = [c for c in self._guard.columns if not c.follows]
        lower, at = cholesky(self._guard.correlation, len(heads)), np.arange(self.starts[-1], dtype=np.uint64)
        normal = [ndtri(uniforms(words_of(at, self._key, f"guard order {c.name}")) + 2.0**-54) for c in heads]
        place: dict[str, Ints] = {}
        first, size = (np.repeat(x, self.sizes) for x in (self.starts[:-1], self.sizes))
        has_cell, moved = dict[str, Bools](), dict[str, Ints]()
        for i, column in enumerate(heads):
            before = np.zeros(len(at))
            for j in range(i):
                before += lower[i, j] * normal[j]
            scores = before + lower[i, i] * normal[i]
            if column.name in has_cell:
                scores[~has_cell[column.name]] = np.inf
            place[column.name] = np.empty(len(at), np.int64)
            order_within(self._sizes[column.role], scores, place[column.name])
            if column.role == "quasi":
                # by code, and by score among equal ones: two passes inside groups are faster than one sort of all
                rank = np.empty(len(at), np.int64)
                order_within(self.sizes, scores, rank)
                key = items[column.name][place[column.name]] * size + (rank - first)
                order_within(self.sizes, key.astype(np.float64), rank)
                normal[i] = (ndtri((rank - first + 0.5) / size) - before) / lower[i, i]
            if column.name in has_cell:
                normal[i][~has_cell[column.name]] = 0
            if column.name == self._slots.presence:
                moved[column.name] = items[column.name][place[column.name]]
                has_cell = self._slots.in_rows(self._guard, moved)
        for column in self._guard.columns:
            # a column that follows has the order of the first of its bundle
            place[column.name] = place[column.follows or column.name]
            moved[column.name] = items[column.name][place[column.name]]
        return moved


def _together(column: GuardedColumn, again: Ints, sizes: Ints, uniform: Floats, out: Ints) -> None:
    """Give several items of a group that is drawn again a value of the whole table, or none, where few would have one.

    One known value alone tells itself. The more values a group has together, the more seldom it has some, so that as
    many of the table have one as before: drawing until a group has more by chance would raise their number.
    """
    starts, people = np.cumsum(sizes) - sizes, np.cumsum(np.asarray(column.people, np.int64)[: column.n_values])
    present = np.add.reduceat(out < column.n_values, starts) if len(starts) else starts
    wanted = np.minimum(together_after(again), sizes)
    for i in np.flatnonzero((present > 0) & (present < wanted)).tolist():
        part = uniform[i] * wanted[i] / present[i]
        codes = np.full(sizes[i], column.n_values)
        if part < 1:
            place = (np.arange(wanted[i]) + part) / wanted[i] * people[-1]
            codes[: wanted[i]] = np.searchsorted(people, place, side="right")
        out[starts[i] : starts[i] + sizes[i]] = codes


def together_after(again: Ints) -> Ints:
    """Return how many items of a group have a value at least, if any has one, after it was drawn so often."""
    several = np.where(again < AGAIN, SEVERAL[0], np.array(SEVERAL)[again % len(SEVERAL)])
    return np.where(again > 0, several, 0)


def cholesky(correlation: Iterable[int], n: int) -> Floats:
    """Return the lower factor of a correlation matrix, given the hundredths of its lower triangle."""
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = np.array(list(correlation), np.float64) / 100
    matrix += np.tril(matrix, -1).T
    # rounded correlations may be those of no columns
    values, vectors = np.linalg.eigh(matrix)
    matrix = (vectors * np.maximum(values, 1e-3)) @ vectors.T
    scale = np.sqrt(np.diag(matrix))
    return np.asarray(np.linalg.cholesky(matrix / np.outer(scale, scale)), np.float64)


def key_of(key: Key, plan: Plan, guard: Guard) -> Key:
    """Return the key of the draws of one release: another plan draws independently under the same key.

    A plan lists its columns in the order of the table, so another order of columns is another plan.
    """
    # before anything was drawn; tilts and rules follow from the rest, up to a last digit that processors differ in
    nothing = Vector("d", ())
    columns = tuple(replace(c, weights=nothing, tilts=nothing, rule=Vector("i", ())) for c in guard.columns)
    again = as_vector(np.zeros(len(guard.again), np.int64))
    none = replace(guard, columns=columns, again=again, impossible=0, moments=0, mended=Vector("i", ()))
    return key.bound(dumps(replace(plan, guard=none, parameters={})))


def groups_that_break(
    plan: Plan, groups: Groups, columns: Sequence[GuardedColumn], codes: Mapping[str, Ints],
    here: Mapping[str, Bools] = MappingProxyType({}),
) -> dict[str, Ints]:  # fmt: skip
    """Return, for each sensitive column, the numbers of the groups that break a promise, as readers see the column.

    `here` has, by column of which not every row has a cell, those that have one.
    """
    promises, fewest = column_guarantees(plan.promises), 0 if plan.units is None else plan.units.fewest
    broken: dict[str, Ints] = {}
    for column in columns if promises else ():
        if column.role == "sensitive":
            classes = Classes.from_groups(
                groups, [as_column(column, codes[column.name], here.get(column.name), fewest)]
            )
            about = [replace(p, columns=None) for p in promises if column.name in (p.columns or [column.name])]
            holds = np.all([np.ones(classes.n_groups, np.bool_), *(p.holds_in(classes) for p in about)], axis=0)
            broken[column.name] = np.flatnonzero(~holds)
    return broken


def within_promises(draws: Draws, guard: Guard, plan: Plan) -> tuple[Guard, dict[str, Ints]]:
    """Draw the items of all groups, as often as the guard says; return them with the guard, which counts further draws.

    A group may tell more than its originals, and more than was promised: a tail is told of all groups
    alike, so means weigh more. It is drawn again then, more and more from the whole table. Drawing until
    chance favours a promise would leave out what is far from the middle.

    Raises
    ------
    InfeasibleError
        A group that is drawn from the whole table breaks a promise.
    """
    place, head, every = guard.times_drawn(), guard.bundles(), np.arange(len(draws.sizes))
    sensitive = [c for c in guard.columns if c.role == "sensitive"]
    computed = {each.name for each in guard.derived}  # whose promises are about what is computed from whole rows
    whole = np.zeros(len(guard.cells), np.int64)
    items = draws.items([c for c in guard.columns if c.role == "quasi"], np.arange(len(guard.cells)), whole)
    groups = Groups(np.repeat(every, draws.sizes).astype(np.uint32), draws.starts[:-1])
    # groups to draw, by where `again` starts to count them
    stale = dict.fromkeys((part.start for part in place.values()), every)
    while stale:
        again = np.asarray(guard.again, np.int64)
        for first, numbers in stale.items():
            at = np.isin(groups.labels, numbers)
            together = [c for c in sensitive if place[head[c.name]].start == first]
            for name, codes in draws.items(together, numbers, again[first : first + len(every)]).items():
                items.setdefault(name, np.empty(len(at), np.int64))[at] = codes
        visible, visible_codes = draws.as_told(sensitive, items)
        visible = [c for c in visible if c.name not in computed]
        stale = by_count(guard, groups_that_break(plan, groups, visible, visible_codes, draws.here(items)))
        guard = counted_again(guard, stale)
    return guard, items


def by_count(guard: Guard, broken: Mapping[str, Ints]) -> dict[int, Ints]:
    """Return the groups in which a column breaks a promise, by where `again` starts to count them; none is empty."""
    place, head, bad = guard.times_drawn(), guard.bundles(), dict[int, Ints]()
    for name, numbers in broken.items():
        first = place[head[name]].start
        bad[first] = np.union1d(bad.get(first, numbers[:0]), numbers)
    return {first: numbers for first, numbers in bad.items() if len(numbers)}


def counted_again(guard: Guard, bad: Mapping[int, Ints]) -> Guard:
    """Count that groups are drawn once more.

    Raises
    ------
    InfeasibleError
        One of them was drawn from the whole table often enough.
    """
    again, most = np.asarray(guard.again, np.int64).copy(), LAST * AGAIN
    for first, numbers in bad.items():
        again[first + numbers] += 1
    if again.max(initial=0) > most:
        hopeless = [name for name, part in guard.times_drawn().items() if again[part].max(initial=0) > most]
        about = ", ".join(repr(name) for name in hopeless)
        sizes = np.asarray(guard.sizes)[np.flatnonzero(again > most) % len(guard.sizes)]
        records = f"{sizes.min():,} to {sizes.max():,}" if sizes.min() < sizes.max() else f"{sizes.min():,}"
        message = f"groups of {records} records, drawn from the whole table, still break a promise about {about}"
        hint = "ask for larger groups (k), or for a looser cap"
        if guard.cap_on == FILE:
            message = f"combinations of quasi-identifiers in the file still break a promise about {about}"
            # they were drawn until they kept it
            hint += ', or for one on groups alone, which these keep: cap_on="groups" (--cap-on groups)'
            hint += "; another key may succeed"
        raise InfeasibleError(message, hint=hint)
    return replace(guard, again=as_vector(again))
