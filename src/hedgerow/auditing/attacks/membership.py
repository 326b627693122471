"""Membership inference: does a release show whether a person was in the table?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from statistics import fmean
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ...columns.column import Column
from ...measures import Floats, Groups, Ints, group
from ...progress import Tell, telling
from ..design_matrix import Known
from ..figure import Figure
from ..non_members import Outside
from ..pairing import same
from ..record_distance import Reach, bound
from ..released_values import ReleasedColumn
from ..success import ATTACKS, AttackData, FoundMembers, Rate, Rates, area, attack_record, wilson
from ..table_pair import People, TablePair, by_name, spread

# false-alarm rates (shares of strangers taken for members) at which the share of members found is given
FALSE_ALARMS = (0.001, 0.01, 0.1)
# fewest strangers that such a share must amount to
FEWEST = 10
# share of the members who have the most extreme sensitive numbers
EXTREME = 0.05
KNOWS = ("quasi-identifiers", "whole record", f"whole record, most extreme {EXTREME:.0%}")
# shares of the ranks within which an altered number agrees with a person's
BANDS = (0.01, 0.05)
# records of a run, and how many as wide the runs beside it reach, with the weights of both
RUN = 10
BESIDE = ((0.9, 1), (0.1, 3))
EXACT = "exact value"
# records that the neighbourhood of a person holds, by which distances are scaled
NEIGHBOURS = 20
# how many people on either side of a person have numbers near by
NEAR = (4, 8, 20, 40)
# least variance of the numbers near a person, in squared standard deviations
LEAST = 0.05
STRONGEST = "strongest"

# what the intruder knows, and by what means
Attack = tuple[str, str]
# columns by their place with the share of ranks that counts as near, as `Reach.agreeing` takes them, and a weight
Factor = tuple[tuple[float, tuple[tuple[int, float], ...]], ...]


def membership(
    outside: Sequence[Outside], *, people: int = 500, random_state: int = 0, progress: Tell = telling(None)
) -> list[AttackData]:
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
    - ``values in groups``: the share of the records near the person by quasi-identifiers that have the
      person's sensitive value, divided by that share in the whole table; multiplied over the sensitive
      columns, and over all of them together;
    - ``runs in groups``: the same, counting the 10 records next to the person by the rank of a number,
      and for a tenth the 30 around these; ``1% of ranks`` (5%): the same with so many of the ranks, for
      numbers that were altered;
    - ``pull``: whether the mean and variance of the numbers near the person differ from those of the
      neighbourhood in the direction of the person's number;
    - ``density``: the density of the person's number by the mean and variance near the person, divided by
      the density by those of the neighbourhood;
    - ``numbers``: how many released numbers lie near the person's, column by column, divided by how many of
      the people who are asked have one there; in several widths, multiplied over all columns.

    From ``values in groups`` to ``density``, records are weighted by a normal kernel on the distance of the
    quasi-identifiers, in several widths; knowing the method is not needed. All attacks by sensitive values
    are also tried on the 5% of people with the most extreme sensitive numbers.

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
        it lies by chance alone. ``found`` is the share of members found at a false positive rate of .1,
        .01 or .001 among strangers. The list is empty without strangers.
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
    altered = {name for each in outside for name in altered_numbers(each.sides)}
    for each in outside:
        progress("membership by the quasi-identifiers and by the whole record")
        whole = each.sides.unchanged, each.sides.original_rows(each.members)
        for scores, sides, members in ((after, each.sides, each.members), (before, *whole)):
            people_pairs = _people_asked(sides, members, each.people, people, random_state)
            for attack, one in attack_scores(sides, *people_pairs, altered).items():
                scores.setdefault(attack, []).append(one)
    out = []
    for knows in sorted({knows for knows, _ in after}, key=lambda k: (k == KNOWS[1], k)):
        out += [_record(a, scores, before[a]) for a, scores in after.items() if a[0] == knows]
        usable = [a for a in after if a[0] == knows or (knows == KNOWS[1] and a[0] != KNOWS[2])]
        best, original = (_strongest({a: each[a] for a in usable}) for each in (after, before))
        if knows in KNOWS and best:
            out.append(_record((knows, STRONGEST), best, original))
    return out


def altered_numbers(sides: TablePair) -> Iterator[str]:
    """Yield the names of the sensitive numbers that were altered or, if rows are not paired, may have been."""
    for original, released in zip(sides.sensitive, sides.released_sensitive, strict=True):
        if sides.groups is None and original.is_number and not (sides.is_paired and same(original, released)):
            yield original.name


class MemberScores(NamedTuple):
    """The scores of members and of strangers in one attack; a higher score means likelier a member."""

    members: Floats
    strangers: Floats


def _people_asked(
    sides: TablePair, members: Ints, strangers: People, most: int, random_state: int
) -> tuple[Known, list[tuple[Known, Known]]]:
    """Pick people to compare with; and members and strangers to attack, of all and of the most extreme.

    In each, the quasi-identifiers come before the sensitive columns.
    """
    columns = [*by_name(sides.quasi), *by_name(sides.sensitive)]
    inside = np.zeros(sides.members.n_rows, np.bool_)
    inside[members] = True
    mine = sides.members.values_for(columns)
    coded = known_strangers(columns, strangers)
    order = np.lexsort(coded.columns)
    # dealt over the sorted strangers, so that the order of the file does not matter
    half = np.random.default_rng(random_state).permutation(len(order)) < len(order) / 2
    candidates = ((mine, sides.canonical[inside[sides.canonical]]), (coded, order[half]))
    others = coded.part(spread(order[~half], most, random_state))
    numbers = [j for j, column in enumerate(columns) if column.is_number and j >= len(sides.quasi)]
    distances = [np.zeros(len(present)) for present, _ in candidates]
    for j in numbers:
        y = mine.columns[j][np.isfinite(mine.columns[j])]
        if len(y) and y.std() > 0:
            off = [np.abs(present.columns[j] - y.mean()) / y.std() for present, _ in candidates]
            distances = [np.fmax(*pair) for pair in zip(distances, off, strict=True)]
    cut = np.quantile(distances[0][inside], 1 - EXTREME) if inside.any() else 0.0
    everybody, extreme = (
        [
            present.part(spread(rows[far[rows] > least], most, random_state))
            for (present, rows), far in zip(candidates, distances, strict=True)
        ]
        for least in (-1.0, cut)
    )
    return others, [(everybody[0], everybody[1]), (extreme[0], extreme[1])]


def known_strangers(columns: Sequence[Column], strangers: People) -> Known:
    """Return strangers' values of columns; a category that no member has is as good as missing."""
    values = zip(columns, strangers.values_for(columns).columns, strict=True)
    return Known(tuple(each if column.is_number else np.minimum(each, column.n_values) for column, each in values))


