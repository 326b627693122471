"""What a private tree keeps, and whether its noise is what was paid for.

    HEDGEROW_DATA=... python benchmarks/private.py use      at several epsilons, beside exact counts, MART and Hedge
    HEDGEROW_DATA=... python benchmarks/private.py rivals   the same of MST and AIM
    HEDGEROW_DATA=... python benchmarks/private.py advantage  of members, at epsilon 1
    python benchmarks/private.py --audit [--runs 20000] [--whole 2000]: lower bounds of epsilon from repeated releases

Use: R2 of boosting, ridge and a tree on people who were left out, trained on the release; means of five releases.
--table takes the tables whose names hold a text alone, --epsilon some epsilons, --releases another number of them.
MST and AIM are OpenDP's, in an environment of its own (build/rivals/opendp). They get the bins of numbers that
a PrivateTree of that epsilon has bought, free of charge.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from benchmarks.private_losses import bound, of_wholes
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import hedgerow as hr
from hedgerow.io.read import read
from hedgerow.methods.private.made_rows import PublicDraws, values_of
from hedgerow.methods.private.noise import OpenDP


class Exact(OpenDP):
    """No noise: what the tree and its leaves lose by themselves."""

    def laplace(self, counts: Any, sensitivity: int, epsilon: float) -> Any:
        """Return the counts."""
        return np.array(counts)

    def pick(self, scores: Any, sensitivity: int, epsilon: float) -> int:
        """Return the place of the largest score."""
        return int(np.argmax(scores))


def tables(part: str) -> list[tuple[str, pd.DataFrame, pd.DataFrame, hr.Schema]]:
    """Return name, people, strangers and schema of each case whose name holds a text."""
    made = hr.datasets.make_people(70_000, seed=5).to_pandas()
    quasi = ["age", "sex", "education", "job", "marital", "hours_per_week"]
    found = [
        (f"made people {n:,}, income", made[:n], made[50_000:], quasi, "income", (0, 10_000_000))
        for n in (50_000, 8_000)
    ]
    if folder := os.environ.get("HEDGEROW_DATA"):
        adult = pq.read_table(Path(folder) / "adult_train.parquet").to_pandas()
        others = pq.read_table(Path(folder) / "adult_test.parquet").to_pandas()
        quasi = ["age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex"]
        for n in (20_000, 8_000):
            people = adult.sample(n, random_state=1)
            found.append((f"Adult {n:,}, hours", people, others, quasi, "hours-per-week", (0, 100)))
    cases = []
    for name, people, strangers, quasi, target, bounds in (each for each in found if part in each[0]):
        words = [c for c in quasi if not pd.api.types.is_numeric_dtype(people[c])]
        schema = hr.Schema(
            quasi=quasi, sensitive=[target], unit=None,
            bounds={target: bounds, **{c: (0, 110) for c in quasi if c not in words}},
            categories={c: sorted(people[c].dropna().astype(str).unique()) for c in words},
        )  # fmt: skip
        as_text = dict.fromkeys(words, object)
        both = [each[[*quasi, target]].reset_index(drop=True).astype(as_text) for each in (people, strangers)]
        cases.append((name, both[0], both[1].dropna(subset=[target]), schema))
    return cases


def r2(released: pd.DataFrame, strangers: pd.DataFrame, schema: hr.Schema) -> list[float]:
    """Return R2 on strangers of boosting, ridge and a tree that were trained on a release."""
    target, quasi = schema.sensitive[0], list(schema.quasi)
    numbers = [c for c in quasi if c in schema.bounds]
    words = [c for c in quasi if c not in numbers]
    frames = []
    for frame in (released.dropna(subset=[target]).copy(), strangers.copy()):
        frame[words] = frame[words].astype(str)
        frame[numbers] = frame[numbers].apply(pd.to_numeric, errors="coerce").fillna(strangers[numbers].median())
        frames.append(frame)
    scores = []
    for model in (
        HistGradientBoostingRegressor(max_depth=4, max_iter=60, random_state=0),
        RidgeCV(np.logspace(-2, 4, 7)),
        DecisionTreeRegressor(min_samples_leaf=50, random_state=0),
    ):
        columns = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words), (StandardScaler(), numbers)
        )
        fitted = make_pipeline(columns, model).fit(frames[0][quasi], frames[0][target].astype(float))
        scores.append(fitted.score(frames[1][quasi], frames[1][target].astype(float)))
    return scores


def use(part: str, epsilons: list[float], releases: int) -> None:
    """Print what learners still learn."""
    for name, people, strangers, schema in tables(part):
        print(f"\n{name} ({len(people):,} people)      R2 of boosting, ridge, tree on strangers")
        line(f"{'original':<24}", [r2(people, strangers, schema)])
        exact = hr.PrivateTree(epsilon=4).measured(read(people), schema, Exact())
        line(f"{'the tree without noise':<24}", [r2(exact.rows().to_pandas(), strangers, schema)])
        for epsilon in epsilons:
            method = hr.PrivateTree(epsilon=epsilon)
            made = [hr.protect(people, schema, method).table for _ in range(releases)]
            line(f"{f'epsilon {epsilon:g}':<24}", [r2(each, strangers, schema) for each in made])
        roles = schema.replace(bounds={})
        line(f"{'Hedge, rows':<24}", [r2(hr.protect(people, roles, hr.Hedge()).table, strangers, schema)])
        means = hr.protect(people, roles, hr.MART(numeric="mean", categorical="weighted"), guard="none").table
        line(f"{'MART':<24}", [r2(one_each(means), strangers, schema)])


def one_each(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of MART with one category for each cell of several, drawn by their shares."""
    rng = np.random.default_rng(1)

    def draw(cell: Any) -> Any:
        if not isinstance(cell, str) or ":" not in cell:
            return cell
        values, counts = zip(*(part.rsplit(":", 1) for part in cell.split("+")), strict=True)
        shares = np.array(counts, float)
        return rng.choice(values, p=shares / shares.sum())

    return table.apply(lambda column: column.map(draw) if column.dtype == object else column)


