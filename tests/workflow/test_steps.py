"""A session keeps what was done, forgets what no longer holds, and can be stopped."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import Cancelled, ParameterError, SchemaError
from hedgerow.files import write_private

from .conftest import ROLES


@pytest.fixture
def session(here: Path) -> hr.Session:
    session = hr.Session("people.csv")
    session.choose(ROLES, hr.MART(k=10))
    return session


def test_every_step_returns_and_stores_its_result(session: hr.Session) -> None:
    seen = session.inspect()
    assert seen is session.inspect()
    release = session.protect()
    audit = session.measure()
    folder = session.write("release")
    assert session.done == ("open", "inspect", "choose", "protect", "measure", "write")
    assert session.result("protect") is release is session.release
    assert session.result("measure") is audit
    assert session.result("write").out == folder
    assert session.result("frontier") is None
    assert {"release.csv", "report.html"} <= {file.name for file in folder.iterdir()}


def test_going_back_makes_what_follows_undone(session: hr.Session) -> None:
    session.frontier(k=[10], max_disclosure=[0.5])
    session.protect()
    session.measure()
    session.write("release")
    session.measure(learning=True)
    assert session.done == ("open", "choose", "frontier", "protect", "measure")
    session.protect()
    assert session.done == ("open", "choose", "frontier", "protect")
    session.choose(ROLES, hr.Mondrian(k=5))
    assert session.done == ("open", "choose", "frontier")
    session.choose(ROLES.replace(quasi=["age"]), hr.Mondrian(k=5))
    assert session.done == ("open", "choose")


def test_a_point_of_the_frontier_can_be_taken(session: hr.Session) -> None:
    found = session.frontier([hr.MART(), hr.Mondrian()], k=[5, 20], max_disclosure=[0.4])
    best = found.best(target_k=20)
    choice = session.take(best)
    assert choice.method.k == 20
    assert session.protect().summary()["groups"]["smallest"] == best.k


@pytest.mark.parametrize("step", ["protect", "measure", "write", "take", "command_line"])
def test_a_step_too_early_says_which_comes_first(here: Path, step: str) -> None:
    session = hr.Session("people.csv")
    given = {"write": ["release"], "take": [None]}.get(step, [])
    with pytest.raises(ParameterError, match="is not done yet"):
        getattr(session, step)(*given)
    with pytest.raises(ParameterError, match="unknown step"):
        session.result("publish")


def test_a_wrong_choice_is_told_at_once_and_changes_nothing(session: hr.Session) -> None:
    release = session.protect()
    with pytest.raises(SchemaError, match="agee"):
        session.choose(hr.Schema(quasi=["agee"]), hr.MART())
    with pytest.raises(ParameterError, match="nothing to protect"):
        session.choose(hr.Schema(sensitive=["income"]), hr.MART())
    with pytest.raises(ParameterError, match=r"cannot read the key file none\.bin"):
        session.choose(ROLES, hr.MART(), pseudonym_key="none.bin")
    assert session.release is release


def test_progress_is_told_and_whatever_it_raises_stops_the_step(session: hr.Session) -> None:
    told: list[tuple[str, float | None]] = []
    session.protect(progress=lambda step, share: told.append((step, share)))
    steps = list(dict.fromkeys(step for step, _ in told))
    assert steps == ["reading", "fitting", "recoding", "verifying"]
    release = session.release

    def stop(step: str, share: float | None) -> None:
        raise Cancelled("enough")

    for again in (session.protect, session.measure, session.frontier):
        with pytest.raises(Cancelled):
            again(progress=stop)
    with pytest.raises(Cancelled):
        session.write("release", progress=stop)
    assert session.release is release
    assert session.done == ("open", "choose", "protect")
    assert not Path("release").exists()
    assert not [file for file in Path().iterdir() if file.name.startswith(".")]


def test_another_thread_can_cancel(session: hr.Session) -> None:
    started, go = threading.Event(), threading.Event()

    def wait(step: str, share: float | None) -> None:
        started.set()
        go.wait(30)

    caught: list[Exception] = []

    def work() -> None:
        try:
            session.protect(progress=wait)
        except Exception as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(30)
    session.cancel()
    go.set()
    thread.join(60)
    assert [type(error) for error in caught] == [Cancelled]
    assert session.result("protect") is None
    # what was cancelled was that step; the next one runs
    assert session.protect().checks


def test_a_cancelled_step_always_ends(session: hr.Session) -> None:
    session.cancel()  # before the step began
    with pytest.raises(Cancelled):
        session.protect()
    session.protect()
    told: list[str] = []
    session.measure(progress=lambda step, share: told.append(step))
    last = told[-1]
    seen = [0]

    def at_the_last_call(step: str, share: float | None) -> None:
        seen[0] += 1
        if seen[0] == len(told):
            assert step == last
            session.cancel()

    session.protect()
    with pytest.raises(Cancelled):
        session.measure(progress=at_the_last_call)
    assert session.done == ("open", "choose", "protect")

    def at_every_call(step: str, share: float | None) -> None:
        if step == "reading back":
            session.cancel()

    with pytest.raises(Cancelled):
        session.write("release", progress=at_every_call)
    assert not Path("release").exists()
    assert session.write("release").exists()


def test_sessions_in_two_threads_keep_their_own_cautions(here: Path) -> None:
    quiet, loud, alone = (hr.Session("people.csv") for _ in range(3))
    quiet.choose(ROLES.replace(quasi=["education"], rest="release"), hr.MART(k=10))
    roles = hr.Schema(quasi=["sex", "job"], sensitive=["smoker"])
    for session in (loud, alone):
        session.choose(roles, hr.RandomizedResponse(l=1.2, random_state=1))
    alone.protect()
    assert alone.cautions
    inside, done = threading.Event(), threading.Event()

    def hold(step: str, share: float | None) -> None:
        inside.set()
        done.wait(60)

    thread = threading.Thread(target=lambda: quiet.protect(progress=hold))

    def after_the_other(step: str, share: float | None) -> None:
        done.set()  # the other one began before, and ends while this one is at work
        thread.join(60)

    thread.start()
    assert inside.wait(60)
    loud.protect(progress=after_the_other)
    assert quiet.cautions == []
    assert loud.cautions == alone.cautions


def test_what_other_threads_warn_of_is_kept_too(here: Path) -> None:
    session = hr.Session("people.csv")
    roles = hr.Schema(quasi=["sex", "job"], sensitive=["smoker"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        methods = {"rr": hr.RandomizedResponse(l=1.2, random_state=1)}
        session.frontier(methods, schema=roles, k=[], max_disclosure=[])
    assert any("released as they are" in text for text in session.cautions)


def test_a_pseudonym_key_that_is_too_short_is_refused_when_it_is_chosen(session: hr.Session) -> None:
    write_private("short.bin", "15 bytes, sadly")
    for key in (b"short", "short.bin"):
        with pytest.raises(ParameterError, match="at least 16 are needed"):
            session.choose(ROLES, hr.MART(), pseudonym_key=key)
    with pytest.raises(ParameterError, match="pseudonym_key is a int"):
        session.choose(ROLES, hr.MART(), pseudonym_key=5)


def test_warnings_of_a_step_are_kept_and_not_printed(here: Path) -> None:
    session = hr.Session("people.csv")
    roles = hr.Schema(quasi=["sex", "job"], sensitive=["smoker"])
    session.choose(roles, hr.RandomizedResponse(l=1.2, key="k"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.protect()
    assert any("sensitive columns are released as they are" in text for text in session.cautions)
    assert any("you did not name them: person_id, " in text for text in session.cautions)


def test_it_shows_no_value_of_a_person(session: hr.Session) -> None:
    session.inspect()
    session.protect()
    session.measure()
    shown = repr(session) + repr(session.inspect()) + str(session.inspect()) + repr(session.choice)
    shown += str(session.inspect().to_dict())
    people = pd.read_csv("people.csv")
    for values in (people["person_id"], people["assets"][people["assets"] > 1000]):
        assert not any(str(value) in shown for value in values)
    secret = hr.Session("people.csv")
    secret.choose(ROLES, hr.MART(), pseudonym_key=b"a secret of 16 b")
    assert "a secret" not in repr(secret) + repr(secret.choice)


def test_inspect_says_how_each_column_would_be_attacked() -> None:
    table = pd.DataFrame(
        {
            "income": [1500.5, 2100.0, 900.0, 1700.0] * 3,
            "smoker": [0, 1, 1, None] * 3,  # two whole numbers, missing or not
            "rooms": range(12),  # as many values as records: no codes
            "born": pd.date_range("1970-01-01", periods=12),
            "job": ["cook", "nurse"] * 6,
        }
    )
    seen = hr.inspect(table)
    told = {each["column"]: each["attacked_as"] for each in seen.to_dict()["columns"]}
    numbers, dates = dict.fromkeys(("income", "rooms"), "number"), {"born": "date"}
    assert told == numbers | dates | dict.fromkeys(("smoker", "job"), "category")
    assert "treat these as codes, because they are few whole numbers: smoker." in str(seen)
    assert "--kinds smoker=categorical if 1 and 2 are names" in " ".join(str(seen).split())


def test_inspect_says_what_to_be_wary_of() -> None:
    table = pd.DataFrame({"age": [31, 40, 52], "note": ["x", "x", "x"], "gone": [None] * 3})
    seen = hr.inspect(table)
    assert seen.rows == 3
    told = "\n".join(seen.warnings)
    for words in ("without any value", "gone", "with a single value", "note", "no column looks sens"):
        assert words in told
    assert "warning: no column looks sensitive" in str(seen)
    assert hr.inspect(pd.DataFrame({"income": [1.5, 2.5]})).warnings[-1].startswith("no column")
