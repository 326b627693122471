"""Make a verified release of a table of people with one method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ..backends import Change
from ..backends import engine as computing
from ..backends.release_order import ReleasedCodes
from ..backends.select import opened
from ..columns.arrays import holds_text
from ..columns.roles import check_weights, refuse_identifiers, refuse_repeated
from ..columns.table import Table
from ..errors import ParameterError, SchemaError, UnsupportedError
from ..guard.guarding import FEWEST, guarded, with_runs
from ..guard.rows import DRAWN, decoded_cells
from ..kernels.threads import side_by_side
from ..key import Secret
from ..methods.base import Method
from ..plan.records import RUNS
from ..progress import Progress, caution, cautions, listening, telling
from ..schema import Schema
from ..texts import text
from ..trees.responses import is_constant
from .release import Release, ReleaseOptions
from .rule_counts import released_rules
from .unit_release import UnitRelease, of_units

_PSEUDONYM_BYTES = 8


def make_release(
    people: Any,
    schema: Schema,
    method: Method,
    options: ReleaseOptions = ReleaseOptions(),
    progress: Progress | None = None,
) -> Release:
    """Build and verify a release with exactly the given method, without searching for stronger settings.

    Parameters
    ----------
    people, schema, method, progress
        As `hedgerow.protect` takes them.
    options : ReleaseOptions
    """
    telling(progress)("reading")
    if schema.is_long:
        people, schema, options = of_units(people, schema, method, options)
    table, options = open_checked(people, schema, method, options)
    guard = options.guard
    _check_capable(table.engine, schema, options)
    if options.keep_order and guard is not None and guard.rows:
        raise ParameterError(
            'in the order of the input every drawn row shows whose group it comes from, which cells="rows" hides',
            hint='leave out keep_order (--keep-order), or choose cells="means" or "ranges"',
        )
    rest = schema.undeclared(table.names) if schema.rest == "release" else []
    if guard is not None:
        table.check_released_codes([*schema.other, *rest])
    refuse_identifiers(table, rest)
    try:
        return _protected(table, schema, method, options, progress)
    except BaseException:  # also Ctrl-C
        table.discard_work()
        raise


def open_checked(people: Any, schema: Schema, method: Method, options: ReleaseOptions) -> tuple[Table, ReleaseOptions]:
    """Open a table, and raise an error if the method cannot protect it in these roles and in this way.

    No cell is computed. The options come back without a guard that has nothing to hide. `make_release`
    begins with this, and the studio asks it of every method, to grey those that cannot run.
    """
    name, memory = options.engine, options.memory
    table = opened(people, method.engines, type(method).__name__, name=name, memory=memory, schema=schema)
    table.units = None if options.units is None else options.units.form
    schema.check(table.names)
    guard = options.guard
    if guard is not None and not schema.sensitive and not guard.rows:
        caution(text("caution", "nothing_to_hide"))
        guard = None
    if guard is not None and not method.guardable:
        raise UnsupportedError(
            f"{type(method).__name__} makes no groups in which sensitive values could be hidden, or promises "
            "something of their exact values",
            hint="choose Hedge, MART, Mondrian, Datafly, Incognito or LocalSuppression, or guard=None (--guard none)",
        )
    method.check_table(table, schema)
    hidden = () if guard is None else (*schema.sensitive, *(schema.quasi if guard.rows else ()))
    redrawn = () if guard is None or guard.form == RUNS else hidden
    # a private tree refuses followers itself
    if idle := [name for name in schema.follows if name not in redrawn]:
        raise UnsupportedError(
            f"{', '.join(idle)} cannot follow another column, because only values that are drawn do",
            hint=(
                'leave out follows (--follows); sensitive columns are drawn with guard="redraw" (--guard redraw), '
                "quasi-identifiers by Hedge in rows alone"
            ),
        )
    for name in [name for name in hidden if name in schema.hierarchies]:
        column = table.declared_column(schema, name)
        try:
            schema.hierarchies[name].check(column.values, name, column.counts()[:-1].tolist())
        except SchemaError as error:  # which then have no parent, and are released all the same
            caution(f"{error.message}; if they are rare, they have no parent")
    if idle := [name for name in schema.rare if name not in hidden]:
        raise UnsupportedError(
            f"rare categories of {', '.join(idle)} are not joined, because the column's values are not drawn",
            hint="leave out rare (--rare), or let a guard hide the column (--guard redraw)",
        )
    for name, value in schema.rare.items():
        if table.declared_kind(schema, name) in ("numeric", "date") or not holds_text(
            table.types.field(name).type, value
        ):
            kind = table.types.field(name).type
            raise UnsupportedError(
                f"the cells of {name!r} are {kind}, and cannot hold {value!r} for rare categories",
                hint="give a value as its cells are (--rare), or declare a number a category (kinds=, --kinds)",
            )
    return table, replace(options, guard=guard)


def _protected(
    table: Table, schema: Schema, method: Method, options: ReleaseOptions, progress: Progress | None
) -> Release:
    """Fit the method, recode the opened table, verify it and return the release."""
    step, linked = telling(progress), options.pseudonyms(schema)
    secret, guard, keep_order = options.secret, options.guard, options.keep_order
    repeated = refuse_repeated(table, schema, linked)
    if schema.weight is not None:
        check_weights(table, schema.weight)
    table.release_memory()
    memory = method.memory_estimate(table.n_rows, len(schema.sensitive))
    if not table.is_loaded:
        named = [*schema.quasi, *schema.sensitive, *schema.other]
        named += schema.undeclared(table.names) if schema.rest == "release" else []
        table.check_memory(len(named), memory)
        table.encode(named)
    schema = method.with_kinds(table, schema)
    step("fitting")
    sensitive = side_by_side(
        lambda name: table.declared_column(schema, name).value_counts,
        schema.sensitive,
        table.n_rows * len(schema.sensitive),
    )
    # numbers of which there are none have no mean
    empty = {column.name: "categorical" for column in sensitive if column.is_number and not column.n_values}
    schema = schema.replace(kinds={**schema.kinds, **empty}) if empty else schema
    with cautions() as warnings:
        if constant := ", ".join(column.name for column in sensitive if is_constant(column)):
            caution(text("caution", "constant", names=constant))
        if repeated:
            caution(text("caution", "several_people", names=", ".join(repeated), name=repeated[0]))
        with listening(step, "fitting"):
            fitting, roles = table, schema
            if guard is not None and guard.form == RUNS:
                # groups keep their promises for values and for the runs that are released
                fitting, roles = with_runs(
                    _in_memory(table, schema), schema, guard.people or int(getattr(method, "k", FEWEST))
                )
            # the caller's method stays unfitted
            fitted: Method = method.copy().fit_checked(
                fitting.with_local_codes(method.joint_columns(roles), memory),
                roles,
                in_rows=guard is not None and guard.rows,
            )
        columns = tuple(c for c in fitted.plan_.columns if c.name in table.names)
        plan = replace(fitted.plan_, columns=columns, units=table.units)
        if schema.unit is None:  # somebody said that every row is a person
            plan = replace(plan, parameters={**plan.parameters, "row_is_person": True})
        plan = replace(plan, rules=released_rules(table, schema, plan, guard))
        undeclared = plan.names("undeclared")
        nested = [name for name in undeclared if pa.types.is_nested(table.types.field(name).type)]
        for key, names in (("nested", nested), ("undeclared", [n for n in undeclared if n not in nested])):
            if names:
                caution(text("caution", key, names=", ".join(names)))
        if table.layout.labels.title:
            caution(text("caution", "title"))
        if secret is not None and schema.household in schema.identifiers:
            caution(text("caution", "no_pseudonym", name=schema.household))
        if fitted.by_position and not computing(table.engine).capabilities.positions:
            raise UnsupportedError(
                f"what this {plan.method} promises counts records by their position, and rows on the engine "
                f"{table.engine!r} have none",
                hint='draw none by position (bootstrap=False), or use engine="memory" (--engine memory)',
            )
        if keep_order:
            caution(text("caution", "keep_order"))
            plan = replace(plan, parameters={**plan.parameters, "keep_order": True})
        elif fitted.by_position:
            raise ParameterError(
                f"what this {type(fitted).__name__} promises counts records by their position",
                hint=(
                    "draw none by position (bootstrap=False), or leave them in the order of the input, which may "
                    "show who is who (keep_order=True, --keep-order)"
                ),
            )
    table.release_memory()
    step("recoding")
    dropped, source = [n for n in plan.left_out if n not in linked], table
    if guard is not None:  # what is drawn is given to rows by their codes
        remaining = [name for name in table.names if name not in dropped]
        source = table.with_local_codes(remaining, table.n_rows * len(remaining) * DRAWN)
    replaced = dict(fitted.release_table(source).columns)
    if guard is not None:
        plan, guarded_columns = guarded(guard, source, schema, plan, replaced, linked)
        replaced |= guarded_columns
    if secret is not None:
        replaced |= {name: pseudonyms(table, name, secret) for name in linked}
    output = computing(table.engine).release(source, Change(replaced, dropped, keep_order, options.parts))
    table.release_memory()
    kind = Release if options.units is None else UnitRelease
    release = kind(
        plan=plan, schema=schema, method=fitted, original=table, output=output, options=options, warned=tuple(warnings)
    )
    step("verifying")
    release.verify(progress)
    for words in release.cautions:
        caution(words)
    return release


def _check_capable(engine: str, schema: Schema, options: ReleaseOptions) -> None:
    """Raise UnsupportedError if the engine cannot do what the schema, the pseudonyms or drawn values require."""
    for what, is_asked in (
        ("who is a person is told by a column (unit)", schema.person is not None),
        ("households or weights are told by a column", (schema.household, schema.weight) != (None, None)),
        ("identifiers are replaced by pseudonyms", options.secret is not None),
        ("drawn values stay in the order of the input (keep_order)", options.keep_order and options.guard is not None),
    ):
        if is_asked and not computing(engine).capabilities.positions:
            raise UnsupportedError(
                f"{what}, which the engine {engine!r} cannot do", hint='use engine="memory" or "duckdb" (--engine)'
            )


def _in_memory(table: Table, schema: Schema) -> Table:
    """Return the table with the cells of its quasi-identifiers, sensitive columns and people in memory.

    Other columns, of which a fit needs only the type, are empty.
    """
    if table.is_loaded:
        return table
    people = filter(None, (schema.person, schema.household, schema.weight))
    read = {*schema.quasi, *schema.sensitive, *people}
    table = table.with_local_codes(read, table.n_rows * len(read) * DRAWN)
    columns = {
        name: decoded_cells(table, name) if name in read else pa.nulls(table.n_rows, table.types.field(name).type)
        for name in table.names
    }
    return Table(pa.table(columns), layout=table.layout)


def pseudonyms(table: Table, name: str, key: Secret) -> ReleasedCodes:
    """Return an identifier column as pseudonyms: the first 64 bits of HMAC-SHA256, in hexadecimal.

    Parameters
    ----------
    table : Table
    name : str
        The identifier column.
    key : Secret
        It is written nowhere.
    """
    column = table.column(name, kind="categorical")
    # the column's name takes part, so that equal values of two columns do not give each other away
    prefix = name.encode() + b"\x00"
    texts = [key.hmac(prefix + value.encode())[:_PSEUDONYM_BYTES].hex() for value in column.values]
    if len(set(texts)) != len(texts):
        raise ParameterError(f"two values of {name!r} get the same pseudonym under this key", hint="choose another key")
    entries = pa.array([*texts, None], pa.string())
    return ReleasedCodes(name, entries.type, entries, column.codes, np.arange(len(entries)))
