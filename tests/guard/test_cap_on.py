"""A cap on the file: every combination of one or two quasi-identifiers that the file shows keeps it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.auditing.file_rules import file_rules
from hedgerow.cli.app import run
from hedgerow.columns.table import Table
from hedgerow.errors import InfeasibleError, ParameterError, PlanError, UnsupportedError
from hedgerow.guard.file_cap import Combinations, within_file_cap
from hedgerow.kernels.even_draws import Caps, swap_below_caps
from hedgerow.key import Key
from hedgerow.measures.guarantees import LDiversity, TCloseness
from hedgerow.plan.records import FILE, dumps, loads
from hedgerow.release.rederive.cap_in_file import cap_in_file
from hedgerow.report.reasons import reasons
from hedgerow.report.verdict import lines, verdict

from ..adversary.test_tampered import said, tampered
from ..reference import file_cap as reference

pytestmark = pytest.mark.filterwarnings("ignore")
WARDS = hr.Schema(quasi=["ward", "age", "sex"], sensitive=["ill"])
SLACK = 1e-9


def ward(people: int, seed: int = 0, n: int = 3_000) -> pd.DataFrame:
    """Make n people, of whom the given number live in ward X and are all ill; elsewhere 5% are."""
    draws = np.random.default_rng(seed)
    wards, ill = draws.choice(list("ABCDEFGH"), n).astype(object), draws.random(n) < 0.05
    wards[:people], ill[:people] = "X", True
    who = {"ward": wards, "age": draws.integers(18, 90, n), "sex": draws.choice(["f", "m"], n)}
    return pd.DataFrame({**who, "ill": np.where(ill, "yes", "no")})


def told(table: pd.DataFrame, name: str, rows: Any) -> float:
    """Return what some rows tell of a category by the Brier score, and of whether it is missing."""
    worst = 0.0
    for values in (table[name].dropna(), table[name].isna().astype(str)):
        here, shares = values[values.index.isin(table.index[rows])], values.value_counts(normalize=True)
        if len(shares) < 2 or not len(here):
            continue
        loss = {value: float((shares**2).sum() - 2 * share + 1) for value, share in shares.items()}
        mean = sum(shares[value] * loss[value] for value in shares.index)
        gone = here.value_counts(normalize=True).reindex(shares.index, fill_value=0) - shares
        worst = max(worst, len(here) * float((gone**2).sum()) / sum(max(loss[v], mean / 4) for v in here))
    return worst


def most(table: pd.DataFrame, quasi: list[str], name: str, k: int, bins: Any = None) -> float:
    """Return the most that any combination of one or two columns which k rows have tells of a category."""
    coded = table.assign(**(bins or {}))
    tells = [0.0]
    for columns in [*itertools.combinations(quasi, 1), *itertools.combinations(quasi, 2)]:
        for rows in coded.groupby(list(columns), dropna=False, observed=True).indices.values():
            tells += [told(table, name, rows)] if len(rows) >= k else []
    return max(tells)


def ages(release: hr.Release) -> dict[str, Any]:
    """Return the parts that ages are in, from the plan's cuts and people alone."""
    column = next(c for c in release.plan.guard.columns if c.name == "age")
    people, cuts = list(column.people), list(column.cuts)
    part, parts, before = [], [], 0
    for i, n in enumerate(people):
        heap = 50 * n >= sum(people) or (i > 0 and 50 * people[i - 1] >= sum(people))
        parts.append(before * 20 // sum(people))
        part.append((part[-1] + int(heap or parts[i] > parts[i - 1])) if i else 0)
        before += n
    if len(people) <= 60:
        part = list(range(len(people)))
    return {"age": np.array(part)[np.searchsorted(cuts, release.table["age"], side="right")]}


def ill(table: pd.DataFrame, name: str) -> float:
    return float((table["ill"][table["ward"] == name] == "yes").mean())


@pytest.mark.parametrize(("people", "cap", "least", "largest"), [
    (20, 0.2, 0.02, 0.35), (100, 0.2, 0.15, 0.4), (600, 0.2, 0.35, 0.5),
    (20, 0.5, 0.35, 0.65), (100, 0.5, 0.4, 0.65), (600, 0.5, 0.55, 0.75),
])  # fmt: skip
def test_no_combination_tells_more_of_a_ward_of_ill_people(
    people: int, cap: float, least: float, largest: float
) -> None:
    release = hr.protect(ward(people), WARDS, hr.Hedge(max_disclosure=cap), random_state=0, cap_on="file")
    table = release.table
    assert most(table, list(WARDS.quasi), "ill", 10, ages(release)) <= cap + SLACK
    # it tells as much as the cap allows, and where few are ill in all, another ward is as it was
    assert least <= ill(table, "X") <= largest
    assert people == 600 or abs(ill(table, "A") - 0.05) < 0.06
    assert abs((table["ill"] == "yes").mean() - (ward(people)["ill"] == "yes").mean()) < 0.03


def test_groups_alone_show_the_rule_and_say_so(tmp_path: Path) -> None:
    release = hr.protect(ward(600), WARDS, hr.Hedge(max_disclosure=0.2), random_state=0)
    assert ill(release.table, "X") > 0.95
    rules = file_rules(release.plan, release.released)["ill"]
    assert rules[0]["where"] == {"ward": "X"}
    assert rules[0]["value"] == "yes"
    assert rules[0]["rows"] == (release.table["ward"] == "X").sum()
    assert rules[0]["share"] == pytest.approx(ill(release.table, "X"))
    assert rules[0]["of_all"] == pytest.approx((release.table["ill"] == "yes").mean())
    found = hr.audit(release.original, release, attacks=False, learning=False)
    promised = [sentence for sentence, _ in lines(found.to_dict(), release.plan, release.checks)]
    groups = "The cap holds for the groups that Hedgerow makes. The file also shows rules that 50 people or more carry"
    assert sum(groups in sentence for sentence in promised) == 1
    assert any("rows with ward X, " in sentence for sentence in promised)
    assert any("(reached in hidden groups: " in sentence for sentence in promised)
    folder = release.write(tmp_path / "out")
    assert groups in (folder / "RECIPIENT.md").read_text(encoding="utf-8").replace("\n", " ")


def test_a_rule_that_makes_a_scarce_value_certain_is_a_reason_for_care() -> None:
    release = hr.protect(ward(100), WARDS, hr.Hedge(max_disclosure=0.2), random_state=0)
    found = hr.audit(release.original, release, attacks=False, learning=False).to_dict()
    why = [each for each in reasons(found, release.plan) if "the file shows a rule" in each]
    assert len(why) == 1
    of_all = (release.table["ill"] == "yes").mean()
    assert f"with ward X, 100% have yes of ill, which {of_all:.1%} of all rows have" in why[0]
    met = verdict(found, release.plan, release.checks, [])["thresholds"]
    assert any(each.startswith("disclosure (asked at most 0.2, reached in hidden groups ") for each in met)


def test_of_a_file_that_keeps_the_cap_no_rule_is_a_reason(tmp_path: Path) -> None:
    release = hr.protect(ward(100), WARDS, hr.Hedge(max_disclosure=0.2), random_state=0, cap_on="file")
    found = hr.audit(release.original, release, attacks=False, learning=False).to_dict()
    assert not [each for each in reasons(found, release.plan) if "the file shows a rule" in each]
    promised = " ".join(sentence for sentence, _ in lines(found, release.plan, release.checks))
    assert "Not promised: the cap for combinations of three or more quasi-identifiers." in promised
    assert "(0.2; reached in the file: " in promised
    assert "rules that 50 people or more carry" not in promised
    folder = release.write(tmp_path / "out")
    assert "The same holds in the file for every combination" in (folder / "RECIPIENT.md").read_text(encoding="utf-8")
    assert "at least 10 rows of the file have" in release.plan.explain()


def test_the_default_is_as_it_was() -> None:
    people = ward(100)
    plain, said_so = (hr.protect(people, WARDS, random_state=0, **chosen) for chosen in ({}, {"cap_on": "groups"}))
    assert plain.table.equals(said_so.table)
    assert "cap_on" not in dumps(plain.plan)
    assert not [check for check in plain.checks if "(file)" in check.name]


def test_the_rows_come_in_any_order_and_on_any_engine(tmp_path: Path) -> None:
    people, key = ward(100), tmp_path / "key.bin"
    key.write_bytes(bytes(range(40)))
    key.chmod(0o600)
    hedge, files = hr.Hedge(max_disclosure=0.2), []
    for i, (rows, engine) in enumerate(((0, "memory"), (1, "memory"), (2, "duckdb"))):
        path = tmp_path / f"{i}.parquet"
        mixed = people.sample(frac=1, random_state=rows) if rows else people
        pq.write_table(pa.Table.from_pandas(mixed, preserve_index=False), path)
        release = hr.protect(path, WARDS, hedge, key=key, cap_on="file", engine=engine)
        files.append((release.write(tmp_path / f"out{i}") / "release.parquet").read_bytes())
    assert files[0] == files[1] == files[2]


def test_a_plan_comes_back_and_is_checked_again(tmp_path: Path) -> None:
    release = hr.protect(ward(100), WARDS, hr.Hedge(max_disclosure=0.2), random_state=0, cap_on="file")
    release.plan.save(tmp_path / "plan.json")
    plan = hr.Plan.load(tmp_path / "plan.json")
    assert plan == release.plan
    assert plan.guard.cap_on == FILE
    names = [check.name for check in release.verify()]
    assert names.count("disclosure (file)") == 1
    check = next(check for check in release.checks if check.name == "disclosure (file)")
    assert check.reached == pytest.approx(most(release.table, list(WARDS.quasi), "ill", 10, ages(release)))
    # groups that were drawn again count on from where they were, and their items are derived again
    assert max(plan.guard.again) > 0


def test_a_changed_plan_is_refused() -> None:
    release = hr.protect(ward(100), WARDS, random_state=0, cap_on="file")
    for wrong in (replace(release.plan.guard, cap_on="all"), replace(release.plan.guard, columns=())):
        with pytest.raises(PlanError):
            loads(dumps(replace(release.plan, guard=wrong)))


def test_an_audit_without_a_key_notices_a_file_that_breaks_the_cap(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    ward(100).to_csv(path, index=False)
    release = hr.protect(path, WARDS, hr.Hedge(max_disclosure=0.2), random_state=0, cap_on="file")
    folder = release.write(tmp_path / "out")
    assert "Do not share" not in said(path, folder)

    def all_ill(table: pd.DataFrame) -> None:
        """Give ward X as many ill people as there are: every count of a value stays."""
        ward_x, sick = table.index[table["ward"] == "X"], table.index[table["ill"] == "yes"]
        swapped = [i for i in ward_x if table["ill"][i] == "no"]
        others = [i for i in sick if table["ward"][i] != "X"][: len(swapped)]
        table.loc[swapped[: len(others)], "ill"], table.loc[others, "ill"] = "yes", "no"

    tampered(folder, all_ill)
    assert "combinations of quasi-identifiers tell more" in said(path, folder)


@pytest.mark.parametrize(("method", "chosen", "error"), [
    (hr.Hedge(cells="means"), {}, ParameterError),
    (hr.MART(), {}, ParameterError),
    (hr.MART(), {"guard": "redraw"}, ParameterError),
    (hr.Hedge(), {"guard": "runs"}, ParameterError),
    (hr.Hedge(), {"guard": None}, ParameterError),
    (hr.PrivateTree(epsilon=1), {}, UnsupportedError),
])  # fmt: skip
def test_where_no_rows_are_drawn_it_is_refused_in_one_line(method: Any, chosen: dict[str, Any], error: Any) -> None:
    with pytest.raises(error, match=r"cap_on|a cap on the file") as caught:
        hr.protect(ward(100), WARDS, method, cap_on="file", **chosen)
    assert "\n" not in caught.value.message


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(ParameterError, match="cap_on must be"):
        hr.protect(ward(20), WARDS, cap_on="all")


def test_what_cannot_be_met_is_refused_in_one_line() -> None:
    draws = np.random.default_rng(0)
    people = pd.DataFrame({"q": draws.choice(list("abcdef"), 240), "r": draws.choice(list("uvwxyz"), 240)})
    people["s"] = np.where(draws.random(240) < 0.1, "y", "n")
    with pytest.raises(
        InfeasibleError, match="combinations of quasi-identifiers in the file still break a promise about 's'"
    ) as caught:
        hr.protect(people, hr.Schema(quasi=["q", "r"], sensitive=["s"]), hr.Hedge(k=5, max_disclosure=0.02),
                   random_state=0, cap_on="file")  # fmt: skip
    assert "\n" not in caught.value.message
    assert "cap_on" in caught.value.hint
    assert "another key" in caught.value.hint


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10_000), n=st.integers(80, 300), widths=st.lists(st.integers(2, 4), min_size=1, max_size=3),
    values=st.integers(2, 4), cap=st.sampled_from([0.2, 0.35, 0.5]), missing=st.booleans(), tied=st.floats(0, 1),
)  # fmt: skip
def test_random_tables_keep_the_cap_by_another_count(
    seed: int, n: int, widths: list[int], values: int, cap: float, missing: bool, tied: float
) -> None:
    draws = np.random.default_rng(seed)
    quasi = {f"q{i}": draws.integers(0, width, n) for i, width in enumerate(widths)}
    secret = np.where(draws.random(n) < tied, quasi["q0"] % values, draws.integers(0, values, n))
    people = pd.DataFrame({name: pd.Series([f"v{c}" for c in codes]) for name, codes in quasi.items()})
    people["s"] = [f"s{v}" for v in secret]
    if missing:
        people.loc[draws.random(n) < 0.1, "s"] = None
        people.loc[draws.random(n) < 0.1, "q0"] = None
    schema = hr.Schema(quasi=list(quasi), sensitive=["s"])
    try:
        release = hr.protect(people, schema, hr.Hedge(k=5, max_disclosure=cap), random_state=seed, cap_on="file")
    except InfeasibleError:
        assume(False)
    assert most(release.table, list(quasi), "s", 5) <= cap + SLACK
    assert all(check.holds for check in cap_in_file(release.plan, Table(pa.Table.from_pandas(release.table))))


