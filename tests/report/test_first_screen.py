"""The first screen: two answers, records before and after, and a look-up that counts as pandas does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.class_risk import other_columns
from hedgerow.io.read import read
from hedgerow.notation import percent
from hedgerow.report.page import render
from hedgerow.report.reasons import reasons
from tests.audit.conftest import people_of

pytestmark = pytest.mark.filterwarnings("ignore")
SCHEMA = hr.Schema(quasi=["age", "job", "sex"], sensitive=["pay", "ill"])
QUICK = {"attacks": False, "learning": False}


@pytest.fixture(scope="module")
def made():
    people = people_of(900, seed=5)
    people.loc[::17, "age"] = np.nan
    people.loc[3::19, "job"] = None
    release = hr.protect(people, SCHEMA, hr.Mondrian(k=10))
    return people, release, hr.audit(people, release, **QUICK)


def page_of(audit, release=None, **more):
    if release is not None:
        more |= {"plan": release.plan, "checks": release.checks}
    return render(audit.to_dict(), examples=audit.shown, **more)


def covered(column, cell, code):
    """Whether a released cell may stand for a value, as the page's script decides it."""
    what = column["cells"][cell]
    if what is None:
        return True
    if column["numbers"]:
        return bool(what[2]) if code == len(column["labels"]) else what[0] <= code <= what[1]
    return code in what


def found(data, side, wanted):
    kept = range(len(data[side]["n"]))
    for j, code in wanted.items():
        keys, column = data[side]["keys"][j], data["columns"][j]
        kept = [i for i in kept if (keys[i] == code if side == "before" else covered(column, keys[i], code))]
    return kept


def holds(cell, value):
    """Whether a cell of Mondrian, as its reader sees it, may stand for a value."""
    if pd.isna(cell):
        return pd.isna(value)
    parts = str(cell).split("+")
    if pd.isna(value):
        return "(missing)" in parts
    if isinstance(value, str):
        return value in parts
    ends = re.fullmatch(r"\[(.+)-(.+)\]", parts[0])
    low, high = (ends[1], ends[2]) if ends else (parts[0], parts[0])
    return low != "(missing)" and float(low) <= value <= float(high)


def test_who_fits_a_description_is_counted_as_by_hand(made):
    people, release, audit = made
    data = json.loads(audit.shown.script.replace("\\u003c", "<"))
    table = release.table
    names = [column["name"] for column in data["columns"]]
    assert names == ["age", "job", "sex"]
    rng = np.random.default_rng(0)
    for _ in range(60):
        person = people.iloc[rng.integers(len(people))]
        some = rng.permutation(3)[: rng.integers(1, 4)]
        wanted, fits, may = {}, np.ones(len(people), bool), np.ones(len(table), bool)
        for j in some:
            value, labels = person[names[j]], data["columns"][j]["labels"]
            gone = pd.isna(value)
            text = None if gone else f"{value:g}" if names[j] == "age" else value
            wanted[j] = len(labels) if gone else labels.index(text)
            own = people[names[j]]
            fits &= own.isna() if gone else own == value
            may &= [holds(cell, value) for cell in table[names[j]]]
        count = {side: sum(data[side]["n"][i] for i in found(data, side, wanted)) for side in ("before", "after")}
        assert count == {"before": fits.sum(), "after": may.sum()}, wanted


def test_what_is_known_of_who_fits_is_that_of_the_groups(made):
    _people, release, audit = made
    data = audit.shown.people
    pay, ill = data["after"]["told"]
    groups = release.table.groupby(["age", "job", "sex"], dropna=False)
    spread = np.array(sorted((len(g), g.pay.std(ddof=0)) for _, g in groups))
    told = zip(data["after"]["n"], pay, strict=True)
    told = np.array(sorted((n, square**0.5) for n, (_, _, square) in told))
    assert told == pytest.approx(spread, rel=1e-6)
    assert sorted(max(times) for _, times in ill) == sorted(g.ill.value_counts(dropna=False).max() for _, g in groups)


