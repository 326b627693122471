"""Trees by the split rules of R's rpart, so that an R user rebuilds the same tree.

Own implementation of the rules, on exact sums: midpoints and `x < threshold`;
two classes and anova order categories by mean whatever `minbucket`, more classes
try all subsets; the first of equal variables and the lowest of equal thresholds
win; every admissible node is split down to `maxdepth`. One step is one level.
With `minbucket` above 1 the ordering may miss the best subset, so the guarantee
rests on the verification. rpart adds floats in record order: where two splits
are equal to the last bits it may choose the other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...errors import UnsupportedError
from .builder import BuiltTree, Grower
from .columns import PredictedColumn, Predictor
from .settings import RpartSettings, TreeSettings, to_json


class RpartTree:
    """A tree by rpart's rules; one step is one level."""

    bits = 53
    ensemble = False

    def __init__(self, settings: RpartSettings) -> None:
        self.settings = settings
        self.tree: BuiltTree | None = None

    def _grow(
        self, columns: Sequence[Predictor], response: PredictedColumn, depth: int
    ) -> BuiltTree:
        s = self.settings
        if s.classes and len(response.labels) > 2:
            wide = [c.name for c in columns if not c.numeric and c.wide]
            if wide:
                raise UnsupportedError(
                    "rpart tries all subsets of categories for more than two classes; too many "
                    f"categories in {', '.join(map(repr, wide))}",
                    hint="recode those columns to at most 12 categories",
                )
        criterion = {"gini": "gini", "information": "entropy"}[s.parms] if s.classes else "variance"
        own = TreeSettings(
            criterion, n_splits=max(response.n, 1), min_leaf=s.minbucket, max_depth=depth
        )
        return Grower(columns, response, own, min_split=s.minsplit, ordered_anyway=True).grow()

    def fit(self, columns: Sequence[Predictor], response: PredictedColumn) -> None:
        """Grow the tree in full."""
        self.tree = self._grow(columns, response, self.settings.maxdepth)

    @property
    def n_steps(self) -> int:
        """Depth of the tree."""
        assert self.tree is not None
        return max(node.depth for node in self.tree.nodes)

    def state(self, step: int) -> tuple[BuiltTree, ...]:
        """The tree down to a level."""
        assert self.tree is not None
        return (self.tree.keep(lambda node: node.depth < step),)

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Grow a tree of that depth."""
        return (self._grow(columns, response, step),)

    def describe(self, step: int) -> dict[str, Any]:
        """Builder and settings."""
        return {"builder": "rpart", **to_json(replace(self.settings, maxdepth=max(step, 1)))}
