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


def _m(
    name: str, title: str, better: str, low: float | None, high: float | None, formula: str
) -> Measure:
    return Measure(name, title, better, low, high, formula)


RISK = (
    _m(
        "k",
        "k (smallest class)",
        "higher",
        1,
        None,
        "records of the smallest class of equal released quasi-identifiers; missing equals missing",
    ),
    _m(
        "wildcard_k",
        "k when * and missing match anything",
        "higher",
        1,
        None,
        "fewest records that could be in one class when suppressed cells match every value",
    ),
    _m("unique_share", "share of unique records", "lower", 0, 1, "records in classes of one / n"),
    _m(
        "highest",
        "highest re-identification risk",
        "lower",
        0,
        1,
        "max of 1/f (prosecutor) or 1/F (journalist): f records, F people of the class",
    ),
    _m(
        "average",
        "average re-identification risk",
        "lower",
        0,
        1,
        "mean of the records' risks; for the marketer the expected share re-identified",
    ),
    _m(
        "above",
        "share of records at risk",
        "lower",
        0,
        1,
        "records whose risk is above the threshold / n",
    ),
    _m(
        "distinct_l",
        "distinct l-diversity",
        "higher",
        1,
        None,
        "fewest different values in a class",
    ),
    _m(
        "entropy_l",
        "entropy l-diversity",
        "higher",
        1,
        None,
        "min over classes of exp(-sum p ln p)",
    ),
    _m(
        "recursive_c",
        "recursive (c,l)-diversity",
        "lower",
        0,
        None,
        "max over classes of r1 / (r_l + ... + r_m), l the distinct l; undefined at l = 1",
    ),
    _m(
        "alpha",
        "largest share of one value (alpha)",
        "lower",
        0,
        1,
        "max over classes and values of p",
    ),
    _m(
        "t_equal",
        "t-closeness, equal distances",
        "lower",
        0,
        1,
        "max over classes of sum |p - P| / 2",
    ),
    _m(
        "t_ordered",
        "t-closeness, ordered distances",
        "lower",
        0,
        1,
        "max over classes of sum |CDF - public CDF| / (m - 1)",
    ),
    _m(
        "t_hierarchical",
        "t-closeness, hierarchical distances",
        "lower",
        0,
        1,
        "max over classes of the mass moved over each node times its height / H",
    ),
    _m("basic_beta", "basic beta-likeness", "lower", 0, None, "max of (p - P) / P"),
    _m(
        "enhanced_beta",
        "enhanced beta-likeness",
        "lower",
        0,
        None,
        "max over values of min(beta, -ln P)",
    ),
    _m(
        "delta",
        "delta-disclosure",
        "lower",
        0,
        None,
        "max of |ln(p / P)| over the values of a class",
    ),
    _m(
        "rsd",
        "relative squared distance (RSD) of the papers, mean over classes",
        "higher",
        0,
        1,
        "class SSE around its mean / SSE around the public mean; categories: Brier scores",
    ),
    _m(
        "disclosure",
        "disclosure",
        "lower",
        0,
        1,
        "the part of the squared error of guessing from public totals that guessing from the "
        "class takes off; categories: Brier scores.",
    ),
    _m(
        "covariance_p",
        "covariance test, p-value",
        "higher",
        0,
        1,
        "chi-squared tail of (n-1)(log|C| - log|C_t| + tr(C_t C^-1) - r), r(r+1)/2 degrees of freedom",
    ),
    _m(
        "matching",
        "matching",
        "lower",
        0,
        1,
        "share of people whose value the class's best guess hits within 5, 10, 20%",
    ),
    _m(
        "success",
        "attack success",
        "lower",
        0,
        1,
        "share of attacked people the attack is right about",
    ),
    _m(
        "over_control",
        "success over the control",
        "lower",
        None,
        1,
        "(success - control) / (1 - control)",
    ),
    _m(
        "over_public",
        "success over public totals",
        "lower",
        None,
        1,
        "(success - baseline) / (1 - baseline)",
    ),
    _m(
        "relative_error",
        "error of the attack",
        "higher",
        0,
        None,
        "mean absolute error / that of guessing the public mean",
    ),
    _m(
        "explained",
        "variance explained by the attack",
        "lower",
        None,
        1,
        "1 - squared error / that of guessing the public mean",
    ),
)

