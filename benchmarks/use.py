"""What learners still learn from a release, and what they learn of its own people.

For every table, cap and method: two thirds of at most 9,000 rows are released, one third is left
out. Boosting, ridge (linear) and a tree learn from the released cells as a recipient decodes them
(ranges at their middle, joined categories as shares) and are asked about true values: of the
people left out (what the release is good for) and of the members; the difference is the member
advantage, what the table gives away of its own people. R2 of numbers; a category counts as a 0/1
number, its most frequent value. Means over the sensitive columns and over the splits.

    HEDGEROW_DATA=... python benchmarks/use.py [--splits 3] [--rows 9000] [--tables adult,credit]
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hedgerow as hr
from hedgerow.audit.design_matrix import design_known, design_released, known_rows, known_table
from hedgerow.audit.pairing import Pair, align
from hedgerow.table import Table, read

K = 10
CAPS = (0.5, 0.3, 0.2)


@dataclass(frozen=True)
class Case:
    """A table with its roles."""

    name: str
    file: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]


ADULT = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
CENSUS = ("age", "sex", "race", "education", "marital_stat", "major_occupation_code")
CREDIT = (
    "status_checking_account", "credit_history", "purpose", "savings_account_bonds",
    "employment_since", "personal_status_sex", "property", "age", "housing", "job",
)  # fmt: skip
CASES = (
    Case("adult hours", "adult_train", ADULT, ("hours-per-week",)),
    Case("adult occupation", "adult_train", ADULT, ("occupation",)),
    Case("german credit", "german_credit", CREDIT, ("credit_amount", "duration_months")),
    Case("alcohol", "alcohol_kenkel_terza",
         ("age", "race", "marital", "region", "empstatus", "educ", "limits"), ("drinks", "income")),
    Case("census weeks", "census_income_kdd_train", CENSUS, ("weeks_worked_in_year",)),
    Case("census wage", "census_income_kdd_train", CENSUS, ("wage_per_hour",)),
    Case("french portfolio", "fr_disability_portfolio",
         ("BirthDate", "Gender", "EntryDate"), ("ExitStatus",)),
)  # fmt: skip


def learners() -> dict[str, Any]:
    """The learners of the protocol."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.tree import DecisionTreeRegressor

    return {
        "boosting": HistGradientBoostingRegressor(
            max_iter=60, min_samples_leaf=20, learning_rate=0.08, early_stopping=False,
            random_state=0,
        ),
        "ridge": Ridge(alpha=1.0),
        "tree": DecisionTreeRegressor(min_samples_leaf=20, random_state=0),
        "nearest": KNeighborsRegressor(10),
    }  # fmt: skip


def sample(folder: Path, case: Case, rows: int, seed: int) -> tuple[Table, Table]:
    """People to release, and people left out."""
    columns = [*case.quasi, *case.sensitive]
    table = pq.read_table(folder / f"{case.file}.parquet", columns=columns)
    table = table.filter(pa.compute.is_valid(table.column(case.sensitive[0])))
    chosen = np.random.default_rng(seed).permutation(table.num_rows)[:rows]
    cut = len(chosen) * 2 // 3
    return read(table.take(np.sort(chosen[:cut]))), read(table.take(np.sort(chosen[cut:])))


def targets(table: Table, like: Table, name: str) -> np.ndarray:
    """The column as numbers; a category as whether it is the most frequent one of `like`."""
    if like.kind(name) in ("numeric", "date"):
        return table.arrow.column(name).cast(pa.float64()).to_numpy()
    column = like.column(name)
    top = column.values[int(column.counts()[:-1].argmax())]
    return np.array([float(str(v) == top) for v in table.arrow.column(name).to_pylist()])


def r2(model: Any, x: np.ndarray, y: np.ndarray, mean: float) -> float:
    """Share of the squared error of the released mean that the model takes away."""
    guess = model.predict(x)
    return 1 - float(((y - guess) ** 2).sum()) / float(((y - mean) ** 2).sum())


def measured(pair: Pair, members: Table, others: Table, released: Table, case: Case) -> Any:
    """{learner: (R2 on people left out, R2 on members)}."""
    rows = np.arange(pair.n_rows)
    shown = design_released(pair.released_quasi, rows)
    own = design_known(pair.released_quasi, known_rows(pair.released_quasi, rows))
    strange = design_known(pair.released_quasi, known_table(pair.released_quasi, others))
    found: dict[str, list[tuple[float, float]]] = {}
    for name in case.sensitive:
        y = targets(released, members, name)[pair.released_rows]
        truth, theirs = targets(members, members, name)[pair.rows], targets(others, members, name)
        for learner, model in learners().items():
            model.fit(shown, y)
            mean = float(truth.mean())
            found.setdefault(learner, []).append(
                (r2(model, strange, theirs, mean), r2(model, own, truth, mean))
            )
    return {learner: np.mean(values, axis=0) for learner, values in found.items()}


def methods(cap: float | None) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The methods that are compared under a cap, or without one."""
    if cap is None:
        yield "MART uncapped", lambda: hr.MART(k=K, max_disclosure=None)
        yield "Hedge uncapped", lambda: hr.Hedge(k=K, max_disclosure=None)
        yield "Mondrian loss", lambda: hr.Mondrian(k=K, objective="loss")
    else:
        yield f"MART {cap}", lambda: hr.MART(k=K, max_disclosure=cap)
        yield f"Hedge {cap}", lambda: hr.Hedge(k=K, max_disclosure=cap)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=9_000)
    parser.add_argument("--tables", default="")
    given = parser.parse_args()
    folder = Path(os.environ["HEDGEROW_DATA"])
    wanted = [w.strip() for w in given.tables.split(",") if w.strip()]
    print(f"{'table':<18} {'method':<16} groups  R2 boosting/ridge/tree   member advantage b/t/n")
    for case in CASES:
        if wanted and not any(w in case.name for w in wanted):
            continue
        schema = hr.Schema(quasi=case.quasi, sensitive=case.sensitive)
        for cap in (None, *CAPS):
            for title, make in methods(cap):
                parts, groups = [], []
                for split in range(given.splits):
                    members, others = sample(folder, case, given.rows, split)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        release = hr.protect(members, schema, make())
                        released = read(release.table)
                        pair = align(members, released, schema, allow_outside=True)
                        parts.append(measured(pair, members, others, released, case))
                    groups.append(pair.classes.n_groups)
                made = {name: np.mean([p[name] for p in parts], axis=0) for name in parts[0]}
                use = "/".join(f"{made[n][0]:.3f}" for n in ("boosting", "ridge", "tree"))
                own = "/".join(
                    f"{made[n][1] - made[n][0]:.3f}" for n in ("boosting", "tree", "nearest")
                )
                print(f"{case.name:<18} {title:<16} {np.mean(groups):6.0f}  {use:<24} {own}")


if __name__ == "__main__":
    main()
