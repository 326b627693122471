"""Pieces of numbers beside what they promise, and beside the second derivation."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.columns.table import Table
from hedgerow.guard.code import CodedColumn, coded
from hedgerow.guard.pieces import numbers_of_runs
from hedgerow.guard.steps import multiple, neighbour
from hedgerow.key import Key
from hedgerow.plan import GuardedColumn, Vector
from hedgerow.release.rederive.possible import faults
from hedgerow.release.rederive.told_numbers import multiples, told_numbers, wrong_pieces

from .test_runs import odd_columns, records

Array = np.ndarray[Any, Any]
KEY = Key(b"a key of the tests, of 32 bytes.")


def column_of(values: Any, least: int, person: Any = None, key: Key = KEY) -> CodedColumn:
    cells = values if isinstance(values, pa.Array) else pa.array(values, from_pandas=True)
    who = None if person is None else np.unique(person, return_inverse=True)[1]
    return coded(Table(pa.table({"x": cells})), hr.Schema(sensitive=["x"]), "x", least, who, key)


def drawn(record: GuardedColumn, n: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return codes and places, spread over all records of the table."""
    draws = np.random.default_rng(seed)
    codes = draws.integers(0, record.n_values + 1, n)
    return codes, draws.random(n), draws.random(n)


@settings(max_examples=80)
@given(rows=records, least=st.integers(2, 4), each=st.booleans())
@example(rows=[(0.0, i) for i in range(8)] + [(float(i), i) for i in range(1, 9)], least=2, each=True)
def test_every_piece_is_of_enough_people_and_holds_its_numbers(
    rows: list[tuple[float, int]], least: int, each: bool
) -> None:
    values = np.array([value + 0.0 for value, _ in rows])
    person = np.arange(len(rows)) if each else np.array([who for _, who in rows])
    record = column_of(values, least, None if each else person).record
    if not record.n_values:
        return
    record.check()
    assert wrong_pieces(record, values, person, least) == (0, 0)
    codes, place, step = drawn(record, 300)
    numbers = numbers_of_runs(record, codes, place, step)
    np.testing.assert_array_equal(numbers, told_numbers(record, codes, place, step))
    np.testing.assert_array_equal(np.isnan(numbers), codes == record.n_values)
    low, high = np.asarray(record.ends).reshape(-1, 2).T
    unit, known = record.steps[0], numbers[~np.isnan(numbers)]
    inside = (low[:, None] - unit <= known) & (known <= high[:, None] + unit)
    assert inside.any(axis=0).all()
    assert values.min() <= known.min()
    assert known.max() <= values.max()
    assert not np.signbit(known[known == 0]).any()


def test_no_key_moves_a_cut_so_far_that_a_piece_is_of_few() -> None:
    values = np.random.default_rng(7).lognormal(8, 1, 110).round()
    for i in range(150):
        record = column_of(values, 10, key=Key(i.to_bytes(31, "big") + b"1")).record
        assert wrong_pieces(record, values, np.arange(110), 10) == (0, 0)


def test_a_number_lies_as_far_up_as_its_place_among_the_people() -> None:
    values = np.random.default_rng(1).lognormal(8, 1, 3_000).round()
    record = column_of(values, 10).record
    people = np.asarray(record.people)
    codes = np.repeat(np.arange(len(people)), people)
    numbers = numbers_of_runs(record, codes, np.random.default_rng(2).random(3_000), np.zeros(3_000))
    above = np.abs(np.sort(numbers) - np.sort(values)) / values.std()
    assert np.quantile(above, 0.95) < 0.05
    # a third as many cuts as runs, not one for each
    assert 2.5 * len(record.begins) < len(record.values) < 4 * len(record.begins)


@pytest.mark.parametrize("shared", [5, 15, 20])
def test_the_key_decides_whether_some_people_share_a_value_that_is_told_exactly(shared: int) -> None:
    values = np.append(np.arange(1000.0, 1300.0) * 3, np.full(shared, 3301.0))
    exact = []
    for i in range(60):
        record = column_of(values, 10, key=Key(i.to_bytes(31, "big") + b"1")).record
        low, high = np.asarray(record.ends).reshape(-1, 2).T
        exact.append(bool(((low == high) & (low == 3301)).any()))
    assert (sum(exact) == 0) == (shared == 5)
    assert (sum(exact) == 60) == (shared == 20)


