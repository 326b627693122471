"""RECIPIENT.md explains every sign that stands in the table, whatever method made it."""

from __future__ import annotations

import datetime as dt
import itertools
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.columns.table import Table
from hedgerow.errors import HedgerowError
from hedgerow.io.read import read
from hedgerow.io.write import write_table
from hedgerow.schema import Schema

from .methods import CASES, Case
from .tables import TABLES

NUMBER = r"-?(?:[\d.]+(?:e[+-]?\d+)?)"
MOMENT = r"\d{4}-\d\d-\d\d(?:T[\d:.]+)?"
WORD = r'(?:"(?:[^"]|"")*"|[^"+:{}\[\]*]+)'
COUNTED = rf"(?:{NUMBER}|{MOMENT}):\d+\+\(missing\):\d+"
# how a cell looks: what its reader must find in RECIPIENT.md
SIGNS = {
    rf"\[{NUMBER}-{NUMBER}\](?:\+\(missing\))?": r"`\[27-39\]` says .* between 27 and 39",
    rf"\[{MOMENT}/{MOMENT}\](?:\+\(missing\))?": r"`\[2001-05-01/2003-01-31\]` says .* between",
    r"\*": r"`\*` can be any value",
    r"\{.*\.\..*\}": r"`\{\w+\.\.\w+\}` says that the value",
    # a number beside missing values is no set of categories
    rf"(?!{NUMBER}\+\(missing\)$){WORD}(?:\+{WORD})+": r"`nurse\+cook` says that the value is one of these",
    rf"{WORD}:\d+(?:\+{WORD}:\d+)*": r"`nurse:4\+cook:1` says that four records of the group are nurses",
    rf"(?:.*\+)?\(missing\)(?::\d+)?(?:\+{WORD})*": r"`\(missing\)` beside other values",
    r".*\"[^\"]*[+:*\[]+[^\"]*\".*": r"stands in quotes",
    "ALL": r"`ALL`",
    "": r"[Aa]n empty cell",
}


def mixed() -> tuple[Any, Schema]:
    """Return numbers, dates, booleans, texts with signs in them, and missing values."""
    rng = np.random.default_rng(3)
    n = 60
    job = np.array(["baker", "cook", "dentist", "a+b", "x:1", "*", "[1-2]", None], object)
    day = [dt.date(2001, 5, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 900, n)]
    age = rng.integers(18, 80, n).astype(float)
    age[:3] = np.nan
    frame = {
        "age": age,
        "job": job[rng.integers(0, len(job), n)],
        "born": pd.Series(day, dtype="date32[pyarrow]"),
        "smokes": rng.integers(0, 2, n) == 1,
        "pay": rng.lognormal(8, 1, n).round(2),
    }
    return pd.DataFrame(frame), Schema(quasi=["age", "job", "born", "smokes"], sensitive=["pay"])


def unexplained(folder: Path, before: Table, recoded: list[str]) -> set[str]:
    """Return the signs in a written table that its RECIPIENT.md does not explain."""
    (file,) = folder.glob("release.*")
    written, text = read(file, unescape_formulas=True), (folder / "RECIPIENT.md").read_text()
    text = " ".join(text.split())
    lost = set()
    for name in recoded:
        own = set(before.arrow.column(name).to_pylist())
        for cell in set(written.arrow.column(name).to_pylist()) - own - {None}:
            if not isinstance(cell, str) or re.fullmatch(NUMBER, cell):
                continue
            if re.fullmatch(COUNTED, cell) and "`42:17+(missing):3` says that 17" in text:
                continue
            seen = [words for form, words in SIGNS.items() if re.fullmatch(form, cell, re.DOTALL)]
            lost |= {words for words in seen if not re.search(words, text)}
        gained = written.arrow.column(name).null_count and not re.search(SIGNS[""], text)
        lost |= {SIGNS[""]} if gained else set()
    return lost


