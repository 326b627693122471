"""What a release reached, as the fourth step shows it: the report's own answers and pictures."""

from __future__ import annotations

from typing import Any

from ..report import pictures
from ..report.figures import at
from ..report.page import answers
from ..report.text import risk_rows, three_numbers
from ..report.verdict import not_bounded, overall, verdicts
from ..workflow.session import Session


def compared(session: Session) -> dict[str, Any]:
    """The release beside the original, as data for a page; SVG for its pictures."""
    release, measured = session.release, session.result("measure")
    audit = measured.to_dict()
    loud = not_bounded(audit, release.plan)
    promised, cards = answers(audit, release.plan, release.checks)
    risk, grouped = audit["risk"], audit["table"]["yardstick"] == "classes"
    before, after = risk["original"], risk["release"]
    drawn = {}
    if grouped:
        drawn["group sizes"] = pictures.class_sizes(
            at(before, "classes", "histogram") or [],
            after["classes"]["histogram"],
            after["classes"]["k"],
        )
    if audit["attacks"]:
        drawn["attacks"] = pictures.attack_bars(audit["attacks"])
    for name, shape in audit["pictures"]["histograms"].items():
        if shape["labels"]:
            drawn[name] = pictures.before_after(name, shape)
    shown = measured.shown
    return {
        "rows": release.released.n_rows,
        "verdict": overall(verdicts(audit, release.plan, release.checks), loud),
        "cards": [vars(card) for card in cards],
        "promised": promised,
        "three": list(three_numbers(risk, grouped)),
        "risk_rows": [row[:3] for row in risk_rows(before, after)] if grouped else [],
        "pictures": [{"name": n, "svg": p.svg, "alt": p.alt} for n, p in drawn.items()],
        "queries": audit["utility"]["queries"],
        "distributions": audit["utility"]["distributions"],
        "learning": audit["utility"]["learning"],
        "shown": None
        if shown is None
        else {"names": shown.names, "before": shown.before, "after": shown.after},
        "known": list(session.choice.schema.quasi) if grouped else [],
        "attacked": bool(audit["attacks"]),
        "standard": audit["profile"],
        "notes": audit["table"]["notes"],
        "warned": [text for text in release.cautions if text not in loud],
    }
