from __future__ import annotations

import os
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import InfeasibleError, ParameterError, UnsupportedError
from hedgerow.methods.anatomy import bucketize, join

SCHEMA = hr.Schema(quasi=["age", "sex"], sensitive=["ill"])


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(20, 40, n),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
            "ill": np.array(list("abcdef"))[rng.choice(6, n, p=[0.25, 0.2, 0.2, 0.15, 0.1, 0.1])],
        }
    )


@given(st.lists(st.integers(0, 6), min_size=4, max_size=60), st.integers(2, 4), st.integers(0, 99))
@profile(max_examples=100, deadline=None)
def test_every_group_has_l_different_values(values, l, seed):
    codes = np.unique(values, return_inverse=True)[1]
    if np.bincount(codes).max() * l > len(codes):
        return
    group = bucketize(codes, np.random.default_rng(seed).permutation(len(codes)).astype("u8"), l)
    assert group.min() >= 0
    for g in range(group.max() + 1):
        here = codes[group == g]
        assert len(here) >= l
        assert len(np.unique(here)) == len(here)


def test_both_tables_are_released_and_joined(tmp_path):
    table = people()
    release = hr.protect(table, SCHEMA, hr.Anatomy(l=3))
    assert release.table.column("age").equals(table.column("age"))
    release.write(tmp_path / "out")
    assert (tmp_path / "out" / "sensitive.csv").exists()
    made = join(
        tmp_path / "out" / "release.parquet", tmp_path / "out" / "sensitive.csv", "ill", ["sex"]
    )
    frame = made.to_pandas()
    assert frame["count"].sum() == pytest.approx(300)
    true = table.to_pandas()
    assert frame.groupby("ill")["count"].sum().to_dict() == pytest.approx(
        true["ill"].value_counts().to_dict()
    )
    assert frame.groupby("sex")["count"].sum().to_dict() == pytest.approx(
        true["sex"].value_counts().to_dict()
    )
    # By its definition: every record of a group takes each value with its share there.
    group, ill = release.method.group_, np.array(table.column("ill").to_pylist())
    sex = np.array(table.column("sex").to_pylist())
    want = sum(
        (ill[group == g] == "a").mean() * (sex[group == g] == "f").sum() for g in np.unique(group)
    )
    got = frame[(frame.sex == "f") & (frame.ill == "a")]["count"].item()
    assert got == pytest.approx(want)


def test_groups_do_not_depend_on_the_order_of_rows():
    table = people()
    order = np.random.default_rng(1).permutation(300)
    method = hr.Anatomy(l=3, key=hr.Key.new())
    one = hr.protect(table, SCHEMA, method).table.to_pandas()
    two = hr.protect(table.take(pa.array(order)), SCHEMA, method).table.to_pandas()
    key = ["age", "sex", "ill"]
    assert (
        one.sort_values(key)
        .reset_index(drop=True)
        .equals(two.sort_values(key).reset_index(drop=True))
    )
    for other in (
        hr.Anatomy(l=3, random_state=5),
        hr.Anatomy(l=3),
        hr.Anatomy(l=3, key=hr.Key.new()),
    ):
        assert not one.equals(hr.protect(table, SCHEMA, other).table.to_pandas())


def test_group_numbers_tell_nothing_of_how_groups_came_into_being():
    # unshuffled, the first groups are those of the most frequent values
    table = pa.table({"age": range(400), "ill": ["a"] * 150 + ["b"] * 100 + list("cdefg") * 30})
    schema = hr.Schema(quasi=["age"], sensitive=["ill"])
    early = []
    for seed in range(20):
        method = hr.protect(table, schema, hr.Anatomy(l=2, random_state=seed)).method
        rare = np.isin(np.array(table.column("ill").to_pylist()), list("cdefg"))
        early.append(method.group_[rare].mean() / method.group_.mean())
    assert np.mean(early) == pytest.approx(1, abs=0.05)


def test_the_key_is_nowhere_in_plan_or_pickle(tmp_path):
    path = tmp_path / "anatomy.key"
    method = hr.protect(people(), SCHEMA, hr.Anatomy(l=3, key=path)).method
    assert "key" not in method.plan_.parameters
    secret = bytes.fromhex(path.read_text().split()[1])
    assert secret not in pickle.dumps(method)


def test_what_is_refused():
    table = people()
    with pytest.raises(InfeasibleError, match="largest feasible l is"):
        hr.protect(table, SCHEMA, hr.Anatomy(l=6))
    for l in (1, 2.5, True, "3"):
        with pytest.raises(ParameterError, match="at least 2"):
            hr.protect(table, SCHEMA, hr.Anatomy(l=l))
    with pytest.raises(UnsupportedError, match="one sensitive column"):
        hr.protect(table, hr.Schema(quasi=["age"], sensitive=["ill", "sex"]), hr.Anatomy())
    with pytest.raises(UnsupportedError):
        hr.protect(table, SCHEMA, hr.Anatomy(l=2)).plan.apply(table)
    with pytest.raises(UnsupportedError):
        hr.Anatomy(l=2).transform(table)


@pytest.mark.skipif("HEDGEROW_DATA" not in os.environ, reason="HEDGEROW_DATA is not set")
def test_reference_utilities_on_adult():
    from hedgerow.papers.randomized_response import anatomy_shares, data, measures

    found = data("ESGRO", "train")
    reference = {3: (0.0474, 0.25, 0.248, 1.17, 1.15), 7: (0.0561, 0.37, 0.351, 1.49, 1.50)}
    for l, expected in reference.items():
        got = [
            list(measures(found.shares, anatomy_shares(found, l, seed)).values())
            for seed in range(3)
        ]
        np.testing.assert_allclose(np.mean(got, axis=0), expected, rtol=0.05)
