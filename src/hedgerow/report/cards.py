"""The first screen of the steward's page: what an intruder can do, and what the table is still good for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from markupsafe import Markup

from ..auditing.attacks.linking import Linkage, Reconstructed
from ..auditing.audit_data import AuditData, TableData
from ..auditing.success import AttackData
from ..auditing.utility.models import Learning
from ..json_types import Figures
from ..measures.guarantees import cap_of
from ..methods.private import meaning
from ..notation import figure, percent
from ..plan import Plan
from ..texts import text, texts
from .figures import at, interval
from .reasons import surest_attack
from .standards import standard_verdict
from .svg import bars, shares_by_group
from .text import others

# a learner that explains at most this share of the original counts as having learned nothing
FEW = 0.01
# the second card changes colour if models keep less than this share of what they learn
HALF = 0.5
# the most figures and pairs of bars that fit on a card on a telephone
MOST_FACTS, MOST_ROWS = 3, 8
# nouns for linkage learners whose names are no nouns
LINKED = {"probabilistic": "probability"}


@dataclass(frozen=True)
class Card:
    """One question of the first screen, with its answer in words, a picture and at most three figures.

    Parameters
    ----------
    say : str
        The answer as HTML; the figures in it are bold.
    drawing : str
        SVG, or nothing.
    notes : sequence of str
    facts : sequence of (str, str)
        A figure and its meaning.
    title : str
        The question.
    tone : {"good", "open", "bad"}
        "bad" if a promise does not hold or a standard is not met; "open" for a card on risk, because
        a risk is never called good.
    """

    say: str
    drawing: str = ""
    notes: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    title: str = "What can an intruder do?"
    tone: str = "open"


def html(name: str, /, **parts: Any) -> Markup:
    """Return an answer of the first screen as HTML, with its braces filled in and escaped."""
    return Markup(texts("cards")[name]).format(**parts)


def cards(audit: AuditData, plan: Plan | None, broken: bool) -> list[Card]:
    """Return the two cards of the first screen: what an intruder can do, and what the table is still good for.

    Parameters
    ----------
    audit : mapping
        As `Audit.to_dict` has it.
    plan : Plan, optional
        The plan with its promises.
    broken : bool
        True if a promise does not hold.
    """
    table, risk, profile = audit["table"], audit["risk"], audit.get("profile")
    most, notes = surest_attack(audit["attacks"]), [*others(audit, 0)]
    if table["yardstick"] == "linkage":
        card = _altered(audit, plan)
    elif table["alone"] and plan is not None and plan.risk_model == "linkage":
        card = Card(f"Not measured: {text('note', 'altered')}.")
    elif table["yardstick"] == "classes" or (table["planned_groups"] and not audit["attacks"]):
        card = _grouped(audit, plan)
    else:
        card = _unpaired(audit["attacks"], most)
    if epsilon := table.get("epsilon"):
        measured = [Markup(card.say).striptags()] if most else []
        card, notes = _private(epsilon), [*measured, *notes]
    # a standard comes first: somebody chose it
    notes = [*standard_verdict(profile), *card.notes, *(_guessed_near(risk) if table["paired"] else ()), *notes]
    tone = "bad" if broken or (profile and profile["state"] == "does not meet") else "open"
    return [replace(card, tone=tone, notes=notes, facts=card.facts[:MOST_FACTS]), _use(audit, plan)]


def _guessed_near(risk: Figures) -> Iterator[str]:
    """Yield a sentence on how many people's value is guessed to 10% from their group, and without the release."""
    columns = at(risk, "release", "sensitive") or {}
    near = {
        name: tried["0.10"] for name, column in columns.items() if (tried := column["matching"]) and "0.10" in tried
    }
    if near:
        name = max(near, key=lambda n: near[n]["release"] - near[n]["public"])
        shares = {side: f"{100 * near[name][side]:.0f}" for side in ("release", "public")}
        yield text("cards", "near", name=name, **shares)


