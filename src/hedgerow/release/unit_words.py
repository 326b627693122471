"""Say how the rows of one person or household belong together, for tables with several rows of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any

from ..notation import figure, markdown, percent
from ..plan import Plan, UnitForm
from ..schema import Schema
from ..texts import text, texts
from . import guard_words

# how many rows apart, and how many pairs of members of a household, recipients read of
_APART, _PAIRS = 2, 3
_WRITTEN: Mapping[str, Callable[[float], str]] = {
    **dict.fromkeys(("correlation", "steps"), "{:.2f}".format),
    "same": partial(percent, digits=0),
    "followers": lambda share: f"{100 * share:.0f} points",
    **dict.fromkeys(("change", "step", "days"), figure),
}
_say = partial(text, "units")


def nouns(order: str) -> dict[str, str]:
    """Return what a unit and a row are called, by what tells rows apart."""
    return dict(zip(("one", "who", "row", "title"), texts("order")[order], strict=True))


def relation_in_words(
    relation: Mapping[str, Any], order: str, spelled: Callable[[str], str] = str
) -> tuple[str, str, str]:
    """Return what a relation between rows of a unit is called, with its numbers of the original and the release."""
    row, apart = nouns(order)["row"], relation["apart"]
    where = " and ".join(map(spelled, relation["members"])) or _say("next" if apart == 1 else "apart", row=row, n=apart)
    name = _say(relation["measure"] + "_member" * bool(relation["members"]), where=where, row=row)
    write = _WRITTEN[relation["measure"]]
    original, release = ("-" if each is None else write(each) for each in (relation["original"], relation["release"]))
    return name, original, release


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
    order, by_column = units["order"], dict[str, list[str]]()
    means = {side: f"{units[side]['mean']:.1f}" for side in ("original", "release")}
    yield _say("relations", **nouns(order), **means)
    for each in units["relations"]:
        phrases = by_column.setdefault(each["column"], [])
        if each["apart"] > _APART or (each["members"] and len(phrases) == _PAIRS):
            continue
        name, original, release = relation_in_words(each, order, markdown)
        key = "alone" if each["original"] is None else "here" if each["column"] in dominated else "both"
        if key == "both" and each["measure"] in ("change", "step", "days"):
            # sizes of the original are not named, but how they compare
            original = f"{each['release'] / each['original']:.2f}" if each["original"] else ""
            key = "times" if original else "here"
        phrases.append(_say(key, name=name, original=original, release=release))
    for column, phrases in by_column.items():
        yield f"- {markdown(column)}: {'; '.join(phrases)}."


def about(plan: Plan, form: UnitForm, file: str, rows: Mapping[str, Any]) -> list[str]:
    """Return the first lines of RECIPIENT.md: what the table is about, and whose rows belong together."""
    words = {**nouns(form.order), "people": f"{form.people:,}"}
    slot = next(((name, form.slots_of(name)[-1]) for name in (*form.repeated, *form.moving)), None)
    counts = {"file": file, "rows": rows["rows"], "units": rows["units"]}
    together = [
        _say("together", unit=markdown(form.unit), **words),
        _say(f"left_{form.order}", n=len(form.slots), **words),
        _say("once", names=", ".join(map(markdown, form.once)), **words) if form.once else "",
        _say("moving", names=", ".join(map(markdown, form.moving)), **words) if form.moving else "",
        _say("brackets", example=markdown(form.wide_name(*slot)), **words) if slot else "",
    ]
    about_rows = guard_words.about_rows(plan, ("about_units", "about_units_beside"), markdown, **counts, **words)
    return [about_rows, _say("sorted", **words), "".join(together)]


def columns_of_units(plan: Plan, form: UnitForm, contents: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield each column of the released long table with its role and what it holds."""
    roles, words = {c.name: c.role for c in plan.columns}, nouns(form.order)
    for name in form.names:
        wide = next((each for each, (column, _) in form.cells.items() if column == name), "")
        kept = next((key for key in ("once", "moving") if name in getattr(form, key)), "")
        if name == form.unit:
            yield name, "identifier", _say("id", **words)
        elif name == form.by and not kept:
            yield name, roles[wide], _say(f"by_{form.order}", **words)
        else:
            yield name, roles[wide], contents.get(name, _say("exact")) + (_say(f"cell_{kept}", **words) if kept else "")


def left_out(form: UnitForm | None) -> list[str]:
    """Return the identifiers of a long table that are not released."""
    identifiers = Schema.from_toml(form.schema).identifiers if form else ()
    return [name for name in identifiers if form and name not in (*form.names, form.unit)]
