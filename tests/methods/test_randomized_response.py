from __future__ import annotations

import dataclasses
import json
import os
import pickle
import stat
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow.errors import InfeasibleError, InputError, ParameterError, PlanError, PromiseError, SchemaError
from hedgerow.io.read import read
from hedgerow.methods.randomized_response import verify
from hedgerow.plan import Plan

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SCHEMA = hr.Schema(quasi=["sex", "job", "age"], sensitive=["ill"], identifiers=["id"], other=["note"])


def people(n=2000, seed=0) -> pa.Table:
    rng = np.random.default_rng(seed)
    job = np.array(["nurse", "cook", "clerk", None], object)[rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])]
    ill = np.array(["flu", "cold", "none", "HIV"])[rng.choice(4, n, p=[0.3, 0.3, 0.35, 0.05])]
    return pa.table(
        {
            "id": np.arange(n) + 10_000,
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
            "job": pa.array(job),
            "age": rng.integers(18, 90, n),
            "note": ["x"] * n,
            "ill": pa.array(ill),
        }
    )


@pytest.mark.parametrize("target", ["quasi", "both"])
@pytest.mark.parametrize("bound", ["paper", "operational"])
def test_a_release_keeps_its_bound_and_says_so(target, bound):
    method = hr.RandomizedResponse(l=2.5, target=target, bound=bound, bins=4)
    release = hr.protect(people(), SCHEMA, method)
    fitted = release.method
    assert (fitted.risk_ if bound == "paper" else fitted.success_) <= 0.4
    assert min(fitted.p_.values()) < 1
    assert fitted.unprotected_ == 0
    assert set(fitted.p_) == {"sex", "job", "age"} | ({"ill"} if target == "both" else set())
    assert release.table.column("note").equals(people().column("note"))
    assert "id" not in release.table.column_names
    text = release.plan.explain()
    for words in ("p (kept)", "local epsilon", "paper's bound", "operational success", "requested cap"):
        assert words in text


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_the_frame_that_came_in_comes_out(kind):
    table = people(300)
    source = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "arrow": lambda: table}[kind]()
    release = hr.protect(source, SCHEMA, hr.RandomizedResponse(l=2, bins=3))
    assert type(release.table) is type(source)
    assert list(release.table.columns if kind != "arrow" else release.table.column_names) == [
        "sex",
        "job",
        "age",
        "note",
        "ill",
    ]


def test_the_key_never_leaves_the_steward(tmp_path, caplog):
    path = tmp_path / "rr.key"
    method = hr.RandomizedResponse(l=2, bins=3, key=str(path))
    release = hr.protect(people(), SCHEMA, method)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    secret = path.read_text().split()[1]
    release.write(tmp_path / "out")
    shown = "".join(f.read_text(errors="replace") for f in (tmp_path / "out").iterdir())
    shown += repr(release.method) + repr(release) + caplog.text + str(release.plan)
    shown += repr(hr.RandomizedResponse(key=hr.Key.file(path)))
    assert secret not in shown
    assert "key" not in release.plan.parameters
    assert pickle.loads(pickle.dumps(release.plan)) == release.plan


def test_the_same_key_and_table_draw_alike_in_any_order_and_others_independently(tmp_path):
    path = tmp_path / "rr.key"
    table = people()
    method = hr.RandomizedResponse(l=6, bins=3, row_id="id", key=path)
    whole = hr.protect(table, SCHEMA, method)
    assert max(whole.method.p_.values()) < 1
    order = np.random.default_rng(1).permutation(table.num_rows)
    shuffled = hr.protect(table.take(pa.array(order)), SCHEMA, method)
    assert shuffled.table.equals(whole.table)
    assert shuffled.plan == whole.plan
    from hedgerow.release import apply_plan

    key = hr.Key.file(path)
    again = apply_plan(whole.plan, table.take(pa.array(order)), key).table
    assert again.column("age").equals(shuffled.table.column("age"))
    p, d = whole.method.p_["age"], whole.plan.recoding.columns[2].d
    assert d == 3
    # how often two independent draws from the same original agree
    expected = p**2 + (1 - p) ** 2 / (d - 1)
    others = (
        hr.RandomizedResponse(l=6, bins=3, row_id="id", key=hr.Key.new()),
        hr.RandomizedResponse(l=6, bins=3, key=path),
    )
    parts = [apply_plan(whole.plan, table.slice(a, 1000), key, keep_order=True).table for a in (0, 1000)]
    first, *rest = (hr.protect(table, SCHEMA, m, keep_order=True).table for m in (method, *others))
    for made in (*rest, pa.concat_tables(parts)):
        ages = (t.column("age").to_pylist() for t in (made, first))
        agree = np.mean([a == b for a, b in zip(*ages, strict=True)])
        assert agree == pytest.approx(expected, abs=4 * (0.25 / 2000) ** 0.5)


