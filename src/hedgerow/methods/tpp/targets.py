"""The models to preserve: trees and ensembles of Hedgerow's own builder, and fitted scikit-learn trees.

Builder settings are plain frozen records, from which a recipient can rebuild a tree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError, SchemaError, UnsupportedError, reprs
from ...notation import plain
from ...progress import done
from ...validation import check_share, check_whole
from .builder import (
    Builder,
    BuiltTree,
    Columns,
    ModelSettings,
    Node,
    Split,
    Trees,
    TreeSettings,
    best_first,
    bootstrap,
    features_at,
    leaf_of,
)
from .encoding import PredictedColumn

# the most trees of one model; more are a typing error, and would take days to grow
MOST_TREES = 10_000


@dataclass(frozen=True)
class ForestSettings(ModelSettings):
    """A random forest of Hedgerow's own builder, with every draw a published function of the seed.

    Parameters
    ----------
    n_trees : int
        Number of trees.
    seed : int
        Seed of the bootstrap rows (per tree) and feature subsets (per tree and path).
    max_features : int, optional
        Predictors tried at each node; all when None.
    bootstrap : bool
        Whether each tree sees rows drawn with replacement.
    tree : TreeSettings
        The trees.
    """

    kind = "forest"

    n_trees: int = 10
    seed: int = 0
    max_features: int | None = None
    bootstrap: bool = True
    tree: TreeSettings = dataclasses.field(default_factory=TreeSettings)

    def __post_init__(self) -> None:
        check_whole("n_trees", self.n_trees, 1, MOST_TREES)
        # True is an int in Python, and no seed that somebody meant.
        if self.seed is None or isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise UnsupportedError("a forest without a seed is outside the guarantee", hint="give a whole number")
        check_whole("seed", self.seed, 0)
        if self.max_features is not None:
            check_whole("max_features", self.max_features, 1)

    @property
    def classes(self) -> bool:
        """Return whether the forest predicts classes."""
        return self.tree.classes

    def for_response(self, classes: bool) -> Self:
        """Return the forest with the criterion of its trees filled in, if it was left open."""
        return replace(self, tree=self.tree.for_response(classes))

    def grow(self, columns: Columns, response: PredictedColumn, step: int) -> Trees:
        """Grow the first `step` trees of the forest."""
        n, trees = len(columns), []
        for tree in range(step):
            done(tree / step)
            weights = bootstrap(self.seed, tree, response.n) if self.bootstrap else None
            choose = None
            if self.max_features is not None and self.max_features < n:
                choose = partial(features_at, self.seed, tree, n_features=n, n_chosen=self.max_features)
            trees.append(Builder(columns, response, self.tree, weights, choose).grow())
        return tuple(trees)


@dataclass(frozen=True)
class BoostingSettings(ModelSettings):
    """Gradient boosting of regression trees for squared errors, by Hedgerow's own builder.

    A stage's response depends on y and the earlier stages' record sets alone,
    so a table that keeps those record sets keeps every residual to the bit.

    Parameters
    ----------
    n_trees : int
        Number of stages.
    learning_rate : float
        Shrinkage, in (0, 1].
    tree : TreeSettings
        The stages' trees; their criterion is "variance".
    """

    kind = "boosting"

    n_trees: int = 10
    learning_rate: float = 0.1
    tree: TreeSettings = dataclasses.field(default_factory=lambda: TreeSettings("variance", n_splits=3))

    def __post_init__(self) -> None:
        check_whole("n_trees", self.n_trees, 1, MOST_TREES)
        # A stage predicts residuals, which are numbers whatever the response is.
        object.__setattr__(self, "tree", self.tree.for_response(False))
        check_share("learning_rate", self.learning_rate)
        if self.tree.criterion != "variance":
            raise ParameterError("the trees of gradient boosting need criterion='variance'")

    def grow(self, columns: Columns, response: PredictedColumn, step: int) -> Trees:
        """Grow the first `step` stages; fewer if the residuals allow no further split."""
        y = response.y
        score = np.full(len(y), fsum(y) / len(y))
        trees: list[BuiltTree] = []
        for stage in range(step):
            done(stage / step)
            tree = Builder(columns, PredictedColumn.from_numbers(y - score), self.tree).grow()
            if tree.n_splits == 0:
                break
            score = score + self.learning_rate * np.array([node.value[0] for node in tree.nodes])[tree.leaf]
            trees.append(tree)
        return tuple(trees)


Settings = TreeSettings | ForestSettings | BoostingSettings
_SETTINGS: dict[str, type[Any]] = {c.kind: c for c in (TreeSettings, ForestSettings, BoostingSettings)}


def from_json(data: Mapping[str, Any]) -> Settings:
    """Return the settings that plain JSON data describe; raise KeyError or TypeError if they are malformed."""
    fields = dict(data)
    cls = _SETTINGS[fields.pop("kind")]
    if "tree" in fields:
        fields["tree"] = TreeSettings(**fields["tree"])
    return cls(**fields)


def parse(text: str) -> list[Settings]:
    """Read settings from text: models separated by ``;``, each a kind followed by ``name=value`` words.

    A forest or boosting model accepts the settings of its trees in addition to its own.

    Examples
    --------
    >>> [type(s).__name__ for s in parse("tree criterion=gini n_splits=3; forest n_trees=5 seed=1")]
    ['TreeSettings', 'ForestSettings']
    """
    if not (models := [_parse_one(part.split()) for part in text.split(";") if part.strip()]):
        raise ParameterError("trees is empty", hint='for example "tree criterion=entropy n_splits=4"')
    return models


def _parse_one(words: list[str]) -> Settings:
    kind, *pairs = words
    if kind not in _SETTINGS:
        raise ParameterError(f"unknown kind of model {kind!r}", hint=f"one of {', '.join(_SETTINGS)}")
    types = {f.name: str(f.type) for f in dataclasses.fields(_SETTINGS[kind])}
    data: dict[str, object] = {"kind": kind}
    tree: dict[str, object] = {}
    below = dataclasses.fields(TreeSettings) if types.pop("tree", None) else ()
    readable = {f.name: str(f.type) for f in below} | types
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in readable:
            names = ", ".join(sorted(readable))
            raise ParameterError(f"cannot read {pair!r} of model {kind}", hint=f"write name=value; names are {names}")
        (data if name in types else tree)[name] = _value(name, value, readable[name])
    if tree:
        # What is not named stays as that model's own trees have it by default.
        data["tree"] = dataclasses.asdict(replace(_SETTINGS[kind]().tree, **tree))
    return from_json(data)


# for each type of a field, the function that reads its value and a description for errors
_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
    "str": (str, "text"),
}


def _value(name: str, text: str, kind: str) -> Any:
    # Annotations are text: `int | None` begins with the kind.
    read, words = _READERS[kind.partition(" ")[0]]
    try:
        return read(text)
    except (ValueError, KeyError):
        raise ParameterError(f"{name} must be {words}, not {text!r}") from None


class PreservedModel:
    """A model grown by builder settings, which can be cut back to any number of its steps.

    A step is one tree of an ensemble, or one split of a single tree, in the order in which they were made.
    """

    # significant bits of a number that the builder sees
    bits = 53
    # the result of `fit`
    trees: Trees = ()

    def __init__(self, settings: ModelSettings) -> None:
        self.settings, self.ensemble, self.classes = settings, settings.ensemble, settings.classes

    @property
    def n_steps(self) -> int:
        """Return the number of steps of the fitted model."""
        return len(self.trees) if self.ensemble else self.trees[0].n_splits

    @property
    def requested(self) -> int:
        """Return the number of steps that the settings name."""
        return int(getattr(self.settings, self.settings.steps))

    def size_in_words(self, step: int) -> str:
        """Return the size of the model after `step` steps, in words."""
        return f"{step} tree{'s' * (step != 1)}" if self.ensemble else f"{step + 1} leaves"

    def check_columns(self, names: Sequence[str]) -> None:
        """Accept any predictors; a model that was fitted elsewhere accepts only its own predictors."""

    def fit(self, columns: Columns, response: PredictedColumn) -> None:
        """Build the full model and store its trees."""
        self.trees = self.rebuild(columns, response, self.requested)

    def state(self, step: int) -> Trees:
        """Return the trees after the first `step` steps of the fitted model."""
        return self.trees[:step] if self.ensemble else (self.trees[0].keep(lambda node: node.order < step),)

    def rebuild(self, columns: Columns, response: PredictedColumn, step: int) -> Trees:
        """Build the model with `step` steps from other columns."""
        return self.settings.grow(columns, response, step)

    def describe(self, step: int) -> dict[str, object]:
        """Return the settings that a recipient needs to rebuild `step` steps, as plain JSON values."""
        settings: Any = self.settings
        # An ensemble has at least one tree, even where its first one has no split.
        sized = replace(settings, **{settings.steps: max(step, int(self.ensemble))})
        return {"builder": "hedgerow", "kind": settings.kind, **dataclasses.asdict(sized)}


_KINDS = {"DecisionTreeClassifier": "decision_tree_classifier", "DecisionTreeRegressor": "decision_tree_regressor"}
# the scikit-learn class behind each kind of a model file
SKLEARN_CLASSES = {kind: name for name, kind in _KINDS.items()}
_CRITERIA = ("gini", "entropy", "log_loss", "squared_error", "friedman_mse")


def check_estimator(estimator: Any) -> None:
    """Raise an error with the reason if the estimator is not a fitted tree or is not covered by the guarantee."""
    name = type(estimator).__name__
    if name not in _KINDS:
        raise UnsupportedError(
            f"{name} is not a supported tree",
            hint="give a fitted DecisionTreeClassifier or DecisionTreeRegressor, or ForestSettings or BoostingSettings",
        )
    if not hasattr(estimator, "tree_"):
        raise ParameterError(f"the {name} is not fitted", hint="call its fit(X, y) first")
    p = estimator.get_params()
    if p["ccp_alpha"] > 0:
        raise UnsupportedError(
            "cost-complexity pruning (ccp_alpha > 0) is outside the guarantee: it compares subtrees of the original",
            hint="limit max_leaf_nodes instead",
        )
    if p["splitter"] != "best":
        raise UnsupportedError(
            "splitter='random' is outside the guarantee: its thresholds are drawn from the range of the values, "
            "which sanitizing changes"
        )
    if isinstance(p["random_state"], bool) or not isinstance(p["random_state"], (int, np.integer)):
        what = "max_features" if p["max_features"] is not None else "tie-breaking"
        raise UnsupportedError(
            f"random {what} without a whole-number random_state is outside the guarantee: it gives different trees",
            hint="fit the tree with random_state=0, say",
        )
    if p["criterion"] not in _CRITERIA:
        raise UnsupportedError(
            f"criterion {p['criterion']!r} is outside the guarantee", hint="supported: " + ", ".join(_CRITERIA)
        )
    if p.get("class_weight") is not None:
        raise UnsupportedError("class_weight is outside the guarantee: weights are summed in record order")
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
            "a scikit-learn regression tree needs whole numbers as response: it adds floats in record order",
            hint='multiply the response by a power of ten and round it, or use TreeSettings("variance")',
        )


class SklearnTree(PreservedModel):
    """The user's own fitted decision tree; each step adds one leaf, in best-first order.

    scikit-learn casts predictors to float32, cuts at (v1 + v2) / 2, sends x <= threshold
    left and takes neighbours within 1e-7 as one value. The released values are exact in
    float32 and stay in the hulls of their blocks, so neighbours stay as far apart as they were.
    """

    bits, ensemble = 24, False
    requested = PreservedModel.n_steps

    def __init__(self, estimator: Any) -> None:
        check_estimator(estimator)
        self.estimator, self.classes = estimator, hasattr(estimator, "classes_")

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise SchemaError if the predictors are not the columns that the estimator was fitted on."""
        estimator = self.estimator
        if estimator.n_features_in_ != len(names):
            raise SchemaError(
                f"the estimator was fitted on {estimator.n_features_in_} columns, not on {len(names)} predictors",
                hint="give the X it was fitted on",
            )
        if (fitted := [str(n) for n in getattr(estimator, "feature_names_in_", names)]) != list(names):
            missing = [n for n in fitted if n not in names]
            new = [n for n in names if n not in fitted]
            what = (
                f"it saw {reprs(missing[:5])}, now {reprs(new[:5])}" if missing else "the same columns in another order"
            )
            raise SchemaError(f"the estimator was fitted on other columns: {what}", hint="give the X it was fitted on")

    def fit(self, columns: Columns, response: PredictedColumn) -> None:
        """Read the fitted tree; raise ParameterError if it was not fitted on this table."""
        if not response.classes:
            check_response(response.y)
        tree = read_tree(self.estimator, columns)
        self.trees = (tree,)
        # A tree of other rows, or of weighted ones, could never be rebuilt from the release.
        if _splits(self.rebuild(columns, response, tree.n_splits)[0]) != _splits(tree):
            raise ParameterError(
                "fitting the estimator's parameters on this X and y gives another tree",
                hint="give the records, columns and response that the estimator was fitted on, without sample_weight",
            )

    def rebuild(self, columns: Columns, response: PredictedColumn, step: int) -> Trees:
        """Fit the same parameters again, limited to `step` splits unless that is the full tree."""
        from sklearn.base import clone

        return (_fit_and_read(clone(self.estimator).set_params(**self._size(step)), columns, response),)

    def _size(self, step: int) -> dict[str, int]:
        """Return the parameter that limits the tree to `step` splits; empty for the full tree."""
        return {} if step >= self.n_steps else {"max_leaf_nodes": step + 1}

    def describe(self, step: int) -> dict[str, object]:
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


