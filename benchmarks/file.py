"""What a released file shows, whatever was promised of the groups behind it.

python benchmarks/file.py ward                           # a ward of ill people, under a cap
HEDGEROW_DATA=... python benchmarks/file.py intervals    # how often 95% intervals hold
HEDGEROW_DATA=... python benchmarks/file.py foreign      # what an audit says of files that somebody else made
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hedgerow as hr

Array = np.ndarray[Any, Any]


def ward(people: int, seed: int, n: int = 3_000) -> pd.DataFrame:
    """Make n people, of whom the given number live in ward X and are all ill; elsewhere 5% are."""
    draws = np.random.default_rng(seed)
    wards, ill = draws.choice(list("ABCDEFGH"), n).astype(object), draws.random(n) < 0.05
    wards[:people], ill[:people] = "X", True
    who = {"ward": wards, "age": draws.integers(18, 90, n), "sex": draws.choice(["f", "m"], n)}
    return pd.DataFrame({**who, "ill": np.where(ill, "yes", "no")})


def wards(keys: int) -> None:
    """Print the share of the ward's released rows that are ill, and the cap that the groups keep."""
    schema = hr.Schema(quasi=["ward", "age", "sex"], sensitive=["ill"])
    for people in (20, 100, 600):
        for cap in (0.2, 0.5):
            shown, reached = [], []
            for seed in range(keys):
                release = hr.protect(ward(people, seed), schema, hr.Hedge(max_disclosure=cap), random_state=seed)
                rows = release.table
                shown.append((rows["ill"][rows["ward"] == "X"] == "yes").mean())
                reached.append(release.summary()["disclosure"]["worst"])
            spread = f"{np.mean(shown):.2f} ({min(shown):.2f} to {max(shown):.2f})"
            print(f"| {people} | {cap} | {spread} | {np.mean(reached):.3f} |")


QUASI = ["age", "sex", "race", "marital-status", "education-num", "workclass"]
SENSITIVE = ["hours-per-week", "capital-gain", "income"]


def _regressors(people: pd.DataFrame) -> tuple[Array, Array, Array]:
    """Return regressors with a constant, hours of work, and whether income is above 50,000."""
    columns = [
        np.ones(len(people)),
        people["age"].astype(float) / 10,
        people["education-num"].astype(float),
        (people["sex"].astype(str) == "Female").astype(float),
        (people["marital-status"].astype(str) == "Married-civ-spouse").astype(float),
    ]
    rich = (people["income"].astype(str) == ">50K").to_numpy(float)
    return np.column_stack(columns), people["hours-per-week"].to_numpy(float), rich


def linear(people: pd.DataFrame) -> tuple[Array, Array]:
    """Return coefficients of hours of work, and their standard errors (White)."""
    x, hours, rich = _regressors(people)
    x = np.column_stack([x, rich])
    inverse = np.linalg.inv(x.T @ x)
    slopes = inverse @ x.T @ hours
    rest = hours - x @ slopes
    return slopes, np.sqrt(np.diag(inverse @ ((x.T * rest**2) @ x) @ inverse))


def logit(people: pd.DataFrame) -> tuple[Array, Array]:
    """Return coefficients of a logit of high income, and their standard errors."""
    x, _, rich = _regressors(people)
    slopes = np.zeros(x.shape[1])
    for _ in range(30):
        share = 1 / (1 + np.exp(-x @ slopes))
        curvature = x.T @ (x * (share * (1 - share))[:, None])
        slopes = slopes + np.linalg.solve(curvature, x.T @ (rich - share))
    return slopes, np.sqrt(np.diag(np.linalg.inv(curvature)))


def means(people: pd.DataFrame) -> tuple[Array, Array]:
    """Return means of hours and of high income in five groups, and their standard errors."""
    _, hours, rich = _regressors(people)
    groups = [
        np.ones(len(people), bool),
        people["sex"].astype(str) == "Female",
        people["age"].astype(float) < 30,
        people["race"].astype(str) == "Black",
        people["education-num"].astype(float) >= 13,
    ]
    parts = [values[np.asarray(group)] for values in (hours, rich) for group in groups]
    return np.array([p.mean() for p in parts]), np.array([p.std(ddof=1) / len(p) ** 0.5 for p in parts])


ESTIMATES: dict[str, Callable[[pd.DataFrame], tuple[Array, Array]]] = {"linear": linear, "logit": logit, "means": means}


