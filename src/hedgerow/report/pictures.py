"""The pictures: drawn on any axes, or as SVG for the report with the same bytes on every run."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..notation import cut, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ORIGINAL, RELEASE, CONTROL, PUBLIC = "#8c8c8c", "#1b5e94", "#c46200", "#3c3c3c"
_BAR, _GRID = "#d0d0d0", "#dddddd"
_ON_DARK = {
    RELEASE: "#6fb1e8",
    CONTROL: "#f0a050",
    PUBLIC: "#d8d8d8",
    _BAR: "#6a6a6a",
    _GRID: "#3a3a3a",
}
"""Other colours for axes on dark paper."""
STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "axes.titlesize": 10,
}


@dataclass(frozen=True)
class Picture:
    """An SVG image with the words that stand for it."""

    svg: str
    alt: str

    @property
    def source(self) -> str:
        """The image as a data address, so that the page needs no other file."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg.encode()).decode()


class _Canvas:
    svg = ""


@contextmanager
def _figure(
    width: float, height: float, below: float = 0.0
) -> Iterator[tuple[Figure, Axes, _Canvas]]:
    """A figure whose SVG is ready when the block ends; `below` inches are kept for a legend."""
    import matplotlib
    from matplotlib.figure import Figure

    canvas = _Canvas()
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height))
        axes = figure.add_subplot()
        yield figure, axes, canvas
        _margins(figure, axes, below)
        canvas.svg = svg_text(figure)


def svg_text(figure: Figure) -> str:
    """A figure as SVG: a fixed salt and no date, so that the same numbers give the same text."""
    import matplotlib

    text = io.StringIO()
    told: Any = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context({"svg.hashsalt": "hedgerow", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata=told)
    return text.getvalue()


def _margins(figure: Figure, axes: Axes, beside: float) -> None:
    """Room for the labels, from their lengths: a layout engine would draw every figure twice."""
    width, height = figure.get_size_inches()
    inch = 0.07  # of a character at 9 points
    left = max((len(t.get_text()) for t in axes.get_yticklabels()), default=0) or 6
    below = axes.get_xticklabels()
    turn = math.radians(max((t.get_rotation() for t in below), default=0.0))
    deep = max((len(t.get_text()) for t in below), default=0) * math.sin(turn)
    # a turned label ends at its tick, so the first one begins left of the axis
    first = len(below[0].get_text()) * math.cos(turn) if turn and below else 0.0
    beneath = 0.22 + inch * left + (0.25 if axes.get_ylabel() else 0.0)
    figure.subplots_adjust(
        left=min(max(beneath, 0.05 + inch * first), 0.6 * width) / width,
        right=1 - 0.15 / width,
        bottom=min(0.25 + inch * deep + (0.22 if axes.get_xlabel() else 0.0) + beside, 0.6 * height)
        / height,
        top=1 - (0.3 if axes.get_title() or axes.get_legend() else 0.1) / height,
    )


def _legend(axes: Axes) -> None:
    """The legend, above the picture on the right."""
    axes.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.1, frameon=False
    )


def _ink(axes: Axes, colour: str) -> str:
    """The colour, another where the paper of the axes is dark."""
    from matplotlib.colors import to_rgba

    red, green, blue, solid = to_rgba(axes.get_facecolor())
    dark = solid > 0.5 and 0.3 * red + 0.6 * green + 0.1 * blue < 0.4
    return _ON_DARK.get(colour, colour) if dark else colour


