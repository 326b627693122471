"""Write RECIPIENT.md: all that a reader of the released table must know, and nothing private."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any

from ..io.file_format import FileFormat
from ..measures.guarantees import BEYOND, Disclosure
from ..methods.base import RecipientNotes
from ..notation import explain_signs, figure, markdown, percent, signs
from ..plan import ColumnMap, Maps, Plan, PlanColumn, Recoded, Recoding, UnitForm
from ..texts import text, texts
from . import guard_words, unit_words
from .explain import style_in_words
from .rule_counts import RuleRows, is_broken

# a larger change of slopes or share of changed cells is said of a column; so many of the worst estimates are named
SHRUNK, REPLACED, _WEAKEST = 0.15, 0.05, 5
_say = partial(text, "recipient")


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
        `Release.summary()`; with ``found``, the share of the rows that each column finds alone, ``models``, how well
        regressions hold, ``units``, the rows of units, and ``counts``, the errors of counts, if they were measured.
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
        Format of the table's file.
    """
    removed = [n for n in plan.left_out if n not in pseudonyms]
    released = [c for c in plan.columns if c.name not in removed]
    sizes, disclosure = numbers["groups"], numbers["disclosure"]
    recoding, parameters, form = plan.recoding, plan.parameters, plan.units
    styles = {c.name: _say("recoded", style=style_in_words(c)) for c in recoding.recoded() if isinstance(c, Recoded)}
    contents = {**styles, **method.cells, **guard_words.contents(plan)}
    lines = [
        guard_words.about_rows(plan, ("about", "about_beside"), markdown, file=file, rows=numbers["rows"])
        if plan.in_rows
        else _say("about", file=file, rows=numbers["rows"], about=method.about),
        _say("original_order" if plan.is_order_kept else "sorted"),
    ]
    cells = [(c.name, c.role, contents.get(c.name) or _content(c)) for c in released]
    if form is not None:
        lines = unit_words.about(plan, form, file, numbers["units"]["release"])
        cells = list(unit_words.columns_of_units(plan, form, contents))
    lines.append(_say("columns"))
    for name, role, content in cells:
        label = layout.labels.label(name)
        content = f"{markdown(label)}; {content}" if label else content
        lines.append(f"| {markdown(name)} | {role} | {content} |")
    if removed:
        lines.append(_say("left_out", names=_listed(removed)))
    lines += format_notes(layout)
    if plan.weight:
        lines.append(_say("weight", weight=markdown(plan.weight)))
    lines += _labelled(layout, [name for name, *_ in cells])
    lines += [] if plan.in_rows else _reading(recoding, file, empty)
    lines += guard_words.reading(plan, numbers.get("counts"))
    lines += [] if guard_words.hides_relations(plan) else _estimates(numbers.get("models"), form)
    lines += unit_words.about_relations(numbers.get("units"), guard_words.dominated(numbers.get("guard"), plan))
    lines += _rules(numbers.get("rules") or ())
    if plan.zones:
        lines.append(_say("zones", names=_listed(plan.zones)))
    lines += [_say("counts_records")] if plan.counts == "records" else [_say("counts_people")] * bool(plan.unit)
    lines.append(_say("promised"))
    promised = [markdown(f"{words}.") for words in guard_words.promises(plan)]
    lines += [f"- {words}" for words in [*promised, *method.promised] or ["Nothing."]]
    if any(promise["kind"] == Disclosure.kind for promise in plan.promises):
        lines += ["", BEYOND]
        lines += [] if form is None else ["", unit_words.about_few(form)]
    if (most := parameters.get("max_inference")) is not None:
        lines.append(_say("attacked", learners=", ".join(parameters["max_inference_learners"]), most=most))
    if profile := parameters.get("profile"):
        lines.append(_say("profile", profile=markdown(profile), date=parameters["profile_date"]))
    # altered cells and unchanged ones make no groups to speak of
    grouped = plan.risk_model == "classes" and not recoding.second_file
    if grouped and plan.names("quasi"):
        lines.append(_say("groups", **sizes))
        lines += [f"\n{markdown(words)}." for words in singletons]
    if any(numbers.get("found", {}).values()):
        shares = (f"{markdown(name)} {percent(share)}" for name, share in numbers["found"].items())
        lines.append(_say("found", shares=", ".join(shares)))
    if (counts := numbers.get("counts")) and counts["queries"]:
        how, survey = "counts" if counts["median"] else "counts_exact", percent(counts["new_survey"]["median"])
        what = "rows" if form is None else plan.counts
        lines.append(_say(how, median=percent(counts["median"]), survey=survey, what=what))
    if grouped and disclosure is not None:
        lines.append(_say("disclosure"))
        lines += [
            f"| {markdown(name)} | {figure(r['mean_over_groups'])} | {figure(r['mean_over_records'])} | "
            f"{figure(r['worst'])} |"
            for name, r in disclosure["columns"].items()
        ]
    roles = ("other",) if plan.guard else ("other", "sensitive")
    is_unchanged = any(set(plan.names(role)) - set(plan.relations()) for role in roles)
    unchanged = _say("known_column", roles=" or ".join(f"*{role}*" for role in roles)) if is_unchanged else ""
    lines += [*method.lines, _say("not_measured", unchanged=unchanged)]
    lines += [*(f"- {words}" for words in method.not_measured), _say("end_rows" if plan.in_rows else "end")]
    return "\n".join(lines)


