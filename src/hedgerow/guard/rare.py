"""Join categories that too few people have: in a parent that enough have, else in one value for all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..columns.column import Column
from ..hierarchy import Hierarchy, looks_like_codes, shape_of
from ..io.text_cells import are_dates
from ..measures import Ints
from ..notation import REST
from ..plan import GuardedColumn

# counts the people of each group of categories, given the group of each category (-1: none)
CountPeople = Callable[[Ints], Ints]


def with_categories(
    record: GuardedColumn, column: Column, count: CountPeople, least: int, parents: Mapping[str, Sequence[str]],
    rest: str | None,
) -> GuardedColumn:  # fmt: skip
    """Return the record with the categories that may be released, and what all others are released as.

    A category that fewer than `least` people have is released as the nearest of its parents that enough of such people
    share. What is left over is released as one value; if it is of fewer people than `least`, it is withheld.

    Parameters
    ----------
    record : GuardedColumn
        Of the column; `by_prefix` says whether its parents are beginnings of codes.
    column : Column
    count : callable
    least : int
    parents : mapping of str to sequence of str
        The parents of each category, the nearest first; nothing for a category without.
    rest : str or None
        The value for what is left over; None if it is missing.
    """
    names = list(column.values)
    counted = dict(zip(names, count(np.arange(len(names))).tolist(), strict=True))
    frequent = [name for name, n in counted.items() if n >= least]
    rare = {name: parents.get(name, ()) for name, n in counted.items() if n < least}
    shared = _shared_parents(names, rare, count, least)
    if not record.by_prefix:
        may = shared.union(frequent)
        near = {name: next((each for each in chain if each in may), "") for name, chain in rare.items()}
        children = tuple(name for name in near if near[name])
        record = replace(record, children=children, parents=tuple(near[name] for name in children))
    record = replace(record, values=(*frequent, *sorted(shared)), by_prefix=record.by_prefix and bool(shared))
    is_left = np.array(record.codes_of(names), np.int64) < 0
    n_left = int(count(np.where(is_left, 0, -1)).sum())
    if n_left < least or not record.values:
        return record
    if rest is None:
        return replace(record, rest_is_missing=True)
    return replace(record, values=tuple(dict.fromkeys((*record.values, rest))), rest=rest)


def _shared_parents(
    names: Sequence[str], rare: Mapping[str, Sequence[str]], count: CountPeople, least: int
) -> set[str]:
    """Return the parents that enough people share whose categories have no nearer such parent."""
    shared, place = set[str](), {name: at for at, name in enumerate(names)}
    for level in range(max(map(len, rare.values()), default=0)):
        alone = {name: chain[level] for name, chain in rare.items() if chain and shared.isdisjoint(chain)}
        group, labels = np.full(len(names), -1), sorted({*alone.values()} - place.keys())
        number = {label: at for at, label in enumerate(labels)}
        for name, label in alone.items():
            group[place[name]] = number.get(label, -1)
        people = count(group) if labels else ()
        shared |= {label for label, n in zip(labels, people, strict=True) if n >= least}
    return shared


def rest_of(names: Sequence[str]) -> str:
    """Return what rare categories without a parent are released as: a text that is no category."""
    rest = REST
    while rest in names:
        rest = f"({rest})"
    return rest


def parents_of(column: Column, people: Ints, hierarchy: Hierarchy | None, few: float) -> dict[str, tuple[str, ...]]:
    """Return the parents of categories, from the nearest to those below the top.

    Without a hierarchy these are the beginnings of codes, if all categories but those of fewer than `few` people are
    codes of one shape; others have no parent. Days such as 31.12.2020 are no codes: their beginnings name no period.
    """
    names = list(column.values)
    if hierarchy is None:
        shapes = Counter[str]()
        for name, n in zip(names, people.tolist(), strict=True):
            shapes[shape_of(name)] += n
        commonest = max(sorted(shapes), key=shapes.__getitem__, default="")
        names = [name for name in names if shape_of(name) == commonest]
        if shapes.total() - shapes[commonest] >= few or not looks_like_codes(names) or _begin_with_days(names):
            return {}
    paths = (Hierarchy.from_prefixes(names) if hierarchy is None else hierarchy.topped()).paths
    return {name: paths[name][1:-1] for name in names if name in paths}


def _begin_with_days(names: Sequence[str]) -> bool:
    """Return whether most texts are dates that begin with a day or month."""
    are = pc.and_(are_dates(pa.array(names)), pc.match_substring_regex(pa.array(names), r"^\d{1,2}\D"))
    return 2 * pc.sum(are).as_py() > len(names)
