"""How large the classes are: k, uniques in the sample and the population, and the risk of being found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, TypedDict, cast

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln, hyp2f1

from ..json_types import Amount, Count, OrNull, Share
from ..kernels import Bools, Floats, Ints
from .class_counts import Groups, group

SizeBin = TypedDict("SizeBin", {"from": Count, "to": Count, "classes": Count, "records": Count})


class GroupSizes(TypedDict):
    """Sizes of the classes of a table, in records.

    ``smallest`` is k; every class counts once in the quartiles and the mean. ``uniques``: records that are alone in
    their class; ``unique_share``: of all records. ``histogram``: classes and records by size, in bins that double.
    """

    groups: Count
    smallest: Count
    lower_quartile: Count
    median: Count
    mean: OrNull[float]
    upper_quartile: Count
    largest: Count
    uniques: Count
    unique_share: OrNull[float]
    histogram: Sequence[SizeBin]


def summary(sizes: Ints) -> GroupSizes:
    """Summarise the sizes of one or more classes as plain data.

    Returns
    -------
    dict
        ``groups``: the number of classes. ``smallest`` (k), ``lower_quartile``, ``median``,
        ``upper_quartile``, ``largest``: each is the size of a class, and every class counts once;
        ``mean``. ``uniques``: records that are alone in their class; ``unique_share``: the same as a
        share of all records. ``histogram``: classes and records by size, in bins that double, each with
        ``from``, ``to``, ``classes`` and ``records``.

    Examples
    --------
    >>> sizes = summary(np.array([4, 1, 3]))
    >>> sizes["smallest"], sizes["median"], sizes["uniques"], sizes["histogram"][1]
    (1, 3, 1, {'from': 2, 'to': 3, 'classes': 1, 'records': 3})
    """
    low, first, middle, third, high = (
        int(q) for q in np.quantile(sizes, [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf")
    )
    uniques = int(np.count_nonzero(sizes == 1))
    return {
        "groups": len(sizes),
        "smallest": low,
        "lower_quartile": first,
        "median": middle,
        "mean": float(sizes.mean()),
        "upper_quartile": third,
        "largest": high,
        "uniques": uniques,
        "unique_share": uniques / int(sizes.sum()),
        "histogram": _histogram(sizes),
    }


def _histogram(sizes: Ints) -> list[SizeBin]:
    bins = np.floor(np.log2(sizes)).astype(np.int64)
    classes = np.bincount(bins)
    records = np.bincount(bins, sizes).astype(np.int64)
    return [
        {"from": 1 << b, "to": (2 << b) - 1, "classes": int(c), "records": int(r)}
        for b, (c, r) in enumerate(zip(classes, records, strict=True))
    ]


def wildcard_k(groups: Groups, codes: Sequence[npt.NDArray[Any]], wild: Sequence[Bools], candidates: int = 1000) -> int:
    """Return k if ``*`` and missing cells match anything: the smallest of `wildcard_sizes`.

    It is at least the strict k, so a smallest class that matches nobody else decides it. Up to
    `candidates` of the smallest classes with the fewest such cells are tried first.
    """
    sizes = groups.sizes
    smallest = np.flatnonzero(sizes == sizes.min())
    pattern = _patterns(groups, wild)[smallest]
    fewest = min(np.unique(pattern).tolist(), key=int.bit_count)
    # The wildcard k is at least k. A smallest class that matches nobody else reaches it, and with
    # few wild cells that is likely: then the rest need not be looked at.
    tried = smallest[pattern == fewest][:candidates]
    least = int(wildcard_sizes(groups, codes, wild, tried)[tried].min())
    return least if least == sizes.min() else int(wildcard_sizes(groups, codes, wild).min())


def _patterns(groups: Groups, wild: Sequence[Bools]) -> Ints:
    """Return a bit mask for each class: bit j is set if its cell in column j matches anything."""
    pattern = np.zeros(groups.n_groups, np.int64)
    for j, w in enumerate(wild):
        pattern |= w[groups.first].astype(np.int64) << j
    return pattern


def wildcard_sizes(
    groups: Groups, codes: Sequence[npt.NDArray[Any]], wild: Sequence[Bools], only: Ints | None = None
) -> Ints:
    """Return the number of records that may belong to each class if ``*`` and missing cells match anything.

    Parameters
    ----------
    groups : Groups
        The strict classes.
    codes : sequence of integer arrays, shape (n_rows,)
        Released codes, one array per quasi-identifier.
    wild : sequence of boolean arrays, shape (n_rows,)
        True for cells that match anything.
    only : int64 array, optional
        The classes to compute; the entries of all others are undefined.

    Returns
    -------
    int64 array, shape (n_groups,)
        At least the strict size of the class.
    """
    first, sizes = groups.first, groups.sizes
    if not any(w.any() for w in wild):
        return sizes
    keys = np.stack([np.asarray(c)[first].astype(np.int64) for c in codes])
    pattern = _patterns(groups, wild)
    members = {q: np.flatnonzero(pattern == q) for q in np.unique(pattern).tolist()}
    wanted = np.arange(groups.n_groups) if only is None else only
    out = np.zeros(groups.n_groups, np.int64)
    for p in np.unique(pattern[wanted]).tolist():
        mine = wanted[pattern[wanted] == p]
        for q, theirs in members.items():
            if p == q == 0:  # classes without wildcards match themselves alone
                out[mine] += sizes[mine]
                continue
            compared = [j for j in range(len(codes)) if not ((p | q) >> j) & 1]
            both = np.concatenate([mine, theirs])
            merged = group([keys[j, both] for j in compared], len(both))
            totals = np.bincount(merged.labels[len(mine) :], sizes[theirs], merged.n_groups)
            out[mine] += totals[merged.labels[: len(mine)]].astype(np.int64)
    return out


class IntruderRisk(TypedDict):
    """The re-identification risk of the records under one intruder.

    ``highest`` and ``average`` over the records; ``above``: the share of records above the threshold; ``expected``:
    the sum of their risks, in people. The marketer has no single record in view, so only the last two.
    """

    highest: NotRequired[OrNull[Share]]
    average: OrNull[Share]
    above: NotRequired[OrNull[Share]]
    expected: OrNull[Amount]


class Intruders(TypedDict):
    """The risk from each type of intruder; the journalist's if the population is known."""

    prosecutor: IntruderRisk
    journalist: NotRequired[IntruderRisk]
    marketer: IntruderRisk


