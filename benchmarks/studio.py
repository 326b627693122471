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


def children(process: int) -> list[int]:
    """The processes that a process started."""
    return [*map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]


def megabytes(process: int) -> float:
    """The most memory that a process has held."""
    told = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(told[1]) / 1024 if told else 0.0


def processors(process: int) -> float:
    """Seconds that a process and its children have used."""
    ticks = os.sysconf("SC_CLK_TCK")
    total, pids = 0.0, [process]
    while pids:
        pid = pids.pop()
        try:
            told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            pids += children(pid)
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
            [sys.executable, "-m", "hedgerow", "studio", str(path), "--no-browser"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert studio.stdout is not None
            address = studio.stdout.readline().strip()
            home = re.sub(r"/\?.*", "", address)
            print(f"address printed after {time.perf_counter() - began:.2f} s")
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
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
                lap("the chosen point of the frontier", begin)

                def another(k: int, words: str) -> None:
                    """Change k; tell when the picture has it."""
                    since, exact = now(), f'#picture svg[aria-label*="Chosen: MART {k}"]'
                    page.locator("#option-k").fill(str(k))
                    page.locator(exact).wait_for()
                    lap(f"{words}: its figures", since)

                page.locator("#points").wait_for()
                another(14, "a k that nobody tried, while others are tried")
                begin = now()
                page.locator("#stop").wait_for(state="detached")
                lap("all points of the frontier, and what each column carries", begin)
                another(20, "a k that was tried")
                page.locator("#stop").wait_for(state="detached")
                another(13, "a k that nobody tried")
                print(
                    f"memory of the server: {megabytes(studio.pid):.0f} MB, "
                    f"of the worker at most: {max(map(megabytes, children(studio.pid))):.0f} MB"
                )
                browser.close()
        finally:
            studio.terminate()
            studio.wait(30)


if __name__ == "__main__":
    main()
