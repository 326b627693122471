"""Propose roles and kinds for a table's columns, with reasons, and check sampling weights.

A person corrects the proposal. The meanings of words in column names are in ``role_words.toml``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, SchemaError, translated
from ..hierarchy import looks_like_codes
from ..io.file_format import UNICODE, Dialect
from ..io.read import read
from ..io.text_cells import MARKERS, infer_type, parse_dates, parse_integers
from ..kernels import Ints
from ..notation import percent
from ..schema import KINDS, UNSAID, Kind, Role, Schema
from ..texts import read_toml, refusal
from .arrays import decoded, is_text, kind_of, value_type
from .column import Column
from .table import Table

# how an attack guesses a value: exactly, or nearly right
AttackedAs = Literal["category", "number", "date"]

_WORDS = read_toml(__package__, "role_words.toml")
DIRECT, KEYS, PERSONS, HOMES, NAMES, SENSITIVE, QUASI, FREE, WEIGHTS, CODES = (
    frozenset(_WORDS[meaning]["words"].split())
    for meaning in ("direct", "keys", "persons", "homes", "names", "sensitive", "quasi", "free", "weights", "codes")
)
_WHOM, _ALONE, _BEFORE = (frozenset(_WORDS["persons"][meaning].split()) for meaning in ("whom", "alone", "before"))
PERSONS |= {whom + key for whom in _WHOM for key in KEYS}
PEOPLE = PERSONS | {"id", "ids", "uid", "uuid", "guid"}
_NAMES, _TELEPHONES, _NAMES_ALONE = (
    frozenset(_WORDS["shared"][meaning].split()) for meaning in ("names", "telephones", "alone")
)
_SHARED = _NAMES.union(_TELEPHONES, _NAMES_ALONE, _WORDS["shared"]["words"].split())
_LISTS = frozenset(_WORDS["categories"]["lists"].split())
_CATEGORIES = _LISTS.union(_WORDS["categories"]["words"].split())
_ORDINARY = frozenset(_WORDS["keys"]["ordinary"].split())
_COUNTS = frozenset(_WORDS["categories"]["counts"].split())
# the most values that are codes of no answer, beyond all others of their column
_MOST_NO_ANSWERS, _NO_ANSWER = 3, frozenset([7, 8, 9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 9997, 9998, 9999])
_ASKED = {what: frozenset(words.split()) for what, words in _WORDS["asked"].items()}
_FOLLOWS = re.compile(rf"[\W_]*({'|'.join(_ASKED['followers'])})$")
_SENSITIVE_STEMS, _QUASI_STEMS = (_WORDS[n]["stems"].split() for n in ("sensitive", "quasi"))
_SENSITIVE_ENDS = tuple(_WORDS["sensitive"]["ends"].split())
# enough values to see a pattern by, spaced evenly, because neighbours in a dictionary are alike
_SAMPLED, _MATCHING = 1000, 0.9
# an identifier with a smaller share of distinct values identifies people with several records
_REPEATS = 0.95
# text with so large a share of distinct values identifies its person
_UNIQUE = 0.9
# a remark with so large a share of distinct values is prose, and not a code
_REPEATED = 0.2
# shares of a column's texts that name or call somebody, or speak of one person, from which on it is free text
_NAMING, _SPEAKING = 0.02, 0.3
# records that share a value which can be released, by default
_FEWEST = 10
# number of bars in the histogram of a column
_PARTS = 8
_FEW = 100
# whole numbers with few values are codes if enough records share each of them, on average
MOST_CODES, _CODE_SHARED = 10, 3
# whole numbers are codes where so large a share of the records is beside a gap, and counts of neighbours differ so much
_BESIDE_GAPS, _UNEVEN = 0.3, 0.5
_MOST_CODE = 9999
_PATTERNS = (
    ("e-mail addresses", r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$"),
    ("universal identifiers", r"(?i)^\{?[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\}?$"),
    ("telephone numbers", r"^((\+|00|0|\()[0-9 ()/.\-]{6,20}[0-9]|[2-9]\d{2}[-. ]\d{3}[-. ]\d{4})$"),
    ("bank account numbers", r"^[A-Z]{2}\d{2} ?([A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}$"),
)
# a title before a name, and a telephone number or an address beside words
_NAMES_SOMEBODY = rf"\b({_WORDS['prose']['titles'].replace(' ', '|')})\.? \p{{Lu}}"
_CALL = r"(?:(?:\+|\b0)\d[0-9 /().-]{5,}\d|\S@\S+\.\p{L}{2,})"
_CALLS_SOMEBODY = rf"\p{{L}}[^@]*[ :,]{_CALL}|{_CALL}[ ,;].*\p{{L}}"
_FOUR_WORDS = r"(?:\S+ +){3}\S"
_SPEAKS = rf"(?i)^(?:\S+ +)*(?:{_WORDS['prose']['words'].replace(' ', '|')})(?: +\S+)+$"
# the least number that can be one to call somebody by, and no count
_LEAST_CALL = 1e6
# a telephone number in a column that is called so
_LEAST_EXTENSION, _DIALLED = 100, r"^\W*\d(\W*\d){2,}\W*$"
# a longer cell is prose, which names people and cannot be recoded
LONG = 200
# the mean of weights that were normed to 1
_NORMED = (0.8, 1.25)
# a weight has few values if so many records have each of them, on average
_WEIGHT_SHARED = 10
# a weight discloses a column if it determines the value in at least this share of the records
_STRATUM = 0.9


@dataclass(frozen=True)
class ColumnProfile:
    """A summary of one column: its kind, proposed role and counts, but none of its values.

    Parameters
    ----------
    name, kind : str
        Column name and kind.
    role : {"identifier", "quasi", "sensitive", "other"}
        Proposed role.
    reason : str
        The reason for that role.
    n_distinct, n_missing : int
        Distinct values (missing not counted), missing values.
    attacked_as : {"category", "number", "date"}
        The way an attack would guess its values; see `attacked_as`.
    longest : int
        Characters of its longest text; 0 if it has no text.
    markers : tuple of str
        Words for a missing value, such as k.A., that occur among its texts.
    shape : tuple of int
        Records in eight equal parts of a number's range (between its 1% and 99% quantiles), of each value if it
        has ten or fewer, or of the eight most frequent categories, missing not counted; empty for identifiers.
    is_code : bool
        Whether its numbers are proposed as categories, and it may be told that they count something.
    """

    name: str
    kind: str
    role: Role
    reason: str
    n_distinct: int
    n_missing: int
    attacked_as: AttackedAs = "category"
    longest: int = 0
    markers: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    is_code: bool = False


def attacked_as(column: Column, schema: Schema) -> AttackedAs:
    """Return how an attack would guess a column's values: as a category, a number or a date.

    Flags and codes are often written as numbers, and a guess that is only close is wrong. A column
    of whole numbers with at most 10 different values, each shared by three records or more on
    average, is therefore guessed as a category, unless the schema declares it numeric:
    ``kinds={"children": "numeric"}``.

    Returns
    -------
    {"category", "number", "date"}

    Examples
    --------
    >>> import pyarrow as pa
    >>> flag = Table(pa.table({"smokes": [0, 1, 1, 0, 1, 0]})).column("smokes")
    >>> attacked_as(flag, Schema()), attacked_as(flag, Schema(kinds={"smokes": "numeric"}))
    ('category', 'number')
    """
    if column.kind == "date":
        return "date"
    if column.kind != "numeric":
        return "category"
    values, n_present = column.values, int(column.counts()[:-1].sum())
    few = 0 < column.n_values <= MOST_CODES and n_present >= _CODE_SHARED * column.n_values
    whole = few and not column.exact and not column.infinite and bool((np.mod(values, 1) == 0).all())
    return "category" if whole and schema.kinds.get(column.name) != "numeric" else "number"


def proposal(table: Table, profiles: Sequence[ColumnProfile]) -> Schema:
    """Return the schema that the profiles of a table's columns suggest."""
    keys = [p.name for p in profiles if p.role == "identifier"]
    shares = {name: table.distinct_share(name) for name in keys}
    households = [n for n in keys if tokens(n) & HOMES and shares[n] < _REPEATS]
    called_weights = _called_weights(table, profiles)
    weights = [name for name in called_weights if _holds_weights(table, name)]
    # exact weights can identify people, so other columns that are named like weights are left out
    roles = {p.name: p.role for p in profiles if p.name not in called_weights}
    follows = {n: leader for n, leader in _followers(table).items() if roles.get(leader) in ("quasi", "sensitive")}
    roles |= {name: roles[leader] for name, leader in follows.items()}
    columns = {
        role: [name for name in table.names if roles.get(name) == role] for role in ("quasi", "sensitive", "other")
    }
    repeating = _people_with_records(table, {n: s for n, s in shares.items() if n not in households[:1]})
    dialect = table.layout.dialect
    return Schema(
        quasi=columns["quasi"],
        sensitive=columns["sensitive"],
        other=columns["other"],
        identifiers=keys,
        follows=follows,
        kinds={p.name: p.kind for p in profiles if p.kind != table.kind(p.name)},
        unit=repeating[0] if repeating else UNSAID,
        household=households[0] if households else None,
        weight=weights[0] if weights else None,
        missing=dialect.missing,
        encoding="" if dialect.encoding in UNICODE else dialect.encoding,
        decimal=dialect.declared_decimal or (dialect.decimal if dialect.unsure else ""),
    )


