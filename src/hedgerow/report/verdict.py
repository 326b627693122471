"""The verdict on a release: the required thresholds and the reached figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..auditing.audit_data import AuditData
from ..json_types import Figures
from ..measures.disclosure import SLACK
from ..measures.guarantees import Check, CheckData, cap_of, from_promise, promised_k
from ..notation import figure, number, percent, words
from ..plan import Plan
from ..plan.records import FILE
from ..profiles import ProfileData
from ..release.guard_words import promise_in_words
from ..texts import text, texts
from .figures import at
from .reasons import rule_in_words

# the checks of a method itself that bound a figure
BOUNDED = ("disclosure (file)", "suppressed rows", "largest share of a value in a group", "inference (measured)")
# what the verdict on a standard is named by
CRITERIA = "criteria"
# an attack on fewer people than this gives no reliable success rate
FEW_PEOPLE = 50
# promises that an audit measures again
AGAIN = ("k_anonymity", "disclosure")


class Verdict(NamedTuple):
    """The verdict on one threshold: its name, the limit, the figure reached, and whether it meets the limit."""

    name: str
    limit: str
    reached: str
    meets: bool

    def against(self) -> str:
        """Return the reason why a threshold that is missed speaks against sharing, as somebody would say it."""
        kind, _, column = self.name.partition(" of ")
        key = kind if kind in texts("against") and (column or kind != "disclosure") else "other"
        return text("against", key, **self._asdict(), column=column, number=self.limit.rpartition(" ")[2])


def verdict(
    audit: AuditData, plan: Plan | None, checks: Sequence[Any], loud: Sequence[str], **thresholds: Any
) -> dict[str, Any]:
    """Return the verdict shown by terminal, report and studio, from the thresholds and the `reasons.reasons` for care.

    `thresholds` are `k` and `max_disclosure`, as in `verdicts`.

    Returns
    -------
    dict
        ``says``: one sentence with the first reason; ``kept``: True where all thresholds are met, attacks were tried
        and there is no reason for care; ``thresholds``: each that is met, with its limit and what was reached;
        ``broken``: a clause on each limit that is not (the criteria of a standard are those of `Audit.broken`);
        ``reasons``: those that the sentence does not name.
    """
    judged = verdicts(audit, plan, checks, **thresholds)
    against = {each.name: each.against() for each in judged if not each.meets}
    broken = [why for name, why in against.items() if not name.startswith(CRITERIA)]
    care = [*loud, *_unjudged(plan, checks, judged, any(limit is not None for limit in thresholds.values()))]
    is_tried, sample = bool(audit.get("attacks")), audit["table"].get("sample")
    untried = "" if is_tried else "linked" if at(audit, "risk", "linkage") else "untried"
    state = "broken" if against else "care" if care else untried or "kept"
    says = text("share_or_not", state, why=", and ".join(against.values()) or "".join(care[:1]))
    if state == "care" and untried:
        says += text("share_or_not", {"linked": "care_linked", "untried": "care_untried"}[untried])
    if is_tried and sample and not against:
        says += text("share_or_not", "on_sample", records=sample["records"], of=sample["of"])
    if is_tried and not against and audit["parameters"]["people"] < min(FEW_PEOPLE, audit["table"]["rows"]):
        says += text("share_or_not", "on_few", people=audit["parameters"]["people"])
    hidden = [each.name for each in judged if each.name.startswith("disclosure") and each.name not in BOUNDED]
    met = [
        f"{name} (asked {limit}, reached{_of_what(plan) if name in hidden else ''} {reached})"
        for name, limit, reached, meets in judged
        if meets
    ]
    further = care if against else care[1:]
    return {"says": says, "kept": state == "kept", "thresholds": met, "broken": broken, "reasons": further}


def _unjudged(plan: Plan | None, checks: Sequence[Any], judged: Sequence[Verdict], is_chosen: bool) -> Iterator[str]:
    """Yield a clause if nothing was judged, or not all that the plan promises."""
    promises = plan.promises if plan is not None else ()
    others = any(each["kind"] not in AGAIN or each.get("household") for each in promises)
    if not judged or (others and not checks and not is_chosen):
        yield text("share_or_not", "not_again" if promises else "no_limit")


def verdicts(audit: AuditData, plan: Plan | None, checks: Sequence[Any], **thresholds: Any) -> list[Verdict]:
    """Return one verdict per threshold: those that were promised, and those set by the person who measures.

    `audit`, `plan` and `checks` are those of `lines`. A group must have at least `k` records (people,
    if people have several) and may reveal at most `max_disclosure` of any sensitive column.
    """
    data = as_data(checks)
    return [
        *(Verdict("files of the folder", "as verified", text, False) for text in audit["table"].get("altered", ())),
        *_promise_verdicts(plan, data),
        *_method_verdicts(data),
        # what was checked is judged already
        *_measured(audit, None if checks else plan, **thresholds),
        *_standard(audit.get("profile")),
    ]


def as_data(checks: Sequence[Any]) -> list[CheckData]:
    """Return checks as plain data."""
    return [check.to_json() if isinstance(check, Check) else check for check in checks]


def _promised(plan: Plan | None, checks: Sequence[CheckData]) -> Iterator[tuple[Any, CheckData]]:
    """Yield each guarantee of a plan with its check, if it was checked."""
    by_name = {check["name"]: check for check in checks}
    for promise in plan.promises if plan is not None else ():
        guarantee = from_promise(promise)
        if (check := by_name.get(getattr(guarantee, "name", "k-anonymity"))) is not None:
            yield guarantee, check


def _promise_verdicts(plan: Plan | None, checks: Sequence[CheckData]) -> Iterator[Verdict]:
    """Yield a verdict for each guarantee of a plan that was checked."""
    for guarantee, check in _promised(plan, checks):
        limit = f"{guarantee.side} {_exactly(check['required'])}"
        yield Verdict(check["name"], limit, figure(check["reached"]), bool(check["holds"]))


def _standard(profile: ProfileData | None) -> Iterator[Verdict]:
    """Yield the verdict on a standard, from the criteria that have a threshold."""
    criteria = profile["criteria"] if profile else ()
    # what a standard only asks to be measured is neither met nor missed
    judged = [row["state"] for row in criteria if row["state"] != "measured"]
    if profile and judged:
        met, unmeasured = judged.count("meets"), judged.count("not measured")
        limit = f"{len(judged)} criteri{'on' if len(judged) == 1 else 'a'}"
        reached = f"{met} met" + (f", {unmeasured} not measured" if unmeasured else "")
        yield Verdict(f"{CRITERIA} of {profile['title']}", limit, reached, met == len(judged))


def _method_verdicts(checks: Sequence[CheckData]) -> Iterator[Verdict]:
    """Yield a verdict for each threshold that a method checks itself."""
    for check in checks:
        holds, reached = bool(check["holds"]), check["reached"]
        if check["name"].startswith(OVER):
            yield Verdict("largest risk of a record", "at most 100% of the cap", percent(round(reached, 3), 0), holds)
        elif check["name"] in BOUNDED:
            yield Verdict(check["name"], f"at most {_exactly(check['required'])}", figure(reached), holds)


def _measured(
    audit: AuditData, plan: Plan | None, k: int | None = None, max_disclosure: float | None = None
) -> Iterator[Verdict]:
    """Yield verdicts on `k` and `max_disclosure`, or else on those of a plan; none if the audit judges no groups."""
    table = audit["table"]
    if epsilon := table.get("epsilon"):
        yield Verdict("epsilon", f"at most {_exactly(epsilon)}", _exactly(epsilon), True)
    if (release := at(audit, "risk", "release")) is None:
        return
    # limits default to the plan's promises, except in an audit without the original; if rows were drawn or
    # altered, they apply to the groups of the plan
    is_judged = table["yardstick"] == "classes" or table.get("planned_groups")
    promises = plan.promises if plan and is_judged and not table["alone"] else ()
    k = promised_k(promises) if k is None else k
    if k is not None:
        smallest = release["classes"]["people"] or release["classes"]["k"]
        who = "records" if release["classes"]["people"] is None else "people"
        yield Verdict("smallest group", f"at least {k:,}", f"{smallest:,} {who}", smallest >= k)
    for name, column in release["sensitive"].items():
        cap = cap_of(promises, name) if max_disclosure is None else max_disclosure
        if cap is not None:
            worst = column["disclosure"]["worst"]
            # as the guarantee itself compares: sums of doubles differ in their last bits
            yield Verdict(f"disclosure of {name}", f"at most {number(cap)}", figure(worst), worst <= cap + SLACK)


def _exactly(limit: Any) -> str:
    """Return a limit as text, exactly as it was set; a long computed one, such as a third, is shortened."""
    return exact if isinstance(limit, float) and len(exact := number(limit)) < 16 else figure(limit)


OVER = "disclosure risk over its cap"

# a sentence and its state: "kept", "broken" or "open"
Line = tuple[str, str]


def lines(audit: AuditData, plan: Plan | None, checks: Sequence[Any]) -> list[Line]:
    """Return the promises of a release as plain sentences, each with its state.

    Parameters
    ----------
    audit : mapping
        The figures of `Audit.to_dict`.
    plan : Plan, optional
        The plan with its promises.
    checks : sequence of Check or mapping
        The checks made on the released table.
    """
    data = as_data(checks)
    unpromised = [(sentence, "open") for sentence in _open(audit, plan, data)]
    return [*_of_groups(plan, data), *_of_file(plan, data), *unpromised]


def _of_groups(plan: Plan | None, checks: Sequence[CheckData]) -> Iterator[Line]:
    """Yield the lines on promises about groups, then on the method's own checks."""
    promised = set()
    for guarantee, check in _promised(plan, checks):
        promised.add(check["name"])
        assert plan is not None
        sentence = promise_in_words(plan, guarantee).split(": knowing ")[0]  # the rest stands in RECIPIENT.md
        reached = f"reached{_of_what(plan)}: {_digits(check['reached'])}, {check['detail']}".removesuffix(", ")
        yield f"{sentence[:1].upper()}{sentence[1:]} ({reached}).", _holds(check)
    for check in checks:
        # what neither the plan promised nor every file must hold is the method's own
        if check["name"] not in texts("file") and check["name"] not in promised:
            yield _method_line(check), _holds(check)


