"""Neither a key nor a seed is in anything that leaves the steward's hands."""

from __future__ import annotations

import base64
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr

from ..contracts.methods import CASES, Case
from ..contracts.tables import TABLES

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

SECRET = bytes(range(101, 133))
SEED = 918_273_645
SHAPES = (SECRET, SECRET.hex().encode(), base64.b64encode(SECRET), repr(SECRET)[2:-1].encode())


def found(data: bytes) -> bool:
    return any(shape in data for shape in SHAPES)


def test_what_is_looked_for_would_be_found() -> None:
    assert found(b"..." + SECRET)
    assert found(pickle.dumps({"key": SECRET}))
    assert found(f'{{"key": "{SECRET.hex()}"}}'.encode())


@pytest.fixture(params=[case for case in CASES if case.make().draws], ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def told(release: Any) -> bytes:
    """What can be shown of a release in Python."""
    words = [repr(release), repr(release.plan), str(release.plan), str(release.plan.public())]
    words += [release.plan.explain(), repr(release.summary()), release.recoding_in_words()]
    return "\n".join(words).encode()


def test_a_key_is_in_no_file_plan_text_log_or_pickle(
    case: Case, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    table, schema = TABLES[case.table]()
    file = tmp_path / "steward.key"
    file.write_text("hedgerow-key-1 " + SECRET.hex() + "\n")
    file.chmod(0o600)
    for key in (hr.Key(SECRET), file):
        method = case.method(schema).set_params(random_state=None, key=key)
        with caplog.at_level(logging.DEBUG):
            release = hr.protect(table, schema, method)
            out = release.write(tmp_path / "out", force=True)
        assert not found(told(release) + repr(release.method).encode())
        assert not found(pickle.dumps(release.method))
        assert not found(pickle.dumps(method))
        for path in out.iterdir():
            assert not found(path.read_bytes()), path.name
            assert b"steward.key" not in path.read_bytes(), path.name
    shown = capfd.readouterr()
    assert not found((caplog.text + shown.out + shown.err).encode())


def test_a_seed_is_in_no_file_and_in_no_plan(case: Case, tmp_path: Path) -> None:
    table, schema = TABLES[case.table]()
    method = case.method(schema).set_params(random_state=SEED)
    release = hr.protect(table, schema, method)
    assert str(SEED).encode() not in told(release)
    measured = hr.audit(table, release, attacks=False, learning=False)
    files = list(release.write(tmp_path / "out", measured=measured).iterdir())
    assert "report.html" in {path.name for path in files}
    for path in files:
        assert str(SEED).encode() not in path.read_bytes(), path.name
