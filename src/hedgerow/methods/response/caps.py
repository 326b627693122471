"""Caps on cells as a request names them, and the errors and warnings about a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...errors import InfeasibleError, ParameterError, reprs
from ...kernels import Floats
from ...notation import figure, percent
from ...texts import text
from ...validation import check_share
from .contingency import Coded, Contingency, SensitiveView, find_value, label
from .risk import Risk

# groups of fewer records are counted in messages, never described
DESCRIBED = 10
_SLACK = 1 + 1e-9


def negations(excluded_values: int | Sequence[str], sensitive: Sequence[Coded]) -> int | tuple[tuple[int, ...], ...]:
    """Return how many values, or which codes of each sensitive attribute, the intruder can already rule out."""
    if isinstance(excluded_values, int):
        if excluded_values < 0:
            raise ParameterError(f"known_negations must be at least 0, not {excluded_values}")
        return int(excluded_values)
    excluded: list[list[int]] = [[] for _ in sensitive]
    for named in [excluded_values] if isinstance(excluded_values, str) else excluded_values:
        number, value = find_value(sensitive, named)
        excluded[number].append(value)
    return tuple(tuple(sorted(set(values))) for values in excluded)


def with_caps(
    contingency: Contingency, quasi: Sequence[Coded], sensitive: Sequence[Coded], caps: Mapping[str, float]
) -> Contingency:
    """Replace the cap 1/l by the caps of single values or groups; if several fit a cell, the lowest counts.

    A key is a sensitive value, or conditions ``column=value`` joined by commas on
    quasi-identifiers, sensitive attributes or both.
    """
    if not caps:
        return contingency
    names = {c.name for c in (*quasi, *sensitive)}
    cells = np.unravel_index(contingency.occupied, contingency.quasi)
    chosen = [np.full(v.cap.shape, np.inf) for v in contingency.views]
    for key, cap in caps.items():
        check_share("a cap", float(cap))
        # A value may hold commas, so only a key that begins with a column's name is split.
        parts = key.split(",") if any(key.partition("=")[0] == name for name in names) else [key]
        rows = np.ones(len(contingency.occupied), dtype=bool)
        values: list[tuple[int, int]] = []
        for part in parts:
            if part.partition("=")[0] in {c.name for c in quasi}:
                number, value = find_value(quasi, part)
                rows &= cells[number] == value
            else:
                values.append(find_value(sensitive, part))
        for view, out in zip(contingency.views, chosen, strict=True):
            if (columns := _columns(view, values)) is not None:
                at = rows[:, None] & columns
                out[at] = np.minimum(out[at], float(cap))
    views = tuple(
        # A cap of a value's own takes the place of 1/l, be it higher or lower.
        replace(v, cap=np.where(np.isinf(c), v.cap, c))
        for v, c in zip(contingency.views, chosen, strict=True)
    )
    return replace(contingency, views=views)


def _columns(view: SensitiveView, values: Sequence[tuple[int, int]]) -> NDArray[np.bool_] | None:
    """Return a mask of a view's values that meet the conditions; None if these name an attribute it lacks."""
    width = view.share.shape[1]
    parts = np.unravel_index(np.arange(width), view.dims)
    keep = np.ones(width, dtype=bool)
    for attribute, value in values:
        if attribute not in view.attributes:
            return None
        keep &= parts[view.attributes.index(attribute)] == value
    return keep


def exempted(contingency: Contingency, sensitive: Sequence[Coded], names: Sequence[str]) -> Contingency:
    """Return the table with no cap on the named sensitive values."""
    views = list(contingency.views)
    for named in [names] if isinstance(names, str) else names:
        value = find_value(sensitive, named)
        for i, view in enumerate(views):
            if (columns := _columns(view, [value])) is not None:
                views[i] = replace(view, cap=np.where(columns[None, :], np.inf, view.cap))
    return replace(contingency, views=tuple(views))


def halfway(risk: Risk) -> Contingency:
    """Raise every cap to at least the middle between its floor and the risk without randomization."""
    whole = risk.full(np.ones(len(risk.dims)))
    views = []
    for view, floor, now in zip(risk.contingency.views, risk.floors(), whole, strict=True):
        # The slack keeps rounding from making a cap of exactly the reachable risk infeasible.
        views.append(replace(view, cap=np.maximum(view.cap, (floor + (now - floor) / 2) * _SLACK)))
    return replace(risk.contingency, views=tuple(views))


