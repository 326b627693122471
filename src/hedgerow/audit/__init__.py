"""5 MEASURE: what a release gives away, and what it is still good for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .points import Frontier as Frontier
    from .result import Audit as Audit
    from .result import json_schema as json_schema
    from .run import audit as audit

__all__ = ["Audit", "Frontier", "audit", "json_schema"]

_HOMES = {"Audit": "result", "json_schema": "result", "audit": "run", "Frontier": "points"}


def __getattr__(name: str) -> Any:
    """Load what is asked for, and the numeric libraries with it, on first use."""
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
