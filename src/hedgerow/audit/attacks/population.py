"""How many people of the population each released class could be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...columns.table import Table
from ...columns.weights import check_weights
from ...errors import InputError, ParameterError
from ...measures import FloatArray, group, sizes
from ..design_matrix import Known, known_table
from ..pairing import Pair
from ..table_pair import Sides


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


@dataclass(frozen=True, eq=False)
class Population:
    """The people of the population whom each released class could be.

    Parameters
    ----------
    sizes : float array, shape (n_groups,)
        F: counted in a population table, or the summed sampling weights; at least the class itself.
    risk : float array, shape (n_groups,)
        What each record of a class risks with somebody who does not know who is in the release: 1/F
        where F was counted, its expectation (`sizes.expected_risk`) where weights estimate it.
    total : float
        People of the whole population.
    """

    sizes: FloatArray
    risk: FloatArray
    total: float


def journalist(
    pair: Sides, population: Table | None = None, weights: str | None = None
) -> Population | None:
    """The population behind the released classes; None where nothing tells of it."""
    found = pair.people_in(pair.classes)
    if population is not None:
        counted = np.maximum(population_sizes(pair, population), found)
        return Population(counted, 1.0 / counted, float(population.n_rows))
    if weights is None:
        return None
    if not isinstance(pair, Pair):
        raise ParameterError(
            "sampling weights need records that are paired with their originals", hint="give a population table instead"
        )
    behind = np.maximum(weighted_sizes(pair, weights), found)
    return Population(behind, sizes.expected_risk(found, behind), float(behind.sum()))


def weighted_sizes(pair: Pair, weights: str) -> FloatArray:
    """People each class stands for: the summed sampling weights of its records.

    A person of several records in a class counts once, by the mean of their weights.

    Raises
    ------
    InputError
        The column is missing, or weights are missing, below 1 or infinite.
    """
    w, labels = weights_of(pair, weights), pair.classes.labels
    if pair.persons is not None and pair.persons.unit is not None:
        held = group([labels, pair.persons.codes])
        w = np.bincount(held.labels, w, held.n_groups) / held.sizes
        labels = labels[held.first]
    return np.bincount(labels, w, pair.classes.n_groups).astype(np.float64, copy=False)


def weights_of(pair: Pair, name: str) -> FloatArray:
    """The sampling weights of the rows; the original's where they are recoded like other columns.

    Raises
    ------
    InputError
        Neither table has the column, it is recoded and not the schema's weight, or weights are
        missing, below 1 or infinite.
    """
    recoded = any(column.name == name for column in pair.released_quasi)
    if recoded and pair.schema.weight != name:
        raise InputError(
            f"the column of sampling weights {name!r} is recoded in the release, so its cells "
            "are no weights any more",
            hint="name a column that the release shows as it was, or leaves out; a weight that is "
            "recoded on purpose is the schema's weight (weight=, --weight)",
        )
    if name in pair.released.names and not recoded:
        return check_weights(pair.released, name).numbers[pair.released_rows]
    if name not in pair.original.names:
        raise InputError(f"neither table has the column of sampling weights {name!r}")
    return check_weights(pair.original, name).numbers[pair.rows]
