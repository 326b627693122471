"""From a table of people to a verified release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..backends import engine as computing
from ..backends.select import chosen, opened
from ..columns.roles import refuse_identifiers, refuse_repeated
from ..columns.table import Table
from ..columns.weights import check_weights
from ..errors import ParameterError, UnsupportedError
from ..key import Secret
from ..methods.base import Method
from ..plan import Plan
from ..profiles import Profile
from ..progress import Progress, caution, cautions, listening, telling
from ..schema import SCHEMA, Schema
from ..validation import FLAG, METHOD, PROGRESS, TEXT, takes
from .pseudonyms import pseudonyms
from .release import Release
from .spark_release import kind


@takes(schema=SCHEMA, method=METHOD, keep_order=FLAG, parts=FLAG, engine=TEXT, progress=PROGRESS)
def protect(
    people: Any,
    schema: Schema,
    method: Any,
    *,
    pseudonym_key: bytes | str | Path | Secret | None = None,
    max_inference: float | None = None,
    profile: str | Path | Profile | None = None,
    keep_order: bool = False,
    parts: bool = False,
    engine: str = "auto",
    memory: str | int | None = None,
    resume: bool | None = None,
    progress: Progress | None = None,
) -> Release:
    """Protect a table of people by a method, and check every promise on the released table.

    Parameters
    ----------
    people : path, pandas, Polars or Arrow table, DuckDB relation, Spark DataFrame
        One record per person, or several where the schema has a `unit`; never changed. A path may
        be a folder of Parquet or CSV files, a pattern such as ``people/*.parquet``, or a
        table of a DuckDB database, ``people.duckdb::visits``.
    schema : Schema
        The roles of the columns; at least one quasi-identifier.
    method : Method
        An unfitted method such as ``MART(k=10)``; it is cloned, not changed.
    pseudonym_key : bytes or path, optional
        Replace the identifiers by pseudonyms under this secret key (at least 16
        bytes, or a file of them) instead of leaving them out. Pseudonyms link the records of one
        person, within this release and with others under the same key. A household gets none: who
        lives together is not told.
    max_inference : float, in (0, 1), optional
        Accept a release only where the best of the named attackers (`hedgerow.inference`),
        who have it and are asked about its people, takes at most this share off the public
        error of every sensitive column, over all people and over the worst tenth. The
        method is tightened step by step (`Method.stricter`: k up, cap down) until it does.
        A measured bound under these attackers, not a promise about others.
    profile : str, path or Profile, optional
        A standard to keep (`Profile.names`, or a TOML file of your own). A k below what keeps it is
        raised where the method has its own k, and refused where you chose another; what k does not keep
        is measured, with attacks where the standard asks for them (`Release.against`). The plan
        remembers the profile, and `Release.verify` checks it again.
    keep_order : bool, default False
        Leave the rows in the order of the input. By default a release stands in the order that
        its own content gives, for the order of a register may tell who is who.
    parts : bool, default False
        Write the release as a folder of Parquet files of 1,048,576 rows each, ``release/``, in
        place of one file; the same ones on every engine.
    engine : {"auto", "memory", "duckdb", "spark"}, default "auto"
        Where it is computed; the release is the same byte for byte. "duckdb" reads the table a few
        rows at a time and holds codes in files where they are many; `Method.engines` says
        which methods run there. "auto" takes it for folders, patterns, databases, and what does
        not fit into memory; and "spark", whose rows stay on their cluster, for Spark DataFrames.
    memory : str or int, optional
        Most memory that "duckdb" takes, such as ``"4GB"``; by default half of the machine's. With
        "spark" that of this process: methods that bring codes of all records here are
        refused where these take more.
    resume : bool, optional
        "duckdb" keeps finished files until the release is gone, for the same call to go on from
        where its process is killed: True goes on from what one left, False begins anew. By
        default nothing is kept.
    progress : callable, optional
        Called with the name of each step ("reading", "fitting", "recoding", "verifying") and the
        part of it that is done, or None; what it raises ends the work.

    Returns
    -------
    Release

    Raises
    ------
    InfeasibleError
        No release within `max_inference` was found; says what was reached.
    PromiseError
        A criterion of the profile is not met; one that cannot be measured stops nothing.
    SchemaError
        ``rest="release"`` would release columns that look like identifiers; identifiers
        repeat, and the schema does not say who is a person.
    HedgerowError
        The table cannot be read, the schema does not fit, a parameter is out of
        range, or the released table does not keep a promise.

    Warns
    -----
    UserWarning
        Columns that the schema does not name were left out.

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.make_people(1000, seed=1)
    >>> schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    >>> release = hr.protect(people, schema, hr.MART(k=10, max_disclosure=0.5))
    >>> release.summary()["groups"]["smallest"] >= 10
    True
    """
    if profile is not None:
        from ..audit.profile_binding import protect_to

        return protect_to(
            people,
            schema,
            method,
            profile,
            pseudonym_key=pseudonym_key,
            max_inference=max_inference,
            keep_order=keep_order,
            parts=parts,
            engine=engine,
            memory=memory,
            resume=resume,
            progress=progress,
        )
    if max_inference is not None:
        if engine not in ("auto", "memory"):
            raise UnsupportedError(
                "max_inference trains learners on the whole table, and this engine reads it piece by piece",
                hint='use engine="memory", or leave it out',
            )
        from ..audit.inference_bound import protect_within

        chosen(people, ("memory",), "max_inference")
        return protect_within(
            people,
            schema,
            method,
            max_inference,
            pseudonym_key=pseudonym_key,
            keep_order=keep_order,
            parts=parts,
            progress=progress,
        )
    step, secret = telling(progress), Secret.of(pseudonym_key)
    step("reading")
    table = opened(
        people,
        method.runs_on,
        type(method).__name__,
        name=engine,
        memory=memory,
        schema=schema,
        resume=resume,
    )
    schema.check(table.names)
    schema.check_quasi()
    _check_capable(table.engine, schema, secret)
    if schema.rest == "release":
        refuse_identifiers(table, schema.undeclared(table.names))
    kept = [n for n in schema.identifiers if n != schema.household] if secret else []
    repeated = refuse_repeated(table, schema, kept)
    if schema.weight is not None:
        check_weights(table, schema.weight)
    try:
        return _protected(
            table, schema, method, secret, repeated, keep_order=keep_order, parts=parts, progress=progress
        )
    except BaseException:  # also Ctrl-C
        table.abandon()
        raise


def _protected(
    table: Table,
    schema: Schema,
    method: Method,
    secret: Secret | None,
    repeated: Sequence[str],
    *,
    keep_order: bool,
    parts: bool,
    progress: Progress | None,
) -> Release:
    """The release of a table that was opened and looked at."""
    step = telling(progress)
    table.give_back()
    method.check_kinds()
    room = method.room(table.n_rows, len(schema.sensitive))
    if table.engine != "memory":
        named = [*schema.quasi, *schema.sensitive, *schema.other]
        named += schema.undeclared(table.names) if schema.rest == "release" else []
        table.check_room(len(named), room)
        computing(table.engine).encode(table, named)
    step("fitting")
    with cautions() as heard:
        if repeated:
            caution(
                f"{', '.join(repeated)}: values repeat, so people may have several records, and k "
                f"counts records; say who is a person: unit={repeated[0]!r} (--unit {repeated[0]})"
            )
        with listening(step, "fitting"):
            fitted: Method = method.copy().fit_table(
                table.gathered(method.side_by_side(schema), room), schema
            )
        plan: Plan = fitted.plan_
        if undeclared := plan.names("undeclared"):
            caution(
                f"left out columns that the schema does not name: {', '.join(undeclared)}; "
                "to release those that are harmless, name them in other=[...] (--other)"
            )
        if table.layout.labels.title:
            caution("left out the title that stands inside the file: it may name who made it")
        if secret is not None and schema.household in schema.identifiers:
            caution(f"{schema.household} is left out and has no pseudonym: it shows who lives together")
        if fitted.by_position and not computing(table.engine).capabilities.positions:
            raise UnsupportedError(
                f"what this {type(fitted).__name__} promises counts records by their position, and "
                f"rows on the engine {table.engine!r} have none",
                hint='draw none by position (bootstrap=False), or use engine="memory" (--engine memory)',
            )
        if keep_order:
            caution("the released records keep the order of the input, which may show who is who")
            plan = replace(plan, parameters={**plan.parameters, "keep_order": True})
        elif fitted.by_position:
            raise ParameterError(
                f"what this {type(fitted).__name__} promises counts records by their position",
                hint="draw none by position (bootstrap=False), or leave them in the order of the "
                "input, which may show who is who (keep_order=True, --keep-order)",
            )
    table.give_back()
    step("recoding")
    made = fitted.release_table(table)
    replaced = dict(made.columns)
    kept = tuple(n for n in schema.identifiers if n != schema.household) if secret else ()
    if secret is not None:
        replaced |= {name: pseudonyms(table, name, secret) for name in kept}
    frame, rows = computing(table.engine).release(
        table,
        replaced,
        drop=[n for n in plan.left_out if n not in kept],
        keep_order=keep_order,
        parts=parts,
    )
    table.give_back()
    release = kind(table)(
        plan=plan,
        schema=schema,
        method=fitted,
        original=table,
        table=frame,
        rows=rows,
        pseudonyms=kept,
        secret=secret,
        warned=tuple(heard),
        parts=parts,
    )
    step("verifying")
    release.verify(progress)
    for text in release.cautions:
        caution(text)
    return release


def _check_capable(engine: str, schema: Schema, secret: Secret | None) -> None:
    """Raise UnsupportedError where an engine cannot do what is asked, before any work."""
    can = computing(engine).capabilities
    survey = any(each is not None for each in (schema.household, schema.weight))
    for what, asked, able in (
        ("who is a person is told by a column (unit)", schema.person is not None, can.units),
        ("households or weights are told by a column", survey, can.units),
        ("identifiers are replaced by pseudonyms", secret is not None, can.pseudonyms),
    ):
        if asked and not able:
            raise UnsupportedError(
                f"{what}, which the engine {engine!r} cannot do",
                hint='use engine="memory" or "duckdb" (--engine)',
            )
