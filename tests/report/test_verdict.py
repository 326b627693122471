"""Whether a release meets what was asked, the day that a report names, tables on a telephone."""

from __future__ import annotations

import html
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.report.cards import cards
from hedgerow.report.figures import three_numbers
from hedgerow.report.page import answers, render
from hedgerow.report.pictures import class_sizes
from hedgerow.report.reasons import reasons
from hedgerow.report.tables import stacked
from hedgerow.report.verdict import verdict as judged
from hedgerow.workflow.outcome import counts_off, outcome
from tests.audit.conftest import people_of

pytestmark = pytest.mark.filterwarnings("ignore")
QUICK = {"attacks": False, "learning": False}


@pytest.fixture(scope="module")
def people():
    return people_of(600, seed=5)


def page_of(people, method, schema, guard=None, **more):
    release = hr.protect(people, schema, method, guard=guard)
    found = hr.audit(people, release, **QUICK)
    checks = more.pop("checks", release.checks)
    return render(found.to_dict(), plan=release.plan, checks=checks, **more)


def verdict(page):
    text = re.search(r'<p class="verdict.*?</p>', page, re.S)[0]
    return " ".join(re.sub("<[^>]+>", "", text).split()), "verdict kept" in text


GROUPS = hr.Schema(quasi=["age", "job", "sex"], sensitive=["pay"])
# without ranges that could end on a rare value
NO_RANGES = hr.Schema(quasi=["job", "sex"], sensitive=["pay"])


def test_what_was_promised_and_reached_is_the_verdict(people):
    told, kept = verdict(page_of(people, hr.MART(k=20, max_disclosure=0.5), NO_RANGES, "redraw"))
    assert not kept  # green takes attacks
    assert told.startswith("Promises kept; attacks not tried. Met: k-anonymity (asked at least 20, reached ")
    assert "disclosure (asked at most 0.5, reached 0." in told


def test_counts_that_are_exact_are_not_told_as_an_error_of_nothing(people):
    """They were "off by 0.0% or less"."""
    found = hr.audit(people, people, GROUPS, **QUICK)
    says = [*counts_off(found)[:1], cards(found.to_dict(), None, False)[1].say]
    assert ["as in the original" in text for text in says] == [True, True]
    assert not [text for text in says if "off by 0" in text or "off by <b>0" in text]


def test_a_figure_has_as_many_digits_in_a_sentence_as_in_its_table(people):
    """The worst group was .50 in one and .496 in the other."""
    release = hr.protect(people, GROUPS, hr.Mondrian(k=10))
    found = hr.audit(people, release, learning=False, attacks=False, inference=True, learners=["linear"])
    data = found.to_dict()
    (_, groups, inferred, advantage), *_ = three_numbers(data)
    said = " ".join(text for text, _ in answers(data, release.plan, release.checks)[0])
    assert f"Measured: {groups.split(', ')[0]} in the worst group" in said
    facts = [figure for figure, _ in cards(data, release.plan, False)[0].facts]
    assert inferred.split(", ")[0] in [figure.split(" | ")[0] for figure in facts]
    assert advantage.split()[0] in [figure.lstrip("+") for figure in facts]


def test_a_threshold_that_is_not_reached_is_named(people):
    page = page_of(people, hr.Mondrian(k=5), GROUPS, k=100, max_disclosure=0.001)
    told, kept = verdict(page)
    assert not kept
    assert told.startswith(
        "Do not share, because the smallest group has 5 records (100 were asked), and groups give away"
    )
    assert " of pay (0.001 was allowed). Met: k-anonymity (asked at least 5, reached 5)." in told


def test_thresholds_that_a_method_checks_itself_count(people):
    schema = hr.Schema(quasi=["age", "job"], sensitive=["ill"])
    told, _ = verdict(page_of(people, hr.RandomizedResponse(1.3, random_state=1), schema))
    assert told.startswith("Promises kept; of the attacks only linking was tried. Met: ")
    assert "Met: largest risk of a record (asked at most 100% of the cap, reached 100%)." in told


def test_where_nothing_was_asked_nothing_is_met(people):
    numbers = hr.Schema(quasi=["age"], sensitive=["pay"])
    page = page_of(people, hr.NoiseAddition(0.2, random_state=1), numbers)
    assert "<li>no limit was chosen, so nothing says whether what was measured is enough</li>" in page
    assert not verdict(page)[1]


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


