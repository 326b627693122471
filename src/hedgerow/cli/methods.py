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
from .options import Option, split

# name on the command line: (module, class)
METHODS = {
    "mart": ("hedgerow.methods.mart", "MART"),
    "mondrian": ("hedgerow.methods.mondrian", "Mondrian"),
    "rr": ("hedgerow.methods.randomized_response", "RandomizedResponse"),
    "anatomy": ("hedgerow.methods.anatomy", "Anatomy"),
    "datafly": ("hedgerow.methods.full_domain", "Datafly"),
    "incognito": ("hedgerow.methods.full_domain", "Incognito"),
    "porop": ("hedgerow.methods.porop", "PoROP"),
    "lirop": ("hedgerow.methods.porop", "LiROP"),
    "microaggregation": ("hedgerow.methods.microaggregation", "Microaggregation"),
    "noise": ("hedgerow.methods.noise", "NoiseAddition"),
    "rank-swapping": ("hedgerow.methods.rank_swapping", "RankSwapping"),
    "pram": ("hedgerow.methods.pram", "PRAM"),
    "top-bottom": ("hedgerow.methods.top_bottom_coding", "TopBottomCoding"),
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
    Option("objective", str, "mondrian: median, regression, information_gain or loss."),
    Option(
        "l",
        float,
        "rr: cap the risk at 1/l; anatomy, incognito: diversity; tpp: records of every group over "
        "its most frequent sensitive value, above this.",
        ("-l",),
    ),
    Option("target", str, "rr: randomize quasi, sensitive or both."),
    Option("bound", str, "rr: cap the paper's risk or the operational success."),
    Option("bins", int, "rr: bins of numbers and dates."),
    Option("caps", list, "rr: VALUE:CAP or COLUMN=VALUE:CAP, a cap of its own (repeat it)."),
    Option("known_negations", str, "rr: values an intruder can exclude: how many, or which."),
    Option("relax", str, "rr: halfway, where a cap cannot be met."),
    Option("exempt", list, "rr: sensitive values that need no protection."),
    Option("row_id", str, "rr: column of row ids for the draws; by default the row's position."),
    Option("diversity", str, "incognito: entropy, distinct or recursive."),
    Option("t", float, "incognito: t-closeness, in [0, 1]."),
    Option("c", float, "incognito: the constant of recursive diversity."),
    Option("suppression", float, "datafly, incognito: largest share of suppressed rows."),
    Option("search", str, "incognito: optimal or minimal."),
    Option("loss", str, "incognito: loss, precision, height, discernibility or average_class."),
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
    return method.set_params(**_parsed(given))


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
