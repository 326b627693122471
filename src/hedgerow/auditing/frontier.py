"""Try many settings at once: disclosure against utility over k, max_disclosure and methods."""

from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import facade
from ..columns.order import content_order
from ..columns.roles import refuse_repeated
from ..columns.table import Table
from ..columns.units import widened
from ..display import aligned, notebook_html
from ..errors import Cancelled, HedgerowError, InfeasibleError, ParameterError, UnsupportedError, did_you_mean
from ..files import write_private
from ..guard.guarding import FEWEST, GuardOptions
from ..io.read import read
from ..json_types import Figures
from ..key import Key
from ..measures import Classes
from ..measures import disclosure as explained
from ..measures.disclosure import SLACK, Disclosed, column_disclosure
from ..measures.guarantees import cap_of
from ..methods.base import Method
from ..methods.estimator import TRIED, moved
from ..methods.hedge import Hedge
from ..methods.masking import fingerprint
from ..notation import figure, plain
from ..progress import Progress, telling, with_context
from ..release.private_release import PrivateRelease
from ..schema import SCHEMA, Schema
from ..texts import text, texts
from ..validation import (
    AXES,
    LIST,
    METHOD,
    NONE,
    NUMBER,
    NUMBERS,
    PATH,
    PROGRESS,
    SEED,
    TEXT,
    check_one_of,
    many,
    named,
    one_of,
    takes,
    whole,
)
from .attacks.linking import linking_attacks
from .frontier_data import FrontierData, Parameters, PointData
from .inference import InferenceBound, infer
from .non_members import FOLDS, refitting
from .pairing import align, pair_up, read_unpaired
from .subject import of_fitted, of_private
from .table_pair import Pair
from .utility.loss import certainty_penalty
from .utility.queries import range_queries

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CAP = "max_disclosure"
Methods = Mapping[str, Method]


@dataclass(frozen=True)
class Setting:
    """The name of a method on the frontier, and the parameters to try it with."""

    method: str
    parameters: Parameters

    def uncapped(self) -> Setting | None:
        """Return the same setting without its cap on disclosure; None if it has no cap."""
        cap = self.parameters.get(CAP)
        return None if cap is None or cap >= 1 else Setting(self.method, {**self.parameters, CAP: None})

    def __hash__(self) -> int:
        # parameters may be lists, which have no hash
        return hash(str(self))

    def __str__(self) -> str:
        return " ".join([self.method, in_words(self.parameters)]).rstrip()


def in_words(parameters: Parameters) -> str:
    """Return parameters as text, such as ``k=5, max_disclosure=0.4``."""
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


def methods_by_name(methods: Any) -> dict[str, Method]:
    """Return the methods by name; the default is `Hedge`.

    If several methods have the same title, their names include their parameters.
    """
    if methods is None:
        methods = Hedge()
    if isinstance(methods, Mapping):
        return dict(methods)
    listed = list(methods) if isinstance(methods, Iterable) else [methods]
    titles = [each.title for each in listed]
    names = [each.title if titles.count(each.title) == 1 else repr(each) for each in listed]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ParameterError(f"the method {twice[0]} is given twice", hint="give a mapping of names to methods")
    return dict(zip(names, listed, strict=True))


def settings_of(methods: Methods, values_by_name: Mapping[str, Iterable[Any]]) -> tuple[Setting, ...]:
    """Return every combination of the requested values, for each method in turn.

    A parameter is varied only for methods that have it. Parameters that decide how much a method
    discloses (`TRIED`) are also varied without a request, if they have their default values.
    """
    axes = {name: list(values) for name, values in values_by_name.items()}
    defaults = {name: each.get_params(deep=False) for name, each in methods.items()}
    parameters = {parameter for names in defaults.values() for parameter in names} | {"k", CAP}
    if unknown := [name for name in axes if name not in parameters]:
        similar = did_you_mean(unknown[0], parameters)
        raise ParameterError(f"none of the methods has the parameter {unknown[0]!r}{similar}")
    settings = []
    for name, method in methods.items():
        mine = {n: values for n, values in axes.items() if n in defaults[name] and values}
        # what somebody set is a choice, and only defaults are varied unasked
        plain = type(method)().get_params(deep=False)
        mine |= {
            n: list(TRIED[n])
            for n in moved(defaults[name])
            if n in TRIED and n not in axes and defaults[name][n] == plain[n]
        }
        settings += [Setting(name, dict(zip(mine, values, strict=True))) for values in product(*mine.values())]
    if not settings:
        raise ParameterError("no settings to try: give at least one method")
    return tuple(settings)


