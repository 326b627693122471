"""An audit as a page of text, and in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..auditing.attacks.composition import Composition
from ..auditing.attacks.copies import EqualRows, FoundByValue, FoundCourse
from ..auditing.attacks.knows_method import KnowsMethod
from ..auditing.attacks.linking import Nearest, Reconstructed
from ..auditing.attacks.special_uniques import SpecialUniquesData
from ..auditing.audit_data import AuditData, TableData
from ..auditing.success import AttackData
from ..auditing.utility.queries import Estimates
from ..display import Rows, aligned, fitted, notebook_html
from ..errors import singular
from ..json_types import Figures
from ..measures.guarantees import BEYOND
from ..methods.private import meaning
from ..notation import figure, listed, number, percent
from ..texts import text
from .figures import (
    SHORT,
    TOGETHER,
    FigureRow,
    at,
    attack_rows,
    counted,
    definitions,
    disclosure_rows,
    estimate_rows,
    figure_rows,
    further_rows,
    interval,
    is_larger,
    linkage_rows,
    nouns,
    risk_rows,
    score_rows,
    special_rows,
    three_heads,
    three_numbers,
    together_rows,
    unit_rows,
)
from .standards import standard_lines

# width of a figure's name in characters, before the figures of original and release
WIDE = 54
# columns of which a sentence says how often each alone finds somebody, where there are twice as many
_NAMED = 6
# people alone with their course from whom on a share of them says something
_ALONE = 30


def summary(audit: AuditData) -> str:
    """Return the key figures of `Audit.to_dict()` as text, original and release side by side."""
    table, risk = audit["table"], audit["risk"]
    lines = [f"{rows_in_words(table)}; quasi-identifiers: {listed(table['quasi'])}"]
    lines += [*(f"- not bounded: {text}" for text in audit.get("unbounded", ())), ""]
    notes = [f"Note: {note}" for note in table["notes"]]
    if table["alone"] and notes:  # which say whether groups of equal cells say anything
        lines, notes = [*lines, *notes, ""], []
    lines += {"linkage": _linkage, "classes": _classes, "attacks": _unpaired}[table["yardstick"]](audit)
    lines += [line for text in others(audit) for line in ("", text)]
    lines += [*_special(risk.get("special_uniques")), *_disclosed(audit), *_together(risk.get("composition"))]
    lines += [*_attacks(audit), *_utility(audit["utility"], table["planned_groups"] is not None)]
    lines += _estimates(audit["utility"].get("estimates"))
    if units := audit["utility"].get("units"):
        lines += ["", *_aligned_figures(unit_rows(units, most=1), nouns(units["order"])["title"])]
    if further := list(further_rows(audit)):
        lines += ["", *_aligned_figures(further, "Further figures")]
    lines += ["", *notes]
    if (profile := audit.get("profile")) is not None:
        lines += ["", *standard_lines(profile)]
    # without an original the first says that; the page has all of them
    lines += [f"Not measured: {line}" for line in audit["not_measured"][: int(table["alone"])]]
    return "\n".join(lines).rstrip()


def audit_face(audit: AuditData) -> str:
    """Return `Audit.to_dict()` as HTML for a notebook: shares and counts, no value of a person."""
    table, risk, attacks = audit["table"], audit["risk"], audit["attacks"]
    risk_model = table["yardstick"]
    lines, tables = [f"Quasi-identifiers: {', '.join(table['quasi'])}."], list[Rows]()
    if risk_model == "classes":
        rows = [row[:3] for row in risk_rows(risk["original"], risk["release"], "prosecutor")]
        tables.append(("", ("risk", "original", "release"), rows))
    elif risk_model == "linkage":
        lines.append("Values were altered: records are judged by how well they are linked again.")
        tables.append(("", ("people linked by", "original", "release", "at random"), linkage_rows(risk["linkage"])))
        tables.append(("", ("score", "release"), score_rows(risk["linkage"]["scores"])))
    else:
        lines.append(text("summary", "unpaired"))
        lines += [text("summary", "compared")] if attacks and table["strangers"] else []
    lines += others(audit)
    three = three_numbers(audit)
    tables.append(("Disclosure: 0 gives away nothing, 1 everything", ("column", *three_heads(table)), three))
    heads = ("attack", "by", "about", "original", "release", "control", "public totals")
    columns = ("attack", "learner", "target", "original", "release", "control", "public")
    tried = [tuple(a[name] for name in columns) for a in attack_rows(attacks)]
    tables.append(("How many people each attack is right about", heads, tried))
    lines += [] if attacks else ["No attack was tried."]
    lines += [f"Not bounded: {text}." for text in audit["unbounded"]]
    return notebook_html(f"Audit: {rows_in_words(table)}", lines, *tables, notes=table["notes"])


def rows_in_words(table: TableData) -> str:
    """Return a phrase on the rows that are compared: how many, and whether they are paired."""
    if table["paired"]:
        return singular(f"{table['rows']:,} rows, {table['suppressed']:,} left out")
    if table["alone"]:
        original = "no original" if table["original_rows"] is None else "nothing, though an original was given"
        return singular(f"{table['rows']:,} released rows, compared with {original}")
    strangers = f"{table['strangers']:,} people took no part" if table["strangers"] else "no control was given"
    return text("summary", "unpaired_rows", rows=table["rows"], original=table["original_rows"], strangers=strangers)


def _aligned_figures(rows: Iterable[FigureRow], head: str = "", *, name: int = WIDE, each: int = 12) -> Iterator[str]:
    """Yield rows as lines of fixed width, below a heading if there is one."""
    named = [FigureRow(head, "original", "release")] if head else []
    for row in (*named, *rows):
        yield f"{row.name:{name}}{row.original:>{each}}{row.release:>{each}}"


def _unpaired(audit: AuditData) -> Iterator[str]:
    if audit["table"]["alone"]:  # whose note says why
        return
    if epsilon := audit["table"].get("epsilon"):
        yield text("summary", "private", **meaning(epsilon))
    yield text("summary", "unpaired")
    if audit["table"]["strangers"] if audit["attacks"] else not epsilon:
        yield text("summary", "compared" if audit["attacks"] else "untried")


def _classes(audit: AuditData) -> Iterator[str]:
    """Yield lines on the risk by equivalence classes and on each sensitive column."""
    release, before = audit["risk"]["release"], audit["risk"]["original"]
    yield from _aligned_figures(risk_rows(before, release, "prosecutor", "journalist"), "Risk")
    for name, column in release["sensitive"].items():
        yield from ("", f"Sensitive column {name!r}")
        rows = disclosure_rows(at(before, "sensitive", name), column)
        yield from _aligned_figures(row._replace(name=f"  {row.name}") for row in rows)


def others(audit: AuditData, digits: int = 1) -> Iterator[str]:
    """Yield sentences on whose row is found by values, equals a released one, or who stands out and is found."""
    risk = audit["risk"]
    if risk.get("found"):
        yield found_in_words(risk["found"], audit["table"], digits)
    yield from equal_in_words(risk.get("equal"), audit["table"], digits)
    if courses := risk.get("courses"):
        units = audit["utility"].get("units")
        yield from courses_in_words(courses, nouns(units["order"])["who"] if units else "people", digits)
    if exposed := risk.get("most_exposed"):
        shares = {key: percent(exposed[key]) for key in ("auc", "found", "worst")}
        ends = {key: interval(exposed[key]) for key in ("auc_interval", "found_interval")}
        counts = {key: exposed[key] for key in ("people", "runs")}
        yield text("summary", "most_exposed", **shares, **ends, **counts)
        if exposed["epsilon"]:
            yield text("summary", "least_epsilon", epsilon=figure(exposed["epsilon"]))
    other = risk.get("other")
    if other and other["together"]:
        unique = other["unique"]
        many = f"{percent(unique, digits)} of the records" if unique else "no record"
        columns, together = ", ".join(other["columns"]), percent(other["together"], digits)
        yield text("summary", "other_columns", columns=columns, many=many, together=together)


def equal_in_words(equal: EqualRows | None, table: TableData, digits: int = 1) -> Iterator[str]:
    """Yield a sentence on the released rows that equal a person's, if that was measured."""
    if equal:
        shares = {"equal_members": equal["members"], "equal_strangers": equal["strangers"]}
        # of a larger file chance is bounded, not estimated
        by_chance = "equal_at_most" if is_larger(table) else "equal_chance"
        shares |= {by_chance: equal.get("chance")} if equal["strangers"] is None else {}
        unique = {key: percent(share, digits) for key, share in shares.items() if share is not None}
        who = counted(table)
        comparison = "; ".join(text("summary", key, share=share, who=who) for key, share in unique.items())
        comparison = f" ({comparison})" if comparison else ""
        yield text("summary", "equal", share=percent(equal["rows"], digits), comparison=comparison)


