"""Pseudonyms, plainly: each is made again from the identifier of its own row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from ...columns.table import Table, Window
from ...key import Secret
from ...plan import PlanColumn
from .recipe import Categories, Made


class PseudonymRecipe:
    """An identifier that is replaced by a pseudonym: 16 hexadecimal digits of its HMAC-SHA256."""

    def __init__(self, column: PlanColumn, original: Table, secret: Secret) -> None:
        self._source = Categories(column, original, "categorical")
        texts = [f"{column.name}\0{text}".encode() for text in self._source.names]
        made = [f"{int.from_bytes(secret.hmac(text)[:8], 'big'):016x}" for text in texts]
        self._made = pa.array([*made, None], pa.string())
        self.classes: Mapping[str, str] = {column.name: "text"}

    @property
    def asked(self) -> Sequence[str]:
        """The identifier."""
        return list(self.classes)

    def recode(self, part: Window) -> Made:
        """The pseudonyms of some rows; a missing identifier stays missing."""
        codes = pa.array(self._source.of(part).astype(np.int32))
        (name,) = self.classes
        return Made({name: pa.DictionaryArray.from_arrays(codes, self._made)}, {})
