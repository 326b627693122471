"""Describe each column of a table: its role, kind, categories and hierarchy."""

from __future__ import annotations

import codecs
import datetime as dt
import json
import math
import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, get_args

from .errors import ParameterError, SchemaError, did_you_mean
from .files import read_text
from .hierarchy import Hierarchy
from .notation import number
from .rules import ColumnRule, parse_rules
from .texts import parsed_toml, refusal
from .validation import LIST, MAPPING, NAMES, PATH, one_of, takes

_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}


@dataclass(frozen=True)
class Event:
    """A condition on a number, such as "> 200000".

    Parameters
    ----------
    sign : {"<", "<=", ">", ">=", "="}
    bound : Decimal
        The bound, exactly as written.
    """

    sign: str
    bound: Decimal

    @classmethod
    def parse(cls, column: str, text: str) -> Event:
        """Parse an event from text; raise SchemaError if it is none."""
        match = re.fullmatch(r"\s*(<=|>=|<|>|=)\s*(.+?)\s*", str(text))
        try:
            bound = Decimal(match[2] if match else "nan")
            near = float(bound)
        except (ValueError, InvalidOperation):  # of no number, of a signalling NaN
            bound, near = Decimal(0), math.nan
        # a bound that is 0 as a double only would be compared wrongly
        if not match or not math.isfinite(near) or bool(near) != bool(bound):
            raise SchemaError(
                f"an event of column {column!r} is not a sign and a number",
                hint='write for example events = {"income": ["> 200000"]}',
            )
        return cls(match[1], bound)

    def holds(self, value: Any) -> bool:
        """Return whether a number meets the condition; doubles are compared with the bound as a double."""
        bound = float(self.bound) if isinstance(value, float) else self.bound
        return bool(_SIGNS[self.sign](value, bound))

    @property
    def text(self) -> str:
        """Return the event as text."""
        return f"{self.sign} {number(self.bound)}"


class Points(tuple[Any, ...]):
    """The cut points of a grid as a tuple: numbers, or dates as ISO text."""

    __slots__ = ()


MOST_POINTS = 65_000


def points_of(name: str, declared: Any) -> Points:
    """Return a grid's cut points in ascending order: numbers, or dates as ISO text."""
    hint = (
        'write grid={"age": (0, 85, 5)}, "0:85:5", or grid={"age": [0, 18, 25, 85]}; dates are '
        'listed: grid={"day": ["2020-01-01", "2020-07-01"]}, --grid day=2020-01-01,2020-07-01'
    )

    def fault(words: str, advice: str = hint) -> SchemaError:
        return SchemaError(f"the grid of column {name!r} {words}", hint=advice)

    if isinstance(declared, Points):
        return declared
    if isinstance(declared, str) and re.fullmatch(r"[^:]+:[^:]+:[^:]+", declared):
        try:
            declared = tuple(float(part) for part in declared.split(":"))
        except ValueError:
            declared = ""
    if not LIST.fits(declared):
        raise fault("is not a list of cut points")
    points = tuple(declared)
    if isinstance(declared, tuple) and len(points) == 3 and all(map(_is_number, points)):
        first, last, step = points
        if 0 < last - first < step:
            raise fault("steps over its last point; three cut points are a list")
        if step <= 0 or last < first:
            raise fault("has no points from first to last")
        # 0.3 / 0.1 is below 3, and a tiny step gives an infinite quotient
        count = math.floor(min((last - first) / step, 1e18) + 1e-9)
        if count > MOST_POINTS:
            words = f"has {count:,} points; at most {MOST_POINTS:,} are cut at"
            raise fault(words, "take a larger step")
        points = tuple(first + i * step for i in range(count + 1))
        # 3 * 0.1 is meant as 0.3
        points = tuple(p if isinstance(p, int) else float(f"{p:.15g}") for p in points)
    texts = all(isinstance(p, (str, dt.date)) for p in points)
    moments: Sequence[Any] = points
    if not points or not (texts or all(map(_is_number, points))):
        raise fault("is not a list of cut points")
    if texts:
        points = tuple(p if isinstance(p, str) else p.isoformat() for p in points)
        try:
            moments = [dt.datetime.fromisoformat(p) for p in points]
        except ValueError:
            raise fault("holds text that is no date") from None
        if len({moment.tzinfo is None for moment in moments}) > 1:
            raise fault("has points with and without a time zone")
    if not all(a < b for a, b in pairwise(moments)):
        raise fault("does not increase")
    return Points(points)


