"""People whom a release was not made from: given as a control, or left out of a release made again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..classes import IntArray
from ..progress import Tell
from ..schema import Schema
from ..table import Table
from .pairing import Pair, pair_up
from .subject import of_fitted

FOLDS = 3
"""Parts that people are dealt into, each left out once."""

Refit = Callable[[Table], Pair]
"""Releases some of the people by the same method, and pairs the release with them."""


@dataclass(frozen=True, eq=False)
class Outside:
    """A paired release, and people who took no part in it.

    Parameters
    ----------
    pair : Pair
    people : Table
        With the original's columns.
    members : int array
        The pairs of the people who may be asked about as members.
    left : int array
        Where they were left out of a pair, the places there of `people`; else empty.
    """

    pair: Pair
    people: Table
    members: IntArray
    left: IntArray


def refitting(method: Any, schema: Schema) -> Refit:
    """How a method releases a part of the people."""

    def refit(part: Table) -> Pair:
        fitted = method.copy().fit_table(part, schema)
        return pair_up(part, of_fitted(fitted, part, schema))

    return refit


def given(pair: Pair, control: Table) -> Outside:
    """A release and people who are not in the original."""
    return Outside(pair, control, np.arange(pair.n_rows), np.zeros(0, np.int64))


def left_out(
    pair: Pair, refit: Refit, *, folds: int = FOLDS, random_state: int = 0, tell: Tell
) -> Iterator[Outside]:
    """Releases of all people but one part of them after the other.

    The people of the next part are the members to be asked about, so that everybody is
    once a member and once left out.
    """
    n = pair.n_rows
    fold = np.empty(n, np.int64)
    fold[pair.canonical] = np.random.default_rng(random_state).permutation(np.arange(n) % folds)
    for f in range(folds):
        left = np.flatnonzero(fold == f)
        if not len(left):
            continue
        tell(f"strangers: releasing without part {f + 1} of {folds}")
        kept = np.flatnonzero(fold != f)
        kept = kept[np.argsort(pair.rows[kept])]
        part = refit(Table(pair.original.arrow.take(pair.rows[kept])))
        people = Table(pair.original.arrow.take(pair.rows[left]))
        inside = fold[kept[part.rows]] == (f + 1) % folds
        yield Outside(part, people, np.flatnonzero(inside), left)
