"""Which tests stay in which tier."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from . import tiers


class Item:
    """A case, as pytest hands it over."""

    def __init__(self, name: str, **params: Any) -> None:
        ids = "-".join(map(str, params.values()))
        self.nodeid = f"tests/{name}[{ids}]" if params else f"tests/{name}"
        self.params = params
        self.marks: set[str] = set()
        if params:
            self.callspec = SimpleNamespace(params=params)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.add(mark.name)


def marked(monkeypatch: pytest.MonkeyPatch, cases: list[Item], kept: int, nightly: int | None) -> list[Item]:
    """The cases of a function after they were marked."""
    monkeypatch.setattr(tiers, "KEPT", {"test_a.py::test_b": kept})
    monkeypatch.setattr(tiers, "NIGHTLY", {} if nightly is None else {"test_a.py::test_b": nightly})
    monkeypatch.setattr(tiers, "SLOW", frozenset())
    assert tiers.mark(cases) == set()  # type: ignore[arg-type]
    assert all("slow" in case.marks for case in cases if "nightly" in case.marks)
    return cases


def product_of(methods: int, tables: int) -> list[Item]:
    pairs = product(range(methods), range(tables))
    return [Item("test_a.py::test_b", method=method, table=f"t{table}") for method, table in pairs]


@pytest.mark.parametrize("kept", [0, 7])
@pytest.mark.parametrize("nightly", [2, 4, 1000])
@pytest.mark.parametrize(("methods", "tables"), [(5, 4), (3, 8), (2, 9)])
def test_every_value_stays_in_ci(
    monkeypatch: pytest.MonkeyPatch, methods: int, tables: int, nightly: int, kept: int
) -> None:
    """Also where a step and the number of tables have a common factor."""
    cases = marked(monkeypatch, product_of(methods, tables), kept, nightly)
    in_ci = [case for case in cases if "nightly" not in case.marks]
    assert {case.params["method"] for case in in_ci} == {*range(methods)}
    assert {case.params["table"] for case in in_ci} == {f"t{t}" for t in range(tables)}
    assert len(in_ci) < len(cases)
    assert {*in_ci} >= {*cases[::nightly]} | {case for case in cases if "slow" not in case.marks}


def test_pairs_count_by_their_parts_and_seeds_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [Item("test_a.py::test_b", pair=pair, seed=i) for i, pair in enumerate(product("abc", "xyz"))]
    in_ci = [case.params["pair"] for case in marked(monkeypatch, pairs, 0, 1000) if "nightly" not in case.marks]
    assert in_ci == [("a", "x"), ("a", "y"), ("a", "z"), ("b", "x"), ("c", "x")]


def test_none_is_left_where_the_table_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, kept, nightly, marks in (
        ([Item("test_a.py::test_b")], 0, None, [{"slow"}]),
        ([Item("test_a.py::test_b")], 0, 0, [{"slow", "nightly"}]),
        (product_of(1, 3), 2, 0, [set(), {"slow", "nightly"}, set()]),
        (product_of(1, 3), 2, None, [set(), {"slow"}, set()]),
    ):
        assert [case.marks for case in marked(monkeypatch, given, kept, nightly)] == marks


def test_names_that_are_gone_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "KEPT", {"test_a.py": 2, "test_gone.py": 0})
    monkeypatch.setattr(tiers, "NIGHTLY", {"test_a.py::test_b": 2, "test_a.py::test_gone": 0})
    monkeypatch.setattr(tiers, "SLOW", frozenset({"test_a.py::test_b[0-t1]", "test_a.py::test_b[0-gone]"}))
    assert tiers.mark(product_of(2, 2)) == {  # type: ignore[arg-type]
        "test_gone.py",
        "test_a.py::test_gone",
        "test_a.py::test_b[0-gone]",
    }


def test_makefile_and_ci_run_the_tiers() -> None:
    root = Path(__file__).resolve().parent.parent
    make, ci = ((root / name).read_text(encoding="utf-8") for name in ("Makefile", ".ci/run"))
    for tier in ('"not slow"', '"slow and not nightly"', "nightly"):
        assert make.count(f"--dist worksteal -m {tier}\n") == 1
    assert "\npart test-all\n" in ci
