"""What the studio answers: pages, posted choices, uploads, downloads."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import unquote

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, Response

from ..errors import HedgerowError, OutputError, UnsupportedError
from ..files import SUFFIXES, sweep, temporary_folder
from ..profiles import Profile
from . import forms, pages
from .security import Guard, Listening, welcome
from .state import STEPS, Choices, Desk
from .worker_client import in_sentences

MOST = 500_000_000
"""Bytes of an upload; a larger table is opened by its path, and not copied."""
LONGEST = 200
"""Bytes of an uploaded file's name."""
AT_ONCE = 0.7
"""Seconds that an answer waits for work: what takes less is not seen to run."""
GLANCE = 0.1
"""The same where an estimate can be shown until the figure follows."""
STALE = (
    "The choices were changed in another window meanwhile, so this was not done. Here is how they "
    "stand now."
)


def application(desk: Desk, port: int, leave: Callable[[], None] = lambda: None) -> Guard:
    """The studio as an ASGI application behind its guard.

    Parameters
    ----------
    desk : Desk
    port : int
        Where it listens.
    leave : callable
        Ends the studio.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    _reading(app, desk)
    _choosing(app, desk)
    _working(app, desk, leave)
    _files(app, desk)
    app.add_exception_handler(Exception, _unexpected)
    return Guard(app, port)


async def _unexpected(request: Request, error: Exception) -> Response:
    """The message of a foreign exception may quote a person's value, so only its type is told."""
    text = f"unexpected {type(error).__name__}; this is a fault in Hedgerow, and nothing was written"
    return _html(pages.refusal("That did not work", text), 500)


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="text/html")


def _to(step: str) -> Response:
    return RedirectResponse(f"/{step}", 303)


async def _settled(desk: Desk, moment: float = AT_ONCE) -> None:
    """Wait a moment for what has begun."""
    job = desk.job
    if job is not None:
        await asyncio.to_thread(job.done.wait, moment)


class _Refused(Exception):
    """A file that is not copied."""

    def __init__(self, fault: str, status: int) -> None:
        self.answer = JSONResponse({"fault": fault}, status)


async def _copied(request: Request, folder: Path, most: int, endings: Iterable[str]) -> Path:
    """What the browser sends, a block at a time, as a private file under its own name."""
    name = PurePath(unquote(request.headers.get("x-name", ""))).name
    if PurePath(name).suffix.lower() not in endings:
        raise _Refused(f"Not a table: its name must end in {', '.join(endings)}.", 415)
    if len(os.fsencode(name)) > LONGEST or "\0" in name:
        raise _Refused("No file can have this name here: give it a short one.", 400)
    target, size = folder / name, 0
    part = target.with_name(target.name + ".part")
    try:
        with open(part, "wb") as file:
            async for block in request.stream():
                size += len(block)
                if size > most:
                    said = f"More than {most // 1_000_000} MB: give the path of the file instead"
                    raise _Refused(f"{said}, then nothing is copied.", 413)
                await asyncio.to_thread(file.write, block)
        part.replace(target)
    except OSError:
        said = "There is no room for a copy of the file: give its path instead."
        raise _Refused(said, 507) from None
    finally:
        part.unlink(missing_ok=True)
    return target


def _reading(app: FastAPI, desk: Desk) -> None:
    @app.get("/")
    async def root() -> Response:
        return _to("table")

    @app.get("/work")
    async def work() -> Response:
        job = desk.job
        told: dict[str, Any] = {"running": job is not None, "version": desk.version}
        if job is not None:
            told |= {"title": job.title, "step": job.step, "share": job.share}
            told["stopped"] = job.stopped
        return JSONResponse(told)

    @app.get("/assets/{name}")
    async def asset(name: str) -> Response:
        try:
            text, kind = pages.asset(name)
        except KeyError:
            return Response(status_code=404)
        return Response(text, media_type=kind)

    @app.get("/favicon.ico")
    async def icon() -> Response:
        return Response(status_code=204)

    @app.get("/picture/{number}.svg")
    async def picture(number: int) -> Response:
        drawn = (desk.known.get("measure") or {}).get("pictures", [])
        if not 0 <= number < len(drawn):
            return Response(status_code=404)
        # a drawing of its own may style itself, and nothing else
        policy = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return Response(drawn[number]["svg"], media_type="image/svg+xml", headers=policy)

    @app.get("/{step}")
    async def show(step: str) -> Response:
        if step not in STEPS:
            return _html(pages.refusal("No such page", "The studio has five steps."), 404)
        desk.need(step)
        guessed = step == "protect" and "methods" in desk.known and desk.guess() is not None
        await _settled(desk, GLANCE if guessed else AT_ONCE)
        desk.need(step)
        text = pages.page(desk, step)
        desk.notice = None
        return _html(text)


