"""Every trade-off at once: disclosure against utility over k, max_disclosure and methods."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ..classes import Classes
from ..classes.disclosure import Disclosed, of_column
from ..errors import InfeasibleError, ParameterError
from ..methods.masking import fingerprint
from ..progress import Progress, telling
from ..release import protect
from ..schema import Schema
from ..table import Table, read
from .pairing import Pair, align, pair_up
from .risk.linkage import linking_attacks
from .subject import of_fitted
from .utility.loss import certainty_penalty
from .utility.queries import range_queries

DISCLOSURES = {
    "worst": "disclosure of the most exposed class (left is safer)",
    "mean_groups": "disclosure, mean over classes (left is safer)",
    "mean_records": "disclosure, mean over records (left is safer)",
    "linkage": "records linked with their originals (left is safer)",
}
UTILITIES = {
    "certainty": "certainty kept (1 - NCP)",
    "queries": "1 - median error of counting queries",
    "learning": "what a learner on the release explains (R squared or accuracy)",
}
SAME = 1e-3
"""Disclosures that differ by less count as equal."""
LOOKED_UP = 500
"""People whose record is looked for on the linkage axis."""


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
    worst, mean_groups, mean_records : float or None
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
    """

    method: str
    parameters: Mapping[str, Any]
    k: int | None
    classes: int | None
    worst: float | None
    mean_groups: float | None
    mean_records: float | None
    linkage: float | None
    ncp: float
    disclosure: float
    utility: float
    dominated: bool = False


