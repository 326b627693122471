"""The command: what it says when it cannot serve, and that it serves this machine alone."""

from __future__ import annotations

import http.client
import os
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hedgerow.cli.app import run
from hedgerow.studio.server import _listening

from .browsing import studio


def test_it_listens_on_the_loopback_address_alone() -> None:
    listening = _listening(0)
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
    monkeypatch.delitem(sys.modules, "hedgerow.studio.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert run(["studio", "--no-browser"]) == 2
    assert "pip install 'hedgerow[studio]'" in capsys.readouterr().err


def test_a_table_that_is_not_there_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["studio", str(tmp_path / "people.csv"), "--no-browser"]) == 2
    assert "there is no file" in capsys.readouterr().err


def uploaded(address: str, name: str, body: bytes) -> None:
    """Drop a file on a studio."""
    url = urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", url.port or 0, timeout=60)
    connection.request("GET", f"/?{url.query}")
    answer = connection.getresponse()
    answer.read()
    headers = {"origin": f"http://127.0.0.1:{url.port}", "x-name": name,
               "cookie": (answer.getheader("set-cookie") or "").partition(";")[0]}  # fmt: skip
    connection.request("POST", "/upload", body, headers)
    answered = connection.getresponse()
    assert answered.status < 400, answered.read()


@pytest.mark.skipif(os.name != "posix", reason="this system has no such locks")
def test_what_a_killed_studio_left_goes_when_the_next_one_starts(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra studio is not installed")
    ours = "*/upload-*/people.csv"
    with studio(tmp_path) as (first, address), studio(tmp_path) as (_, other):
        uploaded(address, "people.csv", b"age,job\n41,cook\n")
        uploaded(other, "people.csv", b"age,job\n29,nurse\n")
        assert len(list(tmp_path.glob(ours))) == 2
        first.kill()
        first.wait(20)
        # it had no time to remove them, and nobody else has a look until a studio starts
        assert len(list(tmp_path.glob(ours))) == 2
        with studio(tmp_path):
            (left,) = tmp_path.glob(ours)
            assert b"nurse" in left.read_bytes()  # of the one that runs
    assert not list(tmp_path.iterdir())


def test_a_system_that_does_not_tell_whose_a_connection_is_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("uvicorn", reason="the extra studio is not installed")
    monkeypatch.setattr("hedgerow.studio.security.owner", lambda client, port: -1)
    assert run(["studio", "--no-browser"]) == 2
    assert "whose a connection is" in capsys.readouterr().err
