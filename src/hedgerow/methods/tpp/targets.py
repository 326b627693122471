"""The models to preserve: trees and ensembles of Hedgerow's own builder, and fitted scikit-learn trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import fsum, log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError, SchemaError, UnsupportedError
from ...notation import plain
from ...progress import done
from .builder import Builder, BuiltTree, Node, Split, best_first, bootstrap, features_at, leaf_of
from .encoding import PredictedColumn, Predictor
from .tree_settings import BoostingSettings, ForestSettings, RpartSettings, TreeSettings, to_json


class PreservedModel:
    """A model grown by builder settings, which can be cut back to any number of its steps.

    A step is a tree; a subclass may count splits or levels.
    """

    builder: ClassVar[str] = "hedgerow"
    # the name of the setting that gives the number of steps
    size: ClassVar[str] = "n_trees"
    # the fewest steps that the settings allow
    least: ClassVar[int] = 1
    # significant bits of a number that the builder sees
    bits = 53
    # whether a step is a whole tree
    ensemble = True
    # the result of `fit`
    trees: tuple[BuiltTree, ...] = ()

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    @property
    def classes(self) -> bool:
        """Return whether the model predicts classes."""
        return bool(self.settings.classes)

    @property
    def n_steps(self) -> int:
        """Return the number of steps of the fitted model."""
        return len(self.trees)

    @property
    def requested(self) -> int:
        """Return the number of steps that the settings name."""
        return int(getattr(self.settings, self.size))

    def size_in_words(self, step: int) -> str:
        """Return the size of the model after `step` steps, in words."""
        return f"{step} tree{'s' * (step != 1)}"

    def check_columns(self, names: Sequence[str]) -> None:
        """Accept any predictors; a model that was fitted elsewhere accepts only its own predictors."""

    def fit(self, columns: Sequence[Predictor], response: PredictedColumn) -> None:
        """Build the full model and store its trees."""
        self.trees = self.rebuild(columns, response, getattr(self.settings, self.size))

    def state(self, step: int) -> tuple[BuiltTree, ...]:
        """Return the trees after the first `step` steps of the fitted model."""
        return self.trees[:step]

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Build the model with `step` steps from other columns."""
        raise NotImplementedError

    def describe(self, step: int) -> dict[str, Any]:
        """Return the settings that a recipient needs to rebuild `step` steps, as plain JSON values."""
        sized = replace(self.settings, **{self.size: max(step, self.least)})
        return {"builder": self.builder, **to_json(sized)}


class SingleTree(PreservedModel):
    """A tree whose steps are its splits, in the order in which they were made."""

    ensemble = False
    # the field of a split node that is its step, from 0 on
    number: ClassVar[str] = "order"

    @property
    def n_steps(self) -> int:
        """Return the number of steps of the tree."""
        steps = [getattr(node, self.number) for node in self.trees[0].nodes if node.feature >= 0]
        return max(steps, default=-1) + 1

    def state(self, step: int) -> tuple[BuiltTree, ...]:
        """Return the tree with only the splits of its first `step` steps."""
        return (self.trees[0].keep(lambda node: getattr(node, self.number) < step),)

    def size_in_words(self, step: int) -> str:
        """Return the number of leaves after `step` splits, in words."""
        return f"{step + 1} leaves"


class OwnTree(SingleTree):
    """A tree of Hedgerow's own builder; one step is one split."""

    size, least = "n_splits", 0

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Grow a tree with `step` splits."""
        return (Builder(columns, response, replace(self.settings, n_splits=step)).grow(),)


class OwnForest(PreservedModel):
    """A random forest of Hedgerow's own builder; one step is one tree."""

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Grow the first `step` trees of the forest."""
        s, n, trees = self.settings, len(columns), []
        for tree in range(step):
            done(tree / step)
            weights = bootstrap(s.seed, tree, response.n) if s.bootstrap else None
            choose = None
            if s.max_features is not None and s.max_features < n:
                choose = partial(features_at, s.seed, tree, n_features=n, n_chosen=s.max_features)
            trees.append(Builder(columns, response, s.tree, weights, choose).grow())
        return tuple(trees)


class OwnBoosting(PreservedModel):
    """Gradient boosting by Hedgerow's own builder; one step is one stage.

    A stage's response depends on y and the earlier stages' record sets alone,
    so a table that keeps those record sets keeps every residual to the bit.
    """

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Grow the first `step` stages; fewer if the residuals allow no further split."""
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
            residual = PredictedColumn.from_numbers(y - probability)
            tree = Builder(columns, residual, self.settings.tree).grow()
            if tree.n_splits == 0:
                break
            if logistic:
                tree = _newton(tree, probability)
            leaf_value = np.array([node.value[0] for node in tree.nodes])
            score = score + self.settings.learning_rate * leaf_value[tree.leaf]
            trees.append(tree)
        return tuple(trees)


