"""Settings of all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# kernels compile on their first call, which takes longer than any deadline per example
settings.register_profile("hedgerow", deadline=None)
settings.load_profile("hedgerow")


@pytest.fixture
def need_data() -> None:
    """Skip where the real tables are absent."""
    if not os.environ.get("HEDGEROW_DATA"):
        pytest.skip("HEDGEROW_DATA is not set: the real tables are absent")
