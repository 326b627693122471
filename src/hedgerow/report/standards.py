"""What a standard asks and what was found, in words: for the page, the terminal and the first screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

STANDARD_HEADS = ("asked", "clause", "threshold", "reached", "found")
_READ = {
    "primary": "",
    "reprint": "threshold read in a reprint of the source",
    "secondary": "threshold not verified in the source",
}
_INTRUDER = {
    "prosecutor": "somebody who knows who is in the table",
    "journalist": "somebody who does not know who is in the table",
}


def standard_verdict(profile: Mapping[str, Any] | None) -> list[str]:
    """One sentence for the first screen; nothing where no standard was named."""
    if not profile:
        return []
    states = [row["state"] for row in profile["criteria"]]
    told = [
        f"{states.count(state)} {words}"
        for state, words in (
            ("meets", "met"),
            ("does not meet", "not met"),
            ("measured", "measured without a threshold"),
            ("not measured", "not measured"),
        )
        if state in states
    ]
    said = f"{profile['title']} ({profile['date']}): of {len(states)} criteria {', '.join(told)}."
    homes = profile.get("households")
    if not homes:
        return [said]
    return [
        f"{said} They judge people; of households the smallest group has {homes['k']:,.0f}, and the "
        f"risk that anybody of one is found by {_INTRUDER[homes['by']]} is {homes['highest']:.3g} at "
        f"most, {homes['average']:.3g} on average."
    ]


def criterion_rows(profile: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The criteria: what is asked, where, the threshold, the figure, what was found and on what ground."""
    for row in profile["criteria"]:
        figure = "-" if row["figure"] is None else f"{row['figure']:.4g}"
        yield (
            row["asks"],
            row["clause"],
            row["threshold"] or "none named",
            figure,
            row["state"],
            "; ".join(part for part in (row["detail"], ground(row)) if part),
        )


def ground(row: Mapping[str, Any]) -> str:
    """How far a threshold can be relied on; nothing where it was read in its source."""
    if row["ours"]:
        return "the source names no threshold, and this is Hedgerow's reading"
    return _READ[row["read"]] if row["threshold"] else ""


def standard_lines(profile: Mapping[str, Any]) -> Iterator[str]:
    """For the terminal."""
    yield from standard_verdict(profile)
    yield f"Source: {profile['source']}, {profile['date']}. {profile['note']}".rstrip()
    for asks, clause, threshold, figure, state, detail in criterion_rows(profile):
        yield f"- {state.upper()}: {asks} [{clause}] {threshold}; reached {figure}. ({detail})"
