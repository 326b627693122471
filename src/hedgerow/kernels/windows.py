"""The number within reach of most values of a group: one sweep over sorted values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .compiled import checked


@checked
def _best_windows(starts, values, weights, share, width, best, at):  # type: ignore[no-untyped-def]
    for g in range(starts.shape[0] - 1):
        first = starts[g]
        inside = 0
        for i in range(starts[g], starts[g + 1]):
            inside += weights[i]
            reach = share * abs(values[i]) + width
            # the slack lets ends that touch by arithmetic touch in floating point
            low = (values[i] - reach) - 1e-12 * abs(values[i])
            while values[first] + share * abs(values[first]) + width < low:
                inside -= weights[first]
                first += 1
            if inside > best[g]:
                high = values[first] + share * abs(values[first]) + width
                best[g] = inside
                at[g] = (values[i] - reach) / 2 + high / 2


def best_windows(
    starts: npt.NDArray[np.integer],
    values: npt.NDArray[np.floating],
    weights: npt.NDArray[np.integer],
    share: float,
    width: float = 0.0,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """For each group the guess that hits the largest weight, the lowest of equals.

    A guess g hits y when |g - y| <= share * |y| + width. For shares below 1 both
    ends of that interval grow with y, so intervals with a common point are
    neighbours in the sorted order.

    Parameters
    ----------
    starts : integer array, shape (n_groups + 1,)
        Where each group begins.
    values : float array, shape (n,)
        Sorted within each group, finite.
    weights : integer array, shape (n,)
        How often each value occurs.
    share : float, in [0, 1)
    width : float, at least 0

    Returns
    -------
    weight : int64 array, shape (n_groups,)
        What the guess hits.
    guess : float array, shape (n_groups,)

    Examples
    --------
    >>> found = best_windows(np.array([0, 3]), np.array([100.0, 104, 200]), np.array([1, 1, 1]), 0.05)
    >>> found[0].tolist(), found[1].round(6).tolist()
    ([2], [101.9])
    """
    best, at = np.zeros(len(starts) - 1, np.int64), np.zeros(len(starts) - 1)
    _best_windows(
        np.asarray(starts, np.int64),
        np.ascontiguousarray(values, np.float64),
        np.asarray(weights, np.int64),
        float(share),
        float(width),
        best,
        at,
    )
    return best, at
