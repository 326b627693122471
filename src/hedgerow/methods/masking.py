"""Methods that change values one column at a time: noise, rank swapping, PRAM, top and bottom coding."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from ..backends import Transformed
from ..backends.randomize import Rows, hashes, words_of
from ..columns.column import Column
from ..columns.numbers import check_numbers, numeric_matrix, released_column
from ..columns.table import Table
from ..errors import ParameterError, SchemaError, UnsupportedError, reprs
from ..kernels.masking_loops import swap_ranks
from ..kernels.sorting import stable_sort
from ..key import Key
from ..measures import Bools, Floats, Ints
from ..measures.guarantees import Guarantee
from ..notation import plain
from ..plan.recodings import Mask, MaskedColumn
from ..plan.records import Plan
from ..schema import Schema
from ..texts import text
from ..validation import FLAG, Kind, check, check_one_of, check_share, is_number, one_of
from .base import Method, RecipientNotes, check_columns, check_named, values_by_code

# Changed numbers of shape (rows, columns), and facts about the whole table.
Changed = tuple[Floats, Mapping[str, object]]

# Orders the rows of methods that draw nothing, so that no result depends on their order.
_PUBLIC = Key(bytes(32))


class MaskedCells(NamedTuple):
    """The released cells of a column, and what changed in them.

    Fields
    ------
    released : pyarrow array
    there : bool array of shape (n,)
        True for cells that had a value.
    masks : mapping of str to bool array
        For each share in `MaskedColumn`, by field name, the cells that it counts.
    """

    released: pa.Array
    there: Bools
    masks: Mapping[str, Bools]


@dataclass(frozen=True)
class Masked:
    """The result of masking.

    Parameters
    ----------
    cells : mapping of str to MaskedCells
        The masked columns.
    facts : mapping of str to number or str
        Figures about the whole table.
    promises : tuple of Guarantee
        Promises that `Release.verify` checks.
    """

    cells: Mapping[str, MaskedCells]
    facts: Mapping[str, object]
    promises: tuple[Guarantee, ...] = ()


class Masking(Method):
    """Base class of the methods that change values instead of recoding them.

    The plan of a masking only describes the changes; each released value depends on the
    whole table, so `transform` works for the fitted table alone.

    Attributes
    ----------
    plan_ : Plan
    facts_ : dict
        Figures about the whole table: number of blocks or groups, shares.
    columns_ : tuple of MaskedColumn
        The changes in each column: shares unchanged, outside the original extent, and clipped.
    """

    words: ClassVar[str] = ""
    # The text that explains to the reader of a release how to read its cells.
    reading: ClassVar[str] = "altered"
    needs_sensitive = False
    # Without a promise of k, a caution says what repeated records undo.
    supported_fields: ClassVar[tuple[str, ...]] = ("unit",)
    risk_model: ClassVar[Literal["classes", "linkage"]] = "linkage"
    guardable = False
    # Facts that are a share of all cells, and the field of `MaskedColumn` that each sums up.
    reported_shares: ClassVar[Mapping[str, str]] = {}
    facts_: dict[str, Any]
    columns_: tuple[MaskedColumn, ...]

    def _mask(self, table: Table, schema: Schema) -> Masked:
        raise NotImplementedError

    def _fit(self, table: Table, schema: Schema) -> Plan:
        check_columns(table, schema.replace(quasi=()))
        masked, columns = self._mask(table, schema), []
        for name in schema.quasi:
            released, there, masks = masked.cells[name]
            cells = int(there.sum())
            shares: dict[str, Any] = {what: float((mask & there).sum() / max(cells, 1)) for what, mask in masks.items()}
            shares["missing"] = (len(there) - cells) / len(there)
            role, kind = schema.role(name), table.declared_kind(schema, name)
            columns.append(MaskedColumn(name, role, kind, released=str(released.type), **shares))
        self._released = {name: cells.released for name, cells in masked.cells.items()}
        self._fitted, self.columns_ = fingerprint(table, schema.quasi), tuple(columns)
        shares = {fact: share(columns, what) for fact, what in self.reported_shares.items()}
        self.facts_ = {**masked.facts, **shares}
        recoding = Mask(self.words, self.columns_, plain(self.facts_), self.risk_model)
        return self._planned(table, schema, recoding, masked.promises)

    def _rows(self, table: Table) -> Rows:
        """Return the table's rows, which `Rows.order` sorts by content, so the table's order has no influence."""
        return Rows.from_table(table, self._key if self.draws else _PUBLIC)

    def _release_key(self, rows: Rows, schema: Schema, **parameters: Any) -> Key:
        """Return the key for this table and the method's parameters, which `parameters` override."""
        masked = {"method": type(self).__name__, "columns": sorted(schema.quasi)}
        return rows.release_key(masked | self.plan_parameters() | parameters)

    def release_table(self, table: Table) -> Transformed:
        """Return the masked columns of the fitted table; most methods raise UnsupportedError for any other."""
        if fingerprint(table, [c.name for c in self.columns_]) != self._fitted:
            return Transformed(self._mask_other(table), 0)
        return Transformed(dict(self._released), 0)

    def _mask_other(self, table: Table) -> dict[str, pa.Array]:
        """Return the masked columns of another table; raise UnsupportedError by default."""
        raise UnsupportedError(
            f"{type(self).__name__} cannot transform another table than it was fitted on: each released value "
            "depends on the whole table",
            hint="fit_transform that table by itself; for cross_val_score mask the whole table first",
        )

    def release_files(self, release: Any) -> dict[str, str]:
        """Return the public file MASKING.md, which explains what was done to the columns."""
        words = ["```", release.recoding_in_words(), "```"]
        lines = ["# What was done to the masked columns", "", *words, "", text("masking", self.reading), ""]
        return {"MASKING.md": "\n".join(lines)}

    def recipient_notes(self, file: str) -> RecipientNotes:
        """Return notes on how to read the changed cells, with a pointer to MASKING.md."""
        file = "`MASKING.md` says what was done: give it with the release."
        return RecipientNotes(lines=["", *text("masking", self.reading).split("\n"), file])


