"""Estimate the original table of counts from a release made by randomized response."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns.column import quantile_bins
from ..columns.table import Table
from ..errors import InputError, ParameterError, PlanError, reprs
from ..files import read_text
from ..io.read import as_spelled, read
from ..kernels import Floats
from ..methods.randomized_response import released_codes
from ..methods.response.rr_matrix import Channel, clipped, em, projected
from ..notation import interval, number
from ..plan import Plan, Randomize, Randomized
from ..plan.fields import read as read_record
from ..plan.records import parsed
from ..progress import caution
from ..texts import refusal
from ..validation import MAPPING, NAMES, NUMBER, TEXT, check_one_of, takes
from .folder import AUDIT, altered, is_table, released_file, whole

Estimator = Literal["em", "projection", "inversion"]
About = Literal["table", "population"]

PUBLIC = "public.json"
_LARGE = 2_000_000
_MOST_CELLS = 50_000_000
_BINS = 8


@dataclass(frozen=True)
class CountEstimate:
    """An estimated count with its standard error and confidence interval."""

    count: float
    se: float
    lo: float
    hi: float


@takes(columns=NAMES, estimator=TEXT)
def reconstruct(
    release: Any, parameters: Any = None, *, columns: Sequence[str] | None = None, estimator: Estimator | None = None
) -> Reconstruction:
    """Estimate the original table of counts from a randomized release.

    Parameters
    ----------
    release : Release, folder, path or frame
        The release as received. A folder contains the table and ``public.json``.
    parameters : path, mapping or Plan, optional
        The distortion parameters (``public.json``) where `release` is a table only.
    columns : sequence of str, optional
        The columns of the table; by default the randomized and the sensitive ones.
    estimator : {"em", "projection", "inversion"}, optional
        How the full table is estimated: early-stopped EM (default, the most accurate),
        the simplex projection (default above 2 million cells), or the paper's inversion
        with negative cells set to 0.

    Returns
    -------
    Reconstruction

    Raises
    ------
    PlanError
        There are no distortion parameters, or they are not of randomized response.
    ParameterError
        A column cannot be used, or the table would have too many cells.

    References
    ----------
    Guo, Ying & Wu, equation 2 (inversion and its covariance); iterative Bayes (EM).

    Examples
    --------
    >>> import warnings, hedgerow as hr
    >>> people = hr.datasets.make_people(2000, seed=1)
    >>> schema = hr.Schema(quasi=["sex", "region"], sensitive=["job"])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     release = hr.protect(people, schema, hr.RandomizedResponse(l=2))
    >>> found = hr.reconstruct(release)
    >>> round(float(found.shares.sum()), 6)
    1.0
    """
    table, public = _inputs(release, parameters)
    described, sensitive = _described(public)
    randomized = {c.name: c for c in described}
    categories = {name: list(map(str, c.categories)) for name, c in randomized.items()}
    table = as_spelled(table, {name: c.kind for name, c in randomized.items()}, categories)
    if columns is None:
        columns = list(dict.fromkeys([*randomized, *(n for n in sensitive if n in table.names)]))
    if not columns:
        raise ParameterError("there is no column to reconstruct")
    used = [_column(table, randomized, name) for name in columns]
    cells = math.prod(c.d for c, _ in used)
    if cells > _MOST_CELLS:
        raise ParameterError(f"these have {cells:,} cells, over {_MOST_CELLS:,}", hint="name fewer with columns=[...]")
    codes = np.zeros(table.n_rows, dtype=np.int64)
    for column, part in used:
        if np.any(part >= column.d):
            values = int((part >= column.d).sum())
            raise InputError(
                f"column {column.name!r} holds {values:,} values that its distortion parameters do not list",
                hint="the table and public.json belong together",
            )
        # one number for each combination of categories
        codes *= column.d
        codes += part
    counts = np.bincount(codes, minlength=cells).astype(float)
    # EM visits every cell in each of its steps
    default = "em" if cells <= _LARGE else "projection"
    return Reconstruction(tuple(c for c, _ in used), counts, estimator or default)


class Reconstruction:
    """An estimated table of counts, as returned by `reconstruct`.

    Attributes
    ----------
    columns : tuple of str
    categories : dict of str to tuple
    n : int
        Records.
    shares : array with one axis per column
        Estimated proportions, at least 0, with sum 1.
    """

    def __init__(self, columns: tuple[Randomized, ...], counts: Floats, estimator: str) -> None:
        self._columns = columns
        self.columns = tuple(c.name for c in columns)
        self.categories = {c.name: c.categories for c in columns}
        self.n = int(counts.sum())
        self.estimator = estimator
        channel = self._channel(self.columns)
        self._observed = counts.reshape(channel.dims)
        check_one_of("estimator", estimator, get_args(Estimator))
        if estimator == "em":
            shares = em(channel, counts)
        else:
            raw = channel.inverse(counts / self.n)
            shares = projected(raw) if estimator == "projection" else clipped(raw)
        self.shares = shares.reshape(channel.dims)

    def __repr__(self) -> str:
        names = " x ".join(self.columns)
        return f"Reconstruction({names}: {self.shares.size:,} cells, {self.n:,} records)"

    def table(self, *, level: float = 0.95, about: About = "table") -> pa.Table:
        """Return every cell of the table with its estimated count, standard error and interval.

        ``count`` comes from the chosen estimator and is at least 0; ``unbiased``, standard errors
        and intervals come from the inversion, whose cells may be negative.
        """
        return self._answer(self.columns, self.shares * self.n, level, about)

    @takes(columns=NAMES, level=NUMBER)
    def group_by(self, columns: Sequence[str], *, level: float = 0.95, about: About = "table") -> pa.Table:
        """Return SELECT columns, COUNT(*) GROUP BY columns, with intervals.

        The marginal is inverted by itself (its noise does not depend on the other columns). In
        ``count`` negative cells are set to 0 and the others scaled down to the number of records;
        this reads well as a table, but is biased upwards in rare cells. ``unbiased`` is the plain
        estimate, including negative cells: use it for sums and means.

        Parameters
        ----------
        columns : sequence of str
        level : float
            Confidence level of the intervals, in (0, 1).
        about : {"table", "population"}
            "table": the error of estimating the protected table. "population": also
            that its people are a sample (equation 2).

        Returns
        -------
        pyarrow.Table
            The columns, then count, unbiased, se, lo, hi.
        """
        names = self._check(columns)
        raw = self._channel(names).inverse(self._marginal(names).ravel())
        return self._answer(names, clipped(raw) * self.n, level, about)

    @takes(where=MAPPING, level=NUMBER)
    def count(self, where: Mapping[str, object], *, level: float = 0.95, about: About = "table") -> CountEstimate:
        """Return SELECT COUNT(*) for the records whose named columns have one of the given values.

        Parameters
        ----------
        where : mapping of str to a category or a list of categories
            Released categories (a bin's label for numbers); None is missing.

        Examples
        --------
        ``found.count({"sex": "female", "job": ["nurse", "cook"]})``
        """
        names = self._check(tuple(where))
        # the count, and the sum of squared weights for its variance, mode by mode
        first = second = self._marginal(names)
        for name in reversed(names):
            column = self._by_name(name)
            values = where[name]
            values = values if isinstance(values, (list, tuple, set)) else [values]
            if unknown := [v for v in values if v not in column.categories]:
                raise ParameterError(f"column {name!r} lacks {len(unknown)} of the values asked for")
            selected = np.array([category in values for category in column.categories], float)
            # P^-1 is symmetric: the weight of a released category is P^-1 applied to the selection.
            t, d = column.t, column.d
            weight = selected / t - (1 - t) / (d * t) * selected.sum()
            first, second = first @ weight, second @ weight**2
        estimate = float(first.sum())  # without a condition all that there are
        spread = float(second.sum()) - (estimate if about == "table" else estimate**2 / self.n)
        se = math.sqrt(max(spread, 0.0))
        z = _z(level)
        return CountEstimate(estimate, se, max(estimate - z * se, 0.0), min(estimate + z * se, float(self.n)))

    def _by_name(self, name: str) -> Randomized:
        return self._columns[self.columns.index(name)]

    def _channel(self, names: Sequence[str]) -> Channel:
        chosen = [self._by_name(n) for n in names]
        return Channel(tuple(c.d for c in chosen), np.array([c.t for c in chosen]))

    def _marginal(self, names: Sequence[str]) -> Floats:
        others = tuple(i for i, n in enumerate(self.columns) if n not in names)
        remaining = [n for n in self.columns if n in names]
        return np.ascontiguousarray(np.transpose(self._observed.sum(axis=others), [remaining.index(n) for n in names]))

    def _check(self, columns: Iterable[str]) -> tuple[str, ...]:
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        if (unknown := [n for n in names if n not in self.columns]) or len(set(names)) != len(names):
            wrong = reprs(unknown or names)
            raise ParameterError(**refusal("unknown_columns", "release", names=wrong, columns=", ".join(self.columns)))
        return names

    def _answer(self, names: Sequence[str], counts: Floats, level: float, about: About) -> pa.Table:
        z = _z(level)
        channel = self._channel(names)
        observed = self._marginal(names).ravel()
        raw = channel.inverse(observed)
        check_one_of("about", about, ("table", "population"))
        # equation 2: the variance of the inversion, without or with that of sampling
        fixed = raw if about == "table" else raw**2 / self.n
        se = np.sqrt(np.maximum(channel.inverse_square(observed) - fixed, 0.0))
        grid = np.indices(channel.dims).reshape(len(names), -1)
        cells = {n: _labels(self.categories[n]).take(pa.array(at)) for n, at in zip(names, grid, strict=True)}
        lo, hi = (np.clip(end, 0, self.n) for end in (raw - z * se, raw + z * se))
        return pa.table({**cells, "count": counts.ravel(), "unbiased": raw, "se": se, "lo": lo, "hi": hi})


def _z(level: float) -> float:
    from scipy.special import ndtri

    if not 0 < level < 1:
        raise ParameterError(f"level must lie in (0, 1), not {level!r}")
    return float(ndtri(0.5 + level / 2))


def _labels(categories: Sequence[str | float | None]) -> pa.Array:
    if all(c is None or isinstance(c, float) for c in categories):
        return pa.array(list(categories), pa.float64())
    return pa.array([number(c) if isinstance(c, float) else c for c in categories], pa.string())


def _inputs(release: Any, parameters: Any) -> tuple[Table, Mapping[str, object]]:
    """Return the released table and its distortion parameters."""
    if isinstance(release, (str, Path)) and not Path(release).exists():
        raise InputError(f"there is no file or folder {release}")
    if isinstance(release, (str, Path)) and Path(release).is_dir() and not is_table(Path(release)):
        folder = Path(release)
        table = whole(released_file(folder))
        if message := altered(folder, AUDIT):
            caution(message)
        if parameters is None and not (folder / PUBLIC).exists():
            raise PlanError(
                f"{folder} is no randomized release: it has no public.json with distortion parameters",
                hint="only releases by randomized response can be reconstructed (--method rr, RandomizedResponse)",
            )
        return table, _data(folder / PUBLIC if parameters is None else parameters)
    if parameters is not None:
        return whole(release), _data(parameters)
    if hasattr(release, "plan") and hasattr(release, "table"):
        return read(release.table), _data(release.plan)
    raise PlanError("a table alone cannot be reconstructed", hint="give its parameters too: parameters='public.json'")


def _data(parameters: Any) -> Mapping[str, object]:
    if isinstance(parameters, Plan):
        return parameters.public()
    if isinstance(parameters, Mapping):
        return parameters
    data = parsed(read_text(parameters, "the distortion parameters", PlanError), str(parameters))
    return data if isinstance(data, dict) else {}


def _described(public: Mapping[str, Any]) -> tuple[tuple[Randomized, ...], list[str]]:
    """Return the randomized columns, and the names of the sensitive columns."""
    recoding = public.get("recoding")
    if not isinstance(recoding, Mapping) or recoding.get("kind") != Randomize.kind:
        raise PlanError(
            "these are not the distortion parameters of randomized response",
            hint="public.json of a release made by RandomizedResponse has them",
        )
    try:
        randomized = read_record(Randomize, {k: v for k, v in recoding.items() if k != "kind"}).columns
        listed = public.get("columns", [])
        return randomized, [str(c["name"]) for c in listed if c.get("role") == "sensitive"]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise PlanError("the distortion parameters are damaged") from None


def _column(table: Table, randomized: Mapping[str, Randomized], name: str) -> tuple[Randomized, NDArray[Any]]:
    """Return a column's categories and each row's code; a column that was not randomized has p = 1."""
    if name in randomized:
        column = randomized[name]
        if name not in table.names:
            raise InputError(f"the table lacks the randomized column {name!r}")
        return column, released_codes(table, column)
    values = table.column(name)
    codes, labels = values.codes, list(values.values)
    # numbers with many values are binned: most values would have only one or two records
    if values.is_number and (values.n_values > 64 or values.unit):
        cut = quantile_bins(values.value_counts, _BINS)
        codes = cut.codes(values.codes)
        labels = [interval(a, b, values.unit) for a, b in zip(cut.lo, cut.hi, strict=True)]
    elif values.is_number:
        labels = [number(v) for v in labels]
    categories = (*labels, None) if values.has_missing else tuple(labels)
    return Randomized(name, "sensitive", "categorical", "", categories, 1.0), codes
