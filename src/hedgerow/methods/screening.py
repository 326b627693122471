"""Which quasi-identifiers tell anything of the sensitive columns, as far as chance allows to say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..columns.bins import bins_of
from ..columns.column import Column
from ..columns.value_counts import ValueCounts
from ..kernels.exact_sums import scale

LEVELS = 16
EACH = 25
"""Records that a level stands for, at least on average."""
SIGMAS = 4.0

Ints = npt.NDArray[np.int64]


def telling(column: Column, sensitive: Sequence[Column], people: int | None = None) -> bool:
    """Whether a quasi-identifier explains more of a sensitive column than chance would.

    With p + 1 levels of the quasi-identifier (16 quantiles of a number, its most frequent
    categories) and eta^2 the share of a column's variance that they explain, n eta^2 is about
    chi-squared with p degrees of freedom where they have nothing to do with each other:

        n eta^2 > p + 4 sqrt(2 p)

    A column that tells something only together with others is not found.

    Parameters
    ----------
    column : Column
    sensitive : sequence of Column
    people : int, optional
        How many people the records are of: those of one person are no further evidence.
    """
    records = column.value_counts.total
    n = records if people is None else people
    most = int(np.clip(n // EACH, 2, LEVELS))
    levels = _levels(column, most)
    sizes = np.bincount(levels, column.counts()).astype(np.int64)
    rare = column.n_values > most and not column.is_number
    if rare and 2 * sizes[most] > records:
        return True  # hardly looked at: most records have one of its rarer categories
    p = int(np.count_nonzero(sizes)) - 1
    if p < 1:
        return False
    bar = p + SIGMAS * math.sqrt(2 * p)
    return any(n * share > bar for share in _explained(column, levels, sizes, sensitive))


def _levels(column: Column, most: int) -> Ints:
    """The level of every code, the missing one last."""
    if column.is_number:
        return bins_of(column.value_counts, most).lookup.astype(np.int64)
    return column.value_counts.frequent(most)


def _explained(
    column: Column, levels: Ints, sizes: Ints, sensitive: Sequence[Column]
) -> Iterator[float]:
    """eta^2 by sensitive column: the share of its sum of squares that the levels explain."""
    n, some = int(sizes.sum()), np.maximum(sizes, 1)
    crossed = column.crossed(levels, sensitive)
    for other, (level, code, count) in zip(sensitive, crossed, strict=True):
        if other.is_number:
            yield _of_numbers(other.value_counts, level, code, count, n, some)
        else:
            yield _of_categories(other.n_values + 1, level, code, count, n, some)


def _of_numbers(
    counts: ValueCounts, level: Ints, code: Ints, count: Ints | None, n: int, sizes: Ints
) -> float:
    # whole numbers of 22 bits, whose sums doubles hold exactly
    units = (scale(counts.apart, counts.counts).units >> 8).astype(np.float64)
    seen = np.append(counts.counts, counts.missing)
    total, square = float(units @ seen), float((units * units) @ seen)
    own = units[code] if count is None else units[code] * count
    sums = np.bincount(level, own, len(sizes))
    whole = square - total * total / n
    return (float((sums * sums / sizes).sum()) - total * total / n) / max(whole, 1.0)


def _of_categories(
    m: int, level: Ints, code: Ints, count: Ints | None, n: int, sizes: Ints
) -> float:
    table = np.bincount(level * m + code, count, len(sizes) * m).reshape(-1, m)
    all_of = table.sum(axis=0).astype(np.float64)
    chance = float((all_of * all_of).sum()) / n
    inside = float((table.astype(np.float64) ** 2 / sizes[:, None]).sum())
    return (inside - chance) / max(n - chance, 1e-300)


__all__ = ["telling"]
