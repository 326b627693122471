"""Check every promise of a plan again, on the released table and on its written file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import engine
from ..backends.base import sensitive_column
from ..columns.row_hashes import RowHasher
from ..columns.table import Table
from ..columns.workspace import give_back
from ..errors import PlanError, PromiseError
from ..guard.rows import DRAWN, unguarded_columns
from ..io.verify_read import plain_types, read_back
from ..io.write import layout_like
from ..kernels import Ints
from ..key import Key, Secret
from ..measures import Classes, Persons, group
from ..measures.guarantees import Check, ColumnGuarantee, KInCombinations, from_promise
from ..plan import Plan
from ..plan.records import FILE, MAPPED, RUNS, UNCHANGED
from ..progress import Tell
from ..texts import refusal
from .expected_rows import ExpectedRows, compare
from .folder import parts_in
from .rederive.cap_in_file import cap_in_file
from .rederive.guard_recipe import GuardRecipe
from .rederive.plain_rules import count_plainly
from .rederive.recipes import PseudonymRecipe, Recipe


@dataclass(frozen=True, eq=False)
class Verified:
    """The checks of a released table, with its expected rows and its equivalence classes.

    Parameters
    ----------
    checks : list of Check
    expected : ExpectedRows, optional
        The rows that its file must have; None if the table has other rows or columns.
    classes : Classes, optional
        The released groups, on which the promises were checked.
    """

    checks: list[Check]
    expected: ExpectedRows | None = None
    classes: Classes | None = None


def verify(
    plan: Plan,
    original: Table,
    released: Table,
    *,
    pseudonyms: Iterable[str] = (),
    secret: Secret | None = None,
    key: Key | None = None,
    rows: Ints | None = None,
    progress: Tell | None = None,
) -> Verified:
    """Check a released table against its original, its plan and the plan's promises.

    Parameters
    ----------
    plan : Plan
        The plan, with the promises to check.
    original, released : Table
        The tables before and after protection.
    pseudonyms : iterable of str
        Identifiers that were replaced instead of left out.
    secret : Secret, optional
        The secret with which the pseudonyms were made.
    key : Key, optional
        The key with which values were drawn inside groups.
    rows : int64 array of shape (n_rows,), optional
        The row of the original behind each released one; by default the same.
    progress : callable, optional
        Called with the step and the part of it that is done.
    """
    give_back()
    original.units = released.units = plan.units
    replaced = set(pseudonyms)
    removed = set(plan.left_out) - replaced
    remaining = [name for name in original.names if name not in removed]
    words = "as many records as came in, each once"
    once = rows is None or _each_once(rows, original.n_rows)
    checks = [
        _equal("rows", original.n_rows, released.n_rows if once else "some rows twice", words),
        same_columns(remaining, released.names),
    ]
    # rows and columns must match before cells can be compared
    if not all(check.holds for check in checks):
        return Verified(checks)
    relations = dict.fromkeys(remaining, UNCHANGED) | {n: r for n, r in plan.relations().items() if n in remaining}
    relations |= {name: MAPPED for name in remaining if name in replaced}
    keyed: list[Recipe] = [
        PseudonymRecipe(c, original, secret) for c in plan.columns if secret is not None and c.name in replaced
    ]
    guarded, released_here = None, released
    if plan.guard is not None:
        others, n_bytes = unguarded_columns(plan, replaced), original.n_rows * len(remaining) * DRAWN
        # a cluster gathers the codes of all rows once more
        original = original.with_local_codes(remaining, n_bytes)
        guarded_names = dict.fromkeys([*plan.names("quasi"), *(c.name for c in plan.guard.columns)])
        released_here = released.with_local_codes(guarded_names, n_bytes, in_order=True)
        guarded = GuardRecipe(plan, original, released_here, rows, key, others)
        keyed.append(guarded)
        # drawn values are known to who has the key
        relations |= dict.fromkeys(guarded.classes, MAPPED)
    # types that files do not tell apart are no change
    before, after = (plain_types(table.types) for table in (original, released))
    checks.append(_types({name: before[name] for name in remaining if relations[name] == UNCHANGED}, after))
    expected, row_checks = compare(plan.recoding, original, released, relations, rows, progress, keyed)
    checks += row_checks
    if replaced:
        unreplaced = [n for n in remaining if n in replaced and not _replaced(n, original, released, rows)]
        words = f"identifiers that were not replaced one by one: {', '.join(unreplaced)}"
        checks.append(Check.none("pseudonyms", len(unreplaced), words))
    give_back()
    persons = Persons.from_table(original, plan.unit, plan.household)
    persons = None if persons is None else persons.subset(rows)
    if guarded is not None and plan.in_rows:
        # equal cells show no group: k and caps are those of the plan's groups
        labels = guarded.labels if rows is None else guarded.labels[rows]
        sensitive = [sensitive_column(column, released_here) for column in plan.columns if column.role == "sensitive"]
        groups = Classes.from_groups(group([labels]), sensitive, persons)
    else:
        groups = classes(plan, released, persons)
    promises = [from_promise(promise) for promise in plan.promises]
    for promise in promises:
        if isinstance(promise, KInCombinations):
            if not set().union(*promise.sets) <= set(plan.names("quasi")):
                raise PlanError("the plan promises k in columns that are no quasi-identifiers")
            checks.append(promise.check_in(lambda names: engine(released.engine).classes(released, names, [], persons)))
        else:
            checks.append(promise.check(groups))
    checks += _rules(plan, original, released_here)
    if guarded is not None:
        checks += guarded.checks()
        # a cap holds of what the file shows, and of what the groups' originals would show
        exact = [original.like(column) for column in plan.columns if column.role == "sensitive"]
        hidden = Classes.from_groups(group([guarded.labels]), exact)
        capped = [promise.check(hidden) for promise in promises if isinstance(promise, ColumnGuarantee)]
        checks += [replace(check, name=f"{check.name} (originals)") for check in capped]
        if guarded.guard.cap_on == FILE:
            checks += cap_in_file(plan, released_here)
    return Verified(checks, expected, groups)


def _rules(plan: Plan, original: Table, released: Table) -> list[Check]:
    """Check that no more rows than in the original break a rule of columns that are drawn or released as they are."""
    redrawn = {column.name for column in plan.guard.columns} if plan.guard and plan.guard.form != RUNS else set[str]()
    changed = plan.relations().keys() - redrawn
    checks = []
    for each in plan.rules:
        if changed.isdisjoint(each.rule.names):
            n = count_plainly(each.rule, plan, released, original)
            reached = released.n_rows if n is None else n
            words = "rows that break it, no more than in the original"
            checks.append(Check(f"rule {each.rule}", each.broken, reached, reached <= each.broken, words))
    return checks


def verify_file(
    path: Path, expected: ExpectedRows, written: Table, *, like: Table, escape: bool, progress: Tell
) -> list[Check]:
    """Check that a written file, read once in the way its recipient reads it, has the expected rows.

    The file has exactly the rows of the verified table, so all promises hold on it as well.

    Parameters
    ----------
    path : Path
    expected : ExpectedRows
        The rows that `verify` expects in the file.
    written : Table
        The table that was written.
    like : Table
        The table whose format the file has.
    escape : bool
        Whether formulas were escaped in CSV.
    progress : callable
        Called with the step and the part of it that is done.
    """
    give_back()
    parts = parts_in(path) if path.is_dir() else [path]
    layout = layout_like(like, written.types, written.entries)
    file = read_back(parts, like=layout, classes=expected.classes, recoded=expected.recoded, unescape_formulas=escape)
    wanted_rows = expected.sums.n_rows
    n_rows = wanted_rows if file.n_rows is None else file.n_rows
    checks = [
        _equal("rows", wanted_rows, n_rows, "as many records as were verified"),
        same_columns(list(expected.classes), file.names),
    ]
    if not all(check.holds for check in checks):
        return checks
    if file.types is not None:
        checks.append(_types(plain_types(written.types), file.types))
    hasher: RowHasher = expected.hasher()
    sums = hasher.zero()
    for batch in file.batches:
        sums += hasher.add(batch.columns)
        progress("reading back", min(sums.n_rows / wanted_rows, 1.0))
    # formats without a row count are counted while they are read
    checks[0] = _equal("rows", wanted_rows, sums.n_rows, checks[0].detail)
    return checks + expected.checks(sums)


def _each_once(rows: NDArray[Any], n: int) -> bool:
    """Return whether every number from 0 to n - 1 occurs exactly once."""
    if len(rows) != n or (n and not 0 <= rows.min() <= rows.max() < n):
        return False
    return bool((np.bincount(rows, minlength=n) == 1).all())


def _replaced(name: str, original: Table, released: Table, rows: Ints | None) -> bool:
    """Return whether identifiers and pseudonyms match one to one and no identifier is unchanged."""
    old, new = (t.column(name, kind="categorical") for t in (original, released))
    before = old.codes if rows is None else old.codes[rows]
    pairs = group([before, new.codes]).n_groups
    alone = group([before]).n_groups == pairs == group([new.codes]).n_groups
    return alone and not set(old.values) & set(new.values)


def classes(plan: Plan, released: Table, persons: Persons | None = None) -> Classes:
    """Return the equivalence classes: groups of records that share all released quasi-identifier values.

    `persons` are the people of the original rows behind the released ones.
    """
    sensitive = [column for column in plan.columns if column.role == "sensitive"]
    return engine(released.engine).classes(released, plan.names("quasi"), sensitive, persons)


def _short(*values: Any) -> list[str]:
    """Return a check's values as text, with at least three digits and enough to tell the values apart."""
    # 17 digits tell any two doubles apart
    for digits in range(3, 18):
        texts = [f"{v:.{digits}g}" if isinstance(v, float) else str(v) for v in values]
        if len(set(texts)) == len(texts):
            break
    return texts


