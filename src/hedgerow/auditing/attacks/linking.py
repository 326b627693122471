"""The linking attack: which released records could be this person's?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from ...backends.randomize import original_codes
from ...columns.column import Column
from ...json_types import Amount, Length, Positive, Share
from ...kernels.neighbours import count_patterns
from ...measures import Counts, Floats, Groups, Ints, class_measures, group
from ...measures.agreement import MOST_COLUMNS, bits_of, estimate_agreement, pattern_weights
from ...measures.masking_scores import Scores, ScoresData, score_arrays
from ...methods.response.caps import DESCRIBED
from ...plan import Plan, Randomize
from ...progress import Tell, telling
from ...texts import text
from ..class_risk import best_guesses, twentieths
from ..design_matrix import Known, known_rows
from ..figure import Figure
from ..learners import by_person
from ..record_distance import NEAR, Reach
from ..released_values import ReleasedColumn
from ..success import ATTACKS, AttackData, AttackTarget, Rates, area, attack_record, rate_of
from ..table_pair import Pair, People, TablePair, by_name, spread


def linking_attacks(
    pair: Pair, *, people: int = 500, random_state: int = 0, progress: Tell = telling(None)
) -> list[AttackData]:
    """Attack by linking people with released records on the quasi-identifiers, by distance and probability.

    Parameters
    ----------
    pair : Pair
        The original and the release.
    people : int
        Number of people looked up, spread evenly over the sorted table.
    random_state : int
        Decides who is looked up.

    Returns
    -------
    list of dict
        ``success`` is the expected share of people linked to their own record:
        a person whose record shares the best score with t - 1 others counts
        1/t. Of records that cover the person, those whose cells fit the fewest people
        come first. The baseline names a record at random; ``original`` is the same on
        the unprotected table; ``control`` is the share of people who are still linked
        without any disagreement and as closely if their own record is withheld, so
        that the intruder cannot tell them from people in the table.
    """
    # a count is kept for every pattern of agreement, and patterns double with each column
    chosen = pair.released_quasi[:MOST_COLUMNS]
    groups = group([e.codes for e in chosen], pair.n_rows)
    picked = spread(pair.canonical, people, random_state)
    own_class = groups.labels[picked].astype(np.int64)
    before = group([e.whole.codes for e in chosen], pair.original.n_rows)
    unprotected = 1.0 / before.sizes[before.labels[pair.rows[picked]]]
    progress("linking attack: distance and probability")
    nearest, likeliest, agree = _linked(chosen, known_rows(chosen, picked), groups.first, groups.sizes, own_class)
    return [
        attack_record(
            "linking",
            learner=name,
            target="own record",
            means="the person's own record is named",
            rates=Rates(rate_of(chance), rate_of(agree), rate_of(unprotected), controlled=False),
            public=1 / pair.n_rows,
        )
        for name, chance in (("distance", nearest), ("probabilistic", likeliest))
    ]


def _linked(
    released: Sequence[ReleasedColumn], people: Known, rows: Ints, sizes: Ints, own_class: Ints
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return each person's chance of a correct link, by distance and by probability, and if another record fits.

    A column agrees fully if the released cell can stand for the person's value. The intruder picks one
    of all records that are linked equally well. Another record fits if it agrees fully in every
    column, and no cells fit fewer people.
    """
    q, n, bits = len(released), len(people), bits_of(len(released))
    full = np.uint32((1 << (bits * q)) - 1)
    reach = Reach(released, rows)
    nearest, fits = np.zeros(n), np.zeros(n, np.bool_)
    counts = np.zeros(1 << (bits * q), np.int64)
    for i in range(n):
        distance, agree = reach.sums(people, i), reach.patterns(people, i)
        nearest[i] = _named(own_class[i], reach.nearest(distance), sizes)
        # pairs are counted by their pattern and never stored: all records times all people are too many
        counts += count_patterns(agree[None], sizes, bits * q)
        wholly = reach.likeliest(np.flatnonzero(agree == full))
        fits[i] = sizes[wholly].sum() > (wholly == own_class[i]).any()
    # ranges and sets hold the true value by construction; plain columns may be perturbed
    sure = np.array([column.general and not column.stands_in for column in released])
    belong = 1.0 / int(sizes.sum())
    weights = pattern_weights(*estimate_agreement(counts, q, belong, sure), informative=True)
    # a second pass: weights are estimated from the patterns of all people together
    likeliest = np.zeros(n)
    for i in range(n):
        agree = reach.patterns(people, i)
        weight = weights[agree]
        best = np.flatnonzero(weight == weight.max())
        if (agree[best] == full).all():
            best = reach.likeliest(best)
        likeliest[i] = _named(own_class[i], best, sizes)
    return nearest, likeliest, fits


