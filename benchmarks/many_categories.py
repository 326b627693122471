"""Print the peak of memory where a quasi-identifier has 65,536 categories, whose joined cells are long.

python benchmarks/many_categories.py [--rows 131072] [--categories 65536] [--suffix parquet]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=131_072)
    parser.add_argument("--categories", type=int, default=65_536)
    parser.add_argument("--suffix", choices=("parquet", "csv"), default="parquet")
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    jobs = np.char.add("job ", rng.permutation(np.arange(given.rows) % given.categories).astype(str))
    table = pa.table(
        {"age": rng.integers(18, 90, given.rows), "job": jobs, "income": rng.lognormal(10, 0.6, given.rows).round()}
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, f"people.{given.suffix}")
        (pacsv.write_csv if given.suffix == "csv" else pq.write_table)(table, source)
        began = time.monotonic()
        words = "--quasi age,job --sensitive income --method mart -k 10 --no-report"
        command = [sys.executable, "-m", "hedgerow", "protect", source, *words.split()]
        subprocess.run([*command, "--out", Path(folder, "release")], check=True)
        size = Path(folder, "release", f"release.{given.suffix}").stat().st_size
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(
        f"{given.rows:,} rows, {given.categories:,} categories, {given.suffix}: peak {peak:.2f} GiB, "
        f"{time.monotonic() - began:.0f} s, a release of {size / 2**20:.1f} MiB"
    )


if __name__ == "__main__":
    main()
