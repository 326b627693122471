"""The first changes of a contributor, made in a copy as docs/architecture.md says, are found everywhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import hedgerow

METHOD = '''"""Groups of equal size by the median, in at most so many steps."""

from dataclasses import KW_ONLY, dataclass

from .mondrian import Mondrian


@dataclass(eq=False, repr=False)
class Stepwise(Mondrian):
    """Cut people into groups of at least k, as Mondrian does.

    Parameters
    ----------
    k : int, default 10
    steps : int, default 3
    """

    k: int = 10
    _: KW_ONLY
    steps: int = 3
    title = "Stepwise"
'''
ATTACK = '''"""Guess that everybody has the commonest value."""

from collections.abc import Sequence

from ..figure import Figure
from ..success import AttackData, Rates, attack_record, wilson


def commonest(n: int) -> list[AttackData]:
    """Return the attack on n people, of whom it is right about one."""
    rates = Rates(wilson(1, n), None, None)
    return [attack_record("commonest", learner="everybody", target="pay", means="exactly", rates=rates, public=0.1)]


FIGURES = (Figure({"attacks": Sequence[AttackData]}, lambda task: commonest(task.sides.n_rows), needs=("attacks",)),)
'''
FIGURE = """

FIGURES += (
    Figure(
        {"risk.odd_rows": OrNull[float] | None},
        lambda task: 0.25,
        needs=("both tables",),
        rows=(Definition("rows with an odd number", ("risk", "odd_rows"), "share", "of the released rows"),),
    ),
)
"""
# for each change the files of src that it touches, as (text before, text after); None: a new file, or the file's end
CHANGES = {
    "a method": {
        "methods/stepwise.py": (None, METHOD),
        "workflow/methods.toml": (None, 'stepwise = "hedgerow.methods.stepwise:Stepwise"\n'),
    },
    "an attack": {
        "auditing/attacks/commonest.py": (None, ATTACK),
        "auditing/measure.py": ("    regression,\n    linking,\n", "    regression,\n    commonest,\n    linking,\n"),
    },
    "a figure": {"auditing/influence.py": (None, FIGURE)},
    "an option": {
        "workflow/options.toml": (
            '[methods."Method mart"]\n',
            '[methods."Method stepwise"]\nsteps = { type = "whole", help = "At most so many steps." }\n\n'
            '[methods."Method mart"]\n',
        )
    },
}
# names that the changed files import, which an editor adds
IMPORTS = {
    "auditing/measure.py": ("from .attacks import (\n", "from .attacks import (\n    commonest,\n"),
    "auditing/influence.py": ("from .figure import Figure\n", "from .figure import Definition, Figure\n"),
}
AUDIT = """
import json, sys
import pandas as pd
import hedgerow as hr

people = pd.DataFrame({"age": [20, 20, 30, 30] * 5, "pay": range(20)})
found = hr.audit(people, people, hr.Schema(quasi=["age"], sensitive=["pay"]), learning=False, learners=["tree"])
found.report(sys.argv[1])
print(json.dumps({"data": found.to_dict(), "schema": hr.Audit.json_schema(), "text": str(found)}))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a copy of the package in which all changes are made."""
    folder = tmp_path_factory.mktemp("changed")
    package = folder / "hedgerow"
    shutil.copytree(Path(hedgerow.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for files in (*CHANGES.values(), IMPORTS):
        for name, (before, after) in files.items():
            text = (package / name).read_text() if (package / name).exists() else ""
            if before is None:
                text += after
            else:
                assert text.count(before) == 1, f"{name}: {before}"
                text = text.replace(before, after)
            (package / name).write_text(text)
    return folder


def run(folder: Path, *arguments: str) -> str:
    """Return what a command of the changed package prints."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    made = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=folder, check=False
    )
    assert made.returncode == 0, made.stderr
    return made.stdout


@pytest.mark.parametrize(("change", "most"), [("a method", 2), ("an attack", 2), ("a figure", 1), ("an option", 1)])
def test_it_touches_few_files(change: str, most: int) -> None:
    assert len(CHANGES[change]) <= most


def test_a_method_and_its_option_are_commands_keys_and_help(changed: Path) -> None:
    assert "stepwise" in run(changed, "-m", "hedgerow", "protect", "--help")
    assert "--steps" in run(changed, "-m", "hedgerow", "protect", "--help-all")
    (changed / "people.csv").write_text("age,pay\n" + "".join(f"{20 + i % 7},{i}\n" for i in range(40)))
    (changed / "release.toml").write_text(
        'quasi = ["age"]\nsensitive = ["pay"]\nmethod = "stepwise"\nk = 3\nsteps = 2\n'
    )
    command = ("-m", "hedgerow", "protect", "people.csv", "--config", "release.toml", "--no-report", "--out", "out")
    run(changed, *command)
    plan = json.loads((changed / "out" / "plan.json").read_text())
    assert (plan["method"], plan["parameters"]["steps"]) == ("Stepwise", 2)


def test_a_figure_and_an_attack_stand_in_json_schema_summary_and_page(changed: Path) -> None:
    found = json.loads(run(changed, "-c", AUDIT, str(changed / "report.html")))
    jsonschema.validate(found["data"], found["schema"])
    assert found["data"]["risk"]["odd_rows"] == 0.25
    assert "odd_rows" in found["schema"]["properties"]["risk"]["properties"]
    assert any(attack["attack"] == "commonest" for attack in found["data"]["attacks"])
    page = (changed / "report.html").read_text()
    for place in (found["text"], page):
        assert "rows with an odd number" in place
        assert "25.0%" in place
        assert "commonest" in place