class NumberMasking(Masking):
    """Base class of the methods that mask numeric columns."""

    clip: bool | tuple[float, float] = False
    integers: bool = False

    def _mask_numbers(self, table: Table, schema: Schema, before: Floats) -> Changed:
        """Return the changed numbers of the quasi-identifiers, and facts about the whole table."""
        raise NotImplementedError

    def check_table(self, table: Table, schema: Schema) -> None:
        """Raise an error as `Method.check_table` does, and if a quasi-identifier is no number."""
        super().check_table(table, schema)
        check_numbers(table, schema.quasi, schema.kinds)

    def _mask(self, table: Table, schema: Schema) -> Masked:
        check_clip(self.clip)
        before = numeric_matrix(table, schema.quasi, schema.kinds)
        after, facts = self._mask_numbers(table, schema, before)
        return Masked(mask_numbers(table, schema.quasi, before, after, clip=self.clip, integers=self.integers), facts)


def mask_numbers(
    table: Table,
    names: Sequence[str],
    before: Floats,
    after: Floats,
    *,
    clip: bool | tuple[float, float] = False,
    integers: bool = False,
) -> dict[str, MaskedCells]:
    """Return masked numbers as columns, clipped and rounded if requested, and the changes in each.

    Parameters
    ----------
    table : Table
    names : sequence of str
        The columns.
    before, after : array, shape (rows, columns)
        Missing cells of `before` stay missing.
    clip : bool or pair of float
        Move values outside back: to the extent of their own column (True) or to a pair.
    integers : bool
        Round columns of integers and keep their type.
    """
    columns = {}
    for c, name in enumerate(names):
        old, new = before[:, c], after[:, c].copy()
        there = ~np.isnan(old)
        new[~there] = np.nan
        lo, hi = np.nanmin(old), np.nanmax(old)
        # Before clipping: the share outside says how much the method itself shows of the extent.
        outside = (new < lo) | (new > hi)
        clipped = np.zeros(len(old), bool)
        if clip is not False:
            low, high = (lo, hi) if clip is True else clip
            clipped = (new < low) | (new > high)
            new = np.clip(new, low, high)
        kind = table.arrow.schema.field(name).type
        released = released_column(new, kind, integers)
        if integers and pa.types.is_integer(kind):
            new = np.rint(new)
        masks = {"unchanged": new == old, "outside": outside, "clipped": clipped}
        columns[name] = MaskedCells(released, there, masks | {"suppressed": np.isnan(new)})
    return columns