def profile(source: Any) -> list[ColumnProfile]:
    """Return a profile of every column, with a proposed role.

    Parameters
    ----------
    source : anything that `read` takes
        The table.

    Returns
    -------
    list of ColumnProfile
        One per column, in table order.

    Examples
    --------
    >>> import pyarrow as pa
    >>> profiles = profile(pa.table({"age": [31, 31, 40], "income": [10, 20, 30]}))
    >>> [(p.name, p.role, p.n_distinct) for p in profiles]
    [('age', 'quasi', 2), ('income', 'sensitive', 3)]
    """
    table = read(source)
    return [_describe(table, name) for name in table.names]


def refuse_identifiers(table: Table, names: Sequence[str]) -> None:
    """Raise SchemaError if undeclared columns look like identifiers."""
    suspects = [n for n in names if _names_people(n) or _describe(table, n).role in ("identifier", "undeclared")]
    if suspects:
        raise SchemaError(
            f"undeclared columns look like identifiers: {', '.join(map(repr, suspects))}",
            hint="leave them out (identifiers=, --identifiers), or declare them harmless (other=, --other)",
        )


def refuse_repeated(table: Table, schema: Schema, pseudonyms: Sequence[str] = ()) -> list[str]:
    """Return the columns with repeating values whose names suggest a person key; [] if the schema declares a unit.

    Raises
    ------
    SchemaError
        Identifiers repeat and none of them is unique, or a repeating column with such a name is one of the
        `pseudonyms`, so that the release would show which records belong to the same person.
    """
    if schema.unit is not UNSAID:
        return []
    keys = [name for name in schema.identifiers if name != schema.household]
    others = [n for n in schema.undeclared(table.names) if _names_people(n)]
    shares = {name: table.distinct_share(name) for name in (*keys, *others)}
    repeating = [n for n in pseudonyms if _names_people(n) and shares[n] < _REPEATS]
    if repeats := repeated(table, {name: shares[name] for name in keys}) or repeating:
        words = {"names": ", ".join(map(repr, repeats)), "first": repeats[0]}
        raise SchemaError(**refusal("identifiers_repeat", "columns", **words))
    # people share a postcode, but a key of people repeats because people have several records
    return [name for name, share in shares.items() if _names_people(name) and share < _REPEATS]


