"""The same audit on every engine, and attacks on records that their content chose."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import ParameterError, UnsupportedError

SCHEMA = hr.Schema(quasi=["age", "education", "job"], sensitive=["income"])
ALTERED = hr.Schema(quasi=["age", "education"], sensitive=["income"], other=["job"])
ATTACKED = {"attacks": True, "learning": False, "inference": False, "people": 50, "learners": ["nearest"]}
MEASURED = {"attacks": False, "learning": False}
N = 2000


def people() -> pa.Table:
    table = hr.datasets.make_people(N, seed=1).select(["age", "education", "job", "income"])
    jobs = ["=clerk" if i % 90 == 0 else job for i, job in enumerate(table["job"].to_pylist())]
    return table.set_column(2, "job", pa.array(jobs))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, and releases of them."""
    made = tmp_path_factory.mktemp("audited")
    table = people()
    pq.write_table(table, made / "people.parquet")
    pyarrow.csv.write_csv(table, made / "people.csv")
    method = hr.RandomizedResponse(3, bins=4, relax="halfway", random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("parquet", "csv"):
            release = hr.protect(made / f"people.{kind}", SCHEMA, hr.MART(k=10))
            release.write(made / kind)
        altered = hr.protect(made / "people.parquet", ALTERED, method)
        altered.write(made / "altered", mapping=True)
    return made


def measured(original: Any, released: Any, **more: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hr.audit(original, released, **more).to_dict()


@pytest.mark.parametrize(
    ("kind", "sample"), [("parquet", None), ("csv", None), ("altered", None), ("csv", 700), ("altered", 700)]
)
def test_either_engine_finds_the_same(home: Path, kind: str, sample: int | None) -> None:
    original = home / ("people.csv" if kind == "csv" else "people.parquet")
    asked = MEASURED if sample is None else ATTACKED
    one, two = (measured(original, home / kind, engine=name, sample=sample, **asked) for name in ("memory", "duckdb"))
    assert one == two
    jsonschema.validate(one, hr.audit.json_schema())
    if sample is not None:
        assert one["attacks"]
        told = one["table"]["sample"]
        assert told["of"] == N
        assert (told["records"] == 700) if kind == "altered" else (700 <= told["records"] < 800)
        assert (told["groups"] is None) == (kind == "altered")
        assert any(f"saw {told['records']:,} of 2,000 records" in n for n in one["table"]["notes"])


def test_a_folder_of_parts_and_a_release_alone(home: Path, tmp_path: Path) -> None:
    table = people()
    for i in range(4):
        pq.write_table(table.slice(i * 500, 500), tmp_path / f"{i}.parquet")
    wanted = measured(home / "people.parquet", home / "parquet", **MEASURED)
    assert measured(tmp_path, home / "parquet", **MEASURED) == wanted  # folders stream
    learnt = {"attacks": False, "learning": True, "sample": 900}
    one, two = (measured(source, home / "parquet", **learnt) for source in (home / "people.parquet", tmp_path))
    assert one == two
    assert one["utility"]["learning"]
    alone = [
        measured(None, home / "parquet" / "release.parquet", schema=SCHEMA, engine=name, **MEASURED)
        for name in ("memory", "duckdb")
    ]
    assert alone[0] == alone[1]
    assert alone[0]["risk"]["release"] is not None


def test_the_order_of_rows_chooses_nobody(home: Path) -> None:
    table, released = people(), pq.read_table(home / "parquet" / "release.parquet")
    plan = hr.Plan.load(home / "parquet" / "plan.json")
    rng = np.random.default_rng(5)
    found = []
    for shuffled in (False, True):
        one, two = (t.take(pa.array(rng.permutation(N))) if shuffled else t for t in (table, released))
        found.append(measured(one, two, plan=plan, sample=400, **ATTACKED))
    assert found[0] == found[1]
    other = measured(table, released, plan=plan, sample=400, random_state=7, **ATTACKED)
    assert other["table"]["sample"] != found[0]["table"]["sample"]


def test_the_sample_is_of_whole_groups(home: Path) -> None:
    """By hand: groups of the released file, and sizes that are those of the whole file."""
    from hedgerow.auditing.pairing import pair_up
    from hedgerow.auditing.sample import sample_of
    from hedgerow.auditing.subject import subject

    what = subject(home / "parquet", None, None)
    pair = pair_up(people(), what)
    part = sample_of(pair, 500, 3).pair
    names = list(SCHEMA.quasi)
    whole = pq.read_table(home / "parquet" / "release.parquet").to_pandas()
    sizes = whole.groupby(names, observed=True).size()
    mine = part.released.arrow.to_pandas().groupby(names, observed=True).size()
    assert mine.sum() == part.n_rows >= 500
    assert mine.sum() - mine.max() < 500
    assert (sizes.loc[mine.index] == mine).all()
    assert sorted(part.classes.sizes.tolist()) == sorted(mine.tolist())


def test_all_records_are_no_sample(home: Path) -> None:
    one, two = (
        measured(home / "people.parquet", home / "parquet", sample=n, engine=name, **ATTACKED)
        for n, name in ((N, "memory"), (N + 1, "duckdb"))
    )
    assert one["table"]["sample"] is None
    assert one["attacks"] == two["attacks"]
    assert one["table"] == two["table"]


def test_what_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original, released = home / "people.parquet", home / "parquet"
    with pytest.raises(UnsupportedError, match="attacks, learning: these need all rows") as refused:
        hr.audit(original, released, engine="duckdb")
    assert "--sample 100000" in str(refused.value.hint)
    with pytest.raises(UnsupportedError, match="others: these need all rows"):
        hr.audit(original, released, engine="duckdb", sample=100, others=[released])
    monkeypatch.setattr(sys.modules["hedgerow.auditing.backend"], "_MEASURED", 1 << 20)
    with pytest.raises(UnsupportedError, match="measuring 2,000 records takes"):
        hr.audit(original, released, engine="duckdb", memory="1GB", sample=9)
    with pytest.raises(ParameterError, match="sample must be a whole number of at least 1"):
        hr.audit(original, released, sample=0)
    with pytest.raises(UnsupportedError, match="attacks, learning: these need all rows"):
        hr.audit(original, released, engine="spark")
    with pytest.raises(ParameterError, match="memory= limits"):
        hr.audit(original, released, engine="memory", memory="4GB")
    with pytest.raises(UnsupportedError, match="rows that are paired"):
        hr.audit(original, released, paired=False, sample=100)


def test_members_and_strangers_of_a_sample(home: Path) -> None:
    control = hr.datasets.make_people(500, seed=99).select(SCHEMA.quasi + SCHEMA.sensitive)
    one, two = (
        measured(
            home / "people.parquet",
            home / "parquet",
            engine=name,
            sample=600,
            learning=False,
            control=control,
            people=100,
            learners=["nearest"],
        )
        for name in ("memory", "duckdb")
    )
    assert one == two
    assert one["risk"]["inference"] is not None
    assert any(a["attack"] == "membership" for a in one["attacks"])


def test_on_the_command_line(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", str(home / "people.parquet"), str(home / "parquet"), "--engine", "duckdb"]
    words += ["--memory", "2GB", "--people", "50", "--no-inference", "--no-learning"]
    assert run([*words, "--report", str(tmp_path / "x.html")]) == 2
    assert "--sample" in capsys.readouterr().err
    page, numbers = tmp_path / "report.html", tmp_path / "numbers.json"
    asked = ["--sample", "500", "--report", str(page), "--save", str(numbers)]
    assert run([*words, *asked]) == 0
    told = json.loads(numbers.read_text())["table"]["sample"]
    assert f"saw {told['records']:,} of 2,000 records" in page.read_text()
    assert f"saw {told['records']:,} of 2,000 records" in capsys.readouterr().out.replace("\n", " ")
    roles = ["--quasi", "age,education,job", "--sensitive", "income", "-k", "10"]
    out = ["--out", str(tmp_path / "out"), "--engine", "duckdb", "--attacks"]
    out += ["--no-learning", "--no-inference"]
    assert run(["protect", str(home / "people.parquet"), *roles, *out]) == 2
    assert not (tmp_path / "out").exists()
    assert run(["protect", str(home / "people.parquet"), *roles, *out, "--sample", "300"]) == 0
    assert json.loads((tmp_path / "out" / "audit.json").read_text())["table"]["sample"]["of"] == N


def test_the_interpreter_counts_in_what_measuring_takes(home: Path, tmp_path: Path) -> None:
    """2 million records of ten columns took 1.23 GB, measured; the limit leaves room for 8 million cells."""
    table = people()
    pq.write_table(pa.concat_tables([table] * 1050).combine_chunks(), tmp_path / "many.parquet")
    with pytest.raises(UnsupportedError, match=r"2,100,000 records takes some 0\.9 GB .* 0\.8 GB"):
        hr.audit(tmp_path / "many.parquet", home / "parquet", engine="duckdb", memory="0.8GB", **MEASURED)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_parts_without_a_plan_are_a_released_table(home: Path, tmp_path: Path, engine: str) -> None:
    applied = hr.Plan.load(home / "parquet" / "plan.json").apply(home / "people.parquet")
    (tmp_path / "applied").mkdir()
    pq.write_table(applied, tmp_path / "applied" / "part-00000.parquet")
    found = [
        measured(home / "people.parquet", released, schema=SCHEMA, engine=engine, **MEASURED)
        for released in (tmp_path / "applied", tmp_path / "applied" / "part-00000.parquet")
    ]
    assert found[0]["risk"] == found[1]["risk"]