def courses_in_words(courses: Mapping[str, FoundCourse], who: str, digits: int = 1) -> Iterator[str]:
    """Yield a sentence on the course of a column by which most are found beyond chance."""
    some = {name: each for name, each in courses.items() if each["alone"] >= _ALONE}
    beyond = {name: (each["members"] or 0.0) - (each["strangers"] or 0.0) for name, each in some.items()}
    if beyond:
        each = courses[name := max(beyond, key=beyond.__getitem__)]
        key = "course_untried" if each["strangers"] is None else "course_strangers"
        control = text("summary", key, who=who, share=percent(each["strangers"] or 0.0, digits))
        what = text("summary", "course_members" if name == "composition" else "course_column", name=name)
        counts = {"alone": each["alone"], "share": percent(each["members"], digits)}
        yield text("summary", "course", who=who, what=what, control=control, **counts)


def found_in_words(found_record: FoundByValue | None, table: TableData, digits: int = 1) -> str:
    """Return a sentence on the share of people whose row is found by values that an acquaintance may know."""
    if not found_record:
        return ""
    columns, together = found_record["columns"], found_record["together"]
    sensitive = [name for name, column in columns.items() if column["role"] == "sensitive"]
    names = " and ".join(sensitive) if len(sensitive) < 4 else f"{len(sensitive)} sensitive values"
    # one sensitive column alone is what all of them together are
    each = {n: c["found"] for n, c in columns.items() if len(sensitive) > 1 or n not in sensitive}
    # of dozens of columns those that find most
    most = sorted(each, key=lambda name: -each[name])[:_NAMED] if len(each) > 2 * _NAMED else [*each]
    shares = ", ".join(f"{n} finds {percent(each[n], digits)}" for n in most if each[n] or len(each) < 4)
    alone = text("summary", "found_alone", shares=shares) if shares else ""
    if not together:
        return alone.strip()
    control, against = together["control"], found_record["against"]
    control_text = "" if control is None else text("summary", against, share=percent(control, digits))
    share, is_found = percent(together["found"], digits), any(c["found"] for c in (together, *columns.values()))
    # without pairs, no released row belongs to a known person
    key = "fitting" if not table["paired"] else "found" if is_found else "found_nobody"
    row = "the row that was drawn in the person's place" if table.get("planned_groups") else "the person's row"
    return text(
        "summary", key, columns=names, share=share, control=control_text, alone=alone, row=row, who=counted(table)
    )