def repeated(table: Table, shares: Mapping[str, float]) -> list[str]:
    """Return the identifiers that repeat and may tell people apart, keys of people first; [] if one is unique."""
    if 1.0 in shares.values():
        return []
    repeating = [name for name, share in shares.items() if share < _REPEATS]
    keys = [name for name in repeating if _keys_people(table, name)]
    others = [name for name in repeating if name not in keys and not _is_shared(table, name)]
    return keys + sorted(others, key=lambda name: not _names_people(name))


def _people_with_records(table: Table, shares: Mapping[str, float]) -> list[str]:
    """Return the identifiers as `repeated` does; beside a unique number, such as a case's, only keys of people."""
    persons = [name for name in shares if _keys_people(table, name)]
    if 1.0 not in shares.values() or any(shares[name] == 1.0 for name in persons):
        return repeated(table, shares)
    return [name for name in persons if shares[name] < _REPEATS]


def _is_shared(table: Table, name: str) -> bool:
    """Return whether people have a column's values in common: names, telephone numbers and free text."""
    if words_of(table, name) & (_SHARED | FREE):
        return True
    column = table.column(name, kind="categorical")
    return bool(_pattern(column)) or longest_text(column) > LONG or is_prose(column)


def words_of(table: Table, name: str) -> set[str]:
    """Return the words of a column's name and label."""
    return tokens(name) | tokens(table.layout.labels.label(name))


def is_prose(column: Column) -> bool:
    """Return whether a column is free text, however often it repeats: some texts name or call somebody.

    Examples
    --------
    >>> notes = Table(pa.table({"n": ["Frau M. has an allergy", "ring 030 1234567"], "job": ["cook", "head of ward"]}))
    >>> is_prose(notes.column("n")), is_prose(notes.column("job"))
    (True, False)
    """
    if column.kind != "categorical" or not column.n_values:
        return False
    texts = _sampled(column)
    named = pc.or_(*(pc.match_substring_regex(texts, form) for form in (_NAMES_SOMEBODY, _CALLS_SOMEBODY)))
    spoken = pc.and_(*(pc.match_substring_regex(texts, form) for form in (_SPEAKS, _FOUR_WORDS)))
    shares = (pc.sum(each).as_py() / len(texts) for each in (named, spoken))
    return any(share > most for share, most in zip(shares, (_NAMING, _SPEAKING), strict=True))


