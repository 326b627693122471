"""The pictures of the documents, and the rows of the README, made again from made people.

python scripts/pictures.py          # writes docs/pictures; prints the rows of the README
python scripts/pictures.py --rows   # prints the rows alone
python scripts/pictures.py --methods [NAME ...]   # the first screen of every method's report, or of some
python scripts/pictures.py --studio # the five steps of the studio, by playwright

The pages are rendered by chromium, which has to be installed; `--chromium` says where it is.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.csv as pc

import hedgerow as hr

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
SIZE = (1280, 760)
SCHEMES = {"dark": 0, "light": 1}
"""Chromium's numbers of the preferred colour schemes."""
WIDTHS = {"wide": (1280, 960), "narrow": (390, 844)}
"""Windows of a desk and of a telephone."""
QUASI, NUMBERS = ["age", "sex", "job", "marital"], ["age", "hours_per_week", "years_schooling"]
SPREAD = ["age", "hours_per_week", "income"]
METHODS: dict[str, tuple[Callable[[], Any], list[str], str]] = {
    "mart": (lambda: hr.MART(k=10, max_disclosure=0.5), QUASI, "income"),
    "hedge": (lambda: hr.Hedge(k=10, max_disclosure=0.5), QUASI, "income"),
    "mondrian": (lambda: hr.Mondrian(k=10), QUASI, "income"),
    "tpp": (
        lambda: hr.TreePatternPreserving("tree n_splits=8 min_leaf=30 criterion=variance", response="income", k=10),
        QUASI,
        "income",
    ),
    "rr": (lambda: hr.RandomizedResponse(2, random_state=1), QUASI, "diagnosis"),
    "anatomy": (lambda: hr.Anatomy(2, random_state=1), QUASI, "diagnosis"),
    "datafly": (lambda: hr.Datafly(10, suppression=0.02), QUASI, "income"),
    "incognito": (lambda: hr.Incognito(10, suppression=0.02), QUASI, "income"),
    "local-suppression": (lambda: hr.LocalSuppression(5), QUASI, "income"),
    "microaggregation": (lambda: hr.Microaggregation(10), ["age", "children"], "income"),
    "porop": (lambda: hr.PoROP(3_000, degree=2, random_state=1), SPREAD, "assets"),
    "lirop": (lambda: hr.LiROP(3_000, random_state=1), SPREAD, "assets"),
    "noise": (lambda: hr.NoiseAddition(0.2, random_state=1), NUMBERS, "income"),
    "rank-swapping": (lambda: hr.RankSwapping(0.05, random_state=1), NUMBERS, "income"),
    "pram": (lambda: hr.PRAM(0.8, random_state=1), ["sex", "job", "marital"], "income"),
    "top-bottom": (lambda: hr.TopBottomCoding(top_share=0.05, bottom_share=0.05), NUMBERS, "income"),
}
"""By its name on the command line: the method, the quasi-identifiers, the sensitive column."""


