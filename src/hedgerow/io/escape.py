"""Cells that a spreadsheet would run as a formula, made harmless, and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..columns.encode import is_text
from ..columns.table import Table

_RISKY = r"^'*[=+\-@\t\r]"
_ESCAPED = r"^'+[=+\-@\t\r]"
_PLAIN = r"^'*[+-](\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?$"


def concat(*parts: Any) -> Any:
    """Arrays of text, and fixed texts between them, joined row by row."""
    kind = next(part.type for part in parts if not isinstance(part, str))
    same = [pa.scalar(part, kind) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*same, pa.scalar("", kind))


def _chosen(texts: Any, pattern: str) -> Any:
    risky = pc.match_substring_regex(texts, pattern)
    return pc.and_not(risky, pc.match_substring_regex(texts, _PLAIN))


def escape_cells(texts: Any) -> Any:
    """Put an apostrophe before every text that a spreadsheet would run.

    Text that already begins with apostrophes before such a sign gets one more, so that
    `unescape_cells` gives exactly the original back. Plain numbers stay.

    Examples
    --------
    >>> import pyarrow as pa
    >>> escape_cells(pa.array(["=1+1", "-5", "'=x", "cook"])).to_pylist()
    ["'=1+1", '-5', "''=x", 'cook']
    """
    chosen = _chosen(texts, _RISKY)
    if not pc.any(chosen).as_py():
        return texts
    return pc.if_else(chosen, concat("'", texts), texts)


def escaped(table: Table) -> list[str]:
    """The columns of a table in which `escape_cells` changes a text, their names included.

    Examples
    --------
    >>> from hedgerow.io.read import read
    >>> escaped(read({"note": ["=1+1", "none"], "job": ["cook", "nurse"], "-x": [1, 2]}))
    ['note', '-x']
    """
    found = []
    for field in table.types:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        texts = table.entries(field.name) if is_text(kind) else pa.array([], pa.string())
        if any(pc.any(_chosen(each, _RISKY)).as_py() for each in (texts, pa.array([field.name]))):
            found.append(field.name)
    return found


def unescape_cells(texts: Any) -> Any:
    """Take away what `escape_cells` put there."""
    chosen = _chosen(texts, _ESCAPED)
    if not pc.any(chosen).as_py():
        return texts
    return pc.if_else(chosen, pc.utf8_slice_codeunits(texts, 1), texts)


def unescape(table: pa.Table) -> pa.Table:
    """The table with its text columns and column names unescaped."""
    columns = [
        unescape_cells(c) if pa.types.is_string(c.type) or pa.types.is_large_string(c.type) else c
        for c in table.columns
    ]
    names = unescape_cells(pa.array(table.column_names, pa.string())).to_pylist()
    return pa.Table.from_arrays(columns, names=names)
