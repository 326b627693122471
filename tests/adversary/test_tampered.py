"""A release folder whose file was changed, and whose recorded hash was corrected, is not what its plan makes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.report.reasons import reasons
from hedgerow.report.verdict import verdict

pytestmark = pytest.mark.filterwarnings("ignore")
ROLES = hr.Schema(
    quasi=["age", "education", "job"],
    sensitive=["income", "assets", "diagnosis"],
    identifiers=["person_id", "postcode"],
)
METHODS = {
    "rows": (hr.Hedge(), "auto", {}),
    "rows that follow": (hr.Hedge(), "auto", {"assets": "income"}),
    "means": (hr.Hedge(cells="means"), "auto", {}),
    "ranges": (hr.Hedge(cells="ranges"), "auto", {}),
    "MART, redrawn": (hr.MART(), "redraw", {}),
    "MART, runs": (hr.MART(), "runs", {}),
    "MART": (hr.MART(), None, {}),
}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tampered") / "people.csv"
    frame = hr.datasets.make_people(1500, seed=1).to_pandas()
    frame.loc[::40, "assets"] = np.nan
    frame.to_csv(path, index=False)
    return path


def released(people: Path, name: str, folder: Path) -> Path:
    method, guard, follows = METHODS[name]
    seed = {} if guard in ("runs", None) else {"random_state": 1}
    return hr.protect(people, ROLES.replace(follows=follows), method, guard=guard, **seed).write(folder)


def said(people: Path, folder: Path) -> str:
    found = hr.audit(people, folder, attacks=False, learning=False).to_dict()
    plan = hr.Plan.load(folder / "plan.json")
    return str(verdict(found, plan, (), reasons(found, plan))["says"])


def tampered(folder: Path, change: Callable[[pd.DataFrame], object]) -> None:
    """Change the table of a folder, and correct its hash."""
    path = folder / "release.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    change(table)
    table.to_csv(path, index=False)
    record = json.loads((folder / "audit.json").read_text())
    facts = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}
    record["release"]["file"] |= facts
    (folder / "audit.json").write_text(json.dumps(record))


@pytest.mark.parametrize("name", METHODS)
def test_a_changed_file_is_not_to_be_shared(people: Path, name: str, tmp_path: Path) -> None:
    """Fifteen top earners' exact rows, or every income at the maximum, read "Share"."""
    original = pd.read_csv(people, dtype=str, keep_default_na=False)

    def top_earners(table: pd.DataFrame) -> None:
        top = pd.to_numeric(original["income"]).nlargest(15).index
        table.iloc[:15] = original.loc[top, table.columns].to_numpy()

    def maximum(table: pd.DataFrame) -> None:
        table["income"] = table["income"][pd.to_numeric(table["income"]).idxmax()]

    def one_illness(table: pd.DataFrame) -> None:
        table.loc[:400, "diagnosis"] = table["diagnosis"][0]

    def words_for_numbers(table: pd.DataFrame) -> None:
        table.loc[0, "income"] = "much"

    folder = released(people, name, tmp_path / "genuine")
    assert not said(people, folder).startswith("Do not share")
    for change in (top_earners, maximum, one_illness, words_for_numbers):
        folder = Path(shutil.copytree(tmp_path / "genuine", tmp_path / change.__name__))
        tampered(folder, change)
        assert said(people, folder).startswith("Do not share, because the file is not what its plan makes"), change


def test_a_plan_that_was_changed_with_the_file_is_held_against_the_original(people: Path, tmp_path: Path) -> None:
    """Whoever changes the file can say in the plan that more people have its values."""
    folder = released(people, "rows", tmp_path / "out")
    plan = json.loads((folder / "plan.json").read_text())
    (income,) = (c for c in plan["guard"]["columns"] if c["name"] == "income")
    income["values"][-1] += 10_000_000
    (folder / "plan.json").write_text(json.dumps(plan))
    changed = income["values"][-1]
    before = hr.Plan.load(folder / "plan.json")
    assert before.guard is not None

    def raised(table: pd.DataFrame) -> None:
        last = pd.to_numeric(table["income"]).max()
        table["income"] = table["income"].where(pd.to_numeric(table["income"]) < last, f"{changed:.0f}")

    tampered(folder, raised)
    record = json.loads((folder / "audit.json").read_text())
    path = folder / "plan.json"
    record["release"]["plan"] |= {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}
    (folder / "audit.json").write_text(json.dumps(record))
    assert said(people, folder).startswith("Do not share, because the file is not what its plan makes")


def test_a_folder_that_lacks_a_column_is_refused_in_words(people: Path, tmp_path: Path) -> None:
    """It ended in a KeyError, "a fault in Hedgerow"."""
    folder = released(people, "rows", tmp_path / "out")
    tampered(folder, lambda table: table.drop(columns="diagnosis", inplace=True))
    with pytest.raises(hr.HedgerowError, match="diagnosis"):
        hr.audit(people, folder, attacks=False, learning=False)


def odd_tables() -> dict[str, tuple[pd.DataFrame, hr.Schema]]:
    draws = np.random.default_rng(5)
    n = 400
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(draws.integers(0, 900, n), "D")
    base = pd.DataFrame({"age": draws.integers(18, 90, n), "sex": draws.choice(["f", "m"], n)})
    heaps = base.assign(pay=np.where(draws.random(n) < 0.6, 0, draws.integers(1, 5000, n)))
    dates = base.assign(day=day.strftime("%Y-%m-%d"), ill=draws.choice([True, False], n))
    rare = base.assign(
        job=np.where(np.arange(n) < 5, "b\u00e4cker", draws.choice(list("abc"), n)), pay=draws.normal(0, 1, n)
    )
    lacking = rare.assign(pay=rare["pay"].where(draws.random(n) < 0.8), age=base["age"].where(draws.random(n) < 0.9))
    units = heaps.assign(person=np.arange(n) // 2)
    few = heaps.head(25)
    roles = hr.Schema(quasi=["age", "sex"], sensitive=["pay"])
    return {
        "heaps": (heaps, roles),
        "dates": (dates, hr.Schema(quasi=["age", "sex"], sensitive=["day", "ill"])),
        "dates that others know": (dates, hr.Schema(quasi=["day", "sex"], sensitive=["ill"])),
        "rare": (rare, hr.Schema(quasi=["age", "job"], sensitive=["pay", "sex"])),
        "lacking": (lacking, hr.Schema(quasi=["age", "job"], sensitive=["pay", "sex"])),
        "units": (units, roles.replace(unit="person", identifiers=["person"])),
        "few": (few, roles),
        "others": (rare, hr.Schema(quasi=["age"], sensitive=["pay"], other=["job"])),
    }


@pytest.mark.parametrize("name", odd_tables())
@pytest.mark.parametrize("form", ["rows", "means", "mart"])
def test_genuine_folders_are_what_their_plans_make(name: str, form: str, tmp_path: Path) -> None:
    """A count is called impossible once in a million files; none is here, with two keys, as text and as Parquet."""
    frame, roles = odd_tables()[name]
    for seed, ending in ((1, "csv"), (2, "parquet")):
        path = tmp_path / f"people{seed}.{ending}"
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path, index=False)
        method = hr.MART(k=5) if form == "mart" else hr.Hedge(k=5, cells=form)
        folder = hr.protect(path, roles, method, guard="redraw", random_state=seed).write(tmp_path / f"out{seed}")
        found = hr.audit(path, folder, attacks=False, learning=False)
        assert "altered" not in found.table, found.table["altered"]
