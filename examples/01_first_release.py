"""
A first release
===============

Protect a table, look at what became of it, and write the folder that you hand out from.
"""

# %%
# The people here are made; a path, a pandas, Polars or Arrow table does as well. The schema says
# what each column is: an intruder may know the *quasi*-identifiers, must not infer the *sensitive*
# columns, and gets no *identifiers* at all.

import hedgerow as hr

people = hr.datasets.make_people(3_000, seed=1).to_pandas()
people = people[["person_id", "age", "sex", "job", "income"]]
schema = hr.Schema(quasi=["age", "sex", "job"], sensitive=["income"], identifiers=["person_id"])

# %%
# People are put into groups, and every released cell is drawn so that groups keep their means, spreads and
# shares: no row was copied from a person. ``k=10``: groups have at least ten people.
# ``max_disclosure=0.5``: a group takes at most half of the uncertainty about its members' income away. Both are
# checked on the released table before you get it, and both are what you get if you name no method.

release = hr.protect(people, schema, hr.Hedge(k=10, max_disclosure=0.5))
for check in release.verify():
    print("holds" if check.holds else "BROKEN", check.name)

# %%
# Each dot is a group: how many records it has, and how much it gives away. The line is the promise.

release.plot()

# %%
# The same column before and after.

release.plot("age")

# %%
# In a notebook a release shows five of its rows and what was reached.

release
