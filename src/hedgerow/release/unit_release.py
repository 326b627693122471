"""A release of a table with several rows a unit, which are protected side by side and released one below the other."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..backends.select import remote_engine
from ..columns.arrays import decoded, one_piece, value_class
from ..columns.table import Table
from ..columns.units import lengthened, widened, widened_again
from ..columns.workspace import Workspace, memory_of
from ..errors import InputError, PromiseError, SchemaError, UnsupportedError
from ..guard.guarding import FEWEST
from ..guard.rows import decoded_cells, with_drawn_places
from ..io.frames import source_of
from ..io.read import read
from ..io.verify_read import read_back
from ..io.write import layout_like, write_table
from ..measures import Ints
from ..measures.guarantees import Check
from ..methods.base import Method
from ..notation import decimals_of
from ..plan.records import FILE
from ..progress import Tell, caution
from ..schema import Schema
from .expected_rows import summed
from .release import Release, ReleaseOptions
from .verify import same_columns


def of_units(
    people: Any, schema: Schema, method: Method, options: ReleaseOptions
) -> tuple[Any, Schema, ReleaseOptions]:
    """Return a long table as one of units, with its schema, and the options that lead back.

    Raises
    ------
    UnsupportedError
        The method draws no whole rows, or the engine or an option does not go with units.
    SchemaError
        A column of each row is released as it is.
    """
    guard, word = options.guard, "wave" if schema.wave else "member" if schema.member else "time"
    if remote_engine(people, options.engine) is not None:
        raise UnsupportedError(
            "the rows of a unit may lie on several machines of a cluster", hint="take a part of the table out of it"
        )
    if guard is None or not guard.rows:
        raise UnsupportedError(
            f"{type(method).__name__} draws no whole rows here, and the rows of a unit are drawn together",
            hint=(
                'use Hedge with cells="rows", which is the default (--method hedge), or let each row be drawn '
                "by itself (without --wave, --time and --member)"
            ),
        )
    refused = {
        "pseudonym_key": options.secret is not None, "parts": options.parts, "keep_order": options.keep_order,
        'cap_on="file"': guard.cap_on == FILE,
    }  # fmt: skip
    if names := ", ".join(name for name, is_given in refused.items() if is_given):
        raise UnsupportedError(f"{names} does not go with several rows a unit ({word})", hint="leave it out")
    k: int = getattr(method, "k", FEWEST) if guard.people is None else guard.people
    units = widened(read(people, schema=schema), schema, k)
    exact = [n for n, (_, slot) in units.form.cells.items() if slot >= 0 and units.schema.role(n) == "other"]
    if names := ", ".join(map(repr, dict.fromkeys(units.form.cells[n][0] for n in exact))):
        raise SchemaError(
            f"{names}: other columns are released as they are, and the rows that people have are not",
            hint="declare columns that differ between the rows of a unit quasi-identifiers or sensitive",
        )
    for note in units.notes:
        caution(note)
    table: Any = units.table
    if options.engine == "duckdb":  # which reads files
        units = replace(units, workspace=Workspace(memory_of(options.memory)))
        table = units.workspace.folder / "units.parquet"
        write_table(units.table.arrow, table)
    return table, units.schema, replace(options, units=units)


class UnitRelease(Release):
    """A release whose `table` is long: its rows are verified side by side, as they were drawn.

    `original`, `released` and `schema` are those of units.
    """

    def __init__(self, **about: Any) -> None:
        units = about["options"].units
        assert units is not None
        super().__init__(**{**about, "warned": (*units.notes, *about["warned"])})
        self.units, self._types = units, self.released.types
        wide = pa.table({name: decoded_cells(self.released, name) for name in self.released.names})
        used = units.long.arrow.column(units.form.unit).unique().to_pylist()
        self._long = lengthened(wide, units.form, units.long.types, used)
        # a frame of the kind that came in, of so many rows, all of whose cells are replaced
        dropped = set(units.long.names) - {*self._long.column_names}
        rows = _rows_of_all_categories(units.long, self._long.num_rows)
        frame = units.long.restore({}, drop=dropped, rows=rows)
        cells = {name: self._long.column(name).combine_chunks() for name in self._long.column_names}
        self.table = source_of(frame).restore(cells, set(), np.arange(len(rows)))
        self._arrow = wide

    def __repr__(self) -> str:
        n = self.released.n_rows
        return (
            f"Release({self.plan.method}, {self._long.num_rows:,} rows of {n:,} units, {len(self.checks)} checks hold)"
        )

    def _read(self, table: Any) -> Table:
        """Read a long frame as the table of units."""
        long = read(table).arrow
        if long.column_names != self._long.column_names:
            raise InputError("the table has other columns than were released")
        form = self.units.form
        ids, used = (each.arrow.column(form.unit).to_pylist() for each in (Table(long), self.units.long))
        place = {id_: i for i, id_ in enumerate(dict.fromkeys(self._long.column(form.unit).to_pylist()))}
        # units in the order in which they were drawn, whatever that of the rows is
        long = long.take(pa.array(np.argsort([place.get(id_, len(place)) for id_ in ids], kind="stable")))
        if n := len({*map(str, ids)} & {*map(str, used)}):
            raise PromiseError(f"the released table has {n:,} ids of the original in {form.unit!r}")
        try:
            return Table(widened_again(long, form, self._types))
        except InputError as error:
            raise PromiseError(f"the released table is not what its plan makes: {error.message}") from error

    @property
    def _source(self) -> Table:
        return self.units.long

    @property
    def _file_table(self) -> Table:
        return Table(self._long)

    @property
    def _like(self) -> Table:
        """Return the long table that was read, with the decimals that drawn numbers of any slot have."""
        form, guard = self.units.form, self.plan.guard
        assert guard is not None
        fine = sorted(guard.columns, key=lambda c: decimals_of(c.steps[0]) if len(c.steps) else 0)
        columns = tuple(replace(c, name=form.cells[c.name][0]) for c in fine if c.name in form.cells)
        like = copy(self._source)
        like.layout = with_drawn_places(like.layout, replace(guard, columns=columns))
        return like

    def _file_checks(self, file: Path, escape: bool, step: Tell) -> list[Check]:
        """Read the written long table back, and check its units."""
        expected, long = self._verification.expected, self._file_table
        assert expected is not None
        classes = {field.name: value_class(field.type) for field in self._long.schema}
        layout = layout_like(self._like, long.types, long.entries)
        written = read_back([file], like=layout, classes=classes, unescape_formulas=escape)
        checks = [same_columns(self._long.column_names, written.names)]
        if not checks[0].holds:
            return checks
        cells = pa.Table.from_batches([*written.batches])
        cells = pa.table(
            {n: decoded(cells.column(n)).cast(self._long.schema.field(n).type) for n in cells.column_names}
        )
        step("reading back", 0.5)
        n = expected.sums.n_rows
        units = Table(widened_again(cells, self.units.form, self._types))
        ids = len(cells.column(self.units.form.unit).unique())
        return [*checks, Check("units", n, ids, ids == n), *expected.checks(summed(expected, units))]


def _rows_of_all_categories(table: Table, n: int) -> Ints:
    """Return n rows of a table in which all categories occur: frames forget those that do not."""
    coded = [table.arrow.column(field.name) for field in table.types if pa.types.is_dictionary(field.type)]
    codes = [one_piece(decoded(column)).dictionary_encode().indices.fill_null(-1) for column in coded]
    first = np.unique(np.concatenate([[0], *(np.unique(each, return_index=True)[1] for each in codes)]))
    return np.resize(first[:n], n).astype(np.int64)
