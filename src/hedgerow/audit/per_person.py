"""What the group of every single record gives away: for the steward alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..columns.column import Column
from ..errors import ParameterError
from ..io.write import write_table
from ..measures import Classes, FloatArray, IntArray
from ..validation import PATH, takes, whole
from .attacks.class_risk import Population, household_risks
from .attacks.special_uniques import SpecialUniques
from .design_matrix import shown_values
from .success import Target
from .table_pair import Pair


@dataclass(frozen=True, eq=False, repr=False)
class PerPerson:
    """What the group of every released record gives away, those most at risk first. Private.

    Parameters
    ----------
    table : pyarrow.Table
        A line a released record. ``row``: its place in the original, from 0; the key or unit
        column, where there is one; ``records`` and ``people`` of its group; ``prosecutor`` and, where
        it was measured, ``journalist``: its risk of being found, with ``population``, the people of the
        population that its group stands for; ``household risk``: that anybody of its household is
        found; ``suda``: its score of special
        uniques, where asked for; ``disclosure``: the largest of its
        sensitive columns; and for each of these ``NAME disclosure`` (0 the group tells nothing, 1
        all), ``NAME by`` (the score that is largest), ``NAME values`` (different ones in the group)
        and ``NAME named`` (the share of the group's released values that would name the record's own:
        a number within 10%, a date within 30 days, a category exactly).
    """

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:  # no person's value
        return f"PerPerson({len(self):,} records)"

    @takes(n=whole())
    def most_at_risk(self, n: int = 20) -> list[dict[str, Any]]:
        """The records whose groups give away most, a mapping each.

        Parameters
        ----------
        n : int, at least 1
        """
        return list(self.table.slice(0, n).to_pylist())

    @takes(path=PATH)
    def save(self, path: str | Path) -> None:
        """Write all records to a file that its owner alone can read: CSV, Parquet, Arrow ..."""
        write_table(self.table, path)


def per_person(
    pair: Pair,
    journalist: Population | None = None,
    key: str | None = None,
    special: SpecialUniques | None = None,
) -> PerPerson:
    """What the groups of a paired release tell of each record.

    Parameters
    ----------
    pair : Pair
    journalist : Population, optional
        The people of the population behind each class, and the journalist's risk.
    key : str, optional
        A column of the original that tells records apart.
    special : SpecialUniques, optional
        Those of the release.

    Raises
    ------
    ParameterError
        Values were altered, so that groups of equal cells are nobody's.
    """
    if pair.risk_model == "linkage":
        raise ParameterError(
            "this release altered values, so there are no groups of equal cells to judge a person by",
            hint="leave per_person out; the linking attack says how many people are found",
        )
    label = pair.classes.labels
    people = pair.people_in(pair.classes)
    columns: dict[str, Any] = {"row": pair.rows}
    for name in dict.fromkeys((key, pair.schema.person)):
        if name is not None and name in pair.original.names:
            columns[name] = pair.original.arrow.column(name).take(pa.array(pair.rows))
    columns |= {
        "records": pair.classes.sizes[label],
        "people": people[label],
        "prosecutor": 1.0 / people[label],
    }
    if journalist is not None:
        columns["population"] = journalist.sizes[label]
        columns["journalist"] = journalist.risk[label]
    homes = household_risks(pair, (1.0 / people if journalist is None else journalist.risk)[label])
    if homes is not None:
        columns["household risk"] = homes.of_rows
    if special is not None:
        columns["suda"] = special.scores
    told = Classes.from_groups(pair.value_groups, pair.released_sensitive)
    worst, parts = np.zeros(pair.n_rows), dict[str, Any]()
    for own, shown in zip(pair.sensitive, pair.released_sensitive, strict=True):
        found, group = told.sensitive[own.name], pair.value_groups.labels.astype(np.int64)
        names = list(found.scores.by_score)
        every = np.stack([found.scores.by_score[name] for name in names])
        tells = found.scores.worst[group]
        worst = np.maximum(worst, tells)
        parts[f"{own.name} disclosure"] = tells
        parts[f"{own.name} by"] = np.array(names)[every.argmax(axis=0)][group]
        parts[f"{own.name} values"] = np.diff(found.counts.starts)[group]
        parts[f"{own.name} named"] = _named(own, shown, group, pair.targets[own.name])
    columns |= {"disclosure": worst, **{n: v for n, v in parts.items() if n not in columns}}
    order = np.lexsort((pair.rows, label, people[label], -worst))
    table = pa.table(columns)
    return PerPerson(table.take(pa.array(order)))


def _named(own: Column, shown: Column, labels: IntArray, target: Target) -> FloatArray:
    """The share of each record's group whose released value would name the record's own."""
    codes, values = shown_values(own, shown)
    n = len(values) + 1
    keys = np.sort(labels * n + codes)
    if target.is_number:
        # what is missing is named by what is missing
        y, missing = own.numbers, len(values) - 1
        near = target.headline
        reach = near.share * np.abs(y) + near.width + 1e-12 * np.abs(y)
        known = np.isfinite(y)
        low = np.where(known, np.searchsorted(values[:-1], y - reach, "left"), missing)
        high = np.where(known, np.searchsorted(values[:-1], y + reach, "right"), missing + 1)
    elif own.is_number:
        places = np.searchsorted(values[:-1], np.append(own.values, np.inf))
        same = np.append(values[:-1], np.nan)[places] == own.by_code
        low = np.where(same, places, n - 1)[own.codes]
        low = np.where(own.codes == own.n_values, len(values) - 1, low)
        high = low + 1
    else:
        low, high = own.codes.astype(np.int64), own.codes.astype(np.int64) + 1
    begin = labels * n
    inside = np.searchsorted(keys, begin + high) - np.searchsorted(keys, begin + low)
    sizes = np.bincount(labels)
    return np.asarray(inside / sizes[labels])