def _sampled(column: Column) -> pa.Array:
    """Return at most some thousand of a column's texts, evenly spaced."""
    return pa.array(column.values[:: max(1, column.n_values // _SAMPLED)], pa.string())


def _keys_people(table: Table, name: str) -> bool:
    """Return whether a column's name or label is that of a key of people."""
    return any(map(names_person_key, (tokens(name), tokens(table.layout.labels.label(name)))))


def _names_people(name: str) -> bool:
    """Return whether a column's name suggests a person key, regardless of how often its values repeat."""
    return bool(tokens(name) & PEOPLE)


def _describe(table: Table, name: str) -> ColumnProfile:
    kind: str = table.kind(name)
    why_codes = ""
    try:
        if _are_dates(table, name) and not (kind == "numeric" and words_of(table, name) & CODES):
            kind = "date"
        elif kind == "categorical" and _are_numbers(table, name):
            kind = "numeric"
        if kind == "numeric" and (why_codes := _why_codes(table, table.column(name, kind=kind))):
            kind = "categorical"
        column = table.column(name, kind=kind)
    except SchemaError:
        return ColumnProfile(name, kind, "undeclared", "its nested values cannot be recoded: unpack them", 0, 0)
    missing = int(column.counts()[-1])
    role, reason = _role(table.kind(name), column, table.n_rows - missing, tokens(table.layout.labels.label(name)))
    reason += why_codes and f"; codes, {why_codes}"
    was_text = table.kind(name) == "categorical"
    if was_text and kind == "numeric":
        reason += "; its text reads as numbers"
    texts = column.values if was_text and column.kind == "categorical" else ()
    return ColumnProfile(
        name,
        kind,
        role,
        reason,
        column.n_values,
        missing,
        attacked_as(column, Schema()),
        longest_text(column),
        tuple(word for word in MARKERS if word in texts),
        () if role == "identifier" else _shape(column),
        bool(why_codes) and role != "identifier" and not (words_of(table, name) & CODES),
    )


def _why_codes(table: Table, column: Column) -> str:
    """Return why a column's numbers are names of categories; empty if they may count or measure something."""
    name, words = column.name, words_of(table, column.name)
    if words & CODES:
        return "written in digits"
    counts, values = column.counts()[:-1], column.values
    variable = table.layout.labels.variables.get(name)
    if variable is not None and not variable.numbers and column.n_values > 1:
        labelled = {code for code in variable.values if not variable.declared_missing(code)}
        if 2 * counts[[value in labelled for value in values]].sum() >= counts.sum():
            return "for most records have a label"
    whole = not column.exact and not column.infinite and bool(np.all(np.mod(values, 1) == 0))
    if whole and column.n_values > 1 and names_codes(words):
        return "by what it is called"
    few = 1 < column.n_values <= _FEW and counts.sum() >= _CODE_SHARED * column.n_values
    if not (whole and few) or words & _COUNTS:
        return ""
    if words & _CATEGORIES:
        return "by what it is called"
    if table.kind(name) == "categorical" and any(table.kind(other) == "numeric" for other in table.names):
        return "kept as text"
    return "with gaps between them" if _has_gaps(values.astype(int), counts) else ""


def _has_gaps(values: Ints, counts: Ints) -> bool:
    """Return whether whole numbers have gaps beside frequent values, and neighbours of uneven counts.

    Codes have one length, zero apart. Those that many people round, such as 5, 10 and 15, have no gaps, and a long
    tail has them beside rare values.
    """
    lengths = {len(str(value)) for value in values if value}
    if len(values) <= MOST_CODES or len(lengths) > 1 or values[0] < 0 or values[-1] > _MOST_CODE:
        return False
    if np.gcd.reduce(np.diff(values)) > 1:
        return False
    every = np.bincount(values - values[0], counts, minlength=values[-1] - values[0] + 1)
    bordering = (np.diff(values, prepend=values[0] - 1) > 1) | (np.diff(values, append=values[-1] + 1) > 1)
    uneven = np.abs(np.diff(every)).sum() / (every[1:] + every[:-1]).sum()
    return bool(counts[bordering].sum() >= _BESIDE_GAPS * counts.sum() and uneven >= _UNEVEN)


def _shape(column: Column) -> tuple[int, ...]:
    """Return the records in eight parts of a column: of a number's usual range, or its most frequent categories."""
    counts = column.counts()[:-1]
    if not column.is_ordered:
        return tuple(np.sort(counts)[::-1][:_PARTS].tolist())
    if len(counts) <= MOST_CODES or column.infinite:
        return tuple(counts[:MOST_CODES].tolist())
    values = column.deviations if column.is_number else np.arange(len(counts), dtype=float)
    low, high = values[np.searchsorted(np.cumsum(counts), np.array([0.01, 0.99]) * counts.sum())]
    return tuple(np.histogram(np.clip(values, low, high), _PARTS, weights=counts)[0].astype(int).tolist())


def _weighs(words: set[str], column: Column | None) -> bool:
    """Return whether the words of a column name refer to a sampling weight, and not to a person's body weight.

    Of a weight that may be either, the numbers tell: survey weights are often normed to a mean of 1.
    """
    if words & WEIGHTS or (words & {"weight", "weights"} and words & {"sampling", "design", "survey", "household"}):
        return True
    if column is None or column.kind != "numeric" or not (_may_weigh(words) and column.n_values) or column.exact:
        return False
    values = column.doubles
    if column.infinite or not 0 <= values[0] < 1 or not np.mod(values, 1).any():
        return False
    return bool(_NORMED[0] <= np.average(values, weights=column.counts()[:-1]) <= _NORMED[1])


def _may_weigh(words: set[str]) -> bool:
    """Return whether the words of a column name may refer to a sampling weight: no body and no kilograms are named."""
    return bool(words & _ASKED["weights"]) and not words & _ASKED["bodies"]


def _called_weights(table: Table, profiles: Sequence[ColumnProfile]) -> list[str]:
    """Return the columns that are proposed as other for their names: all that are neither empty nor constant."""
    others = [p for p in profiles if p.role == "other"]
    return [p.name for p in others if p.n_distinct > 1 or _weighs(words_of(table, p.name), None)]


def _holds_weights(table: Table, name: str) -> bool:
    """Return whether every value of a column is a valid sampling weight."""
    if table.kind(name) != "numeric":
        return False
    column = table.column(name)
    return bool(column.n_values) and not column.has_missing and bool(column.values[0] >= 1)


def questions(table: Table, profiles: Sequence[ColumnProfile], schema: Schema) -> Iterator[tuple[str, str, str]]:
    """Yield the question that a name or label leaves open, the column (or several), and whom it may follow.

    Such words mean other things as well: Gewicht is a sampling weight or that of a body.
    """
    yield from suspect_rows(table)
    if codes := ", ".join(column.name for column in profiles if _holds_code(table, column)):
        yield "ask_code", codes, ""
    for column in profiles:
        name = column.name
        words = words_of(table, name)
        if schema.weight is None and _may_weigh(words) and _holds_weights(table, name):
            yield "ask_weight", name, ""
        # a small number is the size of a household, and one that never repeats is no household's
        is_key = schema.household is None and words & _ASKED["homes"] and column.n_distinct > MOST_CODES
        if is_key and table.distinct_share(name) < _REPEATS:
            yield "ask_household", name, ""
    if schema.person is not None and table.is_loaded:
        yield from _row_tellers(table, profiles, schema.person)
    followers = _followers(table)
    for name, leader in followers.items():
        if name in schema.follows:
            yield "follows", name, leader
    for name in _called_weights(table, profiles):
        if schema.role(name) == "undeclared" and name not in followers:
            yield "second_weight" if _holds_weights(table, name) else "no_weight", name, ""


def _row_tellers(table: Table, profiles: Sequence[ColumnProfile], person: str) -> Iterator[tuple[str, str, str]]:
    """Yield the question that the first column asks which differs in all rows of a person: a wave, or else a date."""
    ids = table.column(person, kind="categorical").codes.astype(np.int64)
    for question, kinds, most in (("ask_wave", KINDS, MOST_CODES), ("ask_time", ("date",), len(ids))):
        for column in profiles:
            is_likely = column.kind in kinds and 1 < column.n_distinct <= most and not column.n_missing
            if column.name == person or not is_likely:
                continue
            if len(np.unique(ids * (column.n_distinct + 1) + table.column(column.name).codes)) == len(ids):
                yield question, column.name, person
                return


def _followers(table: Table) -> dict[str, str]:
    """Return the columns whose names say that they tell where another is missing, with the other."""
    names, followers = {name.lower(): name for name in table.names}, {}
    for name in table.names:
        stem = name.lower()
        while (shorter := _FOLLOWS.sub("", stem)) != stem and name not in followers:
            stem = shorter
            if stem in names:
                followers[name] = names[stem]
    return followers


def suspect_rows(table: Table) -> Iterator[tuple[str, str, str]]:
    """Yield what office files hold besides people, as `questions` do: totals, empty lines, a second header."""
    if not table.is_loaded or not table.n_rows:
        return
    texts = [name for name in table.names if is_text(value_type(table.types.field(name).type))]
    ends = {name: [str(table.take(name, slice(i, i + 1))[0]) for i in (0, table.n_rows - 1)] for name in texts}
    totals = [name for name, (_, last) in ends.items() if last.strip(" :.").casefold() in _ASKED["totals"]]
    if any(_is_alone(table, name, ends[name][1]) for name in totals):
        yield "totals", "", ""
    headed = [name for name, (first, _) in ends.items() if _reads_as_numbers(_without(table.entries(name), first))]
    if headed := [name for name in headed if _is_alone(table, name, ends[name][0])]:
        yield "second_header", ", ".join(headed), ""
    columns = [table.arrow.column(name) for name in table.names]
    if columns and all(column.null_count for column in columns):
        empty = reduce(pc.and_, (pc.is_null(column) for column in columns))
        if rows := pc.sum(empty).as_py():
            yield "empty_rows", f"{rows:,}", ""


def _is_alone(table: Table, name: str, word: str) -> bool:
    """Return whether a word stands in one cell of a column."""
    return bool(pc.sum(pc.equal(decoded(table.arrow.column(name)).cast(pa.string()), word)).as_py() == 1)


def _without(entries: pa.Array, word: str) -> pa.Array:
    """Return a column's texts but one; none if that is no text of it, or all are numbers, or few of the others."""
    texts = entries.drop_null().cast(pa.string())
    if _reads_as_numbers(texts):
        return texts[:0]
    rest = texts.filter(pc.not_equal(texts, word))
    return rest if len(rest) < len(texts) and _reads_as_numbers(rest[:_SAMPLED]) else rest[:0]


def _holds_code(table: Table, profile: ColumnProfile) -> bool:
    """Return whether a numeric column's ends look like codes of no answer: 9, 99 or 999 after a gap, or -1."""
    if profile.kind != "numeric" or profile.n_distinct < 3:
        return False
    values = table.column(profile.name, kind="numeric").values.astype(float)
    gaps = np.diff(values)
    i = int(gaps.argmax())
    widest = 1 if profile.attacked_as == "category" else values[i] - values[0]
    is_high = values[-1] in _NO_ANSWER and len(gaps) - i <= _MOST_NO_ANSWERS and gaps[i] > widest
    below = values[values < 0]
    return bool(is_high) or (0 < len(below) <= _MOST_NO_ANSWERS and set(-below) <= {1.0, *_NO_ANSWER})


def longest_text(column: Column) -> int:
    """Return the number of characters in the longest category; 0 if the column holds no text."""
    if column.kind not in ("categorical", "ordinal") or not column.n_values:
        return 0
    return max(map(len, map(str, column.values)))


def _texts(table: Table, name: str) -> pa.Array:
    """Return a column's distinct texts; an empty array if it does not hold text."""
    if not is_text(value_type(table.types.field(name).type)):
        return pa.array([], pa.string())
    return table.entries(name).drop_null()


def reads_as(entries: pa.Array) -> Kind:
    """Return the kind that distinct texts can be declared to be: dates, numbers, or categories."""
    if len(entries) and parse_dates(entries) is not None:
        return "date"
    return "numeric" if _reads_as_numbers(entries) else "categorical"


def _are_dates(table: Table, name: str) -> bool:
    """Return whether a column holds days as text, or as whole numbers such as 20201231."""
    if table.kind(name) == "numeric":
        numbers = table.column(name, kind="numeric")
        ends = numbers.values[[0, -1]] if numbers.n_values and not numbers.exact else np.zeros(1)
        is_near = bool((ends > 1.6e7).all() and (ends < 2.2e7).all())
        return is_near and parse_integers(pa.array(numbers.values)) is not None
    return reads_as(_texts(table, name)) == "date"


def _are_numbers(table: Table, name: str) -> bool:
    """Return whether a column's texts are numbers, each spelled one way, and its name is not that of a code."""
    entries = _texts(table, name)
    if not len(entries) or names_codes(words_of(table, name)):
        return False
    if not _reads_as_numbers(entries):
        return False
    try:
        return table.column(name, kind="numeric").n_values == len(entries)
    except SchemaError:
        return False  # numbers with a decimal comma; a column is read only with a decimal point


def _reads_as_numbers(entries: pa.Array) -> bool:
    if len(entries) < 2:
        return False
    numbers, _ = infer_type(pa.chunked_array([entries]), Dialect())
    return kind_of(numbers.type) == "numeric" and len(numbers.unique()) == len(entries)


def _role(table_kind: str, column: Column, n_present: int, label: set[str]) -> tuple[Role, str]:
    """Return the proposed role and the reason for it, from the first rule that applies; `label` has words, too."""
    words = tokens(column.name)
    n = column.n_values
    share = n / n_present if n_present else 0.0
    is_number, is_text = column.kind == "numeric", column.kind == "categorical"
    is_whole = is_number and not column.infinite and bool(np.all(np.mod(column.values, 1) == 0))
    differs, length, pattern = share > _UNIQUE, longest_text(column), _pattern(column)
    unlike = differs and table_kind == "categorical"
    measured = is_number and not (unlike and is_whole)
    counts_rows = measured and n_present >= 20 and n == n_present and is_whole
    numbers_rows = counts_rows and column.values[-1] - column.values[0] + 1 == n
    # surnames have a small share of distinct values in a large table; types of telephone identify nobody
    is_many = share > 0.05 or (is_text and n > _FEW) or (is_whole and n and column.values[0] >= _LEAST_CALL)
    prose = length > LONG or is_prose(column) or (words & FREE and share > _REPEATED and is_text)
    ticked = n == 1 < n_present and column.has_missing
    # codes have parents that many people share
    is_rare = is_text and n > _FEW and column.counts()[:-1].max() < _FEWEST
    is_code = is_whole or (is_text and (n <= _FEW or is_rare) and looks_like_codes(column.values))
    is_lost = is_rare and not (words | label) & CODES and not is_code
    by = (("by its name", words), ("by its label", label))
    rules: list[tuple[Any, Role, str]] = [(n == 0, "other", "all its values are missing")]
    for why, terms in by:
        rules += [
            (is_text and _names_somebody(terms), "identifier", f"{why}, it holds people's names"),
            (terms & _TELEPHONES and _holds_telephones(column), "identifier", f"{why}, it identifies a person"),
        ]
    rules += [
        (n == 1 < n_present and not ticked, "other", "all its values are the same"),
        (_weighs(words, column), "other", "by its name, a sampling weight"),
        (_weighs(words | label, column), "other", "by its label, a sampling weight"),
        (prose, "identifier", f"free text of up to {length:,} characters can name people"),
        (pattern, "identifier", f"its values look like {pattern}"),
    ]
    for why, terms in by:
        least = MOST_CODES if terms & PERSONS or is_code else _FEW
        is_key = terms & KEYS and differs and (is_text or is_whole)
        ends_in_id = any(t == "id" or (len(t) > 3 and t.endswith("id")) for t in terms - _ORDINARY)
        rules += [
            (terms & DIRECT and is_many, "identifier", f"{why}, it identifies a person"),
            (is_text and terms == {"name"} and is_many, "identifier", f"{why}, it holds people's names"),
            (names_person_key(terms) and n > least, "identifier", f"{why}, a key of people"),
            (terms & HOMES and n > MOST_CODES, "identifier", f"{why}, a key of households"),
            (is_key, "identifier", f"{why}, a key; {percent(share, 0)} of it differs"),
            (n > _FEW and ends_in_id, "identifier", f"{why}, a key of people or groups"),
        ]
    rules.append(
        (is_lost and not differs, "undeclared", f"none of it can be released: {_FEWEST} records share no value")
    )
    for why, terms in by:
        rules += [
            (names_quasi(terms) and not (is_text and differs), "quasi", why),
            (names_sensitive(terms) and not (is_text and differs), "sensitive", why),
        ]
    rules += [
        (ticked, "sensitive", "one value or none: a fact about a person"),
        (numbers_rows, "identifier", "it numbers the rows"),
        (measured and n > _FEW, "sensitive", "a measurement with many distinct values"),
        (column.kind == "date", "quasi", "dates are often known to others"),
        (unlike and not measured, "identifier", f"text that differs in {percent(share, 0)} of the records"),
        (n <= _FEW, "quasi", "few values: they form groups of people"),
        (True, "quasi", "many values: they can single people out"),
    ]
    return next((role, reason) for applies, role, reason in rules if applies)


def _names_somebody(words: set[str]) -> bool:
    """Return whether the words of a column name say that it holds names of people, and of nothing else."""
    return bool(words & _NAMES or ("name" in words and words & NAMES) or (len(words) == 1 and words <= _NAMES_ALONE))


def _holds_telephones(column: Column) -> bool:
    """Return whether a column may hold telephone numbers, of three digits or more, and not types of telephone."""
    if column.kind == "categorical":
        return bool(pc.any(pc.match_substring_regex(_sampled(column), _DIALLED)).as_py())
    return column.kind == "numeric" and bool(column.n_values) and bool(column.values[0] >= _LEAST_EXTENSION)


def _pattern(column: Column) -> str:
    if column.kind != "categorical" or not column.n_values:
        return ""
    texts = _sampled(column)
    for what, pattern in _PATTERNS:
        if pc.sum(pc.match_substring_regex(texts, pattern)).as_py() >= _MATCHING * len(texts):
            return what
    return ""


def unaccented(text: str) -> str:
    """Return text in lower case without accents.

    Examples
    --------
    >>> unaccented("Religión"), unaccented("Vermögen"), unaccented("Straße")
    ('religion', 'vermogen', 'strasse')
    """
    decomposed = unicodedata.normalize("NFKD", text.lower().replace("ß", "ss"))
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def tokens(name: str) -> set[str]:
    """Return the words of a column name in lower case without accents, and each pair of adjacent words joined.

    Examples
    --------
    >>> sorted(tokens("birthDate")), sorted(tokens("code postal"))
    (['birth', 'birthdate', 'date'], ['code', 'codepostal', 'postal'])
    """
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    words = [w.rstrip("0123456789") or w for w in re.split(r"[\W_]+", unaccented(spaced)) if w]
    return {*words, *(a + b for a, b in pairwise(words))}


def names_sensitive(words: set[str]) -> bool:
    """Return whether the words of a column name suggest facts that people may want to keep private."""
    return bool(words & SENSITIVE) or any(
        any(stem in word for stem in _SENSITIVE_STEMS) or word.endswith(_SENSITIVE_ENDS) for word in words
    )


def names_person_key(words: set[str]) -> bool:
    """Return whether the words of a column name suggest a key of people: patient number, MRN, or patient alone."""
    return bool(words & PERSONS or (words & _WHOM and words & _BEFORE) or (len(words) == 1 and words <= _ALONE))


def names_codes(words: set[str]) -> bool:
    """Return whether the words of a column's name or label suggest codes, and no count or amount beside them."""
    return bool(words & CODES) or bool(words & _LISTS and not words & _COUNTS and not names_sensitive(words))


def names_quasi(words: set[str]) -> bool:
    """Return whether the words of a column name suggest facts that others may know about a person."""
    return bool(words & QUASI) or any(stem in word for word in words for stem in _QUASI_STEMS)


def check_weights(table: Table, name: str) -> Column:
    """Return the column of sampling weights, after checking that every weight is valid.

    Raises
    ------
    InputError
        Weights are missing, infinite or below 1.
    """
    hint = "a weight says how many people a record stands for: multiply weights that were normed, or leave the "
    hint += "column out; exact weights find people"
    with translated(
        SchemaError, lambda _: InputError(f"the weight {name!r} must be a number in every record", hint=hint)
    ):
        column = table.column(name, kind="numeric")
    weights = np.asarray(column.values, np.float64)
    wrong = np.append(~((weights >= 1) & np.isfinite(weights)), True)
    if bad := int(column.counts()[wrong].sum()):
        raise InputError(f"{bad:,} sampling weights in {name!r} are missing, infinite or below 1", hint=hint)
    return column


def describe_strata(table: Table, name: str, columns: Sequence[str]) -> str | None:
    """Describe the sampling strata, and the columns, that a weight with few values discloses.

    Parameters
    ----------
    table : Table
    name : str
        The column of weights.
    columns : sequence of str
        Columns whose values the weight may determine.

    Returns
    -------
    str or None
        A sentence; None if the weight is the same for all records, or takes many values.
    """
    column = table.column(name, kind="categorical")
    n = column.n_values
    if n < 2 or n * _WEIGHT_SHARED > table.n_rows:
        return None
    disclosed = [other for other in columns if other != name and _stratum_share(column, table, other) >= _STRATUM]
    return (
        f"{name} takes {n:,} values in {table.n_rows:,} records, so a record's weight gives away its stratum"
        + (f", and with it {', '.join(disclosed)}" if disclosed else "")
        + "; round or calibrate the weights, or name the column among the quasi-identifiers"
    )


def _stratum_share(weight: Column, table: Table, name: str) -> float:
    """Return the share of records whose weight determines their value in another column."""
    other = table.column(name, kind="categorical")
    m = other.n_values + 1
    if other.n_values < 2:
        return 0.0
    keys, sizes = np.unique(weight.codes.astype(np.int64) * m + other.codes, return_counts=True)
    weight_codes = keys // m
    return float(sizes[np.bincount(weight_codes)[weight_codes] == 1].sum() / table.n_rows)
