"""What a schema declares of sensitive columns counts in an audit as in the release it made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.errors import InputError

from ..adversary import checker


def test_declared_events_count_in_audit_and_frontier(tmp_path: Path) -> None:
    """An event that no cut of the public sees: ten of a group of twenty have it."""
    told = [993.5 if i in range(100, 120, 2) else float(i * 37 % 1000) for i in range(400)]
    people = pa.table({"q": [i // 20 for i in range(400)], "s": told})
    schema = hr.Schema(quasi=["q"], sensitive=["s"], events={"s": ["= 993.5"]})
    release = hr.protect(people, schema, hr.Mondrian(k=20))
    groups = [i // 20 for i in range(400)]
    event = float(checker.worst(groups, [y == 993.5 for y in told], "category"))
    number = float(checker.worst(groups, told, "number"))
    assert number < 0.4 < event
    assert release.summary()["disclosure"]["worst"] == pytest.approx(event)
    folder = release.write(tmp_path / "out")
    for released in (release, folder):
        found = hr.audit(people, released, attacks=False, learning=False)
        column = found.risk["release"]["sensitive"]["s"]["disclosure"]
        assert column["worst"] == pytest.approx(event)
        assert column["scores"]["= 993.5"] == pytest.approx(event)
        assert found.broken(max_disclosure=0.4)
    points = hr.frontier(people, schema, hr.Mondrian(), k=[20], max_disclosure=[0.6])
    assert points.points[0].disclosure == pytest.approx(event)


def test_a_declared_order_counts_in_the_audit_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    order = ["none", "low", "mid", "high", "top"]
    q = np.repeat(np.arange(20), 20)
    rank = np.clip(q // 4 + rng.integers(-1, 2, 400), 0, 4)
    people = tmp_path / "people.csv"
    pacsv.write_csv(pa.table({"q": q, "s": [order[r] for r in rank]}), people)
    schema = hr.Schema(quasi=["q"], sensitive=["s"], kinds={"s": "ordinal"}, categories={"s": order})
    release = hr.protect(people, schema, hr.Mondrian(k=20))
    folder = release.write(tmp_path / "out")
    worst = release.summary()["disclosure"]["worst"]
    alphabetical = [sorted(order).index(order[r]) for r in rank]
    assert worst == pytest.approx(float(checker.worst(q.tolist(), rank.tolist(), "ordinal")))
    assert worst != pytest.approx(float(checker.worst(q.tolist(), alphabetical, "ordinal")))
    found = hr.audit(people, folder, attacks=False, learning=False)
    assert found.risk["release"]["sensitive"]["s"]["disclosure"]["worst"] == pytest.approx(worst)
    cap = ["--max-disclosure", str(round(worst - 0.01, 3)), "--no-attacks", "--no-learning"]
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(people), str(folder), *cap])
    assert ended.value.code == 1
    capsys.readouterr()


def test_a_table_is_the_same_whatever_order_its_types_declare() -> None:
    """An ordered pandas Categorical was refused as another table than the Polars table of the same cells."""
    people = hr.datasets.make_people(300, seed=1).select(["age", "education", "children", "income"]).to_pandas()
    levels = ["primary", *sorted({*people.education} - {"primary"}, reverse=True), "nobody's"]
    ordered = people.assign(
        education=pd.Categorical(people.education, categories=levels, ordered=True),
        children=pd.Categorical(people.children, categories=range(12), ordered=True),
    )
    schema = hr.Schema(quasi=["age", "education"], sensitive=["children"], rest="drop", kinds={"children": "ordinal"})
    frames = [pl.from_pandas(people), ordered, pa.Table.from_pandas(ordered)]
    for frame in frames:
        release = hr.protect(frame, schema, hr.MART(k=5, max_disclosure=None))
        for original in frames:
            found = hr.audit(original, release, attacks=False, learning=False)
            assert found.risk["release"]["classes"]["k"] >= 5
        with pytest.raises(InputError, match="made from another table"):
            hr.audit(ordered.assign(education="primary"), release, attacks=False, learning=False)
