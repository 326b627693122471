"""A desk whose work is done at once by nobody, for what the server itself decides."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hedgerow.studio import security
from hedgerow.studio import state as desks
from hedgerow.studio.worker_client import Job

PORT = 8123
HOME = f"http://127.0.0.1:{PORT}"
COLUMNS = [
    {"column": n, "role": r, "kind": "numeric", "attacked_as": "number", "distinct": 9, "missing": 0,
     "shape": [3, 2, 1], "reason": "its name"}
    for n, r in (("age", "quasi"), ("job", "quasi"), ("income", "sensitive"), ("name", "identifier"))
]  # fmt: skip
OPENED = {
    "rows": 100,
    "columns": COLUMNS,
    "warnings": [],
    "name": "people.csv",
    "kinds": {},
    "unit": "",
    "household": "",
    "weight": "",
    "labels": {},
    "preview": [["31", "nurse", "2100", "Ann"]],
    "rules": [
        {"sql": "income >= age", "determines": [], "words": "income is never below age", "rows": 100, "broken": 0},
        {"sql": "age >= 15 OR job = 0", "determines": [], "words": "job is 0 below 15", "rows": 90, "broken": 2},
        {"sql": "", "determines": ["job", "age"], "words": "job determines age", "rows": 100, "broken": 0},
        {"sql": "", "determines": ["age", "job"], "words": "age determines job", "rows": 100, "broken": 1},
    ],
    "rule_names": [["income", "age"], ["age", "job"], ["job", "age"], ["age", "job"]],
}  # fmt: skip
METHOD = {
    "title": "MART",
    "why": "Groups.",
    "defaults": {"k": 10, "max_disclosure": None, "numeric": "range"},
    "yardstick": "classes",
    "heeds": ["unit", "grid"],
    "draws": False,
    "guardable": True,
    "usual_guard": "redraw",
    "private": False,
}
METHODS = {
    "hedge": METHOD,
    "mart": {**METHOD, "usual_guard": None},
    "mondrian": {**METHOD, "title": "Mondrian (median)"},
    "rr": {**METHOD, "title": "Randomized response", "draws": True, "guardable": False, "usual_guard": None},
    "private-tree": {
        **METHOD, "title": "PrivateTree", "defaults": {"epsilon": 1.0, "records": 1}, "guardable": False,
        "usual_guard": None, "private": True,
    },
}  # fmt: skip


# jobs that are done at once: which methods can run (all), and sample rows (none)
QUIET = ("reasons", "sample")


class Quick(desks.StudioState):
    """A desk whose quick jobs are done as soon as they are asked for."""

    def need(self, step: str) -> None:
        asked = -1
        while len(self.work.asked) != asked:
            asked = len(self.work.asked)
            super().need(step)
            if self.work.busy and self.work.job.name in QUIET:
                self.work.asked.pop()
                asked = -1
                self.work.answer({})


class Idle:
    """Work that writes down what it is asked and answers when it is told to."""

    def __init__(self, heard: Callable[[Job], None]) -> None:
        self._heard = heard
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.job: Job | None = None
        self.stopped = 0

    @property
    def busy(self) -> bool:
        return self.job is not None and not self.job.done.is_set()

    def ask(self, name: str, title: str, told: dict[str, Any]) -> Job:
        assert not self.busy
        self.asked.append((name, dict(told)))
        self.job = Job(len(self.asked), name, title)
        return self.job

    def answer(self, result: dict[str, Any] | None = None, error: Any = None) -> None:
        job = self.job
        assert job is not None
        job.result, job.error = result, error
        self._heard(job)
        job.done.set()

    def stop(self) -> None:
        self.stopped += self.busy

    def close(self) -> None:
        pass


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> desks.StudioState:
    """A desk with a table on it."""
    monkeypatch.setattr(desks, "WorkerClient", Idle)
    made = Quick(tmp_path, "people.csv")
    made.work.answer(dict(OPENED))
    made.need("protect")
    made.work.answer({"methods": METHODS})
    return made


@pytest.fixture(autouse=True)
def _mine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that are made without a connection are this user's."""
    monkeypatch.setattr(security, "owner", lambda client, port: os.getuid())


class Browser:
    """A client with the cookie of a desk's studio."""

    def __init__(self, desk: desks.StudioState, **headers: str) -> None:
        pytest.importorskip("fastapi", reason="the extra studio is not installed")
        from hedgerow.studio.server import application

        self.app = application(desk, PORT)
        self.headers = headers
        self.cookies: Any = None

    def __call__(self, method: str, path: str, *, token: bool = True, **given: Any) -> Any:
        return asyncio.run(self._ask(method, path, token, given))

    async def _ask(self, method: str, path: str, token: bool, given: dict[str, Any]) -> Any:
        httpx = pytest.importorskip("httpx", reason="httpx is not installed")
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=HOME) as client:
            if token and self.cookies is None:
                first = await client.get(f"/?token={self.app.token}")
                self.cookies = dict(first.cookies)
            if token:
                client.cookies.update(self.cookies)
            own = {} if method == "GET" else {"origin": HOME}
            headers = {**own, **self.headers, **given.pop("headers", {})}
            headers = {name: value for name, value in headers.items() if value is not None}
            return await client.request(method, path, headers=headers, **given)


@pytest.fixture
def browser(desk: desks.StudioState) -> Browser:
    return Browser(desk)
