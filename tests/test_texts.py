"""The texts beside the code: each is used, and what the code names is there, in one folder alone."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from string import Formatter

import hedgerow
from hedgerow.errors import InputError
from hedgerow.texts import FOLDERS, read_toml, text

FILES = [path for path in Path(hedgerow.__file__).parent.rglob("*") if path.suffix in (".py", ".html")]
CODE = [path.read_text(encoding="utf-8") for path in FILES]
GROUPS = [(group, keys) for folder in FOLDERS for group, keys in read_toml(f"hedgerow.{folder}", "texts.toml").items()]


def test_every_text_is_named_by_the_code() -> None:
    words = {word for code in CODE for word in re.findall(r'["\']([\w ]+)["\']|texts\("\w+"\)\.(\w+)', code)}
    words = {word for pair in words for word in pair}
    # put together where they are used
    words |= {"shared by", "disclosure (originals)", "disclosure (file)", "inference (measured)"}
    words |= {"paired_by_columns", "paired_by_order", "correlation_member", "same_member"}
    words |= {f"{part}_{order}" for part in ("left", "by") for order in ("wave", "member", "time")}
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


def test_every_text_that_the_code_fills_gets_all_that_it_names() -> None:
    """A placeholder without its value would end as a fault where somebody should read a reason."""
    by_name = {(group, key): words for group, keys in GROUPS for key, words in keys.items()}
    lacking, filled = [], 0
    for path in (path for path in FILES if path.suffix == ".py"):
        for call in (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)):
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            names = [each.value for each in call.args if isinstance(each, ast.Constant)]
            if name not in ("text", "refusal") or len(names) != len(call.args) or not names:
                continue
            where = (names[0], names[1]) if name == "text" else (names[1] if len(names) > 1 else "error", names[0])
            given = {keyword.arg for keyword in call.keywords}
            words = by_name[where]
            texts = words.values() if isinstance(words, dict) else [words]
            asked = {
                field.split(".")[0].split("[")[0] for each in texts for _, field, *_ in Formatter().parse(each) if field
            }
            filled += 1
            lacking += [(path.name, *where, field) for field in asked - given if None not in given]
    assert filled > 200
    assert lacking == []


def test_no_text_stands_in_two_folders_and_no_group_but_that_of_errors() -> None:
    groups = [group for group, _ in GROUPS if group != "error"]
    assert len(groups) == len(set(groups))
    errors = [key for group, keys in GROUPS if group == "error" for key in keys]
    assert len(errors) == len(set(errors))


def test_braces_and_quotes_of_names_stay_as_they_are() -> None:
    words = text("caution", "look_like_dates", name='a {b} "c"', share=3, coded=4)
    assert words.startswith('a {b} "c": 3 of its 4 values')
    assert 'kinds={\'a {b} "c"\': "date"}' in words
    assert words.count('--kinds \'"a {b} ""c"""\'=date') == 1  # as a shell and a list of columns read it back


def test_what_is_counted_as_one_is_named_as_one() -> None:
    """A group of one was said to have 1 records, and a file to hold 1 people."""
    said = text("against", "smallest group", reached="1 records", number="10")
    assert said == "the smallest group has 1 record (10 were asked)"
    assert "There is 1 group of" in text("recipient", "groups", groups=1, smallest=30, largest=30, median=30.0)
    error = InputError("1 people are in 1 groups, of 21 people", hint="2 and 1 rows, 1,001 records, 0.1 values")
    assert str(error) == "1 person is in 1 group, of 21 people\n  2 and 1 rows, 1,001 records, 0.1 values"
