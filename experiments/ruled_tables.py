"""Tables whose columns obey rules, and what a release of each keeps of them: with the rules, and without."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

import hedgerow as hr

# rows of each table, and of the real ones at most
ROWS = 3_000
# zeros of a number that are counted: the least share of the records that have one
_ZEROS = 0.02


@dataclass(frozen=True)
class RuledTable:
    """A table with rules between its columns.

    Parameters
    ----------
    name : str
    rows : callable
        Returns the table for a seed and a number of rows.
    quasi, sensitive : sequence of str
    rules : sequence of str
        That every record keeps.
    tolerated : sequence of str
        That some records break.
    determines : dict of str to str
    follows : dict of str to str
        What helps without rules; nothing if nothing does.
    sql : dict of str to str
        Rules that DuckDB writes otherwise.
    """

    name: str
    rows: Callable[[int, int], pd.DataFrame]
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    rules: tuple[str, ...] = ()
    tolerated: tuple[str, ...] = ()
    determines: dict[str, str] = field(default_factory=dict)
    follows: dict[str, str] = field(default_factory=dict)
    sql: dict[str, str] = field(default_factory=dict)

    def original(self, seed: int) -> pd.DataFrame:
        """Return the columns that are released, of `ROWS` rows or of all there are."""
        return self.rows(seed, ROWS)[[*self.quasi, *self.sensitive]]

    def schemas(self) -> dict[str, hr.Schema]:
        """Return the ways of releasing it: without rules, with `follows` where it may help, with rules."""
        plain = hr.Schema(quasi=self.quasi, sensitive=self.sensitive, unit=None)
        ways = {"without": plain}
        if self.follows:
            ways["follows"] = plain.replace(follows=self.follows)
        return ways | {"rules": plain.replace(rules=self.rules, tolerated=self.tolerated, determines=self.determines)}


@dataclass(frozen=True)
class Kept:
    """What a release keeps of a ruled table.

    Parameters
    ----------
    broken : dict of str to float
        By rule, the share of the rows that break it.
    correlation : float
        The largest change of a correlation of a column that a rule is about with any number.
    pair : str
        The columns that have it.
    zeros, missing : float
        The largest change of the share of zeros, or missing values, of a column.
    outside : float
        The share of the rows with a number or a date outside of what the column has in the original.
    seconds : float
        Of one processor.
    """

    broken: dict[str, float]
    correlation: float
    pair: str
    zeros: float
    missing: float
    outside: float
    seconds: float


def measured(case: RuledTable, schema: hr.Schema, original: pd.DataFrame, seed: int) -> Kept:
    """Release a table by a schema, and return what its rows keep."""
    start = time.process_time()
    released = hr.protect(original, schema, random_state=seed).table
    return kept(case, original, released, time.process_time() - start)


def kept(case: RuledTable, original: pd.DataFrame, released: pd.DataFrame, seconds: float) -> Kept:
    """Return what some rows keep of the original's, which may be the same."""
    one, two = (_numbers(table[list(original)]) for table in (original, released))
    change = (two.corr() - one.corr()).abs().loc[[name for name in one if _is_ruled(case, name)]]
    pair = change.stack().idxmax()
    zeros = ((two == 0).mean() - (one == 0).mean()).abs()[(one == 0).mean() >= _ZEROS]
    broken = {rule: _broken(rule, case, released) for rule in (*case.rules, *case.tolerated)}
    for name, other in case.determines.items():
        broken[f"{name} determines {other}"] = _undetermined(name, other, original, released)
    return Kept(
        broken,
        float(change.loc[pair]),
        " and ".join(pair),
        float(zeros.max()) if len(zeros) else 0.0,
        float((released.isna().mean() - original.isna().mean()).abs().max()),
        float(((two < one.min()) | (two > one.max())).any(axis=1).mean()),
        seconds,
    )


def _is_ruled(case: RuledTable, name: str) -> bool:
    return any(name in rule for rule in (*case.rules, *case.tolerated))


