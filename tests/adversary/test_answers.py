"""Somebody asks whether regressions hold, to learn of one person: refused, counted, and blurred beyond one person."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing import compare_models as module
from hedgerow.auditing.compare_models import MOST_QUESTIONS, WITHHELD, Book, Question
from hedgerow.cli.app import run
from hedgerow.errors import InputError, OutputError, ParameterError, UnsupportedError
from hedgerow.io.read import read

pytest.importorskip("statsmodels", reason="statsmodels, the extra models, is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
N = 600


def people() -> pd.DataFrame:
    """People of whom a few are alone in one way or another; all columns but age are released as they are."""
    random = np.random.default_rng(7)
    score = random.normal(0, 1, N)
    sex = random.choice(["man", "woman"], N)
    ward = random.choice(["north", "south", "west"], N)
    ward[:3] = "small"
    rows = pd.DataFrame(
        {
            "age": random.integers(20, 80, N),
            "sex": sex,
            "ward": ward,
            # the first category in order is the one that all others are compared with
            "base": np.where(np.arange(N) < 4, "a", ward),
            "score": score,
            "wealth": np.where(np.arange(N) == 9, 1e4, 10 + random.normal(size=N)),
            "event": np.where(np.arange(N) < 5, 1.0, 0.0),
            "mostly": np.where(np.arange(N) < 3, np.nan, random.normal(size=N)),
            "half": np.where(np.arange(N) < 300, np.nan, random.normal(size=N)),
            "half more": np.where(np.arange(N) < 302, np.nan, random.normal(size=N)),
            "rare": np.where(np.arange(N) < 4, "yes", "no"),
            "code": np.arange(N) % 60,
            "income": 100 + 20 * score + 5 * (sex == "man") + random.normal(0, 10, N),
        }
    )
    return rows.astype({"sex": "object"})


def released(rows: pd.DataFrame, folder: Path, **more: Any) -> Path:
    schema = hr.Schema(quasi=["age"], sensitive=["income"], rest="release", **more)
    return hr.protect(rows, schema, hr.Mondrian(k=10)).write(folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(people(), tmp_path_factory.mktemp("made") / "release")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A release that nobody asked about yet, under its own name."""
    link = tmp_path / "ours"
    subprocess.run(["cp", "-R", str(made), str(link)], check=True)
    return link


def ask(folder: Path, formula: str, family: str = "ols") -> dict[str, str]:
    found = hr.compare_models(people(), folder, formula, family=family, for_recipient=True)
    assert found.rows is None
    assert all(c.original is None and c.release is None for c in found.coefficients)
    return {c.name: c.answer for c in found.coefficients}


def counted(folder: Path) -> int:
    book = folder.parent / f"{folder.name}.answers.json"
    return len(json.loads(book.read_text())["questions"]) if book.exists() else 0


def test_what_many_people_carry_is_answered_and_nothing_else_is_printed(folder: Path) -> None:
    assert ask(folder, "income ~ score + sex") == {"(intercept)": "agrees", "score": "agrees", "sex[woman]": "agrees"}
    found = hr.compare_models(people(), folder, "income ~ score + sex", for_recipient=True)
    assert found.to_dict().keys() == {"formula", "family", "notes", "coefficients"}
    text = str(found).replace("above 0, below 0 or neither at 5%", "").replace("Question 1 of 20", "")
    assert not any(sign.isdigit() for sign in text)


@pytest.mark.parametrize(
    ("formula", "refused", "answered"),
    [
        ("income ~ ward", ["ward[small]"], ["ward[south]", "ward[west]"]),
        ("income ~ score*ward", ["ward[small]", "score:ward[small]"], ["score:ward[west]"]),
        ("income ~ ward:score", ["score:ward[small]"], ["score:ward[west]"]),
        ("income ~ base", ["(intercept)", "base[north]", "base[south]", "base[west]"], []),
        ("income ~ 0 + base", ["base[a]"], []),
        ("income ~ base*score", ["score", "base[west]", "base[west]:score"], []),
        ("income ~ event", ["event"], ["(intercept)"]),
        ("income ~ C(event)", ["event[1]"], []),
        ("income ~ sex:event + sex", ["event:sex[man]", "event:sex[woman]"], ["sex[woman]"]),
        ("income ~ wealth", ["wealth"], []),
        ("income ~ wealth**5 + score", ["wealth**5"], ["score"]),
        ("income ~ log(wealth)", ["log(wealth)"], []),
        ("income ~ score:rare + score", ["rare[yes]:score"], []),
    ],
)
def test_coefficients_that_few_people_carry_are_refused(
    folder: Path, formula: str, refused: list[str], answered: list[str]
) -> None:
    answers = ask(folder, formula)
    assert {answers[name] for name in refused} == {"refused"}
    assert all(answers[name] in ("agrees", "differs") for name in answered)


