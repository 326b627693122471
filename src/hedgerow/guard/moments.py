"""Tilts: the table's runs weighted so that they have a group's mean and spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import HedgerowError
from ..measures import Floats, Ints
from ..methods.group_cells import one_two_five

# values beyond these quantiles count as the quantile, so that no tail shows its group
CLIPPED = (0.02, 0.98)
# scores are whole numbers of 32nds of a standard deviation, so that their sums are exact
SCALE = 32
# means and standard deviations of groups are rounded to about an eighth of the column's
STEPS = 8
# people with the pooled spread who are added to each group's own
SHRINK = 10
# people whose mean counts half where others of their group are of classes: the mean of one alone would tell its value
HALF = 2
# by which part of what a mean allows a spread stays away from the least and from the largest
LEAST, MOST = 0.006, 0.98
# how often the weights of the runs are corrected towards the table's own distribution
ROUNDS = 4
_TRIES, _HALVINGS, _CLOSE = 200, 40, 1e-9
# a group's mean from the column's centre, and its standard deviation, in steps
STEPPED = np.dtype([("mean", np.int64), ("spread", np.int64)])


@dataclass(frozen=True)
class RunScores:
    """Standardised, clipped values of the runs of a column.

    Parameters
    ----------
    of_run : int64 array of shape (n_runs,)
        In 32nds of a standard deviation.
    centre, spread : float
    step : float
        The largest of 1, 2, 5 x 10^j up to an eighth of `spread`.
    """

    of_run: Ints
    centre: float
    spread: float
    step: float


def scores_of(values: Floats, people: Ints, clipped_at: tuple[float, float] = CLIPPED) -> RunScores:
    """Return the scores of runs from their values and how many records each has."""
    reached = np.cumsum(people) / people.sum()
    low, high = (values[min(int(np.searchsorted(reached, q)), len(values) - 1)] for q in clipped_at)
    power = int(np.frexp(max(abs(low), abs(high), 1e-300))[1])  # squares of giants are finite
    clipped = np.ldexp(np.clip(values, low, high), -power)
    centre = float(np.average(clipped, weights=people))
    spread = float(np.sqrt(np.average((clipped - centre) ** 2, weights=people)))
    scores = np.rint((clipped - centre) / (spread or 1.0) * SCALE).astype(np.int64)
    centre, spread = float(np.ldexp(centre, power)), float(np.ldexp(spread, power))
    if low == high or spread / STEPS == 0:  # equal values, and the numbers next to 0
        return RunScores(np.zeros(len(values), np.int64), centre, 0.0, 0.0)
    return RunScores(scores, centre, spread, one_two_five(spread / STEPS))


def tilted(levels: Floats, weights: Floats, theta: Floats) -> Floats:
    """Return weights x exp(a z + b z^2) over the levels z, normed; shape (n_pairs, n_levels)."""
    energy = theta @ np.stack([levels, levels**2]) + np.log(weights)
    chances = np.exp(energy - energy.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True), np.float64)


def tilts_of(levels: Floats, weights: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return a and b of the tilts with these means and variances; shape (n_pairs, 2).

    Of all distributions over the levels with these two moments, the tilt is nearest to the weights.
    Newton's method on the dual, which is convex; steps are halved until they lower it. The levels are
    moved and scaled to -1 to 1: powers of levels that lie close together would differ too little.

    Raises
    ------
    HedgerowError
        It does not converge.
    """
    middle, half = (levels[0] + levels[-1]) / 2, (levels[-1] - levels[0]) / 2
    levels, mean, variance = (levels - middle) / half, (mean - middle) / half, variance / half**2
    target = np.stack([mean, mean**2 + variance], axis=1)
    powers = np.stack([levels, levels**2, levels**3, levels**4], axis=1)
    log_weights, theta = np.log(weights), np.zeros_like(target)

    def dual(theta: Floats, pairs: Ints) -> Floats:
        energy = theta @ powers[:, :2].T + log_weights
        top = energy.max(axis=1, keepdims=True)
        total = np.log(np.exp(energy - top).sum(axis=1)) + top[:, 0]
        return np.asarray(total - (theta * target[pairs]).sum(axis=1), np.float64)

    unsolved = np.arange(len(theta))
    for _ in range(_TRIES):
        moments = tilted(levels, weights, theta[unsolved]) @ powers
        off = moments[:, :2] - target[unsolved]
        is_unsolved = np.abs(off).max(axis=1) >= _CLOSE
        unsolved, moments, off = unsolved[is_unsolved], moments[is_unsolved], off[is_unsolved]
        if not len(unsolved):
            a, b = theta.T / [[half], [half**2]]
            return np.stack([a - 2 * middle * b, b], axis=1)
        first, second, third, fourth = moments.T
        a = second - first**2 + 1e-10
        b = third - first * second
        c = fourth - second**2 + 1e-10
        down = np.stack([c * off[:, 0] - b * off[:, 1], a * off[:, 1] - b * off[:, 0]], axis=1)
        down /= np.maximum(a * c - b * b, 1e-14)[:, None]
        length, before, slope = np.ones(len(unsolved)), dual(theta[unsolved], unsolved), (down * off).sum(axis=1)
        # what rounding may move it by, which is more where a tilt is steep
        rounding = 1e-13 + 1e-15 * np.abs(theta[unsolved]).sum(axis=1)
        for _ in range(_HALVINGS):
            tried = theta[unsolved] - length[:, None] * down
            worse = dual(tried, unsolved) > before - 1e-4 * length * slope + rounding
            if not worse.any():
                break
            length[worse] /= 2
        theta[unsolved] -= length[:, None] * down
    raise HedgerowError(
        "no weights of the table's values have the mean and spread of a group",
        hint='release the values as runs (guard="runs", --guard runs), or leave this column out',
    )


