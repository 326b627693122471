"""The texts beside the code: each is used, and what the code names is there, in one folder alone."""

from __future__ import annotations

import re
from pathlib import Path

import hedgerow
from hedgerow.texts import FOLDERS, read_toml, text

FILES = [path for path in Path(hedgerow.__file__).parent.rglob("*") if path.suffix in (".py", ".html")]
CODE = [path.read_text(encoding="utf-8") for path in FILES]
GROUPS = [(group, keys) for folder in FOLDERS for group, keys in read_toml(f"hedgerow.{folder}", "texts.toml").items()]
GROUPS.append(("error", read_toml("hedgerow.methods", "errors.toml")))


def test_every_text_is_named_by_the_code() -> None:
    words = {word for code in CODE for word in re.findall(r'["\']([\w ]+)["\']|texts\("\w+"\)\.(\w+)', code)}
    words = {word for pair in words for word in pair}
    # put together where they are used
    words |= {"shared by", "disclosure (originals)", "paired_by_columns", "paired_by_order", "inference (measured)"}
    assert [(group, key) for group, keys in GROUPS for key in keys if key not in words] == []


def test_every_text_that_the_code_names_is_there() -> None:
    named = {pair for code in CODE for pair in re.findall(r'\btext\(\s*["\'](\w+)["\'],\s*["\'](\w+)', code)}
    refused = re.compile(r'\brefusal\(\s*"(\w+)"(?:,\s*"(\w+)")?')
    named |= {(group or "error", key) for code in CODE for key, group in refused.findall(code)}
    for code in CODE:
        for group in re.findall(r'^ *_?say = partial\(text, "(\w+)"', code, re.M):
            named |= {(group, key) for key in re.findall(r'\b_?say\(\s*"(\w+)"', code)}
    assert len(named) > 200
    assert named - {(group, key) for group, keys in GROUPS for key in keys} == set()


def test_no_text_stands_in_two_folders_and_no_group_but_that_of_errors() -> None:
    groups = [group for group, _ in GROUPS if group != "error"]
    assert len(groups) == len(set(groups))
    errors = [key for group, keys in GROUPS if group == "error" for key in keys]
    assert len(errors) == len(set(errors))


def test_braces_and_quotes_of_names_stay_as_they_are() -> None:
    words = text("caution", "look_like_dates", name='a {b} "c"', share=3, coded=4)
    assert words.startswith('a {b} "c": 3 of its 4 values')
    assert '{"a {b} "c"": "date"}' in words
