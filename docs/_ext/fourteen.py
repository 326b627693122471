"""What a method makes of the 14 records of MART's worked example: a picture and a table.

    ```{fourteen} hr.MART(k=4)
    :across: Age
    :up: YearsEdu
    ```

The method is run when the page is built, so the picture shows what this version does.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

import hedgerow as hr
from hedgerow.datasets import MART_CATEGORIES, load_mart_example

WIDE, HIGH, TOP = 480, 310, 30
COLOURS = 8
NUMBER = r"-?\d+(?:\.\d+)?"
RANGE = re.compile(rf"^[\[(]({NUMBER})-({NUMBER})[\])]$")

Interval = tuple[float, float]


class Axis:
    """Where the values and the released cells of one column stand."""

    def __init__(self, name: str, values: Sequence[Any]) -> None:
        self.name = name
        self.order = list(MART_CATEGORIES.get(name, ()))
        known = [self.at(v) for v in values]
        room = 0.6 if self.order else (max(known) - min(known)) * 0.08
        self.low, self.high = min(known) - room, max(known) + room

    def at(self, value: Any) -> float:
        return float(self.order.index(value) if self.order else value)

    def cell(self, cell: Any) -> Interval:
        """The values that a released cell stands for."""
        if cell is None or cell == "*" or cell != cell:
            return self.low, self.high
        if self.order:
            inside = [i for i, c in enumerate(self.order) if re.search(rf"\b{c}\b", str(cell))]
            return (inside[0] - 0.3, inside[-1] + 0.3) if len(inside) > 1 else (inside[0],) * 2
        found = RANGE.match(str(cell))
        return (float(found[1]), float(found[2])) if found else (float(cell),) * 2

    def ticks(self) -> list[tuple[float, str]]:
        if self.order:
            return [(i, c) for i, c in enumerate(self.order)]
        step = 10 if self.high - self.low > 20 else 2
        first = int(-(-self.low // step) * step)
        return [(float(t), str(t)) for t in range(first, int(self.high) + 1, step)]


def drawn(
    before: Sequence[tuple[Any, Any]],
    after: Sequence[tuple[Any, Any]],
    groups: Sequence[Any],
    x: Axis,
    y: Axis,
    alt: str,
) -> str:
    """The plane of two columns: records as dots, released cells as boxes, lines between them."""

    left = 104 if y.order else 30

    def across(v: float) -> float:
        return left + (v - x.low) / (x.high - x.low) * (WIDE - left - 10)

    def up(v: float) -> float:
        return TOP + (y.high - v) / (y.high - y.low) * (HIGH - TOP - 46)

    parts = [f'<path class="axis" d="M{left} {TOP}V{HIGH - 46}H{WIDE - 10}"/>']
    for at, word in x.ticks():
        parts.append(f'<text x="{across(at):.1f}" y="{HIGH - 28}" text-anchor="middle">{word}</text>')
    for at, word in y.ticks():
        parts.append(f'<text x="{left - 8}" y="{up(at) + 4:.1f}" text-anchor="end">{word}</text>')
    parts.append(
        f'<text x="{(left + WIDE) / 2}" y="{HIGH - 6}" text-anchor="middle">{x.name}</text>'
        f'<text x="2" y="{TOP - 14}">{y.name}</text>'
    )
    names = list(dict.fromkeys(groups))
    few = len(names) <= COLOURS
    kinds = [f"g{names.index(group)}" if few else "g0" for group in groups]
    for cell, kind in dict(zip(after, kinds, strict=True)).items():
        (x0, x1), (y0, y1) = x.cell(cell[0]), y.cell(cell[1])
        if x0 < x1 or y0 < y1:
            wide, high = max(across(x1) - across(x0), 0) + 12, max(up(y0) - up(y1), 0) + 12
            parts.append(
                f'<rect class="{kind}" x="{across(x0) - 6:.1f}" y="{up(y1) - 6:.1f}" '
                f'width="{wide:.1f}" height="{high:.1f}" rx="6"/>'
            )
    for old, new, kind in zip(before, after, kinds, strict=True):
        (x0, x1), (y0, y1) = x.cell(new[0]), y.cell(new[1])
        start = across(x.at(old[0])), up(y.at(old[1]))
        if x0 == x1 and y0 == y1 and (x0, y0) != (x.at(old[0]), y.at(old[1])):
            end = across(x0), up(y0)
            parts.append(
                f'<path class="{kind} move" d="M{start[0]:.1f} {start[1]:.1f}'
                f'L{end[0]:.1f} {end[1]:.1f}"/>'
                f'<path class="{kind} there" d="M{end[0] - 5:.1f} {end[1]:.1f}h10m-5 -5v10"/>'
            )
        parts.append(f'<circle class="{kind}" cx="{start[0]:.1f}" cy="{start[1]:.1f}" r="4.5"/>')
    return f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{escape(alt)}">' + "".join(parts) + "</svg>"


def _told(value: Any) -> str:
    if value is None or value != value:
        return "(missing)"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Fourteen(Directive):
    """Runs a method on the 14 records."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {
        "across": directives.unchanged,
        "up": directives.unchanged,
        "quasi": directives.unchanged,
        "sensitive": directives.unchanged,
        "caption": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        said = self.options
        names = said.get("across", "Age"), said.get("up", "YearsEdu")
        quasi = [n.strip() for n in said.get("quasi", ",".join(names)).split(",")]
        sensitive = [n.strip() for n in said.get("sensitive", "Income").split(",")]
        method = eval(self.arguments[0], {"hr": hr})
        order = {n: c for n, c in MART_CATEGORIES.items() if n in (*quasi, *sensitive)}
        schema = hr.Schema(quasi=quasi, sensitive=sensitive, categories=order)
        table = load_mart_example()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fourteen records are few, and columns are left out
            release = hr.protect(table, schema, method, guard=None)
        shown = list(release.table.column_names)
        old = table.select([n for n in shown if n in table.column_names]).to_pylist()
        before = [old[i] for i in release.rows]
        after = release.table.to_pylist()
        numbered = [n for n in sensitive if any(a[n] != b[n] for a, b in zip(after, before, strict=True))]
        axes = [Axis(n, table.column(n).to_pylist()) for n in names]
        alt = f"14 records before and after {self.arguments[0]}, by {names[0]} and {names[1]}"
        picture = drawn(
            [(b[names[0]], b[names[1]]) for b in before],
            cells := [(a[names[0]], a[names[1]]) for a in after],
            [tuple(a[n] for n in numbered) for a in after] if numbered else cells,  # Anatomy's
            *axes,
            alt,
        )
        head = "".join(f"<th>{escape(n)}</th>" for n in shown)
        rows = "".join(
            '<tr class="was"><td>before</td>'
            + "".join(f"<td>{escape(_told(b.get(n, '')))}</td>" for n in shown)
            + '</tr><tr class="now"><td>after</td>'
            + "".join(f"<td>{escape(_told(a[n]))}</td>" for n in shown)
            + "</tr>"
            for b, a in zip(before, after, strict=True)
        )
        caption = said.get("caption", "")
        page = (
            f'<figure class="fourteen">{picture}<figcaption>{escape(caption)} '
            f"<code>{escape(self.arguments[0])}</code></figcaption>"
            "<details><summary>The 14 records before and after</summary>"
            f'<div class="wide"><table><thead><tr><th></th>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div></details></figure>"
        )
        return [nodes.raw("", page, format="html")]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("fourteen", Fourteen)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
