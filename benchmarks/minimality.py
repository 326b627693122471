"""What lowers the attack of who knows the method (`risk.knows_method`), and at what price.

For every table and size: two thirds of the rows are released, and learners that were trained on the
release are asked about the third that was left out (the protocol of `experiments.hedge`). The
variants:

- MART, Hedge: as they are;
- MART, drawn cap: every node draws its cap in [.7 d, d] by a key, and refuses splits by it. The
  intruder knows that, and weighs every assignment by how many draws it agrees with. Grown here,
  in plain numpy, beside the same grower with a cap of d (`MART, plain`);
- MART, siblings pruned: a leaf with a part whose posterior disclosure exceeds the cap becomes one with
  its siblings, until none is left. The same as refusing by the larger of the parts' and the
  posterior's disclosure. The intruder does not know it, so what is left is the least that there is;
- Hedge, joined further: a group with such a part is joined to another, likewise.

    HEDGEROW_DATA=... python benchmarks/minimality.py [--rows 4500,9000] [--caps .5,.3] [--only PART]
"""

from __future__ import annotations

import argparse
import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
import pandas as pd
from experiments.hedge import ADULT, ALCOHOL, CREDIT, Case, _adult, learnt, sample

import hedgerow as hr
from hedgerow.auditing.attacks import knows_method as attack
from hedgerow.auditing.attacks.knows_method import Agreeing, Posterior, Values, agreeing, posterior
from hedgerow.auditing.pairing import align, pair_up
from hedgerow.auditing.subject import of_release
from hedgerow.auditing.table_pair import Pair
from hedgerow.columns.table import Table
from hedgerow.datasets import load_alcohol, load_german_credit
from hedgerow.kernels.joins import measure
from hedgerow.measures.guarantees import ColumnGuarantee, Disclosure
from hedgerow.methods import hedge, refusals
from hedgerow.methods.design import Quasi
from hedgerow.methods.joining import joined
from hedgerow.methods.refusals import Refused, _splits, joined_cells, refused_splits
from hedgerow.notation import JOIN, MISSING, interval, quote

K, GROUPS = 10, 12
CLEARLY = 0.01
"""Parts are counted from so much above the cap: many groups sit at the cap, and sampling is not exact."""
DRAWS = np.linspace(0.7, 1.0, 7)[:-1] + 0.3 / 12
"""Caps that the intruder thinks of, as parts of d: the middles of six equal parts."""
attack.STATES, attack.SWEEPS, attack.MOVES, refusals._MOST = 32, 8, 160, 128  # more than an audit takes the time for
CASES = (
    Case("Adult, income", _adult, ADULT, ("income",)),
    Case("Adult, hours", _adult, ADULT, ("hours-per-week",)),
    Case("Adult, occupation", _adult, ADULT, ("occupation",)),
    Case("German Credit", load_german_credit, CREDIT, ("class",)),
    Case("Alcohol", load_alcohol, ALCOHOL, ("drinks",)),
)


def values_of(table: Table, schema: hr.Schema, cap: float) -> Values:
    """The sensitive values and the cap, as the attack takes them."""
    columns = [table.declared_column(schema, name) for name in schema.sensitive]
    return Values.from_columns(columns, [Disclosure(cap)], False)


