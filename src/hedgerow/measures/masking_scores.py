"""Information loss, disclosure risk and their score for masked numeric columns.

Domingo-Ferrer & Torra (2001), "A quantitative comparison of disclosure control
methods for microdata". The measures judge any masked file, whoever made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .masked_linkage import (
    LEVELS,
    by_deviations,
    by_ranks,
    distance_linkage,
    interval_disclosure,
    probabilistic_linkage,
)

Floats = NDArray[np.float64]

MOST_LINKED = 20_000
"""Masked records that are linked by default; a larger table is sampled."""


@dataclass(frozen=True)
class InformationLoss:
    """The five parts of information loss, in per cent; each is 0 when nothing changed.

    Parameters
    ----------
    cells : float
        Mean |x - x'| / |x| over cells that are not 0. Has no upper bound.
    means : float
        Mean |m - m'| / |m| over column means that are not 0.
    covariances : float
        Mean |v - v'| / |v| over covariances of columns i <= j that are not 0.
    variances : float
        The same over variances.
    correlations : float
        Mean |r - r'| over pairs of columns that vary; at most 200. A correlation
        with a column that became constant counts as 0.
    left_out : int
        Means, covariances, variances and correlations without a value to compare with.
    """

    cells: float
    means: float
    covariances: float
    variances: float
    correlations: float
    left_out: int = 0

    @property
    def total(self) -> float:
        """IL: the mean of the five parts."""
        return (self.cells + self.means + self.covariances + self.variances + self.correlations) / 5


@dataclass(frozen=True)
class Scores:
    """How much a masked file tells less, and how much it still gives away. Low is good.

    Parameters
    ----------
    columns : tuple of str
        The numeric columns compared, in the order in which an intruder learns them.
    known : int
        How many of them the intruder knows at most.
    rows : int
        Rows that are complete in both files; only these are compared.
    linked : int
        How many of these were linked.
    loss : InformationLoss
    distance, probabilistic : tuple of float
        Per cent of records linked right with the first 1, 2, ..., `known` columns, each file
        standardised by its own means and deviations, as in the papers.
    interval : tuple of float
        Per cent of originals inside the rank interval, per column.
    paired_by : {"release", "order", "columns", "nothing"}
        What shows which rows belong together: the release, the order as tested, or whole rows of
        columns that were left as they were. "nothing": the order was taken for granted.
    unchanged : tuple of str
        Compared columns in which the masked file holds the original numbers.
    distance_ranks, probabilistic_ranks : tuple of float
        The same linkages on the original's ranks, which no single value moves; empty where they
        were not asked for.
    """

    columns: tuple[str, ...]
    known: int
    rows: int
    linked: int
    loss: InformationLoss
    distance: tuple[float, ...]
    probabilistic: tuple[float, ...]
    interval: tuple[float, ...]
    paired_by: str = "nothing"
    unchanged: tuple[str, ...] = ()
    distance_ranks: tuple[float, ...] = ()
    probabilistic_ranks: tuple[float, ...] = ()

    @property
    def paper(self) -> Scores:
        """The same by the papers' own standardisation alone."""
        return replace(self, distance_ranks=(), probabilistic_ranks=())

    @property
    def il(self) -> float:
        """Information loss, 0 and up, per cent."""
        return self.loss.total

    @property
    def dld(self) -> float:
        """Distance linkage disclosure, 0 to 100, by the scale that links more."""
        return max(float(np.mean(each)) for each in (self.distance, self.distance_ranks) if each)

    @property
    def pld(self) -> float:
        """Probabilistic linkage disclosure, 0 to 100, by the scale that links more."""
        both = self.probabilistic, self.probabilistic_ranks
        return max(float(np.mean(each)) for each in both if each)

    @property
    def id(self) -> float:
        """Interval disclosure, 0 to 100."""
        return float(np.mean(self.interval))

    @property
    def dr(self) -> float:
        """Disclosure risk: a quarter DLD, a quarter PLD, a half ID."""
        return 0.25 * self.dld + 0.25 * self.pld + 0.5 * self.id

    @property
    def score(self) -> float:
        """Half information loss, half disclosure risk."""
        return 0.5 * self.il + 0.5 * self.dr

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        made = asdict(self)
        made["loss"]["total"] = self.il
        measures = {name: getattr(self, name) for name in ("score", "il", "dr", "dld", "pld", "id")}
        paper = {name: getattr(self.paper, name) for name in ("score", "dr", "dld", "pld")}
        return {**measures, "paper": paper, **made}


