"""What attackers infer from releases: the tables of the guide to choosing k and max_disclosure.

*caps*: for every table and cap of MART groups, the worst group's disclosure, and what the best
attacker infers about members, the worst tenth of them, and strangers; the member advantage with
its interval. *anatomy*: Adult's occupation at l = 3: learners on values dealt at random inside buckets, what the
audit measures, and who is named right. The first 6,000 rows of every table; the whole of Adult's
complete records with --rows 40000 --part anatomy. *methods*: the three numbers of every method with its defaults
(Anatomy with l = 3; masked numbers do not stand in groups) on Adult's first 3,000 complete rows: what groups tell, what
learners infer, member advantage.

    HEDGEROW_DATA=... python benchmarks/inference.py [--rows 6000] [--tables adult,credit] [-k 10] \\
        [--part caps,anatomy]
    HEDGEROW_DATA=... python benchmarks/inference.py --part methods [--rows 3000] [--only hedge]
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hedgerow as hr
from hedgerow.auditing.inference import infer
from hedgerow.auditing.learners import TRAINED
from hedgerow.auditing.pairing import align

CAPS = (None, 0.5, 0.3, 0.2)
ADULT = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
CREDIT = ("status_checking_account", "credit_history", "purpose", "age", "housing", "job")
ALCOHOL = ("age", "race", "marital", "region", "empstatus", "educ", "limits")
CASES = (
    ("adult hours", "adult_train", ADULT, "hours-per-week"),
    ("adult occupation", "adult_train", ADULT, "occupation"),
    ("german credit", "german_credit", CREDIT, "credit_amount"),
    ("alcohol income", "alcohol_kenkel_terza", ALCOHOL, "income"),
)
NUMBERS = ("age", "education-num", "capital-gain")
METHODS: dict[str, Callable[[], Any]] = {
    "MART": lambda: hr.MART(categorical="concatenate"),
    "MART, cap .3": lambda: hr.MART(max_disclosure=0.3, categorical="concatenate"),
    "Hedge": lambda: hr.Hedge(screen=True),
    "Hedge, cap .3": lambda: hr.Hedge(max_disclosure=0.3, screen=True),
    "Mondrian, median": lambda: hr.Mondrian(),
    "Mondrian, loss": lambda: hr.Mondrian(objective="loss"),
    "Mondrian, regression": lambda: hr.Mondrian(objective="regression"),
    "Mondrian, information gain": lambda: hr.Mondrian(objective="information_gain"),
    "Datafly": lambda: hr.Datafly(),
    "Incognito": lambda: hr.Incognito(),
    "Anatomy": lambda: hr.Anatomy(3, random_state=1),
    "randomized response": lambda: hr.RandomizedResponse(1.5, random_state=1),
    "TPP": lambda: hr.TreePatternPreserving("tree", k=10),
    "local suppression": lambda: hr.LocalSuppression(),
    "PoROP": lambda: hr.PoROP(random_state=1),
    "LiROP": lambda: hr.LiROP(random_state=1),
    "microaggregation": lambda: hr.Microaggregation(),
    "noise": lambda: hr.NoiseAddition(random_state=1),
    "rank swapping": lambda: hr.RankSwapping(random_state=1),
    "top and bottom coding": lambda: hr.TopBottomCoding(top_share=0.05, bottom_share=0.05),
    "PRAM": lambda: hr.PRAM(random_state=1),
}
MASKS = ("PoROP", "LiROP", "microaggregation", "noise", "rank swapping", "top and bottom coding")
BUCKETS = (("age", "sex", "education", "native-country"), ADULT)


def read(file: str, columns: tuple[str, ...], rows: int, complete: bool = False) -> pa.Table:
    """The first rows of a table."""
    table = pq.read_table(Path(os.environ["HEDGEROW_DATA"]) / f"{file}.parquet")
    return (table.drop_null() if complete else table).select(list(columns)).slice(0, rows)


def releases(rows: int, wanted: list[str], methods: list[Any]) -> Iterator[tuple[str, Any, str]]:
    """Every table, released by every method; its name, release and sensitive column."""
    for name, file, quasi, sensitive in CASES:
        if wanted and not any(w in name for w in wanted):
            continue
        table = read(file, (*quasi, sensitive), rows)
        schema = hr.Schema(quasi=quasi, sensitive=(sensitive,))
        for method in methods:
            yield name, hr.protect(table, schema, method, guard=None), sensitive


def caps(rows: int, wanted: list[str], k: int) -> None:
    """What MART's caps do to what attackers infer."""
    head = "table | cap | groups | worst group | members | by | worst tenth | strangers | advantage | s"
    print(f"| {head} |\n|{'---|' * 10}")
    methods = [hr.MART(k=k, max_disclosure=cap, categorical="concatenate") for cap in CAPS]
    for name, release, sensitive in releases(rows, wanted, methods):
        began = time.monotonic()
        found = hr.inference(release.original, release.schema, release=release)
        column, told = found.columns[sensitive], release.summary()
        low, high = column["advantage"]["interval"]
        print(
            f"| {name} | {release.method.max_disclosure or 'none'} | {told['groups']['groups']} "
            f"| {told['disclosure']['worst']:.2f} | {column['members']['explained']:.3f} "
            f"| {column['members']['learner']} | {column['worst_tenth']['explained']:.3f} "
            f"| {column['strangers']['explained']:.3f} "
            f"| {column['advantage']['explained']:.3f} [{low:.3f}, {high:.3f}] "
            f"| {time.monotonic() - began:.1f} |",
            flush=True,
        )


