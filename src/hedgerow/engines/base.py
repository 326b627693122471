"""What every engine offers, and where one is found by its name.

An engine executes plans. Methods and the release ask for it here and never import
one by name, so that the same method runs wherever its class says it can.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Protocol

import pyarrow as pa

from ..errors import ParameterError, PlanError, UnsupportedError
from ..key import Key
from ..plan import Plan
from ..table import Table

ENGINES = {"memory": "memory"}
"""Engines by name, and the file of this folder that holds each."""


class Transformed:
    """Released columns and what fell outside.

    Parameters
    ----------
    columns : dict of str to pyarrow array
        The released columns, one value per row.
    outside : int, or callable that counts it
        Cells whose original value is not covered by the released cell; counted when asked for.
    """

    def __init__(self, columns: dict[str, pa.Array], outside: int | Callable[[], int] = 0) -> None:
        self.columns = columns
        self._outside = outside

    @property
    def outside(self) -> int:
        """Cells whose original value is not covered by the released cell."""
        if callable(self._outside):
            self._outside = self._outside()
        return self._outside


class Engine(Protocol):
    """Where plans are executed."""

    def execute(self, plan: Plan, table: Table, key: Key | None = None) -> Transformed:
        """Recode a table's columns by a plan; `key` decides the draws of plans that draw."""
        ...


def engine(name: str = "memory") -> Engine:
    """The engine of that name; ParameterError when there is none."""
    if name not in ENGINES:
        raise ParameterError(
            f"unknown engine {name!r}", hint=f"the engines are {', '.join(ENGINES)}"
        )
    found: Engine = import_module(f".{ENGINES[name]}", __package__)
    return found


def transform(
    plan: Plan, table: Table, name: str = "memory", key: Key | None = None
) -> Transformed:
    """Recode a table's columns by a plan, on the engine of that name.

    Plans that draw do so under `key`, by default a fresh one that is forgotten.

    Raises
    ------
    UnsupportedError
        Recodings of this kind depend on the whole table they were made from.
    PlanError
        Times have a zone here and none in the plan, or none here and one in the plan.
    """
    if not plan.recoding.applies:
        raise plan.recoding.refuse()
    times = [c for c in plan.columns if c.unit and c.name in table.names]
    odd = [c.name for c in times if bool(table.column(c.name, kind="date").zone) != bool(c.zone)]
    if odd:
        raise PlanError(
            "times have a zone in the plan or in the table, and none in the other: "
            f"{', '.join(map(repr, odd))}",
            hint="give the table's times a zone, or take it away, as in the table of the plan",
        )
    return engine(name).execute(plan, table, key)


Executor = Callable[..., Transformed]
"""Called with a recoding and a table, and with the key where the recoding draws."""


class Executors:
    """What an engine executes, by the kind of recoding."""

    def __init__(self) -> None:
        self._by_kind: dict[str, Executor] = {}

    def register(self, kind: str) -> Callable[[Executor], Executor]:
        """Decorator: keep what executes recodings of one kind."""

        def keep(function: Executor) -> Executor:
            self._by_kind[kind] = function
            return function

        return keep

    def execute(self, plan: Plan, table: Table, key: Key | None = None) -> Transformed:
        """Execute a plan; UnsupportedError when this engine has nothing for its kind."""
        kind, drawn = plan.recoding.kind, (key,) if plan.recoding.draws else ()
        if kind not in self._by_kind:
            raise UnsupportedError(f"this engine cannot execute a plan of the kind {kind!r}")
        return self._by_kind[kind](plan.recoding, table, *drawn)
