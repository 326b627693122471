"""What a setting that nobody tried comes near to, read between those that were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Any

_AXES = ("disclosure", "utility")


@dataclass(frozen=True)
class Estimate:
    """Where a setting would stand in the picture.

    Parameters
    ----------
    disclosure, utility : float
    between : tuple of int
        The tried k on both sides; the nearest one alone beyond the smallest and the largest.
    """

    disclosure: float
    utility: float
    between: tuple[int, ...]


def estimated(
    points: Sequence[Mapping[str, Any]], method: str, k: int, cap: float | None
) -> Estimate | None:
    """The figures of k and cap, read on straight lines between what was tried.

    Along the cap first, for every tried k, then along the logarithm of k; beyond the first and the
    last one the nearest is taken. No group tells more than the cap, so the estimate does not.

    Parameters
    ----------
    points : sequence of mapping
        As `Frontier.to_dict` has them.
    method : str
        The title of the method; the points of others say nothing.
    k : int
    cap : float or None
        The cap on disclosure; None and 1 are none.

    Returns
    -------
    Estimate or None
        None where no point of the method has a k.

    Examples
    --------
    >>> tried = [{"method": "MART", "parameters": {"k": k, "max_disclosure": 0.5},
    ...           "disclosure": 0.5, "utility": u} for k, u in ((5, 0.7), (20, 0.5))]
    >>> found = estimated(tried, "MART", 10, 0.5)
    >>> round(found.utility, 6), found.between
    (0.6, (5, 20))
    """
    lines: dict[int, dict[float, Mapping[str, Any]]] = {}
    for point in points:
        given = point["parameters"]
        if point["method"] == method and given.get("k") is not None:
            lines.setdefault(given["k"], {})[_cap(given.get("max_disclosure"))] = point
    if not lines:
        return None
    limit = _cap(cap)
    tried = sorted(lines)
    made = []
    for axis in _AXES:
        along = [
            _read([(c, lines[each][c][axis]) for c in sorted(lines[each])], limit) for each in tried
        ]
        made.append(_read([(log(each), v) for each, v in zip(tried, along, strict=True)], log(k)))
    sides = (max((t for t in tried if t <= k), default=None),
             min((t for t in tried if t >= k), default=None))  # fmt: skip
    known = sorted({side for side in sides if side is not None})
    return Estimate(min(made[0], limit), made[1], tuple(known))


def _cap(given: float | None) -> float:
    return 1.0 if given is None else given


def _read(line: Sequence[tuple[float, float]], at: float) -> float:
    """A value on the straight lines through points that are in order; the ends beyond them."""
    if at <= line[0][0]:
        return line[0][1]
    for (x, a), (y, b) in pairwise(line):
        if at <= y:
            return a + (b - a) * (at - x) / (y - x)
    return line[-1][1]
