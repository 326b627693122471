"""What a release keeps and hides when its values are drawn anew inside each group.

A trial, in plain numpy, of releases in which no value is copied from a person. Groups are those of
`Hedge`. Within a group every column is drawn from the whole table's values, weighted so that the
group's mean and spread are kept; then the columns are put into an order that restores the table's
rank correlations within groups, and pairs of values that hardly anybody has are swapped away.

Values that may be released are *runs*: neighbouring values of at least m people, told as their
rounded mean. A value that m people share is a run by itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.neighbors import NearestNeighbors

from hedgerow.audit.pairing import pair_up
from hedgerow.audit.subject import of_release
from hedgerow.columns.column import Column
from hedgerow.columns.table import Table
from hedgerow.io.read import read
from hedgerow.methods.group_cells import one_two_five
from hedgerow.methods.hedge import Hedge
from hedgerow.schema import Schema
from hedgerow.workflow.protect import protect

from .hedge import ATTACKING, CASES, HARD, JUDGED, Case, K, learnt, numbers, sample, scored

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHRINK = 10.0
"""People of the pooled spread that are added to each group's own."""
SMOOTH = 5.0
"""People of the whole table that are added to each group's shares of a sensitive column."""
STEP = 1 / 8
"""Means and spreads are rounded to so many standard deviations."""
CLIPPED = (0.02, 0.98)
"""Values beyond these quantiles weigh as much as the quantile, so that no tail shows its group."""
FEW = 25
"""Whole numbers of at most so many values are codes or counts: they are drawn by shares."""
ROUNDS = 4
"""How often the weights of runs are corrected towards the table's own distribution."""
EXPECTED = 10
"""A pair of values is impossible where so many people should have it, and fewer than m do."""


@dataclass(frozen=True)
class Runs:
    """The values of a column that may be released.

    Parameters
    ----------
    values : array of shape (n_runs,)
        What each run is released as, ascending; the last one NaN where values are missing.
    people : int array of shape (n_runs,)
    of_code : int array
        The run of each code of the column.
    """

    values: Floats
    people: Ints
    of_code: Ints


def runs_of(column: Column, m: int) -> Runs:
    """Close runs of at least m people over the sorted values of a number.

    Each value of a left-over of fewer than m people joins the neighbour nearer in value; if that is a
    value that m people share, it is released as that value.
    """
    values, counts = np.asarray(column.values, np.float64), column.counts()[:-1]
    whole = bool((values == np.rint(values)).all())
    parts: list[tuple[int, int]] = []  # first and last value of each run
    shared: list[bool] = []
    start, total = 0, 0
    for i, count in enumerate(counts):
        if count >= m:
            if total:
                start = _join(values, parts, start, i)
            parts.append((start, i))
            shared.append(True)
            start, total = i + 1, 0
        else:
            total += int(count)
            if total >= m:
                parts.append((start, i))
                shared.append(False)
                start, total = i + 1, 0
    if total:  # the last left-over has no neighbour above
        parts[-1] = (parts[-1][0], len(values) - 1)
    told = [_told(values[a : b + 1], counts[a : b + 1], m, whole=whole, is_shared=s, is_end=r in (0, len(parts) - 1))
            for r, ((a, b), s) in enumerate(zip(parts, shared, strict=True))]  # fmt: skip
    people = [int(counts[a : b + 1].sum()) for a, b in parts]
    of_code = np.repeat(np.arange(len(parts)), [b - a + 1 for a, b in parts])
    if column.has_missing:
        told, people = [*told, np.nan], [*people, int(column.counts()[-1])]
    return Runs(np.array(told), np.array(people), np.append(of_code, len(parts)))


def _join(values: Floats, parts: list[tuple[int, int]], start: int, i: int) -> int:
    """Give each value of a left-over before value i to the nearer neighbour; return where i's run begins."""
    if not parts:
        return start
    begin, last = parts[-1]
    nearer_below = values[start:i] - values[last] <= values[i] - values[start:i]
    cut = start + int(nearer_below.sum())
    parts[-1] = (begin, cut - 1)
    return cut


def _told(values: Floats, counts: Ints, m: int, *, whole: bool, is_shared: bool, is_end: bool) -> float:
    """Return the number that a run is released as."""
    if is_shared:
        return float(values[counts.argmax()])
    each = np.repeat(values, counts)
    # the mean of an end would tell a dominant value to within a tenth
    centre = float(np.median(each) if is_end else each.mean())
    span = float(values[-1] - values[0])
    if not span:
        return centre
    step = max(one_two_five(span / (2 * m)), 1.0 if whole else 0.0)
    inside = [s * step for s in (round(centre / step), np.ceil(values[0] / step), np.floor(values[-1] / step))]
    return next((v for v in inside if values[0] <= v <= values[-1]), centre)


