"""An audit in a notebook: the figures that decide, original beside release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..notation import percent
from ..notebook import Rows, face
from .text import APART, THREE, risk_rows, rows_in_words, score_rows, three_numbers

_ATTACKS = ("attack", "by", "about", "original", "release", "control", "public totals")


def audit_face(audit: Mapping[str, Any]) -> str:
    """HTML of `Audit.to_dict()`; shares and counts, no value of a person.

    Parameters
    ----------
    audit : mapping
        What was measured.
    """
    table, risk, attacks = audit["table"], audit["risk"], audit["attacks"]
    risk_model = table["yardstick"]
    told, tables = [f"Quasi-identifiers: {', '.join(table['quasi'])}."], list[Rows]()
    if risk_model == "classes":
        rows = [row[:3] for row in risk_rows(risk["original"], risk["release"], "prosecutor")]
        tables.append(("", ("risk", "original", "release"), rows))
    elif risk_model == "linkage":
        told.append("Values were altered: records are judged by how well they are linked again.")
        found = risk["linkage"]
        tables.append(
            (
                "",
                ("people linked by", "original", "release", "at random"),
                [
                    (a["learner"], *map(percent, (a["original"], a["success"], a["public_best"])))
                    for a in found["attacks"]
                ],
            )
        )
        tables.append(("", ("score", "release"), score_rows(found["scores"])))
    else:
        told.append(APART)
    three = three_numbers(risk, risk_model == "classes")
    tables.append(("Disclosure: 0 gives away nothing, 1 everything", ("column", *THREE), three))
    if attacks:
        tables.append(
            (
                "How many people each attack is right about",
                _ATTACKS,
                [
                    (
                        a["attack"],
                        a["learner"],
                        a["target"],
                        percent(a["original"]),
                        percent(a["success"]),
                        percent(a["control"]),
                        percent(max(a["public_best"], a["random_row"])),
                    )
                    for a in attacks
                ],
            )
        )
    else:
        told.append("No attack was tried.")
    told += [f"Not bounded: {text}." for text in audit["unbounded"]]
    return face(f"Audit: {rows_in_words(table)}", told, *tables, notes=table["notes"])
