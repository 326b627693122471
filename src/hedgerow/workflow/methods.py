"""The methods by the names that command line and studio give them, and every option of theirs.

A new method is one row of `METHODS`; a parameter that no other method has is one
row of `OPTIONS`. Which method takes which option, its class tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ..errors import ParameterError, UnsupportedError, did_you_mean
from .options import Option, fits, quoted, split, under

# name on the command line: (module, class)
METHODS = {
    "mart": ("hedgerow.methods.mart", "MART"),
    "hedge": ("hedgerow.methods.hedge", "Hedge"),
    "mondrian": ("hedgerow.methods.mondrian", "Mondrian"),
    "rr": ("hedgerow.methods.randomized_response", "RandomizedResponse"),
    "anatomy": ("hedgerow.methods.anatomy", "Anatomy"),
    "datafly": ("hedgerow.methods.full_domain", "Datafly"),
    "incognito": ("hedgerow.methods.full_domain", "Incognito"),
    "porop": ("hedgerow.methods.porop", "PoROP"),
    "lirop": ("hedgerow.methods.porop", "LiROP"),
    "microaggregation": ("hedgerow.methods.microaggregation", "Microaggregation"),
    "noise": ("hedgerow.methods.masking", "NoiseAddition"),
    "rank-swapping": ("hedgerow.methods.masking", "RankSwapping"),
    "pram": ("hedgerow.methods.masking", "PRAM"),
    "top-bottom": ("hedgerow.methods.masking", "TopBottomCoding"),
    "local-suppression": ("hedgerow.methods.suppression", "LocalSuppression"),
    "tpp": ("hedgerow.methods.tpp", "TreePatternPreserving"),
}

OPTIONS = (
    *under(
        "Method",
        Option(
            "k",
            int,
            "At least this many records share every combination of released quasi-identifiers.",
            ("-k",),
        ),
        Option(
            "max_disclosure",
            float,
            "The most that a group may give away of any sensitive column, in (0, 1].",
        ),
        Option(
            "l",
            float,
            "No guess at a sensitive value is right with a chance above 1/l: the risk (rr), shares in "
            "every group (anatomy, tpp), or the diversity of every group (incognito).",
            ("-l",),
        ),
        Option("numeric", str, "Numbers become: range, mean or median."),
        Option(
            "categorical", str, "Categories become: concatenate, weighted, hierarchy or suppress."
        ),
        Option(
            "objective",
            str,
            "mondrian: median, regression, information_gain or loss; incognito: loss, precision, "
            "height, discernibility or average_class.",
        ),
        Option(
            "random_state",
            int,
            "For experiments: draw from this number, which hides nothing; otherwise from a key.",
        ),
    ),
    *under(
        "Method mart",
        Option("alpha", float, "Prune by error and digression at this level, in (0, 1)."),
        Option("min_leaf", int, "Records a leaf holds while growing. Default: k."),
    ),
    *under(
        "Method hedge",
        Option("screen", bool, "Release columns that say nothing about the sensitive ones as *."),
    ),
    *under(
        "Method tpp",
        Option("response", str, "The column that the trees predict; released unchanged."),
        Option(
            "trees",
            str,
            'What must be kept, such as "tree criterion=gini n_splits=3; forest n_trees=5".',
        ),
    ),
    *under(
        "Methods datafly and incognito",
        Option("suppression", float, "Largest share of suppressed rows."),
        Option("diversity", str, "incognito: entropy, distinct or recursive."),
        Option("t", float, "incognito: t-closeness, in [0, 1]."),
        Option("c", float, "incognito: the constant of recursive diversity."),
        Option("search", str, "incognito: optimal or minimal."),
    ),
    *under(
        "Method rr",
        Option("target", str, "Randomize quasi, sensitive or both."),
        Option("bound", str, "Cap the paper's risk or the operational success."),
        Option("bins", int, "Bins of numbers and dates."),
        Option("caps", list, "VALUE:CAP or COLUMN=VALUE:CAP, a cap of its own (repeat it)."),
        Option("known_negations", str, "Values an intruder can exclude: how many, or which."),
        Option("relax", str, "halfway: loosen a cap that cannot be met."),
        Option("exempt", list, "Sensitive values that need no protection."),
        Option("row_id", str, "Column that identifies a row for the draws. Default: all columns."),
    ),
    *under(
        "Methods porop and lirop",
        Option("block_size", int, "Values a block. Default: searched."),
        Option("degree", int, "porop: degree of the polynomials. Default: searched."),
        Option("noise", str, "synthetic or perturbative."),
    ),
    *under(
        "Masking: microaggregation, noise, rank-swapping, pram, top-bottom",
        Option("clip", bool, "Move masked numbers back into the extent of their column."),
        Option("integers", bool, "Round columns of integers to integers."),
        Option("grouping", str, "microaggregation: mdav, v-mdav or individual_ranking."),
        Option("distance", str, "microaggregation: auto, euclidean or gower."),
        Option("gain", float, "microaggregation: V-MDAV's gain factor."),
        Option("correlated", bool, "noise: with the covariance of the data."),
        Option("scale", float, "noise: its deviation over that of the column."),
        Option("proportion", float, "rank-swapping: reach as a share of the ranks, in (0, 1]."),
        Option("stay", float, "pram: probability of keeping a category, 0 to 1."),
        Option("invariant", bool, "pram: keep the expected counts of the categories."),
        Option("top", float, "top-bottom: code values above."),
        Option("bottom", float, "top-bottom: code values below."),
        Option("top_share", float, "top-bottom: share of the largest values to code."),
        Option("bottom_share", float, "top-bottom: share of the smallest values to code."),
        Option("replace", str, "top-bottom: threshold or mean."),
    ),
)


def make(name: str, given: Mapping[str, Any]) -> Any:
    """A method with the options that were given; ParameterError for those it does not have.

    Parameters
    ----------
    name : str
        One of `METHODS`.
    given : mapping
        Options by name, as a command line or a configuration file holds them.

    Examples
    --------
    >>> make("rr", {"l": 3.0, "caps": ["illness=HIV:0.1"]})
    RandomizedResponse(l=3.0, caps={'illness=HIV': 0.1})
    """
    if name not in METHODS:
        raise ParameterError(
            f"unknown method {name!r}{did_you_mean(name, METHODS)}",
            hint=f"the methods are {', '.join(METHODS)}",
        )
    method = _new(name)
    foreign = [option for option in given if option not in method.get_params()]
    if foreign:
        flags = ", ".join("--" + option.replace("_", "-") for option in foreign)
        raise ParameterError(f"the method {name} has no option {flags}")
    return method.set_params(**_parsed(given))


def _new(name: str) -> Any:
    module, cls = METHODS[name]
    return getattr(import_module(module), cls)()


def _parsed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options whose text stands for more than text."""
    made = dict(given)
    if "caps" in made:
        pairs = [entry.rpartition(":") for entry in made["caps"]]
        try:
            made["caps"] = {name: float(cap) for name, _, cap in pairs}
        except ValueError:
            raise ParameterError(
                "--caps reads VALUE:CAP", hint="for example --caps illness=HIV:0.1"
            ) from None
    if "known_negations" in made:
        text = str(made["known_negations"])
        made["known_negations"] = int(text) if text.isdigit() else split(text)
    return made