def fingerprint(table: Table, names: Sequence[str]) -> str:
    """Return a digest of the given columns, to recognise the same table without storing it."""
    # By values and not by types: a frame that comes back from CSV or another library is the same.
    first, second, _ = hashes(table, names, _PUBLIC)
    return hashlib.blake2b(np.stack([first, second]).tobytes(), digest_size=16).hexdigest()


def share(columns: Sequence[MaskedColumn], what: str) -> float:
    """Return the field `what` of `MaskedColumn`, averaged over the non-missing cells of all columns."""
    weight = np.array([1.0 - c.missing for c in columns])
    shares = np.array([getattr(c, what) for c in columns])
    return float((weight * shares).sum() / weight.sum()) if weight.sum() else 0.0


def mask_categories(table: Table, column: Column, codes: Ints) -> MaskedCells:
    """Return the category of each code in the column's original type, with masks; code n_values stands for missing."""
    released = pa.nulls(len(codes), pa.string())
    if column.n_values:
        # The released cell is spelled as the table spells its first value of that code.
        released = values_by_code(table, column).take(pa.array(codes))
        if pa.types.is_dictionary(table.arrow.column(column.name).type):
            released = released.dictionary_encode()
    masks = {"unchanged": codes == column.codes, "suppressed": codes == column.n_values}
    return MaskedCells(released, column.codes < column.n_values, masks)


@dataclass(eq=False, repr=False)
class NoiseAddition(NumberMasking):
    """Add Gaussian noise, drawn from a secret key, to every number.

    Parameters
    ----------
    scale : float
        Standard deviation of the noise over that of the column, above 0.
    correlated : bool
        Independent noise weakens correlations; correlated noise has scale**2 times
        the covariance matrix of the data (Kim 1986), so correlations stay and all
        covariances grow by 1 + scale**2.
    key : Key or path, optional
        The steward's secret, or its file (made when it is not there), from which the noise is
        drawn; anybody who has it can remove the noise. By default a new key, kept only in this object.
    random_state : int, optional
        A seed to use in place of a key, only for experiments: it keeps nothing secret.
    clip : bool or pair of float
        Move released values back into the extent of their column, or into a pair.
    integers : bool
        Round columns of integers to integers.
    schema : Schema, optional
        Kinds and category orders, if the columns' own types do not show them.

    Notes
    -----
    Missing cells stay missing. Variances are computed from the present values,
    covariances from the complete rows.

    Examples
    --------
    >>> import pandas as pd
    >>> wages = pd.DataFrame({"x": [1.0, 2.0, None]})
    >>> NoiseAddition(0.5, random_state=1).fit_transform(wages).shape
    (3, 1)
    """

    words: ClassVar[str] = "noise addition"
    draws = True

    scale: float = 0.1
    _: KW_ONLY
    correlated: bool = False
    key: Key | str | Path | None = None
    random_state: int | None = None
    clip: bool | tuple[float, float] = False
    integers: bool = False
    schema: Schema | None = None

    def _mask_numbers(self, table: Table, schema: Schema, before: Floats) -> Changed:
        check("scale", self.scale, Kind("a number above 0", lambda v: is_number(v) and 0 < v < np.inf))
        check("correlated", self.correlated, one_of((bool, np.bool_), FLAG.words))
        rows = self._rows(table)
        key, ordered = self._release_key(rows, schema), rows.sorted(before)
        noise = np.column_stack([rows.normals(key, name) for name in schema.quasi])
        if self.correlated:
            # Independent normals times the root of the covariance have just this covariance.
            root = covariance_root(ordered[~np.isnan(ordered).any(axis=1)])
            noise = rows.back(rows.sorted(noise) @ root)
        else:
            noise *= np.nanstd(ordered, axis=0)
        with np.errstate(over="ignore"):
            after = before + self.scale * noise
        if np.any(np.isinf(after) & np.isfinite(before)):
            raise ParameterError(
                f"noise of the scale {self.scale:g} leaves what numbers can hold",
                hint="take a smaller scale; 1 is as much noise as the column has spread",
            )
        return after, {"scale": float(self.scale), "correlated": bool(self.correlated)}


