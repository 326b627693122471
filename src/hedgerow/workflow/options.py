"""Options as data: what a command line, a configuration file or a page may ask for."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Option:
    """One option of a command.

    Parameters
    ----------
    name : str
        Its name in the TOML file; on the command line ``--name`` with dashes.
    type : type
        str, int, float, bool, or list (text that may be repeated or joined by commas).
    help : str
    flags : tuple of str
        Further flags, such as ``-k``.
    panel : str
        The heading that it stands below in a help text.
    """

    name: str
    type: type
    help: str
    flags: tuple[str, ...] = ()
    panel: str = ""

    @property
    def long(self) -> str:
        """The flag that spells its name."""
        return "--" + self.name.replace("_", "-")

    @property
    def switch(self) -> str:
        """The flags that spell it; a bool is switched off as well, by ``--no-name``."""
        return f"{self.long}/--no-{self.long[2:]}" if self.type is bool else self.long

    @property
    def flag(self) -> str:
        """The shortest flag that stands for it."""
        return min((*self.flags, self.long), key=len)


def under(panel: str, *options: Option) -> tuple[Option, ...]:
    """Options below one heading."""
    return tuple(replace(option, panel=panel) for option in options)


def fits(value: Any, kind: type) -> bool:
    """Whether a value has the type of an option; a list may stand as one text."""
    if kind is list:
        return isinstance(value, str) or (
            isinstance(value, list) and all(isinstance(v, str) for v in value)
        )
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def split(value: str | Sequence[str]) -> list[str]:
    """Names from repeated and comma-separated text; a name with a comma stands in quotes.

    Examples
    --------
    >>> split(["age,job", '"income, yearly"'])
    ['age', 'job', 'income, yearly']
    """
    if not isinstance(value, str) and not any('"' in text or "," in text for text in value):
        return list(value)
    names: list[str] = []
    for text in [value] if isinstance(value, str) else value:
        names += (name.strip() for name in next(csv.reader([text], skipinitialspace=True), []))
    return [name for name in names if name]


def quoted(name: str) -> str:
    """A name as `split` reads it among others.

    Examples
    --------
    >>> split(",".join(map(quoted, ["age", "income, yearly"])))
    ['age', 'income, yearly']
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([name])
    return text.getvalue()
