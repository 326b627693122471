"""Random tables: what is rebuilt from the sanitized columns is what was built, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from tpp_tables import random_columns, random_responses

from hedgerow.methods.tpp import BoostingSettings, ForestSettings, TreeSettings
from hedgerow.methods.tpp.sanitize import Sanitizer
from hedgerow.methods.tpp.targets import PreservedModel


def random_tree(rng):
    criterion = str(rng.choice(["entropy", "gini", "gain_ratio", "variance"]))
    min_leaf = int(rng.integers(1, 6)) if rng.random() < 0.5 else 1
    return TreeSettings(criterion, n_splits=int(rng.integers(1, 8)), min_leaf=min_leaf)


def differences(columns, settings, classes, numbers):
    responses = [classes if s.classes else numbers for s in settings]
    sanitizer = Sanitizer(columns, responses, [PreservedModel(s) for s in settings])
    states = [sanitizer.state(step) for step in range(1, sanitizer.n_steps + 1)]
    return len(states), [d for d in map(sanitizer.compare, states) if d is not None]


@pytest.mark.parametrize("block", range(6))
def test_single_and_several_trees_of_every_kind(block):
    looked = 0
    for seed in range(60 * block, 60 * block + 60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 40))
        columns = random_columns(rng, n)
        settings = [random_tree(rng) for _ in range(int(rng.integers(1, 4)))]
        seen, found = differences(columns, settings, *random_responses(rng, n))
        looked += seen
        assert found == [], f"seed {seed}: {found[0]}"
    assert looked > 100


def test_forests_with_bootstrap_rows_and_feature_subsets():
    for seed in range(80):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 40))
        columns = random_columns(rng, n)
        forest = ForestSettings(4, seed=seed, max_features=max(1, len(columns) // 2), tree=random_tree(rng))
        _, found = differences(columns, [forest], *random_responses(rng, n))
        assert found == [], f"seed {seed}: {found[0]}"


def test_gradient_boosting():
    for seed in range(80):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 40))
        columns = random_columns(rng, n)
        classes, numbers = random_responses(rng, n)
        tree = TreeSettings("variance", n_splits=2, min_leaf=int(rng.integers(1, 4)))
        boosting = BoostingSettings(n_trees=4, learning_rate=0.5, tree=tree)
        _, found = differences(columns, [boosting], classes, numbers)
        assert found == [], f"seed {seed}: {found[0]}"


def test_the_tree_does_not_depend_on_record_order():
    from dataclasses import replace

    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 40))
        columns = random_columns(rng, n)
        classes, numbers = random_responses(rng, n)
        order = rng.permutation(n)
        for settings in (random_tree(rng), random_tree(rng)):
            y = classes if settings.classes else numbers
            shuffled = replace(y, codes=y.codes[order], y=y.y[order] if len(y.y) else y.y)
            target, other = PreservedModel(settings), PreservedModel(settings)
            target.fit(columns, y)
            other.fit([replace(c, codes=c.codes[order]) for c in columns], shuffled)
            assert target.trees[0].nodes == other.trees[0].nodes
            assert np.array_equal(target.trees[0].leaf[order], other.trees[0].leaf)
