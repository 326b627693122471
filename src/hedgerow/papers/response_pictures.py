"""Figures 3 to 7 of Guo, Ying & Wu as SVG."""

from __future__ import annotations

from typing import Any

from ..report.pictures import svg_text

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
    return {
        f"{name}.svg": _picture(figures[name], *what)
        for name, what in _WHAT.items()
        if name in figures
    }


def _picture(series: dict[str, Any], title: str, x: str, measures: tuple[str, ...]) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(measures), 3.4), layout="constrained")
    figure.suptitle(title)
    for at, measure in enumerate(measures, start=1):
        axes = figure.add_subplot(1, len(measures), at)
        for mark, (name, rows) in zip(
            _MARKS, ((n, r) for n, r in series.items() if isinstance(r, list)), strict=False
        ):
            axes.plot(
                [row[x] for row in rows], [row[measure] for row in rows], marker=mark, label=name
            )
        original = series.get("original")
        if isinstance(original, dict):
            axes.axhline(original[measure], color="grey", linestyle=":", label="original")
        axes.set_xlabel(x)
        axes.set_title(_TITLES[measure], fontsize=10)
        axes.set_ylim(bottom=0)
        if at == 1:
            axes.legend(fontsize=8)
    return svg_text(figure)
