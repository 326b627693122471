"""Protect 50,000 made people with MART and say where everything is: ``make demo``."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

import hedgerow as hr

QUASI = ["age", "sex", "education", "job", "region", "marital", "hours_per_week", "born_abroad"]
SENSITIVE = ["income", "assets"]


def main(folder: Path) -> None:
    """Make the people, protect them from a file as a steward would, write the release."""
    schema = hr.Schema(quasi=QUASI, sensitive=SENSITIVE, identifiers=["person_id", "postcode"])
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "people.parquet"
        pq.write_table(hr.datasets.make_people(50_000, seed=1), source)
        start = time.perf_counter()
        release = hr.protect(source, schema, hr.MART(k=10, max_disclosure=0.5))
        release.write(folder, force=True)
        seconds = time.perf_counter() - start
    numbers = release.summary()
    groups, told = numbers["groups"], numbers["disclosure"]
    print(
        f"{numbers['rows']:,} made people protected by MART(k=10, max_disclosure=0.5), "
        "written and verified "
        f"in {seconds:.1f} s"
    )
    print(f"  {groups['groups']:,} groups of {groups['smallest']} to {groups['largest']} people")
    print("  disclosure, what a group tells of the sensitive columns (0 nothing, 1 all):")
    print(
        f"  {told['mean_over_groups']:.3f} on average over groups, "
        f"{told['mean_over_records']:.3f} over people, "
        f"{told['worst']:.3f} in the worst group"
    )
    for check in release.checks:
        print(
            f"  {'holds ' if check.holds else 'BROKEN'} {check.name}: required {check.required}, "
            f"reached {check.reached}"
        )
    print()
    print(f"release    {folder / 'release.parquet'}")
    print(f"to read    {folder / 'RECIPIENT.md'}")
    print(f"plan       {folder / 'plan.json'}  (private)")
    print(f"numbers    {folder / 'audit.json'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
