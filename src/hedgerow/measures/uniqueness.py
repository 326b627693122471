"""How many people are unique in the population, estimated from a sample's classes.

Three models of how population classes come about, and the rule that chooses between them. Each sees
nothing but how many classes of each size the sample has, and how many people the population has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from .class_counts import FloatArray
from .groups import IntArray

MODELS = ("pitman", "zayatz", "snb")
_SMALL = 0.1
"""Up to this sampling fraction Dankar's rule takes Pitman's model."""
_LEAST, _MOST = 1e-6, 1 - 1e-6
"""Between which Pitman's alpha is sought."""
_STARTS = [(a, b) for a in (0.02, 0.2, 1.0, 5.0) for b in (0.02, 0.2, 0.5, 0.9)]
"""Where the slide negative binomial model's alpha and beta are sought from."""
_MEETS = 1e-8
"""How near to the sample's counts a solution must come, as a part of them."""


@dataclass(frozen=True)
class Uniqueness:
    """Population uniques as three models estimate them.

    Parameters
    ----------
    population : float
        People of the population.
    sample : int
        People of the sample.
    sample_uniques : int
        People who are alone in their class of the sample.
    models : mapping of str to float or None
        By model the expected number of people who are unique in the population; None where its
        equations have no solution for this sample.
    chosen : str or None
        The model that Dankar's rule takes, "zayatz" where its first choice has no solution.
    notes : tuple of str
        Which model failed.
    """

    population: float
    sample: int
    sample_uniques: int
    models: Mapping[str, float | None]
    chosen: str | None
    notes: tuple[str, ...] = ()

    @property
    def uniques(self) -> float | None:
        """People who are unique in the population, by the chosen model."""
        return None if self.chosen is None else self.models[self.chosen]

    def to_json(self) -> dict[str, Any]:
        """As plain data, with the shares that a reader asks for."""
        found = self.uniques
        share = None if found is None else found / self.population
        sure = None
        if found is not None and self.sample_uniques:
            sure = min(found * self.sample / self.population / self.sample_uniques, 1.0)
        return {
            "population": self.population,
            "fraction": self.sample / self.population,
            "sample_uniques": self.sample_uniques,
            "models": dict(self.models),
            "chosen": self.chosen,
            "uniques": found,
            "share": share,
            "sample_uniques_unique": sure,
            "notes": list(self.notes),
        }


