"""The reasons for care before a table is shared: one table, the weightiest first.

A reason is what an audit found and no promise bounds. Whoever adds one writes a function here, adds it to `REASONS`,
and says it in docs/reading-an-audit.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import inf
from statistics import NormalDist

from ..auditing.audit_data import AuditData
from ..auditing.file_rules import FileRule
from ..auditing.success import AttackData
from ..measures.guarantees import promised_k, unbounded
from ..notation import listed, percent
from ..plan import Plan
from ..release.guard_words import left_empty, value_of_rare
from ..release.rule_counts import is_broken
from ..release.warnings import extremes_in_words
from ..texts import text
from .figures import at, counted, is_larger

# the share of people that exact values may find beyond strangers or chance before care is advised; the same of people
# whose row nobody shares and who have an equal row in the release (a row that many people share singles nobody out)
FOUND = 0.05
# where copies are looked for: how unlikely they are by chance alone, and the share of people beyond chance
UNLIKELY, COPIED = 0.01, 0.002
# the median error of counts from which on a table answers few questions
OFF = 0.5
# the share of records whose category too few people have, from which on a column has lost much
JOINED = 0.2
# the share of rows that break a rule of the original, from which on it is broken, and how many such rules are said
BROKEN, SAID = 0.005, 3
# the share of the rows that carry a rule from which on it is almost certain, and the share of all rows up to which
# what it says of them is scarce
CERTAIN, SCARCE = 0.95, 0.2
# the two-sided 5% point of the normal distribution, which intervals of attacks are made with
_CONFIDENCE = 0.95

# an audit's data, and the plan of the release if there is one
Reason = Callable[[AuditData, Plan | None], Iterator[str]]


def reasons(audit: AuditData, plan: Plan | None) -> list[str]:
    """Return what asks for care before sharing, each as a clause after "because", the weightiest first."""
    return list(dict.fromkeys(chain.from_iterable(reason(audit, plan) for reason in REASONS)))


def _is_the_original(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause if no value was changed, and people are alone with their quasi-identifiers."""
    distributions, k = at(audit, "utility", "distributions"), at(audit, "risk", "release", "classes", "k")
    distances = distributions["columns"].values() if distributions else ()
    moved = [at(audit, "utility", "loss", "cells_changed"), *(each["total_variation"] for each in distances)]
    if plan is None and k == 1 and not any(each is None or each > 0 for each in moved):
        yield text("verdict", "original")