def test_what_nothing_bounds_is_said_in_the_verdict_and_is_never_green(people):
    page = page_of(people, hr.Mondrian(k=5), GROUPS)
    told, kept = verdict(page)
    assert not kept
    assert told.startswith(
        "Share with care, because whoever knows a person&#39;s exact pay finds 72% of the records, where chance"
    )
    assert "groups give away more than half of pay, the worst 0.9" in page
    page = page_of(people, hr.MART(k=20, max_disclosure=0.6), GROUPS)
    assert not verdict(page)[1]
    assert "whoever knows a person&#39;s exact pay finds" in page
    told, kept = verdict(page_of(people, hr.MART(k=20, max_disclosure=0.6), NO_RANGES, "redraw"))
    assert told.startswith("Promises kept; attacks not tried.")


@pytest.mark.parametrize("method", [hr.Anatomy(l=2), hr.Mondrian(), hr.Incognito()])
def test_the_terminal_the_report_and_the_notebook_give_one_verdict(people, method):
    """By default none of these methods caps what a group gives away, and each gives away much."""
    schema = hr.Schema(quasi=["age", "job", "sex"], sensitive=["pay"])
    release = hr.protect(people, schema, method)
    found = hr.audit(people, release, **QUICK)
    said = found.unbounded
    assert said
    assert said == release.summary()["unbounded"]
    assert set(said) <= set(release.cautions)
    page = render(found.to_dict(), plan=release.plan, checks=release.checks)
    assert not verdict(page)[1]
    lines = outcome(release, found)
    assert lines[0].startswith("Share with care, because ")
    for text in said:
        assert f"- also: {text}" in lines or text in lines[0]
        assert f"- not bounded: {text}" in str(found).splitlines()
        assert text in html.unescape(page)
        assert text in html.unescape(found._repr_html_())


def test_a_method_that_changed_nothing_is_not_green(people):
    schema = hr.Schema(quasi=["sex"], sensitive=["ill"])
    release = hr.protect(people, schema, hr.RandomizedResponse(1.01, random_state=1))
    found = hr.audit(people, release, **QUICK)
    page = render(found.to_dict(), plan=release.plan, checks=release.checks)
    assert not verdict(page)[1]
    assert "the method left every cell, or nearly every one, as it was in: sex" in page


@pytest.mark.parametrize("diversity", ["distinct", "entropy", "recursive"])
def test_diversity_is_a_least_and_never_a_most(people, diversity):
    """It said "asked at most 2.00, reached 6.26"; recursive diversity has a c to stay below."""
    schema = hr.Schema(quasi=["age", "job"], sensitive=["ill"])
    l, c = 1.2 if diversity == "entropy" else 2, 3.5
    method = hr.Incognito(k=50, l=l, diversity=diversity, c=c)
    told, _ = verdict(page_of(people, method, schema))
    limit = "below 3.5" if diversity == "recursive" else f"at least {l:g}"
    assert f"{diversity} l-diversity (asked {limit}, reached " in told


def test_a_limit_is_printed_as_it_was_set(people):
    told, _ = verdict(page_of(people, hr.MART(k=20, max_disclosure=0.6125), GROUPS))
    assert "disclosure (asked at most 0.6125, reached 0." in told
    page = page_of(people, hr.MART(k=20, max_disclosure=0.6125), GROUPS)
    assert "the cap, 61.25%" in page
    assert "Promised: at most 61.25%." in page


def test_a_few_that_are_alone_among_many_are_not_none():
    """10 of 3,000 read as 0%."""
    sizes = [{"from": 1, "to": 1, "classes": 10, "records": 10}]
    sizes.append({"from": 2, "to": 4000, "classes": 1, "records": 2990})
    side = {"classes": {"histogram": sizes, "k": 1}}
    assert "In the original 0.33% of the records" in class_sizes({"original": side, "release": side}).alt


