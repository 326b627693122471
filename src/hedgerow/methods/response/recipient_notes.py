"""What the reader of a randomized release must know."""

from __future__ import annotations

import math

from ...notation import SIGNS, markdown, percent, signs
from ...plan import Plan, Randomize
from ..base import RecipientNotes

NOT_PROMISED = (
    "Right guesses through other people's records. The bound caps guesses through a person's own "
    "record alone; the chance of both together is the operational success, which the steward knows.",
    "Guesses from reconstructed counts. Somebody who guesses the most frequent value of a person's "
    "group is right as often as that value occurs there, whatever l is.",
    "What somebody infers who knows more about a person than the quasi-identifiers.",
)


def told(plan: Plan) -> RecipientNotes:
    """How to read a randomized table, and its distortion parameters."""
    recoding = plan.recoding
    assert isinstance(recoding, Randomize)
    lines = [
        "",
        "## Distortion parameters",
        "",
        "| column | categories | kept with probability p | else each other category | local "
        "epsilon |",
        "|---|---:|---:|---:|---:|",
    ]
    found: set[str] = set()
    for c in recoding.columns:
        other = (1 - c.p) / (c.d - 1) if c.d > 1 else 0.0
        guarantee = "always kept" if math.isinf(c.epsilon) else f"{c.epsilon:.3f}"
        name = markdown(c.name)
        lines.append(f"| {name} | {c.d:,} | {c.p:.6f} | {other:.6f} | {guarantee} |")
        if c.kind in ("numeric", "date"):
            found |= signs(c.categories, kind=c.kind)
    first = recoding.columns[0].name.replace('"', '\\"')
    lines += [
        "",
        "The categories of every column stand in `public.json`, in the order in which they "
        "are drawn. An empty cell is one of them: missing.",
        "",
        *(f"- {SIGNS[sign]}." for sign in SIGNS if sign in found),
        "",
        "## How to use it",
        "",
        "    import hedgerow as hr",
        '    found = hr.reconstruct(".")        # this folder: the table and public.json',
        f'    found.group_by(["{first}"])            # counts with intervals',
        "    found.table()                      # every cell, found.cube() for all cuboids",
        "",
        "`count` has no negative cells and adds up to the number of records; that makes rare cells too "
        "large on average. `unbiased` is the estimate as it comes out, which may be negative: take it "
        "to add up cells or to average over releases.",
        "",
        "or `hedgerow reconstruct .` on the command line. Without Hedgerow: with t = (d p - "
        "1)/(d - 1), the "
        "released shares q of a column become (q - (1 - t)/d)/t; for several columns do so "
        "along each axis.",
        "",
        "Counting released records as they are is biased: do not.",
    ]
    loose = any(plan.parameters.get(name) for name in ("relax", "exempt", "caps"))
    cap = (
        f"The {recoding.bound} bound: the chance of inferring a sensitive value is at most 1/l, "
        f"l = {plan.parameters['l']}, for every record"
        + (" except as caps, exemptions or relaxations say in `public.json`" if loose else "")
    )
    same = [c for c in recoding.columns if c.in_name_only or c.d < 2]
    kept = ", ".join(markdown(c.name) for c in same)
    least = percent(min((c.p for c in same), default=1.0))
    if len(same) == len(recoding.columns):
        about = f"Nothing was randomized: {least} of the cells of {kept} are the records' own."
    else:
        about = (
            "Some columns were randomized to protect them: single records are not true, counts can be "
            "estimated." + (f" Not randomized: {kept} ({least} of the cells are the records' own)." if kept else "")
        )
    return RecipientNotes(
        about=about,
        cells={c.name: "unchanged" if c in same else "randomized" for c in recoding.columns},
        lines=lines,
        promised=[f"{cap}."],
        not_measured=NOT_PROMISED,
    )
