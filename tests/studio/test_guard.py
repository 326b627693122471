"""Nobody but the browser that got the token speaks to the studio, and only from its own pages."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hedgerow.studio import security
from hedgerow.studio.security import owner
from hedgerow.studio.state import StudioState as Desk

from .browsing import studio
from .conftest import HOME, PORT, Browser

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose a connection is")

PAGES = ("/table", "/risk", "/protect", "/compare", "/release", "/work", "/assets/studio.js")
POSTS = ("/open", "/missing", "/demo", "/upload", "/roles", "/settings", "/take", "/leave-out", "/undo", "/stop",
         "/again", "/attack", "/write", "/quit")  # fmt: skip


def test_the_token_is_good_for_one_cookie(desk: Desk) -> None:
    browser = Browser(desk)
    wrong = browser("GET", "/?token=guess", token=False)
    first = browser("GET", f"/?token={browser.app.token}", token=False)
    again = browser("GET", f"/?token={browser.app.token}", token=False)
    assert (wrong.status_code, first.status_code, again.status_code) == (403, 303, 403)
    assert first.headers["location"] == "/table"
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert browser.app.token not in cookie
    assert "opens the studio once" in again.text


@pytest.mark.parametrize("path", [*PAGES, "/download/plan.json", "/report/open", "/picture/0.svg"])
def test_nothing_is_read_without_the_cookie(browser: Browser, path: str) -> None:
    assert browser("GET", path, token=False).status_code == 403
    bad = {"cookie": f"{browser.app.cookie}=guess"}
    assert browser("GET", path, token=False, headers=bad).status_code == 403


@pytest.mark.parametrize("path", POSTS)
def test_nothing_is_done_without_the_cookie_or_for_another_site(browser: Browser, desk: Desk, path: str) -> None:
    before = desk.turn, list(desk.work.asked)
    for origin in ("https://evil.example", "null", f"http://evil.example:{PORT}",
                   f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1", None):  # fmt: skip
        assert browser("POST", path, headers={"origin": origin}).status_code == 403
    crossed = {"sec-fetch-site": "cross-site"}
    assert browser("POST", path, headers=crossed).status_code == 403
    assert browser("POST", path, token=False).status_code == 403
    assert (desk.turn, desk.work.asked) == before


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", ""])
def test_a_name_that_was_pointed_here_gets_nothing(browser: Browser, desk: Desk, host: str) -> None:
    assert browser("GET", "/table", headers={"host": host}).status_code == 403
    first = Browser(desk)
    token = first.app.token
    assert first("GET", f"/?token={token}", token=False, headers={"host": host}).status_code == 403
    assert first("GET", f"/?token={token}", token=False).status_code == 303  # it was not used up


def test_another_site_cannot_even_read(browser: Browser) -> None:
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        assert browser("GET", "/table", headers=headers).status_code == 403
    assert browser("GET", "/table", headers={"sec-fetch-site": "same-origin"}).status_code == 200


@pytest.mark.parametrize("path", ["/table", "/nowhere", "/download/plan.json", "/work"])
def test_every_answer_carries_the_policy(browser: Browser, path: str) -> None:
    for token in (True, False):
        headers = browser("GET", path, token=token).headers
        assert headers["content-security-policy"].startswith("default-src 'self'; ")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        # a page without a referrer would send "Origin: null" with its own forms
        assert headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json"])
def test_the_framework_shows_no_pages_of_its_own(browser: Browser, path: str) -> None:
    assert browser("GET", path).status_code == 404


def test_pages_ask_for_nothing_elsewhere(browser: Browser) -> None:
    for path in PAGES:
        text = browser("GET", path).text.replace(HOME, "")
        assert "http://" not in text.replace("http://www.w3.org", "")
        assert "https://" not in text
        assert "style=" not in text  # which the policy refuses


@pytest.mark.parametrize(("user", "status"), [("me", 303), (0, 303), (None, 303), (4_242, 403), (-1, 403)])
def test_another_user_of_this_machine_gets_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, user: int | str | None, status: int
) -> None:
    whose = security.this_user() if user == "me" else user
    monkeypatch.setattr(security, "owner", lambda client, port: whose)
    browser = Browser(desk)
    first = browser("GET", f"/?token={browser.app.token}", token=False)
    assert first.status_code == status
    assert ("set-cookie" in first.headers) == (status == 303)
    monkeypatch.setattr(security, "owner", lambda client, port: None)
    if status == 403:  # the token is not used up
        assert browser("GET", f"/?token={browser.app.token}", token=False).status_code == 303


@LINUX
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_system_tells_whose_a_connection_is(family: socket.AddressFamily) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        try:
            client = socket.socket(family)
            client.connect(("127.0.0.1" if family == socket.AF_INET else "::ffff:127.0.0.1", port))
        except OSError:
            pytest.skip("no addresses of version 6 here")
        with client:
            answering, there = listening.accept()
            with answering:
                assert owner(there, port) == os.getuid()
                assert owner((there[0], there[1]), port + 1) == -1
                client.close()
                assert owner(there, port) == -1  # not root, as the system's table has it


def test_the_tables_of_the_system_are_read_as_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # lines as proc(5) shows them, of a machine whose lowest byte comes first
    told = tmp_path / "tcp"
    told.write_text(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:1FBB 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 7 1\n"
        "   1: 0100007F:C350 0100007F:1FBB 01 00000000:00000000 00:00000000 00000000  1001        0 8 1\n"
    )
    monkeypatch.setattr(security, "_CONNECTIONS", (str(tmp_path / "absent"), str(told)))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "byteorder", "little")
    assert owner(("127.0.0.1", 50000), 8123) == 1001
    assert owner(("127.0.0.1", 50001), 8123) == -1
    assert owner(None, 8123) == -1  # it was reset before it was accepted
    monkeypatch.setattr(sys, "platform", "darwin")
    assert owner(("127.0.0.1", 50000), 8123) is None


def test_whoever_is_not_known_gets_nothing_even_with_the_cookie(
    browser: Browser, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert browser("GET", "/table").status_code == 200
    before = desk.turn, list(desk.work.asked)
    monkeypatch.setattr(security, "owner", lambda client, port: -1)
    for path in (*PAGES, "/download/plan.json", "/report/open", "/picture/0.svg", "/favicon.ico"):
        assert browser("GET", path).status_code == 403
    for path in POSTS:
        assert browser("POST", path, content=b"x", headers={"x-name": "t.csv"}).status_code == 403
    assert (desk.turn, desk.work.asked) == before
    assert not list(desk.folder.iterdir())  # nothing was uploaded


def test_web_sockets_are_closed_whoever_asks(browser: Browser) -> None:
    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    asyncio.run(browser.app({"type": "websocket", "path": "/"}, None, send))
    assert said == [{"type": "websocket.close"}]


def reset(client: socket.socket) -> None:
    """Close a connection so that nothing is left of it."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@LINUX