def attackers(
    sizes: Ints, journalist: Floats | None = None, threshold: float = 0.2, people: Ints | None = None
) -> Intruders:
    """Return the re-identification risk from three types of intruder: prosecutor, journalist and marketer.

    Parameters
    ----------
    sizes : int64 array, shape (n_groups,)
        Number of records of each class in the release; f below, if each record is a person.
    journalist : array, shape (n_groups,), optional
        The risk of each class's records for an intruder who does not know who is in the
        release: 1/F if the people F of the class are counted in the population, or
        `expected_risk` if they are estimated from a sample's weights.
    threshold : float, in (0, 1]
        A record is at risk if its risk is above the threshold.
    people : int64 array, shape (n_groups,), optional
        Number of people of each class in the release (`Persons.sizes`), if a person may have several
        records; f then counts people.

    Returns
    -------
    dict
        ``prosecutor`` (the intruder knows the person is in the table): each
        record's risk is 1/f. ``journalist`` (does not know). ``marketer``
        (wants as many as possible): the expected share re-identified. Each with
        ``highest``, ``average``, ``above`` (the share of records at risk) and ``expected``
        (re-identifications: the sum of the records' risks).

    References
    ----------
    K. El Emam, L. Arbuckle (2013), Anonymizing Health Data, ch. 2.
    """
    n, counted = sizes.sum(), sizes if people is None else people

    def intruder(risk: Floats) -> IntruderRisk:
        return {
            "highest": float(risk.max()),
            "average": float((risk * sizes).sum() / n),
            "above": float(sizes[risk > threshold].sum() / n),
            "expected": float((risk * sizes).sum()),
        }

    # The prosecutor knows that the person is in the table, so only its own classes count.
    by_name = {"prosecutor": intruder(1.0 / counted)}
    by_name |= {} if journalist is None else {"journalist": intruder(journalist)}
    reference = by_name["prosecutor" if journalist is None else "journalist"]
    marketer = {"average": reference["average"], "expected": reference["expected"]}
    return cast(Intruders, {**by_name, "marketer": marketer})


