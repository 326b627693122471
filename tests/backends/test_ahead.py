"""The first release on a machine: a second process compiles what comes last, and leaves with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.backends import precompile

FIRST = """
import sys
from numba.core import event
from hedgerow.cli.app import run
from hedgerow.backends import precompile

method = sys.argv[-1]
precompile.compile_all(method)

class Seen(event.Listener):
    names = []
    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func)
    def on_end(self, event):
        pass

event.register("numba:compile", Seen())
made = {function.py_func for function, _ in precompile.late_functions(method)}
code = run(sys.argv[1:])
again = sorted(f.__name__ for f in Seen.names if f in made)
print(code, "expand" in [f.__name__ for f in Seen.names], again)
"""


def environment(folder: Path) -> dict[str, str]:
    paths = [str(Path(hr.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(paths)}


def first_release(method: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Compile what a method needs late and protect with it, where nothing is compiled yet."""
    import pyarrow.csv as pacsv

    pacsv.write_csv(hr.datasets.make_people(300, seed=1), folder / "people.csv")
    roles = ["--quasi", "age,sex,job,hours_per_week", "--sensitive", "income,assets", "-k", "5"]
    asked = ["protect", str(folder / "people.csv"), *roles, "--out", str(folder / "out"), "--method", method]
    return subprocess.run(
        [sys.executable, "-c", FIRST, *asked],
        env=environment(folder / "kernels"),
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_compiled_ahead_is_not_compiled_again_and_one_line_says_what_happens(tmp_path: Path) -> None:
    done = first_release("mart", tmp_path)
    assert done.stdout.splitlines()[-1] == "0 True []", done.stderr
    assert done.stderr.count("compiling") == 1


def test_what_draws_is_compiled_ahead_as_well(tmp_path: Path) -> None:
    done = first_release("hedge", tmp_path)
    assert done.stdout.splitlines()[-1] == "0 True []", done.stderr
    assert done.stderr.count("compiling") == 1


def test_the_second_process_leaves_with_the_first(tmp_path: Path) -> None:
    beside = subprocess.Popen(
        [sys.executable, "-P", "-m", precompile.__name__, "hedge"], stdin=subprocess.PIPE, env=environment(tmp_path)
    )
    assert beside.stdin is not None
    beside.stdin.close()
    assert beside.wait(60) == 0
    assert not list(tmp_path.rglob("nodes.visit_order*"))  # it did not end because all was done


def test_nothing_begins_where_something_is_kept_or_nothing_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **more: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(precompile, "is_kept", lambda function: True)
    assert not precompile.begin()
    monkeypatch.setattr(precompile, "is_kept", lambda function: False)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert precompile.begin()


def test_the_last_needed_function_comes_first_and_what_draws_only_for_methods_that_draw() -> None:
    hedge, mart = ([f.__module__ for f, _ in precompile.late_functions(m)] for m in ("hedge", "mart"))
    assert hedge[0] == "hedgerow.kernels.neighbours"
    assert hedge[-1] == mart[-1] == "hedgerow.trees.nodes"
    drawing = {f"hedgerow.kernels.{name}" for name in ("joins", "even_draws", "neighbours")}
    assert drawing < set(hedge)
    assert [module for module in hedge if module not in drawing] == mart
