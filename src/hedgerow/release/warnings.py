"""Warn, with counts, of what a release still discloses although it keeps its promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..backends import engine
from ..backends.partitions import route
from ..columns.arrays import as_text, is_number, is_text, value_type
from ..columns.column import Column
from ..columns.cover import Cover
from ..columns.roles import describe_strata, names_codes, reads_as, words_of
from ..columns.table import Table
from ..hierarchy import TOP
from ..io.file_format import FileFormat
from ..io.read import with_currencies
from ..io.text_cells import LOOKS_LIKE_DATE, are_dates, date_style
from ..json_types import Count
from ..kernels import Ints
from ..measures import Classes, Counts, Persons, disclosure, group
from ..measures.class_measures import distinct
from ..measures.classes import SensitiveCounts, distinct_values
from ..measures.disclosure import SLACK
from ..measures.guarantees import Disclosure, KAnonymity, from_promise, grouped, promised_k, unbounded
from ..notation import Cell, moment, number, signs, span_ends
from ..plan import Mask, Partition, Plan, PlanColumn, Recoded, Recoding
from ..plan.records import UNCHANGED
from ..schema import Event, Schema
from ..texts import text, texts
from .rule_counts import count_broken

# the part of the rows by which more may lack a computed value, unwarned
MORE_MISSING = 0.02
_say = partial(text, "caution")

# Distinct values up to which text is taken for categories, however few records there are.
FEW = 20
# Part of a column's standard deviation within which a released number is the original.
NEAR = 1e-3
_UTC = ("UTC", "Etc/UTC", "Z", "GMT", "+00:00")
# Numbers as people write them.
_NUMBER = (
    r"^[€$£]?\s*[+-]?((\d{1,3}([.,'\s\x{a0}\x{202f}]\d{3})+|\d+)([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?"
    r"[\s\x{a0}]*[€$£%]?$"
)


def of_release(
    plan: Plan,
    schema: Schema,
    classes: Classes,
    judged: Classes,
    original: Table,
    released: Table,
    rows: Ints | None = None,
) -> Iterator[str]:
    """Yield the cautions of a release, each as a sentence.

    Parameters
    ----------
    plan : Plan
    schema : Schema
    classes : Classes
        The released groups.
    judged : Classes
        The groups that show the sensitive columns: the same, or those of a second table.
    original, released : Table
    rows : int64 array of shape (n_rows,), optional
        The row of the original behind each released one; by default the same.
    """
    recoding = plan.recoding
    yield from _by_chance(plan)
    yield from format_of(plan, original).dialect.doubts()
    yield from _written_otherwise(plan, original, released)
    counts = count_broken([each.rule for each in plan.rules], schema, original, released)
    for each, n in zip(plan.rules, counts, strict=True):
        if n is None:
            yield _say("rule_hidden", rule=each.rule)
        elif n > each.broken:
            yield _say("rule_breaks", rule=each.rule, rows=n, before=each.broken)
    for one in plan.guard.derived if plan.guard else ():
        tables = (table.with_local_codes([one.name]) for table in (original, released))
        before, after = (int(t.declared_column(schema, one.name).counts()[-1]) for t in tables)
        if after > before + MORE_MISSING * released.n_rows:
            yield _say("more_missing", name=one.name, before=before, after=after)
    if (persons := Persons.from_table(original, schema.person, schema.household)) is not None:
        yield from _people(persons, plan)
        yield from _homes(persons, plan, original)
    if schema.weight is not None and schema.weight in plan.names("other") and schema.weight not in plan.relations():
        if strata := describe_strata(original, schema.weight, [*plan.names("quasi"), *plan.names("other")]):
            yield strata
        elif alone := _alone(original.column(schema.weight, kind="numeric")):
            yield _say("weight_unique", name=schema.weight, alone=alone, records=original.n_rows)
    for name, zone in plan.zones.items():
        if zone not in _UTC:
            yield _say("zone", name=name, zone=zone)
        points = schema.grid.get(name, ())
        if points and datetime.fromisoformat(points[0]).tzinfo is None:
            yield _say("grid_zone", name=name, zone=zone)
    declared = {*schema.kinds, *schema.categories}
    for role, check, stated in (("sensitive", _texts, declared), ("quasi", _dates, declared | {*schema.hierarchies})):
        for name in plan.names(role):
            if original.kind(name) == "categorical" and not (name in stated or names_codes(words_of(original, name))):
                yield from check(original.column(name, kind="categorical"))
    yield from _other_types(plan, original)
    for column in judged.sensitive.values():
        yield from _idle_events(column)
    if plan.risk_model == "classes":
        if classes.persons is not None and judged.sensitive:
            yield _say("records_count")
        yield from one_pseudonym(plan, released)
        yield from _silent_columns(plan, classes.n_groups)
        return
    if plan.guard is not None and len(plan.guard.sizes) == 1:  # of drawn rows
        yield _say("one_group", screen="")
    for name, column in judged.sensitive.items():
        if name not in recoding.relations() and not grouped(plan.risk_model, plan.promises):
            yield from _uniform_groups(name, classes.sizes, column)
    if not isinstance(recoding, Mask) or all(column.is_unchanged for column in recoding.columns):
        return
    if (same := _unmoved(recoding, original, released, rows)) * 2 > released.n_rows:
        yield _say("unmoved", same=same, records=released.n_rows)


def not_bounded(plan: Plan, classes: Classes, judged: Classes, original: Table, released: Table) -> list[str]:
    """Return warnings about disclosure or loss that no promise bounds; see `guarantees.unbounded`."""
    columns = judged.sensitive if grouped(plan.risk_model, plan.promises) else {}
    risks = {
        name: disclosure.exposed(column.judged, column.judged_sizes(judged.sizes)) for name, column in columns.items()
    }
    if plan.risk_model != "classes":
        return unbounded(plan.promises, risks, records=classes.n_records, unchanged=plan.in_name_only)
    alone = int(np.count_nonzero(classes.sizes == 1)) if plan.names("quasi") else 0
    lost = certainty_lost(plan, original, released)
    return unbounded(plan.promises, risks, records=classes.n_records, alone=alone, lost=lost)


def one_pseudonym(plan: Plan, released: Table) -> Iterator[str]:
    """Warn of groups in which all records have the same pseudonym although k counts records."""
    quasi = [released.column(name, kind="categorical").codes for name in plan.names("quasi")]
    names = [name for name in plan.names("identifier") if name in released.names]
    for name in names if plan.unit is None and quasi else ():
        groups = group(quasi, released.n_rows)
        column = released.column(name, kind="categorical")
        alone = (distinct(Counts.from_codes(groups, column.codes, column.n_values + 1)) == 1) & (groups.sizes > 1)
        if alone.any():
            n_alone, records = np.count_nonzero(alone), groups.sizes[alone].sum()
            yield _say("one_pseudonym", name=name, alone=n_alone, groups=groups.n_groups, records=records)


def _people(persons: Persons, plan: Plan) -> Iterator[str]:
    """Warn of people with several records, and of protection that several records weaken."""
    if joined := persons.caution():
        yield joined
    records = np.bincount(persons.codes, minlength=persons.n)
    if plan.unit is None and persons.unit is not None and records.max() > 1:
        several, most = np.count_nonzero(records > 1), records.max()
        yield _say("several_records", unit=persons.unit, several=several, people=persons.n, most=most)


def shares_alone(plan: Plan, released: Table) -> dict[str, float]:
    """Return by unchanged column the share of records whose value no other record has: who knows it finds them."""
    changed = plan.relations()
    names = [name for name in (*plan.names("sensitive"), *plan.names("other")) if name not in changed]
    return {name: _alone(released.column(name)) / max(released.n_rows, 1) for name in names if name in released.names}


def _alone(column: Column) -> int:
    return int(np.count_nonzero(column.counts()[: column.n_values] == 1))


def _homes(persons: Persons, plan: Plan, original: Table) -> Iterator[str]:
    """Warn of unchanged columns whose values show which records form one household."""
    if persons.homes is None:
        return
    k = promised_k(plan.promises) or 2
    home, n = persons.homes[persons.codes], persons.counted
    several = np.bincount(home, minlength=n) > 1
    changed = plan.relations()
    for name in (*plan.names("sensitive"), *plan.names("other")):
        if name in changed:
            continue
        column = original.column(name, kind="categorical")
        values = column.n_values + 1
        # each household's values once
        keys = np.sort(home * values + column.codes)
        keys = keys[np.diff(keys, prepend=-1) > 0]
        shared = np.bincount(keys // values, minlength=n) == 1
        rare = np.bincount(keys % values, minlength=values) < k
        # a value of many households points to none of them
        telling = (several & shared)[keys // values] & rare[keys % values]
        if n_homes := int(telling.sum()):
            yield _say("household", name=name, homes=n_homes, households=n, k=k)


def _silent_columns(plan: Plan, n_groups: int) -> Iterator[str]:
    """Warn of columns that are suppressed in every record."""
    silent = [c for c in plan.recoding.recoded() if isinstance(c, Recoded) and c.silent]
    if n_groups == 1 and plan.names("quasi"):
        screen = ", or no --screen" if plan.parameters.get("screen") else ""
        yield _say("one_group", screen=screen)
        return
    screened = [c.name for c in silent if c.style == "suppress" and plan.parameters.get("screen")]
    if screened:
        yield _say("screened", names=", ".join(screened))
    if others := [c.name for c in silent if c.name not in screened]:
        yield _say("silent", names=", ".join(others))


def _texts(column: Column) -> Iterator[str]:
    """Warn of numbers or dates stored as text in a column that was not declared categorical."""
    coded, share = _reading(column, lambda texts: pc.match_substring_regex(texts, f"{_NUMBER}|{LOOKS_LIKE_DATE}"))
    if share * 2 > coded:
        why = _say("look_like_numbers", share=share, coded=coded)
    elif column.n_values * 2 > coded and column.n_values > FEW:
        why = _say("differ", differing=column.n_values, coded=coded)
    else:
        return
    kind = reads_as(pa.array(column.values, pa.string()))
    repair = _say("repair_first" if kind == "categorical" else "say_kind")
    yield _say("judged_as_categories", name=column.name, why=why, repair=repair, kind=kind)


def _reading(column: Column, reads_as: Callable[[pa.Array], pa.Array]) -> tuple[int, int]:
    """Return the number of records with a text, and of those of whose text `reads_as` is true."""
    counts = column.counts()[:-1]
    texts = pc.utf8_trim_whitespace(pa.array(column.values, pa.string()))
    return int(counts.sum()), int(counts[reads_as(texts).to_numpy(zero_copy_only=False)].sum())


def _written_otherwise(plan: Plan, original: Table, released: Table) -> Iterator[str]:
    """Warn of released texts with ISO dates if the cells of the input file are mostly written in another style."""
    styles = dict(original.layout.dialect.styles)
    guarded = plan.guard.columns if plan.guard is not None else ()
    # values of a type for dates are written as the file writes its own
    names = dict.fromkeys(
        column.name
        for column in (*plan.recoding.recoded(), *guarded)
        if column.kind == "date" and column.name in released.names
        if is_text(value_type(released.types.field(column.name).type))
        and not (styles.get(column.name) or _text_style(original, column.name) or "%Y-%m-%d").startswith("%Y-%m-%d")
        and pc.any(pc.match_substring_regex(as_text(released.entries(column.name)), r"\d{4}-\d{2}-\d{2}")).as_py()
    )
    if names and original.path is not None:
        yield _say("dates_written_otherwise", names=", ".join(names), file=original.path.name)


def format_of(plan: Plan, original: Table) -> FileFormat:
    """Return the original's format, with the currencies of all columns of text that are released as numbers."""
    numeric = [name for name, how in plan.relations().items() if how != UNCHANGED and name in original.names]
    return with_currencies(original, [c.name for c in plan.columns if c.name in numeric and c.kind == "numeric"])