def by_scores(values):
    """The disclosure of some records' numbers by squared, ranked and local score, the largest."""
    n = len(values)
    levels, counts = np.unique(values, return_counts=True)
    below = np.cumsum(counts)
    cuts = {levels[np.searchsorted(below * 16, b * n)] for b in range(1, 16)}
    for i in np.flatnonzero(counts * 16 > n):
        cuts |= {levels[i], levels[max(i - 1, 0)]} if i else {levels[i]}
    edges = np.array(sorted(cuts - {levels[-1]}))
    cells = np.eye(len(edges) + 1)[np.searchsorted(edges, values)]
    scores = []
    for vectors in (values[:, None], (values[:, None] <= edges).astype(float), cells):
        public = vectors.mean(axis=0)
        loss = ((vectors - public) ** 2).sum(axis=1)
        scores.append((vectors, public, np.maximum(loss, loss.mean() / 4)))

    def of(rows):
        return max(
            len(rows) * ((v[rows].mean(axis=0) - public) ** 2).sum() / loss[rows].sum() for v, public, loss in scores
        )

    return of


def test_groups_of_altered_rows_that_give_away_much_are_counted():
    """Microaggregation leaves incomes as they were, in groups of at least k equal rows."""
    quasi = ["age", "hours_per_week"]
    table = hr.datasets.make_people(800, seed=1).to_pandas()
    table = table[[*quasi, "income"]].astype(float).fillna(0)
    schema = hr.Schema(quasi=quasi, sensitive=["income"])
    release = hr.protect(table, schema, hr.Microaggregation(k=3))
    incomes, of = release.table["income"].to_numpy(), by_scores(release.table["income"].to_numpy())
    groups = list(release.table.groupby(quasi).indices.values())
    told, sizes = np.array([of(rows) for rows in groups]), np.array([len(rows) for rows in groups])
    one = np.array([len(np.unique(incomes[rows])) == 1 for rows in groups])
    over = told > 0.5
    assert over.sum() > one.sum()
    found = hr.audit(table, release, **QUICK)
    said = [
        f"{over.sum():,} of {len(groups):,} groups give away more than half of income, the worst "
        f"{told.max():.3g} of 1 ({sizes[over].sum():,} records), and no cap was promised"
    ]
    if one.any():
        said.insert(
            0,
            f"in {one.sum():,} of {len(groups):,} groups everybody has the same value of income, which "
            f"the group reveals ({sizes[one].sum():,} records)",
        )
    assert found.unbounded == release.summary()["unbounded"] == said
    assert set(said) <= set(release.cautions)
    page = render(found.to_dict(), plan=release.plan, checks=release.checks)
    assert not verdict(page)[1]
    assert outcome(release, found)[0].startswith("Share with care, because ")


@pytest.mark.parametrize("method", [hr.NoiseAddition(0.2, random_state=1), hr.RankSwapping(random_state=1)])
def test_rows_that_are_altered_one_by_one_form_no_groups_that_are_counted(method):
    table = hr.datasets.make_people(300, seed=1).to_pandas()[["age", "income"]].astype(float).fillna(0)
    schema = hr.Schema(quasi=["age"], sensitive=["income"])
    release = hr.protect(table, schema, method)
    said = [*hr.audit(table, release, **QUICK).unbounded, *release.summary()["unbounded"]]
    assert not [text for text in said if "groups" in text]


def test_limits_of_whoever_audits_drawn_rows_are_held_against_the_groups_of_the_plan(people):
    release = hr.protect(people, GROUPS, random_state=1)
    found = hr.audit(people, release, **QUICK)
    told, kept = verdict(render(found.to_dict(), plan=release.plan, k=30, max_disclosure=0.3))
    assert not kept
    assert told.startswith("Do not share, because the smallest group has 2")
    assert " records (30 were asked), and groups give away up to 0." in told
    assert found.broken(k=30)


def test_what_runs_do_not_hide_is_not_said_to_be_unguarded():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.integers(20, 70, 900), **{f"x{i}": rng.lognormal(5, 1, 900) for i in range(4)}})
    schema = hr.Schema(quasi=["age"], sensitive=[f"x{i}" for i in range(4)])
    page = page_of(table, hr.MART(k=5), schema, "runs")
    assert "what is told of them instead is together" in page
    assert "released unchanged (--guard" not in page


