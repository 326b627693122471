"""Errors of learners that learn from the release instead of the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from ...columns.column import Column
from ...errors import InputError
from ...json_types import Count, OrNull
from ...measures import Floats, Ints
from ...progress import Tell, telling
from ..design_matrix import design_known, design_released, shown_values, true_values
from ..figure import Figure
from ..learners import estimator, quiet
from ..non_members import FOLDS
from ..table_pair import Pair, TablePair, evenly

MAX_ROWS = 10_000


def default_estimators(number: bool, random_state: int) -> dict[str, Any]:
    """Return the estimators to compare, by name: regressors for numbers, classifiers for categories.

    They are those of the papers' experiments, and common ones.
    """
    from sklearn.naive_bayes import GaussianNB

    linear = estimator("linear", number)
    tree = estimator("tree", number, random_state=random_state).set_params(min_samples_leaf=10)
    boosting = estimator("gradient boosting", number, random_state=random_state, leaf=20)
    if number:
        return {"linear": linear, "tree": tree, "gradient boosting": boosting}
    return {
        "logistic": linear,
        "naive Bayes": GaussianNB(var_smoothing=1e-3),
        "tree": tree,
        # few and long steps: each grows one tree a category, in every fold
        "gradient boosting": boosting.set_params(max_iter=10, learning_rate=0.3),
    }


class Learning(TypedDict):
    """The errors of one estimator of a column, learned from the release, the original, or a constant guess."""

    target: str
    estimator: str
    folds: Count
    release: Mapping[str, OrNull[float]]
    original: Mapping[str, OrNull[float]]
    constant: Mapping[str, OrNull[float]]


def learning(sides: TablePair, *, random_state: int = 0, progress: Tell = telling(None)) -> list[Learning]:
    """Compare learning from a released file with learning from the original, by cross-validation.

    For every sensitive column: learn from the released training folds, predict
    the original rows of the test fold; the same with the original training
    folds; and a constant guess (the mean or the majority of the training
    folds). Rows that the release left out are missing from its training folds
    alone. The release was made with the test fold in view; cross-validating a
    pipeline that begins with the method anonymizes the training folds alone.

    If there are people who took no part, all rows teach and these people are the test, once. Otherwise, if rows
    are not paired, all released rows teach, and the members are the test, one fold after the other.

    Parameters
    ----------
    sides : TablePair
        The original and the release.
    random_state : int
        Decides how people, in the order of their values, are assigned to folds.
    progress : callable, optional
        Called with a line of text before each estimator.

    Returns
    -------
    list of dict
        One per column and estimator: errors (numbers) or accuracy (categories) for ``release``, ``original``
        and ``constant``, and the number of ``folds``: 1 if people who took no part are the test.
    """
    quasi, members, strangers = sides.released_quasi, sides.members, sides.strangers
    if isinstance(sides, Pair):
        members = sides.unchanged.members
        rows, pairs = _people(sides)
        if len(rows) < FOLDS:
            raise InputError(
                f"learning is compared in {FOLDS} parts of the people, and there are {len(rows):,}",
                hint="leave it out (learning=False, --no-learning)",
            )
        released = pairs[pairs >= 0]
    else:
        rows = members.some(MAX_ROWS)
        released = evenly(np.argsort(sides.records.labels, kind="stable"), MAX_ROWS)
    fold = np.random.default_rng(random_state).permutation(np.arange(len(rows)) % min(FOLDS, len(rows)))
    every = slice(None)
    splits: list[tuple[Any, Any, Any]] = [
        # unpaired rows belong to nobody, so all of them teach in every fold
        ((fold != f)[pairs >= 0] if sides.is_paired else every, (fold != f) | (len(rows) < 2), fold == f)
        for f in np.unique(fold)
    ]
    x_released, x = design_released(quasi, released), design_known(quasi, members.values_for(quasi, rows))
    tested, tested_rows, x_tested = members, rows, x
    if strangers is not None:
        tested, tested_rows, splits = strangers, strangers.some(MAX_ROWS), [(every, every, every)]
        x_tested = design_known(quasi, strangers.values_for(quasi, tested_rows))
    out = []
    for j, (column, after) in enumerate(zip(members.sensitive, sides.released_sensitive, strict=True)):
        codes, values = shown_values(column, after)
        z = (values[codes] if column.is_number else codes.astype(np.float64))[released]
        y = true_values(column, rows).astype(np.float64)
        y_tested = true_values(tested.sensitive[j], tested_rows).astype(np.float64)
        for name, model in default_estimators(column.is_number, random_state).items():
            progress(f"learning {column.name}: {name}")
            parts = [
                _one_fold(
                    model,
                    column.is_number,
                    (x_released[taught], z[taught]),
                    (x[train], y[train]),
                    x_tested[test],
                    y_tested[test],
                )
                for taught, train, test in splits
            ]
            out.append(_summary(column, name, parts))
    return out


def _people(pair: Pair) -> tuple[Ints, Ints]:
    """Return original rows, ordered by their values, and the released row paired with each; -1 for none."""
    at = np.full(pair.original.n_rows, -1)
    at[pair.rows] = np.arange(pair.n_rows)
    rows = evenly(pair.rows[pair.canonical] if not pair.suppressed else pair.unchanged.canonical, MAX_ROWS)
    return rows, at[rows]


Sample = tuple[Floats, Floats]


def _one_fold(
    model: Any, number: bool, released: Sample, original: Sample, people: Floats, y: Floats
) -> dict[str, npt.NDArray[Any]]:
    """Return a test fold's true values, and predictions from the release, from the original and by a constant."""
    is_known = np.isfinite(y)
    guesses = {"truth": y[is_known]}
    for name, (x, z) in (("release", released), ("original", original)):
        rows = np.isfinite(z)
        guesses[name] = _predict(model, x[rows], z[rows], people[is_known])
    z = original[1][np.isfinite(original[1])]
    if number:
        constant = float(z.mean()) if len(z) else 0.0
    else:
        values, counts = np.unique(z, return_counts=True)
        constant = float(values[counts.argmax()]) if len(values) else 0.0
    guesses["constant"] = np.full(int(is_known.sum()), constant)
    return guesses


