"""Optimal randomized response (Guo, Ying & Wu 2010, Problem 1)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..backends import Transformed, transform
from ..backends.randomize import original_codes
from ..columns.arrays import slices
from ..columns.table import Table
from ..errors import InfeasibleError, ParameterError, UnsupportedError
from ..key import Key
from ..measures.guarantees import Check
from ..notation import explain_signs, markdown, percent, signs
from ..plan import Plan, PlanColumn, Randomize, Randomized
from ..progress import caution
from ..schema import Schema
from ..texts import text
from ..validation import NUMBER, NUMBERS, TEXT, TEXTS, Kind, check_one_of, is_number, named, whole
from .base import Method, RecipientNotes, render
from .response.caps import cautions, check_feasible, exempted, halfway, negations, with_caps
from .response.contingency import (
    DEFAULT_BINS,
    WINDOW,
    Bins,
    Coded,
    Contingency,
    Target,
    build,
    cells_of,
    check_size,
    coded,
)
from .response.risk import Bound, Risk, optimize


@dataclass(eq=False, repr=False)
class RandomizedResponse(Method):
    """Keep or replace each value at random, with published chances that let readers correct counts.

    A single record need not be true. Readers estimate counts with the published chances
    (`hedgerow.release.reconstruct`). Somebody who finds a person's own record infers the sensitive
    value with a probability of at most 1/l.

    Every quasi-identifier (and, on request, the sensitive attribute) keeps its value with
    probability p and moves to every other value with equal chances. The p minimise the expected
    squared error of the reconstructed table subject to Pr(S = u | QI = alpha) <= 1/l in every group.

    Parameters
    ----------
    l : float
        At least 1. The cap on the chance of guessing a sensitive value right is 1/l.
    target : {"quasi", "sensitive", "both"}
        The columns to randomize.
    bound : {"paper", "operational"}
        "paper" caps Result 1, which counts guesses through the target's own record;
        "operational" caps right guesses through any record: the intruder picks one of the
        released records whose values the target's own may have been changed to, and
        guesses its sensitive value. Neither caps the guess of somebody who reconstructs
        the table, as every reader can, and guesses the most frequent value in the target's
        group (see Notes).
    bins : int, or mapping of column to int or increasing cuts
        Numbers and dates are cut into this many bins (of similar counts), or at the cuts.
    caps : mapping of str to float, optional
        Caps that replace 1/l for sensitive values ("HIV" or "illness=HIV") or groups
        ("sex=Female,race=Other"); if several apply, the lowest counts.
    known_negations : int or sequence of str
        How many sensitive values the attacker can exclude for the target (the worst
        ones), or which.
    relax : {None, "halfway"}
        What to do if the cap is below the floor: raise an error, or raise every cap to
        at least the middle between its floor and the risk without randomization, and
        report the share of records left above the cap that was asked for.
    exempt : sequence of str
        Sensitive values about which nothing is promised.
    row_id : str, optional
        A column of unique row ids, which identifies the rows for the draws; by default a
        row is identified by its content. No draw depends on the order of the rows.
    key : Key or path, optional
        The steward's secret, or its file (made, mode 0600, when it is not there). By
        default a new key, kept only in this object. It enters no plan, log, report or
        pickle. The same key, table and parameters give the same release; any other
        release draws independently.
    random_state : int, optional
        A seed to use in place of a key, only for experiments: it keeps nothing secret.
    schema : Schema, optional
        Kinds, category orders and hierarchies for `fit(X, y)`.

    Attributes
    ----------
    p_ : dict of str to float
        Probability of keeping the value, per randomized column.
    risk_, success_ : float
        Largest Pr(S|QI) by Result 1 of the paper, and largest operational success.
    epsilon_ : dict of str to float
        Local guarantee ln(1 + d t/(1 - t)) per column.
    unprotected_ : float
        Share of records whose risk lies above the requested cap.
    cautions_ : list of str
        The warnings that `fit` issued.

    Raises
    ------
    InfeasibleError
        No randomization meets the cap; names the groups, the floor, the largest l.
    ParameterError
        A parameter lies outside its range, or the table has too many cells.

    References
    ----------
    L. Guo, X. Ying, X. Wu, "On attribute disclosure in randomization based privacy
    preserving data publishing": Result 1 (risk), Result 2 (utility), Problem 1.

    Notes
    -----
    Readers can reconstruct what holds for a group of people. If 85% of the people with the
    target's quasi-identifiers have one sensitive value, the reconstruction shows it, and guessing
    this value is right for 85% of them, under either bound and for any l. A caution says for how
    many people such guesses are right.

    Examples
    --------
    >>> import pandas as pd, warnings
    >>> X = pd.DataFrame({"sex": ["f", "f", "m", "m"] * 50})
    >>> ill = pd.Series(["a", "b", "b", "c"] * 50)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     fitted = RandomizedResponse(l=2.5).fit(X, ill)
    >>> fitted.risk_ <= 1 / 2.5
    True
    """

    draws = True
    guardable = False
    pairs = True
    engines = ("memory", "duckdb", "spark")
    # while rows are sorted by their ids
    record_bytes = 32
    risk_model = "linkage"
    kinds: ClassVar[Mapping[str, Kind]] = {
        "bins": whole() | NUMBERS | named(whole() | NUMBERS, "a mapping of columns to either"),
        "caps": named(NUMBER, "a mapping of values to caps"),
        "known_negations": whole() | TEXT | TEXTS,
        "exempt": TEXT | TEXTS,
        "row_id": TEXT,
    }

    l: float = 2.0
    _: KW_ONLY
    target: Target = "quasi"
    bound: Bound = "paper"
    bins: Bins = DEFAULT_BINS
    caps: Mapping[str, float] | None = None
    known_negations: int | Sequence[str] = 0
    relax: Literal["halfway"] | None = None
    exempt: Sequence[str] = ()
    row_id: str | None = None
    key: Key | str | Path | None = None
    random_state: int | None = None
    schema: Schema | None = None

    def _fit(self, table: Table, schema: Schema) -> Plan:
        self._check(schema)
        quasi, sensitive = (
            [coded(table, n, schema.kinds.get(n), schema.categories.get(n), self.bins) for n in names]
            for names in (schema.quasi, schema.sensitive)
        )
        check_size([c.d for c in quasi], [c.name for c in quasi])
        cap = 1 / float(self.l)
        contingency = build(
            [c.codes for c in quasi],
            [c.d for c in quasi],
            [c.codes for c in sensitive],
            [c.d for c in sensitive],
            self.target,
            cap,
            negations(self.known_negations, sensitive),
        )
        requested = with_caps(contingency, quasi, sensitive, self.caps or {})
        risk = Risk(requested, self.target, self.bound)
        relaxed = exempted(requested, sensitive, self.exempt) if self.exempt else requested
        if self.relax == "halfway":
            relaxed = halfway(Risk(relaxed, self.target, self.bound))
        best = optimize(Risk(relaxed, self.target, self.bound))
        if best is None or best.worst > 1:
            # Names the groups whose floor is above the cap; silent if only rounding is between.
            check_feasible(Risk(relaxed, self.target, self.bound), quasi)
            raise InfeasibleError(
                "the cap lies so close to its floor that nothing would be left of the table",
                hint="lower l, or coarsen the quasi-identifiers",
            )
        self._report(risk, best.t, quasi, sensitive, cap)
        randomized = ([*quasi] if risk.n_quasi else []) + ([*sensitive] if risk.n_sensitive else [])
        roles = ["quasi"] * risk.n_quasi + ["sensitive"] * risk.n_sensitive
        columns = tuple(
            Randomized(c.name, role, c.kind, c.unit, c.categories, float(p), c.cuts)
            for c, role, p in zip(randomized, roles, best.p, strict=True)
        )
        self.p_ = {c.name: c.p for c in columns}
        self.epsilon_ = {c.name: c.epsilon for c in columns}
        recoding = Randomize(columns, self.row_id, self.bound, self.risk_, self.success_, self.unprotected_)
        self._risk = risk
        plan = self._planned(table, schema, recoding)
        return replace(plan, columns=tuple(_as_released(c, columns) for c in plan.columns))

    def release_table(self, table: Table) -> Transformed:
        """Randomize the table with this object's key; the same key and table always give the same draws."""
        # `transform` brings the quasi-identifiers alone, so sensitive columns may not be there.
        plan = self._randomize
        columns = tuple(c for c in plan.columns if c.role == "quasi" or c.name in table.names)
        return transform(replace(self.plan_, recoding=replace(plan, columns=columns)), table, self._own_key)

    @property
    def _randomize(self) -> Randomize:
        recoding = self.plan_.recoding
        assert isinstance(recoding, Randomize)
        return recoding

    def transform(self, X: Any) -> Any:
        """Randomize the quasi-identifiers of X by the fitted plan; see `Method.transform`.

        Raises
        ------
        UnsupportedError
            Only sensitive columns are randomized.
        """
        if self.target == "sensitive":
            raise UnsupportedError(
                "transform sees no sensitive column, and target is 'sensitive'",
                hint="use hedgerow.protect, which releases the whole table",
            )
        return super().transform(X)

    def release_checks(self, original: Table, released: Table) -> list[Check]:
        """Check the risk on the whole original table, and the draws against their probabilities."""
        above = self.unprotected_ if self.relax or self.exempt else None
        return verify(self._randomize, self._risk, original, released, above)

    def release_files(self, release: Any) -> dict[str, str]:
        """Return the public file ``public.json``: the plan with its distortion parameters."""
        return {"public.json": json.dumps(release.plan.public(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"}

    def recipient_notes(self, file: str) -> RecipientNotes:
        """Return notes on how to read the randomized table, including its distortion parameters."""
        return _notes(self._randomize, self.plan_.parameters)

    def _report(self, risk: Risk, t: Any, quasi: Sequence[Coded], sensitive: Sequence[Coded], cap: float) -> None:
        paper = Risk(risk.contingency, self.target).full(t)
        success = risk.success(t)
        self.risk_ = max(float(r.max()) for r in paper)
        self.success_ = max(float(s.max()) for s in success)
        ruling = paper if self.bound == "paper" else success
        self.unprotected_ = _share_above(risk.contingency, ruling, quasi, sensitive)
        self.cautions_ = cautions(risk, quasi, sensitive, t, cap)
        for words in self.cautions_:
            caution(words)

    def _check(self, schema: Schema) -> None:
        l = self.l
        if not is_number(l) or not 1 <= l < math.inf:
            raise ParameterError(f"l must be a number of at least 1, not {l!r}", hint="the risk is capped at 1/l")
        check_one_of("target", self.target, get_args(Target))
        check_one_of("bound", self.bound, get_args(Bound))
        check_one_of("relax", self.relax, (None, "halfway"))
        if self.bound == "operational" and self.target == "sensitive":
            raise ParameterError(
                "the operational success does not depend on how the sensitive attribute is randomized",
                hint='use target="quasi" or "both" with bound="operational"',
            )
        if self.row_id is not None and schema.role(self.row_id) in ("quasi", "sensitive"):
            raise ParameterError(
                f"the row id {self.row_id!r} is itself a quasi-identifier or sensitive",
                hint="make it an identifier: it is then dropped from the release",
            )


def _as_released(column: PlanColumn, randomized: Sequence[Randomized]) -> PlanColumn:
    """Return a plan column as it is released: a sensitive number that was cut into bins is a category."""
    bins = {c.name for c in randomized if any(isinstance(x, str) for x in c.categories)}
    if column.role == "sensitive" and column.name in bins:
        return replace(column, kind="categorical", unit="")
    return column


def _share_above(
    contingency: Contingency, risks: Sequence[Any], quasi: Sequence[Coded], sensitive: Sequence[Coded]
) -> float:
    """Return the share of records whose own cell exceeds its requested cap in at least one view."""
    # Record by record, since a record may be above the cap in several views and counts once.
    over = [risk > view.cap * (1 + 1e-9) for view, risk in zip(contingency.views, risks, strict=True)]
    above = 0
    for rows in slices(contingency.n, WINDOW):
        cell = cells_of([c.codes for c in quasi], contingency.quasi, rows)
        group = np.searchsorted(contingency.occupied, cell)
        is_above = np.zeros(len(group), dtype=bool)
        for view, cells in zip(contingency.views, over, strict=True):
            value = cells_of([sensitive[j].codes for j in view.attributes], view.dims, rows)
            is_above |= cells[group, value]
        above += int(np.count_nonzero(is_above))
    return above / contingency.n


# the chance, on either side, that a column which was drawn correctly fails its check
_ALARM = 1e-12


def verify(plan: Randomize, risk: Risk, original: Table, released: Table, above: float | None) -> list[Check]:
    """Check a release: its largest risk, values outside the domain, and the shares of unchanged values.

    Parameters
    ----------
    plan : Randomize
    risk : Risk
        The risk and the caps that were requested.
    original, released : Table
        Before and after, row by row.
    above : float or None
        The share of records that may stay above the cap, if `relax` or `exempt` allow any.
    """
    over = risk.worst(np.array([c.t for c in plan.columns]))
    exception = "" if above is None else f"{percent(above)} of the records stay above it, as asked for"
    outside, improbable = [], []
    # A cluster counts the pairs of categories itself, and sends no row here.
    counts = None if released.drawn_counts is None else released.drawn_counts()
    for column in plan.columns:
        if counts is None:
            unchanged, is_outside = _compared(column, original, released)
        else:
            pairs = counts[column.name]
            unchanged, is_outside = int(np.trace(pairs)), bool(pairs[:, column.d].any())
        if is_outside:
            outside.append(column.name)
        if likelihood_of_kept(unchanged, original.n_rows, column.p) < _ALARM:
            improbable.append(column.name)
    risk_name, far = f"disclosure risk over its cap ({plan.bound} bound)", ", ".join(improbable)
    words = f"columns far from their p by the exact binomial distribution: {far}"
    return [
        Check(risk_name, 1.0, over, over <= 1 or above is not None, exception),
        Check.none("values in the domain", len(outside), f"columns at fault: {', '.join(outside)}"),
        Check.none("share of values kept", len(improbable), words),
    ]


def _compared(column: Randomized, original: Table, released: Table) -> tuple[int, bool]:
    """Return how many rows keep their category, and whether any released value is outside the domain."""
    before, (lookup, codes) = original_codes(original, column), _released(released, column)
    unchanged, is_outside = 0, False
    # By windows: the codes may lie in files, and a whole column of categories need not fit.
    for rows in slices(len(before), WINDOW):
        after = lookup[codes[rows]]
        unchanged += int(np.count_nonzero(before[rows] == after))
        is_outside = is_outside or bool(np.any(after == column.d))
    return unchanged, is_outside


def likelihood_of_kept(unchanged: int, n: int, p: float) -> float:
    """Return the smaller tail probability: that at most, or at least, `unchanged` of n values stay the same."""
    # Exact: if n(1 - p) is small, the normal distribution would call right draws wrong.
    from scipy.special import bdtr, bdtrc

    return min(float(bdtr(unchanged, n, p)), float(bdtrc(unchanged - 1, n, p)))


def released_codes(table: Table, column: Randomized) -> NDArray[np.int64]:
    """Return the category index of each released value; d if the value is outside the domain."""
    lookup, codes = _released(table, column)
    return lookup[codes]


def _released(table: Table, column: Randomized) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the category index of each code of a released column, and the codes of its rows."""
    numbers = any(isinstance(c, float) for c in column.categories)
    coded = table.column(column.name, kind="numeric" if numbers else "categorical")
    place = {c: i for i, c in enumerate(column.categories)}
    values = coded.values.tolist() if numbers else coded.values
    return np.array([place.get(v, column.d) for v in (*values, None)], dtype=np.int64), coded.codes


def _notes(recoding: Randomize, parameters: Mapping[str, object]) -> RecipientNotes:
    say = partial(text, "randomized")
    used: set[str] = set()
    for c in recoding.columns:
        if c.kind in ("numeric", "date"):
            used |= signs(c.categories, kind=c.kind)
    reading = explain_signs(used)
    lines = render("randomized_response.md", columns=recoding.columns, reading=reading, infinite=math.inf)
    loose = any(parameters.get(name) for name in ("relax", "exempt", "caps"))
    cap = say("loose_cap" if loose else "cap", bound=recoding.bound, l=parameters["l"])
    same = [c for c in recoding.columns if c.in_name_only or c.d < 2]
    names = ", ".join(markdown(c.name) for c in same)
    least = percent(min((c.p for c in same), default=1.0))
    if len(same) == len(recoding.columns):
        about = say("nothing", names=names, share=least)
    else:
        about = say("about") + (say("same", names=names, share=least) if same else "")
    return RecipientNotes(
        about=about,
        cells={c.name: "unchanged" if c in same else "randomized" for c in recoding.columns},
        lines=lines.split("\n"),
        promised=[cap],
        not_measured=[say("other_records"), say("counts"), say("knowledge")],
    )
