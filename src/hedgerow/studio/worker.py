"""Run the process that holds the table; it handles one request at a time and can be stopped.

A request names everything that it builds on (the table, the roles, the method), and missing steps
are done first. So losing a worker costs only time. Requests and answers are lines of JSON on
standard input and output, which nobody else can read.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..auditing.compare_models import compare_models
from ..auditing.profile_result import needs_attacks
from ..auditing.single_records import row_texts
from ..auditing.table_pair import evenly
from ..backends.precompile import begin
from ..datasets import make_people
from ..errors import Cancelled, HedgerowError, InfeasibleError, ParameterError, SchemaError, UnsupportedError
from ..hierarchy import Hierarchy
from ..io.write import write_table
from ..notation import plain
from ..plan.records import REDRAW
from ..profiles import Profile
from ..progress import cautions, compiling_noticed
from ..release import ReleaseOptions
from ..release.making import open_checked
from ..release.recipient import columns_in_words, kinds_in_words, rule_in_words
from ..release.rule_counts import planned_rules
from ..report import pictures
from ..report.figures import risk_rows
from ..report.page import answers
from ..report.reasons import reasons
from ..report.verdict import verdict
from ..schema import ROLE_FIELDS, UNSAID, Schema
from ..texts import text
from ..workflow import methods
from ..workflow.protect import guarding, protect
from ..workflow.session import Session
from . import WORDS
from .state import Choices, Public
from .worker_client import describe, in_sentences, with_controls

# records that the first step shows
PREVIEW = 8

# records on which the third step shows what a setting does, and those of them that it shows
SAMPLE, EXAMPLES = 10_000, 10
# jobs that do what was chosen, and so can say it as a command
_OF_CHOICE = ("frontier", "shares", "sample", "measure", "say", "write")

# what a private tree does not use; the page does not show it then
_UNUSED = {
    "guard": "auto", "guard_people": None, "cap_on": "groups", "max_inference": None, "profile": "",
    "pseudonyms": False,
}  # fmt: skip

Ask = Mapping[str, Any]
Answer = dict[str, object]
Send = Callable[[Answer], None]


class Worker:
    """The process's session with its table, and the choices of the last request.

    Parameters
    ----------
    send : callable
        Takes the progress that goes back; an exception from it stops the running job.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._session: Session | None = None
        self._reading: Any = None
        self._choices: Any = None
        self._measures: Any = None

    def do(self, ask: Ask) -> Answer:
        """Return the answer to one request."""
        ask = {**ask, **_UNUSED} if ask.get("method") == "private-tree" else ask
        with compiling_noticed(lambda: self._progress(WORDS["work"]["compiling"], None)):
            answer: Answer = getattr(self, f"_{ask['do']}")(ask)
        if ask["do"] in _OF_CHOICE:
            session = self._opened(ask)
            answer |= {"script": _script(session), "cautions": _for_page(session, session.cautions)}
        return answer

    def _progress(self, step: str, share: float | None) -> None:
        self._send({"step": step, "share": share})

    def _hello(self, ask: Ask) -> Answer:
        """Return a description of each method, for the page that offers them."""
        return {"methods": {name: _described(name) for name in methods.METHODS}}

    def _demo(self, ask: Ask) -> Answer:
        """Write a table of synthetic people to a file."""
        write_table(make_people(ask["people"], seed=1), ask["path"])
        return self._open(ask)

    def _open(self, ask: Ask) -> Answer:
        # read anew even under the same name: the file may have changed
        self._session = None
        session = self._opened(ask)
        begin()  # what the first release on a machine needs is compiled while somebody looks at the columns
        self._progress("looking at the columns", None)
        inspection = session.inspect()
        rows = session.table.arrow.slice(0, PREVIEW).to_pylist()
        schema = inspection.schema
        return {
            **inspection.to_dict(),
            "name": session.name,
            "kinds": dict(schema.kinds),
            "unit": "" if schema.unit is UNSAID else schema.person or "none",
            "household": schema.household or "",
            "weight": schema.weight or "",
            "labels": {c.name: session.table.layout.labels.label(c.name) for c in inspection.columns},
            "preview": [["" if v is None else str(v) for v in row.values()] for row in rows],
            "rule_names": [rule.rule.names for rule in inspection.rules],
        }

    def _opened(self, ask: Ask) -> Session:
        session = self._session
        reading = ask["path"], ask["missing"], ask.get("encoding", "")
        if session is None or reading != self._reading:
            self._progress("reading the table", None)
            schema = Schema(missing=ask["missing"], encoding=ask.get("encoding", ""))
            session = self._session = Session(ask["path"], schema=schema)
            # another table, or another way to read it: nothing that was chosen holds
            self._reading, self._choices, self._measures = reading, None, None
        return session

    def _schema(self, ask: Ask) -> Schema:
        """Return the proposed schema with the steward's roles and other choices."""
        # a weight among the other columns would be released exactly
        roles: Mapping[str, str] = {n: r for n, r in ask["roles"].items() if (n, r) != (ask["weight"], "other")}
        proposed = self._opened(ask).inspect().schema
        unit = {"": UNSAID, "none": None}.get(ask["unit"], ask["unit"])
        return proposed.replace(
            **{field: [n for n, r in roles.items() if r == role] for field, role in ROLE_FIELDS.items()},
            kinds={**proposed.kinds, **ask["kinds"]},
            grid={name: tuple(points) for name, points in ask["grid"].items()},
            follows=ask["follows"],
            rare=ask["rare"],
            **ask["rules"],
            # of other methods categories say an order as well, which nobody chose
            **(_declared(ask["public"]) if ask["method"] == "private-tree" and ask["confirmed"] else {}),
            hierarchies={n: Hierarchy.from_csv(p, encoding=proposed.encoding) for n, p in ask["hierarchies"].items()},
            unit=unit,
            household=ask["household"] or None,
            weight=ask["weight"] or None,
            **dict([ask["rows"].split("=", 1)] if ask["rows"] else []),
        )

    def _choose(self, ask: Ask) -> Session:
        session = self._opened(ask)
        # what use means matters to the frontier alone
        choices = {each.name: ask[each.name] for each in fields(Choices) if each.name not in ("utility", "earlier")}
        if ask["profile"]:  # a file of one's own may have been changed since
            choices["profile"] = Profile.load(ask["profile"])
        if choices != self._choices:
            method = methods.make(ask["method"], ask["options"])
            if ask["key"] and method.draws:
                method.set_params(key=ask["key"])
            form = methods.form_of(method, ask["guard"])
            session.choose(
                self._schema(ask),
                method,
                guard=ask["guard"],
                guard_people=ask["guard_people"] if form else None,
                cap_on=ask["cap_on"] if form == REDRAW and getattr(method, "in_rows", False) else "groups",
                key=ask["key"] or None if form == REDRAW else None,
                pseudonym_key=ask["key"] if ask["pseudonyms"] else None,
                max_inference=ask["max_inference"],
                profile=ask["profile"] or None,
            )
            self._choices, self._measures = choices, None
        return session

    def _propose(self, ask: Ask) -> Answer:
        """Return bounds and categories that the table suggests, for somebody to confirm as public knowledge."""
        session, schema = self._opened(ask), self._schema({**ask, "confirmed": False})
        inspection, columns = session.inspect(), {}
        public = inspection.public(schema)
        for name in (*schema.quasi, *schema.sensitive):
            column = session.table.declared_column(schema, name)
            if column.kind != "boolean" and name not in schema.grid:
                part = public.bounds if column.is_number else public.categories
                columns[name] = {"is_number": column.is_number, "values": list(part.get(name, ()))}
        return {
            "columns": columns,
            "to_do": [each.replace(*WORDS["public"]["field"]) for each in inspection.unproposed(schema)],
        }

    def _rules(self, ask: Ask) -> Answer:
        """Return why the chosen rules cannot be kept, such as how many records break one; None if they can."""
        table = self._opened(ask).table
        try:
            planned_rules(table, self._schema(ask))
        except HedgerowError as error:
            return {"fault": in_sentences(error.message, error.hint, table.names)}
        return {"fault": None}

    def _today(self, ask: Ask) -> Answer:
        return self._opened(ask).today(self._schema(ask), attacks=ask["attacks"], progress=self._progress)

    def _reasons(self, ask: Ask) -> Answer:
        """Return for each method that can run with no setting the sentence by which a release would be refused."""
        table, schema, reasons = self._opened(ask).table, self._schema({**ask, "confirmed": False}), Answer()
        for name in methods.METHODS:
            method = methods.make(name, {})
            try:
                with cautions():
                    # what a guard that could be chosen allows is no reason
                    guard = guarding(method, REDRAW if method.guardable else None)
                    open_checked(table, schema, method, ReleaseOptions(guard=guard))
            except HedgerowError as error:
                reasons[name] = in_sentences(error.message, error.hint, table.names)
        return reasons

    def _sample(self, ask: Ask) -> Answer:
        """Return records of the table and what the chosen setting makes of them, on a sample of a long table."""
        choice, table = self._choose(ask).choice, self._opened(ask).table
        sample = evenly(np.arange(table.n_rows), SAMPLE)
        assert choice.method is not None
        method = choice.method.copy()
        # the same draws at every setting: what differs is due to the setting
        method.set_params(**({"key": None, "random_state": 0} if method.draws else {}))
        seed = 0 if methods.form_of(method, choice.guard) == REDRAW else None
        people = pa.table({name: table.take(name, sample) for name in table.names})
        try:
            with cautions():
                release = protect(
                    people, choice.schema, method, guard=choice.guard, guard_people=choice.guard_people,
                    cap_on=choice.cap_on, random_state=seed, progress=self._progress,
                )  # fmt: skip
        except (InfeasibleError, ParameterError, SchemaError, UnsupportedError) as error:
            return {"rows": len(sample), "reason": in_sentences(error.message, error.hint, table.names)}
        hiding, (one, two, *rest) = release.plan.guard, (*choice.schema.quasi, "", "")
        # what must not be inferred is in sight beside columns that tell whose row it is
        names = [n for n in (one, two, *choice.schema.sensitive, *rest) if n in release.released.names]
        rows = evenly(np.arange(len(sample)), EXAMPLES)
        return {
            "rows": len(sample),
            "names": names,
            "before": row_texts(release.original, names, rows),
            "after": row_texts(release.released, names, np.argsort(release.rows)[rows]),
            "drawn": [c.name for c in hiding.columns] if hiding is not None and hiding.form == REDRAW else [],
        }

    def _frontier(self, ask: Ask) -> Answer:
        """Try one k with several caps, and return the points together with those of earlier requests."""
        session = self._choose(ask)
        k, caps = ask["tried"]
        k = [] if k is None else [k]
        points = session.frontier(k=k, max_disclosure=caps, keep=True, utility=ask["utility"], progress=self._progress)
        method = session.choice.method
        assert method is not None
        return {**points.to_dict(), "title": method.title}

    def _shares(self, ask: Ask) -> Answer:
        return self._choose(ask).carried(progress=self._progress)

    def _protected(self, ask: Ask) -> Session:
        session = self._choose(ask)
        if session.result("protect") is None:
            session.protect(progress=self._progress)
        return session

    def _measure(self, ask: Ask) -> Answer:
        session = self._measured(ask, ask["attacks"])
        self._progress("drawing", None)
        return comparison(session)

    def _measured(self, ask: Ask, attacks: bool) -> Session:
        """Measure the release for the report, with attacks if requested or if the standard needs them."""
        session = self._protected(ask)
        is_asked = bool(ask["profile"]) and needs_attacks(Profile.load(ask["profile"]))
        measures = {"attacks": attacks or is_asked, "learning": attacks}
        # attacks that were run for this choice are not run again
        if session.result("measure") is None or self._measures != measures:
            session.measure(progress=self._progress, **measures)
            self._measures = measures
        return session

    def _regression(self, ask: Ask) -> Answer:
        """Return a regression on the original and on the release, or why there is none, for the box of the formula."""
        session, formula = self._protected(ask), {name: ask[name] for name in ("formula", "family")}
        self._progress("fitting", None)
        try:
            compared = compare_models(session.table, session.release, **formula)
        except HedgerowError as error:
            return {**formula, "fault": in_sentences(error.message, error.hint, session.table.names)}
        head, rows = compared.text_rows()
        return {**formula, "fault": None, "head": head, "rows": rows, "sentences": compared.sentences()}

    def _say(self, ask: Ask) -> Answer:
        """Return only the command and the Python code, which are part of every answer."""
        self._choose(ask)
        return {}

    def _write(self, ask: Ask) -> Answer:
        session = self._protected(ask)
        if session.result("measure") is None:
            # every release has a report; attacks are in it where they were asked for
            session = self._measured(ask, attacks=False)
        folder = session.write(ask["folder"], force=ask["force"], progress=self._progress)
        release = session.release
        promised, _ = answers(session.result("measure").to_dict(), _plan_of_groups(release), release.checks)
        return {
            "folder": str(Path(folder).resolve()),
            "files": sorted(path.name for path in folder.iterdir()),
            "checks": len(release.checks),
            "promised": [line for line in promised if line[1] != "open"],
            "standard": session.result("measure").profile,
        }