KINDS = {"mixed": mixed, **TABLES}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_sign_in_the_table_is_explained(case: Case, kind: str, tmp_path: Path) -> None:
    table, schema = KINDS[kind]()
    try:
        release = hr.protect(table, schema, case.method(schema), guard=None)
    except HedgerowError:
        assert kind != case.table  # another table, which this method refuses
        return
    folder = release.write(tmp_path / "out")
    recoded = [c.name for c in release.plan.recoding.recoded()]
    assert not unexplained(folder, release.original, recoded)
    written_table = read(next(folder.glob("release.*")), unescape_formulas=True).arrow
    if "none of the group has a value" in (folder / "RECIPIENT.md").read_text():
        assert any(written_table.column(name).null_count for name in recoded)


def test_letters_are_not_told_as_an_order(tmp_path: Path) -> None:
    """{baker..cook} is alphabetical unless an order was declared."""
    jobs = ["cook", "nurse", "baker", "driver", "clerk", "tailor", "smith", "joiner"] * 4
    people = pd.DataFrame({"job": jobs, "pay": range(32)})
    schema = Schema(quasi=["job"], sensitive=["pay"])
    told = []
    for n, roles in enumerate((schema, schema.replace(categories={"job": jobs[:8]}))):
        release = hr.protect(people, roles, hr.Incognito(k=5))
        assert any(".." in str(cell) for cell in release.table["job"])
        text = (release.write(tmp_path / str(n)) / "RECIPIENT.md").read_text()
        told.append(("alphabetical" in text, "the column's own order" in " ".join(text.split())))
    assert told == [(True, False), (False, True)]


def test_tpp_tells_of_diversity_where_it_was_asked_for_and_in_plain_words(tmp_path: Path) -> None:
    people = hr.datasets.make_people(400, seed=1)
    schema = Schema(quasi=["age", "education"], sensitive=["smoker"], other=["region"])
    tree = "tree criterion=gini n_splits=2"
    texts = []
    for l in (None, 1.2):
        method = hr.TreePatternPreserving(tree, k=5, l=l, response="region", sensitive="smoker")
        release = hr.protect(people, schema, method)
        texts.append((release.write(tmp_path / str(l)) / "RECIPIENT.md").read_text())
    assert "smoker" not in texts[0].split("## The published model")[1]
    assert "less than 83.33% of the records share one value of smoker" in texts[1]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_apostrophe_that_was_put_before_cells_is_explained(case: Case, tmp_path: Path) -> None:
    """A column called unchanged then has a sign in the file that its source lacks."""
    table, schema = TABLES[case.table]()
    schema = schema.replace(other=[*schema.other, "note"])
    told = []
    for note in ("=1+1", "none"):
        table.assign(note=note).to_csv(tmp_path / "people.csv", index=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            release = hr.protect(tmp_path / "people.csv", schema, case.method(schema))
        text = (release.write(tmp_path / note) / "RECIPIENT.md").read_text()
        told.append("One apostrophe was put before texts" in text and "in: note." in text)
    assert told == [True, False]


# each method under one format, all formats among them
@pytest.mark.parametrize(
    ("case", "suffix"), zip(CASES, itertools.cycle([".csv", ".parquet", ".feather"])), ids=[case.name for case in CASES]
)
def test_files_that_are_named_are_there(case: Case, suffix: str, tmp_path: Path) -> None:
    table, schema = TABLES[case.table]()
    write_table(read(table).arrow, tmp_path / f"people{suffix}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        release = hr.protect(tmp_path / f"people{suffix}", schema, case.method(schema))
    release.write(tmp_path / "all", public=tmp_path / "public")
    for folder in (tmp_path / "all", tmp_path / "public"):
        text = (folder / "RECIPIENT.md").read_text()
        named = set(re.findall(r"[\w-]+\.(?:csv|parquet|feather|json|svg|md|html)\b", text))
        assert f"release{suffix}" in named
        assert named - {"RECIPIENT.md"} <= {path.name for path in folder.iterdir()}
