"""Sentences for the steward on what a release reached."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..auditing.inference import in_words
from ..auditing.result import Audit
from ..notation import figure, percent
from ..release import Release
from ..release.guard_words import form_in_words, shifts_in_words
from ..release.private_release import PrivateRelease
from ..release.recipient import kinds_in_words
from ..release.warnings import shares_alone
from ..report.figures import counted, interval
from ..report.reasons import FOUND, reasons
from ..report.text import equal_in_words, found_in_words
from ..report.verdict import verdict
from ..texts import text

_say = partial(text, "outcome")


def outcome(release: Release | PrivateRelease, measured: Audit | None = None) -> list[str]:
    """Return sentences on the promised and the reached figures, by the risk model that applies to the release.

    Parameters
    ----------
    release : Release or PrivateRelease
    measured : Audit, optional
        The audit of the release, which adds the results of linkage and learners.
    """
    head = verdict_lines(release, measured)
    if isinstance(release, PrivateRelease):
        return [*head, *release.in_words(), *counts_off(measured), *_inferred(release, measured)]
    recoding, numbers = release.plan.recoding, release.summary()
    shifted = shifts_in_words(numbers["guard"]) if "guard" in numbers else []
    groups, disclosure = numbers["groups"], numbers["disclosure"]
    records, checks = f"{numbers['rows']:,} records", f"{len(release.checks)} checks hold"
    guard = release.plan.guard
    equal = equal_in_words(measured.risk.get("equal"), measured.table) if measured else ()
    rows = [form_in_words(release.plan, guard), *equal] if guard is not None and guard.rows else []
    if not rows and (release.plan.risk_model == "linkage" or recoding.second_file):
        # classes of equal cells say nothing here: the recoding tells what was done
        lines = [*head, _say("altered", records=records, checks=checks), release.recoding_in_words(), *shifted]
        return lines + _linked(measured) + _inferred(release, measured)
    who = _who(numbers["people"], numbers["households"])
    counts = {"groups": groups["groups"], "smallest": groups["smallest"], "people": who}
    lines = [*head, *rows, _say("groups", **counts, records=records, checks=checks)]
    if disclosure is not None:
        figures = {name: figure(disclosure[name]) for name in ("mean_over_records", "worst")}
        hidden = " of hidden groups" * release.plan.in_rows
        meant = f", by the released values{hidden}" if guard is not None else ""
        lines.append(_say("disclosure", **figures, meant=meant))
        in_file = [check for check in release.checks if check.name == "disclosure (file)"]
        lines += [_say("in_file", worst=figure(check.reached)) for check in in_file]
    if by_value := found_in_words(measured.risk.get("found"), measured.table) if measured else "":
        shifted.append(by_value)
    return lines + shifted + counts_off(measured) + _inferred(release, measured)


def verdict_lines(release: Release | PrivateRelease, measured: Audit | None) -> list[str]:
    """Return the verdict on a release, with its reasons, as lines for the terminal."""
    plan = None if isinstance(release, PrivateRelease) else release.plan
    audit = measured.to_dict() if measured else _unaudited(release)
    judged = verdict(audit, plan, release.checks, reasons(audit, plan))
    return [judged["says"], *(f"- also: {text}" for text in judged["reasons"])]


def _unaudited(release: Release | PrivateRelease) -> Any:
    """Return what a verdict needs of a release that was not audited, from the release's own figures."""
    figures, clauses = release.summary(), list[str]()
    if not isinstance(release, PrivateRelease):
        # columns whose values are released exactly and are often unique
        alone = {name: s for name, s in shares_alone(release.plan, release.released).items() if s > FOUND}
        clauses = [text("verdict", "exact_alone", name=name, share=percent(s, 0)) for name, s in alone.items()]
    table = {name: figures.get(name, {}) for name in ("epsilon", "extremes")}
    return {"table": {"yardstick": "", **table}, "unbounded": [*figures.get("unbounded", ()), *clauses]}


def _who(people: int | None, households: int | None) -> str:
    """Return the number of people and households in the smallest group as text; empty if not counted."""
    counts = [f"{n:,} {of}" for n, of in ((people, "people"), (households, "households")) if n is not None]
    return f" ({', '.join(counts)})" if counts else ""


def _inferred(release: Release | PrivateRelease, measured: Audit | None) -> list[str]:
    """Return sentences on what learners infer and on the member advantage, or that these were not measured."""
    if not release.schema.sensitive:
        return []
    if (inference := measured.risk.get("inference") if measured else None) is None:
        return [_say("not_inferred")]
    lines = [_say("inferred", name=name, found=in_words(column)) for name, column in inference["columns"].items()]
    return lines + inference["notes"]


def counts_off(measured: Audit | None) -> list[str]:
    """Return lines on errors of counts beside those of a new survey, and on regressions; [] if not measured."""
    queries = measured.utility.get("queries") if measured else None
    if measured is None or not queries or not queries["range"]["queries"]:
        return []
    counts, survey = queries["range"], queries["range"]["new_survey"]
    figures = {"median": percent(counts["median"]), "survey": percent(survey["median"])}
    figures |= {"p90": percent(counts["p90"], 0), "survey_p90": percent(survey["p90"], 0)}
    lines = [_say("counts" if counts["median"] else "counts_exact", **figures)]
    if models := measured.utility.get("models"):
        factors = sorted({factor for _, factor, *_ in kinds_in_words(models)}, key=float)
        shares = {name: percent(models["every"][name], 0) for name in ("inside", "resample_inside")}
        lines.append(_say("models", factors=" to ".join(dict.fromkeys([factors[0], factors[-1]])), **shares))
    return lines


def _linked(measured: Audit | None) -> list[str]:
    linkage = measured.risk.get("linkage") if measured else None
    if measured is None or linkage is None:
        return []
    best = max(linkage["attacks"], key=lambda attack: attack["success"])
    release, original, chance = (percent(best[n]) for n in ("success", "original", "public_best"))
    shares = {"release": release, "original": original, "chance": chance}
    shares["whom"] = "the row drawn in their place" if measured.table["planned_groups"] else "their record"
    return [_say("linked", interval=interval(best["interval"]), who=counted(measured.table), **shares)]