def covariance_root(values: Floats) -> Floats:
    """Return the symmetric square root of the covariance matrix of complete rows, shape (a, a)."""
    if len(values) < 2:
        raise ParameterError("fewer than 2 rows are complete, too few for covariances", hint="choose correlated=False")
    size, axes = np.linalg.eigh(np.atleast_2d(np.cov(values, rowvar=False)))
    return np.asarray((axes * np.sqrt(np.maximum(size, 0.0))) @ axes.T)


@dataclass(eq=False, repr=False)
class RankSwapping(NumberMasking):
    """Swap each value with another one of similar rank, column by column.

    A column keeps exactly its values, so its mean and its quantiles stay; whose they are changes.

    Parameters
    ----------
    proportion : float
        Largest difference of swapped ranks, as a share of the values that are not
        missing, above 0 and at most 1 (0.05 reaches 5% of the ranks; at least one rank).
    key : Key or path, optional
        The steward's secret, or its file (made when it is not there), from which the swaps are
        drawn; anybody who has it can swap back. By default a new key, kept only in this object.
    random_state : int, optional
        A seed to use in place of a key, only for experiments: it keeps nothing secret.
    schema : Schema, optional
        Kinds and category orders, if the columns' own types do not show them.

    Notes
    -----
    Moore (1996), "Controlled data-swapping techniques for masking public use
    microdata sets". Each column is swapped by itself; missing cells stay missing.

    Examples
    --------
    >>> import pandas as pd
    >>> ages = pd.DataFrame({"age": [20, 30, 40, 50]})
    >>> sorted(RankSwapping(0.5, random_state=1).fit_transform(ages)["age"].tolist())
    [20, 30, 40, 50]
    """

    words: ClassVar[str] = "rank swapping"
    draws = True
    integers = True  # swapped values are values of the column

    proportion: float = 0.05
    _: KW_ONLY
    key: Key | str | Path | None = None
    random_state: int | None = None
    schema: Schema | None = None

    def _mask_numbers(self, table: Table, schema: Schema, before: Floats) -> Changed:
        proportion = check_share("proportion", self.proportion)
        rows = self._rows(table)
        key = self._release_key(rows, schema)
        rows = rows.under(key)  # the order of equal values is drawn as well

        ordered = np.asfortranarray(rows.sorted(before))  # column by column in memory
        after = np.full_like(ordered, np.nan)
        for c, name in enumerate(schema.quasi):
            there = np.flatnonzero(~np.isnan(ordered[:, c]))
            # Equal values are ranked in the order of the rows.
            values, ranked = stable_sort(ordered[there, c])
            window = max(1, int(proportion * len(values)))
            words = map(np.uint64, key.words(f"swap {name}"))
            after[there[ranked], c] = values[swap_ranks(len(values), window, *words)]
        return rows.back(after), {"proportion": proportion}