# people whose record is looked for on the linkage axis
LOOKED_UP = 500


@dataclass
class Trial:
    """The table, schema and axes for measuring releases, with a cache of the results.

    Parameters
    ----------
    table : Table
    schema : Schema
    utility, disclosure : str
        The axes.
    max_inference : float, optional
        The most that named attackers may infer.
    random_state : int
    """

    table: Table
    schema: Schema
    utility: str
    disclosure: str
    max_inference: float | None
    random_state: int
    _measured: dict[Any, Figures] = field(default_factory=dict)

    @property
    def _folds(self) -> int | None:
        """Return the number of folds for learners: 0 to measure members only, None to train no learner."""
        if self.disclosure == "advantage" or self.utility == "learning":
            return FOLDS
        return 0 if self.disclosure == "inferred" or self.max_inference is not None else None

    def figures(self, method: Method, progress: Progress) -> Figures:
        """Fit a method, recode the table and measure the release; equal releases are measured once.

        `progress` is called between steps; what it raises stops the work.
        """
        table, schema = self.table, self.schema
        form, drawing = method.usual_guard, Key.from_key_or_seed(random_state=self.random_state)
        guard = GuardOptions.from_method(method, form, None, drawing) if form else None  # as `protect` releases it
        fitted = method.fit_table(table, schema, in_rows=guard is not None and guard.rows)
        if method.is_private:
            return self._private(fitted)
        progress("recoding", None)
        # groups are counted by the cells that they share, which drawn rows do not show
        groups = None if guard is None else replace(guard, rows=False)
        release = of_fitted(fitted, table, schema, groups)
        changed = [*(c.name for c in method.plan_.recoding.recoded()), release.numbered]
        # many settings end in the same cells: a cap that binds nowhere changes nothing
        cells = fingerprint(release.table, [name for name in changed if name])
        key = release.risk_model, guard != groups, cells
        if key not in self._measured:
            progress("reading what was recoded", None)
            pair = pair_up(table, release)
            progress("counting what groups tell", None)
            figures = {**_disclosed(pair), **self._of_groups(pair)}
            if guard != groups and {self.utility, self.disclosure} - _OF_GROUPS:
                pair = pair_up(table, of_fitted(fitted, table, schema, guard))
            self._measured[key] = {**figures, **self._of_pair(pair), **self._inferred(pair, method, progress)}
        measured = dict(self._measured[key])
        floor_ratio = measured.pop("floor_ratio")
        return {**measured, **self._optimum(method, measured["explained"], floor_ratio)}

    def _private(self, fitted: Any) -> Figures:
        """Measure a release under differential privacy, whose rows are paired with nobody's."""
        plan = fitted.plan_
        release = PrivateRelease(plan, self.schema, fitted, self.table, None)
        pair = read_unpaired(self.table, of_private(plan, release.released, self.schema))
        unmeasured = ("k", "classes", "worst", "mean_over_groups", "mean_over_records", "linkage", "ncp", "inferred")
        error = range_queries(pair, random_state=self.random_state)["median"]
        utility = None if error is None else 1 - float(error)
        return dict.fromkeys(unmeasured) | {"advantage": plan.advantage, "utility": utility}

    def refusal(self, figures: Figures) -> str | None:
        """Return the reason why a setting with these figures cannot be chosen; None if it can be chosen."""
        reached = figures["inferred"]
        if self.max_inference is not None and reached > self.max_inference + SLACK:
            return f"learners infer {figure(reached)}, more than {self.max_inference:g}"
        for axis, value in ((self.disclosure, figures[self.disclosure]), (self.utility, figures["utility"])):
            if value is None:
                return f"the {axis} cannot be measured: a refit on fewer people fails"
        return None

    def _of_groups(self, pair: Pair) -> Figures:
        ncp = float(np.mean(list(certainty_penalty(pair).values())))
        altered = pair.risk_model == "linkage"
        return {
            "k": None if altered else int(pair.counted_in(pair.classes).min()),
            "classes": None if altered else pair.classes.n_groups,
            "ncp": ncp,
            "utility": 1 - ncp,
        }

    def _of_pair(self, pair: Pair) -> Figures:
        figures: dict[str, Any] = {"linkage": None}
        if pair.risk_model == "linkage" or self.disclosure == "linkage":
            figures["linkage"] = max(a["success"] for a in linking_attacks(pair, people=LOOKED_UP))
        if self.utility == "queries":
            figures["utility"] = 1 - float(range_queries(pair, random_state=self.random_state)["median"])
        return figures

    def _inferred(self, pair: Pair, method: Method, progress: Progress) -> Figures:
        """Measure what attackers infer about members and about people left out, if an axis or the bound needs it."""
        if self._folds is None:
            return {"inferred": None, "advantage": None}
        refit = refitting(method, self.schema, pair.guard, self.random_state) if self._folds else None
        inferred = infer(pair, refit, folds=self._folds, random_state=self.random_state, progress=progress)
        advantage = None if inferred.advantage is None else max(inferred.advantage, 0.0)
        figures: dict[str, Any] = {"inferred": inferred.reached, "advantage": advantage}
        if self.utility == "learning":
            rule = [c["strangers"] for c in inferred.columns.values()]
            complete = all(share is not None for share in rule)
            figures["utility"] = float(np.mean([s["explained"] for s in rule])) if complete else None
        return figures

    def _optimum(self, method: Method, share: float | None, floor_ratio: float | None) -> Figures:
        """Compare a release with the best possible one under the same cap."""
        cap = cap_of(method.plan_.promises)
        if cap is None or share is None or floor_ratio is None:
            return {"most_explained": None, "of_optimum": None}
        most = min(cap * floor_ratio, 1.0)
        return {"most_explained": most, "of_optimum": share / most}


