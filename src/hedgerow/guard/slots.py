"""Say which rows have a cell of each column, where one row holds all rows of a unit side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels import Bools
from ..kernels.even_draws import FIXED
from ..measures import Ints
from ..plan import Guard, UnitForm
from ..plan.records import MEMBER, WAVE


@dataclass(frozen=True)
class Slots:
    """The slots of a table of units; none if each row stands for itself.

    Parameters
    ----------
    form : UnitForm, optional
    """

    form: UnitForm | None = None

    @property
    def cells(self) -> Mapping[str, tuple[str, int]]:
        """Return, for each column with a cell in one slot alone, what it is a cell of, and the slot."""
        return {} if self.form is None else self.form.in_slots

    def siblings(self, name: str) -> list[str]:
        """Return the columns that are slots of the same column as a given one, and it alone if that has no slots."""
        return [name] if self.form is None else self.form.siblings(name)

    def drawn_with(self, name: str) -> str:
        """Return the column from whose places in a group a column is drawn: the first wave's for all waves.

        A group that has somebody rich in one wave has somebody rich in the next.
        """
        return self.siblings(name)[0] if self.form is not None and self.form.order == WAVE else name

    @property
    def presence(self) -> str:
        """Return the column that says in which slots a unit has a row."""
        return "" if self.form is None else self.form.presence

    def kind_of(self, slot: int) -> int:
        """Return a number that slots of one kind share: all waves or times, all numbered members; -1 for no slot."""
        form = self.form
        is_alone = form is not None and form.order == MEMBER and slot < form.labelled
        return slot if slot < 0 or is_alone else len(form.slots) if form else -1

    def may_move_with(self, one: str, other: str) -> bool:
        """Return whether two columns have their cells in the same rows."""
        if self.form is None:
            return True
        cells = [self.cells.get(name, ("", -1)) for name in (one, other)]
        # the first row of a unit has no step
        kinds = {(slot, column in self.form.moving) for column, slot in cells}
        return len(kinds) == 1 and self.presence not in (one, other)

    def rows_with(self, name: str, patterns: Sequence[object], codes: Ints) -> Bools:
        """Return which rows have a cell of a column, given the code of each one's pattern of slots."""
        assert self.form is not None
        return np.array([*(self.form.has_cell(name, str(pattern)) for pattern in patterns), False])[codes]

    def in_rows(self, guard: Guard, codes: Mapping[str, Ints]) -> dict[str, Bools]:
        """Return, for each column of one slot, which drawn rows have a cell of it."""
        if self.form is None:
            return {}
        patterns = next(column.values for column in guard.columns if column.name == self.presence)
        names = [column.name for column in guard.columns if column.name in self.cells]
        return {name: self.rows_with(name, patterns, codes[self.presence]) for name in names}

    def exchangeable(self, guard: Guard, codes: Mapping[str, Ints], unit: Ints) -> NDArray[np.uint8]:
        """Return the class of each row for each unit of columns: rows of one class may swap its values.

        Shape (n_units, n_rows), or (0, 0) if all may.
        """
        if self.form is None:
            return np.zeros((0, 0), np.uint8)
        has_cell = self.in_rows(guard, codes)
        classes = np.zeros((int(unit.max()) + 1, len(codes[self.presence])), np.uint8)
        for column, u in zip(guard.columns, unit.tolist(), strict=True):
            if column.name in has_cell:
                classes[u] = has_cell[column.name]
            elif column.name == self.presence:
                classes[u] = FIXED
        return classes
