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
import hedgerow.columns
from hedgerow.errors import InfeasibleError, ParameterError, PromiseError, UnsupportedError
from hedgerow.io.read import read
from hedgerow.methods.anatomy import bucketize
from hedgerow.methods.anatomy_tables import join

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
    original = table.take(pa.array(release.rows))
    assert release.table.column("age").equals(original.column("age"))
    release.write(tmp_path / "out")
    assert (tmp_path / "out" / "sensitive.parquet").exists()
    made = join(tmp_path / "out" / "release.parquet", tmp_path / "out" / "sensitive.parquet", "ill", ["sex"])
    frame = made.to_pandas()
    assert frame["count"].sum() == pytest.approx(300)
    true = table.to_pandas()
    assert frame.groupby("ill")["count"].sum().to_dict() == pytest.approx(true["ill"].value_counts().to_dict())
    assert frame.groupby("sex")["count"].sum().to_dict() == pytest.approx(true["sex"].value_counts().to_dict())
    # By its definition: every record of a group takes each value with its share there.
    group, ill = release.method.group_, np.array(table.column("ill").to_pylist())
    sex = np.array(table.column("sex").to_pylist())
    want = sum((ill[group == g] == "a").mean() * (sex[group == g] == "f").sum() for g in np.unique(group))
    got = frame[(frame.sex == "f") & (frame.ill == "a")]["count"].item()
    assert got == pytest.approx(want)


def test_groups_do_not_depend_on_the_order_of_rows():
    table = people()
    order = np.random.default_rng(1).permutation(300)
    method = hr.Anatomy(l=3, key=hr.Key.new())
    one = hr.protect(table, SCHEMA, method).table.to_pandas()
    two = hr.protect(table.take(pa.array(order)), SCHEMA, method).table.to_pandas()
    key = ["age", "sex", "ill"]
    assert one.sort_values(key).reset_index(drop=True).equals(two.sort_values(key).reset_index(drop=True))
    for other in (hr.Anatomy(l=3, random_state=5), hr.Anatomy(l=3), hr.Anatomy(l=3, key=hr.Key.new())):
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


@pytest.mark.parametrize("most", [5, 6])
def test_what_is_feasible_is_decided_to_the_record(most):
    table = pa.table({"age": range(10), "ill": ["a"] * most + list("bcdef")[: 10 - most]})
    schema = hr.Schema(quasi=["age"], sensitive=["ill"])
    if most == 5:
        assert len(np.unique(hr.protect(table, schema, hr.Anatomy(l=2)).method.group_)) == 5
        return
    with pytest.raises(InfeasibleError, match="6 of 10 records"):
        hr.protect(table, schema, hr.Anatomy(l=2))


@pytest.mark.skipif("HEDGEROW_DATA" not in os.environ, reason="HEDGEROW_DATA is not set")
def test_reference_utilities_on_adult():
    from experiments.randomized_response import anatomy_shares, data, measures

    found = data("ESGRO", "train")
    reference = {3: (0.0474, 0.25, 0.248, 1.17, 1.15), 7: (0.0561, 0.37, 0.351, 1.49, 1.50)}
    for l, expected in reference.items():
        got = [list(measures(found.shares, anatomy_shares(found, l, seed)).values()) for seed in range(3)]
        np.testing.assert_allclose(np.mean(got, axis=0), expected, rtol=0.05)


def odd_people(n=240):
    """Values that a CSV file or a spreadsheet can spoil."""
    frame = people(n).to_pandas()
    names = {"a": "=1+1", "b": "'quoted", "c": "x;y,z", "d": 'say "so"', "e": "-5 mg", "f": " edge"}
    return frame.assign(ill=frame["ill"].map(names))


@pytest.mark.parametrize(
    "written",
    [{}, {"sep": ";", "decimal": ","}, {"sep": "\t", "quoting": 1}, {"header": False}],
    ids=["comma", "semicolon", "quoted", "no header"],
)
def test_the_sensitive_table_is_written_like_the_release(tmp_path, written):
    frame = odd_people()
    frame.to_csv(tmp_path / "people.csv", index=False, **written)
    header = written.get("header", True)
    ill, schema = ("ill", SCHEMA) if header else ("x2", hr.Schema(quasi=["x0"], sensitive=["x2"]))
    release = hr.protect(tmp_path / "people.csv", schema, hr.Anatomy(3))
    out = release.write(tmp_path / "out")
    text = (out / "sensitive.csv").read_text()
    assert "'=1+1" in text
    assert "''quoted" not in text  # no sign that a spreadsheet would run
    told = (out / "RECIPIENT.md").read_text()
    assert "`release.csv`" in told
    assert "`sensitive.csv`" in told
    second = read(out / "sensitive.csv", unescape_formulas=True)
    assert second.names == ["group", ill, "count"]
    shown = second.arrow.to_pandas()
    want = frame.assign(group=release.method.group_).value_counts(["group", "ill"])
    assert shown.set_index(["group", ill])["count"].to_dict() == want.to_dict()


