"""The command: what it says when it cannot serve, and that it serves this machine alone."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from hedgerow.cli.run import run
from hedgerow.studio.run import _bound


def test_it_listens_on_the_loopback_address_alone() -> None:
    listening = _bound(0)
    try:
        address = listening.getsockname()
        assert address[0] == "127.0.0.1"
        socket.create_connection(address, timeout=5).close()  # whoever comes early may wait
    finally:
        listening.close()


def test_a_port_that_is_taken_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fastapi", reason="the extra studio is not installed")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert run(["studio", "--port", port, "--no-browser"]) == 2
    assert f"cannot listen on port {port}" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert run(["studio", "--no-browser"]) == 2
    assert "pip install 'hedgerow[studio]'" in capsys.readouterr().err


def test_a_table_that_is_not_there_is_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["studio", str(tmp_path / "people.csv"), "--no-browser"]) == 2
    assert "there is no file" in capsys.readouterr().err