def test_rows_are_told_apart_by_all_they_hold_and_then_numbered():
    one = people(60).drop_columns(["id"])
    table = pa.concat_tables([one] * 50)
    schema = hr.Schema(quasi=["sex", "job", "age"], sensitive=["ill"])
    method = hr.RandomizedResponse(l=6, bins=3, random_state=2)
    first = hr.protect(table, schema, method, keep_order=True)
    order = np.random.default_rng(1).permutation(table.num_rows)
    second = hr.protect(table.take(pa.array(order)), schema, method)
    keys = [(n, "ascending") for n in ("sex", "job", "age", "ill")]
    assert first.table.sort_by(keys).equals(second.table.sort_by(keys))
    # the fifty copies of one record are drawn one by one
    p = first.method.p_["age"]
    assert 0 < p < 1
    before = pa.concat_tables([one]).column("age").to_pylist()
    lo = [int(x[1:-1].split("-")[0]) for x in first.table.column("age").to_pylist()]
    hi = [int(x[1:-1].split("-")[1]) for x in first.table.column("age").to_pylist()]
    kept = np.reshape([a <= v <= b for a, v, b in zip(lo, before * 50, hi, strict=True)], (50, 60))
    assert np.mean((kept.mean(axis=0) > 0) & (kept.mean(axis=0) < 1)) > 0.95
    assert kept.mean() == pytest.approx(p, abs=0.05)


def test_a_pickle_keeps_what_was_fitted_and_no_key():
    X, y = people().select(["sex", "job", "age"]), people().column("ill")
    key = hr.Key(b"a very secret key of 32 bytes...")
    fitted = hr.RandomizedResponse(l=6, bins=3, key=key).fit(X, y)
    data = pickle.dumps(fitted)
    assert b"very secret" not in data
    again = pickle.loads(data)
    assert again.p_ == fitted.p_
    with pytest.raises(InputError, match="give it again"):
        again.transform(X)
    assert again.set_params(key=key).transform(X).equals(fitted.transform(X))
    plain = pickle.loads(pickle.dumps(hr.RandomizedResponse(l=6, bins=3).fit(X, y)))
    with pytest.raises(InputError, match="give it again"):
        plain.transform(X)
    seeded = hr.RandomizedResponse(l=6, bins=3, random_state=1).fit(X, y)
    assert pickle.loads(pickle.dumps(seeded)).transform(X).equals(seeded.transform(X))


def test_text_ids_and_columns_have_draws_of_their_own():
    table = people().set_column(0, "id", pa.array([f"person {i}" for i in range(2000)]))
    twice = table.append_column("twin", table.column("sex"))
    schema = hr.Schema(quasi=["sex", "twin"], sensitive=["ill"], identifiers=["id"])
    release = hr.protect(twice, schema, hr.RandomizedResponse(l=3, row_id="id"))
    assert max(release.method.p_.values()) < 1
    before = twice.column("sex").to_pylist()
    kept = [
        np.array([a == b for a, b in zip(before, release.table.column(n).to_pylist(), strict=True)])
        for n in ("sex", "twin")
    ]
    assert not np.array_equal(*kept)


def test_bad_row_ids_are_counted():
    doubled = people(50).set_column(0, "id", pa.array([1] * 50))
    schema = SCHEMA.replace(unit=None)  # ids that repeat would be refused before
    with pytest.raises(PlanError, match="49 repeated"):
        hr.protect(doubled, schema, hr.RandomizedResponse(l=2, bins=2, row_id="id"))


def test_plans_load_and_apply_to_other_people(tmp_path):
    release = hr.protect(people(), SCHEMA, hr.RandomizedResponse(l=2, bins=3))
    release.plan.save(tmp_path / "plan.json")
    plan = Plan.load(tmp_path / "plan.json")
    assert plan == release.plan
    other = people(100, seed=4)
    strange = other.set_column(2, "job", pa.array(["pilot"] * 100))
    with pytest.warns(UserWarning, match="100 cells fall outside"):
        made = plan.apply(strange, unseen="count")
    assert set(made.column("job").to_pylist()) <= {"nurse", "cook", "clerk", None}
    with pytest.raises(PlanError):
        plan.apply(other.drop_columns(["job"]))


