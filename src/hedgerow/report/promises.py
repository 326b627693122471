"""What was promised, what holds, and what was not promised or not measured: a sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..measures.guarantees import Check, from_promise
from ..notation import figure, percent, words
from ..plan import Plan

FILE = {
    "rows": "Every record of the table is in it once.",
    "columns": "It has the declared columns and no others; identifiers are left out.",
    "types": "Every column has the type that was declared.",
    "unchanged columns": "Columns that were not to be recoded hold what they held.",
    "mapped": "Every recoded cell is the one that the plan gives.",
    "covered": "Every range and set holds the value that it stands for.",
    "means and shares": "Means and shares are those of the groups that they stand for.",
    "whole rows": "Nobody has a value of somebody else's record.",
}
"""What the checks of the file itself say where they hold."""

REPLACED = "It has the declared columns and no others; pseudonyms stand in place of identifiers."
"""The same of the columns, where identifiers were replaced."""

METHOD = {
    "values in the domain": "Every released value is one that its column may have.",
    "share of values kept": "As many values were kept as the published probabilities allow.",
    "pseudonyms": "Every identifier was replaced, one by one.",
    "sensitive table": "Every group holds the values that the second table gives for it.",
    "model rebuilt": "The published trees were rebuilt from the written table, identical.",
    "suppressed rows": "At most {required} rows were suppressed (reached: {reached}).",
    "largest share of a value in a group": "No value has a share above {required} in a group "
    "(reached: {reached}).",
    "inference (measured)": "Learners infer at most {required} of a sensitive column "
    "(measured: {reached}; others may infer more).",
}
"""What a method's own checks say where they hold."""

OVER = "disclosure risk over its cap"
BOUNDS = {
    "paper": "The chance that a person's own record gives a sensitive value away is capped",
    "operational": "The chance to guess a sensitive value right through any record is capped",
}
"""What a randomized release caps, by its bound."""

Line = tuple[str, str]
"""A sentence, and how it stands: "kept", "broken" or "open"."""


def lines(audit: Mapping[str, Any], plan: Plan | None, checks: Sequence[Any]) -> list[Line]:
    """The promises of a release in plain words.

    Parameters
    ----------
    audit : mapping
        As `Audit.to_dict` has it.
    plan : Plan, optional
        Which says what was promised.
    checks : sequence of Check or mapping
        As they were found on the table.
    """
    found = [vars(check) if isinstance(check, Check) else check for check in checks]
    return [*_of_groups(plan, found), *_of_file(found), *_open(audit, plan, found)]


def _of_groups(plan: Plan | None, checks: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    by_name = {check["name"]: check for check in checks}
    told = set()
    for promise in plan.promises if plan is not None else ():
        guarantee = from_promise(promise)
        name = getattr(guarantee, "name", "k-anonymity")
        check, said = by_name.get(name), guarantee.words()
        if check is None:
            continue
        told.add(name)
        said = said.split(": ")[0]  # the rest stands in RECIPIENT.md
        reached = f"reached: {_digits(check['reached'])}, {check['detail']}".removesuffix(", ")
        yield f"{said[:1].upper()}{said[1:]} ({reached}).", _holds(check)
    for check in checks:
        if check["name"] not in FILE and check["name"] not in told:
            yield _method_line(check), _holds(check)


def _method_line(check: Mapping[str, Any]) -> str:
    """A check of the method's own as a sentence."""
    name, detail = check["name"], check["detail"]
    if name.startswith(OVER):
        said = BOUNDS["operational" if "operational" in name else "paper"]
        more = f"; {detail}" if detail else ""
        return f"{said} (reached: {percent(round(check['reached'], 3), 0)} of the cap{more})."
    reached, required = _digits(check["reached"]), _digits(check["required"])
    if name not in METHOD:
        more = f" ({detail})" if detail else ""
        return f"{name[:1].upper()}{name[1:]}: {reached}; asked: {required}{more}."
    said = METHOD[name].format(required=required, reached=reached)
    return said if check["holds"] else f"Does not hold: {said} ({detail or reached})"


def _of_file(checks: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    replaced = any(check["name"] == "pseudonyms" for check in checks)
    told, held = FILE | ({"columns": REPLACED} if replaced else {}), []
    for check in checks:
        said = told.get(check["name"])
        if said is None:
            continue
        if not check["holds"]:
            yield f"Does not hold: {said} ({check['detail'] or words(check['reached'])})", "broken"
        elif check["name"] != "types":
            if check["name"] == "rows" and check["required"] != check["reached"]:
                said = check["detail"]
            held.append(said)
    if held:
        yield " ".join(held), "kept"


def _open(
    audit: Mapping[str, Any], plan: Plan | None, checks: Sequence[Mapping[str, Any]]
) -> Iterator[Line]:
    kinds = {promise["kind"] for promise in plan.promises} if plan is not None else set()
    risk, table = audit["risk"], audit["table"]
    if checks and table["yardstick"] == "classes":
        if "k_anonymity" not in kinds:
            k = risk["release"]["classes"]["k"]
            yield (
                f"Not promised: how many records a group has. Measured: {k:,} in the smallest one.",
                "open",
            )
        if "disclosure" not in kinds:
            for name, column in risk["release"]["sensitive"].items():
                worst = column["disclosure"]["worst"]
                yield (
                    f"Not promised: a cap on what a group gives away about {name}. Measured: "
                    f"{figure(worst, 2)} in the worst group (0 nothing, 1 all).",
                    "open",
                )
    capped = {check["name"] for check in checks if check["name"].startswith(OVER)}
    if capped and not any("operational" in name for name in capped):
        yield "Not promised: how often a guess through somebody else's record is right.", "open"
    if capped:
        yield f"Not promised: a cap on guessing a group's most frequent value.{_guessed(risk)}", "open"
    if checks and risk.get("linkage"):
        yield (
            "Not promised: a limit on how many people are found by their quasi-identifiers. "
            f"Measured: {percent(risk['linkage']['highest'])}.",
            "open",
        )
    other = risk.get("other")
    if other:
        yield (
            f"Not promised: what columns released as they are give away ({', '.join(other['columns'])}). "
            f"Measured: {percent(other['unique'])} of the records are alone by them, "
            f"{percent(other['together'])} by them and the quasi-identifiers.",
            "open",
        )
    for line in audit["not_measured"]:
        yield f"Not measured: {line}.", "open"


def _guessed(risk: Mapping[str, Any]) -> str:
    """How often a guess about a whole group is right, where it was measured."""
    found = (risk.get("linkage") or {}).get("reconstructed")
    return "".join(
        f" Measured: in the worst group such a guess about {name} is right for "
        f"{percent(column['worst'], 0)} of the people, and for {percent(column['right'], 0)} on average."
        for name, column in (found["columns"] if found else {}).items()
    )


def _digits(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else words(value)


def _holds(check: Mapping[str, Any]) -> str:
    return "kept" if check["holds"] else "broken"
