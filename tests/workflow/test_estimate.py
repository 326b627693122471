"""What an untried setting comes near to, by hand."""

from __future__ import annotations

from math import log
from typing import Any

import pytest

from hedgerow.workflow.advice import estimated


def point(k: int, cap: float | None, disclosure: float, utility: float) -> dict[str, Any]:
    parameters = {"k": k, "max_disclosure": cap}
    return {"method": "MART", "parameters": parameters, "disclosure": disclosure, "utility": utility}


TRIED = [point(5, 0.4, 0.4, 0.8), point(5, 0.6, 0.6, 0.9), point(20, 0.4, 0.36, 0.4), point(20, 0.6, 0.5, 0.6)]


def test_a_tried_setting_is_what_it_is() -> None:
    found = estimated(TRIED, "MART", 20, 0.4)
    assert found is not None
    assert (found.disclosure, found.utility) == pytest.approx((0.36, 0.4))
    assert found.between == (20,)


def test_between_two_k_and_two_caps() -> None:
    found = estimated(TRIED, "MART", 10, 0.5)
    assert found is not None
    # at cap .5: .5 and .85 with k 5, .43 and .5 with k 20; 10 lies half way from 5 to 20 by its logarithm
    assert log(10) - log(5) == pytest.approx(log(20) - log(10))
    assert found.disclosure == pytest.approx((0.5 + 0.43) / 2)
    assert found.utility == pytest.approx((0.85 + 0.5) / 2)
    assert found.between == (5, 20)


def test_beyond_what_was_tried_the_nearest_is_taken_and_the_cap_holds() -> None:
    found = estimated(TRIED, "MART", 50, 0.3)
    assert found is not None
    assert (found.disclosure, found.utility, found.between) == (0.3, 0.4, (20,))
    free = estimated([point(5, None, 0.9, 0.9), point(5, 0.5, 0.5, 0.7)], "MART", 2, 1.0)
    assert free is not None
    assert (free.disclosure, free.between) == (0.9, (5,))


def test_other_methods_say_nothing() -> None:
    assert estimated(TRIED, "Hedge", 10, 0.5) is None
    assert estimated([], "MART", 10, 0.5) is None
