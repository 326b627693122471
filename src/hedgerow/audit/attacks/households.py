"""The risk that anybody of a household is found: who finds one member knows the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...measures import FloatArray
from ..pairing import Pair
from ..table_pair import Sides


@dataclass(frozen=True, eq=False)
class HouseholdRisks:
    """What every household risks.

    Parameters
    ----------
    risk : float array, shape (n_households,)
        1 - prod(1 - risk of its members).
    of_rows : float array, shape (n_rows,)
        That of each record's household.
    """

    risk: FloatArray
    of_rows: FloatArray

    def to_json(self) -> dict[str, float]:
        """In a few numbers."""
        return {
            "households": len(self.risk),
            "highest": float(self.risk.max()),
            "average": float(self.risk.mean()),
            "expected": float(self.risk.sum()),
            "expected_records": float(self.of_rows.sum()),
        }


def household_risks(sides: Sides, risk: FloatArray) -> HouseholdRisks | None:
    """The risks of households from those of records; None where nobody says who lives together.

    Members are taken to be found independently of each other; a person of several records is
    found by the record that risks most.

    Parameters
    ----------
    sides : Sides
    risk : float array, shape (n_rows,)
        The risk of each record of being found.

    References
    ----------
    A. Hundepool et al. (2008), mu-Argus user's manual, section 2.3: household risk.
    """
    persons = sides.persons
    if not isinstance(sides, Pair) or persons is None or persons.homes is None:
        return None
    homes, n = persons.homes[persons.codes], persons.counted
    own, members = homes, risk
    if persons.unit is not None:
        members = np.zeros(persons.n)
        np.maximum.at(members, persons.codes, risk)
        own = persons.homes
        there = np.zeros(persons.n, np.bool_)
        there[persons.codes] = True
        own, members = own[there], members[there]
    with np.errstate(divide="ignore"):
        nobody = np.bincount(own, np.log1p(-np.minimum(members, 1.0)), n)
    found = -np.expm1(nobody)
    return HouseholdRisks(found[np.bincount(homes, minlength=n) > 0], found[homes])


def told(sides: Sides, risk: FloatArray) -> dict[str, Any] | None:
    """`household_risks` in a few numbers; None where there are none."""
    found = household_risks(sides, risk)
    return None if found is None else found.to_json()
