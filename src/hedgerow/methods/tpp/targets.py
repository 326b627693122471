"""What is preserved: single trees that grow split by split, ensembles that grow tree by tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError, UnsupportedError
from ...progress import done
from .builder import Builder, BuiltTree, bootstrap, features_at, grow
from .predictors import PredictedColumn, Predictor
from .settings import BoostingSettings, ForestSettings, RpartSettings, TreeSettings, to_json


class Target:
    """One published model, in states from its first step to its full size."""

    bits = 53
    """Significant bits of a number that the builder sees."""
    ensemble = False
    """Whether a step is a whole tree."""
    trees: tuple[BuiltTree, ...] = ()
    """What `fit` built."""

    @property
    def classes(self) -> bool:
        """Whether it predicts classes."""
        raise NotImplementedError

    @property
    def n_steps(self) -> int:
        """Steps of the model as fitted."""
        raise NotImplementedError

    @property
    def asked(self) -> int:
        """Steps that were asked for."""
        return self.n_steps

    def size_in_words(self, step: int) -> str:
        """The size of the model after so many steps."""
        raise NotImplementedError

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse predictors other than those it was fitted on."""

    def fit(self, columns: Sequence[Predictor], response: PredictedColumn) -> None:
        """Build the model in full."""
        raise NotImplementedError

    def state(self, step: int) -> tuple[BuiltTree, ...]:
        """The trees after `step` steps of the model as fitted."""
        raise NotImplementedError

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Build the model of `step` steps anew, from other columns."""
        raise NotImplementedError

    def describe(self, step: int) -> dict[str, Any]:
        """What a recipient needs to rebuild it, as plain JSON values."""
        raise NotImplementedError


class SingleTree(Target):
    """A tree whose steps are its splits, in the order in which they were made."""

    @property
    def n_steps(self) -> int:
        """Number of splits."""
        return self.trees[0].n_splits

    def state(self, step: int) -> tuple[BuiltTree, ...]:
        """The tree after its first splits."""
        return (self.trees[0].prefix(step),)

    def size_in_words(self, step: int) -> str:
        """Its leaves."""
        return f"{step + 1} leaves"


class Built(Target):
    """A model that builder settings describe, one of which is its number of steps."""

    builder: ClassVar[str] = "hedgerow"
    size: ClassVar[str]
    least: ClassVar[int] = 1
    """The fewest steps that its settings can name."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    @property
    def classes(self) -> bool:
        """Whether it predicts classes."""
        return bool(self.settings.classes)

    def fit(self, columns: Sequence[Predictor], response: PredictedColumn) -> None:
        """Build the model in full."""
        self.trees = self.rebuild(columns, response, getattr(self.settings, self.size))

    def describe(self, step: int) -> dict[str, Any]:
        """Builder and settings."""
        sized = replace(self.settings, **{self.size: max(step, self.least)})
        return {"builder": self.builder, **to_json(sized)}


class Ensemble(Built):
    """Trees of the own builder, one after the other; a step is a tree."""

    ensemble = True
    size = "n_trees"

    @property
    def n_steps(self) -> int:
        """Number of trees that were grown."""
        return len(self.trees)

    @property
    def asked(self) -> int:
        """Number of trees that its settings name."""
        return self.settings.n_trees

    def size_in_words(self, step: int) -> str:
        """Its trees."""
        return f"{step} tree{'s' * (step != 1)}"

    def state(self, step: int) -> tuple[BuiltTree, ...]:
        """The first trees."""
        return self.trees[:step]


class OwnTree(SingleTree, Built):
    """A tree of the own builder; one step is one split."""

    size, least = "n_splits", 0

    @property
    def asked(self) -> int:
        """Number of splits that its settings name."""
        return self.settings.n_splits

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Grow a tree with a stated number of splits."""
        return (grow(columns, response, replace(self.settings, n_splits=step)),)


class OwnForest(Ensemble):
    """A random forest of the own builder; one step is one tree."""

    def _grow(
        self, columns: Sequence[Predictor], response: PredictedColumn, tree: int
    ) -> BuiltTree:
        s = self.settings
        weights = bootstrap(s.seed, tree, response.n) if s.bootstrap else None
        chosen = s.max_features
        if chosen is None or chosen >= len(columns):
            return grow(columns, response, s.tree, weights)
        return grow(
            columns,
            response,
            s.tree,
            weights,
            lambda path: features_at(s.seed, tree, path, len(columns), chosen),
        )

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Grow the first trees."""
        grown = []
        for tree in range(step):
            done(tree / step)
            grown.append(self._grow(columns, response, tree))
        return tuple(grown)


