"""How soon the studio shows what it is asked: first paint, a table of a million, another k.

python benchmarks/studio.py --rows 1000000     # needs the extra studio, playwright and chromium

Seconds on the wall of this machine, and of the processors (server and worker together).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

import hedgerow as hr


def processors(process: int) -> float:
    """Seconds that a process and its children have used."""
    ticks = os.sysconf("SC_CLK_TCK")
    total, pids = 0.0, [process]
    while pids:
        pid = pids.pop()
        try:
            told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        except OSError:
            continue
        total += sum(map(int, told[11:15])) / ticks
    return total


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    quasi = ("age", "sex", "education", "job", "region", "marital")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        pq.write_table(hr.datasets.make_people(rows, seed=1).select([*quasi, "income"]), path)
        began = time.perf_counter()
        studio = subprocess.Popen(
            [sys.executable, "-m", "hedgerow", "studio", str(path), "--no-browser"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert studio.stdout is not None
            address = studio.stdout.readline().strip()
            home = re.sub(r"/\?.*", "", address)
            print(f"address printed after {time.perf_counter() - began:.2f} s")
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                page = browser.new_page()
                page.set_default_timeout(600_000)

                def lap(words: str, begin: tuple[float, float]) -> None:
                    wall = time.perf_counter() - begin[0]
                    used = processors(studio.pid) - begin[1]
                    print(f"{words}: {wall:.2f} s, processors {used:.2f} s")

                def now() -> tuple[float, float]:
                    return time.perf_counter(), processors(studio.pid)

                start = (began, 0.0)
                begin = now()
                page.goto(address)
                page.locator("h1").wait_for()
                lap("first paint", begin)
                page.locator("#roles").wait_for()
                begin_risk = now()
                page.goto(f"{home}/risk")
                page.locator(".cards").wait_for()
                lap("who can be found, from the click", begin_risk)
                lap("who can be found, from the start of the program", start)
                page.locator("#carries").wait_for()
                lap("what a tree infers, from the start", start)
                begin = now()
                page.goto(f"{home}/protect")
                page.locator("#picture circle").first.wait_for()
                lap("first points of the frontier", begin)
                page.locator("#stop").wait_for(state="detached")
                lap("all points of the frontier", begin)
                begin = now()
                page.locator("#option-k").fill("20")
                page.locator('#picture svg[aria-label*="Chosen: MART 20"]').wait_for()
                lap("another k", begin)
                browser.close()
        finally:
            studio.terminate()
            studio.wait(30)


if __name__ == "__main__":
    main()