def _text_style(original: Table, name: str) -> str:
    """Return how most dates of a column of text or whole numbers are written; empty for 2020-12-31 and other types."""
    kind = value_type(original.types.field(name).type)
    if is_number(kind):
        return "%Y%m%d"
    return date_style(as_text(original.entries(name))) if is_text(kind) else ""


def _dates(column: Column) -> Iterator[str]:
    """Warn of dates that were not declared as dates, and of numbers beside a few other texts: groups get no ranges."""
    coded, share = _reading(column, are_dates)
    if share * 2 > coded:
        is_date = reads_as(pa.array(column.values, pa.string())) == "date"
        yield _say("look_like_dates" if is_date else "are_partly_dates", name=column.name, share=share, coded=coded)
    coded, share = _reading(column, lambda texts: pc.match_substring_regex(texts, _NUMBER))
    if coded > share >= 0.9 * coded:  # of codes, some may be numbers
        yield _say("few_are_no_numbers", name=column.name, share=share, coded=coded)


def _other_types(plan: Plan, original: Table) -> Iterator[str]:
    """Warn of released columns whose values cannot have the type of the original's."""
    for name in (name for name, how in plan.relations().items() if how != UNCHANGED and name in original.names):
        kind = value_type(original.types.field(name).type)
        if pa.types.is_duration(kind):
            yield _say("durations", name=name, unit=texts("unit")[kind.unit])
        elif pa.types.is_time(kind) or name in original.texts:
            yield _say("as_text", name=name, what=original.texts.get(name, "times of day"))


