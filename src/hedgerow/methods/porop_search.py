"""The search for PoROP's block size and degrees, by the score on noise that the release does not use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..measures.masking_scores import score_arrays
from ..progress import done
from .ordered_partitions import Ordered, block_degrees, check_settings, order

Floats = NDArray[np.float64]

DEGREES = (1, 2, 3, 4)
# Numbers of blocks tried, as N / k: from many small blocks to one.
CUTS = (7, 5, 4, 3, 2.5, 2, 1.75, 1.5, 1.25, 1)
FINALISTS = 5
LINKED = 1000
"""Records linked for each candidate; a larger table is sampled alike for all."""
MOST_ROWS = 20_000
"""A larger table is searched on so many of its rows, cut into as many blocks."""
MOST_KNOWN = 10
MOST_TOGETHER = 3
"""Up to so many blocks every combination of degrees is tried; beyond, block by block."""


def search_settings(
    values: Floats,
    size: Any,
    degree: Any,
    noise: str,
    search: np.random.SeedSequence,
    held_out: np.random.SeedSequence,
) -> list[dict[str, Any]]:
    """What was tried, best first.

    Every size is tried with one degree for all blocks; for the three best, degrees per
    block. All are scored under one noise (`search`), the best five again under
    another (`held_out`), which decides.

    Parameters
    ----------
    values : array, shape (rows, columns)
        Rows with missing cells are masked and not scored.
    size, degree
        A given value is kept; "auto" is searched.
    noise : {"synthetic", "perturbative"}
    search, held_out : numpy SeedSequence
    """
    n = int((~np.isnan(values)).sum())
    trial = _Trial(values, noise, search)
    check_settings(n if size == "auto" else size, 1 if degree == "auto" else degree, n)
    if degree == "auto":
        degrees: list[Any] = list(DEGREES)
    else:
        degrees = [degree]
    sizes = _candidates(n) if size == "auto" else [size]
    settings = [(k, d) for k in sizes for d in degrees if _fits(k, d, n)]
    uniform = []
    for i, (k, d) in enumerate(settings):
        done(i / len(settings))
        uniform.append(trial.run(k, d, search))
    if not uniform:
        raise ParameterError(f"no block size fits {n} values", hint="set block_size and degree")
    tried = {_key(row): row for row in uniform}
    if degree == "auto":
        best = sorted(uniform, key=_rank)
        for k in list(dict.fromkeys(row["block_size"] for row in best))[:3]:
            for row in trial.per_block(k, best, search, n):
                tried.setdefault(_key(row), row)
    rows = sorted(tried.values(), key=_rank)
    for row in rows[:FINALISTS]:
        row["held_out"] = trial.run(row["block_size"], row["degrees"], held_out)["score"]
    return (
        sorted(rows[:FINALISTS], key=lambda row: (row["held_out"], *_rank(row))) + rows[FINALISTS:]
    )


class _Trial:
    """Masks and scores one table (or a sample of its rows, cut alike) again and again."""

    def __init__(self, values: Floats, noise: str, seed: np.random.SeedSequence) -> None:
        self.n_whole = int((~np.isnan(values)).sum())
        if len(values) > MOST_ROWS:
            chosen = np.random.default_rng(seed).choice(len(values), MOST_ROWS, replace=False)
            values = values[np.sort(chosen)]
        self.values, self.there, self.noise = values, ~np.isnan(values), noise
        self.n = int(self.there.sum())
        self.complete = self.there.all(axis=1)
        if self.complete.sum() < 3:
            raise ParameterError(
                "fewer than 3 rows are complete, too few to search by the score",
                hint="set block_size and degree",
            )
        self.names = [str(c) for c in range(values.shape[1])]
        self.ordered: tuple[int, Ordered | None] = (0, None)

    def run(
        self, k: int, degree: int | Sequence[int], seed: np.random.SeedSequence
    ) -> dict[str, Any]:
        """Score one choice; k counts values of the whole table."""

        if self.ordered[0] != k:  # candidates of one k follow each other: sort once
            self.ordered = (k, order(self.values[self.there], self._cut(k)))
        ordered = self.ordered[1]
        assert ordered is not None
        after = np.full(self.values.shape, np.nan)
        normals = np.random.Generator(np.random.PCG64(seed)).standard_normal(len(ordered.z))
        after[self.there] = ordered.protect(degree, self.noise, normals)  # type: ignore[arg-type]
        known = min((len(self.names) + 1) // 2, MOST_KNOWN)
        made = score_arrays(
            self.values[self.complete], after[self.complete], self.names, known, LINKED
        )
        return {
            "block_size": int(k),
            "remainder": self.n_whole % k,
            "degrees": [int(d) for d in block_degrees(degree, ordered.n_blocks)],
            "il": made.il,
            "dr": made.dr,
            "score": made.score,
            "held_out": None,
        }

    def _cut(self, k: int) -> int:
        """The k that cuts the sample into as many blocks as k cuts the whole."""
        if self.n == self.n_whole:
            return k
        blocks = -(-self.n_whole // k)
        scaled = max(2, round(k * self.n / self.n_whole))
        return scaled if -(-self.n // scaled) == blocks else -(-self.n // blocks)

    def per_block(
        self, k: int, uniform: list[dict[str, Any]], seed: np.random.SeedSequence, n: int
    ) -> list[dict[str, Any]]:
        """Degrees block by block, from the best uniform one."""
        start = next(row for row in uniform if row["block_size"] == k)
        blocks = len(start["degrees"])
        allowed = [d for d in DEGREES if _fits(k, d, n)]
        if blocks == 1:
            return []
        if blocks <= MOST_TOGETHER:
            choices = np.stack(np.meshgrid(*[allowed] * blocks), -1).reshape(-1, blocks).tolist()
            return [self.run(k, c, seed) for c in sorted(choices) if len(set(c)) > 1]
        rows: list[dict[str, Any]] = []
        best = start
        for block in range(blocks):
            for d in allowed:
                choice = [*best["degrees"]]
                if choice[block] == d:
                    continue
                choice[block] = d
                rows.append(self.run(k, choice, seed))
            best = min([best, *rows], key=_rank)
        return rows


def _candidates(n: int) -> list[int]:
    """Block sizes N / cut: none leaves a short remainder."""
    return sorted({min(n, int(np.ceil(n / cut))) for cut in CUTS})


def _fits(k: Any, degree: Any, n: int) -> bool:
    if isinstance(degree, (list, tuple)) and len(degree) != -(-n // k):
        return False
    try:
        check_settings(k, degree, n)
    except ParameterError:
        return False
    return True


def _key(row: dict[str, Any]) -> tuple[int, tuple[int, ...]]:
    return row["block_size"], tuple(row["degrees"])


def _rank(row: dict[str, Any]) -> tuple[float, int, tuple[int, ...]]:
    return row["score"], *_key(row)
