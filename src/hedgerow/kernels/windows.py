"""The number within reach of most values of a group: one sweep over sorted values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .compiled import checked


@checked
def _best_windows(starts, values, weights, tolerance, best):  # type: ignore[no-untyped-def]
    for g in range(starts.shape[0] - 1):
        first = starts[g]
        inside = 0
        most = 0
        for i in range(starts[g], starts[g + 1]):
            inside += weights[i]
            # the slack lets ends that touch by arithmetic touch in floating point
            low = (values[i] - tolerance * abs(values[i])) - 1e-12 * abs(values[i])
            while values[first] + tolerance * abs(values[first]) < low:
                inside -= weights[first]
                first += 1
            most = max(most, inside)
        best[g] = most


def best_windows(
    starts: npt.NDArray[np.integer],
    values: npt.NDArray[np.floating],
    weights: npt.NDArray[np.integer],
    tolerance: float,
) -> npt.NDArray[np.int64]:
    """For each group the largest weight that one guess hits.

    A guess g hits y when |g - y| <= tolerance * |y|. For tolerances below 1 both
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
    tolerance : float, in [0, 1)

    Examples
    --------
    >>> best_windows(np.array([0, 3]), np.array([100.0, 104, 200]), np.array([1, 1, 1]), 0.05)
    array([2])
    """
    best = np.zeros(len(starts) - 1, np.int64)
    _best_windows(
        np.asarray(starts, np.int64),
        np.ascontiguousarray(values, np.float64),
        np.asarray(weights, np.int64),
        float(tolerance),
        best,
    )
    return best
