"""Pictures, drawn on any axes or as SVG for the report with the same bytes on every run."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ..auditing.column_comparison import Histogram, Scatter, moved_share, scatter
from ..auditing.frontier_data import FrontierData, PointData
from ..auditing.success import AttackData
from ..errors import InputError
from ..json_types import Figures
from ..measures import disclosure
from ..measures.guarantees import cap_of
from ..notation import percent
from ..texts import read_toml, text
from .figures import blind_guess
from .svg import UNNAMED, LabelSpace, parameters_in_short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ORIGINAL, RELEASE, CONTROL, PUBLIC = "#8c8c8c", "#1b5e94", "#c46200", "#3c3c3c"
_BAR, _GRID = "#b8b8b8", "#dddddd"
_DRAWN = read_toml(__package__, "pictures.toml")
STYLE: dict[str, Any] = _DRAWN["style"]


@dataclass(frozen=True)
class Picture:
    """An SVG image with the text that describes it."""

    svg: str
    alt: str

    @property
    def source(self) -> str:
        """Return the image as a data URL, so that the page needs no other file."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg.encode()).decode()


@contextmanager
def _figure(width: float, height: float, below: float = 0.0) -> Iterator[tuple[Axes, list[str]]]:
    """Yield new axes, and a list that gets their SVG at the end; `below` inches are left for a legend."""
    import matplotlib
    from matplotlib.figure import Figure

    svg: list[str] = []
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height))
        axes = figure.add_subplot()
        yield axes, svg
        _margins(figure, axes, below)
        svg.append(svg_text(figure))


def svg_text(figure: Figure) -> str:
    """Return a figure as SVG with a fixed salt and no date, so that the same numbers give the same text."""
    import matplotlib

    text = io.StringIO()
    # else matplotlib writes the time and its version into the file
    metadata: Any = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    # text stays text: it can be searched, and files are smaller than with outlines
    with matplotlib.rc_context({"svg.hashsalt": "hedgerow", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata=metadata)
    return text.getvalue()


def _margins(figure: Figure, axes: Axes, legend: float) -> None:
    """Set the margins from the lengths of the labels; a layout engine would draw every figure twice."""
    width, height = figure.get_size_inches()
    inch = 0.07  # of a character at 9 points
    label_width = max((len(line) for t in axes.get_yticklabels() for line in t.get_text().split("\n")), default=0) or 6
    below = axes.get_xticklabels()
    turn = math.radians(max((t.get_rotation() for t in below), default=0.0))
    deep = max((len(t.get_text()) for t in below), default=0) * math.sin(turn)
    # a turned label ends at its tick, so the first one begins left of the axis
    first = len(below[0].get_text()) * math.cos(turn) if turn and below else 0.0
    beneath = 0.22 + inch * label_width + (0.25 if axes.get_ylabel() else 0.0)
    figure.subplots_adjust(
        left=min(max(beneath, 0.05 + inch * first), 0.6 * width) / width,
        right=1 - 0.15 / width,
        bottom=min(0.25 + inch * deep + (0.22 if axes.get_xlabel() else 0.0) + legend, 0.6 * height) / height,
        top=1 - (0.3 if axes.get_title() or axes.get_legend() else 0.1) / height,
    )


def _legend(axes: Axes) -> None:
    """Draw the legend above the picture, on the right."""
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.1, frameon=False)


def _ink(axes: Axes, colour: str) -> str:
    """Return the colour, or its counterpart if the axes have a dark background."""
    from matplotlib.colors import to_rgba

    red, green, blue, solid = to_rgba(axes.get_facecolor())
    # how bright the eye sees red, green and blue, roughly
    dark = solid > 0.5 and 0.3 * red + 0.6 * green + 0.1 * blue < 0.4
    return _DRAWN["on_dark"].get(colour, colour) if dark else colour


