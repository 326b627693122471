"""What is preserved: single trees that grow split by split, ensembles that grow tree by tree."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError, SchemaError, UnsupportedError
from ...notation import plain
from ...progress import done
from .builder import Builder, BuiltTree, Node, bootstrap, features_at, grow, leaf_of
from .encoding import PredictedColumn, Predictor
from .tree_settings import BoostingSettings, ForestSettings, RpartSettings, TreeSettings, to_json


class PreservedModel:
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


class SingleTree(PreservedModel):
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


class Built(PreservedModel):
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


def own_target(settings: Any) -> PreservedModel:
    """The target of builder settings."""
    return _BUILT[type(settings)](settings)


_KINDS = {
    "DecisionTreeClassifier": "decision_tree_classifier",
    "DecisionTreeRegressor": "decision_tree_regressor",
}
_CRITERIA = ("gini", "entropy", "log_loss", "squared_error", "friedman_mse")


def is_estimator(tree: Any) -> bool:
    """Whether an object looks like an estimator (rather than builder settings)."""
    return hasattr(tree, "get_params") and hasattr(tree, "fit")


def check_estimator(estimator: Any) -> None:
    """Refuse by name what is not a fitted tree, or lies outside the guarantee."""
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
    """A regression tree's response must add up exactly, else predictions differ in the last bit."""
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
    """A fitted decision tree; one step is one leaf more, in best-first order."""

    bits = 24

    def __init__(self, estimator: Any) -> None:
        check_estimator(estimator)
        self.estimator = estimator

    @property
    def classes(self) -> bool:
        """Whether it predicts classes."""
        return hasattr(self.estimator, "classes_")

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse predictors other than those it was fitted on."""
        estimator = self.estimator
        if estimator.n_features_in_ != len(names):
            raise SchemaError(
                f"the estimator was fitted on {estimator.n_features_in_} columns, and there are "
                f"{len(names)} predictors",
                hint="give the X that it was fitted on",
            )
        seen = [str(n) for n in getattr(estimator, "feature_names_in_", names)]
        if seen != list(names):
            gone = [n for n in seen if n not in names]
            new = [n for n in names if n not in seen]
            what = (
                f"it saw {', '.join(map(repr, gone[:5]))}, now {', '.join(map(repr, new[:5]))}"
                if gone
                else "the same columns in another order"
            )
            raise SchemaError(
                f"the estimator was fitted on other columns: {what}",
                hint="give the X that it was fitted on",
            )

    def fit(self, columns: Sequence[Predictor], response: PredictedColumn) -> None:
        """Read the fitted tree, and make sure that it was fitted on this table."""
        if not response.classes:
            check_response(response.y)
        own = read_tree(self.estimator, columns)
        self.trees = (own,)
        again = read_tree(self._fitted(columns, response, None), columns)
        read, known = (
            [(leaf_of(n), n.feature, n.threshold) for n in tree.nodes] for tree in (again, own)
        )
        if read != known:
            raise ParameterError(
                "fitting the estimator's parameters on this X and y gives another tree",
                hint="give the records, columns and response that the estimator was fitted on, "
                "without sample_weight",
            )

    def _fitted(
        self, columns: Sequence[Predictor], response: PredictedColumn, leaves: int | None
    ) -> Any:
        from sklearn.base import clone

        fresh = clone(self.estimator)
        if leaves is not None:
            fresh.set_params(max_leaf_nodes=leaves)
        return _fitted(fresh, columns, response)

    def rebuild(
        self, columns: Sequence[Predictor], response: PredictedColumn, step: int
    ) -> tuple[BuiltTree, ...]:
        """Fit the same parameters, limited to that many leaves (or as given, for the full tree)."""
        fitted = self._fitted(columns, response, self._leaves(step))
        return (read_tree(fitted, columns),)

    def _leaves(self, step: int) -> int | None:
        return None if step >= self.n_steps else step + 1

    def describe(self, step: int) -> dict[str, Any]:
        """Builder, its version and parameters."""
        import sklearn

        parameters = plain(self.estimator.get_params())
        if self._leaves(step) is not None:
            parameters["max_leaf_nodes"] = self._leaves(step)
        return {
            "builder": "scikit-learn",
            "kind": _KINDS[type(self.estimator).__name__],
            "version": sklearn.__version__,
            "parameters": parameters,
        }


def _fitted(estimator: Any, columns: Sequence[Predictor], response: PredictedColumn) -> Any:
    x = np.column_stack([c.values.astype(np.float32)[c.codes] for c in columns])
    return estimator.fit(x, response.codes if response.classes else response.y)


def rebuild_from(
    data: dict[str, Any], columns: Sequence[Predictor], response: PredictedColumn
) -> BuiltTree:
    """Fit the estimator that a model file describes on a released table; KeyError when unknown."""
    from sklearn import tree

    cls = {kind: name for name, kind in _KINDS.items()}[data["kind"]]
    estimator = getattr(tree, cls)(**data["parameters"])
    return read_tree(_fitted(estimator, columns, response), columns)


def read_tree(estimator: Any, columns: Sequence[Predictor]) -> BuiltTree:
    """The public arrays of a fitted tree as a `BuiltTree`, its splits numbered best first."""
    t = estimator.tree_
    n = len(columns[0].codes)
    feature, threshold = t.feature, t.threshold
    weight, impurity, value = t.weighted_n_node_samples, t.impurity, t.value
    rows: dict[int, NDArray[np.int64]] = {0: np.arange(n)}

    def gain(i: int) -> float:
        a, b = t.children_left[i], t.children_right[i]
        return float(weight[i] * impurity[i] - weight[a] * impurity[a] - weight[b] * impurity[b])

    def plain(i: int, path: str) -> Node:
        return Node(path, len(path), int(t.n_node_samples[i]), tuple(map(float, value[i].ravel())))

    nodes, source = [plain(0, "")], [0]
    leaf = np.zeros(n, np.int32)
    queue = [(-gain(0), 0)] if t.children_left[0] >= 0 else []
    order = 0
    while queue:
        _, at = heapq.heappop(queue)
        i, node = source[at], nodes[at]
        column = columns[int(feature[i])]
        here = rows.pop(at)
        codes = column.codes[here]
        cut = int(np.searchsorted(column.values, threshold[i], side="right"))
        goes_left = codes < cut
        if goes_left.all() or not goes_left.any():
            raise ParameterError(
                f"a split on column {column.name!r} leaves one side empty: the "
                "estimator was fitted on another table"
            )
        children = (len(nodes), len(nodes) + 1)
        for child, old, side, part in zip(
            children,
            (t.children_left[i], t.children_right[i]),
            "LR",
            (here[goes_left], here[~goes_left]),
            strict=True,
        ):
            nodes.append(plain(int(old), node.path + side))
            source.append(int(old))
            rows[child] = part
            if t.children_left[old] >= 0:
                heapq.heappush(queue, (-gain(int(old)), child))
        nodes[at] = Node(
            node.path,
            node.depth,
            node.n,
            node.value,
            int(feature[i]),
            float(threshold[i]),
            int(codes[goes_left].max()),
            int(codes[~goes_left].min()),
            left=children[0],
            right=children[1],
            order=order,
        )
        order += 1
    for at, part in rows.items():
        leaf[part] = at
    return BuiltTree(tuple(nodes), leaf, closed_left=True)