def _of_what(plan: Plan | None) -> str:
    """Return words that say of what a figure of groups is, where no group stands in the file."""
    return " in hidden groups" if plan is not None and plan.in_rows else ""


def _method_line(check: CheckData) -> str:
    """Return one of the method's own checks as a sentence."""
    name, detail = check["name"], check["detail"]
    if name.startswith(OVER):
        bound = texts("bounds")["operational" if "operational" in name else "paper"]
        more = f"; {detail}" if detail else ""
        return f"{bound} (reached: {percent(round(check['reached'], 3), 0)} of the cap{more})."
    reached, required = _digits(check["reached"]), _digits(check["required"])
    key = name.rstrip(" 0123456789")
    if key not in texts("method"):
        more = f" ({detail})" if detail else ""
        return f"{name[:1].upper()}{name[1:]}: {reached}; asked: {required}{more}."
    sentence = text("method", key, name=name, required=required, reached=reached)
    return sentence if check["holds"] else f"Does not hold: {sentence} ({detail or reached})"


def _of_file(plan: Plan | None, checks: Sequence[CheckData]) -> Iterator[Line]:
    """Yield a line for every check of the file that fails, then one line for those that hold."""
    replaced = any(check["name"] == "pseudonyms" for check in checks)
    sentences, holding = texts("file") | (texts("replaced") if replaced else {}), []
    sentences |= texts("drawn") if plan and plan.in_rows else {}
    for check in checks:
        if (sentence := sentences.get(check["name"])) is None:
            continue
        if not check["holds"]:
            yield f"Does not hold: {sentence} ({check['detail'] or words(check['reached'])})", "broken"
        # what a reader takes for granted is said only where it fails
        elif check["name"] != "types":
            if check["name"] == "rows" and check["required"] != check["reached"]:
                sentence = check["detail"]
            holding.append(sentence)
    if holding:
        yield " ".join(holding), "kept"