def _linkage(audit: AuditData) -> Iterator[str]:
    """Yield lines on the risk of altered records: how many are linked with their originals."""
    linkage = audit["risk"]["linkage"]
    yield "Values were altered: records are judged by how well they are linked with their originals."
    yield ""
    yield f"{'Risk':44}{'original':>10}{'release (95% interval)':>28}{'at random':>12}"
    for by, before, after, random in linkage_rows(linkage):
        how = {"distance": "distance-based"}.get(by, by)
        yield f"{f'people linked by {how} linkage':44}{before:>10}{after:>28}{random:>12}"
    for title, share in score_rows(linkage["scores"]):
        yield f"{title:56}{share:>12}"
    if linkage["scores"] is None:
        yield text("summary", "no_scores")
    yield from guesses(linkage.get("reconstructed"))


def guesses(reconstructed: Reconstructed | None) -> Iterator[str]:
    """Yield sentences on how often a reader who reconstructs a randomized release's counts guesses right."""
    for name, column in (reconstructed["columns"] if reconstructed else {}).items():
        assert reconstructed is not None
        # a number is guessed right within a tolerance, which is named
        exactly = "" if column["means"] == "exact" else f" {column['means']}"
        shares = {share: percent(column[share]) for share in ("worst", "right")}
        groups = {part: reconstructed[part] for part in ("groups", "least")}
        yield text("summary", "reconstructed", name=name, exactly=exactly, **shares, **groups)


def _special(special: SpecialUniquesData | None) -> Iterator[str]:
    """Yield lines on special uniques: how many records a few columns single out, and which columns these are."""
    if not special:
        return
    yield ""
    yield from _aligned_figures(special_rows(special), singular(f"Special uniques of up to {special['size']} columns"))
    parts = special["release"]["by_column"].items()
    if shares := ", ".join(f"{name} {percent(part)}" for name, part in parts if part):
        yield f"Part of the release's scores by column: {shares}."


def _disclosed(audit: AuditData) -> Iterator[str]:
    """Yield lines on disclosure by groups, inference by learners, and the member advantage."""
    risk = audit["risk"]
    if rows := three_numbers(audit):
        yield ""
        yield text("summary", "three")
        yield from fitted(rows, ("column", *SHORT))
    if rows and not risk["inference"] and not audit["table"]["alone"]:
        yield "What learners infer was not measured" + ("." if audit["attacks"] else ": it takes attacks (--attacks).")
    yield from risk["inference"]["notes"] if risk["inference"] else ()
    yield from refusals_in_words(risk.get("knows_method"))


