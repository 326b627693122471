"""Features: numbers made of a column's values, which models use as regressors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..measures import Floats, Ints
from ..plan import GuardedColumn
from .moments import SCALE, scores_of

# values of a number beyond these quantiles count as the quantile
ENDS = (0.005, 0.995)
# categories that have a feature of their own, the commonest ones, and values of a number that many people have
CATEGORIES, HEAPS = 40, 3
# the part of the people who have a value from which on it is a heap, and the part that makes it one in full
HEAP = (0.05, 0.10)
# people with a value from whom on its feature counts in full: with fewer it counts less, down to nothing at k people
IN_FULL = 100


@dataclass(frozen=True)
class Feature:
    """A number for each value of a column: its mean over the table is 0, its variance at most 1.

    Parameters
    ----------
    column : int
        The place of the column in the guard.
    people : int
        How many people have its value; everybody for a number and for a column of two values, a fifth of them for the
        square of a number (from which what follows from the number itself is taken away).
    weight : float
        1, or less if few people have that value or it is barely a heap; `of_code` was multiplied by it already.
    of_code : int64 array of shape (n_codes + 1,)
        In 32nds; the last, for what is withheld, is 0.
    of : str
        What of the column it is: "number", "square", or the value that people have.
    """

    column: int
    people: int
    weight: float
    of_code: Ints
    of: str = ""


def features_of(columns: Sequence[GuardedColumn], people: int, whole: Collection[str] = ()) -> list[Feature]:
    """Return the features of columns, the most useful first, from how many people have each value.

    Parameters
    ----------
    columns : sequence of GuardedColumn
    people : int
        Fewest people who share a released value; a value needs more of them to have a feature.
    whole : collection of str
        Columns of which the commonest categories do not say the rest, since not every row has a cell.
    """
    features = [f for i, c in enumerate(columns) for f in _features(i, c, people, c.name in whole)]
    return sorted((f for f in features if f.of_code.any()), key=lambda f: -f.people)


def _features(place: int, column: GuardedColumn, people: int, is_whole: bool = False) -> Iterator[Feature]:
    """Yield the features of the column in a place of the guard, or of what its categories list."""
    for i, (member, code_of) in enumerate(column.members()):
        for feature in _features(place, member, people):
            yield replace(feature, of_code=feature.of_code[[*code_of, -1]], of=f"{i} {feature.of}")
    if column.n_members:
        return
    counts, n = np.asarray(column.people, np.int64), column.n_values
    total, in_full = int(counts.sum()), max(IN_FULL, 2 * people)
    weight = np.clip((np.asarray(column.with_category, np.int64) - people) / (in_full - people), 0.0, 1.0)
    if column.kind in ("numeric", "date") and n > 2:
        z = scores_of(np.array(column.values[:n], np.float64), counts[:n], ENDS).of_run
        z = np.append(z, np.zeros(len(counts) - n, np.int64))
        yield Feature(place, total, 1.0, np.append(z, 0), "number")
        # sums of whole numbers, so that their order changes nothing
        linear = float(counts @ z**3) / max(float(counts @ z**2), 1.0)
        square = np.where(np.arange(len(counts)) < n, z**2 - linear * z, np.nan)
        yield Feature(place, -(-total // 5), 1.0, np.append(_standardised(square, counts), 0), "square")
        share = counts / total
        weight[:n] *= np.clip((share - HEAP[0]) / (HEAP[1] - HEAP[0]), 0.0, 1.0)[:n] * (share < 1 - HEAP[0])[:n]
        order = [*np.argsort(-counts[:n], kind="stable")[:HEAPS], *range(n, len(counts))]
    else:
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist()
        if len(order) == 2:
            order = order[1:]
        elif order and weight[order[-1]] == 1 and not is_whole:
            order = order[:-1]  # moments of the others say it, and of few people they must not
        order = order[:CATEGORIES]
    for code in order:
        of_code = np.rint(weight[code] * _standardised(np.arange(len(counts)) == code, counts)).astype(np.int64)
        of = total if len(order) == 1 else int(counts[code])
        value = column.values[code] if code < len(column.values) else None
        yield Feature(place, of, float(weight[code]), np.append(of_code, 0), f"= {value}")


def _standardised(values: Floats, counts: Ints) -> Ints:
    """Return values less their mean and over their standard deviation, in 32nds; 0 where they are NaN."""
    is_known = ~np.isnan(values)
    values, counts = np.where(is_known, values, 0.0), counts * is_known
    mean = float(values @ counts) / max(int(counts.sum()), 1)
    spread = float(np.sqrt((values - mean) ** 2 @ counts / max(int(counts.sum()), 1)))
    return np.asarray(np.rint(SCALE * np.where(is_known, values - mean, 0.0) / (spread or 1.0)), np.int64)