def test_the_oldest_by_a_high_power(tmp_path: Path) -> None:
    rows = people().assign(years=np.append(np.random.default_rng(1).integers(20, 40, N - 1), 110))
    folder = released(rows, tmp_path / "out")
    for power in (2, 3, 4, 5):
        found = hr.compare_models(rows, folder, f"income ~ years^{power} + score", for_recipient=True)
        assert [c.answer for c in found.coefficients if "years" in c.name] == ["refused"]
    found = hr.compare_models(rows, folder, "income ~ log(years)", for_recipient=True)
    assert found.coefficients[1].answer in ("agrees", "differs")  # which does not single the oldest out


@pytest.mark.parametrize(
    ("formula", "family"),
    [
        ("income ~ mostly", "ols"),
        ("income ~ mostly:sex + sex", "ols"),
        ("rare ~ score", "logit"),
        ("event ~ sex", "poisson"),
    ],
)
def test_a_formula_about_few_people_is_refused_without_a_reason_and_counts(
    folder: Path, formula: str, family: str
) -> None:
    found = hr.compare_models(people(), folder, formula, family=family, for_recipient=True)
    assert found.coefficients == ()
    assert found.notes == (WITHHELD, "Question 1 of 20 about this release.")
    assert counted(folder) == 1


def test_rows_that_differ_by_few_people_from_those_of_an_earlier_question(folder: Path, tmp_path: Path) -> None:
    assert ask(folder, "income ~ half")["half"] != "refused"  # half of the people, or half of them less two
    assert ask(folder, "income ~ `half more`") == {}
    other = tmp_path / "other"
    folder.rename(other)  # asked in the other order the other one is refused
    assert ask(other, "income ~ `half more`")["`half more`"] != "refused"
    assert ask(other, "income ~ half") == {}


def test_people_with_several_rows_and_households_count_once(tmp_path: Path) -> None:
    rows = pd.concat([people().assign(person=np.arange(N))] * 4, ignore_index=True)
    rows["score"] += np.random.default_rng(2).normal(size=len(rows))
    rows.loc[rows["person"] < 5, "ward"] = "twenty rows"
    for i, unit in enumerate((None, "person")):
        folder = released(rows, tmp_path / f"out{i}", unit=unit, **({} if unit else {"identifiers": ["person"]}))
        book = Book(hedgerow_answers=1, secret="00" * 32, questions=[])  # whose threshold is below 20
        (folder.parent / f"{folder.name}.answers.json").write_text(json.dumps(book))
        found = hr.compare_models(rows, folder, "income ~ ward", for_recipient=True)
        (answer,) = (c.answer for c in found.coefficients if c.name == "ward[twenty rows]")
        assert (answer == "refused") == (unit == "person")


