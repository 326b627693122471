"""The picture of a frontier: disclosure against utility, one labelled mark a release."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .drawings import UNNAMED, parameters_in_short
from .pictures import STYLE, Picture, svg_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = "os^Dvp*X"
_WIDTH, _HEIGHT = 7.0, 4.4
"""Inches; lines below the axes come on top."""
_CHARACTER, _LINE = 5.0, 9.0
"""Width and height of a character of a label, in points."""
_NOTES = 4
"""Reasons why settings are not possible that are told; of more, how many there are."""
_FAINT = 0.35
_PAPER, _INK = "#ffffff", "#555555"
_SHEET = {
    "figure.facecolor": _PAPER,
    "savefig.facecolor": _PAPER,
    "xtick.color": _INK,
    "ytick.color": _INK,
}
"""A picture that is a file of its own stands on paper of its own."""
_DARK = """<style>@media (prefers-color-scheme: dark) {
.hedgerow-frontier text {fill: #e8ece9}
.hedgerow-frontier .paper {fill: #141816}
.hedgerow-frontier .ink {stroke: #a3aea8}
}</style>"""
"""Paper and ink for readers whose screen is dark."""


def frontier_picture(found: Mapping[str, Any]) -> Picture:
    """Disclosure against utility from `Frontier.to_dict()`.

    Points that are not dominated are labelled with their parameters where there is room,
    dominated ones are faint, those whose cap makes learning collapse are crossed out. What
    was not possible stands below with its reason.
    """
    import matplotlib
    from matplotlib.figure import Figure

    points = found["points"]
    notes = _notes(found["infeasible"])
    below = 0.55 + 0.16 * len(notes)
    with matplotlib.rc_context(STYLE | _SHEET):
        height = _HEIGHT + 0.16 * len(notes)
        figure = Figure(figsize=(_WIDTH, height))
        axes = figure.add_axes(
            (
                0.7 / _WIDTH,
                below / height,
                (_WIDTH - 0.85) / _WIDTH,
                (height - below - 0.1) / height,
            )
        )
        fallen = draw_frontier(axes, found)
        for i, note in enumerate(notes):
            figure.text(
                0.1 / _WIDTH,
                (0.05 + 0.16 * (len(notes) - 1 - i)) / height,
                note,
                fontsize=7.5,
                parse_math=False,
            )
        svg = svg_text(figure)
    kept = sum(not p["dominated"] for p in points)
    words = (
        f"{len(points)} releases by disclosure and utility; {kept} of them are not dominated by "
        f"another, {fallen} have a cap under which learning collapses, and "
        f"{len(found['infeasible'])} further settings were not possible."
    )
    return Picture(_two_screens(svg), words)


def draw_frontier(axes: Axes, found: Mapping[str, Any]) -> int:
    """Every release as a mark, those that nothing dominates joined and labelled.

    Parameters
    ----------
    axes : matplotlib axes
    found : mapping
        As `Frontier.to_dict` has it.

    Returns
    -------
    int
        Releases under whose cap learning collapses.
    """
    from matplotlib.ticker import PercentFormatter

    points = found["points"]
    methods = list(dict.fromkeys(p["method"] for p in points))
    for m, method in enumerate(methods):
        for faint in (False, True):
            mine = [p for p in points if p["method"] == method and p["dominated"] == faint]
            axes.scatter(
                [p["disclosure"] for p in mine],
                [p["utility"] for p in mine],
                s=34,
                marker=_MARKS[m % len(_MARKS)],
                color=f"C{m % 10}",
                alpha=_FAINT if faint else 1.0,
                linewidths=0,
                label=None if faint else method,
            )
    fallen = [p for p in points if p["collapsed"]]
    if fallen:
        axes.scatter(
            [p["disclosure"] for p in fallen],
            [p["utility"] for p in fallen],
            s=90,
            marker="x",
            color="#c0392b",
            linewidths=1.2,
            label="learning collapses",
        )
    front = sorted((p["disclosure"], p["utility"]) for p in points if not p["dominated"])
    axes.plot([d for d, _ in front], [u for _, u in front], color="#999999", linewidth=1, zorder=0)
    axes.margins(0.12)
    axes.autoscale_view()  # labels are placed by where the points stand
    axes.set_xlabel(found["disclosure"])
    axes.set_ylabel(found["utility"] if len(found["utility"]) < 60 else _without_unit(found["utility"]))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    if points:
        axes.legend(title=_legend_title(points), title_fontsize=8, alignment="left")
        _label(axes, points)
    return len(fallen)


def _two_screens(svg: str) -> str:
    """The picture for light and dark screens: paper and ink become attributes, which a style beats."""
    svg = svg.replace(f'style="fill: {_PAPER}"', f'class="paper" fill="{_PAPER}"')
    svg = re.sub(
        rf'style="([^"]*)stroke: {_INK};? ?', rf'class="ink" stroke="{_INK}" style="\1', svg
    )
    svg = re.sub(rf"(; )?fill: {_INK}", "", svg)  # of the numbers beside the ticks
    at = svg.index(">", svg.index("<svg ")) + 1
    head = svg[:at].replace("<svg ", '<svg class="hedgerow-frontier" ', 1)
    return f"{head}\n{_DARK}{svg[at:]}"


def _without_unit(axis: str) -> str:
    return axis.partition(" (")[0]


def _legend_title(points: Sequence[Mapping[str, Any]]) -> str:
    names = [n for n in UNNAMED if any(n in p["parameters"] for p in points)]
    said = [f"labels: {', '.join(names)}"] if names else []
    if any(p["dominated"] for p in points):
        said.append("faint: another is better")
    return "\n".join(said)


def _notes(infeasible: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is not possible, one note a reason."""
    by_reason: dict[str, list[str]] = {}
    for f in infeasible:
        said = f"{f['method']} {parameters_in_short(f['parameters'])}".rstrip()
        by_reason.setdefault(f["reason"], []).append(said)
    lines = []
    for reason, settings in list(by_reason.items())[:_NOTES]:
        more = f" and {len(settings) - 1} more" if len(settings) > 1 else ""
        text = f"not possible: {settings[0]}{more}: {reason}"
        lines += textwrap.wrap(text, 118, max_lines=2, placeholder=" ...")
    more_reasons = len(by_reason) - _NOTES
    return [*lines, f"and for {more_reasons} further reasons"] if more_reasons > 0 else lines


Box = tuple[float, float, float, float]


def _label(axes: Any, points: Sequence[Mapping[str, Any]]) -> None:
    """Labels beside the points that nothing dominates, where they cover nothing else."""
    inch = axes.figure.dpi
    places = axes.transData.transform([(p["disclosure"], p["utility"]) for p in points])
    places = places * 72 / inch
    frame, legend = axes.get_window_extent(), axes.get_legend().get_window_extent()
    frame_box = tuple(v * 72 / inch for v in (frame.x0, frame.y0, frame.x1, frame.y1))
    taken: list[Box] = [tuple(v * 72 / inch for v in (legend.x0, legend.y0, legend.x1, legend.y1))]
    taken += [(x - 3, y - 3, x + 3, y + 3) for x, y in places]
    front = sorted(tuple(xy) for p, xy in zip(points, places, strict=True) if not p["dominated"])
    for (x, y), (to_x, to_y) in pairwise(front):
        steps = 1 + int(max(abs(to_x - x), abs(to_y - y)) / 2)
        for s in range(steps):  # the line, as dots
            at_x, at_y = x + (to_x - x) * s / steps, y + (to_y - y) * s / steps
            taken.append((at_x - 0.5, at_y - 0.5, at_x + 0.5, at_y + 0.5))
    for point, (x, y) in zip(points, places, strict=True):
        text = parameters_in_short(point["parameters"])
        if point["dominated"] or not text:
            continue
        wide = _CHARACTER * len(text)
        for dx, dy, aside in (
            (5, -_LINE / 2, "left"),
            (-5 - wide, -_LINE / 2, "right"),
            (-wide / 2, 5, "center"),
            (-wide / 2, -5 - _LINE, "center"),
            (4, 4, "left"),
            (-4 - wide, 4, "right"),
            (4, -4 - _LINE, "left"),
            (-4 - wide, -4 - _LINE, "right"),
        ):
            box = (x + dx, y + dy, x + dx + wide, y + dy + _LINE)
            if _inside(box, frame_box) and not any(_overlap(box, other) for other in taken):
                shift = {"left": dx, "right": dx + wide, "center": 0}[aside]
                axes.annotate(
                    text,
                    (point["disclosure"], point["utility"]),
                    xytext=(shift, dy + 1.5),
                    textcoords="offset points",
                    ha=aside,
                    fontsize=7.5,
                    parse_math=False,
                )
                taken.append(box)
                break


def _inside(box: Box, frame: Sequence[float]) -> bool:
    return box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