def _bounds(name: str, declared: Any) -> Points:
    """Return the least and the greatest value of a column as two points."""
    with suppress(SchemaError):  # whose words are about grids
        if LIST.fits(declared) and len(ends := list(declared)) == 2:
            return points_of(name, ends)
    words = f"the bounds of column {name!r} must be two numbers or two dates, the smaller first"
    raise SchemaError(words, hint='write for example bounds={"income": (0, 1_000_000)}, --bounds income=0:1000000')


def _is_number(value: Any) -> bool:
    # compared, because a whole number may be too large to be made a double
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


Kind = Literal["numeric", "categorical", "ordinal", "date", "boolean"]
Role = Literal["identifier", "quasi", "sensitive", "other", "undeclared"]
KINDS: tuple[str, ...] = get_args(Kind)
ROLES: tuple[str, ...] = get_args(Role)


class _Unsaid(Enum):
    """A marker for a question that the schema leaves unanswered."""

    UNSAID = "unsaid"

    def __repr__(self) -> str:
        return "UNSAID"


# Nobody said who a person is; `None` says that every row is one.
UNSAID: Final = _Unsaid.UNSAID

REST = ("drop", "release")
# How TOML and the command line say that every row is a person.
EVERY_ROW = "(every row)"
# Single columns that say which of the rows of one person or household a row is.
LONG = ("wave", "member", "time")
# Single columns that tell of a survey who belongs together, for how many a record stands, and which row of them it is.
SURVEY = ("household", "weight", *LONG)
# Fields that say how a text file is read.
READING = ("missing", "decimal", "encoding")
# What a schema says column by column, in TOML as tables.
TABLES = ("kinds", "categories", "grid", "bounds", "events", "follows", "rare", "determines")
# Conditions of several columns.
CONDITIONS = ("rules", "tolerated")
# how pandas prints a column's name of several levels, in quotes
_LEVELS = "\"('"

# The role that each of these fields gives to the columns it names.
ROLE_FIELDS = {"quasi": "quasi", "sensitive": "sensitive", "identifiers": "identifier", "other": "other"}


def _names(value: Iterable[str] | str | None, field: str, what: str = "column names") -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not LIST.fits(value):
        raise SchemaError(**refusal("list", "schema", field=field, what=what))
    return tuple(map(str, value))


def _word(value: Any) -> str:
    """Return a word as it is; of anything else only its type, for an array may hold the data."""
    return value if isinstance(value, str) else type(value).__name__


def _events(name: str, declared: Any) -> tuple[str, ...]:
    """Return the events of a column in their usual spelling; one may stand alone."""
    events = [declared] if isinstance(declared, str) else declared
    if not LIST.fits(events):
        raise SchemaError(
            f"the events of column {name!r} are not a list", hint='write for example events = {"income": ["> 200000"]}'
        )
    return tuple(Event.parse(name, event).text for event in events)


def _determined(name: str, declared: Any) -> tuple[str, ...]:
    """Return the columns that a column determines; one may stand alone."""
    others = [declared] if isinstance(declared, str) else declared
    if not LIST.fits(others) or isinstance(others, (set, frozenset)) or not all(isinstance(o, str) for o in others):
        raise SchemaError(
            f"what column {name!r} determines is not the name of a column, or a list of names",
            hint='write for example determines = {"city": "land"}',
        )
    return tuple(others)


def _categories(name: str, declared: Any) -> tuple[str, ...]:
    """Return the categories of a column as texts, in their order, which a set does not have."""
    labels = list(declared) if LIST.fits(declared) and not isinstance(declared, (set, frozenset)) else [None]
    return _labels(labels, "categories", name)


