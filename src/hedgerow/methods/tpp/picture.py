"""The published trees as one SVG, drawn from the model file's data alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ...notation import percent

BOX, GAP, LEVEL, MARGIN = 168, 14, 92, 16
MOST_TREES = 12
"""Trees that are drawn; the rest is counted in a line of text."""


def trees_svg(model: Mapping[str, Any]) -> str:
    """The first trees of a model, one below the other; the same text for the same model.

    Parameters
    ----------
    model : mapping
        The data of ``model.json``.
    """
    labels = model["response"].get("classes")
    trees = [
        (m, t, tree["nodes"], own)
        for m, own in enumerate(model["models"], 1)
        for t, tree in enumerate(own["trees"], 1)
    ]
    parts: list[str] = []
    top, width = float(MARGIN), 0.0
    for m, t, nodes, own in trees[:MOST_TREES]:
        title = f"Model {m} ({own['builder']}), tree {t}: {len(nodes) // 2} splits"
        told = labels if own["kind"] != "boosting" else None
        sign = "\u2264" if own["builder"] == "scikit-learn" else "<"
        drawn, wide, high = _tree(nodes, told, sign, top + 22)
        parts += [f'<text x="{MARGIN}" y="{top + 12:g}" class="t">{escape(title)}</text>', *drawn]
        width, top = max(width, wide), top + high + 36
    if len(trees) > MOST_TREES:
        parts.append(
            f'<text x="{MARGIN}" y="{top + 12:g}" class="t">'
            f"and {len(trees) - MOST_TREES} more trees</text>"
        )
        top += 30
    style = (
        "text{font:12px sans-serif;fill:#222}.t{font-weight:bold}.e{font-size:11px;fill:#555}"
        "rect{fill:#eef3ea;stroke:#5b7f4a}.l{fill:#fff}line{stroke:#888}"
    )
    width = max(width + MARGIN, 360)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {top:g}" '
        f'width="{width:g}" height="{top:g}" role="img"><style>{style}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _tree(
    nodes: Sequence[Mapping[str, Any]], labels: Sequence[str] | None, sign: str, top: float
) -> tuple[list[str], float, float]:
    by_path = {node["path"]: node for node in nodes}
    place: dict[str, float] = {}
    leaves = 0

    def settle(path: str) -> float:
        nonlocal leaves
        if "attribute" in by_path[path]:
            place[path] = (settle(path + "L") + settle(path + "R")) / 2
        else:
            place[path] = MARGIN + BOX / 2 + leaves * (BOX + GAP)
            leaves += 1
        return place[path]

    settle("")
    parts, deepest = [], 0
    for node in nodes:
        path = node["path"]
        x, y = place[path], top + LEVEL * len(path)
        deepest = max(deepest, len(path))
        if path:
            above = place[path[:-1]]
            parts.append(f'<line x1="{above:g}" y1="{y - LEVEL + 46:g}" x2="{x:g}" y2="{y:g}"/>')
            parts.append(
                f'<text x="{(above + x) / 2:g}" y="{y - 18:g}" class="e" text-anchor="middle">'
                f"{'yes' if path[-1] == 'L' else 'no'}</text>"
            )
        leaf = "attribute" not in node
        lines = [_value(node, labels) if leaf else _test(node, sign), f"n = {node['n']:,}"]
        look = ' class="l"' if leaf else ""
        parts.append(
            f'<rect x="{x - BOX / 2:g}" y="{y:g}" width="{BOX}" height="46" rx="5"{look}/>'
        )
        whole = (
            ""
            if leaf or "left" not in node
            else f"<title>{escape(', '.join(node['left']))}</title>"
        )
        parts += [
            f'<text x="{x:g}" y="{y + 19 + 17 * i:g}" text-anchor="middle">{escape(_short(line))}'
            f"{whole if i == 0 else ''}</text>"
            for i, line in enumerate(lines)
        ]
    return parts, 2 * MARGIN + leaves * (BOX + GAP), LEVEL * deepest + 46


def _test(node: Mapping[str, Any], sign: str) -> str:
    if "threshold" in node:
        return f"{node['attribute']} {sign} {node['threshold']:.6g}"
    return f"{node['attribute']} in {', '.join(node['left'])}"


def _value(node: Mapping[str, Any], labels: Sequence[str] | None) -> str:
    value = node["value"]
    if labels is None or len(value) != len(labels):
        return f"{value[0]:.5g}"
    best = max(range(len(value)), key=lambda i: (value[i], -i))
    share = value[best] / sum(value) if sum(value) else 0.0
    return f"{labels[best]}: {percent(share)}"


def _short(text: str, most: int = 26) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