def _named(own_class: int, best: Ints, sizes: Ints) -> float:
    """Return the chance of naming a person's own record, picked at random from the records of the best classes."""
    return float((best == own_class).any() / sizes[best].sum())


def halves(tables: TablePair) -> tuple[list[ReleasedColumn], list[ReleasedColumn]]:
    """Split the quasi-identifiers into two lists whose released values have about equal entropy."""

    def entropy(column: ReleasedColumn) -> float:
        return float(class_measures.entropy_l(Counts.dense(column.counts[None]))[0])

    order = sorted(tables.released_quasi, key=lambda c: (-round(entropy(c), 9), c.name))
    # 1st, 4th, 5th, 8th ... against 2nd, 3rd, 6th, 7th ...
    return (
        by_name([c for i, c in enumerate(order) if i % 4 in (0, 3)]),
        by_name([c for i, c in enumerate(order) if i % 4 in (1, 2)]),
    )


def match(tables: TablePair, people: People, rows: Ints) -> Floats:
    """Match the given people, by their true values, with the released records nearest to them.

    Distances are those of `Reach`, summed over the columns; records at the same distance share,
    but of those that cover the person the most likely come first.
    Memory is 8 bytes per record and column, and 24 per record for each person who is matched.

    Returns
    -------
    float array, shape (4, n_people)
        The distance of the nearest record over the quasi-identifiers, 0 if one covers the person; the
        share of the nearest records that have the person's sensitive values as well; the share of all
        records that have these; and 1/t if t records are nearest both by one half of the columns and
        by the other, else 0.
    """
    first, sizes = tables.records.first, tables.records.sizes
    parts = halves(tables)
    files = [Reach(half, first) for half in parts if half]
    by_file = [people.values_for(half, rows) for half in parts if half]
    whole = Reach([column for half in parts for column in half], first)
    cells = by_name(tables.sensitive_cells)
    sensitive, values = Reach(cells, first) if cells else None, people.values_for(cells, rows)
    exactly, n = dict.fromkeys(range(len(cells)), 0.0), len(rows)

    def match_one(i: int) -> tuple[float, float, float, float]:
        joined, distances = 0.0, [file.sums(k, i) for file, k in zip(files, by_file, strict=True)]
        if len(distances) == 2:
            one, other = (file.nearest(s) for file, s in zip(files, distances, strict=True))
            # who holds two files joins them where their nearest records meet
            both = np.intersect1d(one, other, assume_unique=True)
            joined = 1 / sizes[both].sum() if len(both) else 0.0
            distances[0] += distances[1]
        best = whole.nearest(distances[0])
        same = np.full(len(first), sensitive is None)
        if sensitive is not None:
            same[sensitive.agreeing(values, i, exactly)] = True
        same_values = sizes[best[same[best]]].sum() / sizes[best].sum()
        return distances[0].min(), same_values, sizes[same].sum() / tables.n_rows, joined

    return np.array(by_person(match_one, n, n * len(first))).reshape(n, 4).T


class Distances(TypedDict):
    """Distances to the nearest released record: their 10% quantile and median, and the share that is none."""

    closest_tenth: Amount
    median: Amount
    none: Amount


class Nearest(TypedDict):
    """The distance of the nearest released record from members and from strangers; read ``warning``.

    ``closer``: how often a member is closer than a stranger.
    """

    members: Distances | None
    strangers: Distances | None
    closer: Share | None
    interval: Annotated[Sequence[float], Length(2)] | None
    warning: str


