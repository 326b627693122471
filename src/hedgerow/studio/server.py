"""Run the studio's server, which serves pages and handles choices, uploads and downloads."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import unquote

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response

from ..errors import HedgerowError, InputError, OutputError, ParameterError, UnsupportedError
from ..files import SUFFIXES, sweep, temporary_folder
from ..profiles import Profile
from ..workflow.options import split
from . import WORDS, forms, pages
from .security import Listening, OwnersOnly, is_welcome
from .state import STEPS, UPLOAD, Choices, StudioState
from .worker_client import in_sentences

# bytes of an upload; a larger table is opened by its path, and not copied
MOST = 500_000_000
# bytes of an uploaded file's name
LONGEST = 200
# seconds that an answer waits for work: what takes less is not seen to run
AT_ONCE = 0.7
# carries out the request of a form, or returns what it chooses
Act = Callable[[dict[str, str]], Choices | None]


def application(state: StudioState, port: int, leave: Callable[[], None] = lambda: None) -> OwnersOnly:
    """Return the studio as an ASGI application behind its guard.

    Parameters
    ----------
    state : StudioState
    port : int
        Where it listens.
    leave : callable
        Ends the studio.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    _reading(app, state)
    _posting(app, state)
    _files(app, state)

    @app.post("/quit")
    async def finish() -> Response:
        leave()
        return HTMLResponse(pages.refusal("The studio has ended", "You can close this window."))

    app.add_exception_handler(Exception, _unexpected)
    app.add_exception_handler(_Refused, _refused)
    return OwnersOnly(app, port)


async def _unexpected(request: Request, error: Exception) -> Response:
    """Answer with the type of an error only, since its message may quote a person's value."""
    text = f"unexpected {type(error).__name__}; this is a fault in Hedgerow, and nothing was written"
    return HTMLResponse(pages.refusal("That did not work", text), 500)


def _to(step: str) -> Response:
    return RedirectResponse(f"/{step}", 303)


async def _settle(state: StudioState) -> None:
    """Wait briefly for the running job to finish."""
    if (job := state.job) is not None:
        await asyncio.to_thread(job.done.wait, AT_ONCE)


class _Refused(Exception):
    """A refusal to accept a file or a form, with a text for the page and the status of the answer."""


async def _refused(request: Request, error: Exception) -> Response:
    fault, status = error.args
    return JSONResponse({"fault": fault}, status)


