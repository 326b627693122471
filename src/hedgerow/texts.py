"""Read the texts in TOML files next to the code, and fill in their placeholders."""

from __future__ import annotations

import csv
import io
import re
import shlex
import tomllib
from functools import cache
from importlib import resources
from string import Formatter
from typing import Any

from .errors import HedgerowError, singular

FOLDERS = ("measures", "methods", "release", "auditing", "report", "workflow", "io", "columns")

# A key of more than a hundred parts, for whose parts Python's reader of TOML takes time squared.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")


def parsed_toml(text: str, what: str, error: type[HedgerowError]) -> dict[str, Any]:
    """Return the data of TOML text; if it is none, raise `error` with the text named as `what`."""
    if _LONG_KEY.search(text):
        raise error(f"{what} has a key of more than 100 parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise error(f"{what} is not valid TOML: {fault}") from None
    except RecursionError:  # a thousand brackets are valid TOML, and deeper than the reader goes
        raise error(f"{what} is nested too deeply") from None


@cache
def read_toml(package: str, name: str) -> dict[str, Any]:
    """Return the data of a TOML file next to a package's code; callers share it and must not change it."""
    # found from the root, because importing the folder would load whatever computes in it
    root, *folders = package.split(".")
    return tomllib.loads(resources.files(root).joinpath(*folders, name).read_text("utf-8"))


def texts(group: str) -> dict[str, Any]:
    """Return the texts of a group by key, from the ``texts.toml`` of the folder that has the group."""
    # one file after the other: a release needs no words of a report
    files = (read_toml(f"hedgerow.{folder}", "texts.toml") for folder in FOLDERS)
    return next(file[group] for file in files if group in file)


def quoted(name: str) -> str:
    """Return a name in the form that a list of the command line reads back, in quotes if necessary.

    Examples
    --------
    >>> quoted("age"), quoted("income, yearly")
    ('age', '"income, yearly"')
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([name])
    return line.getvalue()


class _Filled(Formatter):
    """Format as `str.format` does; ``{name!q}`` is a column as a shell and a list of columns read it back."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return shlex.quote(quoted(str(value))) if conversion == "q" else super().convert_field(value, conversion)


_filled = _Filled().format


def text(group: str, key: str, /, **values: Any) -> str:
    """Return one of the `texts` of a group; `values` fill its placeholders.

    Examples
    --------
    >>> text("caution", "larger_k", enough=1200)
    'k of at least 1,200'
    """
    return singular(_filled(str(texts(group)[key]), **values))


def refusal(key: str, group: str = "error", /, **values: Any) -> dict[str, str]:
    """Return the message and the hint of an error, for `HedgerowError(**refusal(...))`.

    What one place refuses stands there; this is for what several places refuse. The errors of audits are the group
    "error", those of another folder a group of its name.

    Examples
    --------
    >>> refusal("no_column", name="jbo", similar="; did you mean job?", names="job")
    {'message': "there is no column 'jbo'; did you mean job?", 'hint': 'the released columns are job'}
    """
    return {part: _filled(each, **values) for part, each in texts(group)[key].items()}
