"""Print the three numbers of every method on one table: what groups tell, what learners infer, member advantage.

Methods run with their defaults (Anatomy with l = 3; masked numbers do not stand in groups). Adult's
first complete rows, occupation and weekly hours sensitive.

    HEDGEROW_DATA=... python benchmarks/three_numbers.py [--rows 3000] [--only hedge]
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import hedgerow as hr

QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
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


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    path = Path(os.environ["HEDGEROW_DATA"]) / "adult_train.parquet"
    table = pq.read_table(path).to_pandas().dropna().head(given.rows)
    print("| method | sensitive | worst group | mean | members | by | strangers | advantage | s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, make in METHODS.items():
        if given.only.lower() not in name.lower():
            continue
        for sensitive in ("occupation", "hours-per-week"):
            if sensitive == "hours-per-week" and name in ("Anatomy", "Mondrian, information gain"):
                continue  # they speak of categories
            _row(name, make(), table, sensitive)


def _row(name: str, method: Any, table: Any, sensitive: str) -> None:
    quasi = NUMBERS if name in MASKS else QUASI if name != "PRAM" else QUASI[1:]
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


if __name__ == "__main__":
    main()
