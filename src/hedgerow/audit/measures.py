"""What every measure means: its direction, its range, its formula."""

from __future__ import annotations

from dataclasses import asdict, dataclass
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
    better : {"higher", "lower"}
        Which way is better: safer for a risk, more useful for a utility.
    low, high : float or None
        Its range; None where it has no end.
    formula : str
        How it is computed.
    """

    name: str
    title: str
    better: str
    low: float | None
    high: float | None
    formula: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


RISK = (
    Measure(
        "k",
        "k (smallest class)",
        "higher",
        1,
        None,
        "records of the smallest class of equal released quasi-identifiers; missing equals missing",
    ),
    Measure(
        "wildcard_k",
        "k when * and missing match anything",
        "higher",
        1,
        None,
        "fewest records that could be in one class when suppressed cells match every value",
    ),
    Measure(
        "unique_share", "share of unique records", "lower", 0, 1, "records in classes of one / n"
    ),
    Measure(
        "highest",
        "highest re-identification risk",
        "lower",
        0,
        1,
        "max of 1/f (prosecutor) or 1/F (journalist): f records, F people of the class",
    ),
    Measure(
        "average",
        "average re-identification risk",
        "lower",
        0,
        1,
        "mean of the records' risks; for the marketer the expected share re-identified",
    ),
    Measure(
        "above",
        "share of records at risk",
        "lower",
        0,
        1,
        "records whose risk is above the threshold / n",
    ),
    Measure(
        "distinct_l",
        "distinct l-diversity",
        "higher",
        1,
        None,
        "fewest different values in a class",
    ),
    Measure(
        "entropy_l",
        "entropy l-diversity",
        "higher",
        1,
        None,
        "min over classes of exp(-sum p ln p)",
    ),
    Measure(
        "recursive_c",
        "recursive (c,l)-diversity",
        "lower",
        0,
        None,
        "max over classes of r1 / (r_l + ... + r_m), l the distinct l; undefined at l = 1",
    ),
    Measure(
        "alpha",
        "largest share of one value (alpha)",
        "lower",
        0,
        1,
        "max over classes and values of p",
    ),
    Measure(
        "t_equal",
        "t-closeness, equal distances",
        "lower",
        0,
        1,
        "max over classes of sum |p - P| / 2",
    ),
    Measure(
        "t_ordered",
        "t-closeness, ordered distances",
        "lower",
        0,
        1,
        "max over classes of sum |CDF - public CDF| / (m - 1)",
    ),
    Measure(
        "t_hierarchical",
        "t-closeness, hierarchical distances",
        "lower",
        0,
        1,
        "max over classes of the mass moved over each node times its height / H",
    ),
    Measure("basic_beta", "basic beta-likeness", "lower", 0, None, "max of (p - P) / P"),
    Measure(
        "enhanced_beta",
        "enhanced beta-likeness",
        "lower",
        0,
        None,
        "max over values of min(beta, -ln P)",
    ),
    Measure(
        "delta",
        "delta-disclosure",
        "lower",
        0,
        None,
        "max of |ln(p / P)| over the values of a class",
    ),
    Measure(
        "rsd",
        "relative squared distance (RSD) of the papers, mean over classes",
        "higher",
        0,
        1,
        "class SSE around its mean / SSE around the public mean; categories: Brier scores",
    ),
    Measure(
        "disclosure",
        "disclosure",
        "lower",
        0,
        1,
        "the part of the squared error of guessing from public totals that guessing from the "
        "class takes off; categories: Brier scores.",
    ),
    Measure(
        "covariance_p",
        "covariance test, p-value",
        "higher",
        0,
        1,
        "chi-squared tail of (n-1)(log|C| - log|C_t| + tr(C_t C^-1) - r), r(r+1)/2 degrees of freedom",
    ),
    Measure(
        "matching",
        "matching",
        "lower",
        0,
        1,
        "share of people whose value the class's best guess hits within 5, 10, 20%",
    ),
    Measure(
        "success",
        "attack success",
        "lower",
        0,
        1,
        "share of attacked people the attack is right about",
    ),
    Measure(
        "over_control",
        "success over the control",
        "lower",
        None,
        1,
        "(success - control) / (1 - control)",
    ),
    Measure(
        "over_public",
        "success over public totals",
        "lower",
        None,
        1,
        "(success - baseline) / (1 - baseline)",
    ),
    Measure(
        "relative_error",
        "error of the attack",
        "higher",
        0,
        None,
        "mean absolute error / that of guessing the public mean",
    ),
    Measure(
        "explained",
        "variance explained by the attack",
        "lower",
        None,
        1,
        "1 - squared error / that of guessing the public mean",
    ),
    Measure(
        "members",
        "inferred about members",
        "lower",
        0,
        1,
        "share of the public squared error (categories: Brier score) that the best learner on the "
        "release takes off, asked about people in the table; worst tenth: where it explains most",
    ),
    Measure(
        "strangers",
        "inferred about strangers",
        "lower",
        0,
        1,
        "the same about people who were left out of the table: the rule",
    ),
    Measure("advantage", "member advantage", "lower", -1, 1, "members - strangers"),
)

LINKAGE = (
    Measure(
        "linked",
        "people linked with their record",
        "lower",
        0,
        1,
        "share of people whose own record is nearest to what is known of them; t ties count 1/t",
    ),
    Measure(
        "dld",
        "distance linkage disclosure (DLD)",
        "lower",
        0,
        100,
        "per cent of released records whose nearest original is their own, 1 to known columns",
    ),
    Measure(
        "pld",
        "probabilistic linkage disclosure (PLD)",
        "lower",
        0,
        100,
        "the same by Fellegi and Sunter's weights of agreeing columns",
    ),
    Measure(
        "id",
        "interval disclosure (ID)",
        "lower",
        0,
        100,
        "per cent of originals within 1 to 10% of the ranks around their released value",
    ),
    Measure("dr", "disclosure risk (DR)", "lower", 0, 100, "DLD / 4 + PLD / 4 + ID / 2"),
    Measure(
        "il",
        "information loss (IL)",
        "lower",
        0,
        None,
        "mean relative change of cells, means, covariances, variances, correlations, per cent",
    ),
    Measure("score", "score", "lower", 0, None, "IL / 2 + DR / 2"),
)

UTILITY = (
    Measure(
        "ncp",
        "normalised certainty penalty",
        "lower",
        0,
        1,
        "mean over cells of (hi-lo)/(max-min) or (categories-1)/(domain-1)",
    ),
    Measure(
        "discernibility",
        "discernibility",
        "lower",
        0,
        1,
        "(sum of class sizes squared + suppressed * n) / n^2",
    ),
    Measure("average_class_size", "average class size", "lower", 1, None, "records / classes"),
    Measure("c_avg", "average class size over k", "lower", 1, None, "records / classes / k"),
    Measure(
        "entropy_loss",
        "non-uniform entropy",
        "lower",
        0,
        1,
        "-sum log2 P(value | cell) / -sum log2 P(value)",
    ),
    Measure(
        "cells_changed",
        "cells changed",
        "lower",
        0,
        1,
        "quasi-identifier cells not released as they were",
    ),
    Measure(
        "cells_suppressed", "cells suppressed", "lower", 0, 1, "cells released as * or emptied"
    ),
    Measure(
        "rows_suppressed", "rows suppressed", "lower", 0, 1, "original rows that were left out"
    ),
    Measure("total_variation", "total variation", "lower", 0, 1, "sum |p - q| / 2"),
    Measure("kolmogorov_smirnov", "Kolmogorov-Smirnov", "lower", 0, 1, "max |CDF - CDF|"),
    Measure(
        "wasserstein",
        "Wasserstein distance",
        "lower",
        0,
        1,
        "integral of |CDF - CDF| / (max - min)",
    ),
    Measure(
        "mean_difference",
        "change of pairwise dependence",
        "lower",
        0,
        1,
        "mean |before - after| of |correlation|, correlation ratio, uncertainty coefficient",
    ),
    Measure(
        "range",
        "error of counting queries",
        "lower",
        0,
        None,
        "|estimate - truth| / max(truth, n/1000)",
    ),
    Measure(
        "group_by", "error of averages by group", "lower", 0, None, "|estimate - truth| / |truth|"
    ),
    Measure(
        "mape",
        "mean absolute percentage error",
        "lower",
        0,
        None,
        "mean |guess - y| / |y| over y != 0",
    ),
    Measure(
        "relative_mae",
        "mean absolute error over the mean",
        "lower",
        0,
        None,
        "mean |guess - y| / mean |y|",
    ),
    Measure("r2", "R squared", "higher", None, 1, "1 - SSE / SST on the test fold"),
    Measure("accuracy", "accuracy", "higher", 0, 1, "share of the test fold predicted right"),
)

MEASURES = {measure.name: measure for measure in (*RISK, *LINKAGE, *UTILITY)}
