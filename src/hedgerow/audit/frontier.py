"""Every trade-off at once: disclosure against utility over k, max_disclosure and methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..arguments import (
    METHOD,
    NONE,
    NUMBER,
    NUMBERS,
    PROGRESS,
    TEXT,
    check_one_of,
    many,
    named,
    takes,
    whole,
)
from ..classes import Classes
from ..classes.disclosure import Disclosed, of_column
from ..errors import InfeasibleError, ParameterError
from ..guarantees import SLACK
from ..methods.masking import fingerprint
from ..progress import Progress, carried, telling
from ..schema import SCHEMA, Schema
from ..table import Table, read
from ..table.profile import refuse_repeated
from .inference import infer, refitting
from .inference_bound import InferenceBound
from .pairing import Pair, align, pair_up
from .points import Frontier, Point, mark_dominated
from .risk.linkage import linking_attacks
from .subject import of_fitted
from .utility.loss import certainty_penalty
from .utility.queries import range_queries

DISCLOSURES = {
    "worst": "disclosure of the most exposed group (left is safer)",
    "mean_over_groups": "disclosure, mean over groups (left is safer)",
    "mean_over_records": "disclosure, mean over records (left is safer)",
    "linkage": "records linked with their originals (left is safer)",
    "inferred": "what named learners infer about members, worst tenth (left is safer)",
    "advantage": "member advantage of named learners (left is safer)",
}
ANY_METHOD = ("linkage", "inferred", "advantage")
"""Axes that methods which alter values have as well."""
_ONCE = {"mean_groups": "mean_over_groups", "mean_records": "mean_over_records"}
"""Axes by the names that documents showed once."""
UTILITIES = {
    "certainty": "certainty kept (1 - NCP)",
    "queries": "1 - median error of counting queries",
    "learning": "what a learner on the release explains (R squared or accuracy)",
}
LOOKED_UP = 500
"""People whose record is looked for on the linkage axis."""


_METHODS = METHOD | many(METHOD, "a list of methods") | named(METHOD, "a mapping of names to them")


@takes(
    schema=SCHEMA,
    methods=_METHODS,
    k=NUMBERS,
    max_disclosure=many(NUMBER | NONE, "a list of numbers"),
    utility=TEXT,
    disclosure=TEXT,
    random_state=whole(0),
    threads=whole(),
    progress=PROGRESS,
)
def frontier(
    people: Any,
    schema: Schema,
    methods: Any = None,
    *,
    k: Iterable[int] = (5, 10, 20, 50),
    max_disclosure: Iterable[float | None] = (0.2, 0.4, 0.6),
    utility: str = "certainty",
    disclosure: str | None = None,
    max_inference: float | None = None,
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
    methods : Method, sequence of Method or mapping of str to Method, optional
        What protects; `MART` by default.
    k, max_disclosure : iterables
        The settings to try, every combination.
    utility : {"certainty", "queries", "learning"}
        The utility axis; "learning" fits linear learners for every release.
    disclosure : {"worst", "mean_over_groups", "mean_over_records", "linkage", "inferred", "advantage"}, \
            optional
        The disclosure axis; the table has them all. By default "worst", and "linkage" as
        soon as one of the methods alters values: every method can be held to that.
        "inferred" and "advantage" train learners (`hedgerow.inference`), which takes longer.
    max_inference : float, in (0, 1), optional
        Leave out settings from whose release named learners infer more, of all members or the
        worst tenth; measured, as by `hedgerow.protect`.
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
    chosen = _named(methods)
    altered = [name for name, each in chosen.items() if each.yardstick == "linkage"]
    disclosure = _ONCE.get(disclosure or "", disclosure) or ("linkage" if altered else "worst")
    _check(utility, disclosure, threads)
    if altered and disclosure not in ANY_METHOD:
        raise ParameterError(
            f"{', '.join(altered)} alters values, so groups of equal cells say nothing",
            hint='choose disclosure="linkage", "inferred" or "advantage", which every method has',
        )
    if not schema.sensitive and (disclosure != "linkage" or utility == "learning" or max_inference):
        raise ParameterError("a frontier needs at least one sensitive column to disclose")
    table = read(people, schema=schema)
    # reading the original as its own release checks the schema and encodes every column once
    align(table, table, schema)
    refuse_repeated(table, schema)
    settings = [
        (name, parameters)
        for name in chosen
        for parameters in _grid(chosen[name], list(k), list(max_disclosure))
    ]
    if not settings:
        raise ParameterError("no settings to try: give at least one k or max_disclosure")
    if max_inference is not None:
        InferenceBound(max_inference)  # a wrong bound is told before the work
    learners = {"advantage": 3, "inferred": 0}.get(disclosure, None if max_inference is None else 0)
    axes = _Axes(utility, disclosure == "linkage", random_state, learners)
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
            made = _figures(
                table, schema, chosen[name].copy().set_params(**parameters), measured, axes
            )
            made = _within(made, max_inference, disclosure)
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
        results = list(pool.map(carried(one), settings))
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
        max_inference,
    )


def _within(
    figures: dict[str, Any], max_inference: float | None, disclosure: str
) -> dict[str, Any]:
    """The figures, or why the setting is none to choose."""
    reached = figures["inferred"]
    if max_inference is not None and reached > max_inference + SLACK:
        return {"reason": f"learners infer {reached:.3f}, more than {max_inference:g}"}
    if figures[disclosure] is None:
        return {"reason": f"the {disclosure} cannot be measured: a refit on fewer people fails"}
    return figures


def _check(utility: str, disclosure: str, threads: int) -> None:
    check_one_of("utility", utility, UTILITIES)
    check_one_of("disclosure", disclosure, DISCLOSURES)
    if threads < 1:
        raise ParameterError(f"threads must be at least 1, not {threads}")


def _named(methods: Any) -> dict[str, Any]:
    """The methods by name; `MART` when none is given."""
    if methods is None:
        from ..methods.mart import MART

        methods = MART()
    if isinstance(methods, Mapping):
        return dict(methods)
    out: dict[str, Any] = {}
    for entry in methods if isinstance(methods, (list, tuple)) else [methods]:
        name = entry.title
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


@dataclass(frozen=True)
class _Axes:
    """What is measured of every release."""

    utility: str
    linkage: bool
    random_state: int
    folds: int | None
    """For the learners; 0 asks about members alone, None trains none."""


def _figures(
    table: Table, schema: Schema, method: Any, measured: dict[Any, dict[str, Any]], axes: _Axes
) -> dict[str, Any]:
    """Fit, recode and measure one setting; equal releases are measured once."""
    made = of_fitted(method.fit_table(table, schema), table, schema)
    changed = [*(c.name for c in method.plan_.recoding.recoded()), made.numbered]
    key = (made.yardstick, fingerprint(made.table, [name for name in changed if name]))
    if key not in measured:
        pair = pair_up(table, made)
        measured[key] = _measured(pair, axes) | _inferred(pair, method, schema, axes)
    return measured[key]


def _measured(pair: Pair, axes: _Axes) -> dict[str, Any]:
    ncp = float(np.mean(list(certainty_penalty(pair).values())))
    altered = pair.yardstick == "linkage"
    linked = None
    if altered or axes.linkage:
        linked = max(a["success"] for a in linking_attacks(pair, people=LOOKED_UP))
    told = None if altered else _told(pair)
    return {
        "k": None if altered else int(pair.people_in(pair.classes).min()),
        "classes": None if altered else pair.classes.n_groups,
        "worst": told.worst if told else None,
        "mean_over_groups": told.mean_over_groups if told else None,
        "mean_over_records": told.mean_over_records if told else None,
        "linkage": linked,
        "ncp": ncp,
        "utility": _utility(pair, ncp, axes),
    }


def _inferred(pair: Pair, method: Any, schema: Schema, axes: _Axes) -> dict[str, Any]:
    """What named learners infer, and the member advantage, where they are asked for."""
    if axes.folds is None:
        return {"inferred": None, "advantage": None}
    refit = refitting(method, schema) if axes.folds else None
    found = infer(pair, refit, folds=axes.folds, random_state=axes.random_state)
    advantage = found.advantage
    return {
        "inferred": found.reached,
        "advantage": None if advantage is None else max(advantage, 0.0),
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
