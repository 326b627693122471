"""Keep the studio's state, shared by all tabs: the choices, the results and the running job."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, cast

from ..auditing.frontier_data import FrontierData, PointData
from ..errors import ParameterError
from ..workflow.methods import DEFAULT
from . import WORDS
from .worker_client import Job, WorkerClient

UNDO = 20
# how the name of an upload's own folder begins
UPLOAD = "upload-"
# example people of the demonstration
PEOPLE = 10_000
STEPS = tuple(WORDS["steps"])
# in place of a cap, where a method has none
_NO_CAP = "none"
_OF_CHOICES = (
    "rules", "today", "reasons", "proposed", "frontier", "shares", "measure", "regression", "write", "failed",
    "script", "cautions",
)  # fmt: skip
_READING = ("path", "missing", "encoding")
_OF_TABLE = (*_READING, "choices", "results")
_VARIED = ("k", "max_disclosure")
# the settings that the picture shows besides the chosen one; a cap of 1 is none
MORE = (10, 5, 20, 50)
CAPS = (1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2)
# the jobs that begin by themselves, and are stopped for a request
_TRIALS = ("reasons", "sample", "frontier", "shares")

# name of a worker job, its arguments besides the choices, and the step that shows its result
JobSpec = tuple[str, dict[str, object], str]

# of each column its bounds or its categories
Public = Mapping[str, Mapping[str, list[Any]]]


class Proposed(TypedDict):
    """A proposal of what is public of a column: two bounds of a number, or the categories."""

    is_number: bool
    values: list[Any]


@dataclass(frozen=True)
class Choices:
    """All choices of the steward as plain data; undo returns to earlier ones."""

    roles: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    household: str = ""
    weight: str = ""
    # what tells the rows of a person or household apart, such as wave=year
    rows: str = ""
    follows: Mapping[str, str] = field(default_factory=dict)
    rare: Mapping[str, str] = field(default_factory=dict)
    # what the schema's `rules`, `tolerated` and `determines` are, if there are any
    rules: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, list[float]] = field(default_factory=dict)
    # what is declared, and whether somebody confirmed that all of it is public
    public: Public = field(default_factory=dict)
    confirmed: bool = False
    hierarchies: Mapping[str, str] = field(default_factory=dict)
    method: str = DEFAULT
    options: Mapping[str, Any] = field(default_factory=lambda: {"k": 10, "max_disclosure": 0.5})
    guard: str = "auto"
    # the options and the guard of methods that were left, the last one last, for when they are chosen again
    earlier: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    guard_people: int | None = None
    cap_on: str = "groups"
    max_inference: float | None = None
    profile: str = ""
    key: str = ""
    pseudonyms: bool = False
    utility: str = "certainty"

    @property
    def table(self) -> tuple[Any, ...]:
        """Return the choices that the figures for the unprotected table depend on."""
        people = self.unit, self.household, self.weight, self.rows
        return dict(self.roles), dict(self.kinds), people, dict(self.grid)

    @property
    def picture(self) -> tuple[Any, ...]:
        """Return the choices that the frontier's points depend on, other than k and cap."""
        between = dict(self.follows), dict(self.rare), dict(self.rules)
        return self.table, between, dict(self.hierarchies), self.utility

    @property
    def line(self) -> Any:
        """Return the method and its options except k and cap; such points form one line."""
        return self.method, sorted((n, str(v)) for n, v in self.options.items() if n not in _VARIED)


