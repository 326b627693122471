"""Builder settings as plain frozen records: what a recipient needs to rebuild a tree."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...errors import ParameterError, UnsupportedError
from ...validation import check_whole

MOST_TREES = 10_000
"""Trees of one model: more are a slip of the pen, and would grow for days."""
CLASS_CRITERIA = ("entropy", "gini", "gain_ratio")
_CRITERION = {True: "entropy", False: "variance"}
"""What a tree minimises by default: by whether the response is a class."""


@dataclass(frozen=True)
class TreeSettings:
    """One tree of Hedgerow's own exact builder.

    Parameters
    ----------
    criterion : {"entropy", "gini", "gain_ratio", "variance"}, optional
        "variance" (also "deviance") grows a regression tree, the others a
        classification tree. By default "variance" where the response is a number, "entropy"
        where it is a class.
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
        Only "none" and "fixed". They are here to refuse by name what the
        guarantee does not cover.

    Examples
    --------
    >>> TreeSettings(criterion="gini", n_splits=3).criterion
    'gini'
    """

    kind: ClassVar[str] = "tree"

    criterion: str | None = None
    n_splits: int = 7
    min_leaf: int = 1
    max_depth: int | None = None
    min_gain: float = 0.0
    pruning: str = "none"
    size: str = "fixed"

    def __post_init__(self) -> None:
        if self.criterion == "deviance":
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

    @property
    def classes(self) -> bool:
        """Whether the response is a class."""
        return self.criterion != "variance"

    def said(self, classes: bool) -> TreeSettings:
        """With what was left to the response: whether it is a class."""
        return self if self.criterion else replace(self, criterion=_CRITERION[classes])


@dataclass(frozen=True)
class ForestSettings:
    """A random forest of the own builder, every draw a published function of a seed.

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

    kind: ClassVar[str] = "forest"

    n_trees: int = 10
    seed: int = 0
    max_features: int | None = None
    bootstrap: bool = True
    tree: TreeSettings = dataclasses.field(default_factory=TreeSettings)

    def __post_init__(self) -> None:
        check_whole("n_trees", self.n_trees, 1, MOST_TREES)
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
        """Whether the response is a class."""
        return self.tree.classes

    def said(self, classes: bool) -> ForestSettings:
        """With what was left to the response: whether it is a class."""
        return replace(self, tree=self.tree.said(classes))


@dataclass(frozen=True)
class BoostingSettings:
    """Gradient boosting of variance trees of the own builder.

    Parameters
    ----------
    loss : {"squared", "logistic"}, optional
        "logistic" needs a response of two classes. By default "squared" where the response is
        a number, "logistic" where it is a class.
    n_trees : int
        Number of stages.
    learning_rate : float
        Shrinkage, in (0, 1].
    tree : TreeSettings
        The stages' trees; their criterion is "variance".
    """

    kind: ClassVar[str] = "boosting"

    loss: str | None = None
    n_trees: int = 10
    learning_rate: float = 0.1
    tree: TreeSettings = dataclasses.field(
        default_factory=lambda: TreeSettings("variance", n_splits=3)
    )

    def __post_init__(self) -> None:
        check_whole("n_trees", self.n_trees, 1, MOST_TREES)
        object.__setattr__(self, "tree", self.tree.said(False))
        if self.loss not in (None, "squared", "logistic"):
            raise ParameterError(f"unknown loss {self.loss!r}", hint="squared or logistic")
        if not 0 < self.learning_rate <= 1:
            raise ParameterError("learning_rate must lie in (0, 1]")
        if self.tree.criterion != "variance":
            raise ParameterError("the trees of gradient boosting need criterion='variance'")

    @property
    def classes(self) -> bool:
        """Whether the response is a class."""
        return self.loss == "logistic"

    def said(self, classes: bool) -> BoostingSettings:
        """With what was left to the response: whether it is a class."""
        return self if self.loss else replace(self, loss="logistic" if classes else "squared")


@dataclass(frozen=True)
class RpartSettings:
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

    kind: ClassVar[str] = "rpart"

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

    @property
    def classes(self) -> bool:
        """Whether the response is a class."""
        return self.method != "anova"

    def said(self, classes: bool) -> RpartSettings:
        """With what was left to the response: whether it is a class."""
        return self if self.method else replace(self, method="class" if classes else "anova")


Settings = TreeSettings | ForestSettings | BoostingSettings | RpartSettings
_KINDS: dict[str, Any] = {
    c.kind: c for c in (TreeSettings, ForestSettings, BoostingSettings, RpartSettings)
}


def to_json(settings: Settings) -> dict[str, Any]:
    """Settings as plain JSON data with their kind."""
    return {"kind": settings.kind, **dataclasses.asdict(settings)}


def from_json(data: Mapping[str, Any]) -> Settings:
    """Settings of plain JSON data; KeyError or TypeError when malformed."""
    fields = dict(data)
    made = _KINDS[fields.pop("kind")]
    if isinstance(fields.get("tree"), Mapping):
        fields["tree"] = TreeSettings(**fields["tree"])
    result: Settings = made(**fields)
    return result


def parse(text: str) -> list[Settings]:
    """Settings from text: models apart by ``;``, each a kind and ``name=value`` words.

    Fields of a forest's or a boosting's trees stand beside its own.

    Examples
    --------
    >>> [type(s).__name__ for s in parse("tree criterion=gini n_splits=3; forest n_trees=5 seed=1")]
    ['TreeSettings', 'ForestSettings']
    """
    made = [_parse_one(part.split()) for part in text.split(";") if part.strip()]
    if not made:
        raise ParameterError(
            "trees is empty", hint='for example "tree criterion=entropy n_splits=4"'
        )
    return made


def _parse_one(words: list[str]) -> Settings:
    kind, *pairs = words
    if kind not in _KINDS:
        raise ParameterError(f"unknown kind of model {kind!r}", hint=f"one of {', '.join(_KINDS)}")
    fields = {f.name: f for f in dataclasses.fields(_KINDS[kind])}
    inner = {f.name: f for f in dataclasses.fields(TreeSettings)} if "tree" in fields else {}
    own: dict[str, Any] = {}
    tree: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        where = own if name in fields and name != "tree" else tree if name in inner else None
        if where is None or not equals:
            known = sorted({*fields, *inner} - {"tree"})
            raise ParameterError(
                f"cannot read {pair!r} of the model {kind}",
                hint=f"write name=value; the names are {', '.join(known)}",
            )
        where[name] = _value(name, value, str((fields if where is own else inner)[name].type))
    if tree:
        own["tree"] = replace(_KINDS[kind]().tree, **tree)
    settings: Settings = _KINDS[kind](**own)
    return settings


_WORDS = {"bool": "true or false", "float": "a number"}


def _value(name: str, text: str, kind: str) -> Any:
    try:
        if kind.startswith("int"):
            return int(text)
        if kind == "bool":
            return {"true": True, "false": False}[text.lower()]
        return float(text) if kind == "float" else text
    except (ValueError, KeyError):
        words = "a whole number" if kind.startswith("int") else _WORDS[kind]
        raise ParameterError(f"{name} must be {words}, not {text!r}") from None