def _labels(labels: Iterable[Any], key: str, name: str) -> tuple[str, ...]:
    """Return labels as texts; raise SchemaError with the words of `key` if one is missing or is itself a list."""
    texts = []
    for label in labels:
        is_missing = label is None or (isinstance(label, float) and math.isnan(label))
        if is_missing or (isinstance(label, Iterable) and not isinstance(label, str)):
            raise SchemaError(**refusal(key, "schema", name=name))
        texts.append(str(label))
    return tuple(texts)


def _hierarchy(name: str, declared: Any, encoding: str = "") -> Hierarchy:
    """Return the hierarchy of a column, which may be declared as a CSV file or as the paths of its values."""
    if isinstance(declared, Hierarchy):
        return declared
    paths: dict[str, tuple[str, ...]] | None = None
    if isinstance(declared, Mapping) and all(isinstance(path, (list, tuple)) for path in declared.values()):
        paths = {str(value): _labels(path, "hierarchy", name) for value, path in declared.items()}
    elif not PATH.fits(declared):
        raise SchemaError(**refusal("hierarchy", "schema", name=name))
    try:
        return Hierarchy.from_csv(declared, encoding=encoding) if paths is None else Hierarchy(paths)
    except SchemaError as error:
        raise SchemaError(f"column {name!r}: {error.message}", hint=error.hint) from None


