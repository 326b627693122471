"""Every type of column, in every state, in every role, from every kind of input: what a release makes of it.

python -m tests.contracts.columns           # the table: how many columns were released, and why others were refused

A column has a type (`TYPES`) and a state (`STATES`). All types stand in one table, whose columns are all in one state
and in one role; those that inputs hold in types of their own stand in a second one. A column that is refused by name is
left out, and the rest protected again, as a steward would do.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pyreadstat

import hedgerow as hr
from hedgerow.columns.arrays import decoded
from hedgerow.errors import HedgerowError

N, K = 240, 5
Values = list[Any]
_DAY, _NOON = dt.date(2020, 1, 1), dt.datetime(2021, 3, 1, 12, tzinfo=dt.UTC)


def _texts(i: int) -> str:
    return f"{'abcdefghij'[i % 10]}{'aeiou'[i // 10 % 5]}t{'lmnrs'[i // 50 % 5]}y"


# a value for each whole number, how it differs from every other, and how the column is declared
TYPES: dict[str, tuple[Callable[[int], Any], pa.DataType, str | None]] = {
    "category": (_texts, pa.string(), None),
    "code": (lambda i: f"{10_000 + 37 * i:05d}", pa.string(), None),
    "sentence": (lambda i: f"The patient said {_texts(i)}, and was seen again.", pa.string(), None),
    "whole": (lambda i: 20 + i, pa.int64(), None),
    "tens": (lambda i: 50 * (3 + i), pa.int32(), None),
    "small": (lambda i: 1 + i % 120, pa.int8(), None),
    "fraction": (lambda i: 1.5 + i / 4, pa.float64(), None),
    "single": (lambda i: 0.5 + i, pa.float32(), None),
    "half": (lambda i: 0.5 + i % 100, pa.float16(), None),
    "decimal": (lambda i: Decimal(f"{i}.25"), pa.decimal128(9, 2), None),
    "number_as_code": (lambda i: 100 + i, pa.int64(), "categorical"),
    "truth": (lambda i: bool(i % 2), pa.bool_(), None),
    "day": (lambda i: _DAY + dt.timedelta(7 * i), pa.date32(), None),
    "first_of_month": (lambda i: dt.date(2000 + i // 12, 1 + i % 12, 1), pa.date32(), None),
    "hour": (lambda i: dt.datetime(2021, 3, 1) + dt.timedelta(hours=i), pa.timestamp("us"), None),
    "zoned": (lambda i: _NOON + dt.timedelta(hours=6 * i), pa.timestamp("us", "UTC"), None),
    "clock": (lambda i: dt.time(i // 4 % 24, i % 4 * 15), pa.time64("us"), None),
    "ordered": (lambda i: f"step {i:03d}", pa.dictionary(pa.int32(), pa.string(), ordered=True), None),
}  # fmt: skip
# types that frames and files hold each in its own way, so that their plans and draws differ
OWN = ("half", "zoned", "clock", "ordered")


def _numbers(state: str, draws: np.random.Generator) -> list[int | None]:
    """Return the whole number behind each row's value, or None for a missing one."""
    few: list[int | None] = draws.integers(0, 6, N).tolist()
    if state == "rare":  # two common values, and many that few have
        return [int(x) if x < 2 else int(i) for i, x in enumerate(few)]  # type: ignore[operator]
    if state == "sparse":
        return [x if draws.random() < 0.1 else None for x in few]
    if state == "unique":
        return draws.permutation(N).tolist()
    if state in ("constant", "empty"):
        return [1 if state == "constant" else None] * N
    if state == "odd":
        few[7] = 200
    return few


STATES = ("ordinary", "rare", "sparse", "unique", "constant", "empty", "odd")
ROLES = ("quasi", "sensitive", "other")


def table_of(state: str, own: bool = False) -> pa.Table:
    """Make a table with a column of every type, all in one state, beside an age and an income."""
    draws = np.random.default_rng(STATES.index(state))
    columns = {"age": pa.array(draws.integers(18, 80, N)), "income": pa.array(draws.lognormal(10, 0.4, N).round(-2))}
    for name, (value, kind, _) in TYPES.items():
        if (name in OWN) != own:
            continue
        numbers = _numbers(state, draws)
        values = [None if i is None else np.float16(value(i)) if kind == pa.float16() else value(i) for i in numbers]
        if pa.types.is_dictionary(kind):
            known = sorted({v for v in values if v is not None})
            codes = pa.array([None if v is None else known.index(v) for v in values], pa.int32())
            columns[name] = pa.DictionaryArray.from_arrays(codes, pa.array(known, pa.string()), ordered=True)
        else:
            columns[name] = pa.array(values, kind)
    return pa.table(columns)