def population_uniques(sizes: IntArray, population: float) -> Uniqueness:
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
    Uniqueness

    References
    ----------
    F. Dankar, K. El Emam, A. Neisa, T. Roffey (2012), Estimating the re-identification risk of
    clinical data sets, BMC Medical Informatics and Decision Making 12:66.

    Examples
    --------
    >>> found = population_uniques(np.array([1] * 40 + [2] * 12 + [9] * 6), 1180.0)
    >>> found.sample_uniques, found.chosen, found.uniques < 40 * 10
    (40, 'pitman', True)
    """
    size, count = np.unique(sizes, return_counts=True)
    n, uniques = int(sizes.sum()), int(count[size == 1].sum())
    population = float(max(population, n))
    if not uniques or n == population:  # nobody is, or everybody was counted
        known = dict.fromkeys(MODELS, float(uniques))
        return Uniqueness(population, n, uniques, known, _chosen(known, n / population))
    asked: dict[str, Callable[[IntArray, IntArray, float], float | None]] = {
        "pitman": pitman,
        "zayatz": zayatz,
        "snb": slide_negative_binomial,
    }
    found = {name: model(size, count, population) for name, model in asked.items()}
    notes = tuple(
        f"the equations of the model {name} have no solution for this sample"
        for name, value in found.items()
        if value is None
    )
    return Uniqueness(population, n, uniques, found, _chosen(found, n / population), notes)


def _chosen(found: Mapping[str, float | None], fraction: float) -> str | None:
    """Dankar's rule; Zayatz's model, which always has a solution, where the first choice has none."""
    if fraction <= _SMALL:
        return "pitman" if found["pitman"] is not None else "zayatz"
    snb, zayatz = found["snb"], found["zayatz"]
    return "snb" if snb is not None and zayatz is not None and snb <= zayatz else "zayatz"


def zayatz(size: IntArray, count: IntArray, population: float) -> float:
    """Zayatz (1991): the sample's classes are taken for those of the population.

    Parameters
    ----------
    size, count : int64 arrays
        The sizes that occur, ascending, and how many classes have each.
    population : float
    """
    from scipy.stats import hypergeom  # scipy.stats takes longer to load than a small table

    n = int((size * count).sum())
    drawn = hypergeom(round(population), size, n).pmf(1)
    single = float(count[size == 1].sum())
    alone = single * drawn[size == 1].sum() / float((count * drawn).sum())
    return float(single * alone * population / n)


def pitman(size: IntArray, count: IntArray, population: float) -> float | None:
    """Pitman's sampling formula by maximum likelihood: N^alpha gamma(theta + 1) / gamma(theta + alpha).

    N. Hoshino (2001), Applying Pitman's sampling formula to microdata disclosure risk assessment,
    Journal of Official Statistics 17(4).

    Parameters
    ----------
    size, count : int64 arrays
        The sizes that occur, ascending, and how many classes have each.
    population : float

    Returns
    -------
    float or None
        None where the likelihood has no maximum with 0 < alpha < 1 and theta > 0.
    """
    n, u = int((size * count).sum()), int(count.sum())
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

    grid = np.linspace(_LEAST, _MOST, 65)
    slopes = np.array([by_alpha(alpha) for alpha in grid])
    down = np.flatnonzero((slopes[:-1] > 0) & (slopes[1:] <= 0))
    if not len(down):
        return None
    alpha = float(brentq(by_alpha, grid[down[0]], grid[down[0] + 1], xtol=1e-14, rtol=1e-14))
    theta = best_theta(alpha)
    if theta is None:
        return None
    found = float(
        np.exp(gammaln(theta + 1.0) - gammaln(theta + alpha) + alpha * np.log(population))
    )
    return found if found <= population else None


def slide_negative_binomial(size: IntArray, count: IntArray, population: float) -> float | None:
    """Chen and Keller-McNulty (1998): a population class has 1 + NB(alpha, beta) people.

    The number of population classes is Shlosser's estimate (P. Haas, L. Stokes 1998); alpha and beta
    are those that give the sample's classes of one and of two people.

    Parameters
    ----------
    size, count : int64 arrays
        The sizes that occur, ascending, and how many classes have each.
    population : float

    Returns
    -------
    float or None
        None where no alpha above 0 and beta in (0, 1) give these.
    """
    f = float((size * count).sum()) / population
    one, two = (float(count[size == s].sum()) for s in (1, 2))
    if not two:
        return None
    k = _shlosser(size, count, f)
    if not np.isfinite(k):
        return None

    def expected(alpha: float, beta: float) -> FloatArray:
        q = 1.0 - beta
        phi = (1.0 - f) * q
        common = k * f * np.exp(alpha * (np.log(beta) - np.log1p(-phi)))
        first = common * (alpha * phi / (1.0 - phi) + 1.0)
        second = common * f / 2 * alpha * q / (1.0 - phi) ** 2 * (2.0 - (1.0 - alpha) * phi)
        return np.array([first, second])

    def off(x: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            made = expected(float(np.exp(x[0])), float(1 / (1 + np.exp(-x[1]))))
            return np.asarray(np.nan_to_num(np.log(made) - np.log([one, two]), nan=1e6))

    from scipy.optimize import root

    for alpha, beta in _STARTS:
        made = root(off, [np.log(alpha), np.log(beta / (1 - beta))], tol=1e-13)
        if np.abs(off(made.x)).max() < _MEETS:
            log_beta = -np.log1p(np.exp(-made.x[1]))
            return float(k * np.exp(np.exp(made.x[0]) * log_beta))
    return None


def _shlosser(size: IntArray, count: IntArray, f: float) -> float:
    """How many classes the population has, by those of a sample with sampling fraction f."""
    kept, c = (1.0 - f) ** size, count.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = (size * f**2 * (1.0 - f**2) ** (size - 1.0) * c).sum()
        seen /= (kept * ((1.0 + f) ** size - 1.0) * c).sum()
        unseen = (kept * c).sum() / (size * f * (1.0 - f) ** (size - 1.0) * c).sum()
        return float(c.sum() + c[size == 1].sum() * seen * unseen**2)
