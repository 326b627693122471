"""The releases of a frontier, and the way from a point back to its release."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from ..arguments import NUMBER, PATH, one_of, takes
from ..errors import InfeasibleError
from ..files import write_private
from ..release import protect
from ..schema import Schema
from ..table import Table

SAME = 1e-3
"""Disclosures that differ by less count as equal."""


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
        The most that named learners explain of any sensitive column, of all members or the
        worst tenth, and the largest member advantage; measured where they were asked for.
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


FIGURES = tuple(f.name for f in fields(Point) if f.name not in ("method", "parameters"))


_POINT = one_of(Point, "a point of this frontier", "take one of `points`, or `best(...)`")


@dataclass(frozen=True)
class Frontier:
    """The releases of a frontier, and the way from a point back to its release.

    Parameters
    ----------
    points : tuple of Point
        In the order in which they were asked for.
    infeasible : tuple of mapping
        Settings that no release of this table keeps, with the reason.
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

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "hedgerow_frontier": 1,
            "utility": self.utility,
            "disclosure": self.disclosure,
            "points": [asdict(p) for p in self.points],
            "infeasible": list(self.infeasible),
        }

    def to_json(self) -> str:
        """The points as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def to_table(self) -> Any:
        """The points as a pyarrow table, one column a parameter and figure."""
        import pyarrow as pa

        names = list(dict.fromkeys(n for p in self.points for n in p.parameters))
        columns: dict[str, list[Any]] = {"method": [p.method for p in self.points]}
        for name in names:
            columns[f"asked_{name}"] = [p.parameters.get(name) for p in self.points]
        for name in FIGURES:
            columns[name] = [getattr(p, name) for p in self.points]
        return pa.table(columns)

    def picture(self) -> str:
        """The points as SVG, dominated ones hollow."""
        from ..report.pictures import frontier_picture

        points = [asdict(p) for p in self.points]
        return frontier_picture(points, self.utility, self.disclosure).svg

    @takes(path=PATH)
    def save_picture(self, path: str | Path) -> None:
        """Write the picture."""
        write_private(path, self.picture())

    @takes(target_disclosure=NUMBER, target_k=NUMBER, target_utility=NUMBER)
    def best(
        self,
        *,
        target_disclosure: float | None = None,
        target_k: int | None = None,
        target_utility: float | None = None,
    ) -> Point:
        """The best release that meets every target.

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
                f"lowest disclosure {min(p.disclosure for p in self.points):.3f}, largest k "
                f"{max(p.k or 0 for p in self.points)}, highest utility "
                f"{max(p.utility for p in self.points):.3f}"
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

    def release(self, point: Point) -> Any:
        """Protect the people by a point's settings; a verified `Release`."""
        return protect(
            self.people, self.schema, self.method(point), max_inference=self.max_inference
        )

    @takes(point=_POINT)
    def method(self, point: Point) -> Any:
        """The unfitted method of a point, with its settings."""
        return self.methods[point.method].copy().set_params(**point.parameters)

    def __str__(self) -> str:
        head = (
            f"{'method':22}{'asked':26}{'k':>6}{'groups':>9}{'worst':>8}{'mean':>8}{'records':>9}"
            f"{'linked':>8}{'utility':>9}"
        )
        learnt = any(p.inferred is not None for p in self.points)
        lines = [head + (f"{'inferred':>10}{'advantage':>11}" if learnt else "")]
        for p in self.points:
            asked = ", ".join(f"{n}={v}" for n, v in p.parameters.items())
            lines.append(
                f"{p.method:22}{asked:26}{_whole(p.k):>6}{_whole(p.classes):>9}"
                f"{_share(p.worst):>8}{_share(p.mean_over_groups):>8}{_share(p.mean_over_records):>9}"
                f"{_share(p.linkage):>8}{p.utility:>9.3f}"
                + (f"{_share(p.inferred):>10}{_share(p.advantage):>11}" if learnt else "")
                + ("  dominated" if p.dominated else "")
            )
        lines += [
            f"not possible: {f['method']} {dict(f['parameters'])}: {f['reason']}"
            for f in self.infeasible
        ]
        return "\n".join(lines)


def _whole(value: int | None) -> str:
    return "-" if value is None else str(value)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


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