def test_the_page_counts_in_a_browser(made, tmp_path):
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("Chromium is not installed")
    people, release, audit = made
    page = page_of(audit, release)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.S)
    fill = (
        "<script>const f=document.getElementById('lookup-2');"
        "f.selectedIndex=1;f.dispatchEvent(new Event('input',{bubbles:true}));</script>"
    )
    # as it is: the policy lets the page's own script run and no other
    (tmp_path / "page.html").write_text(page.replace("</main>", fill + "</main>"))
    # without the policy: what the script says when somebody chooses
    free = re.sub(r"<meta http-equiv.*?>", "", page).replace("</main>", fill + "</main>")
    (tmp_path / "free.html").write_text(free)
    shown = {}
    for name in ("page", "free"):
        made_page = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
             f"--user-data-dir={tmp_path / name}", str(tmp_path / f"{name}.html")],
            capture_output=True, text=True, timeout=120, check=True,
        ).stdout  # fmt: skip
        answer = re.search(r'id="lookup-answer".*?</p>', made_page, re.S)
        shown[name] = re.sub(r"<.*?>", "", answer[0])
    n = int((people.sex == sorted(people.sex.dropna().unique())[0]).sum())
    assert "Before: 900 records fit" in shown["page"]
    assert f"Before: {n} records fit" in shown["free"]
    assert script