def _disclosed(pair: Pair) -> Figures:
    """Return the disclosure of all sensitive columns, with their mean `Explained.floor_ratio`."""
    # where values were altered, classes of equal cells are nobody's
    if pair.risk_model == "linkage" or not pair.sensitive:
        return dict.fromkeys(("worst", "mean_over_groups", "mean_over_records", "explained", "floor_ratio"))
    columns = Classes.from_groups(pair.value_groups, pair.released_sensitive).sensitive.values()
    disclosed = Disclosed.over_columns(
        Disclosed.from_classes(column_disclosure(column.judged), column.judged_sizes(pair.value_groups.sizes))
        for column in columns
    )
    assert disclosed is not None
    shares = [e for e in map(explained.explained_share, columns) if e is not None]
    share = float(np.mean([e.share for e in shares])) if shares else None
    floor_ratio = float(np.mean([e.floor_ratio for e in shares])) if shares else None
    return {**vars(disclosed), "explained": share, "floor_ratio": floor_ratio}


# axes that are measured by groups, also where rows are drawn inside them
_OF_GROUPS = {"certainty", "worst", "mean_over_groups", "mean_over_records"}
# disclosures that differ by less count as equal
SAME = 1e-3
# a cap that leaves a smaller part of what learners explain without it is warned of
COLLAPSED = 0.5
# where learners explain less without a cap, there is nothing for it to take away
WORTH = 0.02


