"""Release a tree's rows under differential privacy: what taking part costs a person is promised."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from secrets import token_hex
from typing import Any, ClassVar, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...columns.arrays import as_text
from ...columns.table import Table
from ...errors import InputError, ParameterError, SchemaError, UnsupportedError
from ...kernels import Ints
from ...kernels.siphash import mixed
from ...notation import percent
from ...progress import caution
from ...schema import Schema
from ...texts import text
from ...validation import Kind, check_whole
from ..base import Method, NoTransform, RecipientNotes, render
from . import LEAST, MOST
from .domain import PublicColumn, by_medians, declared, doublings, fine, reached, topped
from .noise import Ledger, Noise, OpenDP
from .noisy_tree import measure
from .private_plan import PrivatePlan

# parts of epsilon, before what needs nothing is shared out among the others
_PARTS = {
    "count": 2, "top": 3, "bins": 5, "shapes": 3, "centres": 7, "splits": 35, "leaves": 35, "marginals": 10,
}  # fmt: skip
# a number is halved so often for its bins
_HALVINGS = 4
# share of the values of a number beyond its bounds that a steward is not warned of
CLAMPED = 0.01
# with less epsilon the noise on the number of rows alone is tens of thousands of rows
_EPSILON = Kind("a number above 0", lambda value: isinstance(value, (int, float)) and not isinstance(value, bool))


class PrivateTree(Method):
    """Release rows of a tree that is grown and counted under pure epsilon-differential privacy.

    The odds that somebody took part multiply by at most e^epsilon, whoever asks and whatever else they
    know; an attacker's advantage is at most tanh(epsilon / 2). Every release and every fit of the same
    people adds its epsilon. Nothing about the columns is taken from the data: bounds or grids of numbers
    and dates and the categories must be declared in the schema as public knowledge. The rows are
    ordinary rows that belong to nobody; their number is noisy as well. Noise is drawn by OpenDP
    (``pip install "hedgerow[private]"``), and cannot be seeded.

    Parameters
    ----------
    epsilon : float, default 1.0
        What taking part may cost a person in this release.
    records : int, default 1
        Rows that are used of a person who has several (``Schema(unit=...)``); more of them need more noise.
    schema : Schema, optional
        What is public, for `fit`.

    Attributes
    ----------
    plan_ : PrivatePlan
        Public: noisy measurements, what each of them cost, and the key of the rows.

    Examples
    --------
    >>> PrivateTree(epsilon=0.5)
    PrivateTree(epsilon=0.5)
    """

    is_private: ClassVar[bool] = True
    engines: ClassVar[tuple[str, ...]] = ("memory", "duckdb", "spark")
    guardable: ClassVar[bool] = False
    supported_fields: ClassVar[tuple[str, ...]] = ("unit", "grid")
    kinds: ClassVar[Mapping[str, Kind]] = {"epsilon": _EPSILON}
    risk_model = "linkage"

    def __init__(self, epsilon: float = 1.0, records: int = 1, schema: Schema | None = None) -> None:
        self.epsilon = epsilon
        self.records = records
        self.schema = schema

    def check_table(self, table: Table, schema: Schema) -> None:
        """Raise an error as `Method.check_table` does, if a column would be unprotected or OpenDP is not installed."""
        super().check_table(table, schema)
        unprotected = {"other": schema.other, "weight": schema.weight, "rest": schema.rest == "release"}
        if names := ", ".join(name for name, is_said in unprotected.items() if is_said):
            raise UnsupportedError(
                f"PrivateTree releases no column as it is, so it does not support {names} of the schema",
                hint="leave these columns out, or name them quasi-identifiers",
            )
        if schema.follows or schema.all_rules():
            raise UnsupportedError(
                "PrivateTree draws columns independently, so none follows another or obeys a rule",
                hint="leave out follows (--follows), rules (--rule, --tolerated) and determines (--determines)",
            )
        _refuse_guesses(table, schema)
        OpenDP()

    def _fit(self, table: Table, schema: Schema) -> Any:
        return self.measured(table, schema, OpenDP())

    def measured(self, table: Table, schema: Schema, noise: Noise) -> PrivatePlan:
        """Return the public plan of a table, its noise drawn by the given mechanisms.

        Tests and audits give mechanisms of their own; a release has OpenDP's.
        """
        if not LEAST <= self.epsilon <= MOST:
            raise ParameterError(
                f"epsilon is {str(self.epsilon)[:20]}; it must be from {LEAST:g} to {MOST:g}",
                hint="less drowns everything in noise, the number of rows included; more promises nothing",
            )
        records = check_whole("records", self.records, 1)
        if records > 1 and schema.person is None:
            raise ParameterError(
                "records limits the rows of each person, but the schema names no unit, so every row is one person",
                hint="name who a person is: Schema(unit=...)",
            )
        # the decimal that was written, not the double next to it
        epsilon = Fraction(repr(float(self.epsilon)))
        columns = declared(table, schema)
        # of a cluster the counted combinations: in another order than the rows, which no count depends on
        table = table.with_local_codes([*schema.quasi, *schema.sensitive, *filter(None, [schema.person])])
        _tell_clamped(table, schema)
        ledger = Ledger(epsilon, records, noise)
        parts = _parts(columns, epsilon)
        rows = limited(table, schema, columns, records)
        n = table.n_rows if rows is None else len(rows)
        counting = ledger.buy("number of rows", parts["count"])
        people = max(0, int(counting.counts(np.array([n], np.int64))[0]))
        codes = {}
        for i, column in enumerate(columns):
            columns[i] = binned = _binned(column, table, rows, ledger, parts)
            if column.is_number and binned.ends != column.ends:
                words = dict(zip(("first", "last", "least", "most"), binned.ends + column.ends, strict=True))
                caution(text("private", "topped", name=column.name, **words))
            codes[column.name] = _of_rows(columns[i].bins(columns[i].column_of(table)), rows)
            _tell_unlisted(columns[i], codes[column.name])
        quasi, sensitive = ([c for c in columns if c.role == role] for role in ("quasi", "sensitive"))
        measured = measure(quasi, sensitive, codes, ledger, parts, people, counting.deviation())
        order = tuple(name for name in table.names if name in codes)
        costs = tuple((part, str(cost)) for part, cost in ledger.entries)
        return PrivatePlan(str(epsilon), records, tuple(quasi + sensitive), order, measured, costs, token_hex(16))

    def transform(self, X: Any) -> NoReturn:
        """Refuse: the released rows are nobody's, so no table is changed row by row."""
        raise NoTransform(
            "PrivateTree releases rows that belong to nobody, so there is none for each row of X",
            hint="release a whole table: hr.protect(people, schema, hr.PrivateTree(epsilon=1))",
        )

    def recipient_notes(self, file: str) -> RecipientNotes:
        """Return the text of RECIPIENT.md."""
        plan: PrivatePlan = self.plan_  # type: ignore[assignment]
        return RecipientNotes(about=render("private_tree.md", file=file, plan=plan))


