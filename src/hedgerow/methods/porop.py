"""PoROP-k and LiROP-k: numbers replaced by noisy polynomials through their sorted values.

Nin, Pont-Tuset, Medrano-Gracia, Larriba-Pey & Muntés-Mulero (2007),
"Increasing polynomial regression complexity for data anonymization".

In this file k is the block size (`block_size`) of PoROP-k, not the k of k-anonymity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..backends.randomize import normal, sequence
from ..columns.table import Table
from ..errors import ParameterError
from ..kernels.masking_loops import normalise_blocks, place_back, trace_back
from ..kernels.sorting import stable_sort
from ..kernels.threads import in_parts
from ..key import Key
from ..measures import Floats
from ..measures.masking_scores import Scores, score_arrays
from ..notation import percent
from ..plan import Plan
from ..progress import caution, done
from ..schema import Schema
from ..texts import text
from ..validation import check_one_of, check_whole
from .masking import Changed, NumberMasking

Noise = Literal["synthetic", "perturbative"]


def polynomial_basis(k: int, degree: int) -> Floats:
    """Return orthonormal polynomials on the points 0..k-1, shape (degree + 1, k).

    These are the discrete Legendre (Gram) polynomials, built by multiplying by x and
    orthogonalising twice, which stays accurate at degrees where powers of x fail.
    Sums run in a fixed order, whatever the number of threads.
    """
    x = np.linspace(-1.0, 1.0, k) if k > 1 else np.zeros(1)
    basis = np.empty((degree + 1, k))
    basis[0] = 1.0 / np.sqrt(k)
    for j in range(1, degree + 1):
        done(None)
        # Twice is enough (Kahan, Parlett): the second pass removes what rounding left of the first.
        new = x * basis[j - 1]
        for _ in range(2):
            for earlier in basis[:j]:
                new -= (earlier * new).sum() * earlier
        basis[j] = new / np.sqrt((new * new).sum())
    return basis


def fit_blocks(blocks: Floats, degree: int) -> Floats:
    """Return the values of each block's least-squares polynomial at the points 0..k-1, shape (p, k).

    Parameters
    ----------
    blocks : array, shape (p, k)
        One block of k values per row.
    degree : int
        Degree of the polynomial, below k.
    """
    basis = polynomial_basis(blocks.shape[1], degree)
    coefficients = np.einsum("pk,dk->pd", blocks, basis)
    fitted = coefficients[:, :1] * basis[0]
    for j in range(1, degree + 1):
        fitted += coefficients[:, j : j + 1] * basis[j]
    return fitted


@dataclass(frozen=True)
class OrderedPartition:
    """A vector after the two sorts of PoROP-k, ready for any degree and any noise.

    Parameters
    ----------
    k : int
        Values per block.
    z : array, shape (n,)
        The normalised values in their second order.
    place : array of int, shape (n,)
        Position of each of these values in the original vector.
    block : array of int, shape (n,)
        The first-sort block that each of these values came from.
    lo, span : array, shape (n_blocks,)
        Minimum and extent of the first-sort blocks.
    """

    k: int
    z: Floats
    place: NDArray[np.uint32]
    block: NDArray[np.uint32]
    lo: Floats
    span: Floats

    @property
    def remainder(self) -> int:
        """Return the number of values in a short last block; 0 if k divides n."""
        return len(self.z) % self.k

    @property
    def n_blocks(self) -> int:
        """Return the number of blocks, including a short last one."""
        return -(-len(self.z) // self.k)

    def protect(self, degree: int | Sequence[int], noise: Noise, normals: Floats) -> Floats:
        """Return the protected vector, with its values back in their original order.

        Parameters
        ----------
        degree : int or sequence of int
            Degree of the polynomial of every block, or one for each block.
        noise : {"synthetic", "perturbative"}
            Noise of the block's residual spread, or of each value's own residual.
        normals : array, shape (n,)
            Standard normal numbers, in the second order; zeros give the bare fit.
        """
        n, k, r = len(self.z), self.k, self.remainder
        # Blocks of one degree are fitted together: one matrix product instead of one per block.
        degrees = block_degrees(degree, self.n_blocks)
        fitted, spread = np.empty(n), np.empty(self.n_blocks)
        whole = n - r
        blocks = self.z[:whole].reshape(-1, k)
        for d in sorted(set(degrees)):
            chosen = np.flatnonzero(np.array(degrees[: len(blocks)]) == d)
            mine = blocks if len(chosen) == len(blocks) else blocks[chosen]
            if len(mine):
                curves = fit_blocks(mine, d)
                fitted[:whole].reshape(-1, k)[chosen] = curves
                spread[chosen] = _spread(mine, curves)
        if r:
            # The short block is fitted on the last k values, so that every curve
            # rests on as many points; only its own r values are used.
            window = self.z[None, n - k :]
            curve = fit_blocks(window, degrees[-1])
            fitted[whole:] = curve[0, k - r :]
            spread[-1:] = _spread(window, curve)
        if noise == "synthetic":
            sizes = np.full(self.n_blocks, k)
            sizes[-1] = r or k
            deviation = np.repeat(spread, sizes)
        else:
            deviation = np.abs(self.z - fitted)
        released = np.empty(n)

        def part_back(part: slice) -> None:
            parts = (fitted[part], deviation[part], normals[part], self.place[part])
            place_back(*parts, self.block[part], self.lo, self.span, released)

        in_parts(part_back, n, n)
        return released


def order(values: Floats, k: int) -> OrderedPartition:
    """Sort the values, cut them into blocks of k, normalise each block and sort again (steps 1 to 4).

    Parameters
    ----------
    values : array, shape (n,)
        Finite values without missing ones.
    k : int
        Values per block, 1 < k <= n.
    """
    n = len(values)
    ordered, first = stable_sort(values)
    starts = np.arange(0, n, k)
    ends = np.minimum(starts + k, n) - 1
    lo = ordered[starts]
    span = ordered[ends] - lo
    normalise_blocks(ordered, lo, span, k)
    z, second = stable_sort(ordered)
    place, block = np.empty(n, np.uint32), np.empty(n, np.uint32)
    in_parts(lambda part: trace_back(first, second[part], k, place[part], block[part]), n, n)
    return OrderedPartition(k, z, place, block, lo, span)


def block_degrees(degree: int | Sequence[int], n_blocks: int) -> list[int]:
    """Return one degree for each block; raise ParameterError if the number of degrees does not match."""
    chosen = [degree] * n_blocks if isinstance(degree, int) else list(degree)
    if len(chosen) != n_blocks:
        raise ParameterError(f"{len(chosen)} degrees are given for {n_blocks} blocks", hint="give one, or one a block")
    return chosen


def check_settings(k: Any, degree: Any, n: int) -> tuple[int, int | list[int]]:
    """Return block size and degree(s) as Python integers; raise ParameterError if they do not fit n values."""
    k = check_whole("block_size", k, 2)
    single = isinstance(degree, (int, np.integer)) and not isinstance(degree, bool)
    if not single and not (isinstance(degree, (list, tuple)) and degree):
        raise ParameterError('degree must be a whole number, a list of them, or "auto"')
    degrees = [check_whole("degree", d, 0) for d in ([degree] if single else degree)]
    if k > n:
        raise ParameterError(f"block_size is {k}, but only {n} values are not missing", hint=f"choose at most {n}")
    if k <= max(degrees) + 1:
        values = max(degrees) + 1
        raise ParameterError(
            f"block_size is {k}: a polynomial of degree {max(degrees)} passes through {values} values, unprotected",
            hint=f"choose more than {values}",
        )
    return k, degrees[0] if single else degrees


def _spread(blocks: Floats, curves: Floats) -> Floats:
    """Return the root mean squared residual of each block, shape (p,)."""
    residual = blocks - curves
    return np.sqrt(np.einsum("pk,pk->p", residual, residual) / blocks.shape[1])


DEGREES = (1, 2, 3, 4)
# Numbers of blocks tried, as N / k: from many small blocks to one.
CUTS = (7, 5, 4, 3, 2.5, 2, 1.75, 1.5, 1.25, 1)
FINALISTS = 5
# Records linked for each candidate; of a larger table, all candidates use the same sample.
LINKED = 1000
# Rows on which a larger table is searched; they are cut into as many blocks as the whole.
MOST_ROWS = 20_000
MOST_KNOWN = 10
# Most blocks for which every combination of degrees is tried; more are searched block by block.
MOST_TOGETHER = 3


class TriedSetting(TypedDict):
    """A block size and degrees that were tried, with their scores; low is good.

    Parameters
    ----------
    block_size, remainder : int
        Values of a block, and those left for the last one; 0 if there are none.
    degrees : list of int
        One a block.
    il, dr, score : float
        Information loss, disclosure risk and their mean, 0 to 100, under the noise of the search.
    held_out : float or None
        The score under other noise, which decides between the best ones; None for the rest.
    """

    block_size: int
    remainder: int
    degrees: list[int]
    il: float
    dr: float
    score: float
    held_out: float | None


def search_settings(
    values: Floats, size: Any, degree: Any, noise: str, search: np.random.SeedSequence, held_out: np.random.SeedSequence
) -> list[TriedSetting]:
    """Search block size and degrees, and return the settings that were tried, best first.

    Every size is tried with one degree for all blocks, and the three best sizes also with
    degrees that differ between blocks. All settings are scored under one noise (`search`).
    The best five are scored again under another noise (`held_out`), which decides.

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
    degrees: list[Any] = list(DEGREES) if degree == "auto" else [degree]
    sizes = _candidates(n) if size == "auto" else [size]
    settings = [(k, d) for k in sizes for d in degrees if _fits(k, d, n)]
    for i, (k, d) in enumerate(settings):
        done(i / len(settings))
        trial.run(k, d)
    if not trial.rows:
        raise ParameterError(f"no block size fits {n} values", hint="set block_size and degree")
    if degree == "auto":
        # Degrees per block are tried for the best sizes alone: there are too many otherwise.
        for k in list(dict.fromkeys(row["block_size"] for row in trial.best()))[:3]:
            trial.run_per_block(k, [d for d in DEGREES if _fits(k, d, n)])
    rows = trial.best()
    # The best of many scores under one noise is best partly by chance: new noise decides.
    for row in rows[:FINALISTS]:
        row["held_out"] = trial.scores(row["block_size"], row["degrees"], held_out).score
    return sorted(rows[:FINALISTS], key=lambda row: (row["held_out"], *_rank(row))) + rows[FINALISTS:]


