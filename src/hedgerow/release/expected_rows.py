"""Whether a table holds exactly the rows that a release must have, in whatever order.

The original is recoded a second time (`release/plain`), a few rows at a time, and its rows are
summed by keyed hashes; so are those of the released table, and later those of its file. Equal
sums are equal rows: a changed cell, a lost or doubled row and two swapped incomes all show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..columns.arrays import storage, value_class
from ..columns.numbers import one_zero
from ..columns.row_hashes import RowHasher, RowSums
from ..columns.table import Table, Window
from ..errors import UnsupportedError
from ..kernels.threads import streamed
from ..key import Key
from ..measures.guarantees import Check
from ..plan import Recoding
from ..plan.records import COVERS, LEFT_OUT, MAPPED, RANDOM, UNCHANGED
from ..progress import Tell
from .rederive import Recipe, plainly
from .rederive.partitions import PartitionRecipe

WINDOW = 1 << 16
_STREAM = 1 << 17


@dataclass(frozen=True, eq=False)
class ExpectedRows:
    """The rows that a release must have, as sums under a key that nobody else knows.

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
        """The columns that are not as they were; groups are made of these."""
        return [name for name, relation in self.relations.items() if relation != UNCHANGED]

    def hasher(self) -> RowHasher:
        """What sums the rows of another table in the same way."""
        return RowHasher(self.classes, self.key, signed=self.recoded)

    def checks(self, found: RowSums, own: Sequence[Check] = ()) -> list[Check]:
        """Whether the rows of a table are these; columns at fault are named.

        `own` are checks that stand before that of whole rows.
        """
        odd = [
            name
            for name, a, b in zip(self.classes, self.sums.columns, found.columns, strict=True)
            if a != b
        ]
        made = {name for name, r in self.relations.items() if r in (COVERS, MAPPED, LEFT_OUT)}
        changed = [name for name in odd if name not in made]
        unmapped = [name for name in odd if name in made]
        same = self.sums.whole == found.whole
        checks = [
            Check.none("unchanged columns", len(changed), f"columns that changed: {_list(changed)}")
        ]
        if made:
            words = f"columns with cells that the plan does not make: {_list(unmapped)}"
            checks.append(Check.none("mapped", len(unmapped), words))
        moved = "each column holds the right values, but not in the right rows"
        reached, detail = ("as expected", "") if same else ("different", "" if odd else moved)
        return [*checks, *own, Check("whole rows", "as expected", reached, same, detail)]


def compare(
    recoding: Recoding,
    original: Table,
    released: Table,
    relations: Mapping[str, str],
    rows: NDArray[np.int64] | None,
    tell: Tell,
    more: Sequence[Recipe] = (),
) -> tuple[ExpectedRows, list[Check]]:
    """Hold a released table against its original and what was done to it.

    What chance gives is expected to be what stands in the released table; every other cell is
    derived from the original.

    Parameters
    ----------
    recoding : Recoding
    original, released : Table
    relations : mapping of str to str
        The released columns in order, and how each relates to its original.
    rows : int64 array of shape (n_rows,), or None
        The original row behind each released one; None where their order is the same.
    tell : callable
        Told how far it is.
    more : sequence of Recipe
        What makes other columns than the recoded ones.
    """
    expected = Expected.of(recoding, original, released.types, relations, more)
    hasher = expected.rows.hasher()
    asked = [n for n in expected.asked if relations.get(n) != RANDOM]

    def work(part: Window) -> tuple[RowSums, RowSums, Mapping[str, int]]:
        mine = part.rows if rows is None else rows[part.rows]
        after = {name: part.cells[name] for name in relations}
        window = Window(mine, {name: original.take(name, mine) for name in asked})
        before, outside = expected.cells(window, after)
        return (*hasher.add_both(before, list(after.values())), outside)

    wanted = found = hasher.zero()
    for one, other, outside in streamed(work, released.windows(list(relations), WINDOW)):
        wanted, found = wanted + one, found + other
        expected.uncovered.update(outside)
        original.spill()
        tell("verifying", wanted.n_rows / original.n_rows)
    made = replace(expected.rows, sums=wanted)
    return made, [*made.checks(found, expected.own_checks())]


def derive(
    recoding: Recoding,
    original: Table,
    types: pa.Schema,
    relations: Mapping[str, str],
    tell: Tell,
    more: Sequence[Recipe] = (),
) -> tuple[ExpectedRows, list[Check]]:
    """The rows that a release must have, from its original alone, which streams past.

    Parameters
    ----------
    recoding : Recoding
        Nothing in it may be left to chance.
    original : Table
    types : pyarrow.Schema
        Of the released table.
    relations, tell, more
        As `compare` takes them.

    Returns
    -------
    expected : ExpectedRows
    checks : list of Check
        What the plan says of its own cells: that they cover their originals, and tell true means.
    """
    expected = Expected.of(recoding, original, types, relations, more)
    hasher = expected.rows.hasher()

    def work(window: Window) -> tuple[RowSums, Mapping[str, int]]:
        before, outside = expected.cells(window)
        return hasher.add(before), outside

    wanted = hasher.zero()
    for one, outside in streamed(work, original.windows(expected.asked, _STREAM)):
        wanted += one
        expected.uncovered.update(outside)
        tell("verifying", wanted.n_rows / original.n_rows)
    return replace(expected.rows, sums=wanted), expected.own_checks()