def scores_of(values: Floats, people: Ints) -> Floats:
    """Return standardised values, clipped so that a tail weighs the same wherever it is."""
    reached = np.cumsum(people) / people.sum()
    low, high = (values[min(int(np.searchsorted(reached, q)), len(values) - 1)] for q in CLIPPED)
    clipped = np.clip(values, low, high)
    mean = float(np.average(clipped, weights=people))
    spread = float(np.sqrt(np.average((clipped - mean) ** 2, weights=people)))
    return (clipped - mean) / spread if spread else np.zeros(len(values))


def tilted(scores: Floats, weights: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return weights x exp(a z - b z^2), normed, with these means and variances; shape (n, runs).

    The least informative distributions over the runs with these two moments. Newton's steps on the
    dual, which is convex; halved until they lower it.
    """
    basis = np.stack([scores, scores**2], 1)
    target = np.stack([mean, mean**2 + variance], 1)
    theta = np.zeros_like(target)
    log_weights = np.log(weights)

    def state(theta: Floats) -> tuple[Floats, Floats]:
        energy = theta @ basis.T + log_weights
        top = energy.max(axis=1, keepdims=True)
        chances = np.exp(energy - top)
        total = chances.sum(axis=1, keepdims=True)
        return chances / total, (top + np.log(total))[:, 0] - (theta * target).sum(axis=1)

    chances, value = state(theta)
    for _ in range(100):
        moments = chances @ np.stack([scores, scores**2, scores**3, scores**4], 1)
        off = moments[:, :2] - target
        if np.abs(off).max() < 1e-9:
            return chances
        a = moments[:, 1] - moments[:, 0] ** 2 + 1e-10
        b = moments[:, 2] - moments[:, 0] * moments[:, 1]
        c = moments[:, 3] - moments[:, 1] ** 2 + 1e-10
        down = np.stack([c * off[:, 0] - b * off[:, 1], a * off[:, 1] - b * off[:, 0]], 1)
        down /= (a * c - b * b)[:, None]
        length = np.ones(len(theta))
        for _ in range(40):
            tried, tried_value = state(theta - length[:, None] * down)
            worse = tried_value > value - 1e-4 * length * (down * off).sum(axis=1) + 1e-13
            if not worse.any():
                break
            length[worse] /= 2
        theta = theta - length[:, None] * down
        chances, value = tried, tried_value
    return chances


def _reachable(scores: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Move moments that no distribution over the scores has to the nearest that one does."""
    points = np.unique(scores)
    span = points[-1] - points[0]
    if not span:
        return np.full_like(mean, points[0]), np.zeros_like(variance)
    mean = np.clip(mean, points[0] + 1e-3 * span, points[-1] - 1e-3 * span)
    at = np.clip(np.searchsorted(points, mean, side="right") - 1, 0, len(points) - 2)
    least = (mean - points[at]) * (points[at + 1] - mean)
    room = (mean - points[0]) * (points[-1] - mean) - least
    return mean, np.clip(variance, least + 0.02 * room + 1e-9, least + 0.98 * room)


def number_chances(
    runs: Runs, codes: Ints, group: Ints, *, shrink: float, smooth: float, rounds: int = ROUNDS
) -> Floats:
    """Return the chances of every run in every group of a number; shape (n_groups, n_runs).

    Of a group enter its mean and spread in rounded steps, and its share of missing values. The
    weights of the runs are then corrected until all groups together have the table's distribution:
    two moments alone would move the median of a skewed column by a third.
    """
    known = np.flatnonzero(~np.isnan(runs.values))
    people = runs.people[known].astype(float)
    scores = scores_of(runs.values[known], people)
    sizes = np.bincount(group).astype(float)
    has_value = codes < len(known)
    of, z = group[has_value], scores[codes[has_value]]
    n = np.bincount(of, minlength=len(sizes)).astype(float)
    some = np.maximum(n, 1)
    mean = np.bincount(of, z, len(sizes)) / some
    variance = np.maximum(np.bincount(of, z * z, len(sizes)) / some - mean**2, 0)
    pooled = (variance * n).sum() / n.sum()
    spread = np.sqrt((n * variance + shrink * pooled) / np.maximum(n + shrink, 1))
    steps = np.stack([np.rint(mean / STEP), np.maximum(np.rint(spread / STEP), 1)], 1)
    pairs, pair = np.unique(steps, axis=0, return_inverse=True)
    moments = _reachable(scores, pairs[:, 0] * STEP, (pairs[:, 1] * STEP) ** 2)
    missing = 1 - n / sizes
    if len(known) < len(runs.values):
        missing = (sizes - n + smooth * runs.people[-1] / len(codes)) / (sizes + smooth)
    drawn = np.bincount(pair.reshape(-1), sizes * (1 - missing), len(pairs))
    weights = people.copy()
    for left in range(rounds, -1, -1):
        chances = tilted(scores, weights, *moments)
        if left:
            all_groups = drawn @ chances
            weights = weights * people / np.maximum(all_groups * people.sum() / drawn.sum(), 1e-9)
            weights *= people.sum() / weights.sum()
    of_groups = chances[pair.reshape(-1)] * (1 - missing)[:, None]
    return np.column_stack([of_groups, missing])[:, : len(runs.values)]


def shares(codes: Ints, n_codes: int, group: Ints, smooth: float) -> Floats:
    """Return each group's shares of a category, smoothed by people of the whole table."""
    n_groups = int(group.max()) + 1
    counts = np.bincount(group * n_codes + codes, minlength=n_groups * n_codes)
    public = np.bincount(codes, minlength=n_codes) / len(codes)
    people = counts.reshape(n_groups, n_codes) + smooth * public
    return np.asarray(people / people.sum(axis=1, keepdims=True), np.float64)


def draw(chances: Floats, sizes: Ints, generator: np.random.Generator) -> Ints:
    """Draw as many codes for every group as it has people, evenly from one uniform a group."""
    drawn = []
    for row, n, u in zip(chances, sizes, generator.random(len(sizes)), strict=True):
        reached = np.cumsum(row)
        places = (u + np.arange(n)) / n * reached[-1]
        drawn.append(np.minimum(np.searchsorted(reached, places, side="right"), len(row) - 1))
    return np.concatenate(drawn)


def correlation_within(codes: Sequence[Ints], group: Ints) -> Floats:
    """Return the correlation of normal scores of the columns' ranks, pooled within groups."""
    sizes = np.bincount(group)
    columns = []
    for column in codes:
        counts = np.bincount(column)
        middle = (np.cumsum(counts) - counts / 2) / len(column)
        z = ndtri(np.clip(middle, 1e-6, 1 - 1e-6))[column]
        columns.append(z - (np.bincount(group, z) / sizes)[group])
    x = np.stack(columns, 1)
    spread = np.sqrt(np.maximum((x * x).sum(axis=0), 1e-12))
    rounded = np.round(x.T @ x / np.outer(spread, spread), 2)
    np.fill_diagonal(rounded, 1)
    values, vectors = np.linalg.eigh(rounded)  # rounding may have left it no correlation matrix
    matrix = (vectors * np.maximum(values, 1e-3)) @ vectors.T
    return np.asarray(matrix / np.sqrt(np.outer(np.diag(matrix), np.diag(matrix))), np.float64)


def reorder(
    columns: Sequence[Ints], group: Ints, correlation: Floats, generator: np.random.Generator
) -> list[Ints]:
    """Put each column into the order of normal scores with this correlation, inside groups."""
    normal = generator.standard_normal((len(group), len(columns))) @ np.linalg.cholesky(correlation).T
    ordered = []
    for column, score in zip(columns, normal.T, strict=True):
        placed = np.empty_like(column)
        placed[np.lexsort((score, group))] = column[np.lexsort((column, group))]
        ordered.append(placed)
    return ordered


def impossible(codes: Sequence[Ints], m: int) -> dict[tuple[int, int], NDArray[np.bool_]]:
    """Return by pair of columns which pairs of values fewer than m people have, though 10 should."""
    found = {}
    for i, a in enumerate(codes):
        for j, b in enumerate(codes[:i]):
            shape = int(a.max()) + 1, int(b.max()) + 1
            seen = np.bincount(a * shape[1] + b, minlength=shape[0] * shape[1]).reshape(shape)
            expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / len(a)
            bad = (seen < m) & (expected >= EXPECTED)
            if bad.any():
                found[i, j] = bad
    return found


def swap(
    columns: Sequence[Ints],
    bad: dict[tuple[int, int], NDArray[np.bool_]],
    coarse: Sequence[Ints],
    sizes: Ints,
    generator: np.random.Generator,
    passes: int = 8,
) -> tuple[list[Ints], float]:
    """Swap values inside groups as long as that lowers the number of impossible pairs.

    Returns the columns, and the share of rows that keep an impossible pair.
    """
    columns = [column.copy() for column in columns]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def cost(k: int, row: int, value: int) -> int:
        values = [int(coarse[c][value if c == k else columns[c][row]]) for c in range(len(columns))]
        return sum(int(t[values[i], values[j]]) for (i, j), t in bad.items() if k in (i, j))

    def impossible_pairs() -> Ints:
        shown = [c[v] for c, v in zip(coarse, columns, strict=True)]
        pairs = np.zeros(len(columns[0]), np.int64)
        for (i, j), table in bad.items():
            pairs += table[shown[i], shown[j]]
        return pairs

    for _ in range(passes):
        rows = np.flatnonzero(impossible_pairs())
        for row, g in zip(rows.tolist(), np.searchsorted(starts, rows, side="right") - 1, strict=True):
            at_fault = [k for k in range(len(columns)) if cost(k, row, int(columns[k][row]))]
            if not at_fault:
                continue
            k = at_fault[generator.integers(len(at_fault))]
            mine = int(columns[k][row])
            for other in (starts[g] + generator.permutation(sizes[g])).tolist():
                theirs = int(columns[k][other])
                now = cost(k, row, mine) + cost(k, other, theirs)
                if theirs != mine and cost(k, row, theirs) + cost(k, other, mine) < now:
                    columns[k][row], columns[k][other] = theirs, mine
                    break
    return columns, float((impossible_pairs() > 0).mean())


def redraw(
    table: Table, schema: Schema, group: Ints, *, m: int = K, seed: int = 0, rounds: int = ROUNDS
) -> tuple[pa.Table, float]:
    """Return a table of the same columns whose rows are nobody's, and the share of impossible rows.

    Parameters
    ----------
    table : Table
    schema : Schema
    group : int array of shape (n_rows,)
        The group of every person.
    m : int
        Fewest people of a released value.
    seed : int
    rounds : int
        How often the weights of runs are corrected; 0 leaves them as the table has them.
    """
    generator = np.random.default_rng(seed)
    sizes = np.bincount(group)
    drawn, codes, decoded, coarse = [], [], [], []
    main = numbers(table, table, schema.sensitive[0])
    for name in (*schema.quasi, *schema.sensitive):
        column = table.column(name)
        own = column.codes.astype(np.int64)
        is_sensitive = name in schema.sensitive
        smooth = SMOOTH if is_sensitive else 0.0
        if column.is_number and not _are_codes(column):
            runs = runs_of(column, m)
            own, values = runs.of_code[own], runs.values
            shrink = SHRINK if is_sensitive else 0.0
            chances = number_chances(runs, own, group, shrink=shrink, smooth=smooth, rounds=rounds)
        else:
            values = np.array([*column.values, None], object)
            if not column.is_ordered:  # by the mean of a sensitive column, so that ranks have a meaning
                sums = np.bincount(own, np.nan_to_num(main, nan=float(np.nanmean(main))), len(values))
                rank = np.argsort(np.argsort(sums / np.maximum(np.bincount(own, minlength=len(values)), 1)))
                own, values = rank[own], values[np.argsort(rank)]
            chances = shares(own, len(values), group, smooth)
        codes.append(own)
        decoded.append(values)
        drawn.append(draw(chances, sizes, generator))
        many = len(values) > 60
        place = np.cumsum(np.bincount(own, minlength=len(values)))
        coarse.append((place - 1) * 20 // len(own) if many else np.arange(len(values)))
    shown = np.repeat(np.arange(len(sizes)), sizes)
    drawn = reorder(drawn, shown, correlation_within(codes, group), generator)
    bad = impossible([c[own] for c, own in zip(coarse, codes, strict=True)], m)
    drawn, left = swap(drawn, bad, coarse, sizes, generator)
    arrays = {}
    for name, values, cells in zip((*schema.quasi, *schema.sensitive), decoded, drawn, strict=True):
        wanted = table.arrow.schema.field(name).type
        arrays[name] = _typed([None if v != v else v for v in values[cells].tolist()], wanted)
    return pa.table(arrays), left


def _are_codes(column: Column) -> bool:
    values = np.asarray(column.values, np.float64)
    return len(values) <= FEW and not column.unit and bool((values == np.rint(values)).all())


def _typed(cells: list[Any], wanted: pa.DataType) -> pa.Array:
    if pa.types.is_temporal(wanted) or pa.types.is_integer(wanted):
        return pa.array([None if c is None else round(c) for c in cells], pa.int64()).cast(
            pa.int32() if pa.types.is_date32(wanted) else pa.int64()
        ).cast(wanted)
    return pa.array(cells).cast(wanted)


def _texts(table: Table, name: str) -> NDArray[np.object_]:
    return np.array(table.arrow.column(name).cast(pa.string()).to_pylist(), object)


def features(released: Table, other: Table, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Return two tables as learners see them: numbers standardised, the 64 commonest categories apart."""
    parts: tuple[list[Floats], list[Floats]] = ([], [])
    for name in names:
        if released.kind(name) in ("numeric", "date"):
            own = numbers(released, released, name)
            mean, spread = float(np.nanmean(own)), float(np.nanstd(own)) or 1.0
            for part, table in zip(parts, (released, other), strict=True):
                x = numbers(table, released, name)
                part.append(((np.nan_to_num(x, nan=mean) - mean) / spread)[:, None])
                if released.column(name).has_missing:
                    part.append(np.isnan(x)[:, None].astype(float))
        else:
            column = released.column(name)
            common = [column.values[i] for i in np.argsort(-column.counts()[:-1], kind="stable")[:64]]
            for part, table in zip(parts, (released, other), strict=True):
                cells = _texts(table, name)
                part.append((cells[:, None] == np.array(common, object)).astype(float))
    return np.hstack(parts[0]), np.hstack(parts[1])


def learnt_from_rows(released: Table, members: Table, others: Table, case: Case) -> dict[str, Floats]:
    """Of each learner the R2 on people left out and on members, means over sensitive columns."""
    x, strange = features(released, others, case.quasi)
    own = features(released, members, case.quasi)[1]
    targets = [
        (numbers(released, members, n), numbers(members, members, n), numbers(others, members, n))
        for n in case.sensitive
    ]
    return scored(x, own, strange, targets)


def membership(places: Floats, released: Table, members: Table, others: Table, case: Case) -> float:
    """Return how well members are told from strangers by the values near their quasi-identifiers.

    The released rows near a person weigh by a kernel on the distance; a person's score is how much more
    often they hold the person's run than the table does (a neighbouring run counts a tenth), over all
    sensitive columns. The best of three bandwidths, as the area under the ROC curve: .5 is luck.

    Parameters
    ----------
    places : array of shape (n_rows, n_features)
        Where the released rows lie among the members' features.
    """
    known, strange = features(members, others, case.quasi)
    near = NearestNeighbors(n_neighbors=min(300, len(places))).fit(places)
    looked = [near.kneighbors(x) for x in (known, strange)]
    unit = float(np.median(looked[0][0][:, min(19, len(places) - 1)])) + 1e-9
    coded = [_common_codes(name, members, (released, members, others)) for name in case.sensitive]
    best = 0.5
    for bandwidth in (0.1, 0.3, 1.0):
        sides = []
        for side, (distance, rows) in enumerate(looked, start=1):
            weight = np.exp(-0.5 * (distance / (bandwidth * unit)) ** 2) + 1e-12
            weight /= weight.sum(axis=1, keepdims=True)
            score = np.zeros(len(distance))
            for codes in coded:
                apart = np.abs(codes[0][rows] - codes[side][:, None])
                share = (weight * ((apart == 0) + 0.1 * (apart == 1))).sum(axis=1)
                public = (np.bincount(codes[1], minlength=int(max(c.max() for c in codes)) + 1) + 0.5) / len(codes[1])
                score += np.log(np.maximum(share, 1e-4) / public[codes[side]])
            sides.append(score)
        above = np.searchsorted(np.sort(sides[1]), sides[0])
        equal = np.searchsorted(np.sort(sides[1]), sides[0], side="right") - above
        best = max(best, float((above + equal / 2).mean() / len(sides[1])))
    return best


def _common_codes(name: str, members: Table, tables: Sequence[Table]) -> list[Ints]:
    """Return the members' runs, or categories, of a column in several tables."""
    column = members.column(name)
    if column.is_number:
        runs = runs_of(column, K)
        values = np.asarray(column.values, np.float64)
        found = []
        for table in tables:
            x = numbers(table, members, name)
            at = np.clip(np.searchsorted(values, np.nan_to_num(x)), 0, len(values) - 1)
            found.append(np.where(np.isnan(x), len(runs.values), runs.of_code[at]))
        return found
    place = {value: i for i, value in enumerate(column.values)}
    return [
        np.array([place.get(v, len(place)) for v in _texts(table, name)])
        for table in tables
    ]


def counts_off(released: Table, original: Table, names: Sequence[str], queries: int = 300) -> tuple[float, float]:
    """Return the median and the nine-in-ten relative error of counts by two or three columns, in %."""
    generator = np.random.default_rng(0)
    off: list[float] = []
    scale = original.n_rows / released.n_rows
    is_number = {name: original.kind(name) in ("numeric", "date") for name in names}
    cells = {
        name: [numbers(t, t, name) if is_number[name] else _texts(t, name) for t in (original, released)]
        for name in names
    }
    while len(off) < queries:
        fits = [np.ones(original.n_rows, np.bool_), np.ones(released.n_rows, np.bool_)]
        for name in generator.choice(names, min(int(generator.integers(2, 4)), len(names)), replace=False):
            low, high = generator.choice(cells[name][0], 2)
            if is_number[name]:
                low, high = min(low, high), max(low, high)
            for side, values in enumerate(cells[name]):
                fits[side] &= (values >= low) & (values <= high) if is_number[name] else values == low
        true = int(fits[0].sum())
        if true >= 0.01 * original.n_rows:
            off.append(abs(float(fits[1].sum()) * scale - true) / true)
    return 100 * float(np.median(off)), 100 * float(np.quantile(off, 0.9))


def measure(case: Case, *, rows: int, splits: int) -> Iterator[dict[str, Any]]:
    """One record a release: R2 on people left out, member advantage, membership, counts.

    Parameters
    ----------
    case : Case
    rows : int
        At most so many of the table; two thirds of them are released.
    splits : int
    """
    found: dict[str, list[dict[str, Any]]] = {}
    names = (*case.quasi, *case.sensitive)
    for split in range(splits):
        members, others = sample(case, rows, split)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = protect(members, case.schema, Hedge(K, max_disclosure=0.5, screen=False))
        method: Any = release.method
        group = np.unique(method.group_of_cell_[method.tree_.leaf_of_rows()], return_inverse=True)[1]
        own = features(members, members, case.quasi)[0]
        means = np.stack([np.bincount(group, x) for x in own.T], 1) / np.bincount(group)[:, None]
        tried = {
            "original": (members, own, learnt_from_rows(members, members, others, case), 0.0),
            "groups, exact values": (
                members, means[group], learnt(pair_up(members, of_release(release)), others), 0.0,
            ),
        }  # fmt: skip
        for name, rounds in (("redrawn", 0), ("redrawn, corrected", ROUNDS)):
            made, left = redraw(members, case.schema, group, seed=split, rounds=rounds)
            table = read(made)
            places = features(members, table, case.quasi)[1]
            tried[name] = (table, places, learnt_from_rows(table, members, others, case), left)
        for name, (table, places, taught, left) in tried.items():
            median, nine = counts_off(table, members, names)
            found.setdefault(name, []).append(
                {"counts_median": median, "counts_nine_in_ten": nine, "impossible_rows": left}
                | {"membership": membership(places, table, members, others, case)}
                | {f"r2_{n}": taught[n][0] for n in JUDGED}
                | {f"advantage_{n}": taught[n][1] - taught[n][0] for n in ATTACKING}
            )
        median, nine = counts_off(others, members, names)
        fresh = {"counts_median": median, "counts_nine_in_ten": nine}
        found.setdefault("a new survey", []).append(fresh)
    for name, parts in found.items():
        yield {"table": case.name, "release": name} | {
            key: round(float(np.mean([part[key] for part in parts])), 3) for key in parts[0]
        }


def guarded(*, rows: int = 1_500, splits: int = 1) -> dict[str, Any]:
    """Compare exact and redrawn values, by default on few rows and one split."""
    cases = [case for case in (*CASES, *HARD) if "useless" not in case.name and case.name != "a tenth missing"]
    tables = [record for case in cases for record in measure(case, rows=rows, splits=splits)]
    return {
        "protocol": f"at most {rows:,} rows a table, two thirds released; {splits} split(s), k = {K}, "
        "groups of Hedge under a cap of .5, all columns kept",
        "tables": tables,
    }