def test_who_is_left_over_before_a_shared_value_does_not_join_it() -> None:
    values = np.concatenate([np.zeros(30), np.arange(100.0, 110.0), [197.0, 198.0, 199.0], np.full(30, 200.0)])
    column = column_of(values, 10)
    assert column.record.n_values == 3
    assert column.codes[values == 199] == column.codes[values == 109]
    # where there is nobody else to join, they do
    alone = column_of(np.concatenate([np.zeros(30), [197.0, 198.0, 199.0], np.full(30, 200.0)]), 10)
    assert alone.record.n_values == 2
    assert alone.record.people[1] == 33


def test_nothing_is_told_in_the_void_beside_a_shared_value() -> None:
    values = np.concatenate([np.zeros(50), np.arange(1000.0, 1200.0), np.full(40, 99999.0)])
    record = column_of(values, 10).record
    numbers = numbers_of_runs(record, *drawn(record, 5_000))
    numbers = numbers[~np.isnan(numbers)]
    assert set(numbers[(numbers < 1000) | (numbers > 1199)]) == {0.0, 99999.0}


def test_numbers_are_as_round_as_those_of_the_table() -> None:
    draws = np.random.default_rng(3)
    values = draws.lognormal(10, 1, 4_000)
    values = np.where(draws.random(4_000) < 0.6, values.round(-3), values.round())
    record = column_of(values, 10).record
    people = np.asarray(record.people)
    codes = np.repeat(np.arange(len(people)), people)
    numbers = numbers_of_runs(record, codes, draws.random(4_000), draws.random(4_000))
    for step in (10, 1000):
        assert np.mean(numbers % step == 0) == pytest.approx(np.mean(values % step == 0), abs=0.08)
    assert set(record.steps) == {1.0, 10.0, 1000.0, 10_000.0}  # fewer than 20 need hundreds


def test_tenths_among_hundredths_are_counted_though_doubles_hold_none() -> None:
    tenths, hundredths = np.arange(1, 1_000) / 10, np.arange(1, 1_000) / 100
    values = np.concatenate([tenths[tenths % 1 > 0], hundredths[hundredths * 10 % 1 > 1e-9]])
    record = column_of(values, 5).record
    assert dict(zip(record.steps, record.stepped, strict=True))[0.1] == 900 - 5  # the last five are told as one number


@pytest.mark.parametrize("kind", ["cents", "noon", "giant"])
@pytest.mark.filterwarnings("ignore")
def test_one_person_does_not_decide_how_fine_numbers_are(kind: str) -> None:
    draws = np.random.default_rng(1)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(draws.integers(0, 900, 600), unit="D")
    table = pd.DataFrame({"age": draws.integers(18, 80, 600), "income": draws.integers(50, 900, 600) * 100.0})
    table["day"] = days.astype("datetime64[us]")
    if kind == "noon":
        table.loc[7, "day"] += pd.Timedelta(hours=12)
    else:
        table.loc[7, "income"] = 12345.67 if kind == "cents" else 3e300
    for key in range(5):
        released = hr.protect(table, hr.Schema(quasi=["age"], sensitive=["income", "day"]), random_state=key).table
        assert (released["income"] % 100 == 0).all()
        assert (released["day"] == released["day"].dt.normalize()).all()


@pytest.mark.parametrize("change", [30.5, 44.125, None])
@pytest.mark.filterwarnings("ignore")
def test_one_person_does_not_decide_how_numbers_are_spelled(change: float | None, tmp_path: Path) -> None:
    draws = np.random.default_rng(2)
    table = pd.DataFrame({"age": draws.integers(18, 80, 400), "pay": draws.integers(100, 999, 400) / 10})
    if change is not None:
        table["age"] = table["age"].astype(float)
        table.loc[3, ["age", "pay"]] = change
    table.to_csv(tmp_path / "people.csv", index=False)
    hr.protect(tmp_path / "people.csv", hr.Schema(quasi=["age"], sensitive=["pay"]), random_state=1).write(
        tmp_path / "release"
    )
    released = pd.read_csv(tmp_path / "release" / "release.csv", dtype=str)
    assert released["age"].str.fullmatch(r"\d\d").all()
    assert released["pay"].str.fullmatch(r"\d\d\.\d").all()


@pytest.mark.parametrize("least", [2, 5])
def test_the_key_decides_how_many_people_make_a_step_finer(least: int) -> None:
    """It asks for `least` to twice as many, the same number for columns that are equal."""
    needed = set()
    for number in range(12):
        key = Key(bytes([number]) * 32)
        steps = []
        for finer in range(3 * least):
            values = np.append(np.arange(300.0), np.arange(finer) + 0.1)
            steps.append(column_of(values, least, key=key).record.steps[0])
        needed.add(steps.index(0.1))
        assert steps == [1.0] * steps.index(0.1) + [0.1] * (3 * least - steps.index(0.1))
    assert min(needed) >= least
    assert max(needed) <= 2 * least
    assert len(needed) > 1


