"""Whether a table holds exactly the rows that a release must have, in whatever order.

The original is recoded a second time (`release/plain`), a few rows at a time, and its rows are
summed by keyed hashes; so are those of the released table, and later those of its file. Equal
sums are equal rows: a changed cell, a lost or doubled row and two swapped incomes all show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..guarantees import Check
from ..kernels.threads import windows
from ..key import Key
from ..plan import Recoding
from ..plan.records import COVERS, LEFT_OUT, MAPPED, RANDOM, UNCHANGED
from ..progress import Tell
from ..table import Table
from ..table.memory import storage
from ..table.numbers import one_zero
from ..table.rowhash import RowHasher, RowSums, value_class
from .plain import Recipe, plainly
from .plain.partitions import PartitionRecipe
from .plain.recipe import taken

WINDOW = 1 << 16


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

    def checks(self, found: RowSums) -> list[Check]:
        """Whether the rows of a table are these; columns at fault are named."""
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
        return [*checks, Check("whole rows", "as expected", reached, same, detail)]


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
    main = plainly(recoding, original)
    recipes = [*([main] if main else []), *more]
    recoded = {name: kind for recipe in recipes for name, kind in recipe.classes.items()}
    classes = {
        name: recoded[name]
        if name in recoded
        else value_class((released if relation == RANDOM else original).arrow.column(name).type)
        for name, relation in relations.items()
    }
    expected = ExpectedRows(classes, relations, Key.new(), RowSums(0, 0, ()))
    hasher = expected.hasher()

    def work(part: slice) -> tuple[RowSums, RowSums, Mapping[str, int]]:
        mine = part if rows is None else rows[part]
        made, outside = dict[str, pa.Array](), dict[str, int]()
        for recipe in recipes:
            part_made = recipe.recode(mine)
            made |= part_made.columns
            outside |= part_made.uncovered
        before, after = [], []
        for name, relation in relations.items():
            cells = taken(released.arrow.column(name), part)
            after.append(cells)
            if relation == RANDOM:
                before.append(cells)
            elif name in made:
                before.append(made[name])
            else:
                old = taken(original.arrow.column(name), mine)
                before.append(_emptied(one_zero(old), cells) if relation == LEFT_OUT else old)
        return (*hasher.add_both(before, after), outside)

    wanted = found = hasher.zero()
    uncovered: Counter[str] = Counter()
    for done, (one, other, outside) in windows(work, original.n_rows, WINDOW):
        wanted, found = wanted + one, found + other
        uncovered.update(outside)
        tell("verifying", done)
    expected = replace(expected, sums=wanted)
    checks = expected.checks(found)
    if COVERS in relations.values():
        told = ", ".join(f"{count:,} in {name}" for name, count in uncovered.items())
        words = f"cells that do not cover their original: {told}"
        checks.insert(2, Check.none("covered", sum(uncovered.values()), words))
    if isinstance(main, PartitionRecipe) and main.centred:
        untrue = main.untrue()
        told = ", ".join(f"{count:,} in {name}" for name, count in untrue.items())
        words = f"cells that are not the mean, median or shares of their group: {told}"
        checks.insert(3, Check.none("means and shares", sum(untrue.values()), words))
    return expected, checks


def _emptied(old: pa.Array, cells: pa.Array) -> pa.Array:
    """The originals, without those whose cells were left out."""
    if pa.types.is_dictionary(old.type):
        old = old.dictionary_decode()
    old = storage(old)
    return pc.if_else(cells.is_null(nan_is_null=True), pa.scalar(None, old.type), old)


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
