"""What the documents say runs: every Python block, every hedgerow command of a console block."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pyarrow.csv as pacsv
import pytest

import hedgerow
from hedgerow.cli.run import run
from hedgerow.datasets import make_people

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: tuple[str, ...]) -> list[object]:
    """(file, blocks) of a language; the blocks of one file share their names."""
    found = []
    for file in FILES:
        texts = [
            text
            for kind, text in FENCE.findall(file.read_text(encoding="utf-8"))
            if kind in language
        ]
        if texts:
            found.append(pytest.param(texts, id=str(file.relative_to(ROOT))))
    return found


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pacsv.write_csv(make_people(2_000, seed=1), "people.csv")


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("texts", blocks(("python",)))
def test_python_blocks_run(texts: list[str]) -> None:
    names: dict[str, object] = {}
    for text in texts:
        exec(compile(text, "block", "exec"), names)


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("texts", blocks(("console", "bash", "sh")))
def test_commands_run(texts: list[str]) -> None:
    ran = 0
    for text in texts:
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words[:1] == ["hedgerow"]:
                assert run(words[1:]) == 0
                ran += 1
    assert ran


def modules() -> list[str]:
    return sorted(
        m.name
        for m in pkgutil.walk_packages(hedgerow.__path__, "hedgerow.")
        if not m.name.endswith("__main__")
    )


@pytest.mark.parametrize("name", ["hedgerow", *modules()])
def test_examples_in_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert failed == 0
