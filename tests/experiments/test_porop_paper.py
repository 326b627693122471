"""Table I of Nin et al. within its acceptance."""

from __future__ import annotations

import os

import pytest
from experiments.porop import CENSUS, EIA, EIA_COLUMNS, figures, table1, table2

pytestmark = pytest.mark.skipif(
    not os.environ.get("HEDGEROW_DATA"), reason="HEDGEROW_DATA does not name the data folder"
)


@pytest.fixture(scope="module")
def census():
    return table1(repetitions=3)


@pytest.mark.parametrize("noise", ["synthetic", "perturbative"])
def test_scores_of_table_1_lie_near_the_printed_ones(census, noise):
    assert len(census[noise]["rows"]) == 27
    assert census[noise]["mean_absolute_error"] <= 1.6


def test_curves_beat_lines_from_7000_on(census):
    at = {(row["k"], row["degree"]): row["score"] for row in census["synthetic"]["rows"]}
    for k in (7000, 8000, 9000, 10000):
        assert at[k, 1] > max(at[k, 2], at[k, 3])


def test_rank_correlation_of_table_1(census):
    # Met by the perturbative noise; the synthetic one gives .73 to .84, by what is drawn.
    assert census["perturbative"]["rank_correlation"] >= 0.8


@pytest.mark.parametrize(
    ("k", "synthetic", "perturbative"),
    [
        (2000, (41.9, 42.1, 42.1), (42.1, 42.3, 42.3)),
        (5000, (36.4, 40.7, 41.5), (37.6, 41.1, 41.7)),
        (7000, (37.5, 28.3, 33.7), (35.7, 30.3, 35.1)),
    ],
)
def test_scores_of_another_implementation(census, k, synthetic, perturbative):
    for noise, expected in (("synthetic", synthetic), ("perturbative", perturbative)):
        mine = [row["score"] for row in census[noise]["rows"] if row["k"] == k]
        assert mine == pytest.approx(expected, abs=1.0)


def test_remainders_are_told(census):
    assert {r["k"]: r["remainder"] for r in census["synthetic"]["rows"]} == {k: 14040 % k for k in CENSUS}


def test_table_2_and_the_pictures_say_why_not(monkeypatch):
    from experiments import porop

    monkeypatch.setattr(porop, "EIA", {k: EIA[k] for k in (4000, 18000)})
    monkeypatch.setattr(porop, "CENSUS", {k: CENSUS[k] for k in (2000, 10000)})
    found = table2(repetitions=1)
    assert found["columns"] == list(EIA_COLUMNS)
    assert "names none of them" in found["reason"]
    made = figures(repetitions=1)
    assert list(made["pictures"]) == ["porop-figure6", "porop-figure7"]
    assert all("<svg" in text for text in made["pictures"].values())
