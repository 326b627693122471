"""How many people of the population each released class could be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...classes import FloatArray, group, sizes
from ...errors import InputError, ParameterError
from ...table import Table
from ..design_matrix import Known, known_table
from ..pairing import Pair
from ..sides import Sides


def population_sizes(pair: Sides, population: Table) -> FloatArray:
    """People of a population table that fit each class, at least the class itself.

    Each released cell becomes a bit mask over the population (who fits it); a
    class is the intersection of its cells' masks.

    Parameters
    ----------
    pair : Sides
        The release.
    population : Table
        A table with every quasi-identifier, untouched.

    Raises
    ------
    InputError
        Quasi-identifiers are missing, or the population is smaller than the release.
    """
    lost = [e.name for e in pair.released_quasi if e.name not in population.names]
    if lost:
        raise InputError("the population table lacks " + ", ".join(map(repr, lost)))
    if population.n_rows < pair.n_rows:
        raise InputError(
            f"the population table has {population.n_rows} rows, fewer than the "
            f"release's {pair.n_rows}",
            hint="the release must be drawn from it",
        )
    people = known_table(pair.released_quasi, population)
    masks: list[dict[int, npt.NDArray[np.uint8]]] = [{} for _ in pair.released_quasi]
    first = pair.classes.first
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)
    out = np.zeros(pair.classes.n_groups)
    for g, row in enumerate(first):
        fits: npt.NDArray[np.uint8] | None = None
        for j, column in enumerate(pair.released_quasi):
            cell = int(column.codes[row])
            if cell not in masks[j]:
                masks[j][cell] = _mask(pair, people, j, cell)
            fits = masks[j][cell] if fits is None else fits & masks[j][cell]
        out[g] = int(bits[fits].sum()) if fits is not None else population.n_rows
    return np.maximum(out, pair.classes.sizes)


def _mask(pair: Sides, people: Known, j: int, cell: int) -> npt.NDArray[np.uint8]:
    column, known = pair.released_quasi[j], people.columns[j]
    covers = column.cover.numbers if column.is_number else column.cover.categories
    return np.packbits(covers(known, np.full(len(known), cell)))


def journalist_risk(
    pair: Sides, population: Table | None = None, weights: str | None = None
) -> FloatArray | None:
    """The risk of each released class for who does not know who is in the release.

    1/F where a population table counts the F people of the class; with a sample's weights alone
    its expectation (`sizes.expected_risk`).
    """
    found = pair.people_in(pair.classes)
    if population is not None:
        return np.asarray(1.0 / np.maximum(population_sizes(pair, population), found))
    if weights is None:
        return None
    if not isinstance(pair, Pair):
        raise ParameterError(
            "sampling weights are those of paired records", hint="give a population table instead"
        )
    return sizes.expected_risk(found, np.maximum(weighted_sizes(pair, weights), found))


def weighted_sizes(pair: Pair, weights: str) -> FloatArray:
    """People each class stands for: the summed sampling weights of its records.

    A person of several records in a class counts once, by the mean of their weights.

    Raises
    ------
    InputError
        The column is missing or recoded, or weights are missing, below 1 or infinite.
    """
    if any(column.name == weights for column in pair.released_quasi):
        raise InputError(
            f"the column of sampling weights {weights!r} is recoded in the release, so its cells "
            "are no weights any more",
            hint="name a column that the release shows as it was, or leaves out",
        )
    for table in (pair.released, pair.original):
        if weights in table.names:
            break
    else:
        raise InputError(f"neither table has the column of sampling weights {weights!r}")
    column = table.column(weights, kind="numeric")
    rows = pair.released_rows if table is pair.released else pair.rows
    w, labels = column.numbers[rows], pair.classes.labels
    bad = int((~(w >= 1) | ~np.isfinite(w)).sum())
    if bad:
        raise InputError(
            f"{bad} sampling weights in {weights!r} are missing, infinite or below 1",
            hint="a weight says how many people a record stands for",
        )
    if pair.persons is not None:
        held = group([labels, pair.persons.codes])
        w = np.bincount(held.labels, w, held.n_groups) / held.sizes
        labels = labels[held.first]
    return np.bincount(labels, w, pair.classes.n_groups).astype(np.float64, copy=False)
