"""The first screen of the steward's page: what an intruder can do, and what the table is still good for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from ..measures.guarantees import cap_of
from ..methods.private import meaning
from ..notation import figure, percent
from ..plan import Plan
from ..texts import text, texts
from .figures import at, standard_verdict
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


def cards(audit: Mapping[str, Any], plan: Plan | None, broken: bool) -> list[Card]:
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
    most = _surest_attack(audit["attacks"])
    notes = [*_surest(audit, most), *others(audit, 0)]
    if table["yardstick"] == "linkage":
        card = _altered(audit, plan)
    elif table["alone"] and plan is not None and plan.risk_model == "linkage":
        card, notes = Card(f"Not measured: {text('note', 'altered')}."), [*others(audit, 0)]
    elif table["yardstick"] == "classes":
        card = _grouped(audit, plan)
    else:
        card, notes = _unpaired(audit["attacks"], most), [*others(audit, 0)]
    if epsilon := table.get("epsilon"):
        measured = [Markup(card.say).striptags()] if most else []
        card, notes = _private(epsilon), [*measured, *notes]
    missed = profile is not None and profile["state"] == "does not meet"
    # a standard comes first: somebody chose it
    notes = [*standard_verdict(profile), *card.notes, *(_guessed_near(risk) if table["paired"] else ()), *notes]
    tone = "bad" if broken or missed else "open"
    return [replace(card, tone=tone, notes=notes, facts=card.facts[:MOST_FACTS]), _use(audit, plan)]


def _guessed_near(risk: Mapping[str, Any]) -> Iterator[str]:
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


def _surest_attack(attacks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the attack with the highest lower confidence limit of its gain over the control, or None.

    Of the membership attacks only the one that was chosen on other people counts.
    """
    controlled = [
        a
        for a in attacks
        if a["over_control"] is not None and (a["attack"] != "membership" or a["learner"] == "strongest")
    ]
    return max(controlled, key=lambda a: a["over_control_interval"][0], default=None)


