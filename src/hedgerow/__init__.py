"""Hedgerow protects tables about people before they are shared, and proves it with numbers.

Examples
--------
>>> import hedgerow as hr
>>> people = hr.datasets.make_people(2000, seed=1)
>>> schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
>>> release = hr.protect(people, schema, hr.MART(k=10, max_disclosure=0.4))
>>> all(check.holds for check in release.verify())
True
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .facade import homes as _homes

__version__ = "0.1.0"

# A name is looked up when it is first used, so that `import hedgerow` loads nothing heavy. Type
# checkers read the stub and find misspelt names; the same lines tell where each name lives.
_HOMES = _homes("__init__.pyi")

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
    home = import_module(f".{_HOMES[name]}", __name__)
    if name not in vars(home):  # the public name is a module
        return import_module(f"{home.__name__}.{name}")
    return vars(home)[name]


def __dir__() -> list[str]:
    return sorted(__all__)
