"""k counts households: who finds one member must not find the others, nor learn who lives together.

A release is read as its recipient reads it; who lives together is what the steward alone knows.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import InfeasibleError, InputError, PromiseError, SchemaError, UnsupportedError
from hedgerow.io.read import read

K = 5
NUMBERS = ("MDAV", "MDAV with Gower's distance")
METHODS: dict[str, Any] = {
    "MART": hr.MART(K),
    "Mondrian by median": hr.Mondrian(K),
    "Mondrian by loss": hr.Mondrian(K, objective="loss"),
    "Hedge": hr.Hedge(K, screen=False),
    "Datafly": hr.Datafly(K, suppression=0.1),
    "Incognito": hr.Incognito(K, suppression=0.1),
    "MDAV": hr.Microaggregation(K),
    "MDAV with Gower's distance": hr.Microaggregation(K, distance="gower"),
    "local suppression": hr.LocalSuppression(K),
    "TPP": hr.TreePatternPreserving("tree n_splits=2 min_leaf=40 criterion=variance", k=K, response="pay"),
}


def families(n: int = 60, seed: int = 0, most: int = 9) -> pd.DataFrame:
    """Large households that live in few places: groups of like records are groups of siblings."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, most, n)
    home = np.repeat(np.arange(n), size)
    made = pd.DataFrame(
        {
            "home": [f"h{i:03d}" for i in home],
            "place": np.sort(rng.integers(0, n // 2, n))[home],
            "members": size[home],
            "age": np.clip(rng.integers(0, 60, n)[home] + rng.integers(0, 3, len(home)), 0, 90),
            "pay": rng.integers(1000, 5000, len(home)),
        }
    )
    return made.sample(frac=1, random_state=seed).reset_index(drop=True)


QUASI = ["place", "members", "age"]


def schema_for(name: str, **more: Any) -> hr.Schema:
    return hr.Schema(**{"quasi": QUASI, "sensitive": ["pay"], "household": "home", **more})


def counted(people: pd.DataFrame, release: Any) -> tuple[int, int]:
    """Records and households of the smallest group, by pandas."""
    told = read(release.table).arrow.to_pandas()
    told["home"] = people["home"].to_numpy()[release.rows]
    by = told.groupby(list(release.plan.names("quasi")), dropna=False, sort=False)["home"]
    return int(by.size().min()), int(by.nunique().min())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_a_group_holds_k_households(name: str) -> None:
    people, method = families(), METHODS[name]
    alone = hr.protect(people, schema_for(name, household=None), method, guard=None)
    records, homes = counted(people, alone)
    assert records >= K
    if name not in ("Hedge", "Datafly", "Incognito", "TPP"):
        assert homes < K, "k records are not k households: the check must see it"
    release = hr.protect(people, schema_for(name), method, guard=None)
    assert counted(people, release)[1] >= K
    assert "home" not in release.table.columns
    check = next(c for c in release.checks if c.name == "k-anonymity")
    assert check.reached == counted(people, release)[1]
    assert "households by 'home'" in check.detail


@pytest.mark.parametrize("fifty", range(4))
@pytest.mark.filterwarnings("ignore")
def test_hundreds_of_random_releases_hold_k_people_of_k_households(fifty: int) -> None:
    """Visits of people who live together, against an independent count of both."""
    for seed in range(50 * fifty, 50 * fifty + 50):
        rng = np.random.default_rng(seed)
        people = families(int(rng.integers(20, 60)), seed, most=int(rng.integers(2, 7)))
        people["id"] = np.arange(len(people))
        people = people.iloc[np.repeat(np.arange(len(people)), rng.integers(1, 4, len(people)))]
        people = people.assign(age=people["age"] + rng.integers(0, 2, len(people)))
        k = int(rng.integers(2, 7))
        schema = schema_for("", unit="id", identifiers=["id"])
        release = hr.protect(people, schema, hr.Mondrian(k, objective=("median", "loss")[seed % 2]))
        told = release.table.reset_index(drop=True)
        told["id"], told["home"] = (people[n].to_numpy()[release.rows] for n in ("id", "home"))
        by = told.groupby(QUASI, sort=False)
        homes = by["home"].nunique().min()
        assert homes >= k
        assert by["id"].nunique().min() >= k
        check = next(c for c in release.checks if c.name == "k-anonymity")
        assert check.reached == homes, "the smaller count is the one that is told"
        most = told.groupby([*QUASI, "id"], sort=False).size().groupby(QUASI, sort=False).max()
        assert (2 * most <= by.size().reindex(most.index)).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["MART", "Mondrian by median", "local suppression"])
def test_no_member_is_found_through_a_siblings_record(tmp_path: Path, name: str) -> None:
    """The intruder knows a whole family, finds the records that fit each member, and asks whether
    only one household could have them: then a sibling's record names the person's own.
    """
    people = families(seed=4)
    people.to_csv(tmp_path / "people.csv", index=False)

    def named(household: str | None) -> int:
        schema = schema_for(name, household=household)
        release = hr.protect(people, schema, METHODS[name], guard=None)
        keys = [tuple(row) for row in release.table[QUASI].astype(str).itertuples(index=False)]
        fits: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for key, row in zip(keys, release.rows, strict=True):
            fits[key].add(people["home"][row])
        own = dict(zip(release.rows.tolist(), keys, strict=True))
        found = 0
        for _, members in people.groupby("home"):
            groups = {own[i] for i in members.index}
            # households with a record in every group that a member of this one is in
            found += any(len(fits[key]) == 1 for key in groups)
        return found

    assert named(None) > 0, "an attack that cannot succeed shows nothing"
    assert named("home") == 0


@pytest.mark.filterwarnings("ignore")
def test_the_size_of_a_household_is_recoded_with_its_members(tmp_path: Path) -> None:
    people = families()
    people.to_csv(tmp_path / "people.csv", index=False)
    release = hr.protect(tmp_path / "people.csv", schema_for("MART"), hr.MART(K))
    release.write(tmp_path / "out")
    told = pd.read_csv(tmp_path / "out" / "release.csv", dtype=str)
    told["home"] = people["home"].to_numpy()[release.rows]
    # every released size is shared by k households, and none is told apart by its number of records
    assert told.groupby("members")["home"].nunique().min() >= K
    assert "home" not in (tmp_path / "out" / "release.csv").read_text().splitlines()[0].split(",")
    recipient = (tmp_path / "out" / "RECIPIENT.md").read_text()
    assert f"at least {K} people of {K} households (told apart by home)" in recipient


TREES: dict[str, Any] = {name: METHODS[name] for name in ("MART", "Mondrian by median", "Mondrian by loss")} | {
    "Hedge": hr.Hedge(K, numeric="range")
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TREES)
def test_members_stay_together_in_one_cell(name: str) -> None:
    people = families(120)
    people.loc[::7, "age"] = np.nan
    release = hr.protect(people, schema_for(name, together=True), TREES[name], guard=None)
    told = release.table.assign(home=people["home"].to_numpy()[release.rows])
    cells = told.groupby("home")[QUASI].nunique(dropna=False)
    assert (cells == 1).all().all()
    assert counted(people, release)[1] >= K
    assert told.groupby(QUASI, sort=False).ngroups > 1, "the groups are not one"
    check = next(c for c in release.checks if c.name == "households together")
    assert (check.required, check.reached) == (0, 0)
    apart = hr.protect(people, schema_for(name), TREES[name], guard=None)
    split = apart.table.assign(home=people["home"].to_numpy()[apart.rows])
    if name != "Hedge":
        assert (split.groupby("home")[QUASI].nunique(dropna=False) > 1).any().any()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TREES)
