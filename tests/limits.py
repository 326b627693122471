"""Limits that a test puts on its own process."""

from __future__ import annotations

import resource
from contextlib import contextmanager


@contextmanager
def a_file_holds(n_bytes):
    """Files of this process cannot grow beyond a few bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
