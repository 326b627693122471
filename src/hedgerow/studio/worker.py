"""The process that holds the table: it is asked one thing at a time, and can be stopped or killed.

A request says everything that it builds on (the table, the roles, the method), and what is not done
yet is done first. So nothing is lost with a worker but time. Requests and answers are lines of
JSON on standard input and output, which nobody else sees.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..audit.profile_result import needs_attacks
from ..errors import Cancelled, HedgerowError
from ..hierarchy import Hierarchy
from ..notation import plain
from ..profiles import Profile
from ..report import pictures
from ..report.figures import at
from ..report.page import answers
from ..report.text import risk_rows, three_numbers
from ..report.verdict import not_bounded, overall, verdicts
from ..schema import UNSAID, Schema
from ..workflow import methods
from ..workflow.session import Session
from .worker_client import told_of

PREVIEW = 8
"""Records that the first step shows."""

_CHOSEN = (
    *("roles", "unit", "household", "weight", "kinds", "grid", "hierarchies"),
    *("method", "options", "max_inference", "profile", "key", "pseudonyms"),
)
"""What a request says of the choice that it is about."""

Ask = Mapping[str, Any]
Tell = Callable[[dict[str, Any]], None]


class Worker:
    """A session, and what was asked of it last.

    Parameters
    ----------
    tell : callable
        Takes the progress that goes back.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._session: Session | None = None
        self._which: Any = None
        self._chosen: Any = None
        self._asked: Any = None

    def stop(self) -> None:
        """Stop what is running at its next step."""
        if self._session is not None:
            self._session.cancel()

    def do(self, ask: Ask) -> dict[str, Any]:
        """The answer to one request."""
        made: dict[str, Any] = getattr(self, f"_{ask['do']}")(ask)
        session = self._session
        if session is not None and session.result("choose") is not None:
            made |= {"script": _script(session), "cautions": session.cautions}
        return made

    def _progress(self, step: str, share: float | None) -> None:
        self._tell({"step": step, "share": share})

    def _hello(self, ask: Ask) -> dict[str, Any]:
        """What the methods are, for the page that offers them."""
        return {"methods": {name: _described(name) for name in methods.METHODS}}

    def _demo(self, ask: Ask) -> dict[str, Any]:
        """Made people as a file; no real person stands behind any record."""
        from ..datasets import make_people
        from ..io.write import write_table

        write_table(make_people(ask["people"], seed=1), ask["path"])
        return self._open(ask)

    def _open(self, ask: Ask) -> dict[str, Any]:
        self._session = None
        session = self._opened(ask)
        self._progress("looking at the columns", None)
        seen = session.inspect()
        rows = session.table.arrow.slice(0, PREVIEW).to_pylist()
        schema = seen.schema
        return {
            **seen.to_dict(),
            "name": session.name,
            "kinds": dict(schema.kinds),
            "unit": "" if schema.unit is UNSAID else schema.person or "none",
            "household": schema.household or "",
            "weight": schema.weight or "",
            "preview": [["" if v is None else str(v) for v in row.values()] for row in rows],
        }

    def _opened(self, ask: Ask) -> Session:
        session = self._session
        which = ask["path"], ask["missing"], ask.get("encoding", "")
        if session is None or which != self._which:
            self._progress("reading the table", None)
            how = Schema(missing=which[1], encoding=which[2])
            session = self._session = Session(ask["path"], schema=how)
            self._which = which
            self._chosen = self._asked = None
        return session

    def _schema(self, ask: Ask) -> Schema:
        """The proposal with the roles as the steward has them."""
        roles: Mapping[str, str] = ask["roles"]
        named = {role: [n for n, r in roles.items() if r == role] for role in set(roles.values())}
        proposed = self._opened(ask).inspect().schema
        unit = {"": UNSAID, "none": None}.get(ask["unit"], ask["unit"])
        return proposed.replace(
            quasi=named.get("quasi", []),
            sensitive=named.get("sensitive", []),
            identifiers=named.get("identifier", []),
            other=named.get("other", []),
            kinds={**proposed.kinds, **ask["kinds"]},
            grid={name: tuple(points) for name, points in ask["grid"].items()},
            hierarchies={n: Hierarchy.from_csv(path) for n, path in ask["hierarchies"].items()},
            unit=unit,
            household=ask["household"] or None,
            weight=ask["weight"] or None,
            reasons={},
        )

    def _method(self, ask: Ask) -> Any:
        method = methods.make(ask["method"], ask["options"])
        if ask["key"] and method.draws:
            method.set_params(key=ask["key"])
        return method

    def _choose(self, ask: Ask) -> Session:
        session = self._opened(ask)
        wanted = {name: ask[name] for name in _CHOSEN}
        if ask["profile"]:  # a file of one's own may have been changed since
            wanted["profile"] = Profile.load(ask["profile"])
        if wanted != self._chosen:
            session.choose(
                self._schema(ask),
                self._method(ask),
                pseudonym_key=ask["key"] if ask["pseudonyms"] else None,
                max_inference=ask["max_inference"],
                profile=ask["profile"] or None,
            )
            self._chosen, self._asked = wanted, None
        return session

    def _today(self, ask: Ask) -> dict[str, Any]:
        session = self._opened(ask)
        schema = self._schema(ask)
        found = session.today(schema, attacks=ask["attacks"], progress=self._progress)
        return found.to_dict()

    def _frontier(self, ask: Ask) -> dict[str, Any]:
        """One k and the caps that are asked, beside whatever was tried before."""
        session = self._choose(ask)
        k, caps = ask["tried"]
        found = session.frontier(
            k=[] if k is None else [k], max_disclosure=caps, keep=True,
            utility=ask["utility"], progress=self._progress,
        )  # fmt: skip
        return found.to_dict() | {"title": session.choice.method.title}

    def _carried(self, ask: Ask) -> dict[str, Any]:
        return self._choose(ask).carried(progress=self._progress).to_dict()

    def _protected(self, ask: Ask) -> Session:
        session = self._choose(ask)
        if session.result("protect") is None:
            session.protect(progress=self._progress)
        return session

    def _measure(self, ask: Ask) -> dict[str, Any]:
        pass

        session = self._measured(ask, ask["attacks"])
        self._progress("drawing", None)
        return compared(session)

    def _measured(self, ask: Ask, attacks: bool) -> Session:
        """What the report shall hold; a standard may need the attacks as well."""
        session = self._protected(ask)
        wanted: dict[str, Any] = {"attacks": attacks, "learning": attacks}
        if ask["profile"]:
            needed = needs_attacks(Profile.load(ask["profile"]))
            wanted["attacks"] = attacks or needed
        if session.result("measure") is None or self._asked != wanted:
            session.measure(progress=self._progress, **wanted)
            self._asked = wanted
        return session

    def _say(self, ask: Ask) -> dict[str, Any]:
        """Nothing but what every answer has: the command and the code."""
        self._choose(ask)
        return {}

    def _lookup(self, ask: Ask) -> dict[str, Any]:
        session = self._choose(ask)
        return session.look_up(ask["wanted"]).to_dict()

    def _write(self, ask: Ask) -> dict[str, Any]:
        from ..report.page import answers

        session = self._protected(ask)
        if session.result("measure") is None:
            session = self._measured(ask, attacks=False)
        folder = session.write(ask["folder"], force=ask["force"], progress=self._progress)
        release = session.release
        promised, _ = answers(session.result("measure").to_dict(), release.plan, release.checks)
        return {
            "folder": str(Path(folder).resolve()),
            "files": sorted(path.name for path in folder.iterdir()),
            "checks": len(release.checks),
            "promised": [line for line in promised if line[1] != "open"],
            "standard": session.result("measure").profile,
        }


