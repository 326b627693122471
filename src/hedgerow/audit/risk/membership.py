"""Membership: was this person in the table, as far as the release tells?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

import numpy as np

from ...classes import FloatArray, Groups, IntArray, group
from ...table import Column
from ..design_matrix import Known, true_values, values_in
from ..intervals import Rate, area, attack_record, wilson
from ..outside import Outside
from ..pairing import Pair, by_name, spread
from ..reach import Reach
from ..released_values import ReleasedColumn, unchanged

FALSE_ALARMS = (0.001, 0.01, 0.1)
"""Shares of strangers who are taken for members, at which the members found are told."""
FEWEST = 10
"""Strangers that such a share must be."""
KNOWS = ("quasi-identifiers", "whole record")


def membership(
    outside: Sequence[Outside],
    *,
    people: int = 500,
    random_state: int = 0,
    progress: Any = None,
) -> list[dict[str, Any]]:
    """Tell people of the table from people who are not in it, by the release alone.

    The intruder knows somebody's quasi-identifiers, or the whole record, and other people of
    the same population who are not in the table, to compare with. Two intruders score how
    much speaks for the person:

    - ``nearest``: how near the nearest released record is, beside the nearest of the other
      people;
    - ``likelihood``: how many released records may be the person's, over how many there
      would be if the release were made of the other people. Who fits no record is scored by how
      many of the others fit none.

    Parameters
    ----------
    outside : sequence of Outside
        Releases, each with strangers: half of them are compared with, the others asked about.
    people : int
        How many members, strangers and others of each are taken, evenly from their sorted values.
    random_state : int
        Deals strangers into the two halves.

    Returns
    -------
    list of dict
        ``success`` is the chance that a member scores above a stranger, ties halved (the area
        under the ROC curve); nothing tells more than .5 without a leak. ``control`` is the
        interval in which chance alone would leave it. ``found`` tells the share of members
        found where .001, .01 or .1 of strangers are taken for members. Nothing without strangers.

    References
    ----------
    N. Homer et al. (2008), Resolving individuals contributing trace amounts of DNA. PLoS
    Genetics 4; R. Shokri et al. (2017), Membership inference attacks against machine learning
    models; N. Carlini et al. (2022), Membership inference attacks from first principles.
    """
    out = []
    for knows in KNOWS:
        if knows == KNOWS[1] and not (outside and outside[0].pair.sensitive):
            continue
        found: dict[str, list[Scores]] = {}
        before: dict[str, list[Scores]] = {}
        for each in outside:
            if progress:
                progress(f"membership by the {knows}")
            for scores, pair in ((found, each.pair), (before, each.pair.unchanged)):
                members = each.members if pair is each.pair else each.pair.rows[each.members]
                for learner, made in _scores(
                    pair, members, each, knows, people, random_state
                ).items():
                    scores.setdefault(learner, []).append(made)
        for learner, scores_of in found.items():
            usable = [s for s in scores_of if s.asked]
            if usable:
                out.append(
                    membership_record(
                        knows, learner, usable, [s for s in before[learner] if s.asked]
                    )
                )
    return out


@dataclass(frozen=True, eq=False)
class Scores:
    """What speaks for each member and each stranger; more is likelier a member."""

    members: FloatArray
    strangers: FloatArray

    @property
    def asked(self) -> bool:
        """Whether there is anybody to be told apart."""
        return bool(len(self.members) and len(self.strangers))


def _scores(
    pair: Pair,
    members: IntArray,
    outside: Outside,
    knows: str,
    people: int,
    random_state: int,
) -> dict[str, Scores]:
    """The scores of both intruders on one release."""
    own = [*by_name(pair.quasi)]
    shown = [*by_name(pair.released_quasi)]
    if knows == KNOWS[1]:
        own += by_name(pair.sensitive)
        shown += [
            _as_shown(o, s)
            for o, s in zip(by_name(pair.sensitive), by_name(pair.released_sensitive), strict=True)
        ]
    inside = np.zeros(pair.n_rows, np.bool_)
    inside[members] = True
    picked = spread(pair.canonical[inside[pair.canonical]], people, random_state)
    mine = Known(tuple(true_values(column, picked) for column in own))
    theirs = Known(tuple(values_in(column, outside.people) for column in own))
    return told_apart(shown, pair.n_rows, mine, theirs, people, random_state)


def told_apart(
    shown: Sequence[ReleasedColumn],
    n_rows: int,
    mine: Known,
    theirs: Known,
    people: int,
    random_state: int,
) -> dict[str, Scores]:
    """The scores of members and of strangers, half of whom are compared with."""
    order = np.lexsort(theirs.columns)
    half = np.random.default_rng(random_state).permutation(len(order)) < len(order) / 2
    asked, others = (
        theirs.part(spread(order[side], people, random_state)) for side in (half, ~half)
    )
    release = _Release(shown, group([c.codes for c in shown], n_rows))
    if not (len(mine) and len(asked) and len(others)):
        return {name: Scores(np.zeros(0), np.zeros(0)) for name in ("nearest", "likelihood")}
    compared = release.compared(others)
    near, likely = zip(*(compared.of(known) for known in (mine, asked)), strict=True)
    return {"nearest": Scores(*near), "likelihood": Scores(*likely)}


def _as_shown(own: Column, shown: Column) -> ReleasedColumn:
    """A sensitive column as it is released, in the original's categories."""
    if own.is_number:
        return unchanged(shown)
    return unchanged(replace(own, codes=shown.codes_in(own, unknown=own.n_values)))


