"""The releases of a frontier, and the way from a point back to its release."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..columns.table import Table
from ..errors import InfeasibleError, ParameterError
from ..files import write_private
from ..notation import figure, plain
from ..notebook import face
from ..schema import Schema
from ..validation import AXES, NUMBER, PATH, one_of, takes
from .settings import in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAME = 1e-3
"""Disclosures that differ by less count as equal."""
COLLAPSED = 0.5
"""A cap that leaves a smaller part of what learners explain without it is warned of."""
WORTH = 0.02
"""Where learners explain less without a cap, there is nothing for it to take away."""


@dataclass(frozen=True)
class Point:
    """One release of a frontier.

    Parameters
    ----------
    method : str
        The method's name.
    parameters : mapping
        Its k, max_disclosure and what else was asked.
    k : int or None
        Records of the smallest class, as reached; None where values were altered, so
        that classes of equal cells say nothing.
    classes : int or None
        Number of classes.
    worst, mean_over_groups, mean_over_records : float or None
        Disclosure (1 - RSD) of the most exposed class and column, and the means
        over classes and over records, averaged over the sensitive columns.
    linkage : float or None
        Share of people whose record is linked by an intruder who knows all
        quasi-identifiers; measured where values were altered, and where asked for.
    ncp : float
        Normalised certainty penalty.
    disclosure, utility : float
        The two axes.
    dominated : bool
        Whether another point is no worse on both axes and better on one.
    inferred, advantage : float or None
        The most that named attackers explain of any sensitive column, of all members or the
        worst tenth, and the largest member advantage; measured where they were asked for.
    explained, most_explained : float or None
        The part of the public loss that the groups explain, averaged over the sensitive
        columns (R squared of numbers, of categories the same of the Brier score), and the most
        that any partition explains under the same cap (`hedgerow.measures.disclosure`).
    loss, least_loss : float or None
        Of microaggregation, the part of the sum of squares that is lost within groups, and one
        that no grouping with the same k goes below (`hedgerow.methods.microaggregation`).
    of_optimum : float or None
        explained / most_explained, or least_loss / loss: at least this part of the best
        possible is reached.
    uncapped : float or None
        The utility of the same setting without its cap; measured on the axis "learning".
    """

    method: str
    parameters: Mapping[str, Any]
    k: int | None
    classes: int | None
    worst: float | None
    mean_over_groups: float | None
    mean_over_records: float | None
    linkage: float | None
    ncp: float
    disclosure: float
    utility: float
    dominated: bool = False
    inferred: float | None = None
    advantage: float | None = None
    explained: float | None = None
    most_explained: float | None = None
    loss: float | None = None
    least_loss: float | None = None
    of_optimum: float | None = None
    uncapped: float | None = None

    @property
    def collapsed(self) -> bool:
        """Whether the cap takes away more than half of what learners explain without it."""
        free = self.uncapped
        return free is not None and free >= WORTH and self.utility < COLLAPSED * free

    @property
    def setting(self) -> str:
        """The method and what was asked of it."""
        return f"{self.method} {in_words(self.parameters)}".rstrip()


FIGURES = tuple(f.name for f in fields(Point) if f.name not in ("method", "parameters"))


_ONE_PICTURE = ("schema", "utility", "disclosure", "max_inference")
"""What two searches must share to be one."""

_POINT = one_of(Point, "a point of this frontier", "take one of `points`, or `best(...)`")


@dataclass(frozen=True, repr=False)
class Frontier:
    """What `frontier` found: a point for each release, and the settings that are not possible.

    Parameters
    ----------
    points : tuple of Point
        In the order in which they were asked for.
    infeasible : tuple of mapping
        Settings under which this table cannot be released, with the reason.
    utility, disclosure : str
        What the two axes show.
    people, schema, methods
        What `release` protects again.
    max_inference : float, optional
        The bound that every point keeps, and its release.
    """

    points: tuple[Point, ...]
    infeasible: tuple[Mapping[str, Any], ...]
    utility: str
    disclosure: str
    people: Table
    schema: Schema
    methods: Mapping[str, Any]
    max_inference: float | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Caps under which learning collapses."""
        return tuple(
            f"learning collapses under the cap of {p.setting}: learners explain {figure(p.utility)} "
            f"of people left out, and {figure(p.uncapped)} without it"
            for p in self.points
            if p.collapsed
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        made: dict[str, Any] = plain(
            {
                "hedgerow_frontier": 1,
                "utility": self.utility,
                "disclosure": self.disclosure,
                "points": [asdict(p) | {"collapsed": p.collapsed} for p in self.points],
                "infeasible": self.infeasible,
                "warnings": self.warnings,
            },
            other=repr,
        )
        return made

    def to_json(self) -> str:
        """The points as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def to_table(self) -> Any:
        """The settings as a pyarrow table: points, then what is not possible, with its reason."""
        import pyarrow as pa

        return pa.Table.from_pylist(self._rows())

    def to_csv(self) -> str:
        """The same as CSV text."""
        text = io.StringIO()
        rows = self._rows()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def _rows(self) -> list[dict[str, Any]]:
        shown = (*FIGURES, "collapsed")
        given = [(p.method, p.parameters, p, None) for p in self.points]
        lost = [(f["method"], f["parameters"], None, f["reason"]) for f in self.infeasible]
        every = [*given, *lost]
        names = list(dict.fromkeys(n for _, asked, _, _ in every for n in asked))
        return [
            {"method": method}
            | {f"asked_{n}": plain(asked.get(n), other=repr) for n in names}
            | {n: None if point is None else getattr(point, n) for n in shown}
            | {"reason": reason}
            for method, asked, point, reason in every
        ]

    @takes(ax=AXES)
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw disclosure against utility, a mark a release.

        Releases that no other beats are named by k and max_disclosure (and whatever else was
        asked) where there is room; dominated ones are faint.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to; by default those of a new figure.

        Returns
        -------
        matplotlib axes
        """
        from ..report.plots import plot_frontier

        return plot_frontier(self.to_dict(), ax)

    def picture(self) -> str:
        """The settings as SVG: labelled points, dominated ones faint; light and dark."""
        from ..report.frontier_picture import frontier_picture

        return frontier_picture(self.to_dict()).svg

    @takes(path=PATH)
    def save_picture(self, path: str | Path) -> None:
        """Write the picture."""
        write_private(path, self.picture())

    @takes(path=PATH)
    def save_csv(self, path: str | Path) -> None:
        """Write the table as CSV."""
        write_private(path, self.to_csv())

    @takes(target_disclosure=NUMBER, target_k=NUMBER, target_utility=NUMBER)
    def best(
        self,
        *,
        target_disclosure: float | None = None,
        target_k: int | None = None,
        target_utility: float | None = None,
    ) -> Point:
        """Choose the best release that meets every target.

        With `target_utility` the one with the least disclosure, otherwise the
        one with the most utility.

        Parameters
        ----------
        target_disclosure : float, in [0, 1], optional
            Highest disclosure.
        target_k : int, optional
            Fewest records of a class.
        target_utility : float, optional
            Lowest utility.

        Raises
        ------
        InfeasibleError
            No point meets the targets; says how near they came.
        """
        met = [
            p
            for p in self.points
            if (target_disclosure is None or p.disclosure <= target_disclosure + 1e-12)
            and (target_k is None or (p.k is not None and p.k >= target_k))
            and (target_utility is None or p.utility >= target_utility - 1e-12)
        ]
        if not met:
            near = (
                f"lowest disclosure {figure(min(p.disclosure for p in self.points))}, largest k "
                f"{max(p.k or 0 for p in self.points)}, highest utility "
                f"{figure(max(p.utility for p in self.points))}"
                if self.points
                else "no point at all"
            )
            raise InfeasibleError(
                f"none of the {len(self.points)} releases meets the targets; reached "
                f"one by one: {near}",
                hint="relax a target or try more settings",
            )
        if target_utility is not None:
            return min(met, key=lambda p: (p.disclosure, -p.utility, -(p.k or 0)))
        return min(met, key=lambda p: (-p.utility, p.disclosure, -(p.k or 0)))

    def alike(self, other: Frontier) -> bool:
        """Whether the points of both stand on the same axes, under the same schema and bound."""
        return all(getattr(self, name) == getattr(other, name) for name in _ONE_PICTURE)

    def joined(self, more: Frontier) -> Frontier:
        """These points and those of another search of the same table, each setting once.

        Where a setting was tried twice, or a method of one name stands for two, the other search has it.

        Raises
        ------
        ParameterError
            The axes, the schema or the bound differ, so the points cannot stand in one picture.
        """
        if not self.alike(more):
            raise ParameterError(
                "the two frontiers differ in their schema, axes or bound",
                hint="search both with the same ones",
            )
        kept = {n for n in self.methods if n not in more.methods or self._same_method(more, n)}
        new = {(p.method, in_words(p.parameters)) for p in more.points}
        new |= {(f["method"], in_words(f["parameters"])) for f in more.infeasible}
        old = [p for p in self.points if p.method in kept]
        lost = [f for f in self.infeasible if f["method"] in kept]
        return replace(
            more,
            points=mark_dominated(
                [*(p for p in old if (p.method, in_words(p.parameters)) not in new), *more.points]
            ),
            infeasible=(
                *(f for f in lost if (f["method"], in_words(f["parameters"])) not in new),
                *more.infeasible,
            ),
            methods={n: m for n, m in self.methods.items() if n in kept} | dict(more.methods),
        )

    def _same_method(self, more: Frontier, name: str) -> bool:
        """Whether a name stands for one method in both, but for what every point says itself."""
        asked = [p.parameters for each in (self, more) for p in each.points if p.method == name]
        asked += [f["parameters"] for e in (self, more) for f in e.infeasible if f["method"] == name]
        said = set.intersection(*map(set, asked)) if asked else set()
        one, other = (
            {n: repr(v) for n, v in each.methods[name].get_params(deep=False).items() if n not in said}
            for each in (self, more)
        )
        return type(self.methods[name]) is type(more.methods[name]) and one == other

    def release(self, point: Point) -> Any:
        """Protect the people by a point's settings; a verified `Release`."""
        from ..workflow.protect import protect

        return protect(
            self.people, self.schema, self.method(point), max_inference=self.max_inference
        )

    @takes(point=_POINT)
    def method(self, point: Point) -> Any:
        """The unfitted method of a point, with its settings."""
        return self.methods[point.method].copy().set_params(**point.parameters)

    def __repr__(self) -> str:
        beaten = sum(p.dominated for p in self.points)
        return (
            f"Frontier({len(self.points)} releases, {beaten} of them dominated, "
            f"{len(self.infeasible)} settings not possible)"
        )

    def _repr_html_(self) -> str:
        """The settings as a table, for notebooks; `plot` draws them."""
        told = [
            f"Disclosure: {self.disclosure}. Utility: {self.utility}. A release is dominated where "
            "another tells less and keeps as much."
        ]
        table = ("", *self._lines())
        return face("Frontier", told, table, notes=(*self._impossible(), *self.warnings))

    def _lines(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Head and rows of the settings, without the figures that none of them has."""
        given = [[words(p) for words in _SHOWN.values()] for p in self.points]
        kept = [i for i in range(len(_SHOWN)) if i < 2 or any(row[i] != "-" for row in given)]
        head = tuple(list(_SHOWN)[i] for i in kept)
        marks = [_marks(p) for p in self.points]
        rows = [(*(row[i] for i in kept), m) for row, m in zip(given, marks, strict=True)]
        return (*head, ""), rows

    def _impossible(self) -> list[str]:
        return [
            f"not possible: {f['method']} {in_words(f['parameters'])}: {f['reason']}"
            for f in self.infeasible
        ]

    def __str__(self) -> str:
        """The settings as lines."""
        from ..report.lines import aligned

        head, rows = self._lines()
        lines = aligned(rows, head) if rows else []
        lines += self._impossible()
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])


def _marks(point: Point) -> str:
    said = ["dominated"] if point.dominated else []
    return ", ".join([*said, "learning collapses"] if point.collapsed else said)


def _whole(value: int | None) -> str:
    return "-" if value is None else str(value)


_SHOWN: Mapping[str, Callable[[Point], str]] = {
    "method": lambda p: p.method,
    "asked": lambda p: in_words(p.parameters),
    "k": lambda p: _whole(p.k),
    "groups": lambda p: _whole(p.classes),
    "worst": lambda p: figure(p.worst),
    "mean": lambda p: figure(p.mean_over_groups),
    "records": lambda p: figure(p.mean_over_records),
    "linked": lambda p: figure(p.linkage),
    "inferred": lambda p: figure(p.inferred),
    "advantage": lambda p: figure(p.advantage),
    "loss": lambda p: figure(p.loss),
    "of optimum": lambda p: "-" if p.of_optimum is None else f">= {p.of_optimum:.2f}",
    "utility": lambda p: figure(p.utility),
    "uncapped": lambda p: figure(p.uncapped),
}
"""The columns of the text, and what stands in them."""


def mark_dominated(points: Sequence[Point]) -> tuple[Point, ...]:
    """The points with those marked that another one beats on one axis and equals on the other."""
    out = []
    for p in points:
        beaten = any(
            o.disclosure <= p.disclosure + SAME
            and o.utility >= p.utility
            and (o.disclosure < p.disclosure - SAME or o.utility > p.utility)
            for o in points
        )
        out.append(replace(p, dominated=beaten))
    return tuple(out)