def _private(epsilon: float) -> Card:
    """Return the card for a release under differential privacy: what epsilon means."""
    means = meaning(epsilon)
    facts = [(means["factor"], text("cards", "odds")), (means["right"], text("cards", "guesses"))]
    return Card(html("private", **means), notes=[text("cards", "adds", **means)], facts=facts)


def _grouped(audit: AuditData, plan: Plan | None) -> Card:
    """Return the card for groups of equal cells: what the worst group reveals."""
    risk, after, grouped = audit["risk"], audit["risk"]["release"], audit["table"]["yardstick"] == "classes"
    people, sensitive, finding = after["classes"]["people"], after["sensitive"], after["reidentification"]["prosecutor"]
    # where people have several records, k records may be one person
    smallest = people or after["classes"]["k"]
    one, many = ("record", "records") if people is None else ("person", "people")
    facts = [(f"{smallest:,}", f"{one if smallest == 1 else many} in the smallest group")]
    answer, drawing, notes = html("no_sensitive", highest=percent(finding["highest"], 0)), "", []
    if sensitive:
        name = max(sensitive, key=lambda n: sensitive[n]["disclosure"]["worst"])
        disclosed, cap = sensitive[name]["disclosure"], cap_of(plan.promises if plan else (), name)
        promised = f"Promised: at most {percent(cap, None)}." if cap else "No cap on this was promised."
        worst, half = (percent(disclosed[part], 0) for part in ("worst", "median_over_records"))
        answer = html("worst_group" if grouped else "planned_group", worst=worst, name=name, cap=promised)
        drawing = shares_by_group(disclosed["shares"], cap, text("cards", "shares_picture", name=name, half=half))
        who = "people" if people is None else "records"  # of a person with several, each may be elsewhere
        notes = [text("cards", "half", who=who, half=half)]
        if cap and half == percent(cap, 0):
            bins, first = disclosed["shares"], ceil(len(disclosed["shares"]) * cap) - 1
            share, least = percent(sum(bins[first:]), 0), percent(first / len(bins), 0)
            notes = [text("cards", "at_cap", who=who, share=share, least=least, cap=percent(cap, None))]
        facts += _learned(risk, name)
    # drawn rows are nobody's record
    facts += [(percent(finding["average"], 0), "average chance to pick a person's record")] if grouped else []
    if (left_out := audit["table"]["suppressed"]) is not None:
        facts.append((f"{left_out:,}", "records that could not be protected: left out"))
    return Card(answer, drawing, notes, facts)


def _learned(risk: Figures, name: str) -> Iterator[tuple[str, str]]:
    """Yield (figure, meaning) pairs on what learners infer about members and strangers, if that was measured."""
    if (inferred := at(risk["inference"], "columns", name)) is None:
        return
    members, strangers = inferred["members"]["explained"], inferred["strangers"]
    if strangers is None:
        yield figure(members), f"share of {name} that a learner infers about people in the table"
        return
    yield f"{figure(members)} | {figure(strangers['explained'])}", text("cards", "inferred", name=name)
    low, high = map(figure, inferred["advantage"]["interval"])
    key = "advantage" if inferred["advantage"]["interval"][1] > 0 else "no_advantage"
    yield f"{inferred['advantage']['explained']:+.3f}", text("cards", key, low=low, high=high)


def _altered(audit: AuditData, plan: Plan | None) -> Card:
    """Return the card for altered records: the share linked or, if higher, the best guess in the worst group."""
    risk = audit["risk"]
    card = _linked(risk["linkage"], audit["table"], "linked_drawn" if plan and plan.in_rows else "linked")
    if (guess := risk["linkage"].get("reconstructed")) is not None:
        name = max(guess["columns"], key=lambda n: guess["columns"][n]["worst"])
        if guess["columns"][name]["worst"] > risk["linkage"]["highest"]:
            card = replace(_guessed(guess, name, plan, Markup(card.say).striptags()), facts=card.facts)
    if not (inferred := at(risk["inference"], "columns")):
        return card
    name = max(inferred, key=lambda n: inferred[n]["members"]["explained"])
    # learners before the scores of numbers, for only three figures have space
    return replace(card, facts=[*card.facts[:1], *_learned(risk, name), *card.facts[1:]])


