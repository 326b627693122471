"""What files of SPSS, Stata and SAS say beside their cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Code = float | int | str
"""What stands in a cell; a letter in a column of numbers is one of Stata's missing values."""


@dataclass(frozen=True)
class Variable:
    """What a file says of a column beside its cells.

    Parameters
    ----------
    label : str
        What the column is.
    values : mapping of code to str
        What its codes say; no text twice.
    missing : tuple of pairs of codes
        First and last of each range of values that are declared missing; text stands alone.
    form : str
        How the program shows the column.
    measure : str
        "nominal", "ordinal", "scale", or nothing.
    width : int
        Of the column as it is shown; 0 where nobody said.
    sort : str
        What arrived: "number", "text", "date", "moment" or "time".
    coded : bool
        Whether its codes arrived as categories.
    numbers : bool
        Whether a schema says that it holds numbers, though all its codes have labels.
    """

    label: str = ""
    values: Mapping[Code, str] = field(default_factory=dict)
    missing: tuple[tuple[Code, Code], ...] = ()
    form: str = ""
    measure: str = ""
    width: int = 0
    sort: str = "number"
    coded: bool = False
    numbers: bool = False

    def declared_missing(self, code: Code) -> bool:
        """Whether a cell with this code counts as missing."""
        if isinstance(code, str) and self.sort != "text":
            return True
        return any(
            isinstance(code, str) == isinstance(low, str) and low <= code <= high  # type: ignore[operator]
            for low, high in self.missing
        )

    def categorical(self, codes: Iterable[Code]) -> bool:
        """Whether these codes are categories: all have labels, and not all of them are missing."""
        return all(code in self.values or self.declared_missing(code) for code in codes) and any(
            not self.declared_missing(code) for code in self.values
        )


@dataclass(frozen=True)
class Labels:
    """What a statistical file says beside its cells.

    Parameters
    ----------
    variables : mapping of str to Variable
    whys : mapping of str to str
        By the column that says why numbers are missing, the column of these numbers.
    title : str
        What the file is called inside, which may name who made it; it is never written.
    version : int
        Of a SAS transport file: 5 or 8; 0 elsewhere.
    """

    variables: Mapping[str, Variable] = field(default_factory=dict)
    whys: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    version: int = 0

    def label(self, name: str) -> str:
        """What a column is; of a column that says why, what it says."""
        if name in self.whys:
            return f"Why {self.whys[name]} is missing"
        return self.variables[name].label if name in self.variables else ""
