"""What each column carries, against releases that a person makes without it."""

from __future__ import annotations

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.auditing.column_ablation import coarser, shares
from hedgerow.auditing.frontier import Prepared
from hedgerow.io.read import read

# income is 1 or 3 by job, and 0.5 apart by sex; height says nothing
ROWS = [(job, sex, height, 1.0 + 2 * (job == "cook") + 0.5 * (sex == "m"))
        for job in ("nurse", "cook") for sex in ("f", "m") for height in (0, 1) for _ in range(10)]  # fmt: skip


def table() -> pa.Table:
    job, sex, height, income = zip(*ROWS, strict=True)
    return pa.table({"job": job, "sex": sex, "height": height, "income": income})


SCHEMA = hr.Schema(quasi=["job", "sex", "height"], sensitive=["income"])


def test_shares_are_those_of_the_variance_by_hand() -> None:
    # variance of income: 1 by job, 1/16 by sex, nothing else; groups of 10 tell both apart
    found = shares(Prepared.from_people(table(), SCHEMA), hr.MART(k=10, max_disclosure=None))
    assert found["explained"] == pytest.approx(1.0)
    by_name = {each["column"]: each for each in found["columns"]}
    assert [each["column"] for each in found["columns"]] == ["job", "sex", "height"]
    assert by_name["job"]["share"] == pytest.approx(1 / (1 + 1 / 16))
    assert by_name["sex"]["share"] == pytest.approx((1 / 16) / (1 + 1 / 16))
    assert by_name["height"]["share"] == pytest.approx(0.0)


def test_the_order_of_the_rows_and_who_measures_do_not_matter() -> None:
    people = hr.datasets.make_people(500, seed=3)
    schema = hr.Schema(quasi=["age", "education"], sensitive=["income", "diagnosis"])
    method = hr.MART(k=10, max_disclosure=0.5)
    one = shares(Prepared.from_people(people, schema), method)
    other = shares(Prepared.from_people(people.take(list(range(499, -1, -1))), schema), method)
    assert one == other
    session = hr.Session(people)
    session.choose(schema, method)
    assert session.carried() == one
    # a release that somebody makes without age is the one that was measured
    bare = hr.Schema(quasi=["education"], sensitive=["income", "diagnosis"])
    (point,) = hr.frontier(people, bare, method, k=[10], max_disclosure=[0.5]).points
    age = next(each for each in one["columns"] if each["column"] == "age")
    assert age["explained"] == pytest.approx(point.explained)


def test_a_number_is_coarsened_at_round_points() -> None:
    def of(values: list[float]) -> object:
        return coarser(read({"x": values}).column("x"))

    assert of([float(v) for v in range(0, 1001)]) == (200, 800, 200)
    assert of([v / 100 for v in range(0, 101)]) == (0.2, 0.8, 0.2)
    assert of([1.0, 2.0, 3.0]) is None  # it is coarse
    assert of([7.0] * 50) is None
    assert coarser(read({"x": ["a", "b"]}).column("x")) is None


def test_methods_that_alter_or_draw_have_no_shares() -> None:
    ready = Prepared.from_people(table(), SCHEMA)
    assert shares(ready, hr.NoiseAddition(scale=0.1))["columns"] == []
    assert shares(ready, hr.RandomizedResponse(l=2))["explained"] is None