def _guessed(guess: Reconstructed, name: str, plan: Plan | None, linked: str) -> Card:
    """Return the card for a reader who reconstructs the groups' counts and guesses people's values from them."""
    column = guess["columns"][name]
    # a third has more digits than a reader compares
    cap = None if plan is None else round(1 / plan.parameters["l"], 4)
    is_exact, right = column["means"] == "exact", percent(column["right"], 0)
    answer = html(
        "guessed",
        guess="its most frequent" if is_exact else "the best",
        name=name,
        worst=percent(column["worst"], 0),
        within="" if is_exact else f" {column['means']}",
        cap=f"The cap of {percent(cap, None)} is on single records, not on this guess." if cap else "",
    )
    words = text("cards", "guesses_picture", name=name, right=right)
    drawing = shares_by_group(column["shares"], cap, words, ("0% guessed right", "100%"))
    groups = {"groups": guess["groups"], "s": "s" if guess["groups"] > 1 else "", "least": guess["least"]}
    return Card(answer, drawing, [text("cards", "guessed_on_average", **groups, right=right), linked])


def _linked(linkage: Linkage, table: TableData, says: str) -> Card:
    """Return the card with the share of people who are linked with their own record."""
    by_chance = max((a["public_best"] for a in linkage["attacks"]), default=0.0)
    n = len(table["quasi"])
    columns = f"{n} quasi-identifiers" if n > 1 else "quasi-identifier"
    highest = percent(linkage["highest"], 0)
    best = max(linkage["attacks"], key=lambda attack: attack["success"])
    shares = {"highest": highest, "blind": percent(by_chance, 0)}
    answer = html(says, columns=columns, interval=interval(best["interval"], 0), people=f"{best['people']:,}", **shares)
    rows = [
        (f"linked by {LINKED.get(a['learner'], a['learner'])}", a["original"], a["success"], a["public_best"])
        for a in linkage["attacks"]
    ]
    each = "; ".join(f"{name} {percent(b)} before, {percent(a)} after" for name, b, a, _ in rows)
    drawing = bars(rows, text("bars", "linked"), text("bars", "linked_in_words", each=each), most=1.0)
    scores: Figures | None = linkage["scores"]
    facts = [(percent(scores[key] / 100, 0), what) for key, what in texts("scores").items()] if scores else []
    return Card(answer, drawing, facts=facts)


def _unpaired(tried: Sequence[Any], most: AttackData | None) -> Card:
    """Return the card for released rows that cannot be paired with people of the original."""
    if most is None:
        why = text("cards", "untold", tried=len(tried)) if tried else "No attack was tried."
        return Card(Markup("<b>Not known. </b>{}").format(why))
    is_coin = most["attack"] == "membership"
    key, tile = ("over_coin", "over_coin_tile") if is_coin else ("over_control", "over_control_tile")
    ends = most["interval"] if is_coin else most["over_control_interval"] or ()
    low, high = (percent(end, 0) for end in ends)
    shares = {"success": percent(most["success"], 0), "control": percent(most["control"], 0)}
    facts = [(f"{low} to {high}", text("cards", tile))]
    return Card(html(key, attack=most["attack"], learner=most["learner"], **shares), facts=facts)


