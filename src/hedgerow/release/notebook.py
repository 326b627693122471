"""Show a release in a notebook: the results and the first rows of the released table."""

from __future__ import annotations

from typing import Any

from ..display import arguments, notebook_html
from ..notation import figure, words
from ..texts import text

# So much of the released table is shown; of the original nothing is.
ROWS, COLUMNS = 5, 12
_ASKED = ("k", "l", "max_disclosure", "max_inference")


def release_face(release: Any) -> str:
    """Return a `Release` as HTML.

    Parameters
    ----------
    release : Release
    """
    numbers, plan = release.summary(), release.plan
    groups, disclosure, people = numbers["groups"], numbers["disclosure"], numbers["people"]
    promised = [p["maximum"] for p in plan.promises if p["kind"] == "disclosure"]
    lines = []
    if plan.risk_model == "linkage" or plan.recoding.second_file:
        lines.append(text("notebook", "no_groups"))
    else:
        of = f"{groups['smallest']:,} records" if people is None else f"{people:,} people"
        of += "" if numbers["households"] is None else f" of {numbers['households']:,} households"
        lines.append(f"{groups['groups']:,} groups; the smallest has {of}.")
        if disclosure is not None:
            cap = f"at most {words(max(promised))}" if promised else "nothing"
            lines.append(text("notebook", "worst", worst=figure(disclosure["worst"]), cap=cap))
    lines.append(f"{len(release.checks)} checks hold on the released table.")
    if plan.names("identifier"):
        lines.append(f"Identifiers left out: {', '.join(plan.names('identifier'))}.")
    table = release.released
    names, n = table.names[:COLUMNS], table.n_rows
    rows = list(zip(*(c.to_pylist() for c in table.head(names, min(ROWS, n))), strict=True))
    wide = f", {COLUMNS} of {len(table.names)} columns" if len(table.names) > COLUMNS else ""
    caption = f"The first {len(rows)} of {n:,} released rows{wide}"
    settings = arguments((n, plan.parameters[n]) for n in _ASKED if n in plan.parameters)
    title = f"Release: {plan.method}({settings}), {n:,} rows"
    return notebook_html(title, lines, (caption, names, rows), notes=release.cautions)