async def _posted(request: Request) -> dict[str, str]:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > forms.MOST:
            raise ValueError("a form that is too large")
    return forms.fields(bytes(body))


def _stale(desk: Desk, turn: str | None, tab: str = "") -> bool:
    """Whether a page speaks of choices that were changed since, and not by itself; it is told."""
    is_stale = turn != str(desk.turn) and (not tab or tab != desk.tab)
    if is_stale:
        desk.notice = STALE
    return is_stale


async def _asked(request: Request, desk: Desk) -> dict[str, str] | None:
    """What a page asks to be done with the choices that it shows; None where these are no more."""
    form = await _posted(request)
    return None if _stale(desk, form.get("turn"), request.headers.get("x-tab", "")) else form


def _choosing(app: FastAPI, desk: Desk) -> None:
    async def change(
        request: Request, step: str, made: Callable[[dict[str, str]], Choices]
    ) -> Response:
        """Take a choice that was made on the state that its page showed."""
        form = await _asked(request, desk)
        if form is None:
            return _to(step)
        desk.tab = request.headers.get("x-tab", "")
        try:
            desk.choose(made(form))
        except HedgerowError as error:
            desk.notice = in_sentences(error.message, error.hint)
        return _to(form.get("to") or step)

    @app.post("/roles")
    async def roles(request: Request) -> Response:
        return await change(request, "table", lambda form: forms.roles(form, desk.choices))

    @app.post("/settings")
    async def settings(request: Request) -> Response:
        def made(form: dict[str, str]) -> Choices:
            known = desk.known.get("methods") or {}
            usual = known.get(form.get("method", desk.choices.method), {}).get("defaults", {})
            chosen = forms.settings(form, desk.choices, usual)
            if chosen.profile != desk.choices.profile and chosen.profile:
                title = Profile.load(chosen.profile).title
                k = chosen.options.get("k")  # some methods have none
                if k is not None and str(k) != form.get("option-k"):
                    desk.notice = f"k was raised to {k}: {title} requires it."
            return chosen

        return await change(request, "protect", made)

    @app.post("/key")
    async def key(request: Request) -> Response:
        return await change(request, "protect", lambda form: forms.secret(form, desk.choices))

    @app.post("/hierarchies")
    async def hierarchies(request: Request) -> Response:
        return await change(request, "protect", lambda form: forms.hierarchies(form, desk.choices, desk.folder))

    @app.post("/take")
    async def take(request: Request) -> Response:
        def made(form: dict[str, str]) -> Choices:
            points = (desk.known.get("frontier") or {"points": []})["points"]
            at = form.get("point", "")
            if not at.isdecimal() or int(at) >= len(points):
                return desk.choices
            point = points[int(at)]
            titles = {m["title"]: name for name, m in desk.known["methods"].items()}
            if point["method"] != desk.title and point["method"] in titles:
                own = Choices(**{**vars(desk.choices), "method": titles[point["method"]], "options": {}})
                return forms.take(point["parameters"], own)
            return forms.take(point["parameters"], desk.choices)

        return await change(request, "protect", made)

    @app.post("/leave-out")
    async def leave_out(request: Request) -> Response:
        return await change(
            request, "risk", lambda form: forms.leave_out(form.get("column", ""), desk.choices)
        )

    @app.post("/undo")
    async def undo(request: Request) -> Response:
        form, tab = await _posted(request), request.headers.get("x-tab", "")
        if not _stale(desk, form.get("turn"), tab):
            desk.tab = tab
            desk.undo()
        return _to(form.get("to") or "table")


def _working(app: FastAPI, desk: Desk, leave: Callable[[], None]) -> None:
    @app.post("/stop")
    async def stop(request: Request) -> Response:
        form = await _posted(request)
        desk.stop()
        await _settled(desk)
        return _to(form.get("to") or "table")

    @app.post("/again")
    async def again(request: Request) -> Response:
        step = (await _posted(request)).get("to", "table")
        desk.again(step)
        return _to(step)

    @app.post("/attack")
    async def attack(request: Request) -> Response:
        if await _asked(request, desk) is not None:
            desk.attack()
        return _to("compare")

    @app.post("/lookup")
    async def lookup(request: Request) -> Response:
        form = await _asked(request, desk)
        if form is None:
            return _to("compare")
        columns = (desk.known.get("measure") or {}).get("known", [])
        known = ((name, form.get(f"known-{i}", "").strip()) for i, name in enumerate(columns))
        wanted = {name: text for name, text in known if text}
        if not desk.look_up(wanted):
            desk.notice = "Something else is being done; look the person up afterwards."
        await _settled(desk)
        return _to("compare")

    @app.post("/quit")
    async def finish() -> Response:
        leave()
        return _html(pages.refusal("The studio has ended", "You can close this window."))


