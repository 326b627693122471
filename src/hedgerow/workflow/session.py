"""A session from a table to a release; the result of a step is kept until an earlier step is repeated."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..auditing.column_ablation import shares
from ..auditing.frontier import Frontier, Point, Prepared, frontier
from ..auditing.measure import audit, bind_profile
from ..auditing.result import Audit
from ..auditing.single_table import unprotected
from ..backends import ENGINES, base
from ..backends.select import chosen, opened
from ..columns.table import Table
from ..errors import Cancelled, ParameterError
from ..io.read import read
from ..methods.base import Method
from ..progress import Progress, cautions
from ..release import Release
from ..schema import SCHEMA, Schema
from ..validation import FLAG, METHOD, NUMBER, PATH, PROGRESS, TEXT, takes
from . import script
from .inspection import Inspection, inspect
from .protect import guarding, protect, stronger
from .request import CHOICE, DRAWING, Request

# the steps of a release in their order
STEPS = ("open", "inspect", "today", "choose", "frontier", "protect", "measure", "write")

# for each step, the later steps whose results are discarded when it is repeated
_AFTER = {"choose": ("protect", "measure", "write"), "protect": ("measure", "write"), "measure": ("write",)}


class Session:
    """A working session that leads from a table to a release; any step can be repeated.

    Each step returns its result and stores it; repeating a step discards the results of the steps
    after it. Nothing is printed, and neither the text of a session nor its messages contain a value
    of a person. A long step calls `progress` with the name of its current task and the fraction done
    (None if unknown). An exception from `progress` stops the step, and so does `cancel` from another
    thread. A step that was stopped leaves everything as it was before.

    Parameters
    ----------
    source : path, pandas, Polars or Arrow table, DuckDB relation
        The table; never changed.
    engine, memory
        The engine that holds the table, and its memory; see `hedgerow.protect`.
    schema : Schema, optional
        The schema, if it is known already; it says how to read a CSV file, which has no
        types.
    method : Method, optional
        The method, if it is known already; the engine must be able to run it.

    Raises
    ------
    InputError
        There is no such file, or it cannot be read as a table.

    Attributes
    ----------
    path : Path or None
        The file that the table came from.
    cautions : list of str
        The warnings of the last long step.

    Examples
    --------
    >>> import hedgerow as hr
    >>> session = hr.Session(hr.datasets.make_people(1000, seed=1))
    >>> session.inspect().schema.role("income")
    'sensitive'
    >>> schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    >>> session.choose(schema, hr.MART(k=10, max_disclosure=0.5)).schema.quasi
    ('age', 'education')
    >>> session.protect().summary()["groups"]["smallest"] >= 10
    True
    >>> session
    Session(a table of 1,000 records; done: open, inspect, choose, protect)
    """

    @takes(schema=SCHEMA, method=METHOD, engine=TEXT)
    def __init__(
        self,
        source: Any,
        *,
        engine: str = "auto",
        memory: str | int | None = None,
        schema: Schema | None = None,
        method: Method | None = None,
    ) -> None:
        self._results: dict[str, object] = {}
        self._settings: dict[str, Mapping[str, object]] = {}
        self._cancelled = threading.Event()
        self.cautions: list[str] = []
        self._prepared: Prepared | None = None
        runs_on = tuple(ENGINES) if method is None else method.engines
        what = "a session" if method is None else type(method).__name__
        name = chosen(source, runs_on, what, name=engine, memory=memory)
        if schema is not None and not base.engine(name).capabilities.streams:
            # keep only the settings for reading; the rest of the schema may change while the table is open
            schema = schema.reading()
        table = opened(source, runs_on, what, name=engine, memory=memory, schema=schema)
        self.path = Path(source) if isinstance(source, (str, Path)) else None
        self._keep("open", table)

    def __repr__(self) -> str:
        return f"Session({self.name} of {self.table.n_rows:,} records; done: {', '.join(self.done)})"

    @property
    def done(self) -> tuple[str, ...]:
        """Return the steps that are done, in their order."""
        return tuple(step for step in STEPS if step in self._results)

    def result(self, step: str) -> Any:
        """Return the result of a step; None if it was not done or a later choice discarded it."""
        if step not in STEPS:
            raise ParameterError(f"unknown step {step!r}", hint=f"the steps are {', '.join(STEPS)}")
        return self._results.get(step)

    def _require(self, step: str, call: str) -> Any:
        """Return the result of a step; if there is none, raise ParameterError that names the call to make."""
        if step not in self._results:
            raise ParameterError(f"the step {step!r} is not done yet", hint=f"call {call} first")
        return self._results[step]

    def _keep(self, step: str, result: Any, /, **settings: Any) -> Any:
        """Store the result and the settings of a step, discard the steps after it, and return the result."""
        for later in _AFTER.get(step, ()):
            self._undo(later)
        self._results[step], self._settings[step] = result, settings
        return result

    def _undo(self, step: str) -> None:
        self._results.pop(step, None)
        self._settings.pop(step, None)

    @property
    def name(self) -> str:
        """Return the file name of the table, or "a table" if it has no file."""
        return self.path.name if self.path is not None else "a table"

    @property
    def table(self) -> Table:
        """Return the table as read."""
        return self.result("open")

    @property
    def choice(self) -> Request:
        """Return what was chosen so far; raise ParameterError before `choose`."""
        return self._require("choose", "choose(schema, method)")

    @property
    def release(self) -> Release:
        """Return the verified release; raise ParameterError before `protect`."""
        return self._require("protect", "protect()")

    def cancel(self) -> None:
        """Stop the running step from another thread, as soon as the step reports its progress.

        If no step is running, the next one is stopped when it begins.
        """
        self._cancelled.set()

    def _stop_if_cancelled(self) -> None:
        if self._cancelled.is_set():
            self._cancelled.clear()
            raise Cancelled("stopped; nothing was changed or written")

    @contextmanager
    def _running(self, progress: Progress | None, final: bool = False) -> Iterator[Progress]:
        """Yield a progress function that stops a cancelled step; a `final` step is not stopped at its end."""

        def report(step: str, fraction: float | None) -> None:
            # before and after: what progress does may be what cancels
            self._stop_if_cancelled()
            if progress is not None:
                progress(step, fraction)
                self._stop_if_cancelled()

        self._stop_if_cancelled()
        with cautions() as texts:
            yield report
        if not final:
            self._stop_if_cancelled()
        self._cancelled.clear()
        self.cautions = list(dict.fromkeys(texts))

    def inspect(self) -> Inspection:
        """Inspect the columns and propose a schema; see `hedgerow.inspect`."""
        return self.result("inspect") or self._keep("inspect", inspect(self.table))

    @takes(schema=SCHEMA, progress=PROGRESS)
    def today(
        self, schema: Schema | None = None, *, attacks: bool = True, progress: Progress | None = None
    ) -> dict[str, Any]:
        """Measure what the table reveals without protection; see `hedgerow.auditing.single_table`.

        Parameters
        ----------
        schema : Schema, optional
            The roles; by default the chosen schema, or else the proposal of `inspect`.
        attacks : bool
            Also let a regression tree attack every sensitive column, which takes longer.
        progress : callable, optional
        """
        if schema is None:
            schema = self._roles()
        with self._running(progress) as report:
            figures = unprotected(self.table, schema, attacks=attacks, progress=report)
        return self._keep("today", figures, schema=schema)

    def _roles(self) -> Schema:
        """Return the chosen schema, or the proposal of `inspect` if none was chosen."""
        request: Request | None = self.result("choose")
        return self.inspect().schema if request is None else request.schema

    @takes(schema=SCHEMA, method=METHOD, max_inference=NUMBER, keep_order=FLAG, parts=FLAG)
    def choose(
        self,
        schema: Schema,
        method: Method,
        *,
        pseudonym_key: str | Path | bytes | None = None,
        max_inference: float | None = None,
        keep_order: bool = False,
        profile: str | Path | None = None,
        parts: bool = False,
        **guard: Any,
    ) -> Request:
        """Choose the roles of the columns and the method that protects them.

        Parameters
        ----------
        schema : Schema
            The roles, with at least one quasi-identifier.
        method : Method
            An unfitted method such as ``MART(k=10)``; it is copied, not changed.
        pseudonym_key : path or bytes, optional
            Replace the identifiers by pseudonyms under this secret (a file of 16 bytes or
            more) instead of leaving them out.
        max_inference : float, in (0, 1), optional
            The most that named attackers may infer; see `hedgerow.protect`.
        keep_order : bool, default False
            Leave the rows in the order of the input, which may show who is who.
        profile : str or path, optional
            A standard to keep; see `hedgerow.protect`. `measure` judges the criteria that k does not settle.
        parts : bool, default False
            Write the table as a folder of Parquet files of 1,048,576 rows each.
        **guard
            ``guard``, ``guard_people``, ``cap_on``, ``key`` and ``random_state``; see `hedgerow.protect`.

        Raises
        ------
        SchemaError
            The schema names columns that the table does not have.
        ParameterError
            There is no quasi-identifier, or the key cannot be read or is too short.
        """
        schema.check(read(self.table, schema=schema).names)
        schema.check_quasi()
        if profile is not None:
            method = stronger(profile, method)
        guarding(method, **guard)  # what cannot be done is refused before the work
        request = Request(
            schema=schema, method=method, pseudonym_key=pseudonym_key, max_inference=max_inference, profile=profile,
            keep_order=keep_order, parts=parts, path=self.path,
            **({**guard, "guard": None} if guard.get("guard") == "none" else guard),
        )  # fmt: skip
        request.secret()  # a key that is none is refused now, not after the work
        # points of the same schema hold for every method and k
        points: Frontier | None = self.result("frontier")
        if points is not None and points.schema != schema:
            self._undo("frontier")
        if self._settings.get("today", {}).get("schema") != schema:
            self._undo("today")
        return self._keep("choose", request)

    @takes(schema=SCHEMA, progress=PROGRESS)
    def frontier(
        self,
        methods: Any = None,
        *,
        schema: Schema | None = None,
        keep: bool = False,
        progress: Progress | None = None,
        **axes: Any,
    ) -> Frontier:
        """Try many settings before one is chosen; see `hedgerow.frontier`.

        Parameters
        ----------
        methods : Method, sequence or mapping of Method, optional
            The methods to try; by default the chosen one.
        schema : Schema, optional
            The roles; by default the chosen schema.
        keep : bool
            Add to the points of earlier searches if they have the same axes.
        progress : callable, optional
        **axes
            ``k``, ``max_disclosure``, ``settings``, ``utility``, ``disclosure``, ``max_inference``,
            ``random_state``, ``threads``.
        """
        if methods is None:
            methods = self.choice.method
        with self._running(progress) as report:
            schema = schema or self.choice.schema
            points = frontier(self._ready(schema), schema, methods, progress=report, **axes)
        earlier: Frontier | None = self.result("frontier")
        if keep and earlier is not None and earlier.is_comparable(points):
            points = earlier.joined(points)
        return self._keep("frontier", points)

    @takes(progress=PROGRESS)
    def carried(self, *, progress: Progress | None = None) -> dict[str, Any]:
        """Measure how much each quasi-identifier adds to what the groups of the chosen method reveal.

        The release is made again without each of them; see `hedgerow.auditing.column_ablation`.
        """
        schema, method = self.choice.schema, self.choice.method
        assert method is not None
        with self._running(progress) as report:
            return shares(self._ready(schema), method, report)

    def _ready(self, schema: Schema) -> Prepared:
        """Return the table prepared for frontier searches, cached for the next search."""
        if self._prepared is None or self._prepared.schema != schema:
            self._prepared = Prepared.from_people(self.table, schema)
        return self._prepared

    def take(self, point: Point) -> Request:
        """Choose the settings of one point of the frontier."""
        points: Frontier = self._require("frontier", "frontier()")
        request: Request | None = self.result("choose")
        more = {} if request is None else request.changed(("pseudonym_key", *CHOICE, *DRAWING))
        # the point was searched under this bound, so it is chosen with it
        if points.max_inference is not None:
            more["max_inference"] = points.max_inference
        return self.choose(points.schema, points.method(point), **more)

    @takes(progress=PROGRESS)
    def protect(self, *, progress: Progress | None = None) -> Release:
        """Protect the table as chosen, and check every promise on the released table.

        Raises
        ------
        HedgerowError
            As `hedgerow.protect`.
        Cancelled
            Somebody called `cancel`.
        """
        request = self.choice
        # the profile is bound by `measure`, with what the report measures
        settings = {n: v for n, v in request.changed((*CHOICE, *DRAWING)).items() if n != "profile"}
        settings["pseudonym_key"] = request.secret()
        with self._running(progress) as report:
            release = protect(self.table, request.schema, request.method, progress=report, **settings)
        return self._keep("protect", release)

    @takes(progress=PROGRESS)
    def measure(
        self, *, attacks: bool = False, learning: bool = False, progress: Progress | None = None, **more: Any
    ) -> Audit:
        """Measure what the release reveals and how useful it still is.

        Parameters
        ----------
        attacks, learning : bool
            Try the attacks, compare learning; both take longer than protecting.
        progress : callable, optional
        **more
            As `hedgerow.audit` takes them: ``inference``, ``control``, ``people``, ``population`` ...

        Raises
        ------
        PromiseError
            The release does not meet the profile that was chosen.
        """
        release, profile = self.release, self.choice.profile
        bound = {} if profile is None else {"profile": profile}
        settings = {"attacks": attacks, "learning": learning, **bound, **more}
        with self._running(progress) as report:
            measured = audit(self.table, release, progress=report, **settings)
        if profile is not None and settings["profile"] == profile:
            bind_profile(release, profile, measured)
        return self._keep("measure", measured, **settings)

    @takes(folder=PATH, sign=PATH, progress=PROGRESS)
    def write(
        self,
        folder: str | Path,
        *,
        force: bool = False,
        escape: bool = True,
        mapping: bool = False,
        public: str | Path | None = None,
        sign: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Path:
        """Write the release to a folder, completely or not at all.

        The report and ``audit.json`` contain what was measured; without `measure` there is no
        report. See `Release.write`. A chosen profile is judged first, if it was not yet.
        """
        release, profile = self.release, self.choice.profile
        with self._running(progress, final=True) as report:  # a folder that is there stays
            if profile is not None and "profile" not in release.plan.parameters:
                bind_profile(release, profile, progress=report)
            out = release.write(
                folder, force=force, escape=escape, measured=self.result("measure"), mapping=mapping, public=public,
                progress=report, sign=sign,
            )  # fmt: skip
        public, sign = (None if path is None else Path(path) for path in (public, sign))
        # what the report was made from, so that a script measures the same
        request = replace(self.choice, measured=self._settings.get("measure"), public=public, sign=sign)
        self._keep("write", replace(request, out=out, escape=escape, mapping=mapping))
        return out

    @takes(schema_file=PATH)
    def command_line(self, *, schema_file: str | Path | None = None) -> str:
        """Return the shell command that reproduces the chosen release, byte for byte.

        Parameters
        ----------
        schema_file : path, optional
            A file that holds the schema. Without one the command names the roles; if the
            schema says more (kinds, orders, hierarchies, odd names), the lines after the
            command are its text.

        Raises
        ------
        UnsupportedError
            The table or a key is an object and no file, or a parameter has no option.
        """
        return script.command_line(self._request(), schema_file)

    def python(self) -> str:
        """Return Python code that reproduces the chosen release; a table without a file is called ``people``.

        Raises
        ------
        UnsupportedError
            A parameter or a key is an object that cannot be written as code.
        """
        return script.python(self._request())

    def _request(self) -> Request:
        """Return the request with which the release was written, or the default one if it was not written."""
        measured = self._settings.get("measure", {"attacks": False, "learning": False})
        return self.result("write") or replace(self.choice, measured=measured)
