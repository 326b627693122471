"""Score the guesses of an attack: when a guess counts as right, and the success rate with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean
from typing import Annotated, Any, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from ..columns.column import Column
from ..columns.roles import AttackedAs, attacked_as
from ..json_types import Count, Interval, Length, OrNull, Positive, Share
from ..kernels.measures import best_windows
from ..measures import Floats
from ..notation import percent
from ..schema import Schema

# of a number itself
SHARES = (0.05, 0.10, 0.20)
# of the public spread: from the 5% to the 95% quantile of the original column
SPREADS = (0.05, 0.10)
DAYS = (1, 30, 365)
_MICROSECONDS = 86_400e6


@dataclass(frozen=True)
class Tolerance:
    """A distance within which a guess counts: |guess - y| <= share * |y| + width.

    Parameters
    ----------
    key : str
        Its name in the audit's data: "0.10", "0.10 of the spread", "30 days" or "exact".
    words : str
        For a reader.
    share, width : float
    """

    key: str
    words: str
    share: float = 0.0
    width: float = 0.0

    def hits(self, guess: Any, y: Any) -> Floats:
        """Return 1 for each guess that is near enough, else 0."""
        reach = self.share * np.abs(y) + self.width
        # rounding of the product must not turn a hit into a miss
        return np.asarray(np.abs(guess - y) <= reach + 1e-12 * np.abs(y), np.float64)

    def best(self, starts: Any, values: Floats, weights: Any) -> tuple[Any, Floats]:
        """Return each group's best guess, and how many records it hits; see `best_windows`."""
        return best_windows(starts, values, weights, self.share, self.width)


EXACT = Tolerance("exact", "exact")


@dataclass(frozen=True)
class AttackTarget:
    """The settings for attacking a sensitive column: the type of value to guess, and which guesses count as right.

    Parameters
    ----------
    attacked_as : {"category", "number", "date"}
        The result of `columns.roles.attacked_as`, for audit and `inspect` alike.
    tolerances : tuple of Tolerance
        All tolerances that are reported; for categories the exact value alone.
    headline : Tolerance
        The tolerance that decides what counts as success.
    """

    attacked_as: AttackedAs
    tolerances: tuple[Tolerance, ...] = (EXACT,)
    headline: Tolerance = EXACT

    @property
    def is_number(self) -> bool:
        """Return whether a guess can be nearly right, which is true of numbers and dates."""
        return self.attacked_as != "category"

    @classmethod
    def from_column(cls, column: Column, schema: Schema) -> AttackTarget:
        """Choose how an original column is attacked.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from hedgerow.columns.table import Table
        >>> pay = Table(pa.table({"pay": [10.0, 20.5, 31.0]})).column("pay")
        >>> target = AttackTarget.from_column(pay, Schema())
        >>> target.attacked_as, target.headline.words
        ('number', 'within 10%')
        >>> [t.key for t in target.tolerances]
        ['0.05', '0.10', '0.20', '0.05 of the spread', '0.10 of the spread']
        """
        kind = attacked_as(column, schema)
        if kind == "category":
            return cls(kind)
        if kind == "date":
            unit = _MICROSECONDS if column.unit == "us" else 1.0
            named = [(f"{d} day{'s' * (d > 1)}", d * unit) for d in DAYS]
            tolerances = tuple(Tolerance(key, f"within {key}", width=width) for key, width in named)
            return cls(kind, tolerances, tolerances[1])
        spread = _spread(column)
        shares = tuple(Tolerance(f"{s:.2f}", f"within {percent(s, None)}", share=s) for s in SHARES)
        widths = tuple(
            Tolerance(f"{s:.2f} of the spread", f"within {percent(s, None)} of the spread", width=s * spread)
            for s in SPREADS
        )
        return cls(kind, shares + widths, shares[1])


def _spread(column: Column) -> float:
    counts = column.counts()[:-1]
    if not counts.sum():
        return 0.0
    running = np.cumsum(counts)
    low, high = (
        column.values[min(int(np.searchsorted(running, q * running[-1])), column.n_values - 1)] for q in (0.05, 0.95)
    )
    return float(high - low)


# the 97.5% point of the normal distribution
Z95 = 1.959963984540054


@dataclass(frozen=True)
class Rate:
    """A share with its 95% interval."""

    value: float
    low: float
    high: float
    n: int

    @property
    def interval(self) -> list[float]:
        """Return both ends of the interval, for JSON."""
        return [self.low, self.high]