def _files(app: FastAPI, desk: Desk) -> None:
    @app.post("/open")
    async def opened(request: Request) -> Response:
        path = (await _posted(request)).get("path", "").strip()
        if not path:
            desk.notice = "Say which file: its path on this machine."
            return _to("table")
        desk.open(str(forms.path(path)))
        return _to("table")

    @app.post("/missing")
    async def missing(request: Request) -> Response:
        """Read the table once more: other words for missing values, another encoding."""
        form, path = await _asked(request, desk), desk.path or desk.refused
        if form is not None and path is not None:
            words = forms.split_words(form.get("missing", ""))
            encoding = form.get("encoding", "").strip()
            if (words, encoding) != (desk.missing, desk.encoding):
                desk.open(path, missing=words, encoding=encoding)
        return _to("table")

    @app.post("/demo")
    async def demo() -> Response:
        desk.open(str(desk.folder / "people.csv"), demo=True)
        return _to("table")

    @app.post("/upload")
    async def upload(request: Request) -> Response:
        try:
            target = await _copied(request, desk.folder, MOST, SUFFIXES)
        except _Refused as error:
            return error.answer
        desk.open(str(target))
        return JSONResponse({"to": "/table"})

    @app.post("/hierarchy")
    async def hierarchy(request: Request) -> Response:
        """A file for the column of a quasi-identifier, by its place in the table."""
        turn, tab = request.headers.get("x-turn"), request.headers.get("x-tab", "")
        names = list(desk.choices.roles)
        at = request.headers.get("x-column", "")
        if not at.isdecimal() or int(at) >= len(names):
            return JSONResponse({"fault": "There is no such column."}, 400)
        folder = forms.fresh(desk.folder)
        fault: Response | None = None
        try:
            path = await _copied(request, folder, forms.MOST_OF_HIERARCHY, (".csv", ".txt"))
            await asyncio.to_thread(forms.check_hierarchy, path)
        except _Refused as error:
            fault = error.answer
        except HedgerowError as error:
            said = in_sentences(error.message.replace(f"{folder}/", ""), error.hint)
            fault = JSONResponse({"fault": said}, 400)
        if fault is None and _stale(desk, turn, tab):  # it may be of another table by now
            fault = JSONResponse({"to": "/protect"})
        if fault is not None:
            shutil.rmtree(folder, ignore_errors=True)
            return fault
        desk.tab = tab
        made = {**desk.choices.hierarchies, names[int(at)]: str(path)}
        desk.choose(replace(desk.choices, hierarchies=made))
        return JSONResponse({"to": "/protect"})

    @app.post("/write")
    async def write(request: Request) -> Response:
        form = await _asked(request, desk)
        if form is None:
            return _to("release")
        folder = form.get("folder", "").strip()
        if not folder:
            desk.notice = "Say which folder the release goes to."
            return _to("release")
        desk.write(str(forms.path(folder)), bool(form.get("force")))
        await _settled(desk)
        return _to("release")

    def written(name: str) -> Path | None:
        """A file of the verified release; None for every other."""
        made = desk.known.get("write")
        return Path(made["folder"]) / name if made and name in made["files"] else None

    @app.get("/download/{name}")
    async def download(name: str) -> Response:
        path = written(name)
        if path is None or not path.is_file():
            said = "Nothing can be downloaded before every promise was checked on the written file."
            return _html(pages.refusal("Not yet", said), 409)
        return FileResponse(path, filename=name)

    @app.get("/report/open")
    async def report() -> Response:
        path = written("report.html")
        if path is None or not path.is_file():
            return _html(pages.refusal("Not yet", "There is no report before the release is written."), 409)
        # the report's own policy allows its one script by its hash; it cannot reach the studio
        policy = (
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
            "sandbox allow-scripts"
        )
        return FileResponse(path, media_type="text/html", headers={"content-security-policy": policy})


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
        This system does not say whose a connection is.
    OutputError
        The port is taken.
    """
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
