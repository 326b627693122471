"""The worked example, made people, and public files with their known sizes."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from experiments import public_data
from hedgerow import datasets
from hedgerow.errors import InputError, ParameterError

needs_data = pytest.mark.skipif(
    not os.environ.get("HEDGEROW_DATA"), reason="HEDGEROW_DATA names no folder of public data"
)


def test_worked_example():
    table = datasets.load_mart_example()
    assert table.shape == (14, 5)
    assert table.column("Age").to_pylist()[:3] == [27, 39, 46]
    assert table.slice(13).to_pylist() == [
        {"Age": 51, "YearsEdu": 20, "Occupation": "professional", "Income": 77, "Asset": 143}
    ]
    assert set(datasets.MART_CATEGORIES["Occupation"]) == set(table["Occupation"].to_pylist())


@pytest.mark.parametrize("n", [1, 2, 37, 1000])
def test_people_of_any_number_are_the_same_for_the_same_seed(n):
    people = datasets.make_people(n, seed=4)
    assert people.num_rows == n
    assert people.equals(datasets.make_people(n, seed=4))
    assert len(people["person_id"].unique()) == n
    people.validate(full=True)


def test_seeds_differ():
    assert not datasets.make_people(50, seed=1).equals(datasets.make_people(50, seed=2))


def test_no_people_is_an_error():
    with pytest.raises(ParameterError, match="at least 1"):
        datasets.make_people(0)


def test_people_depend_on_each_other_as_described():
    people = datasets.make_people(20_000)
    age, years = people["age"].to_numpy(), people["education"].combine_chunks().indices.to_numpy()
    income, assets = people["income"].to_numpy(), people["assets"].to_numpy()

    def rank(values):
        return np.argsort(np.argsort(values))

    assert np.corrcoef(rank(years), rank(income))[0, 1] > 0.4
    assert np.corrcoef(rank(age), rank(assets))[0, 1] > 0.2
    ill = (people["diagnosis"].to_numpy() == "hypertension").astype(float)
    assert np.corrcoef(age, ill)[0, 1] > 0.1
    for money in (income, assets):
        spread = (money - money.mean()) / money.std()
        assert (spread**3).mean() > 2  # skewed to the right
        assert money.min() >= 0
    entry = people["entry_date"].cast(pa.int32()).to_numpy()
    assert np.all(2024 - (1970 + entry / 365.25) <= age - 15)


def test_people_have_what_methods_need():
    people = datasets.make_people(5_000)
    missing = {n for n in people.column_names if people[n].null_count}
    assert missing == {"years_schooling", "job", "marital", "hours_per_week"}
    distinct = {n: len(people[n].drop_null().unique()) for n in people.column_names}
    assert distinct["job"] >= 14
    assert distinct["region"] >= 20
    assert all(distinct[n] <= 256 for n in ("age", "years_schooling", "children", "hours_per_week"))


@needs_data
def test_public_files_have_their_known_sizes():
    assert datasets.load_adult().shape == (30_162, 15)
    assert datasets.load_adult(complete=False).num_rows == 32_561
    assert datasets.load_adult("test").num_rows == 15_060
    assert datasets.load_adult("both").num_rows == 45_222
    assert datasets.load_german_credit().shape == (1_000, 21)
    assert datasets.load_alcohol().shape == (2_467, 19)
    assert datasets.load_census_income().shape == (95_130, 42)
    sizes = {n: datasets.load_casc(n).shape for n in ("census", "eia", "tarragona")}
    assert sizes == {"census": (1_080, 13), "eia": (4_092, 15), "tarragona": (834, 13)}


@needs_data
def test_adult_hierarchies_cover_adult():
    hierarchies = datasets.load_adult_hierarchies()
    adult = datasets.load_adult("both")
    assert len(hierarchies) == 9
    for name, hierarchy in hierarchies.items():
        values = set(map(str, adult[name].unique().to_pylist()))
        assert values <= set(hierarchy.paths)


def test_without_the_files_the_error_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"(?s)adult_train.parquet.*--download.*HEDGEROW_DATA"):
        datasets.load_adult()
    with pytest.raises(InputError, match=r"(?s)alcohol.*Kenkel.*HEDGEROW_DATA"):
        datasets.load_alcohol()
    with pytest.raises(InputError, match="HEDGEROW_DATA"):
        datasets.load_adult_hierarchies()
    with pytest.raises(InputError, match="no CASC file 'x'"):
        datasets.load_casc("x")
    with pytest.raises(InputError, match="no part 'x'"):
        datasets.load_adult("x")


def raw(table, separator, missing="?", end=""):
    columns = [pc.fill_null(c.cast(pa.string()), missing).to_pylist() for c in table.columns]
    return "".join(separator.join(row) + end + "\n" for row in zip(*columns, strict=True)).encode()


@needs_data
def test_downloads_give_the_same_tables(tmp_path, monkeypatch):
    train = datasets.load_adult(complete=False).slice(0, 500)
    test = datasets.load_adult("test", complete=False).slice(0, 500)
    german = datasets.load_german_credit()
    census = datasets.load_census_income(complete=False).slice(0, 500)
    files = {
        "adult.data": raw(train, ", "),
        "adult.test": b"|1x3 Cross validator\n" + raw(test, ", ", end="."),
        "german.data": raw(german, " "),
        "census-income.data.gz": gzip.compress(raw(census, ", ")),
        "census-income.test.gz": gzip.compress(raw(census, ", ")),
    }
    asked = []

    class Answer:
        def __init__(self, data):
            self.read = lambda: data

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    def urlopen(url, timeout):
        asked.append(url)
        return Answer(files[url.rsplit("/", 1)[1]])

    monkeypatch.setattr(public_data.urllib.request, "urlopen", urlopen)
    monkeypatch.delenv("HEDGEROW_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):  # the second time from the cache
        public_data.fetch_missing()
        assert datasets.load_adult("train", complete=False).equals(train)
        assert datasets.load_adult("test", complete=False).equals(test)
        assert datasets.load_german_credit().equals(german)
        assert datasets.load_census_income(complete=False).equals(census)
    assert len(asked) == 5


def test_a_network_that_fails_is_named(tmp_path, monkeypatch):
    def urlopen(url, timeout):
        raise OSError("unreachable")

    monkeypatch.setattr(public_data.urllib.request, "urlopen", urlopen)
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"(?s)cannot fetch https://archive.*HEDGEROW_DATA"):
        public_data.fetch_missing()