def _predict(model: Any, x: Floats, z: Floats, test: Floats) -> Floats:
    from sklearn.base import clone, is_classifier

    if len(z) == 0 or len(test) == 0:
        return np.zeros(len(test))
    # classifiers refuse a single class
    if is_classifier(model) and (z == z[0]).all():
        return np.full(len(test), z[0])
    with quiet():
        return np.asarray(clone(model).fit(x, z).predict(test), np.float64)


def errors(truth: Floats, guess: Floats) -> dict[str, float | None]:
    """Return the errors of numeric predictions.

    ``mape`` (formula 11) is over the true values that are not 0; ``zero_share`` is
    the share left out; ``relative_mae`` is the mean absolute error over the
    mean absolute truth; ``r2`` may be negative.
    """
    misses = np.abs(guess - truth)
    nonzero = truth != 0
    size, spread = float(np.abs(truth).mean()), float(((truth - truth.mean()) ** 2).sum())
    return {
        "mape": float((misses[nonzero] / np.abs(truth[nonzero])).mean()) if nonzero.any() else None,
        "relative_mae": float(misses.mean()) / size if size > 0 else None,
        "r2": 1 - float((misses**2).sum()) / spread if spread > 0 else None,
        "zero_share": float(1 - nonzero.mean()),
    }


def _summary(column: Column, name: str, parts: list[dict[str, npt.NDArray[Any]]]) -> Learning:
    """Return the errors of one estimator, averaged over the folds."""

    def errors_of(source: str) -> dict[str, float]:
        by_fold = [
            errors(p["truth"], p[source]) if column.is_number else {"accuracy": float((p["truth"] == p[source]).mean())}
            for p in parts
            if len(p["truth"])
        ]
        return {key: _mean([f[key] for f in by_fold]) for key in (by_fold[0] if by_fold else {})}

    return {
        "target": column.name,
        "estimator": name,
        "folds": len(parts),
        "release": errors_of("release"),
        "original": errors_of("original"),
        "constant": errors_of("constant"),
    }


def _mean(values: list[Any]) -> Any:
    present = [v for v in values if v is not None]
    return float(np.mean(present)) if present else None


FIGURES = (
    Figure(
        {"utility.learning": Sequence[Learning]},
        lambda t: learning(t.sides, **t.drawing),
        needs=("learning", "sensitive columns"),
        empty=[],
    ),
)
