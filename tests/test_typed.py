"""What a type checker sees of the package in somebody else's strict script."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import hedgerow

SCRIPT = """
import hedgerow as hr
from matplotlib.axes import Axes

schema = hr.Schema(quasi=["age"], sensitive=["income"])
release = hr.protect("people.csv", schema, hr.MART(k=10), progress=lambda step, share: None)
found = hr.audit("people.csv", release)
best = hr.frontier("people.csv", schema, hr.MART(), k=[5, 10])
axes: Axes = best.plot()
axes = release.plot(ax=axes)
axes = found.plot("attacks", ax=axes)
axes = release.compare("age").plot()
plan: hr.Plan = release.plan
k: int | None = best.best(target_k=5).k
epsilon: str = hr.protect("people.csv", schema, hr.PrivateTree()).plan.epsilon
reveal_type(release)
reveal_type(found)
reveal_type(best)
reveal_type(hr.inspect("people.csv").schema)
reveal_type(hr.MART(k=3).copy())
try:
    release.verify()
except hr.errors.PromiseError:
    pass
"""

WRONG = """
release.nothing
hr.MART(kk=3)
hr.protcet
plan.save(3)
"""


def test_a_strict_script_sees_the_types(tmp_path: Path) -> None:
    assert resources.files("hedgerow").joinpath("py.typed").is_file()
    file = tmp_path / "script.py"
    file.write_text(SCRIPT + WRONG)
    source = Path(hedgerow.__file__).resolve().parent.parent
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    done = subprocess.run(
        [*command, f"--cache-dir={tmp_path}", str(file)],
        env={**os.environ, "MYPYPATH": str(source)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    for kind in (
        "release.release.Release",
        "auditing.result.Audit",
        "auditing.frontier.Frontier",
        "schema.Schema",
        "methods.mart.MART",
    ):
        assert f'"hedgerow.{kind}"' in done.stdout
    faults = [line for line in done.stdout.splitlines() if ": error:" in line]
    first = len(SCRIPT.splitlines()) + 2
    assert [int(line.split(":")[1]) for line in faults] == [*range(first, first + 4)], done.stdout