def test_a_column_that_differs_in_few_households_splits_none(name: str) -> None:
    people = families(120)
    first = people[~people["home"].duplicated() & (people["members"] > 1)]
    people.loc[first.index[::10], "place"] = -1
    release = hr.protect(people, schema_for(name, together=True), TREES[name], guard=None)
    cells = release.table.assign(home=people["home"].to_numpy()[release.rows]).groupby("home")[QUASI]
    assert (cells.nunique(dropna=False) == 1).all().all()
    assert release.table["members"].nunique() > 1


@pytest.mark.filterwarnings("ignore")
def test_a_household_that_was_split_is_seen() -> None:
    people = families(120)
    release = hr.protect(people, schema_for("", together=True), hr.MART(K))
    other = people.assign(home=np.random.default_rng(0).permutation(people["home"]))
    release.original = hr.protect(other, schema_for("", household=None), hr.MART(K)).original
    with pytest.raises(PromiseError, match="households together: required 0, reached"):
        release.verify()


@pytest.mark.filterwarnings("ignore")
def test_what_cannot_stay_together_is_refused() -> None:
    people = families()
    with pytest.raises(InfeasibleError, match="no quasi-identifier is the same for all members"):
        hr.protect(people, schema_for("", together=True, quasi=["age"]), hr.MART(K))
    grid = {"age": [18, 65]}
    with pytest.raises(UnsupportedError, match="'age' differs inside households"):
        hr.protect(people, schema_for("", together=True, grid=grid), hr.MART(K))
    for method in (hr.Datafly(K), hr.LocalSuppression(K)):
        with pytest.raises(UnsupportedError, match="does not support together"):
            hr.protect(people, schema_for("", together=True), method)
    with pytest.raises(SchemaError, match="no household is named"):
        hr.Schema(quasi=["age"], together=True)