def wilson(successes: float, n: int) -> Rate:
    """Return Wilson's score interval (95%) of a share.

    Parameters
    ----------
    successes : float
        Number of successes in 0 .. n; shared ties may make it fractional.
    n : int
        Number of attempts; without any the share is 0 and the interval [0, 1].

    References
    ----------
    E. B. Wilson (1927), Probable inference, the law of succession, and
    statistical inference. JASA 22, 209-212; method 3 of R. G. Newcombe (1998),
    Two-sided confidence intervals for the single proportion: comparison of
    seven methods. Statistics in Medicine 17, 857-872.

    Examples
    --------
    >>> rate = wilson(5, 10)
    >>> round(rate.low, 4), round(rate.high, 4)
    (0.2366, 0.7634)
    """
    if n == 0:
        return Rate(0.0, 0.0, 1.0, 0)
    p, z = successes / n, Z95
    scale = 1 + z * z / n
    middle = (p + z * z / (2 * n)) / scale
    half = z * float(np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / scale
    # the formula leaves some 1e-17 at the ends: no success means 0, all mean 1
    low = max(middle - half, 0.0) if successes > 0 else 0.0
    high = min(middle + half, 1.0) if successes < n else 1.0
    return Rate(p, low, high, n)


def rate_of(each: npt.NDArray[Any]) -> Rate:
    """Return the mean of values between 0 and 1, one per person, with Wilson's interval.

    Examples
    --------
    >>> rate_of(np.array([True, False, True, False])).value
    0.5
    """
    return wilson(float(each.sum()), len(each))


def area(scores: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]]) -> Rate:
    """Return the area under the ROC curve (AUC): how often a member scores above a stranger, with ties counted half.

    The interval is Wilson's (`wilson`) for the number of coin tosses that have DeLong's variance,
    so that perfect scores of few people do not give an interval without width.

    Parameters
    ----------
    scores : sequence of (members, strangers), pairs of float arrays
        One pair per release; the area is the mean over them.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), Comparing the areas under two or
    more correlated receiver operating characteristic curves: a nonparametric approach.
    Biometrics 44, 837-845: the variance.

    Examples
    --------
    >>> found = area([(np.array([2.0, 3.0, 5.0]), np.array([1.0, 1.0, 2.0]))])
    >>> round(found.value, 3), round(found.high, 3)
    (0.944, 0.996)
    """
    each = [_beaten(np.sort(mine), np.sort(theirs)) for mine, theirs in scores]
    value = fmean(a for a, _ in each)
    variance = fsum(v for _, v in each) / len(each) ** 2
    sizes = [(len(mine), len(theirs)) for mine, theirs in scores]
    # the number of coin tosses with this variance: Wilson takes it for n
    worth = value * (1 - value) / variance if variance > 0 else float(sum(map(min, sizes)))
    worth = min(worth, float(sum(map(sum, sizes))))
    interval = wilson(value * worth, worth)  # type: ignore[arg-type]
    return Rate(value, interval.low, interval.high, sum(mine for mine, _ in sizes))


