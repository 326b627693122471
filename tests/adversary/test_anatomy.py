"""Anatomy undone from its own files: who guesses which record of a group has which value.

The first version took the records of a bucket in an order that followed from a public seed, and
numbered groups as they came into being: of the files alone, 99% of the people were told right.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.backends.randomize import hashes, words_of
from hedgerow.io.read import read
from hedgerow.methods.anatomy import bucketize

Rank = Callable[[pd.DataFrame, str], Any]
"""Where each record would stand in the bucket of a value, in [0, 1): what an intruder supposes."""


def public_hash(seed: int) -> Rank:
    """A hash of what is released and of the value, under a seed that the documents name."""

    def rank(qit: pd.DataFrame, value: str) -> Any:
        columns = [qit[name].tolist() for name in qit.columns if name != "group"]
        told = [f"{seed}|{value}|{cells}".encode() for cells in zip(*columns, strict=True)]
        made = [hashlib.blake2b(t, digest_size=8).digest() for t in told]
        return np.array([int.from_bytes(m, "little") / 2**64 for m in made])

    return rank


def shuffled_places(seed: int) -> Rank:
    """A shuffle of the places in the file."""
    return lambda qit, value: np.random.default_rng(seed).permutation(len(qit)) / len(qit)


def rows_of_this_package(sensitive: str, names: list[str]) -> Rank:
    """The package's own order, under the key of ``random_state=0``.

    The release's key is bound to the whole original table, which no reader has.
    """

    def rank(qit: pd.DataFrame, value: str) -> Any:
        key = hr.Key.from_key_or_seed(random_state=0)
        supposed = qit.drop(columns="group").assign(**{sensitive: value})[names]
        ids, _, _ = hashes(read(supposed), names, key)
        return words_of(ids, key, "order in a bucket") / 2.0**64

    return rank


def attack(qit: pd.DataFrame, st: pd.DataFrame, sensitive: str, rank: Rank) -> Any:
    """The value guessed for every record of the first table.

    A bucket is emptied in order, group by group. So the place in its bucket of the record that
    has a value in a group follows from how many earlier groups have it; within a group records
    and values are matched so that supposed and expected places fit best, and what fits tells the
    expected places better the next time.
    """
    names, values = np.unique(st[sensitive], return_inverse=True)
    supposed = np.array([rank(qit, name) for name in names])
    places = np.argsort(st["group"].to_numpy(), kind="stable")  # of the values, group by group
    people = np.argsort(qit["group"].to_numpy(), kind="stable")
    sizes = np.bincount(st["group"])
    assert np.array_equal(sizes, np.bincount(qit["group"]))  # each value once in a group
    start = np.cumsum(sizes) - sizes
    at = {m: start[sizes == m][:, None] + np.arange(m) for m in np.unique(sizes[sizes > 0]).tolist()}
    order = places[np.argsort(values[places], kind="stable")]  # of the groups, value by value
    turn = np.empty(len(st))
    total = np.bincount(values)
    turn[order] = np.arange(len(st)) - np.repeat(np.cumsum(total) - total, total)
    expected = (turn + 0.5) / total[values]
    found = np.empty(len(qit), object)
    for _ in range(4):
        place = np.empty(len(st))
        for m, where in at.items():
            rows, held = people[where], places[where]
            theirs = supposed[values[held][:, None, :], rows[:, :, None]]
            misfit = np.abs(theirs - expected[held][:, None, :])
            ways = np.array(list(permutations(range(m))))
            cost = sum(misfit[:, i, ways[:, i]] for i in range(m))
            best = ways[np.argmin(cost, axis=1)]  # for each record one of the values
            taken = np.take_along_axis(held, best, axis=1)
            found[rows] = names[values[taken]]
            place[taken] = np.take_along_axis(theirs, best[:, :, None], axis=2)[:, :, 0]
        by_place = order[np.lexsort((place[order], values[order]))]
        expected[order] = place[by_place]
    return found


def right(found: Any, truth: Any) -> float:
    return float(np.mean(found == truth))


def highest(n: int, l: int) -> float:
    """1/l and three standard errors.

    Matching the l records of a group with its l values by chance gets one right on average, with
    variance 1 (fixed points of a random permutation): n/l groups, so 1/(n l) for the share.
    """
    return 1 / l + 3 * (n * l) ** -0.5


def made_people() -> tuple[pd.DataFrame, str]:
    table = hr.datasets.make_people(3_000, seed=5)
    frame = table.select(["age", "sex", "postcode", "job"]).to_pandas()
    return frame.assign(job=frame["job"].fillna("unknown")), "job"


def adult() -> tuple[pd.DataFrame, str]:
    table = hr.datasets.load_adult("train", complete=True)
    frame = table.select(["age", "sex", "education", "native-country", "occupation"]).to_pandas()
    return frame.sample(3_000, random_state=0).reset_index(drop=True), "occupation"


def published(people: pd.DataFrame, sensitive: str, folder: Path, method: Any) -> tuple[Any, ...]:
    """The two tables as their reader has them, and the truth, which no reader has."""
    schema = hr.Schema(
        quasi=[n for n in people.columns if n != sensitive], sensitive=[sensitive], kinds={sensitive: "categorical"}
    )
    people.to_csv(folder / "people.csv", index=False)
    release = hr.protect(folder / "people.csv", schema, method)
    out = release.write(folder / "out")
    assert {"release.csv", "sensitive.csv", "RECIPIENT.md"} <= {p.name for p in out.iterdir()}
    qit = pd.read_csv(out / "release.csv").rename(columns={sensitive: "group"})
    truth = release.original.arrow.column(sensitive).take(pa.array(release.rows))
    return qit, pd.read_csv(out / "sensitive.csv"), np.array(truth.to_pylist(), object)


def with_a_public_seed(people: pd.DataFrame, sensitive: str, l: int, rank: Rank) -> tuple[Any, ...]:
    """The release as the first version made it: a public order, groups numbered as they come."""
    values, codes = np.unique(people[sensitive], return_inverse=True)
    qit = people.drop(columns=sensitive).assign(group=0)
    order = np.choose(codes, [rank(qit, value) for value in values])
    group = bucketize(codes.astype(np.int64), (order * 2**53).astype(np.uint64), l)
    held = pd.DataFrame({"group": group, sensitive: people[sensitive]})
    st = held.value_counts(["group", sensitive]).rename("count").reset_index()
    return qit.assign(group=group), st, people[sensitive].to_numpy()


SOURCES = [
    made_people,
    pytest.param(adult, marks=pytest.mark.skipif("HEDGEROW_DATA" not in os.environ, reason="HEDGEROW_DATA is not set")),
]


@pytest.mark.parametrize("l", [2, 4])
@pytest.mark.parametrize("source", SOURCES)
def test_a_public_order_of_the_buckets_tells_nearly_everybody(source: Any, l: int) -> None:
    people, sensitive = source()
    rank = public_hash(0)
    qit, st, truth = with_a_public_seed(people, sensitive, l, rank)
    assert right(attack(qit, st, sensitive, rank), truth) > 0.95


@pytest.mark.parametrize("l", [2, 4])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("secret", [{"key": hr.Key(b"k" * 32)}, {"random_state": 0}], ids=["key", "seed known"])
def test_the_published_files_tell_no_more_than_one_in_l(source: Any, l: int, secret: Any, tmp_path: Path) -> None:
    people, sensitive = source()
    qit, st, truth = published(people, sensitive, tmp_path, hr.Anatomy(l, **secret))
    own = rows_of_this_package(sensitive, list(people.columns))
    for rank in (public_hash(0), public_hash(1), shuffled_places(0), own):
        assert right(attack(qit, st, sensitive, rank), truth) <= highest(len(qit), l)
    # where records stand in the file tells nothing but what they say: they are sorted by it
    lines = [line.split(",") for line in (tmp_path / "out" / "release.csv").read_text().split()[1:]]
    assert [line[: qit.columns.get_loc("group")] for line in lines] == sorted(
        line[: qit.columns.get_loc("group")] for line in lines
    )
