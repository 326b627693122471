"""What two tables tell without their rows being compared one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..columns.column import Column
from ..columns.table import Table
from ..measures import Groups, IntArray, Persons
from ..schema import Schema
from .design_matrix import Everybody
from .released_values import ReleasedColumn
from .success import Target


class Sides(Protocol):
    """Two tables for whoever asks nothing row by row: a `Pair`, or tables that are not paired."""

    @property
    def schema(self) -> Schema:
        """The roles."""

    @property
    def original(self) -> Table:
        """The table before."""

    @property
    def released(self) -> Table:
        """The table after."""

    @property
    def unchanged(self) -> Sides:
        """The whole original as if it had been released."""

    @property
    def quasi(self) -> tuple[Column, ...]:
        """The original quasi-identifiers."""

    @property
    def sensitive(self) -> tuple[Column, ...]:
        """The original sensitive columns."""

    @property
    def released_quasi(self) -> tuple[ReleasedColumn, ...]:
        """The released quasi-identifiers, one code a released row."""

    @property
    def released_sensitive(self) -> tuple[Column, ...]:
        """The released sensitive columns, one code a released row."""

    @property
    def n_rows(self) -> int:
        """Released rows."""

    @property
    def each(self) -> float:
        """How many people a released row stands for where people are counted."""

    @property
    def classes(self) -> Groups:
        """The equivalence classes of the released rows."""

    @property
    def told(self) -> Groups:
        """What the release tells sensitive values of."""

    @property
    def by_group(self) -> str | None:
        """The sensitive column whose values a second table gives, by group."""

    @property
    def everybody(self) -> Everybody | None:
        """The true quasi-identifiers behind every released row, where they are paired."""

    @property
    def persons(self) -> Persons | None:
        """Who the released rows are about, where the schema tells."""

    def people_in(self, groups: Groups) -> IntArray:
        """People of some groups of the released rows, or records where each is one."""

    @property
    def targets(self) -> Mapping[str, Target]:
        """How each sensitive column is attacked."""

    @property
    def suppressed(self) -> int | None:
        """Original rows that the release left out; None where nobody can know."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""

    @property
    def risk_model(self) -> str:
        """What judges the release."""
