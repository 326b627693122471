"""Dates and times keep the way in which their own column writes them, in files and after draws."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import SchemaError
from hedgerow.io.read import read
from hedgerow.io.text_cells import date_style, parse_dates, styled
from hedgerow.io.write import write_table

N = 600
Written = Callable[[dt.datetime], str]
STYLES: dict[str, tuple[Written, str]] = {
    "iso": (lambda d: f"{d:%Y-%m-%d}", r"\d{4}-\d\d-\d\d"),
    "dotted": (lambda d: f"{d:%d.%m.%Y}", r"\d\d\.\d\d\.\d{4}"),
    "loose": (lambda d: f"{d.day}.{d.month}.{d.year}", r"[1-9]\d?\.[1-9]\d?\.\d{4}"),
    "american": (lambda d: f"{d:%m/%d/%Y}", r"(0\d|1[0-2])/\d\d/\d{4}"),
    "british": (lambda d: f"{d:%d/%m/%Y}", r"\d\d/(0\d|1[0-2])/\d{4}"),
    "compact": (lambda d: f"{d:%Y%m%d}", r"20\d\d(0\d|1[0-2])[0-3]\d"),
    "minutes": (lambda d: f"{d:%Y-%m-%d %H:%M}", r"\d{4}-\d\d-\d\d \d\d:(00|15|30|45)"),
    "tee": (lambda d: f"{d:%Y-%m-%dT%H:%M:%S}", r"\d{4}-\d\d-\d\dT\d\d:(00|15|30|45):00"),
    "offset": (lambda d: f"{d:%Y-%m-%dT%H:%M}+01:00", r"\d{4}-\d\d-\d\dT\d\d:(00|15|30|45)\+01:00"),
    "dotted times": (lambda d: f"{d:%d.%m.%Y %H:%M}", r"\d\d\.\d\d\.\d{4} \d\d:(00|15|30|45)"),
    "millis": (lambda d: f"{d:%Y-%m-%d %H:%M:%S}.000Z", r"\d{4}-\d\d-\d\d \d\d:(00|15|30|45):00\.000Z"),
}
KINDS = dict.fromkeys(("american", "british", "compact"), "date")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draws = np.random.default_rng(4)
    columns: dict[str, object] = {"age": draws.integers(18, 80, N), "sex": draws.choice(["f", "m"], N)}
    for name, (written, _) in STYLES.items():
        minutes = 15 * draws.integers(0, 4 * 24 * 1_000, N)
        columns[name] = [written(dt.datetime(2020, 1, 1) + dt.timedelta(minutes=int(m))) for m in minutes]
    path = tmp_path_factory.mktemp("dates") / "people.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_a_table_that_is_read_and_written_is_the_same_file(people: Path, tmp_path: Path) -> None:
    """One style for all columns of a file made 10.01.2024 of 2024-01-10, and Z of an offset."""
    table = read(people)
    write_table(table.arrow, tmp_path / "again.csv", like=table)
    assert (tmp_path / "again.csv").read_text() == people.read_text()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("guard", "key"), [("redraw", 1), ("redraw", 2), ("runs", None)])
def test_hidden_dates_are_written_as_their_own_column_is(
    people: Path, tmp_path: Path, guard: str, key: int | None
) -> None:
    schema = hr.Schema(quasi=["age", "sex"], sensitive=list(STYLES), kinds=KINDS)
    method = hr.Hedge(k=5, max_disclosure=1) if guard == "redraw" else hr.MART(k=5, max_disclosure=1)
    files = []
    for engine in ("memory", "duckdb"):
        release = hr.protect(people, schema, method, guard=guard, random_state=key, engine=engine)
        files.append(release.write(tmp_path / engine) / "release.csv")
    assert files[0].read_bytes() == files[1].read_bytes()
    cells = pd.read_csv(files[0], dtype=str)
    for name, (_, form) in STYLES.items():
        assert cells[name].dropna().str.fullmatch(form).all(), name
        assert cells[name].count() > 0.9 * N
    audit = hr.audit(people, tmp_path / "memory", attacks=False, learning=False, inference=False)
    assert "not what its plan makes" not in str(audit)


@pytest.mark.filterwarnings("ignore")
def test_drawn_rows_keep_the_style_of_quasi_identifiers(people: Path, tmp_path: Path) -> None:
    names = ["british", "compact", "loose", "minutes"]
    schema = hr.Schema(quasi=names, sensitive=["sex"], kinds=dict.fromkeys(("british", "compact"), "date"))
    cells = pd.read_csv(hr.protect(people, schema, random_state=1).write(tmp_path / "out") / "release.csv", dtype=str)
    for name in names:
        assert cells[name].str.fullmatch(STYLES[name][1]).all(), name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["int64", "int32", "float64", "Int64"])
def test_whole_numbers_are_declared_and_proposed_as_dates(kind: str) -> None:
    """20220472 came back of YYYYMMDD."""
    draws = np.random.default_rng(2)
    days = pd.Series(pd.Timestamp("2019-01-01") + pd.to_timedelta(draws.integers(0, 900, N), "D"))
    table = pd.DataFrame({"age": draws.integers(18, 80, N), "day": days.dt.strftime("%Y%m%d").astype(kind)})
    if kind[-2:] == "64" and kind != "int64":
        table.loc[::9, "day"] = np.nan if kind == "float64" else pd.NA
    assert hr.inspect(table).schema.kinds == {"day": "date"}
    released = hr.protect(table, hr.Schema(quasi=["age"], sensitive=["day"], kinds={"day": "date"}), random_state=1)
    days_released = released.table["day"]
    assert days_released.dtype == table["day"].dtype
    pd.to_datetime(days_released.dropna().astype(int).astype(str), format="%Y%m%d")
    cells = hr.protect(
        table, hr.Schema(quasi=["day"], kinds={"day": "date"}), hr.Mondrian(k=50, max_disclosure=1)
    ).table
    assert cells["day"].str.startswith("[20").any()


@pytest.mark.parametrize("values", [[20200230, 20200101], [1.5, 20200101.0], [7, 20200101]])
def test_numbers_that_are_no_days_are_refused_without_a_value(values: list[float]) -> None:
    table = pd.DataFrame({"age": range(20), "day": values * 10})
    assert "day" not in hr.inspect(table).schema.kinds
    with pytest.raises(SchemaError, match="'day' is declared a date, but its numbers are not all days") as error:
        hr.protect(table, hr.Schema(quasi=["age"], sensitive=["day"], kinds={"day": "date"}), hr.Hedge(k=2))
    assert not any(str(value) in str(error.value).replace("20201231", "") for value in values)


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["12/31/1999", "31.12.1998", "2020-05-04"], ["1999-12-31", "1998-12-31", "2020-05-04"]),
        (["31/12/1999", "20200504", None], ["1999-12-31", "2020-05-04", None]),
        (["31-12-1999", "1/2/2020", "13/2/2020"], ["1999-12-31", "2020-02-01", "2020-02-13"]),
        (["1.2.2020", "2020-05-04 14:15"], ["2020-02-01 00:00:00", "2020-05-04 14:15:00"]),
        (["01/02/2020", "31.12.1998"], None),  # whether the first of February, nobody knows
        (["12/31/1999", "31/12/1999"], None),
        (["31.12.1998", "2020-05-04 14:15Z"], None),
        (["22.08.2023 10:15", "1.2.2023 9:05:07"], ["2023-08-22 10:15:00", "2023-02-01 09:05:07"]),
        (["08/22/2023 12:15 AM", "8/2/2023 1:15pm", None], ["2023-08-22 00:15:00", "2023-08-02 13:15:00", None]),
        (["2023/08/22 10:15", "31.12.1998"], ["2023-08-22 10:15:00", "1998-12-31 00:00:00"]),
        (["2023/08/22 24:15"], None),
        (["08/02/2023 10:15"], None),
    ],
)
def test_several_forms_in_one_column_are_each_read_in_their_own(
    texts: list[str | None], wanted: list[str | None] | None
) -> None:
    parsed = parse_dates(pa.array(texts))
    assert (None if parsed is None else [None if v is None else str(v) for v in parsed.to_pylist()]) == wanted


@pytest.mark.parametrize(
    ("texts", "style"),
    [
        (["2020-01-01", "2020-01-02", "01.02.2020"], ""),
        (["1.1.2020", "01.02.2020", "3.4.2020"], "%-d.%-m.%Y"),
        (["1.1.2020", "01.02.2020", "03.04.2020"], "%d.%m.%Y"),
        (["2020-01-01 10:00", "2020-01-01 10:05:07", "2020-01-01 10:10"], "%Y-%m-%d %H:%M"),
        (["2020-01-01 10:00:00", "2020-01-01 10:05:07"], ""),
        (["2020-01-01T10:00:00.5"], "%Y-%m-%dT%H:%M:%S.0"),
        (["2020-01-01 10:00+01:00", "2020-06-01 10:00+02:00"], "%Y-%m-%d %H:%M+01:00"),
        (["22.08.2023 10:15", "1.2.2023 10:15:30", "2.2.2023 9:05"], "%-d.%-m.%Y %-H:%M"),
        (["08/22/2023 01:15 PM", "08/02/2023 11:15 AM"], "%m/%d/%Y %I:%M %p"),
        (["2023/08/22 9:15:00am"], "%Y/%m/%d %-I:%M:%S%p"),
        ([], ""),
    ],
)
def test_the_style_of_most_cells_is_that_of_the_column(texts: list[str], style: str) -> None:
    assert date_style(pa.array(texts, pa.string())) == style


def test_a_time_is_written_with_all_that_it_needs_of_seconds(tmp_path: Path) -> None:
    rows = ["2020-01-01 10:00,a", "2020-01-01 10:05:07,b", "2020-01-01 10:10,c", "2020-01-01 10:15:00.25,d"]
    (tmp_path / "one.csv").write_text("\n".join(["at,x", *rows, ""]))
    table = read(tmp_path / "one.csv")
    write_table(table.arrow, tmp_path / "two.csv", like=table)
    assert (tmp_path / "two.csv").read_text() == (tmp_path / "one.csv").read_text()


@pytest.mark.filterwarnings("ignore")
def test_firsts_of_months_are_not_written_so_that_nobody_can_tell_months_from_days(tmp_path: Path) -> None:
    draws = np.random.default_rng(3)
    day = [f"1/{m}/{y}" for m, y in zip(draws.integers(1, 13, N), draws.integers(1990, 2020, N), strict=True)]
    day[0] = "17/5/1999"
    pd.DataFrame({"age": draws.integers(18, 80, N), "day": day}).to_csv(tmp_path / "people.csv", index=False)
    schema = hr.Schema(quasi=["age"], sensitive=["day"], kinds={"day": "date"})
    hr.protect(tmp_path / "people.csv", schema, random_state=1).write(tmp_path / "out")
    assert pd.read_csv(tmp_path / "out" / "release.csv")["day"].str.fullmatch(r"\d{4}-\d\d-01").all()
    hr.audit(tmp_path / "people.csv", tmp_path / "out", attacks=False, learning=False, inference=False)


@pytest.mark.filterwarnings("ignore")
def test_only_a_release_that_writes_other_dates_warns_of_them(people: Path) -> None:
    """Every date that `kinds` declared was warned of, though drawn rows wrote it as its column does."""
    schema = hr.Schema(quasi=["age", "american", "compact"], sensitive=["british", "iso"], kinds=KINDS)
    drawn = hr.protect(people, schema, hr.Hedge(k=5, max_disclosure=1), random_state=1)
    assert "2020-12-31" not in str(drawn.cautions)
    groups = hr.protect(people, schema, hr.Mondrian(k=50, max_disclosure=1), guard=None)
    (warning,) = [each for each in groups.cautions if "2020-12-31" in each]
    assert warning.startswith("american, compact: people.csv does not write its dates as 2020-12-31")


@pytest.mark.parametrize(
    "texts",
    [
        ["08/22/2023 01:15 PM", "08/02/2023 12:05 AM"],
        ["8/22/2023 9:05", "8/2/2023 10:15"],
        ["2023/08/22 10:15:07", "2023/08/02 00:00:00"],
        ["22.08.2023 10:15", "02.08.2023 10:15:07", "03.08.2023 10:15"],
    ],
)
def test_local_times_are_written_as_they_were_read(texts: list[str]) -> None:
    """Times such as 22.08.2023 10:15 were identifiers, and refused as dates."""
    written = pa.array(texts)
    assert styled(parse_dates(written), date_style(written)).to_pylist() == texts


@pytest.mark.filterwarnings("ignore")
def test_declared_local_times_are_drawn_in_their_style(tmp_path: Path) -> None:
    draws = np.random.default_rng(7)
    minutes = 15 * draws.integers(0, 4 * 24 * 300, N)
    times = [f"{dt.datetime(2023, 1, 1) + dt.timedelta(minutes=int(m)):%m/%d/%Y %H:%M}" for m in minutes]
    table = pd.DataFrame({"age": draws.integers(18, 80, N), "came": times})
    table.to_csv(tmp_path / "p.csv", index=False)
    assert hr.inspect(tmp_path / "p.csv").schema.kinds == {"came": "date"}
    schema = hr.Schema(quasi=["age"], sensitive=["came"], kinds={"came": "date"})
    for source in (tmp_path / "p.csv", table):
        release = hr.protect(source, schema, random_state=1)
        cells = pd.Series(list(map(str, release.table["came"])))
        assert cells.str.fullmatch(r"(0\d|1[0-2])/\d\d/2023 \d\d:(00|15|30|45)").all()
        assert "does not write" not in str(release.cautions)