def test_the_twentieth_question_is_the_last(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people().to_csv(folder.parent / "people.csv", index=False)
    words = ["compare-models", str(folder.parent / "people.csv"), str(folder)]
    first = ask(folder, "income ~ score + sex")
    # the same model again, in another form and through the other door, is no other question
    assert ask(folder, "income ~ C(sex) + score") == first
    assert run([*words, "income ~ score^1 + `sex` + 1", "--for-recipient", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["coefficients"]
    assert {each["name"]: each["answer"] for each in answers} == first
    assert counted(folder) == 1
    # what depends on the grammar or on the release alone tells nothing, and does not count
    for wrong in ("income ~ I(score)", "income ~ nothing", "income ~ sex^2", "sex ~ score", "income ~ C(score)"):
        with pytest.raises(hr.HedgerowError):
            ask(folder, wrong)
    assert counted(folder) == 1
    for i in range(2, MOST_QUESTIONS + 1):
        powers = " + ".join(f"score^{1 + j}" for j in range(5) if i >> j & 1) or "ward"
        assert ask(folder, f"income ~ {powers} + sex")
    assert counted(folder) == MOST_QUESTIONS
    for door in ("python", "command"):
        if door == "python":
            with pytest.raises(UnsupportedError, match="20 questions"):
                ask(folder, "income ~ sex*ward")
        else:
            assert run([*words, "income ~ sex*ward", "--for-recipient"]) == 2
            told = capsys.readouterr()
            assert told.out == ""
            assert told.err.startswith("error: 20 questions about this release were answered")
    assert ask(folder, "income ~ sex + score") == first  # what was answered stays answered
    assert counted(folder) == MOST_QUESTIONS


def test_a_link_the_table_inside_and_another_way_to_write_the_path_are_one_release(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    monkeypatch.chdir(folder)
    (table,) = (path for path in folder.iterdir() if path.stem == "release")
    places = (link, table, Path("."), Path(os.path.relpath(folder)), folder.parent / "link" / ".." / folder.name)
    for i, place in enumerate(places, 1):
        hr.compare_models(people(), place, f"income ~ score^{i}", for_recipient=True)
        assert counted(folder) == i
    assert not (folder.parent / "link.answers.json").exists()


CODE = """
import sys, pandas as pd, hedgerow as hr
rows = pd.read_parquet(sys.argv[1])
for i in range(4):
    try:
        hr.compare_models(rows, sys.argv[2], f"income ~ score^{i + 1} + {sys.argv[3]}", for_recipient=True)
        print("answered")
    except hr.errors.UnsupportedError:
        print("refused")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows locks no folder")
def test_processes_that_ask_at_once_are_all_counted(folder: Path) -> None:
    people().to_parquet(folder.parent / "people.parquet")
    terms = ("sex", "ward", "base", "rare", "event", "mostly")
    command = [sys.executable, "-W", "ignore", "-c", CODE, str(folder.parent / "people.parquet"), str(folder)]
    running = [subprocess.Popen([*command, term], stdout=subprocess.PIPE, text=True) for term in terms]
    said = "".join(process.communicate(timeout=300)[0] for process in running).split()
    assert (said.count("answered"), said.count("refused")) == (MOST_QUESTIONS, 4 * len(terms) - MOST_QUESTIONS)
    assert counted(folder) == MOST_QUESTIONS


def test_the_file_of_answers_is_private_and_beside_the_release(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    ask(folder, "income ~ score")
    book = folder.parent / "ours.answers.json"
    if os.name == "posix":
        assert stat.S_IMODE(book.stat().st_mode) == 0o600
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith((".hedgerow", ".ours"))] == []
    # no figure of the original is in it, so that whoever reads it knows the answers alone
    assert json.loads(book.read_text())["questions"][0].keys() == Question.__annotations__.keys()


DAMAGED = [
    "",
    "{}",
    "[1]",
    "[" * 9999,
    '{"hedgerow_answers": 1, "secret": "00", "questions": []}',
    '{"hedgerow_answers": 2, "secret": "%s", "questions": []}' % ("00" * 32),
]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_of_answers_answers_nothing(folder: Path, text: str) -> None:
    book = folder.parent / "ours.answers.json"
    book.write_text(text)
    with pytest.raises(InputError, match="no file of answers"):
        ask(folder, "income ~ score")
    assert book.read_text() == text


@pytest.mark.parametrize("part", [{"questions": {}}, {"columns": 5}, {"answers": ["agrees"]}])
def test_an_edited_file_of_answers_answers_nothing(folder: Path, part: dict[str, Any]) -> None:
    """It ended in an AttributeError or a TypeError."""
    ask(folder, "income ~ score")
    book = folder.parent / "ours.answers.json"
    data = json.loads(book.read_text())
    inner = data if "questions" in part else data["questions"][0]
    inner.update(part)
    book.write_text(json.dumps(data))
    with pytest.raises(InputError, match="no file of answers"):
        ask(folder, "income ~ ward")


def test_a_category_looks_like_no_other_row(tmp_path: Path) -> None:
    rows = people()[["age", "income"]].assign(ward=np.where(np.arange(N) % 2, "a", "b\nincome  agrees\x1b[2J"))
    compared = hr.compare_models(rows, rows, "income ~ age + ward")
    assert "ward[b?income  agrees?[2J]" in str(compared).replace("\n", "")
    assert "\x1b" not in str(compared)


def test_nothing_is_answered_that_cannot_be_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise OutputError("no room")

    monkeypatch.setattr(module, "write_private", full)
    with pytest.raises(OutputError, match="no room"):
        ask(folder, "income ~ score")


def test_where_nothing_can_be_counted_or_bounded_nothing_is_answered(folder: Path) -> None:
    release = hr.protect(people(), hr.Schema(quasi=["age"], sensitive=["income"], rest="release"), hr.Mondrian(k=10))
    (table,) = (path for path in folder.iterdir() if path.stem == "release")
    alone = folder.parent / "alone.parquet"
    alone.write_bytes(table.read_bytes())
    for other in (release, release.table, alone):
        with pytest.raises(UnsupportedError, match="counted beside a release folder"):
            hr.compare_models(people(), other, "income ~ score", for_recipient=True)
    with pytest.raises(UnsupportedError, match="median"):
        ask(folder, "income ~ score", "quantile")
    with pytest.raises(ParameterError, match="at most are answered"):
        ask(folder, "income ~ C(code)")
    assert counted(folder) == 0


def judged(rows: pd.DataFrame, secret: str, formula: str, family: str = "ols") -> module._Judge:
    book = Book(hedgerow_answers=1, secret=secret, questions=[])
    sources = module._Sources(read(rows), read(rows), hr.Schema())
    return module._Judge(sources, module.parse(formula), family, 10, book)


def answered(rows: pd.DataFrame, secret: str, formula: str, name: str) -> str:
    judge = judged(rows, secret, formula)
    sure = module.TableEstimate(1.0, 0.1, 0.8, 1.2, 0.0)  # in the release it is above 0
    columns = judge.sources.read(judge.formula)[1]
    built = module.designs(judge.formula, columns, False)
    return judge.answers(columns, dict.fromkeys((e.name for e in built.entries), sure))[name]


@pytest.mark.parametrize("family", ["ols", "logit", "poisson"])
def test_what_one_person_moves_is_what_leaving_each_out_shows(family: str) -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=120)
    rows = pd.DataFrame({"x": x, "z": random.choice(list("ab"), 120)})
    rows["y"] = {
        "ols": x + random.standard_t(3, 120),
        "logit": (random.random(120) < 1 / (1 + np.exp(-x))) * 1.0,
        "poisson": random.poisson(np.exp(0.5 * x)) * 1.0,
    }[family]

    def t_values(part: pd.DataFrame) -> tuple[Any, Any]:
        table = read(part)
        columns = {name: (table.column(name), table.column(name)) for name in "xzy"}
        built = module.designs(module.parse("y ~ x + z"), columns, family == "logit")
        fit = module._fitted(built.entries, built.original, family, "original")
        return np.array([e.estimate / e.error for e in fit.estimates if e]), fit

    t, fit = t_values(rows)
    _, moved, _ = module._influence(fit, np.arange(120))
    others = np.array([t_values(rows.drop(index=i))[0] for i in range(120)])
    ratio = moved / np.abs(others - t).max(axis=0)
    # one step, with the weights of all: on the safe side where a person's own weight changes most
    low, high = (1 - 1e-6, 1 + 1e-6) if family == "ols" else (0.8, 2.5)
    assert (low < ratio).all()
    assert (ratio < high).all()


def test_all_answers_of_a_question_together_hardly_tell_of_one_person() -> None:
    """Somebody far off in the category that all others are compared with moves every contrast at once."""
    random = np.random.default_rng(5)
    rows = pd.DataFrame({"ward": [f"w{i:02d}" for i in range(20)] * 60, "y": random.normal(size=1_200)})
    rows.loc[0, "y"] = 5.0
    table = read(rows)
    columns = {name: (table.column(name), table.column(name)) for name in rows}
    built = module.designs(module.parse("y ~ ward"), columns, False)

    def t_values(x: Any, y: Any) -> Any:
        fit = module._fitted(built.entries, module.Design(x, y, np.ones(len(y), bool)), "ols", "original")
        return np.array([e.estimate / e.error for e in fit.estimates if e]), fit

    t, fit = t_values(built.original.x, built.original.y)
    without, _ = t_values(built.original.x[1:], built.original.y[1:])
    noise = module._influence(fit, np.arange(1_200))[2]
    # what all answers tell apart, in deviations of their noise; with noise for each alone it was more than two
    assert 0.9 < np.sqrt((((t - without) / noise) ** 2).sum()) <= 1 + 1e-9


def test_whoever_knows_all_others_hardly_learns_of_the_last_person_by_a_question() -> None:
    """The formula is such that the person turns the verdict: without noise the answer would say who took part."""
    random = np.random.default_rng(11)
    rows = pd.DataFrame({"x": random.normal(size=300)})
    noise = random.normal(size=300)
    noise -= np.polyval(np.polyfit(rows["x"], noise, 1), rows["x"])
    rows["y"] = noise

    def t_of(part: pd.DataFrame) -> float:
        fit = np.polyfit(part["x"], part["y"], 1, cov="unscaled")
        rest = part["y"] - np.polyval(fit[0], part["x"])
        return float(fit[0][0] / np.sqrt(fit[1][0, 0] * (rest**2).sum() / (len(part) - 2)))

    last = int(np.argmax(rows["x"] * rows["y"]))
    low, high = 0.0, 1.0
    for _ in range(60):  # so that the verdict changes with the last person
        middle = (low + high) / 2
        with_slope = rows.assign(y=rows["y"] + middle * rows["x"])
        mean = (t_of(with_slope) + t_of(with_slope.drop(index=last))) / 2
        low, high = (middle, high) if mean < 1.968 else (low, middle)
    rows["y"] += low * rows["x"]
    without = rows.drop(index=last)
    assert t_of(without) < 1.968 < t_of(rows)
    secrets = [f"{i:064x}" for i in range(150)]
    shares = [np.mean([answered(part, s, "y ~ x", "x") == "agrees" for s in secrets]) for part in (rows, without)]
    assert all(0.2 < share < 0.8 for share in shares)
    assert abs(shares[0] - shares[1]) < 0.3  # 1 without noise; .2 at most is expected, of 150 draws
    # nor do thresholds of people tell the last one for certain
    cell = pd.DataFrame({"y": random.normal(size=300), "z": np.where(np.arange(300) < 14, "few", "all")})
    for part, least, most in ((cell, 0.15, 0.75), (cell.iloc[1:], 0.05, 0.7)):
        share = np.mean([answered(part, s, "y ~ z", "z[few]") != "refused" for s in secrets])
        assert least < share < most
    assert all(answered(cell.iloc[5:], s, "y ~ z", "z[few]") == "refused" for s in secrets[:40])


def test_a_private_release_is_not_asked_beyond_its_epsilon(tmp_path: Path) -> None:
    pytest.importorskip("opendp", reason="the extra private is not installed")
    rows = hr.datasets.make_people(2000, seed=1).select(["age", "sex", "income"])
    schema = hr.Schema(
        quasi=["age", "sex"], sensitive=["income"], unit=None, bounds={"age": (0, 110), "income": (0, 500_000)},
        categories={"sex": ["female", "male"]},
    )  # fmt: skip
    folder = hr.protect(rows, schema, hr.PrivateTree(epsilon=1.0)).write(tmp_path / "private")
    with pytest.raises(UnsupportedError, match="epsilon"):
        hr.compare_models(rows, folder, "income ~ age", for_recipient=True)
    # noise can leave rows of no age or income, which no model takes
    complete = read(folder / "release.parquet").arrow.select(["age", "income"]).drop_null().num_rows
    assert hr.compare_models(rows, folder, "income ~ age").rows == (2000, complete)


def test_nothing_is_answered_about_relations_that_a_cap_on_the_file_hides(tmp_path: Path) -> None:
    rows = people()[["age", "sex", "ward"]].assign(ill=lambda t: np.where(t["ward"] == "north", "yes", "no"))
    schema = hr.Schema(quasi=["age", "sex", "ward"], sensitive=["ill"])
    hr.protect(rows, schema, hr.Hedge(max_disclosure=0.9), random_state=0, cap_on="file").write(tmp_path / "capped")
    with pytest.raises(UnsupportedError, match="cap on the file"):
        hr.compare_models(rows, tmp_path / "capped", "ill ~ age + ward", family="logit", for_recipient=True)
    assert not (tmp_path / "capped.answers.json").exists()