def _described(name: str) -> dict[str, Any]:
    """A method for the page: what it is, which options it has, what they are without being given."""
    method = methods.make(name, {})
    given = method.get_params(deep=False)
    return {
        "title": method.title,
        "why": (type(method).__doc__ or "").strip().partition("\n")[0],
        "defaults": plain({o.name: given[o.name] for o in methods.OPTIONS if o.name in given}, other=str),
        "yardstick": method.risk_model,
        "heeds": list(method.supported_fields),
        "draws": bool(method.draws),
    }


def _script(session: Session) -> dict[str, str]:
    """What repeats the choice; or why that cannot be said."""
    made = {}
    for name, write in (("command", session.command_line), ("python", session.python)):
        try:
            made[name] = write()
        except HedgerowError as error:
            made[name] = f"# {error.message}"
    return made


def main() -> None:
    """Answer requests until standard input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    asked: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    lock, current, stopped = threading.Lock(), [0], set[int]()

    def send(message: dict[str, Any]) -> None:
        with lock:
            out.write(json.dumps(message, allow_nan=False) + "\n")
            out.flush()

    worker = Worker(lambda message: send({"id": current[0], **message}))

    def listen() -> None:
        for line in sys.stdin:
            ask = json.loads(line)
            if "cancel" in ask:
                stopped.add(ask["cancel"])
                if ask["cancel"] == current[0]:
                    worker.stop()
            else:
                asked.put(ask)
        os._exit(0)  # the studio is gone, and so is whatever it asked for

    threading.Thread(target=listen, daemon=True).start()
    while True:
        ask = asked.get()
        assert ask is not None
        current[0] = ask["id"]
        try:
            if ask["id"] in stopped:  # before it began
                raise Cancelled("")
            try:
                answer: dict[str, Any] = {"result": worker.do(ask)}
            except Cancelled:
                if ask["id"] in stopped:
                    raise
                answer = {"result": worker.do(ask)}  # somebody stopped the one before when it was done
        except BaseException as error:
            answer = {"error": told_of(error)}
        send({"id": ask["id"], **answer})


if __name__ == "__main__":
    main()


def compared(session: Session) -> dict[str, Any]:
    """The release beside the original, as data for a page; SVG for its pictures."""
    release, measured = session.release, session.result("measure")
    audit = measured.to_dict()
    loud = not_bounded(audit, release.plan)
    promised, cards = answers(audit, release.plan, release.checks)
    risk, grouped = audit["risk"], audit["table"]["yardstick"] == "classes"
    before, after = risk["original"], risk["release"]
    drawn = {}
    if grouped:
        drawn["group sizes"] = pictures.class_sizes(
            at(before, "classes", "histogram") or [],
            after["classes"]["histogram"],
            after["classes"]["k"],
        )
    if audit["attacks"]:
        drawn["attacks"] = pictures.attack_bars(audit["attacks"])
    for name, shape in audit["pictures"]["histograms"].items():
        if shape["labels"]:
            drawn[name] = pictures.before_after(name, shape)
    shown = measured.shown
    return {
        "rows": release.released.n_rows,
        "verdict": overall(verdicts(audit, release.plan, release.checks), loud),
        "cards": [vars(card) for card in cards],
        "promised": promised,
        "three": list(three_numbers(risk, grouped)),
        "risk_rows": [row[:3] for row in risk_rows(before, after)] if grouped else [],
        "pictures": [{"name": n, "svg": p.svg, "alt": p.alt} for n, p in drawn.items()],
        "queries": audit["utility"]["queries"],
        "distributions": audit["utility"]["distributions"],
        "learning": audit["utility"]["learning"],
        "shown": None
        if shown is None
        else {"names": shown.names, "before": shown.before, "after": shown.after},
        "known": list(session.choice.schema.quasi) if grouped else [],
        "attacked": bool(audit["attacks"]),
        "standard": audit["profile"],
        "notes": audit["table"]["notes"],
        "warned": [text for text in release.cautions if text not in loud],
    }
