"""Replace identifiers by keyed pseudonyms: one per person, linkable only with the key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..backends.release_order import ReleasedCodes
from ..columns.table import Table
from ..errors import ParameterError
from ..key import Secret

_BYTES = 8


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
    texts = [key.hmac(prefix + value.encode())[:_BYTES].hex() for value in column.values]
    if len(set(texts)) != len(texts):
        raise ParameterError(
            f"two values of {name!r} get the same pseudonym under this key",
            hint="choose another key",
        )
    entries = pa.array([*texts, None], pa.string())
    return ReleasedCodes(name, entries.type, entries, column.codes, np.arange(len(entries)))
