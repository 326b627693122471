"""What the masking methods share: numbers in, masked numbers out, a record of what changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..backends import Transformed
from ..backends.row_ids import Rows
from ..columns.array_memory import one_piece
from ..columns.column import Column as EncodedColumn
from ..columns.encode import decoded
from ..columns.numbers import numeric_matrix, one_zero, released_column
from ..columns.table import Table
from ..errors import UnsupportedError
from ..key import Key
from ..measures.guarantees import Guarantee
from ..notation import plain
from ..plan.masking import Mask, MaskedColumn
from ..plan.records import Plan
from ..schema import Schema
from .base import Files, Method, Told, check_columns

Floats = NDArray[np.float64]
_PUBLIC = Key(bytes(32))


@dataclass(frozen=True)
class Masked:
    """The outcome of a masking.

    Parameters
    ----------
    released : mapping of str to pyarrow array
        The masked columns.
    columns : tuple of MaskedColumn
        What changed in each.
    facts : mapping of str to number or str
        What is true of the table as a whole.
    promises : tuple of mapping
        What `Release.verify` can check.
    """

    released: Mapping[str, pa.Array]
    columns: tuple[MaskedColumn, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    promises: tuple[Guarantee, ...] = ()


class Masking(Method):
    """Base of the methods that change values and do not recode them.

    The plan of a masking says what was done; each released value depends on the
    whole table, so `transform` answers for the table it was fitted on alone.

    Attributes
    ----------
    plan_ : Plan
    facts_ : dict
        What is true of the table as a whole: number of blocks or groups, shares.
    columns_ : tuple of MaskedColumn
        What changed in each column: shares unchanged, outside the original extent, clipped.
    """

    words: ClassVar[str] = ""
    reading: ClassVar[tuple[str, ...]] = (
        "Cells of the recoded columns may have been altered: one may be the value of the person in",
        "its row or not; figures for many records carry over better than any single cell. An empty",
        "cell: there was no value, or it was left out.",
    )
    """How the reader of a release takes its cells."""
    needs_sensitive = False
    heeds: ClassVar[tuple[str, ...]] = ("unit",)
    """Where no k is promised, a caution tells what repeated records undo."""
    yardstick: ClassVar[Literal["classes", "linkage"]] = "linkage"
    facts_: dict[str, Any]
    columns_: tuple[MaskedColumn, ...]

    def _mask(self, table: Table, schema: Schema) -> Masked:
        raise NotImplementedError

    def _fit(self, table: Table, schema: Schema) -> Plan:
        check_columns(table, schema.replace(quasi=()))
        made = self._mask(table, schema)
        self._released, self._fitted = dict(made.released), fingerprint(table, schema.quasi)
        self.facts_, self.columns_ = dict(made.facts), made.columns
        recoding = Mask(self.words, made.columns, plain(made.facts), self.yardstick)
        return self._planned(table, schema, recoding, made.promises)

    def _rows(self, table: Table) -> Rows:
        """The rows in an order that their content gives: what is done depends on no other."""
        return Rows.of(table, self._key if self.draws else _PUBLIC)

    def _release_key(self, rows: Rows, schema: Schema, **found: Any) -> Key:
        """The key of this release alone; `found` is what was asked for by other words."""
        masked = {"method": type(self).__name__, "columns": sorted(schema.quasi)}
        asked = masked | self.plan_parameters()
        return rows.release_key(asked | found)

    def release_table(self, table: Table) -> Transformed:
        """The masked columns of the table that was fitted; UnsupportedError for most others."""
        if fingerprint(table, [c.name for c in self.columns_]) != self._fitted:
            return Transformed(self._of_others(table), 0)
        return Transformed(dict(self._released), 0)

    def _of_others(self, table: Table) -> dict[str, pa.Array]:
        """The masked columns of another table than was fitted, where that means anything."""
        raise UnsupportedError(
            f"{type(self).__name__} cannot transform another table than it was fitted on: each "
            "released value depends on the whole table",
            hint="fit_transform that table by itself; for cross_val_score mask the whole table first",
        )

    def release_files(self, release: Any) -> Files:
        """MASKING.md: what was done to the columns, for the reader of the release."""
        lines = [
            "# What was done to the masked columns",
            "",
            "```",
            release.recoding_in_words(),
            "```",
            "",
            *self.reading,
            "",
        ]
        return Files(public={"MASKING.md": "\n".join(lines)})

    def told(self, file: str) -> Told:
        """What the recoded cells say, and where it is told how they were made."""
        made = "`MASKING.md` says what was done: give it with the release."
        return Told(lines=["", *self.reading, made])


def mask_numbers(
    table: Table,
    schema: Schema,
    before: Floats,
    after: Floats,
    *,
    clip: bool | tuple[float, float] = False,
    integers: bool = False,
    names: Sequence[str] | None = None,
) -> tuple[dict[str, pa.Array], tuple[MaskedColumn, ...]]:
    """Masked numbers as columns, clipped and rounded on request, with what changed.

    Parameters
    ----------
    before, after : array, shape (rows, columns)
        Missing cells of `before` stay missing.
    clip : bool or pair of float
        Move values outside back: to the extent of their own column (True) or to a pair.
    integers : bool
        Round columns of integers and keep their type.
    names : sequence of str, optional
        The columns; by default the quasi-identifiers.
    """
    released, columns = {}, []
    for c, name in enumerate(schema.quasi if names is None else names):
        old, new = before[:, c], after[:, c].copy()
        there = ~np.isnan(old)
        new[~there] = np.nan
        lo, hi = np.nanmin(old), np.nanmax(old)
        outside = (new < lo) | (new > hi)
        clipped = np.zeros(len(old), bool)
        if clip is not False:
            low, high = (lo, hi) if clip is True else clip
            clipped = (new < low) | (new > high)
            new = np.clip(new, low, high)
        kind = table.arrow.schema.field(name).type
        released[name] = released_column(new, kind, integers)
        if integers and pa.types.is_integer(kind):
            new = np.rint(new)
        masks = {"unchanged": new == old, "outside": outside, "clipped": clipped}
        masks["suppressed"] = np.isnan(new)
        columns.append(masked_column(schema, name, "numeric", released[name], there, **masks))
    return released, tuple(columns)


def masked_column(
    schema: Schema,
    name: str,
    kind: str,
    released: pa.Array,
    there: NDArray[np.bool_],
    **masks: NDArray[np.bool_],
) -> MaskedColumn:
    """What became of one column: each mask as its share of the cells that were there."""
    n, cells = len(there), int(there.sum())
    shares: dict[str, Any] = {
        what: float((mask & there).sum() / max(cells, 1)) for what, mask in masks.items()
    }
    told = str(released.type)
    return MaskedColumn(
        name, schema.role(name), kind, released=told, missing=float((n - cells) / n), **shares
    )


def fingerprint(table: Table, names: Sequence[str]) -> str:
    """A digest of some columns, to know a table again without keeping it."""
    digest = hashlib.blake2b(digest_size=16)
    for name in names:
        column = table.arrow.column(name)
        if table.kind(name) == "numeric":
            column = column.cast(pa.int64()) if pa.types.is_duration(column.type) else column
            values = column.cast(pa.float64(), safe=False).to_numpy() + 0.0
            digest.update(np.where(np.isnan(values), np.nan, values).tobytes())
        else:
            encoded = table.column(name)
            digest.update(np.ascontiguousarray(encoded.codes).astype(np.uint32).tobytes())
            digest.update(repr(list(encoded.values)).encode())
    return digest.hexdigest()


def numbers(table: Table, schema: Schema) -> Floats:
    """The quasi-identifiers as doubles; errors name every column that is not numeric."""
    return numeric_matrix(table, schema.quasi, schema.kinds)


def share(columns: Sequence[MaskedColumn], what: str) -> float:
    """A share over the cells of all columns together."""
    weight = np.array([1.0 - c.missing for c in columns])
    shares = np.array([getattr(c, what) for c in columns])
    return float((weight * shares).sum() / weight.sum()) if weight.sum() else 0.0


def category_column(table: Table, column: EncodedColumn, codes: NDArray[np.int64]) -> pa.Array:
    """Codes (missing: the number of categories) as a column of the original type."""
    original = table.arrow.column(column.name)
    if not column.n_values:
        return pa.nulls(len(codes), pa.string())
    first = np.zeros(column.n_values + 1, np.int64)
    first[column.codes[::-1]] = np.arange(len(column.codes))[::-1]
    entries = one_zero(one_piece(decoded(original.take(pa.array(first[:-1])))))
    released = entries.take(pa.array(codes, mask=codes == column.n_values))
    return released.dictionary_encode() if pa.types.is_dictionary(original.type) else released