def test_who_lives_together_is_never_released() -> None:
    people = families()
    for role in ("other", "sensitive", "quasi"):
        given = {"quasi": QUASI, "household": "home"}
        given[role] = [*given.get(role, ()), "home"]
        with pytest.raises(SchemaError, match=f"'home' is {role} as well: released, it would tell"):
            hr.Schema(**given)
    with pytest.warns(UserWarning, match="home is left out and has no pseudonym"):
        release = hr.protect(
            people.assign(id=np.arange(len(people))),
            schema_for("", identifiers=["id", "home"]),
            hr.Mondrian(K),
            pseudonym_key=b"a secret of sixteen bytes",
        )
    assert "home" not in release.table.columns
    assert "id" in release.table.columns


def test_columns_that_tell_who_lives_together_are_told() -> None:
    people = families()
    rent = dict(zip(people["home"].unique(), range(300, 10**6, 7), strict=False))
    people["rent"] = people["home"].map(rent)
    schema = schema_for("").replace(other=["rent"])
    with pytest.warns(UserWarning, match=r"rent: \d+ of 60 households .* who lives together"):
        hr.protect(people, schema, hr.Mondrian(K))


@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_counted_is_refused() -> None:
    people = families()
    lost = people.assign(home=people["home"].where(people["age"] > 20))
    with pytest.raises(InputError, match=r"the household 'home' is missing in \d+ records"):
        hr.protect(lost, schema_for(""), hr.MART(K))
    with pytest.raises(InfeasibleError, match="the table has 60 households by 'home'"):
        hr.protect(people, schema_for(""), hr.MART(61))
    moved = people.assign(id=[0, 0, *range(2, len(people))])
    moved["home"] = ["h000", "h001", *moved["home"][2:]]
    schema = schema_for("", unit="id", identifiers=["id"])
    with pytest.raises(InputError, match="people by 'id' are in several households by 'home': 1"):
        hr.protect(moved, schema, hr.MART(K))
    for method in (hr.Anatomy(2), hr.RandomizedResponse(1.2, bins=3), hr.NoiseAddition(), hr.PRAM()):
        with pytest.raises(UnsupportedError, match="does not support household"):
            hr.protect(people, schema_for(""), method)
    with pytest.raises(UnsupportedError, match="does not see the household"):
        hr.MART(K, schema=hr.Schema(household="home")).fit(people[["age"]], people["pay"])


@pytest.mark.filterwarnings("ignore")
def test_a_group_that_lost_its_households_is_seen() -> None:
    """Verification counts the households of the rows as they stand, not what the method says."""
    people = families()
    release = hr.protect(people, schema_for(""), hr.Mondrian(K))
    one = people.assign(home=people["home"].where(people["age"] > 30, "h000"))
    release.original = hr.protect(one, schema_for("", household=None), hr.Mondrian(K)).original
    with pytest.raises(PromiseError, match="k-anonymity"):
        release.verify()


@pytest.mark.filterwarnings("ignore")
def test_households_are_told_wherever_people_are(tmp_path: Path) -> None:
    people = families()
    people.to_csv(tmp_path / "people.csv", index=False)
    release = hr.protect(tmp_path / "people.csv", schema_for(""), hr.MART(K))
    assert release.summary()["households"] == counted(people, release)[1]
    assert f"of {release.summary()['households']} households" in release._repr_html_()
    release.write(tmp_path / "out")
    found = hr.audit(tmp_path / "people.csv", tmp_path / "out", attacks=False, learning=False)
    assert found.risk["release"]["classes"]["households"] == release.summary()["households"]
    assert "k in households" in str(found)
    found.report(tmp_path / "report.html")
    assert "household, highest risk" in (tmp_path / "report.html").read_text()
    assert hr.Plan.load(tmp_path / "out" / "plan.json").household == "home"
