"""
What a learner infers from a release
====================================

A cap limits what each group gives away. Somebody can still train a model on the whole table. This
example measures how much that model says about people in the table, and about people who are not.
"""

import matplotlib.pyplot as plt

import hedgerow as hr

people = hr.datasets.make_people(2_000, seed=1).select(["age", "education", "job", "income"])
schema = hr.Schema(quasi=["age", "education", "job"], sensitive=["income"])

# %%
# *Members* are the people in the table, *strangers* people whom the method never saw. The share of
# the uncertainty that the best of four learners takes away from strangers is the rule that the
# table teaches: that is what researchers want. What it takes away from members beyond that, the
# table gives away of its own people.

rows = {}
for name, method in {
    "MART, no cap": hr.MART(k=20, max_disclosure=None),
    "MART, cap 0.5": hr.MART(k=20, max_disclosure=0.5),
    "MART, cap 0.2": hr.MART(k=20, max_disclosure=0.2),
    "Hedge, cap 0.2": hr.Hedge(k=20, max_disclosure=0.2),
}.items():
    release = hr.protect(people, schema, method)
    learnt = hr.inference(people, schema, release=release).columns["income"]
    rows[name] = learnt["members"]["explained"], learnt["strangers"]["explained"]
    print(f"{name}: members {rows[name][0]:.2f}, strangers {rows[name][1]:.2f}")

# %%

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for at, (members, strangers) in enumerate(rows.values()):
    axes.plot([strangers, members], [at, at], "-", color="0.6", zorder=1)
    axes.plot(strangers, at, "s", color="C0", label="strangers" if at == 0 else None)
    axes.plot(members, at, "o", color="C1", label="members" if at == 0 else None)
axes.set_yticks(range(len(rows)), list(rows))
axes.invert_yaxis()
axes.set_xlabel("share of the uncertainty about income that the best learner takes away")
axes.legend(frameon=False)