def _surest(audit: Mapping[str, Any], most: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield a sentence on the attack that most surely succeeds more often on members; no cap bounds it."""
    if most is None or most["over_control_interval"][0] <= 0:
        return
    name = "surest_membership" if most["attack"] == "membership" else "surest"
    if (most["attack"], most["learner"]) == ("predicate singling out", "group and value"):
        name = "exact_value"
    parts = {part: most[part] for part in ("attack", "learner", "target")}
    parts |= {share: percent(most[share], 0) for share in ("success", "control")}
    columns = " or ".join(audit["table"]["sensitive"])
    yield text("cards", name, tried=len(audit["attacks"]), columns=columns, **parts)


def _grouped(audit: Mapping[str, Any], plan: Plan | None) -> Card:
    """Return the card for groups of equal cells: what the worst group reveals."""
    risk, after = audit["risk"], audit["risk"]["release"]
    people, sensitive, prosecutor = (
        after["classes"]["people"], after["sensitive"], after["reidentification"]["prosecutor"],
    )  # fmt: skip
    # where people have several records, k records may be one person
    smallest = people or after["classes"]["k"]
    one, many = ("record", "records") if people is None else ("person", "people")
    facts = [(f"{smallest:,}", f"{one if smallest == 1 else many} in the smallest group")]
    drawing, notes = "", []
    if sensitive:
        name = max(sensitive, key=lambda n: sensitive[n]["disclosure"]["worst"])
        disclosed, cap = sensitive[name]["disclosure"], cap_of(plan.promises if plan else (), name)
        promised = f"Promised: at most {percent(cap, None)}." if cap else "No cap on this was promised."
        answer = html("worst_group", worst=percent(disclosed["worst"], 0), name=name, cap=promised)
        half = percent(disclosed["median_over_records"], 0)
        words = text("cards", "shares_picture", name=name, half=half)
        drawing = shares_by_group(disclosed["shares"], cap, words)
        who = "people" if people is None else "records"  # of a person with several, each may be elsewhere
        at_cap = cap and half == percent(cap, 0)
        notes = [f"Half of the {who} " + ("sit at the cap." if at_cap else f"are in groups that take {half} or less.")]
        facts += _learned(risk, name)
    else:
        answer = html("no_sensitive", highest=percent(prosecutor["highest"], 0))
    facts.append((percent(prosecutor["average"], 0), "average chance to pick a person's record"))
    left_out = audit["table"]["suppressed"]
    if left_out is not None:
        facts.append((f"{left_out:,}", "records that could not be protected: left out"))
    return Card(answer, drawing, notes, facts)


def _learned(risk: Mapping[str, Any], name: str) -> Iterator[tuple[str, str]]:
    """Yield (figure, meaning) pairs on what learners infer about members and strangers, if that was measured."""
    inferred = at(risk["inference"], "columns", name)
    if inferred is None:
        return
    members, strangers = inferred["members"]["explained"], inferred["strangers"]
    if strangers is None:
        yield figure(members), f"share of {name} that a learner infers about people in the table"
        return
    yield (
        f"{figure(members)} | {figure(strangers['explained'])}",
        f"share of {name} that a learner infers about members | about strangers (1: all)",
    )
    low, high = inferred["advantage"]["interval"]
    words = "what the table betrays of its own people" if high > 0 else "members are inferred no better"
    advantage = f"{inferred['advantage']['explained']:+.3f}"
    yield advantage, f"member advantage ({figure(low)} to {figure(high)}): {words}"


def _altered(audit: Mapping[str, Any], plan: Plan | None) -> Card:
    """Return the card for altered records: the share linked or, if higher, the best guess in the worst group."""
    risk = audit["risk"]
    card = _linked(risk["linkage"], audit["table"], "linked_drawn" if plan and plan.in_rows else "linked")
    guess = risk["linkage"].get("reconstructed")
    if guess is not None:
        name = max(guess["columns"], key=lambda n: guess["columns"][n]["worst"])
        if guess["columns"][name]["worst"] > risk["linkage"]["highest"]:
            card = replace(_guessed(guess, name, plan, Markup(card.say).striptags()), facts=card.facts)
    inferred = at(risk["inference"], "columns")
    if not inferred:
        return card
    name = max(inferred, key=lambda n: inferred[n]["members"]["explained"])
    hardest = max(inferred, key=lambda n: inferred[n]["worst_tenth"]["explained"])
    share = percent(inferred[hardest]["worst_tenth"]["explained"], 0)
    tenth = text("cards", "worst_tenth", share=share, name=hardest)
    # learners before the scores of numbers, for only three figures have space
    facts = [*card.facts[:1], *_learned(risk, name), *card.facts[1:]]
    return replace(card, notes=[*card.notes, tenth], facts=facts)


def _guessed(guess: Mapping[str, Any], name: str, plan: Plan | None, linked: str) -> Card:
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
    groups, least = guess["groups"], guess["least"]
    s = "s" if groups > 1 else ""
    average = text("cards", "guessed_on_average", groups=groups, s=s, least=least, right=right)
    return Card(answer, drawing, [average, linked])


def _linked(linkage: Mapping[str, Any], table: Mapping[str, Any], says: str) -> Card:
    """Return the card with the share of people who are linked with their own record."""
    by_chance = max((a["public_best"] for a in linkage["attacks"]), default=0.0)
    n = len(table["quasi"])
    columns = f"{n} quasi-identifiers" if n > 1 else "quasi-identifier"
    highest = percent(linkage["highest"], 0)
    answer = html(says, columns=columns, highest=highest, blind=percent(by_chance, 0))
    rows = [
        (f"linked by {LINKED.get(a['learner'], a['learner'])}", a["original"], a["success"], a["public_best"])
        for a in linkage["attacks"]
    ]
    each = "; ".join(f"{name} {percent(b)} before, {percent(a)} after" for name, b, a, _ in rows)
    drawing = bars(rows, text("bars", "linked"), text("bars", "linked_in_words", each=each), most=1.0)
    scores, words = linkage["scores"], texts("scores")
    facts = [(percent(scores[key] / 100, 0), what) for key, what in words.items()] if scores else []
    return Card(answer, drawing, facts=facts)


def _unpaired(tried: Sequence[Any], most: Mapping[str, Any] | None) -> Card:
    """Return the card for released rows that cannot be paired with people of the original."""
    if most is None:
        why = text("cards", "untold", tried=len(tried)) if tried else "No attack was tried."
        return Card(Markup("<b>Not known. </b>{}").format(why))
    low, high = most["over_control_interval"]
    share = percent(most["over_control"], 0)
    answer = html("over_control", attack=most["attack"], learner=most["learner"], share=share)
    facts = [
        (percent(most["success"], 0), f"of the members; {most['success_means']}"),
        (percent(most["control"], 0), "of people who took no part"),
        (f"{percent(low, 0)} to {percent(high, 0)}", "95% interval of the difference"),
    ]
    return Card(answer, facts=facts)


def _use(audit: Mapping[str, Any], plan: Plan | None) -> Card:
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


def _row(learner: Mapping[str, Any]) -> tuple[str, float, float, float]:
    """Return a learner's name, its scores from the original and from the release, and the score without learning."""
    key = "accuracy" if "accuracy" in learner["release"] else "r2"
    name = {"gradient boosting": "boosting"}.get(learner["estimator"], learner["estimator"])
    # R2 is measured from the mean already; accuracy starts at the likeliest value
    floor = learner["constant"][key] if key == "accuracy" else 0.0
    return f"{name}, {learner['target']}", learner["original"][key], learner["release"][key], floor


def _drawing(use: Mapping[str, Any], rows: Sequence[tuple[str, float, float, float]]) -> str:
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


def _utility_facts(use: Mapping[str, Any], plan: Plan | None) -> Iterator[tuple[str, str]]:
    """Yield (figure, meaning) pairs: error of counts, most changed pair of columns, column that lost most detail."""
    counts = use["queries"]["range"]
    if counts["median"] is not None:
        usual, nine_in_ten = (percent(counts["new_survey"][name], 0) for name in ("median", "p90"))
        compared = html("counts_beside", p90=percent(counts["p90"], 0), median=usual, survey=nine_in_ten)
        yield percent(counts["median"], 0), compared
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
