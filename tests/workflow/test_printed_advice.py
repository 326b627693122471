"""Every command, option and key that inspecting and protecting print works on the file that it was printed for."""

from __future__ import annotations

import ast
import datetime as dt
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.workflow.options import schema_from, split

N = 240
RNG = np.random.default_rng(5)
PAY = np.round(np.exp(RNG.normal(8, 0.6, N)), 2)
BASE: dict[str, Any] = {
    "age": RNG.integers(18, 80, N),
    "job": RNG.choice(["cook", "nurse", "clerk"], N),
    "income": RNG.integers(5, 90, N) * 50.0,
}
DAYS = [dt.date(1950, 1, 1) + dt.timedelta(int(day)) for day in RNG.integers(0, 20_000, N)]


def csv(path: Path, **columns: Any) -> Path:
    pacsv.write_csv(pa.table({**BASE, **columns}), path)
    return path


def nested(folder: Path) -> Path:
    path = folder / "nested.parquet"
    pq.write_table(pa.table({**BASE, "address": [{"street": f"S{i}"} for i in range(N)]}), path)
    return path


def mixed_dates(folder: Path) -> Path:
    days = [f"{day:%d.%m.%Y}" if i % 3 else f"{day:%m/%d/%Y}" for i, day in enumerate(DAYS)]
    return csv(folder / "mixed.csv", birth=days)


def dates_and_words(folder: Path) -> Path:
    return csv(folder / "words.csv", birth=[f"{day:%d.%m.%Y}" if i % 9 else "unknown" for i, day in enumerate(DAYS)])


def dates_of_slashes(folder: Path) -> Path:
    return csv(folder / "slashes.csv", birth=[f"{day:%m/%d/%Y}" for day in DAYS])


def repeated_remarks(folder: Path) -> Path:
    notes = ["Frau M. has a penicillin allergy", "called 0171 2345678, no answer", "none"]
    phones = ["555-123-4567", "555-987-6543"]
    columns = {"info": [notes[i % 3] for i in range(N)], "contact": [phones[i % 2] for i in range(N)]}
    return csv(folder / "notes.csv", mobile=[491761234567 + i % 4 for i in range(N)], **columns)


def cases(folder: Path) -> Path:
    return csv(folder / "cases.csv", case_no=range(1000, 1000 + N), **{"patient id": [i % 80 for i in range(N)]})