@dataclass(frozen=True)
class Point:
    """One release on a frontier, with its settings and figures.

    Parameters
    ----------
    method : str
        The method's name.
    parameters : mapping
        Its parameters: k, max_disclosure and others that were set.
    k : int or None
        Number of records of the smallest class; None if values were altered, since classes of
        equal cells then mean nothing.
    classes : int or None
        Number of classes.
    worst, mean_over_groups, mean_over_records : float or None
        Disclosure (1 - RSD) of the most exposed class and column, and the means
        over classes and over records, averaged over the sensitive columns.
    linkage : float or None
        Share of people whose record is linked by an intruder who knows all
        quasi-identifiers; measured if values were altered, or on request.
    ncp : float or None
        Normalised certainty penalty.
    disclosure, utility : float
        The two axes.
    dominated : bool
        Whether another point is no worse on both axes and better on one.
    inferred, advantage : float or None
        The largest share of any sensitive column that named attackers explain (over all members or
        the worst tenth), and the largest member advantage; measured on request.
    explained, most_explained : float or None
        The share of the public loss that the groups explain, averaged over the sensitive columns
        (R squared for numbers, its counterpart by the Brier score for categories), and the most
        that any partition can explain under the same cap (`hedgerow.measures.disclosure`).
    of_optimum : float or None
        explained / most_explained: a lower bound of the share of the best possible result that is reached.
    uncapped : float or None
        The utility of the same setting without its cap; measured if the utility is "learning".
    """

    method: str
    parameters: Parameters
    k: int | None
    classes: int | None
    worst: float | None
    mean_over_groups: float | None
    mean_over_records: float | None
    linkage: float | None
    ncp: float | None
    disclosure: float
    utility: float
    dominated: bool = False
    inferred: float | None = None
    advantage: float | None = None
    explained: float | None = None
    most_explained: float | None = None
    of_optimum: float | None = None
    uncapped: float | None = None

    @property
    def collapsed(self) -> bool:
        """Return whether the cap removes more than half of what learners explain without it."""
        free = self.uncapped
        return free is not None and free >= WORTH and self.utility < COLLAPSED * free

    @property
    def setting(self) -> str:
        """Return the method and its parameters as text."""
        return str(Setting(self.method, self.parameters))


FIGURES = tuple(f.name for f in fields(Point) if f.name not in ("method", "parameters"))


# what two searches must share to be one
_ONE_PICTURE = ("schema", "utility", "disclosure", "max_inference")

_POINT = one_of(Point, "a point of this frontier", "take one of `points`, or `best(...)`")


