"""Every trade-off at once: disclosure against utility over k, max_disclosure and methods."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..columns.order import content_order
from ..columns.roles import refuse_repeated
from ..columns.table import Table
from ..errors import Cancelled, HedgerowError, InfeasibleError, ParameterError
from ..io.read import read
from ..methods.estimator import TRIED
from ..progress import Progress, carried, telling
from ..schema import SCHEMA, Schema
from ..validation import (
    LIST,
    METHOD,
    NONE,
    NUMBER,
    NUMBERS,
    PROGRESS,
    SEED,
    TEXT,
    check_one_of,
    many,
    named,
    takes,
    whole,
)
from .inference import InferenceBound
from .pairing import align
from .points import Frontier, Point, mark_dominated
from .settings import CAP, Setting, methods_by_name, settings_of
from .trials import Trial

DISCLOSURES = {
    "worst": "disclosure of the most exposed group (left is safer)",
    "mean_over_groups": "disclosure, mean over groups (left is safer)",
    "mean_over_records": "disclosure, mean over records (left is safer)",
    "linkage": "records linked with their originals (left is safer)",
    "inferred": "what named attackers infer about members, worst tenth (left is safer)",
    "advantage": "member advantage of named attackers (left is safer)",
}
ANY_METHOD = ("linkage", "inferred", "advantage")
"""Axes that methods which alter values have as well."""
_ONCE = {"mean_groups": "mean_over_groups", "mean_records": "mean_over_records"}
"""Axes by the names that documents showed once."""
UTILITIES = {
    "certainty": "certainty kept (1 - NCP)",
    "queries": "1 - median error of counting queries",
    "learning": "what learners explain of people left out (R squared, or of the Brier score)",
}

@dataclass(eq=False)
class Prepared:
    """A table that was read, checked and put in the order of its content, for many searches.

    Parameters
    ----------
    table : Table
        As it was read.
    schema : Schema
    rows : Table
        The rows in an order that their content gives, so that sums come out the same in any.
    roles : Schema
        The schema with the declared categories of the table.
    """

    table: Table
    schema: Schema
    rows: Table
    roles: Schema

    def __post_init__(self) -> None:
        self._trials: dict[Any, Trial] = {}

    @classmethod
    def of(cls, people: Any, schema: Schema) -> Prepared:
        """Read a table; SchemaError where the schema does not fit it."""
        table = read(people, schema=schema)
        # reading the original as its own release checks the schema and encodes every column once
        align(table, table, schema)
        refuse_repeated(table, schema)
        declared = {n: table.declared(n) for n in table.names if table.declared(n)}
        rows = table.arrow.take(content_order(table.arrow))
        roles = schema.replace(categories=declared | dict(schema.categories))
        return cls(table, schema, Table(rows), roles)

    def trial(
        self, utility: str, disclosure: str, max_inference: float | None, random_state: int
    ) -> Trial:
        """What is measured on these axes; equal releases once, over all searches."""
        axes = utility, disclosure, max_inference, random_state
        if axes not in self._trials:
            self._trials[axes] = Trial(self.rows, self.roles, *axes)
        return self._trials[axes]


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
    threads=whole(),
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
        Its roles; at least one sensitive column, but for the linkage axis.
    methods : Method, sequence of Method or mapping of str to Method, optional
        What protects; `MART` by default. All are placed on the same axes.
    k, max_disclosure : iterables
        The settings to try, every combination.
    settings : mapping of str to iterable, optional
        Values of further parameters to try, such as ``{"scale": [0.1, 0.5]}``. How strongly a
        method masks (``l``, ``scale``, ``proportion``, ``stay``, ``top_share``) is varied
        unasked where it stands at its default.
    utility : {"certainty", "queries", "learning"}
        The utility axis. "learning": people are dealt into three parts, each left out of a
        release once, and the best of the named attackers (`hedgerow.inference`) is asked about
        those left out: R squared, for categories the same of the Brier score, averaged over
        the sensitive columns. It also releases every setting without its cap, and warns
        where a cap takes more than half of that away.
    disclosure : {"worst", "mean_over_groups", "mean_over_records", "linkage", "inferred", "advantage"}, \
            optional
        The disclosure axis; the table has them all. By default "worst", and "linkage" as
        soon as one of the methods alters values: every method can be held to that.
        "inferred" and "advantage" train learners (`hedgerow.inference`), which takes longer.
    max_inference : float, in (0, 1), optional
        Leave out settings from whose release named attackers infer more, of all members or the
        worst tenth; measured, as by `hedgerow.protect`.
    random_state : int
        For queries, folds, and the draws of methods that have neither a key nor a random state;
        their release is drawn anew, from a secret key.
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
    chosen = methods_by_name(methods)
    altered = [name for name, each in chosen.items() if each.risk_model == "linkage"]
    altered = [name for name, each in chosen.items() if each.risk_model == "linkage"]
    disclosure = _ONCE.get(disclosure or "", disclosure) or ("linkage" if altered else "worst")
    check_one_of("utility", utility, UTILITIES)
    check_one_of("disclosure", disclosure, DISCLOSURES)
    if threads < 1:
        raise ParameterError(f"threads must be at least 1, not {threads}")
    if altered and disclosure not in ANY_METHOD:
        raise ParameterError(
            f"{', '.join(altered)} alters values, so groups of equal cells say nothing",
            hint='choose disclosure="linkage", "inferred" or "advantage", which every method has',
        )
    if not schema.sensitive and (disclosure != "linkage" or utility == "learning" or max_inference):
        raise ParameterError("a frontier needs at least one sensitive column to disclose")
    ready = people if isinstance(people, Prepared) else Prepared.of(people, schema)
    tried = settings_of(chosen, {"k": k, CAP: max_disclosure} | dict(settings or {}))
    if max_inference is not None:
        InferenceBound(max_inference)  # a wrong bound is told before the work
    # a cap is held against the same setting without it; nothing else is asked of that one
    uncapped = [s.uncapped() for s in tried] if utility == "learning" else []
    every = list(dict.fromkeys([*tried, *(s for s in uncapped if s is not None)]))
    trial = ready.trial(utility, disclosure, max_inference, random_state)
    found = dict(zip(every, _results(every, chosen, trial, threads, progress), strict=True))
    wrong = [e for e in found.values() if isinstance(e, HedgerowError)]
    odd = next((e for e in wrong if not isinstance(e, InfeasibleError)), None)
    if odd is not None and len(wrong) == len(found):
        raise odd  # nothing can be shown, and not because of what was asked of the release
    points, lost = [], []
    for setting in tried:
        made = found[setting]
        free = setting.uncapped() if utility == "learning" else None
        without = found.get(free) if free is not None else None
        reason = made.message if isinstance(made, HedgerowError) else trial.refusal(made)
        if reason is None:
            assert isinstance(made, dict)
            points.append(
                Point(
                    setting.method,
                    setting.parameters,
                    **made,
                    disclosure=made[disclosure],
                    uncapped=without["utility"] if isinstance(without, dict) else None,
                )
            )
        else:
            lost.append(
                {"method": setting.method, "parameters": setting.parameters, "reason": reason}
            )
    return Frontier(
        mark_dominated(points),
        tuple(lost),
        UTILITIES[utility],
        DISCLOSURES[disclosure],
        ready.table,
        schema,
        chosen,
        max_inference,
    )


def _results(
    every: Sequence[Setting],
    methods: Mapping[str, Any],
    trial: Trial,
    threads: int,
    progress: Progress | None,
) -> list[dict[str, Any] | HedgerowError]:
    """The figures of every setting, or why there are none; stopped as soon as anybody asks."""
    tell = telling(progress)
    tell("trying settings", 0.0)
    done: list[Setting] = []
    stop = threading.Event()
    why: list[BaseException] = []

    def going_on(step: str = "", share: float | None = None) -> None:
        if stop.is_set():
            raise Cancelled("stopped")
        told("trying settings")

    def told(step: str) -> None:
        try:
            tell(step, len(done) / len(every))
        except BaseException as error:  # whoever listens stops the work
            why.append(error)
            stop.set()
            raise

    def one(setting: Setting) -> dict[str, Any] | HedgerowError:
        going_on()
        method = methods[setting.method].copy().set_params(**setting.parameters)
        if method.draws and method.key is None and method.random_state is None:
            method.set_params(random_state=trial.random_state)  # figures that come out again
        made: dict[str, Any] | HedgerowError
        try:
            made = trial.figures(method, going_on)
        except Cancelled:
            raise
        except HedgerowError as error:
            made = error
        done.append(setting)
        told(f"trying settings: {setting}")
        return made

    pool = ThreadPoolExecutor(threads)
    try:
        return list(pool.map(carried(one), every))
    except Cancelled as error:
        raise (why or [error])[0] from None
    finally:  # also on Ctrl-C: what has begun ends at its next step, nothing else begins
        stop.set()
        pool.shutdown(cancel_futures=True)