CATEGORICAL = ("categorical", "ordinal", "boolean")
# Categories of a column: the plan holds a number for every two of them.
MOST_CATEGORIES = 2_000


@dataclass(eq=False, repr=False)
class PRAM(Masking):
    """Replace categories at random, by default so that every category keeps its expected count.

    Single cells need not be true afterwards. The chances may be published with the table, so that
    its reader can correct counts.

    Parameters
    ----------
    stay : float
        Probability of keeping a category, 0 to 1, in the default matrix; the rest
        is spread evenly over the other categories.
    matrix : array (d, d), or mapping of str to array, optional
        Row i holds the probabilities of what category i becomes, categories in the
        column's order (declared, else sorted). One matrix for all columns, or one per named column.
    invariant : bool
        Follow the matrix P by its inverse in Bayes' sense, so that the expected
        counts of the categories stay as they are: a release needs no correction.
    key : Key or path, optional
        The steward's secret, or its file (made when it is not there), from which the moves are
        drawn; anybody who has it can undo them. By default a new key, kept only in this object.
    random_state : int, optional
        A seed to use in place of a key, only for experiments: it keeps nothing secret.
    schema : Schema, optional
        Kinds and category orders, if the columns' own types do not show them.

    Attributes
    ----------
    matrices_ : dict of str to array
        The matrix that was used, per column; it may be published with the release.

    Notes
    -----
    Gouweleeuw, Kooiman, Willenborg & de Wolf (1998), "Post randomisation for
    statistical disclosure control". Missing cells stay missing.

    Examples
    --------
    >>> import pandas as pd
    >>> jobs = pd.DataFrame({"job": ["cook", "nurse"] * 50})
    >>> PRAM(0.7, random_state=1).fit(jobs).matrices_["job"].round(2).tolist()
    [[0.58, 0.42], [0.42, 0.58]]
    """

    kinds: ClassVar[Mapping[str, Kind]] = {"invariant": FLAG}
    words: ClassVar[str] = "post-randomisation (PRAM)"
    draws = True

    stay: float = 0.8
    _: KW_ONLY
    matrix: ArrayLike | Mapping[str, ArrayLike] | None = None
    invariant: bool = True
    key: Key | str | Path | None = None
    random_state: int | None = None
    schema: Schema | None = None

    def check_table(self, table: Table, schema: Schema) -> None:
        """Raise an error as `Method.check_table` does, and if a quasi-identifier holds no categories."""
        super().check_table(table, schema)
        if other := [n for n in schema.quasi if table.declared_kind(schema, n) not in CATEGORICAL]:
            raise SchemaError(
                f"PRAM moves categories, not {reprs(other)}",
                hint='declare their kind as "categorical", or leave them out',
            )

    def _mask(self, table: Table, schema: Schema) -> Masked:
        stay = check_share("stay", self.stay, zero=True)
        if isinstance(self.matrix, Mapping):
            check_named("matrix", self.matrix, schema)
        coded = [table.declared_column(schema, name) for name in schema.quasi]
        for column in coded:
            if column.n_values > MOST_CATEGORIES:
                raise ParameterError(
                    f"column {column.name!r} has {column.n_values:,} categories; a matrix takes {MOST_CATEGORIES:,}",
                    hint="join categories that are alike, leave the column out, or take another method",
                )
        rows = self._rows(table)
        key = self._release_key(rows, schema)
        cells, self.matrices_ = {}, {}
        for column in coded:
            name, d = column.name, column.n_values
            matrix = self.matrix.get(name) if isinstance(self.matrix, Mapping) else self.matrix
            matrix = default_matrix(d, stay) if matrix is None else _checked(matrix, column)
            if self.invariant:
                matrix = invariant_matrix(matrix, column.counts()[:d].astype(np.float64))
            self.matrices_[name] = matrix
            moved = move(column.codes, words_of(rows.ids, key, f"pram {name}"), matrix)
            cells[name] = mask_categories(table, column, moved)
        matrices = {name: matrix.tolist() for name, matrix in self.matrices_.items()}
        return Masked(cells, {"invariant": self.invariant, "matrices": matrices})