def summed(expected: ExpectedRows, released: Table) -> RowSums:
    """The rows of a released table, which streams past."""
    hasher, sums = expected.hasher(), expected.hasher().zero()
    names = list(expected.classes)
    windowed = released.windows(names, _STREAM)
    for one in streamed(lambda w: hasher.add([w.cells[n] for n in names]), windowed):
        sums += one
    return sums


@dataclass(frozen=True, eq=False)
class Expected:
    """What makes the rows of a release from those of its original."""

    rows: ExpectedRows
    recipes: Sequence[Recipe]
    main: Recipe | None
    uncovered: Counter[str]

    @classmethod
    def of(
        cls,
        recoding: Recoding,
        original: Table,
        types: pa.Schema,
        relations: Mapping[str, str],
        more: Sequence[Recipe],
        same: Collection[str] | None = None,
    ) -> Expected:
        """By a recoding and what else makes columns; `same` as `plainly` takes it."""
        main = plainly(recoding, original, same)
        recipes = [*([main] if main else []), *more]
        recoded = {name: kind for recipe in recipes for name, kind in recipe.classes.items()}
        classes = {
            name: recoded[name]
            if name in recoded
            else value_class((types if relation == RANDOM else original.types).field(name).type)
            for name, relation in relations.items()
        }
        rows = ExpectedRows(classes, relations, Key.new(), RowSums(0, 0, ()))
        return cls(rows, recipes, main, Counter())

    @property
    def asked(self) -> list[str]:
        """The columns of the original whose cells are looked at."""
        made = {name for recipe in self.recipes for name in recipe.classes}
        read = {name for recipe in self.recipes for name in recipe.asked}
        return list(dict.fromkeys([*(n for n in self.rows.relations if n not in made), *read]))

    def cells(
        self, window: Window, after: Mapping[str, pa.Array] | None = None
    ) -> tuple[list[pa.Array], Mapping[str, int]]:
        """The cells that some rows must have, and how many do not cover their original.

        `after` are the released ones, which stand for themselves where chance made them.
        """
        made, outside = dict[str, pa.Array](), dict[str, int]()
        for recipe in self.recipes:
            part = recipe.recode(window)
            made |= part.columns
            outside |= part.uncovered
        before = []
        for name, relation in self.rows.relations.items():
            if relation in (RANDOM, LEFT_OUT) and after is None:
                raise UnsupportedError(f"{name!r} cannot be verified while the table streams past")
            if relation == RANDOM and after is not None:
                before.append(after[name])
            elif name in made:
                before.append(made[name])
            elif relation == LEFT_OUT and after is not None:
                before.append(_emptied(one_zero(window.cells[name]), after[name]))
            else:
                before.append(window.cells[name])
        return before, outside

    def own_checks(self) -> list[Check]:
        """What the plan's cells say of their originals, when all rows have been looked at."""
        checks = []
        if COVERS in self.rows.relations.values():
            told = ", ".join(f"{count:,} in {name}" for name, count in self.uncovered.items())
            words = f"cells that do not cover their original: {told}"
            checks.append(Check.none("covered", sum(self.uncovered.values()), words))
        if (untrue := self.untrue()) is not None:
            checks.append(means_and_shares(untrue))
        return checks

    def untrue(self) -> Mapping[str, int] | None:
        """By column the cells that do not tell what their group holds; None where none tells it."""
        if isinstance(self.main, PartitionRecipe) and self.main.centred:
            return self.main.untrue()
        return None


def means_and_shares(untrue: Mapping[str, int]) -> Check:
    """That cells tell true means, medians and shares; `untrue` by column."""
    told = ", ".join(f"{count:,} in {name}" for name, count in untrue.items())
    words = f"cells that are not the mean, median or shares of their group: {told}"
    return Check.none("means and shares", sum(untrue.values()), words)


def _emptied(old: pa.Array, cells: pa.Array) -> pa.Array:
    """The originals, without those whose cells were left out."""
    if pa.types.is_dictionary(old.type):
        old = old.dictionary_decode()
    old = storage(old)
    return pc.if_else(cells.is_null(nan_is_null=True), pa.scalar(None, old.type), old)


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)


def same_rows(a: pa.Table, b: pa.Table) -> bool:
    """Whether two tables hold the same values in the same places; NaN is missing."""
    if a.column_names != b.column_names or a.num_rows != b.num_rows:
        return False
    for x, y in zip(a.columns, b.columns, strict=True):
        if not x.equals(y):
            if not (pa.types.is_floating(x.type) and x.type == y.type):
                return False
            x, y = (pc.if_else(pc.is_nan(c), None, c) for c in (x, y))
            if not x.equals(y):
                return False
    return True
