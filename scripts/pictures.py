"""The pictures of the documents, and the rows of the README, made again from made people.

python scripts/pictures.py          # writes docs/pictures; prints the rows of the README
python scripts/pictures.py --rows   # prints the rows alone

The pages are rendered by chromium, which has to be installed; `--chromium` says where it is.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import hedgerow as hr

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
SIZE = (1280, 632)
SCHEMES = {"dark": 0, "light": 1}
"""How chromium counts what a reader's screen prefers."""
SHOWN = (0, 2, 4)
"""Of the five records that a report shows, those of the README."""


def example() -> tuple[object, hr.Schema, hr.Release]:
    """Made people, what is said of their columns, and a release."""
    people = hr.datasets.make_people(5_000, seed=1)
    schema = hr.Schema(quasi=["age", "sex", "job"], sensitive=["income"], identifiers=["person_id"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that are left out
        return people, schema, hr.protect(people, schema, hr.MART(k=10, max_disclosure=0.5))


def rows(found: hr.Audit) -> str:
    """Three records before and after, as a table in Markdown."""
    shown = found.shown
    assert shown is not None
    lines = ["| | " + " | ".join(shown.names) + " |", "|---" * (len(shown.names) + 1) + "|"]
    for i in SHOWN:
        lines.append("| before | " + " | ".join(shown.before[i]) + " |")
        lines.append("| after | " + " | ".join(shown.after[i]) + " |")
    return "\n".join(lines)


def render(page: Path, picture: Path, scheme: int, chromium: str) -> None:
    """What a browser shows of a page, without scrolling."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                chromium,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={profile}",
                f"--blink-settings=preferredColorScheme={scheme}",
                f"--window-size={SIZE[0]},{SIZE[1]}",
                f"--screenshot={picture}",
                page.resolve().as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )


def smaller(picture: Path) -> None:
    """The same picture with 128 colours."""
    from PIL import Image

    Image.open(picture).convert("RGB").quantize(128).save(picture, optimize=True)


def main() -> int:
    """Write every picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", action="store_true", help="print the rows of the README alone")
    parser.add_argument("--chromium", default=shutil.which("chromium") or "", help="the browser")
    asked = parser.parse_args()
    people, schema, release = example()
    found = hr.audit(people, release, attacks=not asked.rows, learning=not asked.rows)
    print(rows(found))
    if asked.rows:
        return 0
    if not asked.chromium:
        print("chromium is not installed: --chromium says where it is", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = release.write(Path(folder) / "release", measured=found) / "report.html"
        for name, scheme in SCHEMES.items():
            picture = FOLDER / f"report-{name}.png"
            render(page, picture, scheme, asked.chromium)
            smaller(picture)
    caps, sizes = [0.3, 0.5, 0.7], [10, 20, 50]
    front = hr.frontier(people, schema, hr.MART(), k=sizes, max_disclosure=caps)
    (FOLDER / "frontier.svg").write_text(front.picture(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
