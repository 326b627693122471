"""audit.json: what was promised and verified, in numbers, and how the release was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import hedgerow

from ..plan import Plan
from ..schema import ROLES
from .folder import told_of

VERSION = 1


class Measured(Protocol):
    """What `Release.write` asks of an `Audit`."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""

    def report(self, path: Path, *, plan: Any, checks: Any, drawings: Any, **more: Any) -> Any:
        """Write the report."""


def record(
    plan: Plan,
    numbers: Mapping[str, Any],
    file: Path,
    pseudonyms: Sequence[str] = (),
    measured: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The data of audit.json: `hedgerow.Audit.json_schema` describes it.

    Parameters
    ----------
    plan : Plan
    numbers : mapping
        `Release.summary()`.
    file : Path
        The written table.
    pseudonyms : sequence of str
        Identifiers that were replaced.
    measured : mapping, optional
        `Audit.to_dict`; what was measured stands beside ``release``, which tells what was
        promised and reached.
    """
    release = {
        "hedgerow": hedgerow.__version__,
        "libraries": {n: _version(n) for n in ("numpy", "pyarrow", "scikit-learn", "numba")},
        "parameters": dict(plan.parameters),
        "columns": {role: plan.names(role) for role in ROLES},
        "pseudonyms": list(pseudonyms),
        "file": told_of(file),
        **numbers,
    }
    return {"hedgerow_audit": VERSION, "release": release, **(measured or {})}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
