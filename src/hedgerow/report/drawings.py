"""Small pictures that stand in the page itself, in its colours, light or dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ..notation import figure, percent

_BARS_WIDTH = 440
UNNAMED = ("k", "max_disclosure")
"""Parameters that a label gives without their names."""


def shares_by_group(
    shares: Sequence[float],
    cap: float | None,
    alt: str,
    ends: tuple[str, str] = ("0% nothing", "100% all"),
) -> str:
    """Bars of the records by a figure of their group, with the promised cap.

    Parameters
    ----------
    shares : sequence of float
        Of the records, in bins of equal width from nothing to all.
    cap : float, optional
        Where the line stands.
    alt : str
        The picture in words.
    ends : tuple of str
        What nothing and all are called.
    """
    left, wide, base, high = 4, _BARS_WIDTH - 8, 88, 70
    step, top = wide / len(shares), max(shares, default=0.0) or 1.0
    parts = [
        f'<rect x="{left + i * step + 1:.1f}" y="{base - high * s / top:.1f}" '
        f'width="{step - 2:.1f}" height="{high * s / top:.1f}" class="leaf"/>'
        for i, s in enumerate(shares)
        if s > 0
    ]
    parts.append(f'<path d="M{left} {base}H{left + wide}" class="axis"/>')
    for at, anchor, words in ((0, "start", ends[0]), (1, "end", ends[1])):
        parts.append(_bar_text(left + at * wide, base + 16, words, anchor))
    if cap is not None:
        x = left + cap * wide
        side, off = ("start", 5) if cap < 0.8 else ("end", -5)
        parts.append(f'<path d="M{x:.1f} 2V{base + 4}" class="cap"/>')
        parts.append(_bar_text(x + off, 12, f"the cap, {percent(cap, None)}", side))
    return _svg(base + 24, parts, alt)


def bars(
    rows: Sequence[tuple[str, float | None, float | None, float | None]],
    note: str,
    alt: str,
    *,
    most: float,
) -> str:
    """Two bars a line, grey for the original and green for the release.

    Parameters
    ----------
    rows : sequence of (name, original, release, mark)
        None draws nothing; a mark is a line across both bars.
    note : str
        What the bars are, below them.
    alt : str
    most : float
        What the longest bar stands for.
    """
    wide, parts, y = _BARS_WIDTH - 48, list[str](), 12.0
    for name, before, after, mark in rows:
        parts.append(_bar_text(0, y, name, "start"))
        top = y + 5
        line = wide * mark / most if mark is not None and 0 < mark <= most else -1.0
        for value, kind in ((before, "grey"), (after, "leaf2")):
            if value is None:
                continue
            long = wide * min(max(value / most, 0.0), 1.0)
            y += 12
            parts.append(
                f'<rect x="0" y="{y - 6:g}" width="{long:.1f}" height="9" class="{kind}"/>'
            )
            drawn = long <= line < long + 36  # the figure stands beside the line, not in it
            parts.append(_bar_text((line if drawn else long) + 5, y + 3, figure(value, 2), "start"))
        if line >= 0:
            parts.append(f'<path d="M{line:.1f} {top - 2:g}V{y + 5:g}" class="mark"/>')
        y += 19
    parts.append(_bar_text(0, y + 4, note, "start"))
    return _svg(y + 10, parts, alt)


def _svg(height: float, parts: Sequence[str], alt: str) -> str:
    return (
        f'<svg viewBox="0 0 {_BARS_WIDTH} {height:g}" role="img" aria-label="{escape(alt)}">'
        + "".join(parts)
        + "</svg>"
    )


def _bar_text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def parameters_in_short(parameters: Mapping[str, Any]) -> str:
    """Parameters as the label of a point.

    Examples
    --------
    >>> parameters_in_short({"k": 10, "max_disclosure": 0.4})
    '10, .4'
    >>> parameters_in_short({"max_disclosure": None, "scale": 0.3})
    'no cap, scale .3'
    >>> parameters_in_short({"k": 10, "max_disclosure": 1.0})
    '10, no cap'
    """
    said = []
    for name, value in parameters.items():
        text = f"{value:g}" if isinstance(value, float) else str(value)
        text = text[1:] if text.startswith("0.") else text
        if name in UNNAMED:
            none = name == "max_disclosure" and (value is None or value >= 1)
            said.append("no cap" if none else text)
        else:
            said.append(f"{name} {text}")
    return ", ".join(said)
