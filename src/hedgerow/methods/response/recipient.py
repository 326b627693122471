"""What the reader of a randomized release gets beside the table."""

from __future__ import annotations

import json
import math
from typing import Any

from ...notation import SIGNS, signs
from ...plan import Plan, Randomize

NOT_PROMISED = (
    "The bound caps guesses through the target's own record. Right guesses through other people's "
    "records come on top: their chance is the operational success, which the steward knows.",
    "What holds for a group of people can be learned from the table, and holds for its members; "
    "that is what the table is for. Whoever reconstructs the table and guesses the most frequent "
    "value of a person's group is right as often as that value occurs there, whatever l is.",
    "Someone who knows more than the quasi-identifiers, or has another release of the same people, "
    "is not covered.",
)


def files(release: Any) -> dict[str, str]:
    """The texts of ``public.json`` and ``RECIPIENT.md``."""
    plan: Plan = release.plan
    return {
        "public.json": json.dumps(plan.public(), ensure_ascii=False, indent=1, allow_nan=False)
        + "\n",
        "RECIPIENT.md": recipient(plan, release.released.n_rows, release.original.suffix),
    }


def recipient(plan: Plan, rows: int, suffix: str) -> str:
    """RECIPIENT.md: how to read a randomized table, and its distortion parameters."""
    recoding = plan.recoding
    if not isinstance(recoding, Randomize):
        raise TypeError("the plan is not of randomized response")
    lines = [
        "# About this table",
        "",
        f"`release{suffix}` holds {rows:,} records about people. Some columns were randomized "
        f"to protect "
        "them: single records are not true, counts can be estimated.",
        "",
        "## Distortion parameters",
        "",
        "| column | categories | kept with probability p | else each other category | local "
        "epsilon |",
        "|---|---:|---:|---:|---:|",
    ]
    for c in recoding.columns:
        other = (1 - c.p) / (c.d - 1) if c.d > 1 else 0.0
        guarantee = "always kept" if math.isinf(c.epsilon) else f"{c.epsilon:.3f}"
        lines.append(
            f"| {c.name.replace('|', chr(92) + '|')} | {c.d:,} | {c.p:.6f} | {other:.6f} | "
            f"{guarantee} |"
        )
    names = {c.name for c in recoding.columns}
    kept = [c.name for c in plan.columns if c.name not in {*plan.left_out, *names}]
    if kept:
        lines += ["", f"Unchanged: {', '.join(kept)}."]
    gone = plan.left_out
    if gone:
        lines += ["", f"Left out: {', '.join(gone)}."]
    cap = plan.parameters.get("l")
    found: set[str] = set()
    for c in recoding.columns:
        if c.kind in ("numeric", "date"):
            found |= signs(c.categories, kind=c.kind)
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
        '    found.group_by(["'
        + recoding.columns[0].name.replace('"', '\\"')
        + '"])            # counts with intervals',
        "    found.table()                      # every cell, found.cube() for all cuboids",
        "",
        "or `hedgerow reconstruct .` on the command line. Without Hedgerow: with t = (d p - "
        "1)/(d - 1), the "
        "released shares q of a column become (q - (1 - t)/d)/t; for several columns do so "
        "along each axis.",
        "",
        "Counting released records as they are is biased: do not.",
        "",
        "## What was promised",
        "",
        (
            f"The {recoding.bound} bound: the chance of inferring a sensitive value is at "
            f"most 1/l, l = {cap}, for "
            "every record"
            + (
                ""
                if not (
                    plan.parameters.get("relax")
                    or plan.parameters.get("exempt")
                    or plan.parameters.get("caps")
                )
                else " except as caps, exemptions or relaxations say in `public.json`"
            )
            + "."
        ),
        "",
        "## What was not",
        "",
        *(f"- {text}" for text in NOT_PROMISED),
        "",
        "Do not try to find out who a record is about.",
        "",
    ]
    return "\n".join(lines)
