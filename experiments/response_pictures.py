"""Figures 3 to 7 of Guo, Ying & Wu as SVG."""

from __future__ import annotations

from typing import Any

from .curves import Line, Panel, curves

_TITLES = {
    "euclid": "Euclidean distance",
    "kl": "KL distance",
    "chi2": "chi-square distance",
    "base_error": "error of the base group-by",
    "cube_error": "error of the CUBE query",
    "with_sensitive": "U, sensitive with quasi-identifiers",
    "among_quasi": "U among quasi-identifiers",
}
_WHAT = {
    "figure3": ("EMGRW: reconstruction by l", "l", ("euclid", "kl", "chi2")),
    "figure4": (
        "EMGRW, RR-QI, l = 3: reconstruction by records",
        "records",
        ("euclid", "kl", "chi2"),
    ),
    "figure5": ("ESGRO: reconstruction by l", "l", ("euclid", "kl", "chi2")),
    "figure6": ("ESGRO: mean relative error of counts", "l", ("base_error", "cube_error")),
    "figure7": ("ESGRO: mean uncertainty coefficients", "l", ("with_sensitive", "among_quasi")),
}
_MARKS = ("o", "s", "^", "D")


def pictures(figures: dict[str, Any]) -> dict[str, str]:
    """SVG text per file name."""
    return {name: _picture(figures[name], *what) for name, what in _WHAT.items() if name in figures}


def _picture(series: dict[str, Any], title: str, x: str, measures: tuple[str, ...]) -> str:
    panels = []
    for measure in measures:
        listed = {name: rows for name, rows in series.items() if isinstance(rows, list)}
        lines = [
            Line(name, [row[x] for row in rows], [row[measure] for row in rows], {"marker": mark})
            for mark, (name, rows) in zip(_MARKS, listed.items(), strict=False)
        ]
        original = series.get("original")
        if isinstance(original, dict):
            ends = [min(min(line.x) for line in lines), max(max(line.x) for line in lines)]
            dotted = {"color": "grey", "linestyle": ":"}
            lines.append(Line("original", ends, [original[measure]] * 2, dotted))
        panels.append(Panel(_TITLES[measure], x, lines, zero=True))
    return curves(panels, title)
