"""The least loss of groups of at least k: below every partition, and reached in one column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

import hedgerow as hr
from hedgerow.methods.microaggregation import best_runs, least_loss, near_sum


def groupings(n: int, k: int) -> Iterator[list[list[int]]]:
    """Every partition of n rows into groups of at least k."""

    def grown(row: int, groups: list[list[int]]) -> Iterator[list[list[int]]]:
        if row == n:
            if all(len(g) >= k for g in groups):
                yield groups
            return
        for i in range(len(groups)):
            yield from grown(row + 1, [*groups[:i], [*groups[i], row], *groups[i + 1 :]])
        yield from grown(row + 1, [*groups, [row]])

    yield from grown(0, [])


def best(points: NDArray[np.float64], k: int) -> float:
    """The least loss, by trying every partition."""
    return min(
        sum(float(((points[g] - points[g].mean(axis=0)) ** 2).sum()) for g in groups)
        for groups in groupings(len(points), k)
    )


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_no_partition_loses_less(columns: int, k: int) -> None:
    near = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(8, columns)) * 10.0 ** rng.integers(0, 3, columns)
        points[rng.random(points.shape) < 0.2] = 0.0  # ties, and records that are equal
        optimum, bound = best(points, k), least_loss(points, k)
        assert 0 <= bound <= optimum
        assert near_sum(points, k) / (2 * k) <= optimum * (1 + 1e-12)
        near.append(bound / optimum)
        assert least_loss(points[rng.permutation(8)], k) == bound
    if columns == 1:
        assert near == pytest.approx([1.0] * 6)
    else:
        assert np.mean(near) > 0.4  # a bound of 0 would be one as well


def test_runs_of_one_column_by_hand() -> None:
    assert best_runs(np.array([0.0, 1.0, 5.0, 7.0, 9.0]), 2) == pytest.approx(0.5 + 8.0)


def test_what_is_too_small_to_part_is_one_group() -> None:
    points = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 9.0]])
    assert least_loss(points, 2) == pytest.approx(best(points, 2))
    assert least_loss(np.zeros((4, 0)), 2) == 0.0


@pytest.mark.parametrize("grouping", ["mdav", "v-mdav"])
def test_microaggregation_tells_how_near_it_comes(grouping: str) -> None:
    rng = np.random.default_rng(3)
    table = {"a": rng.normal(size=200).tolist(), "b": rng.normal(size=200).tolist()}
    method = hr.Microaggregation(5, grouping=grouping)
    schema = hr.Schema(quasi=["a", "b"])
    (point,) = hr.frontier(table, schema, method, k=[5]).points
    assert 0.3 < point.least_loss / point.loss <= 1
    assert point.of_optimum == point.least_loss / point.loss
    alone = hr.Microaggregation(5, grouping="individual_ranking")
    (other,) = hr.frontier(table, schema, alone, k=[5]).points
    assert other.loss is None  # it has no groups
