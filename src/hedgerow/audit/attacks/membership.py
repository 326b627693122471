"""Membership inference: does a release show whether a person was in the table?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from ...measures import FloatArray, Groups, IntArray, group
from ...progress import Tell, telling
from ..design_matrix import Known
from ..non_members import Outside
from ..pairing import same
from ..record_distance import Reach, bound
from ..released_values import ReleasedColumn
from ..success import Rate, Rates, area, attack_record, wilson
from ..table_pair import People, TablePair, by_name, spread

# false-alarm rates (shares of strangers taken for members) at which the share of members found is given
FALSE_ALARMS = (0.001, 0.01, 0.1)
# fewest strangers that such a share must amount to
FEWEST = 10
KNOWS = ("quasi-identifiers", "whole record")
# shares of the ranks within which an altered number agrees with a person's
BANDS = (0.01, 0.02, 0.05)
STRONGEST = "strongest"

# what the intruder knows, and by what means
Attack = tuple[str, str]


def membership(
    outside: Sequence[Outside],
    *,
    people: int = 500,
    random_state: int = 0,
    progress: Tell = telling(None),
) -> list[dict[str, Any]]:
    """Attack by membership inference: use the release to tell people in the table from people who are not.

    The intruder knows a person's quasi-identifiers, perhaps also the sensitive values, and has data on
    other people of the same population who are not in the table, for comparison. Several intruders
    score the evidence that the person is in the table:

    - ``nearest``: the distance of the nearest released record, compared with the distance of the
      nearest of the other people;
    - ``likelihood``: the number of released records that cover the person, divided by the number
      expected if the release were made from the other people. A person whom no record covers is scored
      by the number of other people whom none covers;
    - ``exact value``: the distance, by quasi-identifiers, of the nearest released record with the person's
      sensitive value (or all of them), minus half the distance of the nearest record of any kind. Among
      people at equal distance, those whom fewer records fit score higher;
    - ``1% of ranks`` (2%, 5%): the same for a sensitive number that was altered, among the records whose
      rank is this close to the person's.

    Parameters
    ----------
    outside : sequence of Outside
        Releases, each with strangers: half of them serve for comparison, the others are attacked.
    people : int
        Number of members, of strangers and of people for comparison from each release, chosen evenly
        from the sorted values.
    random_state : int
        Seed for splitting the strangers into the two halves.

    Returns
    -------
    list of dict
        ``success`` is the chance that a member scores above a stranger, ties counting half (the area
        under the ROC curve); without a leak it is .5. ``control`` is the interval in which
        it lies by chance alone. ``found`` is the share of members found at a false positive rate of
        .1, .01 or .001 among strangers. The list is empty without strangers.
        ``strongest`` is the intruder who did best on one half of the people, measured on the
        other half, and vice versa, so that the choice gains nothing by chance.

    References
    ----------
    N. Homer et al. (2008), Resolving individuals contributing trace amounts of DNA. PLoS
    Genetics 4; R. Shokri et al. (2017), Membership inference attacks against machine learning
    models; N. Carlini et al. (2022), Membership inference attacks from first principles.
    """
    after: dict[Attack, list[MemberScores]] = {}
    before: dict[Attack, list[MemberScores]] = {}
    altered = {name for each in outside for name in _altered(each.sides)}
    for each in outside:
        progress("membership by the quasi-identifiers and by the whole record")
        whole = each.sides.unchanged, each.sides.original_rows(each.members)
        for scores, sides, members in ((after, each.sides, each.members), (before, *whole)):
            picked = _people_asked(sides, members, each.people, people, random_state)
            if all(map(len, picked)):
                for attack, one in _scores(sides, *picked, altered).items():
                    scores.setdefault(attack, []).append(one)
    out = []
    for knows in sorted({knows for knows, _ in after}, key=lambda k: (k == KNOWS[1], k)):
        out += [_record(a, scores, before[a]) for a, scores in after.items() if a[0] == knows]
        usable = [attack for attack in after if knows in (attack[0], KNOWS[1])]
        best, original = (_strongest({a: each[a] for a in usable}) for each in (after, before))
        if knows in KNOWS and best:
            out.append(_record((knows, STRONGEST), best, original))
    return out


def _altered(sides: TablePair) -> Iterator[str]:
    """Yield the names of the sensitive numbers that were altered or, if rows are not paired, may have been."""
    for original, released in zip(sides.sensitive, sides.released_sensitive, strict=True):
        if sides.groups is None and original.is_number and not (sides.is_paired and same(original, released)):
            yield original.name


class MemberScores(NamedTuple):
    """The scores of members and of strangers in one attack; a higher score means likelier a member."""

    members: FloatArray
    strangers: FloatArray


def _people_asked(
    sides: TablePair, members: IntArray, strangers: People, most: int, random_state: int
) -> tuple[Known, Known, Known]:
    """Pick members and strangers to attack, and other strangers to compare both with.

    In each, the quasi-identifiers come before the sensitive columns.
    """
    columns = [*by_name(sides.quasi), *by_name(sides.sensitive)]
    inside = np.zeros(sides.members.n_rows, np.bool_)
    inside[members] = True
    picked = spread(sides.canonical[inside[sides.canonical]], most, random_state)
    theirs = strangers.values_for(columns)
    coded = Known(  # a category that no member has is as good as missing
        tuple(
            values if column.is_number else np.minimum(values, column.n_values)
            for column, values in zip(columns, theirs.columns, strict=True)
        )
    )
    order = np.lexsort(coded.columns)
    # dealt over the sorted strangers, so that the order of the file does not matter
    half = np.random.default_rng(random_state).permutation(len(order)) < len(order) / 2
    asked_about, others = (coded.part(spread(order[side], most, random_state)) for side in (half, ~half))
    return sides.members.values_for(columns, picked), asked_about, others


def _scores(
    sides: TablePair, mine: Known, strangers: Known, others: Known, altered: Collection[str]
) -> dict[Attack, MemberScores]:
    """Return every intruder's scores of members and strangers; in `altered` columns, values with near ranks agree."""
    quasi, sensitive = by_name(sides.released_quasi), by_name(sides.sensitive_cells)
    agreements = dict(_agreements(sensitive, altered))
    releases = {KNOWS[0]: _Release(quasi, others, sensitive, [*agreements.values()], sides.groups)}
    if sensitive:
        releases[KNOWS[1]] = _Release([*quasi, *sensitive], others)
    out: dict[Attack, MemberScores] = {}
    for knows, release in releases.items():
        scores = zip(*(release.scores(people) for people in (mine, strangers)), strict=True)
        means = [(knows, "nearest"), (knows, "likelihood"), *agreements]
        out |= {attack: MemberScores(*each) for attack, each in zip(means, scores, strict=False)}
    return out


