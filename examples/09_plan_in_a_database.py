"""
A plan that runs inside a database
==================================

A plan becomes one SELECT, so that a warehouse recodes its own table and no record leaves it.
"""

import duckdb

import hedgerow as hr

people = hr.datasets.make_people(3_000, seed=1)
schema = hr.Schema(quasi=["age", "region"], sensitive=["income"], grid={"age": (20, 80, 10)})
release = hr.protect(people, schema, hr.MART(k=50, max_disclosure=0.5))
query = release.plan.to_sql("people")
print(query[:600])

# %%
# DuckDB runs it, and gives the rows of the release.

made = duckdb.sql(query).arrow().read_all().select(release.table.column_names)
order = [(name, "ascending") for name in made.column_names]
print("the same rows:", made.sort_by(order).to_pylist() == release.table.sort_by(order).to_pylist())

# %%
# Other databases spell it in their own way.

for dialect in ("spark", "bigquery", "snowflake"):
    print(dialect, len(release.plan.to_sql("people", dialect=dialect)), "signs")