_TERMS = 100
# from so many people of a class on, `_TERMS` terms of the series are exact to the last digits
_SERIES = 30


def expected_risk(sampled: Ints, estimated: Floats) -> Floats:
    """Return each class's expected risk E(1/F | f), with F estimated by summed sampling weights.

    Given f people of a class in the sample, the F people of the class in the population are taken
    to follow a negative binomial distribution with success probability p = f / (summed weights), so

        E(1/F | f) = p^f / f * 2F1(f, f; f + 1; q) = p / f * 2F1(1, 1; f + 1; q),    q = 1 - p,

    and -(p / q) log p for f = 1. It lies above 1 / (summed weights), for F varies and small
    ones weigh more.

    Parameters
    ----------
    sampled : int64 array, shape (n_groups,)
        People of each class in the sample, f.
    estimated : float array, shape (n_groups,)
        Their summed weights, at least f.

    Returns
    -------
    float array, shape (n_groups,)

    References
    ----------
    R. Benedetti, L. Franconi (1998), Statistical and technological solutions for controlled data
    dissemination; L. Franconi, S. Polettini (2004), Individual risk estimation in mu-Argus: a review.

    Examples
    --------
    >>> expected_risk(np.array([1, 1, 4]), np.array([17.0, 1.0, 4.0])).round(4).tolist()
    [0.1771, 1.0, 0.25]
    """
    f, p = sampled.astype(np.float64), np.minimum(sampled / estimated, 1.0)
    q = 1.0 - p
    out = np.empty(len(f))
    one, many = sampled == 1, sampled >= _SERIES
    sure = q <= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        out[one] = np.where(sure[one], 1.0, -p[one] / q[one] * np.log(p[one]))
    few = ~one & ~many
    out[few] = p[few] / f[few] * hyp2f1(1.0, 1.0, f[few] + 1.0, q[few])
    term = np.ones(int(many.sum()))
    total = term.copy()
    for n in range(1, _TERMS):
        term *= n / (f[many] + n) * q[many]
        total += term
    out[many] = p[many] / f[many] * total
    # The series is rounded, and the risk is never above that of a sample that is the population.
    return np.asarray(np.minimum(out, 1.0 / f))


# up to this sampling fraction Dankar's rule takes Pitman's model
_SMALL = 0.1
# between which Pitman's alpha is sought
_LEAST, _MOST = 1e-6, 1 - 1e-6
# where the slide negative binomial model's alpha and beta are sought from
_STARTS = [(a, b) for a in (0.02, 0.2, 1.0, 5.0) for b in (0.02, 0.2, 0.5, 0.9)]
# how near to the sample's counts a solution must come, as a part of them
_MEETS = 1e-8


Model = Literal["pitman", "zayatz", "snb"]


class UniquenessModels(TypedDict):
    """People expected to be unique in the population, by each model; None if its equations have no solution."""

    pitman: Amount | None
    zayatz: Amount | None
    snb: Amount | None


class Uniqueness(TypedDict):
    """The number of people who are unique in the population that a sample was drawn from.

    ``population``: its people; ``fraction``: the share sampled; ``chosen``: the model that Dankar's rule takes;
    ``uniques``: people expected to be unique, ``share``: of the population; ``sample_uniques_unique``: the share of
    the sample's unique people who are unique in the population.
    """

    population: OrNull[Amount]
    fraction: OrNull[Share]
    sample_uniques: Count
    models: UniquenessModels
    chosen: Model | None
    uniques: OrNull[Amount]
    share: OrNull[Share]
    sample_uniques_unique: Share | None


