"""Draw guarded columns a second time, plainly, and check what their plan says of runs and groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.special import ndtri

from ...backends.randomize import hashes, words_of
from ...columns.arrays import WINDOW, slices, value_class
from ...columns.order import ranks_of
from ...columns.table import Table, Window
from ...errors import UnsupportedError
from ...guard.draw import key_of
from ...guard.rows import decoded_cells, entries_of, released_weights
from ...kernels import Floats, Ints
from ...key import Key
from ...measures import Persons, group
from ...measures.guarantees import Check
from ...plan import GuardedColumn, Partition, Plan, PlanColumn
from ...plan.records import AGAIN, RUNS, WAVE
from .expected_shares import ExpectedShares, expected_shares
from .plain_rules import DrawnAgain
from .recipes import Categories, Made, Numbers, PartitionRecipe, counts_in_words
from .told_numbers import told_numbers, wrong_pieces

# for divisions by shares that may be 0
_TINY = float(np.finfo(float).tiny)
# items whose chances are compared at once
_BLOCK = 1 << 14
# what rounding may move a mean or a standard deviation by, in steps
_CLOSE = 1e-6
# of each person, what a rule may miss of a standardised feature: large tables have rules of samples
_MISSED = 0.02


class GuardRecipe:
    """A recipe that finds the run or the draw of every row of the original."""

    # all were read as a whole
    columns_read: Sequence[str] = ()

    def __init__(
        self, plan: Plan, original: Table, released: Table, rows: Ints | None, key: Key | None, others: Sequence[str]
    ) -> None:
        assert plan.guard is not None
        plan = replace(plan, guard=plan.guard.as_drawn())
        assert plan.guard is not None
        self.guard, self._original, self._plan = plan.guard, original, plan
        self._drawn, self.in_file = DrawnAgain(plan, original), DrawnAgain(plan, released)
        self._codes = {c.name: _codes(c, self._drawn.of(c.name)) for c in plan.guard.columns}
        self._here = self._drawn.here
        for column in (c for c in plan.guard.columns if plan.units and c.name == plan.units.presence):
            codes, commonest = self._codes[column.name], max(range(len(column.people)), key=column.people.__getitem__)
            self._codes[column.name] = np.where(codes < 0, commonest, codes)
        for name, here in self._here.items():
            self._codes[name][~here] = -1
        for column in (c for c in plan.guard.columns if plan.units and c.name in plan.units.in_slots):
            # what few people have in a slot is withheld there
            self._codes[column.name][~np.append(np.asarray(column.people) > 0, False)[self._codes[column.name]]] = -1
        self.columns_of_slots = {*self._here}
        self._rules: dict[str, ExpectedShares] = {}
        self.partition: PartitionRecipe | None = None
        if plan.guard.rows:
            self.labels, self.partition = _planned_groups(plan, original)
            self._cells = self._joined_cells(self.partition.leaf.astype(np.int64))
        else:
            self.labels = _labels(plan.names("quasi"), lambda name: decoded_cells(released, name), rows)
            self._cells = self.labels[:0]
        self._types = {c.name: self.in_file.of(c.name).types.field(c.name).type for c in plan.guard.columns}
        self._values = {c.name: entries_of(c, self._types[c.name]) for c in plan.guard.columns}
        self.classes = {name: value_class(values.type) for name, values in self._values.items()}
        self._computed: dict[str, pa.Array] = {}
        self._released_codes = {c.name: _visible(c, self._codes[c.name]) for c in plan.guard.columns}
        if key is not None and plan.guard.form != RUNS and self.sizes_hold:
            bound = key_of(key, plan, plan.guard)
            items = self._told_numbers(self._items(bound), bound)
            by = [hashes(original, others, bound)[0]] if others else []
            order = np.lexsort([*by, self.labels])
            by_rows = plan.guard.rows or plan.rules  # pairs, or what breaks a rule, are swapped away
            self._released_codes = self._swapped(rows, items) if by_rows else {}
            matching = {*self._released_codes}
            for name in items.keys() - matching:
                self._released_codes[name] = np.empty_like(items[name])
                self._released_codes[name][order] = items[name]
            for each in plan.guard.derived:
                self._computed[each.name] = self._computed_cells(each.name, released, rows, matching)
                self.classes[each.name] = value_class(self._computed[each.name].type)
        if plan.has_mean_weights and self.sizes_hold:
            kind = released.types.field(plan.weight).type
            record, of_group = released_weights(plan)
            self._values[plan.weight] = entries_of(record, kind)
            self._released_codes[plan.weight] = of_group[self.labels]
            self.classes[plan.weight] = value_class(kind)

    @property
    def sizes_hold(self) -> bool:
        """Return whether the groups of the release, and their cells, have the sizes that the plan says."""
        pairs = ((self.labels, self.guard.sizes), (self._cells, self.guard.cells))
        return all(np.bincount(labels).tolist() == list(sizes) for labels, sizes in pairs)

    def n_cells(self, column: GuardedColumn) -> Ints:
        """Return how many records of each unit in which a column is drawn have a cell of it."""
        sizes = self.units(column)[1]
        if column.name not in self._here:
            return sizes
        assert self._plan.units is not None
        patterns = next(c for c in self.guard.columns if c.name == self._plan.units.presence)
        has = np.array([self._plan.units.has_cell(column.name, str(value)) for value in patterns.values])
        n_of_cell = np.bincount(
            np.repeat(np.arange(len(self.guard.cells)), np.diff(np.asarray(patterns.starts))),
            np.asarray(patterns.counts) * has[np.asarray(patterns.codes)], len(self.guard.cells),
        ).astype(np.int64)  # fmt: skip
        if column.role == "quasi":
            return n_of_cell
        # cells are numbered group after group
        group_of_cell = np.searchsorted(
            np.cumsum(np.asarray(self.guard.sizes)), np.cumsum(np.asarray(self.guard.cells))
        )
        return np.bincount(group_of_cell, n_of_cell, len(sizes)).astype(np.int64)

    def _joined_cells(self, leaf: Ints) -> Ints:
        """Return the cell of each row, group after group; a group with a cell of too few people is one cell."""
        person = self._persons()
        # one number for a pair sorts much faster than two
        width = int(leaf.max(initial=0)) + 2
        pairs, cell = np.unique(self.labels * width + leaf + 1, return_inverse=True)
        counted = cell if person is None else _each_once(cell, person)
        whole = np.unique(pairs[np.bincount(counted) < self.guard.people] // width)
        joined = np.where(np.isin(pairs // width, whole), pairs // width * width, pairs)
        return np.asarray(np.unique(joined, return_inverse=True)[1][cell], np.int64)

    def _persons(self) -> Ints | None:
        """Return who each record counts as, a person or a household; None if every record is one."""
        people = Persons.from_table(self._original, self._plan.unit, self._plan.household)
        return None if people is None else people.codes if people.homes is None else people.homes[people.codes]

    def recode(self, part: Window) -> Made:
        """Return the guarded columns of the given rows."""
        columns = {}
        for name, values in self._values.items():
            if name in self._computed:
                at = part.rows
                columns[name] = (
                    self._computed[name][at] if isinstance(at, slice) else self._computed[name].take(pa.array(at))
                )
                continue
            codes = self._released_codes[name][part.rows].astype(np.int32)
            # a category that is never released is missing
            columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), values)
        return Made(columns, {})

    def _computed_cells(self, name: str, released: Table, rows: Ints | None, matching: Collection[str]) -> pa.Array:
        """Return the cells of a computed column: missing if what was drawn for it does not stand in the file."""
        cells = decoded_cells(released, name)
        if name not in matching:
            return pa.nulls(len(cells), cells.type)
        column = next(c for c in self.guard.columns if c.name == name)
        computed = self.in_file.expected(name, released.types.field(name).type, column.style)
        cells = cells if computed is None else computed
        return cells if rows is None else cells.take(pa.array(np.argsort(rows)))

    def _swapped(self, rows: Ints | None, items: dict[str, Ints]) -> dict[str, Ints]:
        """Return the released codes of each bundle of columns that hold, in every group, the values of its items.

        Which row of a group has which of them is not derived again, where pairs were swapped away. Of a plan with rules
        some values of other groups may stand in their place, as many as it says.
        """
        in_file = {}
        for name, at in self.codes_in_file().items():
            in_file[name] = np.empty_like(at)
            in_file[name][np.arange(len(at)) if rows is None else rows] = at
        bundles: dict[str, list[str]] = {}
        for column in self.guard.columns:
            head = next((h for h, names in bundles.items() if column.follows in names), column.name)
            bundles.setdefault(head, []).append(column.name)
        matching, ordered = dict[str, Ints](), np.sort(self.labels)
        mended = dict(zip(bundles, self.guard.mended, strict=False))
        for head, names in bundles.items():
            one, two = (self._combined(names, *part) for part in ((ordered, items), (self.labels, in_file)))
            other = mended.get(head, 0) + sum(self.in_file.hidden.get(name, 0) for name in names)
            if _differing(one, two) <= other:
                matching |= {name: in_file[name] for name in names}
        return matching

    def _told_numbers(self, items: dict[str, Ints], key: Key) -> dict[str, Ints]:
        """Give each drawn number a value of its own; return the codes of items among the values then released."""
        group, bundles, moved = np.sort(self.labels), self.guard.bundles(), dict(items)
        for column in (c for c in self.guard.columns if len(c.begins)):
            head = bundles[column.name]
            together = [items[c.name] for c in self.guard.columns if bundles[c.name] == head]
            order, uniforms = np.lexsort([*reversed(together), group]), []
            for purpose in ("guard place", "guard step"):
                uniforms.append(np.empty(len(group)))
                uniforms[-1][order] = _uniforms(np.arange(len(group)), key, f"{purpose} {head}")
            numbers = told_numbers(column, items[column.name], *uniforms)
            distinct, codes = np.unique(numbers, return_inverse=True)
            distinct = distinct[~np.isnan(distinct)]
            missing = column.values[column.n_values :]
            values = entries_of(replace(column, values=(*distinct.tolist(), *missing)), self._types[column.name])
            self._values[column.name], self.classes[column.name] = values, value_class(values.type)
            # numbers that a smaller type does not tell apart are one
            moved[column.name] = self._codes_of(values, column.name)[codes]
        return moved

    def codes_in_file(self) -> dict[str, Ints]:
        """Return the code of each released cell of the guarded columns, one above that of missing if it has none."""
        codes = {name: self._codes_of(decoded_cells(self.in_file.of(name), name), name) for name in self._values}
        for column in self.guard.columns:  # a list that is withheld is read as one of nothing
            nothing = self.in_file.nothing(column.name)
            if nothing and nothing not in column.values:
                cells = decoded_cells(self.in_file.of(column.name), column.name)
                is_nothing = pc.equal(cells, nothing).fill_null(False).to_numpy(zero_copy_only=False)
                codes[column.name][is_nothing] = column.n_values
        return codes

    def source(self, column: PlanColumn) -> Table:
        """Return the original with a column as it was drawn."""
        return self._drawn.of(column.name)

    def _codes_of(self, cells: pa.Array, name: str) -> Ints:
        """Return the code of each cell of a column."""
        values = self._values[name]
        if pa.types.is_null(cells.type):  # of a frame whose type for nothing is none
            cells = cells.cast(values.type)
        if pa.types.is_float16(values.type):  # which nothing looks up
            cells, values = cells.cast(pa.float32()), values.cast(pa.float32())
        return np.asarray(pc.index_in(cells, value_set=values).fill_null(len(values)), np.int64)

    def _combined(self, names: Sequence[str], keys: Ints, codes: dict[str, Ints]) -> Ints:
        """Return a number for the group, in `keys`, and the codes in some columns that each row has together."""
        for name in names:
            width = len(self._values[name]) + 2
            if int(keys.max()) > np.iinfo(np.int64).max // width:
                raise UnsupportedError("the columns of a bundle have too many values", hint="release fewer of them")
            keys = keys * width + codes[name] + 1
        return keys

    def checks(self) -> list[Check]:
        """Return checks that enough people share each released number, and that groups have their moments."""
        person = self._persons()
        pieces = {c.name: self._wrong_pieces(c, person) for c in self.guard.columns}
        few = {c.name: self._shared_by_few(c, person) + pieces[c.name][0] for c in self.guard.columns}
        words = f"released values that fewer people have: {counts_in_words(few)}"
        checks = [Check.none(f"shared by {self.guard.people}", sum(few.values()), words)]
        untrue = {c.name: self._untrue(c, person) + pieces[c.name][1] for c in self.guard.columns}
        words = f"released values that are not their run's, or that the plan counts wrongly: {counts_in_words(untrue)}"
        checks.append(Check.none("runs", sum(untrue.values()), words))
        if self.guard.form != RUNS:
            wrong = {c.name: self._off(c) if self.sizes_hold else len(self.guard.sizes) for c in self.guard.columns}
            words = f"groups whose plan has other means, spreads or shares than their records: {counts_in_words(wrong)}"
            checks.append(Check.none("drawn from their groups", sum(wrong.values()), words))
        if self._here:
            words = "values in slots in which their unit has no row"
            checks.append(Check.none("slots", self._misplaced(), words))
        if self._plan.has_mean_weights:
            words = "groups that get another weight than the mean of their records"
            checks.append(Check.none("mean weights", self._weighed_wrongly(), words))
        return checks

    def _misplaced(self) -> int:
        """Count the released values in slots in which the unit has no row."""
        here = self.in_file.here
        return sum(
            int(np.count_nonzero(~is_here & decoded_cells(self.in_file.of(""), name).is_valid().to_numpy(False)))
            for name, is_here in here.items()
        )

    def _weighed_wrongly(self) -> int:
        """Count the groups whose weight is not their mean to four digits, nor the one that all have."""
        planned = np.asarray(self.guard.weights)
        column = next(c for c in self._plan.columns if c.name == self._plan.weight)
        weights = Numbers(column, self._original).all()
        if not self.sizes_hold:
            return len(planned)
        ends = np.cumsum(np.asarray(self.guard.sizes))
        of_group = np.split(weights[np.argsort(self.labels, kind="stable")], ends[:-1])
        means = np.array([math.fsum(some) / len(some) for some in of_group])
        unit = 10.0 ** (np.floor(np.log10(means)) - 3)
        same = np.array([some.min() == some.max() for some in of_group])
        is_near = np.abs(planned - means) <= (0.5 + _CLOSE) * unit
        return int(np.count_nonzero(~np.where(same, planned == means, is_near)))

    def _wrong_pieces(self, column: GuardedColumn, person: Ints | None) -> tuple[int, int]:
        """Return how many pieces of a column too few people have, and how many are not the original's."""
        if not len(column.begins):
            return 0, 0
        slots = [replace(column, name=name) for name in self._slots(column)]
        values = np.concatenate([Numbers(slot, self.source(slot)).all() for slot in slots])
        who, present = self._who(person, len(slots)), np.flatnonzero(~np.isnan(values))
        return wrong_pieces(column, values[present], present if who is None else who[present], self.guard.people)

    def _who(self, person: Ints | None, n_slots: int) -> Ints | None:
        """Return who has each record where those of so many slots stand one below the other; None if all differ."""
        return (
            person if n_slots == 1 else np.tile(np.arange(self._original.n_rows) if person is None else person, n_slots)
        )

    def _slots(self, column: GuardedColumn) -> list[str]:
        """Return the columns whose values are told together with a column's: all slots of one that has several."""
        return [column.name] if self._plan.units is None else self._plan.units.siblings(column.name)

    def _shared_by_few(self, column: GuardedColumn, person: Ints | None) -> int:
        """Count the released values, missing not counted, that fewer people of the original have than promised."""
        n, names, is_number = column.n_values, self._slots(column), column.kind in ("numeric", "date")
        # numbers are told among those of all slots, categories by the slot
        slots = (
            [c for c in self.guard.columns if c.name in names and c.values == column.values] if is_number else [column]
        )
        codes, person = np.concatenate([self._codes[c.name] for c in slots]), self._who(person, len(slots))
        visible = (codes >= 0) & (codes < n)
        codes = codes[visible] if person is None else _each_once(codes[visible], person[visible])
        people = np.bincount(codes, minlength=n)
        # what nobody has in a slot is not released there
        return int(np.count_nonzero((people < self.guard.people) & ((people > 0) | (names == [column.name]))))

    def _untrue(self, column: GuardedColumn, person: Ints | None) -> int:
        """Count the released values that lie outside their run, are near a value that enough people
        share and not equal to it, or have another number of records than the plan says.
        """
        codes, n = self._codes[column.name], column.n_values
        records = np.bincount(codes[codes >= 0], minlength=len(column.values))
        wrong = records[: len(column.values)] != np.asarray(column.people)
        if column.kind in ("numeric", "date") and n:
            slots = [c for c in self.guard.columns if c.name in self._slots(column) and c.values == column.values]
            codes = np.concatenate([self._codes[c.name] for c in slots])
            visible, with_value = np.array(column.values[:n], np.float64), (codes >= 0) & (codes < n)
            value = np.concatenate([Numbers(c, self.source(c)).all() for c in slots])[with_value]
            codes, who = codes[with_value], self._who(person, len(slots))
            low, high = np.full(n, np.inf), np.full(n, -np.inf)
            np.minimum.at(low, codes, value)
            np.maximum.at(high, codes, value)
            distinct, at = np.unique(value, return_inverse=True)
            at = at.reshape(-1)
            if who is not None:  # each once
                _, first = np.unique(np.stack([at, who[with_value]]), axis=1, return_index=True)
                at, codes = at[first], codes[first]
            run = np.zeros(len(distinct), np.int64)
            run[at] = codes
            # in pieces the key asks for more people
            enough = (2 if len(column.begins) else 1) * self.guard.people
            shared = np.bincount(at, minlength=len(distinct)) >= enough
            wrong[:n] |= ~((low <= visible) & (visible <= high))
            wrong[run[shared & (distinct != visible[run])]] = True
        return int(np.count_nonzero(wrong)) + self._joined_needlessly(column, person) + self._withheld(column, person)

    def _withheld(self, column: GuardedColumn, person: Ints | None) -> int:
        """Count the values that the plan has not in a slot though enough people have them there."""
        if self._plan.units is None or column.name not in self._plan.units.in_slots:
            return 0
        codes = np.where(self._here.get(column.name, True), _codes(column, self._drawn.of(column.name)), -1)
        some = codes >= 0
        who = np.arange(len(codes)) if person is None else person
        people = np.bincount(_each_once(codes[some], who[some]), minlength=len(column.values))
        return int(np.count_nonzero((people >= self.guard.people) & (np.asarray(column.people) == 0)))

    def _joined_needlessly(self, column: GuardedColumn, person: Ints | None) -> int:
        """Count the categories that are released as another value though enough people have them."""
        if not column.joined:
            return 0
        source = Categories(column, self.source(column), column.kind)
        codes, n = source.all(), len(source.names)
        codes = codes[codes < n] if person is None else _each_once(codes[codes < n], person[codes < n])
        frequent = np.flatnonzero(np.bincount(codes, minlength=n) >= self.guard.people)
        return len({source.names[at] for at in frequent.tolist()} - {*column.values})

    def _off(self, column: GuardedColumn) -> int:
        """Count the groups whose record does not follow from their originals."""
        if column.follows:
            return 0
        codes, n = self._codes[column.name], column.n_values
        if not len(column.classes):
            return self._off_moments(column, codes) if column.by_moments else self._off_shares(column)
        classes, people = np.asarray(column.classes), np.asarray(column.people)
        if (people[:n][classes[:n] > 0] < max(50, people.sum() / 20)).any():  # a class of too few people
            return len(self.guard.sizes)
        by_class, rest = column.parts()
        in_rest = np.append(np.where(classes == 0, np.cumsum(classes == 0) - 1, -1), -1)[codes]
        return self._off_shares(by_class) + self._off_moments(rest, in_rest, 2)

    def _off_shares(self, column: GuardedColumn) -> int:
        """Return the number of groups if the counts of codes in any of them, or the rule, are not the originals'."""
        labels, sizes = self.units(column)
        width, codes = len(column.values), self._codes_by_share(column)
        keys, counts = np.unique((labels * width + codes)[codes >= 0], return_counts=True)
        of_group = np.repeat(np.arange(len(sizes)), np.diff(np.asarray(column.starts)))
        planned = np.stack([of_group, np.asarray(column.codes), np.asarray(column.counts)])
        is_fitted = not column.ruled or self._rule(column).off <= _MISSED
        is_counted = np.array_equal(planned, np.stack([keys // width, keys % width, counts]))
        return 0 if is_counted and is_fitted else len(sizes)

    def _off_moments(self, column: GuardedColumn, codes: Ints, half: int = 0) -> int:
        """Count the groups whose means, spreads or tilts do not follow from their originals.

        The mean of `half` people counts half.
        """
        labels, sizes = self.units(column)
        n_groups = len(sizes)
        n = len(column.scores)
        with_value = (codes >= 0) & (codes < n)
        z = np.asarray(column.scores, np.float64)[codes[with_value]] / 32
        n_present = np.bincount(labels[with_value], minlength=n_groups)
        mean = np.bincount(labels[with_value], z, n_groups) / np.maximum(n_present, 1)
        deviation = z - mean[labels[with_value]]
        within = np.bincount(labels[with_value], deviation**2, n_groups)
        mean *= n_present**2 / np.maximum(n_present**2 + half**2, 1)
        shrink = 10 if column.role == "sensitive" else 0
        spread = np.sqrt((within + shrink * within.sum() / n_present.sum()) / np.maximum(n_present + shrink, 1))
        step = column.step / column.spread
        moments, pair = np.asarray(column.moments).reshape(-1, 2), np.asarray(column.pair)
        only = pair - len(moments)
        planned = moments[np.minimum(pair, len(moments) - 1)].T
        far = np.abs(mean / step - planned[0]) > 0.5 + _CLOSE
        far |= np.abs(np.maximum(spread / step, 1) - planned[1]) > 0.5 + _CLOSE
        # a group that is told as it is has one run
        alone = np.bincount(labels[with_value], codes[with_value] == only[labels[with_value]], n_groups) == n_present
        far = np.where(only >= 0, ~alone, far) & (n_present > 0)
        with_cell = labels if column.name not in self._here else labels[self._here[column.name]]
        far |= np.asarray(column.missing) != np.bincount(with_cell, minlength=n_groups) - n_present
        return int(np.count_nonzero(far)) + self._untilted(column)

    def units(self, column: GuardedColumn) -> tuple[Ints, Ints]:
        """Return the unit of each row in which a column is drawn, a cell or a group, and the units' sizes."""
        is_quasi = column.role == "quasi"
        sizes = self.guard.cells if is_quasi else self.guard.sizes
        return self._cells if is_quasi else self.labels, np.asarray(sizes, np.int64)

    def _untilted(self, column: GuardedColumn) -> int:
        """Count the groups whose tilt has not their mean and spread, nor the nearest that any has; and those
        that the plan wrongly says to have only the nearest.
        """
        levels, _, chances = _chances(column)
        mean = chances @ levels
        variance = chances @ levels**2 - mean**2
        planned = np.asarray(column.moments).reshape(-1, 2) * (column.step / column.spread)
        planned[:, 1] **= 2
        # plans of version 1 kept spreads farther from the least that is possible
        least = 0.006 if self._plan.version > 1 else 0.02
        nearest = np.array([_nearest_moments(levels, m, v, least) for m, v in planned])
        off = np.abs(np.stack([mean, variance], axis=1) - nearest).max(axis=1) > _CLOSE
        moved = ~np.isclose(nearest, planned).all(axis=1)
        pair = np.asarray(column.pair)
        pair = pair[pair < len(off)]
        return int(off[[*pair, column.whole]].sum()) + abs(int(moved[pair].sum()) - column.moved)

    def _items(self, key: Key) -> dict[str, Ints]:
        """Return the code of every item, group after group, in its final order."""
        guard = self.guard
        n = len(self.labels)
        items: dict[str, Ints] = {}
        for column in guard.columns:
            every, sizes = self.units(column)[1], self.n_cells(column)
            # cells of quasi-identifiers are never drawn again
            again = self.times_drawn(column)
            unit = np.repeat(np.arange(len(every)), every)
            # records without a cell are the last of their unit
            here = np.arange(n) - (np.cumsum(every) - every)[unit] < sizes[unit]
            # waves are drawn from the same places
            is_wave = self._plan.units is not None and self._plan.units.order == WAVE
            first = self._slots(column)[0] if is_wave else column.name
            items[column.name] = np.full(n, len(column.values))
            if column.follows:
                uniform = _uniforms(np.arange(n) + again[unit] * n, key, f"guard donor {first}")[here]
                items[column.name][here] = self._donated(column, items[column.follows][here], uniform)
                continue
            unit = unit[here]
            start = _uniforms(np.arange(len(sizes)) + again * len(sizes), key, f"guard draw {first}")
            place = _places(start, sizes)
            towards = np.minimum(again / AGAIN, 1.0)
            read = self._reader(column, sizes, towards)
            parts = [read(place[at], unit[at]) for at in slices(len(unit), _BLOCK)]
            codes = np.concatenate([np.zeros(0, np.int64), *parts])
            if column.has_missing:
                uniform = _uniforms(np.arange(len(sizes)) + again * len(sizes), key, f"guard together {column.name}")
                codes = self._together(column, codes, unit, uniform)
            # those of classes do not ascend
            items[column.name][here] = codes[np.lexsort((codes, unit))] if len(column.classes) else codes
        # of rows the values of each group are compared, whatever their order
        if not guard.rows:
            return self._reordered(items, np.sort(self.labels), key)
        # a reader sees no value where there is no cell
        moved = self._possible(items)
        return {c.name: np.minimum(moved[c.name], c.n_values) for c in guard.columns}

    def _together(self, column: GuardedColumn, codes: Ints, unit: Ints, uniform: Floats) -> Ints:
        """Return the codes, where a unit that is drawn from the whole table has several values or none."""
        n, fewest = column.n_values, self.values_together(column)
        present = np.bincount(unit[codes < n], minlength=len(fewest))
        by_value = np.repeat(np.arange(n), list(column.people)[:n])
        codes = codes.copy()
        for each in np.flatnonzero((present > 0) & (present < fewest)).tolist():
            here = np.flatnonzero(unit == each)
            codes[here] = n
            if uniform[each] < present[each] / fewest[each]:
                offset = uniform[each] * fewest[each] / present[each]
                for i, row in enumerate(here[: fewest[each]].tolist()):
                    codes[row] = by_value[int((i + offset) / fewest[each] * len(by_value))]
        return codes

    def values_together(self, column: GuardedColumn) -> Ints:
        """Return how many records of each unit have a value at least, if any has one; 0 for any number."""
        sizes, again = self.n_cells(column), self.times_drawn(column)
        several = np.where(again < AGAIN, 4, np.choose(again % 4, [4, 6, 8, 16]))
        return np.where(again > 0, np.minimum(several, sizes), 0) * column.has_missing

    def _reader(self, column: GuardedColumn, sizes: Ints, towards: Floats) -> Callable[[Floats, Ints], Ints]:
        """Return a function from places and units to the codes there."""
        if len(column.classes):
            return _by_classes(column, self.expected(column.parts()[0]), sizes, towards)
        if column.by_moments:
            return _by_moments(column, sizes, towards)
        return _by_shares(column, self.expected(column), towards)

    def times_drawn(self, column: GuardedColumn) -> Ints:
        """Return how often each unit of a column was drawn again; cells of quasi-identifiers never were."""
        if column.role != "sensitive":
            return np.zeros(len(self.units(column)[1]), np.int64)
        place = self.guard.times_drawn()[self.guard.bundles()[column.name]]
        return np.asarray(self.guard.again, np.int64)[place]

    def expected(self, column: GuardedColumn) -> Callable[[slice], Floats]:
        """Return a function from some units to the shares that people like theirs have of a column's codes."""
        if column.ruled:
            return self._rule(column).in_groups
        people = np.asarray(column.people, np.float64)
        public = people / max(people.sum(), 1.0)
        return lambda units: np.tile(public, (units.stop - units.start, 1))

    def _rule(self, column: GuardedColumn) -> ExpectedShares:
        """Return what the rule of a column makes of the original; it is derived once."""
        if column.name not in self._rules:
            shared = self._codes_by_share(column)
            self._rules[column.name] = expected_shares(self.guard, column, self._codes, shared, self.labels)
        return self._rules[column.name]

    def _codes_by_share(self, column: GuardedColumn) -> Ints:
        """Return the codes of rows in what a column is drawn by shares of: its values, or its classes."""
        classes = np.asarray(next(c.classes for c in self.guard.columns if c.name == column.name))
        codes = self._codes[column.name]
        return np.append(classes, -1)[codes] if len(classes) else codes

    def _possible(self, items: dict[str, Ints]) -> dict[str, Ints]:
        """Move numbers of quasi-identifiers that go with no category of their cell to the nearest that do."""
        group = np.sort(self._cells)
        bundled = {c.follows for c in self.guard.columns} | {c.name for c in self.guard.columns if c.follows}
        quasi = [c for c in self.guard.columns if c.role == "quasi" and c.name not in bundled]
        moved = dict(items)
        for column in (c for c in quasi if c.by_moments):
            n = len(column.scores)
            bins = _bins(column)
            fits = np.ones((len(self.guard.cells), int(bins[n - 1]) + 1), np.bool_)
            for other in (c for c in quasi if not c.by_moments):
                rare, theirs = self.rare(column, other), _bins(other)
                with_rare = np.flatnonzero(rare[: fits.shape[1]].any(axis=1)).tolist()
                if not with_rare:
                    continue
                pair = np.unique(group * rare.shape[1] + theirs[items[other.name]])
                g, cell = pair // rare.shape[1], pair % rare.shape[1]
                for i in with_rare:
                    fits[:, i] &= np.bincount(g[~rare[i, cell]], minlength=len(fits)) > 0
            moved[column.name] = codes = items[column.name].copy()
            with_value = np.flatnonzero(codes < n)
            for at in with_value[~fits[group[with_value], bins[codes[with_value]]]].tolist():
                row = fits[group[at]]
                if not row.any():
                    continue
                lower = np.flatnonzero(row[bins[: codes[at]]])[-1:]
                higher = codes[at] + np.flatnonzero(row[bins[codes[at] : n]])[:1]
                near = np.concatenate([lower, higher])
                codes[at] = near[np.abs(near - codes[at]).argmin()]
        return moved

    def rare(self, column: GuardedColumn, other: GuardedColumn) -> NDArray[np.bool_]:
        """Return the pairs of bins that too few people have, and at most a tenth of those who should: fifty at least,
        and ten in plans of version 1.
        """
        one, two = (
            np.where(self._here[c.name], self._codes[c.name], len(c.values)) if c.name in self._here
            else self._codes[c.name] for c in (column, other)
        )  # fmt: skip
        visible = (one >= 0) & (two >= 0)
        x, y = _bins(column), _bins(other)
        n_x, n_y = int(x.max()) + 1, int(y.max()) + 1
        pairs = x[one[visible]] * n_y + y[two[visible]]
        counted = np.bincount(pairs, minlength=n_x * n_y).reshape(n_x, n_y).astype(np.float64)
        expected = counted.sum(axis=1)[:, None] * counted.sum(axis=0) / max(counted.sum(), 1)
        return (counted < self.guard.people) & (
            expected >= np.maximum(50 if self._plan.version > 1 else 10, 10 * counted)
        )

    def _donated(self, column: GuardedColumn, before: Ints, uniform: Floats) -> Ints:
        """Return the codes that donors with nearly the same code of the column before have."""
        second, begin, end = self.donors(column, before)
        return second[begin + np.minimum(np.floor(uniform * (end - begin)).astype(np.int64), end - begin - 1)]

    def donors(self, column: GuardedColumn, before: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the codes of all donors, and where those begin and end who have nearly the codes before."""
        leader = next(c for c in self.guard.columns if c.name == column.follows)
        second, first = (_visible(c, self._codes[c.name]) for c in (column, leader))
        lends = self._codes[column.name] >= 0
        if lends.any():
            first, second = first[lends], second[lends]
        first, second = np.stack([first, second])[:, np.lexsort((second, first))]
        n, has_value = leader.n_values, before < leader.n_values
        crowded = np.append(np.asarray(leader.people)[:n] >= 5 * self.guard.people, True)
        near = 2 * (leader.kind in ("numeric", "date")) * ~crowded[before]
        low = before - near * has_value
        high = np.where(has_value, np.minimum(before + near, n - 1), before)
        begin, end = np.searchsorted(first, low), np.searchsorted(first, high, side="right")
        if leader.of_all and leader.begins:
            least, valued = 5 * self.guard.people, np.count_nonzero(first < n)
            for i in np.flatnonzero(has_value & (end - begin < least)).tolist():
                middle = begin[i] + (end[i] - begin[i]) // 2
                begin[i], end[i] = max(middle - least // 2, 0), min(middle - least // 2 + least, valued)
        few = end - begin < self.guard.people
        begin[few], end[few] = 0, len(first)
        return second, begin, end

    def _reordered(self, items: dict[str, Ints], group: Ints, key: Key) -> dict[str, Ints]:
        """Put items into the order of correlated normal scores, inside groups."""
        heads = [c.name for c in self.guard.columns if not c.follows]
        matrix = np.eye(len(heads))
        at = iter(self.guard.correlation)
        for i in range(len(heads)):
            for j in range(i + 1):
                matrix[i, j] = matrix[j, i] = next(at) / 100
        values, vectors = np.linalg.eigh(matrix)
        matrix = (vectors * np.maximum(values, 1e-3)) @ vectors.T
        matrix /= np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))
        lower, everyone = np.linalg.cholesky(matrix), np.arange(len(group))
        normal = [ndtri(_uniforms(everyone, key, f"guard order {name}") + 2.0**-54) for name in heads]
        order: dict[str, Ints] = {}
        for i, name in enumerate(heads):
            score = sum((lower[i, j] * normal[j] for j in range(1, i + 1)), lower[i, 0] * normal[0])
            order[name] = np.lexsort((score, group))
        moved = {}
        for column in self.guard.columns:
            order[column.name] = order[column.follows or column.name]
            moved[column.name] = np.empty_like(items[column.name])
            moved[column.name][order[column.name]] = items[column.name]
        return moved


def _bins(column: GuardedColumn) -> Ints:
    """Return the bin of each code: its own among few, else one in twenty parts, values that many have alone.

    The last one is of records without a cell.
    """
    people = list(column.people)
    if len(people) <= 60:
        return np.arange(len(people) + 1)
    bins: list[int] = []
    before, last, total = 0, 0, sum(people)
    for i, n in enumerate(people):
        is_heap = n * 50 >= total or (i > 0 and people[i - 1] * 50 >= total)
        part = before * 20 // total
        bins.append(bins[-1] + (is_heap or part > last) if bins else 0)
        last, before = part, before + n
    return np.array([*bins, bins[-1] + 1])


def _codes(column: GuardedColumn, original: Table) -> Ints:
    """Return the code of each row of the original; -1 for what is never released."""
    n = column.n_values
    missing = n if column.has_missing else -1
    if column.kind in ("numeric", "date"):
        values = Numbers(column, original).all()
        runs = np.searchsorted(np.asarray(column.cuts), values, side="right")
        return np.where(np.isnan(values), missing, runs if n else 0).astype(np.int64)
    source = Categories(column, original, column.kind)
    place = {value: code for code, value in enumerate(column.values[:n])}
    rest = missing if column.rest_is_missing else place.get(column.rest, -1) if column.rest else -1
    parent = dict(zip(column.children, column.parents, strict=True))
    begins = {(len(v), v.rstrip("*")): v for v in place if column.by_prefix and isinstance(v, str) and v[-1:] == "*"}
    lookup = [*(place.get(name, -1) for name in source.names), missing]
    for at, name in enumerate(source.names):
        if name not in place:
            near = [begins[len(name), name[:cut]] for cut in range(1, len(name)) if (len(name), name[:cut]) in begins]
            lookup[at] = place[near[-1]] if near else place[parent[name]] if name in parent else rest
    return np.array(lookup, np.int64)[source.all()]


def _differing(one: Ints, two: Ints) -> int:
    """Return how many rows have a number that stands more seldom in the second array."""
    if int(max(one.max(), two.max())) < 4 * len(one):  # counting is faster than sorting, if there are not too many
        counts = (np.bincount(numbers, minlength=4 * len(one)) for numbers in (one, two))
    else:
        one, two = np.sort(one), np.sort(two)
        if np.array_equal(one, two):
            return 0
        values = np.union1d(one, two)
        counts = (np.searchsorted(x, values, "right") - np.searchsorted(x, values) for x in (one, two))
    return int(np.maximum(next(counts) - next(counts), 0).sum())


def _each_once(codes: Ints, person: Ints) -> Ints:
    """Return each code once for every person who has it."""
    n_people = int(person.max(initial=0)) + 1
    return np.unique(codes * n_people + person) // n_people


def _visible(column: GuardedColumn, codes: Ints) -> Ints:
    """Return codes as readers see them: what is withheld is missing."""
    return np.where(codes < 0, column.n_values, codes)


def _planned_groups(plan: Plan, original: Table) -> tuple[Ints, PartitionRecipe]:
    """Return the group of each row of the original, by the cells that the plan gives it, and the recipe of these."""
    assert isinstance(plan.recoding, Partition)
    recipe, quasi = PartitionRecipe(plan.recoding, original, leaves=True), plan.names("quasi")
    parts = [recipe.recode(part).columns for part in original.windows(recipe.columns_read, WINDOW)]
    # all parts of a column have one dictionary
    cells = {name: pa.chunked_array([part[name] for part in parts]).combine_chunks() for name in quasi}
    return _labels(quasi, cells.__getitem__, None), recipe


def _labels(quasi: Sequence[str], cells: Callable[[str], pa.Array], rows: Ints | None) -> Ints:
    """Return the group of each row of the original: equal cells, in the order of their texts."""
    ranks = []
    for name in quasi:
        coded = column if pa.types.is_dictionary((column := cells(name)).type) else column.dictionary_encode("encode")
        ranks.append(ranks_of(coded.dictionary)[0].astype(np.int64)[coded.indices.to_numpy()])
    number = group(ranks).labels
    labels = np.empty(len(number), np.int64)
    labels[slice(None) if rows is None else rows] = number
    return labels


def _uniforms(at: Ints, key: Key, purpose: str) -> Floats:
    return np.asarray((words_of(at.astype(np.uint64), key, purpose) >> np.uint64(11)) / 2.0**53, np.float64)


def _chances(column: GuardedColumn) -> tuple[Floats, Ints, Floats]:
    """Return the levels of a column's scores, the level of each run, and each pair's chances of the levels."""
    levels, of_run = np.unique(np.asarray(column.scores), return_inverse=True)
    z = levels / 32
    chances = []
    for a, b in np.asarray(column.tilts).reshape(-1, 2):
        power = np.log(np.asarray(column.weights)) + a * z + b * z * z
        weights = np.exp(power - power.max())
        chances.append(weights / weights.sum())
    return z, of_run.reshape(-1), np.array(chances)


def _nearest_moments(levels: Floats, mean: float, variance: float, inside: float) -> tuple[float, float]:
    """Return a mean and variance that some tilt of the levels has: these, or the nearest that are possible."""
    low, high = float(levels[0]), float(levels[-1])
    margin = (high - low) / 1000
    mean = min(max(mean, low + margin), high - margin)
    # nearest to the mean, two levels vary least; the outermost two vary most
    least = (mean - float(levels[levels <= mean][-1])) * (float(levels[levels > mean][0]) - mean)
    span = (mean - low) * (high - mean) - least
    return mean, min(max(variance, least + inside * span + 1e-9), least + 0.98 * span)


def _bisected(reached: Callable[[Ints], Floats], place: Floats, n: int) -> Ints:
    """Return how many of n ascending numbers are at most each place; `reached` reads one number per place."""
    count = np.zeros(len(place), np.int64)
    for bit in reversed(range(n.bit_length())):
        more = count + (1 << bit)
        is_reached = (more <= n) & (reached(np.minimum(more, n) - 1) <= place)
        count = np.where(is_reached, more, count)
    return count


def _by_moments(column: GuardedColumn, sizes: Ints, towards: Floats) -> Callable[[Floats, Ints], Ints]:
    """Return a function from places and groups to the runs there in the groups' tilted distributions."""
    _, of_run, chances = _chances(column)
    reached, people = np.cumsum(chances, axis=1), np.asarray(column.people, np.float64)
    missing = np.zeros(len(sizes))
    if column.has_missing:
        public = people[-1] / people.sum()
        missing = (np.asarray(column.missing) + column.smoothed * public) / np.maximum(sizes + column.smoothed, 1)
        missing = np.minimum(missing, 1)
        missing = missing * (1 - towards) + public * towards
    n_people = np.append(0.0, np.cumsum(people[: len(of_run)]))
    first = np.searchsorted(of_run, np.arange(reached.shape[1] + 1))
    pair = np.asarray(column.pair)

    def runs(place: Floats, group: Ints) -> Ints:
        part, tilt = towards[group], np.minimum(pair, len(reached) - 1)[group]

        def mixed(level: Ints) -> Floats:
            alone = reached[tilt, level]
            return (1 - part) * alone + part * reached[column.whole, level] if towards.any() else alone

        inside = place / np.maximum(1 - missing[group], _TINY)
        level = np.minimum(_bisected(mixed, inside, reached.shape[1]), reached.shape[1] - 1)
        below, above = np.where(level > 0, mixed(level - 1), 0.0), mixed(level)
        width = np.where(above > below, above - below, 1.0)
        begin, end = n_people[first[level]], n_people[first[level + 1]]
        with np.errstate(over="ignore", invalid="ignore"):  # of places that are missing, whose run is not taken
            at = begin + (inside - below) / width * (end - begin)
        run = np.searchsorted(n_people[1:], at, side="right")
        run = np.clip(run, first[level], first[level + 1] - 1)
        run = np.where(pair[group] < len(reached), run, pair[group] - len(reached))
        return np.where(place >= 1 - missing[group], len(of_run), run)

    return runs


def _places(start: Floats, sizes: Ints) -> Floats:
    """Return the places in [0, 1) of every row in its group, evenly spaced from a random start."""
    unit = np.repeat(np.arange(len(sizes)), sizes)
    # counted inside the group first: beside the number of a row, a start would lose its last digits
    inside = np.arange(len(unit)) - (np.cumsum(sizes) - sizes)[unit]
    return (start[unit] + inside) / sizes[unit]


def shares_in(column: GuardedColumn, units: slice, expected: Floats, towards: Floats) -> Floats:
    """Return the smoothed shares of all codes in some units, from those expected and the part drawn from the table."""
    people, starts = np.asarray(column.people, np.float64), np.asarray(column.starts)
    listed, n = slice(starts[units.start], starts[units.stop]), units.stop - units.start
    unit = np.repeat(np.arange(n), np.diff(starts[units.start : units.stop + 1]))
    counts, public = np.asarray(column.counts)[listed], people / max(people.sum(), 1)
    shares = column.smoothed * expected
    shares[unit, np.asarray(column.codes)[listed]] += counts
    # by the counts: rounded shares add up to 1 but for their last digits
    total, part = column.smoothed + np.bincount(unit, counts, n)[:, None], towards[:, None]
    return np.where(total > 0, (1 - part) * shares / np.where(total > 0, total, 1) + part * public, public)


def _by_shares(
    column: GuardedColumn, expected: Callable[[slice], Floats], towards: Floats
) -> Callable[[Floats, Ints], Ints]:
    """Return a function from places and groups to the values there in the groups' smoothed shares."""
    n = len(column.people)

    def values(place: Floats, group: Ints) -> Ints:
        # groups ascend, and all between the first and the last are here
        here = slice(int(group[0]), int(group[-1]) + 1)
        reached, row = np.cumsum(shares_in(column, here, expected(here), towards[here]), axis=1), group - here.start
        return np.minimum(_bisected(lambda at: reached[row, at], place, n), n - 1)

    return values


def _by_classes(
    column: GuardedColumn, expected: Callable[[slice], Floats], sizes: Ints, towards: Floats
) -> Callable[[Floats, Ints], Ints]:
    """Return a function from places and groups to the values there: the tilted runs of the rest first, then classes."""
    by_class, rest = column.parts()
    every, classes = slice(0, len(sizes)), list(column.classes)
    reached = np.cumsum(shares_in(by_class, every, expected(every), towards), axis=1)
    of_rest = np.flatnonzero(np.array(classes) == 0)
    of_class = np.array([of_rest[-1], *(classes.index(number) for number in range(1, len(by_class.values)))])
    runs = _by_moments(rest, sizes, towards)

    def values(place: Floats, group: Ints) -> Ints:
        number = np.minimum((reached[group] <= place[:, None]).sum(axis=1), len(of_class) - 1)
        inside = np.minimum(place / np.maximum(reached[group, 0], _TINY), 1 - 2.0**-53)
        return np.where(number == 0, of_rest[runs(inside, group)], of_class[number])

    return values
