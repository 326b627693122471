"""What a table gives away as it is, before anything protects it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..columns.roles import refuse_repeated
from ..columns.table import Table
from ..measures import sizes
from ..notation import plain
from ..progress import Progress, telling
from ..schema import Schema
from .attacks.influence import influence
from .attacks.regression import regression
from .pairing import check_measured
from .table_pair import Pair

LEARNER = ("tree",)
"""Who attacks before a method was chosen: the regression tree that the papers ask."""
PEOPLE = 500
THRESHOLD = 0.2


@dataclass(frozen=True, repr=False)
class Unprotected:
    """What a table gives away as it is: counts and shares, no value of a person.

    Parameters
    ----------
    rows : int
    quasi, sensitive : tuples of str
    classes : mapping
        How many records share all quasi-identifiers; see `hedgerow.measures.sizes.SizeSummary`.
    reidentification : mapping
        What the sizes say of finding a person's record.
    attacks : sequence of mapping, optional
        A regression tree on every sensitive column: ``success`` on people of the table, ``control``
        with their own rows withheld, and ``public_best``, what public totals give. None where
        nobody asked, or no column is sensitive.
    influence : sequence of mapping, optional
        Which quasi-identifiers carry it; largest share first.
    """

    rows: int
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    classes: dict[str, Any]
    reidentification: dict[str, Any]
    attacks: Sequence[dict[str, Any]] | None = None
    influence: Sequence[dict[str, Any]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        made: dict[str, Any] = plain(vars(self))
        return made

    def __repr__(self) -> str:
        alone = self.classes["uniques"]
        return f"Unprotected({self.rows:,} records, {alone:,} alone in their group)"


def unprotected(
    table: Table,
    schema: Schema,
    *,
    attacks: bool = True,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Unprotected:
    """Measure a table as if it were released as it is.

    Parameters
    ----------
    table : Table
    schema : Schema
        Who may know what, and what must not be inferred.
    attacks : bool
        Also let a regression tree attack every sensitive column.
    random_state : int
        For who is asked, and bootstrap intervals.
    progress : callable, optional

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hedgerow.io.read import read
    >>> people = read(pa.table({"age": [30, 30, 40], "income": [2100, 2300, 1900]}))
    >>> schema = Schema(quasi=["age"], sensitive=["income"])
    >>> unprotected(people, schema, attacks=False)
    Unprotected(3 records, 1 alone in their group)
    """
    tell = telling(progress)
    tell("counting who is alone", None)
    refuse_repeated(table, schema)
    pair = as_it_is(table, schema)
    groups = pair.classes
    people = None if pair.persons is None else pair.people_in(groups)
    found: dict[str, Any] = {
        "rows": table.n_rows,
        "quasi": schema.quasi,
        "sensitive": schema.sensitive,
        "classes": sizes.summary(groups.sizes).to_json(),
        "reidentification": sizes.attackers(groups.sizes, None, THRESHOLD, people)
        | {"threshold": THRESHOLD},
    }
    if not attacks or not schema.sensitive:
        return Unprotected(**found)
    tried = regression(
        pair,
        learners=LEARNER,
        people=PEOPLE,
        random_state=random_state,
        progress=lambda text, share=None: tell(text, share),
    )
    tell("which columns give people away", None)
    return Unprotected(**found, attacks=tried, influence=influence(pair))


def as_it_is(table: Table, schema: Schema) -> Pair:
    """A table beside itself.

    Raises
    ------
    SchemaError
        It lacks columns of the schema, or the schema names no quasi-identifier.
    """
    schema.check(table.names)
    check_measured(schema, table, "table")
    quasi = tuple(table.declared_column(schema, name) for name in schema.quasi)
    sensitive = tuple(table.declared_column(schema, name) for name in schema.sensitive)
    return Pair.of_itself(schema, table, quasi, sensitive)
