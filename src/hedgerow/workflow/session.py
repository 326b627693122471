"""The steps that were taken: what each gave, what it was asked, what makes it out of date."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import backends
from ..backends import ENGINES
from ..backends.select import chosen, opened
from ..columns.table import Table
from ..errors import ParameterError
from ..io.read import read
from ..progress import Progress
from ..schema import SCHEMA, Schema
from ..validation import FLAG, METHOD, NUMBER, PATH, PROGRESS, TEXT, named, takes
from . import script
from .inspection import Inspection, inspect
from .methods import canonical
from .running import Running
from .script import Choice, Written

if TYPE_CHECKING:
    from ..audit.column_ablation import Shares
    from ..audit.frontier import Prepared
    from ..audit.lookup import Found
    from ..audit.pairing import Pair
    from ..audit.points import Frontier, Point
    from ..audit.result import Audit
    from ..audit.unprotected import Unprotected
    from ..release import Release

STEPS = ("open", "inspect", "today", "choose", "frontier", "protect", "measure", "write")
"""The steps of a release in their order."""

_AFTER = {
    "open": ("inspect", "today", "choose", "frontier", "protect", "measure", "write"),
    "choose": ("protect", "measure", "write"),
    "protect": ("measure", "write"),
    "measure": ("write",),
}
"""What a step that is done again makes out of date."""


class Taken:
    """What each step gave and was asked; a step that is taken again undoes those after it."""

    def __init__(self) -> None:
        self._results: dict[str, Any] = {}
        self._asked: dict[str, Mapping[str, Any]] = {}

    def __contains__(self, step: str) -> bool:
        return step in self._results

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that are done, in their order."""
        return tuple(step for step in STEPS if step in self)

    def keep(self, step: str, result: Any, /, **asked: Any) -> Any:
        """Keep the result of a step and what it was asked."""
        for later in _AFTER.get(step, ()):
            self.undo(later)
        self._results[step] = result
        self._asked[step] = asked
        return result

    def undo(self, step: str) -> None:
        """Take a step back that may have been taken."""
        self._results.pop(step, None)
        self._asked.pop(step, None)

    def result(self, step: str) -> Any:
        """What a step gave; None where it is not done."""
        if step not in STEPS:
            raise ParameterError(f"unknown step {step!r}", hint=f"the steps are {', '.join(STEPS)}")
        return self._results.get(step)

    def needed(self, step: str, call: str) -> Any:
        """What a step gave; ParameterError with the call that takes it where it is not done."""
        found = self._results.get(step)
        if found is None:
            raise ParameterError(f"the step {step!r} is not done yet", hint=f"call {call} first")
        return found

    def asked(self, step: str) -> Mapping[str, Any]:
        """What a step was asked; nothing where it is not done."""
        return self._asked.get(step, {})