def attacked(refused: Sequence[Refused], values: Values, factors: Sequence[float] = (1.0,)) -> list[Posterior]:
    """The posterior of every group, when its cap was one of some parts of d, equally likely."""
    found, sampled = [], 0
    for number, each in enumerate(refused):
        parts: list[Agreeing] = []
        for at, factor in enumerate(factors):
            limits = values.limits._replace(limit=values.limits.limit * factor)
            other = replace(values, limits=limits)
            made = agreeing(each, other)
            if made is None and sampled < GROUPS * len(factors):
                runs = max(attack.RUNS // len(factors), 2)
                with mock.patch.object(attack, "RUNS", runs):
                    made = agreeing(each, other, (0, number, at))
                sampled += 1
            parts += [] if made is None else [made]
        if parts:
            runs = np.concatenate([p.runs for p in parts])
            weights = np.concatenate([p.weights for p in parts])
            found.append(posterior(parts[0]._replace(runs=runs, weights=weights), values.cap))
    return found


def too_much(each: Refused, values: Values, cap: float, seen: dict[bytes, bool]) -> bool:
    """Whether a part of a group surely gives away more than the cap to who knows the method."""
    name = each.rows.tobytes()
    if name not in seen:
        made = agreeing(each, values) or agreeing(each, values, (0, len(seen)))
        over = made is not None and (posterior(made, values.cap).low > cap + 1e-9).any()
        seen[name] = bool(over)
    return seen[name]


class Pruned(hr.MART):
    """MART whose leaves with a part above the cap become one with their siblings."""

    def _kept(self, tree, sensitive, persons):  # type: ignore[no-untyped-def]
        tree = super()._kept(tree, sensitive, persons)
        uncut, seen, values = (tree, {}, Values.from_columns(list(sensitive), [Disclosure(self.max_disclosure)], False))
        while True:
            nodes = tree.grown
            refused = refused_splits(tree, uncut, self._quasi_kept, self.k, None)
            start = {int(nodes.start[i]): i for i in np.flatnonzero(nodes.column < 0)}
            place = {int(row): at for at, row in enumerate(nodes.rows)}
            worse = [
                start[min(place[int(row)] for row in each.rows)]
                for each in refused
                if too_much(each, values, self.max_disclosure, seen)
            ]
            parents = np.unique(nodes.parent[worse]) if worse else np.zeros(0, int)
            parents = parents[parents >= 0]
            if not len(parents):
                self._cut = tree, uncut
                return tree
            tree = tree.pruned(parents)

    def _fit(self, table, schema):  # type: ignore[no-untyped-def]
        self._quasi_kept = Quasi.from_table(table, schema, int(self.max_bins))
        return super()._fit(table, schema)


@dataclass(frozen=True)
class Posteriors(ColumnGuarantee):
    """No group has a part whose posterior disclosure exceeds the cap."""

    kept_now: Callable[[], np.ndarray] = lambda: np.ones(0, bool)

    def holds_in(self, classes):  # type: ignore[no-untyped-def]
        return self.kept_now()


class Further(hr.Hedge):
    """Hedge that joins groups with a part above the cap as well."""

    def _fit(self, table, schema):  # type: ignore[no-untyped-def]
        values, cap, now = values_of(table, schema, self.max_disclosure), self.max_disclosure, {}
        seen: dict[bytes, bool] = {}

        def kept_now() -> np.ndarray:
            number = now["number"]
            kept = np.ones(int(number.max()) + 1, bool)
            for each in joined_cells(self.tree_, number, number):
                group = number[self.tree_.leaf_of_rows()[each.rows[0]]]
                kept[group] = not too_much(each, values, cap, seen)
            return kept

        def further(n, means, classes_of, promises):  # type: ignore[no-untyped-def]
            def noting(number):  # type: ignore[no-untyped-def]
                now["number"] = number
                return classes_of(number)

            return joined(n, means, noting, [*promises, Posteriors(kept_now=kept_now)])

        with mock.patch.object(hedge, "joined", further):
            return super()._fit(table, schema)


def grown(table: Table, schema: hr.Schema, cap: float, key: str | None) -> tuple[list[np.ndarray], list[Refused]]:
    """The leaves of a tree whose nodes draw their cap by a key (all of it without one)."""
    quasi, values = Quasi.from_table(table, schema, 1024), values_of(table, schema, cap)
    codes = [cut.codes(c.codes) for c, cut in zip(quasi.columns, quasi.cuts, strict=True)]
    told, m = values.sums[values.of_row], values.gains.shape[1] // 2
    gains = values.gains[values.of_row]
    scale = np.maximum(gains[:, :m].std(axis=0), 1e-12) if m == 1 else np.ones(m)
    stack, leaves, refused = [("", np.arange(table.n_rows))], [], []
    while stack:
        name, rows = stack.pop()
        sides = []
        for column, code, cut in zip(quasi.columns, codes, quasi.cuts, strict=True):
            here = code[rows]
            sides += list(_splits(here, cut.n_bins, column.value_counts.is_ordered))
            present = np.unique(here)
            if not column.value_counts.is_ordered and len(present) > 10:
                mean = [gains[rows[here == c], 0].mean() for c in present]
                rank = np.empty(len(present))
                rank[np.argsort(mean, kind="stable")] = np.arange(len(present))
                rank = rank[np.searchsorted(present, here)]
                sides += [rank < at for at in range(1, len(present))]
        split = np.array(sides, bool).reshape(-1, len(rows))
        size = split.sum(axis=1)
        split = split[(size >= K) & (len(rows) - size >= K)]
        digest = hashlib.sha256(f"{key}{name}".encode()).digest()
        part = 1.0 if key is None else 0.7 + 0.3 * int.from_bytes(digest[:6], "big") / 2**48
        best = None
        if len(split):
            left, whole = split @ told[rows], told[rows].sum(axis=0)
            excess = np.zeros((2, len(split)))
            measure(np.ascontiguousarray(left), values.limits, excess[0])
            measure(np.ascontiguousarray(whole - left), values.limits, excess[1])
            sums, all_sums = split @ gains[rows], gains[rows].sum(axis=0)
            kl, kr = sums[:, m:], all_sums[m:] - sums[:, m:]
            apart = (sums[:, :m] * kr - (all_sums[:m] - sums[:, :m]) * kl) / scale
            gain = (apart**2 / np.maximum((kl + kr) * kl * kr, 1e-12)).sum(axis=1)
            gain[(excess > part).any(axis=0)] = 0.0
            best = int(gain.argmax()) if gain.max() > 0 else None
        if best is None:
            leaves.append(rows)
            parts = [
                side
                for column, code, cut in zip(quasi.columns, codes, quasi.cuts, strict=True)
                for side in _splits(code[rows], cut.n_bins, column.value_counts.is_ordered)
            ]
            tried = np.array(parts, bool).reshape(-1, len(rows))
            size = tried.sum(axis=1)
            tried = np.unique(tried[(size >= K) & (len(rows) - size >= K)], axis=0)
            if len(tried):
                some = np.unique(np.linspace(0, len(tried) - 1, refusals._MOST).astype(int))
                refused.append(Refused(rows, tried[some], needs_gain=True))
            continue
        stack += [(name + "1", rows[~split[best]]), (name + "0", rows[split[best]])]
    return leaves, refused


def shown(table: Table, schema: hr.Schema, leaves: Sequence[np.ndarray]) -> Pair:
    """The pair of a table and its leaves, released as ranges and joined categories."""
    frame = table.arrow.to_pandas()
    made, leaf = frame.copy(), np.empty(table.n_rows, int)
    for number, rows in enumerate(leaves):
        leaf[rows] = number
    for name in schema.quasi:
        number, label = table.kind(name) in ("numeric", "date"), {}
        for group, part in frame[name].groupby(leaf):
            known = part.dropna()
            texts = [interval(known.min(), known.max())] if number and len(known) else []
            texts = texts if number else [quote(v) for v in sorted(map(str, known.unique()))]
            gap = [MISSING] if len(known) < len(part) else []
            label[group] = JOIN.join([*texts, *gap]) if texts else None
        made[name] = pd.Series(leaf).map(label)
    return align(frame, made, schema)


def variants(members: Table, schema: hr.Schema, cap: float) -> Iterator[tuple[str, Pair, list[Posterior]]]:
    """Every variant's release, and what who knows it concludes."""
    values = values_of(members, schema, cap)
    for name, key, factors in (("MART, plain", None, (1.0,)), ("MART, drawn cap", "a key", DRAWS)):
        leaves, refused = grown(members, schema, cap, key)
        yield name, shown(members, schema, leaves), attacked(refused, values, factors)
    for name, method in (
        ("MART", hr.MART(k=K, max_disclosure=cap)),
        ("MART, siblings pruned", Pruned(k=K, max_disclosure=cap)),
        ("Hedge", hr.Hedge(k=K, max_disclosure=cap, screen=True)),
        ("Hedge, joined further", Further(k=K, max_disclosure=cap)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = hr.protect(members, schema, method, guard=None)
        refused = release.method.refused(release.original, release.schema)
        yield name, pair_up(members, of_release(release)), attacked(refused, values)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="4500,9000", help="rows, of which two thirds are released")
    parser.add_argument("--caps", default=".5")
    parser.add_argument("--only", default="", help="part of a table's name")
    asked = parser.parse_args()
    print(
        f"{'table':<18} {'people':>6} {'cap':>4}  {'variant':<22} groups  looked at  parts above"
        "  people above  worst (shown)  R2 boosting  ridge"
    )
    for case in CASES:
        if asked.only.lower() not in case.name.lower():
            continue
        for rows in dict.fromkeys(map(int, asked.rows.split(","))):
            members, others = sample(case, rows, 0)
            for cap in map(float, asked.caps.split(",")):
                for name, pair, found in variants(members, case.schema, cap):
                    use = learnt(pair, others)
                    over = [each.low > cap + CLEARLY for each in found]
                    parts = sum(int(o.sum()) for o in over)
                    people = sum(int(p.sides[o].any(axis=0).sum()) for p, o in zip(found, over, strict=True))
                    most = max(found, key=lambda each: each.low.max(), default=None)
                    worst = "-" if most is None else f"{most.disclosure[most.low.argmax()]:.3f} ({most.of_group:.3f})"
                    print(
                        f"{case.name:<18} {members.n_rows:>6} {cap:>4}  {name:<22} {pair.classes.n_groups:>6}"
                        f"  {len(found):>9}  {parts:>11}  {people:>12}  {worst:>13}"
                        f"  {use['boosting'][0]:>11.3f}  {use['ridge'][0]:>5.3f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