def format_notes(layout: FileFormat) -> list[str]:
    """Return notes on the encoding, the delimiter and the decimal sign of a text file that has unusual ones."""
    dialect, lines = layout.dialect, []
    if layout.suffix == ".csv" and not dialect.encoding.startswith("utf-8"):
        lines.append(_say("encoding", encoding=dialect.encoding))
    if layout.suffix == ".csv" and (dialect.delimiter, dialect.decimal) != (",", "."):
        end = "a tab" if dialect.delimiter == "\t" else f"`{dialect.delimiter}`"
        lines.append(_say("numbers", end=end, sign="comma" if dialect.decimal == "," else "point"))
    if dialect.currencies:
        names = (f"{markdown(name)} ({unit})" for name, unit in dialect.currencies)
        lines.append(_say("currencies", names=", ".join(names)))
    return lines


def apostrophes(columns: Sequence[str]) -> str:
    """Return a note on the apostrophes before formula-like cells of a CSV file; empty if there are none."""
    return _say("apostrophes", names=_listed(dict.fromkeys(columns))) if columns else ""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(markdown, names))


def _reading(recoding: Recoding, file: str, empty: bool) -> list[str]:
    """Return the lines of the section that explains the notation in recoded cells."""
    if not recoding.meanings():
        return []
    styles = {c.style for c in recoding.recoded() if isinstance(c, Recoded)}
    used = {"empty"} if empty else set()
    for column in recoding.recoded():
        cells = recoding.meanings()[column.name]
        values = column.categories if isinstance(column, ColumnMap) else [v for c in cells for v in c.categories]
        used |= signs([cell.label for cell in cells], kind=column.kind, values=values)
    if isinstance(recoding, Maps) and recoding.suppressed:
        used.add("anything")
    lines = [_say("reading")]
    lines += [_say(style) for style in ("mean", "median") if style in styles]
    lines += explain_signs(used)
    if styles & {"concatenate", "weighted"}:
        lines.append(_say("explode", file=file))
    return lines


def _labelled(layout: FileFormat, names: Sequence[str]) -> list[str]:
    """Return the notes for a file with value labels."""
    if not layout.labels.variables:
        return []
    if layout.suffix == ".xpt":
        return [_say("labels_elsewhere")]
    pairs = [(w, n) for w, n in layout.labels.whys.items() if w in names and n in names]
    return [_say("labels")] + [_say("why_missing", why=markdown(w), name=markdown(n)) for w, n in pairs]


def in_tenths(factor: float) -> float:
    """Return a factor for standard errors as recipients read it: rounded up to a tenth, and at least 1.

    One person hardly ever changes so coarse a figure.
    """
    return max(1.0, ceil(10 * factor - 1e-6) / 10)


def kinds_in_words(models: Mapping[str, Any] | None) -> Iterator[tuple[str, str, str, str]]:
    """Yield each kind of estimate: its factor, its size beside the original's, and the share in their intervals."""
    for kind, measured in models["kinds"].items() if models else ():
        if measured["factor"] is not None:
            ratio = measured["attenuation"]
            size = "-" if ratio is None else f"{ratio:.1f} times"
            factor = f"{in_tenths(measured['factor']):.1f}"
            yield text("estimate", kind), factor, size, percent(measured["inside"], 0)


def _estimates(models: Mapping[str, Any] | None, form: UnitForm | None) -> list[str]:
    """Return the section on how well regressions on the table hold."""
    if models is None:
        return [_say("no_estimates")]
    every = models["every"]
    # in fives: the exact share of some dozens shows when one person turns one of them
    shares = {name: f"{5 * round(20 * every[name])}%" for name in ("inside", "resample_inside")}
    lines = [_say("estimates", **shares)]
    lines += [f"| {' | '.join(cells[:3])} |" for cells in kinds_in_words(models)]
    lines.append(_say("estimates_columns"))
    trust = columns_in_words(models) if form is None else unit_words.trust_in_words(columns_in_words(models), form)
    lines += [f"| {markdown(name)} | {words} |" for name, words in trust]
    if models["worst"]:
        names = (f"{markdown(each['outcome'])} by {markdown(each['term'])}" for each in models["worst"][:_WEAKEST])
        lines.append(_say("estimates_weakest", names="; ".join(names)))
    return [*lines, _say("estimates_end")]


def rule_in_words(rule: RuleRows, spelled: Callable[[str], str] = str) -> str:
    """Return in how many rows of a release a rule of the original holds, as a sentence."""
    is_sql = rule["declared"] and spelled is not str
    values = {"rule": f"`{rule['rule']}`" if is_sql else spelled(rule["words"]), "rows": rule["release"]}
    if rule["release"] is None:
        return _say("rule_unseen", **values)
    if is_broken(rule):
        return _say("rule_broken", share=percent(rule["release"] / rule["rows"], 0), **values)
    return _say("rule_tolerated" if rule["release"] else "rule_holds", **values)


def _rules(rules: Sequence[RuleRows]) -> list[str]:
    """Return the section on rules between columns, if there are any."""
    return [_say("rules"), *(f"- {rule_in_words(rule, markdown)}" for rule in rules)] if rules else []


def columns_in_words(models: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """Yield each column with what is said of the estimates that it takes part in, and why they do not hold."""
    for name, column in models["columns"].items() if models else ():
        why = []
        if column["attenuation"] is not None and abs(1 - column["attenuation"]) > SHRUNK:
            why.append(text("estimates_with", "attenuation", attenuation=column["attenuation"]))
        if (column["changed"] or 0.0) > REPLACED:
            why.append(text("estimates_with", "changed", changed=percent(column["changed"], 0)))
        yield name, text("estimates_with", column["verdict"], why=": " * bool(why) + "; ".join(why))


def _content(column: PlanColumn) -> str:
    described = column.role in ("quasi", "sensitive", "identifier")
    return _say(column.role if described else "unchanged", kind=texts("kind")[column.kind])
