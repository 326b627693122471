"""Special uniques: by brute force, by sdcMicro's example, and through the audit."""

from __future__ import annotations

import os
from itertools import combinations
from math import factorial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.attacks.special_uniques import special_uniques, spread_over_records
from hedgerow.errors import ParameterError

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def codes_of(table):
    return [np.unique(table[name], return_inverse=True)[1] for name in table]


def minimal_uniques(table, size):
    """Every set of columns on which a row is alone and on no part of which it is."""
    rows = [tuple(row) for row in table.itertuples(index=False)]
    found = []
    for row in rows:
        mine = []
        for k in range(1, size + 1):
            for chosen in combinations(range(len(row)), k):
                alike = sum(all(row[c] == other[c] for c in chosen) for other in rows)
                if alike == 1 and not any(set(part) < set(chosen) for part in mine):
                    mine.append(chosen)
        found.append(mine)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_brute_force_finds_the_same(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    table = pd.DataFrame({f"c{j}": rng.integers(0, rng.integers(1, 7), n) for j in range(m)})
    size = int(rng.integers(1, m + 1))
    found = special_uniques(codes_of(table), list(table), size=size)
    for i, mine in enumerate(minimal_uniques(table, size)):
        sizes = np.bincount([len(each) for each in mine], minlength=size + 1)[1:]
        assert found.counts[i].tolist() == sizes.tolist()
        score = sum(factorial(m - len(each)) for each in mine)
        assert found.scores[i] == score
        for j in range(m):
            part = sum(factorial(m - len(each)) for each in mine if j in each)
            assert found.shares[i, j] == pytest.approx(part / score if score else 0)


def test_the_contributions_of_sdcmicro_come_out():
    # the example of sdcMicro's own test of suda2: 50, 37.5 and 37.5 per cent
    table = pd.DataFrame({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]})
    for order in (["a", "b", "c"], ["a", "c", "b"], ["c", "b", "a"]):
        found = special_uniques(codes_of(table[order]), order)
        told = dict(zip(found.names, 100 * found.by_column, strict=True))
        assert told == pytest.approx({"a": 50, "b": 37.5, "c": 37.5})


GUIDE = pd.DataFrame(
    {
        "residence": list("UUUURUUUUU"),
        "gender": list("FFFMFMFMFF"),
        "education": ["SI", "SI", "PI", "SC", "SC", "SC", "PC", "PS", "SI", "SI"],
        "labour": list("EENEUENUNN"),
        "weight": [180.0, 180, 215, 76, 186, 76, 180, 215, 186, 76],
        "pay": range(10),
    }
)
"""Tables 4.1 and 4.5 of the IHSN's practice guide (Statistical Disclosure Control for Microdata)."""


def test_the_scores_that_the_practice_guide_prints():
    keys = list(GUIDE)[:4]
    found = special_uniques(codes_of(GUIDE[keys]), keys, size=3)
    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    # its DIS-SUDA scores are made from sdcMicro's scores of another scale, which it prints as well
    other = np.array([0, 0, 1.75, 0, 3.25, 0, 1.75, 2.75, 0, 0])
    told = spread_over_records(found.intrusion(), other, found.uniques, 4)
    printed = [0, 0, 0.005120313, 0, 0.010702061, 0, 0.005120313, 0.008775093, 0, 0]
    assert told == pytest.approx(printed, abs=1e-9)
    # from the scores that it calls original, sdcMicro 5.8.1 makes these (benchmarks/sdcmicro.R)
    own = [0, 0, 0.004986797, 0, 0.011383005, 0, 0.004986797, 0.009166678, 0, 0]
    assert found.dis_scores() == pytest.approx(own, abs=2e-9)  # in single precision


def test_the_risks_that_the_practice_guide_prints():
    schema = hr.Schema(quasi=list(GUIDE)[:4], sensitive=["pay"], weight="weight")
    found = hr.audit(GUIDE, GUIDE, schema, per_person=True, attacks=False, learning=False)
    told = found.per_person.table.to_pandas().sort_values("row")
    assert told["records"].tolist() == [2, 2, 1, 2, 1, 2, 1, 1, 2, 2]
    assert told["population"].tolist() == [360, 360, 215, 152, 186, 152, 180, 215, 262, 262]
    risk = [0.005424520, 0.005424520, 0.025096439, 0.012563425, 0.028247279]
    risk += [0.012563425, 0.029010932, 0.025096439, 0.007403834, 0.007403834]
    assert told["journalist"].to_numpy() == pytest.approx(risk, abs=1e-9)
    seen = found.risk["release"]["reidentification"]["journalist"]
    assert seen["average"] == pytest.approx(0.01582, abs=5e-6)
    assert seen["expected"] == pytest.approx(0.1582, abs=5e-5)


def test_sdcmicros_book_example():
    # tests/testthat/test_suda2.R, "suda2 book example": records 5 to 8
    table = pd.DataFrame(
        {
            "age": ["20s"] * 7 + ["60s"],
            "gender": list("mmmmfffm"),
            "income": ["50k+"] * 2 + ["50k-"] * 6,
            "education": ["high"] * 4 + ["university", "high", "middle", "university"],
        }
    )
    found = special_uniques(codes_of(table), list(table), size=4)
    assert found.scores.tolist() == [0, 0, 0, 0, 4, 2, 6, 8]


