"""Say what a guard does: to the steward in figures and warnings, to the recipient without any."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..columns.column import Column
from ..columns.numbers import LARGEST
from ..columns.roles import attacked_as
from ..columns.table import Table
from ..measures import Persons
from ..measures.guarantees import ColumnGuarantee, Disclosure, Guarantee, KAnonymity, from_promise, promised_k
from ..notation import duration, figure, markdown, percent
from ..plan import Guard, GuardedColumn, Plan
from ..plan.records import FILE, RUNS
from ..rules import parse
from ..schema import Schema
from ..texts import text, texts

# share of a column's variance that one person may hold, and by how much its spread may change, unwarned
LARGE, MOVED = 0.1, 0.1
# columns whose changed spread is told one by one
SHIFTS = 6
# rows with an impossible pair of values, unwarned
IMPOSSIBLE = 0.02
# the median error of counts of people up to which they are near the table's
_NEAR = 0.1
# the smallest rank correlation in the words, and how many
CORRELATION, CORRELATIONS = 0.1, 10
_say = partial(text, "guard")


def form_in_words(plan: Plan, guard: Guard, spelled: Callable[[str], str] = str) -> str:
    """Return what released values are, for whoever reads the release."""
    return (
        about_rows(plan, ("rows", "rows_beside"), spelled)
        if guard.rows
        else _say(guard.form, people=plan.counted(guard.people))
    )


def about_rows(plan: Plan, keys: tuple[str, str], spelled: Callable[[str], str] = str, **values: Any) -> str:
    """Return the first text on rows that were drawn, or the second if a person's own values stand beside them."""
    changed = plan.relations()
    exact = [name for name in plan.names("other") if name not in changed]
    names = {"exact": exact, "drawn": changed}
    listed = {key: ", ".join(map(spelled, plan.released_as(each))) for key, each in names.items()}
    return _say(keys[bool(exact)], **{"who": plan.counts, **listed, **values})


def in_words(plan: Plan, guard: Guard) -> str:
    """Return how the columns of a guard are released, as text for the steward."""
    lines = [_say("head", form=form_in_words(plan, guard))]
    if guard.form != RUNS:
        again = sum(n > 0 for n in guard.again)
        lines.append(_say("groups", groups=len(guard.sizes), again=again, people=plan.counted(guard.people)))
    computed = _computed(guard)
    for column in guard.as_drawn().columns:
        name, pieces = column.name, len(column.begins)
        if name in computed:
            lines.append(f"{name}: {computed[name]}")
            continue
        values = _say("pieces", pieces=pieces) if pieces else _say("values", values=column.n_values)
        added = {"people": plan.counted(column.smoothed), "counts": plan.counts}
        smoothed = _say("alike" if column.ruled else "smoothed", **added) if column.smoothed else ""
        if guard.form == RUNS:
            line = _say("told", name=name, values=values)
        elif column.follows:
            line = _say("followed", name=name, values=values, follows=column.follows)
        elif column.by_moments:
            step = duration(column.step, column.unit) if column.unit else f"{column.step:,.15g}"
            where = "cells" if column.role == "quasi" else "groups"  # whose values are drawn in finer ones
            moved = _say("moved_means", moved=column.moved, where=where) if column.moved else ""
            line = _say("by_moments", name=name, values=values, step=step, moved=moved)
            if len(column.classes):
                line += _say("classes", classes=max(column.classes), smoothed=smoothed)
        else:
            line = _say("by_shares", name=name, values=values, smoothed=smoothed)
        line += _say("joined", records=column.joined, value=value_of_rare(column)) if column.joined else ""
        lines.append(line + (_say("withheld", records=column.withheld) if column.withheld else ""))
    if len(guard.weights):
        lines.append(_say("weights"))
    if guard.cap_on == FILE:
        lines.append(_say("capped", k=promised_k(plan.promises) or guard.people))
    if guard.moments:
        lines.append(_say("moments", moments=guard.moments))
    if pairs := _correlations(guard):
        lines.append(_say("correlations", pairs="; ".join(pairs)))
    return "\n  ".join([*lines, _say("once")])


def _computed(guard: Guard, spelled: Callable[[str], str] = str) -> dict[str, str]:
    """Return how the columns that rules hold by are computed from others, as text."""
    ways = {}
    for each in guard.derived:
        together = [other.name for other in guard.derived if other.inside == each.inside and other.name != each.name]
        if each.inside:
            ways[each.name] = _say("together", names=", ".join(map(spelled, together)))
        else:
            key = "distance" if each.name in parse(each.sql).parts[1].names else "computed"
            ways[each.name] = _say(key, names=", ".join(map(spelled, each.reads)))
    return ways


