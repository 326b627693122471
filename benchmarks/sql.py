"""What a plan as SQL costs in DuckDB, beside `Plan.apply` of the same plan.

    HEDGEROW_DATA=data python benchmarks/sql.py

Adult, eight quasi-identifiers, hours and occupation sensitive, k = 10; processor time of one thread.
"""

from __future__ import annotations

import time
import warnings

import duckdb

import hedgerow as hr
from hedgerow.methods.base import Method

QUASI = ("age", "workclass", "education", "marital-status", "relationship", "race", "sex", "native-country")
SENSITIVE = ("hours-per-week", "occupation")


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    people = hr.datasets.load_adult()
    schema = hr.Schema(quasi=QUASI, sensitive=SENSITIVE)
    hedge = hr.Hedge(k=10, max_disclosure=0.5, screen=False)
    methods: list[tuple[str, Method]] = [("MART", hr.MART(k=10)), ("Hedge", hedge)]
    print("method  leaves  characters  seconds as SQL  seconds of apply")
    for name, method in methods:
        plan = hr.protect(people, schema, method, guard=None).plan
        statement = plan.to_sql()
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.register("given", people)
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
            began = time.process_time()
            connection.sql(statement).to_arrow_table()
            in_sql = time.process_time() - began
        began = time.process_time()
        plan.apply(people)
        applied = time.process_time() - began
        leaves = plan.recoding.n_leaves  # type: ignore[attr-defined]
        print(f"{name:6}  {leaves:6}  {len(statement):10}  {in_sql:14.2f}  {applied:16.2f}")


if __name__ == "__main__":
    main()
