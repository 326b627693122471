"""Attacks against tables whose leak is known: none, all, or a share of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.attacks.linking import linking_attacks
from hedgerow.auditing.attacks.regression import regression
from hedgerow.auditing.attacks.singling_out import predicate_singling_out
from hedgerow.auditing.pairing import align
from hedgerow.io.read import read
from hedgerow.schema import Schema

SCHEMA = Schema(quasi=["number", "place"], sensitive=["pay", "ill", "flag"])


def strangers(n, seed=1):
    """Nobody's values follow from what is known of them, and no two are alike."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "number": rng.permutation(n).astype(float),
            "place": rng.choice([f"p{i}" for i in range(200)], n),
            "pay": rng.lognormal(7, 1, n).round(2),
            "ill": rng.choice([f"c{i}" for i in range(20)], n),
            "flag": rng.integers(0, 2, n),
        }
    )


def by_target(found):
    return {(a["target"], a["learner"]): a for a in found}


@pytest.mark.parametrize("n", [2_000, 200_000])
def test_an_unchanged_table_of_different_people_is_told_wholly_at_any_size(n):
    people = strangers(n)
    pair = align(people, people, SCHEMA)
    found = by_target(regression(pair, learners=["tree", "nearest"], people=150))
    for target in SCHEMA.sensitive:
        attack = found[target, "nearest"]
        assert (attack["success"], attack["over_control"]) == (1.0, 1.0)
        assert attack["trained"] == attack["classes"] == n
        assert attack["control"] < 0.65  # a flag is guessed half the time
        own = found[target, "tree"]
        assert own["success"] > 0.97
        assert own["trained"] == min(n, 20_000)
    for attack in linking_attacks(pair, people=50):
        assert attack["success"] == 1.0


def test_a_table_whose_people_differ_by_a_hair_is_told_wholly():
    """Nearest means equal first: values a ten-millionth of the spread apart are not alike."""
    n = 1_000
    people = pd.DataFrame({"number": np.append(np.arange(n - 1) * 1e-7, 1.0), "pay": np.geomspace(1, 1e9, n)})
    pair = align(people, people, Schema(quasi=["number"], sensitive=["pay"]))
    (attack,) = regression(pair, learners=["nearest"], people=100)
    assert attack["success"] == 1.0
    assert [a["success"] for a in linking_attacks(pair, people=100)] == [1.0, 1.0]


def test_shared_quasi_identifiers_give_what_the_best_possible_guess_gives():
    rng = np.random.default_rng(2)
    people = pd.DataFrame({"age": rng.integers(20, 60, 600), "pay": rng.lognormal(7, 1, 600)})
    people["ill"] = rng.choice(["a", "b", "c"], 600, p=[0.5, 0.3, 0.2])
    schema = Schema(quasi=["age"], sensitive=["pay", "ill"])
    found = regression(align(people, people, schema), learners=["nearest"], people=600)
    told = hr.audit(people, people, schema, attacks=False, learning=False).risk["release"]
    pay, ill = found
    for key, reached in pay["matching"].items():
        best = told["sensitive"]["pay"]["matching"][key]["release"]
        assert reached["release"] == pytest.approx(best)
    most = people.groupby("age").ill.agg(lambda s: s.value_counts().max()).sum() / 600
    assert ill["success"] == pytest.approx(most)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_a_share_of_leaks_is_found_as_that_share(share):
    """Some people's own values are released, those of the others are dealt among them."""
    people = strangers(4_000, seed=3)
    rng = np.random.default_rng(4)
    dealt = np.flatnonzero(rng.random(len(people)) >= share)
    release = people.copy()
    release.loc[dealt, "ill"] = rng.permutation(release.ill.to_numpy()[dealt])
    schema = Schema(quasi=["number", "place"], sensitive=["ill"])
    (attack,) = regression(align(people, release, schema), learners=["nearest"], people=800)
    truth = (people.ill == release.ill).mean()
    low, high = attack["interval"]
    assert low <= truth <= high
    assert attack["control"] == pytest.approx(0.05, abs=0.04)
    if share == 0:
        assert attack["over_control"] < 0.05


