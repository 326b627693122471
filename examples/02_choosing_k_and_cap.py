"""
Choosing k and the cap
======================

Every release gives some utility for some disclosure. The frontier tries several settings and shows
which of them no other setting beats.
"""

import hedgerow as hr

people = hr.datasets.make_people(2_000, seed=1).select(["age", "education", "job", "income"])
schema = hr.Schema(quasi=["age", "education", "job"], sensitive=["income"])
found = hr.frontier(people, schema, [hr.MART(), hr.Hedge()], k=[10, 20, 40], max_disclosure=[0.2, 0.35, 0.5, 0.7])

# %%
# Left is less disclosure, up is more utility. Faint points are beaten by another release on both.

found.plot()

# %%
# Name a bound, and the most useful release within it is chosen. Its row says what was asked and
# what was reached.

best = found.best(target_disclosure=0.35, target_k=10)
print(best.method, best.parameters)
print(f"k {best.k}, worst group {best.worst:.2f}, utility {best.utility:.2f}")

# %%
# The release of that point, verified like every other:

release = found.release(best)
print(release)
