"""What a newcomer reads: promises as sentences, figures with their names, lines that stay in place."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.measures.guarantees import Check
from hedgerow.report.cards import _use
from hedgerow.report.figures import attack_rows
from hedgerow.report.page import _flags, render
from hedgerow.report.pictures import attack_bars
from hedgerow.report.svg import bars
from hedgerow.report.text import summary
from hedgerow.report.verdict import lines
from tests.audit.conftest import people_of

pytestmark = pytest.mark.filterwarnings("ignore")
QUICK = {"attacks": False, "learning": False}


def promises_of(method, schema, people):
    release = hr.protect(people, schema, method)
    found = hr.audit(people, release, **QUICK).to_dict()
    return lines(found, release.plan, release.checks), found


def test_a_randomized_release_says_its_checks_in_sentences():
    schema = hr.Schema(quasi=["age", "job"], sensitive=["ill"])
    told, found = promises_of(hr.RandomizedResponse(random_state=1), schema, people_of(300, seed=3))
    kept = [line for line, how in told if how == "kept"]
    assert not [line for line in kept if "asked: " in line]
    assert any("own record gives a sensitive value away is capped" in line for line in kept)
    assert ("Not promised: how often a guess through somebody else's record is right.", "open") in told
    assert "Every released value is one that its column may have." in kept
    linked = f"Measured: {100 * found['risk']['linkage']['highest']:.1f}%."
    assert any(how == "open" and line.endswith(linked) for line, how in told)


def test_a_broken_check_of_a_method_is_not_told_as_kept():
    schema = hr.Schema(quasi=["age", "job"], sensitive=["ill"])
    people = people_of(300, seed=3)
    release = hr.protect(people, schema, hr.Mondrian(k=10))
    found = hr.audit(people, release, **QUICK).to_dict()
    bad = Check.none("values in the domain", 1, "columns at fault: job")
    line, how = lines(found, release.plan, [bad])[0]
    assert how == "broken"
    assert line.startswith("Does not hold: ")
    assert "columns at fault: job" in line


def test_identifiers_that_were_replaced_are_not_told_as_left_out():
    people = people_of(300, seed=3)
    people["id"] = [f"p{i}" for i in range(300)]
    schema = hr.Schema(quasi=["age", "job"], sensitive=["ill"], identifiers=["id"])
    for key in (None, b"0123456789abcdef"):
        release = hr.protect(people, schema, hr.Mondrian(k=10), pseudonym_key=key)
        found = hr.audit(people, release, **QUICK).to_dict()
        told = " ".join(line for line, _ in lines(found, release.plan, release.checks))
        assert ("id" in release.table) == bool(key)
        assert ("identifiers are left out" in told) == (key is None)
        assert ("pseudonyms stand in place of identifiers" in told) == bool(key)


def test_learning_nothing_is_drawn_where_it_lies_above_every_learner():
    people = people_of(400, seed=3)
    schema = hr.Schema(quasi=["age", "job"], sensitive=["ill"])
    release = hr.protect(people, schema, hr.Mondrian(k=20))
    found = hr.audit(people, release, attacks=False).to_dict()
    for row in found["utility"]["learning"]:
        row["constant"]["accuracy"] = 0.97  # above all of them
    page = render(found, plan=release.plan, checks=release.checks)
    card = page[page.index("What is it still good for?") :]
    assert 'class="mark"' in card[: card.index("</svg>")]


def test_a_figure_stands_beside_the_line_and_not_in_it():
    drawn = bars([("tree", 0.40, 0.40, 0.44)], "note", "alt", most=0.5)
    line = float(re.search(r'd="M([\d.]+) ', drawn)[1])
    places = [float(x) for x in re.findall(r'<text x="([\d.]+)"[^>]*>0\.400<', drawn)]
    assert len(places) == 2
    assert all(x > line for x in places)


def test_a_bar_below_0_is_drawn_on_the_other_side_of_the_line():
    """It was drawn as 0, and the line of models that learn nothing was not to be seen."""
    drawn = bars([("tree", 0.4, -0.035, 0.0), ("linear", 0.4, -9.0, 0.0)], "note", "alt", most=0.4)
    boxes = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawn)
    (_, _), (left, wide), _, (cut, widest) = [(float(x), float(width)) for x, width in boxes]
    zero = {float(x) for x in re.findall(r'd="M([\d.]+) ', drawn)}
    assert zero == {left + wide} == {cut + widest}
    assert cut == 0.0
    assert wide > 1
    assert ">-0.035<" in drawn
    assert ">-9.00<" in drawn


def test_what_was_asked_of_nobody_has_no_figures():
    """0.0% (0.0% to 100.0%), over control 0.0% (-100.0% to 100.0%), of 0 people."""
    figures = {"success": 0.0, "interval": [0.0, 1.0], "control": 0.0, "over_control": 0.0}
    attack = {"people": 0, "original": 1.0, "public_best": 0.0, "random_row": 0.1, **figures}
    (row,) = attack_rows([{**attack, "over_control_interval": [-1.0, 1.0]}])
    assert {row[name] for name in ("release", "interval", "control", "over_control")} == {"-"}


def test_no_label_of_an_attack_is_longer_than_its_place():
    attack = {
        "attack": "membership", "learner": "exact value", "target": "whole record, most extreme 5%", "people": 9,
        "original": 1.0, "success": 0.5, "interval": [0.4, 0.6], "control": 0.5, "public_best": 0.5,
        "random_row": 0.5, "over_control": 0.0,
    }  # fmt: skip
    lines = re.findall(r"<tspan[^>]*>(.*?)</tspan>|<text[^>]*>(.*?)</text>", attack_bars([attack]).svg)
    labels = [a or b for a, b in lines]
    assert "membership: exact value, whole" in labels
    assert max(map(len, labels)) <= 40


def test_what_models_keep_is_rounded_and_how_it_is_counted_is_said():
    """Five digits of a sum of capped gains, without the model that learns nothing: 99.942%."""

    def row(name, original, release, constant):
        return {"target": "pay", "estimator": name, **{
            side: {"accuracy": value}
            for side, value in (("original", original), ("release", release), ("constant", constant))
        }}  # fmt: skip

    learning = [row(f"tree {i}", 0.9, 0.9001 if i else 0.8997, 0.5) for i in range(9)]
    learning.append(row("naive Bayes", 0.619, 0.7, 0.752))
    nothing = {"range": {"median": None}}
    use = {"learning": learning, "queries": nothing, "distributions": {"dependence": {"pairs": []}}, "loss": None}
    card = _use({"utility": use, "table": {"alone": False}}, None)
    assert "almost all (over 99%)" in card.say
    (note,) = card.notes
    assert note.startswith("Added up over 9 models")
    assert "naive Bayes, pay" in note
    assert "first 8" in note


def test_no_line_breaks_inside_a_flag():
    assert _flags("hide <it> (protect --guard redraw)") == (
        'hide &lt;it&gt; (<span class="flag">protect --guard redraw</span>)'
    )


def test_a_page_names_the_parameters_and_measures_that_stand_on_it():
    people = people_of(300, seed=3)
    schema = hr.Schema(quasi=["age", "job"], sensitive=["ill"])
    release = hr.protect(people, schema, hr.Mondrian(k=20))
    page = render(hr.audit(people, release, **QUICK).to_dict(), plan=release.plan)
    reading, repeat = page[page.index('id="reading"') :].split('id="repeat"')
    assert "random_state" in repeat
    assert ">None<" not in repeat
    assert not any(f">{name}<" in repeat for name in ("key", "control", "people", "remakes", "others"))
    assert all(name in reading for name in ("t-closeness", "total variation", "normalised certainty penalty"))
    rest = (
        "attack success",
        "score",
        "R squared",
        "household risk",
        "total variation of runs",
        "average group size over k",
    )
    assert not any(f">{name}<" in reading for name in rest)


def test_long_released_cells_may_break_where_values_are_joined():
    people = people_of(300, seed=3)
    schema = hr.Schema(quasi=["age", "job"], sensitive=["ill"])
    release = hr.protect(people, schema, hr.Mondrian(k=50))
    audit = hr.audit(people, release, **QUICK)
    assert "+<wbr>" in render(audit.to_dict(), examples=audit.shown, plan=release.plan)


def test_inferred_figures_name_their_column():
    people = people_of(300, seed=3)
    schema = hr.Schema(quasi=["age", "pay"], sensitive=["ill"])
    release = hr.protect(people, schema, hr.NoiseAddition(0.3, random_state=1))
    found = hr.audit(people, release, inference=True, **QUICK).to_dict()
    page = render(found, plan=release.plan, checks=release.checks)
    first = page[: page.index("What is it still good for?")]
    assert "share of ill that a learner infers" in first
    assert "averaged from 1 known column" not in first  # only three figures have room
    assert "linked by probability" in first


def test_the_text_keeps_its_columns_and_tells_of_other_columns():
    people = people_of(300, seed=3)
    people["note"] = [f"n{i}" for i in range(len(people))]
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"], other=["note"])
    release = hr.protect(people, schema, hr.Mondrian(k=10))
    found = hr.audit(people, release, **QUICK).to_dict()
    text = summary(found)
    guesses = [line for line in text.splitlines() if line.startswith("  best guess")]
    assert any("of the spread" in line for line in guesses)
    wide = text.splitlines()[text.splitlines().index("") + 1]
    assert {len(line) for line in guesses} == {len(wide)}
    assert "The file's other columns (note) single out 100.0% of the records" in text
    assert "Linking's control" not in text


def test_linkings_control_is_explained_only_where_somebody_was_linked():
    people = people_of(300, seed=3)
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"])
    one, two = (hr.protect(people, schema, hr.Mondrian(k=k)) for k in (10, 20))
    together = hr.audit(people, one, others=[two], **QUICK)
    assert together.attacks
    assert "Linking's control" not in summary(together.to_dict())
    linked = hr.audit(people, one, people=20, learning=False, inference=False)
    assert "are linked all the same, with somebody else's record; at 100% a link proves nothing" in (
        summary(linked.to_dict())
    )
    unpaired = hr.audit(people, one, paired=False, people=20, learning=False)
    assert "Linking by best match asks whether" in summary(unpaired.to_dict())
    assert isinstance(people, pd.DataFrame)


def test_the_first_screen_of_a_randomized_release_shows_the_guess_about_the_worst_group():
    """Two groups of 20: 19 of one are ill alike, 12 of the other. The cap is on records alone."""
    people = pd.DataFrame(
        {
            "town": ["A"] * 20 + ["B"] * 20 + ["C"] * 3,
            "ill": ["flu"] * 19 + ["gout"] + ["gout"] * 12 + ["flu"] * 8 + ["flu"] * 3,
        }
    )
    schema = hr.Schema(quasi=["town"], sensitive=["ill"])
    release = hr.protect(people, schema, hr.RandomizedResponse(2, random_state=1))
    found = hr.audit(people, release, **QUICK)
    guess = found.to_dict()["risk"]["linkage"]["reconstructed"]
    assert (guess["groups"], guess["records"]) == (2, 40)
    assert guess["columns"]["ill"]["worst"] == pytest.approx(19 / 20)
    assert guess["columns"]["ill"]["right"] == pytest.approx(31 / 40)
    assert guess["columns"]["ill"]["shares"] == [0.0] * 11 + [0.5] + [0.0] * 6 + [0.5, 0.0]
    page = render(found.to_dict(), plan=release.plan, checks=release.checks)
    card = re.search(r'<div class="card.*?</div>', page, re.S)[0]
    assert "guessing its most frequent ill is right for <b>95%</b> of the people" in card
    assert "The cap of 50% is on single records, not on this guess." in card
    assert "randomized most: " in page
    assert "coarsened" not in page
    recipient = render(found.to_dict(), plan=release.plan, audience="recipient")
    assert "95%" not in recipient
    assert "guesses 'ill' right for 95.0% of the people of the worst group" in str(found)


def test_the_text_of_an_audit_fits_a_terminal():
    """Tables within 80 columns; sentences are broken where they are printed."""
    people = people_of(300, seed=3)
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay", "ill"])
    release = hr.protect(people, schema, hr.Mondrian(k=10))
    found = hr.audit(people, release, people=40, learners=["tree"], learning=False)
    tables = [line for line in str(found).split("\n") if "  " in line.strip()]
    assert len(tables) > 30
    assert max(map(len, tables)) <= 80
    assert any(line.startswith("regression: pay") for line in str(found).split("\n"))


def test_one_group_and_one_column_are_named_as_one(tmp_path: Path) -> None:
    table = pa.table({"age": [20 + i % 7 for i in range(30)], "pay": [100 * (i % 9) for i in range(30)]})
    release = hr.protect(table, hr.Schema(quasi=["age"], sensitive=["pay"]), hr.MART(k=30, max_disclosure=1))
    found = hr.audit(table, release, attacks=False, learning=False, suda=1)
    release.write(tmp_path / "out", measured=found)
    page = (tmp_path / "out/report.html").read_text()
    assert "(reached: 30, 1 group)" in page
    assert "records that up to 1 quasi-identifier singles out" in page
    assert "There is 1 group of 30" in (tmp_path / "out/RECIPIENT.md").read_text()
    assert "Special uniques of up to 1 column " in str(found)
    assert str(hr.inspect(table.select(["age"]).slice(0, 1))).startswith("1 record, 1 column.")
