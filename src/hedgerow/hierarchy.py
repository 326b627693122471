"""Define value generalisation hierarchies, which lead from a value up to ``*``."""

from __future__ import annotations

import codecs
import csv
import datetime as dt
import graphlib
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

from .errors import SchemaError
from .files import read_bytes
from .notation import TOP as TOP
from .notation import number
from .progress import caution
from .validation import LIST, MAPPING, NONE, NUMBER, NUMBERS, PATH, TEXT, TEXTS, check, many, takes, whole


@dataclass(frozen=True)
class Hierarchy:
    """A tree of values, given as each value's path to the top.

    Parameters
    ----------
    paths : mapping of str to tuple of str
        For every original value its generalisations, from the value itself
        (level 0) to the top (the last level). All paths have the same length.

    Raises
    ------
    SchemaError
        Paths differ in length, do not begin with their own value, hold an empty
        label, or contradict each other (two values that share a label part again
        further up, or a value returns to a label it had left).

    Examples
    --------
    >>> h = Hierarchy({"nurse": ("nurse", "health", "*"), "cook": ("cook", "service", "*")})
    >>> h.generalize("cook", 1)
    'service'
    >>> h.common(["nurse", "cook"])
    '*'
    """

    paths: Mapping[str, tuple[str, ...]]

    def __repr__(self) -> str:
        return f"Hierarchy({len(self.paths):,} values, {self.n_levels} levels)"

    def __post_init__(self) -> None:
        check("paths", self.paths, MAPPING)
        for path in self.paths.values():
            check("a path of a hierarchy", path, TEXTS)
        if len(lengths := set(map(len, self.paths.values()))) > 1:
            raise SchemaError(
                f"a hierarchy has paths of {len(lengths)} different lengths",
                hint="give every value the same number of levels; repeat a value to fill up",
            )
        for value, path in self.paths.items():
            if not path or path[0] != value:
                raise SchemaError("a path must begin with its own value", hint="for example nurse: nurse, health, *")
        if empty := sum(not all(path[1:]) for path in self.paths.values()):
            raise SchemaError(
                f"a hierarchy has {empty:,} values with an empty label on their path",
                hint="fill every level; repeat a label to skip a level",
            )
        self._check_tree()

    def _check_tree(self) -> None:
        """Raise SchemaError if a path returns to a label, or if a label has two different labels above it."""
        # first, for its message is clearer than that of the contradictions it causes
        if cycle := _cycle(self.paths.values()):
            n_values = sum(len(cycle.intersection(path)) > 1 for path in self.paths.values())
            raise SchemaError(
                f"a hierarchy has {n_values:,} values whose path returns to a label it had left (a cycle)",
                hint="a path only goes up: a label cannot be both above and below another",
            )
        for level in range(1, self.n_levels - 1):
            above: dict[str, str] = {}
            clash = sum(
                above.setdefault(path[level], path[level + 1]) != path[level + 1] for path in self.paths.values()
            )
            if clash:
                raise SchemaError(
                    f"a hierarchy contradicts itself: {clash:,} values share a label at level {level} with "
                    f"values that belong to another label at level {level + 1}",
                    hint="each label has exactly one label above it",
                )

    @property
    def n_levels(self) -> int:
        """Return the number of levels, including the original values."""
        return len(next(iter(self.paths.values()))) if self.paths else 0

    def generalize(self, value: str, level: int) -> str:
        """Return the ancestor of `value` at `level` (0 is the value itself)."""
        return self.paths[value][level]

    def common(self, values: Iterable[str]) -> str:
        """Return the lowest common ancestor of `values`."""
        chosen = [self.paths[value] for value in values]
        for level in range(self.n_levels):
            if len(ancestors := {path[level] for path in chosen}) == 1:
                return ancestors.pop()
        return TOP

    def check(self, values: Sequence[str], column: str, counts: Sequence[int] = ()) -> None:
        """Raise SchemaError if a column has values that the hierarchy lacks.

        Values that `PUBLIC` records have are named; of others the shape and what differs.

        Parameters
        ----------
        values : sequence of str
            The column's distinct values, missing ones not counted.
        column : str
            Its name, for the message.
        counts : sequence of int
            How many records have each of them; without these no value is named.
        """
        records = dict(zip_longest(values, counts, fillvalue=0))
        if not (lacking := [value for value in values if value not in self.paths]):
            return
        named = sorted((v for v in lacking if records[v] >= PUBLIC), key=lambda v: (-records[v], v))[:_NAMED]
        listed = ", ".join(f"{value!r} ({records[value]:,} records)" for value in named)
        shape, n = Counter(map(_shape, lacking)).most_common(1)[0]
        which = listed + ", ..." * (len(named) < len(lacking)) if named else f"{n:,} of the form {shape!r}"
        spelled = set(map(_spelled, self.paths))
        others = sum(_spelled(value) in spelled for value in lacking)
        raise SchemaError(
            f"the hierarchy of column {column!r} lacks {len(lacking):,} of its {len(values):,} values: {which}"
            + f"; {others:,} stand there in another spelling (blanks, case, zeros in front, .0 behind)" * (others > 0),
            hint="add a line for each, or correct the spelling; in Python set(values) - set(hierarchy.paths) are they",
        )

    def topped(self) -> Hierarchy:
        """Return the hierarchy with a top level of one label, which is added if it is missing."""
        if not self.paths or len({path[-1] for path in self.paths.values()}) == 1:
            return self
        return Hierarchy({value: (*path, TOP) for value, path in self.paths.items()})

    @classmethod
    @takes(path=PATH, separator=TEXT | NONE, encoding=TEXT)
    def from_csv(cls, path: str | Path, separator: str | None = None, encoding: str = "") -> Hierarchy:
        """Read a hierarchy in ARX's format: one line per value, from the value to the top.

        Cells may be quoted with ``"``, and blanks inside quotes belong to the value. Identical lines count once.

        Parameters
        ----------
        path : path
        separator : str, optional
            By default ``;``, or a comma or tab if only that gives all lines as many cells.
        encoding : str
            Of a file that is not UTF-8; Windows-1252 by default, with a warning.

        Raises
        ------
        SchemaError
            The file cannot be read, is empty, or a value has two different paths.
        """
        name = Path(path).name
        text = _decoded(read_bytes(path, "the hierarchy", SchemaError), name, encoding)
        paths: dict[str, tuple[str, ...]] = {}
        doubled = 0
        try:
            tables = {each: _cells(text, each) for each in ([separator] if separator else _SEPARATORS)}
        except csv.Error:
            raise SchemaError(f"the hierarchy {name} is not a CSV file") from None
        even = [each for each, rows in tables.items() if len({*map(len, rows)}) == 1 and len(rows[0]) > 1]
        separator = (even or [*tables])[0]
        for cells in tables[separator]:
            doubled += paths.setdefault(cells[0], cells) != cells
        if not paths:
            raise SchemaError(f"hierarchy {name} is empty", hint=f"one line a value: value{separator}group{separator}*")
        if doubled:
            raise SchemaError(f"hierarchy {name} gives {doubled:,} values two different paths", hint="one line a value")
        try:
            return cls(paths)
        except SchemaError as error:
            raise SchemaError(f"the hierarchy {name}: {error.message}", hint=error.hint) from None

    @classmethod
    @takes(values=NUMBERS, widths=NUMBERS, origin=NUMBER)
    def from_intervals(cls, values: Iterable[float], widths: Sequence[float], origin: float = 0.0) -> Hierarchy:
        """Build a hierarchy of numbers: intervals of growing width, then ``*``.

        Parameters
        ----------
        values : iterable of float
            The numbers of the column.
        widths : sequence of float
            Width per level, each a whole multiple of the one before.
        origin : float
            A number at which an interval begins.

        Examples
        --------
        >>> Hierarchy.from_intervals([23, 37], [5, 10]).paths["23"]
        ('23', '[20, 25)', '[20, 30)', '*')
        """
        _check_widths(widths)
        paths = {}
        # NaN is missing
        for value in sorted({float(v) for v in values if v == v}):
            labels = [number(value)]
            for width in widths:
                low = origin + ((value - origin) // width) * width
                labels.append(f"[{number(low)}, {number(low + width)})")
            paths[labels[0]] = (*labels, TOP)
        return cls(paths)

    @classmethod
    @takes(values=LIST, levels=TEXTS)
    def from_dates(
        cls, values: Iterable[str | dt.date], levels: Sequence[str] = ("month", "year", "decade")
    ) -> Hierarchy:
        """Build a hierarchy of dates and times: months, quarters, years or decades, then ``*``.

        Parameters
        ----------
        values : iterable of str, dates or datetimes
            A column, or its values; missing ones are passed over. Text is ISO text
            (``YYYY-MM-DD``, with or without a time). Times with a zone go by those of UTC.
        levels : sequence of str
            Upwards, among "day", "week", "month", "quarter", "year", "decade", "century".

        Examples
        --------
        >>> Hierarchy.from_dates(["1987-05-03"]).paths["1987-05-03"]
        ('1987-05-03', '1987-05', '1987', '1980s', '*')
        >>> import datetime as dt
        >>> list(Hierarchy.from_dates([dt.datetime(1987, 5, 3, 7)], ["year"]).paths)
        ['1987-05-03T07:00:00']
        """
        order = list(_DATES)
        if [level for level in order if level in levels] != list(levels):
            raise SchemaError("date levels must go from fine to coarse and be among " + ", ".join(order))
        if {"week", "month"} <= set(levels) or {"week", "quarter"} <= set(levels):
            raise SchemaError("a week can lie in two months: leave one of the levels out")
        paths = {}
        faults = 0
        for value in sorted(set(map(_moment, values)) - {""}):
            try:
                day = dt.date.fromisoformat(value[:10])
            except ValueError:
                faults += 1
                continue
            paths[value] = (value, *(_DATES[level](day) for level in levels), TOP)
        if faults:
            raise SchemaError(f"{faults:,} values are not ISO dates", hint="write YYYY-MM-DD")
        return cls(paths)

    @classmethod
    @takes(values=LIST, keep=many(whole(), "a list of whole numbers"), mask=TEXT)
    def from_prefixes(cls, values: Iterable[str], keep: Sequence[int] | None = None, mask: str = "*") -> Hierarchy:
        """Build a hierarchy of codes (postal codes, occupations) that are cut from the right, then ``*``.

        Parameters
        ----------
        values : iterable of str
        keep : sequence of int, optional
            Characters kept per level, decreasing; by default one less each level, separators not counted.
        mask : str
            The character that replaces each character that is cut.

        Examples
        --------
        >>> Hierarchy.from_prefixes(["53715", "53703"], [3, 1]).paths["53715"]
        ('53715', '537**', '5****', '*')
        """
        texts = sorted({str(v) for v in values})
        longest = max(map(len, texts), default=0)
        # what ends in a separator says as much as what ends before it
        chosen = [n for n in range(longest - 1, 0, -1) if any(t[n - 1 : n] not in {*" ./-"} for t in texts)]
        chosen = chosen if keep is None else list(keep)
        if not all(shorter < longer for longer, shorter in pairwise([max(longest, 2), *chosen, 0])):
            raise SchemaError("kept lengths must decrease and lie between 1 and the longest value")
        return cls({t: (t, *(t[:k] + mask * (longest - len(t[:k])) for k in chosen), TOP) for t in texts})

    @classmethod
    @takes(values=TEXTS, counts=NUMBERS)
    def from_values(
        cls, values: Sequence[str], counts: Sequence[int] | None = None, fanout: int = 2, numbers: bool = False
    ) -> Hierarchy:
        """Build a hierarchy from the values themselves, for a column that has none.

        Neighbours in the given order are merged `fanout` at a time, in groups of similar count, and
        named by their first and last value; the last level is ``*``. Categories without an order
        should be passed sorted; their groups are then merely alphabetical. With `numbers` a group
        is named as a range, ``[18-25]``.

        Examples
        --------
        >>> Hierarchy.from_values(["a", "b", "c", "d"]).paths["c"]
        ('c', '{c..d}', '*')
        """
        n = len(values)
        weights = [1] * n if counts is None else [max(int(c), 1) for c in counts]
        levels: list[list[str]] = [list(values)]
        groups = -(-n // fanout)
        edges = [(i, i + 1) for i in range(n)]
        while groups > 1:
            # by count, so that no group has few people beside one of many
            edges = _merge(edges, weights, groups)
            labels = [""] * n
            for start, end in edges:
                text = values[start]
                if end - start > 1:
                    low, high = values[start], values[end - 1]
                    text = f"[{low}-{high}]" if numbers else f"{{{low}..{high}}}"
                labels[start:end] = [text] * (end - start)
            levels.append(labels)
            groups = -(-len(edges) // fanout)
        return cls({value: (*(level[i] for level in levels), TOP) for i, value in enumerate(values)})


def shape_of(code: str) -> str:
    """Return a code with every letter and digit written as 0, which shows its length and its separators."""
    return _SIGN.sub("0", code)


def looks_like_codes(values: Sequence[str]) -> bool:
    """Return whether texts are codes of one length, whose beginnings name groups (postcodes, ICD, ISCO, NACE).

    They are all of one length of 3 to 12 characters, made of A-Z, 0-9 and separators (blank, point,
    dash, slash) at the same places, and at least half of the letters and digits of the typical one
    (the median) are digits. Words, names and numbers of different lengths are no codes.

    Parameters
    ----------
    values : sequence of str
        The column's distinct values, missing ones not counted.

    Examples
    --------
    >>> looks_like_codes(["01145", "02139"]), looks_like_codes(["C50.9", "I10.0"]), looks_like_codes(["K1A 0B1"])
    (True, True, True)
    >>> looks_like_codes(["RED", "TAN"]), looks_like_codes(["9", "10"]), looks_like_codes(["A01.1", "A1.01"])
    (False, False, False)
    """
    shapes = set(map(shape_of, values))
    shape = min(shapes, default="")
    if len(shapes) != 1 or not re.fullmatch(r"(?=.{3,12}$)0[0 ./-]*0", shape):
        return False
    n_digits = sorted(sum(map(str.isdigit, value)) for value in values)
    return 2 * n_digits[len(n_digits) // 2] >= shape.count("0")


def _decoded(content: bytes, name: str, encoding: str) -> str:
    """Return the text of a hierarchy: by its byte order mark, else UTF-8, else in `encoding`, as tables are read."""
    is_wide = content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    with suppress(UnicodeDecodeError):
        return content.decode("utf-16" if is_wide else "utf-8-sig")
    try:
        text = content.decode(encoding or _WINDOWS)
    except (UnicodeDecodeError, LookupError):
        raise SchemaError(f"the hierarchy {name} is not UTF-8 text, nor {encoding or _WINDOWS}") from None
    if not encoding:
        caution(
            f"the hierarchy {name} is not UTF-8, so it is read as {_WINDOWS}; say what it is: --encoding (encoding=)"
        )
    return text


def _cells(text: str, separator: str) -> list[tuple[str, ...]]:
    """Return the cells of the lines that have any, without blanks around them; those inside quotes stay."""
    # quotes are gone after the reader, so a sign that no text has stands at both ends of what they held
    edge = f'((?:^|{re.escape(separator)})[ \\t]*")((?:[^"]|"")*)"'
    marked = re.sub(edge, rf'\1{_EDGE}\2{_EDGE}"', text, flags=re.MULTILINE)
    rows = csv.reader(io.StringIO(marked), delimiter=separator, skipinitialspace=True)
    lines = [tuple(cell.strip().replace(_EDGE, "") for cell in row) for row in rows]
    return [cells for cells in lines if any(cells)]


def _shape(value: str) -> str:
    """Return a value with every digit as 9 and every letter as a, and no more than its beginning if it is long."""
    shape = "".join("9" if c.isdigit() else "a" if c.isalpha() else c for c in value[:_LONG])
    return shape + "..." * (len(value) > _LONG)


def _spelled(value: str) -> str:
    """Return a value without what people write in several ways: blanks, case, zeros in front and .0 behind."""
    return re.sub(r"\.0+$", "", "".join(value.split()).casefold()).lstrip("0")


def _moment(value: Any) -> str:
    """Return a date or time as the text that a column uses for it; empty if it is missing."""
    if hasattr(value, "as_py"):  # of Arrow
        value = value.as_py()
    elif hasattr(value, "item"):  # of numpy, which gives nanoseconds as their number
        text, value = str(value), value.item()
        if isinstance(value, int):
            value = text if text[-3:] != "000" else dt.datetime.fromisoformat(text[:-3])
    if value is None or value != value:
        return ""
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        return value.isoformat()
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def _cycle(paths: Iterable[Sequence[str]]) -> set[str]:
    """Return the labels of a cycle in the paths, or an empty set if there is none."""
    above: dict[str, set[str]] = {}
    for path in paths:
        for low, high in pairwise(path):
            if low != high:
                above.setdefault(low, set()).add(high)
    try:
        graphlib.TopologicalSorter(above).prepare()
    except graphlib.CycleError as error:
        return set(error.args[1])
    return set()


def _merge(edges: list[tuple[int, int]], weights: list[int], groups: int) -> list[tuple[int, int]]:
    """Merge neighbouring ranges into about `groups` ranges of similar weight."""
    sizes = [sum(weights[a:b]) for a, b in edges]
    out: list[tuple[int, int]] = []
    total, before = sum(sizes), 0
    place = -1
    for (a, b), size in zip(edges, sizes, strict=True):
        here = min((2 * before + size) * groups // (2 * total), groups - 1)
        if here == place:
            out[-1] = (out[-1][0], b)
        else:
            out.append((a, b))
        place, before = here, before + size
    # Uneven weights can leave every range alone: then pairs are joined, so that levels end.
    if len(out) == len(edges):
        out = [(edges[i][0], edges[min(i + 1, len(edges) - 1)][1]) for i in range(0, len(edges), 2)]
    return out


def _check_widths(widths: Sequence[float]) -> None:
    if not widths or any(not w > 0 for w in widths):
        raise SchemaError("interval widths must be above 0")
    for small, large in pairwise(widths):
        ratio = large / small
        if ratio <= 1 or abs(ratio - round(ratio)) > 1e-9:
            raise SchemaError("each interval width must be a multiple of the one before", hint="for example 5, 10, 20")


# records from which on a value that many have may stand in an error; values that one names, signs of a shape
PUBLIC, _NAMED, _LONG = 10, 3, 20
_SEPARATORS, _WINDOWS, _EDGE = (";", ",", "\t"), "cp1252", "\ue000"
_SIGN = re.compile("[A-Z0-9]")
_DATES: dict[str, Callable[[dt.date], str]] = {
    "day": lambda d: d.isoformat(),
    "week": lambda d: f"{d.isocalendar().year}-W{d.isocalendar().week:02d}",
    "month": lambda d: f"{d.year:04d}-{d.month:02d}",
    "quarter": lambda d: f"{d.year:04d}-Q{(d.month + 2) // 3}",
    "year": lambda d: f"{d.year:04d}",
    "decade": lambda d: f"{d.year // 10 * 10:04d}s",
    "century": lambda d: f"{d.year // 100 * 100:04d}-{d.year // 100 * 100 + 99:04d}",
}
