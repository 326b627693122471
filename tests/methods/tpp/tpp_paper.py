"""Step 3 of the paper's Figure 2 as printed, and the ordering shortcut, to show where they fail."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from tpp_tables import numbers

from hedgerow.methods.tpp.builder import Builder, BuiltTree
from hedgerow.methods.tpp.encoding import Predictor


def printed_step_3(column: Predictor, feature: int, tree: BuiltTree) -> Predictor:
    """Steps 3(a) to 3(d) to the letter, in doubles; values that no step assigns stay."""
    values = column.values.tolist()
    nodes = [n for n in tree.nodes if n.feature == feature]
    right_ends = {values[n.lo] for n in nodes}
    left_ends = {values[n.hi] for n in nodes}
    marks = sorted(right_ends | left_ends)
    table = np.sort(column.values[column.codes])

    def interval(mark: float, right_end: bool) -> np.ndarray:
        at = marks.index(mark)
        other = marks[at - 1] if right_end and at else None
        if not right_end:
            other = marks[at + 1] if at + 1 < len(marks) else None
        lo, hi = (other, mark) if right_end else (mark, other)
        inside = table[(table >= (lo if lo is not None else -np.inf)) & (table <= (hi if hi is not None else np.inf))]
        if other is None:
            return inside
        if other in (left_ends if right_end else right_ends):  # two boundary values: equal halves
            half = len(inside) // 2
            part = inside[half:] if right_end else inside[:half]
            return part[part != other] if len(part[part != other]) else np.array([mark])
        return inside[inside != other]

    released = {v: v for v in values}
    for n in nodes:
        v1, v2 = values[n.lo], values[n.hi]
        one, two = interval(v1, True), interval(v2, False)
        d = min(v1 - one.mean(), two.mean() - v2)
        released |= dict.fromkeys(one.tolist(), v1 - d) | dict.fromkeys(two.tolist(), v2 + d)
    return numbers(column.name, [released[v] for v in column.values[column.codes]])


class Shortcut(Builder):
    """A grower that orders categories by mean class code, always."""

    def _subset(self, *arguments):  # type: ignore[no-untyped-def]
        self.ordered = True
        return super()._subset(*arguments)

    def means(self, hist):  # type: ignore[no-untyped-def]
        return [Fraction(sum(i * int(c) for i, c in enumerate(row)), int(row.sum())) for row in hist]
