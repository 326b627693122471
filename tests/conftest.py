"""Settings of all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# kernels compile on their first call, which takes longer than any deadline per example;
# HEDGEROW_SEARCH=1 draws new examples, without it every run tests the same
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("search" if os.environ.get("HEDGEROW_SEARCH") else "same")


@pytest.fixture
def need_data() -> None:
    """Skip where the real tables are absent."""
    if not os.environ.get("HEDGEROW_DATA"):
        pytest.skip("HEDGEROW_DATA is not set: the real tables are absent")