def linking(
    sides: TablePair, *, people: int = 500, random_state: int = 0, progress: Tell = telling(None)
) -> tuple[list[AttackData], Nearest]:
    """Attack by linking people with released records, if rows are not paired; see `match`.

    There are two attacks. "best match": the intruder picks the released record nearest to the person's
    known values, one of them in a tie, and succeeds if it has the person's sensitive values too. "two
    files": half of the known columns are in one file and half in another; a person whose two halves
    are both nearest to the same t released records is linked with a chance of 1/t. Both attacks are
    also tried on strangers.

    Parameters
    ----------
    sides : TablePair
        The tables.
    people : int
        Number of members, and of strangers, who are looked up.
    random_state : int
        Decides who is looked up.
    progress : callable, optional
        Called with a line of text before the attack.

    Returns
    -------
    list of dict
        The attacks.
    dict
        How near the nearest records are, with a warning that this says little.
    """
    progress("linking attack: best match and two files")
    picked = [each.some(people, random_state) for each in sides.people]
    nearest, same_values, chance, joined = zip(
        *(match(sides, each, rows) for each, rows in zip(sides.people, picked, strict=True)), strict=True
    )
    by_quasi, rows, out = sides.unchanged.classes, picked[0], []
    sizes = by_quasi.sizes[by_quasi.labels[rows]]
    if sides.sensitive_cells:
        records = group([by_quasi.labels, *(c.codes for c in sides.members.sensitive)])
        commonest = group([c.codes for c in sides.sensitive_cells]).sizes.max()
        out.append(
            attack_record(
                "linking",
                learner="best match",
                target="own record",
                means="the nearest released record has all sensitive values of the person",
                rates=_rates(same_values, records.sizes[records.labels[rows]] / sizes),
                public=float(commonest) / sides.n_rows,
                random_row=float(chance[0].mean()),
            )
        )
    if halves(sides)[1]:
        out.append(
            attack_record(
                "linking",
                learner="two files",
                target="both halves",
                means="the person's two halves lead to one released record, ties shared",
                rates=_rates(joined, 1 / sizes),
                public=1 / sides.n_rows,
            )
        )
    return out, _nearness(nearest)


def _rates(success: Sequence[Floats], original: Floats) -> Rates:
    """Return the success rates on members, on strangers (None without any) and on the original."""
    return Rates(rate_of(success[0]), rate_of(success[1]) if len(success) > 1 else None, rate_of(original))


def _nearness(nearest: Sequence[Floats]) -> Nearest:
    """Return quantiles of the distance to the nearest record, and how often members are closer than strangers."""
    strangers, closer = None, None
    if len(nearest) > 1:
        near, far = (-np.round(distances / NEAR) for distances in nearest)
        strangers, closer = _quantiles(nearest[1]), area([(near, far)])
    return {
        "members": _quantiles(nearest[0]),
        "strangers": strangers,
        "closer": None if closer is None else closer.value,
        "interval": None if closer is None else closer.interval,
        "warning": text("note", "nearness"),
    }


def _quantiles(distances: Floats) -> Distances:
    return {
        "closest_tenth": float(np.quantile(distances, 0.1)),
        "median": float(np.median(distances)),
        "none": float((distances <= NEAR).mean()),
    }


# most numeric columns that the scores compare
COLUMNS = 20
# most released records that the scores link
RECORDS = 5_000


class ReconstructedColumn(TypedDict):
    """The success of the best guesses from reconstructed counts.

    ``means``: when a guess counts; ``worst``: the share in the worst group, ``right``: over all records; ``shares``:
    the records by the share in their group, in 20 bins.
    """

    means: str
    worst: Share
    right: Share
    shares: Sequence[Share]


class Reconstructed(TypedDict):
    """The success of guesses from reconstructed counts in groups of at least ``least`` records."""

    least: Positive
    groups: Positive
    records: Positive
    columns: Mapping[str, ReconstructedColumn]


class Linkage(TypedDict):
    """The linkage of altered records with their originals by the quasi-identifiers.

    ``attacks``: distance-based and probabilistic linkage of some people; ``highest``: the larger success.
    ``scores``: linkage of all records by the numeric quasi-identifiers, interval disclosure and information loss
    (Domingo-Ferrer & Torra), in per cent; None if no two records are complete, or rows were drawn.
    ``reconstructed``: None if no plan says how columns were randomized, or no group is large enough.
    """

    attacks: Sequence[AttackData]
    highest: Share
    scores: ScoresData | None
    reconstructed: NotRequired[Reconstructed | None]