def population_uniques(sizes: Ints, population: float) -> Uniqueness:
    """Estimate how many people are unique in the population that a sample was drawn from.

    Dankar's rule takes Pitman's model up to a sampling fraction of .1, and beyond it the smaller
    estimate of Zayatz's and the slide negative binomial model.

    Parameters
    ----------
    sizes : int64 array, shape (n_groups,)
        People of each class in the sample; at least one class.
    population : float
        People of the population, at least those of the sample.

    Returns
    -------
    dict
        ``population``: its number of people; ``fraction``: the share of them in the sample;
        ``sample_uniques``: the people who are alone in their class of the sample. ``models``: for each
        model the expected number of people who are unique in the population, None if its equations
        have no solution for this sample. ``chosen``: the model that Dankar's rule chooses ("zayatz" if its
        first choice has no solution), ``uniques``: its estimate, ``share``: the estimate as a share of
        the population, ``sample_uniques_unique``: the estimate as a share of the sample's uniques.

    References
    ----------
    F. Dankar, K. El Emam, A. Neisa, T. Roffey (2012), Estimating the re-identification risk of
    clinical data sets, BMC Medical Informatics and Decision Making 12:66.

    Examples
    --------
    >>> estimate = population_uniques(np.array([1] * 40 + [2] * 12 + [9] * 6), 1180.0)
    >>> estimate["sample_uniques"], estimate["chosen"], estimate["uniques"] < 40 * 10
    (40, 'pitman', True)
    """
    size, count = np.unique(sizes, return_counts=True)
    n, uniques = int(sizes.sum()), int(count[size == 1].sum())
    population = float(max(population, n))
    is_counted = not uniques or n == population  # nobody is, or everybody was counted
    models = {"pitman": pitman, "zayatz": zayatz, "snb": slide_negative_binomial}
    every = {name: float(uniques) if is_counted else model(size, count, population) for name, model in models.items()}
    estimates = cast(UniquenessModels, every)
    chosen = _chosen(estimates, n / population)
    estimate = estimates[chosen]
    assert estimate is not None
    return {
        "population": population,
        "fraction": n / population,
        "sample_uniques": uniques,
        "models": estimates,
        "chosen": chosen,
        "uniques": estimate,
        "share": estimate / population,
        "sample_uniques_unique": min(estimate * n / population / uniques, 1.0) if uniques else None,
    }


def _chosen(estimates: UniquenessModels, fraction: float) -> Model:
    """Return the model that Dankar's rule chooses, or Zayatz's (always solvable) if that has no solution."""
    if fraction <= _SMALL:
        return "pitman" if estimates["pitman"] is not None else "zayatz"
    snb, zayatz = estimates["snb"], estimates["zayatz"]
    return "snb" if snb is not None and zayatz is not None and snb <= zayatz else "zayatz"


def zayatz(size: Ints, count: Ints, population: float) -> float:
    """Estimate population uniques by Zayatz (1991), as if the population had the sample's classes.

    Parameters
    ----------
    size, count : int64 arrays
        The class sizes that occur, ascending, and the number of classes of each size.
    population : float
    """
    from scipy.stats import hypergeom  # scipy.stats takes longer to load than a small table

    n = int((size * count).sum())
    single_share = hypergeom(round(population), size, n).pmf(1)
    single = float(count[size == 1].sum())
    alone = single * single_share[size == 1].sum() / float((count * single_share).sum())
    return float(single * alone * population / n)


