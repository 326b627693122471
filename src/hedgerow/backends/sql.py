"""Write a plan as one SELECT, so that a database makes the same release without the data leaving it.

The groups of a partition become a nested CASE that routes each row to its leaf, and a join
with the released cells of that leaf. A tree is cut into steps of bounded depth, each of them a
common table expression, so that no expression is too deep for a parser. If splits send many
categories to the left, a join replaces categories by positions, and each split becomes a string of
bits, because DuckDB turns every long IN list into a join over all rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch
from types import MappingProxyType

from ..errors import PlanError, UnsupportedError
from ..io.duckdb_reader import identifier
from ..io.text_cells import unused_name
from ..notation import moment, number
from ..plan import ColumnMap, GuardedColumn, Maps, Partition, Plan, PlanColumn, Recoded, Recoding
from ..plan.recodings import Released
from ..plan.records import RUNS
from ..validation import check_one_of

NATIVE = "duckdb"
# the objects that a statement may create
CREATED = ("view", "table")
# DuckDB refuses expressions deeper than 1,000; sqlglot parses by recursion, some 20 frames a level.
_DEPTH, _DEPTH_OF_OTHERS = 60, 6
# DuckDB makes longer IN lists joins over all rows.
_LISTED = 5


def text(value: str) -> str:
    """Return a text as an SQL string literal."""
    return "'" + value.replace("'", "''") + "'"


def double(value: float) -> str:
    """Return a number as an SQL literal that every database reads back as exactly the same double."""
    written = repr(float(value))
    return written if "e" in written else written + "e0"


def to_sql(
    plan: Plan, table: str = "people", dialect: str = NATIVE, *, create: str | None = None, name: str = "release"
) -> str:
    """Return the SELECT that recodes `table` as the plan says, or a statement that stores it as a view or table.

    Columns come in their original order, identifiers and undeclared ones left out. Rows come in no
    particular order, as in any SELECT without ORDER BY. For dialects other than
    DuckDB the statement is translated by sqlglot.

    Parameters
    ----------
    plan : Plan
        The plan to translate.
    table : str
        The name of the table in the database; dots separate schema and table.
    dialect : str
        "duckdb", or any dialect of sqlglot ("spark", "postgres", "bigquery", ...).
    create : {None, "view", "table"}
        The object to create from the SELECT. Rows of a table are sorted by their released cells,
        because the order of the source may show who is who.
    name : str
        The name of what is created; dots separate schema and name.

    Raises
    ------
    PlanError
        The dialect is unknown.
    UnsupportedError
        This kind of recoding cannot be written as SQL.
    """
    dialect = known_dialect(dialect)
    check_one_of("create", create, (None, *CREATED))
    if plan.guard is not None and plan.guard.form != RUNS:
        raise UnsupportedError(
            "values that are drawn inside groups cannot be written as SQL",
            hint='make a plan with guard="runs" (protect --guard runs), which can',
        )
    request = SqlRequest(plan, quoted(table), dialect)
    statement = select(plan.recoding, request)
    if create is not None:
        ordered = ", ".join(str(i) for i in range(1, len(request.released) + 1))
        order = f"\nORDER BY {ordered}" if create != "view" else ""
        statement = f"CREATE {create.upper()} {quoted(name)} AS\n{statement}{order}"
    return translated(statement, dialect)


def translated(statement: str, dialect: str) -> str:
    """Return a statement of DuckDB in another dialect."""
    if dialect != NATIVE:
        import sqlglot

        statement = sqlglot.transpile(statement, read=NATIVE, write=dialect, pretty=True)[0]
    return statement + "\n"


def quoted(name: str) -> str:
    """Return a dotted name as SQL, with each of its parts quoted."""
    return ".".join(identifier(part) for part in name.split("."))


@dataclass(frozen=True)
class SqlRequest:
    """A plan to write as SQL, with the quoted name of its table and the SQL dialect."""

    plan: Plan
    source: str
    dialect: str = NATIVE
    # with this beginning of their names, each row's leaf and originals are selected as well
    traced: str = ""

    @cached_property
    def declared(self) -> frozenset[str]:
        """Return the columns whose kind was declared; their categories may be stored as numbers."""
        return frozenset(c.name for c in self.plan.columns if c.declared)

    @property
    def released(self) -> list[str]:
        """Return the names of the released columns, in order."""
        return [c.name for c in self.plan.columns if c.name not in self.plan.left_out]

    def chosen(self, expressions: Mapping[str, str] = MappingProxyType({})) -> list[str]:
        """Return the released columns as SQL, some of which are replaced by `expressions` or told as runs."""
        guarded = {c.name: _run(c, self) for c in self.plan.guard.columns} if self.plan.guard else {}
        expressions = {**guarded, **expressions}
        return [f"{expressions[n]} AS {identifier(n)}" if n in expressions else identifier(n) for n in self.released]

    def columnwise(self, expressions: Mapping[str, str]) -> str:
        """Return a SELECT of the released columns, some of which are replaced by `expressions`."""
        return f"SELECT {', '.join(self.chosen(expressions))}\nFROM {self.source}"


@singledispatch
def select(recoding: Recoding, request: SqlRequest) -> str:
    """Return the SELECT for one type of recoding, in DuckDB's dialect; each type registers its own function."""
    if not recoding.applies:
        raise recoding.refuse()
    raise UnsupportedError(f"a plan of the kind {recoding.kind!r} cannot be written as SQL", hint="use `Plan.apply`")


