from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import ParameterError, SchemaError
from hedgerow.notation import quote, split_concatenation
from hedgerow.release.explode import explode

RELEASED = {
    "job": ["nurse:4+cook:1", '"a+b"+cook', None, "cook"],
    "town": ["x+(missing)", "y", "y", "(missing)"],
    "age": ["[20-30]", "41", None, "[-5--1]"],
    "language": ["C++", "C", "D", "C"],
    "income": [1.0, 2.0, 3.0, 4.0],
}


def written(names: list[str], weights: list[int]) -> str:
    """Return a cell of categories with their weights; one category stands bare."""
    parts = [f"{quote(n)}:{w}" for n, w in zip(names, weights, strict=True)]
    return "+".join(parts) if len(names) > 1 else quote(names[0])


def rows(table: Any) -> list[dict[str, Any]]:
    return pa.table(table).to_pylist() if not isinstance(table, pa.Table) else table.to_pylist()


def test_joined_cells_become_weighted_records() -> None:
    made = explode(pa.table(RELEASED))
    assert made.column_names == [*RELEASED, "weight"]
    told = [(r["job"], r["town"], r["income"], pytest.approx(r["weight"])) for r in rows(made)]
    assert told == [
        ("nurse", "x", 1.0, 0.4),
        ("nurse", None, 1.0, 0.4),
        ("cook", "x", 1.0, 0.1),
        ("cook", None, 1.0, 0.1),
        ("a+b", "y", 2.0, 0.5),
        ("cook", "y", 2.0, 0.5),
        (None, "y", 3.0, 1.0),
        ("cook", None, 4.0, 1.0),
    ]
    assert made.column("language").to_pylist() == ["C++"] * 4 + ["C"] * 2 + ["D", "C"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_the_same_kind_of_frame_comes_back(make: Any) -> None:
    frame = make(RELEASED)
    made = explode(frame)
    assert type(made) is type(frame)
    assert len(made) == 8
    assert rows(pa.table(frame) if make is not pa.table else frame) == rows(pa.table(RELEASED))


def test_a_duplicated_pandas_index_does_no_harm() -> None:
    made = explode(pd.DataFrame(RELEASED, index=[7, 7, 7, 7]), columns=["job"])
    assert made["weight"].tolist() == [0.8, 0.2, 0.5, 0.5, 1, 1]
    assert made.index.is_unique


def test_a_file(tmp_path: Any) -> None:
    path = tmp_path / "release.parquet"
    pq.write_table(pa.table(RELEASED), path)
    made = explode(path, columns=["town"])
    assert made.column_names == [*RELEASED, "weight"]
    assert made.num_rows == 5


def test_a_table_without_joined_cells_gets_weights_of_one() -> None:
    assert explode(pa.table({"a": ["x", "y"]})).to_pydict() == {"a": ["x", "y"], "weight": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"weight": "income"}, ParameterError, "already has a column 'income'"),
        ({"columns": ["jb"]}, SchemaError, "no column 'jb'"),
        ({"columns": ["language"]}, ParameterError, "column 'language' holds a cell that is not"),
        ({"max_rows": 7}, ParameterError, "makes 8 records, more than 7"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        explode(pa.table(RELEASED), **arguments)


names = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6), min_size=1, max_size=4, unique=True
)
weighted_cells = names.flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.integers(1, 9), min_size=len(n), max_size=len(n)))
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(weighted_cells, weighted_cells), min_size=1, max_size=5))
def test_weights_are_the_shares_of_the_cells(groups: list[Any]) -> None:
    cells = [[written(n, w) for n, w in group] for group in groups]
    table = pa.table({"a": [c[0] for c in cells], "b": [c[1] for c in cells], "row": list(range(len(cells)))})
    made = explode(table, columns=["a", "b"])
    want = []
    for row, (a, b) in enumerate(groups):
        # a single category stands bare in its cell: nothing says how many
        (an, aw), (bn, bw) = ((n, w if len(n) > 1 else [1]) for n, w in (a, b))
        for (x, i), (y, j) in product(zip(an, aw, strict=True), zip(bn, bw, strict=True)):
            want.append((x, y, row, i * j / (sum(aw) * sum(bw))))
    got = [(r["a"], r["b"], r["row"], r["weight"]) for r in rows(made)]
    assert [g[:3] for g in got] == [w[:3] for w in want]
    np.testing.assert_allclose([g[3] for g in got], [w[3] for w in want])
    for text in (c for pair in cells for c in pair):
        parts = split_concatenation(text)
        assert written([n or "" for n, _ in parts], [w for _, w in parts]) == text
