"""What classes explain of a sensitive column, and the most that a cap on disclosure lets them.

Let T be the public loss of all records by one score (squared error, say), G_g what a class
takes off it, and L_g the sum over its records of max(loss, U / 4), where U = T / n. A cap of d
says G_g <= d L_g for every class. Summed over the classes,

    explained = sum G_g / T <= d sum L_g / T = d room,   1 <= room < 1 + 1/4,

for max(a, b) <= a + b makes sum L_g at most T + n U / 4. `room` is known from the table alone,
so no partition of its people explains more under the cap, whoever made it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..kernels.exact_sums import total
from .classes import SensitiveCounts


@dataclass(frozen=True)
class Explained:
    """The part of a column's public loss that classes explain, and what bounds it.

    Parameters
    ----------
    share : float
        In [0, 1]: of numbers R squared, of categories the part of the Brier score.
    room : float
        In [1, 1.25): the public loss with the floor of each record, over the loss without.
    """

    share: float
    room: float


def explained_share(column: SensitiveCounts) -> Explained | None:
    """What the classes explain; None for a column of one value, of which there is nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.measures import Classes, group
    >>> from hedgerow.io.read import read
    >>> ill = read({"ill": ["yes", "yes", "no", "no"]}).column("ill")
    >>> made = Classes.of(group([np.array([0, 0, 0, 1])]), [ill])
    >>> found = explained_share(made.sensitive["ill"])
    >>> round(found.share, 3), found.room
    (0.333, 1.0)
    """
    leading = column.scores.leading
    if leading is None:
        return None
    score, counts, told = leading
    floored = total(score.weight * counts.totals[: len(score.weight)])
    return Explained(min(total(told.gain) / score.spread, 1.0), floored / score.spread)
