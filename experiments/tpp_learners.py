"""Learners that read released cells: joined categories as shares, constant columns dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.notation import MISSING, split_concatenation

Floats = NDArray[np.float64]


class Encoder:
    """Cells to numbers, for released and raw records alike.

    A joined category such as ``nurse+cook`` is half of each; a raw record is one whole.
    Columns that are constant in the table it was fitted to are dropped: linear models
    cannot use them.
    """

    def fit(self, frame: Any) -> Encoder:
        """Learn categories, constant columns, means and spreads of a table."""
        self.parts: list[tuple[str, list[str] | None]] = []
        for name in frame.columns:
            column = frame[name]
            if column.nunique(dropna=False) < 2:
                continue
            if _is_number(column):
                self.parts.append((name, None))
                continue
            found = {c for text in column.unique() for c, _ in _cells(text)}
            self.parts.append((name, sorted(found)))
        return self

    def transform(self, frame: Any) -> EncodedRecords:
        """The matrix of numbers and the matrices of category shares."""
        n = len(frame)
        numbers = [frame[name].to_numpy(float) for name, found in self.parts if found is None]
        shares = [_shares(frame[name], found) for name, found in self.parts if found is not None]
        return EncodedRecords(np.column_stack(numbers) if numbers else np.empty((n, 0)), shares)


class EncodedRecords:
    """Records as a learner reads them: numbers, and shares of categories."""

    def __init__(self, numbers: Floats, shares: list[Floats]) -> None:
        self.numbers, self.shares = numbers, shares

    @property
    def matrix(self) -> Floats:
        """All columns side by side."""
        return np.column_stack([self.numbers, *self.shares])


def _is_number(column: Any) -> bool:
    return bool(column.dtype.kind in "iufb")


def _cells(text: Any) -> list[tuple[str, int]]:
    if text is None or text != text:
        return [(MISSING, 1)]
    return [(MISSING if c is None else c, w) for c, w in split_concatenation(str(text))]


def _shares(column: Any, known: list[str]) -> Floats:
    place = {c: i for i, c in enumerate(known)}
    codes, texts = column.factorize(use_na_sentinel=False)
    table = np.zeros((len(texts), len(known)))
    for row, text in zip(table, texts, strict=True):
        cells = _cells(text)
        total = sum(w for _, w in cells)
        for category, weight in cells:
            if category in place:
                row[place[category]] += weight / total
    return table[codes]


class Bayes:
    """Naive Bayes: normal numbers, multinomial categories with one added to every count."""

    def fit(self, X: EncodedRecords, y: Any) -> Bayes:
        """Estimate priors, means, variances and category shares per class."""
        self.classes, codes = np.unique(np.asarray(y, dtype=str), return_inverse=True)
        self.prior = np.log(np.bincount(codes) / len(codes))
        groups = [codes == c for c in range(len(self.classes))]
        floor = 1e-9 * X.numbers.var(axis=0).max(initial=1.0)
        self.mean = [X.numbers[g].mean(axis=0) for g in groups]
        self.var = [X.numbers[g].var(axis=0) + floor for g in groups]
        self.logs = []
        for share in X.shares:
            sums = np.array([share[g].sum(axis=0) for g in groups]) + 1
            self.logs.append(np.log(sums / sums.sum(axis=1, keepdims=True)))
        return self

    def predict(self, X: EncodedRecords) -> Any:
        """The likeliest class."""
        told = np.tile(self.prior, (len(X.numbers), 1))
        for c in range(len(self.classes)):
            apart = (X.numbers - self.mean[c]) ** 2 / self.var[c] + np.log(self.var[c])
            told[:, c] -= apart.sum(axis=1) / 2
        for share, log in zip(X.shares, self.logs, strict=True):
            told += share @ log.T
        return self.classes[told.argmax(axis=1)]


class _Sklearn:
    """A scikit-learn learner on all columns side by side.

    With `weighted`, the names of its steps that take weights, equal records are one of their
    number: released tables have few different ones.
    """

    def __init__(self, learner: Any, weighted: Sequence[str] = ()) -> None:
        self.learner, self.weighted = learner, weighted

    def fit(self, X: EncodedRecords, y: Any) -> _Sklearn:
        """Fit; without any column left, guess the majority or the mean."""
        self.empty: Any = None
        if X.matrix.shape[1] == 0:
            self.empty = y.mode()[0] if y.dtype.kind not in "iuf" else float(y.mean())
        elif self.weighted:
            first, counts = _distinct(X.matrix, y)
            weights = {f"{step}__sample_weight": counts for step in self.weighted}
            self.learner.fit(X.matrix[first], y.iloc[first], **weights)
        else:
            self.learner.fit(X.matrix, y)
        return self

    def predict(self, X: EncodedRecords) -> Any:
        """The learner's predictions."""
        if self.empty is not None:
            return np.full(len(X.numbers), self.empty)
        return self.learner.predict(X.matrix)


def _distinct(matrix: Floats, y: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first of equal records, responses included, and how many are equal to each."""
    codes = y.factorize()[0].astype(float)
    rows = np.ascontiguousarray(np.column_stack([matrix, codes])) + 0.0
    texts = rows.view(f"V{rows.shape[1] * rows.itemsize}").ravel()
    _, first, counts = np.unique(texts, return_index=True, return_counts=True)
    order = np.argsort(first)
    return first[order], counts[order]


def tree(classes: bool) -> Callable[[int], Any]:
    """A maker of trees with a given number of leaves."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if classes:
        return lambda leaves: _Sklearn(
            DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=leaves, random_state=0)
        )
    return lambda leaves: _Sklearn(DecisionTreeRegressor(max_leaf_nodes=leaves, random_state=0))


def svm(leaves: int) -> Any:
    """A linear support vector machine on standardised columns."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    made = make_pipeline(StandardScaler(), LinearSVC(dual=False, tol=1e-3))
    return _Sklearn(made, weighted=list(made.named_steps))


def linear_model(leaves: int) -> Any:
    """Ordinary least squares."""
    from sklearn.linear_model import LinearRegression

    return _Sklearn(LinearRegression())
