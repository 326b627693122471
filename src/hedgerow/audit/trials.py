"""What a frontier measures of one setting: fit, recode, and every figure of its point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns.table import Table
from ..measures import Classes
from ..measures import disclosure as explained
from ..measures.disclosure import SLACK, Disclosed, column_disclosure
from ..measures.guarantees import Disclosure
from ..methods.masking import fingerprint
from ..notation import figure
from ..progress import Progress
from ..schema import Schema
from .attacks.linking import linking_attacks
from .inference import infer
from .non_members import FOLDS, refitting
from .pairing import pair_up
from .subject import of_fitted
from .table_pair import Pair
from .utility.loss import certainty_penalty
from .utility.queries import range_queries

LOOKED_UP = 500
"""People whose record is looked for on the linkage axis."""


@dataclass
class Trial:
    """A table, what is measured of its releases, and what was measured already.

    Parameters
    ----------
    table : Table
    schema : Schema
    utility, disclosure : str
        The axes.
    max_inference : float, optional
        The most that named attackers may infer.
    random_state : int
    """

    table: Table
    schema: Schema
    utility: str
    disclosure: str
    max_inference: float | None
    random_state: int

    def __post_init__(self) -> None:
        self._measured: dict[Any, tuple[dict[str, Any], float | None]] = {}

    @property
    def _folds(self) -> int | None:
        """For the learners; 0 asks about members alone, None trains none."""
        if self.disclosure == "advantage" or self.utility == "learning":
            return FOLDS
        return 0 if self.disclosure == "inferred" or self.max_inference is not None else None

    def figures(self, method: Any, progress: Progress) -> dict[str, Any]:
        """Fit, recode and measure a method; equal releases are measured once.

        `progress` is called between steps; what it raises stops the work.
        """
        table, schema = self.table, self.schema
        fitted = method.fit_table(table, schema)
        progress("recoding", None)
        made = of_fitted(fitted, table, schema)
        changed = [*(c.name for c in method.plan_.recoding.recoded()), made.numbered]
        key = (made.risk_model, fingerprint(made.table, [name for name in changed if name]))
        if key not in self._measured:
            progress("reading what was recoded", None)
            pair = pair_up(table, made)
            progress("counting what groups tell", None)
            told, floor_ratio = _told(pair)
            self._measured[key] = (
                told | self._of_pair(pair) | self._learnt(pair, method, progress),
                floor_ratio,
            )
        found, floor_ratio = self._measured[key]
        return found | self._optimum(method, found["explained"], floor_ratio)

    def refusal(self, figures: dict[str, Any]) -> str | None:
        """Why a setting with these figures is none to choose; None where it is one."""
        reached = figures["inferred"]
        if self.max_inference is not None and reached > self.max_inference + SLACK:
            return f"learners infer {figure(reached)}, more than {self.max_inference:g}"
        for axis, value in (
            (self.disclosure, figures[self.disclosure]),
            (self.utility, figures["utility"]),
        ):
            if value is None:
                return f"the {axis} cannot be measured: a refit on fewer people fails"
        return None

    def _of_pair(self, pair: Pair) -> dict[str, Any]:
        ncp = float(np.mean(list(certainty_penalty(pair).values())))
        altered = pair.risk_model == "linkage"
        linked = None
        if altered or self.disclosure == "linkage":
            linked = max(a["success"] for a in linking_attacks(pair, people=LOOKED_UP))
        lost = ncp
        if self.utility == "queries":
            lost = float(range_queries(pair, random_state=self.random_state)["median"])
        return {
            "k": None if altered else int(pair.counted_in(pair.classes).min()),
            "classes": None if altered else pair.classes.n_groups,
            "linkage": linked,
            "ncp": ncp,
            "utility": 1 - lost,
        }

    def _learnt(self, pair: Pair, method: Any, progress: Progress) -> dict[str, Any]:
        """What named attackers infer of members and of people left out, where it is asked for."""
        if self._folds is None:
            return {"inferred": None, "advantage": None}
        found = infer(
            pair,
            refitting(method, self.schema) if self._folds else None,
            folds=self._folds,
            random_state=self.random_state,
            progress=progress,
        )
        advantage = found.advantage
        made: dict[str, Any] = {
            "inferred": found.reached,
            "advantage": None if advantage is None else max(advantage, 0.0),
        }
        if self.utility == "learning":
            rule = [c["strangers"] for c in found.columns.values()]
            known = all(share is not None for share in rule)
            made["utility"] = float(np.mean([s["explained"] for s in rule])) if known else None
        return made

    def _optimum(
        self, method: Any, share: float | None, floor_ratio: float | None
    ) -> dict[str, float | None]:
        """How near a release comes to what no other with its cap, or its k, goes beyond."""
        caps = [
            p["maximum"]
            for p in method.plan_.promises
            if p["kind"] == Disclosure.kind and not p.get("columns")
        ]
        most = loss = least = reached = None
        if caps and share is not None and floor_ratio is not None:
            most = min(min(caps) * floor_ratio, 1.0)
            reached = share / most
        elif lost := method.loss_and_least(self.table, self.schema):
            loss, least = lost
            reached = least / loss if loss > 0 else 1.0
        return {
            "most_explained": most,
            "loss": loss,
            "least_loss": least,
            "of_optimum": reached,
        }


def _told(pair: Pair) -> tuple[dict[str, float | None], float | None]:
    """What groups tell of the sensitive columns together, and the mean `Explained.floor_ratio`."""
    names = ("worst", "mean_over_groups", "mean_over_records", "explained")
    if pair.risk_model == "linkage" or not pair.sensitive:
        return dict.fromkeys(names), None
    columns = Classes.from_groups(pair.value_groups, pair.released_sensitive).sensitive.values()
    told = Disclosed.over_columns(
        Disclosed.from_classes(column_disclosure(column), pair.value_groups.sizes) for column in columns
    )
    assert told is not None
    found = [e for e in map(explained.explained_share, columns) if e is not None]
    share = float(np.mean([e.share for e in found])) if found else None
    floor_ratio = float(np.mean([e.floor_ratio for e in found])) if found else None
    figures = (told.worst, told.mean_over_groups, told.mean_over_records, share)
    return dict(zip(names, figures, strict=True)), floor_ratio
