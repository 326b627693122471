"""Files whose rows are not paired: what was copied is told from what chance gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

import hedgerow as hr
from hedgerow.auditing.attacks.copies import found_again, surprise
from hedgerow.report.reasons import REASONS, reasons

pytestmark = pytest.mark.filterwarnings("ignore")
ROLES = hr.Schema(quasi=["age", "job"], sensitive=["pay", "rate"])


def people(n: int, seed: int) -> pd.DataFrame:
    draws = np.random.default_rng(seed)
    pay = np.round(draws.lognormal(10, 0.5, n) / 10).astype(int)
    rate = np.round(draws.normal(50, 9, n), 1)
    return pd.DataFrame(
        {"age": draws.integers(18, 90, n), "job": draws.choice(list("abcdefgh"), n), "pay": pay, "rate": rate}
    )


def why(original: pd.DataFrame, released: pd.DataFrame, **more) -> list[str]:
    found = hr.audit(original, released, ROLES, paired=False, attacks=False, learning=False, **more)
    return reasons(found.to_dict(), None)


@pytest.mark.parametrize("seed", range(6))
def test_unrelated_tables_are_accused_of_nothing(seed: int) -> None:
    """Whoever knew a person's exact pay found 29% of the people, which is chance."""
    original, other = people(1000, seed), people(1000, seed + 100)
    found = hr.audit(original, other, ROLES, paired=False, attacks=False, learning=False)
    rate = found.risk["found"]["columns"]["rate"]
    assert rate["found"] > 0.02
    assert rate["found"] == pytest.approx(rate["control"], abs=0.06)
    assert found.risk["found"]["against"] == "other rows"
    assert "by chance it would be" in str(found)
    assert reasons(found.to_dict(), None) == []


@pytest.mark.parametrize("share", [0.01, 0.03, 1.0])
def test_verbatim_rows_are_named_first(share: float) -> None:
    original, released = people(1000, 1), people(1000, 2)
    n = round(1000 * share)
    released[:n] = original.sample(n, random_state=1).to_numpy()
    released = released.astype(original.dtypes)
    first = why(original, released.sample(frac=1, random_state=3))[0]
    assert first.startswith(f"this file contains {n:,} of the 1,000 original rows")
    assert "where chance gives none" in first
    # beside people who took no part
    assert why(original, released, control=people(1000, 9))[0].startswith(f"this file contains {n:,} of the 1,000")


def test_a_small_control_does_not_hide_copies() -> None:
    original, released = people(3000, 1), people(3000, 2)
    released[:30] = original.sample(30, random_state=1).to_numpy()
    released = released.astype(original.dtypes)
    for control in (None, people(300, 9), people(1000, 9)):
        assert why(original, released, control=control)[0].startswith("this file contains 30 of the 3,000")


def test_the_highest_values_that_were_left_are_named() -> None:
    original, released = people(1000, 1), people(1000, 2)
    top = original["pay"].nlargest(10)
    released.loc[:9, "pay"] = top.to_numpy()
    assert any(each.startswith("values of the records that stand out were left as they were (pay, highest): 100%")
               for each in why(original, released))  # fmt: skip


def test_more_decimals_and_new_categories_are_named() -> None:
    original, released = people(1000, 1), people(1000, 2)
    hidden = released.assign(rate=released["rate"] + original["pay"] / 1e7)
    assert any(each.startswith("rate has ") and "where the original has 1" in each for each in why(original, hidden))
    strange = released.assign(job=released["job"].where(released.index > 5, "zz"))
    assert any(
        each.startswith("job has values that nobody of the original has (rows: 6)") for each in why(original, strange)
    )


@pytest.mark.parametrize(
    ("hits", "n", "others", "m"), [(3, 10, 30, 100), (10, 1000, 0, 990), (0, 5, 1, 5), (4, 4, 4, 4)]
)
def test_surprise_is_fishers_test(hits: int, n: int, others: int, m: int) -> None:
    table = [[hits, n - hits], [others, m - others]]
    assert surprise(hits, n, others, m) == pytest.approx(fisher_exact(table, alternative="greater").pvalue)