def _fit_and_read(estimator: Any, columns: Columns, response: PredictedColumn) -> BuiltTree:
    x = np.column_stack([c.values.astype(np.float32)[c.codes] for c in columns])
    return read_tree(estimator.fit(x, response.codes if response.classes else response.y), columns)


def rebuild_from(data: Mapping[str, Any], columns: Columns, response: PredictedColumn) -> BuiltTree:
    """Fit the estimator that a model file describes on a released table; raise KeyError if its type is unknown."""
    from sklearn import tree

    return _fit_and_read(getattr(tree, SKLEARN_CLASSES[data["kind"]])(**data["parameters"]), columns, response)


def read_tree(estimator: Any, columns: Columns) -> BuiltTree:
    """Return a fitted scikit-learn tree as a `BuiltTree`, from its public arrays, with splits numbered best first."""
    t = estimator.tree_
    loss = t.weighted_n_node_samples * t.impurity
    paths = [""] * t.node_count
    for i in np.flatnonzero(t.children_left >= 0):  # parents stand before their children
        paths[t.children_left[i]], paths[t.children_right[i]] = paths[i] + "L", paths[i] + "R"
    number = {path: i for i, path in enumerate(paths)}

    def leaf(path: str, rows: NDArray[np.int32]) -> Node:
        i = number[path]
        return Node(path, len(path), int(t.n_node_samples[i]), tuple(map(float, t.value[i].ravel())))

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
            raise ParameterError(f"a split on column {column.name!r} has an empty side: it was fitted on another table")
        lo, hi = int(codes[goes_left].max()), int(codes[~goes_left].min())
        fields = {"feature": feature, "threshold": threshold, "lo": lo, "hi": hi}
        return float(loss[i] - loss[a] - loss[b]), fields

    # scikit-learn numbers nodes by depth or by gain, as it was set; here it is always by gain.
    return best_first(columns, len(columns[0].codes), t.node_count, leaf, best_split, closed_left=True)
