"""Plans as versioned JSON: plain data in, plain data out, unknown things refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from ..errors import PlanError
from ..files import read_text
from ..schema import READING
from .fields import plain, read, texts, told
from .records import VERSION, Contradiction, Partition, Plan, PlanColumn, Recoding

_KINDS: dict[str, type[Recoding]] = {}
R = TypeVar("R", bound=type[Recoding])


def register(cls: R) -> R:
    """Class decorator: make a recoding readable from plan files by its `kind`."""
    _KINDS[cls.kind] = cls
    return cls


register(Partition)


def dumps(plan: Plan, *, public: bool = False) -> str:
    """The plan as JSON text; without the fields that its records mark private if `public`."""
    return "".join(pieces(plan, public=public))


def pieces(plan: Plan, *, public: bool = False) -> Iterator[str]:
    """The text of `dumps`, piece by piece."""
    data = {
        "hedgerow_plan": plan.version,
        "method": plan.method,
        "parameters": plan.parameters,
        "n_rows": plan.n_rows,
        "columns": plain(plan.columns),
        "promises": plain(plan.promises),
        "recoding": {"kind": plan.recoding.kind, **told(plan.recoding, public=public)},
    }
    said = {name: plain(getattr(plan, name)) for name in (*READING, "weight")}
    data |= {name: value for name, value in said.items() if value}
    return texts(data, public=public)


def _no_constant(name: str) -> None:
    """NaN and Infinity are no JSON, and no plan holds them."""
    raise ValueError(name)


def parsed(text: str, where: str) -> Any:
    """The data of JSON text; PlanError when it is none."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise PlanError(f"{where} is not valid JSON") from None


def check_version(data: Any, what: str, version: int, where: str, hint: str) -> None:
    """Refuse data that are not what they should be (a plan, a model), or of another version."""
    mark = f"hedgerow_{what}"
    if not isinstance(data, dict) or mark not in data:
        raise PlanError(f"{where} is not a Hedgerow {what}", hint=hint)
    if data[mark] != version:
        raise PlanError(
            f"{where} has version {data[mark]!r}; this Hedgerow reads version {version}"
        )


def loads(text: str, where: str = "the plan") -> Plan:
    """The plan of JSON text; PlanError when it is not one that this version reads."""
    data = parsed(text, where)
    hint = "a plan is the plan.json that `hedgerow protect` writes"
    check_version(data, "plan", VERSION, where, hint)
    try:
        recoding = dict(data["recoding"])
        kind = recoding.pop("kind")
        if kind not in _KINDS:
            raise PlanError(
                f"{where} has a recoding of the unknown kind {kind!r}",
                hint=f"known kinds: {', '.join(sorted(_KINDS))}",
            )
        plan = Plan(
            method=read(str, data["method"]),
            parameters=dict(data["parameters"]),
            columns=tuple(read(PlanColumn, column) for column in data["columns"]),
            recoding=_KINDS[kind].from_json(recoding),
            promises=tuple(dict(p) for p in data["promises"]),
            n_rows=read(int, data["n_rows"]),
            missing=read(tuple[str, ...], data.get("missing", [])),
            decimal=read(str, data.get("decimal", "")),
            encoding=read(str, data.get("encoding", "")),
            weight=read(str, data.get("weight", "")),
        )
        plan.check()
        return plan
    except Contradiction as error:
        raise PlanError(f"{where} is damaged: {error}") from None
    except PlanError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise PlanError(f"{where} is damaged: {type(error).__name__} in its records") from None


def load(path: Path) -> Plan:
    """Read a plan file."""
    return loads(read_text(path, "the plan", PlanError), str(path))
