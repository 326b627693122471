"""Every promise of a plan, derived again from the released table itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..classes import Classes, group
from ..errors import PromiseError, SchemaError
from ..guarantees import Check, from_promise
from ..kernels.threads import side_by_side
from ..plan import Partition, Plan, PlanColumn
from ..table import Column, Table
from .truthfulness import coverage, unchanged


def verify(
    plan: Plan,
    original: Table,
    released: Table,
    recoded: Iterable[str],
    pseudonyms: Iterable[str] = (),
) -> list[Check]:
    """All checks of a release; none is skipped because an earlier one failed.

    Parameters
    ----------
    plan : Plan
        What was promised.
    original, released : Table
        Before and after, row by row.
    recoded : iterable of str
        The columns that the plan recodes; every other column must be unchanged.
    pseudonyms : iterable of str
        Identifiers that were replaced instead of left out.
    """
    recoded, replaced = set(recoded), set(pseudonyms)
    identifiers = set(plan.names("identifier"))
    kept = [name for name in original.names if name not in identifiers - replaced]
    checks = [
        _equal("rows", original.n_rows, released.n_rows, "as many records as came in"),
        _equal(
            "columns", kept, released.names, "the original columns in order, identifiers left out"
        ),
    ]
    if not all(check.holds for check in checks):
        return checks
    changed = [
        n for n in kept if n not in recoded | replaced and not unchanged(n, original, released)
    ]
    checks.append(
        _none("unchanged columns", len(changed), f"columns that changed: {', '.join(changed)}")
    )
    same = [n for n in replaced & set(kept) if unchanged(n, original, released)]
    if replaced:
        checks.append(
            _none("pseudonyms", len(same), f"identifiers that were not replaced: {', '.join(same)}")
        )
    if isinstance(plan.recoding, Partition):
        recodings = plan.recoding.columns
        covers = side_by_side(
            lambda c: coverage(c, original, released), recodings, original.n_rows * len(recodings)
        )
        found = {c.name: cover for c, cover in zip(recodings, covers, strict=True)}
        for title, attribute, words in (
            ("mapped", "unmapped", "cells that the plan does not make"),
            ("covered", "uncovered", "cells that do not cover their original"),
        ):
            faults = {n: getattr(c, attribute) for n, c in found.items() if getattr(c, attribute)}
            told = ", ".join(f"{count:,} in {name}" for name, count in faults.items())
            checks.append(_none(title, sum(faults.values()), f"{words}: {told}"))
    if plan.promises:
        made = classes(plan, released)
        checks += [from_promise(promise).check(made) for promise in plan.promises]
    return checks


def classes(plan: Plan, released: Table) -> Classes:
    """The released groups: records that share all released quasi-identifier values."""
    found = group(
        [released.column(n, kind="categorical").codes for n in plan.names("quasi")], released.n_rows
    )
    return Classes.of(
        found, [_sensitive(c, released) for c in plan.columns if c.role == "sensitive"]
    )


def _sensitive(column: PlanColumn, released: Table) -> Column:
    """A released sensitive column under its kind, or as categories when it was recoded to text."""
    try:
        return released.column(column.name, kind=column.kind)
    except SchemaError:
        return released.column(column.name, kind="categorical")


def require(checks: Iterable[Check], where: str = "the released table") -> list[Check]:
    """The checks, or PromiseError when one does not hold."""
    listed = list(checks)
    broken = [check for check in listed if not check.holds]
    if broken:
        told = "; ".join(
            f"{c.name}: required {c.required}, reached {c.reached}"
            + (f" ({c.detail})" if c.detail else "")
            for c in broken
        )
        raise PromiseError(
            f"{where} does not keep {len(broken)} of {len(listed)} checks: {told}",
            hint="nothing was written; this is a fault in the method or its plan",
        )
    return listed


def _equal(name: str, required: Any, reached: Any, words: str) -> Check:
    if isinstance(required, list):
        odd = [n for n in [*required, *reached] if n not in required or n not in reached]
        holds = required == reached
        detail = words if holds else f"at fault: {', '.join(dict.fromkeys(odd)) or 'their order'}"
        return Check(name, len(required), len(reached), holds, detail)
    return Check(name, required, reached, required == reached, words)


def _none(name: str, count: int, words: str) -> Check:
    return Check(name, 0, count, count == 0, words if count else "")
