"""What the documents say runs: every Python block, every hedgerow command of a console block."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pytest

import hedgerow
from hedgerow.cli.app import run
from hedgerow.datasets import make_people

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


LANGUAGES = {"python": "python", "console": "shell", "bash": "shell", "sh": "shell"}


def pages() -> list[object]:
    """Every page with something to run: its blocks in the order in which a reader meets them."""
    found = []
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        steps = [(LANGUAGES[kind], block) for kind, block in FENCE.findall(text) if kind in LANGUAGES]
        if steps:
            found.append(pytest.param(steps, id=str(file.relative_to(ROOT))))
    return found


def write_people(make: Any) -> None:
    """Write the tables that pages begin with."""
    for name, n, seed in (("people", 2_000, 1), ("held_back", 400, 2), ("synthetic", 1_500, 3)):
        pacsv.write_csv(make(n, seed=seed), f"{name}.csv")
    Path("demo").mkdir(exist_ok=True)
    shutil.copy("people.csv", "demo")  # where README's reader has made it


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_people(make_people)


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("steps", pages())
@pytest.mark.parametrize("most", [500, 1_000_000])
def test_what_a_page_says_runs(most: int, steps: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Python blocks share their names; a shell block has a command of ours, and all end well.

    In CI few people do where a page asserts no figure: attacks and learners take longest, and run alike.
    """
    if not any("assert" in text for _, text in steps):
        monkeypatch.setattr(hedgerow.datasets, "make_people", lambda n, **more: make_people(min(n, most), **more))
        write_people(hedgerow.datasets.make_people)
    names: dict[str, object] = {}
    for language, text in steps:
        if language == "python":
            exec(compile(text, "block", "exec"), names)
            continue
        lines = text.replace("\\\n", " ").splitlines()
        words = [shlex.split(line.removeprefix("$ "), comments=True) for line in lines]
        ours = [line[1:] for line in words if line[:1] == ["hedgerow"]]
        assert ours
        assert [run(line) for line in ours] == [0] * len(ours)


def test_the_readme_begins_with_a_report_and_rows_of_the_default_release() -> None:
    path = ROOT / "scripts" / "pictures.py"
    spec = importlib.util.spec_from_file_location("pictures", path)
    assert spec is not None
    assert spec.loader is not None
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    people, _, release = pictures.example()
    first = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:35])
    for table in pictures.rows(people, release).split("\n\n"):
        assert table in first
    shown = [ROOT / name for name in re.findall(r'(?:src|srcset)="([^"]+)"', first)]
    assert [path.read_bytes()[1:4] for path in shown] == [b"PNG"] * 2


def modules() -> list[str]:
    return sorted(
        m.name for m in pkgutil.walk_packages(hedgerow.__path__, "hedgerow.") if not m.name.endswith("__main__")
    )


@pytest.mark.parametrize("name", ["hedgerow", *modules()])
def test_examples_in_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


@pytest.mark.usefixtures("people")
def test_the_page_for_a_board_tells_what_its_code_gives() -> None:
    page = (ROOT / "docs/for-a-board.md").read_text(encoding="utf-8")
    (code,) = [text for kind, text in FENCE.findall(page) if kind == "python"]
    names: dict[str, Any] = {}
    exec(compile(code, "for-a-board.md", "exec"), names)
    groups, told, linked = (names[name] for name in ("groups", "told", "linked"))
    learners, words = names["learners"], " ".join(page.split())

    def figure(share: float) -> str:
        return f"{share:.3f}".removeprefix("0")

    incomes = Counter(names["people"]["income"].to_pylist())
    unique = {value for value, people in incomes.items() if people == 1}
    released = set(names["release"].table["income"].to_pylist())
    inferred = {who: figure(learners[who]["explained"]) for who in ("members", "strangers")}
    low, high = map(figure, learners["advantage"]["interval"])
    for said in (
        f"groups of {groups['smallest']} or more",
        f"({groups['groups']} groups)",
        f"{100 * linked['highest']:.1f} times in 100",
        f"{figure(told['worst'])} in the worst group, {figure(told['mean_over_groups'])} on average",
        f"explains {inferred['members']} of the incomes",
        f"({figure(learners['worst_tenth']['explained'])} of the tenth",
        f"and {inferred['strangers']} of people who are not",
        f"{len(unique):,} of the {len(names['people']):,} incomes are unique",
        f"the table has {len(released):,} different ones",
        f"{figure(learners['advantage']['explained'])} (95% interval {low} to {high})",
    ):
        assert said in words
