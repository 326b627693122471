"""Codes that look like numbers stay the texts that stand in the file, from reading to reconstructing."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import InputError
from hedgerow.io.read import read

pytestmark = pytest.mark.filterwarnings("ignore")

CODES = ["250", "250.0", "250.00", "250.10", "401.9", "1e3", ".5", "NA", ""]
NUMBERS = ["250", "251.5", "-3", "0", "17.25", "NA", ""]


def write(path: Path, codes: list[str], sign: str = ",", point: str = ".", n: int = 180) -> Path:
    """People with a code, an age and an income."""
    rng = np.random.default_rng(1)
    rows = [["code", "age", "pay"]]
    for i in range(n):
        code = codes[i % len(codes)].replace(".", point)
        rows.append([code, str(rng.integers(20, 60)), str(rng.integers(1, 9))])
    path.write_text("".join(sign.join(row) + "\n" for row in rows))
    return path


def told(table: Any, name: str = "code") -> set[Any]:
    return set(table.arrow.column(name).to_pylist())


@pytest.mark.parametrize(("sign", "point"), [(",", "."), (";", "."), (";", ","), ("\t", "."), ("|", ".")])
@pytest.mark.parametrize(
    "declared",
    [
        {"kinds": {"code": "categorical"}},
        {"kinds": {"code": "ordinal"}},
        {"categories": {"code": ["401.9", "250.10"]}},
        {"hierarchies": {"code": {c: (c, "*") for c in CODES[:-2]}}},
    ],
)
def test_declared_codes_are_read_as_text(tmp_path: Path, declared: Any, sign: str, point: str) -> None:
    codes = [c for c in CODES if point == "." or c != "1e3"]
    path = write(tmp_path / "people.csv", codes, sign, point)
    if point == ",":
        declared = {"kinds": {"code": "categorical"}}
    if "hierarchies" in declared:
        declared = {"hierarchies": {"code": hr.Hierarchy(declared["hierarchies"]["code"])}}
    schema = hr.Schema(quasi=["age"], sensitive=["code"], **declared)
    table = read(path, schema=schema)
    assert told(table) == {None, *(c.replace(".", point) for c in codes[:-2])}
    assert told(table, "age") == told(read(path), "age")
    again = read(table, schema=schema)  # nothing is read a second time
    assert again is table
    once = read(path)
    assert read(once, schema=schema) is read(once, schema=schema)


def test_what_nothing_declares_and_what_is_spelled_in_one_way_stay_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "codes.csv", CODES)
    plain = hr.Schema(quasi=["age"], sensitive=["code"])
    assert read(path, schema=plain).kind("code") == "numeric"
    assert read(path, schema=plain.replace(kinds={"code": "numeric"})).kind("code") == "numeric"
    path = write(tmp_path / "numbers.csv", NUMBERS)
    declared = plain.replace(kinds={"code": "categorical"})
    assert read(path, schema=declared).kind("code") == "numeric"
    # a hierarchy that knows the numbers and not their spelling
    path = write(tmp_path / "other.csv", ["1.50", "2.50"])
    levels = hr.Hierarchy.from_intervals([1.5, 2.5], [5])
    assert read(path, schema=plain.replace(hierarchies={"code": levels})).kind("code") == "numeric"


def test_a_file_that_changed_after_it_was_read_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", CODES)
    table = read(path)
    write(path, CODES[::-1])
    with pytest.raises(InputError, match="changed"):
        read(table, schema=hr.Schema(quasi=["code"], kinds={"code": "categorical"}))


METHODS = {
    "mart": hr.MART(5, max_disclosure=None),
    "hedge": hr.Hedge(5, max_disclosure=None),
    "mondrian": hr.Mondrian(5),
    "datafly": hr.Datafly(5),
    "incognito": hr.Incognito(5),
    "rr": hr.RandomizedResponse(1.2, random_state=1),
    "pram": hr.PRAM(random_state=1),
    "suppression": hr.LocalSuppression(5),
    "anatomy": hr.Anatomy(2, random_state=1),
}


@pytest.mark.parametrize(("name", "role"), itertools.product(METHODS, ["quasi", "sensitive"]))
def test_codes_come_out_as_they_came_in(tmp_path: Path, name: str, role: str) -> None:
    codes = ["250.1", "250.10", "250.100", "401.90"]
    path = write(tmp_path / "people.csv", codes)
    quasi, sensitive = (["code", "age"], ["pay"]) if role == "quasi" else (["age"], ["code"])
    if name == "pram":
        quasi = ["code"]
        sensitive = ["pay"]
    schema = hr.Schema(quasi=quasi, sensitive=sensitive, kinds={"code": "categorical"})
    release = hr.protect(path, schema, METHODS[name], guard=None)
    folder = release.write(tmp_path / "out", mapping=True)
    shown = {cell for cell in release.table.column("code").to_pylist() if cell in {*codes, "250", "401.9"}}
    assert shown <= set(codes)
    if role == "sensitive" and name not in ("anatomy", "pram"):
        assert sorted(release.table.column("code").to_pylist()) == sorted(codes * 45)
    for released in (release, folder):
        found = hr.audit(path, released, attacks=False, learning=False)
        assert found.table["rows"] == release.table.num_rows
    if name == "rr":
        made = hr.reconstruct(folder)
        if role == "quasi":
            assert set(made.categories["code"]) == set(codes)
    if release.plan.recoding.applies and not release.plan.recoding.draws:
        again = release.plan.apply(path)
        assert sorted(map(str, again.column("code").to_pylist())) == sorted(
            map(str, release.table.column("code").to_pylist())
        )


def test_a_published_tree_of_codes_is_verified(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", ["250.1", "250.10", "401.90"])
    schema = hr.Schema(quasi=["code"], sensitive=["pay"], kinds={"code": "categorical"})
    method = hr.TreePatternPreserving("tree n_splits=2", k=5)
    folder = hr.protect(path, schema, method).write(tmp_path / "out")
    assert hr.verify_model(folder / "model.json", folder / "release.csv").identical


def test_the_command_line_keeps_codes_as_well(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", ["250.1", "250.10", "401.90"])
    schema = 'quasi = ["code"]\nsensitive = ["pay"]\n[kinds]\ncode = "categorical"\n'
    (tmp_path / "schema.toml").write_text(schema)
    roles = ["--schema", str(tmp_path / "schema.toml")]
    out = tmp_path / "out"
    assert run(["protect", str(path), *roles, "--method", "mondrian", "-k", "5", "--out", str(out)]) == 0
    assert {line.split(",")[0] for line in (out / "release.csv").read_text().splitlines()[1:]} == {
        "250.1",
        "250.10",
        "401.90",
    }
    assert run(["audit", str(path), str(out / "release.csv"), *roles, "--no-attacks"]) == 0
    applied = tmp_path / "applied.csv"
    assert run(["apply", str(out / "plan.json"), str(path), "--out", str(applied)]) == 0
    assert "250.10" in applied.read_text()