def _refuse_guesses(table: Table, schema: Schema) -> None:
    """Raise SchemaError where one person's cell could decide how everybody's cells of a text file are read."""
    dialect, used = table.layout.dialect, {*schema.quasi, *schema.sensitive}
    if guessed := ", ".join(sorted(used.intersection(dialect.mixed if schema.decimal else dialect.either))):
        hint = 'give the decimal sign that all of them have: decimal="." or decimal="," (--decimal)'
        if schema.decimal:
            hint = f"some are not written with the declared sign {schema.decimal!r}: correct them, or the sign"
        raise SchemaError(f"numbers such as 22.807 may be thousands or fractions: {guessed}", hint=hint)
    days = [n for n, points in {**schema.grid, **schema.bounds}.items() if n in used and isinstance(points[0], str)]
    if slashed := ", ".join(n for n in days if table.kind(n) != "date" and _has_slashes(table.entries(n))):
        raise SchemaError(
            f"dates such as 03/04/2020 are read by other dates, and PrivateTree lets no cell decide that: {slashed}",
            hint="write dates as 2020-04-03 or 03.04.2020",
        )
    if dialect.quote + dialect.escape != '""':
        raise InputError(
            'PrivateTree reads text files whose quotes are " and doubled inside cells, lest a cell decides on others',
            hint="write the file so, or as Parquet",
        )


def _has_slashes(cells: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring(as_text(cells), "/")).as_py())


