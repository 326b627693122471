"""The table of mutants fits the code, and the script tells a test that bites from one that does not."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import mutants  # noqa: E402


def test_every_mutant_still_applies_and_names_tests_that_are_there() -> None:
    assert mutants.stale(mutants.MUTANTS, ROOT) == []
    assert len({mutant.name for mutant in mutants.MUTANTS}) == len(mutants.MUTANTS) >= 60
    assert sum(bool(mutant.reason) for mutant in mutants.MUTANTS) <= mutants.MOST


def test_a_table_that_is_out_of_date_is_seen() -> None:
    one = mutants.MUTANTS[0]
    for odd in (
        replace(one, old="a text that nobody wrote"),
        replace(one, old="self"),  # in many places
        replace(one, new=one.old),
        replace(one, file="attic.py"),
        replace(one, tests="columns/test_cover.py::test_that_is_gone"),
        replace(one, also=(("attic.py", "a", "b"),)),
    ):
        assert len(mutants.stale([odd], ROOT)) == 1


def test_what_no_test_notices_survives(tmp_path: Path) -> None:
    package, tests = tmp_path / "src" / "hedgerow", tmp_path / "tests"
    package.mkdir(parents=True)
    tests.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sums.py").write_text("def keeps(n, k):\n    return n >= k\n")
    (tests / "test_sums.py").write_text(
        "from hedgerow.sums import keeps\n\n"
        "def test_far():\n    assert keeps(9, 5) and not keeps(1, 5)\n\n"
        "def test_near():\n    assert not keeps(4, 5)\n\n"
        "def test_wrong():\n    assert keeps(1, 5)\n"
    )
    made = mutants.Mutant("one less", "sums.py", "n >= k", "n >= k - 1", "test_sums.py::test_near")
    table = [made, replace(made, tests="test_sums.py::test_far"), replace(made, tests="test_sums.py::test_wrong")]
    heard: list[mutants.Result] = []
    found = mutants.run(table, tmp_path, 1, heard.append)
    assert [result.verdict for result in found] == ["killed", "SURVIVED", "FAULT"]
    assert heard == found
    assert "do not pass as it is" in found[2].output
    assert (package / "sums.py").read_text().endswith("n >= k\n")


def test_few_may_survive_and_each_with_a_reason() -> None:
    one = mutants.MUTANTS[0]
    bare, told = replace(one, reason=""), replace(one, reason="nobody can see it")

    def code(*alive: mutants.Mutant, verdict: str = mutants.SURVIVED) -> int:
        return mutants.code_of([mutants.Result(mutant, verdict, 0.0) for mutant in alive])

    assert code(bare, bare, verdict=mutants.KILLED) == 0
    assert code(told, told, told) == 0
    assert code(bare) == code(told, told, told, told) == 1
    assert code(bare, verdict=mutants.FAULT) == 2
