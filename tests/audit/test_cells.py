"""Cells of other tools: what each says, with exact ends, beside columns of every kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing import cell_patterns as cells
from hedgerow.auditing.pairing import align
from hedgerow.auditing.released_values import read_released
from hedgerow.auditing.subject import UnreadCells
from hedgerow.auditing.utility.loss import certainty_penalty
from hedgerow.io.read import read

AGES = list(range(10, 61))
RATES = [0.0, 19.9, 20.0, 20.5, 29.9, 30.0, 30.1, 60.0]
ZIPS = ["53703", "53706", "53715", "53810", "47906", "479"]
LEVELS = ["low", "medium", "high", "top"]
DAYS = pd.to_datetime(["1985-02-03", "1989-12-31", "1990-01-01", "1990-01-31", "1999-12-31"])

COVERS = [
    # the column, the cell, the values that it covers; with "!" it covers missing ones as well
    ("age", "25", [25]),
    ("age", " 25 ", [25]),
    ("age", "20-30", range(20, 31)),
    ("age", "20 - 30", range(20, 31)),
    ("age", "20–30", range(20, 31)),
    ("age", "20 to 30", range(20, 31)),
    ("age", "20~30", range(20, 31)),
    ("age", "20..30", range(20, 31)),
    ("age", "[20-30]", range(20, 31)),
    ("age", "[20 - 30]", range(20, 31)),
    ("age", "[20, 30]", range(20, 31)),
    ("age", "[20;30]", range(20, 31)),
    ("age", "[20, 30[", range(20, 30)),
    ("age", "[20, 30)", range(20, 30)),
    ("age", "[20-30)", range(20, 30)),
    ("age", "]20, 30]", range(21, 31)),
    ("age", "(20, 30]", range(21, 31)),
    ("age", "(20,30]", range(21, 31)),
    ("age", "(20.0, 30.0]", range(21, 31)),
    ("age", "(19.999, 30.0]", range(20, 31)),
    ("age", "]20, 30[", range(21, 30)),
    ("age", "(20, 30)", range(21, 30)),
    ("age", "(29, 30]", [30]),
    ("age", "[19.5, 20.5)", [20]),
    ("age", "[-inf, 30[", range(10, 30)),
    ("age", "(-inf, 30]", range(10, 31)),
    ("age", "[30, inf)", range(30, 61)),
    ("age", "(30, +inf]", range(31, 61)),
    ("age", "[-20)", range(10, 20)),
    ("age", "[30-]", range(30, 61)),
    ("age", ">=30", range(30, 61)),
    ("age", ">= 30", range(30, 61)),
    ("age", "≥30", range(30, 61)),
    ("age", ">30", range(31, 61)),
    ("age", "30+", range(30, 61)),
    ("age", "<30", range(10, 30)),
    ("age", "<=30", range(10, 31)),
    ("age", "2*", range(20, 30)),
    ("age", "2x", range(20, 30)),
    ("age", "{20, 21}", [20, 21]),
    ("age", "{20}", [20]),
    ("age", "['20']", None),
    ("age", "*", "all!"),
    ("age", "**", "all!"),
    ("age", "Any", "all!"),
    ("age", "any", "all!"),
    ("age", "NULL", "all!"),
    ("age", "NA", "all!"),
    ("age", "<NA>", "all!"),
    ("age", "nan", "all!"),
    ("age", "suppressed", "all!"),
    ("age", "?", "all!"),
    ("age", " ", "all!"),
    ("age", "young", None),
    ("age", "30-20", None),
    ("age", "2020-21", None),
    ("rate", "[20, 30[", [20.0, 20.5, 29.9]),
    ("rate", "]20, 30]", [20.5, 29.9, 30.0]),
    ("rate", "(20, 30)", [20.5, 29.9]),
    ("rate", "20-30", [20.0, 20.5, 29.9, 30.0]),
    ("rate", ">30", [30.1, 60.0]),
    ("rate", ">=30", [30.0, 30.1, 60.0]),
    ("rate", "<20", [0.0, 19.9]),
    ("rate", "2*", [20.0, 20.5, 29.9]),
    ("zip", "537**", ["53703", "53706", "53715"]),
    ("zip", "53***", ["53703", "53706", "53715", "53810"]),
    ("zip", "4*", ["47906", "479"]),
    ("zip", "5*", ["53703", "53706", "53715", "53810"]),
    ("zip", "*****", "all!"),
    ("zip", "{53703, 53706}", ["53703", "53706"]),
    ("zip", "53700-53799", ["53703", "53706", "53715"]),
    ("zip", "[53703, 53715[", ["53703", "53706"]),
    ("zip", "99***", None),
    ("zip", "{53703, 99999}", None),
    ("level", "{low, high}", ["low", "high"]),
    ("level", "{'low','high'}", ["low", "high"]),
    ("level", "low+high", ["low", "high"]),
    ("level", "low:3+high:1", ["low", "high"]),
    ("level", "low+(missing)", ["low", None]),
    ("level", "{medium..top}", ["medium", "high", "top"]),
    ("level", "[low, high]", ["low", "medium", "high"]),
    ("level", " low", ["low"]),
    ("level", "*", "all!"),
    ("level", "NA", "all!"),
    ("level", "worst", None),
    ("day", "1990", ["1990-01-01", "1990-01-31"]),
    ("day", "1990-01", ["1990-01-01", "1990-01-31"]),
    ("day", "198*", ["1985-02-03", "1989-12-31"]),
    ("day", "1985-1990", ["1985-02-03", "1989-12-31", "1990-01-01", "1990-01-31"]),
    ("day", "[1985, 1990[", ["1985-02-03", "1989-12-31"]),
    ("day", "]1985, 1990]", ["1989-12-31", "1990-01-01", "1990-01-31"]),
    ("day", "(1989-12-31, 1990-01-31]", ["1990-01-01", "1990-01-31"]),
    ("day", "[1989-12-31/1990-01-31]", ["1989-12-31", "1990-01-01", "1990-01-31"]),
    ("day", "[1989-12-31/1990-01-31)", ["1989-12-31", "1990-01-01"]),
    ("day", "[31.12.1989, 31.01.1990[", ["1989-12-31", "1990-01-01"]),
    ("day", "01.01.1990", ["1990-01-01"]),
    ("day", ">=1990", ["1990-01-01", "1990-01-31", "1999-12-31"]),
    ("day", "<1990-01-01", ["1985-02-03", "1989-12-31"]),
    ("day", ">1990", ["1999-12-31"]),
    ("day", "*", "all!"),
    ("day", "soon", None),
]


def original(name):
    values = {"age": AGES, "rate": RATES, "zip": ZIPS, "level": LEVELS, "day": DAYS}[name]
    table = read(pd.DataFrame({name: [*values, None]}))
    kind = {"level": "ordinal", "day": "date"}.get(name)
    return table.column(name, kind=kind, categories=LEVELS if name == "level" else None)


def understood(column, cell):
    return read_released(column, np.zeros(1, np.uint8), [cell])


def test_a_cell_that_counts_nobody_has_no_shares():
    made = understood(original("level"), "low:0")
    assert made.column.weights[0].tolist() == [0.0]


@pytest.mark.parametrize(("name", "cell", "covered"), COVERS, ids=[f"{n} {c}" for n, c, _ in COVERS])
def test_a_cell_covers_what_it_says(name, cell, covered):
    column = original(name)
    made = understood(column, cell)
    if covered is None:
        assert made.unread == (0,) or made.outside == (0,)
        return
    assert not made.unread
    assert not made.outside
    codes = np.arange(column.n_values + 1)
    fits = made.column.covers(codes, np.zeros(len(codes), np.int64))
    if covered == "all!":
        assert fits.all()
        assert made.column.wild[0]
        return
    values = list(column.values)
    if name == "day":
        values = [str(np.datetime64(int(v), "D")) for v in values]
    assert [v for v, inside in zip([*values, None], fits, strict=True) if inside] == [
        v for v in [*values, None] if v in list(covered)
    ]
    assert bool(fits.any())


def test_the_values_of_the_original_win():
    """What reads as a range, a mask or nothing may be a category."""
    names = ["1-5", "6-10", "*", "NA", "2*", "{a, b}", "?", "a"]
    column = read(pd.DataFrame({"size": names})).column("size")
    for name in set(names) - {"*"}:
        made = understood(column, name).column
        assert not made.general
        assert made.members[0].tolist() == [column.values.index(name)]
    years = read(pd.DataFrame({"year": [1999, 2020, 2021]})).column("year")
    assert understood(years, "2020-2021").column.lo[0] == 2020


@pytest.mark.parametrize(
    ("cells", "width", "middle"),
    [
        (["[20-29]"], 9 / 50, 24.5),
        (["20-29"], 9 / 50, 24.5),
        (["[20, 30["], 9 / 50, 24.5),
        (["]19, 29]"], 9 / 50, 24.5),
        (["(19.5, 29.5)"], 9 / 50, 24.5),
        (["2*"], 9 / 50, 24.5),
        (["<20"], 9 / 50, 14.5),
        ([">=50"], 10 / 50, 55.0),
        (["(29, 30]"], 0.0, 30.0),
    ],
)
def test_widths_and_middles_of_whole_numbers_go_to_the_numbers_inside(cells, width, middle):
    people = pd.DataFrame({"age": AGES})
    made = understood(read(people).column("age"), cells[0]).column
    assert made.middle[0] == middle
    low, high = int(made.lo[0]), int(made.hi[0])
    release = people.assign(age=[cells[0] if low <= a <= high else str(a) for a in AGES])
    pair = align(people, release, hr.Schema(quasi=["age"]))
    assert certainty_penalty(pair)["age"] == pytest.approx(width * (high - low + 1) / len(AGES))


def test_half_open_ranges_of_reals_have_the_widths_they_say():
    made = understood(read(pd.DataFrame({"rate": RATES})).column("rate"), "[20, 30[").column
    assert made.middle[0] == pytest.approx(25.0)
    assert made.cover.widths((0.0, 60.0))[0] == pytest.approx(10 / 60)
    assert made.hi[0] < 30.0


def test_intervals_of_pandas_are_read_with_their_closed_ends():
    people = pd.DataFrame({"age": AGES, "pay": range(51)})
    schema = hr.Schema(quasi=["age"], sensitive=["pay"])
    for right in (True, False):
        cut = pd.cut(people["age"], [9, 19, 39, 60] if right else [10, 20, 40, 61], right=right)
        whole = pd.Series(cut.to_numpy(), dtype=object)
        for release in (cut, cut.astype(str), pd.array(cut), whole):
            pair = align(people, people.assign(age=release), schema)
            ages = pair.released_quasi[0]
            ends = sorted(zip(ages.lo, ages.hi, strict=True))
            assert ends == ([(10, 19), (20, 39), (40, 60)])


def test_cells_that_cannot_be_read_are_named_with_their_rows():
    people = pd.DataFrame({"age": AGES, "job": ["cook", "nurse", "clerk"] * 17})
    release = people.assign(
        age=["old" if a > 55 else str(a) for a in AGES], job=people["job"].replace({"cook": "kitchen", "nurse": "ward"})
    )
    with pytest.raises(UnreadCells) as told:
        align(people, release, hr.Schema(quasi=["age", "job"]))
    assert told.value.cells == {"age": {"old": 5}, "job": {"kitchen": 17, "ward": 17}}
    assert "'kitchen' (17 rows), 'ward' (17 rows) of 'job'" in str(told.value)
    assert "hierarchy" in str(told.value)


def test_ends_are_the_doubles_next_to_what_is_left_out():
    assert cells.number_ends("[20, 30[") == (20.0, np.nextafter(30.0, 0))
    assert cells.number_ends("]0.1, 0.2]") == (np.nextafter(0.1, 1), 0.2)
    assert cells.number_ends("-5--3") == (-5.0, -3.0)
    assert cells.number_ends("[-5, -3[") == (-5.0, np.nextafter(-3.0, -9))
    assert cells.whole(cells.number_ends("-2*")) == (-29.0, -20.0)
    assert cells.number_ends("[, 5]") == (-np.inf, 5.0)
    assert cells.number_ends("[,]") is None
