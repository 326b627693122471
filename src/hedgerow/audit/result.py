"""The result of an audit: plain data with a readable face."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import facade
from ..files import write_private
from ..measures.disclosure import SLACK
from ..measures.guarantees import Check, Disclosure, grouped, unbounded
from ..notation import figure, plain
from ..plan import Plan
from ..validation import AXES, NUMBER, PATH, TEXT, TEXTS, many, named, one_of, takes
from .profile_result import unmet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .single_records import PerPerson, Shown

@dataclass(frozen=True)
class Measure:
    """The meaning of one number of an audit.

    Parameters
    ----------
    name : str
        Its key in ``audit.json``.
    title : str
        Its name for a reader.
    formula : str
        How it is computed.
    better : {"higher", "lower"}
        Which way is better: safer for a risk, more useful for a utility.
    low, high : float or None
        Its range; None where it has no end.
    """

    name: str
    title: str
    better: str = field(default="lower", kw_only=True)
    low: float | None = field(default=0, kw_only=True)
    high: float | None = field(default=1, kw_only=True)
    formula: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


RISK = (
    Measure(
        "k",
        "k (smallest group)",
        "records of the smallest group of equal released quasi-identifiers; missing equals missing",
        better="higher",
        low=1,
        high=None,
    ),
    Measure(
        "people",
        "k in people",
        "people of the smallest group, 1 where one has more than half of its records",
        better="higher",
        low=1,
        high=None,
    ),
    Measure(
        "households",
        "k in households",
        "different households of the smallest group; also: households whose risk was told",
        better="higher",
        low=1,
        high=None,
    ),
    Measure(
        "population",
        "people of the population",
        "F: summed sampling weights of a group, or people of the population table who fit it",
        better="higher",
        low=1,
        high=None,
    ),
    Measure(
        "household",
        "household risk",
        "1 - prod(1 - risk) over the members of a household, who are taken to be found "
        "independently; expected: the sum over households, expected_records: over records",
        high=None,
    ),
    Measure(
        "uniqueness",
        "population uniques",
        "people expected to be unique in the population: Pitman, Zayatz, slide negative binomial, "
        "and which of them Dankar's rule takes; sample_uniques_unique: of those unique in the "
        "sample, the share expected to be unique in the population",
        high=None,
    ),
    Measure(
        "estimates",
        "weighted estimates",
        "totals, means and means by group under sampling weights, of the original and as a "
        "recipient makes them: ranges and sets stand for the original values inside them, evenly; "
        "group_by: relative errors",
        high=None,
    ),
    Measure(
        "wildcard_k",
        "k when * and missing match anything",
        "fewest records that could be in one group when suppressed cells match every value",
        better="higher",
        low=1,
        high=None,
    ),
    Measure("unique_share", "share of unique records", "records in groups of one / n"),
    Measure(
        "highest",
        "highest re-identification risk",
        "max of 1/f (prosecutor) or 1/F (journalist; from weights its expectation): f records, F "
        "people of the group",
    ),
    Measure(
        "average",
        "average re-identification risk",
        "mean of the records' risks; for the marketer the expected share re-identified",
    ),
    Measure("expected", "expected re-identifications", "sum of the records' risks", high=None),
    Measure("above", "share of records at risk", "records whose risk is above the threshold / n"),
    Measure(
        "distinct_l",
        "distinct l-diversity",
        "fewest different values in a group",
        better="higher",
        low=1,
        high=None,
    ),
    Measure(
        "entropy_l",
        "entropy l-diversity",
        "min over groups of exp(-sum p ln p)",
        better="higher",
        low=1,
        high=None,
    ),
    Measure(
        "recursive_c",
        "recursive (c,l)-diversity",
        "max over groups of r1 / (r_l + ... + r_m), l the distinct l; undefined at l = 1",
        high=None,
    ),
    Measure("alpha", "largest share of one value (alpha)", "max over groups and values of p"),
    Measure(
        "t",
        "t-closeness",
        "by the distance that fits the column: hierarchical where a hierarchy is given, ordered for "
        "numbers, dates and orders, equal for categories",
    ),
    Measure("t_equal", "t-closeness, equal distances", "max over groups of sum |p - P| / 2"),
    Measure(
        "t_ordered",
        "t-closeness, ordered distances",
        "max over groups of sum |CDF - public CDF| / (m - 1)",
    ),
    Measure(
        "t_hierarchical",
        "t-closeness, hierarchical distances",
        "max over groups of the mass moved over each node times its height / H",
    ),
    Measure("basic_beta", "basic beta-likeness", "max of (p - P) / P", high=None),
    Measure(
        "enhanced_beta", "enhanced beta-likeness", "max over values of min(beta, -ln P)", high=None
    ),
    Measure(
        "delta", "delta-disclosure", "max of |ln(p / P)| over the values of a group", high=None
    ),
    Measure(
        "rsd",
        "relative squared distance (RSD) of the papers, mean over groups",
        "group SSE around its mean / SSE around the public mean; categories: Brier scores",
        better="higher",
    ),
    Measure(
        "disclosure",
        "disclosure",
        "the part of the loss of forecasting from public totals that knowing the group takes off, "
        "n |p - P|^2 / sum max(loss, mean loss / 4): the largest of the squared, ranked and local "
        "scores of numbers, ranked and local of orders, Brier of categories and of missing values.",
    ),
    Measure(
        "covariance_p",
        "covariance test, p-value",
        "chi-squared tail of (n-1)(log|C| - log|C_t| + tr(C_t C^-1) - r), r(r+1)/2 degrees of freedom",
        better="higher",
    ),
    Measure(
        "matching",
        "matching",
        "share of people whose value the group's best guess hits within 5, 10, 20%",
    ),
    Measure("success", "attack success", "share of attacked people the attack is right about"),
    Measure(
        "over_control",
        "success over the control",
        "(success - control) / (1 - control); empty where the control is 1",
        low=None,
    ),
    Measure(
        "over_public",
        "success over public totals",
        "(success - baseline) / (1 - baseline)",
        low=None,
    ),
    Measure(
        "relative_error",
        "error of the attack",
        "mean absolute error / that of guessing the public mean",
        better="higher",
        high=None,
    ),
    Measure(
        "explained",
        "variance explained by the attack",
        "1 - squared error / that of guessing the public mean",
        low=None,
    ),
    Measure(
        "members",
        "inferred about members",
        "share of the public squared error (categories: Brier score) that the best learner on the "
        "release takes off, asked about people in the table; worst tenth: where it explains most",
    ),
    Measure(
        "strangers",
        "inferred about strangers",
        "the same about people whom the refitted method never saw: the rule",
    ),
    Measure("advantage", "member advantage", "members - strangers", low=-1),
)

LINKAGE = (
    Measure(
        "linked",
        "people linked with their record",
        "share of people whose own record is nearest to what is known of them; t ties count 1/t",
    ),
    Measure(
        "dld",
        "distance linkage disclosure (DLD)",
        "per cent of released records whose nearest original is their own, 1 to known columns; by "
        "deviations as in the papers or by the original's ranks, whichever links more",
        high=100,
    ),
    Measure(
        "pld",
        "probabilistic linkage disclosure (PLD)",
        "the same by Fellegi and Sunter's weights of how nearly columns agree",
        high=100,
    ),
    Measure(
        "id",
        "interval disclosure (ID)",
        "per cent of originals within 1 to 10% of the ranks around their released value",
        high=100,
    ),
    Measure("dr", "disclosure risk (DR)", "DLD / 4 + PLD / 4 + ID / 2", high=100),
    Measure(
        "il",
        "information loss (IL)",
        "mean relative change of cells, means, covariances, variances, correlations, per cent",
        high=None,
    ),
    Measure("score", "score", "IL / 2 + DR / 2", high=None),
)

UTILITY = (
    Measure(
        "ncp",
        "normalised certainty penalty",
        "mean over cells of (hi-lo)/(max-min) or (categories-1)/(domain-1); rows left out: 1",
    ),
    Measure(
        "discernibility", "discernibility", "(sum of group sizes squared + suppressed * n) / n^2"
    ),
    Measure("average_class_size", "average group size", "records / groups", low=1, high=None),
    Measure("c_avg", "average group size over k", "records / groups / k", low=1, high=None),
    Measure(
        "entropy_loss", "non-uniform entropy", "-sum log2 P(value | cell) / -sum log2 P(value)"
    ),
    Measure("cells_changed", "cells changed", "quasi-identifier cells not released as they were"),
    Measure("cells_suppressed", "cells suppressed", "cells released as *, emptied or left out"),
    Measure("rows_suppressed", "rows suppressed", "original rows that were left out"),
    Measure("total_variation", "total variation", "sum |p - q| / 2"),
    Measure("kolmogorov_smirnov", "Kolmogorov-Smirnov", "max |CDF - CDF|"),
    Measure("wasserstein", "Wasserstein distance", "integral of |CDF - CDF| / (max - min)"),
    Measure(
        "mean_difference",
        "change of pairwise dependence",
        "mean |before - after| of |correlation|, correlation ratio, uncertainty coefficient",
    ),
    Measure(
        "range", "error of counting queries", "|estimate - truth| / max(truth, n/1000)", high=None
    ),
    Measure("group_by", "error of averages by group", "|estimate - truth| / |truth|", high=None),
    Measure(
        "mape", "mean absolute percentage error", "mean |guess - y| / |y| over y != 0", high=None
    ),
    Measure(
        "relative_mae",
        "mean absolute error over the mean",
        "mean |guess - y| / mean |y|",
        high=None,
    ),
    Measure("r2", "R squared", "1 - SSE / SST on the test fold", better="higher", low=None),
    Measure("accuracy", "accuracy", "share of the test fold predicted right", better="higher"),
)

MEASURES = {measure.name: measure for measure in (*RISK, *LINKAGE, *UTILITY)}


VERSION = 1
DIGITS = 10
"""Significant digits of what is told; sums in another row order differ in their last bits."""

MEMBERSHIP = "membership: whether somebody is in the table at all"
COMPOSITION = "what several releases of the same people give away together"
OTHERS = "what columns without a role give away"
METHOD = "what somebody concludes who knows which finer groups the method refused"
NOT_MEASURED = (
    MEMBERSHIP,
    COMPOSITION,
    OTHERS,
    METHOD,
    "intruders who know more than the quasi-identifiers named here",
)

_CHECKS = many(one_of((Check, Mapping), "a check"), "a list of checks")
_PLAN = one_of(Plan, "a Plan", "read one with Plan.load")


@dataclass(frozen=True, repr=False)
class Audit:
    """The figures that were measured of a release.

    Parameters
    ----------
    table : mapping
        Rows, columns, roles, suppressed rows and notes.
    risk : mapping
        ``original`` and ``release``: classes, re-identification, sensitive
        columns; ``influence`` of the quasi-identifiers; ``knows_method``: what is concluded
        from the finer groups that the method refused; ``inference``: what learners
        infer about members and strangers, and ``composition``: what is left together with
        other releases; None where they were not measured.
    attacks : sequence of mapping
        Every attack with baselines, control, intervals and the same on the original.
    utility : mapping
        Loss, distributions, dependences, queries, learning.
    pictures : mapping
        Small histograms and scatters for the report.
    parameters, versions : mapping
        What is needed to repeat the audit; never a key.
    per_person : PerPerson, optional
        What the group of every record gives away; private, so neither `to_dict` nor a report holds
        it.
    shown : Shown, optional
        Records before and after, and how many records fit a description; private as well, so a
        steward's page that is made from the audit itself holds it, and none that is made from its numbers.
    missing : sequence of str
        What could not be measured of this release, and why; its figures are None.
    promises : sequence of mapping, optional
        What the plan promised, where it was known; `plot` draws the cap.
    profile : mapping, optional
        What a standard asks and what was found, where one was named.
    """

    table: Mapping[str, Any]
    risk: Mapping[str, Any]
    attacks: Sequence[Mapping[str, Any]]
    utility: Mapping[str, Any]
    pictures: Mapping[str, Any]
    parameters: Mapping[str, Any]
    versions: Mapping[str, str]
    per_person: PerPerson | None = None
    shown: Shown | None = None
    missing: Sequence[str] = ()
    promises: Sequence[Mapping[str, Any]] = ()
    profile: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain JSON data (`json_schema` describes it)."""
        data = {
            "table": self.table,
            "risk": self.risk,
            "attacks": self.attacks,
            "utility": self.utility,
            "pictures": self.pictures,
            "profile": self.profile,
            "unbounded": self.unbounded,
            "not_measured": [*self.missing, *self._not_measured()],
            "measures": {name: m.to_dict() for name, m in MEASURES.items()},
            "parameters": self.parameters,
            "versions": self.versions,
        }
        return {"hedgerow_audit": VERSION, **plain(data, digits=DIGITS)}

    @property
    def unbounded(self) -> list[str]:
        """Return what the release gives away, or lost, that no promise of its plan bounds; with counts."""
        release, loss = self.risk["release"], self.utility.get("loss")
        exposed = {}
        if grouped(self.table["yardstick"], self.promises):
            exposed = {name: column["exposed"] for name, column in release["sensitive"].items()}
        if self.table["yardstick"] != "classes":
            columns = loss["columns"] if loss else {}
            return unbounded(
                self.promises,
                exposed,
                records=self.table["rows"],
                linked=(self.risk.get("linkage") or {}).get("highest"),
                unchanged=[name for name, column in columns.items() if column["changed"] == 0],
                others=self.risk.get("other"),
            )
        return unbounded(
            self.promises,
            exposed,
            records=self.table["rows"],
            alone=release["classes"]["uniques"] if self.table["quasi"] else 0,
            lost=loss and loss["ncp"],
            others=self.risk.get("other"),
        )

    def _not_measured(self) -> list[str]:
        """Return what this audit leaves open."""
        done = {COMPOSITION} if self.risk.get("composition") else set()
        done |= {OTHERS} if self.risk.get("other") else set()
        capped = any(promise["kind"] == Disclosure.kind for promise in self.promises)
        done |= {METHOD} if self.risk.get("knows_method") or not capped else set()
        done |= {MEMBERSHIP for attack in self.attacks if attack["attack"] == "membership"}
        return [line for line in NOT_MEASURED if line not in done]

    def to_json(self) -> str:
        """Return the audit as JSON text; infinite numbers are written as null."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False)

    @takes(path=PATH)
    def save(self, path: str | Path) -> None:
        """Write the audit as JSON, readable by its owner alone."""
        write_private(path, self.to_json())

    @takes(
        path=PATH,
        plan=_PLAN,
        checks=_CHECKS,
        drawings=named(TEXT, "a mapping of file names to SVG"),
        cautions=TEXTS,
        name=TEXT,
        k=NUMBER,
        max_disclosure=NUMBER,
    )
    def report(
        self,
        path: str | Path,
        *,
        audience: str = "steward",
        plan: Any = None,
        checks: Sequence[Any] = (),
        drawings: Mapping[str, str] | None = None,
        cautions: Sequence[str] = (),
        name: str = "",
        k: int | None = None,
        max_disclosure: float | None = None,
    ) -> None:
        """Write the audit as one offline HTML file.

        Parameters
        ----------
        path : str or Path
            Where to.
        audience : {"steward", "recipient"}
            The recipient's page leaves out every figure that would help an intruder.
        plan : Plan, optional
            The release plan: the page then says how the table was recoded, and draws the tree.
        checks : sequence of Check
            The promises as they were verified.
        drawings : mapping of str to str, optional
            SVG pictures that the method publishes with its release, by file name.
        cautions : sequence of str
            What the release warns of (`Release.cautions`).
        name : str, optional
            The file that was measured, for the title.
        k, max_disclosure : optional
            Thresholds that the page holds the figures against, beside what was promised.
        """
        page = facade.render(
            self.to_dict(),
            audience=audience,
            plan=plan,
            checks=checks,
            drawings=drawings,
            cautions=cautions,
            name=name,
            examples=self.shown,
            k=k,
            max_disclosure=max_disclosure,
        )
        write_private(path, page)

    @takes(what=TEXT, ax=AXES)
    def plot(self, what: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw what was measured, as the report does.

        Parameters
        ----------
        what : str, optional
            "attacks", "disclosure" (groups by size and what they tell of the most exposed column,
            with the cap where a plan promised one), "groups" (records by the size of their group)
            or a quasi-identifier (its shares before and after). By default the first of these
            that was measured.
        ax : matplotlib axes, optional
            Where to; by default those of a new figure.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        InputError
            It was not measured; names what was.
        """
        return facade.plot_audit(self, what, ax)

    @takes(k=NUMBER, max_disclosure=NUMBER)
    def broken(self, *, k: int | None = None, max_disclosure: float | None = None) -> list[str]:
        """Say, a sentence each, where a release falls short of a k, a cap or the audit's profile.

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
            lines.append(f"the smallest group has {size}, fewer than {k}")
        lines += unmet(self.profile) if self.profile else []
        for name, column in release["sensitive"].items():
            worst = column["disclosure"]["worst"]
            if max_disclosure is not None and worst > max_disclosure + SLACK:
                lines.append(
                    f"a group gives away {figure(worst)} of {name!r}, more than {max_disclosure}"
                )
        return lines

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """Return the published JSON schema of `to_dict`, and of the ``audit.json`` of a release.

        Examples
        --------
        >>> Audit.json_schema()["title"]
        'Hedgerow audit'
        """
        text = resources.files(__package__).joinpath("schema.json").read_text(encoding="utf-8")
        schema: dict[str, Any] = json.loads(text)
        return schema

    def __repr__(self) -> str:
        return (
            f"Audit({self.table['rows']:,} rows, judged by {self.table['yardstick']}, "
            f"{len(self.attacks)} attacks)"
        )

    def _repr_html_(self) -> str:
        """Return the figures that decide, for notebooks; shares and counts, no value of a person."""
        return facade.audit_face(self.to_dict())

    def __str__(self) -> str:
        return facade.summary(self.to_dict())
