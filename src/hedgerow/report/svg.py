"""Small SVG pictures inside the page, in its colours, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..auditing.frontier_data import Parameters, PointData
from ..notation import figure, percent

Box = tuple[float, float, float, float]
Size = tuple[float, float, float]
# the fraction of a label before its anchor, by the anchor names of SVG and of matplotlib
_SIDES = {"start": 0.0, "left": 0.0, "middle": 0.5, "center": 0.5, "end": 1.0, "right": 1.0}
# offsets of a label from its point in pixels, with the anchor of the label
_PLACES = ((11, 4, "start"), (-11, 4, "end"), (0, -12, "middle"), (0, 21, "middle"))
_BARS_WIDTH = 440
# parameters that a label gives without their names
UNNAMED = ("k", "max_disclosure")


def shares_by_group(
    shares: Sequence[float], cap: float | None, alt: str, ends: tuple[str, str] = ("0% nothing", "100% all")
) -> str:
    """Return an SVG of the share of records by a figure of their group, with the promised cap.

    Parameters
    ----------
    shares : sequence of float
        Share of the records in each bin; the bins have equal width from 0 to 1.
    cap : float, optional
        Position of the cap line.
    alt : str
        The picture in words.
    ends : tuple of str
        The words below the two ends of the axis.
    """
    start, wide, base, high = 4, _BARS_WIDTH - 8, 88, 70
    step, top = wide / len(shares), max(shares, default=0.0) or 1.0
    parts = [
        f'<rect x="{start + i * step + 1:.1f}" y="{base - high * s / top:.1f}" '
        f'width="{step - 2:.1f}" height="{high * s / top:.1f}" class="leaf"/>'
        for i, s in enumerate(shares)
        if s > 0
    ]
    parts.append(f'<path d="M{start} {base}H{start + wide}" class="axis"/>')
    for at, anchor, words in ((0, "start", ends[0]), (1, "end", ends[1])):
        parts.append(_text(start + at * wide, base + 16, words, anchor))
    if cap is not None:
        x = start + cap * wide
        # at the right edge the words stand on the other side of the line
        side, off = ("start", 5) if cap < 0.8 else ("end", -5)
        parts.append(f'<path d="M{x:.1f} 2V{base + 4}" class="cap"/>')
        parts.append(_text(x + off, 12, f"the cap, {percent(cap, None)}", side))
    return _svg(base + 24, parts, alt)


def bars(
    rows: Sequence[tuple[str, float | None, float | None, float | None]], note: str, alt: str, *, most: float
) -> str:
    """Return an SVG with two bars per row, grey for the original and green for the release.

    Parameters
    ----------
    rows : sequence of (name, original, release, mark)
        None draws nothing; a mark is a line across both bars.
    note : str
        A line below the bars that explains them.
    alt : str
    most : float
        The value of the longest bar.
    """
    parts, y = list[str](), 12.0
    # a bar far below 0 is cut, and its figure says how far it goes
    least = max(min([0.0, *(value for _, *row in rows for value in row if value is not None)]), -most / 4)

    def place(value: float) -> float:
        return (_BARS_WIDTH - 48) * (min(max(value, least), most) - least) / (most - least)

    for name, before, after, mark in rows:
        parts.append(_text(0, y, name, "start"))
        top = y + 5
        # -1: no mark, or one that lies beyond the picture
        line = max(place(mark), 1.0) if mark is not None and mark <= most else -1.0
        for value, kind in ((before, "grey"), (after, "leaf2")):
            if value is None:
                continue
            start, end = sorted((place(0.0), place(value)))
            y += 12
            parts.append(f'<rect x="{start:.1f}" y="{y - 6:g}" width="{end - start:.1f}" height="9" class="{kind}"/>')
            covered = end <= line < end + 36  # the figure stands beside the line, not in it
            parts.append(_text((line if covered else end) + 5, y + 3, figure(value), "start"))
        if line >= 0:
            parts.append(f'<path d="M{line:.1f} {top - 2:g}V{y + 5:g}" class="mark"/>')
        y += 19
    parts.append(_text(0, y + 4, note, "start"))
    return _svg(y + 10, parts, alt)


def _svg(height: float, parts: Sequence[str], alt: str, width: int = _BARS_WIDTH) -> str:
    return f'<svg viewBox="0 0 {width} {height:g}" role="img" aria-label="{escape(alt)}">' + "".join(parts) + "</svg>"


def parameters_in_short(parameters: Parameters) -> str:
    """Return parameters as a short label for a point.

    Examples
    --------
    >>> parameters_in_short({"k": 10, "max_disclosure": 0.4})
    '10, .4'
    >>> parameters_in_short({"max_disclosure": None, "scale": 0.3})
    'no cap, scale .3'
    >>> parameters_in_short({"k": 10, "max_disclosure": 1.0})
    '10, no cap'
    """
    parts = []
    for name, value in parameters.items():
        text = f"{value:g}" if isinstance(value, float) else str(value)
        # the shorter a label, the more of them find space
        text = text[1:] if text.startswith("0.") else text
        if name in UNNAMED:
            none = name == "max_disclosure" and (value is None or value >= 1)
            parts.append("no cap" if none else text)
        else:
            parts.append(f"{name} {text}")
    return ", ".join(parts)


WIDTH, HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BASE = 52, 620, 16, 262


def choices(points: Sequence[PointData], title: str, chosen: int | None, k: int | None) -> str:
    """Return an SVG of the points of a frontier: further right is more useful, lower is less disclosure.

    Points of the chosen method and k are joined by a line, and all others are faint. Each point
    has the class ``point`` and its number as ``data-point``.

    Parameters
    ----------
    points : sequence of mapping
        As `Frontier.to_dict` has them.
    title : str
        The title of the chosen method.
    chosen : int, optional
        The number of the point that is the chosen setting.
    k : int, optional
        The chosen k.
    """
    if not points:
        return ""
    low, high = _ends([p["utility"] for p in points])
    bottom, top = _ends([p["disclosure"] for p in points])

    def place(point: PointData) -> tuple[float, float]:
        # the largest mark, of 9 pixels, stays off the axes
        x = _LEFT + 16 + (_RIGHT - _LEFT - 32) * (point["utility"] - low) / (high - low)
        y = _BASE - 12 - (_BASE - _TOP - 20) * (point["disclosure"] - bottom) / (top - bottom)
        return x, y

    mine = [i for i, p in enumerate(points) if p["method"] == title]
    strong = [i for i in mine if k is None or points[i]["parameters"].get("k") == k]
    line = sorted((place(points[i]) for i in strong), key=lambda xy: (-xy[1], xy[0]))
    parts = [
        f'<path d="M{_LEFT} {_TOP}V{_BASE}H{_RIGHT}" class="axis" fill="none"/>',
        _text(_LEFT - 6, _TOP + 8, figure(top, 2), "end"),
        _text(_LEFT - 6, _BASE - 8, figure(bottom, 2), "end"),
        _text(_LEFT + 16, _BASE + 18, figure(low, 2), "start"),
        _text(_RIGHT - 16, _BASE + 18, figure(high, 2), "end"),
        _text((_LEFT + _RIGHT) / 2, _BASE + 38, "more use to the right", "middle"),
        _text(_LEFT + 6, _TOP + 2, "tells more", "start"),
        _text(_RIGHT, _BASE - 4, "better ↘", "end"),
    ]
    # one point makes no line
    if len(line) > 1:
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
        parts.append(f'<polyline points="{way}" class="way"/>')
    labels = LabelSpace((_LEFT, 0, WIDTH, _BASE))
    labels.block(_RIGHT - 24, _BASE - 8, 24)
    marks = []
    # what is drawn later lies above: the points of the line, and the chosen one last
    for i in sorted(range(len(points)), key=lambda i: (i == chosen, i in strong)):
        x, y = place(points[i])
        kind = "chosen" if i == chosen else "own" if i in strong else "faint" if i in mine else "other"
        labels.block(x, y, 9 if i == chosen else 7)
        marks.append(_mark(i, x, y, kind, points[i]))
    parts += marks
    # the chosen point has its label wherever there is space for one
    named = [] if chosen is None else [chosen]
    for i in [*named, *(i for i in strong if i != chosen)]:
        parts += _label(labels, *place(points[i]), _point_label(points[i], i == chosen), i == chosen)
    choice = "The chosen one is not among them yet" if chosen is None else f"Chosen: {_named(points[chosen])}"
    return _svg(HEIGHT, parts, f"{len(points)} settings by use and by what they tell. {choice}.", WIDTH)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    # equal values would divide by nothing; they stand in the middle
    return (low, high) if high - low > 1e-3 else (low - 0.05, high + 0.05)


def _point_label(point: PointData, chosen: bool) -> str:
    """Return the label of a point on the line, without its k unless the point is the chosen one."""
    parameters = point["parameters"]
    if chosen or not set(parameters) <= {"k", "max_disclosure"}:
        return parameters_in_short(parameters)
    return parameters_in_short({n: v for n, v in parameters.items() if n != "k"})


def _named(point: PointData) -> str:
    """Return a point's method, parameters and figures as text."""
    figures = f"use {figure(point['utility'], 2)}, tells {figure(point['disclosure'], 2)}"
    return f"{point['method']} {parameters_in_short(point['parameters'])}".strip() + f": {figures}"