def value_of_rare(column: GuardedColumn, spelled: Callable[[str], str] = str) -> str:
    """Return what categories are released as that too few people have, as text."""
    example = next((str(value) for value in column.values if str(value).endswith("*")), "")
    ways = ["rare_prefix"] * column.by_prefix + ["rare_parent"] * bool(column.parents)
    ways += ["rare_rest"] * bool(column.rest) + ["rare_missing"] * column.rest_is_missing
    return ", else ".join(_say(way, rest=spelled(column.rest), example=spelled(example)) for way in ways)


def _correlations(guard: Guard) -> list[str]:
    """Return the largest rank correlations that the draws keep inside groups, as text."""
    heads = [column.name for column in guard.columns if not column.follows]
    pairs = [(a, b) for i, a in enumerate(heads) for b in heads[: i + 1]]
    entries = [(r / 100, a, b) for r, (a, b) in zip(guard.correlation, pairs, strict=False) if a != b]
    entries = sorted((each for each in entries if abs(each[0]) >= CORRELATION), key=lambda each: -abs(each[0]))
    return [f"{b} and {a} {r:.2f}" for r, a, b in entries[:CORRELATIONS]]


def figures(plan: Plan, schema: Schema, original: Table, released: Table) -> dict[str, Any] | None:
    """Return a guard in numbers, with spread, median and tail of each number before and after; private.

    Numbers that attacks take for codes have neither.
    """
    if (guard := plan.guard) is None:
        return None
    persons = Persons.from_table(original, plan.unit, None)
    columns = {}
    for record in guard.columns:
        column: dict[str, Any] = {"values": record.n_values, "withheld": record.withheld, "joined": record.joined}
        columns[record.name] = column | dict.fromkeys(("before", "after", "largest"))
        exact = original.like(record) if record.kind == "numeric" and record.n_values else None
        if exact is not None and attacked_as(exact, schema) == "number":
            drawn_column = released.column(record.name, kind="numeric")
            columns[record.name] |= {"before": _shape(exact), "after": _shape(drawn_column)}
            columns[record.name]["largest"] = _largest(exact, persons)
    weights = {}
    if plan.weight and plan.weight in plan.relations():
        both = (("before", original), ("after", released))
        coded = {when: table.column(plan.weight, kind="numeric") for when, table in both}
        totals = {when: float(c.doubles @ c.counts()[: c.n_values]) for when, c in coded.items()}
        weights = {"weights": {**totals, "largest": _largest(coded["before"], None)}}
    again = sum(n > 0 for n in guard.again)
    return {
        "form": "rows" if guard.rows else guard.form, "people": guard.people, "groups": len(guard.sizes),
        "drawn_again": again, "impossible": guard.impossible, "columns": columns, **weights,
    }  # fmt: skip


