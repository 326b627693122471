"""Serve the studio on this machine until it is stopped."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..errors import OutputError, UnsupportedError
from ..files import sweep, temporary_folder
from .security import Listening, welcome


def serve(
    path: str | None,
    *,
    port: int = 0,
    ready: Callable[[str], None],
) -> None:
    """Serve until somebody stops it; what was uploaded is removed at the end.

    Parameters
    ----------
    path : str, optional
        A table to begin with.
    port : int
        On 127.0.0.1; 0 takes one that is free.
    ready : callable
        Called with the address, which holds the token.

    Raises
    ------
    UnsupportedError
        The extra ``studio`` is not installed.
    OutputError
        The port is taken.
    """
    try:
        import uvicorn

        from .server import application
    except ImportError:
        raise UnsupportedError(
            "the studio needs FastAPI and uvicorn, which are not installed",
            hint="pip install 'hedgerow[studio]'",
        ) from None
    from .state import Desk

    listening = _bound(port)
    port = listening.getsockname()[1]
    with socket.create_connection(listening.getsockname()) as own:
        if not welcome(own.getsockname(), port):
            raise UnsupportedError(
                "this system does not tell whose a connection is, and others may share it",
                hint="have /proc/net/tcp readable, or use the command line",
            )
    with temporary_folder() as folder:
        desk = Desk(folder, path)

        def leave() -> None:
            server.should_exit = True

        guard = application(desk, port, leave)
        settings = uvicorn.Config(
            guard,
            # neither addresses nor what is in them go to a log
            access_log=False,
            log_level="critical",
            server_header=False,
            date_header=False,
            lifespan="off",
            timeout_graceful_shutdown=2,
            ws="none",
            loop="asyncio",  # others accept past `Listening`
        )
        server = uvicorn.Server(settings)
        ready(f"http://127.0.0.1:{port}/?token={guard.token}")
        try:
            with _ending():
                server.run(sockets=[listening])
        finally:
            desk.close()
            listening.close()
            sweep(folder.parent, ".hedgerow.")  # what its worker had, which is killed


@contextmanager
def _ending() -> Iterator[None]:
    """Whoever ends the studio by a signal ends it in order: what was uploaded is removed."""

    def end(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        names = ("SIGTERM", "SIGHUP")  # not every system has both
        known = [getattr(signal, name) for name in names if hasattr(signal, name)]
        before = {number: signal.signal(number, end) for number in known}
    try:
        with suppress(KeyboardInterrupt):  # the server gives the signal on when it is done
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _bound(port: int) -> Listening:
    """A socket on the loopback address alone."""
    made = Listening(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(("127.0.0.1", port))
        made.listen()  # before the address is told: a browser may be faster than the server
    except (OSError, OverflowError) as error:
        made.close()
        raise OutputError(
            f"cannot listen on port {port} of 127.0.0.1: {error}",
            hint="choose another by --port, or leave it out for one that is free",
        ) from None
    return made
