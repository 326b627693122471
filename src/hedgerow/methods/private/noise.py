"""Buy noisy counts and choices from OpenDP, and keep the account of what they cost."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from ...errors import needed
from ...kernels import Ints


class Noise(Protocol):
    """The two mechanisms that everything is bought from; both work on whole numbers."""

    def laplace(self, counts: Ints, sensitivity: int, epsilon: float) -> Ints:
        """Return the counts with discrete Laplace noise, for an L1 sensitivity."""

    def pick(self, scores: Ints, sensitivity: int, epsilon: float) -> int:
        """Return the place of a score that is nearly the largest, each score being of that sensitivity."""


class OpenDP:
    """The mechanisms of OpenDP, whose own randomness cannot be seeded."""

    def __init__(self) -> None:
        needed("opendp", "private", "draws of noise")
        import opendp.prelude as dp

        dp.enable_features("contrib")
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        self._search: Any = dp.binary_search_param
        self._laplace: Any = lambda scale: dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale)
        # permute-and-flip; scores are not monotonic, so its price is not halved
        self._pick: Any = lambda scale: dp.m.make_noisy_max(
            domain, dp.linf_distance(T="i64"), dp.max_divergence(), scale
        )
        self._mechanisms: dict[tuple[str, int, float], Any] = {}

    def laplace(self, counts: Ints, sensitivity: int, epsilon: float) -> Ints:
        """Return the counts with discrete Laplace noise, for an L1 sensitivity."""
        return np.array(self._fitted("laplace", sensitivity, epsilon)(counts.tolist()), np.int64)

    def pick(self, scores: Ints, sensitivity: int, epsilon: float) -> int:
        """Return the place of a score that is nearly the largest."""
        return int(self._fitted("pick", sensitivity, epsilon)(scores.tolist()))

    def _fitted(self, name: str, sensitivity: int, epsilon: float) -> Any:
        """Return the mechanism with the smallest noise that OpenDP proves to cost at most epsilon."""
        key = (name, sensitivity, epsilon)
        if key not in self._mechanisms:
            make = self._laplace if name == "laplace" else self._pick
            mechanism = make(self._search(make, d_in=sensitivity, d_out=epsilon))
            assert mechanism.map(sensitivity) <= epsilon
            self._mechanisms[key] = mechanism
        return self._mechanisms[key]


def below(exact: Fraction) -> float:
    """Return the largest double that is at most a fraction."""
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, 0.0)


class Ledger:
    """The account of a release: what each part of it cost of the epsilon that is promised.

    Parameters
    ----------
    epsilon : Fraction
        All that may be spent.
    records : int
        The most rows that one person has; every sensitivity is multiplied by it.
    noise : Noise
    """

    def __init__(self, epsilon: Fraction, records: int, noise: Noise) -> None:
        self.epsilon, self.records, self.noise = epsilon, records, noise
        self.entries: list[tuple[str, Fraction]] = []

    def buy(self, part: str, epsilon: Fraction) -> Purchase:
        """Spend some of epsilon on one part of the release.

        What is bought may be used once for each set of rows, where no row is in two sets: the answers
        about all sets together cost as much as one of them.
        """
        self.entries.append((part, epsilon))
        if sum((each for _, each in self.entries), Fraction(0)) > self.epsilon:
            raise AssertionError(f"{part} would cost more than the epsilon that is left")
        return Purchase(self, below(epsilon))


class Purchase:
    """Noisy answers that were paid for."""

    def __init__(self, ledger: Ledger, epsilon: float) -> None:
        self._ledger, self._epsilon = ledger, epsilon

    def counts(self, counts: Ints, sensitivity: int = 1) -> Ints:
        """Return counts with noise; a row changes their sum of absolute values by at most the sensitivity."""
        flat = np.ascontiguousarray(counts, np.int64).ravel()
        noisy = self._ledger.noise.laplace(flat, sensitivity * self._ledger.records, self._epsilon)
        return noisy.reshape(counts.shape)

    def pick(self, scores: Ints, sensitivity: int = 1) -> int:
        """Return the place of a score that is nearly the largest; a row changes each by at most the sensitivity."""
        return self._ledger.noise.pick(
            np.ascontiguousarray(scores, np.int64), sensitivity * self._ledger.records, self._epsilon
        )

    def deviation(self) -> float:
        """Return the standard deviation of the noise of one count."""
        return math.sqrt(2.0) * self._ledger.records / self._epsilon
