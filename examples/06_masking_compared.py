"""
Masking methods compared
========================

Some tables must keep one number in every cell. Masking methods change the numbers; ``hr.score`` says
what that costs and what it leaves to an intruder.
"""

import matplotlib.pyplot as plt

import hedgerow as hr

people = hr.datasets.make_people(1_000, seed=1).select(["age", "hours_per_week", "income"])
people = people.to_pandas().dropna()

# %%
# *Loss* is how far means, variances, covariances and cells moved; *risk* is how many records an
# intruder links with their originals, and how many values stay near. Both are per cent, and low is
# good. ``random_state`` makes this page the same in every build; for a release leave it out.

methods = {
    "microaggregation, k = 5": hr.Microaggregation(k=5),
    "microaggregation, k = 25": hr.Microaggregation(k=25),
    "rank swapping, 5%": hr.RankSwapping(proportion=0.05, random_state=1),
    "rank swapping, 15%": hr.RankSwapping(proportion=0.15, random_state=1),
    "noise, 0.1": hr.NoiseAddition(scale=0.1, random_state=1),
    "noise, 0.3": hr.NoiseAddition(scale=0.3, random_state=1),
    "PoROP, blocks of 150": hr.PoROP(block_size=150, degree=2, random_state=1),
}
points = {}
for name, method in methods.items():
    found = hr.score(people, method.fit_transform(people))
    points[name] = found.il, found.dr
    print(f"{name}: loss {found.il:.1f}, risk {found.dr:.1f}, score {found.score:.1f}")

# %%

figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
for (name, point), marker in zip(points.items(), "ooss^^D", strict=True):
    axes.plot(*point, marker, label=name)
axes.set_xlim(left=0)
axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
axes.set_xlabel("information loss, per cent")
axes.set_ylabel("disclosure risk, per cent")
