"""Odd files and arguments end in a sentence and an exit code: nothing is called a fault in Hedgerow."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import HedgerowError, InputError
from hedgerow.io.read import read
from hedgerow.workflow.methods import METHODS, make
from tests.limits import a_file_holds

pytestmark = pytest.mark.filterwarnings("ignore")

ROLES = ["--quasi", "age,job", "--sensitive", "pay"]
DEEP = "[" * 50_000 + "]" * 50_000


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("bad")
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {"age": rng.integers(20, 60, 60), "job": rng.choice(list("abc"), 60), "pay": rng.integers(1, 9, 60)}
    )
    people.to_csv(home / "people.csv", index=False)
    files = {
        "deep.json": DEEP,
        "deep.toml": f"quasi = {DEEP}",
        "nul.toml": 'quasi = ["a\\u0000b"]\n',
        "type.toml": "quasi = 5\n",
        "nul-header.csv": "age,jo\0b,pay\n" + "1,a,2\n" * 20,
        "nul-cell.csv": "age,job,pay\n" + "1,a\0b,2\n" * 20,
        "years.csv": "age,job,pay\n" + "12345-12-31,a,2\n-0044-03-15,b,1\n" * 20,
        "seconds.csv": "age,job,pay\n" + "9999-12-31T23:59:60,a,2\n0000-00-00,b,1\n" * 20,
        "empty.csv": "",
        "header.csv": "age,job,pay\n",
        "same.csv": "age,age,pay\n1,2,3\n",
        "nameless.csv": "job,,pay\n1,2,3\n",
        "ragged.csv": "age,job,pay\n1,2\n3,4,5,6\n",
        "open.csv": 'age,job,pay\n1,"a,2\n',
        "binary.csv": bytes(range(256)).decode("latin-1"),
        "not.parquet": "PAR1",
        "not.feather": "ARROW1",
        "not.toml": "quasi = [",
        "none.txt.exe": "x",
        "hierarchy.csv": "a;x;*\na;y;*\n",
        "huge.csv": "age,job,pay\n" + "1,a,1.5e308\n-3,b,-1.7e308\n2,b,1\n" * 20,
        "title.csv": "People of 2024\n\nage,job,pay\n" + "1,a,2\n" * 20,
        "sep.csv": 'sep=;\n"age";"job";"pay"\n' + '1;"a";2\n' * 20,
        "comma.csv": "pay\n" + "1,5\n2,25\n" * 20,
        "wide.csv": "job\n" + "".join(f"j{i}\n" for i in range(2_001)),
        "two.csv": "age,job,pay\n1,a,2\n2,b,3\n",
    }
    for name, text in files.items():
        (home / name).write_bytes(text.encode("latin-1"))
    os.mkfifo(home / "pipe.csv")
    for name, kind, ends in (
        ("second", pa.timestamp("s"), (2**62, 0)),
        ("micro", pa.timestamp("us"), (-62_135_596_800_000_001, 0)),
        ("nano", pa.timestamp("ns"), (2**62, 0)),
        ("day", pa.date32(), (2**31 - 1, -(2**31))),
    ):
        column = pa.array([*ends] * 20, pa.int32() if name == "day" else pa.int64()).cast(kind)
        table = pa.table({"age": column, "job": ["a", "b"] * 20, "pay": [1, 2] * 20})
        feather.write_feather(table, home / f"{name}.feather")
    assert run(["protect", str(home / "people.csv"), *ROLES, "--method", "mart", "--out", str(home / "good")]) == 0
    return home


def told(home: Path, arguments: str, capsys: Any, also: tuple[str, ...] = ()) -> tuple[int, str]:
    """Exit code and message of a command; @ stands for the folder of the files."""
    code = run([*arguments.replace("@", f"{home}/").split(), *also])
    error = " ".join(capsys.readouterr().err.split())
    assert "unexpected" not in error, error
    assert "fault in Hedgerow" not in error
    assert "Traceback" not in error
    if code == 2:
        assert "error: " in error
        assert len(error) > 20
    return code, error


REFUSED = {
    "apply @deep.json @people.csv --out @x.csv": "not valid JSON",
    "verify-model @deep.json @people.csv": "not valid JSON",
    "reconstruct @people.csv --parameters @deep.json": "not valid JSON",
    "audit @people.csv @people.csv --plan @deep.json": "not valid JSON",
    "protect @people.csv --config @deep.toml --out @x": "nested too deeply",
    "protect @people.csv --schema @deep.toml --out @x": "nested too deeply",
    "protect @people.csv --quasi age --profile @deep.toml --out @x": "is no profile",
    "inspect @pipe.csv": "is no file",
    "apply @pipe.csv @people.csv --out @x.csv": "nobody writes into this pipe",
    "protect @people.csv --schema @pipe.csv --out @x": "nobody writes into this pipe",
    "protect @people.csv --schema /dev/zero --out @x": "is longer than 1 GB",
    "apply /dev/zero @people.csv --out @x.csv": "is longer than 1 GB",
    "reconstruct @people.csv --parameters /dev/zero": "is longer than 1 GB",
    "protect @people.csv --schema @nul.toml --out @x": "",
    "protect @people.csv --schema @type.toml --out @x": "quasi",
    "protect @people.csv --config @type.toml --out @x": "quasi",
    "protect @people.csv --config @not.toml --out @x": "TOML",
    "protect @none.csv --quasi a --out @x": "there is no file",
    "protect @none.txt.exe --quasi a --out @x": "ending",
    "protect @empty.csv --quasi a --out @x": "empty",
    "protect @header.csv --quasi age --out @x": "no rows",
    "protect @same.csv --quasi age --out @x": "more than once",
    "protect @nameless.csv --quasi job --out @x": "without a name",
    "protect @ragged.csv --quasi age --out @x": "ragged",
    "inspect @title.csv": "most of its lines have 3 fields",
    "inspect @sep.csv": "take out what stands above the header",
    "protect @open.csv --quasi age --out @x": "quote",
    "protect @binary.csv --quasi age --out @x": "encoding",
    "protect @not.parquet --quasi age --out @x": "not a Parquet file",
    "protect @not.feather --quasi age --out @x": "not an Arrow or Feather file",
    "protect @nul-header.csv --quasi age --out @x": "",
    "protect @good --quasi age --out @x": "folder",
    "protect @people.csv --quasi agee --out @x": "did you mean",
    "protect @people.csv --quasi age": "no --out",
    "protect --quasi age --out @x": "no FILE",
    "protect @people.csv --out @x": "quasi",
    "protect @people.csv --quasi age --sensitive pay --out @none/x": "folder",
    "protect @people.csv --quasi age --method nope --out @x": "method",
    "protect @people.csv --quasi age --hierarchy age --out @x": "COLUMN=FILE",
    "protect @people.csv --quasi job --hierarchy job=@hierarchy.csv --out @x": "two different paths",
    "protect @people.csv --quasi age --sensitive pay --pseudonyms --out @x": "--key-file",
    "protect @people.csv --quasi age --sensitive pay --key-file @people.csv --out @x": "key",
    "protect @people.csv --quasi age --sensitive pay --pseudonyms --key-file /dev/zero --out @x": "key",
    "protect @wide.csv --quasi job --method pram --out @x": "has 2,001 categories",
    "protect @people.csv --quasi age --method noise --scale 1e308 --out @x": "smaller scale",
    "protect @people.csv --quasi age --method porop --degree -1 --out @x": "degree must be",
    "protect @people.csv --quasi age --method datafly --suppression nan --out @x": "not NaN",
    "audit @huge.csv @huge.csv --quasi age --sensitive pay": "in larger units",
    "audit @two.csv @two.csv --quasi age --sensitive pay --no-attacks": "--no-learning",
    "audit @people.csv @none.csv --quasi age": "there is no file",
    "audit @people.csv @people.csv --quasi age --random-state -1": "random_state must be",
    "audit @people.csv @people.csv --quasi age --random-state 1e30": "",
    f"audit @people.csv @people.csv --quasi age --random-state {10**30}": "random_state must be",
    "audit @people.csv @people.csv --quasi age --people 0": "people",
    "audit @people.csv @people.csv --quasi age --threshold nan": "threshold",
    "audit @people.csv @people.csv --quasi age --key nope": "nope",
    "frontier @people.csv --quasi age --sensitive pay -k 0": "k",
    "frontier @people.csv --quasi age --sensitive pay -k x": "k",
    "score @people.csv @people.csv --columns job": "",
    "score @people.csv @none.csv": "there is no file",
    "reconstruct @good": "",
    "verify-model @people.csv @people.csv": "",
    "nope": "",
    "protect --nope": "",
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_it_is_told_what_is_wrong(home: Path, arguments: str, capsys: Any) -> None:
    code, error = told(home, arguments, capsys)
    assert code == 2
    assert not REFUSED[arguments] or any(words in error for words in REFUSED[arguments].split("|"))


ODD = [
    *(f"--{name}" for name in ("k 0", "k -5", f"k {10**30}", "max-disclosure nan", "max-disclosure -1")),
    *(f"--max-inference {value}" for value in ("nan", "2", "0", "-1")),
    *(f"--grid age={grid}" for grid in ("a:b:c", "0:1e300:1e-300", "1,nan", "0:10:0", "0:10:-1", "")),
    *("--alpha nan", "--min-leaf -1", "--max-bins 0", f"--max-bins {10**20}", "--max-depth -1"),
    *("--numeric x", "--categorical x", "--unit nope", "--rest x", "--l nan", "--l -1"),
]


@pytest.mark.parametrize("option", ODD)
def test_options_out_of_range(home: Path, option: str, capsys: Any) -> None:
    command = f"protect @people.csv {' '.join(ROLES)} --no-report --out @o {option}"
    assert told(home, command, capsys)[0] == 2
    assert not (home / "o").exists()


def test_a_column_of_decimals_with_a_comma_is_no_title(home: Path, capsys: Any) -> None:
    assert told(home, "inspect @comma.csv", capsys)[0] == 0
    assert read(home / "comma.csv").names == ["pay"]


@pytest.mark.parametrize(
    ("trees", "words"),
    [
        ("tree n_splits=1e9", "n_splits must be a whole number, not '1e9'"),
        ("boosting learning_rate=x", "learning_rate must be a number, not 'x'"),
    ],
)
def test_trees_that_cannot_be_read(home: Path, trees: str, words: str, capsys: Any) -> None:
    command = "protect @people.csv --quasi age --method tpp --response pay --out @x --trees"
    code, error = told(home, command, capsys, (trees,))
    assert code == 2
    assert words in error


@pytest.mark.parametrize("place", ["file", "--out", "--config", "--schema", "--key-file", "--quasi"])
def test_names_with_nul(home: Path, place: str, capsys: Any) -> None:
    parts = {"file": str(home / "people.csv"), "--out": str(home / "x")}
    parts |= {place: "a\0b"}
    file = parts.pop("file")
    words = [word for pair in parts.items() for word in pair]
    given = [] if place == "--quasi" else ROLES
    more = ("--pseudonyms",) if place == "--key-file" else ()
    assert told(home, "protect", capsys, (file, *given, *words, *more))[0] == 2


@pytest.mark.parametrize("name", ["second", "micro", "nano", "day"])
@pytest.mark.parametrize("method", ["mart", "hedge", "mondrian", "datafly", "incognito", "local-suppression"])
def test_times_beyond_the_calendar_are_told_by_column(home: Path, name: str, method: str, capsys: Any) -> None:
    command = f"protect @{name}.feather {' '.join(ROLES)} --method {method} --no-report --out @t"
    code, error = told(home, f"{command}-{name}-{method}", capsys)
    if name != "nano":
        assert code == 2
        assert "beyond the years 1 to 9999 in 'age'" in error
        roles = "--quasi job --sensitive age"
        code, error = told(home, f"protect @{name}.feather {roles} --method {method} --no-report --out @s", capsys)
        assert code == 2
        assert "beyond the years 1 to 9999 in 'age'" in error
    assert told(home, f"inspect @{name}.feather", capsys)[0] == 0


@pytest.mark.parametrize("name", ["nul-cell.csv", "years.csv", "seconds.csv"])
def test_odd_cells_are_released_or_refused(home: Path, name: str, capsys: Any) -> None:
    told(home, f"protect @{name} {' '.join(ROLES)} -k 2 --no-report --out @cells-{name}", capsys)


@pytest.mark.parametrize("largest", [1e153, 1e154, 1e300, 1.7e308])
def test_numbers_whose_squares_fit_no_double_are_released(home: Path, largest: float, capsys: Any) -> None:
    people = pd.read_csv(home / "people.csv").astype({"pay": float})
    people.loc[::7, "pay"] = largest
    people.to_csv(home / "vast.csv", index=False)
    words = f"protect @vast.csv {' '.join(ROLES)} -k 5 --unit none --force --out @vast"
    assert told(home, words, capsys)[0] == 0
    figures = json.loads((home / "vast" / "audit.json").read_text())["release"]["guard"]["columns"]["pay"]
    assert figures["before"] is None  # it was not measured
    assert figures["largest"] is None


@pytest.mark.parametrize("method", [name for name in METHODS if make(name, {}).draws])
@pytest.mark.parametrize("seed", [-1, 1.5, True])
def test_seeds_are_whole_numbers_of_at_least_0(home: Path, method: str, seed: Any) -> None:
    made = make(method, {}).set_params(random_state=seed)
    known = "job" if method == "pram" else "age"  # categories are all that it can move
    with pytest.raises(HedgerowError, match="random_state"):
        hr.protect(home / "people.csv", hr.Schema(quasi=[known], sensitive=["pay"]), made)


def edits(data: Any, wrong: Any) -> Any:
    """Copies of JSON data with one value replaced by a wrong one, wherever it stands."""
    if isinstance(data, dict):
        for key in data:
            yield {**data, key: wrong}
            for inner in edits(data[key], wrong):
                yield {**data, key: inner}
    elif isinstance(data, list):
        for i in range(min(len(data), 2)):
            yield [*data[:i], wrong, *data[i + 1 :]]
            for inner in edits(data[i], wrong):
                yield [*data[:i], inner, *data[i + 1 :]]


@pytest.mark.parametrize("wrong", [None, -1, "x", [], {}, 10**30], ids=repr)
def test_a_plan_with_a_field_of_another_type_is_refused_or_applied(home: Path, wrong: Any) -> None:
    people = read(home / "people.csv")
    for data in edits(json.loads((home / "good" / "plan.json").read_text()), wrong):
        (home / "edited.json").write_text(json.dumps(data))
        try:
            hr.Plan.load(home / "edited.json").apply(people.arrow)
        except HedgerowError:
            continue


@pytest.mark.parametrize("wrong", [None, "x", [[1]], 10**30], ids=repr)
def test_files_beside_a_release_that_were_edited(home: Path, wrong: Any, capsys: Any) -> None:
    out = home / "edited"
    if not out.exists():
        roles = hr.Schema(quasi=["job"], sensitive=["pay"])
        for name, method in (("rr", hr.RandomizedResponse(1.1, random_state=1)), ("pram", hr.PRAM(random_state=1))):
            out.mkdir(exist_ok=True)
            hr.protect(home / "people.csv", roles, method).write(out / name, mapping=True)
    for file, command in (
        ("rr/public.json", "reconstruct @edited/rr"),
        ("pram/mapping.json", "audit @people.csv @edited/pram --no-attacks --no-learning"),
    ):
        text = (out / file).read_text()
        for data in edits(json.loads(text), wrong):
            (out / file).write_text(json.dumps(data))
            told(home, command, capsys)
        (out / file).write_text(text)


@pytest.mark.parametrize("value", ["5", "'x'", "'\\u0000'", "{job = 5}", "{job = [1]}", "{job = {a = 5}}"])
def test_hierarchies_of_a_config_that_are_none(home: Path, value: str, capsys: Any) -> None:
    (home / "h.toml").write_text("hierarchies = " + value.replace("'", '"'))
    command = f"protect @people.csv {' '.join(ROLES)} --method datafly --config @h.toml --out @h"
    assert told(home, command, capsys)[0] == 2


class Gone:
    """A library's call that runs out of memory."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, *args: Any, **given: Any) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("people.csv", "hedgerow.io.csv_file.whole"),
        ("people.parquet", "pyarrow.parquet.read_metadata"),
        ("people.feather", "pyarrow.ipc.open_file"),
    ],
)
@pytest.mark.parametrize("kind", ["numpy", "arrow", "duckdb", "system"])
def test_memory_that_ran_out_is_told_as_such(
    home: Path, name: str, where: str, kind: str, monkeypatch: Any, capsys: Any
) -> None:
    import duckdb

    from hedgerow.io.write import write_table

    errors = {
        "numpy": MemoryError("Unable to allocate 8 EiB"),
        "arrow": pa.ArrowMemoryError("malloc of size 64 failed"),
        "duckdb": duckdb.OutOfMemoryException("Out of Memory Error: could not allocate"),
        "system": OSError(12, "Cannot allocate memory"),
    }
    if not (home / name).exists():
        write_table(read(home / "people.csv").arrow, home / name)
    monkeypatch.setattr(where, Gone(errors[kind]))
    code, error = told(home, f"protect @{name} {' '.join(ROLES)} --out @m", capsys)
    assert code == 2
    assert "not enough memory" in error


def test_a_device_is_no_key(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a device and no file"):
        hr.Key.file("/dev/zero")


@pytest.mark.parametrize(
    "command",
    [
        "protect @people.csv --quasi age,job --sensitive pay --no-report --out @full/out",
        "protect @people.csv --quasi age --sensitive pay --method rr --key-file @full/k --out @full/out",
        "apply @good/plan.json @people.csv --out @full/applied.csv",
        "audit @people.csv @good --no-attacks --no-learning --save @full/a.json",
        "audit @people.csv @good --no-attacks --no-learning --report @full/a.html",
        "frontier @people.csv --quasi age --sensitive pay -k 5 --picture @full/f.svg",
    ],
)
def test_a_full_disk_leaves_nothing(home: Path, command: str, capsys: Any) -> None:
    (home / "full").mkdir(exist_ok=True)
    with a_file_holds(20):
        code, error = told(home, command, capsys)
    assert code == 2
    assert "cannot" in error
    assert list((home / "full").iterdir()) == []
