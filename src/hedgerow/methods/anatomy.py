"""Anatomy (Xiao and Tao): quasi-identifiers and sensitive values in two tables."""

from __future__ import annotations

import heapq
import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..backends import Transformed
from ..backends.randomize import Rows, sequence, words_of
from ..columns.column import Column
from ..columns.table import Table
from ..errors import InfeasibleError, ParameterError, SchemaError, UnsupportedError
from ..key import Key
from ..measures import Classes, Ints
from ..measures import group as by_codes
from ..measures.class_measures import largest_share
from ..measures.guarantees import Check
from ..plan import Anatomize, Plan
from ..schema import Schema
from ..texts import text
from ..validation import is_number
from .anatomy_tables import COUNT, GROUP, faults, sensitive_table, whole_numbers
from .base import Method, NoTransform, RecipientNotes, values_by_code


@dataclass(eq=False, repr=False)
class Anatomy(Method):
    """Release two tables: one with the group of each record, and one with the sensitive values of each group.

    Quasi-identifiers are released unchanged. Somebody who knows a person's group learns its sensitive
    values, but not which of them is the person's: each value has a share of at most 1/l in the group.

    Parameters
    ----------
    l : int
        At least 2. The records of a group all have different sensitive values, and there are at least
        l of them, so no value has a share above 1/l.
    key : Key or path, optional
        The steward's secret, or its file (created if it does not exist), which determines how
        records are grouped and how groups are numbered. By default a new key, stored only in
        this object. Anybody who has it can link people to their sensitive values.
    random_state : int, optional
        A seed to use in place of a key, only for experiments: it keeps nothing secret.
    schema : Schema, optional
        Kinds and category orders for `fit(X, y)`.

    Attributes
    ----------
    group_ : int array of shape (n,)
        Group of every row, 1 and up.
    st_ : pyarrow.Table
        The sensitive table: group, value, count. The first table (QIT) is the released
        one, with the group in place of the sensitive column.

    Raises
    ------
    InfeasibleError
        A value has more than n/l records, so no such groups exist.
    UnsupportedError
        There are several sensitive columns, or one whose name the sensitive table needs.

    References
    ----------
    X. Xiao, Y. Tao, "Anatomy: simple and effective privacy preservation" (VLDB 2006),
    algorithm Anatomize.

    Notes
    -----
    The quasi-identifiers are released as they are: anybody who knows those of a person finds the
    person's group. Only the sensitive value is hidden, among l values: a guess from the group
    alone is right with a chance of at most 1/l. Guesses that use all groups are not bounded: a
    rule that holds for the whole table can be learned from both tables, and raises that
    chance if the quasi-identifiers predict the value well (D. Kifer, "Attacks on privacy
    and deFinetti's theorem", SIGMOD 2009). `hedgerow.inference` tries this attack ("group counts").

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"age": [30, 40, 50, 60], "ill": ["a", "b", "a", "b"]})
    >>> method = Anatomy(l=2).fit_table(Table(people), Schema(quasi=["age"], sensitive=["ill"]))
    >>> sorted(method.st_.column("count").to_pylist())
    [1, 1, 1, 1]
    """

    draws = True
    guardable = False
    pairs = True

    l: int = 2
    _: KW_ONLY
    key: Key | str | Path | None = None
    random_state: int | None = None
    schema: Schema | None = None

    def check_table(self, table: Table, schema: Schema) -> None:
        """Raise an error as `Method.check_table` does, and if more than one column is sensitive."""
        super().check_table(table, schema)
        if len(schema.sensitive) != 1:
            raise UnsupportedError("anatomy protects one sensitive column", hint="choose one")

    def _fit(self, table: Table, schema: Schema) -> Plan:
        if not is_number(self.l) or not 2 <= self.l < math.inf or self.l != int(self.l):
            raise ParameterError(f"l must be a whole number of at least 2, not {self.l!r}")
        name = schema.sensitive[0]
        if name in (GROUP, COUNT):
            raise UnsupportedError(f"the sensitive table has a column {name!r} of its own", hint="rename the other")
        # The quasi-identifiers are encoded only to refuse those that cannot be, such as lists.
        columns = [table.declared_column(schema, each) for each in (*schema.quasi, name)]
        for column in columns:
            if column.infinite:
                raise SchemaError(f"column {column.name!r} holds infinite values", hint="repair those rows")
        column = columns[-1]
        codes = column.codes.astype(np.int64)
        counts = np.bincount(codes)
        if counts.max() * self.l > table.n_rows:
            raise InfeasibleError(
                f"{counts.max():,} of {table.n_rows:,} records have one value of {name!r}, more than 1/{self.l}",
                hint=f"the largest feasible l is {table.n_rows // int(counts.max())}",
            )
        rows = Rows.from_table(table, self._key)
        key = rows.release_key({"method": "Anatomy", "l": int(self.l), "sensitive": name})
        buckets = bucketize(codes, words_of(rows.ids, key, "order in a bucket"), int(self.l))
        # Groups are formed from the fullest buckets on: numbers in that order would show which
        # groups hold the frequent values.
        number = np.argsort(np.argsort(sequence(key, "group numbers", int(buckets.max()) + 1)))
        group = number[buckets]
        self.group_ = group + 1
        self.st_ = sensitive_table(self.group_, codes, values_by_code(table, column), name)
        self._sensitive = name
        return self._planned(table, schema, Anatomize(name, float(self.l), int(group.max()) + 1))

    def release_table(self, table: Table) -> Transformed:
        """Return the released column: group numbers in place of the fitted table's sensitive values."""
        if table.n_rows != len(self.group_):
            raise UnsupportedError("anatomy holds for the table it was fitted on only", hint="protect it by itself")
        return Transformed({self._sensitive: pa.array(self.group_)}, 0)

    @property
    def transform(self) -> Any:
        """Raise NoTransform, because the sensitive table exists only for the people that were fitted."""
        raise NoTransform("anatomy holds for the table it was fitted on only", hint="use hedgerow.protect")

    fit_transform = transform

    def release_checks(self, original: Table, released: Table) -> list[Check]:
        """Check that no sensitive value makes up more than 1/l of any released group."""
        classes = self.buckets(original, released)
        share = float(largest_share(classes.sensitive[self._sensitive].counts).max())
        sizes, most = classes.sizes, 1 / self.l
        words = f"{len(sizes):,} groups of {int(sizes.min()):,} to {int(sizes.max()):,} records"
        return [Check("largest share of a value in a group", most, share, share <= most + 1e-12, words)]

    def buckets(self, original: Table, released: Table) -> Classes:
        """Return the released groups as classes, with their members' original sensitive values."""
        return Classes.from_groups(by_codes([whole_numbers(released, self._sensitive)]), [self._original(original)])

    def second_checks(self, original: Table, released: Table, second: Table) -> list[Check]:
        """Check that the second table lists exactly the values that each group of the first table has."""
        name = self._sensitive
        wrong = faults(self._original(original), whole_numbers(released, name), second, name)
        words = "groups whose values or counts are not those of their records"
        return [Check.none("sensitive table", wrong, words)]

    def _original(self, original: Table) -> Column:
        """Return the original sensitive column, read with the kind that the plan gives it."""
        return original.like(next(c for c in self.plan_.columns if c.name == self._sensitive))

    def second_table(self) -> pa.Table:
        """Return the sensitive table (ST): one row for each value of a group, with its count."""
        return self.st_

    def recipient_notes(self, file: str) -> RecipientNotes:
        """Return notes for the recipient on how to read the two tables together."""
        name, second = self._sensitive, f"{self.plan_.recoding.second_file}{Path(file).suffix}"
        say = partial(text, "anatomy", name=name, l=self.l, file=file, second=second)
        return RecipientNotes(
            say("about"),
            dict.fromkeys(self.plan_.names("quasi"), "unchanged") | {name: say("cell")},
            say("lines").split("\n"),
            [say("promised")],
            [say("membership"), say("knowledge"), say("rule")],
        )


