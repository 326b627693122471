"""The lowest versions that pyproject.toml declares, as pip takes them.

python scripts/lowest_versions.py dev    # dependencies and the extra "dev"
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

# What checks from outside and is no part of what runs may be of any version.
CHECKERS = ("ruff", "mypy", "playwright", "axe-playwright")


def lowest(extras: list[str]) -> list[str]:
    """Every requirement `name>=version`, pinned to that version."""
    path = Path(__file__).parent.parent / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"]]
    for extra in extras:
        needed += project["optional-dependencies"][extra]
    return [each.replace(">=", "==") for each in needed if not each.startswith(CHECKERS)]


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))