def _open(audit: AuditData, plan: Plan | None, checks: Sequence[CheckData]) -> Iterator[str]:
    """Yield sentences on what a reader might believe is promised but is not, with what was measured of it."""
    kinds = {promise["kind"] for promise in plan.promises} if plan is not None else set()
    risk, table = audit["risk"], audit["table"]
    if checks and table["yardstick"] == "classes":
        if "k_anonymity" not in kinds:
            yield text("verdict", "no_k", k=risk["release"]["classes"]["k"])
        if "disclosure" not in kinds:
            for name, column in risk["release"]["sensitive"].items():
                yield text("verdict", "no_cap", name=name, worst=figure(column["disclosure"]["worst"]))
    if plan is not None and plan.in_rows and "disclosure" in kinds:
        yield text("verdict", "no_sets_file" if plan.guard and plan.guard.cap_on == FILE else "no_sets")
    for name, rules in (risk.get("rules") or {}).items():
        yield from (rule_in_words("rule", name, rule) for rule in rules)
    capped = {check["name"] for check in checks if check["name"].startswith(OVER)}
    if capped and not any("operational" in name for name in capped):
        yield text("verdict", "no_operational")
    if capped:
        yield text("verdict", "no_guess", measured=_guessed(risk))
    if checks and risk.get("linkage"):
        yield text("verdict", "no_link", highest=percent(risk["linkage"]["highest"]))
    if other := risk.get("other"):
        shares = {share: percent(other[share]) for share in ("unique", "together")}
        yield text("verdict", "others", columns=", ".join(other["columns"]), **shares)
    for line in audit["not_measured"]:
        yield f"Not measured: {line}."


def _guessed(risk: Figures) -> str:
    """Return sentences on how often a guess about a whole group is right; empty if not measured."""
    guess = (risk.get("linkage") or {}).get("reconstructed")
    return "".join(
        text("verdict", "guess", name=name, **{share: percent(column[share], 0) for share in ("worst", "right")})
        for name, column in (guess["columns"] if guess else {}).items()
    )


def _digits(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else words(value)


def _holds(check: CheckData) -> str:
    return "kept" if check["holds"] else "broken"