class RpartTree(SingleTree):
    """A tree by the split rules of R's rpart, so that an R user rebuilds the same tree.

    Own implementation of the rules, on exact sums: midpoints and `x < threshold`;
    two classes and anova order categories by mean whatever `minbucket`, more classes
    try all subsets; the first of equal variables and the lowest of equal thresholds
    win; every admissible node is split down to `maxdepth`. One step is one level.
    With `minbucket` above 1 the ordering may miss the best subset, so the guarantee
    rests on the verification. rpart adds floats in record order: where two splits
    are equal to the last bits it may choose the other one.
    """

    builder, size, number = "rpart", "maxdepth", "depth"
    requested = SingleTree.n_steps  # a tree that ends before maxdepth is complete

    def size_in_words(self, step: int) -> str:
        """Return the depth, in words."""
        return f"{step} level{'s' * (step != 1)} of splits"

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Grow a tree with at most `step` levels of splits."""
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
        # rpart has no limit of splits: depth and sizes end its growth.
        settings = TreeSettings(
            criterion, n_splits=max(response.n, 1), min_leaf=s.minbucket, max_depth=step
        )
        grower = Builder(columns, response, settings, min_split=s.minsplit, ordered_anyway=True)
        return (grower.grow(),)


def _start(y: NDArray[np.float64], logistic: bool) -> float:
    """Return the constant score that boosting starts from: the mean response, or its log odds."""
    mean = fsum(y) / len(y)
    return log(mean / (1 - mean)) if logistic else mean


def _newton(tree: BuiltTree, probability: NDArray[np.float64]) -> BuiltTree:
    """Return the tree with each leaf value replaced by one Newton step of the logistic loss, summed exactly."""
    curvature = probability * (1 - probability)
    nodes = list(tree.nodes)
    for i, node in enumerate(nodes):
        if node.feature < 0:
            rows = tree.leaf == i
            below = fsum(curvature[rows])
            # Where every probability is 0 or 1 there is no curvature to step by.
            step = node.value[0] * node.n / below if below > 1e-12 else 0.0
            nodes[i] = replace(node, value=(step,))
    return BuiltTree(tuple(nodes), tree.leaf, tree.closed_left)


_MODELS: dict[type[Any], type[PreservedModel]] = {
    TreeSettings: OwnTree,
    ForestSettings: OwnForest,
    BoostingSettings: OwnBoosting,
    RpartSettings: RpartTree,
}


def own_target(settings: Any) -> PreservedModel:
    """Return the unfitted model that builder settings describe."""
    return _MODELS[type(settings)](settings)


_KINDS = {
    "DecisionTreeClassifier": "decision_tree_classifier",
    "DecisionTreeRegressor": "decision_tree_regressor",
}
# the scikit-learn class behind each kind of a model file
SKLEARN_CLASSES = {kind: name for name, kind in _KINDS.items()}
_CRITERIA = ("gini", "entropy", "log_loss", "squared_error", "friedman_mse")


def is_estimator(tree: Any) -> bool:
    """Return whether an object looks like an estimator and not like builder settings."""
    return hasattr(tree, "get_params") and hasattr(tree, "fit")


def check_estimator(estimator: Any) -> None:
    """Raise an error with the reason if the estimator is not a fitted tree or is not covered by the guarantee."""
    name = type(estimator).__name__
    if name not in _KINDS:
        raise UnsupportedError(
            f"{name} is not a supported tree",
            hint="give a fitted DecisionTreeClassifier or DecisionTreeRegressor; for forests and "
            "boosting use ForestSettings or BoostingSettings, whose draws do not depend on "
            "which columns are constant",
        )
    if not hasattr(estimator, "tree_"):
        raise ParameterError(f"the {name} is not fitted", hint="call its fit(X, y) first")
    p = estimator.get_params()
    if p["ccp_alpha"] > 0:
        raise UnsupportedError(
            "cost-complexity pruning (ccp_alpha > 0) is outside the guarantee: it compares "
            "subtrees that the sanitized table no longer grows",
            hint="limit max_leaf_nodes instead",
        )
    if p["splitter"] != "best":
        raise UnsupportedError(
            "splitter='random' is outside the guarantee: its thresholds are drawn "
            "from the range of the values, which sanitizing changes"
        )
    if isinstance(p["random_state"], bool) or not isinstance(p["random_state"], (int, np.integer)):
        what = "max_features" if p["max_features"] is not None else "tie-breaking"
        raise UnsupportedError(
            f"random {what} without a whole-number random_state is outside the guarantee: the same "
            "table gives different trees",
            hint="fit the tree with random_state=0, say",
        )
    if p["criterion"] not in _CRITERIA:
        raise UnsupportedError(
            f"criterion {p['criterion']!r} is outside the guarantee",
            hint="supported: " + ", ".join(_CRITERIA),
        )
    if p.get("class_weight") is not None:
        raise UnsupportedError(
            "class_weight is outside the guarantee: weights that are not whole "
            "numbers are summed in record order"
        )
    if p.get("monotonic_cst") is not None:
        raise UnsupportedError("monotonic_cst is not supported")
    if estimator.n_outputs_ != 1:
        raise UnsupportedError("trees with several responses are not supported")


def check_response(y: NDArray[np.float64]) -> None:
    """Raise UnsupportedError if sums of a regression response depend on the order of the records."""
    # Whole multiples of 2**-20 with squares that add up below 2**53 are exact in any order.
    reach = float(np.abs(y).max(initial=0.0))
    whole = np.ldexp(y, 20)
    places = 0 if bool((y == np.rint(y)).all()) else 20
    fits = reach * reach * len(y) * 4.0**places < 2.0**53
    if not bool((whole == np.rint(whole)).all()) or not fits:
        raise UnsupportedError(
            "a scikit-learn regression tree needs a response of whole numbers: it adds floats in "
            "record order, so other numbers give predictions that differ in the last bit",
            hint="multiply the response by a power of ten and round it, or use "
            'TreeSettings("variance")',
        )


class SklearnTree(SingleTree):
    """The user's own fitted decision tree; each step adds one leaf, in best-first order.

    scikit-learn casts predictors to float32, cuts at (v1 + v2) / 2, sends x <= threshold
    left and takes neighbours within 1e-7 as one value. The released values are exact in
    float32 and stay in the hulls of their blocks, so neighbours stay as far apart as they were.
    """

    bits = 24
    requested = SingleTree.n_steps

    def __init__(self, estimator: Any) -> None:
        check_estimator(estimator)
        self.estimator = estimator

    @property
    def classes(self) -> bool:
        """Return whether the estimator predicts classes."""
        return hasattr(self.estimator, "classes_")

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise SchemaError if the predictors are not the columns that the estimator was fitted on."""
        estimator = self.estimator
        if estimator.n_features_in_ != len(names):
            raise SchemaError(
                f"the estimator was fitted on {estimator.n_features_in_} columns, and there are "
                f"{len(names)} predictors",
                hint="give the X that it was fitted on",
            )
        fitted = [str(n) for n in getattr(estimator, "feature_names_in_", names)]
        if fitted != list(names):
            missing = [n for n in fitted if n not in names]
            new = [n for n in names if n not in fitted]
            what = (
                f"it saw {', '.join(map(repr, missing[:5]))}, now {', '.join(map(repr, new[:5]))}"
                if missing
                else "the same columns in another order"
            )
            raise SchemaError(
                f"the estimator was fitted on other columns: {what}",
                hint="give the X that it was fitted on",
            )

    def fit(self, columns: Sequence[Predictor], response: PredictedColumn) -> None:
        """Read the fitted tree; raise ParameterError if it was not fitted on this table."""
        if not response.classes:
            check_response(response.y)
        tree = read_tree(self.estimator, columns)
        self.trees = (tree,)
        # A tree of other rows, or of weighted ones, could never be rebuilt from the release.
        if _splits(self._refit(columns, response, tree.n_splits)) != _splits(tree):
            raise ParameterError(
                "fitting the estimator's parameters on this X and y gives another tree",
                hint="give the records, columns and response that the estimator was fitted on, "
                "without sample_weight",
            )

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Fit the same parameters again, limited to `step` splits unless that is the full tree."""
        return (self._refit(columns, response, step),)

    def _refit(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> BuiltTree:
        from sklearn.base import clone

        return _fit_and_read(clone(self.estimator).set_params(**self._size(step)), columns, response)

    def _size(self, step: int) -> dict[str, int]:
        """Return the parameter that limits the tree to `step` splits; empty for the full tree."""
        return {} if step >= self.n_steps else {"max_leaf_nodes": step + 1}

    def describe(self, step: int) -> dict[str, Any]:
        """Return the builder, and the estimator's type, version and parameters."""
        import sklearn

        return {
            "builder": "scikit-learn",
            "kind": _KINDS[type(self.estimator).__name__],
            "version": sklearn.__version__,
            "parameters": plain(self.estimator.get_params()) | self._size(step),
        }