def _agreements(
    sensitive: Sequence[ReleasedColumn], altered: Collection[str]
) -> Iterator[tuple[Attack, dict[int, float]]]:
    """Yield each attack that uses sensitive values, with the share of ranks that counts as near in each column."""
    near = [column.name in altered for column in sensitive]
    # the column of most cells first: few rows agree with it
    every = sorted(range(len(sensitive)), key=lambda j: -sensitive[j].n_cells)
    for share in (0.0, *BANDS):
        learner = f"{share:.0%} of ranks" if share else "exact value"
        for j in range(len(sensitive)) if len(sensitive) > 1 else ():
            if near[j] or not share:
                yield (f"{KNOWS[0]} and {sensitive[j].name}", learner), {j: share}
        if sensitive and (any(near) or not share):
            yield (KNOWS[1], learner), {j: share * near[j] for j in every}


class _Release:
    """The distinct released records, with other people who are not in the table to compare with.

    Parameters
    ----------
    columns : sequence of ReleasedColumn
        The columns by which distances are measured.
    others : Known
        People to compare with; their first columns are these.
    sensitive, agreements, groups
        Other columns, the attacks' shares of ranks within which rows must agree on them, and the
        groups by which a second table publishes them.
    """

    def __init__(
        self,
        columns: Sequence[ReleasedColumn],
        others: Known,
        sensitive: Sequence[ReleasedColumn] = (),
        agreements: Sequence[Mapping[int, float]] = (),
        groups: Groups | None = None,
    ) -> None:
        self.columns, self.agreements, self.groups = columns, agreements, groups
        records = group([c.codes for c in columns])
        self.sizes, self.labels = records.sizes.astype(np.float64), records.labels
        self.reach = Reach(columns, records.first)
        if sensitive:
            self.rows = Reach(sensitive, np.arange(len(records.labels)))
        self.others = Known(others.columns[: len(columns)])
        # how many of the others would be in each record, and in none
        self.expected, self.in_none = np.zeros(len(self.sizes)), 0
        for person in range(len(others)):
            fits = self.reach.sums(self.others, person) <= 0
            n = self.sizes[fits].sum()
            if n:
                # who fits several records is dealt among them
                self.expected[fits] += self.sizes[fits] / n
            else:
                self.in_none += 1

    def agreeing(self, people: Known, person: int) -> Iterator[IntArray]:
        """Yield for each attack the rows that agree with a person; with groups, all rows of the groups they are in."""
        for shares in self.agreements:
            rows = self.rows.agreeing(people, person, shares)
            if self.groups is not None:
                is_possible = np.zeros(self.groups.n_groups, np.bool_)
                is_possible[self.groups.labels[rows]] = True
                rows = np.flatnonzero(is_possible[self.groups.labels])
            yield rows

    def scores(self, people: Known) -> list[FloatArray]:
        """Return the people's scores by every attack, as a list of arrays of shape (n_people,)."""
        width = len(self.columns)
        quasi, sensitive = Known(people.columns[:width]), Known(people.columns[width:])
        sizes, n, m = self.sizes, float(self.sizes.sum()), len(self.others)
        out = np.zeros((2 + len(self.agreements), len(quasi)))
        for person in range(len(quasi)):
            distance = self.reach.sums(quasi, person)
            fits = distance <= 0
            records = float(sizes[fits].sum())
            expected = float(self.expected[fits].sum()) if records else self.in_none
            # half a record more on both sides keeps the ratio finite where nobody fits
            out[1, person] = np.log((records + 0.5) / (n + 1)) - np.log((expected + 0.5) / (m + 1))
            nearest, other = float(distance.min()), self._nearest_other(quasi, person)
            out[0, person] = -nearest / (nearest + other) if nearest else 0.0
            for i, rows in enumerate(self.agreeing(sensitive, person), 2):
                out[i, person] = self._among(distance, nearest, rows)
        # equal scores must stay ties on every machine
        return [*out[:2].round(9), *out[2:]]

    def _among(self, distance: FloatArray, nearest: float, rows: IntArray) -> float:
        """Return a person's score from the nearest of the rows that agree with the person."""
        if not len(rows):
            return -1.0 - len(self.columns)
        near = float(distance[self.labels[rows]].min())
        as_near = float(self.sizes[distance <= bound(near)].sum())
        # rows that would agree and be as near by chance: they decide between equal distances
        luck = len(rows) * as_near / self.sizes.sum()
        return -round(near - nearest / 2, 6) - 1e-7 * luck / (1 + luck)

    def _nearest_other(self, people: Known, person: int) -> float:
        """Return the distance from a person to the nearest other person."""
        total = np.zeros(len(self.others))
        for column, values, values_of_people in zip(
            self.columns, self.others.columns, people.columns, strict=True
        ):
            x = values_of_people[person]
            if column.is_number:
                distance = np.minimum(np.abs(values - x) / (column.span or 1.0), 1.0)
                # as far as possible where one of two values is missing
                there, here = np.isfinite(values), np.isfinite(x)
                total += np.where(there & here, distance, there != here)
            else:
                total += values != x
        return float(total.min())