def _percent_axis(axis: Any) -> None:
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _plain_log(axis: Any) -> None:
    """Set the ticks of an axis at 1, 2, 5, 10, 20 ..., written as plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _histograms(risk: Figures) -> list[Sequence[Mapping[str, int]]]:
    """Return the histograms of group sizes of the original (empty if there is none) and of the release."""
    return [risk[side]["classes"]["histogram"] if risk[side] else [] for side in ("original", "release")]


def draw_sizes(axes: Axes, risk: Figures) -> None:
    """Draw bars of the share of records by the size of their class, from the risk of an audit."""
    before, after = _histograms(risk)
    bins = sorted({(b["from"], b["to"]) for b in (*before, *after)})
    names = [str(lo) if lo == hi else f"{lo}-{hi}" for lo, hi in bins]
    for shift, rows, colour, label in (
        (-0.2, before, ORIGINAL, "original"),
        (0.2, after, _ink(axes, RELEASE), "release"),
    ):
        if rows:
            total = sum(r["records"] for r in rows) or 1
            shares = {r["from"]: r["records"] / total for r in rows}
            heights = [shares.get(lo, 0.0) for lo, _ in bins]
            axes.bar(np.arange(len(bins)) + shift, heights, 0.4, color=colour, label=label)
    # more than eight names run into each other
    axes.set_xticks(range(len(bins)), names, rotation=30 if len(bins) > 8 else 0)
    axes.set_xlabel("records in the group")
    axes.set_ylabel("share of records")
    _percent_axis(axes.yaxis)
    _legend(axes)


def class_sizes(risk: Figures) -> Picture:
    """Return a picture of the share of records by class size, for the original (if any) and the release."""
    with _figure(5.2, 2.6) as (axes, svg):
        draw_sizes(axes, risk)
    alone, (before, _) = "", _histograms(risk)
    if before:
        share = sum(r["records"] for r in before if r["from"] == 1) / (sum(r["records"] for r in before) or 1)
        alone = text("pictures", "sizes_before", share=percent(share, 0))
    return Picture(svg[0], text("pictures", "sizes", before=alone, k=risk["release"]["classes"]["k"]))


def draw_disclosure(axes: Axes, points: Scatter, cap: float | None = None) -> tuple[int, float]:
    """Draw classes by size and disclosure, with the cap; return their number and the worst disclosure."""
    from matplotlib.ticker import MaxNLocator

    colour = _ink(axes, RELEASE)
    if "sizes" in points:
        axes.scatter(points["sizes"], points["disclosure"], s=9, color=colour, alpha=0.6, linewidths=0)
        n, worst = len(points["sizes"]), max(points["disclosure"], default=0.0)
    else:
        table = np.array(points["classes"], float).T
        n = int(table.sum())
        edges = points["disclosure_edges"]
        # of groups in bins no more is known than the upper edge
        worst = float(max((edges[i + 1] for i in range(len(table)) if table[i].any()), default=0.0))
        counts = np.where(table > 0, table, np.nan)  # empty bins stay paper
        mesh = axes.pcolormesh(points["size_edges"], edges, counts, cmap="Blues", norm="log")
        _plain_log(axes.figure.colorbar(mesh, ax=axes, label="groups").ax.yaxis)
    axes.set_xscale("log")
    _plain_log(axes.xaxis)
    low, high = axes.get_xlim()
    if high < 5 * low:  # few sizes, which are whole numbers
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    # marks at 0 and 1 are drawn whole
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("records in the group")
    axes.set_ylabel("disclosure")
    _percent_axis(axes.yaxis)
    if cap is not None:
        axes.axhline(cap, color=_ink(axes, CONTROL), linewidth=1.2, label=f"the cap, {percent(cap, None)}")
        _legend(axes)
    return n, worst


def disclosure_scatter(name: str, points: Scatter, cap: float | None = None) -> Picture:
    """Return a picture of class size against disclosure, with the cap; more than 1,000 classes are binned."""
    with _figure(5.2, 2.8) as (axes, svg):
        n, worst = draw_disclosure(axes, points, cap)
    place = "in the row below " if "size_edges" in points else ""
    return Picture(svg[0], text("pictures", "disclosure", name=name, n=n, place=place, worst=percent(worst, 0)))


def draw_attacks(axes: Axes, attacks: Sequence[AttackData]) -> None:
    """Draw one line per attack: its success with interval, control, public guess and original."""
    # attacks on a column are named by learner and column, others by what they try
    about = {a["target"] for a in attacks if a["attack"] in ("regression", "inference")}
    names, attacks = [], [attack for attack in attacks if attack["people"]]
    for i, attack in enumerate(attacks):
        learner, target = attack["learner"], attack["target"]
        name = f"{learner}: {target}" if target in about else f"{attack['attack']}: {learner}"
        # the same learner asks who took part twice: by what neighbours know, and by all
        more = f", {target}" if attack["attack"] == "membership" else ""
        # beyond this length a name takes a second line, for the axes need their width
        names.append(fill(name + more, 34, break_on_hyphens=False))
        # from top to bottom, as the table below has them
        y = len(attacks) - 1 - i
        low, high = attack["interval"]
        band: Any = {"color": _ink(axes, RELEASE), "linewidth": 5, "alpha": 0.35}
        axes.plot([low, high], [y, y], solid_capstyle="butt", **band)
        for value, colour, marker, label in (
            (attack["original"], ORIGINAL, "s", "original table"),
            (attack["control"], _ink(axes, CONTROL), "D", "control"),
            (blind_guess(attack), _ink(axes, PUBLIC), "|", "public totals"),
            (attack["success"], _ink(axes, RELEASE), "o", "release"),
        ):
            # the control of a pair's linking answers another question; it stands in the table
            other = label == "control" and attack["attack"] == "linking"
            if value is None or (other and attack["over_control"] is None):
                continue
            size, edge = (10, 2) if marker == "|" else (6, 0)
            style: Any = {"color": colour, "linestyle": "none", "markersize": size, "markeredgewidth": edge}
            axes.plot(value, y, marker=marker, label=label if i == 0 else None, **style)
    axes.set_yticks(range(len(attacks)), names[::-1])
    axes.set_ylim(-0.6, len(attacks) - 0.4)
    axes.set_xlim(-0.02, 1.02)
    axes.grid(axis="x", color=_ink(axes, _GRID), linewidth=0.6)
    axes.set_xlabel("people it is right about (95% interval)")
    _percent_axis(axes.xaxis)


def attack_bars(attacks: Sequence[AttackData]) -> Picture:
    """Return a picture of the success of every attack next to its control, the public guess and the original."""
    with _figure(5.8, 0.9 + 0.42 * len(attacks), 0.3) as (axes, svg):
        draw_attacks(axes, attacks)
        below: Any = {"bbox_to_anchor": (0.5, 0.0), "bbox_transform": axes.figure.transFigure}
        axes.legend(loc="lower center", ncols=4, columnspacing=1.2, handletextpad=0.3, **below)
    worst = max(attacks, key=lambda a: a["success"])
    shares = {"release": percent(worst["success"], 0), "original": percent(worst["original"], 0)}
    by = {"learner": worst["learner"], "target": worst["target"]}
    return Picture(svg[0], text("pictures", "attacks", n=len(attacks), **shares, **by))


def before_after(name: str, shape: Histogram) -> Picture:
    """Return a picture of one column's shares before and after; every category is named."""
    with _figure(*column_size(shape)) as (axes, svg):
        draw_column(axes, shape)
    return Picture(svg[0], text("pictures", "column", name=name, moved=percent(moved_share(shape), 0)))


