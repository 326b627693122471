"""What a release tells although it keeps its promises: to be said loudly, with counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..classes import Classes, diversity
from ..hierarchy import TOP
from ..notation import Cell, moment, number
from ..plan import Mask, Plan, PlanColumn
from ..table import Column, Table
from ..table.cover import Cover
from ..table.memory import filled

LOST = 0.8
"""A certainty penalty above which the recoded cells say little."""
_ALL = 1 - 1e-9


def of_release(
    plan: Plan,
    classes: Classes,
    told: Mapping[str, NDArray[np.float64]],
    original: Table,
    released: Table,
) -> Iterator[str]:
    """The cautions of a release, each a sentence.

    Parameters
    ----------
    plan : Plan
    classes : Classes
        The released groups.
    told : mapping of str to float array of shape (n_groups,)
        The disclosure of every sensitive column in every group.
    original, released : Table
    """
    recoding = plan.recoding
    if recoding.yardstick == "classes":
        alone = int(np.count_nonzero(classes.sizes == 1))
        if alone and plan.names("quasi"):
            yield (
                f"k = 1: {alone:,} of {classes.n_records:,} records are alone with their released "
                "quasi-identifiers"
            )
        if classes.persons is not None and told:
            yield (
                "disclosure and shares weigh every record alike: whoever has many records counts "
                "for many"
            )
        for name in () if recoding.beside else told:
            yield from _whole(name, classes, told[name])
        lost = certainty_lost(plan, original, released)
        if lost is not None and lost > LOST:
            yield f"the recoded cells say little: {lost:.0%} of their certainty is lost (NCP)"
        return
    kept = [column.name for column in recoding.recoded() if column.kept]
    if kept:
        yield f"released as they were, no cell of them is altered: {', '.join(kept)}"


def _whole(name: str, classes: Classes, told: NDArray[np.float64]) -> Iterator[str]:
    """Groups that tell a sensitive column whole."""
    counts = classes.sensitive[name].counts
    if np.count_nonzero(counts.totals) < 2:
        return  # everybody has the value: that is public
    one = diversity.distinct(counts) == 1
    if one.any():
        yield (
            f"{name}: {one.sum():,} of {classes.n_groups:,} groups hold one value, so their "
            f"{classes.sizes[one].sum():,} records tell it"
        )
    whole = told >= _ALL
    if (whole & ~one).any() or (whole.any() and not one.any()):
        yield (
            f"{name}: {whole.sum():,} of {classes.n_groups:,} groups give away all of it "
            f"(disclosure 1), {classes.sizes[whole].sum():,} records"
        )


def certainty_lost(plan: Plan, original: Table, released: Table) -> float | None:
    """The normalised certainty penalty by the plan's cells, 0 nothing lost, 1 all; mean of columns.

    None where the plan does not say what the released cells stand for.
    """
    recoding = plan.recoding
    if isinstance(recoding, Mask):
        if recoding.yardstick == "linkage":
            return None
        # whoever reads an empty cell of such a column cannot tell whether it was suppressed
        gone = [
            c.suppressed and c.missing + c.suppressed * (1 - c.missing) for c in recoding.columns
        ]
        return float(np.mean(gone)) if gone else None
    cells = recoding.meanings()
    widths = [
        _lost(column, cells[column.name], original, released)
        for column in recoding.recoded()
        if column.name in cells
    ]
    return float(np.mean(widths)) if widths else None


def _lost(column: PlanColumn, cells: tuple[Cell, ...], original: Table, released: Table) -> float:
    """The mean width of the cells of a column's rows."""
    known = original.column(column.name, kind=column.kind, unit=column.unit or None)
    if known.is_number:
        values = known.values
        ends = (float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0)
        width = Cover.of([_placed(cell, known) for cell in cells]).widths(ends)
    else:
        width = Cover.of(cells, known.values).widths()
    by_label = {TOP: 1.0} | {cell.label: w for cell, w in zip(cells, width, strict=True)}
    labels, counts = _counted(released, column.name)
    total = sum(by_label.get(label, 0.0) * n for label, n in zip(labels, counts, strict=True))
    return float(total) / max(released.n_rows, 1)


def _counted(released: Table, name: str) -> tuple[list[Any], NDArray[np.int64]]:
    """The distinct cells of a column, and how many rows have each."""
    cells = released.arrow.column(name)
    if cells.num_chunks == 1 and pa.types.is_dictionary(cells.type):
        chunk = cells.chunk(0)
        labels = [*chunk.dictionary.to_pylist(), None]
        codes = filled(chunk.indices, len(labels) - 1).to_numpy()
        return labels, np.bincount(codes, minlength=len(labels))
    if pa.types.is_string(cells.type):  # verification has encoded it
        known = released.column(name, kind="categorical")
        return [*known.values, None], known.counts()
    found = pc.value_counts(cells)
    return found.field(0).to_pylist(), found.field(1).to_numpy()


def _placed(cell: Cell, known: Column) -> Cell:
    """The cell of a number that a hierarchy of texts generalised, with the ends of its values."""
    if cell.lo is not None or not cell.categories:
        return cell
    unit = known.unit
    texts = {moment(v, unit) if unit else number(v): float(v) for v in known.values}
    ends = [texts[text] for text in cell.categories if text in texts]
    return replace(cell, lo=min(ends, default=None), hi=max(ends, default=None))