def test_a_port_that_somebody_else_takes_over_does_not_speak_for_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A request whose connection was reset waits to be accepted; its port is used again meanwhile."""
    monkeypatch.setattr(security, "owner", owner)
    with security.Listening(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        address = listening.getsockname()
        first = socket.create_connection(address)
        place = first.getsockname()
        first.sendall(b"GET / HTTP/1.1")
        reset(first)
        with socket.socket() as second:
            second.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            second.bind(place)
            second.connect(address)
            with pytest.raises(ConnectionAbortedError):
                listening.accept()
            answering, there = listening.accept()
            answering.close()
            assert there == place


@LINUX
def test_a_connection_of_which_one_half_is_closed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "owner", owner)
    with security.Listening(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        with socket.create_connection(listening.getsockname()) as client:
            client.shutdown(socket.SHUT_WR)
            with pytest.raises(ConnectionAbortedError):
                listening.accept()
        with socket.create_connection(listening.getsockname()):
            listening.accept()[0].close()


NOBODY = 65534


def socket_of(user: int) -> socket.socket:
    """A socket that the system has as another user's; only root can make one."""
    if user != os.geteuid() and os.geteuid() != 0:
        pytest.skip("only root can ask as another user")
    before = os.geteuid()
    os.seteuid(user)
    try:
        return socket.socket()
    finally:
        os.seteuid(before)


@LINUX
@pytest.mark.parametrize("user", [os.getuid(), NOBODY], ids=["this user", "another user"])
def test_a_request_whose_sender_has_gone_burns_no_token(tmp_path: Path, user: int) -> None:
    pytest.importorskip("uvicorn", reason="the extra studio is not installed")
    client = socket_of(user)
    with studio(tmp_path) as (process, address):
        port, query = urlsplit(address).port, urlsplit(address).query
        process.send_signal(signal.SIGSTOP)  # a busy studio
        try:
            client.connect(("127.0.0.1", port))
            client.sendall(f"GET /?{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            reset(client)
        finally:
            process.send_signal(signal.SIGCONT)
        time.sleep(0.5)
        assert asked_for(port, f"/?{query}").status == 303  # it opens the studio for its user
        assert asked_for(port, f"/?{query}").status == 403  # and was good for one


@LINUX
@pytest.mark.parametrize("path", ["/?{query}", "/table", "/assets/studio.js", "/upload"])
def test_another_user_is_not_even_answered(tmp_path: Path, path: str) -> None:
    pytest.importorskip("uvicorn", reason="the extra studio is not installed")
    with studio(tmp_path) as (_, address), socket_of(NOBODY) as client:
        port, query = urlsplit(address).port, urlsplit(address).query
        client.settimeout(20)
        client.connect(("127.0.0.1", port))
        with suppress(OSError):  # it may be refused before
            client.sendall(f"GET {path.format(query=query)} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        with suppress(ConnectionResetError):
            assert client.recv(100) == b""
        assert asked_for(port, f"/?{query}").status == 303


def asked_for(port: int | None, path: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path)
    return connection.getresponse()