def reachable(levels: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Move moments that no distribution over the levels has to near ones that one has.

    The mean goes inside the levels by a thousandth of their span; the variance lies between the least
    and the largest that this mean allows, a little inside.
    """
    span = levels[-1] - levels[0]
    mean = np.clip(mean, levels[0] + 1e-3 * span, levels[-1] - 1e-3 * span)
    at = np.clip(np.searchsorted(levels, mean, side="right") - 1, 0, len(levels) - 2)
    least = (mean - levels[at]) * (levels[at + 1] - mean)
    between = (mean - levels[0]) * (levels[-1] - mean) - least
    return mean, np.clip(variance, least + LEAST * between + 1e-9, least + MOST * between)


@dataclass(frozen=True)
class Tilts:
    """The tilts of all groups, each distinct pair of rounded moments once.

    Parameters
    ----------
    moments : STEPPED array of shape (n_pairs,)
    theta : float64 array of shape (n_pairs, 2)
    weights : float64 array of shape (n_levels,)
    pair : int64 array of shape (n_groups,)
        From the number of pairs on, less that number, the only run of a group.
    whole : int
        The pair of the whole table.
    moved : int
        Groups whose moments no tilt has.
    """

    moments: NDArray[np.void]
    theta: Floats
    weights: Floats
    pair: Ints
    whole: int
    moved: int


def group_tilts(
    scores: RunScores, people: Ints, run: Ints, group: Ints, sizes: Ints, shrink: float, half: float = 0
) -> Tilts:
    """Return the tilt of each group towards its rounded mean and standard deviation.

    The weights of the runs are corrected until all groups together have the table's distribution:
    two moments alone would move the median of a skewed column by a third.

    Parameters
    ----------
    scores : RunScores
    people : int64 array of shape (n_runs,)
        Records of each run.
    run, group : int64 arrays
        The run and the group of every record that has a value.
    sizes : int64 array of shape (n_groups,)
        Records of each group that have a value.
    shrink : float
        People with the pooled variance who are added to each group; without them groups with only one
        run keep it, which a tilt would spread.
    half : float, default 0
        Of how many people a mean lies half way between the column's and their own.
    """
    z, n_groups = scores.of_run[run], len(sizes)
    # sums of whole numbers, so the order of the rows changes nothing
    sums = np.bincount(group, z, n_groups), np.bincount(group, z * z, n_groups)
    n = np.maximum(sizes, 1)
    mean = sums[0] / n / SCALE
    variance = np.maximum(sums[1] / n / SCALE**2 - mean**2, 0.0)
    mean *= n**2 / (n**2 + half**2)
    pooled = float((variance * sizes).sum() / sizes.sum())
    spread = np.sqrt((sizes * variance + shrink * pooled) / np.maximum(sizes + shrink, 1))
    step = scores.step / scores.spread
    every = np.zeros(n_groups + 1, STEPPED)  # the whole table is the last
    every["mean"][:-1], every["spread"][:-1] = np.rint(mean / step), np.maximum(np.rint(spread / step), 1)
    every[np.append(sizes == 0, True)] = 0, max(round(1 / step), 1)
    moments, pair = np.unique(every, return_inverse=True)
    pair, whole = pair[:-1], int(pair[-1])
    distinct, level = np.unique(scores.of_run, return_inverse=True)
    levels = np.asarray(distinct / SCALE, np.float64)
    table = np.bincount(level.reshape(-1), people).astype(np.float64)
    wanted = np.asarray(moments["mean"] * step, np.float64), np.asarray((moments["spread"] * step) ** 2, np.float64)
    target = reachable(levels, *wanted)
    off = ~(np.isclose(target[0], wanted[0]) & np.isclose(target[1], wanted[1]))
    people_of_pair, weights = np.bincount(pair, sizes, len(moments)), table.copy()
    for _ in range(ROUNDS):
        reached = people_of_pair @ tilted(levels, weights, tilts_of(levels, weights, *target))
        weights = weights * table / np.maximum(reached * table.sum() / people_of_pair.sum(), 1e-9)
        weights *= table.sum() / weights.sum()
    # processors and libraries differ in the last digits
    digits, power = np.frexp(weights)
    weights = np.ldexp(np.rint(np.ldexp(digits, 32)), power - 32)
    theta = np.asarray(np.ldexp(np.rint(np.ldexp(tilts_of(levels, weights, *target), 28)), -28), np.float64)
    if not shrink:
        least, most = np.full(n_groups, len(people)), np.full(n_groups, -1)
        np.minimum.at(least, group, run)
        np.maximum.at(most, group, run)
        pair = np.where(least == most, len(moments) + least, pair)
    moved = int(np.count_nonzero(off[pair[pair < len(off)]]))
    return Tilts(moments, theta, weights, pair, whole, moved)