def refusals_in_words(refusals: KnowsMethod | None) -> Iterator[str]:
    """Yield sentences on what an intruder who knows which finer groups the method refused learns from that."""
    if not refusals:
        return
    groups, people, worst = refusals["groups"], refusals["people"], refusals["worst"]
    if not groups["refused"]:
        yield "No finer group was refused, so knowing the method adds nothing to what groups give away."
        return
    yield BEYOND
    if unseen := groups["refused"] - groups["asked"]:
        yield f"{unseen:,} of {groups['refused']:,} such groups were not looked at."
    if worst is None:
        return
    low, high = people["at_least"], people["at_most"]
    many = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    ends = [figure(end) for end in worst["interval"]]
    # a figure that was counted has an interval without width
    sampled = f" ({' to '.join(ends)})" if ends[0] != ends[1] else ""
    figures = {part: figure(worst[part]) for part in ("disclosure", "shown")}
    counts = {"people": worst["people"], "group": worst["group"], "many": many, "asked": people["asked"]}
    yield text("summary", "refused", **figures, **counts, sampled=sampled, cap=number(refusals["cap"]))


def _together(composition: Composition | None) -> Iterator[str]:
    """Yield lines on what several releases reveal about a person's values, each on its own and all combined."""
    if composition:
        yield ""
        yield f"What {composition['releases']} releases leave of a person's values, on average"
    for name, rows in together_rows(composition):
        yield ""
        yield from aligned(rows, (f"{name!r}, by", *TOGETHER))
    if composition and not composition["columns"]:
        yield from ("", "No two of the releases share a person and a sensitive column.")


def _attacks(audit: AuditData) -> Iterator[str]:
    if not (attacks := audit["attacks"]):
        return
    head = f"{'original':>9}{'release':>8}{'control':>8}{'public':>8}  over control"
    yield from ("", text("summary", "attack_heads"), f"{'Attack success':20}{head}")
    heading = None
    for a in attack_rows(attacks):
        if (a["attack"], a["target"]) != heading:
            heading = a["attack"], a["target"]
            yield f"{a['attack']}: {a['target']} (right: {a['success_means']})"
        over = "" if a["over_control"] == "-" else f"  {a['over_control']}"
        shares = f"{a['original']:>9}{a['release']:>8}{a['control']:>8}{a['public']:>8}"
        yield f"  {a['learner'][:18]:18}{shares}{over}"
    if audit["risk"]["nearest"]:
        yield from nearest_in_words(audit["risk"]["nearest"])
    yield from attacks_in_words(attacks)


def attacks_in_words(attacks: Sequence[AttackData]) -> Iterator[str]:
    """Yield sentences on linking, on who is joined from two files, and on members found with few strangers."""
    linked = next((a for a in attacks if a["attack"] == "linking"), None)
    if linked and linked["learner"] == "best match":
        yield text("summary", "unpaired_linking")
    # of tables without pairs the control of linking is as of every other attack
    elif linked and linked["control"] is not None and linked["learner"] in ("distance", "probabilistic"):
        yield text("summary", "linking_control", control=percent(linked["control"], 0))
    for a in attacks:
        if a["learner"] == "two files" and a["success"]:
            shares = {part: percent(a[part]) for part in ("original", "success", "control")}
            yield text("summary", "two_files_alone" if a["control"] is None else "two_files", **shares)
    if not (tried := [a for a in attacks if a["learner"] == "strongest" and a["found"]]):
        return
    yield text("summary", "membership")
    best = tried[-1]  # the one that knows most
    alarms, success = next(iter(best["found"].items()))
    rate, share, ends = percent(float(alarms)), percent(success["share"]), interval(success["interval"])
    yield text("summary", "members_found", alarms=rate, share=share, interval=ends, target=best["target"])


def nearest_in_words(nearest: Nearest) -> Iterator[str]:
    """Yield sentences on how near the nearest released record is, and why that says little."""
    if nearest["closer"] is not None:
        yield text("summary", "nearest", closer=percent(nearest["closer"]), interval=interval(nearest["interval"]))
        yield nearest["warning"]


def _utility(utility: Figures, is_drawn: bool) -> Iterator[str]:
    if utility["loss"] is None:
        return
    yield from ("", "Utility")
    for row in figure_rows(definitions("losses"), None, utility):
        # every cell was drawn, and some draws equal the person's own
        name = text("summary", "draws_differ") if is_drawn and row.name == "cells changed" else row.name
        yield f"{name:44}{row.release:>12}"
    for row in utility["learning"]:
        key = "accuracy" if "accuracy" in row["release"] else "r2"
        learner = f"{row['estimator']} on {row['target']}, {key}"
        reached = ", ".join(f"{side} {figure(row[side][key])}" for side in ("release", "original", "constant"))
        yield f"{learner:44}{reached}"


def _estimates(estimates: Estimates | None) -> Iterator[str]:
    """Yield lines with the weighted estimates of a survey, before and after."""
    if estimates:
        yield ""
        head = f"Estimates weighted by {estimates['weight']}"
        yield from _aligned_figures(estimate_rows(estimates), head, name=WIDE - 20, each=22)