def test_flags_and_codes_are_named_exactly_and_dates_within_days():
    n = 600
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"a": np.arange(n), "flag": rng.integers(0, 2, n)})
    noisy = np.where(rng.random(n) < 0.05, 1 - people.flag, people.flag)
    people["rooms"] = rng.integers(1, 8, n)
    people["born"] = pd.Timestamp("1970-01-05") + pd.to_timedelta(rng.integers(0, 9000, n), "D")
    released = people.assign(flag=noisy, born=people.born + pd.Timedelta(days=20))
    schema = Schema(quasi=["a"], sensitive=["flag", "rooms", "born"])
    found = by_target(regression(align(people, released, schema), people=n))
    kinds = {t: a["attacked_as"] for (t, _), a in found.items()}
    assert kinds == {"flag": "category", "rooms": "category", "born": "date"}
    flag, born = found["flag", "nearest"], found["born", "nearest"]
    assert flag["success"] == (noisy == people.flag).mean() > 0.9
    assert flag["success_means"] == "the exact value"
    assert found["flag", "tree"]["success"] == flag["success"]
    assert found["rooms", "tree"]["success"] == 1.0
    # 20 days off is within 30 days and not within one, in 1970 as in 1990
    assert born["success_means"] == "within 30 days of the value"
    days = {key: reached["release"] for key, reached in born["matching"].items()}
    assert days == {"1 day": 0.0, "30 days": 1.0, "365 days": 1.0}
    assert born["control"] < 0.1
    declared = schema.replace(kinds={"rooms": "numeric"})
    (row,) = [a for a in regression(align(people, released, declared), learners=["tree"]) if a["target"] == "rooms"]
    assert (row["attacked_as"], row["success_means"]) == ("number", "within 10% of the value")


def test_a_few_valued_number_with_noise_is_read_as_the_nearest_of_its_values():
    n = 300
    rng = np.random.default_rng(6)
    people = pd.DataFrame({"a": np.arange(n), "flag": rng.integers(0, 2, n)})
    released = people.assign(flag=people.flag + rng.uniform(-0.4, 0.4, n))
    schema = Schema(quasi=["a"], sensitive=["flag"])
    (attack,) = regression(align(people, released, schema), learners=["nearest"])
    assert attack["success"] == 1.0


def test_a_file_and_its_release_are_attacked_alike(tmp_path):
    people = strangers(400)
    people["rooms"] = people["flag"] + 1
    schema = SCHEMA.replace(sensitive=["flag", "rooms"], kinds={"rooms": "numeric"})
    release = hr.protect(people, schema, hr.MART(k=5, max_disclosure=None))
    release.write(tmp_path / "out")
    # without people who took no part, the release alone has its method leave some out
    control = people.assign(number=people["number"] + 400)
    asked = {"learning": False, "inference": False, "people": 50, "learners": ["nearest"]}
    asked |= {"control": control}
    direct = hr.audit(people, release, **asked)
    folder = hr.audit(people, tmp_path / "out", **asked)
    one, two = (
        [a for a in found.attacks if a["attack"] in ("regression", "linking", "predicate singling out")]
        for found in (direct, folder)
    )
    kinds = {a["target"]: a["attacked_as"] for a in two if a["attack"] == "regression"}
    assert kinds == {"flag": "category", "rooms": "number"}
    assert one == two