def column_size(shape: Histogram) -> tuple[float, float]:
    """Return the width and height of a column's picture in inches; each category takes one line."""
    return 4.4, 2.3 if shape["kind"] == "numbers" else 0.75 + 0.27 * len(shape["labels"])


def draw_column(axes: Axes, shape: Histogram) -> None:
    """Draw a column's shares before and after: bins of numbers, or two bars per category."""
    (_categories if shape["kind"] == "categories" else _numbers)(axes, shape)
    _legend(axes)


def _numbers(axes: Axes, shape: Histogram) -> None:
    """Draw the bins of a numeric column: the original as bars, the release as steps above them."""
    labels = shape["labels"]
    place = np.arange(len(labels))
    axes.bar(place, shape["before"], 0.9, color=_ink(axes, _BAR), label="original")
    edges = np.append(place - 0.5, len(labels) - 0.5) if len(labels) else place
    heights = np.append(shape["after"], shape["after"][-1:])  # the last step needs an end
    line: Any = {"color": _ink(axes, RELEASE), "linewidth": 1.6, "label": "release"}
    axes.step(edges, heights, where="post", **line)
    # more than five labels do not fit
    step = max(1, -(-len(labels) // 5))
    long = max((len(str(label)) for label in labels), default=0) > 8
    turn: Any = {"rotation": 25, "ha": "right"} if long else {"rotation": 0, "ha": "center"}
    axes.set_xticks(place[::step], [_short(label) for label in labels[::step]], **turn)
    _percent_axis(axes.yaxis)


def _categories(axes: Axes, shape: Histogram) -> None:
    """Draw two bars per category, the original above the release."""
    names = [_short(label) for label in shape["labels"]]
    place = np.arange(len(names))[::-1]  # from top to bottom
    axes.barh(place + 0.2, shape["before"], 0.38, color=_ink(axes, _BAR), label="original")
    axes.barh(place - 0.2, shape["after"], 0.38, color=_ink(axes, RELEASE), label="release")
    axes.set_yticks(place, names)
    _percent_axis(axes.xaxis)
    axes.set_ylim(-0.6, len(names) - 0.4)


def _short(text: Any, length: int = 16) -> str:
    # matplotlib reads what stands between two dollars as a formula
    text = str(text).replace("$", r"\$")
    return text if len(text) <= length else text[: length - 1] + "…"


_MARKS = "os^Dvp*X"
# width and height in inches
_WIDTH, _HEIGHT = 7.0, 4.4
_LABELS = _DRAWN["labels"]
_FAINT, _MOST_LABELS = 0.35, 20
# inverts the picture on dark screens, as style.css does for the pictures of a report
_DARK = """<style>@media (prefers-color-scheme: dark) {
.hedgerow-frontier {filter: invert(1) hue-rotate(180deg)}
}</style>"""


def frontier_picture(frontier: FrontierData) -> Picture:
    """Return a picture of disclosure against utility, from `Frontier.to_dict()`.

    Points that are not dominated are labelled with their parameters if there is room,
    dominated ones are faint, and those whose cap makes learning collapse are crossed out.
    """
    import matplotlib
    from matplotlib.figure import Figure

    points = frontier["points"]
    with matplotlib.rc_context({**STYLE, **_DRAWN["sheet"]}):
        figure = Figure(figsize=(_WIDTH, _HEIGHT))
        wide, high = (_WIDTH - 0.85) / _WIDTH, (_HEIGHT - 0.65) / _HEIGHT
        fallen = draw_frontier(figure.add_axes((0.7 / _WIDTH, 0.55 / _HEIGHT, wide, high)), frontier)
        svg = svg_text(figure)
    best = sum(not p["dominated"] for p in points)
    impossible = len(frontier["infeasible"])
    words = text("pictures", "frontier", n=len(points), best=best, fallen=fallen, impossible=impossible)
    head, _, rest = svg.partition("<svg ")
    rest = rest.replace(">", f">\n{_DARK}", 1)
    return Picture(f'{head}<svg class="hedgerow-frontier" {rest}', words)


def draw_frontier(axes: Axes, frontier: FrontierData) -> int:
    """Draw every release as a mark; those that no other one dominates are joined and labelled.

    Parameters
    ----------
    axes : matplotlib axes
    frontier : mapping
        The points of `Frontier.to_dict`.

    Returns
    -------
    int
        The number of releases under whose cap learning collapses.
    """
    points = frontier["points"]

    def mark(some: Sequence[PointData], **style: Any) -> None:
        axes.scatter([p["disclosure"] for p in some], [p["utility"] for p in some], **style)

    for m, method in enumerate(dict.fromkeys(p["method"] for p in points)):
        style: Any = {"s": 34, "marker": _MARKS[m % len(_MARKS)], "color": f"C{m % 10}", "linewidths": 0}
        mine = [p for p in points if p["method"] == method]
        mark([p for p in mine if not p["dominated"]], alpha=1.0, label=method, **style)
        mark([p for p in mine if p["dominated"]], alpha=_FAINT, **style)
    if fallen := [p for p in points if p["collapsed"]]:
        mark(fallen, s=90, marker="x", color="#c0392b", linewidths=1.2, label="learning collapses")
    front = sorted((p["disclosure"], p["utility"]) for p in points if not p["dominated"])
    axes.plot([d for d, _ in front], [u for _, u in front], color="#999999", linewidth=1, zorder=0)
    axes.margins(0.12)
    axes.autoscale_view()  # labels are placed by where the points stand
    axes.set_xlabel(frontier["disclosure"])
    utility = frontier["utility"]  # a long one goes without its unit, to stay beside the axis
    axes.set_ylabel(utility if len(utility) < 60 else utility.partition(" (")[0])
    if points:
        axes.legend(title=_legend_title(points), title_fontsize=8, alignment="left")
        _label(axes, points)
    return len(fallen)


def _legend_title(points: Sequence[PointData]) -> str:
    names = [n for n in UNNAMED if any(n in p["parameters"] for p in points)]
    lines = [f"labels: {', '.join(names)}"] if names else []
    if any(p["dominated"] for p in points):
        lines.append("faint: another is better")
    return "\n".join(lines)


def _label(axes: Any, points: Sequence[PointData]) -> None:
    """Draw labels at the points that no other one dominates, and at those of a few, if nothing is covered."""
    inch = axes.figure.dpi
    # in points, so that a label has one size at every resolution
    places = axes.transData.transform([(p["disclosure"], p["utility"]) for p in points]) * 72 / inch
    frame, legend = (tuple(each.get_window_extent().extents * 72 / inch) for each in (axes, axes.get_legend()))
    space = LabelSpace(frame)
    space.boxes.append(legend)
    for x, y in places:
        space.block(x, y, 3)
    front = sorted(tuple(xy) for p, xy in zip(points, places, strict=True) if not p["dominated"])
    for (x, y), (to_x, to_y) in pairwise(front):
        steps = 1 + int(max(abs(to_x - x), abs(to_y - y)) / 2)
        for s in range(steps):  # the line, as dots
            at_x, at_y = x + (to_x - x) * s / steps, y + (to_y - y) * s / steps
            space.block(at_x, at_y, 0.5)
    # those that are dominated come last, for the others need the space
    for point, (x, y) in sorted(zip(points, places, strict=True), key=lambda each: each[0]["dominated"]):
        text = parameters_in_short(point["parameters"])
        if not text or (point["dominated"] and len(points) > _MOST_LABELS):
            continue
        place = space.place(x, y, (_LABELS["character"] * len(text), 0, _LABELS["line"]), _LABELS["places"])
        if place is not None:
            dx, dy, side = place
            style: Any = {"ha": side, "fontsize": 7.5, "parse_math": False, "alpha": 0.6 if point["dominated"] else 1}
            at = point["disclosure"], point["utility"]
            axes.annotate(text, at, xytext=(dx, dy + 1.5), textcoords="offset points", **style)


# the report's style without background colours, which are the reader's
_TEXT = {name: value for name, value in STYLE.items() if "facecolor" not in name}


@contextmanager
def _on(axes: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """Yield the caller's axes, or those of a new figure of `width` by `height` inches."""
    if axes is not None:
        yield axes
        return
    import matplotlib
    from matplotlib import pyplot

    # the edge keeps the reader's colour, which fits the reader's paper
    with matplotlib.rc_context({**_TEXT, "axes.edgecolor": matplotlib.rcParams["axes.edgecolor"]}):
        _, new_axes = pyplot.subplots(figsize=(width, height), layout="constrained")
        is_interactive = matplotlib.is_interactive()
        yield new_axes
    # a notebook switches its pictures on with the first figure, which leaving the settings undoes
    matplotlib.interactive(is_interactive)


def plot_frontier(frontier: FrontierData, ax: Axes | None) -> Axes:
    """Draw disclosure against utility from `Frontier.to_dict()`, and return the axes."""
    with _on(ax, 7.0, 4.4) as axes:
        draw_frontier(axes, frontier)
    return axes


def plot_column(name: str, shape: Histogram, ax: Axes | None) -> Axes:
    """Draw the shares of a column before and after, and return the axes."""
    width, height = column_size(shape)
    with _on(ax, width + 1, height + 0.4) as axes:
        draw_column(axes, shape)
        axes.set_title(name, loc="left")
        axes.set_xlabel("share of records" if shape["kind"] == "categories" else name)
        axes.set_ylabel("" if shape["kind"] == "categories" else "share of records")
    return axes


def plot_release(release: Any, column: str | None, ax: Axes | None) -> Axes:
    """Draw groups by size and disclosure with the cap, or a column before and after; return the axes.

    Parameters
    ----------
    release : Release
    column : str, optional
    ax : matplotlib axes, optional
    """
    if column is None and release.plan.risk_model == "classes":
        classes = release.judged()
        sensitive = {name: c.per_class(disclosure.column_disclosure)[0] for name, c in classes.sensitive.items()}
        if sensitive:
            name = max(sensitive, key=lambda n: float(sensitive[n].max(initial=0.0)))
            return _groups(name, scatter(classes.sizes, sensitive[name]), cap_of(release.plan.promises, name), ax)
    return release.compare(column or release.plan.names("quasi")[0]).plot(ax=ax)


def _groups(name: str, points: Scatter, cap: float | None, ax: Axes | None) -> Axes:
    with _on(ax, 6.4, 3.4) as axes:
        draw_disclosure(axes, points, cap)
        axes.set_title(f"What groups give away about {name}", loc="left")
    return axes


def plot_audit(audit: Any, what: str | None, ax: Axes | None) -> Axes:
    """Draw attacks, disclosure by groups, group sizes, or a column before and after; return the axes.

    Parameters
    ----------
    audit : Audit
    what : str, optional
    ax : matplotlib axes, optional

    Raises
    ------
    InputError
        The audit has no picture of that name.
    """
    grouped = audit.table["yardstick"] == "classes"
    columns = {n: shape for n, shape in audit.pictures["histograms"].items() if shape["labels"]}
    scatters = audit.pictures["scatters"] if grouped else {}
    drawable = {"attacks": audit.attacks, "disclosure": scatters, "groups": grouped}
    names = [*(name for name, is_there in drawable.items() if is_there), *columns]
    # the first is what decides most: attacks, where they were run
    what = what or next(iter(names), "attacks")
    if what not in names:
        hint = f"it has {', '.join(names)}" if names else "it ran no attacks: attacks=True"
        raise InputError(f"this audit has no picture of {what!r}", hint=hint)
    if what in columns:
        return plot_column(what, columns[what], ax)
    if what == "disclosure":
        sensitive = audit.risk["release"]["sensitive"]
        name = max(scatters, key=lambda n: sensitive[n]["disclosure"]["worst"])
        return _groups(name, scatters[name], cap_of(audit.promises, name), ax)
    if what == "groups":
        with _on(ax, 6.4, 3.2) as axes:
            draw_sizes(axes, audit.risk)
            axes.set_title("Sizes of groups", loc="left")
        return axes
    tall = 0.6 + 0.42 * len(audit.attacks)
    with _on(ax, 7.4, 0.9 + tall) as axes:
        draw_attacks(axes, audit.attacks)
        if ax is None:
            axes.legend(loc="upper right", bbox_to_anchor=(1.0, -0.5 / tall), ncols=4)
        else:
            axes.legend()
    return axes
