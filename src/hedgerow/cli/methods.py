"""The methods that the command line offers, and every option of theirs.

A new method is one row of `METHODS`; a parameter that no other method has is one
row of `OPTIONS`. Which method takes which option, its class tells.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ..errors import ParameterError
from .masking import OPTIONS as MASKING
from .options import Option

# name on the command line: (module, class)
METHODS = {
    "mart": ("hedgerow.methods.mart", "MART"),
    "mondrian": ("hedgerow.methods.mondrian", "Mondrian"),
    "porop": ("hedgerow.methods.porop", "PoROP"),
    "lirop": ("hedgerow.methods.porop", "LiROP"),
    "microaggregation": ("hedgerow.methods.microaggregation", "Microaggregation"),
    "noise": ("hedgerow.methods.noise", "NoiseAddition"),
    "rank-swapping": ("hedgerow.methods.rank_swapping", "RankSwapping"),
    "pram": ("hedgerow.methods.pram", "PRAM"),
    "top-bottom": ("hedgerow.methods.coding", "TopBottomCoding"),
    "local-suppression": ("hedgerow.methods.suppression", "LocalSuppression"),
    "tpp": ("hedgerow.methods.tpp", "TreePatternPreserving"),
}

OPTIONS = (
    Option(
        "k",
        int,
        "Records that share every combination of released quasi-identifiers: at least this many "
        "(porop, lirop: values a block; searched by default).",
        ("-k",),
    ),
    Option(
        "max_disclosure",
        float,
        "Most that a group may give away of any sensitive column, in (0, 1].",
    ),
    Option("alpha", float, "mart: prune by error and digression at this level, in (0, 1)."),
    Option("min_leaf", int, "mart: records a leaf holds while growing; k by default."),
    Option("numeric", str, "Numbers become: range, mean or median."),
    Option("categorical", str, "Categories become: concatenate, weighted, hierarchy or suppress."),
    Option("response", str, "tpp: the column that the trees predict; released unchanged."),
    Option(
        "trees",
        str,
        'tpp: what must be kept, such as "tree criterion=gini n_splits=3; forest n_trees=5".',
    ),
    Option(
        "l", float, "tpp: every group's records over its most frequent sensitive value: above this."
    ),
    Option("objective", str, "mondrian: median, regression, information_gain or loss."),
    *MASKING,
)


def make(name: str, given: Mapping[str, Any]) -> Any:
    """A method with the options that were given; ParameterError for those it does not have."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        raise ParameterError(
            f"unknown method {name!r}" + (f" (did you mean {near[0]!r}?)" if near else ""),
            hint=f"the methods are {', '.join(METHODS)}",
        )
    module, cls = METHODS[name]
    method = getattr(import_module(module), cls)()
    foreign = [option for option in given if option not in method.get_params()]
    if foreign:
        flags = ", ".join("--" + option.replace("_", "-") for option in foreign)
        raise ParameterError(f"the method {name} has no option {flags}")
    return method.set_params(**given)
