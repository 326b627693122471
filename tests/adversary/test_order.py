"""Where a record stands tells nothing: releases are written in the order of their own content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError
from hedgerow.io.read import read

from ..contracts.methods import CASES, Case
from ..contracts.tables import TABLES

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

K, N = 20, 2_000
SCHEMA = hr.Schema(quasi=["age", "region"], sensitive=["income"], identifiers=["name"], other=["year"])


def register(n: int = N) -> pd.DataFrame:
    """People sorted by name, as registers are."""
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "name": [f"person {i:05d}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "region": rng.choice(["north", "south", "east", "west"], n),
            "income": rng.lognormal(10, 0.5, n).round(-1),
            "year": 2020,
        }
    )


def linked_by_order(released: pd.DataFrame, known: pd.DataFrame, places: Any, n: int) -> float:
    """Right guesses of who knows some people by name, age and region, and that all are sorted.

    The people known stand in the same order as in the release, spread evenly over it: each is
    guessed to stand at the record nearest to where that places it whose cells can be theirs.
    """
    ages, regions = cells(released)
    hits = 0
    for rank, (place, (_, person)) in enumerate(zip(places, known.iterrows(), strict=True)):
        at = (rank + 0.5) * n / len(known)
        fits = (ages[:, 0] <= person["age"]) & (person["age"] <= ages[:, 1])
        fits &= np.array([person["region"] in each for each in regions])
        candidates = np.flatnonzero(fits)
        hits += int(candidates[np.argmin(np.abs(candidates - at))] == place)
    return hits / len(known)


def cells(released: pd.DataFrame) -> tuple[Any, list[list[str]]]:
    bounds = []
    for cell in released["age"].astype(str):
        low, _, high = cell.strip("[]").partition("-")
        bounds.append((float(low), float(high or low)))
    return np.array(bounds), [[part.partition(":")[0] for part in str(cell).split("+")] for cell in released["region"]]


@pytest.mark.parametrize("keep_order", [False, True])
def test_a_register_sorted_by_name_does_not_link_by_order(keep_order: bool, tmp_path: Path) -> None:
    people = register()
    release = hr.protect(people, SCHEMA, hr.MART(K), keep_order=keep_order)
    released = pd.read_parquet(release.write(tmp_path / "out") / "release.parquet")
    sample = np.sort(np.random.default_rng(1).choice(N, 3 * N // 5, replace=False))
    truth = np.argsort(release.rows)[sample]  # where each stands; the intruder does not know
    right = linked_by_order(released, people.iloc[sample], truth, N)
    if keep_order:
        assert right > 5 / K  # the attack works where the order was kept
    else:
        assert right < 1 / K + 3 * np.sqrt(1 / K / len(sample))


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def test_bytes_do_not_depend_on_the_order_of_the_input(case: Case, tmp_path: Path) -> None:
    table, schema = TABLES[case.table]()
    order = np.random.default_rng(2).permutation(len(table))
    for name, people in (("one", table), ("two", table.iloc[order])):
        people.to_csv(tmp_path / f"{name}.csv", index=False)
        release = hr.protect(tmp_path / f"{name}.csv", schema, case.method(schema), guard=None)
        release.write(tmp_path / name)
        original = read(tmp_path / f"{name}.csv").arrow.take(pa.array(release.rows))
        for kept in schema.sensitive:
            if kept in release.plan.recoding.relations():
                continue
            assert release.released.arrow.column(kept).equals(original.column(kept))
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes(), file.name


def test_frames_in_any_order_give_the_same_file(tmp_path: Path) -> None:
    people = register(500).assign(region=lambda f: f["region"].astype("category"))
    made: dict[type, set[bytes]] = {pd.DataFrame: set(), pa.Table: set()}
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(500)
        for frame in (people.iloc[order], pa.Table.from_pandas(people).take(pa.array(order))):
            out = hr.protect(frame, SCHEMA, hr.MART(5)).write(tmp_path / "out", force=True)
            made[type(frame)].add((out / "release.parquet").read_bytes())
    assert [len(files) for files in made.values()] == [1, 1]


def test_a_kept_order_is_named_wherever_the_release_is_told_of(tmp_path: Path) -> None:
    people = register(500)
    with pytest.warns(UserWarning, match="order of the input, which may show who is who"):
        kept = hr.protect(people, SCHEMA, hr.MART(5), keep_order=True)
    free = hr.protect(people, SCHEMA, hr.MART(5))
    assert kept.rows.tolist() == list(range(500))
    told, silent = (
        r.write(tmp_path / n, measured=hr.audit(people, r, attacks=False, learning=False))
        for n, r in (("kept", kept), ("free", free))
    )
    words = "order of the table they come from"
    assert words in (told / "RECIPIENT.md").read_text()
    assert words not in (silent / "RECIPIENT.md").read_text()
    released = json.loads((told / "audit.json").read_text())["release"]
    assert released["parameters"]["keep_order"] is True
    assert "keep_order" not in (silent / "audit.json").read_text()
    for folder, said in ((told, True), (silent, False)):
        assert ("which may show who is who" in (folder / "report.html").read_text()) is said


def test_an_applied_plan_orders_its_records_too() -> None:
    people = register(500)
    plan = hr.protect(people, SCHEMA, hr.MART(5)).plan
    others = register(300).sample(frac=1, random_state=3)
    one, two = (plan.apply(t, unseen="count") for t in (others, others.iloc[::-1]))
    pd.testing.assert_frame_equal(one, two)
    stays = plan.apply(others, keep_order=True, unseen="count")
    assert stays["income"].tolist() == others["income"].tolist()
    assert one["income"].tolist() != others["income"].tolist()


def test_a_release_knows_its_rows_of_that_table_alone(tmp_path: Path) -> None:
    people = register(500)
    release = hr.protect(people, SCHEMA, hr.MART(5))
    quick = {"attacks": False, "learning": False}
    found = hr.audit(people, release, **quick).to_dict()
    assert found == hr.audit(people.copy(), release, **quick).to_dict()
    for others in (people.iloc[::-1], register(400), people.assign(income=people["income"] + 1)):
        with pytest.raises(HedgerowError, match="another table"):
            hr.audit(others, release, **quick)
    # the folder's plan pairs the rows again, in whatever order the original comes
    folder = release.write(tmp_path / "out")
    by_plan = hr.audit(people, folder, **quick).to_dict()
    for part in ("risk", "utility"):
        assert by_plan[part] == found[part]
    again = hr.audit(people.iloc[::-1], folder, **quick).to_dict()
    assert again["risk"]["release"] == found["risk"]["release"]


def test_a_randomized_folder_is_paired_by_its_private_mapping_alone(tmp_path: Path) -> None:
    people = register(500).assign(income=lambda made: made["income"].round(-4))  # shared by many
    schema = SCHEMA.replace(quasi=["region"])
    release = hr.protect(people, schema, hr.RandomizedResponse(2.5, random_state=1))
    quick = {"attacks": False, "learning": False}
    folder = release.write(tmp_path / "out")
    with pytest.raises(HedgerowError, match="a plan cannot say whose row is whose"):
        hr.audit(people, folder, paired=True, **quick)
    assert not hr.audit(people, folder, **quick).table["paired"]
    with_map = release.write(tmp_path / "map", mapping=True)
    assert (with_map / "mapping.json").stat().st_mode & 0o777 == 0o600
    assert hr.audit(people, with_map, **quick).risk == hr.audit(people, release, **quick).risk
    with pytest.raises(HedgerowError, match="another table"):
        hr.audit(people.iloc[::-1], with_map, **quick)
    (with_map / "mapping.json").write_text("{}")
    with pytest.raises(HedgerowError, match="is not a mapping"):
        hr.audit(people, with_map, **quick)


def test_bootstrap_rows_ask_for_a_decision() -> None:
    people = register(500)
    schema = SCHEMA.replace(quasi=["age", "region"])
    words = "forest n_trees=2 seed=1 n_splits=2 min_leaf=60 bootstrap={}"

    def method(bootstrap: str) -> Any:
        return hr.TreePatternPreserving(words.format(bootstrap), k=2, response="income")

    with pytest.raises(HedgerowError, match="by their position"):
        hr.protect(people, schema, method("true"))
    assert hr.protect(people, schema, method("false")).checks
    assert hr.protect(people, schema, method("true"), keep_order=True).checks
