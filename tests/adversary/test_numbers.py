"""Members are told by the numbers that columns show hardly better than by chance."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.hedge import Case
from experiments.numbers import NUMBERS, attack

pytestmark = [pytest.mark.usefixtures("need_data"), pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("case", NUMBERS, ids=[case.name for case in NUMBERS])
def test_numbers_of_drawn_rows_hardly_tell_members(case: Case) -> None:
    found = [attack(case, 600, seed, learn=False) for seed in range(4)]
    for way in ("density", "nearest", "exact value"):
        area, caught = np.mean([each[way] for each in found], axis=0)
        assert area < 0.63, way
        assert caught < 0.06, way


def test_nor_does_a_rule_that_is_learned_from_a_thousand_simulated_releases() -> None:
    area, caught = attack(NUMBERS[0], 600, 0)["linear"]
    assert area < 0.63
    assert caught < 0.06