def _percent_axis(axis: Any) -> None:
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _plain_log(axis: Any) -> None:
    """Ticks at 1, 2, 5, 10, 20 ... as plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def draw_sizes(
    axes: Axes, before: Sequence[Mapping[str, int]], after: Sequence[Mapping[str, int]]
) -> None:
    """Bars of the records by the size of their class."""
    bins = sorted({(b["from"], b["to"]) for b in (*before, *after)})
    names = [str(lo) if lo == hi else f"{lo}-{hi}" for lo, hi in bins]
    for shift, rows, colour, label in (
        (-0.2, before, ORIGINAL, "original"),
        (0.2, after, _ink(axes, RELEASE), "release"),
    ):
        if not rows:
            continue
        total = sum(r["records"] for r in rows) or 1
        found = {r["from"]: r["records"] / total for r in rows}
        axes.bar(
            np.arange(len(bins)) + shift,
            [found.get(lo, 0.0) for lo, _ in bins],
            0.4,
            color=colour,
            label=label,
        )
    axes.set_xticks(range(len(bins)), names, rotation=30 if len(bins) > 8 else 0)
    axes.set_xlabel("records in the group")
    axes.set_ylabel("share of records")
    _percent_axis(axes.yaxis)
    _legend(axes)


def class_sizes(
    before: Sequence[Mapping[str, int]], after: Sequence[Mapping[str, int]], k: int
) -> Picture:
    """Share of records by the size of their class, original (where there is one) and release."""
    with _figure(5.2, 2.6) as (_, axes, canvas):
        draw_sizes(axes, before, after)
    told = "Share of records by group size. "
    if before:
        alone = sum(r["records"] for r in before if r["from"] == 1)
        share = alone / (sum(r["records"] for r in before) or 1)
        told += f"In the original {percent(share, 0)} of the records are alone in their group. "
    return Picture(canvas.svg, f"{told}In the release every group has at least {k}.")


def draw_disclosure(
    axes: Axes, points: Mapping[str, Any], cap: float | None = None
) -> tuple[int, float]:
    """A mark a class, by its size and its disclosure, with the cap; how many, and the worst."""
    from matplotlib.ticker import MaxNLocator

    colour = _ink(axes, RELEASE)
    if "sizes" in points:
        axes.scatter(
            points["sizes"], points["disclosure"], s=9, color=colour, alpha=0.6, linewidths=0
        )
        n, worst = len(points["sizes"]), max(points["disclosure"], default=0.0)
    else:
        table = np.array(points["classes"], float).T
        n = int(table.sum())
        edges = points["disclosure_edges"]
        worst = float(max((edges[i + 1] for i in range(len(table)) if table[i].any()), default=0.0))
        shown = axes.pcolormesh(
            points["size_edges"],
            edges,
            np.where(table > 0, table, np.nan),
            cmap="Blues",
            norm="log",
            edgecolors="none",
            rasterized=False,
        )
        _plain_log(axes.figure.colorbar(shown, ax=axes, label="groups").ax.yaxis)
    axes.set_xscale("log")
    _plain_log(axes.xaxis)
    low, high = axes.get_xlim()
    if high < 5 * low:  # few sizes, which are whole numbers
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("records in the group")
    axes.set_ylabel("disclosure")
    _percent_axis(axes.yaxis)
    if cap is not None:
        axes.axhline(cap, color=_ink(axes, CONTROL), linewidth=1.2, label=f"the cap, {percent(cap, None)}")
        _legend(axes)
    return n, worst


def disclosure_scatter(name: str, points: Mapping[str, Any], cap: float | None = None) -> Picture:
    """Class size against disclosure, with the promised cap; counts in bins beyond 1,000 classes."""
    with _figure(5.2, 2.8) as (_, axes, canvas):
        n, worst = draw_disclosure(axes, points, cap)
    return Picture(
        canvas.svg,
        f"Disclosure of {name} by group size over {n} groups; the highest is "
        f"{'in the row below ' if 'size_edges' in points else ''}{percent(worst, 0)}.",
    )


def draw_attacks(axes: Axes, attacks: Sequence[Mapping[str, Any]]) -> None:
    """A line an attack: its success with its interval, control, public guess and original."""
    about = {a["target"] for a in attacks if a["attack"] in ("regression", "inference")}
    names = [
        f"{a['learner'] if a['target'] in about else a['attack']}: "
        f"{a['target'] if a['target'] in about else a['learner']}"
        # the same learner asks who took part twice: by what neighbours know, and by all
        + (f", {a['target']}" if a["attack"] == "membership" else "")
        for a in attacks
    ]
    for i, attack in enumerate(attacks):
        y = len(attacks) - 1 - i
        low, high = attack["interval"]
        axes.plot(
            [low, high],
            [y, y],
            color=_ink(axes, RELEASE),
            linewidth=5,
            alpha=0.35,
            solid_capstyle="butt",
        )
        public = max(attack["public_best"], attack["random_row"])
        for value, colour, marker, label in (
            (attack["original"], ORIGINAL, "s", "original table"),
            (attack["control"], _ink(axes, CONTROL), "D", "control"),
            (public, _ink(axes, PUBLIC), "|", "public totals"),
            (attack["success"], _ink(axes, RELEASE), "o", "release"),
        ):
            # the control of a pair's linking answers another question; it stands in the table
            other = label == "control" and attack["attack"] == "linking"
            if value is None or (other and attack["over_control"] is None):
                continue
            axes.plot(
                value,
                y,
                marker=marker,
                color=colour,
                linestyle="none",
                markersize=10 if marker == "|" else 6,
                markeredgewidth=2 if marker == "|" else 0,
                label=label if i == 0 else None,
            )
    axes.set_yticks(range(len(attacks)), names[::-1])
    axes.set_ylim(-0.6, len(attacks) - 0.4)
    axes.set_xlim(-0.02, 1.02)
    axes.grid(axis="x", color=_ink(axes, _GRID), linewidth=0.6)
    axes.set_xlabel("people the attack is right about, 95% interval")
    _percent_axis(axes.xaxis)


def attack_bars(attacks: Sequence[Mapping[str, Any]]) -> Picture:
    """Success of every attack with its interval beside control, public guess and original."""
    with _figure(5.8, 0.9 + 0.42 * len(attacks), 0.3) as (figure, axes, canvas):
        draw_attacks(axes, attacks)
        axes.legend(
            loc="lower center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=figure.transFigure,
            ncols=4,
            columnspacing=1.2,
            handletextpad=0.3,
        )
    worst = max(attacks, key=lambda a: a["success"])
    return Picture(
        canvas.svg,
        f"Success of {len(attacks)} attacks; the highest on the release is "
        f"{percent(worst['success'], 0)} ({worst['learner']} on {worst['target']}), "
        f"{percent(worst['original'], 0)} on the original.",
    )


def before_after(name: str, shape: Mapping[str, Any]) -> Picture:
    """The shares of one column before and after; every category has its name."""
    with _figure(*column_size(shape)) as (_, axes, canvas):
        draw_column(axes, shape)
    return Picture(
        canvas.svg,
        f"Distribution of {name} before and after; {percent(moved(shape), 0)} of the records "
        "would have to move to make both the same.",
    )


def moved(shape: Mapping[str, Any]) -> float:
    """The share of the records that would have to move to make both distributions the same."""
    told: float = sum(abs(a - b) for a, b in zip(shape["before"], shape["after"], strict=True))
    return told / 2


def column_size(shape: Mapping[str, Any]) -> tuple[float, float]:
    """Inches that the picture of a column takes; a line a category."""
    return 4.4, 2.3 if shape["kind"] == "numbers" else 0.75 + 0.27 * len(shape["labels"])


def draw_column(axes: Axes, shape: Mapping[str, Any]) -> None:
    """A column's shares before and after: bins of numbers, or a line a category."""
    (_categories if shape["kind"] == "categories" else _numbers)(axes, shape)
    _legend(axes)


