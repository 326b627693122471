"""Tables and sentences as lines of a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence


def aligned(rows: Sequence[tuple[str, ...]], head: tuple[str, ...]) -> list[str]:
    """A table as lines of text, its columns aligned.

    Examples
    --------
    >>> for line in aligned([("age", "quasi"), ("pay", "sensitive")], ("column", "role")):
    ...     print(line)
    column  role
    ------  ---------
    age     quasi
    pay     sensitive
    """
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [head, tuple("-" * w for w in widths), *rows]
    ]


def fitted(rows: Sequence[tuple[str, ...]], head: tuple[str, ...], width: int = 80) -> list[str]:
    """A table as lines that fit a terminal: its last column wraps, a long first cell has its own line.

    Examples
    --------
    >>> for line in fitted([("age", "known to many people"), ("occupation", "x")], ("", "why"), 20):
    ...     print(line)
            why
    ------  ------------
    age     known to
            many people
    occupation
            x
    """
    rest = [max(len(row[i]) for row in [head, *rows]) for i in range(1, len(head) - 1)]
    first = min(max(len(row[0]) for row in [head, *rows]), max(6, width // 4))
    last = max(12, width - first - sum(rest) - 2 * (len(rest) + 1))
    widths = [first, *rest, last]
    lines: list[str] = []
    for row in [head, tuple("-" * w for w in widths), *rows]:
        told = textwrap.wrap(row[-1], last) or [""]
        long = len(row[0]) > first
        lines += [row[0]] if long else []
        for i, text in enumerate(told):
            cells = ("" if long else row[0], *row[1:-1], text) if i == 0 else ("",) * len(rest)
            cells = cells if i == 0 else ("", *cells, text)
            padded = (
                cell.rjust(w) if cell[:1].isdigit() and 0 < at < len(widths) - 1 else cell.ljust(w)
                for at, (cell, w) in enumerate(zip(cells, widths, strict=True))
            )
            lines.append("  ".join(padded).rstrip())
    return lines


def wrapped(text: str, width: int = 80) -> str:
    """A sentence in lines that fit a terminal; what can be typed, such as a path, stays whole."""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
