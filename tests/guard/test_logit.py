"""The rule that shares are smoothed towards, against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.guard import logit
from hedgerow.guard.features import Feature
from hedgerow.guard.logit import UNIT, FeatureRows, fit_logit, fit_rule


def people(n: int, seed: int) -> tuple[FeatureRows, np.ndarray, np.ndarray]:
    """Return the features of some people, their group and their class, of which the last is the rarest."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 5, n), rng.integers(0, 2, n)]
    features = [Feature(0, n, 1.0, np.array([-45, -22, 0, 22, 45, 0])), Feature(1, n, 1.0, np.array([-32, 32, 0]))]
    power = np.stack([1.5 + 0 * codes[0], 0.5 * codes[0] - 0.8, 0 * codes[0] - 0.5 * codes[1]], axis=1)
    chances = np.exp(power) / np.exp(power).sum(axis=1, keepdims=True)
    classes = (rng.random(n)[:, None] > np.cumsum(chances, axis=1)).sum(axis=1).clip(0, 2)
    return FeatureRows(features, codes), np.sort(rng.integers(0, n // 12, n)), classes


@given(n=st.integers(40, 200), seed=st.integers(0, 2**16))
def test_a_fitted_logit_has_no_slope(n: int, seed: int) -> None:
    rows, _, classes = people(n, seed)
    x, has = rows.read(slice(None), 2), np.eye(3)[classes]
    fitted, curvature = fit_logit(x, has)

    def slope(fitted: np.ndarray) -> np.ndarray:
        power = np.column_stack([x @ fitted, np.zeros(n)])
        shares = np.exp(power) / np.exp(power).sum(axis=1, keepdims=True)
        return np.asarray(x.T @ (has - shares)[:, :2] - np.array([[0.0], [1.0], [1.0]]) * fitted)

    assert np.abs(slope(fitted)).max() < 1e-5
    # the curvature is what the slope loses by a small step
    step = np.zeros_like(fitted)
    step[1, 0] = 1e-5
    lost = (slope(fitted) - slope(fitted + step)) / 1e-5
    assert np.allclose(curvature[:, 1], lost.T.ravel(), rtol=1e-3, atol=1e-3)


def test_the_rule_of_a_large_table_is_that_of_all_of_its_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third number differs from person to person, so that hardly two are alike and a sample is fitted first."""
    rows, _, classes = people(4000, 1)
    spread = np.append(np.rint(32 * np.random.default_rng(2).normal(size=4000)).astype(np.int64), 0)
    rows = FeatureRows([*rows.features, Feature(2, 4000, 1.0, spread)], [*rows.codes, np.arange(4000)])
    counts, least = np.bincount(classes), np.full(3, 50.0)
    wanted = fit_rule(rows, classes, counts, least)
    monkeypatch.setattr(logit, "AT_FIRST", (400, 400))
    found = fit_rule(rows, classes, counts, least)
    assert wanted is not None
    assert found is not None
    assert np.abs(found.coefficients - wanted.coefficients).max() < 0.01 * UNIT


@pytest.mark.parametrize("seed", range(3))
def test_the_rule_expects_as_many_people_with_a_rare_value_as_there_are(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few of a sample have it; a step by their curvature alone expected thousands where dozens were."""
    rng, n = np.random.default_rng(seed), 30_000
    codes = [rng.integers(0, 5, n) for _ in range(8)]
    features = [Feature(i, n // 5, 1.0, np.append(np.rint(32 * (np.eye(5)[v] - 0.2) / 0.4), 0).astype(np.int64))
                for i in range(8) for v in range(4)]  # fmt: skip
    classes = rng.integers(0, 6, n)
    classes[: 5 * 60] = 6 + np.arange(5 * 60) % 5
    counts = np.bincount(classes)
    monkeypatch.setattr(logit, "AT_FIRST", (2000, 2000))
    rule = fit_rule(FeatureRows(features, codes), classes, counts, np.full(11, 50.0))
    assert rule is not None
    shares = rule.shares(FeatureRows(features, codes), np.zeros(n, np.int64), np.array([n]))
    wanted = np.append(counts[rule.values], 0) / n
    wanted[-1] = 1 - wanted.sum()
    off = np.abs(shares[0] - wanted)
    assert off[wanted < 0.01].max() * n < 6
    assert (off < 0.03 * wanted).all()


def test_two_columns_of_few_values_are_fitted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _, classes = people(4000, 2)
    counts, least = np.bincount(classes), np.full(3, 50.0)
    wanted = fit_rule(rows, classes, counts, least)
    monkeypatch.setattr(logit, "AT_FIRST", (40, 40))
    found = fit_rule(rows, classes, counts, least)
    assert wanted is not None
    assert found is not None
    assert np.array_equal(found.coefficients, wanted.coefficients)


def test_a_group_is_expected_to_have_what_its_people_are() -> None:
    """The mean of their shares, not the share at their mean, which a group of unlike people is far from."""
    rows, labels, classes = people(600, 2)
    labels = labels // 10
    rule = fit_rule(rows, classes, np.bincount(classes), np.full(3, 50.0))
    assert rule is not None
    sizes = np.bincount(labels)
    power = rows.read(slice(None), 2) @ (rule.coefficients / UNIT)
    power = np.column_stack([power, np.zeros(600)])
    each = np.exp(power) / np.exp(power).sum(axis=1, keepdims=True)
    wanted = np.stack([each[labels == g].mean(axis=0) for g in range(len(sizes))])
    assert np.abs(rule.shares(rows, labels, sizes) - wanted).max() < 2**-20


def test_a_value_of_few_people_has_no_coefficients() -> None:
    rows, _, classes = people(600, 3)
    counts = np.bincount(classes)
    rule = fit_rule(rows, classes, counts, np.array([1.0, counts[1] + 1, counts[2] + 1]))
    assert rule is not None
    assert rule.values.tolist() == [0]
    assert fit_rule(rows, classes, counts, counts + 1.0) is None
    # a class of all others that has too few people gets no coefficients beside it either
    last = fit_rule(rows, classes, counts, np.array([1.0, 1.0, counts[2] + 1.0]))
    assert last is not None
    assert counts.sum() - counts[last.values].sum() >= 1
