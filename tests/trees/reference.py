"""The grower and the pruner once more, in plain Python and exact fractions, from the definitions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.trees.objective import Rules
from hedgerow.trees.statistics import ENTROPY, StatisticsLayout

from ..adversary.checker import vectors
from .tables import Sensitive

TIE = 1e-9


@dataclass
class Stats:
    """Records, per numeric response (known, sum, sum of squares), per class column the counts."""

    n: int
    numbers: list[tuple[int, int, int]]
    classes: list[list[int]]
    rows: list[int]

    def __add__(self, other: Stats) -> Stats:
        numbers = [tuple(map(sum, zip(a, b, strict=True))) for a, b in zip(self.numbers, other.numbers, strict=True)]
        classes = [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(self.classes, other.classes, strict=True)]
        return Stats(self.n + other.n, numbers, classes, self.rows + other.rows)


@dataclass
class Node:
    """A node with its rows; leaves have no column."""

    rows: list[int]
    depth: int
    column: int = -1
    left_codes: set[int] = field(default_factory=set)
    left: Node | None = None
    right: Node | None = None

    def preorder(self) -> list[Node]:
        below = [] if self.left is None else self.left.preorder() + self.right.preorder()
        return [self, *below]


class Grower:
    """Grows by the best admissible split, every sum taken anew."""

    def __init__(
        self, codes: Any, n_codes: Any, ordered: Any, sensitive: Sensitive, layout: StatisticsLayout, rules: Rules
    ) -> None:
        self.codes = np.asarray(codes).tolist()
        self.n_codes = list(map(int, n_codes))
        self.ordered = list(map(bool, ordered))
        self.responses, self.rules = sensitive.responses, rules
        self.z = sensitive.z.tolist()
        self.r = sensitive.z.shape[1]
        self.weight = [Fraction(float(w)) for w in layout.weight]
        self.classes = sensitive.classes.tolist()
        self.sizes = [len(c.counts) for c in self.responses.classes]
        self.whole = self.stats(range(len(self.z)))

    def stats(self, rows: Any) -> Stats:
        rows = list(rows)
        numbers = []
        for j in range(self.r):
            at = self.responses.missing_of[j]
            known = [i for i in rows if at < 0 or self.classes[i][at] == 1]
            z = [self.z[i][j] for i in known]
            numbers.append((len(known), sum(z), sum(v * v for v in z)))
        counts = [
            [sum(self.classes[i][j] == c for i in rows) for c in range(size)] for j, size in enumerate(self.sizes)
        ]
        return Stats(len(rows), numbers, counts, rows)

    def impurity(self, s: Stats) -> Any:
        """Weighted squared error and Gini impurity, or entropy times n."""
        if self.rules.gain == ENTROPY:
            return sum(
                float(self.weight[self.r + j]) * (_xlogx(s.n) - sum(map(_xlogx, counts)))
                for j, counts in enumerate(s.classes)
            )
        total = Fraction(0)
        for j, (known, z, zz) in enumerate(s.numbers):
            if known:
                total += self.weight[j] * (zz - Fraction(z * z, known))
        for j, counts in enumerate(s.classes):
            if s.n:
                total += self.weight[self.r + j] * (s.n - Fraction(sum(c * c for c in counts), s.n))
        return total

    def admissible(self, s: Stats) -> bool:
        """k, disclosure of every response, largest share, entropy; each by its definition."""
        if s.n < self.rules.min_leaf:
            return False
        for j, (known, z, zz) in enumerate(s.numbers):
            if self.rules.cap[j] < 1 and known:
                mean = Fraction(self.whole.numbers[j][1], self.whole.numbers[j][0])
                outside = zz - 2 * mean * z + known * mean**2
                inside = zz - Fraction(z * z, known)
                if outside > 0 and inside / outside < 1 - self.rules.cap[j]:
                    return False
        for j, counts in enumerate(s.classes):
            share = [Fraction(c, s.n) for c in counts]
            if self.rules.cap[self.r + j] < 1:
                # missing values take no part in what a group tells
                gone = -1 if self.responses.categorical[j].n_missing else None
                here, all_known = sum(counts[:gone]), sum(self.whole.classes[j][:gone])
                p_known = [Fraction(c, max(here, 1)) for c in counts[:gone]]
                public = [Fraction(c, all_known) for c in self.whole.classes[j][:gone]]
                told = sum((p - q) ** 2 for p, q in zip(p_known, public, strict=True))
                if not here:
                    told = Fraction(0)
                outside = 1 - 2 * sum(p * q for p, q in zip(p_known, public, strict=True)) + sum(q * q for q in public)
                if outside > 0 and told / outside > self.rules.cap[self.r + j]:
                    return False
            if self.rules.share[j] < 1 and max(share) > self.rules.share[j]:
                return False
            if self.rules.entropy[j] > 0:
                entropy = -sum(float(p) * math.log(p) for p in share if p)
                if entropy < self.rules.entropy[j]:
                    return False
        return True

    def candidates(self, column: int, by_code: dict[int, Stats]) -> Any:
        """Sets of codes that may go left, in the order in which ties are settled."""
        present = sorted(by_code)
        missing = self.n_codes[column]
        if self.ordered[column]:
            values = [c for c in present if c != missing]
            for sides in [{missing}, set()] if missing in by_code else [set()]:
                for k in range(1, len(values)):
                    yield set(values[:k]) | sides
            return
        if len(present) <= 10:
            for g in range(1, 1 << (len(present) - 1)):
                mask = g ^ (g >> 1)
                yield {c for b, c in enumerate(present) if mask >> b & 1}
            return
        for sequence in self.orders(by_code):
            for k in range(1, len(sequence)):
                yield set(sequence[:k])

    def orders(self, by_code: dict[int, Stats]) -> list[list[int]]:
        """Present categories by each response's mean, then by the first principal axis."""
        present = sorted(by_code)
        total = sum((by_code[c] for c in present[1:]), by_code[present[0]])
        channels = []
        for j in range(self.r):
            known, z, _ = total.numbers[j]
            mean = {c: by_code[c].numbers[j] for c in present}
            channels.append(
                [
                    float(self.weight[j]) ** 0.5 * (mean[c][1] / mean[c][0] - z / known) if mean[c][0] else 0.0
                    for c in present
                ]
            )
        for j in range(len(self.sizes)):
            if self.weight[self.r + j]:
                channels += [
                    [
                        float(self.weight[self.r + j]) ** 0.5
                        * (by_code[c].classes[j][v] / by_code[c].n - total.classes[j][v] / total.n)
                        for c in present
                    ]
                    for v in range(self.sizes[j])
                ]
        means = np.array(channels).T
        keys = list(means.T)
        if len(keys) > 1:
            n = np.array([by_code[c].n for c in present], float)
            keys.append(means @ np.linalg.eigh((means * n[:, None]).T @ means)[1][:, -1])
        return [[present[i] for i in np.argsort(key, kind="stable")] for key in keys]

    def best(self, rows: list[int]) -> tuple[Any, int, set[int]]:
        """(gain, column, codes that go left) of the best admissible split."""
        total = self.stats(rows)
        here = self.impurity(total)
        best, column, chosen = 0, -1, set()
        for c in range(len(self.n_codes)):
            by_code = {
                code: self.stats([i for i in rows if self.codes[i][c] == code])
                for code in {self.codes[i][c] for i in rows}
            }
            for codes in self.candidates(c, by_code):
                inside = [by_code[x] for x in by_code if x in codes]
                outside = [by_code[x] for x in by_code if x not in codes]
                left, right = sum(inside[1:], inside[0]), sum(outside[1:], outside[0])
                if min(left.n, right.n) < self.rules.min_leaf:
                    continue
                gain = here - self.impurity(left) - self.impurity(right)
                if (
                    gain > best * (1 + Fraction(TIE) if isinstance(best, Fraction) else 1 + TIE)
                    and gain > (1e-9 if self.rules.gain == ENTROPY else 0)
                    and self.admissible(left)
                    and self.admissible(right)
                ):
                    best, column, chosen = gain, c, self.oriented(c, codes, by_code, left, right)
        return best, column, chosen

    def oriented(self, column: int, codes: set[int], by_code: dict[int, Stats], left: Stats, right: Stats) -> set[int]:
        """Categories whose summed responses have the smaller mean go left."""
        if self.ordered[column]:
            return codes
        if self.r:
            a = Fraction(sum(z for _, z, _ in left.numbers), left.n)
            b = Fraction(sum(z for _, z, _ in right.numbers), right.n)
            flip = a > b
        else:
            shares = [
                (Fraction(x, left.n), Fraction(y, right.n))
                for x, y in zip(left.classes[0], right.classes[0], strict=True)
            ]
            flip = next((a < b for a, b in shares if a != b), False)
        return set(by_code) - codes if flip else codes

    def grow(self, rows: list[int] | None = None, depth: int = 0, max_depth: int = 99) -> Node:
        node = Node(list(range(len(self.z))) if rows is None else rows, depth)
        if len(node.rows) >= 2 * self.rules.min_leaf and depth < max_depth:
            _, node.column, node.left_codes = self.best(node.rows)
            if node.column >= 0:
                inside = [i for i in node.rows if self.codes[i][node.column] in node.left_codes]
                others = [i for i in node.rows if self.codes[i][node.column] not in node.left_codes]
                node.left = self.grow(inside, depth + 1, max_depth)
                node.right = self.grow(others, depth + 1, max_depth)
        return node


