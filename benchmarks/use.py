"""What learners still learn from a release, and what they learn of its own people.

`experiments.hedge` has the protocol; this runs it on as many rows as its pages tell of.

    HEDGEROW_DATA=... python benchmarks/use.py [--splits 3] [--rows 9000] [--tables adult,credit]

With ``--guarded`` it prints what values drawn anew keep and hide, beside exact ones, sequential trees and
a fresh sample (`experiments.guarded`); ``--screened`` adds releases that leave out columns that explain nothing.
"""

from __future__ import annotations

import argparse

from experiments.hedge import ATTACKING, CAPS, CASES, HARD, JUDGED, averaged, measure

from experiments import guarded


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=9_000)
    parser.add_argument("--tables", default="", help="parts of names, joined by commas")
    parser.add_argument("--guarded", action="store_true", help="values drawn anew, beside their rivals")
    parser.add_argument("--screened", action="store_true", help="with --guarded: releases with a screen as well")
    given = parser.parse_args()
    wanted = [w.strip().lower() for w in given.tables.split(",") if w.strip()]
    if given.guarded:
        _guarded(given, wanted)
        return
    for title, cases, caps in (("tables", CASES, CAPS), ("hard tables", HARD, (0.5,))):
        print(f"{title:<20} cap   method             groups  R2 boosting/ridge/tree   advantage b/t/nearest")
        found = []
        for case in cases:
            if wanted and not any(w in case.name.lower() for w in wanted):
                continue
            for row in measure(case, (None, *caps), rows=given.rows, splits=given.splits):
                found.append(row)
                _tell(row)
        for row in averaged(found):
            _tell({"table": "mean", "groups": 0} | row)


COLUMNS = ("advantage", "nearest", "membership", "equal", "counts", "overlap", "impossible", "rare", "cell_means")


def _guarded(given: argparse.Namespace, wanted: list[str]) -> None:
    """Print the figures of every release of every table, and their means."""
    heads = "  ".join(f"{name.replace('_', ' '):>10}" for name in COLUMNS)
    print(f"{'table':<17} {'release':<32} {'R2 boosting/ridge/tree':<22} {heads}")
    leave = () if given.screened else guarded.SCREENED
    found: list[dict[str, object]] = []
    for case in guarded.TABLES:
        if wanted and not any(w in case.name.lower() for w in wanted):
            continue
        for row in guarded.measure(case, rows=given.rows, splits=given.splits, leave=leave):
            found.append(row)
            _tell_guarded(row)
    for row in guarded.averaged(found):
        _tell_guarded(row)


def _tell_guarded(row: dict[str, object]) -> None:
    use = "/".join(f"{row[f'r2_{n}']:.3f}" for n in JUDGED) if "r2_tree" in row else ""
    counts = f"{row['counts_median']:.1f}/{row['counts_nine_in_ten']:.1f}"
    cells = {n: f"{row[n]:.3f}" if n in row and row[n] == row[n] else "" for n in COLUMNS if n != "counts"}
    told = "  ".join(f"{({'counts': counts} | cells)[n]:>10}" for n in COLUMNS)
    print(f"{row['table']:<17} {row['release']:<32} {use:<22} {told}", flush=True)


def _tell(row: dict[str, object]) -> None:
    use = "/".join(f"{row[f'r2_{n}']:.3f}" for n in JUDGED)
    own = "/".join(f"{row[f'advantage_{n}']:.3f}" for n in ATTACKING)
    cap = "none" if row["cap"] is None else row["cap"]
    said = f"{row['table']:<20} {cap!s:<5} {row['method']:<18} {row['groups']:6}  {use:<24} {own}"
    print(said, row.get("of_uncapped_mart", ""), flush=True)


if __name__ == "__main__":
    main()