def _strongest(scores: Mapping[Attack, Sequence[MemberScores]]) -> list[MemberScores]:
    """Choose the best intruder on each half of the people; return its scores on the other half."""
    halves = [
        {a: [MemberScores(s.members[i::2], s.strangers[i::2]) for s in each] for a, each in scores.items()}
        for i in (0, 1)
    ]
    if any(min(len(s.members), len(s.strangers)) < 2 for each in scores.values() for s in each):
        return []
    # chosen on one half and measured on the other: choosing gains nothing by chance
    best = [max(half, key=lambda a: round(area(half[a]).value, 9)) for half in halves]
    return [*halves[0][best[1]], *halves[1][best[0]]]


def _record(attack: Attack, scores: Sequence[MemberScores], before: Sequence[MemberScores]) -> dict[str, Any]:
    """Return an attack as plain data, from its scores on releases and on their originals."""
    knows, learner = attack
    success, sizes = area(scores), [(len(s.members), len(s.strangers)) for s in scores]
    members, strangers = (sum(each) for each in zip(*sizes, strict=True))
    variance = fmean((n + m + 1) / (12 * n * m) for n, m in sizes) / len(scores)
    # as many coin tosses have the variance of the area where nothing tells members and strangers apart
    chance = 0.25 / variance
    null = wilson(chance / 2, chance)  # type: ignore[arg-type]
    return attack_record(
        "membership",
        learner=learner,
        target=knows,
        means="somebody in the table scores above somebody who is not",
        rates=Rates(success, Rate(0.5, null.low, null.high, strangers), area(before)),
        public=0.5,
    ) | {
        "people": members,
        "strangers": strangers,
        "found": {
            f"{alarms:g}": _found_at(scores, alarms, members, strangers)
            for alarms in FALSE_ALARMS
            if alarms * strangers >= FEWEST
        },
    }


def _found_at(scores: Sequence[MemberScores], alarms: float, members: int, strangers: int) -> dict[str, Any]:
    """Return the share of members found at a false-alarm rate, with an interval for the error of both rates."""
    reach = wilson(alarms * strangers, strangers)
    value, low, high = (_caught(scores, a) for a in (alarms, reach.low, reach.high))
    fewest, most = wilson(low * members, members), wilson(min(high, 1.0) * members, members)
    return {"share": value, "interval": [fewest.low, most.high]}


def _caught(scores: Sequence[MemberScores], alarms: float) -> float:
    """Return the share of members who score within the top share `alarms` of strangers; ties count in proportion."""
    caught: list[float] = []
    for s in scores:
        theirs, m = np.sort(s.strangers), len(s.strangers)
        above = (m - np.searchsorted(theirs, s.members, "right")) / m
        upto = (m - np.searchsorted(theirs, s.members, "left")) / m
        tied = upto > above
        part = np.divide(alarms - above, upto - above, out=np.zeros(len(above)), where=tied)
        caught += np.where(tied, np.clip(part, 0, 1), above <= alarms).tolist()
    return fmean(caught)
