"""Figures of papers as SVG: lines over one number, panel beside panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.report.pictures import svg_text


@dataclass(frozen=True)
class Line:
    """One line, and how matplotlib draws it."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: Mapping[str, Any]


@dataclass(frozen=True)
class Panel:
    """Lines over one axis; `zero` begins it at 0."""

    title: str
    x: str
    lines: Sequence[Line]
    y: str = ""
    scale: str = "linear"
    zero: bool = False


def curves(panels: Sequence[Panel], title: str = "") -> str:
    """Panels side by side, the legend in the first."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(panels) + 0.8, 3.4), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for line in panel.lines:
            axes.plot(line.x, line.y, label=line.label, markersize=4, **line.style)
        axes.set_title(panel.title, fontsize=10)
        axes.set(xlabel=panel.x, ylabel=panel.y, yscale=panel.scale)
        if panel.zero:
            axes.set_ylim(bottom=0)
    figure.axes[0].legend(fontsize=8)
    figure.suptitle(title, fontsize=11)
    return svg_text(figure)
