"""Shares of the disclosure by quasi-identifier, before and after a release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np

from ..json_types import OrNull
from ..measures import Floats, Ints
from .design_matrix import design_known, design_released, feature_columns, indicators, known_rows, shown_values
from .figure import Figure
from .table_pair import Pair, evenly

MAX_ROWS = 20_000
LEAF, LEAF_SHARE = 10, 0.002


class InfluenceShares(TypedDict):
    """A column's part of what a tree explains, and the part that is lost without the column."""

    tree: OrNull[float]
    without: OrNull[float]


class Influence(TypedDict):
    """One quasi-identifier's share of the disclosure, before and after the release."""

    column: str
    original: InfluenceShares
    release: InfluenceShares


def influence(pair: Pair) -> list[Influence]:
    """Return each quasi-identifier's share of the disclosure, before and after the release.

    A regression tree predicts all sensitive columns together, each scaled so
    that its whole squared error is 1 (categories as indicator columns, whose
    squared error is the Brier score). Two views of one column:

    - ``tree``: the error that its splits remove, as a share of the error that the
      whole tree removes;
    - ``without``: the part of the explained share that is lost when the tree is grown
      without the column (the gain of dropping it from the release). Columns
      with the same information hide each other here.

    Trees are evaluated on the half of the people that they were not trained on.

    Returns
    -------
    list of dict
        ``column``, and ``tree`` and ``without`` for ``original`` and
        ``release``; largest share of the release first.
    """
    if not pair.sensitive:
        return []
    shares = {}
    for name, side in (("original", pair.unchanged), ("release", pair)):
        quasi, rows = side.released_quasi, evenly(side.canonical, MAX_ROWS)
        taught, y = _responses(side, rows)
        if len(rows) < 4 or ((y - y.mean(axis=0)) ** 2).sum() <= 0:
            return []
        true = design_known(quasi, known_rows(quasi, rows))
        # learnt from released cells, asked about true values: as an intruder would
        x = true if side is pair.unchanged else design_released(quasi, rows)
        shares[name] = _shares(x, true, taught, y, feature_columns(quasi), len(quasi))

    def shares_of(side: str, j: int) -> InfluenceShares:
        tree, without = shares[side]
        return {"tree": float(tree[j]), "without": float(without[j])}

    out: list[Influence] = [
        {"column": column.name, "original": shares_of("original", j), "release": shares_of("release", j)}
        for j, column in enumerate(pair.released_quasi)
    ]
    return sorted(out, key=lambda e: (-e["release"]["tree"], e["column"]))


def _responses(pair: Pair, rows: Ints) -> tuple[Floats, Floats]:
    """Return the sensitive columns as released and as they are, each scaled to a mean squared error of 1 per row."""
    parts = []
    for column, released in zip(pair.sensitive, pair.released_sensitive, strict=True):
        both = []
        for codes, values in (shown_values(column, each) for each in (released, column)):
            if not column.is_number:
                both.append(indicators(column)[codes[rows]].toarray())
                continue
            y = values[codes[rows]]
            is_known = np.isfinite(y)
            both.append(np.where(is_known, y, y[is_known].mean() if is_known.any() else 0.0)[:, None])
        scale = np.sqrt(((both[1] - both[1].mean(axis=0)) ** 2).sum(axis=1).mean())
        parts.append([block / scale if scale > 0 else block * 0 for block in both])
    taught, true = (np.hstack(blocks) for blocks in zip(*parts, strict=True))
    return taught, true


def _shares(x: Floats, true: Floats, taught: Floats, y: Floats, origin: Any, n: int) -> tuple[Floats, Floats]:
    importance = np.zeros(n)
    model, full = _explained(x, true, taught, y)
    np.add.at(importance, origin, model.feature_importances_)
    without = np.full(n, full)
    for j in range(n):
        if (rest := origin != j).any():
            without[j] -= _explained(x[:, rest], true[:, rest], taught, y)[1]
    return importance, without


def _explained(x: Floats, true: Floats, taught: Floats, y: Floats) -> tuple[Any, float]:
    """Fit a tree on every other row; return it and the share of squared error that it explains on the other rows."""
    from sklearn.tree import DecisionTreeRegressor

    # large leaves keep columns of many values from winning by noise
    model = DecisionTreeRegressor(min_samples_leaf=max(LEAF, int(LEAF_SHARE * len(x))), random_state=0)
    model.fit(x[::2], taught[::2])
    rest = y[1::2]
    guess = np.asarray(model.predict(true[1::2])).reshape(rest.shape)
    total = ((rest - y[::2].mean(axis=0)) ** 2).sum()
    return model, float(1 - ((rest - guess) ** 2).sum() / total) if total > 0 else 0.0


FIGURES = (
    Figure(
        {"risk.influence": Sequence[Influence]},
        lambda t: influence(t.sides),
        needs=("pairs", "attacks"),
        says="which columns give people away",
        empty=[],
    ),
)