class _Release:
    """The distinct released records, for asking who fits which."""

    def __init__(self, shown: Sequence[ReleasedColumn], groups: Groups) -> None:
        self.shown = shown
        self.sizes = groups.sizes.astype(np.float64)
        self.reach = Reach(shown, groups.first)

    def compared(self, others: Known) -> _Compared:
        """With people who are not in the table to compare with."""
        expected, none = np.zeros(len(self.sizes)), 0
        for person in range(len(others)):
            fits = self.reach.sums(others, person) <= 0
            held = self.sizes[fits].sum()
            if held:
                # who fits several records is dealt among them
                expected[fits] += self.sizes[fits] / held
            else:
                none += 1
        return _Compared(self, others, expected, none)


@dataclass(frozen=True, eq=False)
class _Compared:
    """A release beside other people: how many of them would be in each of its records."""

    release: _Release
    others: Known
    expected: FloatArray
    none: int

    def of(self, known: Known) -> tuple[FloatArray, FloatArray]:
        """Both scores of some people."""
        near, likely = np.zeros(len(known)), np.zeros(len(known))
        sizes, n = self.release.sizes, float(self.release.sizes.sum())
        m = len(self.others)
        for person in range(len(known)):
            away = self.release.reach.sums(known, person)
            fits = away <= 0
            held = float(sizes[fits].sum())
            beside = float(self.expected[fits].sum()) if held else self.none
            likely[person] = np.log((held + 0.5) / (n + 1)) - np.log((beside + 0.5) / (m + 1))
            nearest, other = float(away.min()), self._beside(known, person)
            near[person] = -nearest / (nearest + other) if nearest else 0.0
        return near.round(9), likely.round(9)

    def _beside(self, known: Known, person: int) -> float:
        """How far the nearest of the other people is."""
        total = np.zeros(len(self.others))
        for column, values, own in zip(
            self.release.shown, self.others.columns, known.columns, strict=True
        ):
            x = own[person]
            if column.is_number:
                away = np.minimum(np.abs(values - x) / (column.span or 1.0), 1.0)
                there, here = np.isfinite(values), np.isfinite(x)
                total += np.where(there & here, away, there != here)
            else:
                total += values != x
        return float(total.min())


def membership_record(
    knows: str, learner: str, scores: Sequence[Scores], before: Sequence[Scores]
) -> dict[str, Any]:
    """The attack as plain data, from the scores on releases and on their originals."""
    members = sum(len(s.members) for s in scores)
    strangers = sum(len(s.strangers) for s in scores)
    success = _area_of(scores)
    variance = _mean([_by_chance(s) for s in scores]) / len(scores)
    chance = 0.25 / variance
    null = wilson(chance / 2, chance)  # type: ignore[arg-type]
    return attack_record(
        "membership",
        learner=learner,
        target=knows,
        means="somebody in the table scores above somebody who is not",
        success=success,
        control=Rate(0.5, null.low, null.high, strangers),
        original=_area_of(before),
        public_guess=0.5,
        public_best=0.5,
        random_row=0.5,
    ) | {
        "people": members,
        "strangers": strangers,
        "found": {
            f"{alarms:g}": _found(scores, alarms, members, strangers)
            for alarms in FALSE_ALARMS
            if alarms * strangers >= FEWEST
        },
    }


def _by_chance(scores: Scores) -> float:
    """The variance of the area where nothing tells members and strangers apart."""
    n, m = len(scores.members), len(scores.strangers)
    return (n + m + 1) / (12 * n * m)


def _area_of(scores: Sequence[Scores]) -> Rate:
    return area([(s.members, s.strangers) for s in scores])


def _found(scores: Sequence[Scores], alarms: float, members: int, strangers: int) -> dict[str, Any]:
    """The share of members found at a share of false alarms, with both ends uncertain."""
    reach = wilson(alarms * strangers, strangers)
    value, low, high = (_caught(scores, a) for a in (alarms, reach.low, reach.high))
    return {
        "share": value,
        "interval": [
            wilson(low * members, members).low,
            wilson(min(high, 1.0) * members, members).high,
        ],
    }


def _caught(scores: Sequence[Scores], alarms: float) -> float:
    """The share of members whose score is in the highest of so many strangers; ties in part."""
    caught: list[float] = []
    for s in scores:
        theirs, m = np.sort(s.strangers), len(s.strangers)
        above = (m - np.searchsorted(theirs, s.members, "right")) / m
        upto = (m - np.searchsorted(theirs, s.members, "left")) / m
        tied = upto > above
        part = np.divide(alarms - above, upto - above, out=np.zeros(len(above)), where=tied)
        caught += np.where(tied, np.clip(part, 0, 1), above <= alarms).tolist()
    return fsum(caught) / len(caught)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