class Session:
    """From a table to a release, step by step, free to go back.

    Each step gives its result and keeps it; a step that is done again makes the steps after it
    undone. Nothing is printed, and neither the text of a session nor its messages hold a value
    of a person. A long step calls `progress` with what is being done and the share that is done
    (None where that is not known); what `progress` raises stops it, and so does `cancel` from
    another thread. A step that was stopped leaves everything as it was before.

    Parameters
    ----------
    source : path, pandas, Polars or Arrow table, DuckDB relation
        The table; never changed.
    engine, memory, schema, method, resume
        As `open` takes them.

    Attributes
    ----------
    path : Path or None
        The file that the table came from.

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
        method: Any = None,
        resume: bool | None = None,
    ) -> None:
        self._run = Running()
        self._taken = Taken()
        self._pair: tuple[Release, Pair] | None = None
        self._prepared: Prepared | None = None
        self.open(
            source, engine=engine, memory=memory, schema=schema, method=method, resume=resume
        )

    def __repr__(self) -> str:
        return (
            f"Session({self.name} of {self.table.n_rows:,} records; done: {', '.join(self.done)})"
        )

    @property
    def done(self) -> tuple[str, ...]:
        """The steps that are done, in their order."""
        return self._taken.steps

    def result(self, step: str) -> Any:
        """The result of a step; None where it was not done, or a later choice undid it."""
        return self._taken.result(step)

    @property
    def name(self) -> str:
        """What the table is called: the name of its file."""
        return self.path.name if self.path is not None else "a table"

    @property
    def table(self) -> Table:
        """The table as read."""
        return self._taken.result("open")

    @property
    def choice(self) -> Choice:
        """What was chosen; ParameterError before."""
        return self._taken.needed("choose", "choose(schema, method)")

    @property
    def release(self) -> Release:
        """The verified release; ParameterError before."""
        return self._taken.needed("protect", "protect()")

    def cancel(self) -> None:
        """Stop the step that is running, from another thread, as soon as it reports its progress.

        Where none is running yet, the next one is stopped when it begins.
        """
        self._run.cancel()

    @property
    def cautions(self) -> list[str]:
        """What the last long step warned of."""
        return self._run.cautions

    def open(
        self,
        source: Any,
        *,
        engine: str = "auto",
        memory: str | int | None = None,
        schema: Schema | None = None,
        method: Any = None,
        resume: bool | None = None,
    ) -> Table:
        """Read another table; every step begins anew.

        Parameters
        ----------
        source : path, pandas, Polars or Arrow table, DuckDB relation
        engine, memory
            Where it is held; see `hedgerow.protect`.
        schema : Schema, optional
            What is said of the columns, where that is known already: how a CSV file, which has no
            types, is read.
        method : Method, optional
            What will be chosen, where that is known already: an engine must run it.
        resume : bool, optional
            "duckdb" keeps finished files until the session is gone, for the same work to go on from
            after the process was killed: True goes on, False begins anew. By default
            nothing is kept.

        Raises
        ------
        InputError
            There is no such file, or it cannot be read as a table.
        """
        runs_on = tuple(ENGINES) if method is None else method.runs_on
        what = "a session" if method is None else type(method).__name__
        name = chosen(source, runs_on, what, name=engine, memory=memory)
        known = schema
        if schema is not None and not backends.engine(name).capabilities.streams:
            # the rest of a schema may be chosen anew while the table is held
            known = schema.reading()
        table = opened(
            source, runs_on, what, name=engine, memory=memory, schema=known, resume=resume
        )
        self.path = Path(source) if isinstance(source, (str, Path)) else None
        self._run.anew()
        self._prepared = None
        return self._taken.keep("open", table)

    def inspect(self) -> Inspection:
        """Look at the columns and propose a schema; see `hedgerow.inspect`."""
        return self._taken.result("inspect") or self._taken.keep("inspect", inspect(self.table))

    @takes(schema=SCHEMA, progress=PROGRESS)
    def today(
        self,
        schema: Schema | None = None,
        *,
        attacks: bool = True,
        progress: Progress | None = None,
    ) -> Unprotected:
        """Measure what the table gives away as it is; see `hedgerow.audit.unprotected`.

        Parameters
        ----------
        schema : Schema, optional
            By default the chosen one, or else the proposal of `inspect`.
        attacks : bool
            Also let a regression tree attack every sensitive column, which takes longer.
        progress : callable, optional
        """
        from ..audit.unprotected import unprotected

        if schema is None:
            before: Choice | None = self._taken.result("choose")
            schema = self.inspect().schema if before is None else before.schema
        with self._run.step(progress) as tell:
            found = unprotected(self.table, schema, attacks=attacks, progress=tell)
        return self._taken.keep("today", found, schema=schema)

    @takes(wanted=named(TEXT, "a mapping of columns to values"))
    def look_up(self, wanted: Mapping[str, str]) -> Found:
        """Look a person up: how many records fit what is known, before and after.

        Parameters
        ----------
        wanted : mapping of str to str
            Values of quasi-identifiers as the table shows them; an empty text is a missing one.
        """
        from ..audit.lookup import look_up
        from ..audit.pairing import pair_up
        from ..audit.subject import of_release
        from ..audit.unprotected import as_it_is

        release: Release | None = self._taken.result("protect")
        if release is None:
            before: Choice | None = self._taken.result("choose")
            schema = before.schema if before is not None else self.inspect().schema
            return look_up(as_it_is(self.table, schema), wanted, released=False)
        if self._pair is None or self._pair[0] is not release:
            self._pair = release, pair_up(self.table, of_release(release))
        return look_up(self._pair[1], wanted)

    @takes(schema=SCHEMA, method=METHOD, max_inference=NUMBER, keep_order=FLAG, parts=FLAG)
    def choose(
        self,
        schema: Schema,
        method: Any,
        *,
        pseudonym_key: str | Path | bytes | None = None,
        max_inference: float | None = None,
        keep_order: bool = False,
        profile: str | Path | None = None,
        parts: bool = False,
    ) -> Choice:
        """Choose the roles of the columns and what protects them.

        Parameters
        ----------
        schema : Schema
            The roles; at least one quasi-identifier.
        method : Method
            An unfitted method such as ``MART(k=10)``; it is copied, not changed.
        pseudonym_key : path or bytes, optional
            Replace the identifiers by pseudonyms under this secret (a file of 16 bytes or
            more) instead of leaving them out.
        max_inference : float, in (0, 1), optional
            What named attackers may infer at most; see `hedgerow.protect`.
        keep_order : bool, default False
            Leave the rows in the order of the input, which may show who is who.
        profile : str or path, optional
            A standard to keep; see `hedgerow.protect`. What k does not keep is judged by `measure`.
        parts : bool, default False
            Write the table as a folder of Parquet files of 1,048,576 rows each.

        Raises
        ------
        SchemaError
            The schema names columns that the table does not have.
        ParameterError
            There is no quasi-identifier, or the key cannot be read or is too short.
        """
        schema.check(read(self.table, schema=schema).names)
        schema.check_quasi()
        wanted = canonical(method)
        if profile is not None:
            from .protect import stronger

            wanted = stronger(profile, wanted)
        made = Choice(schema, wanted, pseudonym_key, max_inference, keep_order, profile, parts)
        made.secret()  # a key that is none is told now, not after the work
        tried: Frontier | None = self._taken.result("frontier")
        if tried is not None and tried.schema != schema:
            self._taken.undo("frontier")
        if self._taken.asked("today").get("schema") != schema:
            self._taken.undo("today")
        return self._taken.keep("choose", made)

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
        """Try many settings before choosing one; see `hedgerow.frontier`.

        Parameters
        ----------
        methods : Method, sequence or mapping of Method, optional
            What to try; by default the chosen method.
        schema : Schema, optional
            By default the chosen one.
        keep : bool
            Keep the points of earlier searches where they stand on the same axes, and add to them.
        progress : callable, optional
        **axes
            ``k``, ``max_disclosure``, ``settings``, ``utility``, ``disclosure``, ``max_inference``,
            ``random_state``, ``threads``.
        """
        from ..audit.frontier import frontier

        if methods is None:
            methods = self.choice.method
        with self._run.step(progress) as tell:
            roles = schema or self.choice.schema
            found = frontier(self._ready(roles), roles, methods, progress=tell, **axes)
        tried: Frontier | None = self._taken.result("frontier")
        if keep and tried is not None and tried.alike(found):
            found = tried.joined(found)
        return self._taken.keep("frontier", found)

    @takes(progress=PROGRESS)
    def carried(self, *, progress: Progress | None = None) -> Shares:
        """Measure what each quasi-identifier carries of what the chosen method's groups tell.

        The release is made again without each of them; see `hedgerow.audit.column_ablation`.
        """
        from ..audit.column_ablation import shares

        choice = self.choice
        with self._run.step(progress) as tell:
            return shares(self._ready(choice.schema), choice.method, tell)

    def _ready(self, schema: Schema) -> Prepared:
        """The table as searches want it; kept, for the next search asks for one more setting."""
        from ..audit.frontier import Prepared

        ready = self._prepared
        if ready is None or ready.table is not self.table or ready.schema != schema:
            ready = self._prepared = Prepared.of(self.table, schema)
        return ready

    def take(self, point: Point) -> Choice:
        """Choose the settings of one point of the frontier."""
        found: Frontier = self._taken.needed("frontier", "frontier()")
        wanted = Choice(found.schema, found.method(point))
        before: Choice = self._taken.result("choose") or wanted
        told = {**vars(before), "schema": wanted.schema, "method": wanted.method}
        if found.max_inference is not None:
            told["max_inference"] = found.max_inference
        return self.choose(**told)

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
        from .protect import protect

        choice = self.choice
        with self._run.step(progress) as tell:
            release = protect(
                self.table,
                choice.schema,
                choice.method,
                pseudonym_key=choice.secret(),
                max_inference=choice.max_inference,
                keep_order=choice.keep_order,
                parts=choice.parts,
                progress=tell,
            )
        return self._taken.keep("protect", release)

    @takes(progress=PROGRESS)
    def measure(
        self,
        *,
        attacks: bool = False,
        learning: bool = False,
        progress: Progress | None = None,
        **more: Any,
    ) -> Audit:
        """Measure what the release gives away and what it is still good for.

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
        from ..audit.run import audit

        release, kept = self.release, self.choice.profile
        told = {} if kept is None else {"profile": kept}
        asked = {"attacks": attacks, "learning": learning, **told, **more}
        with self._run.step(progress) as tell:
            made = audit(self.table, release, progress=tell, **asked)
        if kept is not None and asked["profile"] == kept:
            from .protect import bind_profile

            bind_profile(release, kept, made)
        return self._taken.keep("measure", made, **asked)

    @takes(folder=PATH, progress=PROGRESS)
    def write(
        self,
        folder: str | Path,
        *,
        force: bool = False,
        escape: bool = True,
        mapping: bool = False,
        public: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Path:
        """Write the release as a folder that appears whole or not at all.

        What was measured goes into its report and ``audit.json``; without `measure` there
        is no report. See `Release.write`. A chosen profile is judged before, if it was not yet.
        """
        release = self.release
        with self._run.step(progress, final=True) as tell:  # a folder that is there stays
            if self.choice.profile is not None and "profile" not in release.plan.parameters:
                from .protect import bind_profile

                bind_profile(release, self.choice.profile, progress=tell)
            made = release.write(
                folder,
                force=force,
                escape=escape,
                mapping=mapping,
                public=public,
                measured=self._taken.result("measure"),
                progress=tell,
            )
        handed = None if public is None else Path(public)
        self._taken.keep("write", Written(out=made, escape=escape, mapping=mapping, public=handed))
        return made

    @takes(schema_file=PATH)
    def command_line(self, *, schema_file: str | Path | None = None) -> str:
        """The shell command that repeats what was chosen, byte for byte.

        Parameters
        ----------
        schema_file : path, optional
            A file that holds the schema. Without one the command holds the roles, and
            what these cannot say (kinds, orders, hierarchies, odd names) in lines before
            it that write such a file.

        Raises
        ------
        UnsupportedError
            The table or a key is an object and no file, or a parameter has no option.
        """
        return script.command_line(self._chosen(), schema_file)

    def python(self) -> str:
        """Python that repeats what was chosen; a table that is no file is called ``people``.

        Raises
        ------
        UnsupportedError
            A parameter or a key is an object that no code can spell out.
        """
        return script.python(self._chosen())

    def _chosen(self) -> script.Chosen:
        written: Written = self.result("write") or Written()
        told = {**vars(self.choice), **vars(written)}
        return script.Chosen(**told, path=self.path, measured=self._measured_as())

    def _measured_as(self) -> Mapping[str, Any] | None:
        """What the report was asked for; before anything was written, what it is by default."""
        if "measure" in self._taken:
            return self._taken.asked("measure")
        return None if "write" in self._taken else {"attacks": False, "learning": False}