def attack_scores(
    sides: TablePair, others: Known, people_pairs: Sequence[tuple[Known, Known]], altered: Collection[str]
) -> dict[Attack, MemberScores]:
    """Return every intruder's scores of members and strangers; in `altered` columns, values with near ranks agree."""
    if not (len(others) and all(map(len, people_pairs[0]))):
        return {}
    quasi, sensitive = by_name(sides.released_quasi), by_name(sides.sensitive_cells)
    release = _Release(quasi, others, sensitive, dict(_agreements(sensitive, altered, sides.n_rows)), sides.groups)
    out = release.scores(*people_pairs[0])
    if sensitive:
        out |= _Release([*quasi, *sensitive], others).scores(*people_pairs[0], KNOWS[1])
        if any(column.is_number for column in (*quasi, *sensitive)):
            out[KNOWS[1], "numbers"] = _by_numbers([*quasi, *sensitive], *people_pairs[0])
        if all(map(len, people_pairs[1])):
            by_extremes = release.scores(*people_pairs[1])
            out |= {(KNOWS[2], a[1]): scores for a, scores in by_extremes.items() if a[0] == KNOWS[1]}
    return out


def _agreements(
    sensitive: Sequence[ReleasedColumn], altered: Collection[str], n_rows: int
) -> Iterator[tuple[Attack, list[Factor]]]:
    """Yield each attack that counts rows of near sensitive values, with the factors that are multiplied."""
    near = [column.name in altered for column in sensitive]
    # the column of most cells first: few rows agree with it
    every = sorted(range(len(sensitive)), key=lambda j: -sensitive[j].n_cells)
    alone = [[j] for j in range(len(sensitive))]
    # each column alone, and all columns together
    several = [*alone, every] if len(sensitive) > 1 else alone

    def factor(columns: Sequence[int], shares: Sequence[tuple[float, float]]) -> Factor:
        return tuple((w, tuple((j, share * sensitive[j].is_number) for j in columns)) for w, share in shares)

    for columns in several if sensitive else ():
        knows = KNOWS[1] if len(columns) == len(sensitive) else f"{KNOWS[0]} and {sensitive[columns[0]].name}"
        yield (knows, EXACT), [factor(columns, [(1.0, 0.0)])]
    means = {f"{share:.0%} of ranks": [(1.0, share)] for share in BANDS if any(near)}
    if any(column.is_number for column in sensitive):
        means["runs in groups"] = [(weight, wide * RUN / n_rows) for weight, wide in BESIDE]
    for learner, shares in {"values in groups": [(1.0, 0.0)], **means}.items() if sensitive else ():
        yield (KNOWS[1], learner), [factor(columns, shares) for columns in several]


