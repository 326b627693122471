"""Whether a table holds exactly the rows that a release must have, in whatever order.

The original is recoded a second time (`release/plain`), a few rows at a time, and its rows are
summed by keyed hashes; so are those of the released table, and later those of its file. Equal
sums are equal rows: a changed cell, a lost or doubled row and two swapped incomes all show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..guarantees import Check
from ..kernels.threads import windows
from ..key import Key
from ..plan import Plan
from ..progress import Tell
from ..table import Table
from ..table.rowhash import RowHasher, RowSums, value_class
from .plain import plainly
from .plain.recipe import taken

WINDOW = 1 << 16


@dataclass(frozen=True, eq=False)
class ExpectedRows:
    """The rows that a release must have, as sums under a key that nobody else knows.

    Parameters
    ----------
    classes : mapping of str to str
        The released columns in order, and the class by which each is compared.
    mapped : tuple of str
        The columns whose released values the plan gives.
    drawn : tuple of str
        The columns whose released values chance or the whole table gives: they are expected to
        be those of the table that was verified.
    sums : RowSums
    """

    classes: Mapping[str, str]
    mapped: tuple[str, ...]
    drawn: tuple[str, ...]
    key: Key
    sums: RowSums

    def hasher(self) -> RowHasher:
        """What sums the rows of another table in the same way."""
        return RowHasher(self.classes, self.key, (*self.mapped, *self.drawn))

    def checks(self, found: RowSums) -> list[Check]:
        """Whether the rows of a table are these; columns at fault are named."""
        odd = [
            name
            for name, a, b in zip(self.classes, self.sums.columns, found.columns, strict=True)
            if a != b
        ]
        moved = not odd and self.sums.whole != found.whole
        unmapped = [name for name in odd if name in self.mapped]
        changed = [name for name in odd if name not in self.mapped]
        made = [none("unchanged columns", len(changed), f"columns that changed: {_list(changed)}")]
        if self.mapped:
            words = "columns with cells that the plan does not make: "
            made.append(none("mapped", len(unmapped), words + _list(unmapped)))
        made.append(
            Check(
                "whole rows",
                "as expected",
                "as expected" if self.sums.whole == found.whole else "different",
                self.sums.whole == found.whole,
                "each column holds the right values, but not in the right rows" if moved else "",
            )
        )
        return made


def compare(
    plan: Plan,
    original: Table,
    released: Table,
    names: Sequence[str],
    drawn: Sequence[str],
    rows: NDArray[np.int64] | None,
    tell: Tell,
) -> tuple[ExpectedRows, list[Check]]:
    """Hold a released table against its original and the plan.

    Parameters
    ----------
    plan : Plan
    original, released : Table
    names : sequence of str
        The released columns, which both tables have.
    drawn : sequence of str
        Columns that were replaced; those that the plan recodes by itself are checked by it.
    rows : int64 array of shape (n_rows,), or None
        The original row behind each released one; None where their order is the same.
    tell : callable
        Told how far it is.
    """
    recipe = plainly(plan.recoding, original)
    given = recipe.classes if recipe else {}
    drawn = tuple(n for n in names if n in drawn and n not in given)
    classes = {
        n: given.get(n) or value_class((released if n in drawn else original).arrow.column(n).type)
        for n in names
    }
    mapped = tuple(n for n in names if n in given)
    expected = ExpectedRows(classes, mapped, drawn, Key.new(), RowSums(0, 0, ()))
    hasher = expected.hasher()

    def work(part: slice) -> tuple[RowSums, RowSums, Mapping[str, int]]:
        mine = part if rows is None else rows[part]
        after = {n: taken(released.arrow.column(n), part) for n in names}
        made = recipe.recode(mine) if recipe else None
        before = {
            n: after[n]
            if n in drawn
            else made.columns[n]
            if made and n in given
            else taken(original.arrow.column(n), mine)
            for n in names
        }
        sums = hasher.add_both(list(before.values()), list(after.values()))
        return (*sums, made.uncovered if made else {})

    wanted = found = hasher.zero()
    uncovered: Counter[str] = Counter()
    for done, (one, other, outside) in windows(work, original.n_rows, WINDOW):
        wanted, found = wanted + one, found + other
        uncovered.update(outside)
        tell("verifying", done)
    expected = ExpectedRows(classes, mapped, drawn, expected.key, wanted)
    checks = expected.checks(found)
    if recipe:
        told = ", ".join(f"{count:,} in {name}" for name, count in uncovered.items())
        words = f"cells that do not cover their original: {told}"
        checks.insert(2, none("covered", sum(uncovered.values()), words))
    return expected, checks


def none(name: str, count: int, words: str) -> Check:
    """A check that nothing is at fault."""
    return Check(name, 0, count, count == 0, words if count else "")


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
