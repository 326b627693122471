"""Load tables to try Hedgerow on: a worked example, synthetic people, and public microdata.

The public files are not part of Hedgerow. A loader looks for them in the folder that the
environment variable ``HEDGEROW_DATA`` names, then in a cache folder, into which
``python -m experiments --download`` fetches them. They are subject to their providers' terms.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .errors import InputError, ParameterError
from .hierarchy import Hierarchy
from .texts import read_toml
from .validation import takes, whole

_DATA = read_toml(__package__, "datasets.toml")
_WORDS, URLS, _HOMES = _DATA["people"], _DATA["urls"], _DATA["homes"]
_YEARS = np.array([2, 6, 9, 12, 13, 16, 18, 21])
_TODAY = 19_723  # 2024-01-01 in days since 1970


def _named(codes: NDArray[Any], names: Sequence[str], missing: NDArray[Any] | None = None) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=missing), names).dictionary_decode()


def _zipf(n: int, power: float) -> NDArray[Any]:
    weights = np.arange(1, n + 1, dtype=float) ** -power
    return weights / weights.sum()


def _draw(rng: np.random.Generator, shares: NDArray[Any], group: NDArray[Any]) -> NDArray[np.int8]:
    """Draw a category for each person from the shares of the person's group (one row per group)."""
    limits = np.cumsum(shares, axis=1)[:, :-1]
    chance = rng.random(len(group))
    categories = np.zeros(len(group), dtype=np.int8)
    for column in limits.T:  # one pass a category keeps memory at one byte a person
        categories += chance >= column[group]
    return categories


def _marital() -> NDArray[Any]:
    """Return the shares of the five marital statuses, one row per eight years of age."""
    t = np.arange(9) / 8
    weights = np.stack([np.exp(-5 * t) * 1.2 + 0.06, 0.08 + 0.6 * np.sqrt(t) * (1.2 - t),
                        0.02 + 0.03 * t, 0.01 + 0.18 * t, 0.002 + 0.5 * t**4], axis=1)  # fmt: skip
    return weights / weights.sum(axis=1, keepdims=True)


def _illness() -> NDArray[Any]:
    """Return the shares of each diagnosis, one row per ten years of age."""
    t = np.arange(8)[:, None] / 7
    young = np.array([60, 9, 7, 5, 6, 0.6, 0.8, 0.2, 0.3, 0.1, 6])
    old = np.array([22, 3, 4, 12, 5, 13, 22, 11, 8, 5, 3])
    weights = young * (1 - t) + old * t
    return weights / weights.sum(axis=1, keepdims=True)


# The order in which the worked example's occupations are written.
MART_CATEGORIES = {"Occupation": ("unskilled", "technical", "managerial", "professional")}


def load_mart_example() -> pa.Table:
    """Return the 14 records of MART's worked example.

    Returns
    -------
    pyarrow.Table
        Age, YearsEdu, Occupation (quasi-identifiers), Income, Asset (sensitive). The order
        of the occupations is `MART_CATEGORIES`.

    References
    ----------
    Li and Sarkar, "Digression and Value Concatenation to Enable Privacy-Preserving
    Regression", Table 1.

    Examples
    --------
    >>> load_mart_example().num_rows
    14
    """
    return pa.table(_DATA["mart"])


def load_adult(part: Literal["train", "test", "both"] = "train", *, complete: bool = True) -> pa.Table:
    """Return UCI Adult: 15 columns from the US Current Population Survey of 1994 (CC BY 4.0).

    Parameters
    ----------
    part : {"train", "test", "both"}
        32,561, 16,281 or 48,842 records.
    complete : bool
        Only the records without missing values: 30,162, 15,060 or 45,222.

    Raises
    ------
    InputError
        The file is not at hand.
    """
    return _parts("adult", part, complete)


def load_census_income(part: Literal["train", "test", "both"] = "train", *, complete: bool = True) -> pa.Table:
    """Return UCI Census-Income (KDD): 42 columns from the US surveys of 1994 and 1995 (CC BY 4.0).

    Parameters
    ----------
    part : {"train", "test", "both"}
        The part to return.
    complete : bool
        Only the records without missing values: 95,130 of the 199,523 in the train part.

    Raises
    ------
    InputError
        The file is not at hand.
    """
    return _parts("census_income_kdd", part, complete)


