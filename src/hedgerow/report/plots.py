"""What `plot` draws: the report's own pictures, on axes that a notebook shows or that are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..audit.histograms import scatter
from ..errors import InputError
from ..measures import disclosure
from ..measures.guarantees import cap_of
from .frontier_picture import draw_frontier
from .pictures import STYLE, column_size, draw_attacks, draw_column, draw_disclosure, draw_sizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TEXT = {name: value for name, value in STYLE.items() if "facecolor" not in name}
"""The report's style on whatever paper the reader has chosen."""


@contextmanager
def _on(axes: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """The axes that were given, or those of a new figure of so many inches."""
    if axes is not None:
        yield axes
        return
    import matplotlib
    from matplotlib import pyplot

    with matplotlib.rc_context({**_TEXT, "axes.edgecolor": matplotlib.rcParams["axes.edgecolor"]}):
        _, made = pyplot.subplots(figsize=(width, height), layout="constrained")
        yield made


def plot_frontier(found: Mapping[str, Any], ax: Axes | None) -> Axes:
    """`Frontier.to_dict()`: disclosure against utility."""
    with _on(ax, 7.0, 4.4) as axes:
        draw_frontier(axes, found)
    return axes


def plot_column(name: str, shape: Mapping[str, Any], ax: Axes | None) -> Axes:
    """The shares of a column before and after."""
    width, height = column_size(shape)
    with _on(ax, width + 1, height + 0.4) as axes:
        draw_column(axes, shape)
        axes.set_title(name, loc="left")
        axes.set_xlabel("share of records" if shape["kind"] == "categories" else name)
        axes.set_ylabel("" if shape["kind"] == "categories" else "share of records")
    return axes


def plot_release(release: Any, column: str | None, ax: Axes | None) -> Axes:
    """Groups by size and what they tell, with the cap; or a column before and after.

    Parameters
    ----------
    release : Release
    column : str, optional
    ax : matplotlib axes, optional
    """
    if column is None and release.plan.recoding.risk_model == "classes":
        told = release.judged()
        sensitive = {
            name: c.per_class(disclosure.column_disclosure)[0] for name, c in told.sensitive.items()
        }
        if sensitive:
            name = max(sensitive, key=lambda n: float(sensitive[n].max(initial=0.0)))
            points = scatter(told.sizes, sensitive[name])
            return _groups(name, points, cap_of(release.plan.promises, name), ax)
    made: Axes = release.compare(column or release.plan.names("quasi")[0]).plot(ax=ax)
    return made


def _groups(name: str, points: Mapping[str, Any], cap: float | None, ax: Axes | None) -> Axes:
    with _on(ax, 6.4, 3.4) as axes:
        draw_disclosure(axes, points, cap)
        axes.set_title(f"What groups give away about {name}", loc="left")
    return axes


def plot_audit(audit: Any, what: str | None, ax: Axes | None) -> Axes:
    """Attacks, what groups tell, sizes of groups, or a column before and after.

    Parameters
    ----------
    audit : Audit
    what : str, optional
    ax : matplotlib axes, optional

    Raises
    ------
    InputError
        The audit has nothing of that name.
    """
    pictures, after = audit.pictures, audit.risk["release"]
    grouped = audit.table["yardstick"] == "classes"
    columns = {n: shape for n, shape in pictures["histograms"].items() if shape["labels"]}
    scatters = pictures["scatters"] if grouped else {}
    here = ["attacks"] if audit.attacks else []
    here += ["disclosure"] if scatters else []
    here += ["groups"] if grouped else []
    here += columns
    what = what or next(iter(here), "attacks")
    if what not in here:
        raise InputError(
            f"this audit has no picture of {what!r}",
            hint=f"it has {', '.join(here)}" if here else "it ran no attacks: attacks=True",
        )
    if what in columns:
        return plot_column(what, columns[what], ax)
    if what == "disclosure":
        sensitive = after["sensitive"]
        name = max(scatters, key=lambda n: sensitive[n]["disclosure"]["worst"])
        return _groups(name, scatters[name], cap_of(audit.promises, name), ax)
    if what == "groups":
        before = audit.risk["original"]
        with _on(ax, 6.4, 3.2) as axes:
            draw_sizes(
                axes,
                before["classes"]["histogram"] if before else [],
                after["classes"]["histogram"],
            )
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
