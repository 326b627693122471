"""Figures about households, sampling weights and the population behind a sample, as rows of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..notation import percent
from .figures import WIDE, at, count

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
