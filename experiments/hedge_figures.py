"""The picture of docs/hedge.md, and the slopes that it tells of."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.audit.pairing import pair_up
from hedgerow.audit.subject import of_release
from hedgerow.datasets import load_adult
from hedgerow.methods.base import Method
from hedgerow.methods.hedge import Hedge
from hedgerow.methods.mart import MART
from hedgerow.plan import Partition
from hedgerow.release import Release
from hedgerow.report.pictures import CONTROL, ORIGINAL, RELEASE, svg_text
from hedgerow.schema import Schema
from hedgerow.workflow.protect import protect

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

SHOWN = Schema(quasi=("age", "hours-per-week"), sensitive=("income",))
FEW = ("age", "education-num", "sex")
MANY = (*FEW, "marital-status", "workclass", "race")


def _people(n: int, seed: int) -> pa.Table:
    whole = load_adult()
    return whole.take(np.sort(np.random.default_rng(seed).permutation(whole.num_rows)[:n]))


def _released(people: pa.Table, schema: Schema, method: Method) -> Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return protect(people, schema, method)


def idea() -> str:
    """Cells of people who are alike, what they are joined to, and what is released of them."""
    from matplotlib.figure import Figure

    people = _people(260, 4)
    release = _released(people, SHOWN, Hedge(k=10, max_disclosure=0.3, screen=False))
    recoding = release.plan.recoding
    assert isinstance(recoding, Partition)
    method: Any = release.method
    cell = method.tree_.leaf_of_rows()
    group = method.group_of_cell_[cell]
    x, y = (people[n].to_numpy().astype(float) for n in SHOWN.quasi)
    rich = np.array([v.startswith(">") for v in people["income"].to_pylist()])
    pair = pair_up(people, of_release(release))
    told = [c.lo[c.codes] for c in pair.released_quasi]
    moved = np.random.default_rng(0).uniform(-0.45, 0.45, (2, len(x)))
    at = x + moved[0], y + moved[1]
    figure = Figure(figsize=(10.5, 3.9), layout="constrained")
    parts = figure.subplots(1, 3, sharex=True, sharey=True)
    titles = (
        f"1  {cell.max() + 1} cells of people who are alike",
        f"2  joined to {len(set(group))} groups, none above 0.3",
        "3  what is released: means",
    )
    for axes, title in zip(parts, titles, strict=True):
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel("age")
        axes.spines[["top", "right"]].set_visible(False)
    parts[0].set_ylabel("hours a week")
    for axes, of in ((parts[0], cell), (parts[1], group)):
        for number in range(of.max() + 1):
            mine = of == number
            joined = of is group and len(set(cell[mine])) > 1
            _star(axes, at[0][mine], at[1][mine], CONTROL if joined else RELEASE)
        for kind, marker in ((rich, "o"), (~rich, ".")):
            axes.plot(at[0][kind], at[1][kind], marker, color=ORIGINAL, markersize=3.2, zorder=3)
    centres, place, n = np.unique(np.stack(told), axis=1, return_inverse=True, return_counts=True)
    share = np.bincount(place.reshape(-1), rich) / n
    dots = parts[2].scatter(*centres, s=6 * n, c=share, cmap="cividis", vmin=0, vmax=1, alpha=0.85)
    bar = figure.colorbar(dots, ax=parts[2], shrink=0.8)
    bar.set_label("share above 50,000 (size: people)", fontsize=8)
    return svg_text(figure)


def _star(axes: Axes, x: Floats, y: Floats, colour: str) -> None:
    """People and the mean of their group, joined by lines."""
    lines = [
        np.stack([end, np.full(len(end), end.mean()), np.full(len(end), np.nan)], 1).ravel()
        for end in (x, y)
    ]
    axes.plot(*lines, color=colour, linewidth=0.6, alpha=0.7)


def _slopes(columns: list[Floats], y: Floats) -> Floats:
    """Least squares on some columns."""
    found = np.linalg.lstsq(np.column_stack([*columns, np.ones(len(y))]), y, rcond=None)[0]
    return np.asarray(found[:-1], np.float64)


def slopes(draws: int = 5, rows: int = 6_000) -> list[dict[str, Any]]:
    """What weekly hours gain by a year of age and of schooling, read from releases of Adult.

    Parameters
    ----------
    draws : int
        Samples that are averaged.
    rows : int
        People in each.
    """
    made = []
    methods = {
        "Hedge, means": Hedge(k=10, max_disclosure=0.5),
        "Hedge, ranges": Hedge(k=10, max_disclosure=0.5, numeric="range"),
        "MART, ranges": MART(k=10, max_disclosure=0.5),
    }
    for quasi in (FEW, MANY):
        schema = Schema(quasi=quasi, sensitive=("hours-per-week",))
        found: dict[str, list[Floats]] = {name: [] for name in ("original", *methods)}
        for draw in range(draws):
            people = _people(rows, draw)
            y = people["hours-per-week"].to_numpy().astype(float)
            own = [people[n].to_numpy().astype(float) for n in quasi[:2]]
            found["original"].append(_slopes(own, y))
            for name, method in methods.items():
                pair = pair_up(people, of_release(_released(people, schema, method)))
                told = [c.middle[c.codes] for c in pair.released_quasi[:2]]
                found[name].append(_slopes(told, y[pair.rows]))
        for name, each in found.items():
            age, school = np.mean(each, axis=0)
            made.append(
                {
                    "quasi_identifiers": len(quasi),
                    "read_from": name,
                    "hours_per_year_of_age": round(float(age), 4),
                    "hours_per_year_of_schooling": round(float(school), 4),
                }
            )
    return made


def figures() -> dict[str, Any]:
    """The picture and the slopes."""
    return {"slopes": slopes(), "pictures": {"hedge": idea()}}