@pytest.mark.parametrize("values", [30, 300, 3000])
def test_chance_is_what_a_fresh_sample_gives(values: int) -> None:
    """The estimate (Good and Toulmin) beside the truth, over 40 pairs of samples of 1,000 people."""
    true, estimated = [], []
    for seed in range(40):
        draws = np.random.default_rng(seed)
        shares = draws.dirichlet(np.full(values * 10, 0.2))
        one, two = (np.bincount(draws.choice(len(shares), 1000, p=shares), minlength=len(shares)) for _ in range(2))
        true.append((two[one == 1] > 0).mean())
        estimated.append(found_again(one, two)[0])
    # where most rows occur several times it is too high, which accuses nobody
    assert -0.03 < np.mean(estimated) - np.mean(true) < 0.1


def test_the_page_on_audits_has_a_line_for_each_reason() -> None:
    from pathlib import Path

    page = (Path(__file__).parents[3] / "docs" / "reading-an-audit.md").read_text()
    listed = page[page.index("**Share with care**") : page.index("**Share**:")]
    # and one on limits, which `verdict` itself adds
    assert listed.count("\n- ") == len(REASONS) + 1


def test_an_income_in_the_decimals_of_another_column_is_named_where_rows_are_paired() -> None:
    """Only files without pairs were asked, and such a file read "Share"."""
    original = people(600, 1)
    noisy = original.assign(pay=(original["pay"] * np.random.default_rng(2).normal(1, 0.3, 600)).round().astype(int))
    means = noisy.assign(rate=original.groupby(original["rate"].rank(method="first") // 10)["rate"].transform("mean"))
    hidden = noisy.assign(rate=original["rate"].round() + original["pay"] / 1e6)
    for released, is_named in ((noisy, False), (means, False), (hidden, True)):
        found = hr.audit(original, released, ROLES, attacks=False, learning=False)
        assert found.table["paired"]
        assert any("decimals where the original" in each for each in reasons(found.to_dict(), None)) == is_named


def test_one_unknown_category_does_not_keep_a_copy_from_being_named() -> None:
    """Nothing was compared then, and the verdict was green."""
    original = people(600, 1)
    released = original.sample(frac=1, random_state=3).replace({"job": {"a": "A"}})
    found = hr.audit(original, released, ROLES, attacks=False, learning=False)
    assert "of the 600 original rows" in reasons(found.to_dict(), None)[0]
    released["job"] = "job " + released["job"]
    found = hr.audit(original, released, ROLES, attacks=False, learning=False)
    assert reasons(found.to_dict(), None)[0].startswith("it was not compared with the original: released cells cannot")


@pytest.mark.parametrize("rows", [1500, 3000])
def test_a_larger_file_of_others_is_no_copy(rows: int) -> None:
    """Of 300 people no two were alike, so that 0% was said to be found by chance where 10% were."""
    draws = np.random.default_rng(4)
    wide = {"age": draws.integers(18, 60, 9000), "job": draws.choice(list("abcdefghij"), 9000)}
    wide |= {"pay": draws.integers(0, 12, 9000), "rate": draws.integers(0, 3, 9000)}
    everybody = pd.DataFrame(wide)
    for seed in range(5):
        chosen = everybody.sample(300 + rows, random_state=seed)
        original, released = chosen[:300].reset_index(drop=True), chosen[300:].reset_index(drop=True)
        found = hr.audit(original, released, ROLES, paired=False, attacks=False, learning=False)
        assert found.risk["equal"]["members"] > 0.05
        assert found.risk["equal"]["chance"] == pytest.approx(found.risk["equal"]["members"], abs=0.08)
        assert not any("original rows" in each for each in reasons(found.to_dict(), None))
    assert "by chance it would be at most" in str(found)
    twice = pd.concat([original, original])
    assert "this file contains 300 of the 300" in why(original, twice)[0]
    assert "where chance gives at most" in why(original, twice)[0]


def test_a_tenth_of_copied_rows_is_a_tenth_of_those_described() -> None:
    """Rows with a category that nobody has fell out, so that 60 copies of 600 rows read as 60 of 60."""
    draws = np.random.default_rng(6)
    tables = [people(600, seed).assign(job=draws.integers(0, 10**6, 600).astype(str)) for seed in (1, 2, 3)]
    released = pd.concat([tables[1][:540], tables[0][:60]]).sample(frac=1, random_state=0)
    options = {"control": tables[2], "paired": False, "people": 200, "learning": False, "inference": False}
    found = hr.audit(tables[0], released, ROLES, **options)
    (whole,) = (
        each for each in found.attacks if each["learner"] == "whole record" and each["attack"] == "singling out"
    )
    assert whole["interval"][0] < 0.1 < whole["interval"][1]
    assert whole["people"] == 200
