"""Rules between columns that `inspect` proposes: planted ones, none that hold by chance, and those of real tables."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.columns.find_rules import FoundRule, find_rules
from hedgerow.columns.roles import profile, proposal
from hedgerow.columns.table import Table
from hedgerow.rules import parse_rules

N = 3_000


def drawn(seed=0):
    return np.random.default_rng(seed)


def proposed(columns, **schema):
    """Return the rules of a table as text, `a -> b` where a column determines another."""
    rules = find_rules(Table(pa.table(columns)), hr.Schema(**schema))
    return [" -> ".join(rule.determines) if rule.determines else rule.sql for rule in rules]


def days(numbers):
    return (np.datetime64("2019-01-01") + numbers).astype("datetime64[D]")


def stay():
    r = drawn()
    admit = r.integers(0, 900, N)
    length = r.poisson(4, N)
    return {"admit": days(admit), "discharge": days(admit + length), "los": length, "age": r.integers(18, 90, N)}


def chain():
    r = drawn(1)
    first = r.integers(0, 500, N)
    second = first + r.integers(0, 60, N)
    return {"referred": days(first), "seen": days(second), "treated": days(second + r.integers(0, 90, N))}


def wages():
    r = drawn(2)
    gross = np.round(r.lognormal(8, 0.5, N), 2)
    return {"gross": gross, "net": np.round(gross * r.uniform(0.6, 0.9, N), 2), "hours": r.integers(10, 60, N)}


def spending():
    r = drawn(3)
    parts = {name: r.integers(0, 90_000, N) for name in ("rent", "food", "other")}
    cents = {name: values / 100 for name, values in parts.items()}
    return {**cents, "region": r.choice(list("abcd"), N), "total": sum(parts.values()) / 100}


def spending_apart():
    r = drawn(4)
    one, two = ({f"{what}_{kind}": r.integers(0, 500, N) for what in "abc"} for kind in ("cost", "pieces"))
    mixed = {name: values for pair in zip(one.items(), two.items(), strict=True) for name, values in pair}
    return {**mixed, "sum_cost": sum(one.values())}


def orders():
    r = drawn(5)
    price, quantity = r.integers(100, 9_000, N), r.integers(1, 40, N)
    return {"price": price / 100, "quantity": quantity, "amount": price * quantity / 100}


def areas():
    r = drawn(6)
    length, width = r.integers(1_000, 9_000, N), r.integers(1_000, 9_000, N)
    return {"length": length / 1000, "width": width / 1000, "area": np.round(length * width / 1e6 + 1e-9, 1)}


def shares():
    r = drawn(7)
    a = r.integers(0, 101, N)
    b = (r.random(N) * (101 - a)).astype(int)
    return {"a": a, "b": b, "c": 100 - a - b, "d": r.integers(0, 101, N)}


def flags():
    r = drawn(8)
    which = r.choice(4, N, p=[0.4, 0.3, 0.2, 0.1])
    return {**{f"f{i}": (which == i).astype(int) for i in range(4)}, "g": r.integers(0, 2, N)}


def places():
    r = drawn(9)
    land_of, part_of = r.integers(0, 12, 150), r.integers(0, 3, 12)
    city = r.integers(0, 150, N)
    land = land_of[city]
    names = [f"city {i:03}" for i in city], [f"land {i:02}" for i in land], [f"part {i}" for i in part_of[land]]
    return dict(zip(("city", "land", "part"), names, strict=True))


def labels():
    r = drawn(10)
    code = r.integers(1, 9, N)
    return {"code": code, "label": [f"kind {9 - i}" for i in code], "other": r.integers(1, 9, N)}


def jobs():
    r = drawn(11)
    age = r.integers(0, 90, N)
    job = np.where(age < 15, "none", r.choice(["cook", "nurse", "none"], N))
    hours = [None if name == "none" else int(h) for name, h in zip(job, r.integers(5, 60, N), strict=True)]
    return {"age": age, "job": job, "hours": pa.array(hours)}


def late():
    columns = stay()
    columns["discharge"] = columns["discharge"].copy()
    columns["discharge"][:5] = columns["admit"][:5] - np.timedelta64(3, "D")
    return {name: columns[name] for name in ("admit", "discharge")}


def spans():
    r = drawn(12)
    begin = r.integers(0, 400, N)
    length = r.integers(0, 100, N)
    return {"begin_km": begin / 10, "end_km": (begin + length) / 10, "length_km": length / 10}


PLANTED = [
    (stay, "discharge >= admit"),
    (stay, "los = discharge - admit"),
    (chain, "seen >= referred"),
    (chain, "treated >= seen"),
    (wages, "gross >= net"),
    (spending, "total = rent + food + other"),
    (spending_apart, "sum_cost = a_cost + b_cost + c_cost"),
    (orders, "amount = price * quantity"),
    (areas, "area = length * width"),
    (shares, "a + b + c = 100"),
    (flags, "f0 + f1 + f2 + f3 = 1"),
    (places, "city -> land"),
    (places, "land -> part"),
    (labels, "code -> label"),
    (jobs, "job <> 'none' OR hours IS NULL"),
    (late, "discharge >= admit"),
    (spans, "length_km = end_km - begin_km"),
]


@pytest.mark.parametrize(("table", "rule"), PLANTED)
def test_planted_rules_are_proposed(table, rule):
    assert rule in proposed(table())


@pytest.mark.parametrize("table", sorted({table for table, _ in PLANTED}, key=lambda table: table.__name__))
def test_nothing_but_planted_rules_is_proposed(table):
    planted = {rule for each, rule in PLANTED if each is table}
    # the hours of everybody else are known
    assert {*proposed(table())} - planted <= {"job = 'none' OR NOT hours IS NULL"}


def almost_sorted(r):
    admit = r.integers(0, 900, N)
    return {"admit": days(admit), "discharge": days(admit + np.where(r.random(N) < 0.03, -3, 4))}


def almost_a_sum(r):
    rent, food = r.integers(100, 900, N), r.integers(100, 900, N)
    return {"rent": rent, "food": food, "total": rent + food + (r.random(N) < 0.04)}


def almost_shares(r):
    a, b = r.integers(0, 60, N), r.integers(0, 40, N)
    return {"a": a, "b": b, "c": 100 - a - b + r.choice([-1, 0, 1], N, p=[0.1, 0.8, 0.1])}


def almost_determined(r):
    city = r.integers(0, 40, N)
    land = np.where(r.random(N) < 0.03, r.integers(0, 8, N), city % 8)
    return {"city": [f"c{i}" for i in city], "land": [f"l{i}" for i in land]}


def several_flags(r):
    flags = np.eye(4, dtype=int)[r.integers(0, 4, N)]
    flags[r.random(N) < 0.03, 0] = 1
    return {f"f{i}": flags[:, i] for i in range(4)}


def different_scales(r):
    return {
        "age": r.integers(18, 90, N),
        "income": r.integers(9_000, 90_000, N),
        "height": r.normal(170, 9, N).round(1),
    }


def correlated(r):
    height = r.normal(170, 9, N)
    weight = height - 100 + r.normal(0, 3, N)
    return {"height": height.round(1), "weight": weight.round(1), "waist": (weight * 0.9 - r.gamma(20, 1, N)).round(1)}


def one_unit_without_order(r):
    income = r.lognormal(8, 0.5, N)
    return {"net_income": income.round(), "gross_income": (income * r.normal(1.1, 0.05, N)).round()}


def few_records(r):
    a = r.integers(0, 100, 12)
    return {"low": a, "high": a + 3, "code": a % 3, "label": [f"l{i % 3}" for i in a], "sum": 2 * a + 3}


def keys(r):
    return {"visit": np.arange(N), "shuffled": r.permutation(N), "job": r.choice(list("abc"), N)}


def nearly_unique(r):
    return {"surname": [f"n{i}" for i in r.integers(0, 2 * N, N)], "job": r.choice(list("abcdef"), N)}


def constants(r):
    columns = {"year": np.full(N, 2020), "wave": np.where(np.arange(N) < 3, 1, 2), "zero": np.zeros(N, int)}
    return {**columns, "age": r.integers(18, 90, N), "job": r.choice(list("abcdef"), N)}


def rare_flags(r):
    return {f"ill{i}": (r.random(N) < 0.004).astype(int) for i in range(6)} | {"job": r.choice(list("abcdef"), N)}


def mostly_zero(r):
    return {f"gain{i}": (r.random(N) < 0.03) * r.integers(1, 5, N) for i in range(5)}


def missing_at_random(r):
    hours = pa.array(r.integers(5, 60, N), mask=r.random(N) < 0.2)
    return {"hours": hours, "job": r.choice([*"abc"], N, p=[0.9, 0.08, 0.02]), "age": r.integers(0, 90, N)}


def answers(r):
    mood = r.normal(0, 1, (N, 1))
    return {f"q{i}": np.clip(np.rint(3 + (mood + r.normal(0, 1, (N, 1)))[:, 0]), 1, 5).astype(int) for i in range(6)}


def smooth_bound(r):
    age = r.integers(0, 90, N)
    return {"age": age, "married": np.where(r.random(N) < np.clip((age - 15) / 40, 0, 1) ** 2, "yes", "no")}


def nearly_products(r):
    price = r.integers(100, 900, N) / 100
    return {"price": price, "pieces": np.where(r.random(N) < 0.96, 1, 2), "amount": price}


FALSE = [
    almost_sorted, almost_a_sum, almost_shares, almost_determined, several_flags, different_scales, correlated,
    one_unit_without_order, few_records, keys, nearly_unique, constants, rare_flags, mostly_zero, missing_at_random,
    answers, smooth_bound,
]  # fmt: skip


@pytest.mark.parametrize("table", FALSE)
@pytest.mark.parametrize("seed", [1, 2])
def test_what_almost_holds_or_holds_by_chance_or_scale_is_not_proposed(table, seed):
    assert proposed(table(drawn(seed))) == []


def test_a_product_with_ones_is_not_proposed_but_the_equality_that_there_is():
    assert proposed(nearly_products(drawn())) == ["amount = price"]


def test_what_was_not_planted_in_numbers_is_not_proposed():
    r = drawn(20)
    columns = {f"amount_{i}": r.lognormal(8, 1, N).round(2) for i in range(15)}
    columns |= {f"count_{i}": r.integers(0, 4 + i, N) for i in range(15)}
    assert proposed(columns) == []


def test_broken_records_are_counted_and_said():
    (rule,) = find_rules(Table(pa.table(late())))
    words = "discharge is never before admit"
    assert rule == FoundRule("discharge >= admit", None, words, N, 5)
    assert rule.option == "--tolerated 'discharge >= admit'"


def test_missing_values_break_no_rule_and_are_not_counted():
    columns = spending()
    columns["total"] = pa.array(columns["total"], mask=np.arange(N) % 4 == 0)
    (rule,) = find_rules(Table(pa.table(columns)))
    assert (rule.sql, rule.rows, rule.broken) == ("total = rent + food + other", N * 3 // 4, 0)


def test_names_are_quoted_for_sql_and_for_a_shell():
    columns = dict(zip(("first day", "order", "Länge"), stay().values(), strict=False))
    assert [rule.option for rule in find_rules(Table(pa.table(columns)))] == [
        """--rule '"order" >= "first day"'""",
        """--rule '"Länge" = "order" - "first day"'""",
    ]
    for rule in find_rules(Table(pa.table(columns))):
        assert [str(each) for each in parse_rules([rule.sql])] == [rule.sql]


def test_rare_categories_are_not_printed():
    columns = jobs()
    columns["job"] = np.where((columns["job"] == "cook") & (np.arange(N) % 60 == 0), "dean", columns["job"])
    rules = find_rules(Table(pa.table(columns)))
    assert "job <> 'none' OR hours IS NULL" in [rule.sql for rule in rules]
    assert not any("dean" in rule.sql + rule.words for rule in rules)


def test_identifiers_and_weights_are_left_out():
    assert proposed(places(), identifiers=["land"]) == ["city -> part"]
    assert proposed(places(), identifiers=["city", "part"]) == []


def test_kinds_say_what_is_a_number():
    columns = {name: [str(value) for value in values] for name, values in spending().items()}
    assert proposed(columns) == []
    kinds = dict.fromkeys(("rent", "food", "other", "total"), "numeric")
    assert proposed(columns, kinds=kinds) == ["total = rent + food + other"]


def test_wide_tables_are_looked_at_in_parts():
    r = drawn(21)
    columns = {f"answer_{i}": r.choice(list("abcde"), N) for i in range(70)}
    assert proposed({**columns, **spending()}) == ["total = rent + food + other"]


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1_000), table=st.sampled_from(sorted({t for t, _ in PLANTED}, key=lambda t: t.__name__)))
def test_another_order_of_the_records_gives_the_same_rules(seed, table):
    people = pa.table(table())
    shuffled = people.take(pa.array(drawn(seed).permutation(N)))
    assert find_rules(Table(shuffled)) == find_rules(Table(people))


DATA = Path(os.environ.get("HEDGEROW_DATA", ""))
REAL = {
    "adult_train": ["education -> education-num"],
    "german_credit": [],
    "sdcmicro_testdata": [],
    "alcohol_kenkel_terza": [],
    "casc_tarragona": [],
    "casc_census": ['"PEARNVAL" >= "WSALVAL"', '"WSALVAL" >= "ERNVAL"', '"PTOTVAL" = "POTHVAL" + "PEARNVAL"'],
}


@pytest.mark.skipif(not os.environ.get("HEDGEROW_DATA"), reason="the real tables are not here")
@pytest.mark.parametrize("name", REAL)
def test_real_tables(name):
    table = Table(pq.read_table(DATA / f"{name}.parquet"))
    rules = find_rules(table, proposal(table, profile(table)))
    assert [" -> ".join(rule.determines) if rule.determines else rule.sql for rule in rules] == REAL[name]


@pytest.mark.skipif(not os.environ.get("HEDGEROW_DATA"), reason="the real tables are not here")
def test_entry_is_before_exit_but_for_four_people():
    table = Table(pq.read_table(DATA / "fr_disability_portfolio.parquet"))
    (rule,) = find_rules(table, hr.Schema(identifiers=["PolicyID"]))
    assert (rule.sql, rule.rows, rule.broken) == ('"ExitDate" >= "EntryDate"', 958_331, 4)


def test_inspect_lists_the_rules_and_proposes_none_of_them():
    seen = hr.inspect(pa.table({**places(), **stay()}))
    assert [rule.option for rule in seen.rules] == [
        "--rule 'discharge >= admit'",
        "--rule 'los = discharge - admit'",
        "--determines city=land",
        "--determines land=part",
    ]
    assert not seen.schema.all_rules()
    for text in (str(seen), seen._repr_html_().replace("&#x27;", "'").replace("&gt;", ">")):
        assert "los is the days from admit to discharge" in text
        assert "--rule 'discharge >= admit'" in text
    assert seen.to_dict()["rules"][2] == {
        "sql": "",
        "determines": ("city", "land"),
        "words": "city determines land",
        "rows": N,
        "broken": 0,
        "option": "--determines city=land",
    }
    assert "Rules that hold" not in str(hr.inspect(pa.table({"age": [31, 40, 52], "job": ["a", "b", "a"]})))
