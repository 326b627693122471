"""The texts of an audit: every one is used, and nothing is asked for that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from hedgerow.audit import measure
from hedgerow.texts import read_toml

CODE = "\n".join(p.read_text(encoding="utf-8") for p in Path(measure.__file__).parent.glob("*.py"))
# groups that are taken as a whole, by the names of figures or of axes
WHOLE = ("not_measured", "disclosure_axis", "utility_axis")


def test_every_text_is_named_by_the_code() -> None:
    words = {*re.findall(r'"(\w+)"', CODE), *(f"paired_by_{by}" for by in ("columns", "order"))}
    groups = read_toml("hedgerow.audit", "texts.toml")
    by_key = {key for group, table in groups.items() if group not in WHOLE for key in table}
    assert by_key - words == set()


def test_every_text_that_the_code_names_is_there() -> None:
    groups = read_toml("hedgerow.audit", "texts.toml")
    named = set(re.findall(r'\btext\(\s*"(\w+)",\s*"(\w+)"', CODE))
    assert len(named) > 30
    assert {(group, key) for group, key in named if key not in groups[group]} == set()
    refused = set(re.findall(r'\brefusal\("(\w+)"', CODE))
    assert len(refused) > 30
    assert refused <= set(groups["error"])
