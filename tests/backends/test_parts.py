"""Tables as folders of Parquet files: the same ones on every engine, whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.backends import duckdb as engine
from hedgerow.cli.app import run
from hedgerow.errors import InputError, OutputError, PromiseError
from hedgerow.io import write
from hedgerow.progress import cautions
from hedgerow.release import apply_plan

from .conftest import people

SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["pay"], other=["note"])
METHOD = hr.MART(k=8)
ROLES = ["--quasi", "age,job", "--sensitive", "pay", "--other", "note", "-k", "8"]
ROWS, PART = 3000, 700
NAMES = [f"part-0000{i}.parquet" for i in range(5)]
"""3,000 rows in files of 700."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 700 rows."""
    for module in (write, engine):
        monkeypatch.setattr(module, "ROW_GROUP", PART)


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def test_the_parts_are_the_rows_of_one_file(file: Path, home: Path, tmp_path: Path, small: None) -> None:
    one = hr.protect(file, SCHEMA, METHOD, engine="duckdb").write(tmp_path / "one")
    made = {}
    for name in ("memory", "duckdb"):
        release = hr.protect(file, SCHEMA, METHOD, engine=name, parts=True)
        out = release.write(tmp_path / name, public=tmp_path / f"{name}-public")
        assert sorted(p.name for p in (out / "release").iterdir()) == NAMES
        assert digests(out / "release") == digests(tmp_path / f"{name}-public" / "release")
        made[name] = digests(out)
    assert made["memory"] == made["duckdb"]
    parts = [pq.read_table(out / "release" / name) for name in NAMES]
    assert [part.num_rows for part in parts] == [700, 700, 700, 700, 200]
    whole = hr.protect(file, SCHEMA, METHOD, engine="memory").table
    assert pa.concat_tables(parts).to_pylist() == pa.table(whole).to_pylist()
    assert (one / f"release{file.suffix}").exists()
    modes = {p.stat().st_mode & 0o777 for p in (out / "release").iterdir()}
    assert modes == {0o600}
    assert (out / "release").stat().st_mode & 0o777 == 0o700


def test_what_reads_a_release_reads_its_parts(file: Path, home: Path, tmp_path: Path, small: None) -> None:
    method = hr.RandomizedResponse(4, random_state=1)
    schema = hr.Schema(quasi=["job"], sensitive=["pay"])
    for name, parts in (("one", False), ("parts", True)):
        release = hr.protect(file, schema, method, engine="duckdb", parts=parts)
        release.write(tmp_path / name, mapping=True)
    one, other = (hr.reconstruct(tmp_path / name, columns=["job"]) for name in ("one", "parts"))
    assert str(one) == str(other)
    out = hr.protect(file, SCHEMA, METHOD, parts=True).write(tmp_path / "out")
    asked = {"attacks": False, "learning": False}
    told = [hr.audit(file, out, **asked, engine=name).to_dict() for name in ("memory", "duckdb")]
    assert told[0]["risk"] == told[1]["risk"]
    assert told[0]["table"]["rows"] == ROWS
    assert sum(hr.explode(str(out / "release"))["weight"].to_pylist()) == pytest.approx(ROWS)
    joined = b"".join((out / "release" / name).read_bytes() for name in NAMES)
    said = (out / "audit.json").read_text()
    assert hashlib.sha256(joined).hexdigest() in said


