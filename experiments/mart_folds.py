"""What the experiments of Li & Sarkar compare, released and learnt from fold by fold."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.backends import transform
from hedgerow.backends.partitions import route
from hedgerow.columns.table import Table
from hedgerow.io.read import read
from hedgerow.measures import FloatArray, SensitiveCounts, group
from hedgerow.measures.disclosure import rsd
from hedgerow.measures.guarantees import ColumnGuarantee, known
from hedgerow.methods.full_domain import Datafly
from hedgerow.methods.mart import MART
from hedgerow.methods.mondrian import Mondrian
from hedgerow.methods.partition import PartitionMethod
from hedgerow.plan import Partition

from .folds import (
    LEARNERS,
    Errors,
    Feature,
    RemainingUncertainty,
    by_group,
    errors,
    folds,
    predict,
    remaining_uncertainty,
)
from .mart_sets import Experiment, age_hierarchy
from .regression_mondrian import regression_mondrian

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

RM, RM_BINARY = "Regression Mondrian", "Regression Mondrian, binary"
DEFAULT, STRICT, PAPER = "MART", "MART max_disclosure=0.3", "MART alpha=0.05"
BASELINE, ORIGINAL = "Datafly", "original"


@dataclass
class FoldResults:
    """What one method gave at one k, fold by fold: one row of a results table."""

    left: list[RemainingUncertainty] = field(default_factory=list)
    found: dict[str, list[Errors]] = field(default_factory=lambda: {n: [] for n in LEARNERS})
    seconds: float = 0.0

    def add(
        self, left: RemainingUncertainty | None, truth: Floats, guesses: dict[str, Floats]
    ) -> None:
        """Take in a fold: what its groups leave uncertain, and how far the guesses were off."""
        if left is not None:
            self.left.append(left)
        for name, guess in guesses.items():
            self.found[name].append(errors(truth, guess))

    def by_fold(self, learner: str) -> list[float]:
        """MAPE of each fold."""
        return [e.mape for e in self.found[learner]]

    def by_record(self, learner: str) -> Floats:
        """Share missed, test record by test record."""
        return np.concatenate([e.each for e in self.found[learner]])

    def mape(self, learner: str) -> float:
        """MAPE, averaged over folds."""
        return float(np.mean(self.by_fold(learner)))

    @property
    def rsd(self) -> float:
        """Formula (10), averaged over folds."""
        return float(np.mean([x.rsd for x in self.left]))

    def record(self) -> dict[str, Any]:
        """The row of a results table: means over folds, and the worst RSD of all folds."""
        row: dict[str, Any] = dict.fromkeys(("groups", "rsd", "rsd_records", "rsd_worst"))
        if self.left:
            row["groups"] = round(float(np.mean([x.groups for x in self.left])), 1)
            row["rsd"] = self.rsd
            row["rsd_records"] = float(np.mean([x.records for x in self.left]))
            row["rsd_worst"] = min(x.worst for x in self.left)
        row |= {f"mape_{name}": self.mape(name) for name in LEARNERS}
        return row | {
            f"mae_{name}": float(np.mean([e.mae for e in self.found[name]])) for name in LEARNERS
        }


@dataclass(frozen=True)
class Fold:
    """A fold: which records train, and their table, encoded once for all methods."""

    training: Bools
    table: Table

    @classmethod
    def of(cls, data: Experiment, training: Bools) -> Fold:
        """The fold in which the given records train."""
        return cls(training, read(data.table.filter(pa.array(training))))


Release = tuple[list[Feature], Ints]
"""Released columns, and the group of every record."""


def released_by(
    method: PartitionMethod, data: Experiment, fold: Fold, quasi: Sequence[str] | None = None
) -> Release:
    """Fit a tree method to the training records; recode all of them by its plan."""
    schema = data.schema if quasi is None else data.schema.replace(quasi=tuple(quasi))
    method.fit_table(fold.table, schema)
    recoding = method.plan_.recoding
    assert isinstance(recoding, Partition)
    columns = [data.people.column(c.name, kind=c.kind) for c in recoding.columns]
    leaf = route(recoding, columns).astype(np.int64)
    cells: list[Floats | list[str]] = []
    for column, places in zip(recoding.columns, recoding.leaf_cells, strict=True):
        labels = [column.cells[i].label for i in places]
        number = column.kind == "numeric"
        cells.append(np.array(labels, float) if number else [str(x) for x in labels])
    return by_group(cells, leaf), leaf


@known
@dataclass(frozen=True)
class LeastRSD(ColumnGuarantee):
    """Every group leaves at least `minimum` of the public squared error: RSD, formula (10).

    Parameters
    ----------
    minimum : float
        In [0, 1).
    """

    kind: ClassVar[str] = "rsd"
    broken_words: ClassVar[str] = "leave less"
    worst_words: ClassVar[str] = "the least in"
    title: ClassVar[str] = "RSD"
    bound: ClassVar[str] = "minimum"
    minimum: float

    @property
    def lowest_is_worst(self) -> bool:
        """A group must reach the limit."""
        return True

    def reached(self, column: SensitiveCounts) -> FloatArray:
        """The RSD of every group."""
        return rsd(column)

    def words(self) -> str:
        """What the least RSD promises."""
        return f"every group leaves at least {self.minimum:g} of the public squared error"


class PapersMondrian(Mondrian):
    """Mondrian with exact means, as the papers have them."""

    rounds = False


class CappedMART(MART):
    """MART with exact means, whose `max_disclosure` is 1 - RSD of the papers: squared errors alone, without floor."""

    rounds = False

    def _cap(self) -> ColumnGuarantee | None:
        d = self.max_disclosure
        return None if d is None or d >= 1 else LeastRSD(1 - d)


def mart(k: int, **rule: Any) -> MART:
    """MART with numbers released as group means, as in the papers."""
    return CappedMART(k=k, numeric="mean", **rule)


def by_mondrian(data: Experiment, fold: Fold, k: int) -> Release:
    """Regression Mondrian with one branch per child of a category's hierarchy."""
    columns = data.columns
    hierarchies = [data.hierarchies.get(c.name) for c in columns]
    made = regression_mondrian(columns, hierarchies, data.responses, fold.training, k)
    return by_group(made.cells, made.leaf), made.leaf


