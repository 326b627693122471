"""What is handed out: the wheel holds the package and its data, the sdist all that checks need."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest

import hedgerow

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
PACKAGE = ROOT / "src" / "hedgerow"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A wheel and an sdist of this checkout."""
    pytest.importorskip("hatchling", reason="hatchling, which builds the package, is not installed")
    folder = tmp_path_factory.mktemp("dist")
    code = (
        "import sys; from hatchling.build import build_sdist, build_wheel; "
        "print(build_wheel(sys.argv[1]), build_sdist(sys.argv[1]))"
    )
    # without the machine code, which takes a minute and lies in the source folder meanwhile; `make dist` has it
    env = os.environ | {"HATCH_BUILD_NO_HOOKS": "true"}
    made = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, check=True, capture_output=True, text=True, env=env
    )
    wheel, sdist = made.stdout.split()[-2:]
    return folder / wheel, folder / sdist


def source() -> set[str]:
    """Every file of the package that a person wrote, from the folder that holds it."""
    made = {".pyc", ".nbi", ".nbc"}
    return {
        str(path.relative_to(PACKAGE.parent))
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in made
    }


def test_the_wheel_holds_the_package_with_its_data_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        names = {n for n in wheel.namelist() if ".dist-info/" not in n}
    assert names == source()
    assert "hedgerow/py.typed" in names
    for kind in (".html", ".css", ".js", ".toml"):
        assert any(name.endswith(kind) for name in names), kind


def test_the_sdist_holds_what_its_checks_need(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    needed = {f"src/{name}" for name in source()}
    for folder in ("tests", "docs", "scripts", "benchmarks", "examples"):
        needed |= {
            str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts
        }
    assert needed <= names
    for name in ("LICENSE", "README.md", "SECURITY.md", "CITATION.cff", "CHANGELOG.md", "Makefile"):
        assert name in names
    assert not [name for name in names if "__pycache__" in name or name.endswith((".nbi", ".nbc"))]


def test_one_version_and_one_licence_everywhere(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        (name,) = [n for n in wheel.namelist() if n.endswith(".dist-info/METADATA")]
        told = BytesParser().parsebytes(wheel.read(name))
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version = re.search(r"^version: (.+)$", cited, re.MULTILINE)
    licence = re.search(r"^license: (.+)$", cited, re.MULTILINE)
    assert version is not None
    assert licence is not None
    assert told["Version"] == version[1] == hedgerow.__version__
    assert told["License-Expression"] == licence[1]


def test_python_m_hedgerow(tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "hedgerow", "--version"]
    said = subprocess.run(asked, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert said.stdout.strip() == f"hedgerow {hedgerow.__version__}"


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_everything_needed_has_one_lowest_version_on_every_python(python: str) -> None:
    """A floor without a wheel for that Python is none: it would be built, or not be found."""
    pytest.importorskip("packaging", reason="packaging, which reads markers, is not installed")
    import lowest_versions

    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    for extra, listed in {"": [], **project["optional-dependencies"]}.items():
        lowest = lowest_versions.lowest([extra] if extra else [], python)
        names = [re.split(r"[\[=]", each)[0] for each in lowest]
        assert len(names) == len(set(names)), extra
        form = re.compile(r"[a-z0-9-]+(\[[a-z,]+\])?==[\d.]+")
        assert all(map(form.fullmatch, lowest)), lowest
        needed = {re.split(r"[\[>]", each)[0] for each in [*project["dependencies"], *listed]}
        assert needed - {"hedgerow", *lowest_versions.CHECKERS} <= set(names)


def test_lowest_versions_differ_by_python_and_extras_hold_others() -> None:
    pytest.importorskip("packaging", reason="packaging, which reads markers, is not installed")
    import lowest_versions

    floors = {v: lowest_versions.lowest(["dev"], v) for v in ("3.11", "3.12", "3.13", "3.14")}
    for name in ("numba", "numpy", "pandas", "scipy"):
        found = [next(e for e in each if e.startswith(f"{name}==")) for each in floors.values()]
        assert found == sorted(found, key=lambda e: [*map(int, e.split("==")[1].split("."))])
        assert len(set(found)) > 2
    assert {"openpyxl==3.1", "fastapi==0.115"} <= {*floors["3.11"]}