def _numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Return numbers, and dates as days since 1970."""
    columns = {}
    for name in table:
        column = table[name].infer_objects()
        if column.dtype == object and hasattr(column.dropna().iloc[0], "year"):
            column = pd.to_datetime(column)
        if column.dtype.kind == "M":
            column = (column - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
        if column.dtype.kind in "iuf":
            columns[name] = column.astype(float)
    return pd.DataFrame(columns)


def _broken(rule: str, case: RuledTable, table: pd.DataFrame) -> float:
    """Return the share of the rows that break a rule, by DuckDB: money in hundredths, midnights as days."""
    query = f"SELECT avg(CASE WHEN NOT ({case.sql.get(rule, rule)}) THEN 1 ELSE 0 END) FROM rows"
    columns = {}
    for name, column in table.items():
        whole = column.dtype.kind == "M" and (column.dropna().dt.normalize() == column.dropna()).all()
        cast = "DATE" if whole else "DECIMAL(18, 2)" if column.dtype.kind == "f" else ""
        columns[name] = f'CAST("{name}" AS {cast}) AS "{name}"' if cast else f'"{name}"'
    with duckdb.connect() as engine:
        engine.register("released", table)
        engine.execute(f"CREATE VIEW rows AS SELECT {', '.join(columns.values())} FROM released")
        row = engine.execute(query).fetchone()
    return float(row[0]) if row else 0.0


def _undetermined(one: str, two: str, original: pd.DataFrame, released: pd.DataFrame) -> float:
    """Return the share of the rows with another value than the one that goes with theirs in the original."""
    of_value = original.drop_duplicates(one).set_index(one)[two]
    known = released[[one, two]].dropna()
    known = known[known[one].isin(of_value.index)]
    return float((known[two].astype(object) != known[one].astype(object).map(of_value)).sum() / len(released))


def stays(seed: int, n: int) -> pd.DataFrame:
    """Make stays in hospital: a quarter of a day, some of months, and longer for the old."""
    draws = np.random.default_rng(seed)
    age = draws.integers(0, 95, n)
    admit = pd.Timestamp("2023-01-01") + pd.to_timedelta(draws.integers(0, 365, n), "D")
    days = np.where(draws.random(n) < 0.25, 0, np.ceil(draws.lognormal(0.6 + age / 60, 0.9)).clip(max=200)).astype(int)
    jobs = draws.choice(["nurse", "clerk", "cook", "none"], n)
    return pd.DataFrame({
        "age": age, "sex": draws.choice(["f", "m"], n), "job": np.where(age < 15, "none", jobs), "admit": admit,
        "discharge": admit + pd.to_timedelta(days, "D"), "days": days,
        "cost": (days * 420 + draws.gamma(2, 300, n)).round(2),
    })  # fmt: skip


def surgery(seed: int, n: int) -> pd.DataFrame:
    """Make operations with times of the day in steps of five minutes: arrival, begin and end, some without an end."""
    draws = np.random.default_rng(seed)
    age = draws.integers(1, 95, n)
    came = (
        pd.Timestamp("2024-01-01")
        + pd.to_timedelta(draws.integers(0, 180, n) * 288 + draws.integers(84, 240, n), "D") / 288
    )
    begun = came + pd.to_timedelta(5 * draws.poisson(6, n), "min")
    minutes = 5 * draws.poisson(np.exp(1.5 + age / 90))
    ended = pd.Series(begun + pd.to_timedelta(minutes, "min")).mask(draws.random(n) < 0.05)
    return pd.DataFrame({
        "age": age, "sex": draws.choice(["f", "m"], n), "came": came, "begun": begun, "ended": ended,
        "minutes": pd.Series(minutes, dtype="Int64").mask(ended.isna()), "team": draws.integers(2, 9, n),
    })  # fmt: skip


def budgets(seed: int, n: int) -> pd.DataFrame:
    """Make households that spend, a third without rent and a twelfth nothing, and people who work or do not."""
    draws = np.random.default_rng(seed)
    age, nothing = draws.integers(10, 90, n), draws.random(n) < 0.08
    works = (draws.random(n) < 0.6) & (age >= 15)
    scale = np.exp((age - 50) / 150 + 0.25 * works)
    rent = np.where(draws.random(n) < 0.33, 0, draws.lognormal(6.2, 0.4, n) * scale)
    food, other = draws.lognormal(5.6, 0.4, n) * scale, draws.gamma(1.2, 150, n) * scale
    rent, food, other = (np.where(nothing, 0, part).round(2) for part in (rent, food, other))
    return pd.DataFrame({
        "age": age, "sex": draws.choice(["f", "m"], n), "works": np.where(works, "yes", "no"),
        "job": np.where(works, draws.choice(["nurse", "clerk", "cook"], n), "none"),
        "hours": np.where(works, draws.choice([20, 30, 38, 40, 45], n), np.nan),
        "rent": rent, "food": food, "other": other, "total": (rent + food + other).round(2),
    })  # fmt: skip


def ballots(seed: int, n: int) -> pd.DataFrame:
    """Make shares of 100, of which a third are (100, 0, 0), four flags of which one is set, towns and their regions."""
    draws = np.random.default_rng(seed)
    towns = [*"ABCDEFG", *(f"village {i}" for i in range(30))]
    town = draws.choice(37, n, p=np.r_[[0.15, 0.15, 0.1, 0.1, 0.1, 0.1, 0.1], np.full(30, 0.2 / 30)])
    age, pure = draws.integers(18, 90, n), draws.random(n) < 0.33
    first = np.where(pure, 100, draws.integers(0, 101, n))
    second = np.where(pure, 0, (draws.beta(2, 1 + age / 40) * (101 - first)).astype(int))
    flags = np.eye(4, dtype=int)[np.where(draws.random(n) < 0.3, age // 31, draws.integers(0, 4, n))]
    return pd.DataFrame({
        "age": age, "town": np.array(towns)[town], "region": np.array(["north", "south", "east"])[town % 3],
        "bus": first, "car": second, "walk": 100 - first - second,
        **{name: flags[:, i] for i, name in enumerate(("owner", "tenant", "guest", "elsewhere"))},
    })  # fmt: skip


def _real(name: str, *columns: str) -> Callable[[int, int], pd.DataFrame]:
    def rows(seed: int, n: int) -> pd.DataFrame:
        table = pd.read_parquet(Path(os.environ["HEDGEROW_DATA"]) / f"{name}.parquet", columns=list(columns) or None)
        return table.sample(min(n, len(table)), random_state=seed).reset_index(drop=True)

    return rows


def portfolio(seed: int, n: int) -> pd.DataFrame:
    """Return insured people, among them the four who left before they entered, with dates as pandas has them."""
    table = pd.read_parquet(Path(os.environ["HEDGEROW_DATA"]) / "fr_disability_portfolio.parquet").drop(
        columns="PolicyID"
    )
    is_wrong = table["ExitDate"] < table["EntryDate"]
    rows = pd.concat([table[is_wrong], table[~is_wrong].sample(n - is_wrong.sum(), random_state=seed)])
    dates = ["BirthDate", "EntryDate", "ExitDate"]
    # an end of cover in the year 5009 is a placeholder
    rows["ExitDate"] = rows["ExitDate"].where(pd.to_datetime(rows["ExitDate"], errors="coerce").dt.year < 2013)
    return rows.assign(**{name: pd.to_datetime(rows[name]) for name in dates}).reset_index(drop=True)


def households(seed: int, n: int) -> pd.DataFrame:
    """Return sdcMicro's households with a head and a spouse: a row each, with the members in slots."""
    people = pd.read_parquet(Path(os.environ["HEDGEROW_DATA"]) / "sdcmicro_testdata.parquet")
    slots = [
        people[people["relat"] == relation].drop_duplicates("ori_hid").set_index("ori_hid") for relation in (1, 2, 3)
    ]
    table = slots[0][["urbrur", "roof", "water", "expend", "income", "savings"]].copy()
    for i, slot in enumerate(slots, 1):
        table[[f"age_{i}", f"sex_{i}"]] = slot[["age", "sex"]].astype("Int64")
    return table.sample(min(n, len(table)), random_state=seed).reset_index(drop=True)


