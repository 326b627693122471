"""Random tables of codes and responses for the grower's tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.columns.column import Column
from hedgerow.io.read import read
from hedgerow.trees.node_rows import NodeRows, Predictors, RowCodes
from hedgerow.trees.responses import Responses


@dataclass(frozen=True)
class Given:
    """Codes of the quasi-identifiers, row by row, in one array."""

    codes: Any
    n_codes: Any
    ordered: Any

    @property
    def predictors(self) -> Predictors:
        return Predictors(self.n_codes, self.ordered)

    def __getitem__(self, rows: Any) -> Given:
        return Given(self.codes[rows], self.n_codes, self.ordered)


@dataclass(frozen=True)
class Sensitive:
    """Sensitive columns, and what the grower and its reference make of them."""

    columns: tuple[Column, ...]
    scored: bool = False

    @property
    def responses(self) -> Responses:
        return Responses.from_columns([c.value_counts for c in self.columns], scored=self.scored)

    @property
    def z(self) -> Any:
        """Centred units of the numeric columns, row by row."""
        made = [q.units[self.columns[q.source].codes] for q in self.responses.numbers]
        return np.stack(made, axis=1) if made else np.zeros((len(self.columns[0].codes), 0), int)

    @property
    def classes(self) -> Any:
        """Classes of the class columns, row by row."""
        made = [c.lookup[self.columns[c.source].codes] for c in self.responses.classes]
        return np.stack(made, axis=1) if made else np.zeros((len(self.columns[0].codes), 0), int)

    def __getitem__(self, rows: Any) -> Sensitive:
        return replace(self, columns=tuple(replace(c, codes=c.codes[rows]) for c in self.columns))

    def rows(self, given: Given, **options: Any) -> NodeRows:
        """Records for the grower."""
        codes = list(given.codes.T)
        mine = [c.codes for c in self.columns]
        return NodeRows.from_codes(given.predictors, self.responses, RowCodes(codes, mine, **options))


def predictors(rng: np.random.Generator, n: int, columns: str, n_codes: int = 6, missing: bool = False) -> Given:
    """One column a letter: o ordered, c categorical, w categorical with many categories.

    Capitals have so many codes that they take 16 (O, C) or 32 bits (W).
    """
    factor = {"w": 3, "O": 60, "C": 60, "W": 12_000}
    width = np.array([factor.get(kind, 1) * n_codes for kind in columns], np.int64)
    codes = np.stack([rng.integers(0, w, n) for w in width], axis=1)
    if missing:
        codes[rng.random(codes.shape) < 0.15] = -1
        codes = np.where(codes < 0, width, codes)
    return Given(codes, width, np.array([kind in "oO" for kind in columns]))


def responses(
    rng: np.random.Generator, given: Given, kinds: str, missing: bool = False, coarse: bool = False
) -> Sensitive:
    """One column a letter: n numeric, c categorical, o ordinal; dependent on the codes, noisy."""
    n = len(given.codes)
    signal = given.codes.astype(float) @ rng.normal(size=given.codes.shape[1])
    columns: dict[str, Any] = {}
    for j, kind in enumerate(kinds):
        y = signal * rng.normal() + 3 * rng.normal(size=n)
        if kind in "co":
            y = np.digitize(y, np.quantile(y, [0.3, 0.6, 0.9]))
        absent = rng.random(n) < (0.2 if missing else 0.0)
        values = np.round(y) if coarse and kind == "n" else y
        columns[f"y{j}"] = pa.array(
            [
                None if gone else (str(v) if kind in "co" else float(v))
                for v, gone in zip(values.tolist(), absent, strict=True)
            ]
        )
    table = read(pa.table(columns))
    ordinal = {f"y{j}" for j, kind in enumerate(kinds) if kind == "o"}
    return Sensitive(
        tuple(
            table.column(name, kind="ordinal" if name in ordinal else None, categories=list("0123"))
            if name in ordinal
            else table.column(name)
            for name in columns
        )
    )