def test_an_infeasible_request_names_groups_floor_and_largest_l():
    rows = [("f", "flu")] * 40 + [("m", "flu")] * 5 + [("m", "cold")] * 155
    table = pa.table({"sex": [a for a, _ in rows], "ill": [b for _, b in rows]})
    schema = hr.Schema(quasi=["sex"], sensitive=["ill"])
    with pytest.raises(InfeasibleError) as caught:
        hr.protect(table, schema, hr.RandomizedResponse(l=2, target="sensitive"))
    text = str(caught.value)
    assert "sex=f (40 records, floor 1.000)" in text
    assert "relax=" in text
    assert "exempt=" in text
    with pytest.raises(InfeasibleError, match=r"largest feasible l is just under 1\.29;"):
        hr.protect(table, schema, hr.RandomizedResponse(l=4))  # 155 of 200 are m and cold


def test_small_groups_are_never_described():
    rows = [("unique-village", "flu")] * 3 + [("town", "flu")] * 50 + [("town", "cold")] * 50
    table = pa.table({"place": [a for a, _ in rows], "ill": [b for _, b in rows]})
    with pytest.raises(InfeasibleError) as caught:
        hr.protect(table, hr.Schema(quasi=["place"], sensitive=["ill"]), hr.RandomizedResponse(l=3, target="sensitive"))
    assert "unique-village" not in str(caught.value)
    assert "1 group has fewer than 10 records" in str(caught.value)


def test_the_two_relaxations_report_who_is_left_unprotected():
    table = people()
    schema = hr.Schema(quasi=["sex", "job"], sensitive=["ill"])
    half = hr.protect(table, schema, hr.RandomizedResponse(l=8, target="sensitive", relax="halfway"))
    assert 0 < half.method.unprotected_ <= 1
    assert half.method.p_["ill"] < 1
    free = hr.protect(table, schema, hr.RandomizedResponse(l=8, exempt=["none", "flu", "cold"]))
    assert free.method.unprotected_ > 0.5
    assert free.method.p_ == {"sex": 1.0, "job": 1.0}


def test_caps_of_their_own_for_values_and_groups():
    table = people()
    schema = hr.Schema(quasi=["sex", "job"], sensitive=["ill"])
    loose = hr.protect(table, schema, hr.RandomizedResponse(l=2))
    tight = hr.protect(table, schema, hr.RandomizedResponse(l=2, caps={"HIV": 0.03}))
    assert loose.method.p_ == {"sex": 1.0, "job": 1.0}
    assert min(tight.method.p_.values()) < 1
    group = hr.protect(table, schema, hr.RandomizedResponse(l=2, caps={"sex=f,job=cook": 0.2}))
    assert min(group.method.p_.values()) < 1
    for bad in ({"plague": 0.1}, {"HIV": 0}, {"sex=x": 0.1}):
        with pytest.raises(ParameterError):
            hr.protect(table, schema, hr.RandomizedResponse(caps=bad))


def test_known_negations_ask_for_more_noise():
    schema = hr.Schema(quasi=["sex", "job"], sensitive=["ill"])
    p = [
        min(hr.protect(people(), schema, hr.RandomizedResponse(l=2, known_negations=w)).method.p_.values())
        for w in (0, 1)
    ]
    assert p[1] < p[0]
    named = hr.protect(people(), schema, hr.RandomizedResponse(l=2, known_negations=["none"]))
    assert named.plan.parameters["known_negations"] == ["none"]


