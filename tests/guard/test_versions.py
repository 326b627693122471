"""Plans of an earlier version are read, checked, explained and audited as what they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.errors import PlanError
from hedgerow.io.read import read
from hedgerow.key import Key
from hedgerow.plan import Plan
from hedgerow.release.verify import verify

FOLDER = Path(__file__).parent / "version_1"
SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["income", "diagnosis", "hours_per_week"])


def test_rows_of_version_1_are_those_that_their_key_draws() -> None:
    """The folder was written before rows were drawn by rules and moments of the whole table, with random_state=1."""
    plan = Plan.load(FOLDER)
    assert plan.version == 1
    people, released = (read(FOLDER / name, schema=SCHEMA) for name in ("people.csv", "release.csv"))
    # which person each row came from is not known any more, so values are compared column by column
    of_rows = {"whole rows", "disclosure"}
    for seed, wrong in ((1, set()), (2, {"mapped"})):
        checks = verify(plan, people, released, key=Key.from_key_or_seed(None, seed)).checks
        assert {check.name for check in checks if not check.holds} - of_rows == wrong


def test_an_audit_knows_a_file_that_a_plan_of_version_1_makes() -> None:
    audit = hr.audit(FOLDER / "people.csv", FOLDER, attacks=False, learning=False, inference=False)
    assert "not what its plan makes" not in str(audit)
    assert "5 records of the whole table" in Plan.load(FOLDER).explain()


@pytest.mark.filterwarnings("ignore")
def test_a_plan_says_its_version(tmp_path: Path) -> None:
    people = hr.datasets.make_people(300, seed=1)
    plan = hr.protect(people, hr.Schema(quasi=["age", "job"], sensitive=["income", "smoker"]), random_state=1).plan
    plan.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json") == plan
    data = json.loads((tmp_path / "plan.json").read_text())
    assert data["hedgerow_plan"] == 2
    (tmp_path / "plan.json").write_text(json.dumps(data | {"hedgerow_plan": 1}))
    with pytest.raises(PlanError, match="its records are of version 2"):
        Plan.load(tmp_path / "plan.json")
