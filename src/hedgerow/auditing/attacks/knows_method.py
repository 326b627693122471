"""Attack by an intruder who knows the method: find the values that agree with its refused groups.

A cap bounds the disclosure of a released group. Methods with a cap refuse finer groups if some part
would exceed it. Somebody who knows the method, its parameters and everybody's quasi-identifiers can
work out which finer groups were refused, and draw conclusions about their members ("minimality
attack", Wong et al. 2007). Releases promise nothing about this attack; this module measures it.

The intruder sees the sensitive values of every released group and, at first, believes every
assignment of them to its members equally likely. Assignments that do not agree with the method are
then left out:

- `MART`, and `Mondrian` with the objectives "regression" and "information_gain": a leaf was not
  split, so every split that the method tries there (k members on both sides, and another mean or
  share of some response on the left than on the right) has a side that breaks the cap or another
  promise. Left out are splits of more than ten categories, whose orders depend on the values, all
  but 32 splits of a group, which splits of the ancestors were the best, and leaves that rounding
  merged. Trees that are pruned (`alpha`, `min_leaf`) are not attacked.
- `Mondrian` with "median" and "loss": the tree is grown on quasi-identifiers, so the intruder can grow it
  again. A released group that is not a leaf of it has a child that breaks the cap. This is all
  that the release shows.
- `Hedge`: at least one of the cells of a joined group breaks a promise. Left out are the order of
  the joins and the choice of the partner, how the sensitive columns shaped the cells, and groups that
  are one because they read alike.

These omissions would exclude more assignments. An intruder who ignores them knows less: every
conclusion stays valid, and is on average weaker than it could be.

For every refused part (both sides of a refused split; the cells of a joined group) the forecast is
the mean, over the assignments that are left, of what the promise scores. Its disclosure is that of
`hedgerow.measures.proper_scores` for the part's expected counts: the share of the public loss that the
forecast is expected to take off. Without the method's refusals it is the group's own disclosure.

Groups with few assignments are enumerated. In others, independent runs of states move by swaps
of two members' values while the distance to agreement falls below a bar that is lowered step by step
(multilevel splitting); the interval comes from the spread between the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import comb, prod
from typing import Any, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit  # scipy.stats takes longer to load

from ...columns.column import Column
from ...json_types import Count, Interval, OrNull, Positive, Share
from ...kernels import Bools, Floats, Ints
from ...kernels.joins import Limits, Refusal, distances, measure, shake
from ...kernels.threads import streamed
from ...measures import Classes, group
from ...measures.guarantees import Disclosure, KAnonymity, LDiversity, from_promise
from ...methods.base import Method
from ...methods.joining import limits_of
from ...methods.refusals import Refused
from ...plan import Plan
from ...progress import Tell
from ...trees.responses import Responses
from ..figure import Figure
from ..table_pair import Pair, spread

# most tables of values by kind of member that are enumerated
TABLES = 4_096
# independent runs, states in each, final sweeps that are averaged, and levels before a run gives up
RUNS, STATES, SWEEPS, LEVELS = 8, 16, 6, 40
# most groups that are sampled
GROUPS = 20
ROUNDING = 1e-9
# most swaps in a sweep; smaller groups have fewer, one per member
MOVES = 48
# 97.5% quantile of Student's t with RUNS - 1 degrees of freedom
STUDENT = 2.3646


@dataclass(frozen=True)
class Values:
    """The distinct rows of sensitive values in a table, and the amounts they add to the sums that promises limit.

    Parameters
    ----------
    of_row : int64 array of shape (n,)
        The index of each record's values among the distinct rows.
    sums : float64 array of shape (v, w)
        The amount that one record with these values adds to each sum.
    gains : float64 array of shape (v, 2 g)
        Sums whose means a split must change, and the counts that divide them.
    limits, cap : Limits
        The limits of all promises, and those of a cap of 1 on disclosure.
    """

    of_row: Ints
    sums: Floats
    gains: Floats
    limits: Limits
    cap: Limits

    @classmethod
    def from_columns(cls, columns: list[Column], promises: list[Any], entropy: bool) -> Values:
        """Build from the sensitive columns; with `entropy`, only categories add to the gain of a split."""
        rows = group([column.codes for column in columns])
        classes = Classes.from_groups(rows, columns)
        sizes = rows.sizes[:, None].astype(np.float64)
        sums_of_classes, limits = limits_of(classes, promises)
        _, whole = limits_of(classes, [Disclosure(1.0)])
        responses = Responses.from_columns([column.value_counts for column in columns])
        sums, is_known = [], []
        for number in () if entropy else responses.numbers:
            code = columns[number.source].codes[rows.first]
            sums.append(number.units[code].astype(np.float64))
            is_known.append(code < columns[number.source].n_values)
        for kind in responses.classes[: len(responses.categorical)]:
            shares = np.eye(len(kind.counts))[kind.lookup[columns[kind.source].codes[rows.first]]]
            sums += list(shares.T)
            is_known += [np.ones(len(rows.first), np.bool_)] * len(shares.T)
        gains = np.array([*sums, *is_known], np.float64).T
        return cls(rows.labels.astype(np.int64), sums_of_classes / sizes, gains, limits, whole)


@dataclass(frozen=True)
class Posterior:
    """The disclosure of one group's refused parts, given the intruder's belief after seeing the refusals.

    Parameters
    ----------
    rows : int64 array of shape (n,)
    sides : bool array of shape (p, n)
        Who is in each part.
    of_group : float
        The group's own disclosure.
    disclosure, low, high : float64 arrays of shape (p,)
        Disclosure of each part, with a 95% interval for the sampling; of no width if enumerated.
    exact : bool
    """

    rows: Ints
    sides: npt.NDArray[np.bool_]
    of_group: float
    disclosure: Floats
    low: Floats
    high: Floats
    exact: bool


class Agreeing(NamedTuple):
    """Expected sums of a group's refused parts over the value assignments that agree with its refusals.

    Fields
    ------
    rows : int64 array of shape (n,)
        The members in the order of `sides`.
    sides : bool array of shape (p, n)
        Who is in each part.
    runs : float64 array of shape (r, p, w)
        Expected sums by each independent run, or by the enumeration.
    weights : float64 array of shape (r,)
        Each run's share of assignments that agree; for an enumeration a number in another unit.
    whole : float64 array of shape (w,)
        The sums of the group.
    exact : bool
    """

    rows: Ints
    sides: npt.NDArray[np.bool_]
    runs: Floats
    weights: Floats
    whole: Floats
    exact: bool


def agreeing(refused: Refused, values: Values, seed: Sequence[int] = (), exact: int = TABLES) -> Agreeing | None:
    """Average the sums of a group's parts over the assignments consistent with the refusals; None if too few are known.

    Parameters
    ----------
    refused : Refused
    values : Values
    seed : sequence of int
        Seeds the sampling; if empty, the result is None for a group with more than `exact` tables.
    exact : int
        Most tables of values by kind of member that are enumerated.
    """
    # members are ordered by what they are, never by where they stand
    kinds, place = np.unique(refused.parts.T, axis=0, return_inverse=True)
    place = place.reshape(-1)
    order = np.lexsort((values.of_row[refused.rows], place))
    sides, rows = refused.parts[:, order], refused.rows[order]
    used, code = np.unique(values.of_row[rows], return_inverse=True)
    sums, gains = values.sums[used], values.gains[used][:, slice(None if refused.needs_gain else 0)]
    whole = sums[code].sum(axis=0)
    refusal = Refusal(
        sides.astype(np.uint8), sums, gains, whole, gains[code].sum(axis=0), values.limits, refused.is_joined
    )
    tables = list_tables(np.bincount(place), np.bincount(code), exact)
    if tables is not None:
        runs, weights = _enumerated(tables, kinds.T.astype(np.float64), refusal)
    elif len(seed):
        runs, weights = _sampled(code.astype(np.int64), refusal, seed)
    else:
        return None
    # an interval needs at least half of the runs
    if not weights.any() or 2 * np.count_nonzero(weights) < len(weights):
        return None
    if not refused.is_joined:  # both sides of a split were refused
        runs = np.concatenate([runs, whole - runs], axis=1)
        sides = np.concatenate([sides, ~sides])
    return Agreeing(rows, sides, runs, weights, whole, tables is not None)


def posterior(agreed: Agreeing, cap: Limits) -> Posterior:
    """Return the disclosure of every refused part, with a 95% interval from the spread between runs."""
    weights = agreed.weights / agreed.weights.sum()
    each = np.stack([_disclosures(run, cap) for run in agreed.runs])
    mean = _disclosures(np.tensordot(weights, agreed.runs, 1), cap)
    # one enumeration has no spread, so its interval is the figure itself
    slack = STUDENT * np.sqrt((weights[:, None] ** 2 * (each - mean) ** 2).sum(axis=0))
    of_group = float(_disclosures(agreed.whole[None], cap)[0])
    low, high = np.clip(mean - slack, 0, 1), np.clip(mean + slack, 0, 1)
    return Posterior(agreed.rows, agreed.sides, of_group, mean, low, high, agreed.exact)


def _disclosures(sums: Floats, cap: Limits) -> Floats:
    """Return each row's largest disclosure over all columns and scores; shape (n_rows,)."""
    excess = np.zeros(len(sums))
    measure(np.ascontiguousarray(sums), cap, excess)
    return np.minimum(excess, 1.0)


