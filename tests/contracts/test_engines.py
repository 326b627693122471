"""One suite for every engine: the same release as in memory, byte for byte, or the same error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hedgerow.backends import ENGINES, engine

from .engine_suite import engine_checks

CHECKS = [
    pytest.param(check, id=f"{name}: {title}")
    for name in ENGINES
    if name not in ("memory", "spark")  # some of Spark's: tests/backends/test_spark_methods.py
    for title, check in engine_checks(name)
]


@pytest.mark.parametrize("check", CHECKS)
def test_an_engine_does_as_the_one_in_memory(check: Callable[[Path], None], tmp_path: Path) -> None:
    check(tmp_path)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_declares_itself(name: str) -> None:
    declared = engine(name).capabilities
    assert "partition" in declared.recodings