def default_matrix(d: int, stay: float) -> Floats:
    """Return a (d, d) matrix with `stay` on the diagonal and the rest of each row spread evenly."""
    if d < 2:
        return np.ones((d, d))
    return np.full((d, d), (1 - stay) / (d - 1)) + np.eye(d) * (stay - (1 - stay) / (d - 1))


def invariant_matrix(matrix: Floats, counts: Floats) -> Floats:
    """Return P times its Bayes inverse: a Markov matrix Q with counts @ Q = counts.

    Parameters
    ----------
    matrix : array, shape (d, d)
        Rows sum to 1.
    counts : array, shape (d,)
        How often each category occurs.
    """
    joint = matrix * counts[:, None]
    arrived = joint.sum(axis=0)
    back = np.divide(joint, arrived, where=arrived > 0, out=np.zeros_like(joint)).T
    return matrix @ back if len(counts) else matrix


def move(codes: NDArray[Any], words: NDArray[np.uint64], matrix: Floats) -> Ints:
    """Return codes moved by the probabilities in `matrix`, with one random word per row; missing codes stay."""
    # 53 bits are a double in [0, 1), evenly spread.
    draws = (words >> np.uint64(11)) / 2.0**53
    moved = codes.astype(np.int64)
    bounds = np.cumsum(matrix, axis=1)
    for i in range(len(matrix)):
        mine = np.flatnonzero(codes == i)
        possible = np.flatnonzero(matrix[i] > 0)
        # The last possible category takes what rounding leaves between its bound and 1.
        moved[mine] = possible[np.searchsorted(bounds[i, possible][:-1], draws[mine], side="right")]
    return moved


def _checked(values: ArrayLike, column: Column) -> Floats:
    """Return `values` as a matrix of transition probabilities; raise ParameterError if they are not one."""
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"the matrix for column {column.name!r} is not numeric") from None
    d = column.n_values
    if matrix.shape != (d, d):
        raise ParameterError(f"the matrix for column {column.name!r} has the shape {matrix.shape}, for {d} categories")
    # NaN is not at least 0, and an infinite cell has an infinite sum.
    if not (matrix >= 0).all() or np.abs(matrix.sum(axis=1) - 1).max() > 1e-9:
        raise ParameterError(f"the rows of the matrix for column {column.name!r} are not probabilities that sum to 1")
    return matrix


REPLACE = ("threshold", "mean")
# Fewest values whose mean is released; a mean of fewer would disclose too much about each.
FEWEST = 3


