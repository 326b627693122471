"""Write RECIPIENT.md: all that a reader of the released table must know, and nothing private."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..io.file_format import FileFormat
from ..measures.guarantees import BEYOND, Disclosure, from_promise
from ..methods.base import RecipientNotes
from ..notation import SIGNS, duration, figure, markdown, signs
from ..plan import ColumnMap, Maps, Plan, PlanColumn, Recoded, Recoding

_STYLES = {
    "mean": "*mean*: the mean of the group in place of each value. It is the group's, not this "
    "record's: a person may be far from it",
    "median": "*median*: the median of the group in place of each value. It is the group's, not "
    "this record's: a person may be far from it",
}


def recipient(
    plan: Plan,
    numbers: Mapping[str, Any],
    file: str,
    method: RecipientNotes,
    pseudonyms: Sequence[str] = (),
    empty: bool = False,
    singletons: Iterable[str] = (),
    layout: FileFormat = FileFormat(),
) -> str:
    """Return the text of RECIPIENT.md.

    Parameters
    ----------
    plan : Plan
    numbers : mapping
        `Release.summary()`.
    file : str
        Name of the table's file.
    method : RecipientNotes
        The method's own lines.
    pseudonyms : sequence of str
        Identifiers that were replaced.
    empty : bool
        Whether a recoded cell is empty.
    singletons : iterable of str
        Sentences on groups of one person, where k counts records.
    layout : FileFormat
        Of the table's file.
    """
    removed = [n for n in plan.left_out if n not in pseudonyms]
    sizes, disclosure = numbers["groups"], numbers["disclosure"]
    recoding = plan.recoding
    styles = {
        c.name: f"recoded ({_style(c)})" for c in recoding.recoded() if isinstance(c, Recoded)
    }
    contents = {**styles, **method.cells}
    lines = [
        "# About this table",
        "",
        f"`{file}` holds {numbers['rows']:,} records about people. {method.about}",
        "The records stand in the order of the table they come from."
        if plan.parameters.get("keep_order")
        else "The records are sorted by their values; their order has no other meaning.",
        "",
        "## Columns",
        "",
        "| column | role | what it holds |",
        "|---|---|---|",
    ]
    for column in plan.columns:
        if column.name in removed:
            continue
        content = contents.get(column.name) or _content(column)
        label = layout.labels.label(column.name)
        content = f"{markdown(label)}; {content}" if label else content
        lines.append(f"| {markdown(column.name)} | {column.role} | {content} |")
    if removed:
        lines += ["", f"Left out: {', '.join(map(markdown, removed))}."]
    encoding = layout.dialect.encoding
    if layout.suffix == ".csv" and not encoding.startswith("utf-8"):
        lines += ["", f"The file is text in {encoding}, not in UTF-8: say so where you read it."]
    if plan.weight:
        lines += [
            "",
            f"Records are weighted by {markdown(plan.weight)}: it says how many people a record stands "
            "for, and totals, means and shares of the population take it.",
        ]
    lines += _labelled(layout, [c.name for c in plan.columns if c.name not in removed])
    lines += _reading(recoding, file, empty)
    if plan.zones:
        lines += [
            "",
            f"Times in recoded cells are those of UTC: {', '.join(map(markdown, plan.zones))}.",
        ]
    lines += ["", "## What was promised, and verified on this very file", ""]
    promised = [markdown(f"{from_promise(promise).words()}.") for promise in plan.promises]
    lines += [f"- {words}" for words in [*promised, *method.promised] or ["Nothing."]]
    if any(promise["kind"] == Disclosure.kind for promise in plan.promises):
        lines += ["", BEYOND]
    most = plan.parameters.get("max_inference")
    if most is not None:
        lines += [
            "",
            f"Measured, not promised: attackers who have what is released "
            f"({', '.join(plan.parameters['max_inference_learners'])}) were "
            "asked about the people in it (5,000 of them where there are more). "
            f"The best of them took at most {most:g} off the error of guessing from public totals, over "
            "those asked and over the tenth that it explains best. Other learners may infer more.",
        ]
    if profile := plan.parameters.get("profile"):
        lines += [
            "",
            f"Held against the profile {markdown(profile)} ({plan.parameters['profile_date']}): whatever it "
            "asks and could be measured here is met. A table cannot show what else the standard asks.",
        ]
    # altered cells and unchanged ones make no groups to speak of
    grouped = recoding.risk_model == "classes" and not recoding.second_file
    if grouped and plan.names("quasi"):
        lines += [
            "",
            f"There are {sizes['groups']:,} groups of {sizes['smallest']:,} to "
            f"{sizes['largest']:,} records "
            f"(median {sizes['median']:g}).",
            *(f"\n{markdown(text)}." for text in singletons),
        ]
    if grouped and disclosure is not None:
        lines += [
            "",
            "*Disclosure* is how much of a sensitive column a group gives away. Somebody guesses the "
            "members' values, first from the whole table, then knowing the group: disclosure is the "
            "part of the error that disappears (0: the group gives nothing away; 1: everything). "
            "Errors of numbers are squared errors, of their values, their ranks and the cells "
            "between public cuts; errors of categories and missing values are Brier scores; the "
            "worst of them counts:",
            "",
            "| disclosure of | mean over groups | mean over records | worst group |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| {markdown(name)} | {figure(r['mean_over_groups'])} | {figure(r['mean_over_records'])} | "
            f"{figure(r['worst'])} |"
            for name, r in disclosure["columns"].items()
        ]
    lines += [
        *method.lines,
        "",
        "## What was not measured",
        "",
        "- What somebody finds out who already knows a column that is unchanged above (*other* or "
        "*sensitive*).",
        "- What other releases about the same people, or knowledge about one of them, add to this "
        "table.",
        "- What the table teaches about groups of people: it applies to every member of the group, "
        "also to people who are not in the table.",
        *(f"- {words}" for words in method.not_measured),
        "",
        "Do not try to find out who a record is about.",
        "",
    ]
    return "\n".join(lines)


def apostrophes(columns: Sequence[str]) -> str:
    """Return a note on the apostrophes before formula-like cells of a CSV file; empty if there are none."""
    if not columns:
        return ""
    return (
        "\nOne apostrophe was put before texts that a spreadsheet would take for a formula (`=1+1` "
        f"is written `'=1+1`), in: {', '.join(map(markdown, dict.fromkeys(columns)))}. It is no part of the value.\n"
    )


def _reading(recoding: Recoding, file: str, empty: bool) -> list[str]:
    """Return the lines of the section that explains the notation in recoded cells."""
    if not recoding.meanings():
        return []
    styles = {c.style for c in recoding.recoded() if isinstance(c, Recoded)}
    used = {"empty"} if empty else set()
    for column in recoding.recoded():
        cells = recoding.meanings()[column.name]
        values = [value for cell in cells for value in cell.categories]
        values = list(column.categories) if isinstance(column, ColumnMap) else values
        used |= signs([cell.label for cell in cells], kind=column.kind, values=values)
    if isinstance(recoding, Maps) and recoding.suppressed:
        used.add("anything")
    lines = [
        "",
        "## How to read the recoded cells",
        "",
        "Records with equal recoded cells form a group: by these columns its records look alike. "
        "A cell that holds a single value holds for the whole group, unless the list below says "
        "otherwise.",
        "",
    ]
    lines += [f"- {words}." for style, words in _STYLES.items() if style in styles]
    lines += [f"- {words}." for sign, words in SIGNS.items() if sign in used]
    if styles & {"concatenate", "weighted"}:
        lines += [
            "",
            "To use joined values with a learner that takes sample weights:",
            "",
            "    import hedgerow as hr",
            f"    records = hr.explode({file!r})   # one value a cell, and a column `weight`",
            "",
            "Every record becomes its combinations, whose weights sum to 1.",
        ]
    return lines


def _labelled(layout: FileFormat, names: Sequence[str]) -> list[str]:
    """Return the notes for a file with value labels."""
    if not layout.labels.variables:
        return []
    if layout.suffix == ".xpt":
        return [
            "",
            "Recoded cells are text, for this kind of file keeps labels of values elsewhere.",
        ]
    lines = [
        "",
        "Recoded cells are codes, and the value labels of these codes say what the cells hold: "
        "`[18-24]` may have the code 3. A label that no record has any more was left out. Values that "
        "were declared missing still are, where their column is unchanged.",
    ]
    for why, name in layout.labels.whys.items():
        if why in names and name in names:
            lines.append(
                f"{markdown(why)} stands in {markdown(name)} itself, as codes that are declared missing, "
                "or in a variable of its own where these would be values."
            )
    return lines


def _content(column: PlanColumn) -> str:
    return {
        "quasi": "recoded",
        "sensitive": f"unchanged, judged as {column.kind}",
        "identifier": "a pseudonym in place of the identifier",
    }.get(column.role, "unchanged")


def _style(column: Recoded) -> str:
    if column.silent:
        return "`*` in every record"
    step = duration(column.step, column.unit)
    return f"{column.style}, rounded to multiples of {step}" if column.step else column.style
