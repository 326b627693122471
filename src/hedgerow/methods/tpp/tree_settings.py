"""Builder settings as plain frozen records, from which a recipient can rebuild a tree."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

from ...errors import ParameterError, UnsupportedError
from ...validation import check_whole

# the most trees of one model; more are a typing error, and would take days to grow
MOST_TREES = 10_000
CLASS_CRITERIA = ("entropy", "gini", "gain_ratio")


class ModelSettings:
    """The base class of all builder settings; one field may be left open, to be chosen from the response."""

    kind: ClassVar[str]
    # the name of the field that may be left open, its value for a response of classes, and its value for one of numbers
    by_response: ClassVar[tuple[str, str, str]]

    @property
    def classes(self) -> bool:
        """Return whether the settings are for a response of classes."""
        field, _, numbers = self.by_response
        return bool(getattr(self, field) != numbers)

    def for_response(self, classes: bool) -> Self:
        """Return the settings with the field that depends on the response filled in, if it was left open."""
        field, of_classes, of_numbers = self.by_response
        if getattr(self, field):
            return self
        return replace(cast(Any, self), **{field: of_classes if classes else of_numbers})


@dataclass(frozen=True)
class TreeSettings(ModelSettings):
    """One tree of Hedgerow's own exact builder.

    Parameters
    ----------
    criterion : {"entropy", "gini", "gain_ratio", "variance"}, optional
        "variance" (also "deviance") grows a regression tree, the others a
        classification tree. By default "variance" if the response is a number, "entropy"
        if it is a class.
    n_splits : int
        Most splits of the tree, at least 0. The tree grows best first: the
        split with the largest gain comes next.
    min_leaf : int
        Fewest records in a leaf, at least 1.
    max_depth : int, optional
        Deepest level of a leaf; the root is level 0.
    min_gain : float
        Least decrease of impurity, weighted by the node's share of all records
        (bits for entropy; y units squared for variance), at least 0.
    pruning, size : str
        Only "none" and "fixed". They exist so that other values, which the guarantee does not cover,
        are refused with a clear message.

    Examples
    --------
    >>> TreeSettings(criterion="gini", n_splits=3).criterion
    'gini'
    """

    kind = "tree"
    by_response = ("criterion", "entropy", "variance")

    criterion: str | None = None
    n_splits: int = 7
    min_leaf: int = 1
    max_depth: int | None = None
    min_gain: float = 0.0
    pruning: str = "none"
    size: str = "fixed"

    def __post_init__(self) -> None:
        if self.criterion == "deviance":  # R's word for it
            object.__setattr__(self, "criterion", "variance")
        if self.criterion in ("gain_ratio_average", "c4.5", "j48"):
            raise UnsupportedError(
                "gain ratio with the average-gain filter is outside the guarantee: the filter's "
                "average runs over all candidate splits, and sanitizing removes candidates",
                hint='use criterion="gain_ratio", the plain ratio',
            )
        if self.criterion not in (None, *CLASS_CRITERIA, "variance"):
            raise ParameterError(
                f"unknown criterion {self.criterion!r}", hint="entropy, gini, gain_ratio, variance"
            )
        if self.pruning != "none":
            raise UnsupportedError(
                f"pruning {self.pruning!r} is outside the guarantee: cost-complexity pruning "
                "compares subtrees that the sanitized table no longer grows",
                hint="state the number of splits instead (n_splits)",
            )
        if self.size != "fixed":
            raise UnsupportedError(
                f"size {self.size!r} is outside the guarantee: cross-validation draws folds and "
                "grows other trees, which are not preserved",
                hint="choose n_splits beforehand and state it",
            )
        check_whole("n_splits", self.n_splits, 0)
        check_whole("min_leaf", self.min_leaf, 1)
        if self.max_depth is not None:
            check_whole("max_depth", self.max_depth, 1)
        if not 0 <= self.min_gain < float("inf"):
            raise ParameterError("min_gain must be a finite number of at least 0")


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
            raise UnsupportedError(
                "a forest without a seed is outside the guarantee: its rows and ties are random",
                hint="give a whole number as seed",
            )
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


@dataclass(frozen=True)
class BoostingSettings(ModelSettings):
    """Gradient boosting of regression trees by Hedgerow's own builder.

    Parameters
    ----------
    loss : {"squared", "logistic"}, optional
        "logistic" needs a response of two classes. By default "squared" if the response is
        a number, "logistic" if it is a class.
    n_trees : int
        Number of stages.
    learning_rate : float
        Shrinkage, in (0, 1].
    tree : TreeSettings
        The stages' trees; their criterion is "variance".
    """

    kind = "boosting"
    by_response = ("loss", "logistic", "squared")

    loss: str | None = None
    n_trees: int = 10
    learning_rate: float = 0.1
    tree: TreeSettings = dataclasses.field(
        default_factory=lambda: TreeSettings("variance", n_splits=3)
    )

    def __post_init__(self) -> None:
        check_whole("n_trees", self.n_trees, 1, MOST_TREES)
        # A stage predicts residuals, which are numbers whatever the response is.
        object.__setattr__(self, "tree", self.tree.for_response(False))
        if self.loss not in (None, "squared", "logistic"):
            raise ParameterError(f"unknown loss {self.loss!r}", hint="squared or logistic")
        if not 0 < self.learning_rate <= 1:
            raise ParameterError("learning_rate must lie in (0, 1]")
        if self.tree.criterion != "variance":
            raise ParameterError("the trees of gradient boosting need criterion='variance'")


@dataclass(frozen=True)
class RpartSettings(ModelSettings):
    """A tree with the split rules of R's rpart, grown without its complexity pruning.

    Covered: methods "class" (Gini or information, priors from the data, no
    losses) and "anova", `minsplit`, `minbucket`, `maxdepth`, no missing
    predictor values, `cp` below 0, `xval = 0`. A positive `cp` makes rpart cut
    branches back by cost complexity, which the guarantee does not cover.

    Parameters
    ----------
    method : {"class", "anova"}, optional
        Classification or regression; by default as the response is.
    parms : {"gini", "information"}
        Impurity of method "class".
    minsplit, minbucket, maxdepth : int
        As in ``rpart.control``.
    cp : float
        Must be negative.
    xval : int
        Must be 0: a size chosen by cross-validation is outside the guarantee.
    """

    kind = "rpart"
    by_response = ("method", "class", "anova")

    method: str | None = None
    parms: str = "gini"
    minsplit: int = 20
    minbucket: int = 7
    maxdepth: int = 5
    cp: float = -1.0
    xval: int = 0

    def __post_init__(self) -> None:
        if self.method not in (None, "class", "anova"):
            raise UnsupportedError(
                f"rpart's method {self.method!r} is not supported", hint='"class" or "anova"'
            )
        if self.parms not in ("gini", "information"):
            raise ParameterError("parms must be gini or information")
        if self.cp >= 0:
            raise UnsupportedError(
                "rpart with cp >= 0 prunes by cost complexity, which is outside the guarantee",
                hint="grow with rpart.control(cp = -1, xval = 0) and limit maxdepth or minbucket",
            )
        if self.xval != 0:
            raise UnsupportedError(
                "a size chosen by cross-validation is outside the guarantee", hint="use xval = 0"
            )
        check_whole("minsplit", self.minsplit, 1)
        check_whole("minbucket", self.minbucket, 1)
        check_whole("maxdepth", self.maxdepth, 1)


Settings = TreeSettings | ForestSettings | BoostingSettings | RpartSettings
_KINDS: dict[str, Any] = {
    c.kind: c for c in (TreeSettings, ForestSettings, BoostingSettings, RpartSettings)
}


def to_json(settings: Settings) -> dict[str, Any]:
    """Return settings as plain JSON data, including their kind."""
    return {"kind": settings.kind, **dataclasses.asdict(settings)}


def from_json(data: Mapping[str, Any]) -> Settings:
    """Return the settings that plain JSON data describe; raise KeyError or TypeError if they are malformed."""
    fields = dict(data)
    cls = _KINDS[fields.pop("kind")]
    if "tree" in fields:
        fields["tree"] = TreeSettings(**fields["tree"])
    settings: Settings = cls(**fields)
    return settings


def parse(text: str) -> list[Settings]:
    """Read settings from text: models separated by ``;``, each a kind followed by ``name=value`` words.

    A forest or boosting model accepts the settings of its trees in addition to its own.

    Examples
    --------
    >>> [type(s).__name__ for s in parse("tree criterion=gini n_splits=3; forest n_trees=5 seed=1")]
    ['TreeSettings', 'ForestSettings']
    """
    models = [_parse_one(part.split()) for part in text.split(";") if part.strip()]
    if not models:
        raise ParameterError(
            "trees is empty", hint='for example "tree criterion=entropy n_splits=4"'
        )
    return models


def _parse_one(words: list[str]) -> Settings:
    kind, *pairs = words
    if kind not in _KINDS:
        raise ParameterError(f"unknown kind of model {kind!r}", hint=f"one of {', '.join(_KINDS)}")
    types = {f.name: str(f.type) for f in dataclasses.fields(_KINDS[kind])}
    data: dict[str, Any] = {"kind": kind}
    tree: dict[str, Any] = {}
    below = dataclasses.fields(TreeSettings) if types.pop("tree", None) else ()
    readable = {f.name: str(f.type) for f in below} | types
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in readable:
            raise ParameterError(
                f"cannot read {pair!r} of the model {kind}",
                hint=f"write name=value; the names are {', '.join(sorted(readable))}",
            )
        (data if name in types else tree)[name] = _value(name, value, readable[name])
    if tree:
        # What is not named stays as that model's own trees have it by default.
        data["tree"] = dataclasses.asdict(replace(_KINDS[kind]().tree, **tree))
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