@dataclass(eq=False, repr=False)
class TopBottomCoding(NumberMasking):
    """Replace the largest and smallest values of numeric columns by a bound.

    `transform` of another table uses the bounds that were fitted.

    Parameters
    ----------
    top, bottom : float or mapping of str to float, optional
        Values above `top` (below `bottom`) are coded: one bound for all columns or one
        per named column, which takes precedence over the share.
    top_share, bottom_share : float
        Largest share of the values to code in every other column, 0 to 1. Equal values are
        treated equally, so fewer may be coded.
    replace : {"threshold", "mean"}
        Coded values become the bound, or their own mean (at least 3 of them). For a
        share the bound is the nearest value that is not coded.
    integers : bool
        Round columns of integers to integers.
    schema : Schema, optional
        Kinds and category orders, if the columns' own types do not show them.

    Examples
    --------
    >>> import pandas as pd
    >>> wages = pd.DataFrame({"wage": [1.0, 2.0, 3.0, 100.0]})
    >>> TopBottomCoding(top=10).fit_transform(wages)["wage"].tolist()
    [1.0, 2.0, 3.0, 10.0]
    """

    words: ClassVar[str] = "top and bottom coding"
    reported_shares: ClassVar[Mapping[str, str]] = {"share_unchanged": "unchanged"}

    top: float | Mapping[str, float] | None = None
    _: KW_ONLY
    bottom: float | Mapping[str, float] | None = None
    top_share: float = 0.01
    bottom_share: float = 0.0
    replace: str = "threshold"
    integers: bool = False
    schema: Schema | None = None

    def _mask_numbers(self, table: Table, schema: Schema, before: Floats) -> Changed:
        check_one_of("replace", self.replace, REPLACE)
        top_share = check_share("top_share", self.top_share, zero=True)
        bottom_share = check_share("bottom_share", self.bottom_share, zero=True)
        self._ends: dict[str, tuple[float, ...]] = {}
        n_coded = np.zeros(2, np.int64)
        for c, name in enumerate(schema.quasi):
            column = before[:, c]
            there = column[~np.isnan(column)]
            high = _bound("top", self.top, name, schema)
            low = _bound("bottom", self.bottom, name, schema)
            high = share_bound(there, top_share) if high is None else high
            low = -share_bound(-there, bottom_share) if low is None else low
            if low > high:
                raise ParameterError(f"bottom is above top in column {name!r}")
            outside = column[column > high], column[column < low]
            n_coded += [len(values) for values in outside]
            self._ends[name] = *self._end(high, outside[0], name), *self._end(low, outside[1], name)
        coded = dict(zip(("coded_at_the_top", "coded_at_the_bottom"), n_coded.tolist(), strict=True))
        return self._coded(before), coded

    def _end(self, bound: float, outside: Floats, name: str) -> tuple[float, float]:
        """Return the bound, and the number that replaces the values beyond it."""
        if self.replace != "mean" or not len(outside):
            return bound, bound
        if len(outside) < FEWEST:
            raise ParameterError(
                f"too few values of column {name!r} are coded ({len(outside)}); their mean gives them away",
                hint='code more of them, or choose replace="threshold"',
            )
        return bound, float(np.sort(outside).mean())  # sorted: summed in one order

    def _coded(self, before: Floats) -> Floats:
        """Return the numbers, with those beyond the fitted bounds replaced."""
        high, at_high, low, at_low = np.array(list(self._ends.values())).T
        return np.where(before > high, at_high, np.where(before < low, at_low, before))

    def _mask_other(self, table: Table) -> dict[str, pa.Array]:
        """Return the masked columns of another table, with values beyond the fitted bounds replaced."""
        names = list(self._ends)
        before = numeric_matrix(table, names, dict.fromkeys(names, "numeric"))
        cells = mask_numbers(table, names, before, self._coded(before), integers=self.integers)
        return {name: masked.released for name, masked in cells.items()}


def share_bound(values: Floats, part: float) -> float:
    """Return the smallest value such that at most the share `part` of all values lies above it."""
    # Equal values are coded alike, so the bound steps down to a value that has few enough above it.
    ranked = np.sort(values)
    return float(ranked[len(ranked) - 1 - min(int(part * len(ranked)), len(ranked) - 1)])


def _bound(what: str, bound: Any, name: str, schema: Schema) -> float | None:
    """Return the bound that was given for a column, or None if there is none."""
    if isinstance(bound, Mapping):
        check_named(what, bound, schema)
        bound = bound.get(name)
    if bound is None:
        return None
    check(what, bound, Kind("a number, or a number for each column", lambda v: is_number(v) and np.isfinite(v)))
    return float(bound)


def check_clip(clip: Any) -> None:
    """Raise ParameterError unless `clip` is a bool or an increasing pair of finite numbers."""
    if isinstance(clip, bool):
        return
    pair = isinstance(clip, (tuple, list)) and len(clip) == 2 and all(map(is_number, clip))
    if not pair or not -np.inf < clip[0] < clip[1] < np.inf:
        raise ParameterError("clip must be True, False or two increasing numbers")