class StudioState:
    """The studio's choices, results and running job, shared by all tabs.

    Parameters
    ----------
    folder : Path
        A private folder for uploaded files.
    path : str, optional
        The table to open.
    """

    def __init__(self, folder: Path, path: str | None = None) -> None:
        self.folder = folder
        self.path: str | None = None
        self.refused: str | None = None
        self.missing: list[str] = []
        self.encoding = ""
        self.choices = Choices()
        # earlier choices, and tables with all that was chosen and found of them
        self.past: deque[Choices | dict[str, object]] = deque(maxlen=UNDO)
        self.results: dict[str, Any] = {}
        # the table before one that is being opened, to return to if that cannot be read
        self._before: dict[str, object] = {}
        self.turn = 0
        self.version = 0
        self.tab = ""
        # what is to be said, by the window that asked
        self.notices: dict[str, str] = {}
        self.work = WorkerClient(self._finished)
        # a job may end, in its own thread, while a request looks at the state
        self._lock = threading.RLock()
        self._requested: Any = None
        self._stopped_for: Job | None = None
        self._next: JobSpec | None = None
        if path is not None:
            self.open(path)

    def open(self, path: str, demo: bool = False, missing: Sequence[str] = (), encoding: str = "") -> None:
        """Open another table, or the same with other reading options; choices and results start afresh.

        If it cannot be read, or its reading is stopped, everything is as it was before; else undo can return to it.
        """
        with self._lock:
            self._leave_table()
            if "open" in self.results:
                self._before = {name: getattr(self, name) for name in _OF_TABLE}
            # no window may go on with a page of the table before
            self.path, self.refused, self.tab = path, None, ""
            self.results = {n: v for n, v in self.results.items() if n == "methods"}
            self.missing, self.encoding = list(missing), encoding
            self.choices = Choices()
            self._changed()
            self._next = ("demo", {"people": PEOPLE}, "table") if demo else ("open", {}, "table")
            self.need("table")

    def choose(self, choices: Choices) -> None:
        """Adopt new choices: outdated results are dropped, and undo can return to the previous choices."""
        with self._lock:
            if choices == self.choices:
                self.results.pop("failed", None)
                return
            self.past.append(self.choices)
            self._replace(choices)

    def undo(self) -> None:
        """Return to the previous choices, or to the table before with what was chosen for it."""
        with self._lock:
            before = self.past.pop() if self.can_undo else None
            if isinstance(before, Choices):
                self._replace(before)
            elif before is not None:
                self._leave_table()
                vars(self).update(before, tab="", _next=None)
                self._changed()

    @property
    def can_undo(self) -> int:
        """Return how many choices can be undone; none while a table is being opened."""
        return len(self.past) if "open" in self.results else 0

    def _leave_table(self) -> None:
        """Stop the work on the present table."""
        if self.job is not None and self.job.name != "hello":
            self._stop_trial()

    def _replace(self, choices: Choices) -> None:
        before, self.choices = self.choices, choices
        self._forget_next()
        job = self.job
        if job is not None and not self._holds_for(before, job.name):
            self.work.stop()
        elif job is not None and job.name == "frontier":
            self._stop_trial()  # what the chosen setting does comes first
        for name in _OF_CHOICES:
            if not self._holds_for(before, name):
                self.results.pop(name, None)
        self._changed()

    def _changed(self) -> None:
        self.turn += 1
        self.version += 1

    @property
    def job(self) -> Job | None:
        """Return the running job; None if there is none."""
        return self.work.job if self.work.busy else None

    @property
    def free(self) -> bool:
        """Return whether no job runs, or only a trial that a request may stop."""
        return self.job is None or self.job.name in _TRIALS

    def need(self, step: str) -> None:
        """Start the next job whose result a step shows and does not have yet; one job at a time."""
        with self._lock:
            if (request := self._next or self._missing(step)) is None:
                return
            if self.job is None:
                self._next = None
                self._begin(*request)
            # a trial that is being stopped is not stopped twice
            elif self.free and request[0] not in _TRIALS and self.job is not self._stopped_for:
                self._stop_trial()

    def _missing(self, step: str) -> JobSpec | None:
        """Return the next job that a step needs; None if all its results are there."""
        results = self.results
        if step in results.get("failed", {}):
            return None
        if "methods" not in results and step in ("table", "protect"):
            return "hello", {}, "table"
        if "open" not in results or not self.ready:
            return None
        if step == "table" and self.choices.rules and "rules" not in results:
            return "rules", {}, step
        if step not in ("table", "risk"):
            if "reasons" not in results:
                return "reasons", {}, step
            if self.reason is not None:
                return None
        if self.private and step != "risk":
            if "proposed" not in results:
                return "propose", {}, step
            if not self.choices.confirmed:
                return None
        if step == "risk":
            today = results.get("today")
            if today is None or (today["attacks"] is None and self.sensitive):
                return "today", {"attacks": today is not None}, step
        elif step == "protect" and not self.private:
            if not self.is_sampled:
                return "sample", {}, step
            k, caps = self._untried() if self.sensitive else (None, [])
            if caps:
                return "frontier", {"tried": [k, [c for c in caps if c is not _NO_CAP]]}, step
            if "shares" not in results and self.chosen()[0] is not None:
                return "shares", {}, step
        elif step == "compare" and "measure" not in results:
            return "measure", {"attacks": False}, step
        elif step == "release" and "script" not in results:
            return "say", {}, step
        return None

    def _request(self, name: str, more: dict[str, object], step: str) -> bool:
        """Start a requested job once trials are stopped; return False if another job is running."""
        if not self.free:
            return False
        self._next = name, more, step
        self.need(step)
        return True

    def _stop_trial(self) -> None:
        """Stop a running trial, so that the job waiting for it can start."""
        self._stopped_for = self.job
        self.work.stop()

    def _forget_next(self) -> None:
        """Drop a request that has not started, unless it opens a table."""
        if self._next is not None and self._next[-1] != "table":
            self._next = None

    @property
    def ready(self) -> bool:
        """Return whether the roles allow the next steps."""
        return "quasi" in self.choices.roles.values()

    @property
    def private(self) -> bool:
        """Return whether the chosen method promises what taking part costs, so that nothing is tried by itself."""
        return bool(self.results.get("methods", {}).get(self.choices.method, {}).get("private"))

    @property
    def draws(self) -> bool:
        """Return whether the chosen release draws values at random, so that only a key makes it again."""
        method, guard = self.results.get("methods", {}).get(self.choices.method, {"draws": True}), self.choices.guard
        return bool(method["draws"] or (method["usual_guard"] if guard == "auto" else guard) == "redraw")

    @property
    def reason(self) -> str | None:
        """Return why the chosen method cannot run with these roles; None if it can, or as long as nobody knows."""
        return self.results.get("reasons", {}).get(self.choices.method)

    @property
    def is_sampled(self) -> bool:
        """Return whether the sample rows are those of the present choices."""
        return bool(self.results.get("sample", {}).get("choices") == self.choices)

    @property
    def sensitive(self) -> list[str]:
        """Return the sensitive columns."""
        return [name for name, role in self.choices.roles.items() if role == "sensitive"]

    def _untried(self) -> tuple[int | None, list[Any]]:
        """Return the k and caps to try next: the chosen setting, then its k with every cap, then other values of k."""
        tried, (k, cap) = self._tried(), self.setting
        # the chosen setting first, then its own line, then other k
        line = [_NO_CAP] if cap is _NO_CAP else list(dict.fromkeys([cap, *CAPS]))
        others = [] if k is None else [each for each in MORE if each != k]
        for each, caps in ((k, [cap]), (k, line), *((other, line) for other in others)):
            if missing := [c for c in caps if (each, c) not in tried]:
                return each, missing
        return None, []

    def _tried(self) -> set[tuple[int | None, Any]]:
        """Return the (k, cap) pairs that were already tried for the method with its chosen options."""
        frontier = self.results.get("frontier") or {"tried": ()}
        return {(k, cap) for line, k, cap in frontier["tried"] if line == self.choices.line}

    @property
    def _options(self) -> dict[str, Any]:
        """Return the options of the chosen method, including defaults."""
        return {**self.results["methods"][self.choices.method]["defaults"], **self.choices.options}

    @property
    def setting(self) -> tuple[int | None, Any]:
        """Return the chosen k (None if the method has none) and the chosen cap."""
        return self._options.get("k"), self._options.get("max_disclosure", _NO_CAP)

    @property
    def title(self) -> str:
        """Return the title under which the chosen method's points are listed."""
        lines = (self.results.get("frontier") or {"base": {}})["base"]
        usual: str = self.results["methods"][self.choices.method]["title"]
        return next((title for title, line in lines.items() if line == self.choices.line), usual)

    def _points(self) -> FrontierData | None:
        """Return the frontier if it has points of the chosen method; else None."""
        frontier: FrontierData | None = self.results.get("frontier")
        return None if frontier is None or frontier["base"].get(self.title) != self.choices.line else frontier

    def chosen(self) -> tuple[int | None, str | None]:
        """Return the index of the point for the chosen setting, and the reason if it is infeasible."""
        if (frontier := self._points()) is None:
            return None, None
        options = self._options

        def is_chosen(each: PointData) -> bool:
            params = each["parameters"].items()
            return each["method"] == self.title and all(options.get(n) == v for n, v in params)

        # a point says only what was varied; the rest is as chosen
        at = next((i for i, p in enumerate(frontier["points"]) if is_chosen(p)), None)
        return at, next((f["reason"] for f in frontier["infeasible"] if is_chosen(f)), None)

    def again(self, step: str) -> None:
        """Clear a step's failure, so that its job runs again."""
        with self._lock:
            self.results.get("failed", {}).pop(step, None)
            self.version += 1

    def attack(self) -> None:
        """Start measuring the release with attacks and models."""
        with self._lock:
            self._request("measure", {"attacks": True}, "compare")

    def compare_models(self, formula: str, family: str) -> None:
        """Start fitting a regression on the original and on the release."""
        with self._lock:
            self._request("regression", {"formula": formula, "family": family}, "compare")

    def write(self, folder: str, force: bool) -> None:
        """Check every promise, and write the release to a folder; raise ParameterError if it was written there."""
        with self._lock:
            # what was written may have been moved away since
            written, target = self.results.get("write", {}).get("folder"), Path(folder).resolve()
            if not force and written == str(target) and target.is_dir():
                raise ParameterError(WORDS["refused"]["written"].format(folder=target))
            if self.free:
                self.again("release")
                self.results.pop("write", None)
                self._request("write", {"folder": folder, "force": force}, "release")

    def stop(self) -> None:
        """Stop the running job and the next one waiting."""
        with self._lock:
            self._forget_next()
            self._stopped_for = None
            self.work.stop()

    def _begin(self, name: str, more: Mapping[str, object], step: str) -> None:
        # the answer may come when the steward has gone on, so what it is about is remembered
        self._requested = self.turn, step, self.choices, self._reading, more
        self.version += 1
        self.work.ask(name, WORDS["jobs"][name], {**self._reading, **vars(self.choices), **more})

    @property
    def _reading(self) -> dict[str, object]:
        """Return which table is open, and how it was read."""
        return {name: getattr(self, name) for name in _READING}

    def _finished(self, job: Job) -> None:
        with self._lock:
            turn, step, choices, reading, more = self._requested
            if job is not self.work.job or (job is self._stopped_for and job.error is not None):
                return
            self.version += 1
            if turn != self.turn and not (reading == self._reading and self._holds_for(choices, job.name)):
                return  # the steward has gone on
            if job.error is None:
                assert job.result is not None
                self._store(job.name, job.result, choices, more)
                return
            if job.name in ("open", "demo"):
                refused = self.path
                vars(self).update(self._before or {"path": None})
                self.refused = refused
                self.turn += 1
            self.results.setdefault("failed", {})[step] = job.error

    def _holds_for(self, choices: Choices, name: str) -> bool:
        """Return whether a job's result for earlier choices is still valid for the present ones."""
        if name in ("today", "proposed", "propose"):
            return choices.table == self.choices.table
        if name == "rules":
            return (choices.table, choices.rules) == (self.choices.table, self.choices.rules)
        if name == "reasons":
            return all(getattr(choices, n) == getattr(self.choices, n) for n in ("table", "follows", "rare", "rules"))
        return name == "hello" or (name == "frontier" and choices.picture == self.choices.picture)

    def _store(self, name: str, result: dict[str, Any], choices: Choices, more: Mapping[str, Any]) -> None:
        if name == "hello":
            self.results["methods"] = result["methods"]
            return
        if "script" in result:  # an upload is called by its own name, wherever its copy lies
            prefix = "./" if Path(self.path or "").name.startswith("-") else ""  # else it would be taken for an option
            folder, texts = rf"{re.escape(str(self.folder))}/({UPLOAD}[^/]+/)?", result.pop("script").items()
            self.results["script"] = {n: re.sub(folder, prefix, text) for n, text in texts}
            self.results["cautions"] = result.pop("cautions")
        if name in ("open", "demo"):
            self.past.extend([self._before] if self._before else [])
            self.results["open"], self._before = result, {}
            roles = {c["column"]: c["role"] for c in result["columns"]}
            people = {name: result[name] for name in ("unit", "household", "weight")}
            # where the steward begins, and no choice that undo goes back to
            self.choices = replace(self.choices, roles=roles, **people)
            return
        if name == "frontier":
            k, caps = more["tried"]
            tried = [(choices.line, k, cap) for cap in caps or [_NO_CAP]]
            self.results[name] = _joined(self.results.get(name), cast(FrontierData, result), choices.line, tried)
            return
        if name == "sample":
            # shown as outdated until those of another choice are there
            result["choices"] = choices
        self.results["proposed" if name == "propose" else name] = result


def _joined(before: FrontierData | None, after: FrontierData, line: Any, tried: list[Any]) -> FrontierData:
    """Return new frontier points merged with the earlier ones, which a restarted worker no longer has."""
    title = after["title"]
    if before is None:
        return {**after, "base": {title: line}, "tried": tried}
    earlier_line = before["base"].get(title, line)
    # a setting that was tried again replaces its earlier point
    new = {_identity(each) for each in (*after["points"], *after["infeasible"])}

    def is_valid(each: PointData) -> bool:
        # one title stands for one method at a time
        return (earlier_line == line or each["method"] != title) and _identity(each) not in new

    valid = [each for each in before["tried"] if earlier_line == line or each[0] != earlier_line]
    return {
        **after,
        "points": [*filter(is_valid, before["points"]), *after["points"]],
        "infeasible": [*filter(is_valid, before["infeasible"]), *after["infeasible"]],
        "base": {**before["base"], title: line},
        "tried": [*valid, *tried],
    }


def _identity(each: PointData) -> tuple[str, str]:
    return each["method"], str(sorted(each["parameters"].items()))