@dataclass(frozen=True)
class Schema:
    """The roles and kinds of a table's columns.

    Columns without a role are *undeclared*: nobody decided what they reveal, so they are left out
    and listed, unless `rest` says otherwise.

    Parameters
    ----------
    quasi : sequence of str
        Quasi-identifiers: what an intruder may know. These are recoded.
    sensitive : sequence of str
        What an intruder wants to know. Released unchanged by most methods.
    identifiers : sequence of str
        Direct identifiers. Dropped from the release.
    other : sequence of str
        Harmless columns that are neither: released unchanged.
    kinds : mapping of str to {"numeric", "categorical", "ordinal", "date", "boolean"}
        The kinds of columns whose type in the table does not show their meaning.
    categories : mapping of str to sequence of str
        Declared category order (it decides the order of concatenated values,
        and makes an ordinal column's categories comparable).
    hierarchies : mapping of str to Hierarchy, path or mapping
        Value generalisation hierarchies: each a `Hierarchy`, the path of a CSV file that `Hierarchy.from_csv` reads,
        or every value's path to the top, such as ``{"nurse": ["nurse", "health", "*"]}``.
    unit : str or None, optional
        The column that identifies a person (usually an identifier), where
        people have several records: k then counts people. None says that every
        row is a person. Without `unit`, a table whose identifiers repeat is refused.
    household : str, optional
        The column that identifies people who live together (or otherwise know each other well): a
        group then needs people of k distinct households. The column is left out of every release, since
        the size and the members of a household can identify people.
    together : bool, default False
        Recode whole households to one cell: all members get the same released quasi-identifiers, so
        groups are split only by what every household shares, such as its region.
    weight : str, optional
        The column of sampling weights: the number of people in the population that a record
        represents. Risks and estimates use it. Unless it has another role, each group gets its mean weight
        where a guard hides exact values, and otherwise it is released unchanged. A weight among `other`
        is always released unchanged.
    wave : str, optional
        The column that says which survey or year a row is from, where people (`unit`) have one row in each: a panel.
        At most one of wave, member and time is given.
    member : str, optional
        The column that says who of a household (of a `unit`, if no household is given) a row is: a line number, or
        a relation such as head, spouse or child.
    time : str, optional
        The column of dates, times or numbers that orders the rows of a person (`unit`), such as visits.
    grid : mapping of str to sequence
        Public cut points of numbers and dates: ``(first, last, step)`` as a tuple, or a list of
        increasing points. Groups are split only at these points, ranges lie between them, and the
        ends are open. Times without an offset are in the column's time zone.
    bounds : mapping of str to pair
        Public least and greatest values of numbers and dates, such as ``{"income": (0, 1_000_000)}``;
        two whole numbers say that the column has whole numbers alone. `PrivateTree` needs them.
    events : mapping of str to sequence of str
        Events of a sensitive number that must not be disclosed either, such as ``{"income": [">
        200000"]}``: each is measured like a separate yes/no column.
    follows : mapping of str to str
        Columns that move with another of the same role, such as ``{"tax": "income"}``. Where values are drawn, each
        value of tax is that of somebody with nearly the same income; with the same category, if income were one.
    rare : mapping of str to str
        What categories are released as that too few people have, such as ``{"industry": "99"}``; by default the
        beginning that codes share (``011**``), else ``(other)``, and in columns of whole numbers missing.
    rules : sequence of str
        Conditions of columns that hold in every record, in SQL's words, such as ``"discharge >= admit"``,
        ``"total = rent + food"`` or ``"age >= 15 OR job = 'none'"``. Drawn rows keep them; other releases say how many
        rows break them. A missing value breaks no rule, and numbers count to the last decimal of their column.
    tolerated : sequence of str
        Conditions that some records break: no more rows of a release do.
    determines : mapping of str to str, or sequence of str
        Columns whose value decides that of others, such as ``{"city": "land"}``.
    rest : {"drop", "release"}
        Treatment of undeclared columns. "release" treats them as `other`, but refuses those that
        look like identifiers.
    missing : sequence of str
        Words for missing values in a CSV file, in all of its columns, such as ``["k.A.", "-"]``. In
        columns of numbers and dates the usual words are recognised anyway.
    decimal : {"", ",", "."}
        The decimal separator of a CSV file, for numbers that can be read in two ways: with "," the
        text 22.807 is a whole number. Left out, it is inferred from the other columns. A column that
        has such numbers beside some with the other sign is refused.
    encoding : str
        The encoding of a CSV file that is not UTF-8 and has no byte order mark, such as
        ``"cp1252"`` (Windows-1252, which is assumed with a caution if it is left out) or
        ``"iso8859-15"``.

    Raises
    ------
    SchemaError
        A column has two roles or is named twice in one; a kind is unknown; a wave, member or time without a unit.

    Examples
    --------
    >>> schema = Schema(quasi=["age", "job"], sensitive="income", identifiers=["name"])
    >>> schema.role("income"), schema.role("age"), schema.role("height")
    ('sensitive', 'quasi', 'undeclared')
    """

    quasi: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    identifiers: Sequence[str] = ()
    other: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    unit: str | _Unsaid | None = UNSAID
    household: str | None = None
    together: bool = False
    weight: str | None = None
    wave: str | None = None
    member: str | None = None
    time: str | None = None
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    bounds: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    events: Mapping[str, Sequence[str]] = field(default_factory=dict)
    follows: Mapping[str, str] = field(default_factory=dict)
    rare: Mapping[str, str] = field(default_factory=dict)
    rules: Sequence[str] = ()
    tolerated: Sequence[str] = ()
    determines: Mapping[str, Sequence[str] | str] = field(default_factory=dict)
    rest: str = "drop"
    missing: Sequence[str] = ()
    decimal: str = ""
    encoding: str = ""

    def __post_init__(self) -> None:
        faults: list[dict[str, str]] = []

        def fault(key: str, **values: Any) -> None:
            faults.append(refusal(key, "schema", **values))

        roles: dict[str, str] = {}
        clean: dict[str, Any] = {}
        for attribute, role in ROLE_FIELDS.items():
            clean[attribute] = _names(getattr(self, attribute), attribute)
            for name in clean[attribute]:
                if name in roles:
                    key = "twice" if roles[name] == role else "roles"
                    fault(key, name=name, role=roles[name], other=role)
                roles[name] = role
        reads: dict[str, Callable[[str, Any], Any]] = {
            "categories": _categories,
            "hierarchies": partial(_hierarchy, encoding=_word(self.encoding)),
            "grid": points_of,
            "bounds": _bounds,
            "events": _events,
            "determines": _determined,
            "rare": lambda name, text: _labels([None if isinstance(text, str) and not text else text], "rare", name)[0],
        }
        for part in (*TABLES, "hierarchies"):
            if not isinstance(entries := getattr(self, part), Mapping):
                raise SchemaError(f"{part} must say something for each column it names")
            read = reads.get(part)
            named = {str(name): read(str(name), entry) if read else entry for name, entry in entries.items()}
            # a frozen dataclass sets its fields by no other way
            object.__setattr__(self, part, named)
        for name, kind in self.kinds.items():
            if (kind := _word(kind)) not in KINDS:
                fault("kind", name=name, kind=kind, similar=did_you_mean(kind, KINDS), kinds=", ".join(KINDS))
        clean["missing"] = _names(self.missing, "missing", "words")
        for part in CONDITIONS:
            texts = _names(getattr(self, part), part, "conditions")
            clean[part] = tuple(dict.fromkeys(map(str, parse_rules(texts))))
        for name in self.events:
            if name not in clean["sensitive"]:
                fault("events", name=name)
        if (rest := _word(self.rest)) not in REST:
            fault("rest", rest=rest)
        if not all(word.strip() for word in clean["missing"]):
            fault("missing")
        if (decimal := _word(self.decimal)) not in ("", ",", "."):
            fault("decimal", decimal=decimal)
        encoding = _word(self.encoding)
        try:
            "".encode(encoding or "utf-8")  # some codecs are of no text
            clean["encoding"] = encoding and codecs.lookup(encoding).name
        except (LookupError, TypeError, ValueError):
            fault("encoding", encoding=encoding)
        if not isinstance(self.unit, (str, _Unsaid, type(None))):
            fault("no_column", part="unit")
        elif isinstance(self.unit, str) and roles.get(self.unit) in ("quasi", "sensitive"):
            fault("named", part="unit", name=self.unit, role=roles[self.unit])
        for key, values in self._faults_of_survey(roles):
            fault(key, **values)
        for key, values in self._faults_of_long(roles):
            fault(key, **values)
        for name, leader in self.follows.items():
            if not isinstance(leader, str):
                fault("no_leader", name=name)
            elif name in self.leaders(name):
                fault("circle", name=name, through=f" through {leader!r}" if leader != name else "")
            elif roles.get(name) not in ("quasi", "sensitive") or roles.get(leader) != roles[name]:
                similar = "".join(did_you_mean(n, roles) for n in (name, leader) if n not in roles)
                fault("follows", name=name, leader=leader, similar=similar)
        for name, others in self.determines.items():
            if wrong := [other for other in (name, *others) if other not in roles or others.count(name)]:
                fault("determines", name=name, other=wrong[0], similar=did_you_mean(wrong[0], roles))
        for name, order in self.categories.items():
            if len(set(order)) != len(order):
                fault("category", name=name)
        if faults:
            messages, hints = (dict.fromkeys(each[part] for each in faults) for part in ("message", "hint"))
            raise SchemaError(f"the schema cannot be used: {'; '.join(messages)}", hint="; ".join(hints))
        for attribute, value in clean.items():
            object.__setattr__(self, attribute, value)

    def _faults_of_survey(self, roles: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, object]]]:
        """Yield the faults in the declared household and weight, each as the key and the values of its words."""
        wrong = [part for part in SURVEY if not isinstance(getattr(self, part), (str, type(None)))]
        yield from (("no_column", {"part": part}) for part in wrong)
        if wrong:
            return
        if not isinstance(self.together, bool):
            yield "together", {}
        elif self.together and self.household is None:
            yield "no_household", {}
        role = roles.get(str(self.household), "identifier")
        if self.household is not None and role != "identifier":
            yield "household", {"name": self.household, "role": role}
        if self.household is not None and self.household in (self.person, self.weight):
            yield "named", {"part": "household", "name": self.household, "role": "the unit or the weight"}
        if self.weight is not None and self.weight == self.person:
            yield "named", {"part": "weight", "name": self.weight, "role": "the unit"}
        # a sensitive weight would be drawn anew, or tell what it must not
        if self.weight is not None and (role := roles.get(self.weight, "")) in ("identifier", "sensitive"):
            yield "weight", {"name": self.weight, "role": role}

    def _faults_of_long(self, roles: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, object]]]:
        """Yield the faults in the declared wave, member and time, each as the key and the values of its words."""
        parts = [part for part in LONG if isinstance(getattr(self, part), str)]
        if len(parts) > 1:
            yield "long", {"parts": " and ".join(parts)}
        for part in parts:
            name = getattr(self, part)
            if self.unit_column is None:
                yield "no_unit", {"part": part, "needed": "household, or a unit," if part == "member" else "unit"}
            others = {self.person: "the unit", self.household: "the household", self.weight: "the weight"}
            role = others.get(name, "identifier" if roles.get(name) == "identifier" else "")
            if role:
                yield "named", {"part": part, "name": name, "role": role}

    @property
    def is_long(self) -> bool:
        """Return whether people or households have several rows, which a wave, a member or a time tells apart."""
        return any(getattr(self, part) is not None for part in LONG)

    @property
    def unit_column(self) -> str | None:
        """Return the column that identifies whom the rows of a long table belong to; None if the table is not long."""
        if not self.is_long:
            return None
        return self.person if self.member is None or self.household is None else self.household

    def all_rules(self) -> list[ColumnRule]:
        """Return the conditions and the columns that determine others, as rules."""
        pairs = [(name, other) for name, others in self.determines.items() for other in others]
        rules = [*parse_rules(self.rules), *parse_rules(self.tolerated, tolerated=True)]
        return [*rules, *(ColumnRule(determines=pair) for pair in pairs)]

    def leaders(self, name: str) -> list[str]:
        """Return the columns that a column follows, the next one first."""
        chain = [name]
        while isinstance(leader := self.follows.get(chain[-1]), str) and leader not in chain[1:]:
            chain.append(leader)
        return chain[1:]

    def __repr__(self) -> str:
        """Return the schema as a call that shows only the fields that were set."""
        values = {name: list(v) if isinstance(v, tuple) else v for name, v in self.changed().items()}
        return f"Schema({', '.join(f'{name}={value!r}' for name, value in values.items())})"

    def changed(self) -> dict[str, Any]:
        """Return the fields that differ from those of an empty schema, by name."""
        empty = Schema()
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value != getattr(empty, name)}

    def role(self, name: str) -> Role:
        """Return a column's role; "undeclared" if the schema does not name it.

        A unit without another role is an identifier, and so is the household; a weight without
        another role is "other". With ``rest="release"`` undeclared columns are "other".
        """
        if name in self.quasi:
            return "quasi"
        if name in self.sensitive:
            return "sensitive"
        # a column of persons or households identifies people, unless it is declared harmless
        named = name in (self.unit, self.household)
        if name in self.identifiers or (named and name not in self.other):
            return "identifier"
        is_other = name in self.other or name == self.weight or self.rest == "release"
        return "other" if is_other else "undeclared"

    @property
    def hidden_weight(self) -> str | None:
        """Return the weight that a guard hides; None if there is none, or if it has a role of its own."""
        return None if self.weight in self._named() else self.weight

    def _named(self) -> list[str]:
        """Return the columns that the schema names in a role, in the order of the roles."""
        return [name for attribute in ROLE_FIELDS for name in getattr(self, attribute)]

    @property
    def person(self) -> str | None:
        """Return the column that identifies a person; None if every row counts as one person."""
        return self.unit if isinstance(self.unit, str) else None

    def undeclared(self, columns: Sequence[str]) -> list[str]:
        """Return the columns of a table to which the schema gives no role."""
        named = {*self._named(), self.person, *(getattr(self, part) for part in SURVEY)}
        return [name for name in columns if name not in named]

    def check_quasi(self) -> None:
        """Raise ParameterError if the schema names no quasi-identifier."""
        if not self.quasi:
            raise ParameterError(
                "the schema names no quasi-identifier, so there is nothing to protect",
                hint="name what an intruder may know: Schema(quasi=[...]), --quasi age,education "
                "(hedgerow inspect proposes some)",
            )

    @takes(columns=NAMES)
    def check(self, columns: Sequence[str]) -> None:
        """Raise one SchemaError that lists all missing or unfit columns, with similar names.

        Parameters
        ----------
        columns : sequence of str
            The column names of the table.
        """
        wanted = self._named()
        singles = (self.person, *(getattr(self, part) for part in SURVEY))
        wanted += [name for name in singles if name is not None]
        # what is said of a quasi-identifier or sensitive column may be said of an absent one
        optional = {*self.quasi, *self.sensitive}
        parts = (*TABLES, "hierarchies")
        wanted += [n for part in parts for n in getattr(self, part) if n not in optional and n not in wanted]
        wanted += [name for rule in self.all_rules() for name in rule.names]
        faults = [
            f"no column {name!r}{did_you_mean(name, columns)}" for name in dict.fromkeys(wanted) if name not in columns
        ]
        if faults:
            listed = [f'"{c}"' if "," in c else c for c in map(str, columns)]
            hint = "the table's columns are: " + ", ".join(listed)
            if quoted := [name for name in listed if name.startswith('"')]:
                typed = f"in a command a name with a comma stands in quotes of its own: --quasi '{quoted[0]},another'"
                hint += f"; {'give columns plain names first' if quoted[0].startswith(_LEVELS) else typed}"
            raise SchemaError("the schema does not fit the table: " + "; ".join(faults), hint=hint)

    def replace(self, **changes: Any) -> Schema:
        """Return a copy with some fields changed."""
        return replace(self, **changes)

    def reading(self) -> Schema:
        """Return a schema with only what this schema says of reading text files, and which columns are numbers."""
        kinds = {name: kind for name, kind in self.kinds.items() if kind == "numeric"}
        return Schema(kinds=kinds, **{name: getattr(self, name) for name in READING})

    def to_toml(self) -> str:
        """Return the schema as TOML, with one key per field and hierarchies as paths."""
        keys = (*ROLE_FIELDS, "unit", *SURVEY, "together", *CONDITIONS, "rest", *READING)
        values = {key: getattr(self, key) for key in keys}
        values["unit"] = None if self.unit is UNSAID else self.unit or EVERY_ROW
        values["rest"] = None if self.rest == "drop" else self.rest
        lines = [f"{key} = {_toml(value)}" for key, value in values.items() if value]
        sections = {part: getattr(self, part) for part in TABLES if getattr(self, part)}
        sections |= {f"hierarchies.{_toml(n)}": h.paths for n, h in self.hierarchies.items()}
        for section, entries in sections.items():
            lines += ["", f"[{section}]"]
            lines += [f"{_toml(name)} = {_toml(value)}" for name, value in entries.items()]
        return "\n".join(lines).strip() + "\n"

    @classmethod
    @takes(data=MAPPING)
    def from_mapping(cls, data: Mapping[str, Any], folder: Path | None = None) -> Schema:
        """Build a schema from the keys of a TOML file; hierarchies may be paths of CSV files."""
        single = ("hierarchies", "unit", *SURVEY, "together", *CONDITIONS, "rest", *READING)
        keys = {*ROLE_FIELDS, *TABLES, *single}
        unknown = [key for key in data if key not in keys]
        if unknown:
            raise SchemaError(
                f"unknown schema keys: {', '.join(unknown)}", hint=f"the keys are {', '.join(sorted(keys))}"
            )
        fields = dict(data)
        if folder is not None and isinstance(files := data.get("hierarchies"), Mapping):
            fields["hierarchies"] = {n: folder / file if isinstance(file, str) else file for n, file in files.items()}
        if fields.get("unit") == EVERY_ROW:
            fields["unit"] = None
        return cls(**fields)

    @classmethod
    @takes(source=PATH)
    def from_toml(cls, source: str | Path) -> Schema:
        """Read a schema from a TOML file or from TOML text."""
        # a path has no line breaks, and no assignment or section
        text_given = isinstance(source, str) and ("\n" in source or re.search(r"\s=\s|^\[", source))
        path = None if text_given else Path(source)
        text = str(source) if path is None else read_text(path, "the schema", SchemaError)
        data = parsed_toml(text, "the schema", SchemaError)
        return cls.from_mapping(data, path.parent if path else None)


# What functions take that need the roles of the columns.
SCHEMA = one_of(Schema, "a Schema", 'for example Schema(quasi=["age", "job"], sensitive=["income"])')


def _toml(value: Any) -> str:
    """Return a string, number, boolean or list as a TOML literal."""
    # JSON's literals are TOML's, but for DEL, which TOML wants escaped as well
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
