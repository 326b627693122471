"""Compare what was measured with a profile: meets, does not meet, not measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from .. import facade
from ..columns.table import Table
from ..json_types import record_of
from ..profiles import Criterion, CriterionData, Profile, ProfileData, ProfileHouseholds
from ..profiles.profile import State
from ..texts import text
from .audit_data import AuditData
from .safe_harbor import Identifiers, identifiers_found
from .success import AttackData

# what is found of a criterion: "measured" where the profile names no threshold
MEETS: Final = "meets"
FAILS: Final = "does not meet"
MEASURED: Final = "measured"
UNKNOWN: Final = "not measured"
# a figure, or None, and what must be known of it
Finding = tuple[float | None, str]
# the attacks that answer a question
_GAINS = {
    "singling out": ("predicate singling out",),
    "linking": ("linking",),
    "inference": ("regression", "downcoding"),
}
# the statistics for which attacks must be tried
NEED_ATTACKS = frozenset({"attacks", *(f"gain:{name}" for name in _GAINS)})


@dataclass(frozen=True)
class Judged:
    """The result of comparing a release with a profile: a state for every criterion.

    Parameters
    ----------
    data : mapping
        As `judged` makes it.

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.make_people(1000, seed=1)
    >>> schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    >>> release = hr.protect(people, schema, hr.MART(k=5, max_disclosure=0.9))
    >>> found = release.against("cms-cell-size")
    >>> found.state, found.criteria[0]["figure"]
    ('does not meet', 5.0)
    """

    data: ProfileData

    @property
    def state(self) -> str:
        """Return "does not meet" if a criterion is not met, else "not measured" if one was not measured, else "meets";
        or "measured" if the profile names no threshold at all.
        """
        return str(self.data["state"])

    @property
    def criteria(self) -> Sequence[CriterionData]:
        """Return the criteria, each with its figure and state."""
        return list(self.data["criteria"])

    def __repr__(self) -> str:
        return f"Judged({self.data['name']!r}, {self.state!r})"

    def __str__(self) -> str:
        return "\n".join(facade.standard_lines(self.data))


def needs_attacks(profile: Profile) -> bool:
    """Return whether a profile needs figures that only attacks give."""
    return bool(profile.statistics & NEED_ATTACKS)


def judged(audit: AuditData, released: Table, profile: Profile) -> ProfileData:
    """Compare an audit with a profile, and return the result as a dict.

    Parameters
    ----------
    audit : mapping
        As `Audit.to_dict` has it.
    released : Table
    profile : Profile

    Returns
    -------
    dict
        The profile's name, title, source, date and note; its ``state``, and of every criterion
        what it asks, where, the threshold, the ``figure`` and the ``state``; ``households`` has the
        same of households (k, highest and average risk), which no standard judges.
    """
    columns = None
    if any(statistic.startswith("columns:") for statistic in profile.statistics):
        day = audit["parameters"].get("date")  # ages are those of the day of the audit
        columns = identifiers_found(released, int(day[:4]) if day else None)
    rows = [_row(criterion, *_measured(criterion, audit, columns)) for criterion in profile.criteria]
    states = {row["state"] for row in rows}
    state: State = FAILS if FAILS in states else UNKNOWN if UNKNOWN in states else MEETS
    state = MEASURED if states == {MEASURED} else state
    return record_of(ProfileData, profile, state=state, households=households(audit), criteria=rows)


def _row(criterion: Criterion, figure: float | None, detail: str) -> CriterionData:
    state: State = UNKNOWN
    if figure is not None:
        state = (MEETS if criterion.is_met(figure) else FAILS) if criterion.threshold else MEASURED
    return record_of(CriterionData, criterion, figure=figure, state=state, detail=detail)


def _measured(criterion: Criterion, audit: AuditData, columns: Identifiers | None) -> Finding:
    """Return the figure that answers a criterion (None if not measured), with a detail in words."""
    kind, _, what = criterion.statistic.partition(":")
    if kind == "columns" and columns is not None and what in columns.sure:
        return _columns(columns.sure[what], columns.unsure[what])
    if kind == "gain" and what in _GAINS:
        return _gain(audit["attacks"], _GAINS[what])
    measure = _STATISTICS.get(criterion.statistic)
    figure, detail = (None, text("criterion", "unknown")) if measure is None else measure(audit)
    if measure is _smallest_cell and _uncounted(audit) and figure and criterion.is_met(figure):
        return None, detail  # a column that is not counted may have smaller cells
    return figure, detail


def _columns(holding: Mapping[str, str], unsure: Mapping[str, str]) -> Finding:
    """Return the number of columns with an identifier; None if no column certainly has one but some may."""
    named = "; ".join(f"{name}: {why}" for name, why in holding.items())
    if doubt := "; ".join(f"{name}: {why}" for name, why in unsure.items()):
        doubt = text("criterion", "doubt", columns=doubt)
    if holding or not unsure:
        return float(len(holding)), "; ".join(filter(None, (named, doubt))) or text("criterion", "none")
    return None, doubt


def _k(audit: AuditData) -> Finding:
    if audit["table"]["yardstick"] != "classes":
        return None, text("criterion", "no_classes")
    classes = audit["risk"]["release"]["classes"]
    people = classes["people"]
    counted = "records" if people is None else "people"
    return float(people or classes["k"]), counted + _of_households(audit)


def _wildcard_k(audit: AuditData) -> Finding:
    """Return k if suppressed cells match anything; if people are counted, return the strict k, which is no larger."""
    figure, counted = _k(audit)
    classes = audit["risk"]["release"]["classes"]
    if figure is None or classes["people"]:
        return figure, counted
    return float(classes["wildcard_k"]), text("criterion", "wildcard")


def _wildcard_risk(audit: AuditData) -> Finding:
    k, words = _wildcard_k(audit)
    return k and 1 / k, words


def _smallest_cell(audit: AuditData) -> Finding:
    if audit["table"]["yardstick"] != "classes":
        return None, text("criterion", "no_classes")
    counted, uncounted = _counted(audit), _uncounted(audit)
    if not counted:
        return None, uncounted or text("criterion", "no_sensitive")
    least = min(counted, key=lambda name: counted[name])
    return float(counted[least]), "; ".join(filter(None, (f"smallest in {least}: {counted[least]}", uncounted)))


def _counted(audit: AuditData) -> dict[str, int]:
    """Return the smallest cell of every sensitive column that has counted cells."""
    sensitive = audit["risk"]["release"]["sensitive"]
    cells = {name: column.get("smallest_cell") for name, column in sensitive.items()}
    return {name: cell for name, cell in cells.items() if cell is not None}


def _uncounted(audit: AuditData) -> str:
    """Return a sentence on the released columns whose cells are not counted, with the reason; "" if all are counted."""
    sensitive, table = audit["risk"]["release"]["sensitive"], audit["table"]
    many = ", ".join(name for name in sensitive if name not in _counted(audit))
    others = ", ".join(n for n in table["released_columns"] if n not in {*table["quasi"], *sensitive})
    return "; ".join(
        f"not counted, for they {why}: {names}"
        for why, names in (("have more than 20 values", many), ("are not sensitive", others))
        if names
    )


def households(audit: AuditData) -> ProfileHouseholds | None:
    """Return k and the risks of households; None if no column identifies households."""
    risk = audit["risk"]["release"]
    household = risk["reidentification"].get("household")
    if household is None or audit["table"]["yardstick"] != "classes":
        return None
    return {
        "k": float(risk["classes"]["households"]),
        "highest": float(household["highest"]),
        "average": float(household["average"]),
        "by": "journalist" if "journalist" in risk["reidentification"] else "prosecutor",
    }


def _of_households(audit: AuditData, which: Literal["k", "highest", "average"] = "k", by: str = "") -> str:
    """Return a phrase with the household figure that corresponds to a figure of people; "" if there is none."""
    figures = households(audit)
    if figures is None or (by and figures["by"] != by):
        return ""
    if which == "k":
        return text("criterion", "households_k", k=figures["k"])
    return text("criterion", "households_risk", risk=figures[which])


def _risk(by: str, which: Literal["highest", "average"]) -> Callable[[AuditData], Finding]:
    """Return a function that reads one intruder's highest or average risk from an audit."""
    missing = "no_classes" if by == "prosecutor" else "no_population"

    def measure(audit: AuditData) -> Finding:
        risks = audit["risk"]["release"]["reidentification"].get(by)
        if audit["table"]["yardstick"] != "classes" or risks is None:
            return None, text("criterion", missing)
        return float(risks[which]), text("criterion", by, households=_of_households(audit, which, by))

    return measure


