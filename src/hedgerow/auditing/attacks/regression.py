"""The regression attack: learn from the release, and predict from true quasi-identifiers.

Every success is compared with three others: guesses from public totals (the public mean or the majority
value, the single number that is right for most people, and the value of a random released row); the
same attack on people whose rows it did not see, which separates general inference from leakage
about individuals; and the same attack on the original table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...columns.column import Column
from ...measures import Counts, Floats, Ints
from ...progress import Tell, telling
from ..design_matrix import OUTSIDE, shown_values, true_values
from ..figure import Figure
from ..learners import LEARNERS, TRAINED, TrainingSet, nearest_of, same_for_all
from ..non_members import FOLDS
from ..success import ATTACKS, AttackData, AttackMatching, AttackTarget, Rates, attack_record, rate_of
from ..table_pair import Asked, TablePair, by_name, spread


def regression(
    sides: TablePair,
    *,
    learners: Sequence[str] = LEARNERS,
    people: int = 500,
    random_state: int = 0,
    progress: Tell = telling(None),
) -> list[AttackData]:
    """Attack every sensitive column with every learner.

    "nearest" searches all released rows. The others are trained on at most 20,000 distinct rows, each
    with all of its records; these include the rows of the attacked people or, if rows are not
    paired, the rows nearest to them.

    Parameters
    ----------
    sides : TablePair
        The tables. The control is the strangers or, if rows are paired and there are none, the same
        people with their own rows withheld (3 folds; none if rows were drawn inside groups).
    learners : sequence of {"tree", "gradient boosting", "nearest", "linear"}
        The learners that attack.
    people : int
        Number of members, and of strangers, who are attacked, spread evenly over the table sorted
        by its values.
    random_state : int
        Seed for the choice of people and the learners.
    progress : callable, optional
        Called with a line of text before each attack.

    Returns
    -------
    list of dict
        One per learner and column. ``success`` is the share of people whose value
        was guessed (see `AttackTarget`), with its Wilson interval.
    """
    columns = range(len(sides.sensitive))
    return [row for j in columns for row in _on_column(sides, j, learners, people, random_state, progress)]


def _on_column(
    sides: TablePair, j: int, learners: Sequence[str], most: int, random_state: int, progress: Tell
) -> list[AttackData]:
    """Attack one column with every learner; return an empty list if no value is known or none is released."""
    # by name: no result depends on the order in which columns are declared
    quasi, column = by_name(sides.released_quasi), sides.sensitive[j]
    aim = sides.targets[column.name]
    people, orders, near = [], [], []
    for who in sides.people:
        values = who.sensitive[j]
        truth = true_values(values) if aim.is_number else values.codes_in(column, unknown=column.n_values + 1)
        has_value = np.isfinite(truth) if aim.is_number else truth != column.n_values
        order = sides.order_of(who, truth)
        orders.append(order[has_value[order]])
        picked = spread(orders[-1], most, random_state)
        people.append(Asked(who.values_for(quasi, picked), [truth[picked]], sides.rows_of(who, picked)))
        # a learner of some rows alone must at least see those around the people it is asked about
        is_member = sides.is_paired and who is sides.members
        near.append(picked if is_member else nearest_of(quasi, sides.classes, people[-1].quasi))
    members = spread(orders[0], most, random_state)
    if not len(members):
        return []
    # strangers without any value cannot be asked about
    people = [who for who in people if len(who.values[0])]
    target, nearby = shown_as(column, sides.released_sensitive[j], aim), np.concatenate(near)
    train = partial(TrainingSet.from_tables, sides, quasi, j, target, aim.is_number, nearby)
    release = train()
    if not release.counts.n_groups:
        return []
    withheld = None
    # rows that were drawn hold nobody's value, so withholding them withholds nothing of a person
    if sides.is_paired and sides.strangers is None and not sides.is_drawn:
        fold = np.full(sides.n_rows, -1)
        # dealt in the order of values, so that each part is like the whole
        fold[orders[0]] = np.arange(len(orders[0])) % FOLDS
        withheld = [train(np.flatnonzero(fold != f)) for f in range(FOLDS)], fold[members]
    # the same attack on the table as it was: what protection took away is the difference
    before = sides.unchanged
    exact = shown_as(before.sensitive[j], before.sensitive[j], aim)
    is_number, rows = before.targets[column.name].is_number, sides.original_rows(members)
    original = TrainingSet.from_tables(before, by_name(before.released_quasi), j, exact, is_number, rows)
    by_public, best, random_row = baselines(release.cells.totals, release.values, people[0].values[0], aim)
    # the nearest record names what a group says of its members
    usable = (*TRAINED, "group counts") if release.cells.separate else TRAINED
    out = []
    for learner in [name for name in learners if name in usable]:
        progress(f"regression attack on {column.name}: {learner}")
        guesses = [release.attack(learner, who.quasi, aim.tolerances, random_state, who.released) for who in people]
        mine, *theirs = (hits_of(g, who.values[0], aim) for g, who in zip(guesses, people, strict=True))
        unprotected = original.attack(learner, people[0].quasi, aim.tolerances, random_state)
        hits = {"release": mine, "public": by_public, "original": hits_of(unprotected, people[0].values[0], aim)}
        if withheld is not None:
            hits["control"] = _withheld(*withheld, learner, people[0], aim, random_state)
        elif theirs:
            hits["control"] = theirs[0]
        row = _row(column, aim, learner, hits, best, random_row)
        trained = release.counts.n_groups if learner == "nearest" else len(release.taught)
        out.append(row | {"trained": trained, "classes": sides.classes.n_groups})
    return out


def _withheld(
    trainings: Sequence[TrainingSet], part: Ints, learner: str, people: Asked, aim: AttackTarget, random_state: int
) -> dict[str, Floats]:
    """Return the hits of an attack in which a learner guesses each part of the people from the other parts."""
    no_guess = 0.0 if aim.is_number else -1.0  # where no row is left to learn from
    all_guesses = {t.key: np.full(len(part), no_guess) for t in aim.tolerances}
    for f, training in enumerate(trainings):
        mine = part == f
        if not mine.any() or not training.counts.n_groups:
            continue
        outside = np.full(int(mine.sum()), OUTSIDE)
        guesses = training.attack(learner, people.quasi.part(mine), aim.tolerances, random_state, outside)
        for key, guess in guesses.items():
            all_guesses[key][mine] = guess
    return hits_of(all_guesses, people.values[0], aim)


def shown_as(original: Column, released: Column, aim: AttackTarget) -> tuple[npt.NDArray[Any], Floats]:
    """Return the released codes and the number behind each.

    Where a number is attacked as a category, each released number gets the code of the nearest original value.
    """
    if aim.is_number or not original.is_number:
        return shown_values(original, released)
    values = np.asarray(original.values)
    middles = (values[1:] + values[:-1]) / 2
    nearest = np.append(np.searchsorted(middles, released.values), original.n_values)
    return nearest[released.codes], np.zeros(original.n_values + 1)


def hits_of(guesses: Mapping[str, Any], y: npt.NDArray[Any], aim: AttackTarget) -> dict[str, Floats]:
    """Return by tolerance which guesses (see `TrainingSet.attack`) hit the true values; 0 or 1 for each person."""
    return {t.key: t.hits(guesses[t.key], y) for t in aim.tolerances}


def baselines(public: Counts, values: Floats, y: Floats, aim: AttackTarget) -> tuple[dict[str, Floats], float, float]:
    """Return how guesses without an attack do: hits of the public mean or majority, the best guess, a random row."""
    shares, near = public.shares, aim.headline
    levels = values[public.values]
    usual = float(levels @ shares) if aim.is_number else public.values[int(shares.argmax())]
    hits = hits_of(same_for_all(np.full(len(y), usual), aim.tolerances), y, aim)
    if not aim.is_number:
        share = np.zeros(len(values))
        share[public.values] = shares
        return hits, float(hits[near.key].mean()), float(share[y.astype(np.int64)].mean())
    best = near.best(np.array([0, len(levels)]), levels, public.counts)[0][0]
    # a random row hits where it lies within reach: a difference of the distribution function
    cdf = np.concatenate([[0.0], np.cumsum(shares)])
    reach = near.share * np.abs(y) + near.width
    lo = np.searchsorted(levels, y - reach, "left")
    hi = np.searchsorted(levels, y + reach, "right")
    random_row = float(np.maximum(cdf[hi] - cdf[lo], 0.0).mean())
    return hits, float(best) / int(public.counts.sum()), random_row


def _row(
    column: Column,
    aim: AttackTarget,
    learner: str,
    hits: Mapping[str, Mapping[str, Floats]],
    best: float,
    random_row: float,
) -> AttackData:
    """Return the attack on a column as plain data; figures of a source without hits are None."""
    rates = {source: rate_of(each[aim.headline.key]) for source, each in hits.items()}
    row = attack_record(
        "regression",
        learner=learner,
        target=column.name,
        means=f"{aim.headline.words} of the value" if aim.is_number else "the exact value",
        rates=Rates(rates["release"], rates.get("control"), rates["original"]),
        public=rates["public"].value,
        best=best,
        random_row=random_row,
    )
    row["attacked_as"] = aim.attacked_as
    if aim.is_number:
        sources = AttackMatching.__annotations__
        row["matching"] = {
            t.key: cast(AttackMatching, {s: float(hits[s][t.key].mean()) if s in hits else None for s in sources})
            for t in aim.tolerances
        }
    return row


FIGURES = (Figure(ATTACKS, lambda t: regression(t.sides, learners=t.learners, **t.attack_options), needs=("attacks",)),)
