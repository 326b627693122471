"""Figures 5 to 16 of Fu et al. as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .curves import Line, Panel, curves

_LEAVES = "leaves of the tree"
_SERIES = (
    ("original", "original", "k", "-"),
    ("tpp leaking", "TPP, leaking", "tab:green", "--"),
    ("tpp honest", "TPP, honest", "tab:green", "-"),
    ("mondrian leaking", "InfoGain, leaking", "tab:orange", "--"),
    ("mondrian honest", "InfoGain, honest", "tab:orange", "-"),
)


def pictures(made: Mapping[str, Any]) -> dict[str, str]:
    """SVG text per figure of the paper."""
    found = {}
    for name, data, learner in (
        ("figure5", "adult", "tree"),
        ("figure6", "diabetes", "tree"),
        ("figure11", "adult", "naive Bayes"),
        ("figure12", "adult", "linear SVM"),
        ("figure13", "diabetes", "linear regression"),
    ):
        rows = made[data]
        x, scores = [row["leaves"] for row in rows], [row["scores"][learner] for row in rows]
        lines = [
            _line(label, x, [each[key] for each in scores], *style)
            for key, label, *style in _SERIES
        ]
        what = "accuracy" if data == "adult" else "R2"
        found[name] = curves([Panel(f"{learner} on {data}", _LEAVES, lines, what)])
    for name, data, key in (
        ("figure7", "adult", "k"),
        ("figure8", "diabetes", "k"),
        ("figure9", "adult", "l"),
    ):
        rows = made[data]
        x = [row["leaves"] for row in rows]
        lines = [
            _line(label, x, [row[key][method] for row in rows], colour)
            for method, label, colour in (
                ("tpp", "TPP", "tab:green"),
                ("mondrian", "InfoGain", "tab:orange"),
            )
        ]
        scale, title = "log" if key == "k" else "linear", f"{key.upper()} on {data}"
        found[name] = curves([Panel(title, _LEAVES, lines, key.upper(), scale)])
    for name, key in (("figure15", "records"), ("figure16", "attributes")):
        rows = made[name]
        line = _line("TPP", [r[key] for r in rows], [r["seconds"] for r in rows], "tab:green")
        found[name] = curves([Panel(f"seconds by {key}", key, [line], "seconds", zero=True)])
    return found


def _line(
    label: str, x: Sequence[float], y: Sequence[float], colour: str, dashes: str = "-"
) -> Line:
    return Line(label, x, y, {"marker": "o", "color": colour, "linestyle": dashes})
