"""Processor time of reading and writing files with labels, beside Parquet and CSV.

python benchmarks/labels.py [rows]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import hedgerow as hr
from hedgerow.io.read import read
from hedgerow.io.write import write_table


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    people = read(hr.datasets.make_people(rows, seed=1))
    print(f"{rows:,} records, {len(people.names)} columns; processor seconds")
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("parquet", "csv", "sav", "dta", "xpt", "xlsx"):
            path = Path(folder, f"people.{ending}")
            written = seconds(lambda: write_table(people.arrow, path))  # noqa: B023
            found = seconds(lambda: read(path))  # noqa: B023
            print(f"{ending:8}  write {written:6.2f}  read {found:6.2f}")


if __name__ == "__main__":
    main()