class OwnBoosting(Ensemble):
    """Gradient boosting of the own builder; one step is one stage.

    A stage's response depends on y and the earlier stages' record sets alone,
    so a table that keeps those record sets keeps every residual to the bit.
    """

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Grow the first stages; it ends early when the residuals allow no split."""
        logistic = self.settings.loss == "logistic"
        if logistic and len(response.labels) != 2:
            raise ParameterError(
                f"logistic boosting needs a response of two classes, not {len(response.labels)}"
            )
        y = response.codes.astype(np.float64) if logistic else response.y
        score = np.full(len(y), _start(y, logistic))
        trees: list[BuiltTree] = []
        for stage in range(step):
            done(stage / step)
            probability = 1.0 / (1.0 + np.exp(-score)) if logistic else score
            residual = PredictedColumn.of_numbers(y - probability)
            tree = grow(columns, residual, self.settings.tree)
            if tree.n_splits == 0:
                break
            if logistic:
                tree = _newton(tree, probability)
            leaf_value = np.array([node.value[0] for node in tree.nodes])
            score = score + self.settings.learning_rate * leaf_value[tree.leaf]
            trees.append(tree)
        return tuple(trees)


class RpartTree(Built):
    """A tree by the split rules of R's rpart, so that an R user rebuilds the same tree.

    Own implementation of the rules, on exact sums: midpoints and `x < threshold`;
    two classes and anova order categories by mean whatever `minbucket`, more classes
    try all subsets; the first of equal variables and the lowest of equal thresholds
    win; every admissible node is split down to `maxdepth`. One step is one level.
    With `minbucket` above 1 the ordering may miss the best subset, so the guarantee
    rests on the verification. rpart adds floats in record order: where two splits
    are equal to the last bits it may choose the other one.
    """

    builder, size = "rpart", "maxdepth"

    @property
    def n_steps(self) -> int:
        """Depth of the tree."""
        return max(node.depth for node in self.trees[0].nodes)

    def size_in_words(self, step: int) -> str:
        """Its depth."""
        return f"{step} level{'s' * (step != 1)} of splits"

    def state(self, step: int) -> tuple[BuiltTree, ...]:
        """The tree down to a level."""
        return (self.trees[0].keep(lambda node: node.depth < step),)

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Grow a tree of that depth."""
        s: RpartSettings = self.settings
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
            criterion, n_splits=max(response.n, 1), min_leaf=s.minbucket, max_depth=step
        )
        grower = Builder(columns, response, own, min_split=s.minsplit, ordered_anyway=True)
        return (grower.grow(),)


def _start(y: NDArray[np.float64], logistic: bool) -> float:
    """The constant first score: the mean, or the log odds."""
    from math import fsum, log

    mean = fsum(y) / len(y)
    return log(mean / (1 - mean)) if logistic else mean


def _newton(tree: BuiltTree, probability: NDArray[np.float64]) -> BuiltTree:
    """Leaf means turned into one Newton step of the logistic loss, summed exactly."""
    from math import fsum

    curvature = probability * (1 - probability)
    nodes = list(tree.nodes)
    for i, node in enumerate(nodes):
        if node.feature < 0:
            rows = tree.leaf == i
            below = fsum(curvature[rows])
            step = node.value[0] * node.n / below if below > 1e-12 else 0.0
            nodes[i] = replace(node, value=(step,))
    return BuiltTree(tuple(nodes), tree.leaf, tree.closed_left)


_BUILT: dict[type[Any], type[Built]] = {
    TreeSettings: OwnTree,
    ForestSettings: OwnForest,
    BoostingSettings: OwnBoosting,
    RpartSettings: RpartTree,
}


def own_target(settings: Any) -> Target:
    """The target of builder settings."""
    return _BUILT[type(settings)](settings)
