"""Every method under contract, with its variants: add yours to the list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hedgerow as hr


@dataclass(frozen=True)
class Case:
    """A method under contract.

    Parameters
    ----------
    name : str
    make : callable
        Returns a new unfitted method.
    words : str
        The same method on the command line.
    k : int
        Fewest records of a released group; 0 when the method promises nothing of them.
    table : str
        The table of `tables.TABLES` that it must release.
    domain_public : bool
        Whether readers must know the categories of every column.
    responds : bool
        Whether it needs a response: the schema's first sensitive column.
    """

    name: str
    make: Callable[[], Any]
    words: str
    k: int = 0
    table: str = "plain"
    domain_public: bool = False
    responds: bool = False

    def method(self, schema: hr.Schema) -> Any:
        """Return a new unfitted method for tables of a schema."""
        method = self.make()
        if self.responds and schema.sensitive:
            method.set_params(response=schema.sensitive[0])
        return method


CASES = [
    Case("MART", lambda: hr.MART(3), "mart -k 3", k=3),
    Case(
        "MART of the papers",
        lambda: hr.MART(3, max_disclosure=None, alpha=0.05, min_leaf=2, categorical="concatenate"),
        "mart -k 3 --alpha 0.05 --min-leaf 2 --max-disclosure 1 --categorical concatenate",
        k=3,
    ),
    Case(
        "MART with means and counts",
        lambda: hr.MART(3, numeric="mean", categorical="weighted"),
        "mart -k 3 --numeric mean --categorical weighted",
        k=3,
    ),
    Case(
        "MART with medians and stars",
        lambda: hr.MART(3, numeric="median", categorical="suppress"),
        "mart -k 3 --numeric median --categorical suppress",
        k=3,
    ),
    Case("Hedge", lambda: hr.Hedge(3), "hedge -k 3", k=3),
    Case(
        "Hedge with ranges and joined categories",
        lambda: hr.Hedge(3, numeric="range", categorical="concatenate", max_disclosure=0.4),
        "hedge -k 3 --numeric range --categorical concatenate --max-disclosure 0.4",
        k=3,
    ),
    Case("Mondrian by median", lambda: hr.Mondrian(3), "mondrian -k 3", k=3),
    Case("Mondrian by loss", lambda: hr.Mondrian(3, objective="loss"), "mondrian -k 3 --objective loss", k=3),
    Case(
        "Mondrian by regression",
        lambda: hr.Mondrian(3, objective="regression"),
        "mondrian -k 3 --objective regression",
        k=3,
    ),
    Case(
        "Mondrian by information gain",
        lambda: hr.Mondrian(3, objective="information_gain"),
        "mondrian -k 3 --objective information_gain",
        k=3,
        table="categories",
    ),
    Case("Datafly", lambda: hr.Datafly(3), "datafly -k 3", k=3),
    Case("Datafly with suppression", lambda: hr.Datafly(3, suppression=0.2), "datafly -k 3 --suppression 0.2", k=3),
    Case("Incognito", lambda: hr.Incognito(3), "incognito -k 3", k=3),
    Case(
        "Incognito with suppression", lambda: hr.Incognito(3, suppression=0.2), "incognito -k 3 --suppression 0.2", k=3
    ),
    Case("Incognito with t", lambda: hr.Incognito(3, t=0.6), "incognito -k 3 --t 0.6", k=3),
    Case(
        "Incognito with l",
        lambda: hr.Incognito(3, l=2, diversity="distinct"),
        "incognito -k 3 -l 2 --diversity distinct",
        k=3,
    ),
    Case("Anatomy", lambda: hr.Anatomy(2, random_state=1), "anatomy -l 2 --random-state 1"),
    Case(
        "randomized response",
        lambda: hr.RandomizedResponse(1.2, bins=3, random_state=1),
        "rr -l 1.2 --bins 3 --random-state 1",
        domain_public=True,
    ),
    Case(
        "randomized response of both",
        lambda: hr.RandomizedResponse(1.5, target="both", bins=2, random_state=1),
        "rr -l 1.5 --target both --bins 2 --random-state 1",
        domain_public=True,
    ),
    Case(
        "TPP",
        lambda: hr.TreePatternPreserving("tree n_splits=2 min_leaf=8 criterion=variance", k=2),
        "tpp -k 2 --trees 'tree n_splits=2 min_leaf=8 criterion=variance' --response pay",
        k=2,
        responds=True,
    ),
    Case(
        "PoROP",
        lambda: hr.PoROP(12, degree=2, random_state=1),
        "porop --block-size 12 --degree 2 --random-state 1",
        table="numbers",
    ),
    Case(
        "PoROP by its score",
        lambda: hr.PoROP(random_state=1, noise="perturbative", clip=True, integers=True),
        "porop --noise perturbative --clip --integers --random-state 1",
        table="numbers",
    ),
    Case("LiROP", lambda: hr.LiROP(10, random_state=1), "lirop --block-size 10 --random-state 1", table="numbers"),
    Case("MDAV", lambda: hr.Microaggregation(3), "microaggregation -k 3", k=3, table="numbers"),
    Case(
        "MDAV with Gower's distance",
        lambda: hr.Microaggregation(3, distance="gower", integers=True),
        "microaggregation -k 3 --distance gower --integers",
        k=3,
    ),
    Case("noise", lambda: hr.NoiseAddition(0.2, random_state=1), "noise --scale 0.2 --random-state 1", table="numbers"),
    Case(
        "correlated noise",
        lambda: hr.NoiseAddition(0.2, correlated=True, random_state=1),
        "noise --scale 0.2 --correlated --random-state 1",
        table="numbers",
    ),
    Case(
        "rank swapping",
        lambda: hr.RankSwapping(0.1, random_state=1),
        "rank-swapping --proportion 0.1 --random-state 1",
        table="numbers",
    ),
    Case("PRAM", lambda: hr.PRAM(0.8, random_state=1), "pram --stay 0.8 --random-state 1", table="categories"),
    Case(
        "top and bottom coding",
        lambda: hr.TopBottomCoding(top_share=0.1, bottom_share=0.1, replace="mean"),
        "top-bottom --top-share 0.1 --bottom-share 0.1 --replace mean",
        table="numbers",
    ),
    Case("local suppression", lambda: hr.LocalSuppression(3), "local-suppression -k 3", k=3),
]
