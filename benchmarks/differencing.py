"""What an intruder who knows all members of a group but one reads about that one's quasi-identifiers.

    python benchmarks/differencing.py [--rows 3000] [-k 10]

Numbers: the values that the released mean or range leaves open, beside the column's standard
deviation. Categories: how many the released shares or set leaves open.
"""

from __future__ import annotations

import argparse
import warnings

import pandas as pd

import hedgerow as hr
from hedgerow.notation import parse_range, split_concatenation

NUMBER, CATEGORY = "age", "job"


def of_number(cell: object, step: float, values: pd.Series, at: int) -> float:
    """How wide the interval is that is left for one member's number."""
    others = values.drop(at)
    if step:  # n means within half a step sum to within n half steps
        return len(values) * step
    low, high = parse_range(str(cell)) or (values.min(), values.max())
    if low < others.min() or high > others.max():  # an end that nobody else has
        return 0.0
    return high - low


def of_category(cell: str, counts: bool, values: pd.Series, at: int) -> int:
    """How many categories are left for one member."""
    parts = [name for name, _ in split_concatenation(cell)]
    others = set(values.drop(at))
    if counts or len(parts) == 1 or set(parts) - others:
        return 1
    return len(parts)


def table(rows: int, k: int) -> pd.DataFrame:
    """One line a method."""
    people = hr.datasets.make_people(rows, seed=1).to_pandas()
    schema = hr.Schema(quasi=[NUMBER, "education", CATEGORY], sensitive=["income"])
    made = []
    for method in (hr.Hedge(k=k), hr.MART(k=k)):
        release = hr.protect(people, schema, method, guard=None)
        own = people.iloc[release.rows].reset_index(drop=True)
        steps = {c.name: getattr(c, "step", 0.0) for c in release.plan.recoding.columns}
        counts = type(method) is hr.Hedge
        widths, left = [], []
        for _, rows_of in release.table.groupby(list(schema.quasi), observed=True).groups.items():
            cell = release.table.loc[rows_of[0]]
            for at in rows_of:
                widths.append(of_number(cell[NUMBER], steps[NUMBER], own.loc[rows_of, NUMBER], at))
                left.append(of_category(str(cell[CATEGORY]), counts, own.loc[rows_of, CATEGORY], at))
        wide, many = pd.Series(widths), pd.Series(left)
        made.append(
            {
                "method": type(method).__name__,
                "people": len(wide),
                f"{NUMBER} exact": f"{(wide == 0).mean():.1%}",
                f"{NUMBER} left open, median in standard deviations": round(wide.median() / people[NUMBER].std(), 2),
                f"{CATEGORY} exact": f"{(many == 1).mean():.1%}",
            }
        )
    return pd.DataFrame(made)


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=3000)
    asked.add_argument("-k", type=int, default=10)
    given = asked.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(table(given.rows, given.k).to_string(index=False))
