"""Random tables of codes and responses for the grower's tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.table import read
from hedgerow.trees.grow import Predictors
from hedgerow.trees.responses import Responses


def predictors(
    rng: np.random.Generator, n: int, columns: str, n_codes: int = 6, missing: bool = False
) -> Predictors:
    """One column a letter: o ordered, c categorical, w categorical with many categories."""
    width = np.array([3 * n_codes if kind == "w" else n_codes for kind in columns], np.int64)
    codes = np.stack([rng.integers(0, w, n) for w in width], axis=1)
    if missing:
        codes[rng.random(codes.shape) < 0.15] = -1
        codes = np.where(codes < 0, width, codes)
    return Predictors(codes.astype(np.uint8), width, np.array([kind == "o" for kind in columns]))


def responses(
    rng: np.random.Generator,
    given: Predictors,
    kinds: str,
    missing: bool = False,
    coarse: bool = False,
) -> Responses:
    """One column a letter: n numeric, c categorical; dependent on the codes, noisy."""
    n = len(given.codes)
    signal = given.codes.astype(float) @ rng.normal(size=given.codes.shape[1])
    columns: dict[str, Any] = {}
    for j, kind in enumerate(kinds):
        y = signal * rng.normal() + 3 * rng.normal(size=n)
        if kind == "c":
            y = np.digitize(y, np.quantile(y, [0.3, 0.6, 0.9]))
        absent = rng.random(n) < (0.2 if missing else 0.0)
        values = np.round(y) if coarse and kind == "n" else y
        columns[f"y{j}"] = pa.array(
            [
                None if gone else (str(v) if kind == "c" else float(v))
                for v, gone in zip(values.tolist(), absent, strict=True)
            ]
        )
    table = read(pa.table(columns))
    return Responses.of([table.column(name) for name in columns])