def companies(seed: int, n: int) -> pd.DataFrame:
    """Return Tarragona's companies with a total of their assets, and what these are beyond the debt."""
    table = _real("casc_tarragona")(seed, n)
    table["ASSETS"] = table["FIXED.ASSETS"] + table["CURRENT.ASSETS"]
    table["BEYOND.DEBT"] = table["ASSETS"] - table["SHORT.TERM.DEBT"]
    return table


def drinkers(seed: int, n: int) -> pd.DataFrame:
    """Return men with drinks a day, whether they drink, and parts of 100 of what they drink."""
    draws, table = np.random.default_rng(seed), _real("alcohol_kenkel_terza")(seed, n)
    is_drinker, is_inland = table["drinks"] > 0, table["region"].str.lower().str.contains("mid")
    beer = np.where(is_drinker, draws.binomial(100, 0.6, len(table)), 100)
    wine = (draws.random(len(table)) * (101 - beer)).astype(int)
    return table.assign(
        drinks=table["drinks"].astype(int), drinker=np.where(is_drinker, "yes", "no"), beer=beer, wine=wine,
        spirits=100 - beer - wine, coast=np.where(is_inland, "inland", "coast"),
    )  # fmt: skip


TABLES = (
    RuledTable(
        "stays", stays, ("age", "sex", "job", "admit"), ("discharge", "days", "cost"),
        ("discharge >= admit", "days = discharge - admit", "age >= 15 OR job = 'none'"),
        follows={"days": "discharge"},
    ),
    RuledTable(
        "surgery", surgery, ("age", "sex"), ("came", "begun", "ended", "minutes", "team"),
        ("came <= begun", "begun <= ended", "minutes = 1440 * (ended - begun)"),
        follows={"begun": "came", "ended": "begun", "minutes": "ended"},
        sql={"minutes = 1440 * (ended - begun)": "60 * minutes = epoch(ended) - epoch(begun)"},
    ),
    RuledTable(
        "budgets", budgets, ("age", "sex", "works", "job"), ("hours", "rent", "food", "other", "total"),
        ("total = rent + food + other", "works = 'yes' OR hours IS NULL", "works = 'no' OR hours IS NOT NULL",
         "age >= 15 OR job = 'none'", "works = 'yes' OR job = 'none'"),
        follows={"rent": "total", "job": "works"},
    ),
    RuledTable(
        "ballots", ballots, ("age", "town", "region"),
        ("bus", "car", "walk", "owner", "tenant", "guest", "elsewhere"),
        ("bus + car + walk = 100", "owner + tenant + guest + elsewhere = 1"),
        determines={"town": "region"}, follows={"car": "bus", "walk": "bus", "region": "town"},
    ),
    RuledTable(
        "Adult", _real("adult_train"),
        ("age", "sex", "education", "education-num", "marital-status", "workclass"),
        ("hours-per-week", "capital-gain", "capital-loss", "income"), ('"capital-gain" = 0 OR "capital-loss" = 0',),
        determines={"education": "education-num"}, follows={"education-num": "education"},
    ),
    RuledTable(
        "Census-Income",
        _real("census_income_kdd_train", "age", "sex", "education", "marital_stat", "class_of_worker",
              "weeks_worked_in_year", "wage_per_hour", "num_persons_worked_for_employer", "income"),
        ("age", "sex", "education", "marital_stat", "class_of_worker"),
        ("weeks_worked_in_year", "wage_per_hour", "num_persons_worked_for_employer", "income"),
        ("age >= 15 OR weeks_worked_in_year = 0", "weeks_worked_in_year > 0 OR num_persons_worked_for_employer = 0",
         "weeks_worked_in_year = 0 OR num_persons_worked_for_employer > 0"),
        ("age >= 15 OR marital_stat = 'Never married'",),
        follows={"marital_stat": "age", "num_persons_worked_for_employer": "weeks_worked_in_year"},
    ),
    RuledTable(
        "CASC Census", _real("casc_census"), ("EMCONTRB", "WSALVAL", "POTHVAL", "INTVAL"),
        ("PTOTVAL", "PEARNVAL", "ERNVAL", "AGI", "TAXINC", "FEDTAX", "STATETAX", "FICA"),
        ("PTOTVAL = POTHVAL + PEARNVAL", "TAXINC <= AGI"), ("INTVAL <= POTHVAL", "WSALVAL <= ERNVAL"),
        follows={"INTVAL": "POTHVAL", "TAXINC": "AGI", "PEARNVAL": "PTOTVAL"},
    ),
    RuledTable(
        "EIA", _real("casc_eia"), ("STATE", "MONTH", "RESSALES", "COMSALES"),
        ("RESREVENUE", "COMREVENUE", "INDREVENUE", "OTHREVENUE", "TOTREVENUE"), (),
        ("TOTREVENUE = RESREVENUE + COMREVENUE + INDREVENUE + OTHREVENUE",), follows={"TOTREVENUE": "RESREVENUE"},
    ),
    RuledTable(
        "portfolio", portfolio, ("BirthDate", "Gender", "EntryDate", "ExitDate"), ("ExitStatus",),
        ("BirthDate < EntryDate",), ("EntryDate <= ExitDate",), follows={"ExitDate": "EntryDate"},
    ),
    RuledTable(
        "households", households, ("age_1", "sex_1", "age_2", "sex_2", "age_3", "sex_3", "urbrur", "roof"),
        ("expend", "income", "savings", "water"), ("sex_1 <> sex_2",), ("age_2 <= age_1", "age_3 <= age_1"),
        follows={"age_2": "age_1", "sex_2": "sex_1"},
    ),
    RuledTable(
        "companies", companies, ("FIXED.ASSETS", "CURRENT.ASSETS", "SALES"),
        ("TREASURY", "SHORT.TERM.DEBT", "LABOR.COSTS", "DEPRECIATION", "NET.PROFIT", "ASSETS", "BEYOND.DEBT"),
        ('"ASSETS" = "FIXED.ASSETS" + "CURRENT.ASSETS"', '"BEYOND.DEBT" = "ASSETS" - "SHORT.TERM.DEBT"'),
        ('"TREASURY" <= "CURRENT.ASSETS"',), follows={"SHORT.TERM.DEBT": "ASSETS"},
    ),
    RuledTable(
        "drinkers", drinkers, ("age", "race", "region", "coast", "educ", "drinker"),
        ("drinks", "income", "beer", "wine", "spirits"),
        ("beer + wine + spirits = 100", "drinker = 'yes' OR drinks = 0", "drinker = 'no' OR drinks > 0"),
        determines={"region": "coast"}, follows={"wine": "beer", "spirits": "beer", "coast": "region"},
    ),
)  # fmt: skip