def known_dialect(name: str) -> str:
    """Return a dialect as sqlglot writes it; raise PlanError if there is none of this name."""
    dialect = name.lower()
    if dialect != NATIVE:  # sqlglot takes long to load
        from sqlglot.dialects.dialect import Dialects

        supported = sorted(d.value for d in Dialects if d.value)
        if dialect not in supported:
            raise PlanError(f"unknown SQL dialect {dialect!r}", hint=f"known dialects: {', '.join(supported)}")
    return dialect


@select.register
def _maps(recoding: Maps, request: SqlRequest) -> str:
    if recoding.suppressed:
        raise UnsupportedError(
            "a plan that suppresses small classes cannot be written as SQL",
            hint="apply it with `Plan.apply`, or fit it with suppression=0",
        )
    return request.columnwise({c.name: _mapped(c, request) for c in recoding.columns})


def _mapped(column: ColumnMap, request: SqlRequest) -> str:
    """Return the SQL expression for the released value of a mapped column."""
    other = () if column.is_number else (column.default,)
    words = any(isinstance(label, str) for label in (*column.labels, *other, column.missing))
    value = key_of(column, request)
    if stays(column, request):
        conditions = " OR ".join(f"{value} = {literal(column, c)}" for c in column.categories)
        return f"CASE WHEN {conditions} THEN {identifier(column.name)} END"
    parts = [f"WHEN {value} IS NULL THEN {label_of(column.missing, words)}"]
    if column.is_number:
        cases, last = [f"< {edge(column, cut)}" for cut in column.cuts], column.labels[-1]
    else:
        cases, last = [f"= {literal(column, category)}" for category in column.categories], column.default
    pairs = zip(cases, column.labels, strict=False)  # the last interval has no upper end
    parts += (f"WHEN {value} {case} THEN {label_of(label, words)}" for case, label in pairs)
    return f"CASE {' '.join(parts)} ELSE {label_of(last, words)} END"


def _run(column: GuardedColumn, request: SqlRequest) -> str:
    """Return the SQL expression for the run of a value: of the column's own type, where that holds it."""
    value, name = key_of(column, request), identifier(column.name)
    if not (run_values := column.values[: column.n_values]):
        return f"CASE WHEN 1 = 0 THEN {name} END"
    if column.kind not in ("numeric", "date"):
        listed = " OR ".join(f"{value} = {text(str(category))}" for category in run_values)
        return f"CASE WHEN {listed} THEN {name} END"
    if column.unit == "us":
        raise UnsupportedError(
            f"{column.name!r} holds times, whose zone a plan does not know, so its runs cannot be written as SQL",
            hint="apply the plan with `Plan.apply` or `hedgerow apply`",
        )
    numbers = [float(v or 0) for v in run_values]
    whole = all(v.is_integer() and abs(v) < 2**53 for v in numbers)
    labels = [edge(column, v) if column.kind == "date" else str(int(v)) if whole else double(v) for v in numbers]
    cuts = (f"WHEN {value} < {edge(column, cut)} THEN {run}" for cut, run in zip(column.cuts, labels, strict=False))
    # the first branch is never taken: it gives the expression the column's type
    return " ".join([f"CASE WHEN 1 = 0 THEN {name} WHEN {value} IS NULL THEN NULL", *cuts, f"ELSE {labels[-1]} END"])


def stays(column: ColumnMap, request: SqlRequest) -> bool:
    """Return whether a column that is not text keeps its values; values that the plan does not list become NULL."""
    same = column.labels == column.categories and column.missing is None
    other = column.kind in ("numeric", "date", "boolean") or column.name in request.declared
    return same and bool(column.categories) and other


def literal(column: ColumnMap, category: str) -> str:
    """Return a category of a map as an SQL literal of the column's type."""
    if column.kind == "date":
        return f"TRY_CAST({text(category)} AS {'DATE' if column.unit == 'day' else 'TIMESTAMP'})"
    return double(float(category)) if column.kind == "numeric" else text(category)