def _tell_clamped(table: Table, schema: Schema) -> None:
    """Warn the steward, whose warnings are not published, of numbers of which many lie beyond their bounds."""
    for name, points in {**schema.grid, **schema.bounds}.items():
        column = table.declared_column(schema, name)
        if column.kind == "numeric":
            counts = column.counts()[:-1]
            beyond = int(counts[(column.doubles < points[0]) | (column.doubles > points[-1])].sum())
            if beyond > CLAMPED * counts.sum():
                share = percent(beyond / counts.sum(), 0)
                caution(text("private", "clamped", name=name, share=share, least=points[0], most=points[-1]))


def _tell_unlisted(column: PublicColumn, bins: NDArray[Any]) -> None:
    """Warn the steward if most values of a column are none that were declared, and so come out as other or missing."""
    other = int(np.count_nonzero(bins == len(column.labels) - 1)) if column.labels else 0
    if 2 * other > len(bins):
        caution(text("private", "unlisted", name=column.name, share=percent(other / len(bins), 0)))


def _parts(columns: list[PublicColumn], epsilon: Fraction) -> dict[str, Fraction]:
    """Return the epsilon of each part, and for bins and tops that of each column and halving."""
    for_bins = sum(c.role == "quasi" and _is_open(c) for c in columns)
    for_top = sum(c.role == "sensitive" and _is_open(c) for c in columns)
    numbers = sum(c.role == "sensitive" and c.is_number for c in columns)
    needed = {"bins": for_bins, "top": for_top, "shapes": numbers}
    used = {part: weight for part, weight in _PARTS.items() if needed.get(part, 1)}
    parts = dict.fromkeys(_PARTS, Fraction(0))
    parts |= {part: epsilon * weight / sum(used.values()) for part, weight in used.items()}
    parts["bins"] /= max(for_bins, 1) * _HALVINGS
    parts["top"] /= max(for_top, 1)
    parts["shapes"] /= max(numbers, 1)
    return parts


def _is_open(column: PublicColumn) -> bool:
    """Return whether only the two bounds of a number are declared, so that its bins must be found."""
    return len(column.edges) == 2


def _binned(
    column: PublicColumn, table: Table, rows: Ints | None, ledger: Ledger, parts: Mapping[str, Fraction]
) -> PublicColumn:
    """Return the column with its bins, which are bought if only bounds are declared."""
    if not _is_open(column):
        return column
    values = column.column_of(table)
    if column.role == "quasi":
        cells = fine(column)
        counts = np.bincount(_of_rows(cells.bins(values), rows), minlength=cells.n_bins)[:-1]
        buy = [ledger.buy(f"bins, {column.name}, halving {i + 1}", parts["bins"]) for i in range(_HALVINGS)]
        return by_medians(cells, counts, buy)
    buying = ledger.buy(f"top code, {column.name}", parts["top"])
    n = doublings(column).n_bins
    counts = np.bincount(_of_rows(reached(column, values), rows), minlength=n)[:-1]
    return topped(column, buying.counts(counts), buying.deviation())


def _of_rows(codes: NDArray[Any], rows: Ints | None) -> NDArray[Any]:
    return codes if rows is None else codes[rows]


def limited(table: Table, schema: Schema, columns: list[PublicColumn], records: int) -> Ints | None:
    """Return the rows that are used: of each person those whose contents have the lowest hashes.

    Which of a person's rows these are depends on that person's rows alone, so one person more or less
    changes nobody else's. Rows without a person are left out. None if every row is a person.
    """
    if schema.person is None:
        return None
    person = table.column(schema.person, kind="categorical")
    content = np.zeros(table.n_rows, np.uint64)
    for i, column in enumerate(columns):
        values = column.column_of(table)
        texts = [*(repr(v) for v in values.values), ""]
        content = mixed(content ^ np.array([_hashed(f"{i} {t}") for t in texts], np.uint64)[values.codes])
    order = np.lexsort((content, person.codes))
    codes = person.codes[order].astype(np.int64)
    new = np.concatenate([[True], codes[1:] != codes[:-1]])
    first = np.maximum.accumulate(np.where(new, np.arange(len(codes)), 0))
    used = (np.arange(len(codes)) - first < records) & (codes < person.n_values)
    return np.sort(order[used])


def _hashed(text: str) -> int:
    from hashlib import blake2b

    return int.from_bytes(blake2b(text.encode(), digest_size=8, key=b"hedgerow records").digest(), "little")