def test_numbers_and_bundles_keep_the_cap_and_move_together() -> None:
    draws = np.random.default_rng(3)
    n = 2_000
    job, age = draws.choice(["a", "b", "c"], n, p=[0.05, 0.45, 0.5]), draws.integers(20, 65, n)
    pay = np.round(draws.lognormal(8, 0.5, n) * np.where(job == "a", 4, 1), -1)
    people = pd.DataFrame({"job": job, "age": age, "pay": pay, "tax": (pay * 0.3).round(-1)})
    schema = hr.Schema(quasi=["job", "age"], sensitive=["pay", "tax"], follows={"tax": "pay"})
    tables = {}
    for cap_on in ("groups", "file"):
        release = hr.protect(people, schema, hr.Hedge(max_disclosure=0.2), random_state=1, cap_on=cap_on)
        table = tables[cap_on] = release.table
        rows = table["job"] == "a"
        squares = (table["pay"] - table["pay"].mean()) ** 2
        mean = (table["pay"][rows].mean() - table["pay"].mean()) ** 2
        tables[f"{cap_on} tells"] = rows.sum() * mean / np.maximum(squares[rows], squares.mean() / 4).sum()
    assert tables["file tells"] <= 0.2 + SLACK < tables["groups tells"]
    assert tables["file"][["pay", "tax"]].corr().iloc[0, 1] > 0.95