def test_several_sensitive_attributes_are_all_capped():
    table = people().append_column("income", pa.array(np.random.default_rng(3).lognormal(10, 1, 2000)))
    schema = hr.Schema(quasi=["sex", "job"], sensitive=["ill", "income"])
    for target in ("quasi", "both"):
        release = hr.protect(table, schema, hr.RandomizedResponse(l=2.5, target=target, bins=4))
        assert release.method.risk_ <= 1 / 2.5
        if target == "both":
            assert {"ill", "income"} <= set(release.method.p_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l": 0.5}, "at least 1"),
        ({"l": float("nan")}, "at least 1"),
        ({"l": "2"}, "at least 1"),
        ({"target": "all"}, "target"),
        ({"bound": "best"}, "bound"),
        ({"relax": True}, "relax"),
        ({"target": "sensitive", "bound": "operational"}, "does not depend"),
        ({"bins": 1}, "at least 2 bins"),
        ({"bins": {"age": [40, 30]}}, "increasing"),
        ({"known_negations": -1}, "at least 0"),
        ({"row_id": "sex"}, "row id"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ParameterError, match=message):
        hr.protect(people(100), SCHEMA, hr.RandomizedResponse(**parameters))


def test_too_many_cells_say_which_column_to_coarsen():
    n = 3000
    table = pa.table({c: [f"{c}{i}" for i in range(n)] for c in "abc"} | {"ill": ["x", "y", "z"] * 1000})
    with pytest.raises(ParameterError, match="coarsen 'a'"):
        hr.protect(table, hr.Schema(quasi=["a", "b", "c"], sensitive=["ill"]), hr.RandomizedResponse())


def test_infinities_and_empty_columns_are_refused():
    bad = people(50).set_column(3, "age", pa.array([1.0, float("inf")] * 25))
    with pytest.raises(SchemaError, match="infinite"):
        hr.protect(bad, SCHEMA, hr.RandomizedResponse())
    none = people(50).set_column(2, "job", pa.nulls(50, pa.string()))
    with pytest.raises(SchemaError, match="missing values only"):
        hr.protect(none, SCHEMA, hr.RandomizedResponse())


def test_cautions():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = people(60).append_column("land", pa.array(["at"] * 60))
        schema = hr.Schema(quasi=["sex", "job", "age", "land"], sensitive=["ill"])
        hr.protect(table, schema, hr.RandomizedResponse(l=6))
    text = " ".join(str(w.message) for w in caught)
    for words in (
        "lies below the share of the most frequent value",
        "records are spread over",
        "released as they are",
        "single category",
    ):
        assert words in text


@pytest.mark.parametrize("name", ["a b", "x.y", "größe", "quote'\""])
def test_odd_names_types_and_tables(name):
    n = 120
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            name: rng.integers(0, 2, n).astype(bool),
            "day": pd.date_range("2020-01-01", periods=n),
            "flag": pd.Categorical(rng.choice(["u", "v"], n)),
            "one": 7.0,
            "ill": rng.choice(["a", "b", "c"], n),
        },
        index=[0] * n,
    )
    schema = hr.Schema(quasi=[name, "day", "flag", "one"], sensitive=["ill"])
    release = hr.protect(frame, schema, hr.RandomizedResponse(l=2, bins=3))
    assert release.table.index.tolist() == list(range(n))
    assert release.table[name].dtype == bool
    assert release.table["day"].str.startswith("[2020-").all()
    found = hr.reconstruct(release)
    assert found.shares.sum() == pytest.approx(1)


def test_scikit_learn_conventions():
    method = hr.RandomizedResponse(l=2, bins=3)
    assert clone(method).get_params() == method.get_params()
    table = people().to_pandas()
    X, y = table[["sex", "job", "age"]], table["ill"]
    out = clone(method).fit(X, y).transform(X)
    assert isinstance(out, pd.DataFrame)
    assert list(out) == ["sex", "job", "age"]
    both = hr.RandomizedResponse(l=3, target="both", bins=3).fit(X, y)
    assert list(both.transform(X)) == ["sex", "job", "age"]


def test_a_tampered_release_is_refused():
    release = hr.protect(people(), SCHEMA, hr.RandomizedResponse(l=6, bins=4))
    release.table = release.table.set_column(release.table.column_names.index("job"), "job", pa.array(["nurse"] * 2000))
    with pytest.raises(PromiseError, match="share of values kept"):
        release.verify()


def test_a_value_outside_the_domain_is_refused():
    release = hr.protect(people(), SCHEMA, hr.RandomizedResponse(l=6, bins=4))
    jobs = release.table.column("job").to_pylist()
    release.table = release.table.set_column(
        release.table.column_names.index("job"), "job", pa.array(["astronaut", *jobs[1:]])
    )
    with pytest.raises(PromiseError, match=r"values in the domain: .*columns at fault: job"):
        release.verify()


