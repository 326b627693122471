"""What an adversary who holds only the files finds out: all four attacks on Adult, by method.

Downcoding names what stood in coarsened cells, membership tells people of the table from people
whom the method left out, singling out describes exactly one, composition reads a release beside
one of MART with k = 10 of the same people.

    HEDGEROW_DATA=... python benchmarks/adversary.py [--rows 0] [--people 500]
    HEDGEROW_DATA=... python benchmarks/adversary.py --shadow [--rows 600] [--shadows 16]
    HEDGEROW_DATA=... python benchmarks/adversary.py --two-releases [--rows 6000] [--people 40]
    python benchmarks/adversary.py --all-but-one [--rows 3000] [-k 10]

With ``--shadow`` an attacker with shadow models (`experiments.shadows`) attacks exact, redrawn and synthetic
releases of three tables, 600 people each.

With ``--two-releases`` it prints what two releases of nearly the same people tell together, which no single release
promises. *One person more*: the same method on a table with and without one person. What stands in one file alone is
that person's record: the sensitive value, and how the group is released. *Two methods or settings*: whoever knows a
person's quasi-identifiers finds the group in both files; only the sensitive values that both groups have are left.

With ``--all-but-one`` it prints what an intruder who knows all members of a group but one reads about that one's
quasi-identifiers. Numbers: the values that the released mean or range leaves open, in the column's standard deviations.
Categories: how many the released shares or set leaves open.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from experiments.guarded import TABLES
from experiments.shadows import RELEASES, attack

import hedgerow as hr
from hedgerow.auditing.attacks.composition import composition, other_releases
from hedgerow.auditing.attacks.downcoding import downcoding
from hedgerow.auditing.attacks.membership import membership
from hedgerow.auditing.attacks.singling_out import predicate_singling_out
from hedgerow.auditing.non_members import left_out, refitting
from hedgerow.auditing.pairing import pair_up
from hedgerow.auditing.subject import of_release
from hedgerow.columns.table import Table
from hedgerow.io.read import read
from hedgerow.notation import parse_range, split_concatenation

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
    parser.add_argument("--rows", type=int, default=0, help="0 takes all complete rows, or each part's own number")
    parser.add_argument("--people", type=int, help="who are attacked: 500, or 40 who are added")
    parser.add_argument("--shadow", action="store_true", help="shadow models of each method itself")
    parser.add_argument("--shadows", type=int, default=16)
    parser.add_argument("--two-releases", action="store_true", help="with and without a person, and by two methods")
    parser.add_argument("--all-but-one", action="store_true", help="who knows a group but for one person")
    parser.add_argument("-k", type=int, default=10, help="of --all-but-one")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.two_releases:
        _two_releases(given.rows or 6_000, given.people or 40)
        return
    if given.all_but_one:
        print(_all_but_one(given.rows or 3_000, given.k).to_string(index=False))
        return
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
        found = downcoding(pair, people=given.people or 500)
        found += membership(outside, people=given.people or 500)
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


HOURS = "hours-per-week"
TOGETHER = hr.Schema(quasi=QUASI, sensitive=[HOURS])


def released(people: pa.Table, method: Any) -> Counter[tuple[Any, Any]]:
    """Every released record's cells with its sensitive value, and how often they occur."""
    rows = hr.protect(people, TOGETHER, method).table.to_pylist()
    return Counter((tuple(row[name] for name in QUASI), row[HOURS]) for row in rows)


def differencing(people: pa.Table, chosen: Any) -> tuple[float, float]:
    """Of people who were added: how often the value is told, and how often other groups change."""
    told = moved = 0
    whole = released(people, hr.MART(k=10))
    for person in chosen:
        others = people.filter(pa.array(np.arange(people.num_rows) != person))
        without = released(others, hr.MART(k=10))
        values = Counter(v for _, v in whole.elements())
        values.subtract(v for _, v in without.elements())
        left = [v for v, n in values.items() if n > 0]
        told += left == [people[HOURS][int(person)].as_py()]
        moved += sum((whole - without).values()) > 1
    return told / len(chosen), moved / len(chosen)


def intersection(people: pa.Table, one: Any, other: Any) -> tuple[float, float, float]:
    """Shares of people with fewer than k records left, and with one value left; the mean left."""
    first, second = (hr.protect(people, TOGETHER, method) for method in (one, other))
    found = hr.audit(people, first, others=[second], k=10, attacks=False, learning=False)
    left = found.risk["composition"]["columns"][HOURS]["together"]
    return left["fewer_than_k"], left["certain"], left["records"]


def _two_releases(rows: int, number: int) -> None:
    """Print what is learnt of a person who was added, and of everybody by two releases."""
    people = hr.datasets.load_adult(complete=False).select([*QUASI, HOURS]).slice(0, rows)
    chosen = np.random.default_rng(0).choice(people.num_rows, number, replace=False)
    told, moved = differencing(people, chosen)
    print(f"one person more, MART(k=10), {number} people: value told {told:.0%}, ", end="")
    print(f"other people's groups change as well {moved:.0%}")
    others = {
        "MART with max_disclosure=0.3": hr.MART(k=10, max_disclosure=0.3),
        "Mondrian (median)": hr.Mondrian(k=10),
        "MART with k = 25": hr.MART(k=25),
    }
    for name, other in others.items():
        few, single, mean = intersection(people, hr.MART(k=10), other)
        print(f"MART and {name}: fewer than 10 records left {few:.1%}, one value left {single:.1%}, ", end="")
        print(f"{mean:.1f} records left on average")


def of_number(cell: object, step: float, values: pd.Series, at: int) -> float:
    """How wide the interval is that is left for one member's number."""
    others = values.drop(at)
    if step:  # n means within half a step sum to within n half steps
        return len(values) * step
    low, high = parse_range(str(cell)) or (values.min(), values.max())
    if low < others.min() or high > others.max():  # an end that nobody else has
        return 0.0
    return high - low


def of_category(cell: str, counts: bool, values: pd.Series, at: int) -> int:
    """How many categories are left for one member."""
    parts = [name for name, _ in split_concatenation(cell)]
    others = set(values.drop(at))
    if counts or len(parts) == 1 or set(parts) - others:
        return 1
    return len(parts)


def _all_but_one(rows: int, k: int) -> pd.DataFrame:
    """One line a method."""
    people = hr.datasets.make_people(rows, seed=1).to_pandas()
    schema = hr.Schema(quasi=["age", "education", "job"], sensitive=["income"])
    made = []
    for method in (hr.Hedge(k=k), hr.MART(k=k)):
        release = hr.protect(people, schema, method, guard=None)
        own = people.iloc[release.rows].reset_index(drop=True)
        steps = {c.name: getattr(c, "step", 0.0) for c in release.plan.recoding.columns}
        counts = type(method) is hr.Hedge
        widths, left = [], []
        for _, rows_of in release.table.groupby(list(schema.quasi), observed=True).groups.items():
            cell = release.table.loc[rows_of[0]]
            for at in rows_of:
                widths.append(of_number(cell["age"], steps["age"], own.loc[rows_of, "age"], at))
                left.append(of_category(str(cell["job"]), counts, own.loc[rows_of, "job"], at))
        wide, many = pd.Series(widths), pd.Series(left)
        made.append(
            {
                "method": type(method).__name__,
                "people": len(wide),
                "age exact": f"{(wide == 0).mean():.1%}",
                "age left open, median in standard deviations": round(wide.median() / people["age"].std(), 2),
                "job exact": f"{(many == 1).mean():.1%}",
            }
        )
    return pd.DataFrame(made)


if __name__ == "__main__":
    main()