def test_of_few_numbers_each_keeps_the_cap_though_a_run_holds_several() -> None:
    """An age that ten rows had told more than the cap: with its neighbours, of one run, it did not."""
    for seed in (1000, 1008, 1010):
        draws = np.random.default_rng(seed)
        age = draws.integers(20, 50, 400)
        people = pd.DataFrame({"age": age, "sex": draws.choice(["f", "m"], 400)})
        people["ill"] = np.where(draws.random(400) < np.where(age % 2 == 0, 0.9, 0.3), "yes", "no")
        schema = hr.Schema(quasi=["age", "sex"], sensitive=["ill"])
        release = hr.protect(people, schema, hr.Hedge(10, max_disclosure=0.3), random_state=13, cap_on="file")
        assert most(release.table, ["age", "sex"], "ill", 10) <= 0.3 + SLACK


def test_a_recipient_of_a_capped_file_is_told_to_estimate_no_relation(tmp_path: Path) -> None:
    for cap_on, factor in (("groups", True), ("file", False)):
        release = hr.protect(ward(100), WARDS, hr.Hedge(max_disclosure=0.5), random_state=0, cap_on=cap_on)
        folder = release.write(tmp_path / cap_on)
        words = " ".join((folder / "RECIPIENT.md").read_text(encoding="utf-8").split())
        assert ("multiply standard errors by" in words) == factor
        assert ("do not estimate regressions" in words) != factor


