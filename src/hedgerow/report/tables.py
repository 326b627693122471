"""Templates of pages, and wide tables stacked on narrow screens; it imports little, for the studio's server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

_TABLE = re.compile(r"<table>.*?</table>", re.S)
_HEADS = re.compile(r"<th scope=\"col\"[^>]*>(.*?)</th>", re.S)
_ROW = re.compile(r"<tr>(.*?)</tr>", re.S)
_CELL = re.compile(r"<(td|th scope=\"row\")")
# the fewest columns of a table that is stacked; a narrower one fits
_LEAST = 4


def templates(*folders: Any) -> Environment:
    """Return the report's template environment, which searches `folders` first and escapes all text."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([*folders, jinja2.PackageLoader("hedgerow.report", ".")]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def stacked(page: str) -> str:
    """Return the page with the class ``stack`` on wide tables, and the headings repeated in their cells."""
    return _TABLE.sub(lambda match: _stacked(match[0]), page)


def _stacked(table: str) -> str:
    head, begins, body = table.partition("<tbody>")
    names = [re.sub(r"<[^>]+>", "", name).strip() for name in _HEADS.findall(head)]
    if len(names) < _LEAST or not begins:
        return table
    # the rest of a heading is escaped already, being HTML
    names = [name.replace('"', "&quot;") for name in names]

    def row(match: re.Match[str]) -> str:
        heads = iter(f' data-head="{name}"' if name else "" for name in names)
        return f"<tr>{_CELL.sub(lambda tag: tag[0] + next(heads, ''), match[1])}</tr>"

    return head.replace("<table>", '<table class="stack">', 1) + begins + _ROW.sub(row, body)
