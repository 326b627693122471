"""What the whole numbers of a column look like whose name says nothing: told, or in doubt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtrc  # scipy.stats takes longer to load than a small table

from ..notation import parse_range

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
YEARS = 1800, 2100


def _zip(n: int) -> bool:
    return 501 <= n <= 99950 and n // 100 not in _UNUSED


def _long_zip(n: int) -> bool:
    return _zip(n // 10_000) and n % 10_000 > 0


def _telephone(n: int) -> bool:
    country, number = divmod(n, 10**10)
    area, exchange = divmod(number // 10_000, 1000)
    if country not in (0, 1):
        return False
    return all(_first_of_three(part) for part in (area, exchange)) and area // 10 % 10 != 9


def _first_of_three(part: int) -> bool:
    """2 to 9 first, and not 211, 311 ... 911, which are services."""
    return 200 <= part <= 999 and part % 100 != 11


def _social_security(n: int) -> bool:
    area, group, serial = n // 1_000_000, n // 10_000 % 100, n % 10_000
    return 0 < area < 900 and area != 666 and group > 0 and serial > 0


def _card(n: int) -> bool:
    """Luhn's sum: every second digit from the right is doubled."""
    digits = [int(d) for d in reversed(str(n))]
    return sum(digits[::2] + [sum(divmod(2 * d, 10)) for d in digits[1::2]]) % 10 == 0


@dataclass(frozen=True)
class _Form:
    """Numbers of a kind: how many digits they have, and the rule that they keep."""

    kind: str
    what: str
    digits: range
    rule: Callable[[int], bool]
    zeros: bool = False
    """Whether the first of the fewest digits is a zero that a number does not show."""


_FORMS = (
    _Form("geography", "ZIP codes", range(4, 6), _zip, zeros=True),  # 01002 as a number is 1002
    _Form("telephone", "telephone numbers", range(10, 12), _telephone),
    _Form("social security", "social security numbers", range(8, 10), _social_security, zeros=True),
    _Form("geography", "ZIP codes of nine digits", range(8, 10), _long_zip, zeros=True),
    _Form("account", "numbers of payment cards", range(15, 17), _card),
)


def numbers_like(cells: list[Any]) -> Iterator[tuple[str, str, bool]]:
    """Kinds of identifiers that a column of whole numbers looks like: kind, why, and whether it is told.

    Told are numbers that keep the rules of a kind (no ZIP code begins with 213, no telephone number
    with 1) where as many others of their span would not, but for one column in a hundred. Where
    chance would do it, or there are few, the column is in doubt; so are ZIP codes of the Northeast
    alone, which have four digits as numbers, and ranges within the first three digits of ZIP codes.

    Examples
    --------
    >>> list(numbers_like([10001, 94110]))
    [('geography', '2 of its distinct cells look like ZIP codes, as other numbers may', False)]
    """
    numbers = [n for n in map(whole_number, cells) if n is not None]
    numbers = [n for n in numbers if len(set(str(n))) > 1]  # 99999 stands for no value
    if not numbers or len(numbers) < MOST * len(cells):
        yield from _ranges_like(cells)
        return
    if round_numbers(numbers):
        return
    for form in _FORMS:
        mine = [n for n in numbers if len(str(n)) in form.digits]
        full = [n for n in mine if not form.zeros or len(str(n)) == form.digits[-1]]
        if len(mine) < MOST * len(numbers):
            continue
        shortened = 2 * len(full) < len(mine)
        if shortened and (full or form.what != "ZIP codes" or _years(mine)):
            continue
        keep = sum(map(form.rule, mine))
        if keep < _KEPT * len(mine):
            continue
        span = np.linspace(min(mine), max(mine), _STEPS).round()
        usual = sum(form.rule(int(n)) for n in span) / _STEPS
        told = not shortened and float(bdtrc(keep - 1, len(mine), usual)) < _CHANCE
        why = f"{keep} of its distinct cells look like {form.what}"
        yield form.kind, why if told else f"{why}, as other numbers may", told
        return


def _ranges_like(cells: list[Any]) -> Iterator[tuple[str, str, bool]]:
    """Whether ranges of whole numbers may be ranges of ZIP codes that share their first three digits."""
    found = [parse_range(cell) for cell in cells if isinstance(cell, str)]
    ends = [(a, b) for a, b in filter(None, found) if a.is_integer() and 10_000 <= a <= b < 100_000]
    if len(ends) < max(MOST * len(cells), 1) or round_numbers([int(n) for pair in ends for n in pair]):
        return
    close = sum(a < b and a // 100 == b // 100 for a, b in ends)
    if close and all(_zip(int(a)) for a, _ in ends):
        yield "geography", f"{close} of its ranges lie within the first three digits of ZIP codes", False


def round_numbers(numbers: list[int]) -> bool:
    return sum(n % _ROUND == 0 for n in numbers) > _ROUNDED * len(numbers)


def _years(numbers: list[int]) -> bool:
    return YEARS[0] <= min(numbers) and max(numbers) <= YEARS[1]


def whole_number(cell: Any) -> int | None:
    if isinstance(cell, bool):
        return None
    if isinstance(cell, str):
        text = cell.strip()
        return int(text) if re.fullmatch(r"\d{4,16}", text) else None
    if isinstance(cell, (int, float)) and cell == cell and abs(cell) < 1e16 and cell >= 0:
        return int(cell) if float(cell).is_integer() else None
    return None
