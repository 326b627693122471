"""The clickable picture of a frontier: where its points stand and what it says of them."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from hedgerow.report.svg import choices


def point(method: str, k: int, cap: float | None, disclosure: float, utility: float) -> dict[str, Any]:
    return {"method": method, "parameters": {"k": k, "max_disclosure": cap},
            "disclosure": disclosure, "utility": utility}  # fmt: skip


POINTS = [
    point("MART", 10, 0.5, 0.5, 0.6),
    point("MART", 10, 0.2, 0.2, 0.3),
    point("MART", 20, 0.5, 0.45, 0.5),
    point("Hedge", 10, 0.5, 0.4, 0.7),
]


def circles(svg: str) -> dict[int, dict[str, Any]]:
    root = ElementTree.fromstring(svg)
    return {int(c.attrib["data-point"]): c.attrib for c in root.iter("circle")}


def test_right_is_more_use_and_up_tells_more() -> None:
    found = circles(choices(POINTS, "MART", 0, 10))
    x = {i: float(c["cx"]) for i, c in found.items()}
    y = {i: float(c["cy"]) for i, c in found.items()}
    assert sorted(x, key=x.__getitem__) == [1, 2, 0, 3]
    assert sorted(y, key=lambda i: -y[i]) == [1, 3, 2, 0]


def test_the_chosen_one_and_its_line_stand_out() -> None:
    svg = choices(POINTS, "MART", 0, 10)
    kinds = {i: c["class"].split()[1] for i, c in circles(svg).items()}
    assert kinds == {0: "chosen", 1: "own", 2: "faint", 3: "other"}
    line = re.search('<polyline points="([^"]*)"', svg)
    assert line is not None
    assert len(line[1].split()) == 2
    assert "Chosen: MART 10, .5: use 0.60, tells 0.50." in svg
    assert "not among them yet" in choices(POINTS, "MART", None, 12)


def test_labels_lie_over_no_other_label() -> None:
    many = [point("MART", 10, c / 100, c / 100, 0.3 + c / 1000) for c in range(5, 100, 3)]
    root = ElementTree.fromstring(choices(many, "MART", 4, 10))
    boxes = []
    for text in root.iter("text"):
        words, x, y = text.text or "", float(text.attrib["x"]), float(text.attrib["y"])
        wide = 6.0 * len(words)
        left = {"start": x, "end": x - wide, "middle": x - wide / 2}[text.attrib["text-anchor"]]
        if y < 262:
            boxes.append((left, y - 9, left + wide, y))
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_one_point_and_none() -> None:
    assert choices([], "MART", None, 10) == ""
    assert len(circles(choices(POINTS[:1], "MART", 0, 10))) == 1


def test_names_are_text() -> None:
    odd = {**POINTS[0], "method": "<b>", "parameters": {"k": 10}}
    assert "<b>" not in choices([odd], "<b>", 0, 10)
