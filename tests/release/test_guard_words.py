"""What is said of hidden values: to the steward with figures, to the recipient without any of the original's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.plan.fields import public_fields
from hedgerow.plan.records import GuardedColumn
from hedgerow.release.guard_words import shifts_in_words

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SCHEMA = hr.Schema(
    quasi=["age", "education"], sensitive=["income", "diagnosis"], other=["weight"], weight="weight",
    identifiers=["person_id"],
)  # fmt: skip
RICH = 654_321_987.0


def people(n: int = 1200) -> pa.Table:
    table = hr.datasets.make_people(n, seed=1).select(["person_id", "age", "education", "income", "diagnosis"])
    income = np.append(table["income"].to_numpy()[1:], RICH)
    ill = pa.array(["rarest of all", *table["diagnosis"].to_pylist()[1:]])
    weight = pa.array(np.round(1 + np.random.default_rng(0).random(n), 6))
    table = table.set_column(3, "income", pa.array(income)).set_column(4, "diagnosis", ill)
    return table.append_column("weight", weight)


METHODS = {
    "runs": (hr.MART(k=5, max_disclosure=0.6), "runs"),
    "redraw": (hr.MART(k=5, max_disclosure=0.6), "redraw"),
    "rows": (hr.Hedge(k=10, max_disclosure=0.6, cells="rows"), "auto"),
}


@pytest.fixture(scope="module", params=METHODS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, hr.Release, Path]:
    method, guard = METHODS[request.param]
    release = hr.protect(people(), SCHEMA, method, guard=guard, random_state=None if guard == "runs" else 1)
    folder = tmp_path_factory.mktemp("guard")
    audit = hr.audit(people(), release, attacks=False, learning=False)
    release.write(folder / "out", public=folder / "public", measured=audit)
    return request.param, release, folder


def test_the_plan_says_what_is_hidden_and_how(made: tuple[str, hr.Release, Path]) -> None:
    form, release, _ = made
    words = release.plan.explain()
    assert "released unchanged (sensitive)" not in words
    assert "released with other values, as said under “Guard” at the end (sensitive): income, diagnosis" in words
    assert "; records with a value that fewer people have, which get another or none: 1" in words
    if form != "runs":
        groups = len(release.plan.guard.sizes)
        assert re.search(rf"because they would have told more than was promised: [\d,]+ of {groups:,}", words)
        # a number alone does not say what it is the nearest of
        assert re.search(r"keeps its mean and standard deviation, to the nearest [\d,.]+(;|$)", words, re.M)
        assert re.search(r"income: .* nearest \d{1,3},\d{3}", words)
    if form == "rows":
        assert "every combination of released quasi-identifier" not in words
        assert "counting equal rows does not show it" in words
    assert release.recoding_in_words().endswith(words[-200:])


def test_spread_median_and_tail_are_told_to_the_steward(made: tuple[str, hr.Release, Path]) -> None:
    form, release, _ = made
    guard = release.summary()["guard"]
    assert guard["form"] == form
    before, exact = guard["columns"]["income"]["before"], people()["income"].drop_null().to_numpy()
    assert before["deviation"] == pytest.approx(exact.std())
    assert before["median"] == np.median(exact)
    top = np.sort(exact)[-(len(exact) // 100) :].sum() / exact.sum()
    assert before["top_share"] == pytest.approx(top)
    assert guard["columns"]["income"]["largest"] > 0.9
    assert guard["columns"]["diagnosis"]["withheld"] == 1


def test_cautions_name_what_a_guard_leaves(made: tuple[str, hr.Release, Path]) -> None:
    words = "\n".join(made[1].cautions)
    assert "weight: exact weights are released" in words
    assert "income: one record has" in words
    assert "income: its standard deviation is" in words
    assert re.search(r"diagnosis: values that fewer than \d+ records have are not released \(records: 1\)", words)


def test_the_recipient_reads_what_values_are_and_nothing_of_the_original(made: tuple[str, hr.Release, Path]) -> None:
    form, _, folder = made
    words = (folder / "out" / "RECIPIENT.md").read_text()
    own = {
        "runs": "does not hide who is in the table",
        "redraw": "Within a group the sensitive values are drawn: they carry the group's mean, spread and shares, and "
        "are nobody's own.",
        "rows": "copied from nobody's record, but each row holds one person's own values of weight; each group",
    }
    assert own[form] in words
    assert "No row" not in words  # each carries the weight of a person
    kind = {"runs": "numbers, each a value", "redraw": "numbers, drawn inside", "rows": "numbers, drawn inside"}
    assert f"| income | sensitive | {kind[form]}" in words
    # of drawn rows nothing is said as of people's records
    assert ("records about people" in words) == ("were recoded" in words) == (form != "rows")
    assert ("who a record is about" in words) == (form != "rows")
    assert "| income | sensitive | unchanged" not in words
    assert ("How to read the recoded cells" in words) == (form != "rows")
    assert "(*other* or *sensitive*)" not in words
    report = (folder / "public" / "report.html").read_text()
    assert own[form].replace("'", "&#39;") in report
    assert "standard deviation" not in words
    for text in (words, report):
        assert "rarest of all" not in text
        assert "654321987" not in text.replace(",", "")
    assert "Every released value of a hidden column comes from people" in report
    if form == "rows":
        assert "every combination of released quasi-identifier" not in (words + report).lower()


def test_nothing_private_of_the_guard_leaves(made: tuple[str, hr.Release, Path]) -> None:
    _, release, folder = made
    public = json.dumps(release.plan.public()["guard"])
    names = set(public_fields(release.plan.guard.columns[0], public=True))
    assert names == {"name", "role", "kind", "unit", "zone", "order", "events", "declared", "smoothed", "follows"}
    assert isinstance(release.plan.guard.columns[0], GuardedColumn)
    assert "rarest" not in public
    assert not any(figure in public for figure in ("654321987", 'people": ['))
    assert {path.name for path in (folder / "public").iterdir()} == {"release.parquet", "RECIPIENT.md", "report.html"}
    audit = json.loads((folder / "out" / "audit.json").read_text())
    jsonschema.validate(audit, hr.Audit.json_schema())
    text = json.dumps(audit["release"]["guard"])
    assert "rarest" not in text
    assert "654321987" not in text
    assert set(audit["release"]["guard"]) == {"form", "people", "groups", "drawn_again", "impossible", "columns"}


def test_whoever_ties_rows_to_people_is_told_that_they_are_nobodys(tmp_path: Path) -> None:
    given = {"guard": "redraw", "random_state": 1, "keep_order": True, "pseudonym_key": bytes(range(32))}
    release = hr.protect(people(), SCHEMA, hr.MART(k=5), **given)
    (words,) = (text for text in release.cautions if "nobody's record" in text)
    assert "the kept order of the rows and the pseudonym person_id" in words
    with pytest.warns(UserWarning, match=r"nobody's record: mapping\.json"):
        release.write(tmp_path / "out", mapping=True)
    exact = hr.protect(people(), SCHEMA, hr.MART(k=5), keep_order=True)
    assert "guard" not in exact.summary()


def test_equal_drawn_rows_are_no_groups_of_the_report(made: tuple[str, hr.Release, Path]) -> None:
    form, release, folder = made
    audit = json.loads((folder / "out" / "audit.json").read_text())
    assert (audit["table"]["yardstick"] == "linkage") == (form == "rows")
    if form == "rows":
        assert not any("everybody has the same value" in words for words in audit["unbounded"])
    assert "released unchanged" not in release.plan.explain().replace("released unchanged (other", "")


def test_of_many_columns_those_are_told_that_changed_most() -> None:
    """A table of 60 columns printed 50 lines of standard deviations that had hardly changed."""
    side = {"deviation": 1.0, "median": 2.0, "top_share": None}
    columns = {f"c{i}": {"before": side, "after": side | {"deviation": 1 - i / 100}} for i in range(20)}
    lines = shifts_in_words({"columns": columns | {"text": {"before": None, "after": None}}})
    assert [line.partition(":")[0] for line in lines] == [*(f"c{i}" for i in range(14, 20)), "14 more columns"]
    assert lines[-1].endswith("changed by at most 13.0%.")
    assert len(shifts_in_words({"columns": dict(list(columns.items())[:6])})) == 6
    same = shifts_in_words({"columns": {f"c{i}": {"before": side, "after": side} for i in range(8)}})
    assert same[-1] == "2 more columns: no standard deviation changed."


def test_codes_have_no_spread_and_no_total() -> None:
    """A column of 1 and 2 had a standard deviation, a median and a share of its top hundredth."""
    table = people().append_column("urban", pa.array(np.arange(len(people())) % 2 + 1))
    schema = SCHEMA.replace(sensitive=[*SCHEMA.sensitive, "urban"])
    columns = hr.protect(table, schema, hr.MART(k=10), guard="redraw", random_state=1).summary()["guard"]["columns"]
    assert columns["urban"]["before"] is None
    assert columns["income"]["before"]["deviation"] > 0


@pytest.mark.parametrize(("k", "are_near"), [(30, False), (2, True)])
def test_counts_are_said_to_be_near_where_they_are(k: int, are_near: bool, tmp_path: Path) -> None:
    table = pa.table({"age": [20 + i // 10 for i in range(60)], "pay": [1000 + 100 * (i // 10) for i in range(60)]})
    release = hr.protect(
        table, hr.Schema(quasi=["age"], sensitive=["pay"]), hr.Hedge(k=k, max_disclosure=1), random_state=1
    )
    release.write(tmp_path / "out", measured=hr.audit(table, release, attacks=False, learning=False))
    words = (tmp_path / "out" / "RECIPIENT.md").read_text()
    assert ("Counts by one or two columns are near" in words) == are_near, words
    assert "may differ from the original.\n" in words or are_near