FIGURES = (
    "k",
    "classes",
    "worst",
    "mean_groups",
    "mean_records",
    "linkage",
    "ncp",
    "disclosure",
    "utility",
    "dominated",
)


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
    """

    points: tuple[Point, ...]
    infeasible: tuple[Mapping[str, Any], ...]
    utility: str
    disclosure: str
    people: Table
    schema: Schema
    methods: Mapping[str, Any]

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

    def save_picture(self, path: str | Path) -> None:
        """Write the picture."""
        Path(path).write_text(self.picture(), encoding="utf-8")

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
        return protect(self.people, self.schema, self.method(point))

    def method(self, point: Point) -> Any:
        """The unfitted method of a point, with its settings."""
        return _set(self.methods[point.method], point.parameters)

    def __str__(self) -> str:
        head = (
            f"{'method':22}{'asked':26}{'k':>6}{'classes':>9}{'worst':>8}{'groups':>8}{'records':>9}"
            f"{'linked':>8}{'utility':>9}"
        )
        lines = [head]
        for p in self.points:
            asked = ", ".join(f"{n}={v}" for n, v in p.parameters.items())
            lines.append(
                f"{p.method:22}{asked:26}{_whole(p.k):>6}{_whole(p.classes):>9}"
                f"{_share(p.worst):>8}{_share(p.mean_groups):>8}{_share(p.mean_records):>9}"
                f"{_share(p.linkage):>8}{p.utility:>9.3f}" + ("  dominated" if p.dominated else "")
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


def frontier(
    people: Any,
    schema: Schema,
    method: Any = None,
    *,
    k: Iterable[int] = (5, 10, 20, 50),
    max_disclosure: Iterable[float | None] = (0.2, 0.4, 0.6),
    methods: Sequence[Any] | Mapping[str, Any] | None = None,
    utility: str = "certainty",
    disclosure: str | None = None,
    random_state: int = 0,
    threads: int = 2,
    progress: Progress | None = None,
) -> Frontier:
    """Releases over k, max_disclosure and methods, as disclosure against utility.

    The table is read and encoded once; settings that a method does not have are
    not varied for it, settings that give the same groups are measured once, and
    two threads share the work.

    Parameters
    ----------
    people : path, pandas, Polars or Arrow table, DuckDB relation
        The table; never changed.
    schema : Schema
        Its roles; at least one sensitive column, but for the linkage axis.
    method : Method, optional
        What protects; `MART` by default.
    k, max_disclosure : iterables
        The settings to try, every combination.
    methods : sequence or mapping of Method, optional
        Several methods instead of one.
    utility : {"certainty", "queries", "learning"}
        The utility axis; "learning" fits linear learners for every release.
    disclosure : {"worst", "mean_groups", "mean_records", "linkage"}, optional
        The disclosure axis; the table has them all. By default "worst", and "linkage" as
        soon as one of the methods alters values: every method can be held to that.
    random_state : int
        For queries and folds.
    threads : int
        Releases made at the same time.
    progress : callable, optional
        Called with what is being done and the share that is done; what it raises
        stops the search.

    Returns
    -------
    Frontier

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.make_people(2000, seed=1)
    >>> schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    >>> found = hr.frontier(people, schema, hr.MART(), k=[5, 20], max_disclosure=[0.3, 0.6])
    >>> found.best(target_disclosure=0.3).parameters["max_disclosure"]
    0.3
    """
    chosen = _methods(method, methods)
    altered = [name for name, each in chosen.items() if each.yardstick == "linkage"]
    disclosure = disclosure or ("linkage" if altered else "worst")
    _check(utility, disclosure, threads)
    if altered and disclosure != "linkage":
        raise ParameterError(
            f"{', '.join(altered)} alters values, so classes of equal cells say nothing",
            hint='choose disclosure="linkage", which every method has',
        )
    if not schema.sensitive and (disclosure != "linkage" or utility == "learning"):
        raise ParameterError("a frontier needs at least one sensitive column to disclose")
    table = read(people)
    # reading the original as its own release checks the schema and encodes every column once
    align(table, table, schema)
    settings = [
        (name, parameters)
        for name in chosen
        for parameters in _grid(chosen[name], list(k), list(max_disclosure))
    ]
    if not settings:
        raise ParameterError("no settings to try: give at least one k or max_disclosure")
    axes = _Axes(utility, disclosure == "linkage", random_state)
    tell = telling(progress)
    tell("trying settings", 0.0)
    done: list[int] = []
    measured: dict[Any, dict[str, Any]] = {}
    stop: list[BaseException] = []

    def one(setting: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        if stop:
            return {}
        name, parameters = setting
        try:
            made = _figures(table, schema, _set(chosen[name], parameters), measured, axes)
        except InfeasibleError as error:
            made = {"reason": error.message}
        done.append(1)
        try:
            tell("trying settings", len(done) / len(settings))
        except BaseException as error:  # whoever listens stops the work
            stop.append(error)
            raise
        return made

    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(one, settings))
    points = [
        Point(name, parameters, **figures, disclosure=figures[disclosure])
        for (name, parameters), figures in zip(settings, results, strict=True)
        if "reason" not in figures
    ]
    lost = tuple(
        {"method": name, "parameters": parameters, "reason": figures["reason"]}
        for (name, parameters), figures in zip(settings, results, strict=True)
        if "reason" in figures
    )
    return Frontier(
        mark_dominated(points),
        lost,
        UTILITIES[utility],
        DISCLOSURES[disclosure],
        table,
        schema,
        chosen,
    )


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


def _check(utility: str, disclosure: str, threads: int) -> None:
    if utility not in UTILITIES:
        raise ParameterError(f"utility must be one of {', '.join(UTILITIES)}, not {utility!r}")
    if disclosure not in DISCLOSURES:
        raise ParameterError(
            f"disclosure must be one of {', '.join(DISCLOSURES)}, not {disclosure!r}"
        )
    if threads < 1:
        raise ParameterError(f"threads must be at least 1, not {threads}")


def _methods(method: Any, methods: Sequence[Any] | Mapping[str, Any] | None) -> dict[str, Any]:
    if method is not None and methods is not None:
        raise ParameterError("give either method or methods, not both")
    if methods is None:
        if method is None:
            from ..methods.mart import MART

            method = MART()
        methods = [method]
    if isinstance(methods, Mapping):
        return dict(methods)
    out: dict[str, Any] = {}
    for entry in methods:
        name = type(entry).__name__
        if getattr(entry, "objective", None):
            name += f" ({entry.objective})"
        if name in out:
            raise ParameterError(
                f"the method {name} is given twice", hint="give a mapping of names to methods"
            )
        out[name] = entry
    return out


def _grid(method: Any, k: list[int], max_disclosure: list[float | None]) -> list[dict[str, Any]]:
    """The settings of one method; parameters that it does not have are left out."""
    own = method.get_params(deep=False)
    axes = {
        name: values
        for name, values in (("k", k), ("max_disclosure", max_disclosure))
        if name in own and values
    }
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def _set(method: Any, parameters: Mapping[str, Any]) -> Any:
    return method.copy().set_params(**parameters)


@dataclass(frozen=True)
class _Axes:
    """What is measured of every release."""

    utility: str
    linkage: bool
    random_state: int


def _figures(
    table: Table, schema: Schema, method: Any, measured: dict[Any, dict[str, Any]], axes: _Axes
) -> dict[str, Any]:
    """Fit, recode and measure one setting; equal releases are measured once."""
    made = of_fitted(method.fit_table(table, schema), table, schema)
    changed = [*(c.name for c in method.plan_.recoding.recoded()), made.numbered]
    key = (made.yardstick, fingerprint(made.table, [name for name in changed if name]))
    if key not in measured:
        measured[key] = _measured(pair_up(table, made), axes)
    return measured[key]


def _measured(pair: Pair, axes: _Axes) -> dict[str, Any]:
    ncp = float(np.mean(list(certainty_penalty(pair).values())))
    altered = pair.yardstick == "linkage"
    linked = None
    if altered or axes.linkage:
        linked = max(a["success"] for a in linking_attacks(pair, people=LOOKED_UP))
    told = None if altered else _told(pair)
    return {
        "k": None if altered else int(pair.classes.sizes.min()),
        "classes": None if altered else pair.classes.n_groups,
        "worst": told.worst if told else None,
        "mean_groups": told.mean_over_groups if told else None,
        "mean_records": told.mean_over_records if told else None,
        "linkage": linked,
        "ncp": ncp,
        "utility": _utility(pair, ncp, axes),
    }


def _told(pair: Pair) -> Disclosed | None:
    """The disclosure of the sensitive columns together."""
    groups = Classes.of(pair.told, pair.released_sensitive)
    return Disclosed.over_columns(
        Disclosed.of(of_column(column), groups.sizes) for column in groups.sensitive.values()
    )


def _utility(pair: Pair, ncp: float, axes: _Axes) -> float:
    if axes.utility == "certainty":
        return 1 - ncp
    if axes.utility == "queries":
        return 1 - float(range_queries(pair, random_state=axes.random_state)["median"])
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeClassifier

    from .utility.models import learning

    rows = learning(
        pair,
        random_state=axes.random_state,
        estimators={
            "linear": LinearRegression(),
            "tree": DecisionTreeClassifier(min_samples_leaf=10, random_state=axes.random_state),
        },
    )
    return float(
        np.mean([row["release"].get("r2", row["release"].get("accuracy")) or 0.0 for row in rows])
    )