def bucketize(codes: Ints, rank: NDArray[np.uint64], l: int) -> Ints:
    """Form groups of l or more records with different values, drawing from the l fullest buckets.

    Parameters
    ----------
    codes : int array of shape (n,)
        Sensitive values; none has more than n/l records.
    rank : uint64 array of shape (n,)
        Sort key of the records of a bucket.
    l : int

    Returns
    -------
    int array of shape (n,)
        Group of each record, 0 and up.
    """
    order = np.lexsort((rank, codes))
    counts = np.bincount(codes)
    start = np.cumsum(counts) - counts
    # Taking from the fullest buckets leaves at most one record in each of fewer than l buckets.
    heap = [(-int(c), u) for u, c in enumerate(counts) if c]
    heapq.heapify(heap)
    used = np.zeros(len(counts), dtype=np.int64)
    group = np.full(len(codes), -1, dtype=np.int64)
    has: list[set[int]] = []
    while len(heap) >= l:
        fullest = [heapq.heappop(heap) for _ in range(l)]
        for remaining, u in fullest:
            group[order[start[u] + used[u]]] = len(has)
            used[u] += 1
            if remaining + 1 < 0:
                heapq.heappush(heap, (remaining + 1, u))
        has.append({u for _, u in fullest})
    # What is left over, at most one record a bucket, joins groups without its value.
    for u in sorted(u for _, u in heap):
        row = order[start[u] + used[u]]
        first = int(rank[row] % np.uint64(len(has)))
        at = next(g for g in (*range(first, len(has)), *range(first)) if u not in has[g])
        group[row] = at
        has[at].add(u)
    return group
