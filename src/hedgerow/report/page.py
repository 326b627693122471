"""From an audit to one HTML page."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from ..auditing.audit_data import AuditData
from ..errors import singular
from ..measures.guarantees import cap_of
from ..notation import figure, percent, words
from ..plan import Partition, Plan
from ..release.explain import recoding_in_words
from ..release.guard_words import form_in_words, hides_relations, in_words
from ..texts import texts
from ..validation import check_one_of
from . import figures, pictures, standards, text
from .cards import Card, cards
from .reasons import reasons
from .tables import stacked, templates
from .verdict import Line, lines, verdict

if TYPE_CHECKING:
    from jinja2 import Environment

_FLAG = re.compile(r"(protect )?--[a-z][a-z-]*( redraw| runs| none)?")
AUDIENCES = ("steward", "recipient")


def render(
    audit: AuditData,
    *,
    audience: str = "steward",
    plan: Plan | None = None,
    checks: Sequence[Any] = (),
    cautions: Sequence[str] = (),
    name: str = "",
    examples: Any = None,
    k: int | None = None,
    max_disclosure: float | None = None,
) -> str:
    """Return the report as one HTML document that needs no other file and no network.

    Parameters
    ----------
    audit : mapping
        The measured figures, as `Audit.to_dict` or a saved audit has them.
    audience : {"steward", "recipient"}
        The recipient's page has neither the original's figures nor anything that
        tells an intruder where to look: no attack table, no worst class, no
        influence of columns, no parameters.
    plan : Plan, optional
        The plan of the release.
    checks : sequence of Check or mapping
        The verified promises: name, required, reached, holds.
    cautions : sequence of str
        The warnings of the release; for the steward alone.
    name : str, optional
        The file that was measured.
    examples : Shown, optional
        Records for the steward's eyes (`Audit.shown`): five before and after, and a form that says
        how many records fit a description. The form is the page's only script, which the
        page allows by its hash.
    k, max_disclosure : optional
        Thresholds of the person who measures, besides the promised ones; for the steward alone.

    Returns
    -------
    str
        The same text for the same audit, plan and library versions.
    """
    check_one_of("audience", audience, AUDIENCES)
    steward, loud = audience == "steward", reasons(audit, plan)
    promised, first = answers(audit, plan, checks)
    # by how much relations changed would undo a cap on the file, and is not what epsilon was paid for
    is_hidden = not steward and (hides_relations(plan) or "epsilon" in audit["table"])
    page = _environment().get_template("template.html").render(
        steward=steward, audit=audit, plan=plan, checks=checks, name=name, about=_about(audit, plan, checks, steward),
        done=_done(audit, plan, steward), recoding=_recoding(plan) if plan and steward else "",
        # what is not promised would tell a reader where to look
        promised=[line for line in promised if steward or line[1] != "open"],
        cards=first,
        cautions=[line for line in cautions if steward and line not in loud],
        verdict=verdict(audit, plan, checks, loud, k=k, max_disclosure=max_disclosure),
        cap_of=partial(cap_of, plan.promises if plan else ()),
        models=None if is_hidden else audit["utility"].get("models"), is_hidden=is_hidden,
        **_people(examples if steward else None),
    )  # fmt: skip
    return stacked(page)


@cache
def _environment() -> Environment:
    """Return the page's templates, compiled once per process."""
    environment = templates()
    # the same functions write a figure here and on the terminal
    environment.filters |= dict[str, Any](percent=percent, figure=figure, words=words, flags=_flags)
    modules = {"figures": figures, "standards": standards, "text": text, "pictures": pictures}
    environment.globals |= {**modules, "texts": texts}
    return environment


def _flags(line: str) -> Markup:
    """Return a sentence as HTML, in which no line breaks inside a flag of the command line."""
    return Markup(_FLAG.sub(r'<span class="flag">\g<0></span>', str(escape(line))))


def _people(examples: Any) -> dict[str, Any]:
    """Return the records to show and the look-up script, with the hash that allows it to run."""
    if examples is None or examples.people is None:
        return {"examples": examples, "lookup": ""}
    script = resources.files(__package__).joinpath("lookup.js").read_text(encoding="utf-8")
    # of the bytes between the tags: the page's policy runs this script and no other
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"examples": examples, "lookup": script, "lookup_hash": f"sha256-{digest}"}


def _about(audit: AuditData, plan: Plan | None, checks: Sequence[Any], steward: bool) -> str:
    """Return one line on what the page is about: its rows, columns, method and date."""
    table, date = audit["table"], audit["parameters"].get("date")
    parts = [text.rows_in_words(table), singular(f"{len(table['released_columns'])} columns")]
    if plan is not None:
        # the two that every reader asks for; all of them stand below
        names = {"k": "groups of at least", "max_disclosure": "cap"}
        chosen = [f"{names[k]} {v}" for k, v in plan.parameters.items() if k in names and v]
        parts.append(", ".join([plan.method, *chosen]))
    parts += [f"measured {date}"] if date else []
    parts += ["checked on the written file"] if checks else []
    if steward and "epsilon" in table:
        return f"{texts('private')['stays']} {' · '.join(parts)}."
    return " · ".join([*parts, *(["private: for the steward and the auditor"] if steward else [])]) + "."


def answers(audit: AuditData, plan: Plan | None, checks: Sequence[Any]) -> tuple[list[Line], list[Card]]:
    """Return the promises, one sentence each, and the two cards of the first screen."""
    promised = lines(audit, plan, checks)
    return promised, cards(audit, plan, any(state == "broken" for _, state in promised))


def _recoding(plan: Plan) -> str:
    """Return what became of the columns, as text for the steward."""
    parts = [] if isinstance(plan.recoding, Partition) else [recoding_in_words(plan.recoding)]
    return "\n\n".join([*parts, in_words(plan, plan.guard)] if plan.guard else parts)


def _done(audit: AuditData, plan: Plan | None, steward: bool) -> list[str]:
    """Return sentences on what was done; those for the recipient leave out the parameters."""
    if audit["table"].get("epsilon"):
        return ["It was made again from its public plan, plan.json, and the row key in it, and its rows are the same."]
    if plan is None:
        return ["There was no plan: the release was measured as it is, whoever made it."]
    lines = [f"Method {plan.method}, fitted on {plan.n_rows:,} rows."]
    # the steward's page has it with the columns
    lines += [form_in_words(plan, plan.guard)] if plan.guard and not steward else []
    if steward:
        parameters = ", ".join(f"{k} = {v}" for k, v in plan.parameters.items() if v is not None)
        lines.append(f"Parameters: {parameters}.")
    return [*lines, f"Dropped: {', '.join(plan.left_out)}."] if plan.left_out else lines