def test_an_exact_column_beside_an_altered_one_asks_for_care(people):
    table = pa.table(people) if not isinstance(people, pa.Table) else people
    n = table.num_rows
    table = pa.table({"age": table["age"], "pay": np.arange(n) * 7 + 20_000, "bill": np.arange(n) * 3 + 500})
    noised = table.set_column(2, "bill", pa.array(np.arange(n)[::-1] * 3 + 501))
    schema = hr.Schema(quasi=["age"], sensitive=["pay", "bill"])
    found = hr.audit(table, noised, schema=schema, **QUICK)
    page = render(found.to_dict(), k=1)
    told, kept = verdict(page)
    assert not kept
    assert told.startswith("Share with care")
    assert "whoever knows a person&#39;s exact pay finds" in page


def test_an_unchanged_column_of_unique_values_asks_for_care_without_a_report(people):
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"], other=["plate"])
    table = pa.table(people) if not isinstance(people, pa.Table) else people
    table = table.append_column("plate", pa.array([f"p{i}" for i in range(table.num_rows)]))
    release = hr.protect(table, schema, random_state=1)
    assert outcome(release)[0].startswith("Share with care")


ATTACK = {
    "attack": "membership",
    "learner": "strongest",
    "target": "quasi-identifiers",
    "success": 0.674,
    "control": 0.5,
}
SURE = ATTACK | {"over_control": 0.347, "over_control_interval": [0.16, 0.521], "interval": [0.58, 0.76]}


def of_table(**measured):
    return {"table": {"yardstick": "attacks", "sensitive": ["pay"]}, **measured}


def test_an_attack_that_surely_gains_over_its_control_is_a_reason_for_care():
    """It was "Share" above an attack that was right in 67% of the cases."""
    (why,) = reasons(of_table(attacks=[SURE]), None)
    assert why.startswith("an attack tells a person in the table from one who is not in 67% of the cases, where a coin")
    assert reasons(of_table(attacks=[SURE | {"over_control_interval": [-0.1, 0.5]}]), None) == []
    # of several membership attacks only the one that was chosen on other people counts
    assert reasons(of_table(attacks=[SURE | {"learner": "nearest"}]), None) == []


def test_people_alone_with_their_row_who_find_an_equal_row_are_a_reason_for_care():
    equal = {"rows": 0.24, "copied": 24, "members": 0.11, "strangers": None, "chance": 0.01, "p_value": 0.001}
    plan = hr.protect(people_of(60, seed=5), NO_RANGES, hr.Mondrian(k=5)).plan
    (why,) = reasons(of_table(risk={"equal": equal | {"strangers": 0.04}}), plan)
    assert why == "11% of the people whose row nobody else has find an equal row in the release"
    # what strangers find as well was not taken from the people of the table
    assert reasons(of_table(risk={"equal": equal | {"strangers": 0.1}}), plan) == []
    # nor is what chance, which is estimated, does not explain: that no row of a plan was copied was verified
    assert reasons(of_table(risk={"equal": equal}), plan) == []


def test_whoever_tries_more_attacks_finds_no_more_by_chance():
    """Of forty attacks without any gain one lay above its control, and turned a verdict from green to amber."""
    one = SURE | {"attack": "linking", "over_control": 0.05, "over_control_interval": [0.01, 0.09]}
    assert len(reasons(of_table(attacks=[one]), None)) == 1
    assert reasons(of_table(attacks=[one] * 40), None) == []
    assert len(reasons(of_table(attacks=[SURE] * 40), None)) == 1


def test_rare_ends_and_counts_that_are_far_off_are_reasons_for_care():
    data = of_table(parameters={"k": 10}, utility={"queries": {"range": {"median": 0.965, "p90": 10.57}}})
    data["table"]["extremes"] = {"age": {"cells": 5, "records": 284}}
    ends, counts = reasons(data, None)
    assert ends.startswith("5 age ranges end on a value that fewer than 10 records have")
    assert counts.endswith("are off by 96% or more, and one in ten by 1,057% or more")


def test_limits_that_nobody_gave_are_those_of_the_plan(people):
    release, plan = (hr.protect(people, GROUPS, hr.Mondrian(k=k), guard="redraw") for k in (5, 20))
    data = hr.audit(people, release, **QUICK).to_dict()
    assert judged(data, plan.plan, (), ())["broken"] == ["the smallest group has 5 records (20 were asked)"]
    assert judged(data, plan.plan, (), (), k=5)["broken"] == []