@pytest.mark.parametrize("bound", ["paper", "operational"])
def test_a_little_less_noise_than_the_cap_asks_for_is_found(bound):
    release = hr.protect(people(), SCHEMA, hr.RandomizedResponse(l=2.5, bound=bound, bins=4))
    drawn, asked = release.plan.recoding, release.method._risk
    less = tuple(dataclasses.replace(c, p=c.p + 0.1 * (1 - c.p)) for c in drawn.columns)
    for plan, holds in ((drawn, True), (dataclasses.replace(drawn, columns=less), False)):
        over = verify(plan, asked, release.original, release.released, None)[0]
        assert over.holds is holds
        assert over.reached < 1.5


def test_public_parameters_hold_no_number_from_single_groups(tmp_path):
    release = hr.protect(people(), SCHEMA, hr.RandomizedResponse(l=2, bins=3))
    release.write(tmp_path / "out")
    public = json.loads((tmp_path / "out" / "public.json").read_text())
    assert {"risk", "success", "unprotected"}.isdisjoint(public["recoding"])
    assert "p" in public["recoding"]["columns"][0]
    text = (tmp_path / "out" / "RECIPIENT.md").read_text()
    assert "kept with probability p" in text
    assert "Counting released records as they are is biased" in text


@pytest.mark.skipif("HEDGEROW_DATA" not in os.environ, reason="HEDGEROW_DATA is not set")
def test_reference_optima_on_adult():
    from experiments.randomized_response import table3

    result = table3(levels=(2, 3, 5, 7))
    assert result["records"] == 45_222
    compared = [row for row in result["rows"] if "reference" in row]
    assert len(compared) == 12
    assert all(row["difference"] <= 0.005 for row in compared)
    esgro = [r for r in result["rows"] if r["set"] == "ESGRO" and r["scenario"] == "RR-Both"]
    assert all(r["p"]["occupation"] == 1 for r in esgro)
    infeasible = [r for r in result["rows"] if r["scenario"] == "RR-S"]
    assert all(not r["feasible"] and r["floor"] == 1 for r in infeasible)
    success = {r["l"]: r["operational_success"] for r in compared if r["set"] == "EMGRW" and r["scenario"] == "RR-QI"}
    assert success[2] == pytest.approx(0.930, abs=5e-4)
    assert success[7] == pytest.approx(0.779, abs=5e-4)


@pytest.mark.skipif("HEDGEROW_DATA" not in os.environ, reason="HEDGEROW_DATA is not set")
def test_known_negations_on_adult_raise_the_risk_as_published():
    from experiments.randomized_response import data, solve

    from hedgerow.methods.response.contingency import build
    from hedgerow.methods.response.risk import Risk

    found = data("ESGRO", "both")
    _, best = solve(found, "quasi", 4)
    for negations, expected in ((0, 0.250), (1, 0.336), (2, 0.360), (3, 0.383)):
        made = build(found.codes[:-1], found.dims[:-1], found.codes[-1:], found.dims[-1:], "quasi", 0.25, negations)
        assert Risk(made, "quasi").full(best.t)[0].max() == pytest.approx(expected, abs=1e-3)


def test_tables_of_one_row_have_no_protection_to_offer():
    one = people(1)
    with pytest.raises(InfeasibleError):
        hr.protect(one, SCHEMA, hr.RandomizedResponse(l=2))


def test_reading_is_not_changed_by_protecting():
    table = people(200)
    before = read(table).arrow
    hr.protect(table, SCHEMA, hr.RandomizedResponse(l=2, bins=3))
    assert table.equals(before)


def test_files_are_named_once(tmp_path: Path):
    release = hr.protect(people(), SCHEMA, hr.RandomizedResponse(l=2, bins=3))
    release.write(tmp_path / "out")
    assert sorted(f.name for f in (tmp_path / "out").iterdir()) == [
        "RECIPIENT.md",
        "audit.json",
        "plan.json",
        "public.json",
        "release.parquet",
    ]


@pytest.mark.parametrize("bins", ["x", True, 3.5, {"age": "x"}])
def test_bins_of_another_type_are_named(bins: object) -> None:
    people = {"age": range(20), "ill": ["a", "b"] * 10}
    with pytest.raises(ParameterError, match="bins must be a whole number or a list of numbers"):
        hr.protect(people, hr.Schema(quasi=["age"], sensitive=["ill"]), hr.RandomizedResponse(bins=bins))
