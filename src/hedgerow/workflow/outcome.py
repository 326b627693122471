"""Sentences for the steward on what a release reached."""

from __future__ import annotations

from typing import Any

from ..audit.inference import corrected_in_words, in_words
from ..audit.result import Audit
from ..notation import figure, percent
from ..release import Release
from ..report.verdict import not_bounded, verdict


def outcome(release: Release, measured: Audit | None = None) -> list[str]:
    """Return sentences on what was promised and reached, by the risk model that applies to the release.

    Parameters
    ----------
    release : Release
    measured : Audit, optional
        The audit of the release, for what linkage and learners found.
    """
    recoding, numbers = release.plan.recoding, release.summary()
    audit = measured.to_dict() if measured else {"table": {"yardstick": ""}}
    # an audit saw the whole table; without one the release's own figures have to do
    loud = not_bounded(audit, release.plan) if measured else numbers["unbounded"]
    says = verdict(audit, release.plan, release.checks, loud)["says"]
    head = [says, *(f"- not bounded: {text}" for text in loud)]
    groups, disclosure = numbers["groups"], numbers["disclosure"]
    records, checks = f"{numbers['rows']:,} records", f"{len(release.checks)} checks hold"
    if recoding.risk_model == "linkage" or recoding.second_file:
        # classes of equal cells say nothing here: the recoding tells what was done
        lines = [*head, f"{records}; {checks} on the written file.", release.recoding_in_words()]
        return lines + _linked(measured) + _inferred(release, measured)
    lines = [
        *head,
        f"{records} in {groups['groups']:,} groups of at least {groups['smallest']:,}"
        + _who(numbers)
        + f"; {checks} on the written file.",
    ]
    if disclosure is not None:
        columns = len(release.schema.sensitive)
        # one figure for several columns says that it is their mean
        meant = f" (means of {columns} columns)" if columns > 1 else ""
        lines.append(
            "Disclosure, what a group gives away of the sensitive columns (0 nothing, 1 all): "
            f"{figure(disclosure['mean_over_groups'])} on average over groups, "
            f"{figure(disclosure['mean_over_records'])} over records{meant}, "
            f"{figure(disclosure['worst'])} in the worst group."
        )
    return lines + _inferred(release, measured)


def _who(numbers: dict[str, Any]) -> str:
    """Return the number of people and households in the smallest group as text; empty if not counted."""
    counts = [f"{numbers[w]:,} {w}" for w in ("people", "households") if numbers[w] is not None]
    return f" ({', '.join(counts)})" if counts else ""


def _inferred(release: Release, measured: Audit | None) -> list[str]:
    """Return sentences on what learners infer and on the member advantage, or that these were not measured."""
    if not release.schema.sensitive:
        return []
    inference = measured.risk.get("inference") if measured else None
    if inference is None:
        return ["Not measured: what learners infer about members and strangers (--attacks)."]
    head = "Learners on the release infer (share explained, 0 nothing, 1 all)"
    return [
        line
        for name, column in inference["columns"].items()
        for line in (f"{head}: {name}: {in_words(column)}.", *corrected_in_words(name, column))
    ] + inference["notes"]


def _linked(measured: Audit | None) -> list[str]:
    linkage = measured.risk.get("linkage") if measured else None
    if linkage is None:
        return []
    best = max(linkage["attacks"], key=lambda attack: attack["success"])
    return [
        f"Linked with their record by somebody who knows all quasi-identifiers: "
        f"{percent(best['success'])} of the people ({percent(best['original'])} before, "
        f"{percent(best['public_best'])} by chance)."
    ]
