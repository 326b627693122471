"""Describe a plan in words that a data steward can read and sign."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial, singledispatch
from itertools import accumulate

from ..notation import cut, duration, figure, percent
from ..plan import Anatomize, Maps, Mask, Partition, Plan, Randomize, Recoded, Recoding
from ..texts import text, texts
from .guard_words import contents, in_words, promises

_SHOWN, _DEEPEST = 60, 12
_LISTED = 6

_ROLES = ("quasi", "sensitive", "other", "identifier", "undeclared")
_say = partial(text, "plan")


def explain(plan: Plan) -> str:
    """Return the plan in words: released, recoded and left-out columns, and the promises.

    Parameters
    ----------
    plan : Plan
    """
    arguments = ", ".join(f"{key}={value!r}" for key, value in plan.parameters.items())
    lines = [_say("fitted", method=plan.method, arguments=arguments, rows=plan.n_rows)]
    hidden = set(contents(plan))
    for role in _ROLES:
        names = plan.names(role)
        if names and not hidden.issuperset(names):
            lines.append(_say(role, names=", ".join(n for n in names if n not in hidden)))
        if guarded := ", ".join(n for n in names if n in hidden):
            lines.append(_say("guarded", role="quasi-identifiers" if role == "quasi" else role, names=guarded))
    if plan.weight:
        lines.append(_say("weight", weight=plan.weight))
    if plan.zones:
        zones = ", ".join(f"{name} (its zone is {zone})" for name, zone in plan.zones.items())
        lines.append(_say("zones", zones=zones))
    lines += ["", "Promises"]
    lines += [f"  - {words}" for words in promises(plan)] or ["  none"]
    guard = ["", in_words(plan, plan.guard)] if plan.guard else []
    lines += ["", _say("drawn_rows")] if plan.in_rows else [""]
    return "\n".join([*lines, recoding_in_words(plan.recoding), *guard])


@singledispatch
def recoding_in_words(recoding: Recoding) -> str:
    """Return a description of the recoding in words; each type of recoding registers its own function."""
    return _say("unknown_kind", kind=recoding.kind)


@recoding_in_words.register
def _anatomize(recoding: Anatomize) -> str:
    return _say("anatomy", **vars(recoding))


@recoding_in_words.register
def _maps(recoding: Maps) -> str:
    lines = []
    for column in recoding.columns:
        what, slots = "intervals" if column.is_number else "categories", len(column.labels)
        distinct = len(set(column.labels))
        lines.append(_say("column_map", name=column.name, slots=slots, what=what, distinct=distinct))
    if recoding.suppressed:
        lines.append(_say("too_small", groups=len(recoding.suppressed), label=recoding.suppress_label))
    return "\n".join(lines)


@recoding_in_words.register
def _mask(recoding: Mask) -> str:
    lines = [_say("mask", method=recoding.method)]
    lines += [
        f"  {name.replace('_', ' ')}: {f'{value:.3g}' if isinstance(value, float) else value}"
        for name, value in recoding.facts.items()
        if not isinstance(value, Mapping)
    ]
    for c in recoding.columns:
        shares = {words: getattr(c, name) for name, words in texts("share").items()}
        parts = [f"{percent(share)} {word}" for word, share in shares.items() if share]
        lines.append(f"{c.name}: " + (", ".join(parts) if parts else "every cell changed"))
    return "\n".join(lines)


@recoding_in_words.register
def _randomize(recoding: Randomize) -> str:
    width = max([len(c.name) for c in recoding.columns] + [6])
    lines = [f"{'column':<{width}}  categories  p (kept)  t       local epsilon"]
    for c in recoding.columns:
        guarantee = "none (always kept)" if math.isinf(c.epsilon) else f"{c.epsilon:.3f}"
        lines.append(f"{c.name:<{width}}  {c.d:>10,}  {c.p:<8.4f}  {c.t:<6.4f}  {guarantee}")
    risk, success = figure(recoding.risk), figure(recoding.success)
    lines.append(_say("randomize", risk=risk, success=success, unprotected=percent(recoding.unprotected)))
    return "\n".join(lines)


@recoding_in_words.register
def _partition(tree: Partition) -> str:
    # The splits as an indented tree, cut off where it grows long.
    lines = ["Recoding", *(f"  {column.name}: {style_in_words(column)}" for column in tree.columns)]
    many = "groups" if not tree.groups else "cells"
    lines += ["", f"{tree.n_leaves:,} {many} by these splits"]
    if tree.groups:
        lines[-1] = f"{tree.n_groups:,} groups, joined from {lines[-1]}"
    (leaves, groups), levels = _below(tree), _levels(tree)
    depth = deepest = max(levels)
    if tree.n_leaves > _SHOWN:
        # down to the level where the tree still has no more than _SHOWN branches
        depth = next((d for d in range(_DEEPEST) if _branches(tree, levels, d + 1) > _SHOWN), _DEEPEST)
        lines[-1] += f" (the first {depth} of {deepest} levels)"
    stack = [(0, "")]
    while stack:
        node, words = stack.pop()
        indent = "  " * (levels[node] + 1)
        if groups[node] is not None:
            where = f"group {groups[node]:,}" if tree.groups else "one group"
            lines.append(f"{indent}{words or 'all records'}: {where}")
        elif levels[node] >= depth:
            lines.append(f"{indent}{words or 'all records'}: {leaves[node]:,} {many}")
        else:
            if words:
                lines.append(f"{indent}{words}")
            on_left, on_right = _conditions(tree, node)
            # the last one on the stack is written first
            stack += [(tree.right[node], on_right), (node + 1, on_left)]
    return "\n".join(lines)


def style_in_words(column: Recoded) -> str:
    """Return a description of how one column is recoded."""
    if column.silent:
        return "`*` in every record"
    words = texts("style").get(column.style, column.style)
    return words if not column.step else f"{words}, to the nearest multiple of {duration(column.step, column.unit)}"


def _branches(tree: Partition, levels: list[int], level: int) -> int:
    """Return the number of nodes at a level of the tree plus the leaves above that level."""
    nodes = zip(levels, tree.split, strict=True)
    return sum(at == level or (at < level and split < 0) for at, split in nodes)


def _levels(tree: Partition) -> list[int]:
    levels = [0] * len(tree.split)
    for node, column in enumerate(tree.split):
        if column >= 0:
            levels[node + 1] = levels[tree.right[node]] = levels[node] + 1
    return levels


def _below(tree: Partition) -> tuple[list[int], list[int | None]]:
    """Return how many leaves each node has below it, and the number of their group; None if they have several."""
    # leaves have numbers in the order of their nodes
    leaf = list(accumulate((split < 0 for split in tree.split), initial=0))
    leaves, group = [1] * len(tree.split), [(tree.groups[i] if tree.groups else i) + 1 for i in leaf[:-1]]
    for node in range(len(tree.split) - 1, -1, -1):
        if tree.split[node] >= 0:
            first, second = node + 1, tree.right[node]
            leaves[node] = leaves[first] + leaves[second]
            group[node] = group[first] if group[first] == group[second] else None
    return leaves, group


def _conditions(tree: Partition, node: int) -> tuple[str, str]:
    """Return the conditions for the left and the right branch of a split, as text."""
    column = tree.columns[tree.split[node]]
    if column.kind in ("numeric", "date"):
        at, is_first, words = cut(tree.threshold[node], column.unit), tree.missing_left[node], " or missing"
        is_second = not is_first and any(cell.missing for cell in column.cells)
        return f"{column.name} < {at}{words * is_first}", f"{column.name} >= {at}{words * is_second}"
    subset = tree.subsets[tree.subset[node]]
    labels = ["missing" if category is None else category for category in subset]
    listed = ", ".join(labels[:_LISTED])
    listed += f" and {len(labels) - _LISTED} more" if len(labels) > _LISTED else ""
    return f"{column.name} is {listed}", f"{column.name} is anything else"
