"""A studio that runs, and one browser to look at it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LONG = 120_000
"""Milliseconds that a page may take on a busy machine."""


class Served:
    """A studio in a process of its own, and a browser window with its cookie."""

    def __init__(self, browser: Any, address: str, process: subprocess.Popen[str]) -> None:
        self.home = address.partition("/?")[0]
        self.process = process
        self.asked: list[str] = []
        self.faults: list[str] = []
        self.context = self._context(browser)
        self.page = self.window()
        self.page.goto(address)

    def _context(self, browser: Any, **more: Any) -> Any:
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **more)
        context.set_default_timeout(LONG)
        context.on("request", lambda request: self.asked.append(request.url))
        return context

    def window(self) -> Any:
        """Another window of the same browser."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda m: self.faults.append(m.text) if m.type == "error" else None)
        return page

    def other(self, browser: Any, width: int, scale: float, colours: str) -> Any:
        """A window of so many CSS pixels, light or dark, with the same cookie."""
        context = self._context(
            browser, storage_state=self.context.storage_state(), device_scale_factor=scale, color_scheme=colours
        )
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 700})
        return page

    def go(self, step: str, wait: str | None = None) -> Any:
        """Open a step, and wait for a part of it."""
        self.page.goto(f"{self.home}/{step}")
        if wait is not None:
            self.page.locator(wait).first.wait_for()
        return self.page

    def rest(self) -> None:
        """Wait until nothing is running."""
        self.page.locator("#stop").wait_for(state="detached")


@contextmanager
def studio(folder: Path, table: Path | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A studio in a folder and its address, ended as a terminal ends it."""
    command = [sys.executable, "-m", "hedgerow", "studio", "--no-browser"]
    process = subprocess.Popen(
        [*command, *([str(table)] if table else [])],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(folder)},
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.terminate()
        try:
            process.wait(20)
        finally:
            process.kill()


@contextmanager
def serving(browser: Any, folder: Path, table: Path | None = None) -> Iterator[Served]:
    """The same with one browser."""
    with studio(folder, table) as (process, address):
        yield Served(browser, address, process)


def axe(page: Any) -> list[str]:
    """What axe finds wrong with a page, but for what is minor."""
    script = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
    page.evaluate(script)
    found = page.evaluate("axe.run()")["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in found if v["impact"] in ("serious", "critical")]
