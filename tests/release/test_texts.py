"""The texts of a release: every one is used, and nothing is asked for that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import hedgerow.release
from hedgerow.texts import FOLDERS, read_toml, text, texts

BY_FIELD = ("style", "share")
FOLDER = Path(hedgerow.release.__file__).parent


def test_every_text_is_named_by_the_code() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py"))
    words = set(re.findall(r'"(\w+)"', code))
    groups = read_toml("hedgerow.release", "texts.toml")
    named = [key for group, table in groups.items() if group not in BY_FIELD for key in table]
    unused = [key for key in named if key not in words]
    assert unused == []


def test_every_text_that_the_code_names_is_there() -> None:
    groups = {"recipient.py": "recipient", "explain.py": "plan", "warnings.py": "caution"}
    for file, group in groups.items():
        code = (FOLDER / file).read_text(encoding="utf-8")
        assert set(re.findall(r'_say\(\s*"(\w+)"', code)) <= set(texts()[group])


def test_braces_and_quotes_of_names_stay_as_they_are() -> None:
    words = text("caution", "look_like_dates", name='a {b} "c"', share=3, coded=4)
    assert words.startswith('a {b} "c": 3 of its 4 values')
    assert '{"a {b} "c"": "date"}' in words


def test_no_group_of_texts_stands_in_two_folders() -> None:
    files = [read_toml(f"hedgerow.{folder}", "texts.toml") for folder in FOLDERS]
    assert sum(map(len, files)) == len(texts())