@select.register
def _partition(tree: Partition, request: SqlRequest) -> str:
    plan, source, released = request.plan, request.source, request.released
    names = [column.name for column in plan.columns]
    leaf = identifier(unused_name("leaf", names))
    keys = [identifier(unused_name(f"key_{i}", names)) for i in range(len(tree.columns))]
    places = _places(tree)
    tests = [_test(tree, node, keys, places) for node in range(len(tree.split))]
    depth = _DEPTH if request.dialect == NATIVE else _DEPTH_OF_OTHERS
    prefix = unused_name("step", [source.strip('"')])
    columns = ", ".join([*map(identifier, released), *keys])

    place_names = [f"{key_of(column, request)} AS {key}" for column, key in zip(tree.columns, keys, strict=True)]
    steps = [f"{prefix}_0 AS (\n  SELECT {', '.join(request.chosen() + place_names)}\n  FROM {source}\n)"]
    routed, cells = f"{prefix}_0", f"{prefix}_cells"
    if places:
        steps += _placed(routed, prefix, released, keys, places)
        routed = f"{prefix}_places"
    for number_, case in enumerate(_cases(tree, tests, depth, leaf), start=1):
        steps.append(f"{prefix}_{number_} AS (\n  SELECT {columns},\n    {case} AS {leaf}\n  FROM {routed}\n)")
        routed = f"{prefix}_{number_}"
    listed = ", ".join([leaf, *(f"cell_{i}" for i in range(len(tree.columns)))])
    steps.append(f"{cells} AS (\n  SELECT * FROM (VALUES\n{_cell_rows(tree)}\n  ) AS v({listed})\n)")

    place = {column.name: i for i, column in enumerate(tree.columns)}
    chosen = []
    for name in released:
        if name in place:
            kind = "DOUBLE" if _numeric_labels(tree.columns[place[name]]) else "VARCHAR"
            chosen.append(f"  CAST({cells}.cell_{place[name]} AS {kind}) AS {identifier(name)}")
        else:
            chosen.append(f"  {routed}.{identifier(name)}")
    if request.traced:
        originals = (f"  {routed}.{identifier(c.name)} AS {request.traced}was_{i}" for i, c in enumerate(tree.columns))
        chosen += [f"  {cells}.{leaf} AS {request.traced}leaf", *originals]
    tables, selected = (",\n".join(each) for each in (steps, chosen))
    return f"WITH {tables}\nSELECT\n{selected}\nFROM {routed}\nJOIN {cells} ON {routed}.{leaf} = {cells}.{leaf}"


def key_of(column: PlanColumn, request: SqlRequest, name: str = "") -> str:
    """Return the SQL expression that the splits test: a double without NaN, a date, or text."""
    name = name or identifier(column.name)
    if column.kind == "date":
        if column.name in request.plan.zones:
            # in UTC, whatever zone the database is set to
            name = f"CAST({name} AS TIMESTAMPTZ) AT TIME ZONE 'UTC'"
        return f"CAST({name} AS {'DATE' if column.unit == 'day' else 'TIMESTAMP'})"
    if column.kind != "numeric":
        written = f"CAST({name} AS VARCHAR)"
        if column.name not in request.declared or _pointed(column):
            return written
        return f"REGEXP_REPLACE({written}, '[.]0$', '')"  # for databases that write whole doubles as 1.0
    value = f"CAST({name} AS DOUBLE)"
    if request.dialect == "bigquery":  # there NaN does not equal itself
        return f"CASE WHEN NOT ISNAN({value}) THEN {value} END"
    return f"NULLIF({value}, CAST('NaN' AS DOUBLE))"


def _pointed(column: PlanColumn) -> bool:
    """Return whether any category ends in ".0", so that this ending must not be stripped from the text."""
    cells = getattr(column, "cells", ())
    listed = getattr(column, "categories", getattr(column, "values", ()))
    categories = [*listed, *(c for cell in cells for c in cell.categories)]
    return any(category is not None and category.endswith(".0") for category in categories)


def _places(tree: Partition) -> dict[int, list[str]]:
    """Return the sorted categories of each column that has a split on more than `_LISTED` of them."""
    listed: dict[int, set[str]] = {}
    long: set[int] = set()
    for column, number_ in zip(tree.split, tree.subset, strict=True):
        if column >= 0 and tree.columns[column].kind not in ("numeric", "date"):
            categories = {category for category in tree.subsets[number_] if category is not None}
            listed.setdefault(column, set()).update(categories)
            if len(categories) > _LISTED:
                long.add(column)
    return {column: sorted(listed[column]) for column in sorted(long)}


