"""From an audit to one HTML page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from ..measures.guarantees import cap_of
from ..notation import figure, percent, words
from ..plan import Partition, Plan
from ..release.explain import recoding_in_words
from ..validation import check_one_of
from . import figures, pictures, text
from .cards import Card, cards
from .tables import stacked, templates
from .verdict import Line, lines, not_bounded, verdict

if TYPE_CHECKING:
    from jinja2 import Environment

AUDIENCES = ("steward", "recipient")
PICTURES = ("columns", "attack_picture", "influence", "tree", "sizes", "scatters")
"""What is drawn for the steward alone."""


def render(
    audit: Mapping[str, Any],
    *,
    audience: str = "steward",
    plan: Plan | None = None,
    checks: Sequence[Any] = (),
    drawings: Mapping[str, str] | None = None,
    cautions: Sequence[str] = (),
    name: str = "",
    shown: Any = None,
    k: int | None = None,
    max_disclosure: float | None = None,
) -> str:
    """Return the report as one HTML document that needs no other file and no network.

    Parameters
    ----------
    audit : mapping
        What was measured, as `Audit.to_dict` or a saved audit has it.
    audience : {"steward", "recipient"}
        The recipient's page has neither the original's figures nor anything that
        tells an intruder where to look: no attack table, no worst class, no
        influence of columns, no tree, no parameters.
    plan : Plan, optional
        What was done.
    checks : sequence of Check or mapping
        The verified promises: name, required, reached, holds.
    drawings : mapping of str to str, optional
        SVG pictures that the method publishes with its release, by file name.
    cautions : sequence of str
        What the release warns of; for the steward alone.
    name : str, optional
        The file that was measured.
    shown : Shown, optional
        Records for the steward's eyes (`Audit.shown`): five before and after, and a form that says
        how many records fit a description. The form is the page's only script, which the
        page allows by its hash.
    k, max_disclosure : optional
        Thresholds of whoever measures, beside what was promised; for the steward alone.

    Returns
    -------
    str
        The same text for the same audit, plan and library versions.
    """
    check_one_of("audience", audience, AUDIENCES)
    steward, loud = audience == "steward", not_bounded(audit, plan)
    promised, first = answers(audit, plan, checks)
    # a tree has its picture, and its rows would be too many
    is_listed = steward and plan is not None and not isinstance(plan.recoding, Partition)
    page = _environment().get_template("template.html").render(
        steward=steward,
        audit=audit,
        plan=plan,
        checks=checks,
        name=name,
        about=_about(audit, plan, checks, steward),
        done=_done(plan, steward),
        recoding=recoding_in_words(plan.recoding) if is_listed else "",
        promised=[line for line in promised if steward or line[1] != "open"],
        cards=first,
        cautions=[line for line in cautions if steward and line not in loud],
        verdict=verdict(audit, plan, checks, loud, k=k, max_disclosure=max_disclosure),
        drawings=[pictures.Picture(svg, file) for file, svg in (drawings or {}).items()],
        **(_pictures(audit, plan) if steward else dict.fromkeys(PICTURES)),
        **_people(shown if steward else None),
    )
    return stacked(page)


@cache
def _environment() -> Environment:
    """Return the page's templates, compiled once for all reports of a process."""
    environment = templates()
    environment.filters |= {"percent": percent, "figure": figure, "words": words}
    environment.globals |= {"figures": figures, "text": text}
    return environment


def _people(shown: Any) -> dict[str, Any]:
    """Return the records shown, and the script that looks people up with the hash that allows it."""
    if shown is None or shown.people is None:
        return {"shown": shown, "lookup": ""}
    script = resources.files(__package__).joinpath("lookup.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"shown": shown, "lookup": script, "lookup_hash": f"sha256-{digest}"}


def _about(
    audit: Mapping[str, Any], plan: Plan | None, checks: Sequence[Any], steward: bool
) -> str:
    """Return what the page is about, in one line."""
    table, date = audit["table"], audit["parameters"].get("date")
    parts = [text.rows_in_words(table), f"{len(table['released_columns'])} columns"]
    if plan is not None:
        names = {"k": "groups of at least", "max_disclosure": "cap"}
        chosen = [f"{names[k]} {v}" for k, v in plan.parameters.items() if k in names and v]
        parts.append(", ".join([plan.method, *chosen]))
    parts += [f"measured {date}"] if date else []
    parts += ["checked on the written file"] if checks else []
    parts += ["private: for the steward and the auditor"] if steward else []
    return " · ".join(parts) + "."


def _pictures(audit: Mapping[str, Any], plan: Plan | None) -> dict[str, Any]:
    """Return the steward's pictures by their place on the page; None where there is nothing to draw."""
    attacks, influence = audit["attacks"], audit["risk"]["influence"]
    grouped = audit["table"]["yardstick"] == "classes"
    return {
        "columns": {
            name: pictures.before_after(name, shape)
            for name, shape in audit["pictures"]["histograms"].items()
            if shape["labels"]
        },
        "attack_picture": pictures.attack_bars(attacks) if attacks else None,
        "influence": pictures.influence_bars(influence) if influence else None,
        "tree": pictures.tree_picture(plan.recoding) if plan is not None else None,
        "sizes": pictures.class_sizes(audit["risk"]) if grouped else None,
        "scatters": {
            name: pictures.disclosure_scatter(name, points, cap_of(plan.promises if plan else (), name))
            for name, points in audit["pictures"]["scatters"].items()
            if grouped
        },
    }


def answers(
    audit: Mapping[str, Any], plan: Plan | None, checks: Sequence[Any]
) -> tuple[list[Line], list[Card]]:
    """Return what was promised, a sentence each, and the two questions of the first screen."""
    promised = lines(audit, plan, checks)
    return promised, cards(audit, plan, any(state == "broken" for _, state in promised))


def _done(plan: Plan | None, steward: bool) -> list[str]:
    """Return what was done, in words; the recipient's without thresholds."""
    if plan is None:
        return ["There was no plan: the release was measured as it is, whoever made it."]
    lines = [f"Method {plan.method}, fitted on {plan.n_rows:,} rows."]
    if steward:
        parameters = ", ".join(f"{k} = {v}" for k, v in plan.parameters.items() if v is not None)
        lines.append(f"Parameters: {parameters}.")
    return [*lines, f"Dropped: {', '.join(plan.left_out)}."] if plan.left_out else lines