def _by_numbers(columns: Sequence[ReleasedColumn], members: Known, strangers: Known) -> MemberScores:
    """Return scores by how many released numbers lie near a person's, for how many people who are asked."""
    people = Known.joined(members, strangers)
    scores = np.zeros(len(people))
    for column, values in zip(columns, people.columns, strict=True):
        if not column.is_number:
            continue
        cells = np.where(column.anything, np.nan, column.lo / 2 + column.hi / 2)[column.codes]
        released, theirs = (np.sort(each[np.isfinite(each)]) for each in (cells, values))
        at = np.searchsorted(theirs, values)
        for near in NEAR if len(theirs) else ():
            low, high = theirs[np.maximum(at - near, 0)], theirs[np.minimum(at + near, len(theirs) - 1)]
            here, there = (
                np.searchsorted(each, high, "right") - np.searchsorted(each, low, "left") for each in (released, theirs)
            )
            chance = np.log((here + 1) / (there * len(released) / len(theirs) + 1))
            scores += np.where(np.isfinite(values), chance, 0.0)
    return MemberScores(*np.split(scores.round(9), [len(members)]))


class _Release:
    """The distinct released records, with other people who are not in the table to compare with.

    Parameters
    ----------
    columns : sequence of ReleasedColumn
        The columns by which distances are measured.
    others : Known
        People to compare with; their first columns are these.
    sensitive, agreements, groups
        Other columns, the attacks by the values that are near in them, and the groups by which a second
        table publishes them.
    """

    def __init__(
        self,
        columns: Sequence[ReleasedColumn],
        others: Known,
        sensitive: Sequence[ReleasedColumn] = (),
        agreements: Mapping[Attack, Sequence[Factor]] = MappingProxyType({}),
        groups: Groups | None = None,
    ) -> None:
        self.columns, self.sensitive, self.agreements, self.groups = columns, sensitive, agreements, groups
        records = group([c.codes for c in columns])
        self.sizes, self.reach = records.sizes.astype(np.float64), Reach(columns, records.first)
        self.labels = records.labels.astype(np.int64)
        if sensitive:
            self.rows = Reach(sensitive, np.arange(len(self.labels)))
        scales = (_Scale(j, column) for j, column in enumerate(sensitive) if column.is_number)
        self.scales = [scale for scale in scales if scale.deviation > 0]
        self.moments = self._moments()
        self.others = Known(others.columns[: len(columns)])
        # how many of the others would be in each record, and in none
        self.expected, self.in_none = np.zeros(len(self.sizes)), 0
        wide = np.zeros(len(others))
        for person in range(len(others)):
            fits = self.reach.sums(self.others, person) <= 0
            n = self.sizes[fits].sum()
            if n:
                # who fits several records is dealt among them
                self.expected[fits] += self.sizes[fits] / n
            else:
                self.in_none += 1
            if sensitive:
                square = self.reach.squares(self.others, person)
                nearest = np.argsort(square, kind="stable")[: NEIGHBOURS + 1]
                upto = np.searchsorted(np.cumsum(self.sizes[nearest]), min(NEIGHBOURS, self.sizes.sum()))
                wide[person] = square[nearest[upto]]
        # squared distances are in this unit; one standard deviation if most have their neighbours at distance 0
        self.unit = float(np.median(wide)) or 1.0

    def _moments(self) -> Floats:
        """Return each record's rows, and for each number its known values, their sum and their sum of squares."""
        sums: list[Floats] = [self.sizes]
        for scale in self.scales:
            z = scale(scale.cells)[scale.codes]
            present = np.isfinite(z)
            for power in range(3):
                sums.append(np.bincount(self.labels[present], z[present] ** power, len(self.sizes)).astype(np.float64))
        return np.stack(sums, axis=1)

    def _agreeing(self, people: Known, person: int, shares: tuple[tuple[int, float], ...]) -> Ints:
        """Return the rows that agree with a person; with groups, all rows of the groups they are in."""
        rows = self.rows.agreeing(people, person, dict(shares))
        if self.groups is not None:
            is_possible = np.zeros(self.groups.n_groups, np.bool_)
            is_possible[self.groups.labels[rows]] = True
            rows = np.flatnonzero(is_possible[self.groups.labels])
        return rows

    def scores(self, members: Known, strangers: Known, knows: str = KNOWS[0]) -> dict[Attack, MemberScores]:
        """Return every attack's scores of members and strangers.

        `knows`, what the intruder knows, labels the two attacks that go by distance.
        """
        by_side = [self._scores(people, knows) for people in (members, strangers)]
        return {attack: MemberScores(*(side[attack] for side in by_side)) for attack in by_side[0]}

    def _scores(self, people: Known, knows: str) -> dict[Attack, Floats]:
        """Return the people's scores on the release by every attack."""
        width = len(self.columns)
        quasi, sensitive = Known(people.columns[:width]), Known(people.columns[width:])
        used = dict.fromkeys(chain.from_iterable(self.agreements.values()))
        agreeing = {shares: i for i, shares in enumerate(dict.fromkeys(shares for _, shares in chain(*used)))}
        factors = np.zeros((len(used), len(agreeing)))
        for place, factor in enumerate(used):
            for weight, shares in factor:
                factors[place, agreeing[shares]] = weight
        sizes, n, m = self.sizes, float(self.sizes.sum()), len(self.others)
        nearest, likelihood, off = (np.zeros(len(quasi)) for _ in range(3))
        exact = {
            attack: (factor[0][1], np.zeros(len(quasi)))
            for attack, (factor, *_) in self.agreements.items()
            if attack[1] == EXACT
        }
        near = np.zeros((len(quasi), len(factors)))
        moments = np.zeros((len(quasi), 4, self.moments.shape[1]))
        for person in range(len(quasi)):
            distance = self.reach.sums(quasi, person)
            fits = distance <= 0
            records = float(sizes[fits].sum())
            expected = float(self.expected[fits].sum()) if records else self.in_none
            # half a record more on both sides keeps the ratio finite where nobody fits
            likelihood[person] = np.log((records + 0.5) / (n + 1)) - np.log((expected + 0.5) / (m + 1))
            least, other = float(distance.min()), self._nearest_other(quasi, person)
            nearest[person] = -least / (least + other) if least else 0.0
            if not self.sensitive:
                continue
            square = self.reach.squares(quasi, person) / self.unit
            off[person] = np.sqrt(square.min())
            weights = _weights(square - square.min())
            moments[person] = weights @ self.moments
            total = moments[person, :, 0] + 0.5
            rows = [self._agreeing(sensitive, person, shares) for shares in agreeing]
            for shares, out in exact.values():
                out[person] = self._among(distance, least, rows[agreeing[shares]])
            # half a record with the shares of the table is added to both
            ends, every = np.cumsum([0, *map(len, rows)]), np.concatenate(rows)
            public = (0.5 + factors @ np.diff(ends)) / n
            weight_sums = np.zeros((4, len(every) + 1))
            np.cumsum(weights[:, self.labels[every]], axis=1, out=weight_sums[:, 1:])
            weight_sums = np.diff(weight_sums[:, ends]) @ factors.T
            near[person] = np.log((weight_sums / public + 0.5) / total[:, None]).mean(axis=0)
        # who is far from every record is no member, whatever the values; beyond three units it makes no difference
        far = np.minimum(off, 3.0)
        places = {factor: place for place, factor in enumerate(used)}
        by_values = {
            attack: near[:, [places[f] for f in parts]].sum(axis=1) - far
            for attack, parts in self.agreements.items()
            if attack not in exact
        }
        if self.scales:
            present = [scale(sensitive.columns[scale.place]) for scale in self.scales]
            pull, density = _moved(np.stack(present, axis=1), moments)
            by_values |= {(KNOWS[1], "pull"): pull, (KNOWS[1], "density"): density}
        # equal scores must stay ties on every machine
        by_values = {attack: scores.round(9) for attack, scores in by_values.items()}
        by_distance = {(knows, "nearest"): nearest.round(9), (knows, "likelihood"): likelihood.round(9)}
        return by_distance | {attack: scores for attack, (_, scores) in exact.items()} | by_values

    def _among(self, distance: Floats, nearest: float, rows: Ints) -> float:
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
        for column, values, values_of_people in zip(self.columns, self.others.columns, people.columns, strict=True):
            x = values_of_people[person]
            if column.is_number:
                distance = np.minimum(np.abs(values - x) / (column.span or 1.0), 1.0)
                # if exactly one of the two values is missing, the distance is 1, the maximum
                there, here = np.isfinite(values), np.isfinite(x)
                total += np.where(there & here, distance, there != here)
            else:
                total += values != x
        return float(total.min())