async def _uploaded(request: Request, folder: Path, most: int, endings: Iterable[str]) -> Path:
    """Copy an uploaded file block by block to a new folder, under its own name; the folder goes if that fails."""
    name = PurePath(unquote(request.headers.get("x-name", ""))).name
    try:
        if PurePath(name).suffix.lower() not in endings:
            raise _Refused(f"{name} cannot be read: its name must end in {', '.join(endings)}.", 415)
        if len(os.fsencode(name)) > LONGEST or "\0" in name:
            raise _Refused("No file can have this name here: give it a short one.", 400)
        size = 0
        with open(folder / name, "wb") as file:
            async for block in request.stream():
                size += len(block)
                if size > most:
                    raise _Refused(WORDS["refused"]["too_large"].format(most=most // 1_000_000), 413)
                # a slow disk does not stop the pages
                await asyncio.to_thread(file.write, block)
    except BaseException as error:  # also a window that is closed, or an upload that is stopped
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise _Refused(WORDS["refused"]["no_room"], 507) from None
        raise
    return folder / name


def _reading(app: FastAPI, state: StudioState) -> None:
    """Add the routes that return pages, and the files that these load."""

    @app.get("/")
    async def root() -> Response:
        return _to("table")

    @app.get("/work")
    async def work() -> Response:
        job = state.job
        answer: dict[str, object] = {"running": job is not None, "version": state.version}
        if job is not None:
            answer |= {n: getattr(job, n) for n in ("title", "step", "share", "stopped")}
        return JSONResponse(answer)

    @app.get("/assets/{name}")
    async def asset(name: str) -> Response:
        return Response(status_code=404) if name not in pages.ASSETS else FileResponse(pages.ASSETS[name])

    @app.get("/favicon.ico")
    async def icon() -> Response:
        return Response(status_code=204)

    @app.get("/picture/{number}.svg")
    async def picture(number: int) -> Response:
        pictures = (state.results.get("measure") or {}).get("pictures", [])
        if not 0 <= number < len(pictures):
            return Response(status_code=404)
        # a drawing of its own may style itself, and nothing else
        policy = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return Response(pictures[number]["svg"], media_type="image/svg+xml", headers=policy)

    @app.get("/{step}")
    async def show(step: str, request: Request) -> Response:
        if step not in STEPS:
            return HTMLResponse(pages.refusal("No such page", "The studio has five steps."), 404)
        state.need(step)
        await _settle(state)
        # what has ended meanwhile may be what the next job waited for
        state.need(step)
        # a notice is said once, to the window that asked and not to a page that only looks for news
        notice = None if "x-poll" in request.headers else state.notices.pop(request.headers.get("x-tab", ""), None)
        return HTMLResponse(pages.page(state, step, notice))


async def _form(request: Request) -> dict[str, str]:
    body = bytearray()
    async for part in request.stream():
        body += part
        # read piece by piece: a form of gigabytes is not taken into memory
        if len(body) > forms.MOST:
            raise _Refused("The form is too large.", 413)
    return {**forms.fields(bytes(body)), "tab": request.headers.get("x-tab", "")}


def _named(form: dict[str, str], field: str) -> str:
    """Return the path in a form's field; raise ParameterError if it is empty."""
    if text := form.get(field, "").strip():
        return str(forms.path(text))
    raise ParameterError(WORDS["refused"][f"no_{field}"])


def _is_stale(state: StudioState, turn: str | None, tab: str) -> bool:
    """Return whether a page's choices have been changed elsewhere in the meantime; if so, set a notice."""
    changed = turn != str(state.turn) and (not tab or tab != state.tab)
    if changed:
        state.notices[tab] = WORDS["refused"]["stale"]
    return changed


def _posting(app: FastAPI, state: StudioState) -> None:
    """Add the routes that handle the forms of the pages."""

    def on(path: str, step: str, act: Act, *, is_checked: bool = True, waits: bool = False) -> None:
        """Add a route that carries out a form's request or adopts its choices, and then shows a step.

        A checked form counts only if its page showed the current choices; a waiting form gives a
        short job the time to finish.
        """

        @app.post(path)
        async def answer(request: Request) -> Response:
            form = await _form(request)
            target = _to(form["to"] if form.get("to") in STEPS else step)
            if is_checked and _is_stale(state, form.get("turn"), form["tab"]):
                return target
            if is_checked and not waits:
                state.tab = form["tab"]
            try:
                if (choices := act(form)) is not None:
                    state.choose(choices)
            except HedgerowError as error:
                state.notices[form["tab"]] = in_sentences(error.message, error.hint, state.choices.roles)
            if waits:
                await _settle(state)
            return target

    def settings(form: dict[str, str]) -> Choices:
        before, methods = state.choices, state.results.get("methods") or {}
        defaults = methods.get(form.get("method", before.method), {}).get("defaults", {})
        choices = forms.settings(form, before, defaults, (state.results.get("proposed") or {"columns": {}})["columns"])
        if choices.profile != before.profile and choices.profile:
            title = Profile.load(choices.profile).title
            k = choices.options.get("k")  # some methods have none
            if k is not None and str(k) != form.get("option-k"):
                state.notices[form["tab"]] = f"k was raised to {k}: {title} requires it."
        return choices

    def take(form: dict[str, str]) -> Choices | None:
        points = (state.results.get("frontier") or {"points": []})["points"]
        at = form.get("point", "")
        if not at.isdecimal() or int(at) >= len(points):
            return None
        point, choices = points[int(at)], state.choices
        titles = {m["title"]: name for name, m in state.results["methods"].items()}
        if point["method"] != state.title and point["method"] in titles:
            method = titles[point["method"]]
            choices = forms.another(method, choices, state.results["methods"][method]["defaults"])
        return forms.take(point["parameters"], choices)

    def read_again(form: dict[str, str]) -> None:
        words = list(dict.fromkeys(split(form.get("missing", ""))))
        if path := state.refused if form.get("refused") else state.path:
            if sheet := form.get("sheet", "").strip():
                path = f"{path.partition('::')[0]}::{sheet}"
            state.open(path, missing=words, encoding=form.get("encoding", "").strip())

    def regression(form: dict[str, str]) -> None:
        state.compare_models(form.get("formula", ""), form.get("family", ""))

    on("/roles", "table", lambda form: forms.roles(form, state.choices))
    on("/rules", "table", lambda form: forms.rules(form, state.choices, state.results.get("open", {}).get("rules", [])))
    on("/settings", "protect", settings)
    on("/key", "protect", lambda form: forms.secret(form, state.choices))
    on("/hierarchies", "protect", lambda form: forms.hierarchies(form, state.choices, state.folder))
    on("/take", "protect", take)
    on("/leave-out", "risk", lambda form: forms.leave_out(form.get("column", ""), state.choices))
    on("/undo", "table", lambda form: state.undo())
    on("/attack", "compare", lambda form: state.attack(), waits=True)
    on("/regression", "compare", regression, waits=True)
    on("/missing", "table", read_again, waits=True)
    on("/write", "release", lambda form: state.write(_named(form, "folder"), bool(form.get("force"))), waits=True)
    # these are about the table as a whole, or about work: no choice of another window is lost by them
    on("/stop", "table", lambda form: state.stop(), is_checked=False, waits=True)
    on("/again", "table", lambda form: state.again(form.get("to", "table")), is_checked=False)
    on("/open", "table", lambda form: state.open(_named(form, "path")), is_checked=False)
    demo = str(state.folder / "people.csv")
    on("/demo", "table", lambda form: state.open(demo, demo=True), is_checked=False)


def _files(app: FastAPI, state: StudioState) -> None:
    """Add the routes for uploads, and for downloads of the verified release."""

    @app.post("/upload")
    async def upload(request: Request) -> Response:
        # a folder each: undo may return to an upload of the same name
        state.open(str(await _uploaded(request, forms.fresh(state.folder, UPLOAD), MOST, SUFFIXES)))
        return JSONResponse({"to": "/table"})

    @app.post("/hierarchy")
    async def hierarchy(request: Request) -> Response:
        """Store an uploaded hierarchy for the column at the given position of the table."""
        turn, tab = request.headers.get("x-turn"), request.headers.get("x-tab", "")
        names = list(state.choices.roles)
        at = request.headers.get("x-column", "")
        if not at.isdecimal() or int(at) >= len(names):
            raise _Refused("There is no such column.", 400)
        folder = forms.fresh(state.folder)
        path = await _uploaded(request, folder, forms.MOST_OF_HIERARCHY, (".csv", ".txt"))
        try:
            await asyncio.to_thread(forms.check_hierarchy, path)
        except HedgerowError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise _Refused(in_sentences(error.message.replace(f"{folder}/", ""), error.hint), 400) from None
        if _is_stale(state, turn, tab):  # it may be of another table by now
            shutil.rmtree(folder, ignore_errors=True)
        else:
            state.tab = tab
            state.choose(replace(state.choices, hierarchies={**state.choices.hierarchies, names[int(at)]: str(path)}))
        return JSONResponse({"to": "/protect"})

    def written(name: str) -> Path | None:
        """Return the path of a file of the verified release; None for any other name."""
        release = state.results.get("write")
        path = Path(release["folder"]) / name if release and name in release["files"] else None
        return path if path is not None and path.is_file() else None

    @app.get("/download/{name}")
    async def download(name: str) -> Response:
        if (path := written(name)) is None:
            return HTMLResponse(pages.refusal("Not yet", WORDS["refused"]["not_checked"]), 409)
        return FileResponse(path, filename=name)

    @app.get("/notebook/release.ipynb")
    async def notebook() -> Response:
        code = state.results.get("script", {}).get("python", "")
        cell: dict[str, object] = {"cell_type": "code", "id": "release", "source": code, "metadata": {}}
        cell |= {"outputs": [], "execution_count": None}
        about = {"content-disposition": 'attachment; filename="release.ipynb"'}
        return JSONResponse({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}, headers=about)

    @app.get("/report/open")
    async def report() -> Response:
        if (path := written("report.html")) is None:
            return HTMLResponse(pages.refusal("Not yet", WORDS["refused"]["no_report"]), 409)
        # the report's own policy allows its one script by its hash; it cannot reach the studio
        policy = (
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
            "sandbox allow-scripts"
        )
        return FileResponse(path, media_type="text/html", headers={"content-security-policy": policy})


def serve(path: str | None, *, port: int = 0, ready: Callable[[str], None]) -> None:
    """Serve the studio until somebody stops it; uploads are then deleted.

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
    InputError
        There is no such table.
    UnsupportedError
        This system does not say whose a connection is.
    OutputError
        The port is taken.
    """
    if path is not None and "://" not in path and "*" not in path and "::" not in path:
        # not a pattern, a database or an address: those are for the reader
        if not Path(path).exists():
            raise InputError(f"there is no file {path}", hint="check the path")
        path = str(Path(path).resolve())
    listening = _listening(port)
    port = listening.getsockname()[1]
    # a system that does not tell whose this connection is does not tell it of others
    with socket.create_connection(listening.getsockname()) as test:
        if not is_welcome(test.getsockname(), port):
            raise UnsupportedError(WORDS["refused"]["no_owner"], hint=WORDS["refused"]["owner_hint"])
    with temporary_folder() as folder:
        state = StudioState(folder, path)

        def leave() -> None:
            server.should_exit = True

        guard = application(state, port, leave)
        # neither addresses nor what is in them go to a log
        silent: Any = {"access_log": False, "log_level": "critical", "server_header": False, "date_header": False}
        # other loops accept past `Listening`
        settings = uvicorn.Config(
            guard, **silent, lifespan="off", timeout_graceful_shutdown=2, ws="none", loop="asyncio"
        )
        server = uvicorn.Server(settings)
        ready(f"http://127.0.0.1:{port}/?token={guard.token}")
        try:
            with suppress(KeyboardInterrupt):  # the server gives the signal on when it is done
                server.run(sockets=[listening])
        finally:
            state.work.close()
            listening.close()
            sweep(folder.parent, ".hedgerow.")  # what its worker had, which is killed


def _listening(port: int) -> Listening:
    """Return a socket that listens only on the loopback address."""
    listening = Listening(socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform == "win32":  # where the other option lets any program listen on the same port, and get the token
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen()  # before the address is told: a browser may be faster than the server
    except (OSError, OverflowError) as error:
        listening.close()
        fault = f"cannot listen on port {port} of 127.0.0.1: {error}"
        raise OutputError(fault, hint=WORDS["refused"]["port_hint"]) from None
    return listening