def test_a_lost_or_strange_part_is_found(home: Path, tmp_path: Path, small: None, monkeypatch: Any) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(people(), file)
    before = engine.write

    def spoilt(spoil: Any) -> None:
        def written(table: Any, folder: Path, **given: Any) -> None:
            before(table, folder, **given)
            spoil(folder)

        monkeypatch.setattr(engine, "write", written)

    release = hr.protect(file, SCHEMA, METHOD, engine="duckdb", parts=True)
    spoilt(lambda folder: (folder / NAMES[-1]).unlink())
    with pytest.raises(PromiseError, match="rows: required 3000, reached 2800"):
        release.write(tmp_path / "out")
    spoilt(lambda folder: (folder / NAMES[1]).write_bytes((folder / NAMES[0]).read_bytes()))
    with pytest.raises(PromiseError, match="whole rows"):
        release.write(tmp_path / "out")
    spoilt(lambda folder: (folder / NAMES[1]).unlink())
    with pytest.raises(InputError, match="is not a table in parts"):
        release.write(tmp_path / "out")
    spoilt(lambda folder: pq.write_table(people().slice(0, 200), folder / NAMES[-1]))
    with pytest.raises((InputError, PromiseError)):
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_plans_are_applied_in_parts(file: Path, home: Path, tmp_path: Path, small: None) -> None:
    plan = hr.protect(file, SCHEMA, METHOD).plan
    plan.save(tmp_path / "plan.json")
    for name in ("memory", "duckdb"):
        apply_plan(plan, file, engine=name, parts=True).write(tmp_path / name)
    assert sorted(digests(tmp_path / "memory")) == NAMES
    assert digests(tmp_path / "memory") == digests(tmp_path / "duckdb")
    words = ["apply", str(tmp_path / "plan.json"), str(file), "--engine", "duckdb", "--parts"]
    out = tmp_path / "others"
    assert run([*words, "--out", str(out)]) == 0
    assert digests(out) == digests(tmp_path / "memory")
    assert run([*words, "--out", str(out)]) == 2
    assert run([*words, "--out", str(out), "--force"]) == 0
    (out / "mine.txt").write_text("mine")
    assert run([*words, "--out", str(out), "--force"]) == 2
    assert (out / "mine.txt").read_text() == "mine"
    assert run([*words, "--out", "-"]) == 2


def test_nothing_replaces_what_is_read(home: Path, tmp_path: Path, small: None) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(people(), file)
    plan = hr.protect(file, SCHEMA, METHOD).plan
    plan.save(tmp_path / "plan.json")
    apply_plan(plan, file, engine="duckdb", parts=True).write(tmp_path / "others")
    before = digests(tmp_path / "others")
    for source in ("others", "others/*.parquet", f"others/{NAMES[0]}"):
        words = ["apply", str(tmp_path / "plan.json"), str(tmp_path / source), "--parts", "--force"]
        assert run([*words, "--unseen", "count", "--out", str(tmp_path / "others")]) == 2
        assert digests(tmp_path / "others") == before


