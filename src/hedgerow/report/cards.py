"""The first screen of the steward's page: what an intruder can do, and what the table is good for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..measures.guarantees import cap_of
from ..notation import figure, percent
from ..plan import Plan
from .figures import at, standard_verdict
from .svg import bars, shares_by_group
from .text import others

FEW = 0.01
"""The most that a learner may explain of an original that counts as teaching it nothing."""
HALF = 0.5
"""A share of what models learn below which the page's second colour changes."""
_MASKED_ALONE = (
    "Not measured: the method altered values, so groups of equal cells say nothing. Give the original, "
    "and people are linked with their records."
)
LINKED = {"probabilistic": "probability"}
"""What an intruder links by, where the learner's name is no noun."""


@dataclass(frozen=True)
class Card:
    """One question with its answer in words, a picture and at most three figures.

    Parameters
    ----------
    title : str
        The question.
    tone : {"good", "open", "bad"}
        Bad where a promise does not hold or a standard is not met; open where risk is told, which
        is never called safe.
    say : sequence of (str, bool)
        The answer in pieces; True for those that stand out.
    drawing : str
        SVG, or nothing.
    notes : sequence of str
    facts : sequence of (str, str)
        A figure and what it is.
    """

    title: str
    tone: str
    say: Sequence[tuple[str, bool]]
    drawing: str = ""
    notes: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = field(default=())


def cards(
    audit: Mapping[str, Any], plan: Plan | None, broken: bool, most: Mapping[str, Any] | None
) -> list[Card]:
    """Return both cards of a release.

    Parameters
    ----------
    audit : mapping
        As `Audit.to_dict` has it.
    plan : Plan, optional
        Which says what was promised.
    broken : bool
        Whether a promise does not hold.
    most : mapping, optional
        The attack that most surely gains over its control, of tables that are not paired.
    """
    table, risk = audit["table"], audit["risk"]
    if table["yardstick"] == "linkage":
        intruder = _altered(risk, table, plan, audit["attacks"], most)
    elif table["alone"] and plan is not None and plan.recoding.risk_model == "linkage":
        answer = [(_MASKED_ALONE, False)]
        intruder = answer, "", [*others(risk, 0)], list[tuple[str, str]]()
    elif table["yardstick"] == "classes":
        intruder = _grouped(risk, table, plan, audit["attacks"], most)
    else:
        intruder = _unpaired(risk, audit["attacks"], most)
    profile = audit.get("profile")
    broken = broken or (profile is not None and profile["state"] == "does not meet")
    tone, question = "bad" if broken else "open", "What can an intruder do?"
    say, drawing, notes, facts = intruder
    return [
        Card(question, tone, say, drawing, [*standard_verdict(profile), *notes], facts),
        _use(audit, plan),
    ]


Answer = tuple[list[tuple[str, bool]], str, list[str], list[tuple[str, str]]]