def _splits(tree: BuiltTree) -> list[Any]:
    return [(leaf_of(n), n.feature, n.threshold) for n in tree.nodes]


def _fit_and_read(
    estimator: Any, columns: Sequence[Predictor], response: PredictedColumn
) -> BuiltTree:
    x = np.column_stack([c.values.astype(np.float32)[c.codes] for c in columns])
    fitted = estimator.fit(x, response.codes if response.classes else response.y)
    return read_tree(fitted, columns)


def rebuild_from(
    data: Mapping[str, Any], columns: Sequence[Predictor], response: PredictedColumn
) -> BuiltTree:
    """Fit the estimator that a model file describes on a released table; raise KeyError if its type is unknown."""
    from sklearn import tree

    estimator = getattr(tree, SKLEARN_CLASSES[data["kind"]])(**data["parameters"])
    return _fit_and_read(estimator, columns, response)


def read_tree(estimator: Any, columns: Sequence[Predictor]) -> BuiltTree:
    """Return a fitted scikit-learn tree as a `BuiltTree`, from its public arrays, with splits numbered best first."""
    t = estimator.tree_
    loss = t.weighted_n_node_samples * t.impurity
    paths = [""] * t.node_count
    for i in np.flatnonzero(t.children_left >= 0):  # parents stand before their children
        paths[t.children_left[i]], paths[t.children_right[i]] = paths[i] + "L", paths[i] + "R"
    number = {path: i for i, path in enumerate(paths)}

    def leaf(path: str, rows: NDArray[np.int32]) -> Node:
        i = number[path]
        value = tuple(map(float, t.value[i].ravel()))
        return Node(path, len(path), int(t.n_node_samples[i]), value)

    def best_split(node: Node, rows: NDArray[np.int32]) -> Split:
        i = number[node.path]
        a, b = t.children_left[i], t.children_right[i]
        if a < 0:
            return 0.0, {}
        feature, threshold = int(t.feature[i]), float(t.threshold[i])
        column = columns[feature]
        codes = column.codes[rows]
        goes_left = codes < np.searchsorted(column.values, threshold, side="right")
        if goes_left.all() or not goes_left.any():
            raise ParameterError(
                f"a split on column {column.name!r} leaves one side empty: the "
                "estimator was fitted on another table"
            )
        lo, hi = int(codes[goes_left].max()), int(codes[~goes_left].min())
        fields = {"feature": feature, "threshold": threshold, "lo": lo, "hi": hi}
        return float(loss[i] - loss[a] - loss[b]), fields

    # scikit-learn numbers nodes by depth or by gain, as it was set; here it is always by gain.
    n = len(columns[0].codes)
    return best_first(columns, n, t.node_count, leaf, best_split, closed_left=True)