def _idle_events(column: SensitiveCounts) -> Iterator[str]:
    """Warn of declared events that are true of every value or of none."""
    if not column.is_number or not column.n_values:
        return
    effective = {name for name, _ in column.public.flags}
    first = column.exact[0] if column.exact else float(column.values[0])
    for event in column.events:
        if event not in effective:
            whom = "every" if Event.parse(column.name, event).holds(first) else "no"
            yield _say("idle_event", name=column.name, event=event, whom=whom)


def _uniform_groups(name: str, sizes: Ints, column: SensitiveCounts) -> Iterator[str]:
    """Warn of groups whose altered records all share one sensitive value."""
    several = sizes > 1
    (distinct,) = column.per_class(distinct_values)
    one = several & (distinct == 1)
    if one.any() and np.count_nonzero(column.totals) > 1:
        yield _say("uniform_groups", name=name, one=one.sum(), several=several.sum(), records=sizes[one].sum())


def _unmoved(recoding: Mask, original: Table, released: Table, rows: Ints | None) -> int:
    """Return the number of records whose quasi-identifiers are all unchanged, or nearly."""
    same = np.ones(released.n_rows, np.bool_)
    at = slice(None) if rows is None else rows
    for column in recoding.columns:
        old, new = original.like(column), released.like(column)
        if old.is_number:
            before, after = old.numbers[at], new.numbers
            finite = before[np.isfinite(before)]
            near = NEAR * float(finite.std()) if len(finite) else 0.0
            same &= np.isclose(before, after, rtol=0.0, atol=near, equal_nan=True)
        else:
            same &= old.codes[at] == new.codes_in(old, unknown=-1)
    return int(same.sum())


