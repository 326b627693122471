"""5 MEASURE: what a release gives away, and what it is still good for.

The module can be called: ``hr.audit(original, released, schema)``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

__all__ = ["Audit", "audit", "json_schema"]

_HOMES = {"Audit": ".result", "json_schema": ".result", "audit": ".run"}


def __getattr__(name: str) -> Any:
    """Load what is asked for, and the numeric libraries with it, on first use."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Callable(ModuleType):
    """The package `hedgerow.audit` and the function `hedgerow.audit` are one name."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        from .run import audit

        return audit(*args, **options)


sys.modules[__name__].__class__ = _Callable
