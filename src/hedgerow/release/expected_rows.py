"""Check that a table holds exactly the expected rows of a release, in any order.

The original is recoded a second time (`release/rederive`) in batches, and its rows are summed by
keyed hashes, as are those of the released table and later those of its file. Equal sums mean equal
rows: a changed cell, a lost or doubled row, or two swapped incomes would change them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..backends import engine
from ..columns.arrays import WINDOW, decoded, storage, value_class
from ..columns.numbers import one_zero
from ..columns.row_hashes import RowHasher, RowSums
from ..columns.table import Table, Window
from ..errors import UnsupportedError
from ..kernels.threads import streamed
from ..key import Key
from ..measures.guarantees import Check
from ..plan import Maps, Partition, Recoding
from ..plan.records import COVERS, LEFT_OUT, MAPPED, RANDOM, UNCHANGED
from ..progress import Tell
from .rederive.guard_recipe import GuardRecipe
from .rederive.recipes import MapsRecipe, PartitionRecipe, Recipe, counts_in_words

_PAIRED = 1 << 16


def plainly(recoding: Recoding, original: Table, same: Collection[str] | None = None) -> Recipe | None:
    """Return the recipe of a recoding; None if its result depends on chance or on the whole table.

    If `original` is one part of a table, `same` names the columns that the maps leave unchanged in
    all parts.
    """
    if isinstance(recoding, Partition):
        return PartitionRecipe(recoding, original)
    return MapsRecipe(recoding, original, same) if isinstance(recoding, Maps) else None


@dataclass(frozen=True, eq=False)
class ExpectedRows:
    """The rows that a release must have, stored as sums of row hashes under a fresh key.

    Parameters
    ----------
    classes : mapping of str to str
        The released columns in order, and the class by which each is compared.
    relations : mapping of str to str
        How the cells of each column relate to their originals (`plan.records`).
    key : Key
    sums : RowSums
    """

    classes: Mapping[str, str]
    relations: Mapping[str, str]
    key: Key
    sums: RowSums

    @property
    def recoded(self) -> list[str]:
        """Return the columns that the release changes; groups are built from these columns."""
        return [name for name, relation in self.relations.items() if relation != UNCHANGED]

    def hasher(self) -> RowHasher:
        """Return a hasher with the same key, to sum the rows of another table."""
        return RowHasher(self.classes, self.key, signed=self.recoded)

    def checks(self, reached: RowSums, others: Sequence[Check] = ()) -> list[Check]:
        """Compare a table's row sums with the expected ones and return checks that name any wrong columns.

        `others` are listed before the check of whole rows.
        """
        differing = [
            name for name, a, b in zip(self.classes, self.sums.columns, reached.columns, strict=True) if a != b
        ]
        recoded = {name for name, r in self.relations.items() if r in (COVERS, MAPPED, LEFT_OUT)}
        changed = [name for name in differing if name not in recoded]
        unmapped = [name for name in differing if name in recoded]
        same = self.sums.whole == reached.whole
        words = f"columns that changed: {', '.join(changed)}"
        checks = [Check.none("unchanged columns", len(changed), words)]
        if recoded:
            words = f"columns with cells that the plan does not make: {', '.join(unmapped)}"
            checks.append(Check.none("mapped", len(unmapped), words))
        moved = "each column holds the right values, but not in the right rows"
        state, detail = ("as expected", "") if same else ("different", "" if differing else moved)
        return [*checks, *others, Check("whole rows", "as expected", state, same, detail)]


def compare(
    recoding: Recoding,
    original: Table,
    released: Table,
    relations: Mapping[str, str],
    rows: NDArray[np.int64] | None = None,
    progress: Tell | None = None,
    more: Sequence[Recipe] = (),
) -> tuple[ExpectedRows, list[Check]]:
    """Compare a released table with its original and its recoding, on the engine that holds the rows.

    Random cells are taken from the released table (on a cluster they are drawn again); every other
    cell is derived from the original.

    Parameters
    ----------
    recoding : Recoding
    original, released : Table
    relations : mapping of str to str
        The released columns in order, and how each relates to its original.
    rows : int64 array of shape (n_rows,), or None
        The original row behind each released one; None if their order is the same.
    progress : callable, optional
        Called with "verifying" and the part that is done.
    more : sequence of Recipe
        Makes other columns than the recoded ones.

    Returns
    -------
    expected : ExpectedRows
    checks : list of Check
    """
    backend = engine(original.engine)
    derivation = Derivation(recoding, original, released.types, relations, more, progress=progress)
    can, by_group = backend.capabilities, derivation.centred is not None
    needs_release = not {RANDOM, LEFT_OUT}.isdisjoint(relations.values())
    if can.positions and (needs_release or not can.streams):
        # one pass over both: cells that are the same memory are hashed once
        derived, sums = derivation.in_one_pass(released, rows)
    else:
        groups = recoding if isinstance(recoding, Partition) and by_group else None
        redrawn = released if RANDOM in relations.values() else None
        parts = backend.over_parts(original, derivation, original.names, groups=groups, redrawn=redrawn)
        derived = sum(parts, Derived(derivation.hasher.zero()))
        sums = summed(derivation.rows, released)
    wanted = replace(derivation.rows, sums=derived.sums)
    return wanted, wanted.checks(sums, derivation.cell_checks(derived))


def summed(expected: ExpectedRows, released: Table) -> RowSums:
    """Return the row sums of a released table, computed by the engine that holds it."""
    hasher, names = expected.hasher(), list(expected.classes)

    def work(part: Table, _: Mapping[str, pa.Array] | None) -> RowSums:
        windows = part.windows(names, WINDOW)
        return sum(streamed(lambda w: hasher.add([w.cells[n] for n in names]), windows), hasher.zero())

    return sum(engine(released.engine).over_parts(released, work, names), hasher.zero())


@dataclass(frozen=True)
class Derived:
    """The result of recoding a batch of rows a second time.

    Parameters
    ----------
    sums : RowSums
        Hash sums of the rows that the release must contain.
    outside : Counter
        Number of cells in each column that do not cover their original value.
    untrue : Counter
        Number of cells in each column that are not the mean, median or shares of their group.
    """

    sums: RowSums
    outside: Counter[str] = field(default_factory=Counter)
    untrue: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Derived) -> Derived:
        return Derived(self.sums + other.sums, self.outside + other.outside, self.untrue + other.untrue)


class Derivation:
    """The recipes that recode a table a second time, and the rows that they expect.

    Called with a part, it recodes that part; executors receive it without key or rows.
    """

    def __init__(
        self,
        recoding: Recoding,
        original: Table,
        types: pa.Schema,
        relations: Mapping[str, str],
        more: Sequence[Recipe],
        same: Collection[str] | None = None,
        progress: Tell | None = None,
    ) -> None:
        """Bind a recoding and other recipes to their original; `same` is passed to `plainly`."""
        self._plan = recoding, types, relations
        self._original, self._more, self._progress = original, more, progress
        # where all that a partition recodes is drawn, its leaves were found for it, and none of its cells is released
        trees = ((each, each.partition) for each in more if isinstance(each, GuardRecipe) and each.partition)
        walked = next((tree for each, tree in trees if tree.classes.keys() <= each.classes.keys()), None)
        main = walked or plainly(recoding, original, same)
        self._same = main.same if isinstance(main, MapsRecipe) else None
        # cells that state means, medians or shares are checked when all rows of a group have come by
        self.centred = main if isinstance(main, PartitionRecipe) and main.centred else None
        self._recipes = [*([main] if main and not walked else []), *more]
        recoded = {name: kind for recipe in self._recipes for name, kind in recipe.classes.items()}
        classes = {
            name: recoded[name]
            if name in recoded
            else value_class((types if relation == RANDOM else original.types).field(name).type)
            for name, relation in relations.items()
        }
        # a fresh key: nobody can make other rows that have the same sum
        self.rows = ExpectedRows(classes, relations, Key.new(), RowSums(0, 0, ()))
        self.hasher = self.rows.hasher()  # derived from the key, which is not in it

    def __getstate__(self) -> dict[str, object]:
        here = dict.fromkeys(("rows", "centred", "_original", "_progress", "_recipes"))
        return vars(self) | here | {"_more": ()}

    def __call__(self, part: Table, randomized: Mapping[str, pa.Array] | None) -> Derived:
        """Recode a part again; `randomized` holds its released columns that were drawn at random."""
        recoding, types, relations = self._plan
        # an executor of a cluster has other rows, and makes its recipes from these
        here = self
        if part is not self._original:
            here = Derivation(recoding, part, types, relations, self._more, self._same)

        def work(window: Window) -> Derived:
            random = None if randomized is None else {n: c[window.rows] for n, c in randomized.items()}
            before, outside = here.cells(window, random)
            return Derived(self.hasher.add(before), Counter(outside))

        derived = Derived(self.hasher.zero())
        for one in streamed(work, part.windows(here.names, WINDOW)):
            derived += one
            if self._progress is not None:
                self._progress("verifying", derived.sums.n_rows / part.n_rows)
        return replace(derived, untrue=here.untrue())

    def in_one_pass(self, released: Table, rows: NDArray[np.int64] | None) -> tuple[Derived, RowSums]:
        """Recode the original again and sum the released rows, both in one pass in the release's order."""
        original, relations, hasher = self._original, self.rows.relations, self.hasher
        names = [n for n in self.names if relations.get(n) != RANDOM]

        def work(part: Window) -> tuple[Derived, RowSums]:
            mine = part.rows if rows is None else rows[part.rows]
            after = {name: part.cells[name] for name in relations}
            window = Window(mine, {name: original.take(name, mine) for name in names})
            before, outside = self.cells(window, after)
            sums, reached = hasher.add_both(before, list(after.values()))
            return Derived(sums, Counter(outside)), reached

        derived, total = Derived(hasher.zero()), hasher.zero()
        for one, reached in streamed(work, released.windows(list(relations), _PAIRED)):
            derived, total = derived + one, total + reached
            # what was read of the original need not stay in memory
            original.spill()
            if self._progress is not None:
                self._progress("verifying", derived.sums.n_rows / original.n_rows)
        return replace(derived, untrue=self.untrue()), total

    @property
    def names(self) -> list[str]:
        """Return the original's columns whose cells are read."""
        recoded = {name for recipe in self._recipes for name in recipe.classes}
        read = {name for recipe in self._recipes for name in recipe.columns_read}
        return list(dict.fromkeys([*(n for n in self.rows.relations if n not in recoded), *read]))

    def cells(
        self, window: Window, after: Mapping[str, pa.Array] | None = None
    ) -> tuple[list[pa.Array], Mapping[str, int]]:
        """Return the expected cells of the given rows, and per column how many do not cover their original.

        `after` holds the released cells; those drawn at random are taken over unchecked.
        """
        recoded, outside = dict[str, pa.Array](), dict[str, int]()
        for recipe in self._recipes:
            part = recipe.recode(window)
            recoded |= part.columns
            outside |= part.uncovered
        before = []
        for name, relation in self.rows.relations.items():
            if relation in (RANDOM, LEFT_OUT) and after is None:
                raise UnsupportedError(f"{name!r} cannot be verified while the table streams past")
            if relation == RANDOM and after is not None:
                before.append(after[name])
            elif name in recoded:
                before.append(recoded[name])
            elif relation == LEFT_OUT and after is not None:
                before.append(_emptied(one_zero(window.cells[name]), after[name]))
            else:
                before.append(window.cells[name])
        return before, outside

    def cell_checks(self, derived: Derived) -> list[Check]:
        """Return checks that cells cover their originals, and that stated means and shares are true."""
        checks = []
        if COVERS in self.rows.relations.values():
            words = f"cells that do not cover their original: {counts_in_words(derived.outside)}"
            checks.append(Check.none("covered", derived.outside.total(), words))
        if self.centred:
            words = f"cells that are not the mean, median or shares of their group: {counts_in_words(derived.untrue)}"
            checks.append(Check.none("means and shares", derived.untrue.total(), words))
        return checks

    def untrue(self) -> Counter[str]:
        """Count, per column, the cells that differ from the mean, median or shares of their group."""
        return Counter(self.centred.untrue() if self.centred else ())


def _emptied(old: pa.Array, cells: pa.Array) -> pa.Array:
    """Return the original cells, with null wherever the release left the cell out."""
    if pa.types.is_dictionary(old.type):
        old = old.dictionary_decode()
    old = storage(old)
    return pc.if_else(cells.is_null(nan_is_null=True), pa.scalar(None, old.type), old)


def same_rows(a: pa.Table, b: pa.Table) -> bool:
    """Return whether two tables hold the same values in the same places; NaN counts as missing."""

    def plain(table: pa.Table) -> pa.Table:
        columns = map(decoded, table.columns)
        cells = (pc.if_else(pc.is_nan(c), None, c) if pa.types.is_floating(c.type) else c for c in columns)
        return pa.table(list(cells), table.column_names)

    return a.equals(b) or plain(a).equals(plain(b))