def _by_chance(plan: Plan) -> Iterator[str]:
    """Warn if the cap is below 3/k, which random groups of k records often exceed."""
    checks = [from_promise(promise) for promise in plan.promises]
    ks = [one.k for one in checks if isinstance(one, KAnonymity)]
    caps = [one.maximum for one in checks if isinstance(one, Disclosure)]
    if ks and caps and max(ks) * min(caps) < 3 - SLACK:
        k, cap = max(ks), min(caps)
        enough = math.ceil(3 / cap - SLACK)
        instead = _say("larger_k" if enough <= plan.n_rows else "larger_cap", enough=enough)
        yield _say("by_chance", k=k, cap=cap, instead=instead)


def extremes(plan: Plan, schema: Schema, original: Table, released: Table) -> dict[str, ExtremeEnds]:
    """Return the `rare_ends` of each column that has any, if the plan promises a k; otherwise nothing.

    Limits that a declared hierarchy has are nobody's.
    """
    ks = [one.k for one in map(from_promise, plan.promises) if isinstance(one, KAnonymity)]
    by_column = {}
    for column in (c for c in plan.recoding.recoded() if ks and c.name not in schema.hierarchies):
        coded = original.column(column.name, kind=column.kind, unit=column.unit or None)
        cells = {cell.label: cell for cell in _placed(plan.recoding.meanings().get(column.name, ()), coded)}
        labels, counts = released.cell_counts(column.name)
        ends = [(c.lo, c.hi) if (c := cells.get(label)) else (None, None) for label in labels]
        by_column[column.name] = rare_ends(coded, max(ks), labels, ends, counts)
    return {name: figures for name, figures in by_column.items() if figures["cells"]}


class ExtremeEnds(TypedDict):
    """Cells whose range ends on a value that fewer than k records have, and the records that show them."""

    cells: Count
    records: Count