@pytest.mark.parametrize("criterion", [TCloseness(0.25), LDiversity(1.1, "entropy")])
def test_other_promises_hold_in_the_file_as_well(criterion: Any) -> None:
    hedge = hr.Hedge(max_disclosure=None, criteria=[criterion])
    release = hr.protect(ward(100), WARDS, hedge, random_state=0, cap_on="file")
    check = next(check for check in release.checks if check.name == f"{criterion.name} (file)")
    assert check.holds
    if isinstance(criterion, TCloseness):
        share = ill(release.table, "X") - (release.table["ill"] == "yes").mean()
        assert share <= 0.25 + SLACK


def test_a_file_without_a_cap_is_refused() -> None:
    with pytest.raises(ParameterError, match="no cap that the file could keep"):
        hr.protect(ward(100), WARDS, hr.Hedge(max_disclosure=1), cap_on="file")


def test_nothing_moves_where_nothing_breaks_the_cap() -> None:
    people = ward(0).assign(ill=np.random.default_rng(1).choice(["yes", "no"], 3_000))
    release = hr.protect(people, WARDS, hr.Hedge(k=20, max_disclosure=0.9), random_state=0)
    plan = replace(release.plan, guard=replace(release.plan.guard, cap_on=FILE))
    in_file = tuple(np.unique(release.table["age"]).tolist())
    seen = [replace(c, values=in_file) if c.name == "age" else c for c in plan.guard.columns]
    codes = {c.name: release.table[c.name].map(c.values.index).to_numpy() for c in seen}
    place, broken = within_file_cap(plan.guard, plan, seen, codes, Key(bytes(range(32))))
    assert not broken
    assert place["ill"].tolist() == list(range(3_000))


