"""What an adversary who holds only the files finds out: all four attacks on Adult, by method.

Downcoding names what stood in coarsened cells, membership tells people of the table from people
whom the method left out, singling out describes exactly one, composition reads a release beside
one of MART with k = 10 of the same people.

    HEDGEROW_DATA=... python benchmarks/adversary.py [--rows 0] [--people 500]

With ``--shadow`` an attacker with shadow models (`experiments.shadows`) attacks exact, redrawn and synthetic
releases of three tables, 600 people each.
"""

from __future__ import annotations

import argparse
import warnings

from experiments.guarded import TABLES
from experiments.shadows import RELEASES, attack

import hedgerow as hr
from hedgerow.audit.attacks.composition import composition, other_releases
from hedgerow.audit.attacks.downcoding import downcoding
from hedgerow.audit.attacks.membership import membership
from hedgerow.audit.attacks.singling_out import predicate_singling_out
from hedgerow.audit.non_members import left_out, refitting
from hedgerow.audit.pairing import pair_up
from hedgerow.audit.subject import of_release
from hedgerow.columns.table import Table
from hedgerow.io.read import read

QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
SCHEMA = hr.Schema(quasi=QUASI, sensitive=["hours-per-week", "occupation"])
METHODS = {
    "MART(k=10)": hr.MART(k=10, categorical="concatenate"),
    "MART(k=10, max_disclosure=.4)": hr.MART(k=10, max_disclosure=0.4, categorical="concatenate"),
    "Mondrian(k=10)": hr.Mondrian(k=10),
    "LocalSuppression(k=10)": hr.LocalSuppression(k=10),
}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=0, help="0 takes all complete rows")
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--shadow", action="store_true", help="shadow models of each method itself")
    parser.add_argument("--shadows", type=int, default=16)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.shadow:
        _shadows(given.rows or 600, given.shadows)
        return
    people = Table(read(hr.datasets.load_adult()).arrow.drop_null())
    if given.rows:
        people = Table(people.arrow.slice(0, given.rows))
    first = hr.protect(people, SCHEMA, hr.MART(k=10, categorical="concatenate"))
    for name, method in METHODS.items():
        release = hr.protect(people, SCHEMA, method)
        pair = pair_up(people, of_release(release))
        outside = list(left_out(pair, refitting(method, SCHEMA), progress=lambda *_: None))
        found = downcoding(pair, people=given.people)
        found += membership(outside, people=given.people)
        found += predicate_singling_out(pair, outside)
        if name != "MART(k=10)":
            found += composition(pair, other_releases(pair, [first]))[1]
        print(name)
        for each in found:
            low, high = each["interval"]
            print(
                f"  {each['attack']}, {each['learner']}: {each['target']}: {each['success']:.3f} "
                f"[{low:.3f}, {high:.3f}], control {each['control']:.3f}, "
                f"public {each['public_best']:.3f}"
            )
            for alarms, told in each.get("found", {}).items():
                print(f"    found at {float(alarms):.1%} false alarms: {told['share']:.3f}")


SHADOWED = "Adult", "German Credit", "CASC Census"


def _shadows(rows: int, shadows: int) -> None:
    """Print how well an attacker with shadow models finds the members of each release."""
    print(f"{'table':<16}{'release':<24}{'AUC':<24}found at 1% false alarms")
    for case in (each for each in TABLES if each.name in SHADOWED):
        for name, release in RELEASES.items():
            found = attack(case, release, rows=rows, shadows=shadows)
            auc, share = ("{:.3f} [{:.3f}, {:.3f}]".format(found[n], *found[f"{n}_interval"]) for n in ("auc", "found"))
            print(f"{case.name:<16}{name:<24}{auc:<24}{share}", flush=True)


if __name__ == "__main__":
    main()