def _mark(i: int, x: float, y: float, kind: str, point: PointData) -> str:
    size = {"chosen": 9, "own": 6, "faint": 4.5, "other": 4.5}[kind]
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" class="point {kind}" data-point="{i}">'
        f"<title>{escape(_named(point))}</title></circle>"
    )


def _text(x: float, y: float, words: str, anchor: str, kind: str = "") -> str:
    more = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:g}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


class LabelSpace:
    """The free space for labels in a frame; no label covers another one or a mark.

    Boxes are left, top (or bottom), right and bottom (or top), the smaller number first.
    """

    def __init__(self, frame: Box) -> None:
        self.frame = frame
        self.boxes: list[Box] = []

    def block(self, x: float, y: float, reach: float) -> None:
        """Keep labels away from a mark at (x, y)."""
        self.boxes.append((x - reach, y - reach, x + reach, y + reach))

    def place(
        self, x: float, y: float, size: Size, places: Sequence[tuple[float, float, str]]
    ) -> tuple[float, float, str] | None:
        """Return the first free place for a label next to a point, and mark it as occupied; None if there is none.

        `size` is the label's width, and its height before and after its baseline. A place is an
        offset from the point, and the side of the label that is placed there.
        """
        wide, before, after = size
        low, top, right, bottom = self.frame
        for place in places:
            dx, dy, side = place
            start = x + dx - wide * _SIDES[side]
            box = start, y + dy - before, start + wide, y + dy + after
            free = box[0] >= low and box[1] >= top and box[2] <= right and box[3] <= bottom
            if free and not any(
                box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in self.boxes
            ):
                self.boxes.append(box)
                return place
        return None


def _label(space: LabelSpace, x: float, y: float, words: str, strong: bool) -> list[str]:
    """Return the SVG of a point's label, in a list; empty if there is no space for it."""
    if (place := space.place(x, y, (6.6 * len(words), 11, 3), _PLACES)) is None:
        return []
    dx, dy, anchor = place
    return [_text(x + dx, y + dy, words, anchor, "strong" if strong else "")]
