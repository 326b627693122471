"""The pictures of docs/studio.md: the five steps of the studio with made people.

python scripts/studio_pictures.py     # needs the extra studio, playwright and chromium
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
LEFT_OUT = ("years_schooling", "postcode", "entry_date", "children", "assets", "smoker", "hours_per_week")
WIDE, HIGH = 1200, 900


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        studio = subprocess.Popen(
            [sys.executable, "-m", "hedgerow", "studio", "--no-browser"], stdout=subprocess.PIPE, text=True, cwd=folder
        )
        try:
            assert studio.stdout is not None
            address = studio.stdout.readline().strip()
            home = re.sub(r"/\?.*", "", address)
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": WIDE, "height": HIGH})
            page.set_default_timeout(300_000)

            def shot(step: str) -> None:
                page.screenshot(path=PICTURES / f"studio-{step}.png")

            page.goto(address)
            page.get_by_role("button", name="Use example people").click()
            page.locator("#roles").wait_for()
            for name in LEFT_OUT:
                page.get_by_label(f"Role of {name}").select_option("undeclared")
                page.locator("td.say", has_text="you chose it").nth(LEFT_OUT.index(name)).wait_for()
            page.evaluate("scrollTo(0, 0)")
            shot("table")
            for step, there in (("risk", "#carries"), ("protect", "#carried"), ("compare", "#columns")):
                page.goto(f"{home}/{step}")
                page.locator(there).first.wait_for()
                page.locator("#stop").wait_for(state="detached")
                shot(step)
            page.goto(f"{home}/release")
            page.locator("#command").wait_for()
            page.get_by_label("Folder of the release").fill("release")
            page.get_by_role("button", name="Check and write").click()
            page.locator("#files").wait_for()
            # the folder of this machine is nobody's business
            page.evaluate(
                "for (const e of document.querySelectorAll('#files, .why, #folder, pre'))"
                " { if ('value' in e) e.value = 'release';"
                f" else e.textContent = e.textContent.replaceAll('{Path(folder).resolve()}/', '') }}"
            )
            shot("release")
            browser.close()
        finally:
            studio.terminate()
            studio.wait(30)


if __name__ == "__main__":
    main()