def blanks(folder: Path) -> Path:
    names = {
        "house hold id": np.arange(N) // 3,
        "the weight": [1.5 + i % 3 for i in range(N)],
        "k, or m": ["x", "k.A."] * (N // 2),
    }
    names |= {"my income": PAY, "my income missing": [0, 1] * (N // 2), "household id": np.arange(N) // 3}
    return csv(folder / "blanks.csv", **names)


def codes(folder: Path) -> Path:
    frequent = [11] * 6 + [21] * 5 + [31] * 5 + [53, 72, 93, 93]
    sectors = [(12, 23, 24, 42, 61)[i % 5] if i % 20 == 0 else frequent[i % 20] for i in range(N)]
    columns = {"c 7": sectors, "sex": 1 + np.arange(N) % 2, "rooms": [(1, 2, 3, 9)[i % 4] for i in range(N)]}
    return csv(folder / "codes.csv", smokes=np.arange(N) % 2, **columns)


def money(folder: Path) -> Path:
    path = folder / "money.csv"
    texts = [f"{pay:,.2f}".translate(str.maketrans(",.", ".,")) + " EUR" for pay in PAY]
    lines = [f"{age};{text}" for age, text in zip(BASE["age"], texts, strict=True)]
    path.write_text("\n".join(["age;Gehalt", *lines]) + "\n")
    return path


def typed_money(folder: Path) -> Path:
    path = folder / "money.parquet"
    pq.write_table(pa.table({**BASE, "pay out": [f"${pay:,.2f}" for pay in PAY]}), path)
    return path


def unsure_numbers(folder: Path) -> Path:
    path = folder / "unsure.csv"
    path.write_text("\n".join(["age;amount", *(f"{20 + i % 50};{10 + i % 40}.{100 + i}" for i in range(N))]) + "\n")
    return path


def towns(folder: Path) -> Path:
    return csv(folder / "towns.csv", town=[f"Town {i % 110}" for i in range(N)], lat=48 + PAY.round() % 997 / 1000)


def labelled(folder: Path) -> Path:
    pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"v1": BASE["age"], "v2": BASE["income"], "q5": [1.0 + i % 6 for i in range(N)]})
    frame["v0"], frame["zip"] = [5000.0 + i % 70 for i in range(N)], [10115.0 + i % 6 for i in range(N)]
    frame.loc[:2, "v2"] = -9.0
    path = folder / "labels.sav"
    labels = {"v0": "Person identifier", "v1": "Age in years", "v2": "Net income", "q5": "Health", "zip": "Postcode"}
    values = {"q5": {1: "good", 2: "fair", 3: "bad", 4: "worse", 5: "worst"}, "v2": {-9: "refused"}}
    ranges = {"v2": [{"lo": -9, "hi": -9}]}
    pyreadstat.write_sav(
        frame, str(path), column_labels=labels, variable_value_labels=values, missing_ranges=ranges
    )  # fmt: skip
    return path


def titled(folder: Path) -> Path:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    for line in (["Staff 2024"], ["Confidential"], ["age", "pay"], *([20 + i % 50, 100 + i] for i in range(N))):
        book.active.append(line)
    book.active.merge_cells("A1:B1")
    book.save(folder / "titled.xlsx")
    return folder / "titled.xlsx"


ZOO: tuple[Callable[[Path], Path], ...] = (
    nested,
    mixed_dates,
    dates_and_words,
    dates_of_slashes,
    repeated_remarks,
    cases,
    blanks,
    codes,
    money,
    typed_money,
    unsure_numbers,
    towns,
    labelled,
    titled,
)


def options_in(printed: str) -> Iterator[list[str]]:
    """Yield each option of `hedgerow protect` that a text names with a value, as the words that a shell makes of it."""
    word = r"""(?:'[^']*'|"[^"]*"|[^\s'")(;,.:]|[,.:](?=[\w%])|(?<= )[,.](?= \())+"""
    for option in re.findall(rf"--[a-z]+ {word}", " ".join(printed.split())):
        words = shlex.split(option)
        # COLUMN and FIRST:LAST:STEP stand for what a reader knows; --schema names the file that was written
        if not re.search(r"\b[A-Z]{3,}\b", words[1]) and words[0] != "--out":
            yield words


def changed(command: list[str], option: list[str]) -> list[str]:
    """A command with one more option: a column that gets another role is taken out of the first."""
    flag, value = option
    words = list(command)
    if flag in words and flag != "--kinds":  # what was proposed is corrected
        words[words.index(flag) + 1] = value
        return words
    if flag in ("--weight", "--household", "--unit", "--identifiers"):
        for i, word in enumerate(words[:-1]):
            if word in ("--quasi", "--sensitive", "--other"):
                names = [name for name in split(words[i + 1]) if name != split(value)[0]]
                words[i + 1] = ",".join(f'"{name}"' for name in names)
        emptied = [i for i, word in enumerate(words) if not word]
        for i in reversed(emptied):
            del words[i - 1 : i + 1]
    return [*words, *option]


def keys_in(printed: str) -> list[dict[str, str]]:
    """The kinds that a text names as a key of Python."""
    return [ast.literal_eval(found) for found in re.findall(r"\(kinds=(\{.*?\})\)", " ".join(printed.split()))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", ZOO, ids=[make.__name__ for make in ZOO])
def test_all_that_is_printed_for_a_file_works_on_it(
    make: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    path = make(tmp_path)
    assert run(["inspect", path.name]) == 0
    printed = capsys.readouterr()
    agreed = shlex.split(printed.out.splitlines()[-1])[1:]
    assert run(agreed) == 0
    warned = capsys.readouterr().err
    # what follows need only be taken
    command = [*agreed, "--no-report", "--force", "-k", "3", "--max-disclosure", "1"]
    advised = [*options_in(printed.out.rpartition("If you agree:")[0]), *options_in(printed.err), *options_in(warned)]
    for option in advised:
        assert run(changed(command, option)) == 0, (option, capsys.readouterr().err)
    for kinds in [*keys_in(printed.out), *keys_in(warned)]:
        hr.protect(path, schema_from({"quasi": [*kinds, "age"]}).replace(kinds=kinds), hr.Mondrian(3))


def test_mixed_dates_are_not_advised_to_be_dates() -> None:
    """The advice to say kinds=date led to an error, where a column has dates of two forms or a word."""
    days = ["31.12.1999"] * 40 + ["unknown"] * 9
    table = pa.table({"birth": days, "age": range(49), "pay": range(49)})
    schema = hr.Schema(quasi=["birth", "age"], sensitive=["pay"])
    with pytest.warns(UserWarning, match=r"look like dates of one form.*--kinds birth=categorical"):
        hr.protect(table, schema, hr.Mondrian(3))
    with pytest.warns(UserWarning, match=r"Say what it is: --kinds birth=date"):
        hr.protect(table.slice(0, 40), schema, hr.Mondrian(3))


def visits(folder: Path) -> list[str]:
    csv(folder / "visits.csv", **{"patient id": [i % 80 for i in range(N)]})
    return ["visits.csv", "--quasi", "age", "--sensitive", "income", "--identifiers", "patient id"]


def several_sheets(folder: Path) -> list[str]:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    for sheet in (book.active, book.create_sheet("Staff 2")):
        for line in (["age", "pay"], *([20 + i % 50, 100 + i] for i in range(N))):
            sheet.append(line)
    book.save(folder / "two.xlsx")
    return ["two.xlsx", "--quasi", "age", "--sensitive", "pay"]


def utf_16(folder: Path) -> list[str]:
    lines = ["age,pay", *(f"{20 + i % 50},{100 + i}" for i in range(N))]
    (folder / "wide.csv").write_bytes("\n".join(lines).encode("utf-16-le"))
    return ["wide.csv", "--quasi", "age", "--sensitive", "pay"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [visits, several_sheets, utf_16], ids=["visits", "sheets", "utf-16"])
def test_hints_of_refusals_work(
    make: Callable[[Path], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["protect", *make(tmp_path), "--no-report", "--force", "-k", "3", "--max-disclosure", "1", "--out", "out"]
    assert run(command) == 2
    hint = capsys.readouterr().err
    advised = list(options_in(hint))
    for option in advised:
        assert run([*command, *option]) == 0, (option, capsys.readouterr().err)
    named = re.findall(r"name one: (.+)", hint)
    for file in named:
        assert run([command[0], file, *command[2:]]) == 0, (file, capsys.readouterr().err)
    assert advised or named


def test_names_with_blanks_can_be_quoted_in_every_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blanks(tmp_path)
    command = ["protect", "blanks.csv", "--quasi", '"the weight", "k, or m"', "--household", '"household id"']
    command += ["--sensitive", '"my income","my income missing"', "--follows", '"my income missing=my income"']
    command += ["--kinds", '"my income missing"=categorical', "--unit", '"house hold id"']
    assert run([*command, "--no-report", "-k", "3", "--max-disclosure", "1", "--out", "out"]) == 0
    plan = hr.Plan.load(tmp_path / "out" / "plan.json")
    assert (plan.unit, plan.household) == ("house hold id", "household id")
    assert plan.names("quasi") == ["the weight", "k, or m"]
