"""What the steward chose, what is known by now, and what is being done: one desk for all tabs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..workflow.advice import Estimate, estimated
from .worker_client import Job, Work

STEPS = ("table", "risk", "protect", "compare", "release")
UNDO = 20
PEOPLE = 10_000
"""Made people of the demonstration."""
_TITLES = {
    "hello": "Getting ready",
    "open": "Reading the table",
    "demo": "Making people",
    "today": "Measuring the table as it is",
    "frontier": "Trying settings",
    "carried": "Measuring what each column carries",
    "measure": "Protecting and comparing",
    "lookup": "Looking up",
    "say": "Writing down what was chosen",
    "write": "Checking and writing the release",
}
_NONE = "none"
"""In place of a cap, where a method has none."""
_OF_CHOICES = ("today", "frontier", "carried", "measure", "lookup", "write", "failed", "script", "cautions")
_VARIED = ("k", "max_disclosure")
MORE = (10, 5, 20, 50)
CAPS = (1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2)
"""What the picture tries beside what was chosen; a cap of 1 is none."""
_TRIALS = ("frontier", "carried")
"""What goes on by itself, and makes way for what somebody asks for."""


@dataclass(frozen=True)
class Choices:
    """All that the steward decides; what undo goes back to."""

    roles: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    household: str = ""
    weight: str = ""
    grid: Mapping[str, list[float]] = field(default_factory=dict)
    hierarchies: Mapping[str, str] = field(default_factory=dict)
    method: str = "mart"
    options: Mapping[str, Any] = field(default_factory=lambda: {"k": 10, "max_disclosure": 0.5})
    max_inference: float | None = None
    profile: str = ""
    key: str = ""
    pseudonyms: bool = False
    utility: str = "certainty"

    @property
    def table(self) -> tuple[Any, ...]:
        """What the figures of the table as it is depend on."""
        people = self.unit, self.household, self.weight
        return dict(self.roles), dict(self.kinds), people, dict(self.grid)

    @property
    def picture(self) -> tuple[Any, ...]:
        """What the points of the frontier depend on, beside the setting that each stands for."""
        return self.table, dict(self.hierarchies), self.utility


class Desk:
    """The state of the studio.

    Parameters
    ----------
    folder : Path
        Private; what is uploaded lies there.
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
        self.past: deque[Choices] = deque(maxlen=UNDO)
        self.known: dict[str, Any] = {}
        self.turn = 0
        self.version = 0
        self.tab = ""
        self.notice: str | None = None
        self.work = Work(self._heard)
        self._lock = threading.RLock()
        self._asked_for: Any = None
        self._dropped: Job | None = None
        self._next: tuple[str, dict[str, Any], str] | None = None
        if path is not None:
            self.open(path)

    # what is chosen

    def open(
        self, path: str, demo: bool = False, missing: Sequence[str] = (), encoding: str = ""
    ) -> None:
        """Read another table, or the same in another way; everything begins anew."""
        with self._lock:
            if self.job is not None and self.job.name != "hello":
                self.work.stop()
            methods = {n: v for n, v in self.known.items() if n == "methods"}
            self.path, self.known, self.refused = path, methods, None
            self.missing, self.encoding = list(missing), encoding
            self.choices, self.notice = Choices(), None
            self.past.clear()
            self._changed()
            name, more = ("demo", {"people": PEOPLE}) if demo else ("open", {})
            self._next = name, more, "table"
            self.need("table")

    def choose(self, made: Choices) -> None:
        """Choose anew; what was made from the last choice is out of date, and undo knows it."""
        with self._lock:
            if made == self.choices:
                self.known.pop("failed", None)
                return
            self.past.append(self.choices)
            self._take(made)

    def undo(self) -> None:
        """Go back by one choice."""
        with self._lock:
            if self.past:
                self._take(self.past.pop())

    def _take(self, made: Choices) -> None:
        before, self.choices = self.choices, made
        self._forget_next()
        same_table = made.table == before.table
        same_picture = made.picture == before.picture
        kept = [name for name, same in (("today", same_table), ("frontier", same_picture)) if same]
        job = self.job
        if job is not None and job.name not in ("hello", *kept):
            self.work.stop()
        elif job is not None and job.name == "frontier" and self.setting not in self._tried():
            self._make_way()  # the chosen setting comes first
        for name in _OF_CHOICES:
            if name not in kept:
                self.known.pop(name, None)
        self._changed()

    def _changed(self) -> None:
        self.turn += 1
        self.version += 1

    # what is done

    @property
    def job(self) -> Job | None:
        """What is running."""
        return self.work.job if self.work.busy else None

    @property
    def free(self) -> bool:
        """Whether a request is taken now: nothing runs, or trials that make way."""
        return self.job is None or self.job.name in _TRIALS

    def need(self, step: str) -> None:
        """Begin what a step shows and nobody has made yet; one thing at a time."""
        with self._lock:
            wanted = self._next or self._lacking(step)
            if wanted is None:
                return
            if self.job is None:
                self._next = None
                self._begin(*wanted)
            elif self.free and wanted[0] not in _TRIALS and self.job is not self._dropped:
                self._make_way()

    def _lacking(self, step: str) -> tuple[str, dict[str, Any], str] | None:
        """What a step shows and nobody has made yet."""
        if step in self.known.get("failed", {}):
            return None
        if "methods" not in self.known and step in ("table", "protect"):
            return "hello", {}, "table"
        if "open" not in self.known or not self.ready:
            return None
        if step == "risk":
            found = self.known.get("today")
            if found is None:
                return "today", {"attacks": False}, step
            if found["attacks"] is None and self.sensitive:
                return "today", {"attacks": True}, step
        elif step == "protect" and self.sensitive:
            k, caps = self._untried()
            if caps:
                return "frontier", {"tried": [k, [c for c in caps if c is not _NONE]]}, step
            if "carried" not in self.known and self.chosen()[0] is not None:
                return "carried", {}, step
        elif step == "compare" and "measure" not in self.known:
            return "measure", {"attacks": False}, step
        elif step == "release" and "script" not in self.known:
            return "say", {}, step
        return None

    def _asked(self, name: str, more: dict[str, Any], step: str) -> bool:
        """Begin what somebody asked for, as soon as trials have made way; not beside other work."""
        if not self.free:
            return False
        self._next = name, more, step
        self.need(step)
        return True

    def _make_way(self) -> None:
        """Stop what is running; what it is stopped for begins when it has ended."""
        self._dropped = self.job
        self.work.stop()

    def _forget_next(self) -> None:
        """What was asked for and has not begun is out of date, but for a table."""
        if self._next is not None and self._next[-1] != "table":
            self._next = None

    @property
    def ready(self) -> bool:
        """Whether the roles allow to go on."""
        return "quasi" in self.choices.roles.values()

    @property
    def sensitive(self) -> list[str]:
        """The columns that must not be inferred."""
        return [name for name, role in self.choices.roles.items() if role == "sensitive"]

    def _untried(self) -> tuple[int | None, list[Any]]:
        """What is tried next: the chosen setting, its k with every cap, then other k."""
        asked, (k, cap) = self._tried(), self.setting
        line = [_NONE] if cap is _NONE else list(dict.fromkeys([cap, *CAPS]))
        others = [] if k is None else [each for each in MORE if each != k]
        for each, caps in ((k, [cap]), (k, line), *((other, line) for other in others)):
            if lacking := [c for c in caps if (each, c) not in asked]:
                return each, lacking
        return None, []

    def _tried(self) -> set[tuple[int | None, Any]]:
        """The k and caps that were tried of the method as chosen."""
        found = self.known.get("frontier") or {"asked": ()}
        return {(k, cap) for base, k, cap in found["asked"] if base == self._base}

    @property
    def setting(self) -> tuple[int | None, Any]:
        """The chosen k and cap; nothing where the method has none."""
        own = self.known["methods"][self.choices.method]["defaults"]
        given = own | dict(self.choices.options)
        return given.get("k"), given["max_disclosure"] if "max_disclosure" in own else _NONE

    def _setting(self) -> Any:
        made = self.choices
        return made.picture, made.method, dict(made.options), self.path

    @property
    def _base(self) -> Any:
        """What a line of points has in common beside k and cap."""
        given = self.choices.options.items()
        return self.choices.method, sorted((n, str(v)) for n, v in given if n not in _VARIED)

    @property
    def title(self) -> str:
        """What the points of the chosen method are called."""
        found = self.known.get("frontier") or {"base": {}}
        own = [title for title, base in found["base"].items() if base == self._base]
        told: str = own[0] if own else self.known["methods"][self.choices.method]["title"]
        return told

    def chosen(self) -> tuple[int | None, str | None]:
        """Which point is the chosen setting; or why there is none."""
        found = self.known.get("frontier")
        if found is None or found["base"].get(self.title) != self._base:
            return None, None
        given = self.known["methods"][self.choices.method]["defaults"] | dict(self.choices.options)

        def same(each: Mapping[str, Any]) -> bool:
            wanted = each["parameters"].items()
            return each["method"] == self.title and all(given.get(n) == v for n, v in wanted)

        at = next((i for i, p in enumerate(found["points"]) if same(p)), None)
        return at, next((f["reason"] for f in found["infeasible"] if same(f)), None)

    def guess(self) -> Estimate | None:
        """Where the chosen setting comes near to, while nobody tried it."""
        found, (k, cap) = self.known.get("frontier"), self.setting
        if k is None or not found or found["base"].get(self.title) != self._base:
            return None
        if self.setting in self._tried():
            return None
        return estimated(found["points"], self.title, k, None if cap is _NONE else cap)

    def again(self, step: str) -> None:
        """Do once more what was stopped or failed."""
        with self._lock:
            self.known.get("failed", {}).pop(step, None)
            self.version += 1

    def attack(self) -> None:
        """Also try the attacks, and train models."""
        with self._lock:
            self._asked("measure", {"attacks": True}, "compare")

    def look_up(self, wanted: Mapping[str, str]) -> bool:
        """Look a person up; False while something else is running."""
        with self._lock:
            self.known["wanted"] = dict(wanted)
            self.known.pop("lookup", None)
            return self._asked("lookup", {"wanted": dict(wanted)}, "compare")

    def write(self, folder: str, force: bool) -> None:
        """Check every promise, and write the release."""
        with self._lock:
            if self.free:
                self.again("release")
                self.known.pop("write", None)
                self._asked("write", {"folder": folder, "force": force}, "release")

    def stop(self) -> None:
        """Stop what is running, and what was to follow."""
        with self._lock:
            self._forget_next()
            self._dropped = None
            self.work.stop()

    def close(self) -> None:
        """End the worker."""
        self.work.close()

    def _begin(self, name: str, more: Mapping[str, Any], step: str = "table") -> Job:
        read = {"path": self.path, "missing": self.missing, "encoding": self.encoding}
        told = {**read, **vars(self.choices), **more}
        self._asked_for = self.turn, step, self._setting(), more
        self.version += 1
        return self.work.ask(name, _TITLES[name], told)

    def _heard(self, job: Job) -> None:
        with self._lock:
            turn, step, setting, more = self._asked_for
            if job is not self.work.job or (job is self._dropped and job.error is not None):
                return
            self.version += 1
            if turn != self.turn and not self._of_use(job.name, setting):
                return  # the steward has gone on
            if job.error is not None:
                self._failed(job, step)
            else:
                assert job.result is not None
                self._made(job.name, job.result, setting, more)

    def _of_use(self, name: str, setting: Any) -> bool:
        """Whether what was asked for an earlier choice is still true."""
        picture, *_, path = setting
        if path != self.path:
            return False
        table, now = picture[0], self.choices
        same = {"today": table == now.table, "frontier": picture == now.picture}
        return same.get(name, name == "hello")

    def _failed(self, job: Job, step: str) -> None:
        failed = self.known.setdefault("failed", {})
        failed[step] = job.error
        if job.name in ("open", "demo"):
            self.path, self.refused = None, self.path

    def _made(
        self, name: str, result: dict[str, Any], setting: Any, more: Mapping[str, Any]
    ) -> None:
        if name == "hello":
            self.known["methods"] = result["methods"]
            return
        if "script" in result:  # what was uploaded has its own name, wherever it lies now
            here, file = f"{self.folder}/", Path(self.path or "").name
            there = "./" if file.startswith("-") else ""  # else it would be taken for an option
            told = result.pop("script").items()
            self.known["script"] = {n: text.replace(here, there) for n, text in told}
            self.known["cautions"] = result.pop("cautions")
        if name in ("open", "demo"):
            self.known["open"] = result
            roles = {c["column"]: c["role"] for c in result["columns"]}
            people = {name: result[name] for name in ("unit", "household", "weight")}
            self.choices = replace(self.choices, roles=roles, **people)
            return
        if name == "frontier":
            _, method, options, *_ = setting
            base = method, sorted((n, str(v)) for n, v in options.items() if n not in _VARIED)
            k, caps = more["tried"]
            asked = [(base, k, cap) for cap in caps or [_NONE]]
            result = _joined(self.known.get("frontier"), result, base, asked)
        self.known[name] = result


def _joined(
    before: Mapping[str, Any] | None, found: dict[str, Any], base: Any, asked: list[Any]
) -> dict[str, Any]:
    """What was found beside what was found before: a new worker knows nothing of that."""
    title = found["title"]
    if before is None:
        return {**found, "base": {title: base}, "asked": asked}
    was = before["base"].get(title, base)
    new = {_named(each) for each in (*found["points"], *found["infeasible"])}
    kept = {
        part: [
            each
            for each in before[part]
            # one title stands for one method at a time
            if (was == base or each["method"] != title) and _named(each) not in new
        ]
        for part in ("points", "infeasible")
    }
    tried = [each for each in before["asked"] if was == base or each[0] != was]
    return {
        **found,
        **{part: [*kept[part], *found[part]] for part in kept},
        "base": {**before["base"], title: base},
        "asked": [*tried, *asked],
    }


def _named(each: Mapping[str, Any]) -> tuple[str, str]:
    return each["method"], str(sorted(each["parameters"].items()))