def test_the_sensitive_table_keeps_the_columns_own_type(tmp_path):
    n = 60
    days = pa.array([18_000 + i % 7 for i in range(n)], pa.int32()).cast(pa.date32())
    for values in (
        days,
        pa.array([i % 7 for i in range(n)], pa.int16()),
        pa.array([-0.0, 0.0, 1.5, 2.5, 3.5, None] * 10),
        pa.array(["x", "y", None] * 20).dictionary_encode(),
        pa.array([True, False] * 30),
    ):
        table = pa.table({"age": range(n), "ill": values})
        schema = hr.Schema(quasi=["age"], sensitive=["ill"])
        release = hr.protect(table, schema, hr.Anatomy(2, random_state=0))
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        assert release.method.st_.schema.field("ill").type == kind
        out = release.write(tmp_path / "out", force=True)
        second = read(out / "sensitive.parquet").arrow
        repeated = np.repeat(np.arange(second.num_rows), second.column("count").to_numpy())
        held = second.column("ill").take(pa.array(repeated)).to_pylist()
        zeros = [0.0 if isinstance(v, float) and v == 0 else v for v in values.to_pylist()]
        assert sorted(map(str, held)) == sorted(map(str, zeros))


def tampered(st, how):
    """A sensitive table in which something was changed."""
    rows = st.to_pylist()
    if how == "shuffled values":
        mixed = np.random.default_rng(0).permutation(len(rows))
        return st.set_column(1, "ill", st.column("ill").take(pa.array(mixed)))
    if how == "two groups swapped":  # every count of the whole table stays
        held = [{r["ill"] for r in rows if r["group"] == g} for g in range(1, 40)]
        other = next(g for g in range(2, 40) if held[g - 1] != held[0]) if held else 2
        swap = {1: other, other: 1}
        return st.set_column(0, "group", pa.array([swap.get(r["group"], r["group"]) for r in rows]))
    if how == "one value exchanged":
        spare = next(v for v in "abcdef" if v not in {r["ill"] for r in rows if r["group"] == 1})
        ill = [r["ill"] for r in rows]
        ill[next(i for i, r in enumerate(rows) if r["group"] == 1)] = spare
        return st.set_column(1, "ill", pa.array(ill))
    if how == "a count too high":
        return st.set_column(2, "count", pa.array([2, *(r["count"] for r in rows[1:])]))
    if how == "a row less":
        return st.slice(1)
    if how == "a row twice":
        return pa.concat_tables([st, st.slice(0, 1).set_column(2, "count", pa.array([0]))])
    return st.rename_columns(["group", "illness", "count"])


@pytest.mark.parametrize(
    "how",
    [
        "shuffled values",
        "two groups swapped",
        "one value exchanged",
        "a count too high",
        "a row less",
        "a row twice",
        "a column renamed",
    ],
)
def test_a_sensitive_table_that_is_not_that_of_the_records_is_not_written(tmp_path, how):
    release = hr.protect(people(), SCHEMA, hr.Anatomy(l=3, random_state=1))
    release.write(tmp_path / "good")
    release.method.st_ = tampered(release.method.st_, how)
    with pytest.raises(PromiseError, match="sensitive table"):
        release.verify()
    with pytest.raises(PromiseError, match="sensitive table"):
        release.write(tmp_path / "bad")
    assert not (tmp_path / "bad").exists()


def test_swapped_groups_in_the_first_table_fail_verification():
    table = people()
    release = hr.protect(table, SCHEMA, hr.Anatomy(l=3, random_state=1))
    group = release.method.group_.copy()
    ill = np.array(table.column("ill").to_pylist())
    one = 0
    other = next(i for i in range(300) if ill[i] != ill[0] and group[i] != group[0])
    group[[one, other]] = group[[other, one]]
    release.table = release.table.set_column(2, "ill", pa.array(group))
    with pytest.raises(PromiseError, match="sensitive table"):
        release.verify()


def test_a_value_that_stands_twice_in_a_group_of_the_first_table_is_found():
    table = people()
    release = hr.protect(table, SCHEMA, hr.Anatomy(l=3, random_state=1), keep_order=True)
    group, ill = release.method.group_.copy(), np.array(table.column("ill").to_pylist())
    beside = ill[(group == group[0]) & (np.arange(300) > 0)]
    other = next(i for i in range(300) if ill[i] == beside[0] and group[i] != group[0])
    group[[0, other]] = group[[other, 0]]
    release.table = release.table.set_column(2, "ill", pa.array(group))
    with pytest.raises(PromiseError, match=r"largest share of a value in a group: required 0\.33"):
        release.verify()


def test_a_column_named_like_those_of_the_sensitive_table_is_refused():
    table = people().rename_columns(["age", "sex", "group"])
    with pytest.raises(UnsupportedError, match="'group' of its own"):
        hr.protect(table, hr.Schema(quasi=["age"], sensitive=["group"]), hr.Anatomy())
