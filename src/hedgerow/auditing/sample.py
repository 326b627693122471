"""Sample the records of a large release, for attacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, cast

import numpy as np
import pyarrow as pa

from ..backends.randomize import hashes
from ..columns.table import Table
from ..json_types import Positive
from ..key import Key
from ..measures import Ints, group
from ..texts import text
from .released_values import of_rows
from .table_pair import Pair, People, TablePair


class SampleData(TypedDict):
    """The records that attacks, learners and inference saw: how many of how many, whole groups, and by what rule."""

    records: Positive
    of: Positive
    groups: Positive | None
    rule: str


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample of the records of a pair, chosen by a hash of their content.

    Parameters
    ----------
    pair : Pair
        The sampled records only.
    of : int
        Number of records they were chosen from.
    groups : int, optional
        Number of whole groups in the sample; None if records were chosen one by one.
    random_state : int
    """

    pair: Pair
    of: int
    groups: int | None
    random_state: int

    @property
    def whole(self) -> bool:
        """Return whether the sample contains all records."""
        return self.pair.n_rows == self.of

    @property
    def rule(self) -> str:
        """Return the rule that chose the records, in words."""
        key = "sample_records" if self.groups is None else "sample_groups"
        return text("note", key, random_state=self.random_state)

    def to_dict(self) -> SampleData:
        """Return the sample's size and rule as a plain dict."""
        return {"records": self.pair.n_rows, "of": self.of, "groups": self.groups, "rule": self.rule}

    def note(self) -> str:
        """Return a note on the sample, for readers of the audit."""
        return text("note", "sample", records=self.pair.n_rows, of=self.of, rule=self.rule)


def sample_of(pair: Pair, n: int, random_state: int) -> Sample:
    """Choose whole groups of a pair with about n records in total (at least n, if the table has so many).

    The released cells decide if a group is in the sample, so groups stay whole and disclose the same.
    If values were altered and some record is alone, records are chosen one by one.

    Parameters
    ----------
    pair : Pair
    n : int
        Number of records; the last group is included whole, so the sample may be larger.
    random_state : int
        Seed of the hash; other seeds choose other records.
    """
    key, groups = Key.from_key_or_seed(random_state=random_state), None
    # altered records are mostly alone, so whole groups would be single records anyway
    if pair.risk_model == "linkage" and pair.classes.sizes.min(initial=1) == 1:
        rows = np.sort(_by_content(pair, key)[:n])
    else:
        rows, groups = _whole_groups(pair, n, key)
    return Sample(cast(Pair, part_of(pair, rows)), pair.n_rows, groups, random_state)


def _by_content(pair: Pair, key: Key) -> Ints:
    """Sort the records by a keyed hash of their measured cells, original and released."""
    names = sorted({*pair.schema.quasi, *pair.schema.sensitive})
    sides = (pair.original, pair.rows), (pair.released, pair.released_rows)
    return np.lexsort([hashes(table, names, key)[0][rows] for table, rows in sides])


def _whole_groups(pair: Pair, n: int, key: Key) -> tuple[Ints, int]:
    """Choose the groups with the lowest hashes; return their records and the number of groups."""
    words = hashes(pair.released, sorted(column.name for column in pair.released_quasi), key)[0][pair.released_rows]
    labels, sizes = pair.classes.labels, pair.classes.sizes
    least = np.full(len(sizes), np.iinfo(np.uint64).max)
    # rows of a group share their released cells and so their hash; the least is that of any of them
    np.minimum.at(least, labels, words)
    order = np.argsort(least, kind="stable")
    enough = int(np.searchsorted(np.cumsum(sizes[order]), min(n, pair.n_rows))) + 1
    chosen = np.zeros(len(sizes), np.bool_)
    chosen[order[:enough]] = True
    return np.flatnonzero(chosen[labels]), enough


def part_of(sides: TablePair, rows: Ints) -> TablePair:
    """Return the same tables with the given released rows alone, and of a pair their originals alone, in memory."""
    schema, every = sides.schema, np.arange(len(rows))
    measured = [*schema.quasi, *schema.sensitive]
    part = replace(
        sides,
        released=_table(sides.released, measured, sides.released_rows[rows] if isinstance(sides, Pair) else rows),
        released_quasi=tuple(replace(column, codes=column.codes[rows]) for column in sides.released_quasi),
        released_sensitive=tuple(of_rows(column, rows) for column in sides.released_sensitive),
        cells=tuple(replace(column, codes=column.codes[rows]) for column in sides.cells),
        groups=None if sides.groups is None else group([sides.groups.labels[rows]]),
    )
    if not isinstance(part, Pair):
        return part
    people = [n for n in (schema.person, schema.household) if n is not None]
    original = _table(part.original, [*measured, *people], part.rows[rows])
    quasi = tuple(replace(c, original=of_rows(c.original, rows), every=None) for c in part.released_quasi)
    members = People(tuple(c.original for c in quasi), tuple(of_rows(c, rows) for c in part.sensitive))
    part = replace(part, original=original, rows=every, released_rows=every, members=members, released_quasi=quasi)
    # the control of the sample is the same people unprotected, not the whole original
    vars(part)["unchanged"] = Pair.of_itself(schema, part.original, part.quasi, part.sensitive)
    return part


def _table(table: Table, names: Sequence[str], rows: Ints) -> Table:
    present = [name for name in names if name in table.names]
    part = Table(pa.table({name: table.take(name, rows) for name in present}), layout=table.layout)
    part.units = table.units
    return part
