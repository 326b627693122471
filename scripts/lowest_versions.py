"""The lowest versions that pyproject.toml declares for the running Python, as pip takes them.

python scripts/lowest_versions.py dev    # dependencies and the extra "dev"; needs packaging
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement

# What checks from outside and is no part of what runs may be of any version.
CHECKERS = ("ruff", "mypy", "playwright", "axe-playwright-python")


def lowest(extras: Iterable[str], python: str = "") -> list[str]:
    """Return every requirement `name>=version` that holds, pinned to that version.

    Parameters
    ----------
    extras : iterable of str
    python : str
        Such as "3.13"; the one that runs by default.
    """
    path = Path(__file__).parent.parent / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    there = {"python_version": python} if python else {}
    asked, needed = [*extras], [*map(Requirement, project["dependencies"])]
    for extra in asked:  # grows while it is read, for an extra can hold others
        more = [*map(Requirement, project["optional-dependencies"][extra])]
        within = [each for each in more if each.name == project["name"]]
        asked += sorted({name for each in within for name in each.extras} - {*asked})
        needed += more
    pinned = []
    for each in needed:
        applies = each.marker is None or each.marker.evaluate(there)
        if applies and each.name not in (project["name"], *CHECKERS):
            parts = f"[{','.join(each.extras)}]" if each.extras else ""
            floor = next(bound.version for bound in each.specifier if bound.operator == ">=")
            pinned.append(f"{each.name}{parts}=={floor}")
    return pinned


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))