def _weights(square: Floats) -> Floats:
    """Return Gaussian kernel weights of squared distances, for bandwidths 1/9, 1/3, 1 and 3; shape (4, n_records)."""
    weights = [np.exp(square / (-2 * 3**2))]
    for _ in range(3):
        # the ninth power is a third as wide, and cheaper than an exponential
        cube = weights[-1] * weights[-1] * weights[-1]
        weights.append(cube * cube * cube)
    return np.stack(weights[::-1])


class _Scale:
    """A sensitive number in standard deviations from the mean of the release, cut at its 2% and 98% quantile.

    Uncut, one very large value would decide the mean of every group that it is in.
    """

    def __init__(self, place: int, column: ReleasedColumn) -> None:
        self.place, self.codes = place, column.codes
        self.cells = np.where(column.anything, np.nan, column.lo / 2 + column.hi / 2)
        present = self.cells[column.codes]
        present = np.sort(present[np.isfinite(present)])
        self.ends = present[[len(present) // 50, -1 - len(present) // 50]] if len(present) else np.zeros(2)
        cut = np.clip(present, *self.ends)
        self.mean, self.deviation = (float(cut.mean()), float(cut.std())) if len(present) else (0.0, 0.0)

    def __call__(self, values: Floats) -> Floats:
        """Return numbers on this scale; NaN if missing."""
        return (np.clip(values, *self.ends) - self.mean) / self.deviation


def _moved(z: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Return how far people's numbers pull the mean and variance near them, and their density by these.

    Parameters
    ----------
    z : float array, shape (n_people, n_numbers)
    sums : float array, shape (n_people, 4, 1 + 3 * n_numbers)
        The rows near each person, and of each number the known ones, their sum and their sum of squares,
        by the width of the kernel.
    """
    pull, density = np.zeros(len(z)), np.zeros(len(z))
    for j, true_values in enumerate(z.T):
        n, total, squares = np.moveaxis(sums[:, :, 1 + 3 * j : 4 + 3 * j], 2, 0)
        for width in (0, 1):
            # the neighbourhood without those near the person
            rest = n[:, 2] - n[:, width]
            enough = rest > 1
            rest = np.where(enough, rest, 1.0)
            mean = np.where(enough, (total[:, 2] - total[:, width]) / rest, 0.0)
            variance = np.where(enough, (squares[:, 2] - squares[:, width]) / rest - mean**2, 1.0)
            some = np.maximum(n[:, width], 1e-9)
            near = total[:, width] / some
            spread = np.maximum(squares[:, width] / some - near**2, LEAST)
            variance = np.maximum(variance, LEAST)
            off = true_values - mean
            moved = (near - mean) * off / variance
            moved += (spread - variance) * (off**2 - variance) / (2 * variance**2)
            likelier = off**2 / variance + np.log(variance) - (true_values - near) ** 2 / spread - np.log(spread)
            is_known = np.isfinite(true_values) & (n[:, width] > 0)
            pull += np.where(is_known, moved, 0.0)
            density += np.where(is_known, likelier, 0.0)
    return pull, density


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


def _record(attack: Attack, scores: Sequence[MemberScores], before: Sequence[MemberScores]) -> AttackData:
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


def _found_at(scores: Sequence[MemberScores], alarms: float, members: int, strangers: int) -> FoundMembers:
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


FIGURES = (Figure(ATTACKS, lambda t: membership(t.non_members, **t.attack_options), needs=("attacks",)),)
