"""What is preserved: single trees that grow split by split, ensembles that grow tree by tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from .builder import BuiltTree, bootstrap, features_at, grow
from .columns import PredictedColumn, Predictor
from .settings import BoostingSettings, ForestSettings, RpartSettings, TreeSettings, to_json


class Target(Protocol):
    """One published model, in states from its first step to its full size."""

    bits: int
    """Significant bits of a number that the builder sees."""
    ensemble: bool
    """Whether a step is a whole tree."""

    @property
    def n_steps(self) -> int:
        """Steps of the model as fitted."""

    def fit(self, columns: Sequence[Predictor], response: PredictedColumn) -> None:
        """Build the model in full."""

    def state(self, step: int) -> tuple[BuiltTree, ...]:
        """The trees after `step` steps of the model as fitted."""

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Build the model of `step` steps anew, from other columns."""

    def describe(self, step: int) -> dict[str, Any]:
        """What a recipient needs to rebuild it, as plain JSON values."""


class SingleTree:
    """A tree whose steps are its splits, in the order in which they were made."""

    bits = 53
    ensemble = False
    tree: BuiltTree | None = None

    @property
    def n_steps(self) -> int:
        """Number of splits."""
        assert self.tree is not None
        return self.tree.n_splits

    def state(self, step: int) -> tuple[BuiltTree, ...]:
        """The tree after its first splits."""
        assert self.tree is not None
        return (self.tree.prefix(step),)


class Ensemble:
    """Trees of the own builder, one after the other; a step is a tree."""

    bits = 53
    ensemble = True
    settings: ForestSettings | BoostingSettings
    trees: tuple[BuiltTree, ...] = ()

    def fit(self, columns: Sequence[Predictor], response: PredictedColumn) -> None:
        """Grow every tree."""
        self.trees = self.rebuild(columns, response, self.settings.n_trees)

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Grow the first trees."""
        raise NotImplementedError

    @property
    def n_steps(self) -> int:
        """Number of trees that were grown."""
        return len(self.trees)

    def state(self, step: int) -> tuple[BuiltTree, ...]:
        """The first trees."""
        return self.trees[:step]

    def describe(self, step: int) -> dict[str, Any]:
        """Builder and settings."""
        return {"builder": "hedgerow", **to_json(replace(self.settings, n_trees=step))}


class OwnTree(SingleTree):
    """A tree of the own builder; one step is one split."""

    def __init__(self, settings: TreeSettings) -> None:
        self.settings = settings

    def fit(self, columns: Sequence[Predictor], response: PredictedColumn) -> None:
        """Grow the tree in full."""
        self.tree = grow(columns, response, self.settings)

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Grow a tree with a stated number of splits."""
        return (grow(columns, response, replace(self.settings, n_splits=step)),)

    def describe(self, step: int) -> dict[str, Any]:
        """Builder and settings."""
        return {"builder": "hedgerow", **to_json(replace(self.settings, n_splits=step))}


class OwnForest(Ensemble):
    """A random forest of the own builder; one step is one tree."""

    settings: ForestSettings

    def __init__(self, settings: ForestSettings) -> None:
        self.settings = settings

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
        return tuple(self._grow(columns, response, b) for b in range(step))


class OwnBoosting(Ensemble):
    """Gradient boosting of the own builder; one step is one stage.

    A stage's response depends on y and the earlier stages' record sets alone,
    so a table that keeps those record sets keeps every residual to the bit.
    """

    settings: BoostingSettings

    def __init__(self, settings: BoostingSettings) -> None:
        self.settings = settings

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
        for _ in range(step):
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


def own_target(settings: TreeSettings | ForestSettings | BoostingSettings | RpartSettings) -> Any:
    """The target of builder settings."""
    if isinstance(settings, TreeSettings):
        return OwnTree(settings)
    if isinstance(settings, ForestSettings):
        return OwnForest(settings)
    if isinstance(settings, BoostingSettings):
        return OwnBoosting(settings)
    from .rpart import RpartTree

    return RpartTree(settings)
