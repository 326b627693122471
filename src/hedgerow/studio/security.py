"""Limit access to the studio to one user's browser on this machine, with a token, from its own pages."""

from __future__ import annotations

import hmac
import secrets
import socket
import sys
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..files import this_user
from . import WORDS

# the headers of every answer, unless it sets them itself
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # "no-referrer" would turn the Origin of the studio's own forms into "null"
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_REFUSED = WORDS["refused"]
READS = ("GET", "HEAD")
_CONNECTIONS = ("/proc/net/tcp", "/proc/net/tcp6")


class OwnersOnly:
    """An ASGI application that only lets the user's own browser through to the studio.

    The printed address holds a token. It works once, and is exchanged for a cookie that scripts
    cannot read and other sites cannot send; anyone who later finds the address in a history or log
    gets nothing. Host and Origin must be the studio's own, so that neither another site's page nor
    a name that was pointed to this machine can post or read.

    A browser that the studio opens has the address among its arguments, where every user of the
    machine can read it, and sends the cookie to every port of 127.0.0.1. So on systems that report
    the owner of a connection (Linux does), this must be the user who started the studio, or root,
    both when the connection is accepted (`Listening`) and at every request. If the other end is
    closed or unknown, the request is refused.

    Parameters
    ----------
    app : ASGI application
    port : int
        Where the studio listens on 127.0.0.1.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.cookie = f"hedgerow-studio-{port}"
        self.token = secrets.token_urlsafe(32)
        self._pass = secrets.token_urlsafe(32)
        self._port = port
        self._used = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, exchange its token for a cookie, or pass it on to the studio."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets
            await send({"type": "websocket.close"})
            return
        sent = _with_headers(send)
        request = Request(scope)
        fault: str | None = _REFUSED["another_user"]
        if is_welcome(scope.get("client"), self._port):
            fault = self._fault(request.method, request.headers)
        if fault is not None:
            await PlainTextResponse(fault, 403)(scope, receive, sent)
        elif _is_same(request.cookies.get(self.cookie, ""), self._pass):
            await self._app(scope, receive, sent)
        else:
            await self._exchange(request)(scope, receive, sent)

    def _fault(self, method: str, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if host not in self._hosts:
            return _REFUSED["host"]
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        other = _REFUSED["another_site"]
        # browsers send no Origin header when a page is opened; requests that change state must have one
        if origin is None and method in READS:
            return None if site in ("none", "same-origin") else other
        return None if origin == f"http://{host}" and site in ("none", "same-origin") else other

    def _exchange(self, request: Request) -> Response:
        """Return the answer to a visit without the cookie: the cookie in exchange for the token, or a refusal."""
        if request.scope["path"] != "/" or request.method != "GET":
            return PlainTextResponse(_REFUSED["no_pass"], 403)
        token = request.query_params.get("token", "")
        if self._used or not _is_same(token, self.token):
            return PlainTextResponse(_REFUSED["used" if self._used and token else "no_pass"], 403)
        self._used = True
        # HttpOnly: no script reads it; Strict: no other site's page sends it
        cookie = f"{self.cookie}={self._pass}; Path=/; HttpOnly; SameSite=Strict"
        return Response(status_code=303, headers={"location": "/table", "set-cookie": cookie})


def _is_same(text: str, secret: str) -> bool:
    """Compare in constant time: how long an answer takes tells nothing of the secret."""
    return hmac.compare_digest(text.encode(), secret.encode())


class Listening(socket.socket):
    """A listening socket that accepts connections only from the user who started the studio, and root.

    The owner of a connection must be looked up while it is open. Once its other end is reset, its
    port is free, and may belong to the browser by the time the request is checked.
    """

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection; raise ConnectionAbortedError if it is another user's or already closed.

        Servers ignore that error and go on.
        """
        connection, client = super().accept()
        if not (is_welcome(client, self.getsockname()[1]) and _is_open(connection)):
            connection.close()
            raise ConnectionAbortedError
        return connection, client


def _is_open(connection: socket.socket) -> bool:
    """Return whether a connection is still open at both ends; True on systems other than Linux."""
    if sys.platform != "linux":
        return True
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) == b"\x01"


def is_welcome(client: tuple[str, int] | None, port: int) -> bool:
    """Return whether a connection comes from this user or root; True if the system cannot tell."""
    return owner(client, port) in (None, 0, this_user())


def owner(client: tuple[str, int] | None, port: int) -> int | None:
    """Return the user id at the other end of a connection to a port of 127.0.0.1.

    Return None on systems that do not report it, and -1 if the connection was closed or reset or
    cannot be found. (For a closed connection the system itself would report root.)
    """
    if sys.platform != "linux":
        return None
    if client is None:  # it was reset before it was accepted
        return -1
    # the system's table has a line for each end; the client's has it as the local one
    ends = [_as_in_table(*client), _as_in_table("127.0.0.1", port)]
    for table in _CONNECTIONS:
        try:
            lines = Path(table).read_text("ascii").splitlines()
        except OSError:
            continue
        for line in lines[1:]:
            parts = line.split()
            # an address of version 4 stands at the end of one of version 6
            if [_last(parts[1]), _last(parts[2])] == ends:
                return int(parts[7]) if parts[9] != "0" else -1
    return -1


def _as_in_table(host: str, port: int) -> str:
    """Return an address in the form of the system's own tables: hexadecimal, in memory order."""
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"


def _last(address: str) -> str:
    host, _, port = address.partition(":")
    return f"{host[-8:]}:{port}"


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