def list_tables(sizes: Ints, counts: Ints, most: int) -> list[tuple[Ints, float]] | None:
    """List the ways to distribute values over types of members, each with its number of assignments.

    Parameters
    ----------
    sizes : int array of shape (a,)
        Members of each kind.
    counts : int array of shape (v,)
        Members who have each value.
    most : int
        None if there are more.

    Returns
    -------
    list of (int array of shape (a, v), float)
        The members of each kind with each value, and the number of assignments over the largest one.

    Examples
    --------
    >>> [(t.tolist(), w) for t, w in list_tables(np.array([1, 2]), np.array([2, 1]), 9)]
    [([[1, 0], [1, 1]], 1.0), ([[0, 1], [2, 0]], 0.5)]
    """
    if len(sizes) > 1 and comb(len(counts), 2) > most:  # as many ways to choose two values
        return None
    states: list[tuple[tuple[int, ...], tuple[tuple[int, ...], ...], int]]
    states = [(tuple(counts.tolist()), (), 1)]
    for size in sizes.tolist():
        # counted before they are listed: too many of them would be listed in vain
        if sum(_number_of_takes(tuple(sorted(remaining)), size) for remaining, _, _ in states) > most:
            return None
        wider = []
        for remaining, dealt, ways in states:
            for take in _takes(remaining, size):
                rest = tuple(a - b for a, b in zip(remaining, take, strict=True))
                chosen = prod(comb(a, b) for a, b in zip(remaining, take, strict=True))
                wider.append((rest, (*dealt, take), ways * chosen))
        states = wider
    largest = max(ways for _, _, ways in states)
    return [(np.array(dealt, np.int64), ways / largest) for _, dealt, ways in states]


