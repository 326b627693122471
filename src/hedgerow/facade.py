"""Functions of upper layers that methods of public classes call: the only place that imports upwards.

`Plan.apply` needs the release layer, `Audit.plot` the pictures. Both call a name of `facade.pyi`, which is
loaded when it is first used.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pkgutil import get_data
from typing import Any


def homes(stub: str) -> dict[str, str]:
    """Return the module of each name that a stub of this package imports; empty for a module itself."""
    nodes = ast.walk(ast.parse(get_data(__package__, stub) or b""))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


HOMES = homes("facade.pyi")


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'hedgerow.facade' has no attribute {name!r}")
    return getattr(import_module(f".{HOMES[name]}", __package__), name)
