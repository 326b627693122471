"""Columns of which nothing can be released, or in which there is nothing to infer."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import ParameterError
from hedgerow.io.read import read
from hedgerow.report.reasons import reasons

SMALL = pd.DataFrame({"x": [f"a{i}" for i in range(12)], "y": [f"b{i}" for i in range(12)]})


def written(table: pd.DataFrame, path: Path) -> Path:
    write = {".csv": table.to_csv, ".parquet": table.to_parquet}[path.suffix]
    write(path, index=False)
    return path


INPUTS: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda _: SMALL,
    "pandas objects": lambda _: SMALL.astype(object),
    "pandas categories": lambda _: SMALL.astype("category"),
    "polars": lambda _: pl.from_pandas(SMALL),
    "polars categories": lambda _: pl.from_pandas(SMALL).with_columns(pl.all().cast(pl.Categorical)),
    "arrow": lambda _: pa.Table.from_pandas(SMALL),
    "csv": lambda folder: written(SMALL, folder / "small.csv"),
    "parquet": lambda folder: written(SMALL, folder / "small.parquet"),
}


def protected(source: Any, schema: hr.Schema, **options: Any) -> tuple[hr.Release, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = hr.protect(source, schema, hr.Hedge(k=5), random_state=1, **options)
    return release, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("kind", INPUTS)
def test_a_column_that_nobody_shares_is_empty_with_a_warning_in_every_input(kind: str, tmp_path: Path) -> None:
    """Pandas categories failed with an ArrowTypeError, and others were to be shared without a word."""
    source = INPUTS[kind](tmp_path)
    release, said = protected(source, hr.Schema(quasi=["x"], sensitive=["y"]))
    released = read(release.table).arrow
    assert [released[name].null_count for name in ("x", "y")] == [12, 12]
    assert sum("y: fewer than 5 records have the same or neighbouring values" in words for words in said) == 1
    folder = release.write(tmp_path / "out")
    assert "| y | sensitive | nothing: every cell is empty" in (folder / "RECIPIENT.md").read_text()
    audit = hr.audit(source, folder, attacks=False, learning=False, inference=False)
    assert any(
        "nothing is released of columns in which fewer than 5 records" in r
        for r in reasons(audit.to_dict(), release.plan)
    )


@pytest.mark.parametrize("role", ["quasi", "sensitive"])
@pytest.mark.parametrize(
    "values",
    [
        [(dt.datetime(2020, 1, 1) + dt.timedelta(seconds=77 * i)).time() for i in range(60)],
        [b"%d" % i for i in range(60)],
        [f"was seen on the ward by nurse {i} and sent home in the evening " * 5 for i in range(60)],
        [i if i % 2 else f"b{i}" for i in range(60)],
        pd.Categorical(range(60)),
        np.arange(60, dtype=np.float16),
        pd.to_timedelta(np.arange(60), "h"),
    ],
    ids=["times", "bytes", "notes", "mixed", "numbers as categories", "float16", "durations"],
)
def test_columns_of_every_type_are_released_or_empty(role: str, values: Any, tmp_path: Path) -> None:
    table = pd.DataFrame({"x": ["a", "b"] * 30, "y": values})
    names = {"quasi": ["y"], "sensitive": ["x"]} if role == "quasi" else {"quasi": ["x"], "sensitive": ["y"]}
    release, _ = protected(table, hr.Schema(**names))
    hr.audit(table, release.write(tmp_path / "out"), attacks=False, learning=False, inference=False)


def people(**more: Any) -> pd.DataFrame:
    draws = np.random.default_rng(1)
    table = pd.DataFrame({"sex": draws.choice(["f", "m"], 400), "age": draws.integers(20, 60, 400)})
    return table.assign(pay=draws.normal(3_000, 500, 400).round(), **more)


@pytest.mark.parametrize("value", [-7.0, pd.Timestamp("2020-01-01"), "positive"])
@pytest.mark.parametrize("method", [hr.MART(k=5, max_disclosure=0.2), hr.Hedge(k=5, max_disclosure=0.2)])
@pytest.mark.filterwarnings("ignore")
def test_one_value_or_none_is_a_fact_that_a_group_must_not_tell(value: Any, method: hr.Method) -> None:
    """It was refused as a constant, unless it was a category."""
    table = people()
    table["test"] = pd.Series([value] * 400).where(table["sex"] == "m")
    assert "test" not in "".join(w for w in hr.inspect(table).warnings if "single value" in w)
    release = hr.protect(table, hr.Schema(quasi=["age", "sex"], sensitive=["test"]), method)
    assert 0 <= release.summary()["disclosure"]["columns"]["test"]["worst"] <= 0.2
    assert abs(read(release.table).arrow["test"].null_count - int(table["test"].isna().sum())) < 40


@pytest.mark.parametrize("guard", ["auto", "runs", None])
@pytest.mark.parametrize(
    "values", [[5] * 400, ["c"] * 400, [np.nan] * 400, pd.to_datetime(pd.Series([None] * 400)), [None] * 400]
)
def test_a_column_in_which_there_is_nothing_to_infer_stays_beside_others_with_a_word(
    values: Any, guard: str | None, tmp_path: Path
) -> None:
    table = people(same=values)
    schema = hr.Schema(quasi=["age", "sex"], sensitive=["pay", "same"])
    method = hr.Hedge(k=5) if guard == "auto" else hr.MART(k=5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = hr.protect(table, schema, method, guard=guard)
    assert any(str(w.message).startswith("same: all records have the same value") for w in caught)
    assert not any("none is released" in str(w.message) for w in caught)
    assert release.table["same"].astype(object).fillna("").tolist() == table["same"].astype(object).fillna("").tolist()
    audit = hr.audit(table, release.write(tmp_path / "out"), attacks=False, inference=False)
    assert "nothing is released" not in str(reasons(audit.to_dict(), release.plan)) + str(audit)
    with pytest.raises(ParameterError, match=r"is constant: there is nothing to infer|is wholly missing"):
        hr.protect(table, hr.Schema(quasi=["age", "sex"], sensitive=["same"]), method, guard=guard)
