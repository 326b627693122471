"""Figures 5 to 16 of Fu et al. as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..report.pictures import svg_text

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
        x = [row["leaves"] for row in rows]
        series = [
            (label, [row["scores"][learner][key] for row in rows], colour, style)
            for key, label, colour, style in _SERIES
        ]
        what = "accuracy" if data == "adult" else "R2"
        found[name] = _draw(f"{learner} on {data}", x, series, "leaves of the tree", what)
    for name, data, key in (
        ("figure7", "adult", "k"),
        ("figure8", "diabetes", "k"),
        ("figure9", "adult", "l"),
    ):
        rows = made[data]
        series = [
            (label, [row[key][method] for row in rows], colour, "-")
            for method, label, colour in (
                ("tpp", "TPP", "tab:green"),
                ("mondrian", "InfoGain", "tab:orange"),
            )
        ]
        x = [row["leaves"] for row in rows]
        title = f"{key.upper()} on {data}"
        found[name] = _draw(title, x, series, "leaves of the tree", key.upper(), log=key == "k")
    for name, key in (("figure15", "records"), ("figure16", "attributes")):
        rows = made[name]
        line = [("TPP", [row["seconds"] for row in rows], "tab:green", "-")]
        found[name] = _draw(f"seconds by {key}", [row[key] for row in rows], line, key, "seconds")
    return found


def _draw(
    title: str,
    x: Sequence[float],
    series: Sequence[tuple[str, Sequence[float], str, str]],
    x_label: str,
    y_label: str,
    log: bool = False,
) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.add_subplot()
    for label, y, colour, style in series:
        axes.plot(x, y, marker="o", markersize=4, color=colour, linestyle=style, label=label)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if log:
        axes.set_yscale("log")
    if y_label == "seconds":
        axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    return svg_text(figure)