def check_feasible(risk: Risk, quasi: Sequence[Coded]) -> None:
    """Raise InfeasibleError if no randomization meets every cap.

    The message names the worst groups by description and count, the floor and the
    largest l that could be kept; groups of few records are counted only.
    """
    contingency, floors = risk.contingency, risk.floors()
    pairs = list(zip(contingency.views, floors, strict=True))
    # A floor is the limit for t to 0, which no t reaches: a cap at the floor cannot be met.
    refused = [np.where(floor >= v.cap * (1 - 1e-12), floor, 0.0).max(axis=1) for v, floor in pairs]
    groups = np.max(refused, axis=0)
    if not groups.any():
        return
    reachable = max(float(floor[np.isfinite(v.cap)].max(initial=0.0)) for v, floor in pairs)
    counts = np.round(contingency.mass * contingency.n).astype(int)
    order = [int(row) for row in np.lexsort((-counts, -groups)) if groups[row] > 0]
    large = [row for row in order if counts[row] >= DESCRIBED]
    cells = np.unravel_index(contingency.occupied, contingency.quasi)

    def described(row: int) -> str:
        values = (c.categories[at[row]] for c, at in zip(quasi, cells, strict=True))
        return ", ".join(f"{c.name}={label(v)}" for c, v in zip(quasi, values, strict=True))

    worst_groups = [
        f"{described(row)} ({counts[row]:,} records, floor {figure(float(groups[row]))})" for row in large[:5]
    ]
    small = sum(1 for row in order if counts[row] < DESCRIBED)
    say = partial(text, "caps")
    message = [say("infeasible", groups=len(order), records=int(counts[order].sum()), floor=groups.max())]
    if worst_groups:
        message.append(say("worst", groups="; ".join(worst_groups)))
        if len(large) > 5:
            message.append(say("more", n=len(large) - 5))
    if small:
        message.append(say("small", groups=small, least=DESCRIBED))
    possible = 1 / reachable if reachable > 0 else np.inf
    hint = [say("largest", l=figure(possible)) if possible > 1 + 1e-9 else say("none")]
    if risk.target == "sensitive" and risk.bound == "paper":
        hint.append(say("target"))
    hint.append(say("relax"))
    raise InfeasibleError("; ".join(message), hint="; ".join(hint))


def cautions(risk: Risk, quasi: Sequence[Coded], sensitive: Sequence[Coded], t: Floats, cap: float) -> list[str]:
    """Return warnings for the steward about what the caps leave open and about what the release will lose."""
    contingency, warnings = risk.contingency, []
    say = partial(text, "caps")
    # The view of all sensitive columns together comes last, and is none of them.
    for view, column in zip(contingency.views, sensitive, strict=False):
        if (largest := float((contingency.mass @ view.share).max())) > cap:
            warnings.append(say("frequent", cap=cap, name=column.name, largest=largest))
    randomized = ([*quasi] if risk.n_quasi else []) + ([*sensitive] if risk.n_sensitive else [])
    if weak := [c.name for c, x in zip(randomized, t, strict=True) if c.d > 1 and x < 0.1]:
        warnings.append(say("weak", names=reprs(weak)))
    cells = int(np.prod([c.d for c in (*quasi, *sensitive)], dtype=float))
    if contingency.n < cells:
        warnings.append(say("thin", records=contingency.n, cells=cells))
    large = contingency.mass * contingency.n >= DESCRIBED
    over = large & np.any([(v.share > v.cap * _SLACK).any(1) for v in contingency.views], axis=0)
    if over.any():
        best = np.max([v.share.max(axis=1) for v in contingency.views], axis=0)
        right, people = (float(best[over] @ contingency.mass[over]), float(contingency.mass[over].sum()))
        figures = {"over": over.sum(), "groups": large.sum(), "least": DESCRIBED}
        figures |= {"right": percent(right / people, 0), "people": round(people * contingency.n)}
        warnings.append(say("guesses", bound=risk.bound, cap=percent(round(cap, 4), None), **figures))
    if risk.target == "quasi":
        warnings.append(say("unchanged"))
    if single := [c.name for c in randomized if c.d == 1]:
        warnings.append(say("single", names=reprs(single)))
    return warnings
