"""Control the worker process: one job at a time, with progress, stopping and readable errors."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

from ..errors import Cancelled, HedgerowError, no_memory
from ..texts import read_toml
from . import WORDS

# seconds after which a worker that does not stop by itself is killed
GRACE = 3.0


@dataclass
class Job:
    """A job of the worker, with its progress and its result or error.

    Parameters
    ----------
    number : int
    name : str
        A method of `Worker`.
    title : str
        The name as shown to the user.
    """

    number: int
    name: str
    title: str
    step: str = ""
    share: float | None = None
    stopped: bool = False
    result: dict[str, Any] | None = None
    error: dict[str, object] | None = None
    done: threading.Event = field(default_factory=threading.Event)


class WorkerClient:
    """A connection to the worker process, which is restarted if it has ended.

    Parameters
    ----------
    finished : callable
        Called in a separate thread with each job that has ended.
    """

    def __init__(self, finished: Callable[[Job], None]) -> None:
        self._finished = finished
        self._lock = threading.Lock()
        self._process: Popen[str] | None = None
        self._number = 0
        self.job: Job | None = None

    @property
    def busy(self) -> bool:
        """Return whether a job is running."""
        return self.job is not None and not self.job.done.is_set()

    def ask(self, name: str, title: str, request: Mapping[str, object]) -> Job:
        """Start a job and return it; the caller ensures that no other job is running."""
        assert not self.busy
        with self._lock:
            process = self._started()
            self._number += 1
            job = self.job = Job(self._number, name, title)
        try:
            _send(process, {**request, "do": name, "id": job.number})
        except OSError:
            process.kill()  # whoever reads from it ends the job
        return job

    def stop(self) -> None:
        """Stop the running job; kill the worker if it does not react in time."""
        job, process = self.job, self._process
        if job is None or process is None or job.done.is_set():
            return
        job.stopped = True
        with suppress(OSError):
            _send(process, {"cancel": job.number})

        def kill() -> None:
            if not job.done.wait(GRACE):
                process.kill()

        threading.Thread(target=kill, daemon=True).start()

    def close(self) -> None:
        """End the worker process."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def _started(self) -> Popen[str]:
        if self._process is None or self._process.poll() is not None:
            # -P: a module in the current folder is not imported in place of a library
            command = [sys.executable, "-P", "-m", "hedgerow.studio.worker"]
            # a library's message may quote a person's value
            errors = None if os.environ.get("HEDGEROW_DEBUG") else DEVNULL
            self._process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=errors, encoding="utf-8")
            threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        return self._process

    def _listen(self, process: Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            try:
                message = json.loads(line)
            except ValueError:  # killed in the middle of a line
                break
            job = self.job
            if job is None or message["id"] != job.number:
                continue
            if "step" in message:
                # what only repeats the title is not said
                job.step = "" if message["step"] == job.title.lower() else message["step"]
                job.share = message["share"]
            else:
                job.result, job.error = message.get("result"), message.get("error")
                self._end(job)
        # a worker that was closed or replaced ends no job of its successor
        code, job = process.wait(), self.job
        if job is not None and not job.done.is_set() and process is self._process:
            job.error = _ended(code, job.stopped)
            self._end(job)

    def _end(self, job: Job) -> None:
        # the result is stored before whoever waits for it looks
        self._finished(job)
        job.done.set()


def _send(process: Popen[str], message: Mapping[str, object]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def _ended(code: int, stopped: bool) -> dict[str, object]:
    """Return the error for a worker that ended before it sent an answer."""
    if stopped:
        return describe(Cancelled(""))
    if code in (-9, 137):  # the system ends whoever takes the memory of all others
        return _failure("OutOfMemory")
    return _failure("Ended", code=code) | {"kind": "Unexpected"}


def _failure(kind: str, **values: Any) -> dict[str, object]:
    words = WORDS["failures"][kind]
    return {"kind": kind, "message": words["message"].format(**values), "hint": words.get("hint")}


def describe(error: BaseException) -> dict[str, object]:
    """Return an error as data for a page; a foreign error only by type, since its text may quote a value."""
    if isinstance(error, Cancelled):
        return _failure("Cancelled")
    if isinstance(error, HedgerowError):
        return {"kind": type(error).__name__, "message": error.message, "hint": error.hint}
    if no_memory(error):
        return _failure("OutOfMemory")
    # where it failed says enough to report it, and holds no data
    at = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(at.filename)}, line {at.lineno}"
    return _failure("Unexpected", name=type(error).__name__, where=where)


def in_sentences(message: str, hint: str | None = None, names: Collection[str] = ()) -> str:
    """Return a message and its hint as sentences of a page; a name at the beginning keeps its spelling.

    The message may begin with one of `names`, of columns or files; others show it by a sign, such as a dot.

    Examples
    --------
    >>> in_sentences("the table has 8 rows", "lower k.")
    'The table has 8 rows. Lower k.'
    >>> in_sentences("people.csv is empty")
    'people.csv is empty.'
    """
    sentences: list[str] = []
    for text in map(with_controls, filter(None, (message, hint))):
        first = text.split(maxsplit=1)[0]
        plain = first.isalpha() and len(first) > 1 and (sentences or first not in names)
        sentences.append(f"{text[:1].upper() if plain else text[:1]}{text[1:].rstrip('.')}.")
    return " ".join(sentences)


def with_controls(text: str) -> str:
    """Return a text with the page's controls in place of flags and names of the schema."""
    for flag, control in _controls().items():
        text = re.sub(flag, control, text)
    return text


@cache
def _controls() -> dict[str, str]:
    """Return the controls by the pattern that they replace, with the options that there are in place of OPTION."""
    groups = read_toml("hedgerow.workflow", "options.toml").values()
    names = {name.replace("_", "-") for group in groups for panel in group.values() for name in panel}
    options = rf"(?:no-)?(?:{'|'.join(names)})(?![\w-])"
    return {flag.replace("OPTION", options): control for flag, control in WORDS["controls"].items()}