LINKAGE = (
    _m(
        "linked",
        "people linked with their record",
        "lower",
        0,
        1,
        "share of people whose own record is nearest to what is known of them; t ties count 1/t",
    ),
    _m(
        "dld",
        "distance linkage disclosure (DLD)",
        "lower",
        0,
        100,
        "per cent of released records whose nearest original is their own, 1 to known columns",
    ),
    _m(
        "pld",
        "probabilistic linkage disclosure (PLD)",
        "lower",
        0,
        100,
        "the same by Fellegi and Sunter's weights of agreeing columns",
    ),
    _m(
        "id",
        "interval disclosure (ID)",
        "lower",
        0,
        100,
        "per cent of originals within 1 to 10% of the ranks around their released value",
    ),
    _m("dr", "disclosure risk (DR)", "lower", 0, 100, "DLD / 4 + PLD / 4 + ID / 2"),
    _m(
        "il",
        "information loss (IL)",
        "lower",
        0,
        None,
        "mean relative change of cells, means, covariances, variances, correlations, per cent",
    ),
    _m("score", "score", "lower", 0, None, "IL / 2 + DR / 2"),
)

UTILITY = (
    _m(
        "ncp",
        "normalised certainty penalty",
        "lower",
        0,
        1,
        "mean over cells of (hi-lo)/(max-min) or (categories-1)/(domain-1)",
    ),
    _m(
        "discernibility",
        "discernibility",
        "lower",
        0,
        1,
        "(sum of class sizes squared + suppressed * n) / n^2",
    ),
    _m("average_class_size", "average class size", "lower", 1, None, "records / classes"),
    _m("c_avg", "average class size over k", "lower", 1, None, "records / classes / k"),
    _m(
        "entropy_loss",
        "non-uniform entropy",
        "lower",
        0,
        1,
        "-sum log2 P(value | cell) / -sum log2 P(value)",
    ),
    _m(
        "cells_changed",
        "cells changed",
        "lower",
        0,
        1,
        "quasi-identifier cells not released as they were",
    ),
    _m("cells_suppressed", "cells suppressed", "lower", 0, 1, "cells released as * or emptied"),
    _m("rows_suppressed", "rows suppressed", "lower", 0, 1, "original rows that were left out"),
    _m("total_variation", "total variation", "lower", 0, 1, "sum |p - q| / 2"),
    _m("kolmogorov_smirnov", "Kolmogorov-Smirnov", "lower", 0, 1, "max |CDF - CDF|"),
    _m(
        "wasserstein",
        "Wasserstein distance",
        "lower",
        0,
        1,
        "integral of |CDF - CDF| / (max - min)",
    ),
    _m(
        "mean_difference",
        "change of pairwise dependence",
        "lower",
        0,
        1,
        "mean |before - after| of |correlation|, correlation ratio, uncertainty coefficient",
    ),
    _m(
        "range",
        "error of counting queries",
        "lower",
        0,
        None,
        "|estimate - truth| / max(truth, n/1000)",
    ),
    _m("group_by", "error of averages by group", "lower", 0, None, "|estimate - truth| / |truth|"),
    _m(
        "mape",
        "mean absolute percentage error",
        "lower",
        0,
        None,
        "mean |guess - y| / |y| over y != 0",
    ),
    _m(
        "relative_mae",
        "mean absolute error over the mean",
        "lower",
        0,
        None,
        "mean |guess - y| / mean |y|",
    ),
    _m("r2", "R squared", "higher", None, 1, "1 - SSE / SST on the test fold"),
    _m("accuracy", "accuracy", "higher", 0, 1, "share of the test fold predicted right"),
)

MEASURES = {measure.name: measure for measure in (*RISK, *LINKAGE, *UTILITY)}