def require(checks: Iterable[Check], where: str = "the released table") -> list[Check]:
    """Return the checks if all of them hold; raise PromiseError otherwise."""
    listed = list(checks)
    if broken := [check for check in listed if not check.holds]:
        faults = "; ".join(
            "{}: required {}, reached {}".format(c.name, *_short(c.required, c.reached))
            + (f" ({c.detail})" if c.detail else "")
            for c in broken
        )
        counts = {"broken": len(broken), "checks": len(listed)}
        raise PromiseError(**refusal("broken", "release", where=where, faults=faults, **counts))
    return listed


def _equal(name: str, required: Any, reached: Any, words: str) -> Check:
    return Check(name, required, reached, required == reached, words)


def _types(wanted: Mapping[str, object], reached: Mapping[str, object]) -> Check:
    differing = [name for name in wanted if wanted[name] != reached[name]]
    return Check.none("types", len(differing), f"columns of another type: {', '.join(differing)}")


def same_columns(required: Sequence[str], reached: Sequence[str]) -> Check:
    """Check that a table has the required columns in the required order."""
    differing = [n for n in [*required, *reached] if n not in required or n not in reached]
    holds = list(required) == list(reached)
    faults = ", ".join(dict.fromkeys(differing)) or "their order"
    detail = "the declared columns in order, identifiers left out" if holds else f"at fault: {faults}"
    return Check("columns", len(required), len(reached), holds, detail)
