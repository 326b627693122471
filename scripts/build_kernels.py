"""Compile the loops when a wheel is built, so that a first release on a machine need not wait for it.

Hatchling runs this for wheels, not in a checkout (pyproject.toml, Makefile). The wheel is then one for this Python
and kind of machine, and holds the machine code of what releases and audits need. The code serves as long as numba has
the same version. Otherwise, and in a wheel without code, a first run compiles. By itself it fills a source folder:

    python scripts/build_kernels.py src
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by itself
    BuildHookInterface = object

ROLES = ("--sensitive", "income,assets,diagnosis", "--identifiers", "person_id,postcode")
FEW, MANY = "age,sex,education,job", "age,sex,education,job,region,marital,hours_per_week,born_abroad"
RELEASES = tuple((2_000, columns, method) for method in ("mondrian", "mart", "hedge") for columns in (FEW, MANY))


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc, valid-type]
    """Add machine code to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into the source folder, and name the wheel after the machine."""
        if version != "standard":
            return
        try:
            built = compiled_from(Path(self.root, "src"))
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"a wheel without machine code: {error}")
            return
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        # the code calls nothing but what numba brings along
        machine = sysconfig.get_platform().replace("linux", "manylinux_2_17").replace("-", "_").replace(".", "_")
        build_data["artifacts"].append(f"/{built.relative_to(Path(self.root).resolve())}/")
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{machine}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave the source folder as it was."""
        shutil.rmtree(Path(self.root, "src/hedgerow/kernels/built"), ignore_errors=True)


def compiled_from(source: Path) -> Path:
    """Run releases with the package of a source folder, and return the folder with the code that they needed."""
    source = source.resolve()
    built = source / "hedgerow" / "kernels" / "built"
    shutil.rmtree(built, ignore_errors=True)
    built.mkdir()
    with tempfile.TemporaryDirectory() as folder:
        # numba reads these when it is imported, so the name of the kind comes from a process of its own
        # pip has the packages that a build needs on this path
        path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
        environment = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": folder}
        asked = [sys.executable, "-c", "from hedgerow.kernels.numba_private import BUILT_FOR; print(BUILT_FOR)"]
        kind = subprocess.run(asked, env=environment, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
        environment |= {"NUMBA_CPU_NAME": kind, "NUMBA_CPU_FEATURES": ""}
        subprocess.run([sys.executable, __file__], env=environment, cwd=folder, check=True)
    return built


def run_releases() -> None:
    """Protect, measure and audit made people as users do, from a file and from Python."""
    import pyarrow.csv as pacsv

    import hedgerow as hr

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for rows, columns, method in RELEASES:
            pacsv.write_csv(hr.datasets.make_people(rows, seed=1), "people.csv")
            out = f"{method}-{rows}-{columns.count(',')}"
            _ran("protect", "people.csv", "--quasi", columns, *ROLES, "--method", method, "--out", out)
        _ran("audit", "people.csv", out)
        # tables in memory have their categories in other types
        schema = hr.Schema(quasi=FEW.split(","), sensitive=("income", "diagnosis"), rest="drop")
        hr.protect(hr.datasets.make_people(2_000, seed=1), schema).write("out")
        _ran("demo", "--out", "demo")  # has 10,000 people, and long columns are sorted by other loops


def _ran(*asked: str) -> None:
    """Run a command line, and fail if it could not be run; a verdict against sharing is no failure."""
    from hedgerow.cli.app import run

    if (code := run(asked)) not in (0, 1):
        raise SystemExit(f"hedgerow {' '.join(asked)}: {code}")


def keep_built() -> None:
    """Write the code that functions of this process have kept to the folder of built code."""
    from hedgerow.kernels.numba_private import BUILT_FOR, Cache

    caches = {
        id(cache): cache
        for name, module in list(sys.modules.items())
        if name.startswith("hedgerow.")
        for thing in list(vars(module).values())
        if isinstance(cache := getattr(thing, "_cache", None), Cache)
    }
    for cache in caches.values():
        index = cache._cache_file._load_index()
        if index:
            Path(cache.built._cache_path).mkdir(parents=True, exist_ok=True)
        for (signature, _, code), name in index.items():
            cache.built.save((signature, BUILT_FOR, code), cache._cache_file._load_data(name))


if __name__ == "__main__":
    if sys.argv[1:]:
        print(compiled_from(Path(sys.argv[1])))
    else:
        run_releases()
        keep_built()