class Scored(Grower):
    """Caps by all proper scores of every column, each by its definition (promise.md, section 1)."""

    def __init__(self, *given: Any, cap: float) -> None:
        super().__init__(*given)
        self.cap = cap
        self.scores: list[dict[int, tuple[Any, float]]] = []
        for column in given[3].columns:
            values = [None if c == column.n_values else int(c) for c in column.codes.tolist()]
            known = [i for i, v in enumerate(values) if v is not None]
            seen = [values[i] for i in known]
            if column.is_number or column.kind == "ordinal":
                kinds = ["ranked", "local", *(["squared"] if column.is_number else [])]
            else:
                kinds = ["brier"]
            for kind in kinds:
                # cuts depend on the order of the values alone; squares on the numbers
                told = [column.values[v] for v in seen] if kind == "squared" else seen
                self._add(known, vectors(told, kind))
            if len(known) < len(values):
                self._add(range(len(values)), [(Fraction(v is None),) for v in values])

    def _add(self, rows: Any, vector: Any) -> None:
        """One score: per row its vector less the public mean, and its loss, not below U / 4."""
        mean = [sum(part) / len(vector) for part in zip(*vector, strict=True)]
        apart = [[x - m for x, m in zip(v, mean, strict=True)] for v in vector]
        loss = [sum(x * x for x in v) for v in apart]
        least = sum(loss) / len(loss) / 4
        self.scores.append(
            {i: (np.array(v, float), float(max(own, least))) for i, v, own in zip(rows, apart, loss, strict=True)}
        )

    def admissible(self, s: Stats) -> bool:
        if s.n < self.rules.min_leaf:
            return False
        for score in self.scores:
            inside = [score[i] for i in s.rows if i in score]
            if inside:
                total = sum(v for v, _ in inside)
                if (total**2).sum() / len(inside) > self.cap * sum(own for _, own in inside):
                    return False
        return True