@lru_cache(1 << 16)
def _number_of_takes(remaining: tuple[int, ...], size: int) -> int:
    """Return how many ways there are to take `size` values from the remaining counts.

    Examples
    --------
    >>> _number_of_takes((1, 2), 2), len([*_takes((1, 2), 2)])
    (2, 2)
    """
    ways = [1] + [0] * size
    for count in remaining:
        # sums over the last count + 1 numbers: 0 to count values are taken
        sums = [0, *accumulate(ways)]
        ways = [sums[n + 1] - sums[max(n - count, 0)] for n in range(size + 1)]
    return ways[size]


def _takes(remaining: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to take `size` values from the remaining counts."""
    if len(remaining) == 1:
        if size <= remaining[0]:
            yield (size,)
        return
    rest = sum(remaining[1:])
    for first in range(min(remaining[0], size), max(size - rest, 0) - 1, -1):
        for others in _takes(remaining[1:], size - first):
            yield (first, *others)


def _enumerated(tables: list[tuple[Ints, float]], kinds: Floats, refusal: Refusal) -> tuple[Floats, Floats]:
    """Return the expected sums of every part over all agreeing tables, shape (1, p, w), and their weight, (1,)."""
    summed, ways = np.zeros((len(kinds), refusal.sums.shape[1])), 0.0
    # a few at a time, which bounds the memory of their sums
    for begin in range(0, len(tables), 256):
        some = tables[begin : begin + 256]
        dealt = np.array([kinds @ table for table, _ in some])  # values in every part
        sums, gains = dealt @ refusal.sums, dealt @ refusal.gains
        weight = np.array([weight for _, weight in some]) * (distances(sums, gains, refusal) == 0.0)
        summed += np.tensordot(weight, sums, 1)
        ways += float(weight.sum())
    return summed[None] / max(ways, 1e-300), np.array([ways])


def _sampled(code: Ints, refusal: Refusal, seed: Sequence[int]) -> tuple[Floats, Floats]:
    """Sample agreeing assignments; return each run's mean sums of every part, (r, p, w), and weight, (r,).

    A run's weight is its own estimate of the share of assignments that agree, so the weighted
    mean has the right expectation however few its states are. It is 0 if the run found none.
    """
    n = len(code)
    runs, weights = np.zeros((RUNS, len(refusal.sides), refusal.sums.shape[1])), np.zeros(RUNS)
    moves = min(n, MOVES)
    for run in range(RUNS):
        rng = np.random.default_rng([*seed, run])
        # every assignment is equally likely before anything is known of the refusals
        values = np.stack([rng.permutation(code) for _ in range(STATES)])
        sides = refusal.sides.astype(np.float64)
        sums, gains = (
            np.ascontiguousarray(np.stack([sides @ of[state] for state in values]))
            for of in (refusal.sums, refusal.gains)
        )
        distance = distances(sums, gains, refusal)
        visited, share = np.zeros(sums.shape[1:]), 1.0
        for _ in range(LEVELS):
            # the median: about half of the states survive each level
            bar = float(np.sort(distance)[STATES // 2])
            lower = distance[distance < bar]
            if bar > 0.0 and bar == distance.max() and len(lower):
                bar = float(lower.max())
            fit = np.flatnonzero(distance <= bar)
            lost = np.flatnonzero(distance > bar)
            share *= len(fit) / STATES
            # lost states start again from surviving ones, so their number stays
            origin = fit[rng.integers(len(fit), size=len(lost))]
            for each in (values, sums, gains, distance):
                each[lost] = each[origin]
            pairs = rng.integers(n, size=(STATES, moves, 2))
            shake(values, sums, gains, distance, bar, pairs, refusal, visited)
            if bar == 0.0:
                break
        if distance.max() > 0.0:
            continue
        visited[:] = 0.0
        for _ in range(SWEEPS):
            pairs = rng.integers(n, size=(STATES, moves, 2))
            shake(values, sums, gains, distance, 0.0, pairs, refusal, visited)
        runs[run], weights[run] = visited / (STATES * SWEEPS), share
    return runs, weights


class AboveCap(TypedDict):
    """The number of those asked about who are above the cap, by the two ends of every part's 95% interval."""

    asked: Count
    at_least: Count
    at_most: Count


class RefusedGroups(TypedDict):
    """Finer groups that the method refused: all, those asked about, those enumerated in full.

    ``lost``: no assignment that agrees was met.
    """

    refused: Count
    asked: Count
    enumerated: Count
    lost: Count


class WorstPart(TypedDict):
    """The part of a refused group that most surely gives most away.

    Its interval holds for all parts at once; ``shown`` is what its group gives away by itself.
    """

    disclosure: OrNull[Share]
    interval: Interval
    people: Positive
    shown: OrNull[Share]
    group: Positive


class KnowsMethod(TypedDict):
    """The conclusions of somebody who knows the method and everybody's quasi-identifiers about refused groups."""

    cap: OrNull[Share]
    groups: RefusedGroups
    parts: AboveCap
    people: AboveCap
    worst: WorstPart | None


def knows_method(
    pair: Pair, method: Method, plan: Plan, *, random_state: int = 0, progress: Tell | None = None
) -> KnowsMethod | None:
    """Measure what a fitted method's refusals disclose to an intruder who knows the method.

    Parameters
    ----------
    pair : Pair
        The whole original that the method was fitted on, and its release.
    method : Method
        The fitted method.
    plan : Plan
    random_state : int
        Seed for choosing the groups and sampling their assignments.
    progress : callable, optional
        Called with a line of text and the share that is done.

    Returns
    -------
    dict or None
        ``cap``. ``groups``: the number of released groups whose finer groups were refused
        (``refused``), of those that were measured (``asked``), of those measured by enumeration, and of
        sampled groups for which no agreeing assignment was found (``lost``). ``parts`` and ``people``:
        the number measured, and lower and upper bounds of the number above the cap, by a 95% interval
        for each part. ``worst``: the part whose interval has the highest lower end, with intervals
        that hold for all parts at once.
        None if the attack does not apply: there is no cap, the groups' own values are not released
        (a guard), a person may have several records,
        another promise is not a limit on sums over records, the schema names other columns than
        the plan, or the records are not in memory.
    """
    promised = [from_promise(promise) for promise in plan.promises]
    cap = next((promise.limit for promise in promised if isinstance(promise, Disclosure)), None)
    summed = all(
        isinstance(promise, KAnonymity | Disclosure)
        or (isinstance(promise, LDiversity) and promise.diversity in ("frequency", "entropy"))
        for promise in promised
    )
    schema, original = pair.schema, pair.original
    same = all(set(plan.names(r)) == set(getattr(schema, r)) for r in ("quasi", "sensitive"))
    if cap is None or plan.guard or not summed or not same or pair.persons or not original.is_loaded:
        return None
    refused = [each for each in method.refused(original, schema) if _is_class(each, pair)]
    columns = [original.declared_column(schema, name) for name in schema.sensitive]
    values = Values.from_columns(columns, promised, getattr(method, "objective", "") == "information_gain")
    agreed = [agreeing(each, values) for each in refused]
    # enumeration is exact and cheap; only some of the other groups are sampled
    rest = spread(np.array([i for i, each in enumerate(agreed) if each is None]), GROUPS, random_state)

    def sampled(number: int) -> Agreeing | None:
        return agreeing(refused[number], values, (random_state, number))

    for at, (number, each) in enumerate(zip(rest, streamed(sampled, rest.tolist()), strict=True)):
        agreed[number] = each
        if progress is not None:
            progress("what the method refused", (at + 1) / len(rest))
    posteriors = [posterior(each, values.cap) for each in agreed if each is not None]
    return {
        "cap": cap,
        "groups": {
            "refused": len(refused),
            "asked": len(posteriors),
            "enumerated": sum(each.exact for each in posteriors),
            "lost": int(sum(agreed[number] is None for number in rest)),
        },
        "parts": _above(posteriors, cap, len),
        "people": _above(posteriors, cap, lambda sides: int(sides.any(axis=0).sum())),
        "worst": _worst(posteriors),
    }


def _is_class(refused: Refused, pair: Pair) -> bool:
    """Return whether a group is exactly one released class, so that a reader knows its values."""
    released = np.full(pair.original.n_rows, -1)
    released[pair.rows] = pair.classes.labels
    labels = np.unique(released[refused.rows])
    return len(labels) == 1 and pair.classes.sizes[labels[0]] == len(refused.rows)


def _above(posteriors: list[Posterior], cap: float, count: Callable[[Bools], int]) -> AboveCap:
    """Count the parts of refused groups that are above the cap, or the people in them."""

    def over(where: Callable[[Posterior], Bools]) -> int:
        return sum(count(each.sides[where(each)]) for each in posteriors)

    return {
        "asked": over(lambda each: each.low >= 0),
        "at_least": over(lambda each: each.low > cap + ROUNDING),
        "at_most": over(lambda each: each.high > cap + ROUNDING),
    }


def _worst(posteriors: list[Posterior]) -> WorstPart | None:
    """Return the part that most surely gives most away."""
    if not posteriors:
        return None
    # The worst is chosen among all sampled parts, so its interval must hold for all of them at once.
    sampled = sum(len(each.sides) for each in posteriors if not each.exact)
    wide = float(stdtrit(RUNS - 1, 1 - 0.025 / max(sampled, 1))) / STUDENT
    lows = [np.maximum(each.disclosure - wide * (each.disclosure - each.low), 0.0) for each in posteriors]
    at = max(range(len(posteriors)), key=lambda i: float(lows[i].max()))
    most, part = posteriors[at], int(lows[at].argmax())
    high = most.disclosure[part] + wide * (most.high[part] - most.disclosure[part])
    return {
        "disclosure": float(most.disclosure[part]),
        "interval": [float(lows[at][part]), min(float(high), 1.0)],
        "people": int(most.sides[part].sum()),
        "shown": most.of_group,
        "group": len(most.rows),
    }


FIGURES = (
    Figure(
        {"risk.knows_method": KnowsMethod | None},
        lambda t: knows_method(t.sides, t.what.method, t.what.plan, **t.drawing),
        needs=("pairs", "a fitted method"),
        says="what the method refused",
    ),
)
