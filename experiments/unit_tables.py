"""Tables with several rows a person, household or patient, and what a release of each keeps of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp

import hedgerow as hr

Array = np.ndarray[Any, Any]
# units with a row in a slot, and pairs of rows of a figure, at least
_SLOT, _PAIRS = 5, 100


@dataclass(frozen=True)
class UnitTable:
    """A table with several rows a unit.

    Parameters
    ----------
    name : str
    rows : callable
        Returns the table for a seed and a number of units.
    schema : hedgerow.Schema
    units : int
        How many there are.
    once : sequence of str
        Columns that a unit has once.
    numbers, states : sequence of str
        Other columns whose course is measured.
    models : sequence of str
        Formulas of regressions.
    relations : dict of object to str
        Heads, spouses, children and parents of households, by the value of the member column.
    """

    name: str
    rows: Callable[[int, int], pd.DataFrame]
    schema: hr.Schema
    units: int
    once: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    relations: Mapping[Any, str] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """Return the column of units."""
        return str(self.schema.unit_column)

    @property
    def by(self) -> str:
        """Return the column that tells the rows of a unit apart."""
        return str(self.schema.wave or self.schema.time or self.schema.member)

    def original(self, seed: int, units: int | None = None) -> pd.DataFrame:
        """Return the columns that are released, with the units."""
        names = [self.unit, self.by, *self.schema.quasi, *self.schema.sensitive]
        return self.rows(seed, units or self.units)[[*dict.fromkeys(names)]]

    def slots(self, table: pd.DataFrame) -> pd.Series:
        """Return the slot of each row: its wave, its place in time, or its relation with its place in it."""
        if self.schema.wave:
            return table[self.by]
        if self.schema.time:
            return table.sort_values(self.by, kind="stable").groupby(self.unit).cumcount().reindex(table.index)
        oldest = table.sort_values("age", ascending=False, kind="stable")
        place = oldest.groupby([self.unit, self.by]).cumcount().reindex(table.index)
        return table[self.by].astype(str) + " " + place.map("{:02d}".format)


def beside(case: UnitTable, table: pd.DataFrame, slots: Sequence[Any]) -> pd.DataFrame:
    """Return one row a unit: in which of some slots it has rows, what it has once, and the other cells by slot.

    Times are the first one, and days between two.
    """
    rows = table.assign(**{"slot ": case.slots(table)})
    rows = rows[rows["slot "].isin(list(slots))].set_index([case.unit, "slot "]).sort_index()
    if case.schema.time:
        days = (rows[case.by] - pd.Timestamp("2000-01-01")) / pd.Timedelta(days=1)
        rows[case.by] = days.groupby(level=0).diff().fillna(days)
    has_row = pd.Series(1, rows.index).unstack().reindex(columns=list(slots)).notna()
    wide = {"rows": has_row.apply(lambda row: "".join("01"[flag] for flag in row), axis=1)}
    wide |= {name: rows[name].groupby(level=0).first() for name in case.once}
    cells = [name for name in rows if name not in case.once and (name != case.by or case.schema.time)]
    grids = {name: rows[name].unstack().reindex(columns=list(slots)) for name in cells}
    wide |= {f"{name} [{slot}]": grids[name][slot] for slot in slots for name in cells}
    return pd.DataFrame(wide)


def below(case: UnitTable, wide: pd.DataFrame, slots: Sequence[Any]) -> pd.DataFrame:
    """Return the rows of units that stand side by side, one below the other."""
    wide, parts = wide.reset_index(drop=True), []
    for at, slot in enumerate(slots):
        there = wide[wide["rows"].str[at] == "1"]
        end = f" [{slot}]"
        of = {name: name.removesuffix(end) for name in there if name.endswith(end)}
        part = there[[*of]].rename(columns=of)
        if case.schema.wave:
            part[case.by] = slot
        elif case.schema.member:
            value = slot[:-3]
            part[case.by] = int(value) if value.isdigit() else value
        parts.append(part.assign(**{case.unit: there.index, **{name: there[name] for name in case.once}}))
    rows = pd.concat(parts).sort_index(kind="stable")
    if case.schema.time:
        days = rows[case.by].fillna(0).astype(float).groupby(rows[case.unit]).cumsum()
        rows[case.by] = pd.Timestamp("2000-01-01") + pd.to_timedelta(days, "D")
    for name in rows:
        if rows[name].dtype.kind == "f" and (rows[name] % 1 == 0).all():
            rows[name] = rows[name].astype(int)
    return rows.reset_index(drop=True)


def common_slots(case: UnitTable, table: pd.DataFrame, units: int = _SLOT) -> list[Any]:
    """Return the slots in which so many units have a row."""
    counts = case.slots(table).value_counts()
    return sorted(counts.index[counts >= units])


# figures


def figures(case: UnitTable, original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    """Return figures of a table, of which some are by themselves and others, with "of" in their name, differences."""
    rows = _placed(case, released)
    found = _of_counts(case, original, released)
    if case.schema.member:
        return found | _of_households(case, released) | _of_models(case, original, released)
    before = _placed(case, original)
    for name in case.numbers:
        for lag in (1, 2, 3, 4):
            for way in ("pearson", "spearman"):
                found[f"lag {lag} of {name}, {way}"] = _lag(case, rows, name, lag, way)
        found[f"lag 1 of {name}, largest change in a slot"] = _largest(case, before, rows, name)
        pairs = _pairs(case, rows, name, 1)
        found[f"spread of the change of {name}, ratio"] = float((pairs["b"] - pairs["a"]).std()) / float(
            _pairs(case, before, name, 1).eval("b - a").std()
        )
        found[f"correlation of {name} with what a unit has once, largest change"] = _with_once(case, before, rows, name)
    for name in case.states:
        found[f"transitions of {name}, largest change in points"] = _transitions(case, before, rows, name)
    if case.schema.time:
        gaps = [_gaps(case, table) for table in (before, rows)]
        found["gaps between times, Kolmogorov-Smirnov"] = float(ks_2samp(*gaps).statistic)
        found["first times, Kolmogorov-Smirnov"] = float(
            ks_2samp(*(table.groupby(case.unit)[case.by].min().astype("int64") for table in (before, rows))).statistic
        )
        found["rows whose time is before that of the row above"] = _falling(case, released)
    if {"age", "born"} <= {*released}:
        age = rows[case.by].astype(float) - rows["born"].astype(float)
        found["rows whose age is not the year less the year of birth"] = float((rows["age"] != age).mean())
        steps = _pairs(case, rows, "age", 1)
        found["ages that do not rise by 1 from a wave to the next"] = float((steps["b"] - steps["a"] != 1).mean())
        found["ages that fall"] = float((steps["b"] < steps["a"]).mean())
    if {"employed", "wage"} <= {*released}:
        found["wages of people without work, or work without"] = float(
            ((rows["wage"] > 0) != (rows["employed"] == "yes")).mean()
        )
    return found | _of_models(case, original, released)


def _placed(case: UnitTable, table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(**{"slot ": case.slots(table)})


def _pairs(case: UnitTable, rows: pd.DataFrame, name: str, lag: int) -> pd.DataFrame:
    """Return a column in the rows of a unit so many slots apart, as a and b, with the slot of a."""
    one = rows[[case.unit, "slot ", name]].rename(columns={name: "a"})
    two = rows[[case.unit, "slot ", name]].rename(columns={name: "b"})
    two["slot "] -= lag
    pairs = one.merge(two, on=[case.unit, "slot "]).dropna()
    return pairs if pairs["a"].dtype == object else pairs.infer_objects()


def _lag(case: UnitTable, rows: pd.DataFrame, name: str, lag: int, way: str) -> float:
    """Return the correlation of a column with itself so many slots later, within slots."""
    pairs = _pairs(case, rows, name, lag)
    if way == "spearman":
        by = pairs.groupby("slot ")
        pairs = pairs.assign(a=by["a"].rank(), b=by["b"].rank())
    parts = [(len(part), part["a"].corr(part["b"])) for _, part in pairs.groupby("slot ") if len(part) >= _PAIRS]
    parts = [(n, r) for n, r in parts if r == r]
    return float(np.average([r for _, r in parts], weights=[n for n, _ in parts])) if parts else np.nan


def _largest(case: UnitTable, before: pd.DataFrame, after: pd.DataFrame, name: str) -> float:
    """Return the largest change of a correlation of one slot and the next one."""
    apart = []
    for table in (before, after):
        pairs = _pairs(case, table, name, 1)
        slots = {slot: part["a"].corr(part["b"]) for slot, part in pairs.groupby("slot ") if len(part) >= _PAIRS}
        apart.append(pd.Series(slots, dtype=float))
    return float((apart[0] - apart[1]).abs().max())


def _with_once(case: UnitTable, before: pd.DataFrame, after: pd.DataFrame, name: str) -> float:
    once = [each for each in case.once if before[each].dtype.kind in "iuf"]
    if not once:
        return np.nan
    apart = [table[once].astype(float).corrwith(table[name].astype(float)) for table in (before, after)]
    return float((apart[0] - apart[1]).abs().max())


def _transitions(case: UnitTable, before: pd.DataFrame, after: pd.DataFrame, name: str) -> float:
    """Return the largest change of the share of a state's next ones, of states with enough rows, in points."""
    tables = []
    for rows in (before, after):
        pairs = _pairs(case, rows, name, 1)
        tables.append(pd.crosstab(pairs["a"], pairs["b"]))
    counts, drawn = tables
    counts = counts[counts.sum(axis=1) >= _PAIRS]
    shares = [table.div(table.sum(axis=1), axis=0) for table in (counts, drawn)]
    return 100 * float((shares[0] - shares[1].reindex_like(shares[0]).fillna(0)).abs().max().max())


