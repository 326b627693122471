"""People of a population that fit a class, by counting."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.class_risk import population_sizes, weighted_sizes
from hedgerow.auditing.pairing import align
from hedgerow.errors import InputError
from hedgerow.io.read import read
from hedgerow.schema import Schema

from ..conftest import grouped, people_of

QUASI = ["age", "job", "sex"]


def test_population_equals_counting():
    everybody = people_of(800, seed=5)
    sample = everybody.iloc[::4].reset_index(drop=True)
    release = grouped(sample, QUASI, ["pay"], 5)
    pair = align(sample, release, Schema(quasi=QUASI))
    sizes = population_sizes(pair, read(everybody))
    for g, row in enumerate(pair.classes.first):
        lo, hi = (e[pair.released_quasi[0].codes[row]] for e in (pair.released_quasi[0].lo, pair.released_quasi[0].hi))
        fits = everybody["age"].between(lo, hi)
        for name in ("job", "sex"):
            fits &= everybody[name].isin(release[name].iloc[row].split("+"))
        assert sizes[g] == fits.sum()


def test_a_population_without_columns_or_people_is_refused(people, release, schema):
    pair = align(people, release, schema)
    with pytest.raises(InputError, match="lacks 'job'"):
        population_sizes(pair, read(people.drop(columns="job")))
    with pytest.raises(InputError, match="10 rows, fewer"):
        population_sizes(pair, read(people.head(10)))


def test_weights_are_summed_and_checked():
    people = pd.DataFrame({"a": [1, 1, 2], "w": [2.5, 3.5, 10.0]})
    pair = align(people, people, Schema(quasi=["a"]))
    assert weighted_sizes(pair, "w").tolist() == [6.0, 10.0]
    for bad in ([0.5, 3, 10], [np.nan, 3, 10]):
        worse = people.assign(w=bad)
        with pytest.raises(InputError, match="1 sampling weights"):
            weighted_sizes(align(worse, worse, Schema(quasi=["a"])), "w")
    with pytest.raises(InputError, match="sampling weights 'v'"):
        weighted_sizes(pair, "v")


def test_weights_of_people_with_several_records_count_once():
    people = pd.DataFrame({"id": ["x", "x", "y", "z"], "a": [1, 1, 1, 2], "w": [4.0, 6, 3, 9]})
    pair = align(people, people, Schema(quasi=["a"], identifiers=["id"], unit="id"))
    assert weighted_sizes(pair, "w").tolist() == [8.0, 9.0]


@pytest.mark.skipif("HEDGEROW_DATA" not in os.environ, reason="needs HEDGEROW_DATA")
def test_the_survey_of_sdcmicro_has_the_expected_re_identifications():
    path = Path(os.environ["HEDGEROW_DATA"], "sdcmicro_testdata.parquet")
    quasi = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
    found = hr.audit(path, path, Schema(quasi=quasi), weights="sampling_weight", attacks=False, learning=False)
    told = found.risk["release"]["reidentification"]["journalist"]
    assert round(told["expected"], 2) == 10.78
    assert round(told["average"], 4) == 0.0024
