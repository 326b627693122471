"""A frontier as it is written; it imports nothing, for the studio's server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Required, TypedDict

# parameters of a method by name
Parameters = Mapping[str, Any]


class PointData(TypedDict, total=False):
    """A point of a frontier as JSON, with all fields of `Point`; these are what pages and pictures read.

    Parameters
    ----------
    method : str
        The title of the method, under which the frontier lists it.
    parameters : mapping
        What was varied, such as k and max_disclosure.
    k : int or None
        Fewest records of a group.
    disclosure, utility : float
        On the axes of the frontier, in [0, 1].
    collapsed : bool
        Whether the cap took most of what learners explain without it, which is `uncapped`.
    reason : str
        Why it cannot be had, of a point that is infeasible, which has no figures.
    """

    method: Required[str]
    parameters: Required[Parameters]
    k: int | None
    disclosure: float
    utility: float
    dominated: bool
    collapsed: bool
    uncapped: float | None
    reason: str


class FrontierData(TypedDict, total=False):
    """A frontier as JSON: its points, and those that cannot be had.

    The studio adds the method that each title stands for (`base`), and the method, k and cap of what was `tried`.
    """

    points: Required[list[PointData]]
    infeasible: list[PointData]
    hedgerow_frontier: int
    private: str
    warnings: Sequence[str]
    utility: str
    disclosure: str
    title: str
    base: Mapping[str, Any]
    tried: list[tuple[Any, int | None, Any]]
