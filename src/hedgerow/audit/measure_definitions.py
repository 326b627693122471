"""The meaning of every measure: its direction, its range, its formula."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


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
        """As plain data."""
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
