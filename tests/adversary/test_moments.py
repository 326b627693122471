"""Members, and what the last person has, are told by the moments of a file hardly better than by chance."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.members import by_moments, last_person

from hedgerow.datasets import load_adult

pytestmark = [pytest.mark.usefixtures("need_data"), pytest.mark.filterwarnings("ignore")]

QUASI = ("age", "workclass", "education", "marital-status", "sex", "race")
SENSITIVE = ("hours-per-week", "occupation", "income")


@pytest.mark.parametrize("triples", [False, True])
def test_all_moments_that_rows_are_brought_near_to_hardly_tell_members(triples: bool) -> None:
    known = load_adult("train").to_pandas().dropna()[[*QUASI, *SENSITIVE]].sample(600, random_state=7)
    area, found = by_moments(known.reset_index(drop=True), QUASI, SENSITIVE, 8, triples=triples)
    assert np.mean(area) < 0.64
    assert np.mean(found) < 0.045


def test_whoever_knows_all_but_one_hardly_learns_what_the_last_has() -> None:
    people = load_adult("train").to_pandas().dropna()[[*QUASI, *SENSITIVE]].sample(600, random_state=3)
    areas = last_person(people.reset_index(drop=True), QUASI, SENSITIVE, "income", targets=10, keys=6)
    assert np.mean(areas) < 0.72
