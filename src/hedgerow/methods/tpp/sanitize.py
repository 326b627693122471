"""Sanitizing: grow trees, plan columns, check K and L, rebuild the trees and compare them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...columns.arrays import distinct_of
from ...columns.column import Column
from ...errors import InfeasibleError, ParameterError, PromiseError
from ...measures import Counts, Persons, group
from ...measures.class_measures import frequency_l
from ...notation import concatenation
from ...plan import ColumnMap
from .builder import BuiltTree, Node
from .encoding import PredictedColumn, Predictor
from .model import first_difference, tree_to_json
from .representatives import Boundary, ColumnPlan, plan_blocks, unused_value

# label of all rows in a categorical column on which no tree splits
ALL = "ALL"


@dataclass(frozen=True)
class Step:
    """One step of the search: the trees so far, the plan of each column, and the K and L it reaches."""

    step: int
    trees: tuple[tuple[BuiltTree, ...], ...]
    plans: tuple[ColumnPlan, ...]
    k: int
    l: float | None

    @property
    def reached(self) -> str:
        """Return the K and L reached, as text."""
        return f"K = {self.k}" + ("" if self.l is None else f" and L = {self.l:.3g}")


class Sanitizer:
    """The search for a release from which every target model can be rebuilt.

    Parameters
    ----------
    columns : sequence of Predictor
    responses : sequence of PredictedColumn
        The response as each target sees it.
    targets : sequence of PreservedModel
    sensitive : sequence of int arrays
        Codes of the sensitive columns that L is measured on.
    persons : Persons, optional
        The person of each record, if K counts people.
    """

    def __init__(
        self,
        columns: Sequence[Predictor],
        responses: Sequence[PredictedColumn],
        targets: Sequence[Any],
        sensitive: Sequence[NDArray[np.int64]] = (),
        persons: Persons | None = None,
    ) -> None:
        self.persons = persons
        self.columns, self.responses, self.targets = list(columns), list(responses), list(targets)
        self.sensitive = list(sensitive)
        self.bits = min(t.bits for t in self.targets)
        self.ensemble = any(t.ensemble for t in self.targets)
        self._cache: dict[int, tuple[Any, ColumnPlan]] = {}
        for target, response in zip(self.targets, self.responses, strict=True):
            target.fit(self.columns, response)

    @property
    def n_steps(self) -> int:
        """Return the number of steps after which every target has its full size."""
        return max(t.n_steps for t in self.targets)

    def state(self, step: int) -> Step:
        """Return the trees, column plans, K and L after `step` steps of every target."""
        trees = tuple(t.state(min(step, t.n_steps)) for t in self.targets)
        by_feature: dict[int, list[tuple[Node, bool]]] = {}
        for tree in (t for model in trees for t in model):
            for node in tree.nodes:
                if node.feature >= 0:
                    by_feature.setdefault(node.feature, []).append((node, tree.closed_left))
        plans = tuple(self._plan(f, by_feature.get(f, [])) for f in range(len(self.columns)))
        k, l_reached = self.privacy(plans)
        return Step(step, trees, plans, k, l_reached)

    def _plan(self, feature: int, nodes: Sequence[tuple[Node, bool]]) -> ColumnPlan:
        column = self.columns[feature]
        boundaries = {Boundary(n.lo, n.hi, n.threshold, closed) for n, closed in nodes}
        key = (boundaries, {(n.left_set, n.right_set, n.tied) for n, _ in nodes})
        # One more split changes one column, and planning blocks is what takes time.
        if feature in self._cache and self._cache[feature][0] == key:
            return self._cache[feature][1]
        if not column.numeric:
            plan = ColumnPlan(groups_of(column.n_values, [n for n, _ in nodes]))
        else:
            counts = np.bincount(column.codes, minlength=column.n_values)
            if nodes:
                plan = plan_blocks(column.values, counts, boundaries, self.bits)
            else:
                mean = unused_value(column.values, counts, self.bits)
                value = float(round(mean)) if column.unit else mean  # a date is a whole number
                plan = ColumnPlan(np.zeros(column.n_values, np.int32), (value,))
        self._cache[feature] = (key, plan)
        return plan

    def privacy(self, plans: Sequence[ColumnPlan]) -> tuple[int, float | None]:
        """Return K, the size of the smallest class over the released predictors, and L, the least n / max frequency."""
        codes = [
            plan.group[column.codes] for column, plan in zip(self.columns, plans, strict=True) if plan.n_groups > 1
        ]
        groups = group(codes, self.responses[0].n)
        least = [
            float(frequency_l(Counts.from_codes(groups, codes, int(codes.max()) + 1)).min()) for codes in self.sensitive
        ]
        people = groups.sizes if self.persons is None else self.persons.sizes(groups)
        return int(people.min()), min(least, default=None)

    def released(self, plans: Sequence[ColumnPlan]) -> list[Predictor]:
        """Return the sanitized columns, encoded as a recipient would encode them."""
        return [release_column(c, p) for c, p in zip(self.columns, plans, strict=True)]

    def compare(self, state: Step) -> str | None:
        """Rebuild every target from the sanitized columns; return the first difference, or None."""
        columns, groups = self.released(state.plans), [plan.group for plan in state.plans]
        for m, (target, response) in enumerate(zip(self.targets, self.responses, strict=True)):
            rebuilt = target.rebuild(columns, response, min(state.step, target.n_steps))
            old = [tree_to_json(tree, columns, groups) for tree in state.trees[m]]
            if difference := first_difference(old, [tree_to_json(tree, columns) for tree in rebuilt]):
                return f"model {m + 1}, {difference}"
            pairs = zip(state.trees[m], rebuilt, strict=True)
            if not all(np.array_equal(one.leaf, other.leaf) for one, other in pairs):
                return f"model {m + 1}: the records of the leaves differ"
        return None

    def search(self, k: int, l_above: float | None = None) -> tuple[Step, list[Step]]:
        """Find the last verified step with K of at least `k` and L above `l_above`.

        Returns
        -------
        best : Step
            The state to release.
        path : list of Step
            Every state looked at, for the trade-off of size against privacy.
        """
        path: list[Step] = []
        n_kept = 0
        for step in range(1, self.n_steps + 1):
            state = self.state(step)
            path.append(state)
            n_kept += n_kept == step - 1 and keeps(state, k, l_above)
            # Of an ensemble every size is listed; once K is 1 it stays so.
            if n_kept < step and (not self.ensemble or state.k == 1):
                break
        # From the largest down: nearly always the first is rebuilt, and no other needs to be.
        for state in reversed(path[:n_kept]):
            if self.compare(state) is None:
                return state, path
        if not path:
            if not any(getattr(target, "requested", 1) for target in self.targets):
                raise ParameterError("n_splits=0 asks for trees without a split, that keep nothing", hint="ask for one")
            raise InfeasibleError(
                "no tree has a split: no predictor separates the responses",
                hint="check the response and the predictors, or lower min_leaf",
            )
        first = path[0]
        requested = f"K = {k}" + ("" if l_above is None else f" and L above {l_above:g}")
        if keeps(first, k, l_above):
            raise InfeasibleError(
                "the first split cannot be rebuilt from the sanitized table",
                hint="two predictors tie in a builder that breaks ties at random: leave one out, or use TreeSettings",
            )
        raise InfeasibleError(
            f"even the first split reaches only {first.reached}; {requested} is required",
            hint="lower k or l, raise min_leaf, or publish fewer trees",
        )


def groups_of(n_values: int, nodes: Iterable[Node]) -> NDArray[np.int32]:
    """Return the group of each category, shape (n_values,); groups are numbered by their first categories.

    Categories with the same signature (left, right or absent at every node) form
    a group. If the order of categories chose a node's split among equal ones, the
    categories present there are not joined, so that the order gives the same split again.
    """
    signature = []
    for node in nodes:
        sides = np.zeros(n_values, np.int64)
        sides[list(node.left_set)] = 1
        sides[list(node.right_set)] = 2
        if node.tied:
            present = np.flatnonzero(sides)
            sides[present] = 1 + np.arange(len(present))
        signature.append(sides.tolist())
    _, groups = distinct_of(zip(*signature, strict=True) if signature else [()] * n_values)
    return groups.astype(np.int32)


def keeps(state: Step, k: int, l_above: float | None) -> bool:
    """Return whether a step has K of at least `k` and, if `l_above` is set, L strictly above it."""
    return state.k >= k and (l_above is None or (state.l is not None and state.l > l_above))


def release_column(column: Predictor, plan: ColumnPlan) -> Predictor:
    """Return a predictor as it is released; joined categories share one label."""
    codes = plan.group[column.codes]
    if column.numeric:
        return replace(column, codes=codes, values=np.asarray(plan.values))
    members = np.bincount(plan.group, minlength=plan.n_groups)
    return replace(column, codes=codes, labels=group_labels(column, plan), alone=tuple(bool(m == 1) for m in members))


def group_labels(column: Predictor, plan: ColumnPlan) -> tuple[str, ...]:
    """Return the label of each group: its categories joined, or ALL if the column has a single group."""
    if plan.n_groups == 1:
        return (ALL,)
    n_named = len(column.labels) - column.missing
    labels = []
    for j in range(plan.n_groups):
        members = np.flatnonzero(plan.group == j)
        names = [column.labels[m] for m in members if m < n_named]
        labels.append(concatenation(names, missing=len(names) < len(members)))
    return tuple(labels)


def column_map(
    column: Column, predictor: Predictor, plan: ColumnPlan, feature: int, trees: Sequence[BuiltTree]
) -> ColumnMap:
    """Return one predictor's recoding as a `ColumnMap` for the plan."""
    about = (predictor.name, "quasi", column.kind, column.unit)
    if not predictor.numeric:
        labels = group_labels(predictor, plan)
        released = [labels[g] for g in plan.group]
        return ColumnMap(
            *about,
            missing=released.pop() if predictor.missing else None,  # its label is the last
            categories=tuple(column.values),
            labels=tuple(released),
            default=labels[0] if plan.n_groups == 1 else "*",
        )
    values = np.asarray(column.values, dtype=np.float64)
    block = np.empty(len(values), np.int32)
    block[column.codes] = plan.group[predictor.codes]
    first = np.flatnonzero(np.diff(block)) + 1
    splits = [(n.threshold, t.closed_left) for t in trees for n in t.nodes if n.feature == feature]
    # Intervals of a plan are closed on the left: x <= t is x < the next double.
    cuts = sorted({np.nextafter(at, np.inf) if closed_left else at for at, closed_left in splits})
    between = []
    for at in first:
        a, b = float(values[at - 1]), float(values[at])
        # A value of other people between two blocks goes where the tree sends it.
        inside = [c for c in cuts if a < c <= b]
        middle = a / 2 + b / 2
        between.append(float(inside[0]) if inside else middle if a < middle <= b else b)
    if not np.array_equal(np.searchsorted(between, values, side="right"), block):
        raise PromiseError(f"the plan of column {predictor.name!r} does not lead to its sanitized values")
    return ColumnMap(*about, cuts=tuple(between), labels=plan.values, default=None)


def shrunk(targets: Sequence[Any], best: Step, path: Sequence[Step], k: int, l: float | None) -> Iterator[str]:
    """Yield a warning for every model that is published in a smaller size than requested."""
    for number, target in enumerate(targets, 1):
        step = min(best.step, target.n_steps)
        if step >= target.requested:
            continue
        which = "the tree" if len(targets) == 1 and not target.ensemble else f"model {number}"
        why = "its settings allow no further split"
        if step < target.n_steps:
            larger = path[best.step]
            why = "cannot be rebuilt from a sanitized table" if keeps(larger, k, l) else f"reach only {larger.reached}"
            why = f"{target.size_in_words(larger.step)} {why}"
        yield (
            f"{which} was to have {target.size_in_words(target.requested)} and is published with "
            f"{target.size_in_words(step)}: {why}"
        )
