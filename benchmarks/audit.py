"""Auditing: a million rows against the clock, and Adult beside pycanon in one process.

    python benchmarks/audit.py [--rows 1000000] [--attacks]

With ``--attacks`` the first part is a million unchanged rows of ten quasi-identifiers, one of
80,000 values, with all attacks, inference and learning, and its peak of memory. The second part
needs pycanon beside Hedgerow (``pip install pycanon``) and the Adult data (``HEDGEROW_DATA``);
without them it says so and is left out.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa

import hedgerow as hr
from hedgerow.audit.attacks.class_risk import diversity_summary
from hedgerow.audit.pairing import align
from hedgerow.errors import HedgerowError
from hedgerow.io.read import read
from hedgerow.measures import Classes

QUASI = ("age", "sex", "education", "years_schooling", "job", "region", "marital", "hours_per_week")
ADULT = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country", "hours-per-week")


def million(rows: int) -> None:
    """A full audit without attacks of a MART release with eight quasi-identifiers."""
    people = hr.datasets.make_people(rows, seed=1)
    schema = hr.Schema(quasi=QUASI, sensitive=["income", "assets"])
    release = hr.protect(people, schema, hr.MART(k=10, categorical="concatenate"))
    small = hr.datasets.make_people(50_000, seed=2)  # fewer are sorted by numpy
    hr.audit(small, small, schema, attacks=False, learning=False)  # compiles the kernels
    start, busy = time.perf_counter(), time.process_time()
    found = hr.audit(people, release, attacks=False, learning=False)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    print(
        f"{rows:,} rows, {len(QUASI)} quasi-identifiers, {found.risk['release']['classes']['classes']:,} "
        f"classes: {seconds:.2f} s ({busy:.2f} s of processor time)"
    )


def attacked(rows: int) -> None:
    """An audit with everything of a table that differs in every row: time and memory."""
    people = hr.datasets.make_people(rows, seed=1)
    streets = np.random.default_rng(0).integers(0, 80_000, rows).astype(str)
    people = people.append_column("street", pa.array(np.char.add("street ", streets)))
    schema = hr.Schema(quasi=(*QUASI, "postcode", "street"), sensitive=["income", "diagnosis"])
    start, busy = time.perf_counter(), time.process_time()

    def tell(step: str, share: float | None) -> None:
        print(f"  {time.perf_counter() - start:7.1f} s  {peak():5.2f} GB  {step}", flush=True)

    found = hr.audit(people, people, schema, progress=tell)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    print(
        f"{rows:,} rows, {len(schema.quasi)} quasi-identifiers, all attacks: {seconds:.0f} s "
        f"({busy:.0f} s of processor time), peak {peak():.2f} GB"
    )
    for attack in found.attacks:
        print(f"  {attack['attack']}, {attack['learner']}: {attack['success']:.3f}")


def peak() -> float:
    """The most memory that this process had, in GB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e9 if sys.platform == "darwin" else 1e6)


def adult() -> None:
    """The figures that pycanon has, by both, on a MART release of the complete Adult rows."""
    try:
        from pycanon import anonymity
    except ImportError:
        print("pycanon is not installed (pip install pycanon): comparison left out")
        return
    try:
        people = hr.datasets.load_adult()
    except HedgerowError as error:
        print(error)
        return
    people = read(people).arrow.to_pandas().dropna().reset_index(drop=True)
    schema = hr.Schema(quasi=ADULT, sensitive=["occupation"])
    release = hr.protect(people, schema, hr.MART(k=10, max_disclosure=0.5, categorical="concatenate")).table
    ours(people, release, schema)  # compiles the kernels
    start = time.perf_counter()
    mine = ours(people, release, schema)
    middle = time.perf_counter()
    theirs = peer(anonymity, release, schema)
    end = time.perf_counter()
    for name, value in mine.items():
        same = np.allclose(value, theirs[name])
        print(f"{name:32}{value:12.6g}{theirs[name]:12.6g}  {'equal' if same else 'DIFFERENT'}")
    print(
        f"Hedgerow {middle - start:.3f} s, pycanon {end - middle:.1f} s: "
        f"{(end - middle) / (middle - start):,.0f} times faster"
    )


def ours(people: Any, release: Any, schema: hr.Schema) -> dict[str, float]:
    """From the two frames to the figures, reading and encoding included."""
    pair = align(people, release, schema)
    classes = Classes.from_groups(pair.classes, pair.released_sensitive)
    out = {"k": float(classes.sizes.min())}
    for name, column in classes.sensitive.items():
        found = diversity_summary(column)
        out |= {
            f"{name} l": found["distinct_l"],
            f"{name} entropy l": np.floor(found["entropy_l"]),
            f"{name} alpha": found["alpha"],
            f"{name} t": found["t_ordered"] if column.is_number else found["t_equal"],
            f"{name} basic beta": found["basic_beta"],
            f"{name} enhanced beta": found["enhanced_beta"],
            f"{name} delta": found["delta"],
        }
    return out


def peer(anonymity: Any, release: Any, schema: hr.Schema) -> dict[str, float]:
    """The same by pycanon (its recursive diversity is left out: it sorts the counts the other way)."""
    quasi = list(schema.quasi)
    out = {"k": anonymity.k_anonymity(release, quasi)}
    for name in schema.sensitive:
        column = [name]
        out |= {
            f"{name} l": anonymity.l_diversity(release, quasi, column),
            f"{name} entropy l": anonymity.entropy_l_diversity(release, quasi, column),
            f"{name} alpha": anonymity.alpha_k_anonymity(release, quasi, column)[0],
            f"{name} t": anonymity.t_closeness(release, quasi, column),
            f"{name} basic beta": anonymity.basic_beta_likeness(release, quasi, column),
            f"{name} enhanced beta": anonymity.enhanced_beta_likeness(release, quasi, column),
            f"{name} delta": anonymity.delta_disclosure(release, quasi, column),
        }
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="0 leaves the first part out")
    parser.add_argument("--attacks", action="store_true", help="with all attacks")
    given = parser.parse_args()
    if given.rows:
        (attacked if given.attacks else million)(given.rows)
    adult()