def _numbers(axes: Axes, shape: Mapping[str, Any]) -> None:
    labels = shape["labels"]
    place = np.arange(len(labels))
    axes.bar(place, shape["before"], 0.9, color=_ink(axes, _BAR), label="original")
    axes.step(
        np.append(place - 0.5, len(labels) - 0.5) if len(labels) else place,
        np.append(shape["after"], shape["after"][-1:]),
        where="post",
        color=_ink(axes, RELEASE),
        linewidth=1.6,
        label="release",
    )
    step = max(1, -(-len(labels) // 5))
    long = max((len(str(label)) for label in labels), default=0) > 8
    axes.set_xticks(
        place[::step],
        [_short(label) for label in labels[::step]],
        rotation=25 if long else 0,
        ha="right" if long else "center",
    )
    _percent_axis(axes.yaxis)


def _categories(axes: Axes, shape: Mapping[str, Any]) -> None:
    labels = shape["labels"]
    place = np.arange(len(labels))[::-1]
    for shift, side, colour, label in (
        (0.2, "before", "#b8b8b8", "original"),
        (-0.2, "after", _ink(axes, RELEASE), "release"),
    ):
        axes.barh(place + shift, shape[side], 0.38, color=colour, label=label)
    axes.set_yticks(place, [_short(label) for label in labels])
    axes.set_ylim(-0.6, len(labels) - 0.4)
    _percent_axis(axes.xaxis)


def influence_bars(rows: Sequence[Mapping[str, Any]]) -> Picture:
    """Each quasi-identifier's share of the disclosure."""
    names = [r["column"] for r in rows][::-1]
    with _figure(5.2, 0.8 + 0.32 * len(rows)) as (_, axes, canvas):
        place = np.arange(len(rows))
        for shift, table, colour in ((0.18, "original", ORIGINAL), (-0.18, "release", RELEASE)):
            axes.barh(
                place + shift,
                [r[table]["tree"] for r in rows][::-1],
                0.36,
                color=colour,
                label=table,
            )
        axes.set_yticks(place, names)
        axes.set_xlabel("share of what a tree can explain")
        _percent_axis(axes.xaxis)
        _legend(axes)
    top = rows[0]
    return Picture(
        canvas.svg,
        f"Share of the disclosure by quasi-identifier; most comes from "
        f"{top['column']} ({percent(top['release']['tree'], 0)} in the release).",
    )


def tree_picture(recoding: Any, limit: int = 24) -> Picture | None:
    """A partition with at most `limit` leaves as a tree; None for other plans."""
    if getattr(recoding, "kind", "") != "partition" or not 2 <= recoding.n_leaves <= limit:
        return None
    x, y, links = _layout(recoding)
    depth = int(max(y)) + 1
    with _figure(max(6.4, 0.62 * recoding.n_leaves), 0.85 * depth + 0.5) as (_, axes, canvas):
        for parent, child in links:
            axes.plot(
                [x[parent], x[child]],
                [-y[parent], -y[child]],
                color="#999999",
                linewidth=1,
                zorder=0,
            )
        leaf = 0
        groups = recoding.groups or range(recoding.n_leaves)
        for i, column in enumerate(recoding.split):
            inner = column >= 0
            leaf += not inner
            axes.text(
                x[i],
                -y[i],
                _test(recoding, i) if inner else f"group {groups[leaf - 1] + 1}",
                ha="center",
                va="center",
                fontsize=7,
                bbox={
                    "boxstyle": "round,pad=0.3",
                    "facecolor": "#eef4fa" if inner else "white",
                    "edgecolor": RELEASE if inner else "#999999",
                    "linewidth": 0.8,
                },
            )
        axes.set_axis_off()
        axes.set_xlim(-0.8, recoding.n_leaves - 0.2)
    columns = {recoding.columns[c].name for c in recoding.split if c >= 0}
    return Picture(
        canvas.svg,
        f"Tree of {recoding.n_groups} groups, split by {', '.join(sorted(columns))}; "
        "people for whom a test holds go left.",
    )


def _layout(recoding: Any) -> tuple[list[float], list[int], list[tuple[int, int]]]:
    """Where the nodes stand: leaves side by side, parents above the middle of their children."""
    n = len(recoding.split)
    x, y, links, leaf = [0.0] * n, [0] * n, [], 0
    for i in range(n):
        if recoding.split[i] >= 0:
            for child in (i + 1, recoding.right[i]):
                y[child] = y[i] + 1
                links.append((i, child))
        else:
            x[i] = float(leaf)
            leaf += 1
    for i in reversed(range(n)):
        if recoding.split[i] >= 0:
            x[i] = (x[i + 1] + x[recoding.right[i]]) / 2
    return x, y, links


def _test(recoding: Any, i: int) -> str:
    column = recoding.columns[recoding.split[i]]
    if column.kind in ("numeric", "date"):
        return f"{_short(column.name)} < {cut(recoding.threshold[i], column.unit)}"
    found = ["(missing)" if c is None else c for c in recoding.subsets[recoding.subset[i]]]
    more = f"\n+ {len(found) - 2} more" if len(found) > 2 else ""
    return f"{_short(column.name)} in\n" + "\n".join(_short(c) for c in found[:2]) + more


def _short(text: Any, length: int = 16) -> str:
    text = str(text).replace("$", r"\$")
    return text if len(text) <= length else text[: length - 1] + "…"
