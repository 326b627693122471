"""Format objects as text or HTML for a notebook or terminal: a title, sentences and tables.

Only lines have a colour, so the output can be read on light and dark backgrounds. Callers pass no
data about a person other than what the object is meant to show.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from typing import Any

from .notation import MISSING, number

# A table: what it is, its head, its rows.
Rows = tuple[str, Sequence[str], Iterable[Sequence[Any]]]
# The bars of a picture in text, and what stands for them where a terminal has no such signs.
BARS = dict(zip("▁▂▃▄▅▆▇█", "_.:-=+*#", strict=True))
# Characters that a column of sentences needs.
NARROW = 24
# Cells and parameters beyond so many characters are cut.
LONG = 80


def cell(value: Any) -> str:
    """Return a table's value as text; numbers get six significant digits.

    Examples
    --------
    >>> cell(None), cell(2.0), cell(1 / 3), cell("nurse")
    ('(missing)', '2', '0.333333', 'nurse')
    """
    if value is None or value != value:
        return MISSING
    return number(float(f"{value:.6g}")) if isinstance(value, float) else str(value)


def cut(text: str) -> str:
    """Return text cut to at most `LONG` characters."""
    return text if len(text) <= LONG else text[: LONG - 1] + "…"


def arguments(parameters: Iterable[tuple[str, Any]]) -> str:
    """Return parameters as text in the form of a call, without those that are None.

    Examples
    --------
    >>> arguments({"k": 10, "max_disclosure": 0.4, "key": None}.items())
    'k=10, max_disclosure=0.4'
    """
    return ", ".join(f"{name}={cut(repr(v))}" for name, v in parameters if v is not None)


def notebook_html(title: str, sentences: Iterable[str] = (), *tables: Rows, notes: Iterable[str] = ()) -> str:
    """Return an object's notebook HTML, built from a title, sentences, tables and notes.

    Parameters
    ----------
    title : str
    sentences : iterable of str
        Shown below the title.
    tables : (caption, head, rows)
        Tables to show; tables without rows are left out.
    notes : iterable of str
        A list of warnings at the end.
    """
    lines = (f"<div>{escape(line)}</div>" for line in sentences if line)
    parts = [f"<strong>{escape(title)}</strong>", *lines, *(_table(*table) for table in tables)]
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    parts += [f"<ul>{listed}</ul>"] if listed else []
    style = resources.files(__package__).joinpath("notebook.css").read_text("utf-8")
    return f'<style>\n{style}</style><div class="hedgerow">{"".join(parts)}</div>'


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    if not (cells := [[cut(cell(value)) for value in row] for row in rows]):
        return ""
    # empty columns are left out
    used = [i for i, name in enumerate(head) if any(row[i] for row in cells)]
    top = "".join(f'<th scope="col">{escape(head[i])}</th>' for i in used)
    lines = "".join("<tr>" + "".join(f"<td>{escape(row[i])}</td>" for i in used) + "</tr>" for row in cells)
    top_line = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{top_line}<thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def aligned(rows: Sequence[tuple[str, ...]], head: tuple[str, ...]) -> list[str]:
    """Return a table as lines of text with aligned columns.

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
    """Return a table as lines that fit a terminal: the last column wraps, long first cells get a line.

    Where hardly any room is left for the last column, its cells get lines of their own.

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
    remainder = width - first - sum(rest) - 2 * (len(rest) + 1)
    is_below = remainder < NARROW <= width // 3 and any(len(row[-1]) > NARROW for row in rows)
    last = 0 if is_below else max(12, remainder)
    widths = [first, *rest, last]
    lines: list[str] = []
    for at_row, row in enumerate([head, tuple("-" * w for w in widths), *rows]):
        parts = [""] if is_below else textwrap.wrap(row[-1], last) or [""]
        long = len(row[0]) > first
        lines += [row[0]] if long else []
        for i, text in enumerate(parts):
            cells = ("" if long else row[0], *row[1:-1], text) if i == 0 else (*("",) * (len(head) - 1), text)
            padded = (
                cell.rjust(w) if cell[:1].isdigit() and 0 < at < len(widths) - 1 else cell.ljust(w)
                for at, (cell, w) in enumerate(zip(cells, widths, strict=True))
            )
            lines.append("  ".join(padded).rstrip())
        if is_below and at_row > 1:
            lines += textwrap.wrap(row[-1], width, initial_indent="    ", subsequent_indent="    ")
    return lines


def sparkline(counts: Sequence[int]) -> str:
    """Return counts as bars of text, the highest for the largest; a blank for none.

    Examples
    --------
    >>> sparkline([0, 1, 40, 80])
    ' ▁▄█'
    """
    bars, most = [*BARS], max(counts, default=0)
    return "".join(bars[max(0, -(-8 * n // most) - 1)] if n else " " for n in counts)


def substitute(error: Any) -> tuple[str, int]:
    """Return plain signs for those that a terminal lacks, as a handler of encoding errors: bars stay a picture.

    Examples
    --------
    >>> substitute(UnicodeEncodeError("ascii", "pay ▁▄█é", 4, 8, ""))
    ('_-#?', 8)
    """
    return "".join(BARS.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def wrapped(text: str, width: int = 80) -> str:
    """Wrap a sentence to the width of a terminal without breaking words such as paths or options."""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
