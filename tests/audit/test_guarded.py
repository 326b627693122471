"""Audits of releases whose sensitive values are told as runs, or drawn anew inside their groups."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.auditing import influence
from hedgerow.auditing.class_risk import of_true_values
from hedgerow.auditing.non_members import refitting
from hedgerow.auditing.pairing import pair_up
from hedgerow.auditing.subject import of_release
from hedgerow.errors import InputError
from hedgerow.notation import figure
from hedgerow.report.figures import three_heads, three_numbers
from hedgerow.report.verdict import verdict

QUASI = ["age", "sex", "job", "children"]
SCHEMA = hr.Schema(quasi=QUASI, sensitive=["income", "diagnosis"])
FEW = {"learning": False, "inference": False, "people": 200}


@pytest.fixture(scope="module")
def people():
    return hr.datasets.make_people(1500, seed=4).select([*QUASI, "income", "diagnosis"])


@pytest.fixture(scope="module", params=["runs", "redraw"])
def release(request, people):
    key = 1 if request.param == "redraw" else None
    return hr.protect(people, SCHEMA, hr.Hedge(cells="means"), guard=request.param, random_state=key)


@pytest.fixture(scope="module")
def audited(people, release):
    return hr.audit(people, release, **FEW)


def paired(release):
    return pair_up(release.original, of_release(release))


def test_strangers_are_attacked_in_releases_that_are_guarded_alike(people, release, audited):
    pair = paired(release)
    refit = refitting(release.method, SCHEMA, release.plan.guard)(release.original)
    exact = set(pair.sensitive[0].values)
    told = set(refit.released_sensitive[0].values)
    assert len(told) < len(exact) / 5 if release.plan.guard.form == "runs" else len(told & exact) < len(exact) / 2
    assert refit.guard.form == release.plan.guard.form
    by_exact_value = [
        a["success"] for a in audited.attacks if a["attack"] == "membership" and a["learner"] == "exact value"
    ]
    assert max(by_exact_value) < 0.7


def test_forecasts_by_released_groups_are_scored_on_true_values(release, audited):
    pair = paired(release)
    groups, true, told = pair.classes, pair.sensitive[0].numbers, pair.released_sensitive[0].numbers
    mean = np.bincount(groups.labels, told) / groups.sizes
    loss = (true - true.mean()) ** 2
    gain = np.bincount(groups.labels, loss - (true - mean[groups.labels]) ** 2)
    shares = np.maximum(gain, 0) / np.bincount(groups.labels, np.maximum(loss, loss.mean() / 4))
    income = audited.risk["release"]["sensitive"]["income"]
    assert income["originals"]["score"] == "squared"
    assert income["originals"]["worst"] == pytest.approx(shares.max())
    assert income["originals"]["mean_over_groups"] == pytest.approx(shares.mean())


def test_forecasts_of_categories_are_scored_by_their_shares(release):
    pair = paired(release)
    groups, column, told = pair.classes, pair.sensitive[1], pair.released_sensitive[1]
    codes = told.codes_in(column, unknown=column.n_values)
    eye = np.eye(column.n_values + 1)[:, :-1]
    shares = [eye[codes[groups.labels == g]].sum(axis=0) for g in range(groups.n_groups)]
    forecast = np.array([share / share.sum() for share in shares])
    y = eye[column.codes]
    loss = ((y - y.mean(axis=0)) ** 2).sum(axis=1)
    gain = np.bincount(groups.labels, loss - ((y - forecast[groups.labels]) ** 2).sum(axis=1))
    worst = (gain / np.bincount(groups.labels, np.maximum(loss, loss.mean() / 4))).max()
    originals, _ = of_true_values(groups, column, told, pair.targets["diagnosis"])
    assert originals["worst"] == pytest.approx(worst)


def test_the_best_guess_for_a_group_is_chosen_by_released_values_and_hits_true_ones(release, audited):
    pair = paired(release)
    groups, true, told = pair.classes, pair.sensitive[0].numbers, pair.released_sensitive[0].numbers
    hits = 0
    for g in range(groups.n_groups):
        mine = np.sort(told[groups.labels == g])
        # the first of the places that lie within 10% of most values, at its middle
        low, high = mine * 0.9, mine * 1.1
        hit = [(low <= at + 1e-9) & (high >= at - 1e-9) for at in low]
        first = int(np.argmax([each.sum() for each in hit]))
        guess = (low[first] + high[hit[first]].min()) / 2
        theirs = true[groups.labels == g]
        hits += np.count_nonzero(np.abs(theirs - guess) <= 0.1 * theirs + 1e-9)
    matching = audited.risk["release"]["sensitive"]["income"]["matching"]["0.10"]
    assert matching["release"] == pytest.approx(hits / len(true), abs=1e-9)


def test_exact_releases_say_nothing_of_forecasts_of_true_values(people):
    plain = hr.audit(people, hr.protect(people, SCHEMA, hr.Hedge(), guard=None), attacks=False, learning=False)
    assert "originals" not in plain.risk["release"]["sensitive"]["income"]
    assert "forecasts of true values" not in str(plain)


def test_rows_that_were_drawn_have_no_control_of_withheld_rows(release, audited):
    controls = [a["control"] for a in audited.attacks if a["attack"] == "regression"]
    drawn = release.plan.guard.form == "redraw"
    assert controls
    assert all((control is None) == drawn for control in controls)


def test_influence_is_learnt_from_released_values(release):
    pair = paired(release)
    taught, true = influence._responses(pair, np.arange(pair.n_rows))
    scale = np.std(pair.sensitive[0].numbers)
    assert taught[:, 0] == pytest.approx(pair.released_sensitive[0].numbers / scale)
    assert true[:, 0] == pytest.approx(pair.sensitive[0].numbers / scale)


def test_true_values_are_looked_for_as_what_the_release_tells_of_them(people, release):
    pair = paired(release)
    income = pair.as_shown(pair.members).sensitive[0]
    if release.plan.guard.form == "redraw":  # each number is one of its own, so nobody's is another
        assert income.values.tolist() == pair.sensitive[0].values.tolist()
        assert len(set(pair.released_sensitive[0].values)) > len(release.plan.guard.columns[0].values)
        return
    assert set(pair.released_sensitive[0].values) <= set(income.values)
    for shown, released in zip(pair.as_shown(pair.members).sensitive, pair.released_sensitive, strict=True):
        assert (released.codes_in(shown, unknown=-1) == shown.codes).all()
    counts = np.bincount(income.codes)
    assert counts.min() >= release.plan.guard.people


def test_what_the_method_refused_is_not_measured_with_values_that_nobody_sees(audited):
    assert audited.risk["knows_method"] is None
    assert any("refused" in line for line in audited.to_dict()["not_measured"])


def test_notes_say_what_became_of_the_values(release, audited):
    notes = " ".join(audited.table["notes"])
    assert "row by row" not in notes
    assert ("nobody's own" in notes) == (release.plan.guard.form == "redraw")


def test_a_folder_without_its_map_is_paired_by_what_was_not_drawn(people, release, tmp_path):
    release.write(tmp_path / "out")
    (tmp_path / "out" / "mapping.json").unlink(missing_ok=True)
    found = hr.audit(people, tmp_path / "out", attacks=False, learning=False)
    whole = hr.audit(people, release, attacks=False, learning=False)
    assert found.table["paired"]
    for side in ("original", "release"):
        assert found.risk[side] == whole.risk[side]


def test_releases_of_runs_are_compared_by_runs_and_drawn_ones_are_refused(people, release):
    form = release.plan.guard.form
    other = hr.protect(people, SCHEMA, hr.MART(k=12), guard=form, random_state=2 if form == "redraw" else None)
    options = {"attacks": False, "learning": False}
    if release.plan.guard.form == "redraw":
        with pytest.raises(hr.errors.InputError, match="excludes nothing"):
            hr.audit(people, release, others=[other], **options)
        return
    exact = hr.protect(people, SCHEMA, hr.MART(k=12), guard=None)
    with pytest.raises(hr.errors.InputError, match="both runs"):
        hr.audit(people, release, others=[exact], **options)
    income = hr.audit(people, release, others=[other], **options).risk["composition"]["columns"]["income"]
    each = paired(release)
    codes = each.released_sensitive[0].codes
    distinct = [len(set(codes[each.classes.labels == g])) for g in each.classes.labels]
    assert income["alone"][0]["values"] == pytest.approx(np.mean(distinct))
    assert 1 <= income["together"]["values"] <= income["alone"][0]["values"]


def test_records_move_between_the_values_that_are_released(release, audited):
    moved = audited.utility["distributions"]["columns"]["income"]
    pair = paired(release)
    cuts = np.asarray(release.plan.guard.columns[0].cuts)
    both = (np.asarray(t["income"], np.float64) for t in (release.original.arrow, release.table))
    shares = [np.bincount(np.searchsorted(cuts, values, "right"), minlength=len(cuts) + 1) for values in both]
    assert moved["total_variation_of_runs"] == pytest.approx(np.abs(shares[0] - shares[1]).sum() / 2 / pair.n_rows)
    # the formula of the page is of single values; a plan or none made two figures of one name
    tables = (release.original.arrow["income"], release.table["income"])
    before, after = (column.to_pandas().value_counts(normalize=True) for column in tables)
    assert moved["total_variation"] == pytest.approx(before.sub(after, fill_value=0).abs().sum() / 2)
    assert moved["kolmogorov_smirnov"] > 0


def test_the_page_says_that_drawn_values_beside_an_original_are_nobodys(release, audited, tmp_path):
    audited.report(tmp_path / "report.html", plan=release.plan)
    page = (tmp_path / "report.html").read_text()
    assert ("are nobody's own.</caption>" in page) == (release.plan.guard.form == "redraw")


def test_groups_of_one_value_are_counted_among_true_values():
    """One group in two is all zeros; the other has all zeros drawn, or not, by chance."""
    n = 400
    x = np.repeat([0, 50], n // 2)
    y = np.where(x == 0, 0, np.tile([0] * 9 + [7], n // 10))
    table = pa.table({"x": x, "y": y})
    schema = hr.Schema(quasi=["x"], sensitive=["y"])
    release = hr.protect(table, schema, hr.MART(k=20, max_disclosure=None), guard="redraw", random_state=3)
    pair = paired(release)
    alike = [len(set(pair.sensitive[0].codes[pair.classes.labels == g])) == 1 for g in range(pair.classes.n_groups)]
    found = hr.audit(table, release, attacks=False, learning=False).risk["release"]["sensitive"]["y"]
    assert found["exposed"]["single_valued"] == sum(alike) > 0


def test_drawn_rows_that_are_equal_by_chance_reveal_nobody(people):
    release = hr.protect(people, SCHEMA, hr.Hedge(cells="rows"), random_state=1)
    found = hr.audit(people, release, attacks=False, learning=False)
    assert not any("everybody has the same value" in line for line in found.unbounded)


def test_a_frontier_measures_rows_as_they_are_released(people):
    tried = hr.frontier(
        people, SCHEMA, {"means": hr.Hedge(cells="means"), "rows": hr.Hedge()}, k=[10], disclosure="linkage"
    )
    linked = {point.method: point.disclosure for point in tried.points}
    assert linked["means"] != linked["rows"]
    # drawn rows do not show their groups, which are counted all the same
    for name in ("means", "rows"):
        point = next(p for p in tried.points if p.method == name)
        method = hr.Hedge(cells=name, max_disclosure=point.parameters["max_disclosure"])
        groups = hr.protect(people, SCHEMA, method, random_state=0).summary()["groups"]
        assert (point.k, point.classes) == (groups["smallest"], groups["groups"])


@pytest.mark.filterwarnings("ignore")
def test_a_column_that_groups_share_is_no_column_left_as_it_was():
    rng = np.random.default_rng(1)
    sex, age = rng.choice(["f", "m"], 400), rng.integers(20, 60, 400)
    income = np.where(sex == "f", 1000, 90000) + rng.integers(0, 900, 400)
    table = pa.table({"sex": sex, "age": age, "income": income})
    schema = hr.Schema(quasi=["sex", "age"], sensitive=["income"])
    release = hr.protect(table, schema, hr.Hedge(10, cells="rows", max_disclosure=None), random_state=1)
    audit = hr.audit(table, release, attacks=False, learning=False)
    # every group has one sex, and draws it
    assert audit.utility["loss"]["columns"]["sex"]["changed"] == 0
    assert not [words for words in audit.unbounded if "left every cell" in words]


@pytest.fixture(scope="module")
def rows(people):
    return hr.protect(people, SCHEMA, hr.Hedge(k=10, max_disclosure=0.5), random_state=1)


def test_drawn_rows_are_counted_in_the_groups_of_their_plan(people, rows, tmp_path):
    reached = {check.name: check.reached for check in rows.checks}
    rows.write(tmp_path / "out")
    for release, promise in ((rows, "disclosure"), (tmp_path / "out", "disclosure (originals)")):
        found = hr.audit(people, release, attacks=False, learning=False)
        figures = found.risk["release"]
        assert figures["classes"]["classes"] == len(rows.plan.guard.sizes)
        assert figures["classes"]["k"] == figures["classes"]["wildcard_k"] == reached["k-anonymity"]
        worst = max(column["disclosure"]["worst"] for column in figures["sensitive"].values())
        assert worst == pytest.approx(reached[promise])
        assert not found.broken(k=10, max_disclosure=0.5)
        assert any(f"{figures['classes']['classes']} groups" in note for note in found.table["notes"])
        # draws and originals of a group give different figures, so it is said whose these are
        whose = "by the values that were drawn" if release is rows else "by the values of its people"
        assert any(whose in note for note in found.table["notes"])
        by = "drawn values" if release is rows else "the people's own values"
        assert three_heads(found.table)[0] == f"groups by {by}: worst, mean"
        assert verdict(found.to_dict(), rows.plan, (), ())["says"].startswith("Promises kept; ")
        # the three numbers had none of groups, although these were measured
        assert figure(worst) in [groups.split(", ")[0] for _, groups, *_ in three_numbers(found.to_dict())]


def test_a_release_of_another_table_is_not_measured(rows, tmp_path):
    rows.write(tmp_path / "out")
    others = hr.datasets.make_people(1500, seed=9)
    with pytest.raises(InputError, match="made from another table"):
        hr.audit(others, tmp_path / "out", attacks=False, learning=False)


def test_a_missing_value_that_was_drawn_hides_none():
    """Counts are the same whether rows are paired or not, and those of the table that is read."""
    people = hr.datasets.make_people(2_000, seed=1)
    schema = hr.Schema(quasi=["age", "job", "marital"], sensitive=["income"])
    assert people["job"].null_count > 50
    release = hr.protect(people, schema, random_state=1)
    options = {"attacks": False, "learning": False, "inference": False}
    paired, unpaired = (
        hr.audit(people, each, plan=release.plan, **more, **options)
        for each, more in ((release, {}), (release.table, {"paired": False}))
    )
    assert (paired.to_dict()["table"]["paired"], unpaired.to_dict()["table"]["paired"]) == (True, False)
    assert paired.utility["queries"] == unpaired.utility["queries"]


def test_figures_of_a_persons_own_row_are_left_out_for_drawn_rows(people, rows):
    found = hr.audit(people, rows, learning=False, inference=False, people=50)
    assert found.risk["linkage"]["scores"] is None
    assert found.shown is None
    assert not [attack for attack in found.attacks if attack["attack"] == "downcoding"]
    assert not [note for note in found.table["notes"] if "do not cover" in note]
    assert "drawn rows are nobody's own" in str(found)


def test_drawn_rows_that_equal_a_person_are_counted_beside_strangers():
    members = pa.table({"age": [1, 1, 2, 3, 4], "sex": ["f", "f", "m", "m", "f"]})
    strangers = pa.table({"age": [9, 2, 3, 7], "sex": ["f", "m", "f", "f"]})
    released = pa.table({"age": [1, 2, 2, 8], "sex": ["f", "m", "m", "f"]})
    schema = hr.Schema(quasi=["age", "sex"], sensitive=[])
    found = hr.audit(members, released, schema, control=strangers, paired=False, attacks=False, learning=False)
    # the pair of 1, f is not alone; of 2, 3 and 4 one is released, of four strangers one
    # by Good and Toulmin: one row twice, three once, four fifths as many rows; the first term weighs 1 - 1/256
    chance = 2 * (1 / 3) * 0.8 * (1 - 1 / 256)
    equal = {"rows": 0.75, "copied": 2, "members": 1 / 3, "strangers": 0.25, "chance": pytest.approx(chance)}
    # by Fisher's test: at least the one of three, if two of seven are found
    assert found.risk["equal"] == equal | {"p_value": pytest.approx(1 - (5 * 4 * 3) / (7 * 6 * 5))}
    assert "75.0% of the released rows equal somebody's row" in str(found)
    assert "75.0% of the released rows equal somebody&#x27;s row" in found._repr_html_()


def test_rows_of_people_are_not_compared_as_drawn_ones(audited):
    assert audited.risk["equal"] is None


def test_a_folder_without_a_control_says_once_what_needs_one(people, rows, tmp_path):
    rows.write(tmp_path / "out")
    options = {"learning": False, "people": 40, "learners": ["linear"]}
    words = str(hr.audit(people, tmp_path / "out", **options))
    assert words.count("(--control)") == words.count("took no part, so membership and member advantage") == 1
    with_control = str(hr.audit(people, tmp_path / "out", control=hr.datasets.make_people(200, seed=8), **options))
    assert "(--control)" not in with_control
