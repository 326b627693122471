"""What is checked of the site: its links, what it loads, and that it leaves nobody out."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
import typer.main

import hedgerow as hr
from hedgerow.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def check() -> ModuleType:
    return loaded(ROOT / "scripts" / "check_site.py")


GOOD = '<html><body id="top"><a href="b.html#here">b</a><img src="i.png"></body></html>'


def site(folder: Path, body: str, **files: str) -> Path:
    (folder / "a.html").write_text(GOOD + body)
    (folder / "b.html").write_text('<p id="here">b</p><a href="https://elsewhere.example">x</a>')
    (folder / "i.png").write_bytes(b"")
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def test_a_good_site_has_no_faults(check: ModuleType, tmp_path: Path) -> None:
    assert check.faults(site(tmp_path, '<a href="#top">up</a>', s_css="p{color:red}")) == []
    assert check.faults(tmp_path / "empty") != []


@pytest.mark.parametrize(
    "body",
    [
        '<a href="c.html">c</a>',
        '<a href="b.html#nowhere">b</a>',
        '<a href="#nowhere">b</a>',
        '<a href="../outside.html">b</a>',
        '<img src="gone.png">',
        '<img srcset="i.png 1x, https://elsewhere.example/i.png 2x">',
        '<script src="https://elsewhere.example/x.js"></script>',
        '<script src="//elsewhere.example/x.js"></script>',
        '<link rel="stylesheet" href="http://elsewhere.example/x.css">',
        '<link rel="preconnect" href="https://fonts.elsewhere.example">',
        '<iframe src="https://elsewhere.example"></iframe>',
        '<form action="https://elsewhere.example"></form>',
        '<p style="background: url(https://elsewhere.example/i.png)">',
        "<style>@import 'https://elsewhere.example/x.css';</style>",
        "<script>fetch('https://elsewhere.example/counted')</script>",
        "<script type='module'>import x from 'https://elsewhere.example/x.js'</script>",
    ],
)
def test_each_fault_is_found_once(check: ModuleType, tmp_path: Path, body: str) -> None:
    assert len(check.faults(site(tmp_path, body))) == 1


@pytest.mark.parametrize(
    "files",
    [
        {"s_css": "@font-face{src:url('https://fonts.elsewhere.example/f.woff2')}"},
        {"s_js": "const a = fetch(`https://elsewhere.example/${x}`)"},
    ],
)
def test_styles_and_scripts_load_nothing_from_elsewhere(
    check: ModuleType, tmp_path: Path, files: dict[str, str]
) -> None:
    assert len(check.faults(site(tmp_path, "", **files))) == 1


def test_the_reference_has_every_public_name() -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   (\w+)$", page, re.MULTILINE))
    assert listed == {*hr.__all__} - {"__version__"}


def test_every_command_has_a_page_with_all_its_options() -> None:
    commands = loaded(DOCS / "_ext" / "commands.py")
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        page = commands.page(name, command)
        assert page.startswith(f"# hedgerow {name}\n")
        for each in command.params:
            if each.param_type_name == "option" and not each.hidden:
                assert max(each.opts, key=len) in page


@pytest.mark.parametrize("file", [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))], ids=lambda f: f.name)
def test_links_between_pages_arrive(file: Path) -> None:
    """In the checkout, where pages are read without the site."""
    made = ("gallery/", "commands/")
    for address in LINK.findall(re.sub(r"```.*?```", "", file.read_text("utf-8"), flags=re.DOTALL)):
        path = address.partition("#")[0]
        if path and "://" not in address and not path.startswith(made):
            assert (file.parent / path).exists(), address


def test_every_page_stands_in_a_table_of_contents() -> None:
    listed = {"index"}
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            for name in re.findall(r"^(?!:)(\S+)$", block, re.MULTILINE):
                found = page.parent.glob(f"{name}.md") if "*" in name else [page.parent / name]
                listed |= {str(f.relative_to(DOCS)).removesuffix(".md") for f in found}
    pages = {str(f.relative_to(DOCS)).removesuffix(".md") for f in DOCS.rglob("*.md")}
    assert not pages - listed, "name them in a toctree, as in docs/how-to.md"
