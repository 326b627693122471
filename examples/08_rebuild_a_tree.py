"""
A table that rebuilds a published tree
======================================

Somebody publishes a decision tree and a coarser table from which everybody can grow the very same
tree, split by split.
"""

import matplotlib.pyplot as plt
from sklearn.tree import DecisionTreeClassifier, plot_tree

import hedgerow as hr

people = hr.datasets.make_people(2_000, seed=1).to_pandas()
X, y = people[["age", "children", "income"]], people["smoker"]
settings = {"max_leaf_nodes": 3, "min_samples_leaf": 50, "random_state": 0}
published = DecisionTreeClassifier(**settings).fit(X, y)

# %%
# Columns that the tree does not use become one value; of the others only what the splits need is
# left.

method = hr.TreePatternPreserving(published, k=2).fit(X, y)
released = method.transform(X)
print(X.nunique().rename("values before").to_frame().assign(after=released.nunique()))

# %%
# The recipient grows a tree from the released table. It is the same tree, and ``verify_model`` says so.

again = DecisionTreeClassifier(**settings | {"max_leaf_nodes": method.n_steps_ + 1}).fit(released, y)
print(hr.verify_model(method.model_, released, y).identical)

# %%

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
plot_tree(again, feature_names=list(X.columns), impurity=False, ax=axes, fontsize=8)