def _described(name: str) -> Answer:
    """Return a method's title, purpose, options and defaults for the page."""
    method = methods.make(name, {})
    params = method.get_params(deep=False)
    return {
        "title": method.title,
        "why": (type(method).__doc__ or "").strip().partition("\n")[0],
        "defaults": plain({o.name: params[o.name] for o in methods.OPTIONS if o.name in params}, other=str),
        "heeds": list(method.supported_fields),
        "private": method.is_private,
        **{part: getattr(method, part) for part in ("draws", "guardable", "usual_guard")},
    }


def _script(session: Session) -> dict[str, str]:
    """Return the command and the Python code that repeat the choice, or the reason why there is none."""
    texts = {}
    # a choice that no command can say has a reason, which is shown in its place
    for name, write in (("command", session.command_line), ("python", session.python)):
        try:
            texts[name] = write()
        except HedgerowError as error:
            texts[name] = f"# {error.message}"
    return texts


def comparison(session: Session) -> Answer:
    """Return the comparison of release and original as data for a page, with pictures as SVG."""
    release, measured = session.release, session.result("measure")
    audit = measured.to_dict()
    plan = _plan_of_groups(release)
    loud = reasons(audit, plan)
    promised, cards = answers(audit, plan, release.checks)
    risk, grouped = audit["risk"], audit["table"]["yardstick"] == "classes"
    plots = {"group sizes": pictures.class_sizes(risk)} if grouped else {}
    if audit["attacks"]:
        plots["attacks"] = pictures.attack_bars(audit["attacks"])
    shapes = audit["pictures"]["histograms"].items()
    plots |= {name: pictures.before_after(name, shape) for name, shape in shapes if shape["labels"]}
    examples = measured.shown
    return {
        "verdict": verdict(audit, plan, release.checks, _for_page(session, loud)),
        "cards": [vars(card) for card in cards],
        "promised": promised,
        "risk_rows": [row[:3] for row in risk_rows(risk["original"], risk["release"])] if grouped else [],
        "pictures": [{"name": n, "svg": p.svg, "alt": p.alt} for n, p in plots.items()],
        "utility": audit["utility"],
        "shown": None if examples is None else {n: getattr(examples, n) for n in ("names", "before", "after")},
        "attacked": bool(audit["attacks"]),
        "estimates": [*kinds_in_words(audit["utility"].get("models"))],
        "by_column": [*columns_in_words(audit["utility"].get("models"))],
        "rules": [rule_in_words(each) for each in audit["utility"].get("rules") or ()],
        "standard": audit["profile"],
        "warned": _for_page(session, [each for each in release.cautions if each not in loud]),
    }


