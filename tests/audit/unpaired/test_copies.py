"""Files whose rows are not paired: what was copied is told from what chance gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

import hedgerow as hr
from hedgerow.audit.attacks.copies import found_again, surprise
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
    assert first.startswith(f"this file contains {n:,} of the 1,000 people's rows")
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
    assert any(each.startswith("values of the people who stand out were left as they were (pay, highest): 100%")
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
        estimated.append(found_again(one)[0])
    # where most rows occur several times it is too high, which accuses nobody
    assert -0.03 < np.mean(estimated) - np.mean(true) < 0.1


def test_the_page_on_audits_has_a_line_for_each_reason() -> None:
    from pathlib import Path

    page = (Path(__file__).parents[3] / "docs" / "reading-an-audit.md").read_text()
    listed = page[page.index("**Share with care**") : page.index("**Share**:")]
    # and one on limits, which `verdict` itself adds
    assert listed.count("\n- ") == len(REASONS) + 1
