"""
A method in a scikit-learn pipeline
===================================

Every method is a scikit-learn transformer: the training folds are protected, a model learns from
them, and the test fold goes through the same recoding. This is the experiment of the papers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import hedgerow as hr

people = hr.datasets.make_people(3_000, seed=2).to_pandas()
people = people[["age", "years_schooling", "hours_per_week", "income"]].dropna()
X, y = people[["age", "years_schooling", "hours_per_week"]], np.log(people["income"])

# %%
# ``numeric="mean"`` releases group means, which a linear model reads as they are.

sizes = [2, 5, 10, 20, 50, 100]
scores = []
for k in sizes:
    method = hr.MART(k=k, max_disclosure=0.5, numeric="mean")
    scores.append(cross_val_score(make_pipeline(method, LinearRegression()), X, y, cv=5).mean())
unprotected = cross_val_score(LinearRegression(), X, y, cv=5).mean()
print(f"R2 on the original {unprotected:.3f}; on releases", [f"{s:.3f}" for s in scores])

# %%

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.plot(sizes, scores, "o-", label="learnt from releases")
axes.axhline(unprotected, color="0.5", linestyle="--", label="learnt from the original")
axes.set_xscale("log")
axes.set_xticks(sizes, sizes)
axes.set_xlabel("k")
axes.set_ylabel("R2 on people left out")
axes.legend(frameon=False)