def by_binary_mondrian(data: Experiment, fold: Fold, k: int) -> Release:
    """Regression Mondrian as the journal describes it: binary splits, hierarchies for recoding."""
    method = PapersMondrian(k, objective="regression", numeric="mean", categorical="hierarchy")
    schema = data.schema.replace(hierarchies=data.hierarchies)
    return released_by(method, replace(data, schema=schema), fold)


def _by_datafly(data: Experiment, fold: Fold, k: int) -> Release:
    ages = data.people.column("age").values
    hierarchies = {**data.hierarchies, "age": age_hierarchy(ages)}
    # Published: generalise until at most k records are left over, and suppress those.
    method = Datafly(k=k, hierarchies=hierarchies, suppression=k / fold.table.n_rows)
    method.fit_table(fold.table, data.schema)
    recoded = transform(method.plan_, data.people).columns
    table = data.table
    features = []
    for name in data.schema.quasi:
        values = recoded.get(name, table.column(name))
        column = read(pa.table({name: values})).column(name, kind="categorical")
        features.append(Feature(list(column.values), column.codes.astype(np.int64)))
    return features, group([f.codes for f in features]).labels.astype(np.int64)


def unchanged(data: Experiment) -> list[Feature]:
    """The quasi-identifiers as they are."""
    made = []
    for column in data.columns:
        values = np.asarray(column.values, float) if column.is_number else list(column.values)
        made.append(Feature(values, column.codes.astype(np.int64)))
    return made


Releaser = Callable[[Experiment, Fold, int], Release]
METHODS: dict[str, Releaser] = {
    RM: by_mondrian,
    RM_BINARY: by_binary_mondrian,
    DEFAULT: lambda data, fold, k: released_by(mart(k), data, fold),
    STRICT: lambda data, fold, k: released_by(mart(k, max_disclosure=0.3), data, fold),
    PAPER: lambda data, fold, k: released_by(mart(k, max_disclosure=None, alpha=0.05), data, fold),
    BASELINE: _by_datafly,
}


def run(
    data: Experiment, methods: Sequence[str], ks: Sequence[int], n_folds: int, random_state: int
) -> dict[tuple[str, int], FoldResults]:
    """Every method at every k by the fold protocol; "original" stands at k = 0."""
    y, original = data.responses, unchanged(data)
    found: dict[tuple[str, int], FoldResults] = {}
    for training in folds(len(y), n_folds, random_state):
        truth, fold = y[~training], Fold.of(data, training)
        cell = found.setdefault((ORIGINAL, 0), FoldResults())
        cell.add(None, truth, predict(original, y, training))
        for name in methods:
            for k in ks:
                cell = found.setdefault((name, k), FoldResults())
                began = time.perf_counter()
                features, group = METHODS[name](data, fold, k)
                cell.seconds += time.perf_counter() - began
                _, inside = np.unique(group[training], return_inverse=True)
                left = remaining_uncertainty(inside, y[training])
                cell.add(left, truth, predict(features, y, training))
    return found