def _attacks(audit: AuditData) -> Finding:
    if not (tried := audit["attacks"]):
        return None, "no attack was tried"
    return float(len(tried)), ", ".join(dict.fromkeys(attack["attack"] for attack in tried))


def _gain(attacks: Any, kinds: tuple[str, ...]) -> Finding:
    """Return the highest lower bound on the gain of the given attacks over their control, with the attack's name."""
    gains = {f"{a['attack']} ({a['learner']}; {a['target']})": _least(a) for a in attacks if a["attack"] in kinds}
    if not (measured := {name: gain for name, gain in gains.items() if gain is not None}):
        return None, text("criterion", "no_attack")
    surest = max(measured, key=lambda name: measured[name])
    # sums in another row order differ in their last bits
    return round(measured[surest], 10), f"surest of {len(measured)}: {surest}"


def _least(attack: AttackData) -> float | None:
    """Return the lower end of the gain's 95% interval, relative to the control or else to a blind guess."""
    if attack["over_control_interval"] is not None:
        return float(attack["over_control_interval"][0])
    guess = attack["public_best"]
    if guess is None or attack["interval"] is None or guess >= 1:
        return None
    return float((attack["interval"][0] - guess) / (1 - guess))


_STATISTICS: Mapping[str, Callable[[AuditData], Finding]] = {
    "k": _k,
    "wildcard_k": _wildcard_k,
    "wildcard_risk_maximum": _wildcard_risk,
    "smallest_cell": _smallest_cell,
    "risk_maximum": _risk("prosecutor", "highest"),
    "risk_average": _risk("prosecutor", "average"),
    "population_risk_maximum": _risk("journalist", "highest"),
    "attacks": _attacks,
}


def unmet(profile: ProfileData) -> list[str]:
    """Return one sentence for each criterion that a release does not meet."""
    return [
        text("criterion", "unmet", **(row | {"title": profile["title"]}))
        for row in profile["criteria"]
        if row["state"] == FAILS
    ]