def test_people_with_one_value_and_no_unit_are_a_piece_without_a_step() -> None:
    """Two cuts fell inside a value that too few people had for the key to tell it exactly."""
    draws = np.random.default_rng(1)
    values = np.concatenate([draws.lognormal(0, 1, 300), np.repeat(draws.lognormal(0, 1, 20).round(4), 13)])
    for number in range(30):
        record = column_of(values, 8, key=Key(bytes([number]) * 32)).record
        assert wrong_pieces(record, values, np.arange(len(values)), 8) == (0, 0)


def test_records_of_one_person_do_not_make_a_step_finer() -> None:
    values = np.append(np.arange(300.0), np.arange(40) + 0.1)
    assert column_of(values, 5, np.append(np.arange(300), np.full(40, 300))).record.steps[0] == 1
    assert column_of(values, 5).record.steps[0] == 0.1


@pytest.mark.parametrize("kind", ["date", "time", "float32", "decimal", "tiny", "huge", "missing"])
def test_columns_of_every_type_are_told_alike_by_both_paths(kind: str) -> None:
    record = column_of(odd_columns()[kind], 5).record
    codes, place, step = drawn(record, 2_000)
    numbers = numbers_of_runs(record, codes, place, step)
    np.testing.assert_array_equal(numbers, told_numbers(record, codes, place, step))
    if kind == "date":
        assert (numbers[codes < record.n_values] % 1 == 0).all()


@pytest.mark.filterwarnings("ignore")
def test_cuts_follow_from_the_key_of_the_table_and_not_from_its_release() -> None:
    table = hr.datasets.make_people(600, seed=1).to_pandas()
    begins = []
    for quasi, key in ((["age", "sex"], 1), (["age", "job"], 1), (["age", "sex"], 2)):
        guard = hr.protect(table, hr.Schema(quasi=quasi, sensitive=["income"]), random_state=key).plan.guard
        begins.append(list(next(c for c in guard.columns if c.name == "income").begins))
    assert begins[0] == begins[1] != begins[2]


@pytest.mark.filterwarnings("ignore")
def test_columns_that_are_equal_are_cut_and_told_alike() -> None:
    table = hr.datasets.make_people(800, seed=3).to_pandas()[["age", "sex", "income"]]
    table["wage"] = table["income"]
    release = hr.protect(table, hr.Schema(quasi=["age", "sex"], sensitive=["income", "wage"]), random_state=1)
    one, two = (c for c in release.plan.guard.columns if c.role == "sensitive")
    assert two.follows == one.name
    assert (one.begins, one.ends) == (two.begins, two.ends)
    equal = (release.table["income"] == release.table["wage"]).mean()
    assert equal > 0.15  # a companion is from one of five runs


@pytest.mark.parametrize("change", ["begins", "few", "ends", "stepped", "shared", "coarse"])
def test_pieces_that_are_not_those_of_the_table_are_found(change: str) -> None:
    draws = np.random.default_rng(5)
    values = np.concatenate([np.zeros(60), draws.lognormal(9, 1, 900).round(-1)])
    record = column_of(values, 10).record
    begins, ends, stepped = (np.asarray(v).copy() for v in (record.begins, record.ends, record.stepped))
    if change == "begins":  # a cut far away keeps its numbers
        begins[5] = begins[4] + 10
        begins[4] = begins[3] + 10
    elif change == "few":
        begins[5] = begins[4] + 3
    elif change == "ends":
        ends[11] = 10 * ends[11]
    elif change == "stepped":
        stepped[:] = stepped[::-1] + np.arange(len(stepped))
    elif change == "shared":
        ends[:2] = -5, 5
    wrong = replace(record, begins=Vector("i", begins), ends=Vector("d", ends), stepped=Vector("i", stepped))
    if change == "coarse":  # fewer have hundreds
        wrong = replace(record, steps=Vector("d", np.append(100, record.steps[1:])))
    few, untrue = wrong_pieces(wrong, values, np.arange(len(values)), 10)
    assert few if change == "few" else untrue


