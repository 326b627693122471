"""No more threads work than there are processors; what comes out does not depend on it."""

from __future__ import annotations

import os
import threading
import time

import pytest

from hedgerow.kernels.threads import WORTH, in_parts, side_by_side


@pytest.mark.parametrize("processors", [None, 1, 2, 64])
def test_at_most_one_thread_for_every_processor(monkeypatch: pytest.MonkeyPatch, processors: int | None) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    at_work = most = 0
    lock = threading.Lock()

    def work(part: object) -> object:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        time.sleep(0.02)
        with lock:
            at_work -= 1
        return part

    assert side_by_side(work, range(9), WORTH) == list(range(9))
    parts = in_parts(work, 10, WORTH)
    assert [p for part in parts for p in range(part.start, part.stop)] == list(range(10))
    assert len(parts) == 4  # whatever adds up in parts adds up alike everywhere
    assert most == {None: 1, 1: 1, 2: 2, 64: 4}[processors]
