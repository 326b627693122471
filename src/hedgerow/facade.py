"""Load functions of upper layers for methods of public classes; only this module imports upwards.

`Plan.apply` needs the release layer and `Audit.plot` the plots. Both call a name of `facade.pyi`,
which is loaded when it is first used.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pkgutil import get_data
from typing import Any


def homes(stub: str) -> dict[str, str]:
    """Return the module of each name that a package stub imports; empty if the name is itself a module."""
    nodes = ast.walk(ast.parse(get_data(__package__, stub) or b""))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


HOMES = homes("facade.pyi")


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'hedgerow.facade' has no attribute {name!r}")
    return getattr(import_module(f".{HOMES[name]}", __package__), name)
