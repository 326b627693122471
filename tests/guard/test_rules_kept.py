"""Drawn rows keep declared rules, in memory, on DuckDB and in the file; whoever breaks one in the file is found out."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import InfeasibleError, ParameterError, PlanError, PromiseError, SchemaError, UnsupportedError
from hedgerow.plan.records import Plan
from hedgerow.report.reasons import reasons

pytestmark = pytest.mark.filterwarnings("ignore")
RULES = (
    "discharge >= admit", "los = discharge - admit", "total = rent + food", "a + b + c = 100", "f1 + f2 + f3 + f4 = 1",
    "age >= 25 OR job = 'none'", "amount = price * quantity", "net <= total",
)  # fmt: skip
QUASI = ["age", "sex", "city", "land", "admit", "job"]
SENSITIVE = [
    "discharge", "los", "rent", "food", "total", "a", "b", "c", "f1", "f2", "f3", "f4", "price", "quantity", "amount",
    "net",
]  # fmt: skip


def stays(n: int, seed: int = 1) -> pd.DataFrame:
    """Return stays in hospitals: dates, costs as parts, shares, flags, towns and regions."""
    draw = np.random.default_rng(seed)
    towns = ["Bonn", "Aachen", "Mainz", "Trier", "Kassel", *(f"Village {i}" for i in range(20))]
    land_of = dict(zip(towns, ["NRW", "NRW", "RLP", "RLP", "HE", *["NRW", "RLP", "HE", "HE"] * 5], strict=True))
    age, city = draw.integers(18, 90, n), draw.choice(towns, n, p=[0.2, 0.2, 0.15, 0.15, 0.1, *[0.01] * 20])
    los = np.minimum(draw.poisson(np.exp(0.5 + age / 40)), 60)
    admit = np.datetime64("2023-01-01") + draw.integers(0, 365, n)
    rent, food = np.round(draw.lognormal(6.3 + age / 300, 0.3), 2), np.round(draw.lognormal(5.6, 0.4, n), 2)
    a = draw.choice([0, 10, 30, 50, 100], n)
    b = (draw.random(n) * (101 - a)).astype(int)
    flags = np.eye(4, dtype=int)[draw.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])]
    price, quantity = np.round(draw.lognormal(2, 0.5, n), 2), draw.integers(1, 9, n)
    frame = {
        "age": age, "sex": draw.choice(["f", "m"], n), "city": city, "land": [land_of[each] for each in city],
        "admit": admit, "discharge": admit + los, "los": los, "rent": rent, "food": food,
        "total": np.round(rent + food, 2), "a": a, "b": b, "c": 100 - a - b, "price": price, "quantity": quantity,
        "amount": np.round(price * quantity, 2), "net": np.round((rent + food) * draw.uniform(0.6, 1, n), 2),
        "job": np.where(age < 25, "none", draw.choice(["nurse", "clerk", "none", "cook"], n)),
    }  # fmt: skip
    table = pd.DataFrame(frame).assign(**{f"f{i + 1}": flags[:, i] for i in range(4)})
    return table.assign(
        admit=table["admit"].astype("datetime64[s]"), discharge=table["discharge"].astype("datetime64[s]")
    )


def schema(**more: object) -> hr.Schema:
    return hr.Schema(**{"quasi": QUASI, "sensitive": SENSITIVE, "unit": None} | more)  # type: ignore[arg-type]


def broken(table: pd.DataFrame, original: pd.DataFrame) -> dict[str, int]:
    """Count the rows that break each rule, by pandas alone."""
    x = table.assign(**{name: pd.to_datetime(table[name]) for name in ("admit", "discharge")})
    land_of = dict(zip(original["city"], original["land"], strict=True))
    is_known = x["city"].isin(land_of)
    off = {
        "order": x["discharge"] < x["admit"], "los": (x["discharge"] - x["admit"]).dt.days != x["los"],
        "total": (x["total"] - x["rent"] - x["food"]).abs() > 0.004, "shares": x["a"] + x["b"] + x["c"] != 100,
        "negative": (x[["a", "b", "c"]] < 0).any(axis=1), "flags": x[["f1", "f2", "f3", "f4"]].sum(axis=1) != 1,
        "job": (x["age"] < 25) & (x["job"] != "none"), "net": x["net"] > x["total"] + 0.004,
        "amount": (x["amount"] - x["price"] * x["quantity"]).abs() > 0.006,
        "land": is_known & (x["land"] != x["city"].map(land_of)),
    }  # fmt: skip
    return {name: int(each.sum()) for name, each in off.items()}


@cache
def made(key: int = 1) -> tuple[pd.DataFrame, hr.Release]:
    people = stays(1_500)
    return people, hr.protect(people, schema(rules=RULES, determines={"city": "land"}), random_state=key)


def test_no_row_breaks_a_rule_and_relations_stay() -> None:
    people, release = made()
    assert {*broken(people, people).values()} == {0}
    without = broken(hr.protect(people, schema(), random_state=1).table, people)
    assert all(without[name] > 5 for name in ("order", "los", "total", "shares", "amount")), without
    assert {*broken(release.table, people).values()} == {0}
    for one, two in (
        ("rent", "total"),
        ("food", "total"),
        ("price", "amount"),
        ("quantity", "amount"),
        ("total", "net"),
    ):
        before, after = (table[one].corr(table[two]) for table in (people, release.table))
        assert after == pytest.approx(before, abs=0.05)
    assert release.table["los"].eq(0).mean() == pytest.approx(people["los"].eq(0).mean(), abs=0.02)
    assert list(release.table.columns) == list(people.columns)
    assert release.table.dtypes.equals(people.dtypes)
    # a village is released with its own land, or as a rare one of it
    rare = release.table[release.table["city"] == "(other)"]
    assert not set(rare["land"].dropna()) - {"NRW", "RLP", "HE"}
    assert release.plan.version == 4
    assert sum(check.name.startswith("rule ") for check in release.checks) == len(RULES) + 1


def test_the_written_file_keeps_them_and_says_so(tmp_path: Path) -> None:
    people, release = made()
    release.write(tmp_path / "release")
    read = pd.read_parquet(tmp_path / "release" / "release.parquet")
    assert {*broken(read, people).values()} == {0}
    words = (tmp_path / "release" / "RECIPIENT.md").read_text()
    assert "In every row: `total = rent + food`." in words
    assert "total is computed from released values of rent, food" in words
    plan = Plan.load(tmp_path / "release")
    assert plan == release.plan
    audited = hr.audit(people, tmp_path / "release", attacks=False, learning=False).to_dict()
    assert all(each["declared"] and not each["release"] for each in audited["utility"]["rules"])


def test_memory_and_duckdb_make_the_same_bytes(tmp_path: Path) -> None:
    people, release = made()
    people.to_parquet(tmp_path / "people.parquet")
    again = hr.protect(tmp_path / "people.parquet", release.schema, random_state=1, engine="duckdb")
    again.write(tmp_path / "duckdb")
    hr.protect(tmp_path / "people.parquet", release.schema, random_state=1, engine="memory").write(tmp_path / "memory")
    one, two = ((tmp_path / name / "release.parquet").read_bytes() for name in ("duckdb", "memory"))
    assert one == two


def test_the_order_of_the_rows_changes_nothing() -> None:
    people, release = made()
    shuffled = hr.protect(people.sample(frac=1, random_state=3), release.schema, random_state=1).table
    pd.testing.assert_frame_equal(shuffled.reset_index(drop=True), release.table.reset_index(drop=True))


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("total", lambda values: values + 1), ("los", lambda values: values + 1),
        ("discharge", lambda values: values + pd.Timedelta(days=1)), ("land", lambda values: values[::-1].to_numpy()),
        ("a", lambda values: values - 1), ("f1", lambda values: 1 - values),
        ("city", lambda values: values[::-1].to_numpy()),
        ("amount", lambda values: values * 0), ("admit", lambda values: values[::-1].to_numpy()),
    ],
)  # fmt: skip
def test_a_changed_cell_is_found(column: str, change) -> None:  # type: ignore[no-untyped-def]
    _, kept = made()
    release = object.__new__(hr.Release)
    release.__dict__.update(kept.__dict__)
    release.table = kept.table.copy()
    part = slice(100, 300)
    release.table.iloc[part, release.table.columns.get_loc(column)] = change(release.table[column].iloc[part])
    with pytest.raises(PromiseError, match=r"rule|whole rows|mapped"):
        release.verify()


def test_a_plan_that_hides_a_swap_is_found() -> None:
    _, kept = made()
    release = object.__new__(hr.Release)
    release.__dict__.update(kept.__dict__)
    release.table = kept.table.copy()
    # rows of one group exchange a total with its parts: all rules hold, and the group's values are not the drawn ones
    release.table.loc[:20, ["rent", "food", "total"]] = release.table.loc[21:41, ["rent", "food", "total"]].to_numpy()
    with pytest.raises(PromiseError, match=r"whole rows|mapped"):
        release.verify()


def said(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    run(["audit", *map(str, words), "--no-attacks", "--no-learning"])
    return capsys.readouterr().out


@pytest.mark.parametrize("form", ["total", "stay", "town"])
def test_an_audit_without_the_key_finds_a_forged_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    people, release = made()
    people.to_parquet(tmp_path / "people.parquet")
    release.write(tmp_path / "release")
    file, record = (tmp_path / "release" / name for name in ("release.parquet", "audit.json"))
    assert "Do not share" not in said(capsys, tmp_path / "people.parquet", tmp_path / "release")
    forged = pd.read_parquet(file)
    if form == "total":
        forged["total"] += 1
    elif form == "stay":  # all rules hold
        forged["los"] += 1
        forged["discharge"] += pd.Timedelta(days=1)
    else:
        forged.loc[forged["land"] == "NRW", ["city", "land"]] = ["Bonn", "NRW"]
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    pa_table = pa.Table.from_pandas(forged, release.released.types, preserve_index=False)
    pq.write_table(pa_table, file)
    record.write_text(record.read_text().replace(before, hashlib.sha256(file.read_bytes()).hexdigest()))
    assert "Do not share" in said(capsys, tmp_path / "people.parquet", tmp_path / "release")


def test_missing_values_stay() -> None:
    people = stays(1_500)
    draw = np.random.default_rng(5)
    people.loc[draw.random(1_500) < 0.1, "total"] = np.nan
    people.loc[draw.random(1_500) < 0.05, ["los", "discharge"]] = None
    people.loc[draw.random(1_500) < 0.05, ["city", "land"]] = None
    release = hr.protect(people, schema(rules=RULES, determines={"city": "land"}), random_state=1).table
    for name in ("total", "los", "discharge", "land"):
        assert release[name].isna().mean() == pytest.approx(people[name].isna().mean(), abs=0.02)
    known = release.dropna()
    assert {*broken(known, people).values()} == {0}
    assert (release["los"].isna() == release["discharge"].isna()).all()


def test_a_rule_that_the_table_breaks_is_refused_or_tolerated() -> None:
    people = stays(800)
    people.loc[:3, "discharge"] = people.loc[:3, "admit"] - pd.Timedelta(days=5)
    with pytest.raises(SchemaError, match=r"4 of 800 records break 'discharge >= admit'"):
        hr.protect(people, schema(rules=["discharge >= admit"]), random_state=1)
    for key in range(1, 4):
        release = hr.protect(people, schema(tolerated=["discharge >= admit"]), random_state=key)
        assert broken(release.table, people)["order"] <= 4


def test_as_many_rows_as_are_tolerated_break_a_rule() -> None:
    draw = np.random.default_rng(4)
    head = draw.integers(25, 80, 1_200)
    spouse = np.maximum(
        head - np.abs(draw.normal(3, 3, 1_200)).round() * np.where(draw.random(1_200) < 0.08, -1, 1), 20
    )
    people = pd.DataFrame({"region": draw.choice(list("abcd"), 1_200), "head": head, "spouse": spouse})
    people["child"] = np.maximum(np.minimum(head, spouse) - draw.integers(18, 45, 1_200), 0)
    rules = {"tolerated": ["spouse <= head"], "rules": ["child < spouse"]}
    roles = hr.Schema(quasi=["region", "head", "spouse"], sensitive=["child"], unit=None, **rules)
    n = int((people["spouse"] > people["head"]).sum())
    for key in range(3):
        release = hr.protect(people, roles, random_state=key).table
        assert n // 2 <= (release["spouse"] > release["head"]).sum() <= n
        assert (release["child"] < release["spouse"]).all()
        # what is computed stays between the ends of its column
        assert release["child"].min() >= 0
        assert release["spouse"].between(people["spouse"].min(), people["spouse"].max()).all()


def test_a_number_that_a_category_decides_keeps_its_relations() -> None:
    draw = np.random.default_rng(6)
    years = draw.choice([6, 9, 10, 12, 13, 16, 18], 3_000)
    people = pd.DataFrame(
        {"age": draw.integers(18, 80, 3_000), "years": years, "school": [f"level {y}" for y in years]}
    )
    people["income"] = (1_000 + 150 * years + draw.normal(0, 700, 3_000)).round()
    roles = hr.Schema(quasi=["age", "school", "years"], sensitive=["income"], unit=None, determines={"school": "years"})
    release = hr.protect(people, roles, random_state=1).table
    assert release["years"].corr(release["income"]) == pytest.approx(people["years"].corr(people["income"]), abs=0.03)
    assert (release["school"] == "level " + release["years"].astype(int).astype(str)).all()


TOTALS = ["net = total - tax", "total = wages + pensions + other", "tax <= total"]


@pytest.mark.parametrize("rules", [TOTALS, TOTALS[::-1], ["total = tax + net", TOTALS[1]]])
def test_several_rules_on_a_total_are_kept_in_any_order(
    rules: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = np.random.default_rng(8)
    n = 1_200
    parts = {name: np.where(draw.random(n) < share, draw.integers(1, 90, n) * 100, 0) for name, share in
             (("wages", 0.7), ("pensions", 0.3), ("other", 0.2))}  # fmt: skip
    people = pd.DataFrame({"age": draw.integers(18, 90, n), "region": draw.choice(list("abc"), n), **parts})
    people["total"] = people["wages"] + people["pensions"] + people["other"]
    people["tax"] = (people["total"] * draw.integers(0, 4, n) / 10).round(-1)
    people["net"] = people["total"] - people["tax"]
    money = ["wages", "pensions", "other", "total", "tax", "net"]
    people = people.astype(dict.fromkeys(money, float))
    people.loc[draw.random(n) < 0.04, money] = np.nan
    roles = hr.Schema(quasi=["age", "region"], sensitive=money, unit=None, rules=rules)
    release = hr.protect(people, roles, random_state=1)
    rows = release.table.dropna()
    assert (rows["total"] == rows["wages"] + rows["pensions"] + rows["other"]).all()
    assert (rows["net"] == rows["total"] - rows["tax"]).all()
    # a missing value breaks no rule, and is no way to keep one
    assert release.table["wages"].isna().mean() < 0.08
    assert release.table["total"].isna().mean() < 0.2
    people.to_parquet(tmp_path / "people.parquet")
    release.write(tmp_path / "release")
    assert "Do not share" not in said(capsys, tmp_path / "people.parquet", tmp_path / "release")


def test_texts_that_are_the_same_and_dates_in_sums_are_no_crash() -> None:
    draw = np.random.default_rng(3)
    kind = draw.choice(list("pqr"), 500)
    day = np.datetime64("2020-01-01") + draw.integers(0, 300, 500)
    people = pd.DataFrame(
        {"q": draw.integers(0, 50, 500), "a": kind, "b": kind, "c": 7, "day": day.astype("datetime64[s]")}
    )
    people["since"] = (day - np.datetime64("2019-12-31")).astype(int)
    rules = ["a = b", "c = 7", "since = day - DATE '2019-12-31'", "day >= DATE '2019-01-01'"]
    roles = hr.Schema(quasi=["q", "a", "day"], sensitive=["b", "c", "since"], unit=None, rules=rules)
    with pytest.warns(UserWarning, match="tells b to whoever knows a"):
        table = hr.protect(people, roles, random_state=1).table
    assert (table["a"] == table["b"]).all()
    assert ((table["day"] - pd.Timestamp("2019-12-31")).dt.days == table["since"]).all()


def test_a_cap_holds_of_the_computed_column() -> None:
    """Distances that tell little can have ends that tell all: the promise is about the ends."""
    draw = np.random.default_rng(2)
    n = 900
    ward = draw.choice(list("abc"), n)
    begin = np.where(ward == "a", 0, 300) + draw.integers(0, 20, n)
    people = pd.DataFrame(
        {"ward": ward, "age": draw.integers(20, 80, n), "begin": begin, "stay": draw.integers(0, 30, n)}
    )
    people["end"] = people["begin"] + people["stay"]
    roles = hr.Schema(
        quasi=["ward", "age"], sensitive=["begin", "stay", "end"], rules=["end = begin + stay"], unit=None
    )
    for key in range(1, 4):
        release = hr.protect(people, roles, hr.Hedge(max_disclosure=0.3), random_state=key)
        assert all(check.holds for check in release.checks)
        assert (release.table["end"] == release.table["begin"] + release.table["stay"]).all()


def test_what_cannot_be_kept_is_refused() -> None:
    people = stays(400)
    with pytest.raises(ParameterError, match="released as it is"):
        hr.protect(people, hr.Schema(quasi=["age"], sensitive=["rent", "total"], other=["food"], rules=[RULES[2]]))
    with pytest.raises(ParameterError, match="cap is on the file"):
        hr.protect(people, schema(rules=RULES), cap_on="file")
    with pytest.raises(UnsupportedError, match="rule"):
        hr.protect(people, schema(rules=RULES), hr.PrivateTree())
    with pytest.raises(SchemaError, match="no column 'rest'"):
        hr.protect(people, schema(rules=["rest >= 0"]))


def test_other_methods_say_how_many_rows_break_a_rule() -> None:
    people = stays(600)
    roles = schema(rules=["discharge >= admit", "total = rent + food"])
    with pytest.warns(UserWarning, match="do not show whether a rule holds: discharge >= admit"):
        release = hr.protect(people, roles, hr.MART(k=5))
    assert any(check.name == "rule total = rent + food" and check.holds for check in release.checks)
    numbers = hr.Schema(quasi=["rent", "food", "total"], rules=["total = rent + food"])
    with pytest.warns(UserWarning, match="released rows break a rule"):
        hr.protect(people, numbers, hr.RankSwapping(random_state=1))
    with pytest.warns(UserWarning, match="released rows break a rule"):
        hr.protect(people, roles, hr.MART(k=5), guard="runs")


def test_undeclared_rules_that_a_release_breaks_are_told() -> None:
    people = stays(1_500)
    audited = hr.audit(people, hr.protect(people, schema(), random_state=1), attacks=False, learning=False)
    told = {each["rule"]: each["release"] for each in audited.to_dict()["utility"]["rules"]}
    assert told["total = rent + food"] > 1_400
    assert not any(each["declared"] for each in audited.to_dict()["utility"]["rules"])
    assert any("break rules of the original" in one for one in reasons(audited.to_dict(), None))


def test_a_plan_with_other_words_than_rules_is_refused(tmp_path: Path) -> None:
    _, release = made()
    release.plan.save(tmp_path / "plan.json")
    data = json.loads((tmp_path / "plan.json").read_text())
    for place, text in (
        (data["rules"], "read_csv('/etc/passwd')"),
        (data["guard"]["derived"], "total = nobody + food"),
    ):
        forged = json.loads(json.dumps(data))
        where = forged["rules"] if place is data["rules"] else forged["guard"]["derived"]
        next(each for each in where if each["sql"])["sql"] = text
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        with pytest.raises(PlanError, match="a rule"):
            Plan.load(tmp_path / "forged.json")
    assert "read_csv" not in repr(release.plan)


def test_flags_and_toml_say_the_same(tmp_path: Path) -> None:
    people = stays(500)
    people.to_csv(tmp_path / "people.csv", index=False)
    rules = [*RULES[:2], "job IN ('none', 'nurse', 'clerk', 'cook')"]
    (tmp_path / "release.toml").write_text(
        f"rules = {json.dumps(rules)}\ntolerated = ['total >= rent']\n[determines]\ncity = 'land'\n"
    )
    words = [
        "--quasi",
        ",".join(QUASI),
        "--sensitive",
        "discharge,los,rent,total",
        "--unit",
        "none",
        "--random-state",
        "1",
    ]
    flags = [word for rule in rules for word in ("--rule", rule)]
    flags += ["--tolerated", "total >= rent", "--determines", "city=land"]
    for name, more in (("flags", flags), ("toml", ["--config", str(tmp_path / "release.toml")])):
        assert (
            run(["protect", str(tmp_path / "people.csv"), *words, *more, "--out", str(tmp_path / name), "--no-report"])
            == 0
        )
    one, two = ((tmp_path / name / "release.csv").read_bytes() for name in ("flags", "toml"))
    assert one == two
    plan = Plan.load(tmp_path / "toml")
    assert [str(each.rule) for each in plan.rules] == [*rules, "total >= rent", "city determines land"]
    assert "drawn together with" in plan.explain()


def test_a_rule_that_no_drawn_value_fits_is_infeasible(monkeypatch: pytest.MonkeyPatch) -> None:
    people = stays(400)
    monkeypatch.setattr("hedgerow.guard.rule_swaps.TURNS", 0)
    with pytest.raises(InfeasibleError, match="cannot be kept"):
        hr.protect(people, schema(rules=["age >= 25 OR job = 'none'"]), random_state=1)


def test_as_drawn_is_the_plan_of_the_draws() -> None:
    _, release = made()
    guard = release.plan.guard
    assert guard is not None
    drawn = guard.as_drawn()
    assert [c.name for c in drawn.columns] == [c.name for c in guard.columns]
    assert replace(drawn, columns=guard.columns, forms=guard.forms) == guard
