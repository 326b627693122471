"""From an audit to one HTML page."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..audit.measures import RISK, UTILITY
from ..audit.result import NOT_MEASURED
from ..audit.text import figure, percent
from ..errors import ParameterError
from . import pictures

if TYPE_CHECKING:
    from ..audit.result import Audit

AUDIENCES = ("steward", "recipient")


def render(
    audit: Audit,
    *,
    audience: str = "steward",
    plan: Any = None,
    checks: Sequence[Any] = (),
    drawings: Mapping[str, str] | None = None,
) -> str:
    """The report as one HTML document that needs no other file, script or network.

    Parameters
    ----------
    audit : Audit
        What was measured.
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

    Returns
    -------
    str
        The same text for the same audit, plan and library versions.
    """
    if audience not in AUDIENCES:
        raise ParameterError(f"audience must be one of {', '.join(AUDIENCES)}, not {audience!r}")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hedgerow.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"percent": percent, "figure": figure, "words": _words}
    return environment.get_template("template.html").render(
        **_context(audit, audience, plan, checks),
        drawings=[pictures.Picture(svg, name) for name, svg in (drawings or {}).items()],
    )


def _context(audit: Audit, audience: str, plan: Any, checks: Sequence[Any]) -> dict[str, Any]:
    steward = audience == "steward"
    after, before = audit.risk["release"], audit.risk["original"]
    context: dict[str, Any] = {
        "steward": steward,
        "audit": audit,
        "table": audit.table,
        "after": after,
        "before": before,
        "plan": plan,
        "done": _done(plan, steward),
        "checks": [_check(c) for c in checks],
        "risk_rows": _risk_rows(before, after),
        "measures": (*RISK, *UTILITY),
        "not_measured": NOT_MEASURED,
        "attacks": audit.attacks if steward else [],
        "attack_names": sorted({f"{a['attack']} ({a['learner']})" for a in audit.attacks}),
        "columns": {},
        "sizes": None,
        "attack_picture": None,
        "influence": None,
        "tree": None,
        "scatters": {},
    }
    if steward:
        context |= {
            "sizes": pictures.class_sizes(
                before["classes"]["histogram"], after["classes"]["histogram"], after["classes"]["k"]
            ),
            "columns": {
                name: pictures.before_after(name, shape)
                for name, shape in audit.pictures["histograms"].items()
                if shape["labels"]
            },
            "scatters": {
                name: pictures.disclosure_scatter(name, points)
                for name, points in audit.pictures["scatters"].items()
            },
            "attack_picture": pictures.attack_bars(audit.attacks) if audit.attacks else None,
            "influence": pictures.influence_bars(audit.risk["influence"])
            if audit.risk["influence"]
            else None,
            "tree": pictures.tree_picture(plan.recoding) if plan is not None else None,
        }
    return context


def _done(plan: Any, steward: bool) -> list[str]:
    """What was done, in words; the recipient's without thresholds."""
    if plan is None:
        return ["No plan was at hand: the release was measured as it is, whoever made it."]
    dropped = plan.names("identifier")
    lines = [f"Method {plan.method}, fitted on {plan.n_rows} rows."]
    if steward:
        shown = ", ".join(f"{k} = {v}" for k, v in plan.parameters.items() if v is not None)
        lines.append(f"Parameters: {shown}.")
    if dropped:
        lines.append("Dropped: " + ", ".join(dropped) + ".")
    return lines


def _check(check: Any) -> Mapping[str, Any]:
    made = dataclasses.asdict(check) if dataclasses.is_dataclass(check) else dict(check)  # type: ignore[arg-type]
    return {
        "name": made["name"],
        "required": made["required"],
        "reached": made["reached"],
        "holds": made["holds"],
    }


def _risk_rows(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[tuple[str, str, str, str]]:
    """Title, original, release, what it says."""
    rows = []
    for title, key, show, says in (
        (
            "k: records of the smallest class",
            "k",
            str,
            "every person shares the released "
            "quasi-identifiers with at least k - 1 others; missing equals missing",
        ),
        (
            "k when * and missing match anything",
            "wildcard_k",
            str,
            "a more lenient count, for tables with suppressed cells",
        ),
        ("classes", "classes", str, "groups of equal released quasi-identifiers"),
        ("records that are unique", "unique_share", percent, "alone in their class"),
    ):
        rows.append((title, show(before["classes"][key]), show(after["classes"][key]), says))
    models = {
        "prosecutor": "knows that the person is in the table",
        "journalist": "does not know who of the population is in the table",
        "marketer": "wants to identify as many people as possible",
    }
    for model, says in models.items():
        for key, words in (
            ("highest", "highest risk"),
            ("average", "average risk"),
            ("above", "records above the threshold"),
        ):
            one, two = (r["reidentification"].get(model, {}).get(key) for r in (before, after))
            if two is not None:
                rows.append((f"{model}, {words}", percent(one), percent(two), f"intruder {says}"))
    return rows


def _words(value: Any) -> str:
    """A requirement or result as short text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
