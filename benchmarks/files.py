"""How long tables take to read and write, beside the readers and writers that libraries offer.

    python benchmarks/files.py [--rows 1000000]

Made people, 17 columns; processor time, median of three. The libraries' own functions stand
beside ours where they were tried and not taken: docs/decisions/0006-libraries.md says why.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.csv

from hedgerow.datasets import make_people
from hedgerow.io.read import read
from hedgerow.io.write import write_table


def seconds(work: Callable[[], Any]) -> float:
    """Processor time, median of three."""
    found = []
    for _ in range(3):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return statistics.median(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    people = make_people(parser.parse_args().rows, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        place = {s: str(Path(folder) / f"people.{s}") for s in ("csv", "parquet", "arrow")}
        rows = [(f"write {s}", seconds(lambda p=p: write_table(people, p))) for s, p in place.items()]
        rows += [(f"read {s}", seconds(lambda p=p: read(p))) for s, p in place.items()]
        other = str(Path(folder) / "other.csv")
        rows += [
            ("pyarrow.csv.write_csv", seconds(lambda: pyarrow.csv.write_csv(people, other))),
            ("pyarrow.csv.read_csv", seconds(lambda: pyarrow.csv.read_csv(place["csv"]))),
        ]
    for name, taken in rows:
        print(f"{name:34} {taken:6.2f}")


if __name__ == "__main__":
    main()
