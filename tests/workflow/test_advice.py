"""The adviser says what its figures say, and nothing where they say nothing."""

from __future__ import annotations

from typing import Any

from hedgerow.workflow.advice import advise


def carried(**columns: tuple[float, float]) -> dict[str, Any]:
    rows = [
        {"column": name, "original": {"tree": tree, "without": without}} for name, (tree, without) in columns.items()
    ]
    return {"influence": rows, "sensitive": ["income", "assets"]}


def point(cap: float | None, disclosure: float, utility: float, **more: Any) -> dict[str, Any]:
    parameters = {"k": 10, "max_disclosure": cap}
    return {"method": "MART", "parameters": parameters, "disclosure": disclosure,
            "utility": utility, "collapsed": False, "uncapped": None, **more}  # fmt: skip


def test_the_column_that_carries_most_is_named_with_its_share() -> None:
    (advice,) = advise(carried(job=(0.6, 0.12), age=(0.4, 0.3)))
    assert advice.title == "Coarsen job, or leave it out"
    assert "60% of what a regression tree infers about income and assets" in advice.why
    assert "explains 0.12 less" in advice.why
    assert advice.leave_out == "job"


def test_a_column_that_others_stand_in_for_is_not_the_whole_answer() -> None:
    (advice,) = advise(carried(job=(0.6, 0.001), age=(0.4, 0.3)))
    assert "coarsen these as well" in advice.why


def test_nothing_is_said_where_nothing_stands_out() -> None:
    assert advise(None) == []
    assert advise(carried(a=(0.2, 0.1), b=(0.2, 0.1), c=(0.2, 0.1), d=(0.2, 0.1), e=(0.2, 0.1))) == []
    assert advise(carried(job=(1.0, 0.5))) == []  # the only one cannot be left out


def test_less_is_told_for_little() -> None:
    chosen = point(0.5, 0.5, 0.60)
    far = point(0.2, 0.2, 0.40)
    near = point(0.4, 0.4, 0.58)
    (advice,) = advise(None, {"points": [chosen, far, near]}, chosen)
    assert advice.title == "Take k 10, cap 0.4"
    assert "falls from 0.50 to 0.40" in advice.why
    assert "0.02 less" in advice.why
    assert advice.take == near["parameters"]


def test_more_is_kept_at_no_cost() -> None:
    chosen, better = point(0.5, 0.5, 0.6), point(None, 0.5, 0.7)
    (advice,) = advise(None, {"points": [chosen, better]}, chosen)
    assert advice.title == "Take k 10, no cap"
    assert "keeps 0.70 instead of 0.60" in advice.why


def test_another_method_is_not_recommended_by_its_point() -> None:
    chosen = point(0.5, 0.5, 0.6)
    assert advise(None, {"points": [chosen, {**point(0.1, 0.1, 0.9), "method": "Hedge"}]}, chosen) == []


def test_a_cap_under_which_learning_collapses_is_told() -> None:
    chosen = point(0.2, 0.2, 0.1, collapsed=True, uncapped=0.4)
    (advice,) = advise(None, {"points": [chosen]}, chosen)
    assert advice.title == "Loosen the cap"
    assert "0.10" in advice.why
    assert "0.40" in advice.why


def carries(share: float, **more: Any) -> dict[str, Any]:
    one = {"column": "job", "explained": 0.08, "share": share, "utility": 0.5, "grid": None,
           "coarse_explained": None, "coarse_share": None}  # fmt: skip
    other = {**one, "column": "age", "share": min(share, 0.1), **more}
    return {"explained": 0.2, "sensitive": ["income", "assets"], "columns": [one, other]}


def test_a_measured_share_stands_in_place_of_the_tables() -> None:
    today = carried(age=(0.6, 0.1), job=(0.4, 0.1))
    (told,) = advise(None, shares=carries(0.6))
    assert told.title == "Leave job out"
    sentence = "Without job, groups would reveal 60% less about income and assets (8% instead of 20%)."
    assert told.why == sentence
    (told,) = advise(None, shares=carries(0.19))
    assert "groups would reveal a fifth less about" in told.why
    assert (told.leave_out, told.grid) == ("job", None)
    grid = {"grid": (20, 70, 10), "coarse_explained": 0.13}
    _, told = advise(today, shares=carries(0.6, **grid, coarse_share=0.35))
    assert told.title == "Coarsen age to steps of 10"
    assert "from 20 to 70 alone, groups would reveal a third less about income and assets" in told.why
    assert told.why.endswith("(13% instead of 20%).")
    assert (told.leave_out, told.grid) == (None, ("age", (20, 70, 10)))
    assert len(advise(today, shares=carries(0.6, **grid, coarse_share=0.01))) == 1
    # groups that tell next to nothing: 100% of it is noise, and neither is the table's own column
    assert advise(today, shares=carries(1.0) | {"explained": 0.004}) == []
    # where no column carries much alone, the table's own columns are told
    assert advise(today, shares=carries(0.04)) == advise(today)


def test_a_smaller_k_is_said_to_be_smaller() -> None:
    today = point(0.5, 0.4, 0.5)
    better = point(0.4, 0.2, 0.6, parameters={"k": 5, "max_disclosure": 0.4})
    (advice,) = advise(None, {"points": [today, better]}, today)
    assert "groups then have 5 people or more, where you asked for 10" in advice.why
