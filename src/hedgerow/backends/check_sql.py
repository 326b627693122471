"""Write one SELECT that holds a released table of a database against its original, and returns what does not hold.

The statement of `to_sql` recodes the original once more, and the rows of both tables are counted
against each other. Disclosure comes from counts by group and value. Each score is about events of a record: the cell
that it falls into or, for ranked scores, that it falls into cell i or below. Cells that a group
lacks need no row: its ranked events are summed from one cell that it has to the next. What `verify`
decides in whole numbers is decided in doubles here, to one part in 10^9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources

import numpy as np

from ..errors import UnsupportedError
from ..hierarchy import TOP
from ..io.duckdb_reader import identifier
from ..measures.disclosure import SLACK
from ..measures.guarantees import Disclosure, KAnonymity, from_promise
from ..measures.proper_scores import PARTS
from ..notation import JOIN, MISSING, WEIGHT, split_concatenation
from ..plan import Cell, ColumnMap, Partition, Plan, PlanColumn, Recoded
from ..schema import Event
from .sql import (
    NATIVE,
    SqlRequest,
    double,
    edge,
    key_of,
    known_dialect,
    label_of,
    literal,
    quoted,
    select,
    stays,
    text,
    translated,
)


def check_sql(plan: Plan, released: str = "release", original: str = "people", dialect: str = NATIVE) -> str:
    """Return a SELECT that checks a released table against its original (see `Plan.check_sql`).

    Its columns are ``check_name``, ``column_name`` (empty if it is about whole rows), ``faults`` (the
    number of rows, cells or groups at fault), and ``reached`` (the smallest group, or the largest
    disclosure). They hold no person's value.

    Raises
    ------
    PlanError
        The dialect is unknown.
    UnsupportedError
        SQL cannot express the plan's recoding, or cannot check its promises.
    """
    dialect = known_dialect(dialect)
    if plan.guard is not None:
        raise _refused("a release whose values are guarded")
    prefix = "check_"
    others = [*released.split("."), *original.split("."), *(column.name for column in plan.columns)]
    while any(name.lower().startswith(prefix) for name in others):
        prefix += "_"
    request = SqlRequest(plan, quoted(original), dialect, prefix)
    return translated(_Statement(plan, request, quoted(released)).statement(), dialect)


def _refused(what: str) -> UnsupportedError:
    hint = "check the release with `Release.verify`, before it is stored in the database"
    return UnsupportedError(f"{what} cannot be checked in SQL", hint=hint)


def _row(check: str, column: str, faults: str, source: str, reached: str = "NULL") -> str:
    """Return the SELECT for a row of the result, made of SQL; it is dropped where `faults` is 0 or NULL."""
    return (
        f"SELECT {check} AS check_name, {column} AS column_name, CAST({faults} AS BIGINT) AS faults, "
        f"CAST({reached} AS DOUBLE) AS reached FROM {source}"
    )


def _values(table: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a common table expression that holds the given rows of literals."""
    listed = ",\n".join(f"  ({', '.join(row)})" for row in rows)
    return f"{table} AS (SELECT * FROM (VALUES\n{listed}) AS v({', '.join(columns)}))"