def _beaten(mine: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the share of pairs in which `mine` beats `theirs`, with ties counted half, and its variance.

    Both are sorted; the variance is that of DeLong and others (1988).
    """
    over = (np.searchsorted(theirs, mine, "left") + np.searchsorted(theirs, mine, "right")) / 2
    under = (np.searchsorted(mine, theirs, "left") + np.searchsorted(mine, theirs, "right")) / 2
    over, under = over / len(theirs), 1 - under / len(mine)
    spread = sum(float(v.var(ddof=1)) / len(v) for v in (over, under) if len(v) > 1)
    return fmean(over.tolist()), spread


def relative(attack: float, control: float) -> float:
    """Return the gain of an attack over a control, as a share of the largest possible gain.

    (attack - control) / (1 - control). It is negative when the attack does
    worse than the control, and stays so; a control of 1 leaves nothing to gain
    and gives 0.
    """
    return (attack - control) / (1 - control) if control < 1 else 0.0


def gained(success: Rate, control: Rate) -> Rate | None:
    """Return the gain of an attack over its control (see `relative`), with a 95% interval.

    The distances to the ends of both Wilson intervals, multiplied by the derivative of the gain, are
    combined as the root of their squares (Newcombe's method for a difference). None if the control
    already succeeds always.

    References
    ----------
    R. G. Newcombe (1998), Interval estimation for the difference between independent
    proportions: comparison of eleven methods. Statistics in Medicine 17, 873-890.

    Examples
    --------
    >>> gain = gained(wilson(60, 100), wilson(20, 100))
    >>> round(gain.value, 3), round(gain.low, 3), round(gain.high, 3)
    (0.5, 0.366, 0.621)
    """
    if control.value >= 1:
        return None
    value, remaining = relative(success.value, control.value), 1 - control.value
    fall = (1 - success.value) / remaining**2
    down = np.hypot((success.value - success.low) / remaining, (control.high - control.value) * fall)
    up = np.hypot((success.high - success.value) / remaining, (control.value - control.low) * fall)
    return Rate(value, value - float(down), min(value + float(up), 1.0), success.n)


@dataclass(frozen=True)
class Rates:
    """The success rates of an attack on several people.

    Parameters
    ----------
    success, control, original : Rate
        The success on people of the release, on people who are not in it, and on the original table;
        None if there are no such people, or no original.
    controlled : bool
        Whether the control shows the attack's success without the release.
    """

    success: Rate
    control: Rate | None
    original: Rate | None
    controlled: bool = True


class AttackMatching(TypedDict):
    """An attack's success at one tolerance, on the release, its control, by public totals and on the original."""

    release: Share | None
    control: Share | None
    public: Share | None
    original: Share | None


class AttackColumn(TypedDict):
    """An attack's success on the coarsened cells of one column."""

    cells: Positive
    success: OrNull[Share]
    control: OrNull[Share]
    public_guess: OrNull[Share]
    public_best: OrNull[Share]


class FoundMembers(TypedDict):
    """The true-positive rate of a membership attack at a fixed false-positive rate."""

    share: OrNull[Share]
    interval: Interval


class AttackData(TypedDict):
    """An attack with its success, baselines, control and intervals, and its success on the original.

    ``success_means``: when it counts as successful; ``public_guess``, ``public_best``, ``random_row``: the success of
    guesses that need no attack; ``over_control`` and ``over_public``: gains as shares of the largest possible
    (`relative`). ``trained``: different released rows that a learner was trained on, among ``classes``. ``matching``:
    by tolerance. ``cells``: coarsened cells whose finer value was named, ``columns``: the same by column.
    ``strangers``: people asked about who are not in the table; ``found``: the share of members found, by the share of
    strangers who are taken for members.
    """

    attack: str
    learner: str
    target: str
    success_means: str
    people: Count
    success: OrNull[Share]
    interval: Interval
    control: Share | None
    control_interval: Interval | None
    public_guess: OrNull[Share]
    public_best: OrNull[Share]
    random_row: OrNull[Share]
    original: Share | None
    original_interval: Interval | None
    over_control: float | None
    over_control_interval: Annotated[Sequence[OrNull[float]], Length(2)] | None
    over_public: OrNull[float]
    attacked_as: NotRequired[AttackedAs]
    trained: NotRequired[Count]
    classes: NotRequired[Positive]
    matching: NotRequired[Mapping[str, AttackMatching]]
    cells: NotRequired[Positive]
    columns: NotRequired[Mapping[str, AttackColumn]]
    strangers: NotRequired[Count]
    found: NotRequired[Mapping[str, FoundMembers]]


# where a figure of attacks stands in an audit, and its type
ATTACKS = {"attacks": Sequence[AttackData]}


def attack_record(
    attack: str,
    *,
    learner: str,
    target: str,
    means: str,
    rates: Rates,
    public: float,
    best: float | None = None,
    random_row: float | None = None,
) -> AttackData:
    """Return an attack as plain data, under the names that every attack shares.

    Parameters
    ----------
    attack, learner, target : str
        The names of the attack, its learner and the attacked column.
    means : str
        The meaning of a success.
    rates : Rates
    public, best, random_row : float
        The success of guesses that need no attack: the usual guess from public totals, the best such
        guess, and a random released row; the last two equal the first by default.
    """
    success, control, original = rates.success, rates.control, rates.original

    def share(rate: Rate | None) -> float | None:
        return None if rate is None else rate.value

    def interval(rate: Rate | None) -> list[float] | None:
        return None if rate is None else rate.interval

    best = public if best is None else best
    random_row = public if random_row is None else random_row
    over = gained(success, control) if rates.controlled and control is not None else None
    return {
        "attack": attack,
        "learner": learner,
        "target": target,
        "success_means": means,
        "people": success.n,
        "success": success.value,
        "interval": success.interval,
        "control": share(control),
        "control_interval": interval(control),
        "public_guess": public,
        "public_best": best,
        "random_row": random_row,
        "original": share(original),
        "original_interval": interval(original),
        "over_control": share(over),
        "over_control_interval": interval(over),
        "over_public": relative(success.value, max(best, random_row)),
    }
