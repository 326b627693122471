"""evidence.json: what an output checker needs to make a judgement again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from .folder import is_table, told_of

VERSION = 1
EVIDENCE = "evidence.json"
_TOLD = ("attack", "learner", "target", "people", "success", "interval", "control",
         "over_control", "over_control_interval", "public_best")  # fmt: skip


def evidence(audit: Mapping[str, Any], files: Mapping[str, Path | None]) -> str:
    """The text of evidence.json: criteria, figures, settings, versions and hashes of the files.

    Parameters
    ----------
    audit : mapping
        `Audit.to_dict` of an audit with a profile.
    files : mapping of str to Path
        What was judged, by what it is: "released", "original"; None and what is no file is left
        out.

    Raises
    ------
    ParameterError
        The audit was made without a profile.
    """
    if audit.get("profile") is None:
        raise ParameterError(
            "evidence is what a profile found", hint="audit with profile= (--profile)"
        )
    data = {
        "hedgerow_evidence": VERSION,
        "profile": audit["profile"],
        "table": {
            name: audit["table"][name]
            for name in ("rows", "quasi", "sensitive", "yardstick", "paired", "released_columns")
        },
        "settings": audit["parameters"],
        "attacks": [{name: attack[name] for name in _TOLD} for attack in audit["attacks"]],
        "not_measured": audit["not_measured"],
        "versions": audit["versions"],
        "files": {what: told_of(p) for what, p in files.items() if p is not None and is_table(p)},
    }
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def evidence_schema() -> dict[str, Any]:
    """The published JSON schema of evidence.json.

    Examples
    --------
    >>> evidence_schema()["title"]
    'Hedgerow evidence'
    """
    text = resources.files(__package__).joinpath("evidence.schema.json").read_text(encoding="utf-8")
    made: dict[str, Any] = json.loads(text)
    return made