def _shape(column: Column) -> dict[str, float | None] | None:
    """Return standard deviation, median and share of the top hundredth; None if they fit no double."""
    values, counts = column.doubles, column.counts()[: column.n_values]
    n = int(counts.sum())
    if not n or np.abs(values).max() > LARGEST:
        return None
    mean = float(np.average(values, weights=counts))
    spread = float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))
    reached, top, total = np.cumsum(counts), None, float(values @ counts)
    if values[0] >= 0 and total > 0:
        # records of each value that belong to the last hundredth
        last = np.clip(reached - (n - max(n // 100, 1)), 0, counts)
        top = float(values @ last) / total
    middle = float(values[np.searchsorted(reached, [(n + 1) // 2, n // 2 + 1])].mean())
    return {"deviation": spread, "median": middle, "top_share": top}


def _largest(column: Column, persons: Persons | None) -> float | None:
    """Return the largest share of a column's variance that one person holds; None if it fits no double."""
    counts = column.counts()[: column.n_values]
    if not counts.any() or np.abs(column.doubles).max() > LARGEST:
        return None
    squares = (column.doubles - np.average(column.doubles, weights=counts)) ** 2
    total = float(squares @ counts)
    by_person = squares if persons is None else np.bincount(persons.codes, np.append(squares, 0.0)[column.codes])
    return float(by_person.max()) / total if total else 0.0


def shifts_in_words(numbers: Mapping[str, Any], plan: Plan | None = None) -> list[str]:
    """Return, for each guarded number, what changed of its spread, median and tail, as text; of slots the largest."""
    lines = []
    if totals := numbers.get("weights"):
        lines.append(_say("shift_weights", before=figure(totals["before"]), after=figure(totals["after"])))
    columns = {name: column for name, column in numbers["columns"].items() if column["before"] and column["after"]}
    parts = plan.released_as(columns) if plan else {name: [name] for name in columns}
    slots = {max(wide, key=lambda name: abs(_spread_change(columns[name]))): len(wide) for wide in parts.values()}
    columns = {name: column for name, column in columns.items() if name in slots}
    # those that changed most, for of fifty columns most say the same
    most = sorted(columns, key=lambda name: -abs(_spread_change(columns[name])))
    for name in [name for name in columns if name in most[:SHIFTS]]:
        two = (columns[name][when] for when in ("before", "after"))
        before, after = ({p: (percent if p == "top_share" else figure)(v) for p, v in each.items()} for each in two)
        key = "shift" if columns[name]["before"]["top_share"] is None else "shift_top"
        of_slots = _say("of_slots", slots=slots[name]) if slots[name] > 1 else ""
        lines.append(_say(key, name=name + of_slots, before=before, after=after))
    if rest := most[SHIFTS:]:
        change = abs(_spread_change(columns[rest[0]]))
        lines.append(_say("shift_rest" if change else "no_shift", columns=len(rest), most=percent(change)))
    return lines


def _spread_change(column: Mapping[str, Any]) -> float:
    """Return by which share the standard deviation of a column grew; 0 if it had none."""
    before, after = (column[when] and column[when]["deviation"] for when in ("before", "after"))
    return after / before - 1 if before and column["after"] else 0.0


def warnings(plan: Plan, numbers: Mapping[str, Any] | None, pseudonyms: Sequence[str], rows: int) -> Iterator[str]:
    """Yield what a guard does not hide, or loses more of than usual, each as a sentence."""
    guard = plan.guard
    if guard is None or numbers is None:
        return
    exact = [name for name in plan.names("other") if name not in (plan.weight, *plan.relations())]
    if plan.weight in plan.names("other") and plan.weight not in plan.relations():
        yield _say("weight", name=plan.weight)
    if plan.has_mean_weights and numbers["weights"]["largest"] > LARGE:
        yield _say("dominant_weight", name=plan.weight, share=percent(numbers["weights"]["largest"]))
    if exact:
        yield _say("others", names=", ".join(exact))
    ties = ["the kept order of the rows"] if plan.is_order_kept else []
    ties += [f"the pseudonym {name}" for name in pseudonyms]
    if ties and guard.form != RUNS:
        yield _say("nobody", what=" and ".join(ties))
    if guard.impossible > IMPOSSIBLE * rows:
        yield _say("impossible", share=percent(guard.impossible / rows))
    columns, who = numbers["columns"], plan.counted(guard.people)
    for released, wide in plan.released_as(columns).items():
        # of a long column the slot that lost most
        worst = {p: max(wide, key=lambda name: columns[name][p] or 0) for p in ("withheld", "joined", "largest")}
        moved = max(wide, key=lambda name: abs(_spread_change(columns[name])))
        if empty := [name for name in wide if name in left_empty(guard)]:
            yield _say("empty", name=", ".join(empty), people=who)
        elif n := columns[worst["withheld"]]["withheld"]:
            yield _say("hidden", name=worst["withheld"], records=n, people=who)
        if (n := columns[joined := worst["joined"]]["joined"]) > 0:
            record = next(c for c in guard.columns if c.name == joined)
            share, value = percent(n / rows), value_of_rare(record)
            key = "rare_rows" if plan.units and joined == plan.units.presence else "rare"
            yield _say(key, name=joined, column=released, records=n, share=share, people=who, value=value)
        if (part := columns[worst["largest"]]["largest"] or 0.0) > LARGE:
            one = {"people": "person", "households": "household"}.get(plan.counts, "record")
            yield _say("dominant", name=worst["largest"], share=percent(part), one=one)
        if abs(change := _spread_change(columns[moved])) > MOVED:
            direction = "larger" if change > 0 else "smaller"
            yield _say("moved", name=moved, share=percent(abs(change), 0), direction=direction)


def left_empty(guard: Guard) -> list[str]:
    """Return the columns with values of which none is released, because too few people share them."""
    # a column that was empty before is one of categories, none of which is withheld
    return [c.name for c in guard.columns if not c.n_values and (c.withheld or c.kind in ("numeric", "date"))]


def contents(plan: Plan) -> dict[str, str]:
    """Return what each guarded column holds, as RECIPIENT.md says it."""
    if plan.guard is None:
        return {}
    key = "cell_run" if plan.guard.form == RUNS else "cell_drawn"
    rare = "cell_rare_slot" if plan.units else "cell_rare"

    def spelled(name: str) -> str:
        return markdown(*plan.released_as([name]))

    cells = {
        c.name: _say("cell_follows" if c.follows else key, kind=texts("kind")[c.kind], follows=spelled(c.follows))
        + (
            _say(rare, records=c.joined, people=plan.counted(plan.guard.people), value=value_of_rare(c, markdown))
            if c.joined
            else ""
        )
        for c in plan.guard.columns
    }
    kinds = {c.name: texts("kind")[c.kind] for c in plan.guard.columns}
    cells |= {name: f"{kinds[name]}, {words}" for name, words in _computed(plan.guard, spelled).items()}
    cells |= {
        c.name: _say("cell_empty", people=plan.counted(plan.guard.people)) for c in plan.guard.columns if not c.n_values
    }
    weight = _say("cell_weight" if _differ(plan.guard.weights) else "cell_same_weight")
    return cells | ({plan.weight: weight} if plan.has_mean_weights else {})


def dominated(numbers: Mapping[str, Any] | None, plan: Plan) -> list[str]:
    """Return the released columns of which one person has much of the variance, in most slots of a long one."""
    columns = numbers["columns"] if numbers else {}
    parts = plan.released_as(columns).items()
    return [name for name, wide in parts if np.median([columns[each]["largest"] or 0.0 for each in wide]) > LARGE]


def _differ(weights: Iterable[float]) -> bool:
    """Return whether groups have different mean weights, so that these tell groups apart."""
    return len(set(weights)) > 1


def reading(plan: Plan, counts: Mapping[str, Any] | None = None) -> list[str]:
    """Return the lines of RECIPIENT.md on how to read the guarded columns; `counts`: errors of counts, if measured."""
    if (guard := plan.guard) is None:
        return []
    key = "reading_runs" if guard.form == RUNS else "reading_drawn"
    if guard.rows:
        key = "reading_capped" if guard.cap_on == FILE else "reading_rows"
    near = _say("near") if guard.rows and not (counts and (counts["median"] or 0) > _NEAR) else ""
    return [
        _say("reading", form=form_in_words(plan, guard, markdown)),
        _say(
            key, people=plan.counted(guard.people), near=near, rules=_say("rules_apart" if plan.rules else "no_rules")
        ),
    ]


def hides_relations(plan: Plan | None) -> bool:
    """Return whether a cap on the file weakens relations; how much they changed is then kept from recipients."""
    return plan is not None and plan.guard is not None and plan.guard.cap_on == FILE


def promise_in_words(plan: Plan, promise: Guarantee) -> str:
    """Return one promise of a plan as a sentence; in rows form it is of groups which only mean weights show."""
    guard = plan.guard
    if guard is not None and guard.rows and isinstance(promise, ColumnGuarantee):
        is_of_file, words = guard.cap_on == FILE, promise.words()
        if isinstance(promise, Disclosure):
            key = "promise_cap_file" if is_of_file else "promise_cap"
            words = _say(key, words=words.removeprefix("no released group"))
        k = promised_k(plan.promises) or guard.people
        return _say("promise_in_file", words=words, k=k) if is_of_file else words
    if not plan.in_rows or not isinstance(promise, KAnonymity):
        return promise.words()
    key = "promise_weights" if guard and _differ(guard.weights) else "promise_rows"
    return _say(key, k=promise.k, who=plan.counts, weight=plan.weight)


def promises(plan: Plan) -> list[str]:
    """Return the promises of a plan as sentences, with those of its guard."""
    guard, sentences = plan.guard, [promise_in_words(plan, from_promise(promise)) for promise in plan.promises]
    if guard is not None:
        computed = {each.name: ", ".join(each.reads) for each in guard.derived if each.sql}
        names = ", ".join(plan.released_as(column.name for column in guard.columns if column.name not in computed))
        key = "promise" if guard.form == RUNS else "promise_drawn"
        sentences.append(_say(key, names=names, people=plan.counted(guard.people)))
        sentences += [_say("promise_computed", name=name, names=others) for name, others in computed.items()]
    return sentences
