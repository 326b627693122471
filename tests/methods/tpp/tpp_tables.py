"""Random tables and Adult as encoded columns, shared by the tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hedgerow.methods.tpp.encoding import MOST_SUBSETS, PredictedColumn, Predictor

NUMERIC = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
PREDICTORS = (
    "age",
    "workclass",
    "education",
    "education-num",
    "marital-status",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
)


def numbers(name, x):
    """Encode numbers as a predictor of ranks; -0.0 and 0.0 are one value."""
    values, codes = np.unique(np.asarray(x, dtype=np.float64) + 0.0, return_inverse=True)
    return Predictor(name, codes.astype(np.int32), values)


def categories(name, x):
    """Encode categories as a predictor of ranks in sorted order."""
    values, codes = np.unique(np.asarray(x, dtype=str), return_inverse=True)
    labels = tuple(map(str, values))
    wide = len(labels) > MOST_SUBSETS
    return Predictor(name, codes.astype(np.int32), labels=labels, wide=wide)


def random_columns(rng, n):
    """Integers, decimals, categories and floats of any size, with many equal values."""
    columns = []
    for j in range(int(rng.integers(1, 5))):
        kind = rng.integers(0, 4)
        if kind == 0:
            x = rng.integers(0, rng.integers(2, 12), n)
        elif kind == 1:
            x = np.round(rng.random(n) * rng.choice([1, 10, 1000]), int(rng.integers(1, 4)))
        elif kind == 2:
            pool = list("abcdefghijklmnopqrst")[: rng.integers(2, 20)]
            columns.append(categories(f"x{j}", [str(v) for v in rng.choice(pool, n)]))
            continue
        else:
            x = rng.normal(size=n) * 10.0 ** rng.integers(-5, 6)
        columns.append(numbers(f"x{j}", x))
    return columns


def random_responses(rng, n):
    """A class response of 2 to 4 classes and a numeric one."""
    classes = PredictedColumn.from_classes([str(v) for v in rng.integers(0, rng.integers(2, 5), n)])
    return classes, PredictedColumn.from_numbers(np.round(rng.random(n) * 10, int(rng.integers(0, 3))))


def adult_frame():
    """The paper's 30,717 rows; skips where the data are absent."""
    folder = os.environ.get("HEDGEROW_DATA")
    if not folder or not (Path(folder) / "adult_train.parquet").exists():
        pytest.skip("the Adult data are absent: set HEDGEROW_DATA to the folder that holds them")
    import pyarrow.parquet as pq

    frame = pq.read_table(Path(folder) / "adult_train.parquet").to_pandas()
    return frame[frame["occupation"].notna()].iloc[1:].reset_index(drop=True)


def adult_columns(frame, names=PREDICTORS):
    """Adult's predictors, missing values as a category."""
    return [
        numbers(n, frame[n]) if n in NUMERIC else categories(n, frame[n].fillna("(missing)").tolist()) for n in names
    ]