def intervals(repeats: int, n: int = 3_000) -> None:
    """Print how often 95% intervals from samples and from their drawn rows hold the population's value."""
    data = Path(os.environ["HEDGEROW_DATA"])
    parts = [pd.read_parquet(data / f"adult_{part}.parquet") for part in ("train", "test")]
    people = pd.concat(parts).dropna().reset_index(drop=True)[QUASI + SENSITIVE]
    schema = hr.Schema(quasi=QUASI, sensitive=SENSITIVE)
    held: dict[str, list[list[Array]]] = {name: [] for name in ESTIMATES}
    for seed in range(repeats):
        sample = people.sample(n, random_state=seed).reset_index(drop=True)
        drawn = hr.protect(sample, schema, random_state=seed).table
        for name, estimate in ESTIMATES.items():
            truth = estimate(people)[0]
            row = []
            for table, factors in ((sample, (1,)), (drawn, (1, 2, 3))):
                values, errors = estimate(table)
                row += [np.abs(values - truth) <= 1.96 * factor * errors for factor in factors]
            held[name].append(row)
    for name, rows in held.items():
        shares = np.array(rows).mean(axis=(0, 2))
        print(f"| {name} | " + " | ".join(f"{share:.2f}" for share in shares) + " |")


FOREIGN = {
    "adult": (
        "adult_train",
        ["age", "sex", "education", "marital-status"],
        ["hours-per-week", "capital-gain", "fnlwgt"],
    ),
    "german": ("german_credit", ["age", "job", "housing"], ["credit_amount", "duration_months"]),
    "alcohol": ("alcohol_kenkel_terza", ["age", "race", "region"], ["income", "drinks"]),
    "census": ("census_income_kdd_train", ["age", "sex", "education"], ["wage_per_hour", "instance_weight"]),
}


def made_files(people: pd.DataFrame, others: pd.DataFrame, number: str, seed: int) -> dict[str, pd.DataFrame]:
    """Return files that say nothing, everything, or a part of the people, which an audit gets unpaired."""
    files = {"other people": others, "the people, shuffled": people.sample(frac=1, random_state=seed)}
    for share in (0.01, 0.03):
        n = round(share * len(people))
        files[f"{share:.0%} of the people's rows"] = pd.concat([people.sample(n, random_state=seed), others[n:]])
    n = max(1, len(people) // 100)
    files["top 1% by a number"] = pd.concat([people.nlargest(n, number), others[n:]])
    hidden = others[number].rank() + people[number].to_numpy() / 10.0 ** (len(str(int(people[number].max()))) + 1)
    files["a number in decimals"] = others.assign(**{number: hidden})
    return files


def foreign(keys: int, n: int = 500) -> None:
    """Print how often an audit names a reason for care, and the first one, for files of several tables."""
    from hedgerow.report.reasons import reasons

    data = Path(os.environ["HEDGEROW_DATA"])
    said: dict[str, list[str]] = {}
    for name, quasi, sensitive in FOREIGN.values():
        table = pd.read_parquet(data / f"{name}.parquet")[quasi + sensitive].dropna()
        schema = hr.Schema(quasi=quasi, sensitive=sensitive)
        for seed in range(keys):
            rows = table.sample(2 * n, random_state=seed).reset_index(drop=True)
            people, others = rows[:n], rows[n:].reset_index(drop=True)
            for what, file in made_files(people, others, sensitive[0], seed).items():
                found = hr.audit(people, file, schema, paired=False, attacks=False, learning=False)
                clauses = [text.replace(f"{n:,}", "n") for text in reasons(found.to_dict(), None)]
                said.setdefault(what, []).append(clauses[0] if clauses else "")
    for what, clauses in said.items():
        most = max(set(clauses), key=clauses.count)
        print(f"| {what} | {sum(map(bool, clauses))} of {len(clauses)} | {most[:100]} |")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["ward", "intervals", "foreign"])
    options.add_argument("--keys", type=int, default=20, help="releases of each ward")
    options.add_argument("--repeats", type=int, default=60, help="samples whose intervals are computed")
    given = options.parse_args()
    warnings.filterwarnings("ignore")
    if given.what == "ward":
        wards(given.keys)
    elif given.what == "foreign":
        foreign(given.keys)
    else:
        intervals(given.repeats)