def _plan_of_groups(release: Any) -> Any:
    """Return the plan of a release; None for a private one, which promises nothing of groups."""
    return None if release.method.is_private else release.plan


def _declared(public: Public) -> Mapping[str, Mapping[str, list[Any]]]:
    """Return the bounds and categories that were confirmed, as a schema takes them."""
    parts = ("bounds", "categories")
    return {part: {name: each[part] for name, each in public.items() if part in each} for part in parts}


def _for_page(session: Session, texts: Sequence[str]) -> list[str]:
    """Return cautions with the page's controls in place of flags.

    That of columns left out is no caution here, for every column's role was chosen on the page.
    """
    names = session.release.plan.names("undeclared") if session.result("protect") is not None else []
    left_out = text("caution", "undeclared", names=", ".join(names))
    return [with_controls(each) for each in texts if each != left_out]


def main() -> None:
    """Answer requests until standard input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    requests: queue.SimpleQueue[Ask] = queue.SimpleQueue()
    # progress comes from threads, and half a line is no message
    lock, current, stopped = threading.Lock(), [0], set[int]()

    def send(message: Answer) -> None:
        with lock:
            out.write(json.dumps(message, allow_nan=False) + "\n")
            out.flush()

    def report(message: Answer) -> None:
        if current[0] in stopped:
            raise Cancelled("")
        send({"id": current[0], **message})

    worker = Worker(report)

    def listen() -> None:
        for line in sys.stdin:
            ask = json.loads(line)
            if "cancel" in ask:
                stopped.add(ask["cancel"])
            else:
                requests.put(ask)
        os._exit(0)  # the studio is gone, and so is whatever it asked for

    threading.Thread(target=listen, daemon=True).start()
    while True:
        ask = requests.get()
        current[0] = ask["id"]
        try:
            answer: Answer = {"result": worker.do(ask)}
        # whatever happens, the studio gets an answer and goes on
        except BaseException as error:
            answer = {"error": describe(error)}
        send({"id": ask["id"], **answer})


if __name__ == "__main__":
    main()
