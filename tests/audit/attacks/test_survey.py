"""Weights and households: what sdcMicro tells of its own examples, and the same by hand."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

import hedgerow as hr
from hedgerow.errors import InputError, ParameterError

QUICK = {"attacks": False, "learning": False}
EIGHT = pd.DataFrame(
    {
        "a": [2, 3, 2, 2, 3, 3, 1, 2],
        "b": [3, 3, 3, 3, 3, 3, 4, 3],
        "c": [1, 3, 1, 2, 1, 1, 1, 1],
        "w": [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0],
        "home": ["x", "x", "y", "y", "y", "z", "z", "z"],
        "pay": [10, 20, 30, 40, 50, 60, 70, 80],
    }
)
SURVEY = hr.Schema(quasi=["a", "b", "c"], sensitive=["pay"], household="home", weight="w")


def per_person(found: hr.Audit) -> pd.DataFrame:
    assert found.per_person is not None
    return found.per_person.table.to_pandas().sort_values("row").reset_index(drop=True)


def test_fk_Fk_and_risks_of_sdcmicros_own_tests():
    """sdcTools/sdcMicro, tests/testthat: test_freqCalc.R (fk, Fk), test_indivRisk.R (method exact)."""
    told = per_person(hr.audit(EIGHT, EIGHT, SURVEY, per_person=True, **QUICK))
    assert told["records"].tolist() == [3, 1, 3, 1, 2, 2, 1, 3]
    assert told["population"].tolist() == [108, 45.5, 108, 17, 100, 100, 123.5, 108]
    exact = [0.01355297, 0.08579129, 0.01355297, 0.17707583]
    exact += [0.01877883, 0.01877883, 0.03931625, 0.01355297]
    assert told["journalist"].to_numpy() == pytest.approx(exact, abs=6e-9)
    homes = [1 - (1 - exact[i]) * (1 - exact[j]) for i, j in ((0, 1),)]
    homes += [1 - math.prod(1 - exact[i] for i in group) for group in ((2, 3, 4), (5, 6, 7))]
    by_row = np.repeat(homes, [2, 3, 3])
    assert told["household risk"].to_numpy() == pytest.approx(by_row, abs=2e-8)


def test_household_risk_in_the_audit_by_hand():
    found = hr.audit(EIGHT, EIGHT, SURVEY.replace(weight=None), **QUICK)
    one = found.risk["release"]
    # members' risks 1/3 and 1; 1/3, 1 and 1/2; 1/2, 1 and 1/3: somebody is always found
    assert one["reidentification"]["household"] == {
        "households": 3,
        "highest": 1.0,
        "average": 1.0,
        "expected": 3.0,
        "expected_records": 8.0,
    }
    assert one["classes"]["households"] == 1
    assert one["classes"]["population"] is None
    apart = SURVEY.replace(quasi=["b"], weight=None)
    home = hr.audit(EIGHT, EIGHT, apart, **QUICK).risk["release"]["reidentification"]["household"]
    risks = [1 - (6 / 7) ** 2, 1 - (6 / 7) ** 3, 1.0]
    assert home["expected"] == pytest.approx(sum(risks))
    assert home["expected_records"] == pytest.approx(2 * risks[0] + 3 * risks[1] + 3)


def test_a_person_of_several_records_is_found_once():
    visits = pd.DataFrame({"id": list("aabc"), "home": list("xxxy"), "age": [1, 2, 2, 2], "pay": [1, 2, 3, 4]})
    schema = hr.Schema(quasi=["age"], sensitive=["pay"], identifiers=["id"], unit="id", household="home")
    home = hr.audit(visits, visits, schema, **QUICK).risk["release"]["reidentification"]["household"]
    # a is found for sure by her first record; b and c share a group of three people
    assert home["highest"] == 1.0
    assert home["expected"] == pytest.approx(1 + 1 / 3)


@pytest.mark.skipif("HEDGEROW_DATA" not in os.environ, reason="needs HEDGEROW_DATA")
def test_the_survey_of_sdcmicro_with_its_households():
    """fk, Fk and household risk of measure_risk.R, counted by pandas; 10.78 expected, .24%."""
    path = Path(os.environ["HEDGEROW_DATA"], "sdcmicro_testdata.parquet")
    quasi = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
    schema = hr.Schema(quasi=quasi, household="ori_hid", weight="sampling_weight")
    found = hr.audit(path, path, schema, per_person=True, **QUICK)
    survey, told = pd.read_parquet(path), per_person(found)
    by = survey.groupby(quasi)["sampling_weight"]
    f, population = by.transform("size").to_numpy(), by.transform("sum").to_numpy()
    assert (told["records"] == f).all()
    assert (told["population"] == population).all()
    p = f / population
    each = {(n, q): _risk(int(n), q) for n, q in set(zip(f, p, strict=True))}
    risk = np.array([each[pair] for pair in zip(f, p, strict=True)])
    assert told["journalist"].to_numpy() == pytest.approx(risk, rel=1e-9)
    journalist = found.risk["release"]["reidentification"]["journalist"]
    assert round(journalist["expected"], 2) == 10.78
    assert round(100 * journalist["average"], 2) == 0.24
    assert journalist["highest"] == pytest.approx(-0.01 / 0.99 * math.log(0.01))
    homes = 1 - (1 - pd.Series(risk)).groupby(survey["ori_hid"]).prod()
    home = found.risk["release"]["reidentification"]["household"]
    assert home["households"] == 1000
    assert home["expected"] == pytest.approx(homes.sum())
    assert home["expected_records"] == pytest.approx(homes[survey["ori_hid"]].sum())


def _risk(f: int, p: float) -> float:
    """E(1/F | f) as the sum over F = f, f + 1, ... of a negative binomial distribution."""
    big = np.arange(f, f + 60 * int(f / p))
    log = gammaln(big) - gammaln(f) - gammaln(big - f + 1) + f * np.log(p)
    return float((np.exp(log + (big - f) * np.log1p(-p)) / big).sum())


def test_estimates_are_those_of_pandas():
    people = pd.DataFrame(
        {
            "age": [20, 30, 40, 50] * 30,
            "job": ["a", "b", "a", "b"] * 30,
            "w": [2.0, 3.0, 5.0, 10.0] * 30,
            "pay": np.arange(120.0),
        }
    )
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"], weight="w")
    release = people.assign(age=np.where(people["age"] < 35, "[20-30]", "[40-50]"), job="a+b")
    told = hr.audit(people, release, schema, **QUICK).utility["estimates"]
    assert told["people"] == {"original": 600.0, "release": 600.0}
    assert told["columns"]["pay"]["mean"]["original"] == pytest.approx(np.average(people["pay"], weights=people["w"]))
    assert told["columns"]["age"]["total"]["original"] == (people["age"] * people["w"]).sum()
    assert told["columns"]["age"]["total"]["release"] == 25 * 150 + 45 * 450
    # a has 210 of 600 by the weights, and half by the release
    assert told["columns"]["job"]["largest_change"] == pytest.approx(0.5 - 210 / 600)
    means = people.groupby("job")[["pay", "w"]].apply(lambda part: np.average(part["pay"], weights=part["w"]))
    overall = np.average(people["pay"], weights=people["w"])
    by_job = (abs(means - overall) / means).mean()
    assert told["group_by"]["by"]["pay by job"] == pytest.approx(by_job)
    text = str(hr.audit(people, release, schema, **QUICK))
    assert "Estimates weighted by w" in text


def test_estimates_follow_recoded_and_perturbed_weights():
    people = pd.DataFrame({"age": [20, 30] * 40, "w": [2.0, 6.0] * 40, "pay": np.arange(80.0)})
    schema = hr.Schema(quasi=["age", "w"], sensitive=["pay"], weight="w")
    told = hr.audit(people, people.assign(w="[2-6]"), schema, **QUICK)
    assert told.utility["estimates"]["people"] == {"original": 320.0, "release": 320.0}
    assert told.risk["release"]["classes"]["population"]["total"] == 320.0
    without = hr.audit(people, people.drop(columns="w"), schema.replace(quasi=["age"]), **QUICK)
    assert without.utility["estimates"] is None


def test_weights_that_stand_for_nobody_are_refused():
    people = EIGHT.assign(w=[0.4, *EIGHT["w"][1:]])
    with pytest.raises(InputError, match="1 sampling weights in 'w' are missing, infinite or below"):
        hr.protect(people, SURVEY.replace(household=None), hr.Mondrian(2))
    with pytest.raises(InputError, match="2 sampling weights"):
        hr.audit(EIGHT, EIGHT.assign(w=[None, 0.0, *EIGHT["w"][2:]]), SURVEY, **QUICK)


def test_the_size_of_the_population_can_be_said():
    found = hr.audit(EIGHT, EIGHT, SURVEY.replace(weight=None), population_size=80, **QUICK)
    told = found.risk["release"]["uniqueness"]
    assert (told["population"], told["fraction"], told["sample_uniques"]) == (80.0, 0.1, 3)
    assert found.risk["original"]["uniqueness"] == told
    assert "people unique in the population, estimated" in str(found)
    with pytest.raises(ParameterError, match="population_size is 7, below 8"):
        hr.audit(EIGHT, EIGHT, SURVEY, population_size=7, **QUICK)
