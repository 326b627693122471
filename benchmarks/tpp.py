"""How long a whole TPP fit takes: reading, growing, planning, K, rebuilding, comparing.

    python benchmarks/tpp.py [records]

Made records with 11 attributes (6 numeric, of which 2 continuous, and 5 categorical) and a
tree of 8 leaves. Prints seconds by records and by attributes, and how far the largest point
lies above linear growth; the bounds are 5 s for 500,000 records and 1.3 times linear.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.methods.tpp import TreePatternPreserving, TreeSettings


def people(n: int, seed: int = 0) -> tuple[pa.Table, pa.Array]:
    """Made records and a response of two classes that depends on some of the columns."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "age": rng.integers(17, 91, n),
        "schooling": rng.integers(1, 17, n),
        "gain": np.where(rng.random(n) < 0.08, rng.integers(100, 20000, n), 0),
        "hours": rng.integers(1, 100, n),
        "height": np.round(rng.normal(170, 10, n), 3),
        "score": rng.normal(size=n),
    }
    risk = 0.03 * columns["age"] + 0.1 * columns["schooling"] + 2 * (columns["gain"] > 5000)
    risk += columns["score"] + rng.normal(size=n)
    for name, size in (("job", 14), ("region", 8), ("status", 7), ("sector", 9), ("country", 40)):
        labels = pa.array([f"{name} {i:02}" for i in range(size)])
        codes = pa.array(rng.integers(0, size, n).astype(np.int32))
        columns[name] = pa.DictionaryArray.from_arrays(codes, labels).cast(pa.string())
    return pa.table(columns), pa.array(np.where(risk > 3, "yes", "no"))


def seconds(table: pa.Table, y: pa.Array, repeats: int = 3) -> float:
    """The fastest of some whole fits."""
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        TreePatternPreserving(TreeSettings("entropy", n_splits=7), k=2).fit(table, y)
        taken.append(time.perf_counter() - began)
    return min(taken)


def main() -> None:
    """Measure and print."""
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    table, y = people(largest)
    names = table.column_names
    seconds(table.slice(0, 5000), y.slice(0, 5000), 1)  # kernels are compiled or loaded here
    by_rows = {
        n: seconds(table.slice(0, n), y.slice(0, n)) for n in (largest // 8, largest // 4, largest // 2, largest)
    }
    half, answers = table.slice(0, largest // 2), y.slice(0, largest // 2)
    by_columns = {}
    for copies in (1, 2, 3):  # the same mix of kinds in every point
        wide = half
        for copy in range(1, copies):
            other, _ = people(largest // 2, seed=copy)
            for name in names:
                wide = wide.append_column(f"{name} {copy}", other.column(name))
        by_columns[wide.num_columns] = seconds(wide, answers)
    for words, points in (("records", by_rows), ("attributes", by_columns)):
        first, last = min(points), max(points)
        over = points[last] / points[first] / (last / first)
        for size, taken in points.items():
            print(f"{size:>9,} {words:<10} {taken:7.3f} s")
        print(f"{words}: {over:.2f} times linear (bound 1.3)")
    print(f"largest: {by_rows[largest]:.2f} s for {largest:,} records (bound 5 s)")


if __name__ == "__main__":
    main()
