"""Information loss, disclosure risk and their score for masked numeric columns.

Domingo-Ferrer & Torra (2001), "A quantitative comparison of disclosure control
methods for microdata"; Torra & Domingo-Ferrer (2003) for linkage by distance and by probability.
The measures apply to any masked file, made with Hedgerow or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, NotRequired, TypedDict, cast

import numpy as np

from ..columns.numbers import standardise
from ..errors import ParameterError, UnsupportedError
from ..json_types import OrNull, Percent, Positive
from ..kernels import Floats, Ints, UInts32
from ..kernels.neighbours import build, count_patterns, count_ties, near_patterns, nearest_ties
from ..kernels.threads import in_parts
from .agreement import MOST_COLUMNS, bits_of, credit, prefix_weights

# puts an original and a masked file on a scale on which their columns are compared
Scale = Callable[[Floats, Floats], tuple[Floats, Floats]]

# Standardised values this near agree: roughly, nearly, wholly. Chosen on the CASC files; of more than 10 columns,
# whose patterns would be too many, roughly is all that is told apart.
LEVELS = (0.2, 0.02, 1e-9)

# pairs whose patterns are at hand at once
_BLOCK = 1 << 17


def by_deviations(original: Floats, masked: Floats) -> tuple[Floats, Floats]:
    """Standardise both files by their own means and deviations, as the papers do.

    One masked value far from all others moves every other one of its column.
    """
    return standardise(original), standardise(masked)


def by_ranks(original: Floats, masked: Floats) -> tuple[Floats, Floats]:
    """Convert both files to ranks among the original values, in standard deviations; ties get their middle rank.

    A masked value between two originals lies between their ranks, one beyond all of them at the
    end. Ranks, and not deviations from a median: no value moves another, a heavy tail is no wider than
    its share of the records, and where most values are equal there still is a scale.

    Examples
    --------
    >>> x = np.array([[1.0], [2.0], [2.0], [9.0]])
    >>> before, after = by_ranks(x, np.array([[1.0], [5.5], [2.0], [1e9]]))
    >>> (before * 4 / 12**0.5).ravel().tolist(), (after * 4 / 12**0.5).ravel().tolist()
    ([0.5, 2.0, 2.0, 3.5], [0.5, 2.75, 2.0, 3.5])
    """
    n, columns = original.shape
    before, after = np.empty(original.shape), np.empty(masked.shape)
    for c in range(columns):
        values, counts = np.unique(original[:, c], return_counts=True)
        scaled = (np.cumsum(counts) - counts / 2) * (12**0.5 / n)
        for out, numbers in ((before, original), (after, masked)):
            out[:, c] = np.interp(numbers[:, c], values, scaled)
    return before, after


def _n_known(columns: int, chosen: int | None) -> int:
    # Half of the attributes is what the papers give the intruder.
    n_known = (columns + 1) // 2 if chosen is None else chosen
    if not 1 <= n_known <= columns:
        raise ParameterError(f"known is {n_known}; the files share {columns} columns", hint=f"choose 1 to {columns}")
    return n_known


def distance_linkage(
    original: Floats, masked: Floats, known: int | None = None, rows: Ints | None = None, scale: Scale = by_deviations
) -> Floats:
    """Return the percentage of masked records whose nearest original is their own, for 1 to `known` attributes.

    A tie among t originals counts 1/t. Exact: a search tree finds whether anything lies nearer
    than the own original, and counts what lies as near.

    Parameters
    ----------
    original, masked : array, shape (n, a)
        Row i of one belongs to row i of the other.
    known : int, optional
        Attributes the intruder knows, 1 to a; half of them (rounded up) by default.
    rows : array of int, optional
        The masked records to link; all by default.
    scale : callable
        `by_deviations` or `by_ranks`.

    Returns
    -------
    array, shape (known,)
        Entry j - 1: only the first j attributes are used.
    """
    known = _n_known(original.shape[1], known)
    z, target = (each[:, :known] for each in scale(original, masked))
    rows = np.arange(len(z)) if rows is None else rows
    by_value = np.lexsort(z.T[::-1])
    ordered = z[by_value]
    changed = np.zeros(len(z), bool)
    changed[:1] = True
    shares = np.empty(known)
    for j in range(1, known + 1):
        # Sorted by all columns, rows stay together when a column is added: equal records are one
        changed[1:] |= ordered[1:, j - 1] != ordered[:-1, j - 1]
        starts = np.flatnonzero(changed)
        distinct = np.empty(len(z), np.int64)
        distinct[by_value] = np.cumsum(changed) - 1
        ties = _ties(ordered[starts, :j], np.diff(np.append(starts, len(z))), target[rows, :j], distinct[rows])
        # A tie among t originals is a guess that is right once in t times.
        shares[j - 1] = credit(ties).mean()
    return 100.0 * shares


def probabilistic_linkage(
    original: Floats,
    masked: Floats,
    known: int | None = None,
    rows: Ints | None = None,
    levels: Sequence[float] = LEVELS,
    scale: Scale = by_deviations,
) -> Floats:
    """Return the percentage of masked records that Fellegi and Sunter's weights link to their own original.

    Two values agree wholly, nearly, roughly or not, by how far they differ on the scale
    (`LEVELS`). How often pairs that belong together reach each level (m) is estimated by EM
    on the counts of the agreement patterns, so that pairs are counted and never stored; how often
    others do (u) is seen on all pairs, and every record has one original.

    Parameters
    ----------
    original, masked, known, rows, scale
        See `distance_linkage`; at most 20 known attributes.
    levels : sequence of float
        Three distances within which values agree, or one.

    Returns
    -------
    array, shape (known,)
        Entry j - 1: only the first j attributes are used.
    """
    known = _n_known(original.shape[1], known)
    if known > MOST_COLUMNS:
        raise UnsupportedError(
            f"probabilistic linkage on {known} attributes needs 2**{known} patterns or more",
            hint=f"set known to at most {MOST_COLUMNS}",
        )
    before, target = (each[:, :known] for each in scale(original, masked))
    z = np.ascontiguousarray(before.T)
    rows = np.arange(len(target)) if rows is None else rows
    target = np.ascontiguousarray(target[rows])
    once, bits = np.ones(z.shape[1], np.int64), min(bits_of(known), len(levels))
    within = np.array(levels[: (1 << bits) - 1])

    def counted(part: slice) -> Ints:
        counts = np.zeros(1 << (bits * known), np.int64)
        for _, patterns in _blocks(z, target, part, within):
            counts += count_patterns(patterns, once, bits * known)
        return counts

    pairs = z.shape[1] * len(rows)
    counts = np.sum(in_parts(counted, len(rows), pairs), axis=0)
    weights = prefix_weights(counts, known, 1.0 / z.shape[1])
    own_rows = rows.astype(np.int64)

    def linked(part: slice) -> Floats:
        blocks = _blocks(z, target, part, within)
        ties = [count_ties(patterns, once, own_rows[block], weights, bits) for block, patterns in blocks]
        return credit(np.concatenate(ties))

    return 100.0 * np.concatenate(in_parts(linked, len(rows), pairs)).mean(axis=0)


def _blocks(originals: Floats, masked: Floats, part: slice, within: Floats) -> Iterator[tuple[slice, UInts32]]:
    """Yield blocks of masked records, each with the agreement patterns between them and all originals."""
    step, bits = max(1, _BLOCK // originals.shape[1]), len(within).bit_length()
    for begin in range(part.start, part.stop, step):
        block = slice(begin, min(begin + step, part.stop))
        yield block, near_patterns(originals, masked[block], within, bits)


def _ties(distinct: Floats, weight: Ints, queries: Floats, own_rows: Ints) -> Ints:
    """Return, for each query, the number of originals as near as its own, or 0 if another one is nearer."""
    tree = build(np.ascontiguousarray(distinct))
    queries, n = np.ascontiguousarray(queries), len(own_rows)
    ties = in_parts(lambda part: nearest_ties(tree, weight, queries[part], own_rows[part]), n, 100 * n)
    return np.concatenate(ties)


def interval_disclosure(original: Floats, masked: Floats) -> Floats:
    """Return the percentage of originals within the rank interval of their masked value; shape (a,).

    For p = 1 to 10 percent and h = floor(p n / 100), the interval of a masked
    value runs from the masked value h ranks below to the one h ranks above it
    (cut at the ends). A masked value that occurs t times holds t ranks; the share
    of these whose interval holds the original is counted, so that no order of
    the rows matters.

    Returns
    -------
    array, shape (a,)
        Per attribute, averaged over p.
    """
    n, columns = original.shape
    shares = np.empty(columns)
    for c in range(columns):
        ranked = np.sort(masked[:, c])
        first = np.searchsorted(ranked, masked[:, c], "left")
        last = np.searchsorted(ranked, masked[:, c], "right") - 1
        # The interval of rank t holds x when rank t - h is not above x (low of them
        # end at `below`) and rank t + h not under it.
        above = np.searchsorted(ranked, original[:, c], "left")
        below = np.searchsorted(ranked, original[:, c], "right") - 1
        inside = (below >= 0) & (above <= n - 1)
        total = 0.0
        for p in range(1, 11):
            h = p * n // 100
            ranks = np.minimum(last, below + h) - np.maximum(first, above - h) + 1
            total += (np.maximum(ranks, 0) * inside / (last - first + 1)).mean()
        shares[c] = 10.0 * total
    return shares


# masked records that are linked by default; a larger table is sampled
MOST_LINKED = 20_000


class ScoresData(TypedDict):
    """Scores of masked numbers, in per cent.

    ``paper``: the figures where records are linked by the papers' own standardisation alone (``distance``,
    ``probabilistic``); ``dld`` and ``pld`` are the larger of it and of the original's ranks.
    """

    score: OrNull[float]
    il: OrNull[float]
    dr: OrNull[Percent]
    dld: OrNull[Percent]
    pld: OrNull[Percent]
    id: OrNull[Percent]
    columns: Sequence[str]
    unchanged: NotRequired[Sequence[str]]
    known: Positive
    rows: int
    linked: int
    paired_by: NotRequired[Literal["release", "order", "columns", "nothing"]]
    loss: Mapping[str, OrNull[float]]
    distance: Sequence[OrNull[Percent]]
    probabilistic: Sequence[OrNull[Percent]]
    distance_ranks: NotRequired[Sequence[OrNull[Percent]]]
    probabilistic_ranks: NotRequired[Sequence[OrNull[Percent]]]
    paper: NotRequired[Mapping[str, OrNull[float]]]
    interval: Sequence[OrNull[Percent]]


@dataclass(frozen=True)
class InformationLoss:
    """The five parts of information loss, in percent; each is 0 if nothing changed.

    Parameters
    ----------
    cells : float
        Mean |x - x'| / |x| over cells that are not 0. Has no upper bound.
    means : float
        Mean |m - m'| / |m| over column means that are not 0.
    covariances : float
        Mean |v - v'| / |v| over covariances of columns i <= j that are not 0.
    variances : float
        Mean |v - v'| / |v| over the variances of the columns.
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
        """Return the total information loss (IL): the mean of the five parts."""
        return (self.cells + self.means + self.covariances + self.variances + self.correlations) / 5


