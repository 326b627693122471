"""The result of an audit: plain data, with a summary, a report and pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .. import facade
from ..errors import singular
from ..files import write_private
from ..json_types import Figures, published
from ..measures.disclosure import SLACK
from ..measures.guarantees import Check, Disclosure, grouped, unbounded
from ..notation import figure, plain
from ..plan import Plan
from ..plan.records import Promise
from ..profiles import ProfileData
from ..texts import read_toml, texts
from ..validation import AXES, NUMBER, PATH, TEXT, TEXTS, many, one_of, takes
from .audit_data import AuditData, Measure, Pictures, TableData
from .profile_result import unmet
from .single_records import PerPerson, Shown
from .success import AttackData

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _measures() -> Mapping[str, Measure]:
    """Read the rows of ``measures.toml``; a range without an end has None there."""
    measures: dict[str, Any] = {}
    for name, row in read_toml(__package__, "measures.toml").items():
        whole_row = {"name": name, "title": "", "better": "lower", "low": 0, "high": 1, **row}
        measures[name] = {key: None if value in (-inf, inf) else value for key, value in whole_row.items()}
    return measures


# what each number of an audit means, by its key
MEASURES = _measures()

VERSION = 1
# significant digits of the JSON: sums in another row order differ in their last bits
DIGITS = 10

_CHECKS = many(one_of((Check, Mapping), "a check"), "a list of checks")
_PLAN = one_of(Plan, "a Plan", "read one with Plan.load")


@dataclass(frozen=True, repr=False)
class Audit:
    """The result of an audit: all figures that were measured for a release.

    Parameters
    ----------
    table : mapping
        Rows, columns, roles, suppressed rows and notes.
    risk : mapping
        ``original`` and ``release``: classes, re-identification risk and sensitive columns;
        ``influence`` of the quasi-identifiers; ``knows_method``: the conclusions from the finer groups
        that the method refused; ``inference``: what learners infer about members and strangers;
        ``composition``: what an intruder learns by combining several releases. Each is None if it was
        not measured.
    attacks : sequence of mapping
        Every attack with its success, baselines, control and intervals, and its success on the original.
    utility : mapping
        Loss, distributions, dependences, queries, learning.
    pictures : mapping
        Small histograms and scatters for the report.
    parameters, versions : mapping
        The settings needed to repeat the audit; never a key.
    per_person : PerPerson, optional
        Each record's disclosure by its group; private, so it is neither in `to_dict` nor in a report.
    shown : Shown, optional
        Example records before and after, and the data for looking people up. Private as well: only the
        steward's page, written from this object, contains it, never `to_dict`.
    missing : sequence of str
        The figures that could not be measured for this release, with the reason; they are None.
    promises : sequence of mapping, optional
        The plan's promises, if the plan was known; `plot` draws the cap.
    profile : mapping, optional
        The criteria of a standard and the verdict on each, if a standard was named.
    redrawn : sequence of str
        Columns drawn anew inside groups: a draw that equals the original is no cell that was left as it was.
    """

    table: TableData
    risk: Figures
    attacks: Sequence[AttackData]
    utility: Figures
    pictures: Pictures
    parameters: Figures
    versions: Mapping[str, str]
    per_person: PerPerson | None = None
    shown: Shown | None = None
    missing: Sequence[str] = ()
    promises: Sequence[Promise] = ()
    profile: ProfileData | None = None
    redrawn: Sequence[str] = ()

    def to_dict(self) -> AuditData:
        """Return the audit as plain JSON data (`json_schema` describes it)."""
        measured = ("table", "risk", "attacks", "utility", "pictures", "profile", "unbounded")
        data = {name: getattr(self, name) for name in measured}
        data |= {"not_measured": [*self.missing, *self._not_measured()], "measures": MEASURES}
        data |= {"parameters": self.parameters, "versions": self.versions}
        return cast(AuditData, {"hedgerow_audit": VERSION, **plain(data, digits=DIGITS)})

    @property
    def unbounded(self) -> list[str]:
        """Return sentences, with counts, on what the release discloses or loses beyond its plan's promises."""
        release, loss = self.risk["release"], self.utility.get("loss")
        exposed, altered = {}, self.table["yardstick"] != "classes"
        # rows that are drawn equal are nobody's group
        if grouped(self.table["yardstick"], self.promises) and not {*self.table["quasi"]} & {*self.redrawn}:
            exposed = {name: column["exposed"] for name, column in release["sensitive"].items()}
        columns = loss["columns"] if loss else {}
        same = [n for n, c in columns.items() if altered and c["changed"] == 0 and n not in self.redrawn]
        return unbounded(
            self.promises,
            exposed,
            records=self.table["rows"],
            alone=0 if altered or not self.table["quasi"] else release["classes"]["uniques"],
            lost=None if altered else loss and loss["ncp"],
            linked=(self.risk.get("linkage") or {}).get("highest") if altered else None,
            unchanged=same,
            others=self.risk.get("other"),
        )

    def _not_measured(self) -> list[str]:
        """Return the questions that this audit does not answer."""
        named = {name for role in ("quasi", "sensitive", "identifiers") for name in self.table[role]}
        answered = {
            **self.risk,
            # no such column, no such question
            "other": self.risk.get("other") or named.issuperset(self.table["released_columns"]),
            "knows_method": self.risk.get("knows_method") or all(p["kind"] != Disclosure.kind for p in self.promises),
            "membership": any(attack["attack"] == "membership" for attack in self.attacks),
        }
        return [line for name, line in texts("not_measured").items() if not answered.get(name)]

    def to_json(self) -> str:
        """Return the audit as JSON text; infinite numbers are written as null."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False)

    @takes(path=PATH)
    def save(self, path: str | Path) -> None:
        """Write the audit as JSON to a file that only its owner can read."""
        write_private(path, self.to_json())

    @takes(path=PATH, plan=_PLAN, checks=_CHECKS, cautions=TEXTS, name=TEXT, k=NUMBER, max_disclosure=NUMBER)
    def report(
        self,
        path: str | Path,
        *,
        audience: str = "steward",
        plan: Any = None,
        checks: Sequence[Any] = (),
        cautions: Sequence[str] = (),
        name: str = "",
        k: int | None = None,
        max_disclosure: float | None = None,
    ) -> None:
        """Write the audit as one offline HTML file.

        Parameters
        ----------
        path : str or Path
            The file to write.
        audience : {"steward", "recipient"}
            The recipient's page leaves out every figure that would help an intruder.
        plan : Plan, optional
            The release plan: the page then says how the table was recoded.
        checks : sequence of Check
            The promises as they were verified.
        cautions : sequence of str
            The warnings of the release (`Release.cautions`).
        name : str, optional
            The file that was measured, for the title.
        k, max_disclosure : optional
            Thresholds with which the page compares the figures, in addition to the plan's promises.
        """
        page = facade.render(
            self.to_dict(),
            audience=audience,
            plan=plan,
            checks=checks,
            cautions=cautions,
            name=name,
            examples=self.shown,
            k=k,
            max_disclosure=max_disclosure,
        )
        write_private(path, page)

    @takes(what=TEXT, ax=AXES)
    def plot(self, what: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Plot one of the measured figures as in the report.

        Parameters
        ----------
        what : str, optional
            "attacks", "disclosure" (each group's size and its disclosure of the most exposed column,
            with the cap if the plan promised one), "groups" (the number of records by group size)
            or the name of a quasi-identifier (its shares before and after). The default is the first
            of these that was measured.
        ax : matplotlib axes, optional
            The axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        InputError
            The figure was not measured; the message lists those that were.
        """
        return facade.plot_audit(self, what, ax)

    @takes(k=NUMBER, max_disclosure=NUMBER)
    def broken(self, *, k: int | None = None, max_disclosure: float | None = None) -> list[str]:
        """Return one sentence for each limit (k, cap, profile) that the release misses, and for what was altered.

        Parameters
        ----------
        k : int, optional
            The fewest records that a group may have.
        max_disclosure : float, in (0, 1], optional
            The most that a group may give away about any sensitive column.
        """
        release, lines = self.risk["release"], []
        smallest, people = release["classes"]["k"], release["classes"]["people"]
        if k is not None and (people or smallest) < k:
            size = f"{smallest} records" if people is None else f"{people} people"
            lines.append(singular(f"the smallest group has {size}, fewer than {k}"))
        lines += [*self.table.get("altered", ()), *(unmet(self.profile) if self.profile else [])]
        for name, column in release["sensitive"].items():
            worst = column["disclosure"]["worst"]
            if max_disclosure is not None and worst > max_disclosure + SLACK:
                lines.append(f"a group gives away {figure(worst)} of {name!r}, more than {max_disclosure}")
        return lines

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """Return the published JSON schema of `to_dict`, and of the ``audit.json`` of a release.

        Examples
        --------
        >>> Audit.json_schema()["title"]
        'Hedgerow audit'
        """
        sections = {name: facade.figure_types(name) for name in ("risk", "utility")}
        schema = published("Hedgerow audit", AuditData, **sections)
        measured = [name for name in schema["required"] if name != "hedgerow_audit"]
        either = [{"required": ["release"]}, {"required": measured}]
        return {**schema, "required": ["hedgerow_audit"], "anyOf": either, "dependentRequired": {"table": measured}}

    def __repr__(self) -> str:
        return f"Audit({self.table['rows']:,} rows, judged by {self.table['yardstick']}, {len(self.attacks)} attacks)"

    def _repr_html_(self) -> str:
        """Return the main figures as HTML for notebooks: only shares and counts, no person's value."""
        return facade.audit_face(self.to_dict())

    def __str__(self) -> str:
        return facade.summary(self.to_dict())
