"""What the whole numbers of a column look like whose name says nothing: told, or in doubt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtrc  # scipy.stats takes longer to load than a small table

MOST = 0.9
"""Share of a column's distinct cells that look alike."""
_KEPT = 0.98
"""Share of these that keep the rules of what they look like."""
_CHANCE = 0.01
"""Where other numbers of that size keep the rules so seldom, the column is told by them."""
_STEPS = 10_007
_ROUND, _ROUNDED = 100, 0.2
"""Numbers of which a fifth are hundreds are amounts."""

_UNUSED = frozenset(
    {
        *range(0, 5),
        *(99, 213, 269, 343, 345, 348, 353, 419, 428, 429, 517, 518, 519, 529, 533, 536, 552),
        *(568, 578, 579, 589, 621, 632, 642, 643, 659, 663, 682, *range(694, 700)),
        *(702, 709, 715, 732, 742, 771, 817, 818, 819, 839, 848, 849, 854, 858, 861, 862),
        *(866, 867, 868, 869, 876, 886, 887, 888, 892, 896, 899, 909, 929, 987),
    }
)
"""First three digits that no ZIP code has."""


def _zip(n: int) -> bool:
    return 501 <= n <= 99950 and n // 100 not in _UNUSED


def _telephone(n: int) -> bool:
    area, exchange = divmod(n // 10_000, 1000)
    return all(_first_of_three(part) for part in (area, exchange)) and area // 10 % 10 != 9


def _first_of_three(part: int) -> bool:
    """2 to 9 first, and not 211, 311 ... 911, which are services."""
    return 200 <= part <= 999 and part % 100 != 11


def _social_security(n: int) -> bool:
    area, group, serial = n // 1_000_000, n // 10_000 % 100, n % 10_000
    return 0 < area < 900 and area != 666 and group > 0 and serial > 0


@dataclass(frozen=True)
class _Form:
    """Numbers of a kind: how many digits they have, and the rule that they keep."""

    what: str
    digits: range
    rule: Callable[[int], bool]


_FORMS: Mapping[str, _Form] = {
    "geography": _Form("ZIP codes", range(4, 6), _zip),  # 01002 as a number is 1002
    "telephone": _Form("telephone numbers", range(10, 11), _telephone),
    "social security": _Form("social security numbers", range(8, 10), _social_security),
}

def numbers_like(cells: list[Any]) -> Iterator[tuple[str, str, bool]]:
    """Kinds of identifiers that a column of whole numbers looks like: kind, why, and whether it is told.

    Told are numbers that keep the rules of a kind (no ZIP code begins with 213, no telephone number
    with 1) where as many others of their span would not, but for one column in a hundred. Where
    chance would do it, or there are few, the column is in doubt.

    Examples
    --------
    >>> list(numbers_like([10001, 94110]))
    [('geography', '2 of its distinct cells look like ZIP codes, as other numbers may', False)]
    """
    numbers = [n for n in map(_whole, cells) if n is not None]
    numbers = [n for n in numbers if len(set(str(n))) > 1]  # 99999 stands for no value
    if not numbers or len(numbers) < MOST * len(cells):
        return
    hundreds = sum(n % _ROUND == 0 for n in numbers)
    for kind, form in _FORMS.items():
        mine = [n for n in numbers if len(str(n)) in form.digits]
        full = [n for n in mine if len(str(n)) == form.digits[-1]]
        if len(mine) < MOST * len(numbers) or 2 * len(full) < len(mine):
            continue
        keep = sum(map(form.rule, mine))
        if keep < _KEPT * len(mine) or hundreds > _ROUNDED * len(numbers):
            continue
        span = np.linspace(min(mine), max(mine), _STEPS).round()
        usual = sum(form.rule(int(n)) for n in span) / _STEPS
        told = float(bdtrc(keep - 1, len(mine), usual)) < _CHANCE
        why = f"{keep} of its distinct cells look like {form.what}"
        yield kind, why if told else f"{why}, as other numbers may", told


def _whole(cell: Any) -> int | None:
    if isinstance(cell, bool):
        return None
    if isinstance(cell, str):
        text = cell.strip()
        return int(text) if re.fullmatch(r"\d{4,10}", text) else None
    if isinstance(cell, (int, float)) and cell == cell and abs(cell) < 1e12 and cell >= 0:
        return int(cell) if float(cell).is_integer() else None
    return None