@dataclass(frozen=True)
class Scores:
    """The information loss and disclosure risk of a masked file; lower is better.

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
        Percentage of records linked right with the first 1, 2, ..., `known` columns, each file
        standardised by its own means and deviations, as in the papers.
    interval : tuple of float
        Percentage of originals inside the rank interval, per column.
    paired_by : {"release", "order", "columns", "nothing"}
        The evidence that rows belong together: the release itself, the order of the rows (tested), or
        columns that were left unchanged. "nothing": the order was assumed without evidence.
    unchanged : tuple of str
        Compared columns in which the masked file holds the original numbers.
    distance_ranks, probabilistic_ranks : tuple of float
        The same linkages on ranks in the original, which do not depend on outliers; empty if they
        were not requested.
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
        """Return the scores with the papers' standardisation only, without linkage on ranks."""
        return replace(self, distance_ranks=(), probabilistic_ranks=())

    @property
    def il(self) -> float:
        """Return the information loss (IL) in percent; it has no upper bound."""
        return self.loss.total

    @property
    def dld(self) -> float:
        """Return the distance linkage disclosure (DLD), 0 to 100, on whichever scale links more records."""
        return max(float(np.mean(each)) for each in (self.distance, self.distance_ranks) if each)

    @property
    def pld(self) -> float:
        """Return the probabilistic linkage disclosure (PLD), 0 to 100, on whichever scale links more records."""
        return max(float(np.mean(each)) for each in (self.probabilistic, self.probabilistic_ranks) if each)

    @property
    def id(self) -> float:
        """Return the interval disclosure (ID), 0 to 100: the mean over the columns."""
        return float(np.mean(self.interval))

    @property
    def dr(self) -> float:
        """Return the disclosure risk (DR): a quarter of DLD, a quarter of PLD and half of ID."""
        return 0.25 * self.dld + 0.25 * self.pld + 0.5 * self.id

    @property
    def score(self) -> float:
        """Return the score: the mean of information loss and disclosure risk."""
        return 0.5 * self.il + 0.5 * self.dr

    def to_dict(self) -> ScoresData:
        """Return all scores and their parts as a plain dict."""
        names = ("score", "il", "dr", "dld", "pld", "id")
        fields = {name: getattr(self, name) for name in names} | asdict(self)
        fields["loss"]["total"] = self.il
        fields["paper"] = {name: getattr(self.paper, name) for name in ("score", "dr", "dld", "pld")}
        return cast(ScoresData, fields)