class _Trial:
    """One table, or a sample of its rows cut into as many blocks, masked and scored with many settings."""

    def __init__(self, values: Floats, noise: str, seed: np.random.SeedSequence) -> None:
        self.n_whole = int((~np.isnan(values)).sum())
        if len(values) > MOST_ROWS:
            values = values[np.sort(np.random.default_rng(seed).choice(len(values), MOST_ROWS, replace=False))]
        self.values, self.there, self.noise, self.seed = values, ~np.isnan(values), noise, seed
        self.rows: dict[tuple[int, tuple[int, ...]], TriedSetting] = {}
        self.n = int(self.there.sum())
        self.complete = self.there.all(axis=1)
        if self.complete.sum() < 3:
            raise ParameterError("fewer than 3 rows are complete, too few to search", hint="set block_size and degree")
        self.names = [str(c) for c in range(values.shape[1])]
        # Candidates of one k follow each other, so each k is sorted once.
        self.ordered = lru_cache(1)(lambda k: order(self.values[self.there], self._cut(k)))

    def scores(self, k: int, degree: int | Sequence[int], seed: np.random.SeedSequence) -> Scores:
        """Mask the table with one setting and return its scores; k counts values of the whole table."""
        ordered = self.ordered(k)
        after = np.full(self.values.shape, np.nan)
        normals = np.random.Generator(np.random.PCG64(seed)).standard_normal(len(ordered.z))
        after[self.there] = ordered.protect(degree, self.noise, normals)  # type: ignore[arg-type]
        n_known = min((len(self.names) + 1) // 2, MOST_KNOWN)
        return score_arrays(self.values[self.complete], after[self.complete], self.names, n_known, LINKED)

    def run(self, k: int, degree: int | Sequence[int]) -> None:
        """Add the row of one setting to `rows`, unless it is there."""
        degrees = [int(d) for d in block_degrees(degree, self.ordered(k).n_blocks)]
        if (k, tuple(degrees)) in self.rows:
            return
        scores = self.scores(k, degree, self.seed)
        self.rows[k, tuple(degrees)] = TriedSetting(
            block_size=int(k), remainder=self.n_whole % k, degrees=degrees,
            il=scores.il, dr=scores.dr, score=scores.score, held_out=None,
        )  # fmt: skip

    def best(self) -> list[TriedSetting]:
        """Return the rows of all settings, best first."""
        return sorted(self.rows.values(), key=_rank)

    def _cut(self, k: int) -> int:
        """Return the block size that cuts the sample into as many blocks as k cuts the whole table."""
        if self.n == self.n_whole:
            return k
        blocks = -(-self.n_whole // k)
        scaled = max(2, round(k * self.n / self.n_whole))
        return scaled if -(-self.n // scaled) == blocks else -(-self.n // blocks)

    def run_per_block(self, k: int, allowed: Sequence[int]) -> None:
        """Add the rows of settings whose degrees differ between blocks, starting from the best single degree."""
        blocks = self.ordered(k).n_blocks
        if blocks <= MOST_TOGETHER:
            for choice in product(allowed, repeat=blocks):
                self.run(k, choice)
            return
        for block in range(blocks):
            best = next(row["degrees"] for row in self.best() if row["block_size"] == k)
            for d in allowed:
                self.run(k, [*best[:block], d, *best[block + 1 :]])


def _candidates(n: int) -> list[int]:
    """Return the block sizes to try: n / cut rounded up, so that no tiny last block remains."""
    return sorted({min(n, int(np.ceil(n / cut))) for cut in CUTS})


def _fits(k: Any, degree: Any, n: int) -> bool:
    try:
        block_degrees(check_settings(k, degree, n)[1], -(-n // k))
    except ParameterError:
        return False
    return True


def _rank(row: TriedSetting) -> tuple[float, int, list[int]]:
    return row["score"], row["block_size"], row["degrees"]


NOISES = ("synthetic", "perturbative")
# Smallest size of the last block, as a share of the block size, that gets no warning.
SHORT = 0.05
# Largest share of unchanged cells that gets no warning.
UNCHANGED = 0.05


@dataclass(eq=False, repr=False)
class PoROP(NumberMasking):
    """Replace numbers by noisy points on polynomials fitted to their sorted values (PoROP-k).

    All values of all columns are sorted as one vector, cut into blocks of `block_size` values and
    normalised block by block, then sorted and cut again. In every block a least-squares
    polynomial with Gaussian noise replaces the values. Missing cells stay missing.

    Parameters
    ----------
    block_size : int or "auto"
        The k of PoROP-k: values a block, above degree + 1 and at most the number of
        values that are not missing. "auto" searches by the score on held-out noise;
        `search_` is the table of what was tried.
    degree : int, sequence of int, or "auto"
        Degree of the polynomial, at least 0: one for all blocks, one for each, or searched.
    noise : {"synthetic", "perturbative"}
        Noise of the block's residual spread (a synthetic data generator), or of each
        value's own residual.
    key : Key or path, optional
        The steward's secret, or its file (made when it is not there), from which the
        noise is drawn; anybody who has it can remove the noise. By default a new key,
        kept only in this object.
    random_state : int, optional
        A seed to use in place of a key, only for experiments: it keeps nothing secret.
    clip : bool or pair of float
        Move released values back into the extent of their column, or into a pair.
    integers : bool
        Round columns of integers to integers.
    schema : Schema, optional
        Kinds and category orders, if the columns' own types do not show them.

    Attributes
    ----------
    search_ : list of dict
        With "auto": block_size, remainder, degrees, il, dr and score of every candidate,
        and `held_out` for the best ones; best first.
    facts_, columns_, plan_
        The changes; see `Masking`.

    Raises
    ------
    ParameterError
        block_size <= degree + 1 (the polynomial would pass through every value: nothing
        is protected) or above the number of values, unknown noise.
    SchemaError, InputError
        Columns that are not numeric, all missing or infinite; all are named.

    Notes
    -----
    The score is not smooth in the block size: the remainder of the number of values by it
    matters. Equal values are distinguished by their records' content, not by their place.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> wages = pd.DataFrame({"wage": np.arange(40.0) ** 2, "rent": np.arange(40.0) * 9})
    >>> masked = PoROP(20, degree=2, random_state=1).fit_transform(wages)
    >>> list(masked.columns), len(masked)
    (['wage', 'rent'], 40)
    """

    words: ClassVar[str] = "polynomial regression on ordered partitions (PoROP-k)"
    draws = True
    reported_shares: ClassVar[Mapping[str, str]] = {
        "share_unchanged": "unchanged",
        "share_outside_extent": "outside",
        "share_clipped": "clipped",
    }

    block_size: int | str = "auto"
    _: KW_ONLY
    degree: int | Sequence[int] | str = "auto"
    noise: str = "synthetic"
    key: Key | str | Path | None = None
    random_state: int | None = None
    clip: bool | tuple[float, float] = False
    integers: bool = False
    schema: Schema | None = None

    def _fit(self, table: Table, schema: Schema) -> Plan:
        plan, facts = super()._fit(table, schema), self.facts_
        if facts["share_unchanged"] > UNCHANGED:
            caution(text("porop", "unchanged", share=percent(facts["share_unchanged"])))
        if 0 < facts["remainder"] < SHORT * facts["block_size"]:
            caution(text("porop", "last_block", **facts))
        return plan

    def _mask_numbers(self, table: Table, schema: Schema, before: Floats) -> Changed:
        check_one_of("noise", self.noise, NOISES)
        rows, n = self._rows(table), int(np.count_nonzero(~np.isnan(before)))
        size, degree = self.block_size, self.degree
        if size == "auto" or degree == "auto":
            seeds = [np.random.SeedSequence(rows.key.words(use)) for use in ("search", "held out")]
            self.search_ = search_settings(rows.sorted(before), size, degree, self.noise, *seeds)
            best = self.search_[0]
            size, degree = best["block_size"], best["degrees"]
        size, degree = check_settings(size, degree, n)
        degrees = block_degrees(degree, -(-n // size))
        key = self._release_key(rows, schema, method="PoROP", block_size=size, degree=degrees)
        rows = rows.under(key)  # the order of equal values decides what each becomes
        ordered = rows.sorted(before)
        there = ~np.isnan(ordered)
        blocks = order(ordered[there], size)
        after = np.full(ordered.shape, np.nan)
        normals = normal(sequence(key, "noise", n))
        after[there] = blocks.protect(degree, self.noise, normals)  # type: ignore[arg-type]
        facts = {
            "block_size": size,
            "degrees": sorted(set(degrees)),
            "values": n,
            "blocks": blocks.n_blocks,
            "remainder": blocks.remainder,
        }
        return rows.back(after), facts


@dataclass(eq=False, repr=False)
class LiROP(PoROP):
    """Replace numbers by noisy points on fitted straight lines: `PoROP` with degree 1 (LiROP-k).

    Parameters
    ----------
    block_size, noise, key, random_state, clip, integers
        As for `PoROP`.
    schema : Schema, optional
        Kinds and category orders, if the columns' own types do not show them.

    Examples
    --------
    >>> import pandas as pd
    >>> LiROP(4, random_state=1).fit_transform(pd.DataFrame({"x": [1.0, 2, 4, 9]})).shape
    (4, 1)
    """

    words: ClassVar[str] = "linear regression on ordered partitions (LiROP-k)"

    degree: ClassVar[int] = 1  # type: ignore[misc]
