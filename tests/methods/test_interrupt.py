"""Ctrl-C in the midst of compiled work ends it soon, whatever the method."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hedgerow

# What is fitted: rows, categories or "n" for numbers per quasi-identifier, sensitive column, method.
# Each would go on for many seconds.
WORK = {
    "MART, counted": (400_000, [900] * 6, "n", "MART(2, max_disclosure=None)"),
    "MART, listed": (20_000, [10_000], 10_000, "MART(10)"),
    "Mondrian": (200_000, [500] * 8, "n", "Mondrian(2, objective='loss')"),
    "Hedge": (300_000, ["n"] * 4, 40, "Hedge(5, max_disclosure=0.02, screen=False)"),
    "MDAV": (150_000, ["n"] * 8, "n", "Microaggregation(3)"),
    "MDAV, categories": (60_000, [9] * 4, "n", "Microaggregation(3)"),
    "Incognito": (100_000, [30] * 8, "n", "Incognito(50)"),
}
CODE = """
import sys, numpy as np, pyarrow as pa, hedgerow as hr
n, widths, sensitive, method = eval(sys.argv[1])
rng = np.random.default_rng(0)
def column(m, n):
    if m == "n":
        return pa.array(rng.normal(size=n))
    return pa.array(rng.integers(0, m, n)).cast(pa.string())
def fit(n):
    x = pa.table({f"q{j}": column(m, n) for j, m in enumerate(widths)})
    y = pa.table({"s": column(sensitive, n)})
    print("begun", flush=True)
    eval("hr." + method).fit(x, y)
try:
    fit(500)
    fit(n)
    print("ended", flush=True)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.parametrize("work", WORK)
def test_an_interrupt_is_heard_soon(work: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", CODE, repr(WORK[work])],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(hedgerow.__file__).parents[1])},
        # a job in the background is started with the signal ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    try:
        # compiled, then begun with all rows
        assert [process.stdout.readline() for _ in range(2)] == ["begun\n"] * 2
        time.sleep(1)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopped\n"
        assert time.monotonic() - sent < 5  # within one where nothing else runs
    finally:
        process.kill()
        process.wait()
