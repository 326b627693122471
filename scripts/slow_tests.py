"""Measure the tests of `make test`, and write down those that it leaves to `make test-all` for their time.

    python scripts/slow_tests.py [--keep]

It takes ten minutes to half an hour. Processor time is measured, so other work on the machine matters little.
With --keep what stands in tests/slow.txt stays there.
"""

from __future__ import annotations

import argparse
import resource
import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LIST = Path(__file__).parent.parent / "tests" / "slow.txt"
# seconds of processor time from which on a test is slow, and the same where promises and formulas are tested
SLOW, OF_PROMISES = 0.25, 1.0
PROMISES = (
    "adversary/",
    "guard/",
    "kernels/",
    "trees/",
    "release/test_verify",
    "properties/",
    "measures/",
    "reference/",
)


class Times:
    """A plugin that notes the processor time of each test, with that of the processes it started."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Run a test and note its time."""
        before = _processor_time()
        result: Any = yield
        self.seconds[item.nodeid.removeprefix("tests/")] = _processor_time() - before
        return result


def _processor_time() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def slow(seconds: dict[str, float]) -> list[str]:
    """Return the slow tests: the name of a function where all of its cases are, else of each case."""
    cases: dict[str, dict[str, float]] = defaultdict(dict)
    for name, time in seconds.items():
        cases[name.partition("[")[0]][name] = time
    names = []
    for function, times in cases.items():
        limit = OF_PROMISES if function.startswith(PROMISES) else SLOW
        # the first case of many compiles for the others
        usual = statistics.median(times.values())
        over = [name for name, time in times.items() if time >= limit and (len(times) == 1 or time <= 3 * usual)]
        names += [function] if len(over) == len(times) else over
    return sorted(names)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep what is listed")
    kept = LIST.read_text(encoding="utf-8").splitlines() if parser.parse_args().keep else []
    before = LIST.read_text(encoding="utf-8")
    LIST.write_text("\n".join(kept) + "\n", encoding="utf-8")
    times = Times()
    if pytest.main(["-q", "-n", "0", "-m", "not slow"], plugins=[times]) != pytest.ExitCode.OK:
        LIST.write_text(before, encoding="utf-8")
        raise SystemExit("tests failed, so the list stays as it was")
    LIST.write_text("\n".join(sorted({*kept, *slow(times.seconds)})) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
