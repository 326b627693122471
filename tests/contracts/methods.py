"""Every method that the contract suite puts to the test: add yours to the list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hedgerow.methods.anatomy import Anatomy
from hedgerow.methods.full_domain import Datafly, Incognito
from hedgerow.methods.mart import MART
from hedgerow.methods.mondrian import Mondrian
from hedgerow.methods.randomized_response import RandomizedResponse


@dataclass(frozen=True)
class Case:
    """A method under contract.

    Parameters
    ----------
    name : str
    make : callable
        Gives a new unfitted method.
    k : int
        Fewest records of a released group; 0 when the method promises none.
    order_free : bool
        The same release, up to the order of the rows, when the rows are shuffled.
    applies : bool
        Its plan can be applied to other people.
    domain_public : bool
        Its readers must know the categories of every column.
    """

    name: str
    make: Callable[[], Any]
    k: int = 0
    order_free: bool = True
    applies: bool = True
    domain_public: bool = False


CASES = [
    Case("MART", lambda: MART(k=3), k=3),
    Case("MART of the papers", lambda: MART(k=3, max_disclosure=None, alpha=0.05, min_leaf=2), k=3),
    Case(
        "MART with means and counts", lambda: MART(k=3, numeric="mean", categorical="weighted"), k=3
    ),
    Case(
        "MART with medians and stars",
        lambda: MART(k=3, numeric="median", categorical="suppress"),
        k=3,
    ),
    Case("Mondrian by median", lambda: Mondrian(k=3), k=3),
    Case("Mondrian by loss", lambda: Mondrian(k=3, objective="loss"), k=3),
    Case("Mondrian by regression", lambda: Mondrian(k=3, objective="regression"), k=3),
    Case("Mondrian by information gain", lambda: Mondrian(k=3, objective="information_gain"), k=3),
    Case("Datafly", lambda: Datafly(k=3), k=3),
    Case("Datafly with suppression", lambda: Datafly(k=3, suppression=0.2), k=3),
    Case("Incognito", lambda: Incognito(k=3), k=3),
    Case("Incognito with suppression", lambda: Incognito(k=3, suppression=0.2), k=3),
    Case("Incognito with t", lambda: Incognito(k=3, t=0.6, search="minimal"), k=3),
    Case("anatomy", lambda: Anatomy(l=2), applies=False),
    Case(
        "randomized response",
        lambda: RandomizedResponse(l=1.2, bins=3),
        order_free=False,
        domain_public=True,
    ),
    Case(
        "randomized response of both",
        lambda: RandomizedResponse(l=1.5, target="both", bins=2),
        order_free=False,
        domain_public=True,
    ),
]
