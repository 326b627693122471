"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# kernels compile on their first call, which takes longer than any deadline per example
settings.register_profile("hedgerow", deadline=None)
settings.load_profile("hedgerow")