def information_loss(original: Floats, masked: Floats) -> InformationLoss:
    """The five parts of information loss.

    Parameters
    ----------
    original, masked : array, shape (n, a)
        Complete numbers; row i of one belongs to row i of the other.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0, 2.0], [2.0, 1.0], [4.0, 5.0]])
    >>> information_loss(x, x).total, round(information_loss(x, 2 * x).means, 1)
    (0.0, 100.0)
    """
    v, w = _covariances(original), _covariances(masked)
    upper, beside = np.triu_indices(len(v)), np.triu_indices(len(v), 1)
    r, s = _correlations(v), _correlations(w)
    varies = np.isfinite(r[beside])
    moved = np.abs(r[beside] - np.nan_to_num(s[beside]))[varies]
    cells, _ = _relative(original, masked)
    means, a = _relative(original.mean(axis=0), masked.mean(axis=0))
    covariances, b = _relative(v[upper], w[upper])
    variances, c = _relative(np.diag(v), np.diag(w))
    correlations = 100.0 * float(moved.mean()) if len(moved) else 0.0
    return InformationLoss(
        cells, means, covariances, variances, correlations, a + b + c + int((~varies).sum())
    )


def score_arrays(
    original: Floats,
    masked: Floats,
    names: list[str],
    known: int | None = None,
    records: int | None = MOST_LINKED,
    random_state: int = 0,
    levels: Sequence[float] = LEVELS,
    ranks: bool = True,
) -> Scores:
    """`score` of complete finite arrays of shape (n, a); `levels` as for `probabilistic_linkage`.

    Without `ranks` records are linked by the papers' own standardisation alone.
    """
    rows = None
    n = len(original)
    if records is not None and records < 1:
        raise ParameterError("records must be at least 1")
    if records is not None and n > records:
        rows = np.sort(np.random.default_rng(random_state).choice(n, records, replace=False))
    scales = (by_deviations, by_ranks) if ranks else (by_deviations,)
    distance, probabilistic = (
        [tuple(linkage(scale).tolist()) for scale in scales]
        for linkage in (
            partial(distance_linkage, original, masked, known, rows),
            partial(probabilistic_linkage, original, masked, known, rows, levels),
        )
    )
    interval = interval_disclosure(original, masked)
    return Scores(
        tuple(names),
        len(distance[0]),
        n,
        n if rows is None else len(rows),
        information_loss(original, masked),
        distance[0],
        probabilistic[0],
        tuple(interval.tolist()),
        distance_ranks=distance[-1] if ranks else (),
        probabilistic_ranks=probabilistic[-1] if ranks else (),
    )


def _covariances(values: Floats) -> Floats:
    centred = values - values.mean(axis=0)
    constant = (values == values[:1]).all(axis=0)
    centred[:, constant] = 0.0
    return np.asarray(centred.T @ centred / max(len(values) - 1, 1))


def _correlations(covariances: Floats) -> Floats:
    """NaN beside a column that does not vary."""
    deviation = np.sqrt(np.diag(covariances))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(covariances / np.outer(deviation, deviation))


def _relative(before: Floats, after: Floats) -> tuple[float, int]:
    """Mean relative change in per cent over entries that were not 0, and how many were."""
    counted = before != 0
    if not counted.any():
        return 0.0, int(before.size)
    change = np.abs(before - after)[counted] / np.abs(before[counted])
    return 100.0 * float(change.mean()), int((~counted).sum())
