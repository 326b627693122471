"""A folder that was signed shows what was changed in it, also by somebody who corrects the hashes in audit.json."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import InputError, OutputError, ParameterError, UnsupportedError
from hedgerow.release import signing
from hedgerow.release.signing import check_signature

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
SCHEMA = hr.Schema(quasi=["age", "education"], sensitive=["income"])
FLAGS = ["--quasi", "age,education", "--sensitive", "income", "--no-report", "--method", "mart"]


def made_key(path: Path, passphrase: str = "") -> Path:
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "steward of a test", "-f", str(path)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return path


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.chdir(tmp_path)
    return made_key(tmp_path / "steward")


@pytest.fixture
def signer(key: Path) -> Path:
    return key.with_suffix(".pub")


def release(source: Any = None, method: Any = None) -> Any:
    people = hr.datasets.make_people(200, seed=1).select(["age", "education", "income"])
    return hr.protect(people if source is None else source, SCHEMA, method or hr.MART(k=5))


@pytest.fixture
def folder(key: Path) -> Path:
    pacsv.write_csv(hr.datasets.make_people(200, seed=1).select(["age", "education", "income"]), "people.csv")
    return Path(release("people.csv").write("signed", sign=key))


def names_of(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_what_was_signed_holds(folder: Path, signer: Path) -> None:
    found = check_signature(folder, signer)
    assert found.holds
    assert found.files == ("release.csv", "plan.json", "audit.json")
    shown = subprocess.run(["ssh-keygen", "-l", "-f", signer], capture_output=True, check=True, text=True)
    fingerprint = shown.stdout.split()[1]
    assert found.words == f"release.csv, plan.json and audit.json are those signed by the key {fingerprint}."


def test_the_files_are_those_of_the_programs_that_anybody_has(folder: Path, signer: Path, tmp_path: Path) -> None:
    """An auditor needs no Hedgerow: `ssh-keygen` alone and a SHA-256 say the same."""
    listed = (folder / "hashes.txt").read_text()
    names = ("release.csv", "plan.json", "audit.json")
    assert listed == "".join(f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names)
    (tmp_path / "allowed").write_text(f"me {signer.read_text()}")
    words = ["ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", "me", "-n", "hedgerow"]
    words += ["-s", str(folder / "hashes.txt.sig")]
    assert subprocess.run(words, input=listed, text=True, capture_output=True).returncode == 0


def test_the_files_are_private(folder: Path) -> None:
    assert {stat.S_IMODE((folder / n).stat().st_mode) for n in ("hashes.txt", "hashes.txt.sig")} == {0o600}


def test_a_changed_table_whose_hash_was_corrected_is_noticed(folder: Path, signer: Path) -> None:
    table = folder / "release.csv"
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(lines[:-1]))
    record = json.loads((folder / "audit.json").read_text())
    facts = {"sha256": hashlib.sha256(table.read_bytes()).hexdigest(), "bytes": table.stat().st_size}
    record["release"]["file"] |= facts
    (folder / "audit.json").write_text(json.dumps(record))
    found = check_signature(folder, signer)
    assert not found.holds
    assert "release.csv was changed; audit.json was changed" in found.words
    assert found.files == ()


@pytest.mark.parametrize("name", ["release.csv", "plan.json", "audit.json"])
def test_a_changed_file_is_noticed(name: str, folder: Path, signer: Path) -> None:
    with (folder / name).open("a") as file:
        file.write("\n")
    found = check_signature(folder, signer)
    assert not found.holds
    assert found.words.endswith(f": {name} was changed.")


@pytest.mark.parametrize("name", ["release.csv", "plan.json", "audit.json"])
def test_a_file_that_is_gone_or_no_file_is_noticed(name: str, folder: Path, signer: Path) -> None:
    (folder / name).unlink()
    assert check_signature(folder, signer).words.endswith(f": {name} is missing.")
    (folder / name).mkdir()
    assert check_signature(folder, signer).words.endswith(f": {name} was changed.")


def test_a_second_table_beside_the_signed_one_is_noticed(folder: Path, signer: Path) -> None:
    shutil.copy(folder / "release.csv", folder / "release.tsv")
    assert check_signature(folder, signer).words.endswith(": release.tsv is not among the signed files.")


def test_a_changed_list_is_noticed(folder: Path, signer: Path) -> None:
    with (folder / "release.csv").open("a") as file:
        file.write("\n")
    listed = (folder / "hashes.txt").read_text().splitlines(keepends=True)
    listed[0] = f"{hashlib.sha256((folder / 'release.csv').read_bytes()).hexdigest()}  release.csv\n"
    (folder / "hashes.txt").write_text("".join(listed))
    found = check_signature(folder, signer)
    assert not found.holds
    assert "did not sign" in found.words


@pytest.mark.parametrize("left", [(), (0, 1), (0, 2), (1, 2)])
def test_a_list_that_lacks_a_file_does_not_hold_although_it_is_signed(
    left: tuple[int, ...], folder: Path, key: Path, signer: Path
) -> None:
    lines = (folder / "hashes.txt").read_text().splitlines(keepends=True)
    (folder / "hashes.txt").write_text("".join(lines[i] for i in left))
    signing._sign(folder / "hashes.txt", key)
    found = check_signature(folder, signer)
    assert not found.holds
    assert "not among the signed files" in found.words
    if left == (1, 2):
        (folder / "release.csv").unlink()
        assert "the table is not among the signed files" in check_signature(folder, signer).words


@pytest.mark.parametrize("gone", ["hashes.txt", "hashes.txt.sig"])
def test_a_folder_that_is_not_signed_does_not_hold(gone: str, folder: Path, signer: Path) -> None:
    (folder / gone).unlink()
    found = check_signature(folder, signer)
    assert not found.holds
    assert found.words.startswith("signed is not signed: ")


def test_another_key_and_a_signature_for_something_else_do_not_hold(folder: Path, key: Path, signer: Path) -> None:
    other = made_key(Path("other"))
    assert not check_signature(folder, other.with_suffix(".pub")).holds
    (folder / "hashes.txt.sig").unlink()
    words = ["ssh-keygen", "-Y", "sign", "-f", key, "-n", "git", folder / "hashes.txt"]
    subprocess.run(words, check=True, capture_output=True)
    assert not check_signature(folder, signer).holds


def test_a_file_that_is_no_public_key_is_refused(folder: Path, key: Path, signer: Path) -> None:
    allowed = f"steward {signer.read_text()}"
    two = signer.read_text() * 2
    for text in (allowed, two, "", "ssh-ed25519 AAAA\n", key.read_text(), 'cert-authority,namespaces="x" ssh-rsa AAAA'):
        Path("signer.pub").write_text(text)
        with pytest.raises(ParameterError, match="holds no SSH public key") as error:
            check_signature(folder, "signer.pub")
        assert "PRIVATE KEY" not in str(error.value)
    with pytest.raises(ParameterError, match="cannot read the public key"):
        check_signature(folder, "nobody.pub")
    with pytest.raises(InputError, match="is not a folder"):
        check_signature(folder / "plan.json", signer)


def test_parquet_and_frames(key: Path, signer: Path) -> None:
    people = hr.datasets.make_people(200, seed=1).select(["age", "education", "income"])
    pq.write_table(people, "people.parquet")
    for number, source in enumerate(("people.parquet", people.to_pandas())):
        found = check_signature(release(source).write(f"out{number}", sign=str(key)), signer)
        assert found.holds
        assert found.files == ("release.parquet", "plan.json", "audit.json")


def test_two_tables(key: Path, signer: Path) -> None:
    schema = hr.Schema(quasi=["age"], sensitive=["education"])
    people = hr.datasets.make_people(200, seed=1).select(["age", "education"])
    out = hr.protect(people, schema, hr.Anatomy(l=2, random_state=1)).write("out", sign=key)
    assert check_signature(out, signer).files == ("release.parquet", "sensitive.parquet", "plan.json", "audit.json")
    shutil.copy(out / "release.parquet", out / "sensitive.parquet")
    assert check_signature(out, signer).words.endswith(": sensitive.parquet was changed.")


def test_a_table_in_parts_counts_as_its_files_joined_and_each_by_itself(
    key: Path, signer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hedgerow.io.write.ROW_GROUP", 100)
    people = hr.datasets.make_people(200, seed=1).select(["age", "education", "income"])
    out = hr.protect(people, SCHEMA, hr.MART(k=5), parts=True).write("out", sign=key)
    parts = sorted((out / "release").iterdir())
    assert len(parts) == 2
    names = ("release", *(f"release/{part.name}" for part in parts), "plan.json", "audit.json")
    assert check_signature(out, signer).files == names
    joined = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()
    assert f"{joined}  release\n" in (out / "hashes.txt").read_text()
    # the same bytes, and other rows: a reader would see the last part alone
    whole = parts[0].read_bytes() + parts[1].read_bytes()
    parts[1].unlink()
    parts[0].write_bytes(whole)
    assert not check_signature(out, signer).holds


def test_rows_under_differential_privacy(key: Path, signer: Path) -> None:
    people = hr.datasets.make_people(300, seed=1).select(["age", "smoker"])
    schema = hr.Schema(
        quasi=["age"], sensitive=["smoker"], bounds={"age": [18, 90]}, categories={"smoker": ["no", "yes"]}
    )
    made = hr.protect(people, schema, hr.PrivateTree(epsilon=1.0))
    out = made.write("out", sign=key, public="public")
    assert check_signature(out, signer).files == ("release.parquet", "plan.json", "audit.json")
    assert not {"hashes.txt", "hashes.txt.sig"} & names_of(Path("public"))
    with pytest.raises(OutputError, match="cannot sign"):
        made.write("none", sign="nobody")
    assert not Path("none").exists()


def test_nothing_of_it_is_handed_out(folder: Path, key: Path) -> None:
    release("people.csv").write("again", sign=key, public="public")
    assert names_of(Path("public")) == {"release.csv", "RECIPIENT.md"}


def test_a_signed_folder_is_replaced_by_force(folder: Path, key: Path, signer: Path) -> None:
    made = release("people.csv")
    made.write(folder, sign=key, force=True)
    assert check_signature(folder, signer).holds
    made.write(folder, force=True)
    assert not {"hashes.txt", "hashes.txt.sig"} & names_of(folder)


def bad_keys() -> dict[str, str]:
    made_key(Path("locked"), "a passphrase")
    made_key(Path("open")).chmod(0o644)
    Path("text").write_text("no key\n")
    told = {
        "nobody": "No such file",
        "locked": "incorrect passphrase",
        "open": "Permissions 0644",
        "text": "no SSH private key",
    }
    return told | {".": "cannot sign with .: "}


def test_a_key_that_cannot_sign_leaves_no_folder(key: Path) -> None:
    made, before = release(), names_of(Path())
    for name, told in bad_keys().items():
        with pytest.raises(OutputError, match="cannot sign with") as error:
            made.write("out", sign=name, public="public")
        assert told in error.value.message
        assert "\n" not in error.value.message
    assert names_of(Path()) - before == {"locked", "locked.pub", "open", "open.pub", "text"}


def test_without_the_program_it_is_refused_before_the_work(
    folder: Path, key: Path, signer: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = release()
    monkeypatch.setattr(made, "_check_again", lambda: pytest.fail("work was begun"))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnsupportedError, match="ssh-keygen, which is not installed") as error:
        made.write("out", sign=key)
    assert "openssh-client" in str(error.value.hint)
    monkeypatch.setattr("hedgerow.cli.heavy.Session", lambda *_, **__: pytest.fail("work was begun"))
    capsys.readouterr()
    assert run(["protect", "people.csv", *FLAGS, "--sign", str(key), "--out", "out"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "error: signatures need the program ssh-keygen, which is not installed"
    assert len(told) == 2
    assert run(["verify-evidence", str(folder), "--signer", str(signer)]) == 2
    assert not Path("out").exists()


def test_the_commands(folder: Path, key: Path, signer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protect", "people.csv", *FLAGS, "--sign", "steward", "--out", "out"]) == 0
    assert "also       out/hashes.txt\n" in capsys.readouterr().out
    check = ["verify-evidence", "out", "--signer", "steward.pub"]
    assert run(check) == 0
    assert capsys.readouterr().out == f"{check_signature('out', signer).words}\n"
    assert run([*check, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["holds"] is True
    assert found["files"] == ["release.csv", "plan.json", "audit.json"]
    (Path("out") / "plan.json").write_text("{}")
    assert run(check) == 1
    assert "plan.json was changed" in capsys.readouterr().out
    assert run([*check, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["holds"] is False
    for words in (["out"], ["nowhere", "--signer", "steward.pub"], ["out", "--signer", "steward"], ["--signer", "x"]):
        assert run(["verify-evidence", *words]) == 2


def test_the_command_refuses_a_bad_key_before_the_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hedgerow.cli.heavy.Session", lambda *_, **__: pytest.fail("work was begun"))
    for name in bad_keys():
        assert run(["protect", "people.csv", *FLAGS, "--sign", name, "--out", "out"]) == 2
        assert capsys.readouterr().err.startswith("error: cannot sign with ")
    assert run(["protect", "people.csv", *FLAGS, "--sign", "steward", "--out", "-"]) == 2
    assert "--out - is the table alone" in capsys.readouterr().err


def test_the_command_and_the_code_of_a_session_sign_again(folder: Path, key: Path, signer: Path) -> None:
    session = hr.Session("people.csv")
    session.choose(SCHEMA, hr.MART(k=5))
    session.protect()
    session.write("first", sign="steward")
    assert "--sign steward" in session.command_line()
    assert "sign='steward'" in session.python()
    assert (Path("first") / "hashes.txt.sig").is_file()