def _is_not_compared(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause if the original was given, and the release could not be compared with it."""
    if why := audit["table"].get("uncompared"):
        yield text("verdict", "uncompared", why=why)


def _contains_rows(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause if a foreign file contains more of the people's rows than chance gives."""
    equal = at(audit, "risk", "equal")
    # an older audit has no such figure
    if plan is None and equal and equal.get("p_value", 1.0) < UNLIKELY:
        chance = (equal.get("chance") if equal["strangers"] is None else equal["strangers"]) or 0.0
        if equal["members"] - chance > COPIED:
            most = "at most " if is_larger(audit["table"]) and equal["strangers"] is None else ""
            shares = {"members": percent(equal["members"]), "chance": f"{most}{percent(chance)}" if chance else "none"}
            yield text("verdict", "rows", copied=equal["copied"], people=audit["table"]["original_rows"], **shares)


def _contains_extremes(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause for each end of a number whose outermost values stand in the file more often than others."""
    ends = at(audit, "risk", "copied", "extremes") or {}
    for end, figures in ends.items():
        if figures["p_value"] < UNLIKELY / len(ends):
            shares = {part: percent(figures[part] or 0.0, 0) for part in ("found", "others")}
            yield text("verdict", "outermost", who=counted(audit["table"]), end=end, people=figures["people"], **shares)


def _has_more_decimals(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause on numbers with more decimals than those of the original."""
    for name, digits in (at(audit, "risk", "copied", "decimals") or {}).items():
        yield text("verdict", "decimals", name=name, **digits)


def _has_unknown_values(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause on values that the original does not have."""
    for name, rows in (at(audit, "risk", "copied", "unknown") or {}).items():
        yield text("verdict", "unknown", name=name, rows=rows)


def _finds_by_values(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause if released values of sensitive columns find more people than strangers or chance."""
    by_value = audit.get("risk", {}).get("found") or {"columns": {}, "together": None}
    # one column alone finds more than all of them where others were altered
    alone = {name: column for name, column in by_value["columns"].items() if column["role"] == "sensitive"}
    every = {" and ".join(alone): by_value["together"], **alone}
    rates = [(r["found"] - (r["control"] or 0), name, r) for name, r in every.items() if r]
    beyond, columns, rate = max(rates, key=lambda each: each[0], default=(0.0, "", None))
    # of few people a share above chance may be chance, which is itself as uncertain
    if rate and beyond > max(FOUND, 3 * (rate["found"] - rate["interval"][0])):
        what = {0: "it is", 1: "both are"}.get(columns.count(" and "), "all are")
        guarded, chance = "hidden" if plan and plan.guard else "exact", percent(rate["control"] or 0.0, 0)
        shares = {"who": counted(audit["table"]), "share": percent(rate["found"], 0), "chance": chance}
        yield text("verdict", guarded, columns=columns, what=what, **shares)


def surest_attack(attacks: Sequence[AttackData]) -> AttackData | None:
    """Return the attack with the highest lower confidence limit of its gain over the control, or None.

    Of the membership attacks only the one that was chosen on other people counts.
    """
    return max([a for a in _counted(attacks) if a["over_control"] is not None], key=_least_gain, default=None)


def _least_gain(attack: AttackData) -> float:
    ends = attack["over_control_interval"]
    return ends[0] if ends else -inf


def _counted(attacks: Sequence[AttackData]) -> list[AttackData]:
    return [a for a in attacks if a["attack"] != "membership" or a["learner"] == "strongest"]


def _is_attacked(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause on the attack that most surely takes something from members; no cap bounds it.

    Its interval is widened for the number of attacks that were tried (Bonferroni): of forty, one lies above its control
    by chance, so that whoever tries more must not find more.
    """
    attacks = audit.get("attacks", ())
    most = surest_attack(attacks)
    if most is None or (gain := most["over_control"]) is None:
        return
    one, all_of_them = (NormalDist().inv_cdf(1 - (1 - _CONFIDENCE) / 2 / n) for n in (1, len(_counted(attacks))))
    low = _least_gain(most)
    by_value = (most["attack"], most["learner"]) == ("predicate singling out", "group and value")
    if gain - (gain - low) * all_of_them / one <= 0 or (by_value and any(_finds_by_values(audit, plan))):
        return
    shares = {"success": percent(most["success"], 0), "control": percent(most["control"], 0)}
    shares["who"] = counted(audit["table"])
    columns = " or ".join(audit["table"]["sensitive"])
    named = {"membership": "attack_membership", "singling out": "attack_described"}
    key = "attack_value" if by_value else named.get(most["attack"], "attack")
    yield text("verdict", key, **{**most, **shares, "tried": len(attacks), "columns": columns})


def _has_equal_rows(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause if people who are alone with their row find an equal one more often than strangers do."""
    equal = at(audit, "risk", "equal")
    # that no row of a plan was copied was verified, so that chance alone, which is estimated, is no reason
    if not equal or equal["strangers"] is None or any(_contains_rows(audit, plan)):
        return
    if (equal["members"] or 0.0) - equal["strangers"] > FOUND:
        yield text("verdict", "equal", who=counted(audit["table"]), share=percent(equal["members"], 0))


def _was_left_unchanged(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause on quasi-identifiers that a method of altered values left as they were."""
    # a grouping may leave a column as it is and still protect
    if plan is not None and plan.risk_model == "linkage":
        yield from unbounded((), {}, records=0, unchanged=plan.in_name_only)


def _goes_beyond_promises(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield what groups give away or lose that no promise bounds (`Audit.unbounded`)."""
    yield from audit.get("unbounded", ())


def _ends_at_rare_values(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause on ranges that end at a value which fewer than k records have."""
    k = promised_k(plan.promises if plan else ()) or at(audit, "parameters", "k") or 0
    for name, ends in audit["table"].get("extremes", {}).items():
        yield extremes_in_words(name, k, ends)


def _counts_are_off(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause if half of all counts of people by two columns are far off."""
    counts = at(audit, "utility", "queries", "range") or {"median": None}
    if (counts["median"] or 0) > OFF:
        yield text("verdict", "counts", **{part: percent(counts[part], 0) for part in ("median", "p90")})


def _estimates_are_off(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause on columns whose estimates cannot be used; of a private release nothing that was not paid for."""
    columns = {} if "epsilon" in audit["table"] else (at(audit, "utility", "models") or {"columns": {}})["columns"]
    if names := [name for name, column in columns.items() if column["verdict"] == "do not use"]:
        yield text("verdict", "estimates", names=listed(names))


def _breaks_rules(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause on rules between columns that hold in the original, and that many rows of the release break."""
    rules = () if "epsilon" in audit["table"] else at(audit, "utility", "rules") or ()
    shares = {rule["words"]: (rule["release"] or 0) / rule["rows"] for rule in rules if is_broken(rule)}
    if worst := sorted((words for words in shares if shares[words] > BROKEN), key=lambda words: -shares[words]):
        names = "; ".join(f"{words} (broken in {percent(shares[words], 0)} of the rows)" for words in worst[:SAID])
        yield text("verdict", "broken_rules", names=names, more=", and others" * (len(worst) > SAID))


def _joins_categories(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause on columns that lost the categories of many records, because too few people have them."""
    if plan is None or plan.guard is None:
        return
    if lost := [(c, c.joined / plan.n_rows) for c in plan.guard.columns if c.joined > JOINED * plan.n_rows]:
        names = "; ".join(f"{c.name} ({percent(share, 0)}: {value_of_rare(c)})" for c, share in lost)
        yield text("verdict", "joined", people=plan.counted(plan.guard.people), names=names)


def _leaves_columns_empty(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause on columns of which nothing is released, because too few people have the same values."""
    if plan is not None and plan.guard is not None and (names := ", ".join(left_empty(plan.guard))):
        yield text("verdict", "empty", people=plan.counted(plan.guard.people), names=names)


def _shows_a_rule(audit: AuditData, plan: Plan | None) -> Iterator[str]:
    """Yield a clause on a rule of drawn rows that makes a value almost certain which few of all rows have."""
    for name, rules in (at(audit, "risk", "rules") or {}).items():
        for rule in rules:
            if rule["share"] >= CERTAIN and rule["of_all"] <= SCARCE:
                yield rule_in_words("certain", name, rule)


def rule_in_words(key: str, name: str, rule: FileRule) -> str:
    """Return a rule that the file shows about a column as text."""
    where = " and ".join(f"{column} {value}" for column, value in rule["where"].items())
    shares = {part: percent(rule[part], 0) for part in ("share", "of_all")}
    return text("verdict", key, name=name, where=where, value=rule["value"], rows=rule["rows"], **shares)


REASONS: tuple[Reason, ...] = (
    _is_not_compared,
    _is_the_original,
    _contains_rows,
    _finds_by_values,
    _contains_extremes,
    _is_attacked,
    _has_equal_rows,
    _shows_a_rule,
    _has_more_decimals,
    _has_unknown_values,
    _was_left_unchanged,
    _goes_beyond_promises,
    _ends_at_rare_values,
    _counts_are_off,
    _estimates_are_off,
    _breaks_rules,
    _joins_categories,
    _leaves_columns_empty,
)