def linkage_summary(pair: Pair, plan: Plan | None, attacks: list[AttackData], random_state: int) -> Linkage:
    """Measure how many altered records can be linked with their originals by the quasi-identifiers.

    If cells are not true, classes of equal cells say nothing about risk. Instead, an
    intruder who knows all quasi-identifiers of a person names the nearest released
    record.
    """
    # which compare a record with its own, and no drawn row is a person's
    scores = None if plan is not None and plan.in_rows else numeric_scores(pair, random_state)
    return {
        "attacks": attacks,
        "highest": max(attack["success"] for attack in attacks),
        "scores": None if scores is None else scores.to_dict(),
        "reconstructed": reconstructed(pair, plan.recoding)
        if plan is not None and isinstance(plan.recoding, Randomize)
        else None,
    }


def numeric_scores(pair: Pair, random_state: int) -> Scores | None:
    """Return linkage and loss scores of the quasi-identifiers released as numbers; None if there are too few data."""
    chosen = [e for e in pair.released_quasi if e.is_number and not e.general][:COLUMNS]
    if not chosen or pair.n_rows < 2:
        return None
    rows = pair.canonical  # the records that are linked do not depend on the order of the rows
    before = np.stack([e.original.numbers[rows] for e in chosen], axis=1)
    after = np.stack([e.lo[e.codes[rows]] for e in chosen], axis=1)
    complete = np.isfinite(before).all(axis=1) & np.isfinite(after).all(axis=1)
    if complete.sum() < 2:
        return None
    return score_arrays(
        before[complete], after[complete], [e.name for e in chosen], records=RECORDS, random_state=random_state
    )


def reconstructed(pair: Pair, recoding: Randomize) -> Reconstructed | None:
    """Measure how often the best guess for each group is right, if a reader reconstructs its true counts.

    Randomized response publishes its chances so that counts can be reconstructed. A reader who does
    so knows the most frequent value of a group of people with the same quasi-identifiers (numbers
    in their published bins) and may guess it for all of them. No cap on a record limits that. The
    true counts are the most that any reconstruction can find.

    Returns
    -------
    Reconstructed or None
        None if there are no groups that are large enough, or no sensitive columns.
    """
    randomized = {column.name: column for column in recoding.columns}
    codes = [
        original_codes(pair.original, randomized[column.name])[pair.rows] if column.name in randomized else column.codes
        for column in pair.quasi
    ]
    groups = group(codes, pair.n_rows)
    large = groups.sizes >= DESCRIBED
    if not large.any() or not pair.sensitive:
        return None
    sizes = groups.sizes[large]
    columns: dict[str, ReconstructedColumn] = {}
    for column in pair.sensitive:
        target = pair.targets[column.name]
        share = _right(groups, column, target)[large]
        columns[column.name] = {
            "means": target.headline.words,
            "worst": float(share.max()),
            "right": float(share @ sizes / sizes.sum()),
            "shares": twentieths(share, sizes),
        }
    return {"least": DESCRIBED, "groups": int(large.sum()), "records": int(sizes.sum()), "columns": columns}


def _right(groups: Groups, column: Column, target: AttackTarget) -> Floats:
    """Return the share of each group's records for which the best single guess is right; shape (n_groups,)."""
    counts = Counts.from_codes(groups, column.codes, column.n_values + column.has_missing)
    if not target.is_number:
        return class_measures.largest_share(counts)
    hits, _ = best_guesses(counts, np.append(column.doubles, np.nan), target.headline)
    return np.asarray(hits / groups.sizes, np.float64)


FIGURES = (
    Figure(
        {"risk.linkage": Linkage},
        lambda t: linkage_summary(t.sides, t.what.plan, t.linked, **t.seed),
        needs=("pairs", "altered values"),
        says="linking altered records with their originals",
        is_listed=False,
    ),
    Figure(ATTACKS, lambda t: t.linked, needs=("pairs", "attacks")),
    Figure(
        {**ATTACKS, "risk.nearest": Nearest | None},
        lambda t: linking(t.sides, **t.attack_options),
        needs=("no pairs", "attacks"),
    ),
)