def rivals(part: str, epsilons: list[float], releases: int) -> None:
    """Print what learners learn from MST and AIM, whose packages are installed for this alone."""
    from benchmarks.rivals import HERE, HOME, python_of

    python, home = python_of("opendp"), HOME / "opendp"
    for name, people, strangers, schema in tables(part):
        for epsilon in epsilons:
            print(f"\n{name} ({len(people):,} people)      R2 of boosting, ridge, tree on strangers")
            columns = hr.protect(people, schema, hr.PrivateTree(epsilon=epsilon)).plan.columns
            codes = {c.name: c.bins(c.column_of(read(people))).astype(np.int64) for c in columns}
            pd.DataFrame(codes).to_parquet(home / "codes.parquet")
            (home / "sizes.json").write_text(json.dumps({c.name: c.n_bins for c in columns}))
            for method in ("MST", "AIM"):
                begun, scores = time.perf_counter(), []
                for run in range(releases):
                    files = [home / name for name in ("codes.parquet", "sizes.json", "made.parquet")]
                    words = ["opendp", *files[:2], method.lower(), str(epsilon), files[2]]
                    subprocess.run([python, HERE / "rivals_made.py", *words], check=True, stderr=subprocess.DEVNULL)
                    made = pd.read_parquet(home / "made.parquet")
                    draws = PublicDraws(bytes([run + 1]) * 16)
                    cells = {
                        c.name: values_of(c, made[c.name].fillna(c.n_bins - 1).to_numpy(int), draws.uniform(len(made)))
                        for c in columns
                    }
                    scores.append(r2(pd.DataFrame({n: v.to_pandas() for n, v in cells.items()}), strangers, schema))
                seconds = (time.perf_counter() - begun) / releases
                line(f"{f'{method}, epsilon {epsilon:g} ({seconds:.0f} s)':<24}", scores)


def advantage(people: pd.DataFrame, strangers: pd.DataFrame, schema: hr.Schema, releases: int) -> None:
    """Print how much better models do on the table's people than on others, beside models that saw neither.

    These are trained on as many releases of third people, made in the same way, so that whatever else tells the two
    groups of people apart is in both.
    """
    half = len(strangers) // 2
    third, others = strangers[:half].reset_index(drop=True), strangers[half:]
    people = people.dropna(subset=[schema.sensitive[0]])

    def beyond(source: pd.DataFrame) -> Any:
        tables = [hr.protect(source, schema, hr.PrivateTree(epsilon=1)).table for _ in range(releases)]
        return np.array([np.subtract(r2(each, people, schema), r2(each, others, schema)) for each in tables])

    members, neither = beyond(people), beyond(third)
    line(f"{'advantage, epsilon 1':<24}", [members.mean(axis=0) - neither.mean(axis=0)])
    line(f"{'its standard error':<24}", [np.sqrt((members.var(axis=0) + neither.var(axis=0)) / (releases - 1))])


def line(label: str, scores: list[list[float]]) -> None:
    """Print means."""
    print(label, "  ".join(f"{each:.3f}" for each in np.mean(scores, axis=0)), flush=True)


def audit(runs: int, whole: int) -> None:
    """Print lower bounds of epsilon that hold but once in a thousand runs, from draws on two neighbouring tables."""
    source = OpenDP()
    print("part                promised   shown at least")
    for epsilon in (0.5, 1.0, 4.0):
        for part, draw in (
            ("count", lambda n, e=epsilon: source.laplace(np.array([n]), 1, e)[0]),
            ("choice", lambda n, e=epsilon: source.pick(np.array([n, 10 - n]), 1, e)),
            # with noise for three quarters of what a person changes: to see that this is caught
            ("count, short", lambda n, e=epsilon: source.laplace(np.array([n]), 3, 4 * e)[0]),
        ):
            row(part, epsilon, bound(*(np.array([draw(n) for _ in range(runs)]) for n in (5, 6))))
        row("whole transcript", epsilon, bound(*of_wholes(epsilon, source, whole)))


def row(part: str, epsilon: float, shown: float) -> None:
    """Print a bound."""
    print(f"{part:<18} {epsilon:9.2f}   {shown:8.2f}", flush=True)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("use", "rivals", "advantage"), default="use")
    parser.add_argument("--table", default="", help="a part of the names of tables, such as 'Adult 8'")
    parser.add_argument("--epsilon", type=float, nargs="+", default=(0.5, 1, 2, 4))
    parser.add_argument("--releases", type=int, default=5, help="of each table and epsilon")
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--runs", type=int, default=20_000, help="of a part, on each of two tables")
    parser.add_argument("--whole", type=int, default=2_000, help="of whole releases, on each of two tables")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    if given.audit:
        audit(given.runs, given.whole)
    elif given.what == "advantage":
        for name, people, strangers, schema in tables(given.table):
            print(f"\n{name} ({len(people):,} people)      boosting, ridge, tree")
            advantage(people, strangers, schema, given.releases)
    else:
        {"use": use, "rivals": rivals}[given.what](given.table, given.epsilon, given.releases)


if __name__ == "__main__":
    main()