@dataclass(frozen=True, repr=False)
class Frontier:
    """The result of `frontier`: a point for each release, and the settings that are not possible.

    Parameters
    ----------
    points : tuple of Point
        The releases, in the order in which their settings were given.
    infeasible : tuple of mapping
        Settings under which this table cannot be released, with the reason.
    utility, disclosure : str
        The figures on the two axes.
    people, schema, methods
        The table, roles and methods with which `release` makes the release of a point again.
    max_inference : float, optional
        The bound on inference that every point meets.
    """

    points: tuple[Point, ...]
    infeasible: tuple[PointData, ...]
    utility: str
    disclosure: str
    people: Table
    schema: Schema
    methods: Methods
    max_inference: float | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return a warning for each cap under which learning collapses."""
        return tuple(
            text("frontier", "collapsed", setting=p.setting, utility=figure(p.utility), uncapped=figure(p.uncapped))
            for p in self.points
            if p.collapsed
        )

    def to_dict(self) -> FrontierData:
        """Return the frontier as a plain dict."""
        return plain(
            {
                **({"private": self._stays[0]} if self._stays else {}),
                "hedgerow_frontier": 1,
                "utility": self.utility,
                "disclosure": self.disclosure,
                "points": [asdict(p) | {"collapsed": p.collapsed} for p in self.points],
                "infeasible": self.infeasible,
                "warnings": self.warnings,
            },
            other=repr,
        )

    def to_json(self) -> str:
        """Return the points as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def to_csv(self) -> str:
        """Return all settings as CSV text: the points, then the impossible ones with their reasons."""
        text = io.StringIO()
        rows = self._rows()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def _rows(self) -> list[dict[str, Any]]:
        every = [*(vars(p) | {"collapsed": p.collapsed} for p in self.points), *self.infeasible]
        names = list(dict.fromkeys(n for each in every for n in each["parameters"]))
        return [
            {"method": each["method"]}
            | {f"asked_{n}": plain(each["parameters"].get(n), other=repr) for n in names}
            | {n: each.get(n) for n in (*FIGURES, "collapsed", "reason")}
            for each in every
        ]

    @takes(ax=AXES)
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plot disclosure against utility, one mark per release.

        Releases that no other dominates are labelled with their parameters if there is room; dominated
        ones are faint.

        Parameters
        ----------
        ax : matplotlib axes, optional
            The axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib axes
        """
        return facade.plot_frontier(self.to_dict(), ax)

    def picture(self) -> str:
        """Return an SVG picture of the points, for light and dark pages; dominated ones are faint."""
        return facade.frontier_picture(self.to_dict()).svg

    @takes(path=PATH)
    def save_picture(self, path: str | Path) -> None:
        """Write the picture to a file."""
        write_private(path, self.picture())

    @takes(path=PATH)
    def save_csv(self, path: str | Path) -> None:
        """Write the table to a CSV file."""
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
            near = "no point at all"
            if self.points:
                disclosure = min(p.disclosure for p in self.points)
                k = max(p.k or 0 for p in self.points)
                utility = max(p.utility for p in self.points)
                near = text("frontier", "near", disclosure=figure(disclosure), k=k, utility=figure(utility))
            raise InfeasibleError(
                f"none of the {len(self.points)} releases meets the targets; reached one by one: {near}",
                hint="relax a target or try more settings",
            )
        if target_utility is not None:
            return min(met, key=lambda p: (p.disclosure, -p.utility, -(p.k or 0)))
        return min(met, key=lambda p: (-p.utility, p.disclosure, -(p.k or 0)))

    def is_comparable(self, other: Frontier) -> bool:
        """Return whether two searches have the same schema, axes and bound."""
        return all(getattr(self, name) == getattr(other, name) for name in _ONE_PICTURE)

    def joined(self, more: Frontier) -> Frontier:
        """Combine these points with those of another search on the same table, keeping each setting once.

        If both searches tried a setting, or their methods of the same name differ, the other search's
        points are kept.

        Raises
        ------
        ParameterError
            The axes, the schema or the bound differ, so the points are not comparable.
        """
        if not self.is_comparable(more):
            raise ParameterError("the frontiers differ in schema, axes or bound", hint="search both with the same ones")
        same = {n for n in self.methods if n not in more.methods or self._same_method(more, n)}
        new = {str(Setting(each["method"], each["parameters"])) for each in more._every}

        def stays(each: Mapping[str, Any]) -> bool:
            return each["method"] in same and str(Setting(each["method"], each["parameters"])) not in new

        return replace(
            more,
            points=mark_dominated([*(p for p in self.points if stays(vars(p))), *more.points]),
            infeasible=(*filter(stays, self.infeasible), *more.infeasible),
            methods={n: m for n, m in self.methods.items() if n in same} | dict(more.methods),
        )

    @property
    def _every(self) -> list[Mapping[str, Any]]:
        return [*map(vars, self.points), *self.infeasible]

    def _same_method(self, more: Frontier, name: str) -> bool:
        """Return whether a name means the same method in both searches, apart from the varied parameters."""
        every = [*self._every, *more._every]
        parameters = [set(each["parameters"]) for each in every if each["method"] == name]
        varied = set.intersection(*parameters) if parameters else set()
        one, other = (
            {n: repr(v) for n, v in each.methods[name].get_params(deep=False).items() if n not in varied}
            for each in (self, more)
        )
        return type(self.methods[name]) is type(more.methods[name]) and one == other

    def release(self, point: Point) -> Any:
        """Protect the table with a point's settings, and return a verified `Release`."""
        return facade.protect(self.people, self.schema, self.method(point), max_inference=self.max_inference)

    @takes(point=_POINT)
    def method(self, point: Point) -> Any:
        """Return the unfitted method of a point, with its settings."""
        return self.methods[point.method].copy().set_params(**point.parameters)

    def __repr__(self) -> str:
        beaten = sum(p.dominated for p in self.points)
        lost = len(self.infeasible)
        return f"Frontier({len(self.points)} releases, {beaten} of them dominated, {lost} settings not possible)"

    def _repr_html_(self) -> str:
        """Return the settings as a table, for notebooks; `plot` draws them."""
        sentences = [*self._stays, text("frontier", "axes", disclosure=self.disclosure, utility=self.utility)]
        return notebook_html("Frontier", sentences, ("", *self._lines()), notes=(*self._impossible(), *self.warnings))

    def _lines(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the header and rows of the table, without columns that are empty in every row."""
        cells = [[words(p) for words in _SHOWN.values()] for p in self.points]
        used = [i for i in range(len(_SHOWN)) if i < 2 or any(row[i] != "-" for row in cells)]
        head = tuple(list(_SHOWN)[i] for i in used)
        marks = [", ".join(["dominated"] * p.dominated + ["learning collapses"] * p.collapsed) for p in self.points]
        return (*head, "remark"), [(*(row[i] for i in used), m) for row, m in zip(cells, marks, strict=True)]

    @property
    def _stays(self) -> list[str]:
        """Return the first line of a search that spent epsilon: it is not private."""
        return [texts("private")["stays"]] if any(each.is_private for each in self.methods.values()) else []

    def _impossible(self) -> list[str]:
        return [f"not possible: {f['method']} {in_words(f['parameters'])}: {f['reason']}" for f in self.infeasible]

    def __str__(self) -> str:
        """Return the settings as a text table."""
        head, rows = self._lines()
        lines = [*self._stays, *(aligned(rows, head) if rows else []), *self._impossible()]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])


# the columns of the text, and what stands in them
_SHOWN: Mapping[str, Callable[[Point], str]] = {
    "method": lambda p: p.method,
    "asked": lambda p: in_words(p.parameters),
    "k": lambda p: figure(p.k),
    "groups": lambda p: figure(p.classes),
    "worst": lambda p: figure(p.worst),
    "mean": lambda p: figure(p.mean_over_groups),
    "records": lambda p: figure(p.mean_over_records),
    "linked": lambda p: figure(p.linkage),
    "inferred": lambda p: figure(p.inferred),
    "advantage": lambda p: figure(p.advantage),
    "of optimum": lambda p: "-" if p.of_optimum is None else f">= {p.of_optimum:.2f}",
    "utility": lambda p: figure(p.utility),
    "uncapped": lambda p: figure(p.uncapped),
}


def mark_dominated(points: Sequence[Point]) -> tuple[Point, ...]:
    """Mark each point that another one beats on one axis without being worse on the other."""

    def is_better(one: Point, other: Point) -> bool:
        is_as_good = one.disclosure <= other.disclosure + SAME and one.utility >= other.utility
        return is_as_good and (one.disclosure < other.disclosure - SAME or one.utility > other.utility)

    return tuple(replace(p, dominated=any(is_better(each, p) for each in points)) for p in points)


# axes that methods which alter values have as well
ANY_METHOD = ("linkage", "inferred", "advantage")


@dataclass(eq=False)
class Prepared:
    """A table that was read, checked and sorted by content once, for use in many searches.

    Parameters
    ----------
    table : Table
        The table as read.
    schema : Schema
    rows : Table
        The rows sorted by their content, so that sums do not depend on the input order.
    roles : Schema
        The schema with the declared categories of the table.
    """

    table: Table
    schema: Schema
    rows: Table
    roles: Schema
    _trials: dict[Any, Trial] = field(default_factory=dict)

    @classmethod
    def from_people(cls, people: Any, schema: Schema) -> Prepared:
        """Read a table and check that it fits the schema."""
        table, roles = read(people, schema=schema), schema
        if schema.is_long:  # units are compared, with all of their rows side by side
            units = widened(table, schema, FEWEST)
            table, roles = units.table, units.schema
        # reading the original as its own release checks the schema and encodes every column once
        align(table, table, roles)
        refuse_repeated(table, roles)
        declared = {n: table.declared(n) for n in table.names if table.declared(n)}
        rows = table.arrow.take(content_order(table.arrow))
        return cls(table, schema, Table(rows), roles.replace(categories=declared | dict(roles.categories)))

    def trial(self, utility: str, disclosure: str, max_inference: float | None, random_state: int) -> Trial:
        """Return the `Trial` for these axes; its cache is shared by all searches."""
        axes = utility, disclosure, max_inference, random_state
        return self._trials.setdefault(axes, Trial(self.rows, self.roles, *axes))


_METHODS = METHOD | many(METHOD, "a list of methods") | named(METHOD, "a mapping of names to them")


@takes(
    schema=SCHEMA,
    methods=_METHODS,
    k=NUMBERS,
    max_disclosure=many(NUMBER | NONE, "a list of numbers"),
    settings=named(LIST, "a mapping of parameters to lists of values") | NONE,
    utility=TEXT,
    disclosure=TEXT,
    random_state=SEED,
    threads=whole(1),
    progress=PROGRESS,
)
def frontier(
    people: Any,
    schema: Schema,
    methods: Any = None,
    *,
    k: Iterable[int] = TRIED["k"],  # type: ignore[assignment]
    max_disclosure: Iterable[float | None] = TRIED[CAP],
    settings: Mapping[str, Iterable[Any]] | None = None,
    utility: str = "certainty",
    disclosure: str | None = None,
    max_inference: float | None = None,
    random_state: int = 0,
    threads: int = 2,
    progress: Progress | None = None,
) -> Frontier:
    """Try methods with several k and max_disclosure, and compare disclosure with utility.

    The table is read and encoded once; settings that a method does not have are
    not varied for it, settings that give the same groups are measured once, and
    two threads share the work. A setting that no release of the table keeps, and a
    method that refuses the table, are listed with the reason. The same table gives the
    same points in any order of its rows.

    Parameters
    ----------
    people : path, pandas, Polars or Arrow table, DuckDB relation
        The table; never changed.
    schema : Schema
        Its roles, with at least one sensitive column unless the disclosure axis is "linkage".
    methods : Method, sequence of Method or mapping of str to Method, optional
        The methods to compare; `Hedge` by default. All are placed on the same axes.
    k, max_disclosure : iterables
        The settings to try, every combination.
    settings : mapping of str to iterable, optional
        Values of further parameters to try, such as ``{"scale": [0.1, 0.5]}``. How strongly a
        method masks (``l``, ``scale``, ``proportion``, ``stay``, ``top_share``) is varied
        automatically unless you set it.
    utility : {"certainty", "queries", "learning"}
        The utility axis. "learning": cross-validation in three folds. The best of the named learners
        (`hedgerow.inference`) is trained on a release of two folds and predicts the third. The utility
        is its R squared (for categories, the counterpart by the Brier score), averaged over the
        sensitive columns. Every setting is also released without its cap, and a warning is given
        if the cap more than halves the utility.
    disclosure : {"worst", "mean_over_groups", "mean_over_records", "linkage", "inferred", "advantage"}, \
            optional
        The disclosure axis; every point has all of these figures. By default "worst", or "linkage" if
        one of the methods alters values, since it can be measured for every method.
        "inferred" and "advantage" train learners (`hedgerow.inference`), which takes longer.
    max_inference : float, in (0, 1), optional
        Leave out settings whose release lets named attackers infer more than this about all members
        or the worst tenth; measured as in `hedgerow.protect`.
    random_state : int
        Seed for queries, folds, and the draws of methods that have neither a key nor a random state;
        `Frontier.release` draws such a release again, from a secret key.
    threads : int
        Number of releases to make at the same time.
    progress : callable, optional
        Called with the current step and the share that is done; an exception from it
        stops the search.

    Returns
    -------
    Frontier
        Of `PrivateTree` it sets the promised advantage beside errors of counts, by `epsilon`; it is tried
        alone, and the result stays with the steward: every point spends its epsilon.

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.make_people(2000, seed=1)
    >>> schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    >>> found = hr.frontier(people, schema, hr.MART(), k=[5, 20], max_disclosure=[0.3, 0.6])
    >>> found.best(target_disclosure=0.3).parameters["max_disclosure"]
    0.3
    """
    chosen = methods_by_name(methods)
    private = [name for name, each in chosen.items() if each.is_private]
    if private and (len(private) < len(chosen) or utility == "learning" or max_inference or disclosure):
        raise UnsupportedError(
            "a frontier of PrivateTree sets the promised advantage beside errors of counts, and takes no other "
            "methods, no other axes and no max_inference",
            hint="try it alone, with values of epsilon: hedgerow frontier --method private-tree --epsilon 0.5,1,2",
        )
    if private:  # one promise, and one measure that needs no pairs
        utility, disclosure = "queries", "advantage"
        settings = {"epsilon": TRIED["epsilon"]} | dict(settings or {})
    altered = [name for name, each in chosen.items() if each.risk_model == "linkage"]
    disclosure = disclosure or ("linkage" if altered else "worst")
    utilities, disclosures = texts("utility_axis"), texts("disclosure_axis")
    if private:
        disclosures = {"advantage": text("frontier", "promised")}
    check_one_of("utility", utility, utilities)
    check_one_of("disclosure", disclosure, disclosures)
    if altered and disclosure not in ANY_METHOD:
        names = ", ".join(altered)
        raise ParameterError(
            f"{names} alters values, so groups of equal cells say nothing",
            hint='choose disclosure="linkage", "inferred" or "advantage", which every method has',
        )
    if not schema.sensitive and (disclosure != "linkage" or utility == "learning" or max_inference):
        raise ParameterError("a frontier needs at least one sensitive column to disclose")
    ready = people if isinstance(people, Prepared) else Prepared.from_people(people, schema)
    tried = settings_of(chosen, {"k": k, CAP: max_disclosure} | dict(settings or {}))
    if max_inference is not None:
        InferenceBound(max_inference)  # a wrong bound is told before the work
    # a cap is held against the same setting without it; nothing else is asked of that one
    uncapped = {s: s.uncapped() for s in tried if utility == "learning"}
    every = list(dict.fromkeys([*tried, *filter(None, uncapped.values())]))
    trial = ready.trial(utility, disclosure, max_inference, random_state)
    results = dict(zip(every, _results(every, chosen, trial, threads, progress), strict=True))
    wrong = [e for e in results.values() if isinstance(e, HedgerowError)]
    unexpected = next((e for e in wrong if not isinstance(e, InfeasibleError)), None)
    if unexpected is not None and len(wrong) == len(results):
        raise unexpected  # nothing can be shown, and not because of what was asked of the release
    points, lost = [], list[PointData]()
    for setting in tried:
        result = results[setting]
        free = uncapped.get(setting)
        without = None if free is None else results[free]
        reason = result.message if isinstance(result, HedgerowError) else trial.refusal(result)
        if reason is not None or isinstance(result, HedgerowError):
            lost.append({"method": setting.method, "parameters": setting.parameters, "reason": reason or ""})
            continue
        free_utility = without["utility"] if isinstance(without, Mapping) else None
        points.append(Point(**vars(setting), **result, disclosure=result[disclosure], uncapped=free_utility))
    axes = utilities[utility], disclosures[disclosure]
    return Frontier(mark_dominated(points), tuple(lost), *axes, ready.table, schema, chosen, max_inference)


def _results(
    every: Sequence[Setting], methods: Methods, trial: Trial, threads: int, progress: Progress | None
) -> list[Figures | HedgerowError]:
    """Return the figures or the error of each setting, in order; stop if the progress callback raises."""
    report = telling(progress)
    report("trying settings", 0.0)
    done: list[Setting] = []
    stop = threading.Event()

    def announce(step: str) -> None:
        if stop.is_set():
            raise Cancelled("stopped")
        report(step, len(done) / len(every))

    def one(setting: Setting) -> Figures | HedgerowError:
        announce("trying settings")
        method = methods[setting.method].copy().set_params(**setting.parameters)
        if method.draws and method.key is None and method.random_state is None:
            method.set_params(random_state=trial.random_state)  # figures that come out again
        result: Figures | HedgerowError
        try:
            result = trial.figures(method, lambda *_: announce("trying settings"))
        except Cancelled:
            raise
        except HedgerowError as error:
            result = error
        done.append(setting)
        announce(f"trying settings: {setting}")
        return result

    # threads share one encoded table, and kernels run without the interpreter's lock
    pool, work = ThreadPoolExecutor(threads), with_context(one)
    try:
        futures = [pool.submit(work, setting) for setting in every]
        # what the caller's progress raises comes first: it stops the work of every thread
        for each in wait(futures, return_when=FIRST_EXCEPTION).done:
            each.result()
        return [each.result() for each in futures]
    finally:  # also on Ctrl-C: what has begun ends at its next step, nothing else begins
        stop.set()
        pool.shutdown(cancel_futures=True)
