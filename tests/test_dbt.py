"""The recipe for dbt in docs/in-a-warehouse.md, run by a real dbt where one is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest

from .test_docs import FENCE, ROOT

PROJECT = """name: warehouse
profile: warehouse
flags: {send_anonymous_usage_stats: false}
"""
PROFILE = """warehouse:
  target: here
  outputs: {here: {type: duckdb, path: ../warehouse.duckdb}}
"""


def dbt() -> str:
    """Return the program, which has a Python of its own: its requirements are not those of the package."""
    program = os.environ.get("HEDGEROW_DBT") or shutil.which("dbt")
    if program is None:
        pytest.skip("dbt is not installed; HEDGEROW_DBT may name it")
    return program


def run(*words: str) -> subprocess.CompletedProcess[str]:
    quiet = os.environ | {"DO_NOT_TRACK": "1", "DBT_PROFILES_DIR": "."}
    return subprocess.run([dbt(), *words], cwd="dbt", env=quiet, capture_output=True, text=True, timeout=300)


@pytest.mark.filterwarnings("ignore")
def test_a_model_and_its_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = dbt()
    assert program
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    page = (ROOT / "docs" / "in-a-warehouse.md").read_text(encoding="utf-8")
    for kind, block in FENCE.findall(page):
        if kind == "python":
            exec(compile(block, "block", "exec"), names)
    Path("dbt/dbt_project.yml").write_text(PROJECT)
    Path("dbt/profiles.yml").write_text(PROFILE)
    (command,) = (line.split("#")[0].split()[1:] for line in re.findall(r"^dbt .*$", page, re.MULTILINE))
    made = run(*command)
    assert made.returncode == 0, made.stdout
    assert "PASS=2" in made.stdout
    with duckdb.connect("warehouse.duckdb") as database:
        assert database.execute("SELECT count(*) FROM main.released").fetchall() == [(2000,)]
        database.execute("UPDATE main.released SET age = '*' WHERE rowid < 3")
    tested = run("test")
    assert tested.returncode == 1
    assert "ERROR=1" in tested.stdout
