from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError, OutputError, ParameterError, PlanError, PromiseError, SchemaError
from hedgerow.io.read import read
from hedgerow.release import apply_plan, making

from ..adversary import checker

N = 400
SCHEMA = hr.Schema(quasi=["age", "job", "born"], sensitive=["income", "ill"], identifiers=["name"], other=["note"])


def people(n: int = N, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n).astype(float)
    age[::17] = np.nan
    job = np.array(["nurse", "cook", 'a+"b', "smith, jr", None], object)[rng.integers(0, 5, n)]
    return pa.table(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": pa.array(age, from_pandas=True),
            "note": [["=1+1", "@x", "plain", None][i % 4] for i in range(n)],
            "job": pa.array(job),
            "born": pa.array(rng.integers(0, 9000, n), pa.int32()).cast(pa.date32()),
            "income": rng.lognormal(10, 1, n).round(2),
            "ill": pa.array(np.array(["yes", "no"])[rng.integers(0, 2, n)]),
        }
    )


@pytest.fixture(scope="module")
def release() -> Any:
    return hr.protect(people(), SCHEMA, hr.MART(k=5, max_disclosure=None))


def written(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csv", "parquet"])
def test_what_came_in_comes_out(kind: str, tmp_path: Path) -> None:
    table = people()
    source: Any = {
        "pandas": table.to_pandas,
        "polars": lambda: pl.from_arrow(table),
        "arrow": lambda: table,
        "csv": lambda: tmp_path / "p.csv",
        "parquet": lambda: tmp_path / "p.parquet",
    }[kind]()
    if kind == "csv":
        pacsv.write_csv(table, source)
    if kind == "parquet":
        pq.write_table(table, source)
    release = hr.protect(source, SCHEMA, hr.MART(k=5, max_disclosure=None))
    expected = {"pandas": pd.DataFrame, "polars": pl.DataFrame}.get(kind, pa.Table)
    assert type(release.table) is expected
    assert list(read(release.table).names) == ["age", "note", "job", "born", "income", "ill"]
    folder = release.write(tmp_path / "out")
    assert written(folder) == [
        "RECIPIENT.md",
        "audit.json",
        "plan.json",
        "release.csv" if kind == "csv" else "release.parquet",
    ]
    assert written(tmp_path) == sorted(["out"] + ([source.name] if isinstance(source, Path) else []))


def test_groups_have_k_records_by_a_plain_count(release: Any) -> None:
    rows = [tuple(row[c] for c in SCHEMA.quasi) for row in release.table.to_pylist()]
    sizes = {row: rows.count(row) for row in set(rows)}
    numbers = release.summary()["groups"]
    assert min(sizes.values()) >= 5
    assert (numbers["groups"], numbers["smallest"], numbers["largest"]) == (
        len(sizes),
        min(sizes.values()),
        max(sizes.values()),
    )
    assert sum(entry["classes"] for entry in numbers["histogram"]) == len(sizes)
    assert sum(entry["records"] for entry in numbers["histogram"]) == len(rows)


def test_disclosure_is_that_of_the_definition(release: Any) -> None:
    frame = release.table.to_pandas()
    group = frame.groupby(list(SCHEMA.quasi), dropna=False, sort=False).ngroup().tolist()
    told = checker.column_disclosures(group, frame["income"].tolist(), "number")
    worst = {g: float(max(scores.values())) for g, scores in told.items()}
    found = release.summary()["disclosure"]["columns"]["income"]
    assert found["mean_over_groups"] == pytest.approx(np.mean(list(worst.values())), abs=1e-9)
    assert found["mean_over_records"] == pytest.approx(np.mean([worst[g] for g in group]), abs=1e-9)
    assert found["worst"] == pytest.approx(max(worst.values()), abs=1e-9)


def test_the_method_given_is_not_changed_and_the_source_neither() -> None:
    table, method = people().to_pandas(), hr.MART(k=5, max_disclosure=None)
    before = table.copy(deep=True)
    hr.protect(table, SCHEMA, method)
    pd.testing.assert_frame_equal(table, before)
    assert not hasattr(method, "plan_")


def test_progress_names_the_steps_and_ends_the_work(tmp_path: Path) -> None:
    told: list[str] = []

    def stop(at: str) -> Any:
        def progress(step: str, done: float | None) -> None:
            assert done is None or 0 <= done <= 1
            if step not in told:
                told.append(step)
            if step == at:
                raise KeyboardInterrupt

        return progress

    method = hr.MART(k=5, max_disclosure=None)
    release = hr.protect(people(), SCHEMA, method, progress=stop("no such step"))
    release.write(tmp_path / "out", progress=stop("no such step"))
    assert told == ["reading", "fitting", "recoding", "verifying", "writing", "reading back"]
    for step in told[:4]:
        with pytest.raises(KeyboardInterrupt):
            hr.protect(people(), SCHEMA, method, progress=stop(step))
    for step in told[4:]:
        with pytest.raises(KeyboardInterrupt):
            release.write(tmp_path / "other", progress=stop(step))
        assert written(tmp_path) == ["out"]


def test_a_release_knows_the_row_of_the_input_behind_each_of_its_own(release: Any) -> None:
    assert release.table.column("income").to_pylist() == [
        people().column("income")[int(row)].as_py() for row in release.rows
    ]


def change(release: Any, column: str, row: int, value: Any) -> None:
    at = release.table.column_names.index(column)
    cells = release.table.column(column).to_pylist()
    cells[row] = value
    kind = release.table.column(column).type
    release.table = release.table.set_column(at, column, pa.array(cells, kind))


@pytest.mark.parametrize(
    ("column", "value", "fault"),
    [
        ("age", "[1-2]", "mapped"),  # no such cell, and a group of one
        ("income", 1.0, "unchanged columns: required 0, reached 1 (columns that changed: income)"),
        ("note", "x", "columns that changed: note"),
        ("ill", None, "columns that changed: ill"),
    ],
)
def test_one_changed_cell_is_found(column: str, value: Any, fault: str) -> None:
    release = hr.protect(people(), SCHEMA, hr.MART(k=5, max_disclosure=None))
    assert all(check.holds for check in release.verify())
    change(release, column, 7, value)
    with pytest.raises(PromiseError) as caught:
        release.verify()
    assert fault in str(caught.value)


def test_a_cell_that_does_not_cover_its_original_is_found() -> None:
    release = hr.protect(people(), SCHEMA, hr.MART(k=5, max_disclosure=None))
    ages = release.table.column("age").to_pylist()
    first, second = sorted({a for a in ages if a is not None})[:2]
    change(release, "age", ages.index(first), second)
    with pytest.raises(PromiseError, match=r"covered: required 0, reached 1 \(.*1 in age\)|k-anonymity"):
        release.verify()


def test_missing_rows_and_extra_columns_fail_verification(tmp_path: Path) -> None:
    release = hr.protect(people(), SCHEMA, hr.MART(k=5, max_disclosure=None))
    whole = release.table
    release.table = whole.slice(1)
    with pytest.raises(PromiseError, match="rows: required 400, reached 399"):
        release.verify()
    release.table = whole.append_column("name", people().column("name"))
    with pytest.raises(PromiseError, match="at fault: name"):
        release.verify()
    with pytest.raises(PromiseError):
        release.write(tmp_path / "out")
    assert written(tmp_path) == []


def test_the_folder_is_private_and_says_what_was_verified(release: Any, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "out")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(f.stat().st_mode) for f in folder.iterdir()} == {0o600}
    audit = json.loads((folder / "audit.json").read_text())["release"]
    digest = hashlib.sha256((folder / "release.parquet").read_bytes()).hexdigest()
    assert audit["file"]["sha256"] == digest
    assert audit["rows"] == N
    assert {check["name"] for check in audit["checks"]} >= {"rows", "columns", "mapped", "covered", "k-anonymity"}
    assert all(check["holds"] for check in audit["checks"])
    assert hr.Plan.load(folder / "plan.json") == release.plan
    assert pq.read_table(folder / "release.parquet").equals(release.table)
    text = (folder / "RECIPIENT.md").read_text()
    for words in (
        "`release.parquet` holds 400 records",
        "Left out: name.",
        "| note | other | unchanged |",
        "at least 5 records",
        "What was not measured",
    ):
        assert words in text
    assert "person 1" not in text