def test_combinations_are_those_that_enough_rows_have() -> None:
    one, two = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1])
    every = Combinations.from_bins([one, two], 2)
    assert [number.tolist() for number in every.of_row] == [
        [0, 0, 0, 1, 1, -1], [2, 2, -1, 3, 3, -1], [4, 4, 5, 5, 5, 5]
    ]  # fmt: skip
    assert every.sizes.tolist() == [3, 2, 2, 2, 2, 4]


@given(
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=4), seed=st.integers(0, 999),
    ordered=st.booleans(), looked=st.integers(1, 8),
)  # fmt: skip
def test_swaps_are_those_of_the_definition(sizes: list[int], seed: int, ordered: bool, looked: int) -> None:
    draws, n = np.random.default_rng(seed), sum(sizes)
    cells, levels = draws.integers(-1, 3, (n, 2)), draws.integers(0, 3, (2, n))
    cells[:, 1] = np.where(cells[:, 1] >= 0, cells[:, 1] + 3, -1)
    column, is_ordered = np.array([0, 1]), np.array([ordered, not ordered])
    off, spare = draws.integers(-200, 200, (6, 3)), draws.integers(0, 20_000, (2, 3))
    weight, rows, leave = draws.integers(1, 4, 6), draws.integers(3, 9, 6), draws.integers(0, 3, 6)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = draws.permutation(n)
    visits = np.stack([order, first[order], np.repeat(sizes, sizes)[order], draws.integers(0, 99, n)], axis=1)
    place, wanted = np.arange(n), [*range(n)]
    plain = reference.Caps(
        cells.tolist(), column.tolist(), is_ordered.tolist(), spare.tolist(), off.tolist(), weight.tolist(),
        rows.tolist(), leave.tolist(),
    )  # fmt: skip
    lists = levels.tolist()
    n_swaps = reference.swapped_below_caps(visits.tolist(), wanted, lists, plain, looked)
    caps = Caps(cells.astype(np.int32), column, is_ordered, spare, off, weight, rows, leave)
    assert swap_below_caps(visits, place, levels, caps, looked) == n_swaps
    assert place.tolist() == wanted
    assert levels.tolist() == lists
    assert (off.tolist(), leave.tolist()) == (plain.off, plain.leave)


def test_the_command_line_and_a_file_of_settings_take_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ward(100).to_csv("people.csv", index=False)
    roles = ["--quasi", "ward,age,sex", "--sensitive", "ill", "--max-disclosure", "0.2", "--no-report"]
    Path("r.toml").write_text('cap_on = "file"\nrandom_state = 3\n')
    for out, more in (("a", ["--cap-on", "file", "--random-state", "3"]), ("b", ["--config", "r.toml"])):
        assert run(["protect", "people.csv", *roles, *more, "--out", out]) == 0
    assert Path("a/release.csv").read_bytes() == Path("b/release.csv").read_bytes()
    assert hr.Plan.load("a/plan.json").guard.cap_on == "file"
