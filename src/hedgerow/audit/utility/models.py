"""What a learner loses when it learns from the release instead of the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...columns.column import Column
from ...errors import InputError, ParameterError
from ...measures import FloatArray, IntArray
from ..attacks.learners import quiet
from ..design_matrix import design_known, design_released, known_rows, shown_values, true_values
from ..table_pair import Pair, UnpairedTables, evenly

MAX_ROWS = 10_000


def default_estimators(number: bool, *, random_state: int = 0) -> dict[str, Any]:
    """Return the learners of the papers' experiments, and the usual ones beside them."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    boost: dict[str, Any] = {"max_iter": 50, "early_stopping": False, "random_state": random_state}
    if number:
        # a ridge keeps indicators that a release never shows apart from pulling against each other
        return {
            "linear": Ridge(alpha=1.0),
            "tree": DecisionTreeRegressor(min_samples_leaf=10, random_state=random_state),
            "gradient boosting": HistGradientBoostingRegressor(**boost),
        }
    boost |= {"max_iter": 10, "learning_rate": 0.3}
    return {
        "logistic": LogisticRegression(max_iter=100),
        "naive Bayes": GaussianNB(var_smoothing=1e-3),
        "tree": DecisionTreeClassifier(min_samples_leaf=10, random_state=random_state),
        "gradient boosting": HistGradientBoostingClassifier(**boost),
    }


def learning(
    pair: Pair,
    *,
    folds: int = 3,
    estimators: Mapping[str, Any] | None = None,
    random_state: int = 0,
    progress: Any = None,
) -> list[dict[str, Any]]:
    """Return cross-validated learning from a released file.

    For every sensitive column: learn from the released training folds, predict
    the original rows of the test fold; the same with the original training
    folds; and a constant guess (the mean or the majority of the training
    folds). Rows that the release left out are missing from its training folds
    alone. The release was made with the test fold in view; cross-validating a
    pipeline that begins with the method anonymizes the training folds alone.

    Parameters
    ----------
    pair : Pair
        The original and the release.
    folds : int, at least 2
        Number of folds.
    estimators : mapping of str to scikit-learn estimator, optional
        Regressors or classifiers as the column needs; by default linear
        (ridge 1), tree, logistic, naive Bayes and gradient boosting.
    random_state : int
        Deals people, in the order of their values, into folds.

    Returns
    -------
    list of dict
        One a column and estimator: errors (numbers) or accuracy (categories)
        for ``release``, ``original`` and ``constant``.
    """
    rows, pairs = _people(pair)
    if len(rows) < folds:
        raise InputError(
            f"learning is compared in {folds} parts of the people, and there are {len(rows):,}",
            hint="leave it out (learning=False, --no-learning)",
        )
    if folds < 2:
        raise ParameterError(f"folds must be at least 2, not {folds}")
    fold = _deal(len(rows), folds, random_state)
    training = pairs >= 0
    whole, released = pair.unchanged, pairs[training]
    x = design_known(pair.released_quasi, known_rows(whole.released_quasi, rows))
    x_released = design_released(pair.released_quasi, released)
    splits = [((fold != f)[training], fold != f, fold == f) for f in range(folds)]
    out = []
    for own, after in zip(whole.sensitive, pair.released_sensitive, strict=True):
        y, z = _responses(own, after)
        models = _chosen(estimators, own.is_number, random_state)
        original = x, y[rows]
        out += _learn(own, models, (x_released, z[released]), original, original, splits, progress)
    return out


def _learn(
    own: Column,
    models: Mapping[str, Any],
    released: tuple[FloatArray, FloatArray],
    original: tuple[FloatArray, FloatArray],
    people: tuple[FloatArray, FloatArray],
    splits: Sequence[tuple[Any, Any, Any]],
    progress: Any,
) -> list[dict[str, Any]]:
    """Return the errors of every model about `people`, averaged over splits.

    A split chooses the rows that are learnt from, released and original, and the people to test on.
    """
    out = []
    for name, model in models.items():
        if progress:
            progress(f"learning {own.name}: {name}")
        parts = [
            _one_fold(
                model,
                own.is_number,
                (released[0][shown], released[1][shown]),
                (original[0][train], original[1][train]),
                people[0][test],
                people[1][test],
            )
            for shown, train, test in splits
        ]
        out.append(_summary(own, name, parts))
    return out


