"""What every engine offers, and where one is found by its name.

An engine executes plans. Methods and the release ask for it here and never import
one by name, so that the same method runs wherever its class says it can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import pyarrow as pa

from ..errors import ParameterError, UnsupportedError
from ..plan import Mask, Plan
from ..table import Table

ENGINES = {"memory": "memory"}
"""Engines by name, and the file of this folder that holds each."""


@dataclass(frozen=True)
class Transformed:
    """Released columns and what fell outside.

    Parameters
    ----------
    columns : dict of str to pyarrow array
        The released columns, one value per row.
    outside : int
        Cells whose original value is not covered by the released cell.
    """

    columns: dict[str, pa.Array]
    outside: int


class Engine(Protocol):
    """Where plans are executed."""

    def execute(self, plan: Plan, table: Table) -> Transformed:
        """Recode a table's columns by a plan."""
        ...


def engine(name: str = "memory") -> Engine:
    """The engine of that name; ParameterError when there is none."""
    if name not in ENGINES:
        raise ParameterError(
            f"unknown engine {name!r}", hint=f"the engines are {', '.join(ENGINES)}"
        )
    found: Engine = import_module(f".{ENGINES[name]}", __package__)
    return found


def transform(plan: Plan, table: Table, name: str = "memory") -> Transformed:
    """Recode a table's columns by a plan, on the engine of that name.

    Raises
    ------
    UnsupportedError
        Recodings of this kind depend on the whole table they were made from.
    """
    if isinstance(plan.recoding, Mask):
        raise plan.recoding.refuse()
    return engine(name).execute(plan, table)


Executor = Callable[[Any, Table], Transformed]


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

    def execute(self, plan: Plan, table: Table) -> Transformed:
        """Execute a plan; UnsupportedError when its kind holds for one table only."""
        kind = plan.recoding.kind
        if kind not in self._by_kind:
            raise UnsupportedError(
                f"a plan of the kind {kind!r} cannot be applied to other people",
                hint="protect their table by itself",
            )
        return self._by_kind[kind](plan.recoding, table)
