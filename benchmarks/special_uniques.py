"""How long special uniques take; beside the Python package suda where it is installed.

python benchmarks/special_uniques.py [--scores]

--scores holds the scores of sdcMicro's testdata beside the package's instead; its folder is $HEDGEROW_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.audit.attacks.special_uniques import special_uniques

LEVELS = (2, 3, 5, 8, 10, 15, 20, 50, 80, 300)
SIZE = 3
KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def made(rows: int) -> list[Any]:
    """Ten columns of 2 to 300 values."""
    rng = np.random.default_rng(0)
    return [rng.integers(0, levels, rows).astype(np.uint16) for levels in LEVELS]


def clock(rows: int) -> str:
    """Seconds for so many rows."""
    columns = made(rows)
    begin, cpu = time.perf_counter(), time.process_time()
    found = special_uniques(columns, [str(j) for j in range(len(columns))], size=SIZE)
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return f"{rows:>9,} x {len(columns)}: {wall:.1f} s, {cpu:.1f} s of processor time; {found.counts.sum():,} sets"


def scores() -> None:
    """Scores of sdcMicro's testdata, those of suda 0.2.2 beside them."""
    import pandas as pd
    from suda import suda

    folder = Path(os.environ.get("HEDGEROW_DATA", "../shared/data"))
    table = pd.read_parquet(folder / "sdcmicro_testdata.parquet")[KEYS]
    own = special_uniques([np.unique(table[c], return_inverse=True)[1] for c in KEYS], KEYS, size=SIZE)
    other = suda(table.astype(str), max_msu=SIZE)["suda"].to_numpy()
    some = own.scores > 0
    print(f"records with a score: {some.sum()}, suda {np.count_nonzero(other)}, both {(some & (other > 0)).sum()}")
    print(f"the same score: {(own.scores == other)[some].sum()}; sums {own.scores.sum():.0f} and {other.sum():.0f}")
    odd, smaller = own.scores != other, own.counts[:, :2].any(axis=1)
    print(f"another score: {odd.sum()}, of them with sets of 1 or 2: {(odd & smaller).sum()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scores", action="store_true")
    if parser.parse_args().scores:
        return scores()
    clock(1000)
    for rows in (100_000, 1_000_000):
        print(clock(rows))
    try:
        import pandas as pd
        from suda import suda
    except ImportError:
        print("suda is not installed (pip install suda): comparison left out")
        return
    table = pd.DataFrame(dict(enumerate(made(20_000)))).rename(columns=str)
    begin = time.process_time()
    special_uniques([table[name].to_numpy() for name in table], list(table), size=2)
    own = time.process_time() - begin
    begin = time.process_time()
    suda(table, max_msu=2)
    other = time.process_time() - begin
    print(f"   20,000 x {len(LEVELS)}, sets of two: {own:.2f} s, suda {other:.2f} s: {other / own:.0f} times")


if __name__ == "__main__":
    main()