def _placed(
    step: str, prefix: str, released: Sequence[str], keys: Sequence[str], places: Mapping[int, Sequence[str]]
) -> list[str]:
    """Return SQL steps that replace categories by positions: 1 to m, then one for missing, one for all others."""
    steps, joins = [], []
    columns = [f"{step}.{identifier(name)}" for name in released]
    for i, key in enumerate(keys):
        if i not in places:
            columns.append(f"{step}.{key}")
            continue
        table, m = f"{prefix}_places_{i}", len(places[i])
        rows = ",\n".join(f"    ({text(c)}, {at})" for at, c in enumerate(places[i], start=1))
        steps.append(f"{table} AS (\n  SELECT * FROM (VALUES\n{rows}\n  ) AS v(category, place)\n)")
        joins.append(f"\n  LEFT JOIN {table} ON {step}.{key} = {table}.category")
        columns.append(
            f"CASE WHEN {step}.{key} IS NULL THEN {m + 1} ELSE COALESCE({table}.place, {m + 2}) END AS {key}"
        )
    chosen = f"SELECT {', '.join(columns)}\n  FROM {step}{''.join(joins)}"
    return [*steps, f"{prefix}_places AS (\n  {chosen}\n)"]


def _test(tree: Partition, node: int, keys: Sequence[str], places: Mapping[int, Sequence[str]]) -> str:
    """Return the SQL condition that sends a row to a node's left child; empty for a leaf."""
    if tree.split[node] < 0:
        return ""
    column, key = tree.columns[tree.split[node]], keys[tree.split[node]]
    if column.kind in ("numeric", "date"):
        below = f"{key} < {edge(column, tree.threshold[node])}"
        return f"({below} OR {key} IS NULL)" if tree.missing_left[node] else below
    subset = tree.subsets[tree.subset[node]]
    if tree.split[node] in places:
        order, members = [*places[tree.split[node]], None], set(subset)
        bits = "".join("1" if category in members else "0" for category in order)
        return f"SUBSTR('{bits}', {key}, 1) = '1'"
    listed = ", ".join(text(category) for category in subset if category is not None)
    parts = ([f"{key} IN ({listed})"] if listed else []) + ([f"{key} IS NULL"] if None in subset else [])
    return f"({' OR '.join(parts)})" if parts else "1 = 0"


def edge(column: PlanColumn, threshold: float) -> str:
    if column.kind != "date":
        return double(threshold)
    # whole days and microseconds: x < t is x < ceil(t)
    written = moment(math.ceil(threshold), column.unit).replace("T", " ")
    return f"{'DATE' if column.unit == 'day' else 'TIMESTAMP'} {text(written)}"


def _cases(tree: Partition, tests: Sequence[str], depth: int, leaf: str) -> list[str]:
    """Return one CASE per step; a step gives a row its leaf number, or -1 - node if it must go on from there."""
    leaves = (node for node, column in enumerate(tree.split) if column < 0)
    leaf_of = {node: leaf for leaf, node in enumerate(leaves)}
    ends: list[int] = []

    def branch(node: int, levels: int) -> str:
        """Return the nested CASE for the given levels below a node, adding the nodes it cuts off to `ends`."""
        if tree.split[node] < 0:
            return str(leaf_of[node])
        if levels == 0:
            ends.append(node)
            return str(-1 - node)
        yes, no = branch(node + 1, levels - 1), branch(tree.right[node], levels - 1)
        return f"CASE WHEN {tests[node]} THEN {yes} ELSE {no} END"

    cases = [branch(0, depth)]
    while ends:
        roots, ends = ends, []
        listed = " ".join(f"WHEN {-1 - root} THEN {branch(root, depth)}" for root in roots)
        cases.append(f"CASE {leaf} {listed} ELSE {leaf} END")
    return cases


def _numeric_labels(column: Recoded) -> bool:
    labels = [cell.label for cell in column.cells if cell.label is not None]
    return bool(labels) and not any(isinstance(label, str) for label in labels)


def _cell_rows(tree: Partition) -> str:
    written = []
    for column, cells in zip(tree.columns, tree.leaf_cells, strict=True):
        words = not _numeric_labels(column)
        labels = [label_of(cell.label, words) for cell in column.cells]
        written.append([labels[cell] for cell in cells])
    return ",\n".join(f"    ({', '.join([str(leaf), *row])})" for leaf, row in enumerate(zip(*written, strict=True)))


def label_of(label: Released, words: bool) -> str:
    """Return a released value as an SQL literal: text if `words` is set, otherwise a double."""
    if label is None:
        return f"CAST(NULL AS {'VARCHAR' if words else 'DOUBLE'})"
    if not words:
        return double(float(label))
    return text(label if isinstance(label, str) else number(label))
