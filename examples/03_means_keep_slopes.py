"""
Why group means keep slopes
===========================

A researcher fits a straight line to a released table. Ranges, read at their middles, bend the line;
means of groups hardly do. This is what the groups of ``Hedge`` were made for.
"""

import matplotlib.pyplot as plt
import numpy as np

import hedgerow as hr

people = hr.datasets.make_people(4_000, seed=3).to_pandas()
schema = hr.Schema(quasi=["age", "years_schooling", "sex"], sensitive=["log_income"])
people["log_income"] = np.log(people["income"])
people = people[["age", "years_schooling", "sex", "log_income"]].dropna()


def middle(cell):
    """A range is read at its middle, a number as it is."""
    low, _, high = str(cell).strip("[]").partition("-")
    return (float(low) + float(high or low)) / 2


def slope(x, y):
    x, y = np.asarray(x, float), np.asarray(y, float)
    return np.polyfit(x, y, 1)


# %%
# The same people three times: as they are, as ranges, and as means of groups. ``guard=None`` keeps the
# exact incomes, so that only the quasi-identifiers differ.

ranges = hr.protect(people, schema, hr.Hedge(numeric="range"), guard=None).table
means = hr.protect(people, schema, hr.Hedge(cells="means"), guard=None).table
lines = {
    "original": slope(people["years_schooling"], people["log_income"]),
    "middles of ranges": slope(ranges["years_schooling"].map(middle), ranges["log_income"]),
    "means of groups": slope(means["years_schooling"], means["log_income"]),
}
for name, (rise, _) in lines.items():
    print(f"{name}: one more year of schooling, {100 * rise:.1f}% more income")

# %%

x = np.linspace(people["years_schooling"].min(), people["years_schooling"].max(), 2)
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for (name, line), style in zip(lines.items(), ("k-", "C1--", "C2-."), strict=True):
    axes.plot(x, np.polyval(line, x), style, label=name)
axes.set_xlabel("years of schooling")
axes.set_ylabel("log of income")
axes.legend(frameon=False)