def load_german_credit() -> pa.Table:
    """Return UCI Statlog German Credit: 1,000 records, 20 attributes and the class (CC BY 4.0)."""
    return _load("german_credit.parquet")


def load_alcohol() -> pa.Table:
    """Return Kenkel and Terza (2001), physician advice and drinking: 2,467 men, 19 columns."""
    return _load("alcohol_kenkel_terza.parquet")


def load_disability_portfolio() -> pa.Table:
    """Return a French portfolio of disability insurance: 1,048,575 contracts, 6 columns."""
    return _load("fr_disability_portfolio.parquet")


def load_casc(name: Literal["census", "eia", "tarragona"]) -> pa.Table:
    """Return the CASC project's reference microdata for microaggregation.

    Parameters
    ----------
    name : {"census", "eia", "tarragona"}
        1,080 x 13, 4,092 x 15 or 834 x 13.
    """
    if f"casc_{name}.parquet" not in _HOMES:
        raise InputError(f"there is no CASC file {name!r}", hint="census, eia or tarragona")
    return _load(f"casc_{name}.parquet")


def load_adult_hierarchies() -> dict[str, Hierarchy]:
    """Return ARX's value generalisation hierarchies for Adult, by column name."""
    places = [place for d in folders() if (place := d / "hierarchies" / "adult").is_dir()]
    if not places:
        raise InputError(
            "the Adult hierarchies were not found",
            hint="put ARX's Adult hierarchies as CSV files into hierarchies/adult below the folder HEDGEROW_DATA",
        )
    names = {"salary-class": "income"}
    return {names.get(p.stem, p.stem): Hierarchy.from_csv(p) for p in sorted(places[0].glob("*.csv"))}