def _xlogx(count: float) -> float:
    return count * math.log(count) if count else 0.0


def error_digression_order(
    column: Any, right: Any, depth: Any, n: Any, k: int, violates: Any, error: Any, digression: Any
) -> tuple[list[int], list[float]]:
    """Prune the violating node of smallest q, look at every node again, and so on."""
    leaf = {t for t in range(len(column)) if column[t] < 0}

    def branch(t: int) -> tuple[float, float]:
        if t in leaf:
            return error[t], digression[t]
        a, b = branch(t + 1), branch(int(right[t]))
        return a[0] + b[0], a[1] + b[1]

    def alive(t: int = 0) -> list[int]:
        return [t] if t in leaf else [t, *alive(t + 1), *alive(int(right[t]))]

    order, found = [], []
    while True:
        open_nodes = []
        for t in alive():
            children = [] if t in leaf else [t + 1, int(right[t])]
            if children and (violates[t] or any(c in leaf and n[c] < k for c in children)):
                e, d = branch(t)
                q = max(error[t] - e, 0.0) / (d - digression[t]) if d > digression[t] else math.inf
                open_nodes.append((q, -depth[t], t))
        if not open_nodes:
            return order, found
        q, _, t = min(open_nodes)
        leaf.add(t)
        order.append(t)
        found.append(q)
