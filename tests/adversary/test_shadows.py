"""Shadow models of the method itself: who is in the table is found in exact releases, and hardly in drawn rows."""

from __future__ import annotations

from experiments.hedge import Case
from experiments.shadows import RELEASES, attack

import hedgerow as hr

PEOPLE = Case(
    "people", lambda: hr.datasets.make_people(900, seed=1), ("age", "education", "job"), ("income", "diagnosis")
)


def test_an_attacker_with_shadow_models_hardly_finds_members_of_drawn_rows() -> None:
    forms = "exact", "redrawn rows"
    exact, rows = (attack(PEOPLE, RELEASES[f"Hedge, {form}"], rows=300, shadows=4) for form in forms)
    assert exact["auc"] > 0.95
    assert exact["found"] > 0.5
    assert rows["auc"] <= 0.62
    assert rows["found"] <= 0.05