def example() -> tuple[object, hr.Schema, hr.Release]:
    """Return made people, their schema and a release by the default method."""
    people = hr.datasets.make_people(5_000, seed=1)
    schema = hr.Schema(
        quasi=["age", "education", "job"], sensitive=["income", "assets"], identifiers=["person_id", "postcode"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that are left out
        return people, schema, hr.protect(people, schema, random_state=1)


def rows(people: Any, release: hr.Release) -> str:
    """Return three people and three released rows, and mean incomes of both, as tables in Markdown."""
    names = release.table.column_names
    before, after = people.select(names), release.table
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for side, table in (("before", before), ("after", after)):
        for row in table.take([len(table) * i // 4 for i in (1, 2, 3)]).to_pylist():
            lines.append(f"| {side} | " + " | ".join(map(str, row.values())) + " |")
    levels = ["primary", "vocational", "bachelor", "doctorate"]
    lines += ["", "| mean income | " + " | ".join(levels) + " |", "|---|" + "---:|" * len(levels)]
    for side, table in (("before", before), ("after", after)):
        grouped = table.group_by("education").aggregate([("income", "mean")]).to_pylist()
        means = {row["education"]: row["income_mean"] for row in grouped}
        lines.append(f"| {side} | " + " | ".join(f"{means[level]:,.0f}" for level in levels) + " |")
    return "\n".join(lines)


def render(page: Path, picture: Path, scheme: int, chromium: str, size: tuple[int, int] = SIZE) -> None:
    """Take a picture of a page as a browser shows it, without scrolling.

    Its window is never narrower than 500 pixels, so a narrow page stands in a frame of its own.
    """
    width, height = size
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
                f"--window-size={max(width, 500)},{height}",
                f"--screenshot={picture}",
                _framed(page, width, height, Path(profile)),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )


def _framed(page: Path, width: int, height: int, folder: Path) -> str:
    """Return the address of the page, in a frame if it is narrow."""
    if width >= 500:
        return page.resolve().as_uri()
    frame = folder / "frame.html"
    frame.write_text(
        '<meta name="color-scheme" content="light dark"><body style="margin:0">'
        f'<iframe src="{page.resolve().as_uri()}" style="border:0;width:{width}px;height:{height}px">'
        "</iframe>"
    )
    return frame.as_uri()


def smaller(picture: Path, colours: int = 128, width: int | None = None) -> None:
    """Reduce the colours of a picture, and crop it to a width."""
    from PIL import Image

    drawn = Image.open(picture).convert("RGB")
    if width is not None:
        drawn = drawn.crop((0, 0, width, drawn.height))
    drawn.quantize(colours, method=Image.Quantize.MAXCOVERAGE).save(picture, optimize=True)


def methods(names: Sequence[str], chromium: str) -> None:
    """Take the first screen of the report of every method, on a desk and a telephone, light and dark."""
    (FOLDER / "methods").mkdir(parents=True, exist_ok=True)
    people = hr.datasets.make_people(3_000, seed=1)
    for name in names or METHODS:
        make, quasi, sensitive = METHODS[name]
        schema = hr.Schema(quasi=quasi, sensitive=[sensitive], identifiers=["person_id"])
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            seed = 1 if name == "hedge" else None  # its rows are drawn
            release = hr.protect(people, schema, make(), random_state=seed)
            found = hr.audit(people, release, people=200)
            page = release.write(Path(folder) / "release", measured=found) / "report.html"
            for how, size in WIDTHS.items():
                for colours, scheme in SCHEMES.items():
                    picture = FOLDER / "methods" / f"{name}-{how}-{colours}.png"
                    render(page, picture, scheme, chromium, size)
                    smaller(picture, 32, size[0])


def studio(chromium: str) -> None:
    """Walk through the studio as its documentation does, and write a picture of each step."""
    from playwright.sync_api import sync_playwright

    sys.path.insert(0, str(FOLDER.parent.parent))
    from tests.studio.browsing import serving

    steps = {"table": "#roles", "risk": "#carries", "protect": "#chosen b", "compare": "#columns", "release": "#same"}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as found:
        table = Path(folder) / "people.csv"
        pc.write_csv(hr.datasets.make_people(5_000, seed=1), table)
        browser = found.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with serving(browser, Path(folder), table) as served:
            for step, part in steps.items():
                page = served.go(step, part)
                page.set_viewport_size({"width": 1200, "height": 900})
                served.rest()
                if step == "release":
                    page.get_by_label("Folder of the release").fill("release")
                    page.get_by_role("button", name="Check and write").click()
                    page.locator("#files").wait_for()
                    served.rest()
                if step == "table":  # the columns, below how a file is opened
                    page.locator(part).evaluate("form => form.scrollIntoView()")
                picture = FOLDER / f"studio-{step}.png"
                page.screenshot(path=picture)
                smaller(picture)
        browser.close()


def main() -> int:
    """Write every picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", action="store_true", help="print the rows of the README alone")
    parser.add_argument("--chromium", default=shutil.which("chromium") or "", help="the browser")
    parser.add_argument("--methods", nargs="*", choices=[*METHODS], help="reports of methods alone")
    parser.add_argument("--studio", action="store_true", help="the steps of the studio alone")
    asked = parser.parse_args()
    if asked.studio and asked.chromium:
        studio(asked.chromium)
        return 0
    if asked.methods is not None and asked.chromium:
        methods(asked.methods, asked.chromium)
        return 0
    people, schema, release = example()
    print(rows(people, release))
    if asked.rows:
        return 0
    found = hr.audit(people, release)
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
    schema = hr.Schema(quasi=["age", "sex", "job"], sensitive=["income"], identifiers=["person_id"])
    front = hr.frontier(people, schema, hr.MART(), k=sizes, max_disclosure=caps)
    (FOLDER / "frontier.svg").write_text(front.picture(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
