"""Whether a release meets what was asked of it: thresholds, what was asked and what was reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..measures.disclosure import SLACK
from ..measures.guarantees import Check, from_promise, unbounded
from ..notation import figure, number, percent
from ..plan import Plan
from .promises import OVER

BOUNDED = ("suppressed rows", "largest share of a value in a group", "inference (measured)")
"""Checks of a method's own that bound a figure."""

@dataclass(frozen=True)
class Verdict:
    """One threshold.

    Parameters
    ----------
    name : str
        What is bounded.
    asked, reached : str
    meets : bool
    """

    name: str
    asked: str
    reached: str
    meets: bool


def not_bounded(audit: Mapping[str, Any], plan: Plan | None) -> list[str]:
    """List what an audit found that no promise bounds, and the columns that a plan left as they were."""
    altered = plan is not None and plan.recoding.risk_model == "linkage"
    kept = [c.name for c in plan.recoding.recoded() if c.in_name_only] if plan and altered else []
    said = [*unbounded((), {}, records=0, unchanged=kept), *audit.get("unbounded", ())]
    return list(dict.fromkeys(said))


def overall(found: Sequence[Verdict], loud: Sequence[str]) -> dict[str, Any]:
    """Weigh thresholds and what no promise bounds: the one verdict of terminal, report and studio.

    Returns
    -------
    dict
        ``says``: one sentence; ``kept``: whether all thresholds are met and nothing is left to say;
        ``thresholds``: each with what was asked and reached; ``unbounded``: as they were given.
    """
    if not all(each.meets for each in found):
        says = "Does not meet what was asked."
    elif not found:
        says = "No threshold was chosen. Nothing says whether what was measured is enough."
    elif loud:
        says = "Meets what was asked, and gives away or lost what nothing bounds."
    else:
        says = "Meets what was asked."
    thresholds = [
        f"{each.name}: asked {each.asked}, reached {each.reached}"
        + ("" if each.meets else ", does not meet")
        for each in found
    ]
    if found and thresholds[0][1] != "-":
        thresholds[0] = thresholds[0][:1].upper() + thresholds[0][1:]
    return {
        "says": says,
        "kept": bool(found) and not loud and all(each.meets for each in found),
        "thresholds": thresholds,
        "unbounded": list(loud),
    }


def verdicts(
    audit: Mapping[str, Any],
    plan: Plan | None,
    checks: Sequence[Any],
    k: int | None = None,
    max_disclosure: float | None = None,
) -> list[Verdict]:
    """What was promised, by the checks of it, and the thresholds of whoever measures.

    Parameters
    ----------
    audit : mapping
        As `Audit.to_dict` has it.
    plan : Plan, optional
        Which says what was promised.
    checks : sequence of Check or mapping
        As they were found on the table.
    k : int, optional
        The fewest records, or people, of a group.
    max_disclosure : float, optional
        The most that a group may give away of any sensitive column.
    """
    found = [vars(check) if isinstance(check, Check) else check for check in checks]
    by_name = {check["name"]: check for check in found}
    made = []
    for promise in plan.promises if plan is not None else ():
        guarantee = from_promise(promise)
        check = by_name.get(getattr(guarantee, "name", "k-anonymity"))
        if check is not None:
            asked, reached = f"{guarantee.side} {_exactly(check['required'])}", figure(check["reached"])
            made.append(Verdict(check["name"], asked, reached, bool(check["holds"])))
    standard = _standard(audit.get("profile"))
    return [*made, *_method_verdicts(found), *_measured(audit, k, max_disclosure), *standard]


def _standard(profile: Mapping[str, Any] | None) -> Iterator[Verdict]:
    """What a standard asks; figures that it compares with nothing are neither met nor not."""
    states = [row["state"] for row in profile["criteria"]] if profile else []
    judged = [state for state in states if state != "measured"]
    if not profile or not judged:
        return
    met, gone = judged.count("meets"), judged.count("not measured")
    asked = f"{len(judged)} criteri{'on' if len(judged) == 1 else 'a'}"
    reached = f"{met} met" + (f", {gone} not measured" if gone else "")
    yield Verdict(profile["title"], asked, reached, met == len(judged))


def _method_verdicts(checks: Sequence[Mapping[str, Any]]) -> Iterator[Verdict]:
    """Thresholds that a method checks itself."""
    for check in checks:
        holds, reached = bool(check["holds"]), check["reached"]
        if check["name"].startswith(OVER):
            asked = "at most 100% of the cap"
            yield Verdict("largest risk of a record", asked, percent(round(reached, 3), 0), holds)
        elif check["name"] in BOUNDED:
            asked = f"at most {_exactly(check['required'])}"
            yield Verdict(check["name"], asked, figure(reached), holds)


def _measured(
    audit: Mapping[str, Any], k: int | None, max_disclosure: float | None
) -> Iterator[Verdict]:
    if audit["table"]["yardstick"] != "classes":
        return
    release = audit["risk"]["release"]
    if k is not None:
        smallest = release["classes"]["people"] or release["classes"]["k"]
        yield Verdict("smallest group", f"at least {k:,}", f"{smallest:,}", smallest >= k)
    if max_disclosure is not None:
        for name, column in release["sensitive"].items():
            worst = column["disclosure"]["worst"]
            meets = worst <= max_disclosure + SLACK
            asked = f"at most {number(max_disclosure)}"
            yield Verdict(f"disclosure of {name}", asked, figure(worst), meets)


def _exactly(limit: Any) -> str:
    """Write a limit as it was set; one with the digits of a computed one (a third, say) as a figure."""
    text = number(limit) if isinstance(limit, float) else ""
    return text if 0 < len(text) < 16 else figure(limit)
