"""Whether a release meets what was asked, the day that a report names, tables on a telephone."""

from __future__ import annotations

import re

import pytest

import hedgerow as hr
from hedgerow.report.narrow import stacked
from hedgerow.report.page import render
from tests.audit.conftest import people_of

pytestmark = pytest.mark.filterwarnings("ignore")
QUICK = {"attacks": False, "learning": False}


@pytest.fixture(scope="module")
def people():
    return people_of(600, seed=5)


def page_of(people, method, schema, **more):
    release = hr.protect(people, schema, method)
    found = hr.audit(people, release, **QUICK)
    checks = more.pop("checks", release.checks)
    return render(found.to_dict(), plan=release.plan, checks=checks, **more)


def verdict(page):
    text = re.search(r'<p class="verdict.*?</p>', page, re.S)[0]
    return " ".join(re.sub("<[^>]+>", "", text).split()), "verdict kept" in text


GROUPS = hr.Schema(quasi=["age", "job", "sex"], sensitive=["pay"])


def test_what_was_promised_and_reached_is_the_verdict(people):
    told, kept = verdict(page_of(people, hr.MART(k=20, max_disclosure=0.5), GROUPS))
    assert kept
    assert told.startswith("Meets what was asked. k-anonymity: asked 20, reached 2")
    assert "disclosure: asked at most 0.500, reached 0." in told


def test_a_threshold_that_is_not_reached_is_named(people):
    page = page_of(people, hr.Mondrian(k=5), GROUPS, k=100, max_disclosure=0.001)
    told, kept = verdict(page)
    assert not kept
    assert told.startswith("Does not meet what was asked.")
    assert "smallest group: asked 100, reached 5, does not meet" in told
    assert "disclosure of pay: asked 0.001" in told


def test_thresholds_that_a_method_checks_itself_count(people):
    schema = hr.Schema(quasi=["age", "job"], sensitive=["ill"])
    told, kept = verdict(page_of(people, hr.RandomizedResponse(1.3, random_state=1), schema))
    assert "asked. Largest risk of a record: asked at most 100% of the cap, reached 100%" in told
    assert kept


def test_where_nothing_was_asked_nothing_is_met(people):
    numbers = hr.Schema(quasi=["age"], sensitive=["pay"])
    told, kept = verdict(page_of(people, hr.NoiseAddition(0.2, random_state=1), numbers))
    assert told.startswith("No threshold was chosen.")
    assert not kept


def test_a_report_names_the_day_that_it_is_given(people):
    release = hr.protect(people, GROUPS, hr.Mondrian(k=5))
    page = render(hr.audit(people, release, date="2026-01-31", **QUICK).to_dict())
    assert "measured 2026-01-31" in page
    with pytest.raises(hr.HedgerowError, match="date must be a day"):
        hr.audit(people, release, date="yesterday")


def test_wide_tables_know_their_headings():
    head = "".join(f'<th scope="col" class="n">H{i}</th>' for i in range(4))
    row = '<tr><th scope="row">a</th><td class="n">1</td><td>2</td><td>3</td></tr>'
    page = stacked(f"<table><thead><tr>{head}</tr></thead>\n<tbody>{row}\n</tbody></table>")
    assert '<table class="stack">' in page
    assert '<th scope="row" data-head="H0">a</th><td data-head="H1" class="n">1</td>' in page
    small = "<table><thead><tr></tr></thead><tbody></tbody></table>"
    assert stacked(small) == small


def test_a_masked_release_alone_says_first_that_its_groups_say_nothing(people, tmp_path):
    numbers = hr.Schema(quasi=["age"], sensitive=["pay"])
    release = hr.protect(people, numbers, hr.NoiseAddition(0.2, random_state=1))
    folder = release.write(tmp_path / "out")
    found = hr.audit(None, folder)
    text = str(found)
    assert text.index("groups of equal cells say nothing") < text.index("k (smallest group)")
    page = render(found.to_dict(), plan=release.plan)
    assert "Not measured: the method altered values" in page
