"""Check the words of the package and its documents: modest claims, no machine paths."""

from __future__ import annotations

import re
import sys
from pathlib import Path

# Claims that no release can keep, and paths that exist on one machine alone.
FORBIDDEN = {
    re.compile(r"\b(fully|completely|perfectly)\s+(anonymous|safe|private)\b", re.IGNORECASE): "promises too much",
    re.compile(r"\b(is|are|becomes?)\s+(now\s+)?(anonymous|safe)\b", re.IGNORECASE): "say which risk was measured",
    re.compile(r"(?<![\w./])/(?:home|root|work|Users)/\w"): "a path of one machine",
}
PLACES = ("src", "docs", "examples", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")


def faults(root: Path) -> list[str]:
    """Return every line with forbidden words."""
    lines = []
    for place in PLACES:
        path = root / place
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in (f for f in files if f.suffix in (".py", ".md", ".html") and f.is_file()):
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
                lines += [
                    f"{file.relative_to(root)}:{number}: {why}"
                    for pattern, why in FORBIDDEN.items()
                    if pattern.search(line)
                ]
    return lines


def main() -> int:
    lines = faults(Path(__file__).resolve().parent.parent)
    print("\n".join(lines) if lines else "words: nothing promises more than was measured")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
