"""
Counts from randomized answers
==============================

Randomized response replaces values by chance, with chances that are published. No single record is
to be believed; counts can be estimated, with intervals.
"""

import warnings

import matplotlib.pyplot as plt

import hedgerow as hr

people = hr.datasets.make_people(20_000, seed=1).select(["sex", "education", "diagnosis"])
schema = hr.Schema(quasi=["sex", "education"], sensitive=["diagnosis"])

# %%
# ``l=4``: whoever finds somebody's own released record reads the true diagnosis from it with a
# chance of at most 1/4. The cautions name what this does not limit; here they are left out.

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    release = hr.protect(people, schema, hr.RandomizedResponse(l=4, random_state=1))
for name, chance in release.method.p_.items():
    print(f"{name} was kept with a chance of {chance:.2f}")

# %%
# The recipient has the randomized table and the chances, and nothing else.

found = hr.reconstruct(release)
told = found.group_by(["education"]).to_pylist()
true = people["education"].value_counts().to_pylist()
true = {each["values"]: each["counts"] for each in true}
print(told[0])

# %%

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for at, row in enumerate(told):
    axes.plot([row["lo"], row["hi"]], [at, at], color="C0", linewidth=5, alpha=0.35)
    axes.plot(row["count"], at, "o", color="C0", label="estimated, 95% interval" if not at else None)
    axes.plot(true[row["education"]], at, "k|", markersize=12, label="true" if not at else None)
axes.set_yticks(range(len(told)), [row["education"] for row in told])
axes.invert_yaxis()
axes.set_xlabel("people")
axes.legend(frameon=False)
