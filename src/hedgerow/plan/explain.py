"""A plan in words that a data steward can read and sign."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..notation import moment, number
from .records import Partition, Plan, Recoded

_SHOWN, _DEEPEST = 60, 12
_LISTED = 6

_ROLES = {
    "quasi": "recoded (quasi-identifiers)",
    "sensitive": "released unchanged (sensitive)",
    "other": "released unchanged (other: nobody checked what they reveal)",
    "identifier": "left out (identifiers)",
}

_STYLES = {
    "range": "the range of its group, or the single value that all share",
    "mean": "the mean of its group",
    "median": "the median of its group",
    "concatenate": "the categories that occur in its group, joined with +",
    "weighted": "the categories that occur in its group with their counts, joined with +",
    "hierarchy": "the lowest common ancestor of its group in the hierarchy",
    "suppress": "* unless the whole group shares one value",
}


def explain(plan: Plan) -> str:
    """The plan in words: what is released, recoded, left out and promised.

    Parameters
    ----------
    plan : Plan
        What to tell.
    """
    given = ", ".join(f"{key}={value!r}" for key, value in plan.parameters.items())
    lines = [f"Plan of {plan.method}({given}), fitted on {plan.n_rows:,} records.", "", "Columns"]
    for role, words in _ROLES.items():
        names = plan.names(role)
        if names:
            lines.append(f"  {words}: {', '.join(names)}")
    lines += ["", "Promises"]
    lines += [f"  - {promise_in_words(promise)}" for promise in plan.promises] or ["  none"]
    return "\n".join([*lines, "", plan.recoding.explain()])


def promise_in_words(promise: Mapping[str, Any]) -> str:
    """One promise of a plan as a sentence; a kind without words of its own is spelled out."""
    kind = promise.get("kind")
    if kind == "k_anonymity" and "k" in promise:
        return (
            "every combination of released quasi-identifier values is shared by at "
            f"least {promise['k']} records"
        )
    if kind == "disclosure" and "maximum" in promise:
        share = f"{100 * (1 - promise['maximum']):g}%"
        return (
            f"in every released group, and for {_columns(promise)}, guessing from the group "
            "leaves an "
            f"intruder at least {share} of the squared error of guessing from the whole table"
        )
    if kind == "l_diversity" and "l" in promise:
        return (
            f"every released group is {promise['l']:g}-diverse "
            f"({promise.get('diversity')}) in {_columns(promise)}"
        )
    if kind == "t_closeness" and "t" in promise:
        return (
            f"in every released group the values of {_columns(promise)} are distributed as "
            "in the whole table, "
            f"up to an earth mover's distance of {promise['t']:g}"
        )
    told = ", ".join(f"{key} = {value}" for key, value in promise.items() if key != "kind")
    return f"{str(kind).replace('_', ' ')}" + (f" ({told})" if told else "")


def _columns(promise: Mapping[str, Any]) -> str:
    return ", ".join(promise.get("columns") or ()) or "every sensitive column"


def explain_partition(tree: Partition) -> str:
    """The groups of a partition: the splits as an indented tree, cut off where it grows long."""
    lines = [
        "Recoding",
        *(f"  {column.name}: {_STYLES.get(column.style, column.style)}" for column in tree.columns),
    ]
    lines += ["", f"{tree.n_leaves:,} groups by these splits"]
    leaves, levels = _leaves_below(tree), _levels(tree)
    deepest = max(levels)
    shown = deepest
    if tree.n_leaves > _SHOWN:
        # down to the level where the tree still has no more than _SHOWN branches
        shown = 0
        while (
            shown < _DEEPEST
            and sum(_ends_at(tree, levels, node, shown + 1) for node in range(len(levels)))
            <= _SHOWN
        ):
            shown += 1
        lines[-1] += f" (the first {shown} of {deepest} levels)"
    stack = [(0, "")]
    while stack:
        node, words = stack.pop()
        indent = "  " * (levels[node] + 1)
        if tree.split[node] < 0:
            lines.append(f"{indent}{words or 'all records'}: one group")
        elif levels[node] >= shown:
            lines.append(f"{indent}{words or 'all records'}: {leaves[node]:,} groups")
        else:
            if words:
                lines.append(f"{indent}{words}")
            left, right = _conditions(tree, node)
            stack += [(tree.right[node], right), (node + 1, left)]
    return "\n".join(lines)


def _ends_at(tree: Partition, levels: list[int], node: int, level: int) -> bool:
    return levels[node] == level or (levels[node] < level and tree.split[node] < 0)


def _levels(tree: Partition) -> list[int]:
    levels = [0] * len(tree.split)
    for node, column in enumerate(tree.split):
        if column >= 0:
            levels[node + 1] = levels[tree.right[node]] = levels[node] + 1
    return levels


def _leaves_below(tree: Partition) -> list[int]:
    below = [1] * len(tree.split)
    for node in range(len(tree.split) - 1, -1, -1):
        if tree.split[node] >= 0:
            below[node] = below[node + 1] + below[tree.right[node]]
    return below


def _conditions(tree: Partition, node: int) -> tuple[str, str]:
    """What holds on the left and on the right of a split."""
    column = tree.columns[tree.split[node]]
    if column.kind in ("numeric", "date"):
        at = _shown_value(column, tree.threshold[node])
        return (
            f"{column.name} < {at}{' or missing' if tree.missing_left[node] else ''}",
            f"{column.name} >= "
            f"{at}{'' if tree.missing_left[node] or not _has_missing(column) else ' or missing'}",
        )
    subset = tree.subsets[tree.subset[node]]
    known = ["missing" if category is None else category for category in subset]
    listed = ", ".join(known[:_LISTED]) + (
        f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    )
    return f"{column.name} is {listed}", f"{column.name} is anything else"


def _has_missing(column: Recoded) -> bool:
    return any(cell.missing for cell in column.cells)


def _shown_value(column: Recoded, value: float) -> str:
    return moment(math.ceil(value), column.unit) if column.kind == "date" else number(value)
