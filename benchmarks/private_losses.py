"""How much a transcript of `PrivateTree` tells two tables apart: exactly, and as a bound from repeated runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.polynomial.legendre import leggauss
from scipy.stats import beta

import hedgerow as hr
from hedgerow.io.read import read
from hedgerow.methods import private

NODES, WEIGHTS = leggauss(96)


class Transcript:
    """Noise that records what it was given and what it gave, or gives recorded answers again.

    Parameters
    ----------
    source : Noise, optional
        What draws; not needed where answers are given.
    answers : list, optional
    """

    def __init__(self, source: Any = None, answers: list[Any] | None = None) -> None:
        self.source, self.recorded, self.asked = source, answers, []

    @property
    def answers(self) -> list[Any]:
        """Return what was answered."""
        return [entry[-1] for entry in self.asked]

    def laplace(self, counts: Any, sensitivity: int, epsilon: float) -> Any:
        """Return counts with noise."""
        return np.array(self._answer("laplace", counts, sensitivity, epsilon))

    def pick(self, scores: Any, sensitivity: int, epsilon: float) -> int:
        """Return a choice."""
        return int(self._answer("pick", scores, sensitivity, epsilon))

    def _answer(self, kind: str, values: Any, sensitivity: int, epsilon: float) -> Any:
        if self.recorded is not None:
            assert len(self.asked) < len(self.recorded), "one table asks more than the other"
            given = self.recorded[len(self.asked)]
            fits = len(given) == len(values) if np.ndim(given) else kind == "pick" and given < len(values)
            assert fits, "the tables ask different things"
        else:
            given = getattr(self.source, kind)(values, sensitivity, epsilon)
        self.asked.append((kind, np.array(values), sensitivity, epsilon, given))
        return given


class NumpyNoise:
    """The mechanisms' distributions with a seed, drawn by numpy: fast, and never for a release.

    Parameters
    ----------
    seed : int
    scale : float
        Of the noise that is drawn, where less is wanted than was paid for.
    """

    def __init__(self, seed: int, scale: float = 1.0) -> None:
        self.rng, self.scale = np.random.default_rng(seed), scale

    def laplace(self, counts: Any, sensitivity: int, epsilon: float) -> Any:
        """Return counts with discrete Laplace noise."""
        stay = 1 - math.exp(-epsilon / sensitivity / self.scale)
        return counts + self.rng.geometric(stay, len(counts)) - self.rng.geometric(stay, len(counts))

    def pick(self, scores: Any, sensitivity: int, epsilon: float) -> int:
        """Return the largest of scores with exponential noise, which is permute-and-flip."""
        noise = self.rng.exponential(2 * sensitivity / epsilon * self.scale, len(scores))
        return int(np.argmax(scores + noise))


def log_chances(scores: Any, sensitivity: float, epsilon: float) -> Any:
    """Return the log chance of each choice by permute-and-flip: the largest score with exponential noise wins."""
    rate = epsilon / (2 * sensitivity)
    tops = np.exp(-rate * (scores.max() - scores))
    u = (NODES + 1)[None, :] / 2 * tops[:, None]
    relative = np.exp(-rate * (scores[:, None] - scores[None, :]))
    others = 1 - u[:, :, None] * relative[:, None, :]
    return np.log(tops / 2 * ((others.prod(2) / (1 - u)) @ WEIGHTS))


def losses(one: Transcript, other: Transcript, scale: float = 1.0) -> list[tuple[float, float, float]]:
    """Return, for each purchase, its loss on what was drawn, the worst over all answers, and its epsilon.

    `scale` is of the noise that is really drawn, where a test wants less than was paid for.
    """
    assert len(one.asked) == len(other.asked), "one table asks more than the other"
    found = []
    for (kind, before, sensitivity, epsilon, drawn), (same, after, *_) in zip(one.asked, other.asked, strict=True):
        assert (kind, len(before)) == (same, len(after)), "the tables ask different things"
        if kind == "laplace":
            rate = epsilon / sensitivity / scale
            loss = rate * float(np.abs(drawn - after).sum() - np.abs(drawn - before).sum())
            worst = rate * float(np.abs(before - after).sum())
        else:
            ratios = log_chances(before, sensitivity * scale, epsilon)
            ratios = ratios - log_chances(after, sensitivity * scale, epsilon)
            loss, worst = float(ratios[drawn]), float(np.abs(ratios).max())
        found.append((loss, worst, epsilon))
    return found


def log_ratios(method: Any, tables: tuple[Any, Any], schema: Any, source: Any, runs: int) -> tuple[Any, Any]:
    """Return, for runs on each of two tables, the log of how much likelier the first one makes the transcript."""
    sides: list[list[float]] = [[], []]
    for side, ratios in enumerate(sides):
        for _ in range(runs):
            drawn = Transcript(source)
            method.measured(tables[side], schema, drawn)
            replayed = Transcript(answers=drawn.answers)
            method.measured(tables[1 - side], schema, replayed)
            loss = sum(loss for loss, _, _ in losses(drawn, replayed))
            ratios.append(loss if side == 0 else -loss)
    return np.array(sides[0]), np.array(sides[1])


def of_wholes(epsilon: float, source: Any, runs: int) -> Any:
    """Return log-likelihood ratios of releases of 50 people and of 49, by a tree of two levels."""
    private._PER_LEAF = int(50 * epsilon / 5)
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.integers(20, 60, 50), "ill": rng.choice(["no", "yes"], 50)})
    table["income"] = table.age * 500
    table.loc[0] = [99, "yes", 1_000_000]
    schema = hr.Schema(
        quasi=["age"], sensitive=["income", "ill"], unit=None, grid={"age": (0, 20, 30, 40, 60, 100)},
        bounds={"income": (0, 1_000_000)}, categories={"ill": ["no", "yes"]},
    )  # fmt: skip
    tables = (read(table), read(table[1:].reset_index(drop=True)))
    return log_ratios(hr.PrivateTree(epsilon=epsilon), tables, schema, source, runs)


def bound(one: Any, other: Any, alpha: float = 0.001) -> float:
    """Return a lower bound of epsilon: the threshold is chosen on one half of the runs and judged on the other."""
    half = len(one) // 2
    best, chosen = -1.0, None
    for a, b in ((one, other), (other, one)):
        for sign in (1, -1):
            for threshold in np.unique(a[:half]):
                p, q = (np.mean(sign * each[:half] >= sign * threshold) for each in (a, b))
                # as far as chance allows on the other half
                low, high = p - 3 * math.sqrt(p / half), q + 3 * math.sqrt((q + 1 / half) / half)
                if low > 0 and math.log(low / high) > best:
                    best, chosen = math.log(low / high), (a, b, sign, threshold)
    if chosen is None:
        return 0.0
    a, b, sign, threshold = chosen
    n = len(one) - half
    hits, misses = (int(np.sum(sign * each[half:] >= sign * threshold)) for each in (a, b))
    low = beta.ppf(alpha / 2, hits, n - hits + 1) if hits else 0.0
    high = beta.ppf(1 - alpha / 2, misses + 1, n - misses) if misses < n else 1.0
    return max(0.0, math.log(low / high)) if low else 0.0
