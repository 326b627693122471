"""Odd tables, as users bring them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from hedgerow.schema import Schema

PLAIN = Schema(quasi=["age", "job"], sensitive=["pay"])
SECRET_TEXT, SECRET_NUMBER = "Zebedee Quux 7781", 8675309.125
"""Values that no message may ever hold."""


def people(n: int = 40, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "job": np.array(["clerk", "cook", "nurse"])[rng.integers(0, 3, n)],
            "pay": rng.lognormal(8, 1, n).round(2),
        }
    )
    if n:
        frame.loc[0, ["job", "pay"]] = [SECRET_TEXT, SECRET_NUMBER]
    return frame


def changed(n: int = 40, **columns: Any) -> pd.DataFrame:
    return people(n).assign(**columns)


def _renamed() -> tuple[Any, Schema]:
    names = {"age": " the age.of it ", "job": 'job "quoted", with; all', "pay": "Gehalt (€) = 100%"}
    return people().rename(columns=names), Schema(quasi=[names["age"], names["job"]], sensitive=[names["pay"]])


def _dates() -> tuple[Any, Schema]:
    rng = np.random.default_rng(1)
    day = [dt.date(1899, 12, 30) + dt.timedelta(int(d)) for d in rng.integers(0, 60_000, 40)]
    stamp = pa.array([1_600_000_000_000_000 + int(s) for s in rng.integers(0, 10**12, 40)], pa.timestamp("us", "UTC"))
    table = pa.Table.from_pandas(people()).append_column("born", pa.array(day)).append_column("seen", stamp)
    return table, Schema(quasi=["born", "seen", "job"], sensitive=["pay"])


def _nulls() -> tuple[Any, Schema]:
    frame = people()
    for j, name in enumerate(frame.columns):
        frame[name] = frame[name].astype(object if name == "job" else float)
        frame.loc[frame.index % (3 + j) == 1, name] = None
    return frame, PLAIN


def _numbers() -> tuple[Any, Schema]:
    n = 40
    wide = [(-1) ** i * 1.5e308 for i in range(n)]
    tiny = [5e-324 * (i % 3) for i in range(n)]
    signed = [0.0 if i % 2 else -0.0 for i in range(n)]
    near = [1.0 + i % 5 * 2.220446049250313e-16 for i in range(n)]
    return (
        changed(wide=wide, tiny=tiny, signed=signed, near=near),
        Schema(quasi=["wide", "tiny", "signed", "near"], sensitive=["pay", "age"]),
    )


def _categories() -> tuple[Any, Schema]:
    odd = [
        "a+b",
        "a",
        "b",
        'q"q',
        "c:3",
        "[1-2]",
        "*",
        "(missing)",
        "",
        " edge ",
        "x,y;z",
        "line\nbreak",
        "=1+1",
        "nan",
        "None",
        "\t",
        "é́",
        "日本",
        "🦔",
    ]
    return changed(57, job=[odd[i % len(odd)] for i in range(57)]), PLAIN


def _categorical_type() -> tuple[Any, Schema]:
    frame = people()
    frame["job"] = pd.Categorical(frame["job"], categories=["unused", "nurse", "cook", SECRET_TEXT, "clerk"])
    frame["rank"] = pd.Categorical(["low", "high"] * 20, categories=["low", "middle", "high"], ordered=True)
    frame["grade"] = frame["rank"]
    return frame, Schema(quasi=["age", "job", "rank"], sensitive=["pay"])


def _mixed() -> tuple[Any, Schema]:
    return changed(job=[[1, "one", 2.5, None, True][i % 5] for i in range(40)]), PLAIN


def _nested() -> tuple[Any, Schema]:
    table = pa.Table.from_pandas(people()).append_column("list", pa.array([[i, i] for i in range(40)]))
    return table, Schema(quasi=["age", "list"], sensitive=["pay"])


def _figures() -> tuple[Any, Schema]:
    rng = np.random.default_rng(2)
    hours = rng.integers(10, 60, 40)
    return changed(hours=hours), Schema(quasi=["age", "hours"], sensitive=["pay"])


def _words() -> tuple[Any, Schema]:
    rng = np.random.default_rng(2)
    sex = np.array(["f", "m"])[rng.integers(0, 2, 40)]
    ill = np.array(["flu", "cold", "none"])[rng.integers(0, 3, 40)]
    frame = changed(sex=sex, ill=ill)
    frame.loc[0, "job"] = "cook"
    return frame, Schema(quasi=["job", "sex"], sensitive=["ill"])


def _dense() -> tuple[Any, Schema]:
    return people(0), PLAIN


TABLES: dict[str, Callable[[], tuple[Any, Schema]]] = {
    "plain": lambda: (people(), PLAIN),
    "numbers": _figures,
    "categories": _words,
    "polars": lambda: (pl.from_pandas(people()), PLAIN),
    "names with spaces, dots, quotes": _renamed,
    "duplicate index": lambda: (people().set_index(np.zeros(40, int)), PLAIN),
    "dates and times": _dates,
    "nulls everywhere": _nulls,
    "booleans": lambda: (changed(age=[i % 3 == 0 for i in range(40)], pay=[i % 2 == 0 for i in range(40)]), PLAIN),
    "booleans with nulls": lambda: (
        changed(age=pd.array([None if i % 7 == 0 else i % 3 == 0 for i in range(40)], "boolean")),
        PLAIN,
    ),
    "one row": lambda: (people(1), PLAIN),
    "two rows": lambda: (people(2), PLAIN),
    "no rows": _dense,
    "one column": lambda: (people()[["age"]], Schema(quasi=["age"])),
    "no quasi-identifier": lambda: (people(), Schema(sensitive=["pay"])),
    "no sensitive column": lambda: (people(), Schema(quasi=["age", "job"])),
    "constant quasi-identifiers": lambda: (changed(age=7, job="clerk"), PLAIN),
    "constant sensitive column": lambda: (changed(pay=SECRET_NUMBER), PLAIN),
    "constant sensitive category": lambda: (changed(pay=SECRET_TEXT), PLAIN),
    "categorical sensitive column": lambda: (people(), Schema(quasi=["age"], sensitive=["job"])),
    "every sensitive value once": lambda: (changed(pay=[f"{SECRET_TEXT} {i}" for i in range(40)]), PLAIN),
    "wholly missing quasi-identifier": lambda: (changed(age=np.nan), PLAIN),
    "wholly missing sensitive column": lambda: (changed(pay=np.nan), PLAIN),
    "infinite quasi-identifier": lambda: (changed(age=[np.inf, -np.inf, *range(38)]), PLAIN),
    "infinite sensitive column": lambda: (changed(pay=[np.inf, *map(float, range(39))]), PLAIN),
    "unicode and signs of the notation": _categories,
    "extreme numbers": _numbers,
    "large whole numbers": lambda: (
        changed(age=[2**62 + i % 9 for i in range(40)], pay=[2**63 + i % 4 for i in range(40)]),
        PLAIN,
    ),
    "decimals": lambda: (
        pa.table(
            {
                "age": pa.array([Decimal(i % 8) / 4 for i in range(40)]),
                "job": ["a", "b"] * 20,
                "pay": pa.array([Decimal(i * 7 % 11) / 10 for i in range(40)]),
            }
        ),
        PLAIN,
    ),
    "declared categories": _categorical_type,
    "mixed types": _mixed,
    "nested values": _nested,
    "text in a numeric column": lambda: (
        changed(age=[SECRET_TEXT, *map(str, range(39))]),
        PLAIN.replace(kinds={"age": "numeric"}),
    ),
    "a column that is not there": lambda: (people(), PLAIN.replace(quasi=["age", "jobb"])),
    "all rows alike": lambda: (pd.concat([people(4).iloc[[1]]] * 9 + [people(4).iloc[[2]]] * 9), PLAIN),
    "identifiers and others": lambda: (
        changed(name=[f"{SECRET_TEXT} {i}" for i in range(40)], note="x", **{"pay_sensitive": 1}),
        PLAIN.replace(identifiers=["name"], other=["note"]),
    ),
}
