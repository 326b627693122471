"""The whole walk in a real browser: from a table to a release, and everything that goes wrong."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr

from .browsing import CHROMIUM, LONG, Served, axe, serving

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
pytest.importorskip("fastapi", reason="the extra studio is not installed")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (Debian: chromium)")
STEPS = ("table", "risk", "protect", "compare", "release")
KNOWN = ("age", "education", "sex")
ROWS = 3000


def adult() -> pa.Table:
    """Some of Adult, or made people where it is absent; three columns known, one sensitive."""
    if os.environ.get("HEDGEROW_DATA"):
        table = hr.datasets.load_adult()
        return table.slice(0, ROWS).select([*KNOWN, "income"])
    return hr.datasets.make_people(ROWS, seed=1).select([*KNOWN, "income"])


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as found:
        made = found.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def studio(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("studio")
    pq.write_table(adult(), folder / "adult.parquet")
    with serving(chromium, folder, folder / "adult.parquet") as made:
        yield made
    assert [p.name for p in folder.iterdir() if p.name.startswith(".hedgerow")] == []
    outside = [url for url in made.asked if not url.startswith((f"{made.home}/", "blob:"))]
    assert outside == []  # no request to another host, whatever was done
    refused = "Failed to load resource: the server responded with a status of 415"  # no table
    assert [fault for fault in made.faults if not fault.startswith(refused)] == []


def folder_of(studio: Served) -> Path:
    return Path(os.readlink(f"/proc/{studio.process.pid}/cwd"))


def _worker(studio: Served) -> int:
    """The process that holds the table."""
    (pid,) = Path(f"/proc/{studio.process.pid}/task/{studio.process.pid}/children").read_text().split()
    return int(pid)


def test_the_whole_walk(studio: Served) -> None:
    page = studio.go("table", "#roles")
    assert axe(page) == []
    page.get_by_role("link", name="Risk today").last.click()
    page.locator("#carries").wait_for()
    assert "of the records are alone" in page.inner_text("main")
    assert axe(page) == []
    page.get_by_role("link", name="Protect").last.click()
    page.locator("#chosen b").first.wait_for()
    studio.rest()
    assert "Chosen: groups of at least 10" in page.inner_text("#chosen")
    assert axe(page) == []
    # the same people before and after, renewed with the setting
    assert page.locator("#side-1 tbody tr").count() == page.locator("#side-2 tbody tr").count() == 10
    assert page.locator("#side-2 td.drawn").count() == 40
    before, after = page.inner_text("#side-1"), page.inner_text("#side-2")
    page.locator("#option-k").fill("40")
    page.locator('#method-field + fieldset output:text-is("40")').wait_for()
    page.locator("#sample:not(.old)").wait_for()
    page.wait_for_function("old => document.querySelector('#side-2').innerText !== old", arg=after)
    assert page.inner_text("#side-1") == before
    # a method is read of and taken, and one that cannot run is grey
    page.locator("#ways summary").click()
    assert page.locator("#method-noise").is_disabled()
    assert "Only numeric columns can be used here" in page.inner_text("#why-noise")
    assert axe(page) == []
    page.locator("#method-local-suppression").check()
    page.locator("#method-now", has_text="Local suppression").wait_for()
    page.locator("#side-2 td.same").first.wait_for()
    for _ in range(2):
        page.get_by_role("button", name="Undo").click()
        page.wait_for_load_state()
    page.locator('output:text-is("10")').wait_for()
    studio.rest()
    # a point is taken where it is clicked, without waiting: it was tried
    other = page.locator("#picture circle.own").first
    words = other.locator("title").text_content()
    other.click()
    page.locator(f'#picture svg[aria-label*="Chosen: {words}"]').wait_for(timeout=LONG)
    assert "being tried" not in page.inner_text("#chosen")
    page.get_by_role("button", name="Undo").click()
    page.locator('#picture svg[aria-label*="Chosen: Hedge 10, .5"]').wait_for()
    page.get_by_role("link", name="Compare").last.click()
    page.locator("#columns").wait_for()
    assert "Records before and after" not in page.content()
    assert axe(page) == []
    # a formula is fitted on both, or refused beside its box, where it stays
    pytest.importorskip("statsmodels", reason="the extra models is not installed")
    box = page.locator("#formula")
    box.fill("income ~ I(age)")
    page.get_by_role("button", name="Fit it on both").click()
    page.locator("#regression .alert", has_text="'I' is no function here").wait_for(timeout=LONG)
    assert box.input_value() == "income ~ I(age)"
    box.fill("income ~ age + sex")
    page.locator("#family").select_option("logit")
    page.get_by_role("button", name="Fit it on both").click()
    page.locator("#regression tbody tr").nth(5).wait_for(timeout=LONG)
    assert "conclusions at 5% stay" in page.inner_text("#regression")
    assert page.locator("#family").input_value() == "logit"
    assert axe(page) == []
    page.get_by_role("link", name="Release").last.click()
    page.locator("#same").click()  # code is folded
    page.locator("#command").wait_for()
    assert "--max-disclosure" not in page.locator("#command").text_content()  # .5 is the default
    target = folder_of(studio) / "out"
    page.get_by_label("Folder of the release").fill(str(target))
    page.get_by_role("button", name="Check and write").click()
    page.locator("#files").wait_for()
    assert page.evaluate("scrollY") == 0  # what was written is in sight
    assert axe(page) == []
    with page.expect_download() as given:
        page.get_by_role("link", name="release.parquet").click()
    assert pq.read_table(given.value.path()).equals(pq.read_table(target / "release.parquet"))
    guard = hr.Plan.load(target / "plan.json").guard
    assert guard.rows
    assert min(guard.sizes) >= 10
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    assert not any("39" in urlsplit(url).path for url in studio.asked)


def test_a_reload_in_the_middle_finds_the_work_going_on(studio: Served) -> None:
    page = studio.go("compare", "#columns")
    page.get_by_role("button", name="Attack it").click()
    page.locator("#stop").wait_for()
    os.kill(_worker(studio), signal.SIGSTOP)  # or a fast machine is done before anybody can stop it
    page.reload()
    assert page.locator("#work-share").count() == 1
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("stopping").wait_for()
    os.kill(_worker(studio), signal.SIGCONT)
    studio.rest()
    # what was measured before it was stopped is there as it was
    studio.go("compare", "#columns")
    assert page.locator("#failed").inner_text().startswith("Stopped.")


def test_two_windows_show_one_state(studio: Served) -> None:
    page = studio.go("protect", "#chosen b")
    second = studio.window()
    second.goto(f"{studio.home}/protect")
    second.locator("#chosen b").first.wait_for()
    studio.rest()
    second.locator("#stop").wait_for(state="detached")
    second.evaluate("for (let i = 0; i < 10000; i++) clearTimeout(i)")  # it does not look again
    page.locator("#option-k").fill("20")
    page.locator('#chosen b:text-is("20"), #chosen b:text-matches("^2[0-9]$")').first.wait_for()
    second.locator("#option-k").fill("5")
    second.get_by_text("changed in another window").wait_for()
    assert second.locator("#option-k").input_value() == "20"
    second.close()
    page.get_by_role("button", name="Undo").click()
    page.locator('output:text-is("10")').wait_for()


def test_what_was_typed_on_an_outdated_page_is_refused_and_that_is_said(studio: Served) -> None:
    page = studio.go("protect", "#chosen b")
    studio.rest()
    second = studio.window()
    second.goto(f"{studio.home}/protect")
    second.locator("#chosen b").first.wait_for()
    people = page.get_by_label("People who share a value, at least")
    people.press_sequentially("22")
    version = page.evaluate("document.body.dataset.version")
    second.locator("#option-k").fill("25")
    second.locator('output:text-is("25")').wait_for()
    # it has seen that there is something new
    page.wait_for_function("old => document.body.dataset.version !== old", arg=version)
    people.press("Tab")
    page.get_by_text("changed in another window").wait_for()
    assert (page.locator("#option-k").input_value(), people.input_value()) == ("25", "")
    second.wait_for_timeout(3000)  # it looks again, and is told nothing of what it did not ask
    assert second.locator("#option-k").input_value() == "25"
    assert second.get_by_text("changed in another window").count() == 0
    second.get_by_role("button", name="Undo").click()
    second.locator('output:text-is("10")').wait_for()
    second.close()


def test_what_is_typed_stays_when_something_else_is_chosen(studio: Served) -> None:
    page = studio.go("table", "#roles")
    page.get_by_label("Which words mean").press_sequentially("k.A.")
    page.get_by_label("Role of sex").select_option("other")
    page.locator("td.say", has_text="you chose it").first.wait_for()
    assert page.get_by_label("Which words mean").input_value() == "k.A."
    page.get_by_role("button", name="Undo").click()
    page.locator("td.say", has_text="you chose it").wait_for(state="detached")
    # Enter in a field of the settings, one of which is called "method", sends them and leads nowhere else
    studio.go("protect", "#chosen b")
    studio.rest()
    page.evaluate("window.same = true")
    page.get_by_label("People who share a value, at least").fill("22")
    page.evaluate("document.getElementById('settings').requestSubmit()")
    page.locator('#guard_people[value="22"]').wait_for()
    assert page.evaluate("window.same")
    page.get_by_role("button", name="Undo").click()
    page.locator('#guard_people[value=""]').wait_for()


def test_rows_stay_beside_the_settings(studio: Served) -> None:
    page = studio.go("protect", "#sample .sides")
    studio.rest()
    page.locator("#ways summary").click()
    page.locator("#method-lirop").scroll_into_view_if_needed()
    box = page.locator("#sample").bounding_box()
    assert 0 <= box["y"] < 200
    page.locator("#method-local-suppression").check()
    page.locator("#method-now", has_text="Local suppression").wait_for()
    assert not page.locator("#ways").evaluate("e => e.open")
    page.get_by_role("button", name="Undo").click()
    page.locator("#method-now", has_text="Hedge").wait_for()
    # what has the focus is not behind the bar
    page.locator("#sample:not(.old)").wait_for()
    studio.rest()
    page.evaluate("scrollTo(0, 0)")
    page.locator("#option-k").focus()
    at = "const at = document.activeElement, bar = document.getElementById('bar');"
    rect = "getBoundingClientRect()"
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate(f"(() => {{ {at} return bar.contains(at) || at.{rect}.bottom <= bar.{rect}.top }})()")


def test_long_names_do_not_widen_the_first_step(chromium: Any, tmp_path: Path) -> None:
    name = "answer_to_question_" * 9
    rows = {"age": list(range(30, 50)), name: ["a", "b"] * 10, "income": [1000.5 + i for i in range(20)]}
    pq.write_table(pa.table(rows), tmp_path / "long.parquet")
    with serving(chromium, tmp_path, tmp_path / "long.parquet") as studio:
        page = studio.go("table", "#roles")
        wide = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)"
        assert page.evaluate(wide) == [0, 0]
        assert not page.locator("#cancel").is_visible()


def test_rules_are_switched_on_and_survive_going_back_and_forth(chromium: Any, tmp_path: Path) -> None:
    rent, food = [i * 7 % 90 for i in range(300)], [i * 11 % 60 for i in range(300)]
    rows = {"age": [20 + i % 50 for i in range(300)], "rent": rent, "food": food}
    pq.write_table(
        pa.table({**rows, "total": list(map(sum, zip(rent, food, strict=True)))}), tmp_path / "costs.parquet"
    )
    with serving(chromium, tmp_path, tmp_path / "costs.parquet") as studio:
        page = studio.go("table", "#rules")
        assert "holds in all 300 records: total = rent + food" in page.inner_text("#rules")
        assert axe(page) == []
        rule = page.get_by_label("total is the sum of rent and food")
        assert not rule.is_checked()
        rule.check()
        page.locator("#rule-0[checked]").wait_for()
        box = page.get_by_label("Further conditions")
        box.fill("rent <= 60")
        box.press("Tab")
        page.locator("#rules-fault .alert", has_text="of 300 records break 'rent <= 60'").wait_for()
        assert box.input_value() == "rent <= 60"
        assert axe(page) == []
        box.fill("rent < 90")
        box.press("Tab")
        page.locator("#rules-fault .alert").wait_for(state="detached")
        studio.go("compare", "#columns")
        assert "In every row: total = rent + food." in page.inner_text("main")
        studio.go("release", "#same")
        command = page.locator("#command").text_content()
        assert "--rule 'total = rent + food' --rule 'rent < 90'" in command
        studio.go("table", "#rules")
        assert (rule.is_checked(), box.input_value()) == (True, "rent < 90")


def test_by_keyboard_alone(studio: Served) -> None:
    page = studio.go("protect", "#chosen b")
    studio.rest()
    focused = "document.activeElement.id || document.activeElement.textContent.trim()"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "Skip to the step"
    page.keyboard.press("Enter")
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(focused))
        if seen[-1] == "option-k":
            break
    page.keyboard.press("ArrowRight")
    page.locator('#picture svg[aria-label*="Chosen: Hedge 11, .5"]').wait_for()
    assert page.evaluate(focused) == "option-k"  # the page came anew, and the reader stayed
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('#points') !== null"):
            break
    page.keyboard.press("Enter")  # opens the list
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Take":
            break
    before = page.inner_text("#chosen")
    page.keyboard.press("Enter")
    page.locator("#chosen").filter(has_not_text=before).wait_for()
    page.get_by_role("button", name="Undo").click()
    page.locator("#chosen").filter(has_text=before).wait_for()
    page.get_by_role("button", name="Undo").click()
    page.locator('output:text-is("10")').wait_for()


@pytest.mark.parametrize(
    ("width", "scale", "colours"), [(360, 1.0, "dark"), (640, 2.0, "light")], ids=["360px and dark", "200%"]
)
def test_nothing_is_cut_off(studio: Served, chromium: Any, width: int, scale: float, colours: str) -> None:
    page = studio.other(chromium, width, scale, colours)
    for step in STEPS:
        page.goto(f"{studio.home}/{step}")
        page.locator("h1").wait_for()
        page.locator("#stop").wait_for(state="detached")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, step
        boxes = [page.locator("nav li a").nth(i).bounding_box() for i in range(5)]
        assert all(b and b["x"] >= 0 and b["x"] + b["width"] <= width for b in boxes), step
        assert len({b["y"] for b in boxes}) == 1  # one line of steps
        assert axe(page) == []
    page.context.close()


def test_promises_and_advice_are_kept_and_repeated(studio: Served, tmp_path: Path) -> None:
    page = studio.go("protect", "#chosen b")
    studio.rest()
    # the adviser names what was measured, and its button does it
    page.locator("#carried summary").click()
    assert page.locator("#carried tbody tr").count() == 3
    page.get_by_role("button", name=re.compile("^Leave .* out$")).first.click()
    page.locator("#bar button:enabled", has_text="Undo").wait_for()
    page.get_by_role("button", name="Undo").click()
    studio.go("protect", "#chosen b")
    (tmp_path / "sexes.csv").write_text("Male;any;*\nFemale;any;*\nman;any;*\nwoman;any;*\n")
    page.locator("#hierarchies summary").click()
    page.get_by_label("sex: none").set_input_files(tmp_path / "sexes.csv")
    page.get_by_text("sex: sexes.csv").wait_for()
    page.locator("#promises summary").click()
    page.get_by_label("A standard to keep").select_option("ihsn-k5")
    page.locator("#asked").wait_for()
    page.locator("#secret summary").click()
    page.get_by_label("Key file").fill(str(tmp_path / "my.key"))
    page.get_by_role("button", name="Use this key").click()
    page.get_by_text("Pseudonyms and draws: under a key").wait_for()
    assert (tmp_path / "my.key").stat().st_mode & 0o777 == 0o600
    assert axe(page) == []
    studio.go("release", "#same")
    page.get_by_label("Folder of the release").fill(str(tmp_path / "out"))
    page.get_by_role("button", name="Check and write").click()
    page.locator("#standard").wait_for()
    met = "of 3 criteria 1 met, 1 measured without a threshold, 1 not measured"
    assert met in page.inner_text("main")
    assert "--profile ihsn-k5" in page.locator("#command").text_content()
    assert "[hierarchies." in page.locator("#command").text_content()
    assert (tmp_path / "my.key").read_text().split()[-1] not in page.content()
    assert axe(page) == []
    for _ in range(3):
        page.get_by_role("button", name="Undo").click()
        page.wait_for_load_state()
    studio.go("protect", "#chosen b")
    assert page.locator("#profile").input_value() == ""


def test_out_of_memory_is_told_and_can_be_tried_again(studio: Served) -> None:
    page = studio.go("compare", "#columns")
    page.get_by_role("button", name="Attack it").click()
    page.locator("#work", has_text="Protecting and comparing").wait_for()  # trials have made way
    os.kill(_worker(studio), signal.SIGKILL)  # as the system does where memory runs out
    page.locator("#failed").wait_for()
    told = page.inner_text("#failed")
    assert told.startswith("Out of memory.")
    assert "Nothing was written" in told
    assert "leave columns out" in told
    assert axe(page) == []
    page.get_by_role("button", name="Try again").click()
    page.locator("#failed").wait_for(state="detached")
    page.locator("#columns").wait_for()


def test_what_is_wrong_is_told_where_it_is(studio: Served, chromium: Any, tmp_path: Path) -> None:
    page = studio.go("table", "#roles")
    # a name that says no format, then a broken table, then one without anything sensitive
    (tmp_path / "notes.docx").write_text("hello")
    (tmp_path / "broken.csv").write_text("age,job\n31,nurse\n44,cook,clerk\n")
    page.locator("#file").set_input_files(tmp_path / "notes.docx")
    page.get_by_text("notes.docx cannot be read: its name must end in").wait_for()
    page.locator("#file").set_input_files(tmp_path / "broken.csv")
    page.locator("#failed").wait_for()
    assert "This table cannot be read." in page.inner_text("#failed")
    assert "clerk" not in page.inner_text("main")
    page.locator("#file").set_input_files(tmp_path / "notes.docx")
    page.get_by_text("notes.docx cannot be read").wait_for()
    assert page.locator("#failed").count() == 0  # it was about the file before
    page.get_by_label("Or its path on this machine").fill("none.csv")
    page.get_by_role("button", name="Open").click()
    page.locator("#failed", has_text="none.csv").wait_for()
    assert page.get_by_label("Or its path on this machine").input_value() == "none.csv"
    few = pa.table({"age": list(range(30, 38)), "job": ["nurse", "cook"] * 4, "shoe": list(range(8))})
    pq.write_table(few, tmp_path / "few.parquet")
    page.get_by_label("Or its path on this machine").fill(str(tmp_path / "few.parquet"))
    page.get_by_role("button", name="Open").click()
    page.locator("#no-sensitive").wait_for()
    assert axe(page) == []
    page.get_by_label("Role of shoe").select_option("sensitive")
    page.locator("#no-sensitive").wait_for(state="detached")
    for step in ("protect", "compare"):
        studio.go(step, "#failed")
        assert "k is 10, but the table has only 8 rows" in page.inner_text("#failed")
    studio.go("release", "#write")
    page.get_by_role("button", name="Check and write").click()
    page.locator("#failed").wait_for()
    assert page.locator("#files").count() == 0
    assert axe(page) == []


def test_a_studio_that_is_gone_is_told(chromium: Any, tmp_path: Path) -> None:
    with serving(chromium, tmp_path) as studio:
        page = studio.page
        page.get_by_role("button", name="Use example people").click()
        page.locator("#roles").wait_for()
        (private,) = (p for p in tmp_path.iterdir() if p.name.startswith(".hedgerow"))
        assert private.stat().st_mode & 0o777 == 0o700
        studio.go("protect", "#stop")
        studio.process.send_signal(signal.SIGINT)
        studio.process.wait(30)
        page.locator("#gone").wait_for(state="visible")
        # nothing is running, and nothing comes
        assert not page.locator("#work, .coming").filter(visible=True).all()
        assert not private.exists()