@takes(n=whole(), seed=whole(0))
def make_people(n: int, *, seed: int = 0) -> pa.Table:
    """Make a table of synthetic people; no record describes a real person.

    The table has seventeen dependent columns of every kind: schooling depends on age, jobs on
    schooling, diagnoses on age, and money, with a skewed distribution, on all of these. Some
    quasi-identifiers have missing values.

    Parameters
    ----------
    n : int
        Number of people, at least 1.
    seed : int
        Same n and seed, same people.

    Returns
    -------
    pyarrow.Table
        person_id (identifier); age, sex, education (ordinal), years_schooling, job, region,
        postcode, marital, children, hours_per_week, born_abroad, entry_date
        (quasi-identifiers); income, assets, diagnosis, smoker (sensitive).

    Examples
    --------
    >>> people = make_people(100)
    >>> people.num_rows, people.num_columns
    (100, 17)
    """
    if n < 1:
        raise ParameterError(f"n is {n}; it must be at least 1")
    # the order of the draws makes the table: what is added must be drawn last
    rng = np.random.default_rng(seed)
    number = rng.permutation(n)
    age = np.clip(17 + 73 * rng.beta(1.5, 2.1, n), 17, 90).astype(np.int16)
    woman = rng.random(n) < 0.51

    # Schooling: the young are still at it, the old had less of it.
    talent = rng.standard_normal(n)
    level = 4.1 + 1.4 * talent - 0.025 * np.maximum(age - 45, 0)
    education = np.clip(level, 0, np.where(age < 19, 3, np.where(age < 23, 4, 7.99))).astype(np.int8)
    years = (_YEARS[education] + rng.integers(-1, 3, n)).astype(np.int16)

    skill = 1.9 * education + 1.1 * talent + 2.2 * rng.standard_normal(n) + 1.2
    job = np.clip(skill, 0, len(_WORDS["jobs"]) - 1).astype(np.int8)
    region = _draw(rng, _zipf(len(_WORDS["regions"]), 0.6)[None, :], np.zeros(n, dtype=np.int8))
    place = (rng.random(n) ** 2 * 40).astype(np.int64)
    hours = np.clip(rng.normal(np.where(woman, 34, 39) + 0.3 * job, 9), 1, 90).astype(np.int16)
    hours = np.where(age > 67, hours // 6 + 1, hours)

    marital = _draw(rng, _marital(), np.clip((age - 17) // 8, 0, 8))
    children = np.minimum(rng.poisson(np.where(marital == 0, 0.2, 1.7) * (age > 22)), 8)
    abroad = rng.random(n) < 0.08 + 0.10 * (region < 4)
    entry = (_TODAY - rng.random(n) ** 1.6 * (age - 16) * 365.25).astype(np.int32)

    log_income = (
        9.15 + 0.055 * years + 0.055 * job + 0.028 * (age - 17) - 0.00028 * (age - 17.0) ** 2
        - 0.14 * woman + 0.006 * hours + 0.02 * (12 - region) / 12 + 0.38 * rng.standard_normal(n)
    )  # fmt: skip
    income = np.exp(log_income) * (1 + (rng.random(n) < 0.01) * rng.pareto(1.8, n))
    wealth = np.exp(0.9 * log_income - 1.6 + 0.045 * (age - 17) + 1.1 * rng.standard_normal(n))
    assets = np.where(rng.random(n) < 0.35 - 0.003 * (age - 17), 0, wealth)
    illness = _draw(rng, _illness(), np.clip((age - 17) // 10, 0, 7))
    smoker = rng.random(n) < 0.34 - 0.03 * education

    ids = pc.utf8_lpad(pa.array(number).cast(pa.string()), len(str(max(n - 1, 999_999))), "0")
    codes = pa.array(10_000 + 1_000 * region.astype(np.int64) + 7 * place).cast(pa.string())
    ordered = pa.DictionaryArray.from_arrays(pa.array(education), pa.array(_WORDS["education"]), ordered=True)
    return pa.table({
        "person_id": pc.binary_join_element_wise("P", ids, ""),
        "age": pa.array(age),
        "sex": _named(woman.astype(np.int8), ("man", "woman")),
        "education": ordered,
        "years_schooling": pa.array(years, mask=rng.random(n) < 0.02),
        "job": _named(job, _WORDS["jobs"], rng.random(n) < 0.04),
        "region": _named(region, _WORDS["regions"]),
        "postcode": codes,
        "marital": _named(marital, _WORDS["marital"], rng.random(n) < 0.01),
        "children": pa.array(children.astype(np.int8)),
        "hours_per_week": pa.array(hours.astype(np.int16), mask=rng.random(n) < 0.03),
        "born_abroad": pa.array(abroad),
        "entry_date": pa.array(entry, pa.int32()).cast(pa.date32()),
        "income": pa.array(np.round(income / 10).astype(np.int64) * 10),
        "assets": pa.array(np.round(assets, 2)),
        "diagnosis": _named(illness, _WORDS["diagnoses"]),
        "smoker": pa.array(smoker),
    })  # fmt: skip


def _parts(stem: str, part: str, complete: bool) -> pa.Table:
    if part not in ("train", "test", "both"):
        raise InputError(f"there is no part {part!r}", hint="train, test or both")
    parts = ("train", "test") if part == "both" else (part,)
    table = pa.concat_tables([_load(f"{stem}_{p}.parquet") for p in parts])
    return pc.drop_null(table).combine_chunks() if complete else table


def folders() -> list[Path]:
    """Return the folders in which the public files are looked for; the last one is the cache."""
    named = os.environ.get("HEDGEROW_DATA")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return [*([Path(named)] if named else []), Path(cache) / "hedgerow"]


def _load(name: str) -> pa.Table:
    import pyarrow.parquet as pq

    for folder in folders():
        if (folder / name).is_file():
            with pq.ParquetFile(folder / name) as file:
                return file.read()
    hint = f"it comes from {_HOMES.get(name)}; "
    if name in URLS:
        hint = f"python -m experiments --download fetches it from {URLS[name]}; or "
    raise InputError(
        f"the data file {name} was not found",
        hint=hint + "put it into the folder that the environment variable HEDGEROW_DATA names",
    )
