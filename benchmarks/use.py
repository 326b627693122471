"""What learners still learn from a release, and what they learn of its own people.

`experiments.hedge` has the protocol; this runs it on as many rows as its pages tell of.

    HEDGEROW_DATA=... python benchmarks/use.py [--splits 3] [--rows 9000] [--tables adult,credit]
"""

from __future__ import annotations

import argparse

from experiments.hedge import ATTACKING, CAPS, CASES, HARD, JUDGED, averaged, measure


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=9_000)
    parser.add_argument("--tables", default="", help="parts of names, joined by commas")
    given = parser.parse_args()
    wanted = [w.strip().lower() for w in given.tables.split(",") if w.strip()]
    for title, cases, caps in (("tables", CASES, CAPS), ("hard tables", HARD, (0.5,))):
        print(
            f"{title:<20} cap   method             groups  R2 boosting/ridge/tree   advantage b/t/nearest"
        )
        found = []
        for case in cases:
            if wanted and not any(w in case.name.lower() for w in wanted):
                continue
            for row in measure(case, (None, *caps), rows=given.rows, splits=given.splits):
                found.append(row)
                _tell(row)
        for row in averaged(found):
            _tell({"table": "mean", "groups": 0} | row)


def _tell(row: dict[str, object]) -> None:
    use = "/".join(f"{row[f'r2_{n}']:.3f}" for n in JUDGED)
    own = "/".join(f"{row[f'advantage_{n}']:.3f}" for n in ATTACKING)
    cap = "none" if row["cap"] is None else row["cap"]
    said = f"{row['table']:<20} {cap!s:<5} {row['method']:<18} {row['groups']:6}  {use:<24} {own}"
    print(said, row.get("of_uncapped_mart", ""), flush=True)


if __name__ == "__main__":
    main()
