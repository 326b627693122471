"""Single figures of an audit as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..notation import percent

WIDE = 54
"""How wide the names of figures are that stand beside the original's and the release's."""


def count(value: float | None) -> str:
    """A number of people, which may be a mean, as text."""
    return "-" if value is None else f"{value:,.1f}"


def at(side: Mapping[str, Any] | None, *path: str) -> Any:
    """A figure of the original; None where no original was measured."""
    for key in path:
        side = None if side is None else side.get(key)
    return side


HOUSEHOLD = "reidentification", "household"
UNIQUE = ("uniqueness",)
SURVEY = (
    (
        "people of the population in the smallest group",
        ("classes", "population", "smallest"),
        count,
        "summed sampling weights, or counted in the population table",
    ),
    (
        "household, highest risk",
        (*HOUSEHOLD, "highest"),
        percent,
        "that anybody of the household is found: 1 - prod(1 - risk)",
    ),
    ("household, average risk", (*HOUSEHOLD, "average"), percent, "over households"),
    (
        "households expected to be found",
        (*HOUSEHOLD, "expected"),
        count,
        "the sum of their risks",
    ),
    (
        "records expected to be found with their household",
        (*HOUSEHOLD, "expected_records"),
        count,
        "the sum over records of the risk of their household",
    ),
    (
        "people unique in the population, estimated",
        (*UNIQUE, "uniques"),
        count,
        "by Dankar's choice among three models of the population",
    ),
    (
        "unique in the sample who are so in the population",
        (*UNIQUE, "sample_uniques_unique"),
        percent,
        "estimated share of the records that are alone in their group",
    ),
)


def population_rows(
    before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Iterator[tuple[str, str, str, str]]:
    """Figures about households and the population behind a sample."""
    for title, path, show, says in SURVEY:
        one, two = at(before, *path), at(after, *path)
        if two is not None:
            yield title, "-" if one is None else show(one), show(two), says
    found = after.get("uniqueness")
    if found:
        was = at(before, "uniqueness", "models") or {}
        for name, value in found["models"].items():
            told = f"of {found['population']:,.0f} people, a sample of {percent(found['fraction'])}"
            chosen = ", chosen" if name == found["chosen"] else ""
            failed = "" if value is not None else "; its equations have no solution here"
            yield (
                f"  by the model {name}{chosen}",
                count(was.get(name)),
                count(value),
                told + failed,
            )


def estimate_rows(estimates: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    """Weighted estimates before and after: a title and two figures as text."""
    if not estimates:
        return []
    both = estimates["people"]
    rows = [("people (summed weights)", f"{both['original']:,.0f}", f"{both['release']:,.0f}")]
    for name, column in estimates["columns"].items():
        if column["kind"] == "categories":
            change = percent(column["largest_change"])
            rows.append((f"{name}, largest change of a share", "-", change))
            continue
        for key in ("total", "mean"):
            one, two = (column[key][side] for side in ("original", "release"))
            rows.append((f"{name}, {key}", _long(one), _long(two)))
    for name, error in estimates["group_by"]["by"].items():
        rows.append((f"mean {name}, relative error", "-", percent(error)))
    return rows


def _long(value: float | None) -> str:
    """An estimate with five digits."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.5g}"


def estimates(audit: Mapping[str, Any]) -> Iterator[str]:
    """What a survey is for: its estimates, before and after."""
    found = audit["utility"].get("estimates")
    if found:
        yield ""
        title = f"Estimates weighted by {found['weight']}"
        yield f"{title:{WIDE - 20}}{'original':>22}{'release':>22}"
        for title, one, two in estimate_rows(found):
            yield f"{title:{WIDE - 20}}{one:>22}{two:>22}"


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
