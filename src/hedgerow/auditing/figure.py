"""A figure of an audit: where it stands, what it needs, how it is measured and how a reader sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

# what is measured on a sample, if there is one
ON_SAMPLE = ("attacks", "inference", "learning")


class Definition(NamedTuple):
    """The definition of one number: its name, its path, its unit and meaning.

    In the rows of a `Figure` the path begins at the audit; where a table shows original and release, at one side.
    """

    name: str
    path: tuple[str, ...]
    unit: str
    says: str = ""


@dataclass(frozen=True)
class Figure:
    """One figure of an audit, declared beside the function that measures it.

    Parameters
    ----------
    gives : mapping of str to type
        Its place in the audit, such as "risk.equal" or "utility.loss", and its type there, from which the JSON
        schema is made. Several places if it returns several values. Results for "attacks" are added to the
        earlier ones. Parts other than these have the keys of `AuditData` and no others.
    of : callable
        Function that measures it for a `Task`.
    needs : sequence of str
        Requirements (`Task.there`); if one is not met, the figure is left out.
    says : str
        The step to report before it is measured.
    parallel : bool
        Whether it is measured at the same time as the next figure: numpy releases the interpreter lock
        most of the time.
    empty : object
        Its value if it was not measured.
    is_listed : bool
        Whether the audit has its key if it was not measured.
    rows : sequence of Definition
        Its numbers for a reader of the summary and of the steward's page, if no table there has them.
    """

    gives: Mapping[str, Any]
    of: Callable[[Any], Any]
    needs: Sequence[str] = ()
    says: str = ""
    parallel: bool = False
    empty: Any = None
    is_listed: bool = True
    rows: Sequence[Definition] = ()

    def measured(self, task: Any) -> Any:
        """Measure the figure for a task, on the sample if it needs attacks or learners."""
        return self.of(task.on_sample if set(self.needs) & set(ON_SAMPLE) else task)