def learning_apart(
    tables: UnpairedTables, *, folds: int = 3, random_state: int = 0, progress: Any = None
) -> list[dict[str, Any]]:
    """Return `learning` where rows are not paired: from all released rows, and from the original's.

    Both are asked about people who took no part. Without any, both are asked about one fold of
    the members after the other, which the original's learners have not seen; the release was
    made with all of them in view.
    """
    quasi, strangers = tables.released_quasi, tables.strangers
    released = evenly(np.argsort(tables.records.labels, kind="stable"), MAX_ROWS)
    rows = tables.members.some(MAX_ROWS)
    x_released = design_released(quasi, released)
    x = design_known(quasi, tables.members.known(quasi, rows))
    every = slice(None)
    fold = _deal(len(rows), min(folds, len(rows)), random_state)
    splits: list[tuple[Any, Any, Any]] = [
        (every, (fold != f) | (len(rows) < 2), fold == f) for f in np.unique(fold)
    ]
    if strangers is not None:
        others = strangers.some(MAX_ROWS)
        x_others = design_known(quasi, strangers.known(quasi, others))
        splits = [(every, every, every)]
    out = []
    for j, (own, after) in enumerate(zip(tables.sensitive, tables.released_sensitive, strict=True)):
        y, z = _responses(own, after)
        people = original = x, y[rows]
        if strangers is not None:
            people = x_others, _numbers(strangers.sensitive[j])[others]
        models = default_estimators(own.is_number, random_state=random_state)
        out += _learn(own, models, (x_released, z[released]), original, people, splits, progress)
    return out


def _people(pair: Pair) -> tuple[IntArray, IntArray]:
    """Return rows of the original in an order that their values give, and their pairs; -1 for none."""
    at = np.full(pair.original.n_rows, -1)
    at[pair.rows] = np.arange(pair.n_rows)
    order = pair.rows[pair.canonical] if not pair.suppressed else pair.unchanged.canonical
    rows = evenly(order, MAX_ROWS)
    return rows, at[rows]


def _deal(n: int, folds: int, random_state: int) -> IntArray:
    """Return a balanced fold for each of n ordered rows."""
    fold = np.arange(n) % folds
    return np.random.default_rng(random_state).permutation(fold)


def _chosen(
    estimators: Mapping[str, Any] | None, number: bool, random_state: int
) -> dict[str, Any]:
    if estimators is None:
        return default_estimators(number, random_state=random_state)
    from sklearn.base import is_classifier

    return {name: model for name, model in estimators.items() if is_classifier(model) != number}


def _responses(own: Column, after: Column) -> tuple[FloatArray, FloatArray]:
    """Return the true and the released target; categories as the original's codes."""
    codes, values = shown_values(own, after)
    shown = values[codes] if own.is_number else codes.astype(np.float64)
    return _numbers(own), shown


def _numbers(own: Column) -> FloatArray:
    return true_values(own).astype(np.float64)


Sample = tuple[FloatArray, FloatArray]


def _one_fold(
    model: Any, number: bool, shown: Sample, true: Sample, asked: FloatArray, y: FloatArray
) -> dict[str, npt.NDArray[Any]]:
    """Return the truth and predictions of a test fold: learnt from the release, the original, nothing."""
    known = np.isfinite(y)
    guesses = {"truth": y[known]}
    for name, (x, z) in (("release", shown), ("original", true)):
        rows = np.isfinite(z)
        guesses[name] = _predict(model, x[rows], z[rows], asked[known])
    z = true[1][np.isfinite(true[1])]
    if number:
        constant = float(z.mean()) if len(z) else 0.0
    else:
        values, counts = np.unique(z, return_counts=True)
        constant = float(values[counts.argmax()]) if len(values) else 0.0
    guesses["constant"] = np.full(int(known.sum()), constant)
    return guesses


def _predict(model: Any, x: FloatArray, z: FloatArray, test: FloatArray) -> FloatArray:
    from sklearn.base import clone, is_classifier

    if len(z) == 0 or len(test) == 0:
        return np.zeros(len(test))
    if is_classifier(model) and (z == z[0]).all():
        return np.full(len(test), z[0])
    with quiet():
        return np.asarray(clone(model).fit(x, z).predict(test), np.float64)


def errors(truth: FloatArray, guess: FloatArray) -> dict[str, float | None]:
    """Return the errors of numeric predictions.

    ``mape`` (formula 11) runs over the truths that are not 0; ``zero_share`` is
    what that leaves out; ``relative_mae`` is the mean absolute error over the
    mean absolute truth; ``r2`` may be negative.
    """
    away = np.abs(guess - truth)
    nonzero = truth != 0
    size, spread = float(np.abs(truth).mean()), float(((truth - truth.mean()) ** 2).sum())
    return {
        "mape": float((away[nonzero] / np.abs(truth[nonzero])).mean()) if nonzero.any() else None,
        "relative_mae": float(away.mean()) / size if size > 0 else None,
        "r2": 1 - float((away**2).sum()) / spread if spread > 0 else None,
        "zero_share": float(1 - nonzero.mean()),
    }


def _summary(column: Column, name: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the averages over the folds."""
    out: dict[str, Any] = {"target": column.name, "estimator": name, "folds": len(parts)}
    for source in ("release", "original", "constant"):
        if column.is_number:
            found = [errors(p["truth"], p[source]) for p in parts if len(p["truth"])]
        else:
            found = [
                {"accuracy": float((p["truth"] == p[source]).mean())}
                for p in parts
                if len(p["truth"])
            ]
        out[source] = {key: _mean([f[key] for f in found]) for key in (found[0] if found else {})}
    return out


def _mean(values: list[Any]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.mean(known)) if known else None
