"""The data of Li & Sarkar's experiments: roles, and the hierarchies that the baselines need.

The papers do not print their hierarchies. These are written from the meaning of
the values, before any result was seen: value, group, ``*``; columns that are not
named have value and ``*`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.columns.column import Column
from hedgerow.columns.table import Table
from hedgerow.datasets import load_alcohol, load_census_income, load_german_credit
from hedgerow.hierarchy import TOP, Hierarchy
from hedgerow.io.read import read
from hedgerow.schema import Schema

Groups = Mapping[str, Sequence[str]]

GERMAN: dict[str, Groups] = {
    "status_checking_account": {"account": ("A11", "A12", "A13"), "none": ("A14",)},
    "credit_history": {"in order": ("A30", "A31", "A32"), "troubled": ("A33", "A34")},
    "purpose": {
        "car": ("A40", "A41"),
        "home": ("A42", "A43", "A44", "A45"),
        "person": ("A46", "A47", "A48"),
        "work": ("A49", "A410"),
    },
    "savings_account_bonds": {"low": ("A61", "A62"), "high": ("A63", "A64"), "unknown": ("A65",)},
    "employment_since": {"up to 4 years": ("A71", "A72", "A73"), "longer": ("A74", "A75")},
    "personal_status_sex": {"male": ("A91", "A93", "A94"), "female": ("A92", "A95")},
    "other_debtors": {"none": ("A101",), "some": ("A102", "A103")},
    "property": {"owner": ("A121", "A122", "A123"), "none": ("A124",)},
    "other_installment_plans": {"some": ("A141", "A142"), "none": ("A143",)},
    "housing": {"own": ("A152",), "other": ("A151", "A153")},
    "job": {"unskilled": ("A171", "A172"), "skilled": ("A173", "A174")},
}

ALCOHOL: dict[str, Groups] = {
    "age": {"up to 40": ("<=30", "<=40"), "41 to 60": ("<=50", "<=60"), "over 60": ("<=70", ">70")},
    "race": {"white": ("white",), "other": ("black", "other")},
    "marital": {"married": ("married",), "unmarried": ("separated", "single", "widow")},
    "region": {"north": ("midwest", "northeast"), "south and west": ("south", "west")},
    "empstatus": {"employed": ("emp",), "not employed": ("unemp", "other")},
    "limits": {"none": ("none",), "limited": ("some", "major")},
}

CENSUS: dict[str, Groups] = {
    "race": {
        "White": ("White",),
        "other": ("Black", "Asian or Pacific Islander", "Other", "Amer Indian Aleut or Eskimo"),
    },
    "education": {
        "child": ("Children",),
        "no diploma": (
            "Less than 1st grade",
            "1st 2nd 3rd or 4th grade",
            "5th or 6th grade",
            "7th and 8th grade",
            "9th grade",
            "10th grade",
            "11th grade",
            "12th grade no diploma",
        ),
        "high school": ("High school graduate", "Some college but no degree"),
        "associate": ("Associates degree-occup /vocational", "Associates degree-academic program"),
        "degree": (
            "Bachelors degree(BA AB BS)",
            "Masters degree(MA MS MEng MEd MSW MBA)",
            "Prof school degree (MD DDS DVM LLB JD)",
            "Doctorate degree(PhD EdD)",
        ),
    },
    "major_occupation_code": {
        "Not in universe": ("Not in universe",),
        "managerial and professional": ("Executive admin and managerial", "Professional specialty"),
        "technical, sales and clerical": ("Technicians and related support", "Sales", "Adm support including clerical"),
        "service": ("Private household services", "Protective services", "Other service"),
        "production and transport": (
            "Precision production craft & repair",
            "Machine operators assmblrs & inspctrs",
            "Transportation and material moving",
            "Handlers equip cleaners etc",
        ),
        "farming and forces": ("Farming forestry and fishing", "Armed Forces"),
    },
    "marital_stat": {
        "married": ("Married-civilian spouse present", "Married-spouse absent", "Married-A F spouse present"),
        "once married": ("Divorced", "Separated", "Widowed"),
        "never": ("Never married",),
    },
}

FLAGS = ("advice", "medicare", "medicaid", "champus", "hlthins", "regmed", "dri", "diabete", "hearthcond", "stroke")
"""Columns of Alcohol that are 0 or 1: categories."""


def two_levels(values: Sequence[str], groups: Groups | None) -> Hierarchy:
    """Value, group, ``*``; or value, ``*`` where there are no groups."""
    if groups is None:
        return Hierarchy({v: (v, TOP) for v in values})
    above = {value: group for group, members in groups.items() for value in members}
    # A group's label must differ from its values' labels, or a recoded cell would be ambiguous.
    return Hierarchy({v: (v, f"{above[v]} (group)", TOP) for v in values})


@dataclass(frozen=True)
class Experiment:
    """A data set with its roles.

    Parameters
    ----------
    name : str
    table : pyarrow.Table
        Quasi-identifiers and responses alone.
    schema : Schema
    hierarchies : mapping of str to Hierarchy
        Of the categorical quasi-identifiers.
    """

    name: str
    table: pa.Table
    schema: Schema
    hierarchies: Mapping[str, Hierarchy]

    @property
    def responses(self) -> NDArray[np.float64]:
        """The sensitive columns, shape (n, r)."""
        return np.stack(
            [np.asarray(self.table.column(name).to_numpy(), np.float64) for name in self.schema.sensitive], axis=1
        )

    @cached_property
    def people(self) -> Table:
        """The table, read: its columns are encoded once."""
        return read(self.table)

    @property
    def columns(self) -> list[Column]:
        """The encoded quasi-identifiers."""
        kinds = self.schema.kinds
        return [self.people.column(name, kind=kinds.get(name)) for name in self.schema.quasi]


def german_credit() -> Experiment:
    """Credit: duration, installment rate and amount; the class is not among the 20 attributes."""
    sensitive = ("duration_months", "installment_rate_pct", "credit_amount")
    table = load_german_credit().drop_columns(["class"])
    return _experiment("German Credit", table, sensitive, GERMAN, ())


def alcohol() -> Experiment:
    """Alcohol: drinks in two weeks, and income; the insurance flags are kept as they are."""
    return _experiment("Alcohol", load_alcohol(), ("drinks", "income"), ALCOHOL, FLAGS)


def census() -> Experiment:
    """Census-Income: the 95,130 complete records; occupation is the major occupation code."""
    quasi = ["age", "sex", "race", "education", "major_occupation_code", "marital_stat"]
    table = load_census_income().select([*quasi, "wage_per_hour"])
    return _experiment("Census-Income", table, ("wage_per_hour",), CENSUS, ())


def age_hierarchy(ages: Sequence[float]) -> Hierarchy:
    """Age by 5, 10, 20 and 40 years, then ``*``: for Datafly, which needs one."""
    return Hierarchy(
        {
            str(int(a)): (
                str(int(a)),
                *(f"[{int(a) // w * w}-{int(a) // w * w + w - 1}]" for w in (5, 10, 20, 40)),
                TOP,
            )
            for a in ages
        }
    )


def _experiment(
    name: str, table: pa.Table, sensitive: Sequence[str], groups: Mapping[str, Groups], flags: Sequence[str]
) -> Experiment:
    quasi = tuple(c for c in table.column_names if c not in sensitive)
    kinds: dict[str, Any] = dict.fromkeys(flags, "categorical")
    schema = Schema(quasi=quasi, sensitive=tuple(sensitive), kinds=kinds)
    people = read(table)
    hierarchies = {}
    for column in quasi:
        if kinds.get(column, people.kind(column)) != "numeric":
            values = people.column(column, kind=kinds.get(column)).values
            hierarchies[column] = two_levels(values, groups.get(column))
    return Experiment(name, table, schema, hierarchies)