@pytest.fixture
def little(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Makes a disk of some size."""
    made = tmp_path / "disk"
    made.mkdir()

    def mounted(size: str) -> Path:
        words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(made)]
        if shutil.which("mount") is None or subprocess.run(words, capture_output=True).returncode:
            pytest.skip("no disk can be mounted here")
        return made

    yield mounted
    subprocess.run(["umount", str(made)], capture_output=True, check=False)


@pytest.mark.parametrize("size", ["100k", "300k", "400k"])
@pytest.mark.parametrize("command", ["protect", "apply"])
def test_a_disk_that_is_really_full(
    command: str,
    size: str,
    little: Callable[[str], Path],
    tmp_path: Path,
    small: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The copy of the text, the codes, the parts: whichever finds no room, nothing is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(disk := little(size)))
    file, out = tmp_path / "people.csv", tmp_path / "out"
    pyarrow.csv.write_csv(people(20_000), file)
    hr.protect(people(20_000), SCHEMA, METHOD).plan.save(tmp_path / "plan.json")
    words = [str(file), *ROLES, "--no-report"]
    words = [str(tmp_path / "plan.json"), str(file)] if command == "apply" else words
    asked = [command, *words, "--engine", "duckdb", "--parts", "--out"]
    assert run([*asked, str(out)]) == 2
    told = capsys.readouterr().err
    assert "temporary files in" in told
    assert "No space left on device" in told
    assert "TMPDIR" in told
    assert not out.exists()
    assert not list(disk.iterdir())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if size == "100k":
        assert run([*asked, str(disk / "out")]) == 2
        assert "cannot write" in capsys.readouterr().err
        assert not list(disk.iterdir())
        assert not list(tmp_path.glob(".hedgerow*"))


def test_a_session_repeats_parts(home: Path, tmp_path: Path, small: None) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(people(), file)
    session = hr.Session(file, engine="duckdb")
    session.choose(SCHEMA, METHOD, parts=True)
    session.protect()
    made = digests(session.write(tmp_path / "made"))
    names: dict[str, object] = {}
    exec(session.python().replace(repr(f"{tmp_path}/made/"), repr(f"{tmp_path}/again/")), names)
    again = digests(tmp_path / "again")
    assert {n: again[n] for n in again if n.startswith("release/")} == {
        n: made[n] for n in made if n.startswith("release/")
    }
    assert len([n for n in again if n.startswith("release/")]) == 5
    assert " --parts " in session.command_line()


def test_standard_output_is_no_folder(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(people(), file)
    assert run(["protect", str(file), *ROLES, "--parts", "--out", "-"]) == 2


def _cell(part: Path) -> None:
    table = pq.read_table(part)
    pay = table.column("pay").to_pylist()
    made = pa.array([pay[0] + 1, *pay[1:]])
    pq.write_table(table.set_column(table.column_names.index("pay"), "pay", made), part)


def _twice(part: Path) -> None:
    shutil.copy(part, part.with_name("part-00005.parquet"))


@pytest.mark.parametrize("engine_name", ["memory", "duckdb"])
def test_who_reads_parts_is_told_of_those_that_are_gone(
    engine_name: str, home: Path, tmp_path: Path, small: None
) -> None:
    file, out = tmp_path / "people.parquet", tmp_path / "out"
    pq.write_table(people(), file)
    hr.protect(file, SCHEMA, METHOD, engine="duckdb", parts=True).write(out)

    def audited(folder: Path) -> list[str]:
        told = hr.audit(file, folder, attacks=False, learning=False, engine=engine_name)
        return [text for text in told.table["notes"] if "audit.json" in text]

    (out / "release" / ".DS_Store").write_bytes(b"")
    assert not audited(out)
    for i, spoil in enumerate((_cell, _twice, Path.unlink)):  # the last one is in no gap
        shutil.copytree(out, copy := tmp_path / str(i))
        spoil(copy / "release" / NAMES[-1])
        (note,) = audited(copy)
        assert note.startswith("release is not the file that audit.json records")
    (out / "release" / NAMES[2]).unlink()
    (out / "release" / NAMES[0]).unlink()
    lost = r"lacks 2 parts of its table: part-00000\.parquet, part-00002\.parquet"
    for read in (audited, lambda folder: hr.explode(folder / "release")):
        with pytest.raises(InputError, match=lost):
            read(out)
    with pytest.raises(InputError, match=lost):
        hr.protect(out / "release", SCHEMA, METHOD, engine=engine_name)
    assert hr.Session(out / "release" / "*.parquet").table.n_rows == 700 * 2 + 200


def test_a_file_that_was_altered_since_is_told(home: Path, tmp_path: Path) -> None:
    schema = hr.Schema(quasi=["job"], sensitive=["pay"])
    release = hr.protect(people(), schema, hr.RandomizedResponse(4, random_state=1))
    out = release.write(tmp_path / "out", mapping=True)
    with cautions() as heard:
        hr.reconstruct(out, columns=["job"])
    assert not heard
    _cell(out / "release.parquet")
    with cautions() as heard:
        hr.reconstruct(out, columns=["job"])
    assert heard[0].startswith("release.parquet is not the file")


def test_nothing_is_written_among_the_parts_that_are_read(home: Path, tmp_path: Path) -> None:
    """The next run would read it as a part of the table, or find a folder there."""
    parts = tmp_path / "parts"
    parts.mkdir()
    for i in range(2):
        pq.write_table(people(400), parts / f"{i}.parquet")
    asked, plan = [*ROLES, "--no-report"], tmp_path / "out" / "plan.json"
    assert run(["protect", str(parts), *asked, "--out", str(tmp_path / "out")]) == 0
    pattern = str(parts / "*.parquet")
    for source, out in ((parts, "release"), (pattern, "release.parquet")):
        assert run(["protect", str(source), *asked, "--out", str(parts / out)]) == 2
        for more in ([], ["--parts"]):
            words = ["apply", str(plan), str(source), *more, "--out", str(parts / "new.parquet")]
            assert run(words) == 2
    assert sorted(path.name for path in parts.iterdir()) == ["0.parquet", "1.parquet"]
    with pytest.raises(OutputError, match="would lie among the parts of"):
        hr.protect(parts, SCHEMA, METHOD).write(parts / "release")
    words = ["protect", pattern, *asked, "--out", str(parts / "release")]
    assert run(words) == 0  # which the pattern does not name
