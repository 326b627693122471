"""What classes explain, and that no partition explains more than its cap allows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from hedgerow.io.read import read
from hedgerow.measures import Classes, disclosure, group

TABLES = {
    "numbers": [1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 40.0],
    "missing": [0.0, 0.0, 0.0, None, 1.0, 7.0, None],
    "categories": ["a", "a", "b", "a", "c", "b", "a"],
}


def partitions(n: int) -> Iterator[list[int]]:
    """Every partition of n things, as the part of each."""

    def grown(parts: list[int]) -> Iterator[list[int]]:
        if len(parts) == n:
            yield parts
            return
        for part in range(max(parts, default=-1) + 2):
            yield from grown([*parts, part])

    yield from grown([])


def of(values: list[object], parts: list[int] | NDArray[np.int64]) -> tuple[float, float, float]:
    """Share explained, floor_ratio, and the disclosure of the worst class by the leading score."""
    column = read({"y": values}).column("y")
    made = Classes.from_groups(group([np.asarray(parts)]), [column]).sensitive["y"]
    found = disclosure.explained_share(made)
    assert found is not None
    by_score = made.scores.by_score
    name = next(n for n in ("squared", "brier") if n in by_score)
    return found.share, found.floor_ratio, float(by_score[name].max())


@pytest.mark.parametrize("name", TABLES)
def test_no_partition_explains_more_than_its_worst_class_allows(name: str) -> None:
    for parts in partitions(7):
        share, floor_ratio, worst = of(TABLES[name], parts)
        assert 1 <= floor_ratio < 1.25
        assert share <= worst * floor_ratio + 1e-12


def test_the_quarter_is_needed_and_reached_nearly() -> None:
    """One far value and many near the mean in each group: more is explained than the cap alone."""
    for fillers in (6, 600):
        y = [-1.0, *[0.0] * fillers, 1.0, *[0.0] * fillers]
        share, floor_ratio, worst = of(y, np.repeat([0, 1], fillers + 1))
        assert share == pytest.approx(worst * floor_ratio)
        assert share > 1.2 * worst
    assert floor_ratio > 1.2495


def test_shares_by_hand() -> None:
    y = np.array([1.0, 2.0, 6.0, 7.0, 9.0])
    parts = [0, 0, 1, 1, 1]
    means = np.array([1.5, 1.5, 22 / 3, 22 / 3, 22 / 3])
    share, floor_ratio, _ = of(list(y), parts)
    apart = (y - 5) ** 2
    assert share == pytest.approx(((means - 5) ** 2).sum() / apart.sum())
    assert floor_ratio == pytest.approx(np.maximum(apart, apart.mean() / 4).sum() / apart.sum())


def test_a_column_of_one_value_has_nothing_to_explain() -> None:
    for values in ([3.0, 3.0], ["a", None]):
        column = read({"y": values}).column("y")
        made = Classes.from_groups(group([np.array([0, 1])]), [column]).sensitive["y"]
        assert disclosure.explained_share(made) is None