@pytest.fixture(scope="module")
def release() -> hr.Release:
    table = hr.datasets.make_people(1_500, seed=2).to_pandas()[["age", "sex", "income", "assets"]]
    return hr.protect(table, hr.Schema(quasi=["age", "sex"], sensitive=["income", "assets"]), random_state=1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("change", [None, "no unit", "of nobody", "too often", "low half"])
def test_a_file_whose_numbers_its_plan_does_not_make_is_found_without_the_key(
    release: hr.Release, change: str | None
) -> None:
    table = release.table.copy()
    pay = table["income"].astype(float)
    if change == "no unit":
        pay[0] += 0.5
    elif change == "of nobody":
        pay[0] = pay.max() + 1_000
    elif change == "too often":
        pay[:300] = pay.sort_values().iloc[700]
    elif change == "low half":
        pay = pay.where(
            pay < pay.median(), pay.sort_values().iloc[:750].sample(1500, replace=True, random_state=1).to_numpy()
        )
    table["income"] = pay
    found = faults(release.plan, release.original, Table(pa.Table.from_pandas(table)), None)
    assert bool(found) == (change is not None)


def test_the_same_people_in_another_order_get_the_same_cuts() -> None:
    values = np.random.default_rng(4).lognormal(9, 1, 700).round(2)
    person = np.random.default_rng(5).integers(0, 300, 700)
    one = column_of(values, 10, person).record
    order = np.random.default_rng(6).permutation(700)
    assert column_of(pd.Series(values[order]), 10, person[order]).record == one


def dates(kind: str, n: int = 3_000) -> Array:
    """Return days or times, as datetime64, that are all of one step."""
    draws = np.random.default_rng(8)
    month = np.datetime64("1950-01") + draws.integers(0, 800, n)
    day = np.datetime64("2021-03-01") + draws.integers(0, 1_000, n)
    if kind == "months":
        return month.astype("M8[D]")
    if kind == "years":
        return (np.datetime64("1920") + draws.integers(0, 90, n)).astype("M8[D]")
    if kind == "week days":
        return np.where(np.is_busday(day), day, day + 2)
    if kind == "Mondays and Fridays":
        return np.where(
            draws.random(n) < 0.5,
            np.busday_offset(day, 0, "forward", "1000000"),
            np.busday_offset(day, 0, "forward", "0000100"),
        )
    minutes = {"quarters": 15, "five minutes": 5, "half hours": 30, "hours": 60}[kind]
    return day.astype("M8[us]") + draws.integers(0, 24 * 60 // minutes, n) * np.timedelta64(minutes, "m")


def is_of(kind: str, at: Array) -> Any:
    """Return which days or times are of a step."""
    days = at.astype("M8[D]")
    if kind in ("months", "years"):
        return days == days.astype("M8[M]" if kind == "months" else "M8[Y]").astype("M8[D]")
    if kind in ("week days", "Mondays and Fridays"):
        return np.is_busday(days, weekmask="1111100" if kind == "week days" else "1000100")
    minutes = {"quarters": 15, "five minutes": 5, "half hours": 30, "hours": 60}[kind]
    return (at.astype("M8[us]") - days).astype(np.int64) % (minutes * 60_000_000) == 0


STEPS_OF_DATES = (
    "months",
    "years",
    "week days",
    "Mondays and Fridays",
    "quarters",
    "five minutes",
    "half hours",
    "hours",
)


@pytest.mark.parametrize("kind", STEPS_OF_DATES)
@pytest.mark.parametrize("key", [1, 2, 3])
def test_dates_and_times_keep_their_step_but_for_a_few_people(kind: str, key: int) -> None:
    """First days of months stayed so in 18 to 98% of the rows, quarters of an hour in 10 to 14%."""
    values = dates(kind)
    values[:4] = values[:4] + (np.timedelta64(3, "D") if values.dtype == "M8[D]" else np.timedelta64(61, "s"))
    record = column_of(pa.array(values), 5, key=Key(bytes([key]) * 32)).record
    codes, place, step = drawn(record, 3_000)
    numbers = numbers_of_runs(record, codes, place, step)
    np.testing.assert_array_equal(numbers, told_numbers(record, codes, place, step))
    number = values.astype("M8[us]").astype(np.int64) if record.unit == "us" else values.astype(np.int64)
    assert wrong_pieces(record, number.astype(float), np.arange(len(values)), 5) == (0, 0)
    present = numbers[~np.isnan(numbers)].astype(np.int64)
    assert is_of(kind, present.astype("M8[us]" if record.unit == "us" else "M8[D]")).all()


@pytest.mark.parametrize("step", [0.25, 0.5, 5.0, 25.0, 50.0, 500.0])
def test_numbers_keep_a_step_between_powers_of_ten_and_how_many_have_the_next(step: float) -> None:
    values = (np.random.default_rng(9).lognormal(4, 0.8, 3_000)).round() * step
    record = column_of(values, 5).record
    assert record.steps[0] == step
    people = np.asarray(record.people)
    codes = np.repeat(np.arange(len(people)), people)
    numbers = numbers_of_runs(record, codes, *np.random.default_rng(2).random((2, 3_000)))
    assert (numbers % step == 0).all()
    following = record.steps[1]
    assert np.mean(numbers % following == 0) == pytest.approx(np.mean(values % following == 0), abs=0.03)


@pytest.mark.parametrize("kind", ["months", "week days", "quarters", "fives"])
def test_runs_keep_the_step_of_a_column(kind: str) -> None:
    """Times were rounded to multiples of 1,000 seconds: 14:15 came back as 01:33:20."""
    values = np.arange(3_000) // 3 * 5.0 if kind == "fives" else dates(kind)
    record = column_of(pa.array(values), 7, key=None).record  # type: ignore[arg-type]
    told = np.array(record.values[: record.n_values])
    assert (
        (told % 5 == 0).all()
        if kind == "fives"
        else is_of(kind, told.astype(np.int64).astype("M8[us]" if record.unit == "us" else "M8[D]")).all()
    )


def test_a_table_of_few_people_has_no_step_by_chance() -> None:
    some = [np.datetime64("2022-01-01") + day for day in (3, 40, 77, 101, 222, 300, 345, 400)]
    assert column_of(pa.array(np.array(some)), 2).record.steps[0] == 1
    days = np.datetime64("2022-01-01") + np.random.default_rng(1).integers(0, 900, 2_000)
    assert list(column_of(pa.array(days), 5).record.steps) == [1.0]


@pytest.mark.parametrize("days", [[-40, 0, 30, 58, 59, 19_000], list(range(-800, 800, 7))])
@pytest.mark.parametrize("step", [-128.0, -256.0, -31.0, -1.0, -64.0, -127.0])
def test_days_of_the_calendar_are_those_of_the_standard_library(days: list[int], step: float) -> None:
    near = multiple(np.array(days, float), step)
    np.testing.assert_array_equal(near, multiples(np.array(days, float), step))
    for day, found in zip(days, near.astype(int).tolist(), strict=True):

        def fits(number: int) -> bool:
            date = dt.date(1970, 1, 1) + dt.timedelta(days=number)
            if step <= -128:
                return date.day == 1 and (step == -128 or date.month == 1)
            return bool(int(-step) >> date.weekday() & 1)

        wanted = next(n for by in range(400) for n in (day - by, day + by) if fits(n))
        assert found == wanted
        assert neighbour(np.array([found], float), step, 1)[0] == next(
            n for n in range(found + 1, found + 400) if fits(n)
        )
        assert neighbour(np.array([found], float), step, -1)[0] == next(
            n for n in range(found - 1, found - 400, -1) if fits(n)
        )


@pytest.mark.parametrize("k", [2, 10])
@pytest.mark.parametrize(("rows", "persons"), [(1_000, 60), (2_000, 400)])
def test_people_with_many_records_have_pieces(rows: int, persons: int, k: int) -> None:
    """More pieces were wanted by their records than there were runs by people: an IndexError."""
    draws = np.random.default_rng(rows)
    person = draws.integers(0, persons, rows)
    columns = {
        "id": person,
        "age": draws.integers(18, 90, persons)[person],
        "cost": draws.lognormal(8, 1, rows).round(2),
    }
    schema = hr.Schema(quasi=["age"], sensitive=["cost"], identifiers=["id"], unit="id")
    release = hr.protect(pa.table(columns), schema, hr.Hedge(k), random_state=1)
    assert release.table.num_rows == rows


@pytest.mark.parametrize(("step", "off"), [(15.0, 0.004), (5.0, 0.03)])
def test_a_step_in_between_is_kept_by_most_where_too_many_are_off_it(step: float, off: float) -> None:
    """Of 10,000 times of which 40 were off the quarter of an hour, 29% were drawn on it."""
    draws = np.random.default_rng(1)
    n = 4_000
    minutes = draws.integers(0, 3_000, n) * step
    minutes[: int(off * n)] += 1
    columns = {"age": draws.integers(18, 90, n), "at": minutes}
    if step == 15:
        columns["at"] = (np.datetime64("2024-01-01", "us") + (60_000_000 * minutes).astype("m8[us]")).astype("M8[us]")
    schema = hr.Schema(quasi=["age"], sensitive=["at"], unit=None)
    for seed in range(2):
        cells = hr.protect(pa.table(columns), schema, random_state=seed).table["at"].to_numpy()
        drawn = cells.astype("M8[s]").astype(np.int64) / 60 if step == 15 else cells
        assert (drawn % step == 0).mean() > 1 - 2.5 * off - 0.002