def information_loss(original: Floats, masked: Floats) -> InformationLoss:
    """Return the five parts of the information loss between an original and a masked file.

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
    upper, above_diagonal = np.triu_indices(len(v)), np.triu_indices(len(v), 1)
    r, s = _correlations(v), _correlations(w)
    varies = np.isfinite(r[above_diagonal])
    moved = np.abs(r[above_diagonal] - np.nan_to_num(s[above_diagonal]))[varies]
    cells, _ = _relative(original, masked)
    means, a = _relative(original.mean(axis=0), masked.mean(axis=0))
    covariances, b = _relative(v[upper], w[upper])
    variances, c = _relative(np.diag(v), np.diag(w))
    correlations = 100.0 * float(moved.mean()) if len(moved) else 0.0
    return InformationLoss(cells, means, covariances, variances, correlations, a + b + c + int((~varies).sum()))


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
    """Score a masked array against its original, both complete, finite and of shape (n, a).

    `levels` are those of `probabilistic_linkage`. Without `ranks`, records are linked by the
    papers' own standardisation alone.
    """
    rows = None
    n = len(original)
    if records is not None and records < 1:
        raise ParameterError("records must be at least 1")
    if records is not None and n > records:
        # All candidates of a search are judged on the same records.
        rows = np.sort(np.random.default_rng(random_state).choice(n, records, replace=False))
    scales = (by_deviations, by_ranks) if ranks else (by_deviations,)
    distance = [tuple(distance_linkage(original, masked, known, rows, s).tolist()) for s in scales]
    probabilistic = [tuple(probabilistic_linkage(original, masked, known, rows, levels, s).tolist()) for s in scales]
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
    # Rounding leaves a constant column a variance of some eps, and then any correlation.
    centred[:, (values == values[:1]).all(axis=0)] = 0.0
    return np.asarray(centred.T @ centred / max(len(values) - 1, 1))


def _correlations(covariances: Floats) -> Floats:
    """Return the correlations for a covariance matrix; NaN for a column that does not vary."""
    deviation = np.sqrt(np.diag(covariances))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(covariances / np.outer(deviation, deviation))


def _relative(before: Floats, after: Floats) -> tuple[float, int]:
    """Return the mean relative change of non-zero entries in percent, and the number of zero entries."""
    counted = before != 0
    if not counted.any():
        return 0.0, int(before.size)
    change = np.abs(before - after)[counted] / np.abs(before[counted])
    return 100.0 * float(change.mean()), int((~counted).sum())
