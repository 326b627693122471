"""The plan of a private release: public, with nothing in it that is not noisy or declared."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from ...errors import PlanError
from ...files import read_text, write_private
from ...measures.guarantees import Check
from ...plan.fields import plain, read
from ...plan.records import parsed
from ...texts import text
from . import meaning
from .domain import PublicColumn
from .made_rows import made_rows
from .noisy_tree import Measurements, NoisyNode, is_left

VERSION = 1
MARK = "hedgerow_private_plan"


@dataclass(frozen=True)
class PrivatePlan:
    """Noisy measurements, their price, and the key that makes the rows from them; all of it may be published.

    Parameters
    ----------
    epsilon : str
        What was promised, as a fraction.
    records : int
        The most rows that were used of one person.
    columns : tuple of PublicColumn
        Quasi-identifiers first, then sensitive columns.
    order : tuple of str
        The order of the columns in the table.
    measured : Measurements
    ledger : tuple of pairs of str
        The parts of the release and what they cost, as fractions.
    row_key : str
        Public, in hexadecimal; it is used on noisy numbers alone.
    """

    epsilon: str
    records: int
    columns: tuple[PublicColumn, ...]
    order: tuple[str, ...]
    measured: Measurements
    ledger: tuple[tuple[str, str], ...]
    row_key: str
    method: str = "PrivateTree"

    @property
    def parameters(self) -> dict[str, float]:
        """Return the parameters of the method."""
        return {"epsilon": float(Fraction(self.epsilon)), "records": self.records}

    def names(self, role: str) -> list[str]:
        """Return the names of the released columns of a role."""
        return [column.name for column in self.columns if column.role == role]

    @property
    def spent(self) -> Fraction:
        """Return the epsilon spent so far: the sum of the ledger's entries."""
        return sum((Fraction(cost) for _, cost in self.ledger), Fraction(0))

    @property
    def advantage(self) -> float:
        """Return the most by which true positives of anybody's guess who took part can exceed false ones, as shares."""
        return math.tanh(float(Fraction(self.epsilon)) / 2)

    @property
    def meaning(self) -> dict[str, str]:
        """Return what its epsilon means, as text."""
        return meaning(float(Fraction(self.epsilon)))

    def rows(self) -> pa.Table:
        """Return the released rows, made from this plan alone."""
        quasi, sensitive = ([c for c in self.columns if c.role == role] for role in ("quasi", "sensitive"))
        columns = made_rows(quasi, sensitive, self.measured, bytes.fromhex(self.row_key))
        return pa.table({name: columns[name] for name in self.order})

    def checks(self) -> list[Check]:
        """Return the check that nothing was spent beyond what was promised."""
        promised = Fraction(self.epsilon)
        words = f"of 100 guesses who took part at most {self.meaning['right']} are right"
        return [Check("epsilon", float(promised), float(self.spent), self.spent <= promised, words)]

    def explain(self) -> str:
        """Return what was done and promised, in words."""
        return text("private_tree", "explain", leaves=len(self.measured.leaves), **self.meaning)

    def to_json(self) -> dict[str, object]:
        """Return the plan as plain JSON data."""
        measured = self.measured
        data = {**vars(self), "columns": [vars(column) for column in self.columns]}
        data |= {name: getattr(measured, name) for name in ("leaves", "people", "deviations")}
        data |= {n: [a.tolist() for a in getattr(measured, n)] for n in ("histograms", "marginals")}
        data["nodes"] = [[n.split, n.at, *n.children] if n.children else [] for n in measured.nodes]
        del data["measured"]
        return {MARK: VERSION, **plain(data)}

    def save(self, path: str | Path) -> None:
        """Write the plan to a file."""
        write_private(Path(path), json.dumps(self.to_json()) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a plan from a file.

        Raises
        ------
        PlanError
            It is no plan of a private release, or is damaged.
        """
        return cls.from_json(parsed(read_text(Path(path), "the plan", PlanError), str(path)))

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return a plan from plain JSON data.

        Raises
        ------
        PlanError
            It has another version, or is damaged.
        """
        if not isinstance(data, dict) or data.get(MARK) != VERSION:
            raise PlanError(f"this is no plan of a private release of version {VERSION}")
        try:
            columns = tuple(read(PublicColumn, column) for column in data["columns"])
            quasi = [column for column in columns if column.role == "quasi"]
            histograms, marginals = ([np.array(a, np.int64) for a in data[n]] for n in ("histograms", "marginals"))
            nodes, (of_people, of_leaves, of_marginals) = _nodes(quasi, data["nodes"]), data["deviations"]
            deviations = (of_people, of_leaves, of_marginals)
            measured = Measurements(nodes, data["leaves"], histograms, marginals, data["people"], deviations)
            costs = [data["epsilon"], *(cost for _, cost in data["ledger"])]
            # a fraction such as 1e999999999 is never done
            if not all(re.fullmatch(r"\d{1,99}(/[1-9]\d{0,99})?", cost) for cost in costs):
                raise ValueError
            bytes.fromhex(data["row_key"])
            if sorted(data["order"]) != sorted(c.name for c in columns if c.role in ("quasi", "sensitive")):
                raise ValueError
            return cls(
                data["epsilon"], data["records"], columns, tuple(data["order"]), measured,
                tuple((part, cost) for part, cost in data["ledger"]), data["row_key"],
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise PlanError(f"the plan is damaged: {type(error).__name__} in its records") from None


def is_private(path: Path) -> bool:
    """Return whether a file is the plan of a private release."""
    try:
        with open(path, "rb") as file:
            return MARK.encode() in file.read(len(MARK) + 8)
    except OSError:
        return False


def _nodes(quasi: list[PublicColumn], splits: list[list[int]]) -> list[NoisyNode]:
    """Return the nodes with the boxes that their splits give them."""
    boxes = {0: tuple(np.ones(column.n_bins, bool) for column in quasi)}
    nodes = []
    for i, split in enumerate(splits):
        box = boxes[i]
        if not split:
            nodes.append(NoisyNode(box))
            continue
        j, at, first, second = split
        first_side = is_left(quasi[j], box[j], at)
        for child, side in ((first, first_side), (second, ~first_side)):
            if child <= i:
                raise ValueError(child)
            boxes[child] = tuple(b & side if place == j else b for place, b in enumerate(box))
        nodes.append(NoisyNode(box, j, at, (first, second)))
    return nodes
