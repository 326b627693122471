"""The report: one small offline page, the same bytes, and nothing for an intruder in the recipient's."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.auditing.column_comparison import scatter
from hedgerow.errors import ParameterError
from hedgerow.report.page import render
from tests.audit.conftest import people_of


@pytest.fixture(scope="module")
def made():
    people = people_of(1500, seed=2)
    schema = hr.Schema(quasi=["age", "job", "sex"], sensitive=["pay", "ill"])
    release = hr.protect(people, schema, hr.MART(k=50, max_disclosure=0.6))
    release.verify()
    return hr.audit(people, release, schema, people=60, learners=["tree"]), release


@pytest.fixture(scope="module")
def page(made):
    audit, release = made
    return render(audit.to_dict(), plan=release.plan, checks=release.checks)


class Reader(HTMLParser):
    """Collects what accessibility and offline reading depend on."""

    def __init__(self):
        super().__init__()
        self.images, self.ids, self.targets, self.outside, self.scripts = [], [], [], [], 0
        self.levels, self.tables, self.captions, self.open = [], 0, 0, []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag not in ("meta", "img", "link", "br", "wbr"):
            self.open.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "img":
            self.images.append(found)
        if tag == "a" and found.get("href", "").startswith("#"):
            self.targets.append(found["href"][1:])
        self.outside += [v for k, v in attrs if k in ("src", "href") and not v.startswith(("data:", "#"))]
        self.scripts += tag == "script"
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        self.tables += tag == "table"
        self.captions += tag == "caption"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(page):
    reader = Reader()
    reader.feed(page)
    return reader


def test_it_is_one_offline_file_without_scripts(page):
    reader = read(page)
    assert reader.outside == []
    assert reader.scripts == 0
    assert reader.open == []
    assert len(page.encode()) <= 2_000_000


def test_it_can_be_read_without_seeing_it(page):
    reader = read(page)
    assert all(len(image["alt"]) > 20 for image in reader.images)
    assert len(reader.ids) == len(set(reader.ids))
    assert set(reader.targets) <= set(reader.ids)
    assert reader.tables == reader.captions
    assert all(b - a <= 1 for a, b in zip(reader.levels, reader.levels[1:], strict=False))
    assert '<html lang="en">' in page


def test_contrast_of_text_is_at_least_4_5():
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    from importlib import resources

    text = resources.files("hedgerow.report").joinpath("style.css").read_text()
    schemes = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", line)) for line in text.splitlines()]
    schemes = [found for found in schemes if "ink" in found]
    assert len(schemes) == 3  # light, dark, print
    for found in schemes:
        for ground in ("paper", "card", "code"):
            for name in ("ink", "soft", "leaf", "amber", "red", "link"):
                light, dark = sorted((luminance(found[name]), luminance(found[ground])))[::-1]
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, ground)


def test_the_same_bytes_on_every_run(made, page):
    audit, release = made
    assert render(audit.to_dict(), plan=release.plan, checks=release.checks) == page


def test_templates_are_compiled_once(made, page, monkeypatch):
    audit, release = made

    def again(*_, **__):
        raise AssertionError("a template was compiled again")

    monkeypatch.setattr("jinja2.Environment.compile", again)
    assert render(audit.to_dict(), plan=release.plan, checks=release.checks) == page


def test_it_tells_promises_attacks_and_what_was_not_measured(page):
    for part in (
        "Promised, and checked",
        "regression, tree",
        "Not measured: ",
        "membership",
        "Formula",
        "max_disclosure",
    ):
        assert part in page


def test_the_recipient_of_drawn_values_is_not_told_that_they_are_a_persons():
    people = hr.datasets.make_people(300, seed=2).select(["age", "hours_per_week", "income"])
    schema = hr.Schema(quasi=["age", "hours_per_week"], sensitive=["income"])
    says = "reads every sensitive value"
    noise, drawn = hr.NoiseAddition(random_state=1), hr.Hedge()
    for method, more, is_said in ((drawn, {"random_state": 1}, False), (noise, {"guard": None}, True)):
        release = hr.protect(people, schema, method, **more)
        audit = hr.audit(people, release, attacks=False, learning=False)
        assert (says in render(audit.to_dict(), audience="recipient", plan=release.plan)) == is_said


def test_the_recipient_gets_nothing_that_helps_an_intruder(made, page):
    audit, release = made
    recipient = render(audit.to_dict(), audience="recipient", plan=release.plan)
    assert "regression (tree)" in recipient
    assert "attacks that were tried" in page
    assert "No attack was tried" in recipient  # their results stay with the steward
    for word in (
        "worst group",
        "Which quasi-identifiers give people away",
        "Original</th>",
        "Over control",
        '<th scope="row">threshold</th>',
        "random_state",
    ):
        assert word in page
        assert word not in recipient
    assert read(recipient).images == []


def test_scatters_are_binned_above_1000_points(made):
    few = scatter(np.arange(2, 900), np.linspace(0, 1, 898))
    many = scatter(np.arange(2, 3000), np.linspace(0, 1, 2998))
    assert len(few["sizes"]) == 898
    assert "sizes" not in many
    assert sum(map(sum, many["classes"])) == 2998


def test_names_are_escaped(made):
    people = people_of(300).rename(columns={"pay": "<b>pay</b> & $x$"})
    schema = hr.Schema(quasi=["age"], sensitive=["<b>pay</b> & $x$"])
    page = render(hr.audit(people, people, schema, people=20, learners=["tree"]).to_dict())
    assert "<b>pay" not in page
    assert "&lt;b&gt;pay" in page


def test_pictures_have_neither_date_nor_random_names(page):
    sources = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert len(sources) >= 6
    for source in sources:
        svg = base64.b64decode(source).decode()
        assert "<dc:date>" not in svg
        assert "<script" not in svg


def test_unknown_audience(made):
    with pytest.raises(ParameterError, match="audience"):
        render(made[0].to_dict(), audience="everybody")


def test_altered_records_are_told_by_linkage_and_not_by_classes():
    people = people_of(300, seed=3)
    schema = hr.Schema(quasi=["age", "pay"], sensitive=["ill"])
    release = hr.protect(people, schema, hr.NoiseAddition(0.3, random_state=1))
    audit = hr.audit(people, release, attacks=False, learning=False).to_dict()
    page = render(audit, plan=release.plan, checks=release.checks)
    linked = f"{100 * audit['risk']['linkage']['highest']:.1f}%"
    for part in ("finds the person's record", linked, "(DLD)", "(PLD)", "noise addition"):
        assert part in page
    for part in ("k, the smallest group", "What the groups give away", "records in the group"):
        assert part not in page
    recipient = render(audit, audience="recipient", plan=release.plan)
    assert linked in recipient
    assert "Original</th>" not in recipient
    for text in (page, recipient):
        assert read(text).tables == read(text).captions


def test_a_saved_audit_gives_the_same_page(made, tmp_path):
    audit, release = made
    audit.save(tmp_path / "audit.json")
    saved = json.loads((tmp_path / "audit.json").read_text())
    assert render(saved, plan=release.plan) == render(audit.to_dict(), plan=release.plan)