def pitman(size: Ints, count: Ints, population: float) -> float | None:
    """Estimate population uniques by Pitman's sampling formula (Hoshino 2001).

    The estimate is N^alpha gamma(theta + 1) / gamma(theta + alpha) for a population of N. See
    N. Hoshino (2001), Applying Pitman's sampling formula to microdata disclosure risk assessment,
    Journal of Official Statistics 17(4).

    Parameters
    ----------
    size, count : int64 arrays
        The class sizes that occur, ascending, and the number of classes of each size.
    population : float

    Returns
    -------
    float or None
        None if the likelihood has no maximum with 0 < alpha < 1 and theta > 0.
    """
    n, u = int((size * count).sum()), int(count.sum())
    # One class, or everybody alone: the likelihood has no maximum inside.
    if u < 2 or u == n:
        return None

    from scipy.optimize import brentq  # scipy.optimize takes longer to load than a small table

    def by_theta(theta: float, alpha: float) -> float:
        rising = (digamma(theta / alpha + u) - digamma(theta / alpha + 1.0)) / alpha
        return float(rising - digamma(theta + n) + digamma(theta + 1.0))

    def best_theta(alpha: float) -> float | None:
        low, high = 1e-9, 1.0
        if by_theta(low, alpha) <= 0:
            return None
        while by_theta(high, alpha) > 0:
            high *= 4.0
            if high > 1e15:
                return None
        return float(brentq(by_theta, low, high, args=(alpha,), xtol=1e-13, rtol=1e-14))

    def by_alpha(alpha: float) -> float:
        theta = best_theta(alpha)
        theta = 0.0 if theta is None else theta
        at = theta / alpha
        rising = ((u - 1) - at * (digamma(at + u) - digamma(at + 1.0))) / alpha
        within = (count * (digamma(size - alpha) - digamma(1.0 - alpha))).sum()
        return float(rising - within)

    # The likelihood may have several stationary points: a coarse grid brackets the first maximum.
    grid = np.linspace(_LEAST, _MOST, 65)
    slopes = np.array([by_alpha(alpha) for alpha in grid])
    down = np.flatnonzero((slopes[:-1] > 0) & (slopes[1:] <= 0))
    if not len(down):
        return None
    alpha = float(brentq(by_alpha, grid[down[0]], grid[down[0] + 1], xtol=1e-14, rtol=1e-14))
    if (theta := best_theta(alpha)) is None:
        return None
    estimate = float(np.exp(gammaln(theta + 1.0) - gammaln(theta + alpha) + alpha * np.log(population)))
    # More uniques than people: the model does not fit this sample.
    return estimate if estimate <= population else None


def slide_negative_binomial(size: Ints, count: Ints, population: float) -> float | None:
    """Estimate population uniques by Chen & Keller-McNulty (1998): a class has 1 + NB(alpha, beta) people.

    The number of population classes is Shlosser's estimate (P. Haas, L. Stokes 1998); alpha and beta
    are chosen to reproduce the sample's numbers of classes with one and with two people.

    Parameters
    ----------
    size, count : int64 arrays
        The class sizes that occur, ascending, and the number of classes of each size.
    population : float

    Returns
    -------
    float or None
        None if no alpha above 0 and beta in (0, 1) reproduce them.
    """
    f = float((size * count).sum()) / population
    one, two = (float(count[size == s].sum()) for s in (1, 2))
    if not two:
        return None
    k = _shlosser(size, count, f)
    if not np.isfinite(k):
        return None

    def expected(alpha: float, beta: float) -> Floats:
        q = 1.0 - beta
        phi = (1.0 - f) * q
        common = k * f * np.exp(alpha * (np.log(beta) - np.log1p(-phi)))
        first = common * (alpha * phi / (1.0 - phi) + 1.0)
        second = common * f / 2 * alpha * q / (1.0 - phi) ** 2 * (2.0 - (1.0 - alpha) * phi)
        return np.array([first, second])

    def off(x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            counts = expected(float(np.exp(x[0])), float(1 / (1 + np.exp(-x[1]))))
            return np.asarray(np.nan_to_num(np.log(counts) - np.log([one, two]), nan=1e6))

    from scipy.optimize import root

    # The solver finds a solution only from near it, so it is started from several places.
    for alpha, beta in _STARTS:
        solution = root(off, [np.log(alpha), np.log(beta / (1 - beta))], tol=1e-13)
        if np.abs(off(solution.x)).max() < _MEETS:
            log_beta = -np.log1p(np.exp(-solution.x[1]))
            return float(k * np.exp(np.exp(solution.x[0]) * log_beta))
    return None


def _shlosser(size: Ints, count: Ints, f: float) -> float:
    """Estimate the number of classes in the population from a sample with sampling fraction f (Shlosser)."""
    missed, c = (1.0 - f) ** size, count.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = (size * f**2 * (1.0 - f**2) ** (size - 1.0) * c).sum()
        factor /= (missed * ((1.0 + f) ** size - 1.0) * c).sum()
        unseen = (missed * c).sum() / (size * f * (1.0 - f) ** (size - 1.0) * c).sum()
        return float(c.sum() + c[size == 1].sum() * factor * unseen**2)
