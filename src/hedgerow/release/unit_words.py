"""Say how the rows of one person or household belong together, for tables with several rows of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from ..notation import figure, markdown, percent
from ..plan import Plan, UnitForm
from ..texts import text, texts
from . import guard_words

# how many rows apart, and how many pairs of members of a household, recipients read of
_APART, _PAIRS = 2, 3
_WRITTEN: dict[str, Callable[[float], str]] = {
    "correlation": "{:.2f}".format, "steps": "{:.2f}".format, "same": partial(percent, digits=0),
    "followers": lambda share: f"{100 * share:.0f}",
}  # fmt: skip
_say = partial(text, "units")


def nouns(order: str) -> dict[str, str]:
    """Return what a unit and a row are called, by what tells rows apart."""
    return dict(zip(("one", "who", "row", "title"), texts("order")[order], strict=True))


def relation_in_words(each: Mapping[str, Any], order: str, spelled: Callable[[str], str] = str) -> tuple[str, ...]:
    """Return what a relation between rows of a unit is called, with its numbers of the original and the release."""
    row, n, members = nouns(order)["row"], each["apart"], " and ".join(map(spelled, each["members"]))
    where = members or _say("next" if n == 1 else "farther", row=row, n=n)
    name = _say(each["measure"] + "_member" * bool(members), where=where, row=row)
    write: Callable[[float], str] = _WRITTEN.get(each["measure"], figure)
    return name, *("-" if each[side] is None else write(each[side]) for side in ("original", "release"))


def about_relations(units: Mapping[str, Any] | None, dominated: Collection[str]) -> Iterator[str]:
    """Yield the lines of RECIPIENT.md on the relations between the rows of a unit.

    Parameters
    ----------
    units : mapping, optional
        The measured relations.
    dominated : collection of str
        Columns that one unit has much of, of which nothing in the original is named.
    """
    if units is None:
        return
    by_column, (before, after) = dict[str, list[str]](), (units[side]["mean"] for side in ("original", "release"))
    yield _say("relations", **nouns(units["order"]), original=f"{before:.1f}", release=f"{after:.1f}")
    for each in units["relations"]:
        phrases = by_column.setdefault(each["column"], [])
        if each["apart"] <= _APART and not (each["members"] and len(phrases) == _PAIRS):
            name, original, release = relation_in_words(each, units["order"], markdown)
            is_hidden = each["column"] in dominated or not each["original"]
            # sizes of the original are not named, but how they compare
            key = "here" if is_hidden else "times" if each["measure"] in ("change", "step", "days") else "both"
            key = "alone" if each["original"] is None else key
            ratio = each["release"] / (each["original"] or 1.0)
            phrases.append(_say(key, name=name, original=original, release=release, ratio=ratio))
    yield from (f"- {markdown(column)}: {'; '.join(phrases)}." for column, phrases in by_column.items())


def about_few(form: UnitForm) -> str:
    """Return what a cap says where few people of a group have a row."""
    return _say("few", **nouns(form.order), fewest=form.fewest)


def trust_in_words(columns: Iterable[tuple[str, str]], form: UnitForm) -> Iterator[tuple[str, str]]:
    """Yield how far to trust each column of the long table, in words, from those about its slots."""
    words_by_slot: dict[str, dict[int, str]] = {}
    for name, words in columns:
        column, slot = form.cells.get(name, (name, -1))
        words_by_slot.setdefault(column, {})[slot] = words
    for column, of_slot in words_by_slot.items():
        # which rows there are (-1) is no cell of a column that has cells
        slots = sorted(slot for slot in of_slot if slot >= 0) or [-1]
        if len({of_slot[slot] for slot in slots}) == 1:
            yield column, of_slot[slots[0]]
            continue
        by_verdict = dict[str, list[str]]()
        for slot in slots:
            by_verdict.setdefault(of_slot[slot].partition(":")[0], []).append(markdown(form.slots[slot]))
        usual, *others = sorted(by_verdict, key=lambda verdict: -len(by_verdict[verdict]))
        rest = (_say("trust_slots", slots=", ".join(by_verdict[verdict]), words=verdict) for verdict in others)
        yield column, "; ".join([usual, *rest])


def about(plan: Plan, form: UnitForm, file: str, rows: Mapping[str, Any]) -> list[str]:
    """Return the first lines of RECIPIENT.md: what the table is about, and whose rows belong together."""
    counts = {"file": file, "rows": rows["rows"], "units": rows["units"], "n": len(form.slots), "people": form.people}
    lists = {key: ", ".join(map(markdown, getattr(form, key))) for key in ("once", "moving")}
    example = max(form.cells, key=lambda name: form.cells[name][1])  # in the last slot
    words = {**nouns(form.order), **counts, **lists, "unit": markdown(form.unit), "example": markdown(example)}
    keys = ["together", f"left_{form.order}", *(key for key, names in lists.items() if names), "brackets"]
    about_rows = guard_words.about_rows(plan, ("about_units", "about_units_beside"), markdown, **words)
    return [about_rows, _say("sorted", **words), "".join(_say(key, **words) for key in keys)]


def columns_of_units(plan: Plan, form: UnitForm, contents: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield each column of the released long table with its role and what it holds."""
    roles = {form.cells[c.name][0]: c.role for c in plan.columns if c.name in form.cells} | {form.unit: "identifier"}
    for name in form.names:
        key = "cell_once" if name in form.once else "cell_moving" if name in form.moving else "cell"
        key = "id" if name == form.unit else f"by_{form.order}" if name == form.by and key == "cell" else key
        wide = [contents.get(each, "") for each, cell in form.cells.items() if cell[0] == name != each != form.presence]
        # of several slots one that says what rare values became
        content = max([contents.get(name, ""), *wide], key=lambda words: (words.count(";"), words > ""))
        yield name, roles[name], _say(key, content=content or text("recipient", "unchanged"), **nouns(form.order))