def _use(audit: AuditData, plan: Plan | None) -> Card:
    """Return the second card: how useful the table still is."""
    title, use = "What is it still good for?", audit["utility"]
    if audit["table"]["alone"]:
        return Card("Not measured: no original was given to compare with.", title=title)
    rows = [_row(row) for row in use["learning"]]
    could = sum(max(before - floor, 0.0) for _, before, _, floor in rows)
    answer, tone, notes = text("cards", "nothing_learned"), "good", []
    if rows and could > FEW * len(rows):
        # what a model learns beyond the original is chance, and makes up for nothing that others lose
        retained = sum(max(min(after, before) - floor, 0.0) for _, before, after, floor in rows if before > floor)
        share = retained / could
        tone = "good" if share >= HALF else "open"
        # a sum of what is known to two digits
        answer = html("models", share=texts("cards")["almost_all"] if 0.995 <= share < 1 else percent(share, 0))
        useless = [name for name, before, _, floor in rows if before <= floor]
        without = text("cards", "models_without", names="; ".join(useless)) if useless else ""
        hidden = text("cards", "models_hidden", shown=MOST_ROWS) if len(rows) > MOST_ROWS else ""
        notes = [text("cards", "models_counted", n=len(rows) - len(useless), without=without, hidden=hidden)]
    elif not rows:
        counts = use["queries"]["range"]
        survey = percent(counts["new_survey"]["median"], 0)
        how = "counts" if counts["median"] else "counts_exact"
        answer = html(how, median=percent(counts["median"], 0), survey=survey)
    drawing = "" if plan and plan.in_rows and not rows else _drawing(use, rows)
    return Card(answer, drawing, notes, [*_utility_facts(use, plan)], title, tone)


def _row(learner: Learning) -> tuple[str, float, float, float]:
    """Return a learner's name, its scores from the original and from the release, and the score without learning."""
    key = "accuracy" if "accuracy" in learner["release"] else "r2"
    name = {"gradient boosting": "boosting"}.get(learner["estimator"], learner["estimator"])
    # R2 is measured from the mean already; accuracy starts at the likeliest value
    floor = learner["constant"][key] if key == "accuracy" else 0.0
    return f"{name}, {learner['target']}", learner["original"][key], learner["release"][key], floor


def _drawing(use: Figures, rows: Sequence[tuple[str, float, float, float]]) -> str:
    """Draw the scores of learners, or the detail that each column lost if no learner was trained."""
    if rows:
        rows = rows[:MOST_ROWS]
        each = "; ".join(f"{name} {figure(b)} from the original, {figure(a)} now" for name, b, a, _ in rows)
        words = text("bars", "models"), text("bars", "models_in_words", each=each)
        return bars(rows, *words, most=max(max(row[1:]) for row in rows) or 1.0)
    if use["loss"] is None or use["loss"]["ncp"] is None:
        return ""
    by = sorted(use["loss"]["columns"].items(), key=lambda item: -(item[1]["ncp"] or 0.0))[:MOST_ROWS]
    each = "; ".join(f"{name} {percent(column['ncp'])}" for name, column in by)
    words = text("bars", "lost"), text("bars", "lost_in_words", each=each)
    return bars([(name, None, column["ncp"], None) for name, column in by], *words, most=1.0)


def _utility_facts(use: Figures, plan: Plan | None) -> Iterator[tuple[str, str]]:
    """Yield (figure, meaning) pairs: error of counts, most changed pair of columns, column that lost most detail."""
    counts = use["queries"]["range"]
    if counts["median"] is not None:
        # without learners the answer has the median
        part, key = ("median", "counts_beside") if use["learning"] else ("p90", "counts_most")
        yield percent(counts[part], 0), text("cards", key, survey=percent(counts["new_survey"][part], 0))
    if pairs := use["distributions"]["dependence"]["pairs"]:
        pair = max(pairs, key=lambda each: abs(each["before"] - each["after"]))
        change = f"{figure(pair['before'])} to {figure(pair['after'])}"
        yield change, text("cards", "changed_pair", names=" and ".join(pair["columns"]))
    columns = use["loss"]["columns"] if use["loss"] and not (plan and plan.in_rows) else {}
    lost, name = max(((c["ncp"], name) for name, c in columns.items() if c["ncp"] is not None), default=(0.0, ""))
    if name:
        most = plan.recoding.most_changed if plan is not None else "changed most"
        words = f"{most}: {percent(lost, 0)} of its detail is gone"
        yield (name, words) if lost else ("none", "of the columns lost any detail")