def test_no_threshold_of_the_plan_reaches_the_recipient(release: Any) -> None:
    from hedgerow.methods.base import RecipientNotes
    from hedgerow.release.recipient import recipient

    text = recipient(release.plan, release.summary(), "release.csv", RecipientNotes())
    cells = {c for c in read(release.table).column("age", kind="categorical").values if c.startswith("[")}
    assert cells
    assert not any(cell in text for cell in cells)


@pytest.mark.parametrize("escape", [True, False])
def test_formulas_are_escaped_in_csv(tmp_path: Path, escape: bool) -> None:
    source = tmp_path / "p.csv"
    pacsv.write_csv(people(), source)
    release = hr.protect(source, SCHEMA, hr.MART(k=5, max_disclosure=None))
    text = (release.write(tmp_path / "out", escape=escape) / "release.csv").read_text()
    assert ("'=1+1" in text, "'@x" in text) == (escape, escape)
    assert "=1+1" in text


def test_an_existing_folder_is_replaced_only_when_forced_and_only_a_release(release: Any, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    release.write(folder)
    (folder / "audit.json").write_text("old")
    with pytest.raises(OutputError, match="exists already"):
        release.write(folder)
    assert (folder / "audit.json").read_text() == "old"
    release.write(folder, force=True)
    assert json.loads((folder / "audit.json").read_text())["release"]["rows"] == N
    assert written(tmp_path) == ["out"]
    mine = tmp_path / "letters"
    mine.mkdir()
    (mine / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match="is not a release folder"):
        release.write(mine, force=True)
    assert written(mine) == ["letter.txt"]


@pytest.mark.parametrize(("folder", "words"), [("no/such/out", "there is no folder"), ("file", "is not a folder")])
def test_places_that_cannot_be_written(release: Any, tmp_path: Path, folder: str, words: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=words):
        release.write(tmp_path / folder)
    assert written(tmp_path) == ["file"]


FAILURES = [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt(), MemoryError()]


@pytest.mark.parametrize(
    "target",
    [
        "hedgerow.backends.memory.write_table",
        "hedgerow.release.release.pieces",
        "hedgerow.release.release.verify_file",
        "hedgerow.release.folder.os.rename",
    ],
)
@pytest.mark.parametrize("failure", FAILURES, ids=["disk full", "Ctrl-C", "no memory"])
def test_nothing_is_left_behind(
    release: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, failure: BaseException
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise failure

    monkeypatch.setattr(target, fail)
    expected = OutputError if isinstance(failure, OSError) else type(failure)
    with pytest.raises(expected):
        release.write(tmp_path / "out")
    assert written(tmp_path) == []


@pytest.mark.parametrize("failure", FAILURES, ids=["disk full", "Ctrl-C", "no memory"])
def test_a_failed_replacement_keeps_the_old_release(
    release: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    folder = release.write(tmp_path / "out")
    before = (folder / "audit.json").read_bytes()
    rename = os.rename

    def second_fails(source: Any, target: Any) -> None:
        if str(source).endswith(".part"):
            raise failure
        rename(source, target)

    monkeypatch.setattr("hedgerow.release.folder.os.rename", second_fails)
    with pytest.raises((OutputError, KeyboardInterrupt, MemoryError)):
        release.write(folder, force=True)
    assert written(tmp_path) == ["out"]
    assert (folder / "audit.json").read_bytes() == before


def test_a_file_that_does_not_hold_the_release_is_not_kept(
    release: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hedgerow.backends import memory as module

    real = module.write_table

    def short(table: pa.Table, *args: Any, **kwargs: Any) -> None:
        real(table.slice(1), *args, **kwargs)

    monkeypatch.setattr(module, "write_table", short)
    with pytest.raises(PromiseError, match=r"the written file release.parquet .* rows: required 400, reached 399"):
        release.write(tmp_path / "out")
    assert written(tmp_path) == []


def test_apply_recodes_others_and_refuses_what_falls_outside(release: Any, tmp_path: Path) -> None:
    others = people(50, seed=3)
    assert release.plan.apply(people().to_pandas())["age"].tolist() == release.table.to_pandas()["age"].tolist()
    old = others.set_column(1, "age", pa.array([150.0] * 50))
    for apply in (release.plan.apply, lambda given: apply_plan(release.plan, given)):
        with pytest.raises(PlanError, match=r"cells fall outside the plan's cells") as refused:
            apply(old)
    assert "not be true of them" in str(refused.value.hint)
    with pytest.warns(UserWarning, match="fall outside the plan's cells"):
        applied = apply_plan(release.plan, old, unseen="count")
    assert applied.outside >= 50
    with pytest.warns(UserWarning, match=r"released as \*"):
        hidden = release.plan.apply(old, unseen="suppress")
    assert set(hidden.column("age").to_pylist()) <= {"*", None}
    assert applied.dropped == ("name",)
    with pytest.warns(UserWarning, match="does not release: extra"):
        made = apply_plan(release.plan, people().append_column("extra", pa.array(range(N)))).table
    assert made.column_names == release.table.column_names
    with pytest.raises(PlanError, match=r"'age' \(did you mean 'agee'\?\)"):
        apply_plan(release.plan, others.rename_columns(["name", "agee", *others.column_names[2:]]))


def test_pseudonyms_link_records_under_one_key_alone() -> None:
    table = people()
    doubled = pa.concat_tables([table, table])
    key = b"0123456789abcdef"
    method, persons = hr.MART(k=5, max_disclosure=None), SCHEMA.replace(unit="name")
    release = hr.protect(doubled, persons, method, pseudonym_key=key)
    made = release.table.take(pa.array(np.argsort(release.rows))).column("name").to_pylist()
    assert made[:N] == made[N:]
    assert len(set(made)) == N
    assert not set(made) & set(table.column("name").to_pylist())
    other = hr.protect(table, SCHEMA, hr.MART(k=5, max_disclosure=None), pseudonym_key=b"another key of 16 bytes")
    assert not set(other.table.column("name").to_pylist()) & set(made)
    with pytest.raises(ParameterError, match="at least 16"):
        hr.protect(table, SCHEMA, hr.MART(k=5), pseudonym_key=b"short")


def test_pseudonyms_are_those_of_the_definition_and_differ_by_column() -> None:
    """HMAC-SHA256 of the column's name, a zero byte and the value; its first 64 bits."""
    key, n = b"0123456789abcdef", 40
    table = pa.table({"ssn": [f"p{i}" for i in range(n)], "age": range(n), "pay": [1.0, 2.0] * 20})
    table = table.append_column("card", table.column("ssn"))
    schema = hr.Schema(quasi=["age"], sensitive=["pay"], identifiers=["ssn", "card"])
    release = hr.protect(table, schema, hr.MART(k=5, max_disclosure=None), pseudonym_key=key, keep_order=True)
    for name in ("ssn", "card"):
        assert release.table.column(name).to_pylist() == [
            hmac.digest(key, f"{name}\0p{i}".encode(), "sha256").hex()[:16] for i in range(n)
        ]


def test_two_people_under_one_pseudonym_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "_PSEUDONYM_BYTES", 1)  # 256 pseudonyms for 300 people
    with pytest.raises(ParameterError, match="two values of 'name' get the same pseudonym"):
        hr.protect(people(), SCHEMA, hr.MART(k=5), pseudonym_key=b"0123456789abcdef")


def test_short_pseudonym_keys_are_refused_at_their_edge() -> None:
    with pytest.raises(ParameterError, match="has 15 bytes; at least 16"):
        hr.protect(people(), SCHEMA, hr.MART(k=5), pseudonym_key=b"k" * 15)


@pytest.mark.parametrize(
    ("schema", "error", "words"),
    [
        (hr.Schema(sensitive=["income"]), ParameterError, "no quasi-identifier"),
        (hr.Schema(quasi=["agee", "jobb"], sensitive=["income"]), SchemaError, r"(?s)'agee'.*'age'.*'jobb'.*'job'"),
    ],
)
def test_schemas_that_do_not_fit(schema: hr.Schema, error: type[HedgerowError], words: str) -> None:
    with pytest.raises(error, match=words):
        hr.protect(people(), schema, hr.MART(k=5))


def test_the_plan_as_sql_gives_the_release_in_a_database() -> None:
    import duckdb

    made = hr.datasets.make_people(2_000, seed=1)
    quasi = ["age", "sex", "education", "job", "entry_date", "children", "born_abroad"]
    schema = hr.Schema(quasi=quasi, sensitive=["income"], other=["person_id"])
    release = hr.protect(made, schema, hr.MART(k=10, max_disclosure=0.5))
    with duckdb.connect() as connection:
        connection.register("people", made)
        table = connection.sql(release.plan.to_sql()).to_arrow_table().sort_by("person_id")
    ours = release.released.arrow.sort_by("person_id")
    assert table.column_names == ours.column_names
    for name in table.column_names:
        assert table.column(name).to_pylist() == ours.column(name).to_pylist()


def test_identifiers_that_are_numbers_become_pseudonyms() -> None:
    people = hr.datasets.make_people(200, seed=1)
    people = people.append_column("number", pa.array(range(200)))
    schema = hr.Schema(quasi=["age", "job"], sensitive=["income"], identifiers=["number"])
    release = hr.protect(people, schema, hr.Mondrian(k=5), pseudonym_key=bytes(range(16)))
    assert len(set(release.table.column("number").to_pylist())) == 200
    assert not {str(n) for n in range(200)} & set(release.table.column("number").to_pylist())


def test_the_recipient_of_altered_cells_is_told_of_no_groups(tmp_path: Path) -> None:
    schema = hr.Schema(quasi=["income", "assets"], sensitive=["smoker"])
    people = hr.datasets.make_people(100, seed=1).drop_null()
    release = hr.protect(people, schema, hr.NoiseAddition(0.5, random_state=1))
    folder = release.write(tmp_path / "out")
    text = (folder / "RECIPIENT.md").read_text()
    assert "groups of 1" not in text
    assert "worst group" not in text


def test_a_kept_order_can_be_aligned_with_the_frame() -> None:
    """pandas would align the rows by an index that is no longer theirs."""
    people = pd.DataFrame({"age": [20, 30, 40] * 10, "pay": range(30)}, index=[*range(30, 0, -1)])
    schema = hr.Schema(quasi=["age"], sensitive=["pay"])
    with pytest.warns(UserWarning, match="keep the order"):
        release = hr.protect(people, schema, hr.MART(5), keep_order=True)
    assert release.table.set_axis(people.index)["pay"].equals(people["pay"])
    for function in (hr.protect, hr.Plan.apply):
        assert "loses its" in str(function.__doc__)


def test_a_plan_is_read_from_the_folder_of_its_release(tmp_path: Path) -> None:
    people = pd.DataFrame({"age": [20, 30, 40] * 10, "pay": range(30)})
    release = hr.protect(people, hr.Schema(quasi=["age"], sensitive=["pay"]), hr.MART(5, max_disclosure=None))
    assert hr.Plan.load(release.write(tmp_path / "out")) == release.plan
    with pytest.raises(hr.errors.PlanError, match=re.escape(str(tmp_path / "plan.json"))):
        hr.Plan.load(tmp_path)
