"""Keyed pseudonyms: the same person, the same pseudonym; linkable by the key alone."""

from __future__ import annotations

import hashlib
import hmac

import pyarrow as pa

from ..errors import ParameterError
from ..table import Table

MIN_KEY = 16
_LENGTH = 16


def pseudonyms(table: Table, name: str, key: bytes) -> pa.Array:
    """An identifier column as pseudonyms: the first 64 bits of HMAC-SHA256, in hexadecimal.

    Parameters
    ----------
    table : Table
    name : str
        The identifier column.
    key : bytes
        A secret of at least 16 bytes; it is written nowhere.
    """
    if len(key) < MIN_KEY:
        raise ParameterError(
            f"the pseudonym key has {len(key)} bytes; at least {MIN_KEY} are needed",
            hint="make one with: head -c 32 /dev/urandom > key.bin",
        )
    column = table.column(name, kind="categorical")
    # the column's name takes part, so that equal values of two columns do not give each other away
    prefix = name.encode() + b"\x00"
    made = [
        hmac.new(key, prefix + value.encode(), hashlib.sha256).hexdigest()[:_LENGTH]
        for value in column.values
    ]
    if len(set(made)) != len(made):
        raise ParameterError(
            f"two values of {name!r} get the same pseudonym under this key",
            hint="choose another key",
        )
    mask = column.codes == column.n_values if column.has_missing else None
    return pa.DictionaryArray.from_arrays(
        pa.array(column.codes, mask=mask), pa.array(made, pa.string())
    ).dictionary_decode()
