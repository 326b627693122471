"""Settings of all tests."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from . import tiers

# kernels compile on their first call, which takes longer than any deadline per example;
# HEDGEROW_SEARCH=1 draws new examples, without it every run tests the same
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("search" if os.environ.get("HEDGEROW_SEARCH") else "same")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that `make test` leaves to `make test-all`, and those that it leaves to `make nightly`."""
    unused = tiers.mark(items)
    if unused and config.args == config.getini("testpaths"):
        raise pytest.UsageError(f"tests/tiers.py names tests that are gone: {sorted(unused)}")


@pytest.fixture
def need_data() -> None:
    """Skip where the real tables are absent."""
    if not os.environ.get("HEDGEROW_DATA"):
        pytest.skip("HEDGEROW_DATA is not set: the real tables are absent")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A small Spark on this machine, one for all tests that ask for it."""
    pytest.importorskip("pyspark", reason="pyspark is not installed (the extra spark)")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Java is absent, which Spark needs")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.master": "local[2,4]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "3g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        # tables of some hundred rows: compiling every query, and planning it anew at every stage,
        # takes most of the time; sessions of other tests (executors, Connect) do both
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