def test_neither_rows_nor_columns_in_another_order_change_a_figure():
    people = strangers(900)
    people["pay"] += 300 * people["number"] / 900
    release = people.assign(number=(people.number // 30).map(lambda g: f"[{30 * g}-{30 * g + 29}]"))
    order = np.random.default_rng(7).permutation(900)
    turned = SCHEMA.replace(quasi=SCHEMA.quasi[::-1], sensitive=SCHEMA.sensitive[::-1])
    one = align(people, release, SCHEMA)
    two = align(people.iloc[order, ::-1], release.iloc[order, ::-1], turned)
    asked = {"people": 100, "learners": ["tree", "nearest", "linear"]}
    found = by_target(regression(one, **asked))
    assert found == by_target(regression(two, **asked))
    assert predicate_singling_out(one) == predicate_singling_out(two)
    assert linking_attacks(one, people=100) == linking_attacks(two, people=100)


def test_many_different_categories_ask_for_no_table_of_all_pairs():
    import tracemalloc

    n = 30_000
    people = pd.DataFrame({"street": [f"s{i}" for i in range(n)], "pay": np.arange(n) + 1.0})
    table = read(people)
    pair = align(table, table, Schema(quasi=["street"], sensitive=["pay"]))
    pair.released_quasi[0].shares  # noqa: B018
    tracemalloc.start()
    found = regression(pair, people=30)
    linking_attacks(pair, people=30)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert by_target(found)["pay", "nearest"]["success"] == 1.0
    assert peak < 400e6  # all pairs of 30,000 streets take 7 GB


def suppressed(people, share):
    """A share of the rows as they are, the others with no known column left."""
    release = people.astype({"number": object})
    release.loc[np.arange(len(people)) >= share * len(people), ["number", "place"]] = "*"
    return release


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_rows_that_say_nothing_hide_nobody_whose_row_is_as_it_was(share):
    people = strangers(1_000, seed=8)
    people["ill"] = [f"d{i}" for i in range(len(people))]
    pair = align(people, suppressed(people, share), SCHEMA)
    (ill,) = [a for a in regression(pair, learners=["nearest"], people=1_000) if a["target"] == "ill"]
    left = 1 / 700 if share < 1 else 0.0
    assert ill["success"] == pytest.approx(share, abs=0.01)
    for attack in linking_attacks(pair, people=1_000):
        assert attack["success"] == pytest.approx(share + (1 - share) * left, abs=1e-3)
        # who lies in the rows that say nothing would be linked without their own row as well
        assert attack["control"] == 1 - share


def test_without_pairs_rows_that_say_nothing_hide_nobody_either():
    everybody = strangers(1_500, seed=9)
    people, others = everybody[:1_000], everybody[1_000:]
    asked = {"paired": False, "control": others, "people": 500, "learning": False}
    released = suppressed(people.reset_index(drop=True), 0.3)
    found = hr.audit(people, released, SCHEMA, inference=False, learners=["nearest"], **asked)
    for attack in found.attacks:
        if attack["attack"] == "linking":
            low, high = attack["over_control_interval"]
            assert low <= 0.3 <= high, attack["learner"]


@pytest.mark.parametrize("hidden", ["*", None])
def test_what_the_release_hides_is_no_value_to_learn_or_to_name(hidden):
    people = strangers(1_000, seed=10)
    people["ill"] = [f"d{i}" for i in range(len(people))]
    keep = np.random.default_rng(11).random(len(people)) < 0.4
    release = people.astype(dict.fromkeys(["pay", "ill", "flag"], object))
    release.loc[~keep, ["pay", "ill", "flag"]] = hidden
    pair, share = align(people, release, SCHEMA), keep.mean()
    assert np.isnan(pair.released_sensitive[0].numbers).sum() == (~keep).sum()
    found = by_target(regression(pair, learners=["nearest"], people=1_000))
    assert found["ill", "nearest"]["success"] == pytest.approx(share)
    assert found["ill", "nearest"]["over_control"] == pytest.approx(share)
    for target, luck in (("pay", 0.05), ("flag", 0.5)):
        low, high = found[target, "nearest"]["over_control_interval"]
        assert low <= share <= high, target
        assert found[target, "nearest"]["control"] == pytest.approx(luck, abs=0.06)


@pytest.mark.parametrize("paired", [True, False])
def test_nobody_is_asked_for_a_value_that_is_missing(paired):
    everybody = strangers(1_200, seed=12)
    gone = np.random.default_rng(13).random(len(everybody)) < 0.3
    everybody.loc[gone, ["ill", "pay"]] = None
    people, others = everybody[:800], everybody[800:]
    asked = {"control": others, "people": 800, "learning": False, "inference": False}
    found = hr.audit(people, people, SCHEMA, paired=paired, learners=["nearest"], **asked)
    for attack in found.attacks:
        if attack["attack"] == "regression":
            assert attack["success"] == attack["over_control"] == 1.0, attack["target"]


@pytest.mark.parametrize("hidden", ["first", "second"])
def test_people_who_stand_in_couples_are_asked_alike(hidden):
    """Of 1,000 sorted rows every second one would be the same partner of each couple."""
    n = 1_000
    people = pd.DataFrame({"house": np.arange(n), "ill": [f"d{i}" for i in range(n)]})
    gone = np.arange(n) % 2 == (hidden == "second")
    release = people.assign(ill=people.ill.where(~gone))
    pair = align(people, release, Schema(quasi=["house"], sensitive=["ill"]))
    (attack,) = regression(pair, learners=["nearest"])
    low, high = attack["interval"]
    assert low <= 0.5 <= high
