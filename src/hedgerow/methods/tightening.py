"""How a method is tightened step by step, for whoever searches a release that tells less."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..validation import is_number

RUNGS = 5
"""How often a method is tightened before a search gives up."""
CAPS = (0.4, 0.3, 0.2, 0.1, 0.05)

TRIED: Mapping[str, tuple[float, ...]] = {
    "k": (5, 10, 20, 50),
    "max_disclosure": (0.2, 0.4, 0.6),
    "l": (2, 3, 5),
    "scale": (0.1, 0.3, 1.0),
    "proportion": (0.05, 0.15, 0.4),
    "stay": (0.8, 0.6, 0.3),
    "top_share": (0.01, 0.05, 0.1),
}
"""The values that a frontier tries of each parameter, unless told which."""

_TELLS_LESS: Mapping[str, Callable[[Any, int], Any]] = {
    "k": lambda k, rung: int(k) * 2**rung,
    "max_disclosure": lambda cap, rung: min(cap if cap is not None else 1.0, CAPS[rung - 1]),
    "l": lambda most, rung: most * 2**rung,
    "scale": lambda scale, rung: scale * 2**rung,
    "proportion": lambda share, rung: min(share * 2**rung, 1.0),
    "stay": lambda stay, rung: stay / 2**rung,
}
"""How a parameter moves so that a release tells less, from what was asked and the rung."""


def moved(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The parameters that a ladder moves: those that stand at a number, and a cap that is off."""
    return tuple(n for n in _TELLS_LESS if n in given and _moves(n, given[n]))


def rungs(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The parameters to try one after another; none where nothing can be moved.

    Examples
    --------
    >>> list(rungs({"k": 10, "max_disclosure": 0.3, "numeric": "range"}))[:2]
    [{'k': 20, 'max_disclosure': 0.3}, {'k': 40, 'max_disclosure': 0.3}]
    """
    names = moved(given)
    for rung in range(1, RUNGS + 1 if names else 1):
        yield {name: _TELLS_LESS[name](given[name], rung) for name in names}


def _moves(name: str, value: Any) -> bool:
    if value is None:
        return name == "max_disclosure"
    return is_number(value)
