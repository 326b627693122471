"""Long tables for tests: a panel, households and visits; and what a written release of one must be, by pandas alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def panel(n: int = 70, seed: int = 2, waves: int = 3, present: float = 0.85) -> pd.DataFrame:
    """People in some of the waves: a constant sex, an age that moves, pay as a sum of two parts."""
    draw = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        sex, age, base = draw.choice(["f", "m"]), int(draw.integers(18, 80)), draw.lognormal(3, 0.4)
        for wave in range(waves):
            if draw.random() < present or wave == i % waves:
                wages, rent = round(base * draw.lognormal(0, 0.2), 1), round(draw.lognormal(1, 0.5), 1)
                job = draw.choice(["none", "nurse", "cook"])
                rows.append((1000 + i, 2020 + wave, sex, age + wave, job, wages, rent, round(wages + rent, 1)))
    names = ["person", "year", "sex", "age", "job", "wages", "rent", "pay"]
    return pd.DataFrame(rows, columns=names).sample(frac=1, random_state=seed).reset_index(drop=True)


def homes(n: int = 70, seed: int = 2) -> pd.DataFrame:
    """Households of a head, mostly a spouse, and children."""
    draw = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        age, region = int(draw.integers(22, 80)), draw.choice(["north", "south"])
        members = [("head", age)] + [("spouse", age - int(draw.integers(0, 4)))] * (draw.random() < 0.7)
        members += [("child", int(draw.integers(0, 18))) for _ in range(min(draw.poisson(1.0), 3))]
        for line, (relation, years) in enumerate(members, 1):
            rows.append((f"h{i:03d}", line, relation, region, years, int(draw.integers(0, 40)) * 100))
    names = ["home", "line", "relation", "region", "age", "income"]
    return pd.DataFrame(rows, columns=names).sample(frac=1, random_state=seed).reset_index(drop=True)


def visits(n: int = 70, seed: int = 2) -> pd.DataFrame:
    """Visits of patients on days that follow each other."""
    draw = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        day, sex = np.datetime64("2023-01-01") + int(draw.integers(0, 300)), draw.choice(["f", "m"])
        for _ in range(int(draw.integers(1, 5))):
            rows.append((f"p{i}", day, sex, int(draw.integers(1, 6)), draw.choice(["a", "b"])))
            day = day + int(draw.integers(1, 40))
    table = pd.DataFrame(rows, columns=["patient", "day", "sex", "dose", "drug"])
    table["day"] = table["day"].astype("datetime64[s]")
    return table.sample(frac=1, random_state=seed).reset_index(drop=True)


def faults(
    original: pd.DataFrame, released: pd.DataFrame, unit: str, by: str, order: str, people: int, who: str = ""
) -> list[str]:
    """Return what is wrong with a long release, from it and the original alone.

    Parameters
    ----------
    original, released : data frames
    unit, by : str
        The columns of units, and of waves, members or times.
    order : {"wave", "member", "time"}
    people : int
        Fewest units, or households in the column `who`, that share anything.
    who : str
        The column of what is counted; by default the units.
    """
    original = original.assign(**{"who is counted": original[who or unit]})
    released, found = released.copy(), set()
    ids = released.groupby(unit, sort=False).size()
    if {*map(str, ids.index)} & {*map(str, original[unit])}:
        found.add("an id of the original")
    if (released[unit] != released[unit].shift()).sum() != len(ids):
        found.add("rows of a unit stand apart")
    for table in (original, released):
        table["slot"] = table[by].astype(str)
    if order == "time":
        if any(list(days) != sorted(days) for _, days in released.groupby(unit)[by]):
            found.add("times fall")
        original = original.sort_values([unit, by], kind="stable")
        for table in (original, released):
            table["slot"] = table.groupby(unit).cumcount().astype(str)
    if order == "wave" and released.duplicated([unit, by]).any():
        found.add("two rows in a wave")
    if order != "member":
        units_in = original.groupby("slot")[unit].nunique()
        original = original[original["slot"].isin(units_in[units_in >= people].index)]
        patterns = original.groupby(unit)["slot"].apply(lambda slots: tuple(sorted(slots)))
        counted = original.groupby(unit)["who is counted"].first().groupby(patterns).nunique()
        theirs = {*released.groupby(unit)["slot"].apply(lambda slots: tuple(sorted(slots)))}
        # rare ones may be released as others that as many units stand for
        few = original.groupby(unit)["who is counted"].first()[patterns.map(counted) < people].nunique()
        if few < people and any(counted.get(pattern, 0) < people for pattern in theirs):
            found.add("rows of few")
    if len(ids) != original[unit].nunique():
        found.add("units are lost or made up")
    for name in released.columns.difference([unit, by, "slot"]):
        differing = int((original.groupby(unit)[name].nunique(dropna=False) > 1).sum())
        if differing == 0 and (released.groupby(unit)[name].nunique(dropna=False) > 1).any():
            found.add(f"{name}: two values of a unit")
        has_ties = order == "time" and original.duplicated([unit, by]).any()
        if order == "member" or has_ties or pd.api.types.is_numeric_dtype(released[name]):
            continue
        one_slot = differing < people
        slots: list[Any] = [None] if one_slot else sorted({*released["slot"]})
        for slot in slots:
            before, after = (t if one_slot else t[t["slot"] == slot] for t in (original, released))
            n = before.dropna(subset=[name]).groupby(before[name].astype(str))["who is counted"].nunique()
            if any(n.get(value, people) < people for value in after[name].dropna().astype(str).unique()):
                found.add(f"{name}: a value of few")
    return sorted(found)


def random_table(seed: int) -> tuple[pd.DataFrame, dict[str, Any], dict[str, Any]]:
    """Return a legal long table, the fields of its schema, and k with the cap and guard_people."""
    draw = np.random.default_rng(seed)
    n, waves = int(draw.integers(30, 200)), int(draw.integers(1, 6))
    order, kind = draw.choice(["wave", "time"], p=[0.7, 0.3]), draw.choice(["number", "text", "date"])
    present, hidden = draw.choice([0.6, 0.85, 1.0]), draw.random(n)
    sex, age, region = draw.choice(["f", "m"], n), draw.integers(18, 80, n), draw.choice(["n", "s", "w"], n)
    rows = [(i, w) for i in range(n) for w in range(waves) if draw.random() < present or w == i % waves]
    unit, wave = map(np.array, zip(*rows, strict=True))
    days = wave * 31 + (draw.integers(0, 30, len(rows)) if order == "time" else 0)
    by: Any = {"number": days, "text": [f"wave {d:03d}" for d in days], "date": np.datetime64("2020-01-01") + days}
    table = pd.DataFrame({"unit": unit * 7 + 13, "by": by["date" if order == "time" else kind]})
    table["by"] = table["by"].astype("datetime64[s]") if kind == "date" or order == "time" else table["by"]
    table["sex"], table["age"], table["region"] = sex[unit], age[unit] + wave, region[unit]
    table["pay"] = np.round(draw.lognormal(3 + hidden[unit], 0.4), int(draw.integers(0, 3)))
    table["few"], table["job"] = draw.integers(0, 4, len(rows)), draw.choice([f"j{i}" for i in range(9)], len(rows))
    table["a"], table["b"] = draw.integers(0, 50, len(rows)), draw.integers(0, 50, len(rows))
    table["total"], table["sector"] = table["a"] + table["b"], "s" + (table["job"].str[1].astype(int) // 3).astype(str)
    if draw.random() < 0.5:
        for name in ("sex", "pay", "job"):
            gone = draw.random(len(rows)) < draw.choice([0.05, 0.3])
            table[name] = table[name].astype(object if name != "pay" else float).mask(gone)
    quasi = [str(name) for name in draw.permutation(["sex", "age", "region"])[: draw.integers(1, 4)]]
    sensitive = [str(name) for name in draw.permutation(["pay", "few", "job"])[: draw.integers(1, 4)]]
    fields: dict[str, Any] = {"unit": "unit", str(order): "by", "quasi": quasi, "sensitive": sensitive}
    if draw.random() < 0.4:
        fields |= {"sensitive": [*sensitive, "a", "b", "total"], "rules": ["total = a + b"]}
    if {"pay", "few"} <= {*sensitive} and draw.random() < 0.5:
        fields["follows"] = {"pay": "few"}
    if draw.random() < 0.3:
        table["home"], fields["household"] = draw.integers(0, n // 2 + 1, n)[unit], "home"
    if draw.random() < 0.3:
        table["weight"], fields["weight"] = np.round(1 + 4 * hidden, 2)[unit], "weight"
    k = int(draw.choice([2, 3, 5, 10]))
    settings = {"k": k, "cap": draw.choice([0.5, 0.2, 1.0]), "people": None if draw.random() < 0.8 else k + 3}
    return table.sample(frac=1, random_state=seed).reset_index(drop=True), fields, settings
