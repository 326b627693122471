"""Check a built site: every link within it arrives, and nothing is loaded from elsewhere.

python scripts/check_site.py build/html
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself: attributes by their element.
LOADED = {
    "audio": ("src",), "embed": ("src",), "form": ("action",), "iframe": ("src",),
    "image": ("href", "xlink:href"), "img": ("src", "srcset"), "input": ("src",),
    "link": ("href",), "object": ("data",), "script": ("src",), "source": ("src", "srcset"),
    "track": ("src",), "use": ("href", "xlink:href"), "video": ("src", "poster"),
}  # fmt: skip
NOT_FETCHED = {"alternate", "author", "canonical", "help", "license", "next", "prev", "search"}
"""Relations of a `link` that browsers do not fetch."""
ELSEWHERE = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
STYLE = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s]+)""", re.IGNORECASE)
SCRIPT = re.compile(
    r"""(?:\b(?:fetch|import|importScripts|Worker|WebSocket|EventSource)\(|\bfrom\b|\.src=)\s*"""
    r"""["'`]((?:https?:|wss?:)?//[^"'`\s]+)"""
)


class Page(HTMLParser):
    """The anchors, links and loaded addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self._within = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.names |= {values[n] for n in ("id", "name") if values.get(n)}
        self._within = tag if tag in ("style", "script") else ""
        self.loads += STYLE.findall(values.get("style", ""))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "link" and set(values.get("rel", "").split()) & NOT_FETCHED:
            return
        for name in LOADED.get(tag, ()):
            addresses = values.get(name, "").split(",") if name == "srcset" else [values.get(name, "")]
            self.loads += [a.split()[0] for a in addresses if a.strip()]

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within:
            self.loads += (STYLE if self._within == "style" else SCRIPT).findall(data)


def faults(site: Path) -> list[str]:
    """Return every broken link, and every address that is loaded from another site."""
    site = site.resolve()
    written = [p for p in sorted(site.rglob("*.html")) if "_static" not in p.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in written}
    problems = [] if pages else [f"{site}: no pages"]
    for path, page in pages.items():
        where = path.relative_to(site)
        for address in page.loads:
            if ELSEWHERE.match(address):
                problems.append(f"{where}: loads {address}")
        for address in [*page.links, *page.loads]:
            parts = urlsplit(address)
            if parts.scheme or ELSEWHERE.match(address):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            fragment = unquote(parts.fragment)
            if not target.is_file() or not target.is_relative_to(site):
                problems.append(f"{where}: {address} leads nowhere")
            elif fragment and target in pages and fragment not in pages[target].names:
                problems.append(f"{where}: {address} names no place of that page")
    for path in (p for p in sorted(site.rglob("*")) if p.suffix in (".css", ".js", ".svg")):
        text = path.read_text(encoding="utf-8")
        for address in (STYLE if path.suffix != ".js" else SCRIPT).findall(text):
            problems.append(f"{path.relative_to(site)}: loads {address}")
    return problems


def main() -> int:
    problems = faults(Path(sys.argv[1]))
    print("\n".join(problems) if problems else "site: every link arrives, nothing comes from elsewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