def _surest(tried: Sequence[Any], most: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the attack that most surely gains over people who took no part, which no cap speaks of."""
    if most is not None and most["over_control_interval"][0] > 0:
        reached, control = percent(most["success"], 0), percent(most["control"], 0)
        how = (
            f"in {reached} of the pairs of a person in the table and one who is not; a coin does in "
            f"{control}."
            if most["attack"] == "membership"
            else f"in {reached} of its attempts on people in the table, and in {control} of those on "
            "people who are not in it."
        )
        yield (
            f"The surest of {len(tried)} attacks, {most['attack']} ({most['learner']}; "
            f"{most['target']}), succeeds {how}"
        )


def _grouped(
    risk: Mapping[str, Any],
    table: Mapping[str, Any],
    plan: Plan | None,
    tried: Sequence[Any],
    most: Mapping[str, Any] | None,
) -> Answer:
    after = risk["release"]
    k, people = after["classes"]["k"], after["classes"]["people"]
    smallest = people or k
    who = ("record", "records") if people is None else ("person", "people")
    facts = [(f"{smallest:,}", f"{who[smallest != 1]} in the smallest group")]
    sensitive = after["sensitive"]
    notes: list[str] = []
    if sensitive:
        name = max(sensitive, key=lambda n: sensitive[n]["disclosure"]["worst"])
        disclosed, cap = sensitive[name]["disclosure"], cap_of(plan.promises if plan else (), name)
        say = [
            ("In the worst group, knowing the group takes ", False),
            (percent(disclosed["worst"], 0), True),
            (f" off an intruder's uncertainty about {name}. ", False),
            (f"Promised: at most {percent(cap, None)}." if cap else "No cap on this was promised.", False),
        ]
        drawing = shares_by_group(
            disclosed["shares"],
            cap,
            f"Share of the records by how much their group gives away about {name}; half of them are at "
            f"{percent(disclosed['median_over_records'], 0)} or below",
        )
        notes.append(
            f"For half of all records the group takes {percent(disclosed['median_over_records'], 0)} or less."
        )
        facts += _learned(risk, name)
    else:
        say = [
            ("Somebody who knows a person's quasi-identifiers picks the right record with a chance "
             "of at most ", False),
            (percent(after["reidentification"]["prosecutor"]["highest"], 0), True),
            (". No sensitive column was named.", False),
        ]  # fmt: skip
        drawing = ""
    if len(facts) < 3:
        average = after["reidentification"]["prosecutor"]["average"]
        facts.append((percent(average, 0), "average chance to pick a person's record"))
    if len(facts) < 3 and table["suppressed"] is not None:
        facts.append((f"{table['suppressed']:,}", "records that could not be protected: left out"))
    return say, drawing, [*notes, *_surest(tried, most), *others(risk, 0)], facts


def _learned(risk: Mapping[str, Any], name: str) -> Iterator[tuple[str, str]]:
    """Yield what learners infer about members and strangers, where it was measured."""
    inferred = at(risk["inference"], "columns", name)
    if inferred is None:
        return
    members, strangers = inferred["members"]["explained"], inferred["strangers"]
    if strangers is None:
        yield figure(members, 2), f"of {name} is what a learner infers about people in the table"
        return
    yield (
        f"{figure(members, 2)} | {figure(strangers['explained'], 2)}",
        f"of {name} is what a learner infers about members | about strangers (1: all)",
    )
    low, high = inferred["advantage"]["interval"]
    yield (
        f"{inferred['advantage']['explained']:+.2f}",
        f"member advantage ({figure(low, 2)} to {figure(high, 2)}): "
        + ("what the table betrays of its own people" if high > 0 else "members are inferred no better"),
    )


def _altered(
    risk: Mapping[str, Any],
    table: Mapping[str, Any],
    plan: Plan | None,
    tried: Sequence[Any],
    most: Mapping[str, Any] | None,
) -> Answer:
    """Return the card of altered records: what linking finds, or a group's best guess where that is more."""
    say, drawing, facts = _linked(risk["linkage"], table)
    notes: list[str] = []
    guess = risk["linkage"].get("reconstructed")
    if guess is not None:
        name = max(guess["columns"], key=lambda n: guess["columns"][n]["worst"])
        if guess["columns"][name]["worst"] > risk["linkage"]["highest"]:
            notes = ["".join(text for text, _ in say)]
            say, drawing, more = _guessed(guess, name, plan)
            notes = [more, *notes]
    inferred = at(risk["inference"], "columns") or {}
    if inferred:
        name = max(inferred, key=lambda n: inferred[n]["members"]["explained"])
        facts = [*facts[:1], *_learned(risk, name), *facts[1:]]
        hardest = max(inferred, key=lambda n: inferred[n]["worst_tenth"]["explained"])
        notes.append(
            "About the tenth of the people whom learners know best, they take "
            f"{percent(inferred[hardest]['worst_tenth']['explained'], 0)} off the uncertainty about "
            f"{hardest}."
        )
    return say, drawing, [*notes, *_surest(tried, most), *others(risk, 0)], facts[:3]


def _guessed(
    guess: Mapping[str, Any], name: str, plan: Plan | None
) -> tuple[list[tuple[str, bool]], str, str]:
    """Return what a reader who reconstructs the counts of the groups guesses about their people."""
    column, cap = guess["columns"][name], 1 / plan.parameters["l"] if plan is not None else None
    best = f"its most frequent {name}" if column["means"] == "exact" else f"the best {name}"
    near = "" if column["means"] == "exact" else f" {column['means']}"
    say = [
        (f"Readers can reconstruct the counts of groups. In the worst group, guessing {best} is "
         "right for ", False),
        (percent(column["worst"], 0), True),
        (f" of the people{near}. ", False),
        (
            f"The cap of {percent(round(cap, 4), None)} is on single records, not on this guess." if cap else "",
            False,
        ),
    ]  # fmt: skip
    drawing = shares_by_group(
        column["shares"],
        cap and round(cap, 4),
        f"Share of the records by how often the best guess about {name} is right in their group; on "
        f"average it is right for {percent(column['right'], 0)}",
        ("0% guessed right", "100%"),
    )
    many = guess["groups"] > 1
    return (
        say,
        drawing,
        f"On average over the {guess['groups']:,} group{'s' if many else ''} of at least "
        f"{guess['least']} records this guess is right for {percent(column['right'], 0)} of the people.",
    )


def _linked(
    linkage: Mapping[str, Any], table: Mapping[str, Any]
) -> tuple[list[tuple[str, bool]], str, list[tuple[str, str]]]:
    """Return how many people are linked with their own record."""
    by_chance = max((a["public_best"] for a in linkage["attacks"]), default=0.0)
    n = len(table["quasi"])
    knowledge = f"the {n} quasi-identifiers" if n > 1 else "the quasi-identifier"
    say = [
        (f"Somebody who knows {knowledge} of a person finds the person's record in ", False),
        (percent(linkage["highest"], 0), True),
        (f" of the cases. A blind guess: {percent(by_chance, 0)}.", False),
    ]
    rows = [
        (
            f"linked by {LINKED.get(a['learner'], a['learner'])}",
            a["original"],
            a["success"],
            a["public_best"],
        )
        for a in linkage["attacks"]
    ]
    drawing = bars(
        rows,
        "grey: original, green: release, line: a blind guess",
        "People linked with their own record: "
        + "; ".join(f"{name} {percent(b)} before, {percent(a)} after" for name, b, a, _ in rows),
        most=1.0,
    )
    scores = linkage["scores"] or {}
    facts = [
        (percent(scores[key] / 100, 0), words)
        for key, words in (
            ("dr", "disclosure risk of the numbers, a score (DR)"),
            ("dld", "linked by distance, averaged from 1 known column to all (DLD)"),
            ("pld", "linked by probability, averaged from 1 known column to all (PLD)"),
        )
        if scores
    ]
    return say, drawing, facts


def _unpaired(risk: Mapping[str, Any], tried: Sequence[Any], most: Mapping[str, Any] | None) -> Answer:
    """Return the card of rows that belong to nobody known."""
    if most is None:
        why = (
            f"{len(tried)} attacks were tried, and nobody was named who took no part: what holds "
            "for everybody cannot be told from what was taken from the people of the table. Name "
            "such people as control."
            if tried
            else "No attack was tried."
        )
        return [("Not known. ", True), (why, False)], "", [*others(risk, 0)], []
    low, high = most["over_control_interval"]
    say = [
        (f"The surest attack ({most['attack']}, {most['learner']}) succeeds with ", False),
        (percent(most["over_control"], 0), True),
        (" more of the members than of people who took no part.", False),
    ]
    facts = [
        (percent(most["success"], 0), f"of the members; {most['success_means']}"),
        (percent(most["control"], 0), "of people who took no part"),
        (f"{percent(low, 0)} to {percent(high, 0)}", "95% interval of the difference"),
    ]
    return say, "", [*others(risk, 0)], facts


def _use(audit: Mapping[str, Any], plan: Plan | None) -> Card:
    """Return the second card: the use that is left in the table."""
    title, use = "What is it still good for?", audit["utility"]
    if audit["table"]["alone"]:
        answer = "Not measured: no original was given to compare with."
        return Card(title, "open", [(answer, False)])
    rows = [_row(row) for row in use["learning"]]
    could = sum(max(before - floor, 0.0) for _, before, _, floor in rows)
    tone = "good"
    if rows and could > FEW * len(rows):
        share = sum(max(after - floor, 0.0) for _, before, after, floor in rows if before > floor)
        share = min(share / could, 1.0)
        tone = "good" if share >= HALF else "open"
        say = [
            ("Models trained on it keep ", False),
            (percent(share, 0), True),
            (" of what they would learn from the original.", False),
        ]
    elif rows:
        say = [("Models learn next to nothing from the original, and from the release.", False)]
    else:
        say = [
            ("A count of people by two columns is off by ", False),
            (percent(use["queries"]["range"]["median"], 0), True),
            (" or less in half of all cases. What models learn was not measured.", False),
        ]
    return Card(title, tone, say, _drawing(use, rows), (), [*_utility_facts(use, plan)])


def _row(learner: Mapping[str, Any]) -> tuple[str, float, float, float]:
    """Return a learner: its name, what it reaches from the original and the release, and by no learning."""
    key = "accuracy" if "accuracy" in learner["release"] else "r2"
    name = {"gradient boosting": "boosting"}.get(learner["estimator"], learner["estimator"])
    floor = learner["constant"][key] if key == "accuracy" else 0.0
    return f"{name}, {learner['target']}", learner["original"][key], learner["release"][key], floor


def _drawing(
    use: Mapping[str, Any], rows: Sequence[tuple[str, float, float, float]], most: int = 6
) -> str:
    if rows:
        shown_rows = [(name, max(b, 0.0), max(a, 0.0), floor) for name, b, a, floor in rows[:most]]
        return bars(
            shown_rows,
            "grey: original, green: release, line: no learning; R² or accuracy",
            "What models reach on people left out: "
            + "; ".join(
                f"{name} {figure(b, 2)} from the original, {figure(a, 2)} now" for name, b, a, _ in shown_rows
            ),
            most=max(max(row[1:]) for row in shown_rows) or 1.0,
        )
    if use["loss"] is None or use["loss"]["ncp"] is None:
        return ""
    by = sorted(use["loss"]["columns"].items(), key=lambda item: -(item[1]["ncp"] or 0.0))[:most]
    lost = [(name, None, column["ncp"], None) for name, column in by]
    return bars(
        lost,
        "detail lost by column (NCP; 0 none, 1 all)",
        "Detail lost: " + "; ".join(f"{name} {percent(a)}" for name, _, a, _ in lost),
        most=1.0,
    )


def _utility_facts(use: Mapping[str, Any], plan: Plan | None) -> Iterator[tuple[str, str]]:
    counts = use["queries"]["range"]
    if counts["median"] is not None:
        yield (
            percent(counts["median"], 0),
            f"median error of counts; nine in ten below {percent(counts['p90'], 0)}",
        )
    moved = use["distributions"]["dependence"]["largest_difference"]
    if moved is not None:
        yield figure(moved, 2), "largest change of a dependence between two columns"
    columns = use["loss"]["columns"] if use["loss"] else {}
    columns = {name: column for name, column in columns.items() if column["ncp"] is not None}
    if columns:
        name = max(columns, key=lambda n: columns[n]["ncp"])
        lost = columns[name]["ncp"]
        most = plan.recoding.most_changed if plan is not None else "changed most"
        words = f"{most}: {percent(lost, 0)} of its detail is gone"
        yield (name, words) if lost else ("none", "of the columns lost any detail")