def _written(write: Callable[[Any, Path], Any], suffix: str) -> Callable[[pa.Table, Path], Any]:
    def source(table: pa.Table, folder: Path) -> Path:
        file = folder / f"people.{suffix}"
        write(table, file)
        return file

    return source


def _plain(table: pa.Table) -> pa.Table:
    """Return the table with the types that files and other frames have."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name] = column.cast(pa.float32()) if column.type == pa.float16() else column
        if pa.types.is_dictionary(column.type):
            columns[name] = column.cast(pa.string())
    return pa.table(columns)


def _write_spss(table: pa.Table, file: Path) -> None:
    """Write a table as a program of statistics would: no whole numbers, decimals, zones or clocks."""
    frame = _plain(table).to_pandas()
    for name in frame:
        if TYPES.get(name, (None, pa.int64()))[1] in (pa.decimal128(9, 2), pa.bool_()):
            frame[name] = frame[name].astype(float)
        elif name == "zoned":
            frame[name] = frame[name].dt.tz_localize(None)
        elif name == "clock":
            frame[name] = frame[name].map(lambda value: None if value is None else str(value))
    pyreadstat.write_sav(frame, str(file))


INPUTS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: pl.from_arrow(_plain(table)),
    "duckdb": lambda table, _: duckdb.connect().from_arrow(_plain(table)),
    "parquet": _written(pq.write_table, "parquet"),
    "csv": _written(lambda table, file: pacsv.write_csv(_plain(table), file), "csv"),
    "spss": _written(_write_spss, "sav"),
}


@dataclass
class Outcome:
    """What came of one table: its release, why columns were refused, and the words of warnings."""

    release: hr.Release | None
    refused: dict[str, str]
    words: str


def protected(table: pa.Table, role: str, source: Any) -> Outcome:
    """Protect a table whose columns have one role, without those that are refused by name."""
    refused: dict[str, str] = {}
    while True:
        names = [name for name in TYPES if name not in refused and name in table.column_names]
        kinds = {name: kind for name in names if (kind := TYPES[name][2])}
        roles: dict[str, Any] = {"quasi": ["age"], "sensitive": ["income"]}
        roles[role] = [*roles.get(role, []), *names]
        schema = hr.Schema(**roles, kinds=kinds, unit=None)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                release = hr.protect(source, schema, hr.Hedge(K, max_disclosure=0.8), random_state=1)
            except HedgerowError as error:
                message = error.message
                blamed = [name for name in names if repr(name) in message or f"{name}:" in message]
                if not blamed:
                    return Outcome(None, {**refused, "(all)": message}, "")
                refused |= dict.fromkeys(blamed[:1], message)
                continue
        return Outcome(release, refused, "\n".join([*release.cautions, *(str(w.message) for w in heard)]))


def _text(value: Any) -> str:
    """Return a cell as text; a number is the same in every type."""
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return f"{float(value):.12g}" if is_number else str(value)


def cells(table: Any, name: str) -> list[str]:
    """Return the cells of a released column as sorted texts."""
    values = decoded(table.arrow.column(name).combine_chunks()).to_pylist()
    return sorted(map(_text, values))


def changes(role: str, outcome: Outcome, recipient: str) -> Iterator[str]:
    """Yield what a release changed without a word, column by column."""
    assert outcome.release is not None
    released, plan = outcome.release.released, outcome.release.plan
    for name in (n for n in TYPES if n in released.names):
        before, after = (
            [v for v in decoded(each.column(name).combine_chunks()).to_pylist() if v is not None]
            for each in (outcome.release.original.arrow, released.arrow)
        )
        line = next(x for x in recipient.splitlines() if x.startswith(f"| {name} |"))
        if role == "other":
            if Counter(map(_text, before)) != Counter(map(_text, after)):
                yield f"{name}: another value"
            continue
        guarded = {c.name: c for c in plan.guard.columns}[name] if plan.guard else None
        if before and not after and f"{name}:" not in outcome.words and "(missing)" not in line:
            yield f"{name}: empty without a word"
        counts = Counter(map(_text, before))
        if guarded is not None and guarded.kind not in ("numeric", "date"):
            unknown = {_text(v) for v in after} - {*counts} - {"(other)"}
            if any("*" not in v for v in unknown):
                yield f"{name}: values that nobody has"
            gone = sum(n for n in counts.values() if n < K)
            if gone >= K and after and guarded.joined != gone:
                yield f"{name}: {gone} rare records, {guarded.joined} joined"
            if guarded.joined and ("fewer than" not in line or f"{name}:" not in outcome.words):
                yield f"{name}: joined without a word"
        elif after:
            yield from (f"{name}: {fault}" for fault in _without_step(name, before, after))


def _without_step(name: str, before: list[Any], after: list[Any]) -> Iterator[str]:
    """Yield how the steps of numbers, dates and times differ from those that all of the original keep."""
    rules: dict[str, Callable[[Any], bool]] = {
        "whole": lambda v: float(v) == round(float(v)),
        "multiple of 50": lambda v: float(v) % 50 == 0,
        "weekday": lambda v: v.weekday() == _DAY.weekday(),
        "first of a month": lambda v: v.day == 1,
        "whole hour": lambda v: (v.minute, v.second, v.microsecond) == (0, 0, 0),
    }
    for rule, holds in rules.items():
        try:
            if all(map(holds, before)) and not all(map(holds, after)):
                yield f"no {rule}: {sum(not holds(v) for v in after)} of {len(after)}"
        except (AttributeError, TypeError, ValueError):
            continue


def check(state: str, role: str, own: bool) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Protect one table from every kind of input; return the faults and, by input and column, why it was refused."""
    table, faults, made = table_of(state, own), list[str](), dict[str, Outcome]()
    with tempfile.TemporaryDirectory() as where:
        for kind in INPUTS:
            folder = Path(where) / kind
            folder.mkdir()
            try:
                outcome = protected(table, role, INPUTS[kind](table, folder))
                if outcome.release is not None:
                    outcome.release.write(folder / "out")
            except Exception as error:  # whatever is not ours is the fault that is looked for
                faults.append(f"{kind}: raw {type(error).__name__}: {' '.join(str(error).split())[:160]}")
                continue
            made[kind] = outcome
            if outcome.release is None:
                faults.append(f"{kind}: all refused: {outcome.refused['(all)'][:160]}")
                continue
            words = (folder / "out" / "RECIPIENT.md").read_text()
            faults += [f"{kind}: {fault}" for fault in changes(role, outcome, words)]
    releases = {kind: outcome.release for kind, outcome in made.items() if outcome.release is not None}
    alike: dict[Any, hr.Release] = {}
    for kind, release in releases.items() if not own else ():
        # empty columns of objects have another kind
        first = alike.setdefault(tuple((c.name, c.kind) for c in release.plan.columns), release)
        names = [name for name in release.released.names if kind not in ("csv", "spss")]  # which have their own types
        faults += [
            f"{kind}: {n} has other values" for n in names if cells(first.released, n) != cells(release.released, n)
        ]
    return faults, {kind: outcome.refused for kind, outcome in made.items()}


def main() -> None:
    """Print what came of every combination."""
    n, messages = 0, Counter[str]()
    for state in STATES if len(sys.argv) < 2 else sys.argv[1:]:
        for role in ROLES:
            for own in (False, True):
                faults, refused = check(state, role, own)
                n += len(INPUTS) * len(OWN if own else {*TYPES} - {*OWN})
                for kind, why in refused.items():
                    messages.update(re.sub(r"'[^']*'|\d[\d,]*", "_", message) for message in why.values())
                    print(
                        f"    {state}, {role}, {kind}: without {', '.join(why)}" if why else "", end="\n" if why else ""
                    )
                print(f"{state}, {role}: {len(faults)} faults", flush=True)
                print("".join(f"    {fault}\n" for fault in faults), end="")
    print(f"{n:,} combinations of type, state, role and input; {messages.total():,} refused:")
    for message, times in messages.most_common():
        print(f"  {times} x {message}")


if __name__ == "__main__":
    main()