@dataclass(frozen=True)
class _Statement:
    """The parts of the statement, in DuckDB's dialect."""

    plan: Plan
    request: SqlRequest
    released: str

    @property
    def p(self) -> str:
        """Return the beginning of all names that the statement defines."""
        return self.request.traced

    def _promised(self) -> tuple[list[int], dict[str, float]]:
        """Return every promised k, and the cap of each sensitive column that has one; refuse other promises."""
        sizes, caps, sensitive = [], dict[str, float](), self.plan.names("sensitive")
        for promise in map(from_promise, self.plan.promises):
            if isinstance(promise, KAnonymity) and not (promise.unit or promise.household):
                sizes.append(promise.k)
            elif isinstance(promise, Disclosure) and set(promise.columns or ()) <= set(sensitive):
                caps |= {name: min(promise.maximum, caps.get(name, 1.0)) for name in promise.columns or sensitive}
            else:
                raise _refused(f"the promise that {promise.words()}")
        return sizes, caps

    def statement(self) -> str:
        """Return the whole statement."""
        p, recoding = self.p, self.plan.recoding
        sizes, caps = self._promised()
        scored = [column for column in self.plan.columns if column.name in caps]
        tables = [f"{p}walked AS (\n{select(recoding, self.request)}\n)", *self._unlike()]
        checks = [
            _row("side", "''", "SUM(faults)", f"{p}unlike GROUP BY side"),
            *(self._unknown(column) for column in recoding.recoded()),
        ]
        if isinstance(recoding, Partition):
            more, covered = self._covered(recoding)
            tables, checks = tables + more, checks + covered
        tables.append(self._groups(scored))
        for k in sizes:
            small = f"(SELECT COUNT(*) AS n FROM {p}groups GROUP BY grp) AS sizes WHERE n < {k}"
            checks.append(_row("'k-anonymity'", "''", "COUNT(*)", small, "MIN(n)"))
        if scored:
            tables += self._scores(scored)
            checks += [self._merged(c) for c in scored if c.kind == "numeric"]
            cap = " ".join(f"WHEN {text(name)} THEN {double(cap)}" for name, cap in caps.items())
            # the house's own slack: doubles cannot tell less from their rounding
            over = f"{p}scored WHERE gain > (CASE col {cap} END + {double(SLACK)}) * loss GROUP BY col"
            checks.append(_row("'disclosure'", "col", "COUNT(DISTINCT grp)", over, "MAX(gain / loss)"))
        listed = "\nUNION ALL ".join(checks)
        return "WITH " + ",\n".join(tables) + f"\nSELECT * FROM (\n{listed}\n) AS {p}all WHERE faults > 0"

    def _unlike(self) -> Iterator[str]:
        """Yield the tables of released rows that are too many or lacking, each once, with their number."""
        p, names = self.p, self.request.released
        recoded = {c.name for c in self.plan.recoding.recoded()}
        cells = [
            # NaN is missing
            f"CASE WHEN {key_of(c, self.request)} IS NOT NULL THEN {identifier(c.name)} END"
            if c.kind == "numeric" and c.name not in recoded
            else identifier(c.name)
            for c in self.plan.columns
            if c.name in names
        ]
        mine = ", ".join(map(identifier, names))
        # "*": a released table with another number of columns is an error
        yield f"{p}rows AS (\nSELECT {mine}, 1 AS {p}side FROM {p}walked UNION ALL SELECT *, -1 FROM {self.released})"
        cell = [f"{p}{i}" for i in range(len(cells))]
        chosen = ", ".join(f"{e} AS {c}" for e, c in zip(cells, cell, strict=True))
        yield (
            f"{p}unlike AS (SELECT CASE WHEN SUM({p}side) > 0 THEN 'rows lacking' ELSE 'rows too many' END AS side,\n"
            f"ABS(SUM({p}side)) AS faults FROM (SELECT {chosen}, {p}side FROM {p}rows) AS {p}both\n"
            f"GROUP BY {', '.join(cell)} HAVING SUM({p}side) <> 0)"
        )

    def _unknown(self, column: PlanColumn) -> str:
        """Return the row for released cells of a column that the plan makes of nothing."""
        name = identifier(column.name)
        if isinstance(column, ColumnMap):
            labels = [*column.labels, column.missing, *(() if column.is_number else (column.default,))]
        else:
            assert isinstance(column, Recoded)
            labels = [cell.label for cell in column.cells]
        words = not labels or any(isinstance(label, str) for label in labels)
        value = f"CAST({name} AS {'VARCHAR' if words else 'DOUBLE'})"
        makes = dict.fromkeys(label_of(label, words) for label in labels if label is not None)
        if isinstance(column, ColumnMap) and stays(column, self.request):
            value, makes = key_of(column, self.request), dict.fromkeys(literal(column, c) for c in column.categories)
        unknown = f"{value} NOT IN ({', '.join(makes)})" if makes else f"{value} IS NOT NULL"
        unknown += "" if None in labels else f" OR {value} IS NULL"
        return _row("'unknown cells'", text(column.name), "COUNT(*)", f"{self.released} WHERE {unknown}")

    def _groups(self, scored: Sequence[PlanColumn]) -> str:
        """Return the table of every released row's group, with the values and ranks of its sensitive cells."""
        quasi = ", ".join(map(identifier, self.plan.names("quasi")))
        cells = [f"DENSE_RANK() OVER (ORDER BY {quasi}) AS grp"]
        for i, column in enumerate(scored):
            key = key_of(column, self.request)
            if column.unit == "us":
                raise _refused(f"the cap on {column.name!r}, times whose zone a plan does not know,")
            if column.kind == "date":
                key = f"DATE_DIFF('day', DATE '1970-01-01', {key})"
            by_number = column.kind in ("numeric", "date")
            order = key
            if column.order:
                places = " ".join(f"WHEN {text(c)} THEN {at}" for at, c in enumerate(column.order))
                order = f"CASE {key} {places} ELSE {len(column.order)} END, {key}"
            number = key if by_number else f"CASE WHEN {key} IS NOT NULL THEN 0 END"
            cells += [f"CAST({number} AS DOUBLE) AS y_{i}", f"DENSE_RANK() OVER (ORDER BY {order}) AS code_{i}"]
        return f"{self.p}groups AS (SELECT {', '.join(cells)} FROM {self.released})"

    def _merged(self, column: PlanColumn) -> str:
        """Return the row for numbers of a sensitive column that no double tells from others, so none scores them."""
        name, key = identifier(column.name), key_of(column, self.request)
        several = f"SELECT {key} AS y FROM {self.released} GROUP BY {key} HAVING MIN({name}) <> MAX({name})"
        return _row("'numbers beyond doubles'", text(column.name), "COUNT(y)", f"({several}) AS several")

    def _scores(self, scored: Sequence[PlanColumn]) -> list[str]:
        """Return the tables of each group's gain and loss under every score of the sensitive columns."""
        p = self.p
        values = "\nUNION ALL ".join(
            f"SELECT {text(c.name)} AS col, grp, y_{i} AS y, code_{i} AS code FROM {p}groups"
            for i, c in enumerate(scored)
        )
        numbers = [c.name for c in scored if c.kind in ("numeric", "date")]
        ordered = [*numbers, *(c.name for c in scored if c.kind == "ordinal")]
        events = [(c.name, Event.parse(c.name, event)) for c in scored for event in c.events]
        flags = "".join(
            f"\n  UNION ALL SELECT col, {text(e.text)}, code, CASE WHEN y {e.sign} {double(float(e.bound))} THEN 1 "
            f"ELSE 0 END FROM {p}public WHERE y IS NOT NULL AND col = {text(name)}"
            for name, e in events
        )
        # no column has an empty name
        listed = (", ".join(map(text, ["", *names])) for names in (numbers, ordered))
        named = dict(zip(("numbers", "ordered"), listed, strict=True))
        sql = resources.files(__package__).joinpath("check_scores.sql").read_text("utf-8")
        tables = "\n".join(line for line in sql.splitlines() if not line.startswith("--"))
        return [f"{p}values AS (\n{values}\n)", tables.format(p=p, parts=PARTS, flags=flags, **named)]

    def _covered(self, tree: Partition) -> tuple[list[str], list[str]]:
        """Return tables and rows for cells that do not cover their originals or tell false means or shares."""
        p, groups = self.p, tree.groups if len(tree.groups) else range(tree.n_leaves)
        rows = [[str(leaf), str(g), *(str(c[leaf]) for c in tree.leaf_cells)] for leaf, g in enumerate(groups)]
        names = ["leaf", "grp", *(f"cell_{i}" for i in range(len(tree.columns)))]
        keys = (f"{key_of(c, self.request, f'{p}was_{i}')} AS key_{i}" for i, c in enumerate(tree.columns))
        chosen = ", ".join([*(f"{p}leaves.{name}" for name in names[1:]), *keys])
        joined = f"{p}walked JOIN {p}leaves ON {p}walked.{p}leaf = {p}leaves.leaf"
        tables = [_values(f"{p}leaves", names, rows), f"{p}keyed AS (SELECT {chosen} FROM {joined})"]
        checks: list[str] = []
        for i, column in enumerate(tree.columns):
            by_number = column.kind in ("numeric", "date")
            table, more = (self._numbers if by_number else self._categories)(i, column)
            tables, checks = [*tables, table], [*checks, *more]
        return tables, checks

    def _numbers(self, i: int, column: Recoded) -> tuple[str, list[str]]:
        """Return the table of a column's cells of numbers or dates, and its rows of the result."""
        table, key = f"{self.p}cells_{i}", f"key_{i}"
        kind = "DOUBLE" if column.kind == "numeric" else "DATE" if column.unit == "day" else "TIMESTAMP"
        ends_of = [end for cell in column.cells for end in (cell.lo, cell.hi) if end is not None]
        if column.kind == "numeric" and any(isinstance(end, Decimal) or abs(end) > 2**53 for end in ends_of):
            raise _refused(f"{column.name!r}, with numbers that doubles cannot hold,")
        rows = []
        for at, cell in enumerate(column.cells):
            # a cell of no number has ends that nothing lies between
            ends = (1, 0) if cell.lo is None is cell.hi and not cell.anything else (cell.lo, cell.hi)
            low, high = (f"CAST(NULL AS {kind})" if e is None else edge(column, float(e)) for e in ends)
            states = column.style in ("mean", "median")
            label, counted, absent = _stated(cell, column.unit) if states else (None, 0, 0)
            centre = "CAST(NULL AS DOUBLE)" if label is None else double(label)
            rows.append(
                [str(at), low, high, str(int(cell.missing or cell.anything)), centre, str(counted), str(absent)]
            )
        joined = f"{self.p}keyed JOIN {table} ON cell_{i} = cell"
        outside = f"CASE WHEN {key} IS NULL THEN 1 - missing WHEN {key} < low OR {key} > high THEN 1 ELSE 0 END"
        checks = [_row("'covered'", text(column.name), f"SUM({outside})", joined)]
        if column.style in ("mean", "median"):
            checks.append(self._centres(i, column, joined))
        return _values(table, ["cell", "low", "high", "missing", "label", "counted", "absent"], rows), checks

    def _centres(self, i: int, column: Recoded, joined: str) -> str:
        """Return the row for groups whose cell is not their mean or median, or miscounts the missing values."""
        x = f"key_{i}"
        if column.kind == "date":
            day = column.unit == "day"
            part, start = ("day", "DATE '1970-01-01'") if day else ("microsecond", "TIMESTAMP '1970-01-01 00:00:00'")
            x = f"CAST(DATE_DIFF('{part}', {start}, {x}) AS DOUBLE)"
        ranked = (
            f"SELECT grp, label, counted, absent, {x} AS x, MAX(ABS({x})) OVER () AS most, "
            f"ROW_NUMBER() OVER (PARTITION BY grp ORDER BY CASE WHEN {x} IS NULL THEN 1 ELSE 0 END, {x}) AS place, "
            f"COUNT({x}) OVER (PARTITION BY grp) AS n FROM {joined}"
        )
        # the one or two in the middle
        middle = "x" if column.style == "mean" else "CASE WHEN 2 * place BETWEEN n AND n + 2 THEN x END"
        centres = (
            f"SELECT label, counted, absent, AVG({middle}) AS centre, MAX(most) AS most, MAX(n) AS n, COUNT(*) AS size "
            f"FROM ({ranked}) AS ranked GROUP BY grp, label, counted, absent"
        )
        half = double(max(column.step, 1.0 if column.unit else 0.0) / 2)
        uncounted = "OR (counted + absent = 0 AND n < size)" if column.step > 0 else ""
        return _row(
            "'means and shares'",
            text(column.name),
            "COUNT(*)",
            f"({centres}) AS centres WHERE (label IS NOT NULL OR n > 0) AND absent >= 0 AND (n = 0 "
            f"OR ABS(centre - label) > {half} + {double(2 * SLACK)} * most {uncounted} "
            f"OR (counted + absent > 0 AND (counted <> n OR absent <> size - n)))",
        )

    def _categories(self, i: int, column: Recoded) -> tuple[str, list[str]]:
        """Return the table of the categories in a column's cells, and its rows of the result."""
        table, rows = f"{self.p}cells_{i}", []
        for at, cell in enumerate(column.cells):
            stated: dict[str | None, int] = {None: 1}
            if cell.label is not None:
                stated = dict(split_concatenation(str(cell.label))) if column.style == "weighted" else {}
            members = [*cell.categories, *([None] if cell.missing else [])]
            for category in dict.fromkeys([*members, *stated]):
                covered = int(cell.anything or category in members)
                weights = [stated.get(category, 0), sum(stated.values()), len(stated)]
                is_missing = str(int(category is None))
                rows.append([str(at), text(category or ""), is_missing, str(covered), *map(str, weights)])
        word, is_null = f"COALESCE(key_{i}, '')", f"CASE WHEN key_{i} IS NULL THEN 1 ELSE 0 END"
        counted = (
            f"(SELECT grp, cell_{i} AS slot, {word} AS word, {is_null} AS is_missing, COUNT(*) AS c, "
            f"SUM(COUNT(*)) OVER (PARTITION BY grp) AS n, COUNT(*) OVER (PARTITION BY grp) AS kinds "
            f"FROM {self.p}keyed GROUP BY grp, cell_{i}, {word}, {is_null}) AS counted "
            f"LEFT JOIN {table} ON cell = slot AND category = word AND missing = is_missing"
        )
        anything = [str(at) for at, cell in enumerate(column.cells) if cell.anything]
        besides = f" AND slot NOT IN ({', '.join(anything)})" if anything else ""
        checks = [_row("'covered'", text(column.name), "SUM(c)", f"{counted} WHERE COALESCE(covered, 0) = 0{besides}")]
        if column.style == "weighted":
            off = f"{counted} WHERE weight IS NULL OR c * whole <> weight * n OR kinds <> parts"
            checks.append(_row("'means and shares'", text(column.name), "COUNT(DISTINCT grp)", off))
        names = ["cell", "category", "missing", "covered", "weight", "whole", "parts"]
        return _values(table, names, rows), checks


def _stated(cell: Cell, unit: str) -> tuple[float | None, int, int]:
    """Return the number in a cell, and how many records have one and none, where it says so; (None, 0, -1) for `*`."""
    label = cell.label
    if label is None or label == TOP:
        return None, 0, 0 if label is None else -1
    counts = 0, 0
    if isinstance(label, str) and MISSING in label:
        value, _, rest = label.rpartition(JOIN)
        number_, _, first = value.rpartition(WEIGHT)
        absent = rest.rpartition(WEIGHT)[2]
        is_counted = first.isdigit() and absent.isdigit()
        label, counts = (number_, (int(first), int(absent))) if is_counted else (value, counts)
    if unit and isinstance(label, str):
        label = float(np.datetime64(label, "D" if unit == "day" else "us").astype(np.int64))
    return float(label), *counts