def test_membership_is_told_in_pairs_and_not_as_a_share_of_members(people):
    """67% of pairs, where a coin has 50%, was told as 35% more of the members."""
    data = hr.audit(people, people, GROUPS, paired=False, **QUICK).to_dict()
    assert "are compared with the same attacks" not in str(render(data))
    card, _ = cards(data | {"attacks": [SURE]}, None, False)
    assert "in <b>67%</b> of the cases; a coin does in 50%" in card.say
    assert card.facts[0][0] == "58% to 76%"


def test_the_share_of_people_near_the_cap_is_told_as_it_is(people):
    """66% stood at the cap, and "half of the people sit at the cap"."""
    release = hr.protect(people, GROUPS, hr.MART(k=20, max_disclosure=0.5))
    data = hr.audit(people, release, **QUICK).to_dict()
    shares = [0.01] * 8 + [0.2, 0.72] + [0.0] * 10
    data["risk"]["release"]["sensitive"]["pay"]["disclosure"] |= {"median_over_records": 0.498, "shares": shares}
    near = "72% of the people are in groups that take more than 45%, near the cap of 50%."
    assert near in cards(data, release.plan, False)[0].notes


def test_drawn_rows_without_attacks_are_told_by_the_groups_of_their_plan(people, tmp_path):
    """Beside "Do not share" stood "Not known. No attack was tried."."""
    release = hr.protect(people, GROUPS, random_state=1)
    found = hr.audit(people, release.write(tmp_path / "out"), **QUICK)
    card, _ = cards(found.to_dict(), release.plan, False)
    assert card.say.startswith("No attack was tried. Rows do not show their groups;")
    page = render(found.to_dict(), plan=release.plan)
    assert page.count("No row was copied") == 1


def test_what_columns_without_a_role_give_away_is_asked_where_there_are_some(people):
    release = hr.protect(people, GROUPS, hr.Mondrian(k=5))
    missing = "what columns without a role give away"
    assert missing not in hr.audit(people, release, **QUICK).to_dict()["not_measured"]


def test_one_sentence_of_the_second_card_is_not_said_again_below_it(people):
    found = hr.audit(people, hr.protect(people, GROUPS, hr.Mondrian(k=5)), **QUICK)
    _, use = cards(found.to_dict(), None, False)
    assert "off by <b>" in use.say
    assert [words for _, words in use.facts if "median error" in words] == []


@pytest.mark.parametrize("is_changed", [False, True])
def test_the_original_itself_is_named(is_changed: bool) -> None:
    people = hr.datasets.make_people(300, seed=1).select(["age", "job", "income"])
    schema = hr.Schema(quasi=["age", "job"], sensitive=["income"])
    other = people.set_column(0, "age", people["age"].take(np.arange(300)[::-1])) if is_changed else people
    audit = hr.audit(people, other, schema, attacks=False, learning=False, allow_outside=True)
    found = reasons(audit.to_dict(), None)
    assert (found[0] == "it is the original itself: no value was changed, and people are alone with their "
            "quasi-identifiers") != is_changed  # fmt: skip


def test_limits_that_somebody_sets_are_judged_where_rows_are_not_paired() -> None:
    """ "No limit was chosen" stood beside an exit code that said one was missed."""
    draws = np.random.default_rng(1)
    one, two = (pd.DataFrame({"age": draws.integers(18, 90, 300), "pay": draws.integers(0, 10**6, 300)}) for _ in "ab")
    found = hr.audit(one, two, hr.Schema(quasi=["age"], sensitive=["pay"]), paired=False, attacks=False, learning=False)
    says = judged(found.to_dict(), None, (), (), k=5)["says"]
    assert says.startswith("Do not share, because the smallest group has") == bool(found.broken(k=5))
    assert judged(found.to_dict(), None, (), (), k=1)["says"] == "Promises kept; attacks not tried."


def test_attacks_on_few_people_are_said_to_be_that() -> None:
    people = hr.datasets.make_people(300, seed=1)
    roles = hr.Schema(quasi=["age", "job"], sensitive=["income"])
    release = hr.protect(people, roles, hr.MART(), guard="redraw", random_state=1)
    for n, is_few in ((3, True), (60, False)):
        found = hr.audit(people, release, people=n, learning=False, inference=False)
        says = judged(found.to_dict(), release.plan, release.checks, ())["says"]
        assert ("few people (at most 3 each)" in says) == is_few