@pytest.mark.parametrize(
    ("keys", "records", "total", "highest", "dis", "shares", "by_dis"),
    [
        (KEYS, 157, 4890, 720, (0.678143, 9.831091),
         [12.0450, 33.8650, 18.0982, 53.4151, 22.5153, 92.5971, 24.9489],
         [4423, 122, 22, 12, 0, 0, 0, 1, 0]),
        ([*KEYS[:4], "sex"], 12, 19, 2, (0.015004, 0.139111),
         [31.5789, 78.9474, 26.3158, 100.0, 89.4737],
         [4568, 12, 0, 0, 0, 0, 0, 0, 0]),
    ],
)  # fmt: skip
def test_sdcmicro_finds_the_same_on_its_testdata(keys, records, total, highest, dis, shares, by_dis):
    """Figures of sdcMicro 5.8.1's own code (benchmarks/sdcmicro.R); its floats have single precision."""
    path = Path(os.environ.get("HEDGEROW_DATA", "../shared/data")) / "sdcmicro_testdata.parquet"
    if not path.exists():
        pytest.skip(f"needs {path.name}")
    table = pd.read_parquet(path)[list(keys)]
    found = special_uniques(codes_of(table), list(keys), size=len(keys))
    scores, chances = found.scores, found.dis_scores()
    assert (np.count_nonzero(scores), scores.sum(), scores.max()) == (records, total, highest)
    assert (chances.max(), chances.sum()) == pytest.approx(dis, abs=3e-6)
    assert 100 * found.by_column == pytest.approx(shares, abs=5e-5)
    counted, _ = np.histogram(chances, [-1, 1e-15, *np.arange(1, 8) / 10, 2])
    assert counted.tolist() == by_dis


def test_dis_is_the_definition():
    table = pd.DataFrame({"a": [1, 2, 3, 3, 4, 4, 4], "b": [1, 1, 1, 1, 2, 2, 3]})
    found = special_uniques(codes_of(table), ["a", "b"])
    # alone: three records; in twos: two pairs
    assert (found.uniques, found.pairs) == (3, 4)
    chance = 3 * 0.1 / (3 * 0.1 + 4 * 0.9)
    assert found.intrusion(0.1) == pytest.approx(chance)
    scores = found.scores
    powers = np.where(scores > 0, scores, np.nan) ** (1 + (8 - 2) / 20)
    told = 1 / (1 + (3 / chance - 3) / (powers * np.nansum(1 / powers)))
    assert found.dis_scores(0.1) == pytest.approx(np.nan_to_num(told))
    with pytest.raises(ParameterError, match="between 0 and 1"):
        found.intrusion(1.0)


def test_nobody_is_alone():
    found = special_uniques([np.array([0, 0, 1, 1])], ["a"])
    assert found.scores.tolist() == [0, 0, 0, 0]
    assert found.dis_scores().tolist() == [0, 0, 0, 0]
    assert found.by_column.tolist() == [0]


def test_too_many_sets_are_refused():
    with pytest.raises(ParameterError, match="more than 100,000"):
        special_uniques([np.zeros(3, int)] * 60, [str(i) for i in range(60)], size=4)


def test_an_audit_tells_them_before_and_after():
    people = hr.datasets.make_people(1500, seed=4)
    schema = hr.Schema(quasi=["age", "job", "region", "sex"], sensitive=["income"])
    release = hr.protect(people, schema, hr.Mondrian(k=5))
    found = hr.audit(people, release, suda=2, per_person=True, attacks=False, learning=False)
    told = found.to_dict()["risk"]["special_uniques"]
    assert told["release"]["records"] == 0
    assert told["release"]["by_size"] == [0, 0]
    assert told["original"]["records"] > 100
    table = people.select(["age", "job", "region", "sex"]).to_pandas()
    alone = special_uniques([pd.factorize(table[c], use_na_sentinel=False)[0] for c in table], KEYS[:4], size=2)
    assert told["original"]["by_size"] == alone.counts.sum(axis=0).tolist()
    assert "suda" in found.per_person.table.column_names
    assert "Special uniques of up to 2 columns" in str(found)
    plain = hr.audit(people, release, attacks=False, learning=False)
    assert plain.to_dict()["risk"]["special_uniques"] is None
    assert "Special uniques" not in str(plain)
    with pytest.raises(ParameterError, match="suda must be a whole number of at least 1"):
        hr.audit(people, release, suda=0)


def test_weights_tell_the_share_of_the_population(tmp_path):
    people = hr.datasets.make_people(500, seed=4).to_pandas()[["age", "job", "income"]]
    people["w"] = 20.0
    schema = hr.Schema(quasi=["age", "job"], sensitive=["income"], other=["w"])
    release = hr.protect(people, schema, hr.Mondrian(k=5))
    found = hr.audit(people, release, suda=2, weights="w", attacks=False, learning=False)
    assert found.to_dict()["risk"]["special_uniques"]["fraction"] == pytest.approx(1 / 20)