def _gaps(case: UnitTable, rows: pd.DataFrame) -> Array:
    times = rows.sort_values([case.unit, case.by]).groupby(case.unit)[case.by].diff().dropna()
    return np.asarray(times / pd.Timedelta(days=1))


def _falling(case: UnitTable, released: pd.DataFrame) -> float:
    steps = released.groupby(case.unit, sort=False)[case.by].diff()
    return float((steps < pd.Timedelta(0)).mean())


def _of_counts(case: UnitTable, original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    """Return how many rows units have, and the largest change of the share of those with the same slots."""
    counts = [table.groupby(case.unit).size() for table in (original, released)]
    found = {"rows a unit, mean": float(counts[1].mean()), "rows a unit, spread": float(counts[1].std())}
    if case.schema.time:
        found["rows a unit, Kolmogorov-Smirnov"] = float(ks_2samp(*counts).statistic)
    shares = []
    for table in (original, released):
        slots = _placed(case, table).sort_values("slot ").groupby(case.unit)["slot "]
        shares.append(slots.agg(lambda s: " ".join(map(str, s))).value_counts(normalize=True))
    change = shares[1].sub(shares[0], fill_value=0).abs()
    return found | {"share of units with the same slots, largest change in points": 100 * float(change.max())}


def _of_households(case: UnitTable, rows: pd.DataFrame) -> dict[str, float]:
    """Return figures of couples and children."""
    of = {what: rows[rows[case.by] == value] for value, what in case.relations.items()}
    heads, spouses = (of[what].drop_duplicates(case.unit).set_index(case.unit) for what in ("head", "spouse"))
    couples = heads.join(spouses, rsuffix=" of spouse", how="inner")
    children = of["child"].join(heads[["age"]].rename(columns={"age": "head"}), on=case.unit)
    children = children.join(spouses[["age"]].rename(columns={"age": "spouse"}), on=case.unit)
    found = {
        "couples, of households": len(couples) / rows[case.unit].nunique(),
        "ages of spouses, correlation": couples["age"].corr(couples["age of spouse"]),
        "years between spouses, spread": (couples["age"] - couples["age of spouse"]).std(),
        "couples of one sex": (couples["sex"] == couples["sex of spouse"]).mean(),
        "spouses younger than 15": (couples["age of spouse"] < 15).mean(),
        "children as old as head or spouse": ((children["age"] >= children["head"]) | (
            children["age"] >= children["spouse"])).mean(),
        "children less than 15 years younger than the head": (children["head"] - children["age"] < 15).mean(),
        "ages of children and heads, correlation": children["age"].corr(children["head"]),
        "ages of the first two children, correlation": _siblings(case, children),
        "children a household, spread": children.groupby(case.unit).size().std(),
    }  # fmt: skip
    if len(of.get("parent", ())):
        parents = of["parent"].join(heads[["age"]].rename(columns={"age": "head"}), on=case.unit)
        found["parents not 15 years older than the head"] = (parents["age"] - parents["head"] < 15).mean()
    for name in case.numbers:
        pairs = heads[[name]].join(spouses[[name]], rsuffix=" of spouse", how="inner").dropna()
        found[f"{name} of spouses, correlation"] = pairs.iloc[:, 0].corr(pairs.iloc[:, 1])
    for name in case.states:
        pairs = heads[[name]].join(spouses[[name]], rsuffix=" of spouse", how="inner").dropna()
        found[f"spouses with the same {name}"] = (pairs.iloc[:, 0] == pairs.iloc[:, 1]).mean()
    return {what: float(value) for what, value in found.items()}


def _siblings(case: UnitTable, children: pd.DataFrame) -> float:
    oldest = children.sort_values("age", ascending=False).groupby(case.unit)["age"]
    pairs = pd.concat([oldest.nth(0).to_frame("a").assign(u=children[case.unit]),
                       oldest.nth(1).to_frame("b").assign(u=children[case.unit])])  # fmt: skip
    both = pairs.groupby("u").first().dropna()
    return float(both["a"].corr(both["b"]))


def _of_models(case: UnitTable, original: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    """Return the share of the original's 95% intervals, by errors that are clustered by unit, with the estimate."""
    import statsmodels.formula.api as smf

    found = {}
    for formula in case.models:
        fits = []
        for table in (original, released):
            used = table.dropna(subset=[name for name in table if name in formula]).reset_index(drop=True)
            for name in used:
                if used[name].dtype.kind not in "iufM":
                    used[name] = used[name].astype(object)
            groups = used[case.unit].astype("category").cat.codes
            try:
                fits.append(smf.ols(formula, used).fit(cov_type="cluster", cov_kwds={"groups": groups}))
            except Exception:  # a rival without a category that the model is about
                break
        if len(fits) < 2:
            found[f"intervals of {formula}"] = 0.0
            continue
        ends, estimates = fits[0].conf_int(), fits[1].params.reindex(fits[0].params.index)
        held = (ends[0] <= estimates) & (estimates <= ends[1])
        found[f"intervals of {formula}"] = float(held.drop("Intercept").mean())
    return found


# made tables


def panel(seed: int, n: int) -> pd.DataFrame:
    """Make people in up to 5 years: a tenth drop out a year, wages persist, and are 0 without work."""
    draws = np.random.default_rng(seed)
    sex, born = draws.integers(0, 2, n), draws.integers(1940, 1985, n)
    school = np.clip(draws.normal(1.5 + 0.5 * (born > 1965), 1, n).round(), 0, 4).astype(int)
    region, person, error = draws.integers(0, 4, n), draws.normal(0, 0.45, n), draws.normal(0, 0.25, n)
    works, there = draws.random(n) < 0.75, np.ones(n, bool)
    health, parts = np.clip(draws.normal(2.2 - (1985 - born) / 60, 0.9, n).round(), 0, 3).astype(int), []
    for year in range(2001, 2006):
        if year > 2001:
            error = 0.6 * error + draws.normal(0, 0.2, n)
            works = np.where(works, draws.random(n) < 0.93, draws.random(n) < 0.3)
            region = np.where(draws.random(n) < 0.04, draws.integers(0, 4, n), region)
            change = draws.random(n)
            health = np.clip(health - (change < 0.12) + (change > 0.9), 0, 3)
            there &= draws.random(n) > 0.06 + 0.03 * (school == 0) + 0.03 * (health == 0)
        age = year - born
        wage = np.exp(7 + 0.12 * school + 0.02 * (age - 45) - 0.0004 * (age - 45) ** 2 + 0.1 * sex + person + error)
        rows = {
            "person": np.arange(n), "year": year, "sex": np.where(sex, "m", "f"), "born": born, "age": age,
            "school": school, "region": np.array(list("NESW"))[region], "employed": np.where(works, "yes", "no"),
            "wage": np.where(works, wage.round(-1), 0), "health": np.array(["bad", "fair", "good", "best"])[health],
        }  # fmt: skip
        parts.append(pd.DataFrame(rows)[there])
    return _shuffled(pd.concat(parts), "person", draws, n)


def refreshed(seed: int, n: int) -> pd.DataFrame:
    """Make the panel with a third of the people who enter in the second or third year."""
    rows = panel(seed, n)
    people = np.sort(rows["person"].unique())
    entry = pd.Series(np.random.default_rng(seed).choice([2001, 2002, 2003], len(people), p=[0.7, 0.15, 0.15]), people)
    return rows[rows["year"] >= rows["person"].map(entry)].reset_index(drop=True)


def rotating(seed: int, n: int) -> pd.DataFrame:
    """Make households that are asked in 4 of 8 quarters, those that enter late first in later ones; some miss one."""
    draws = np.random.default_rng(seed)
    entry, size, rooms = draws.integers(1, 6, n), draws.integers(1, 6, n), draws.integers(1, 7, n)
    region, tenure = draws.choice(list("ABCDE"), n), draws.choice(["owner", "tenant"], n, p=[0.6, 0.4])
    level, error = 7.2 + 0.12 * size + 0.05 * rooms + draws.normal(0, 0.4, n), draws.normal(0, 0.25, n)
    state, parts = draws.choice(3, n, p=[0.6, 0.25, 0.15]), []
    for quarter in range(1, 9):
        error = 0.7 * error + draws.normal(0, 0.18, n)
        state = np.where(draws.random(n) < 0.12, draws.choice(3, n, p=[0.6, 0.25, 0.15]), state)
        income = np.exp(level + error - 0.35 * (state == 2)).round(-1)
        spent = (income * np.clip(draws.normal(0.7, 0.12, n), 0.2, 1.3)).round()
        there = (entry <= quarter) & (quarter < entry + 4) & (draws.random(n) < 0.97)
        rows = {
            "household": np.arange(n), "quarter": quarter, "region": region, "tenure": tenure, "size": size,
            "rooms": rooms, "work": np.array(["both", "one", "none"])[state], "income": income, "spent": spent,
        }  # fmt: skip
        parts.append(pd.DataFrame(rows)[there])
    return _shuffled(pd.concat(parts), "household", draws, n)


def families(seed: int, n: int) -> pd.DataFrame:
    """Make households of up to 6: a head, mostly a spouse, children, and few parents; 2% of couples are of one sex."""
    draws = np.random.default_rng(seed)
    home, head = np.arange(n), np.clip(draws.normal(48, 15, n).round(), 19, 95).astype(int)
    male, wealth = draws.random(n) < 0.6, draws.normal(0, 0.5, n)
    region, tenure = draws.choice(list("ABCDEFGH"), n), np.where(draws.random(n) < 0.3 + head / 200, "owner", "tenant")
    pair = draws.random(n) < 0.68
    other = np.clip(head - 2 * male + draws.normal(0, 4, n).round(), 18, 95).astype(int)
    parts = [(home, "head", head, male), (home[pair], "spouse", other[pair], (male ^ (draws.random(n) < 0.98))[pair])]
    kids = np.clip(draws.poisson(np.where((head > 24) & (head < 65), 1.5, 0.1)), 0, 4)
    youngest = np.where(pair, np.minimum(head, other), head)
    birth = np.clip(draws.normal(29, 5, n), 16, 45).round()
    for child in range(4):
        birth += draws.integers(1, 6, n) * (child > 0)
        age = youngest - birth
        there = (kids > child) & (age >= 0) & (age < 40)
        parts.append((home[there], "child", age[there].astype(int), (draws.random(n) < 0.5)[there]))
    there = (draws.random(n) < 0.05) & (kids < 4)
    parent = np.clip(head + draws.normal(27, 5, n).round(), head + 16, 100).astype(int)
    there &= parent < 100
    parts.append((home[there], "parent", parent[there], (draws.random(n) < 0.25)[there]))
    rows = pd.concat(
        pd.DataFrame({"home": h, "member": m, "age": a, "sex": np.where(s, "m", "f")}) for h, m, a, s in parts
    ).reset_index(drop=True)
    age = rows["age"].to_numpy()
    works = (draws.random(len(rows)) < 0.72) & (age >= 18) & (age < 67)
    income = np.exp(7.2 + 0.015 * (age - 40) + wealth[rows["home"]] + draws.normal(0, 0.5, len(rows))).round(-1)
    rows["work"] = np.where(works, "works", np.where(age < 18, "school", "none"))
    rows["income"] = np.where(works, income, 0)
    rows["region"], rows["tenure"] = region[rows["home"]], tenure[rows["home"]]
    return _shuffled(rows, "home", draws, n)


def hospital(seed: int, n: int) -> pd.DataFrame:
    """Make the visits of patients, 0 to 40 each: sick ones come often, diagnoses persist, and so do costs."""
    draws = np.random.default_rng(seed)
    count = np.minimum(draws.poisson(draws.gamma(0.9, 6, n)), 40)
    sex, born, often = draws.integers(0, 2, n), draws.integers(1930, 2005, n), [0.4, 0.25, 0.2, 0.1, 0.05]
    ill = draws.choice(5, n, p=often)
    place, level = draws.choice(list("ABCDEF"), n), draws.normal(0, 0.5, n)
    pace = np.exp(4.3 - 0.04 * np.minimum(count, 25) + draws.normal(0, 0.3, n))
    day, error, parts = draws.integers(0, 400, n).astype(float), draws.normal(0, 0.5, n), []
    for visit in range(40):
        if visit:
            day = day + np.floor(draws.exponential(pace)) + 1
            error = 0.5 * error + draws.normal(0, 0.43, n)
            ill = np.where(draws.random(n) < 0.2, draws.choice(5, n, p=often), ill)
        cost = np.exp(5 + 0.35 * ill + 0.006 * (2015 - born) + level + error).round()
        rows = {
            "patient": np.arange(n), "date": pd.Timestamp("2015-01-01") + pd.to_timedelta(day, "D"),
            "sex": np.where(sex, "m", "f"), "born": born, "place": place,
            "diagnosis": np.array(["I10", "E11", "J45", "C50", "N18"])[ill], "cost": cost,
        }  # fmt: skip
        parts.append(pd.DataFrame(rows)[count > visit])
    return _shuffled(pd.concat(parts), "patient", draws, n)


def _shuffled(rows: pd.DataFrame, unit: str, draws: np.random.Generator, n: int) -> pd.DataFrame:
    """Return rows in any order, with units under numbers that say nothing."""
    names = draws.permutation(10 * n)[:n]
    rows = rows.iloc[draws.permutation(len(rows))].reset_index(drop=True)
    return rows.assign(**{unit: names[rows[unit]]})


def testdata(seed: int, n: int) -> pd.DataFrame:
    """Return so many of sdcMicro's households."""
    people = pd.read_parquet(Path(os.environ["HEDGEROW_DATA"]) / "sdcmicro_testdata.parquet")
    homes = np.random.default_rng(seed).permutation(people["ori_hid"].unique())[:n]
    return people[people["ori_hid"].isin(homes)].reset_index(drop=True)


PANEL = UnitTable(
    "panel", panel,
    hr.Schema(unit="person", wave="year", quasi=["sex", "born", "age", "school", "region"],
              sensitive=["employed", "wage", "health"]),
    3_000, ("sex", "born", "school"), ("wage",), ("employed", "health", "region"),
    ("wage ~ school + born + year", "wage ~ school + born + C(sex) + C(health) + C(employed)"),
)  # fmt: skip
TABLES = (
    PANEL,
    replace(PANEL, name="panel with late entries", rows=refreshed),
    UnitTable(
        "rotating survey", rotating,
        hr.Schema(unit="household", wave="quarter", quasi=["region", "tenure", "size", "rooms"],
                  sensitive=["work", "income", "spent"]),
        3_000, ("region", "tenure", "size", "rooms"), ("income", "spent"), ("work",),
        ("income ~ size + rooms + quarter", "spent ~ income + size + C(work) + C(tenure)"),
    ),
    UnitTable(
        "sdcMicro's households", testdata,
        hr.Schema(household="ori_hid", member="relat", quasi=["urbrur", "relat", "sex", "age"],
                  sensitive=["water", "electcon", "hhcivil", "income"]),
        1_000, ("urbrur", "water", "electcon"), (), ("hhcivil",), ("income ~ age + C(sex) + C(hhcivil)",),
        {1: "head", 2: "spouse", 3: "child"},
    ),
    UnitTable(
        "households of up to 6", families,
        hr.Schema(household="home", member="member", quasi=["region", "age", "sex"],
                  sensitive=["tenure", "work", "income"]),
        3_000, ("region", "tenure"), ("income",), ("work",), ("income ~ age + C(sex) + C(tenure) + C(work)",),
        {"head": "head", "spouse": "spouse", "child": "child", "parent": "parent"},
    ),
    UnitTable(
        "hospital", hospital,
        hr.Schema(unit="patient", time="date", quasi=["sex", "born", "place"], sensitive=["diagnosis", "cost"]),
        2_000, ("sex", "born", "place"), ("cost",), ("diagnosis",),
        ("cost ~ born + C(sex) + C(diagnosis)",),
    ),
)  # fmt: skip