def _unparsed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The opposite of `_parsed`: parameters as a command line holds them."""
    made = dict(parameters)
    if isinstance(made.get("caps"), Mapping):
        made["caps"] = [f"{name}:{cap!r}" for name, cap in made["caps"].items()]
    named = made.get("known_negations")
    if named is not None:
        made["known_negations"] = (
            str(named) if isinstance(named, (int, str)) else ",".join(map(quoted, named))
        )
    return made


def name_of(method: Any) -> str:
    """The name of a method on the command line."""
    cls = type(method).__name__
    name = next((name for name, (_, known) in METHODS.items() if known == cls), None)
    if name is None:
        raise UnsupportedError(f"the command line does not know the method {cls}")
    return name


def changed(method: Any) -> dict[str, Any]:
    """The parameters of a method that differ from its defaults; a schema of its own is none."""
    plain = type(method)().get_params(deep=False)
    return {
        name: value
        for name, value in method.get_params(deep=False).items()
        if name != "schema" and repr(value) != repr(plain[name])
    }


def options_of(method: Any) -> dict[str, Any]:
    """The options that make a method again, but for its key.

    Raises
    ------
    UnsupportedError
        A parameter has a value that no option stands for.
    """
    known = {option.name: option for option in OPTIONS}
    asked = {name: value for name, value in changed(method).items() if name != "key"}
    given = {
        name: _typed(value, known[name].type)
        for name, value in _unparsed(asked).items()
        if name in known
    }
    lost = [n for n in asked if n not in given or not _sayable(given[n], known[n].type)]
    if not lost:
        again = changed(make(name_of(method), given))
        lost = [n for n in asked if n not in again or _listed(again[n]) != _listed(asked[n])]
    if lost:
        raise UnsupportedError(
            f"the command line cannot say {', '.join(lost)} of {type(method).__name__} as "
            "it was given",
            hint="use the Python code instead",
        )
    return given


def _sayable(value: Any, kind: type) -> bool:
    """Whether a value survives the command line."""
    return fits(value, kind) and (kind is not list or split(value) == value)


def _typed(value: Any, kind: type) -> Any:
    """A parameter as its option's type; left as it is where it does not fit."""
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if kind is list and isinstance(value, (list, tuple)):
        return list(value)
    return value


def words(method: Any) -> list[str]:
    """A method and its options as words of a command line, but for its key."""
    known = {option.name: option for option in OPTIONS}
    made = [name_of(method)]
    for name, value in options_of(method).items():
        option = known[name]
        if isinstance(value, bool):
            made.append(option.switch.split("/")[not value])
            continue
        for each in value if isinstance(value, list) else [value]:
            text = each if isinstance(each, str) else repr(each)
            # what begins with a dash would be read as a flag of its own
            made += [f"{option.long}={text}"] if text.startswith("-") else [option.flag, text]
    return made


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def canonical(method: Any) -> Any:
    """The method with its numbers as the command line gives them, so that both make one plan."""
    kinds = {option.name: option.type for option in OPTIONS}
    numbers = {
        name: float(value)
        for name, value in changed(method).items()
        if kinds.get(name) is float and isinstance(value, int) and not isinstance(value, bool)
    }
    return method.copy().set_params(**numbers)