def anatomy(rows: int) -> None:
    """Anatomy at l = 3: dealt values, and what its two tables say."""
    print("| quasi-identifiers | records | attacker | explained | strangers | right |")
    print("|---|---|---|---|---|---|")
    for quasi in BUCKETS:
        table = read("adult_train", (*quasi, "occupation"), rows, complete=True)
        schema = hr.Schema(quasi=quasi, sensitive=("occupation",))
        release = hr.protect(table, schema, hr.Anatomy(l=3, random_state=1))
        lines = [("best of four on dealt values", _dealt(table, schema, release), None)]
        found = hr.inference(table, schema, release=release).columns["occupation"]
        attacks = hr.audit(table, release, people=5_000, inference=False, learning=False).attacks
        right = {a["learner"]: a["success"] for a in attacks if a["attack"] == "regression"}
        for name, each in found["learners"].items():
            lines.append((name, each["members"]["explained"], each["strangers"]["explained"]))
        for name, explained, strangers in lines:
            rule = "" if strangers is None else f"{strangers:.3f}"
            named = f"{right[name]:.1%}" if name in right else ""
            print(f"| {len(quasi)} | {table.num_rows} | {name} | {explained:.3f} | {rule} | {named} |", flush=True)


def _dealt(table: pa.Table, schema: hr.Schema, release: Any) -> float:
    """What the best of four learners explains where each record is dealt a value of its bucket."""
    order = np.random.default_rng(0).permutation(table.num_rows)
    bucket = release.method.group_
    rows = np.empty(table.num_rows, np.int64)
    rows[np.argsort(bucket, kind="stable")] = order[np.argsort(bucket[order], kind="stable")]
    values = table.column("occupation").take(pa.array(rows))
    dealt = table.set_column(table.num_columns - 1, "occupation", values)
    found = infer(align(table, dealt, schema), folds=0, learners=TRAINED)
    return float(found.columns["occupation"]["members"]["explained"])


def methods(rows: int, only: str) -> None:
    """The three numbers of every method whose name holds a text."""
    table = read(
        "adult_train", (*dict.fromkeys((*ADULT, *NUMBERS, "occupation", "hours-per-week")),), rows, complete=True
    )
    print("| method | sensitive | worst group | mean | members | by | strangers | advantage | s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, make in METHODS.items():
        if only.lower() not in name.lower():
            continue
        for sensitive in ("occupation", "hours-per-week"):
            if sensitive == "hours-per-week" and name in ("Anatomy", "Mondrian, information gain"):
                continue  # they speak of categories
            _row(name, make(), table.to_pandas(), sensitive)


def _row(name: str, method: Any, table: Any, sensitive: str) -> None:
    quasi = NUMBERS if name in MASKS else ADULT if name != "PRAM" else ADULT[1:]
    if name == "TPP":
        method.set_params(response=sensitive)
    schema = hr.Schema(quasi=quasi, sensitive=(sensitive,))
    began = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            people = table[[*quasi, sensitive]]
            release = hr.protect(people, schema, method, guard=None)
            audit = hr.audit(people, release, attacks=False, learning=False).to_dict()
            column = hr.inference(people, schema, release=release).columns[sensitive]
    except hr.HedgerowError as error:
        print(f"| {name} | {sensitive} | {error} |", flush=True)
        return
    groups = audit["risk"]["release"]["sensitive"][sensitive]["disclosure"]
    classes = audit["table"]["yardstick"] == "classes"
    worst = f"{groups['worst']:.3f} | {groups['mean_over_groups']:.3f}" if classes else "- | -"
    own, strangers = column["members"], column["strangers"]
    beyond = "not measured | not measured"
    if strangers is not None:
        low, high = column["advantage"]["interval"]
        gain = column["advantage"]["explained"]
        beyond = f"{strangers['explained']:.3f} | {gain:.3f} [{low:.3f}, {high:.3f}]"
    print(
        f"| {name} | {sensitive} | {worst} | {own['explained']:.3f} | {own['learner']} | {beyond} "
        f"| {time.monotonic() - began:.0f} |",
        flush=True,
    )


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="6,000; of the part methods 3,000")
    parser.add_argument("--tables", default="")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--part", default="caps,anatomy")
    parser.add_argument("--only", default="", help="a part of the names of methods")
    given = parser.parse_args()
    wanted = [w.strip() for w in given.tables.split(",") if w.strip()]
    warnings.simplefilter("ignore")
    if "caps" in given.part:
        caps(given.rows or 6_000, wanted, given.k)
    if "anatomy" in given.part:
        anatomy(given.rows or 6_000)
    if "methods" in given.part:
        methods(given.rows or 3_000, given.only)


if __name__ == "__main__":
    main()