def rare_ends(
    column: Column, k: int, labels: Sequence[Any], ends: Sequence[Sequence[Any]], counts: Ints
) -> ExtremeEnds:
    """Count ranges that end on a value of fewer than k records, and the records that show such ranges.

    Parameters
    ----------
    column : Column
        The original column.
    k : int
    labels : sequence of str or None
        The released cells, each once.
    ends : sequence of pairs
        The smallest and largest number that each cell allows; of categories, whose spans name them, they are not read.
    counts : int64 array
        Records that show each cell.
    """
    few = np.flatnonzero(column.counts()[: column.n_values] < k)
    rare = {column.exact[i] for i in few} if column.exact else {column.values[i] for i in few}
    parts = []
    for i, (label, pair) in enumerate(zip(labels, ends, strict=True)):
        if not column.is_number:  # of an order that was declared the ends are nobody's
            pair = (column.kind == "categorical" and isinstance(label, str) and span_ends(label)) or ()
        if not rare.isdisjoint(pair) and signs([label], kind=column.kind) & {"range", "dates", "alphabetical"}:
            parts.append(i)
    return {"cells": len(parts), "records": sum(int(counts[i]) for i in parts)}


def extremes_in_words(name: str, k: int, figures: ExtremeEnds) -> str:
    """Return a column's `rare_ends` as a warning with advice."""
    return _say("rare_end" if figures["cells"] == 1 else "rare_ends", name=name, k=k, **figures)


def certainty_lost(plan: Plan, original: Table, released: Table) -> float | None:
    """Return the mean normalised certainty penalty of the recoded columns, 0 (no loss) to 1 (all lost).

    Return None if the plan does not state what the released cells stand for.
    """
    recoding = plan.recoding
    if isinstance(recoding, Mask):
        if recoding.risk_model == "linkage":
            return None
        # whoever reads an empty cell of such a column cannot tell whether it was suppressed
        removed = [c.suppressed and c.missing + c.suppressed * (1 - c.missing) for c in recoding.columns]
        return float(np.mean(removed)) if removed else None
    cells = recoding.meanings()
    leaf = _leaves(recoding, original)
    widths = [
        _lost(column, cells[column.name], original, released, leaf.get(column.name))
        for column in recoding.recoded()
        if column.name in cells
    ]
    return float(np.mean(widths)) if widths else None


def _leaves(recoding: Recoding, original: Table) -> dict[str, Ints]:
    """Count the rows in each cell, for columns in which cells of equal text can stand for different ranges."""
    if not isinstance(recoding, Partition):
        return {}
    centred = [(j, c) for j, c in enumerate(recoding.columns) if c.style in ("mean", "median")]
    if not centred:
        return {}

    def count(part: Table, _: Any) -> Ints:
        return np.bincount(route(recoding, [part.like(c) for c in recoding.columns]), minlength=recoding.n_leaves)

    names = [c.name for c in recoding.columns]
    # rows are counted where they are, on a cluster by its executors
    rows = sum(engine(original.engine).over_parts(original, count, names))
    cells = recoding.leaf_cells
    return {c.name: np.bincount(np.asarray(cells[j]), rows, len(c.cells)).astype(np.int64) for j, c in centred}


def _lost(column: PlanColumn, cells: tuple[Cell, ...], original: Table, released: Table, rows: Ints | None) -> float:
    """Return the mean normalised width of a column's cells over the rows."""
    if (coded := original.like(column)).is_number:
        values = coded.values
        ends = (float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0)
        width = Cover.from_cells(_placed(cells, coded)).widths(ends)
    else:
        width = Cover.from_cells(cells, coded.values).widths()
    if rows is not None:
        return float(width @ rows) / max(released.n_rows, 1)
    # a suppressed cell loses everything
    by_label = {TOP: 1.0} | {cell.label: w for cell, w in zip(cells, width, strict=True)}
    labels, counts = released.cell_counts(column.name)
    total = sum(by_label.get(label, 0.0) * n for label, n in zip(labels, counts, strict=True))
    return float(total) / max(released.n_rows, 1)


def _placed(cells: Sequence[Cell], column: Column) -> Sequence[Cell]:
    """Return the cells of a number from a hierarchy of texts with their lower and upper ends filled in."""
    if not column.is_number or all(cell.lo is not None or not cell.categories for cell in cells):
        return cells
    unit = column.unit
    texts = {moment(v, unit) if unit else number(v): v for v in column.exact or column.values.tolist()}
    placed = []
    for cell in cells:
        ends = [texts[text] for text in cell.categories if text in texts]
        placed.append(replace(cell, lo=min(ends), hi=max(ends)) if ends and cell.lo is None else cell)
    return placed