@pytest.mark.parametrize("width", [500, 1280])
def test_neither_the_contents_nor_the_plan_are_cut(made, tmp_path, width):
    """They stood in lines that had to be scrolled sideways, and ended at the edge of the screen."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("Chromium is not installed")
    _, release, audit = made
    measure = (
        f"<pre>{'what a plan says of a column ' * 20}</pre>"
        "<script>const parts=[...document.querySelectorAll('nav ul,pre')];"
        "document.title=[parts.length>1&&parts.every(p=>p.scrollWidth<=p.clientWidth),innerWidth].join()</script>"
    )
    page = re.sub(r"<meta http-equiv.*?>", "", page_of(audit, release)).replace("</main>", measure + "</main>")
    (tmp_path / "page.html").write_text(page)
    shown = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"--window-size={width},900",
         f"--user-data-dir={tmp_path / 'browser'}", str(tmp_path / "page.html")],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    assert re.search(r"<title>(.*?)</title>", shown)[1] == f"true,{width}"


def test_records_before_and_after_belong_together(made):
    _people, _release, audit = made
    shown = audit.shown
    assert shown.names == ["age", "job", "sex", "pay", "ill"]
    assert len(shown.before) == len(shown.after) == 5
    for was, now in zip(shown.before, shown.after, strict=True):
        assert was[3:] == now[3:]
        age = float("nan") if was[0] == "(missing)" else float(was[0])
        assert holds(np.nan if now[0] == "(missing)" else now[0], age)


def test_only_the_stewards_page_of_the_audit_itself_shows_people(made):
    _, release, audit = made
    page = page_of(audit, release)
    assert "Look up a person" in page
    assert "before and after</h2>" in page
    saved = render(audit.to_dict(), plan=release.plan, checks=release.checks)
    recipient = page_of(audit, release, audience="recipient")
    for text in (saved, recipient, json.dumps(audit.to_dict())):
        assert "lookup-form" not in text
        assert "before and after</h2>" not in text.replace("Columns before and after</h2>", "")
    assert "script-src" in page
    assert "script-src" not in recipient


def test_values_cannot_leave_their_place_in_the_page():
    people = people_of(300)
    evil = "</script><script>alert(1)</script><b>"
    people["job"] = np.where(people["job"] == people["job"].iloc[0], evil, "x")
    release = hr.protect(people, SCHEMA, hr.Mondrian(k=20))
    page = page_of(hr.audit(people, release, **QUICK), release)
    assert evil not in page
    assert page.count("<script") == 2  # the data and what reads it


def test_many_different_rows_are_not_looked_up(monkeypatch, made):
    people, release, _ = made
    monkeypatch.setattr(sys.modules["hedgerow.auditing.single_records"], "MOST", 20)
    page = page_of(hr.audit(people, release, **QUICK), release)
    assert "Look up a person" not in page
    assert "before and after</h2>" in page


def test_the_cap_and_what_was_not_promised_are_said(made):
    people, release, audit = made
    page = page_of(audit, release)
    assert "No cap on this was promised." in page
    assert "Not promised: a cap on what a group gives away about pay" in page
    capped = hr.protect(people, SCHEMA, hr.MART(k=10, max_disclosure=0.4))
    page = page_of(hr.audit(people, capped, **QUICK), capped)
    assert "Promised: at most 40%." in page
    assert "the cap, 40%" in page
    assert "Does not hold" not in page
    broken = [check if check.name != "k-anonymity" else None for check in capped.checks]
    broken = [c for c in broken if c] + [hr.guarantees.Check("k-anonymity", 10, 3, False, "1 small")]
    page = render(audit.to_dict(), plan=capped.plan, checks=broken)
    assert 'class="card bad"' in page
    assert "Does not hold.</strong>" in page


def test_shares_of_records_by_disclosure_add_up(made):
    _, _release, audit = made
    for column in audit.to_dict()["risk"]["release"]["sensitive"].values():
        told = column["disclosure"]
        assert len(told["shares"]) == 20
        assert sum(told["shares"]) == pytest.approx(1)
        highest = max(i for i, share in enumerate(told["shares"]) if share)
        assert highest / 20 < told["worst"] <= (highest + 1) / 20 + 1e-9
        below = sum(told["shares"][: int(np.ceil(20 * told["median_over_records"] - 1e-9))])
        assert below >= 0.5


def test_columns_released_as_they_are_are_measured():
    table = read(pd.DataFrame({"age": [1, 1, 1, 1], "note": ["a", "b", "b", "b"], "pay": [1, 2, 3, 4]}))
    schema = hr.Schema(quasi=["age"], sensitive=["pay"], other=["note"])
    assert other_columns(table, schema) == {
        "columns": ["note"], "unique": 0.25, "by_quasi": 0.0, "together": 0.25,
    }  # fmt: skip
    assert other_columns(table, schema.replace(other=[], identifiers=["note"])) is None


def test_the_surest_attack_stands_beside_the_cap(made):
    """Who knows the sensitive values as well finds out who is in the table; no cap speaks of that."""
    people, release, _ = made
    rest = people_of(300, seed=77)
    audit = hr.audit(people, release, control=rest, people=60, learners=["tree"], learning=False)
    page = page_of(audit, release)
    surest = max(
        (a for a in audit.attacks if a["over_control"] is not None), key=lambda a: a["over_control_interval"][0]
    )
    assert surest["over_control_interval"][0] > 0
    reached, control = (percent(surest[side], 0) for side in ("success", "control"))
    assert (surest["attack"], surest["learner"]) == ("predicate singling out", "group and value")
    assert "because whoever knows a person&#39;s exact pay and ill finds" in page
    assert "can still find that row" not in page  # the same once more
    data = audit.to_dict()
    data["risk"]["found"] = None
    told = next(each for each in reasons(data, release.plan) if "person's exact pay or ill can still find" in each)
    assert f"{reached} of the attempts succeed, and {control} of those on people who are not" in told
    assert "can still find that row" not in page_of(audit, release, audience="recipient")


def test_disclosure_has_one_scale(made):
    _, release, audit = made
    worst = audit.risk["release"]["sensitive"]["pay"]["disclosure"]["worst"]
    for text in (page_of(audit, release), str(audit)):
        assert text.count(f"{worst:.3f}") >= 2
        assert f"{100 * worst:.1f}%" not in text


def test_records_that_look_alike_in_several_buckets_are_each_told_by_theirs():
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"age": rng.integers(1, 4, 90), "ill": rng.choice(list("abcdef"), 90)})
    schema = hr.Schema(quasi=["age"], sensitive=["ill"])
    release = hr.protect(people, schema, hr.Anatomy(l=3, random_state=1))
    side = hr.audit(people, release, **QUICK).shown.people["after"]
    assert sum(side["n"]) == 90
    told = np.zeros(6)
    for n, (values, times) in zip(side["n"], side["told"][0], strict=True):
        told[values] += n * np.array(times) / sum(times)
    assert told == pytest.approx(people.ill.value_counts().sort_index().to_numpy())


def test_records_shown_do_not_depend_on_the_order_of_rows(made):
    people, _, audit = made
    shuffled = people.sample(frac=1, random_state=1)
    again = hr.audit(shuffled, hr.protect(shuffled, SCHEMA, hr.Mondrian(k=10)), **QUICK)
    assert (again.shown.before, again.shown.after) == (audit.shown.before, audit.shown.after)
