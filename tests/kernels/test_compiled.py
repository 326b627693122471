"""What was compiled is kept wherever there is room for it, and never run when it is damaged."""

from __future__ import annotations

import ast
import gc
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core import event

import hedgerow
from hedgerow.kernels.numba_private import BUILT_FOR, File

SOURCE = Path(hedgerow.__file__).parent
RUN = (
    "import numpy as np\nfrom hedgerow.kernels import siphash\n"
    "a = np.arange(3, dtype=np.uint64)\n"
    "found = siphash.siphash_words(a, np.uint64(1), np.uint64(2))\n"
    "print(int(found[0]), sum(siphash.siphash_words.stats.cache_hits.values()))"
)


def run(package: Path, code: str = RUN, **more: str) -> subprocess.CompletedProcess[str]:
    known = {n: v for n, v in os.environ.items() if n not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**known, "PYTHONPATH": str(package.parent), **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    """The package where nothing can be written beside its files, whoever runs it."""
    package = tmp_path / "sealed" / "hedgerow"
    for path in SOURCE.rglob("*"):
        if path.is_file() and path.parent.name != "__pycache__":
            copy = package / path.relative_to(SOURCE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    for folder in [package, *(p for p in package.rglob("*") if p.is_dir())]:
        (folder / "__pycache__").write_text("no folder")
    return package


def test_without_a_home_it_is_kept_in_a_folder_of_ones_own(sealed: Path, tmp_path: Path) -> None:
    spare = tmp_path / "spare"
    spare.mkdir()
    nowhere = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/x", "TMPDIR": str(spare)}
    first, again = run(sealed, **nowhere), run(sealed, **nowhere)
    assert first.returncode == 0, first.stderr
    number, hits = first.stdout.split()
    assert hits == "0"
    assert again.stdout.split() == [number, "1"]
    (own,) = spare.iterdir()
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    own.chmod(0o777)  # whoever may write there decides what is run
    careful = run(sealed, **nowhere)
    assert careful.stdout.split() == [number, "0"]
    assert careful.stderr.count("no folder in which it may keep compiled code") == 1


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder of kept code, and the number that it gives."""
    folder = tmp_path_factory.mktemp("kept")
    return folder, run(SOURCE, NUMBA_CACHE_DIR=str(folder)).stdout.split()[0]


@pytest.mark.parametrize("harm", ["cut", "emptied", "turned", "text"])
def test_damaged_files_are_made_again(compiled: tuple[Path, str], tmp_path: Path, harm: str) -> None:
    kept, (folder, number) = {"NUMBA_CACHE_DIR": str(tmp_path)}, compiled
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    for path in tmp_path.rglob("*.nb?"):
        data = bytearray(path.read_bytes())
        if harm == "turned":
            data[len(data) // 2] ^= 0xFF
        path.write_bytes({"cut": data[: len(data) // 2], "emptied": b"", "text": b"hello"}.get(harm, data))
    made = run(SOURCE, **kept)
    assert made.returncode == 0, made.stderr
    assert made.stdout.split() == [number, "0"]
    assert run(SOURCE, **kept).stdout.split() == [number, "1"]


BUILD = (
    "import sys; from pathlib import Path; import hedgerow.kernels\n"
    "Path(hedgerow.kernels.__file__).with_name('built').mkdir()\n"
    f"{RUN}\nsys.path.insert(0, {str(SOURCE.parents[1])!r})\n"
    "from scripts.build_kernels import keep_built; keep_built()"
)


def test_code_that_came_with_a_wheel_is_run_by_those_that_it_fits(sealed: Path, tmp_path: Path) -> None:
    kind = {"NUMBA_CPU_NAME": BUILT_FOR, "NUMBA_CPU_FEATURES": ""}
    made = run(sealed, BUILD, NUMBA_CACHE_DIR=str(tmp_path / "build"), **kind)
    assert made.returncode == 0, made.stderr
    number, _ = made.stdout.split()
    own = iter(range(100))

    def hits(before: str = "") -> str:
        again = run(sealed, before + RUN, NUMBA_CACHE_DIR=str(tmp_path / str(next(own))))
        assert again.returncode == 0, again.stderr
        found, count = again.stdout.split()
        assert found == number
        return count

    assert hits() == "1"
    assert hits("import numba; numba.__version__ = '0.1'\n") == "0"
    lacking = "from hedgerow.kernels import numba_private; numba_private._NEEDED = ('no such feature',)\n"
    assert hits(lacking) == "0"
    (code,) = (sealed / "kernels" / "built").rglob("siphash.siphash_words-*.nbc")
    kept = code.read_bytes()
    code.write_bytes(kept[: len(kept) // 2])
    assert hits() == "0"
    # what was compiled in its place is kept, and found by the next start
    again = [run(sealed, NUMBA_CACHE_DIR=str(tmp_path / "again")).stdout.split() for _ in range(2)]
    assert again == [[number, "0"], [number, "1"]]
    code.write_bytes(kept)
    # where nothing can be written, it is read all the same
    nowhere = "import tempfile\ndef refuse(): raise OSError\ntempfile.gettempdir = refuse\n"
    made = run(sealed, nowhere + RUN, HOME="/dev/null", XDG_CACHE_HOME="/dev/null/x")
    assert made.stdout.split() == [number, "1"], made.stderr
    assert "no folder" not in made.stderr
    # code of another version is none, so that a second process compiles beside the first
    first = (
        "from hedgerow.kernels import numba_private, siphash\n"
        "kept = numba_private.is_kept(siphash.siphash_words); print(kept)"
    )
    assert run(sealed, first, NUMBA_CACHE_DIR=str(tmp_path / "none")).stdout == "True\n"
    older = f"import numba; numba.__version__ = '0.1'\n{first}"
    assert run(sealed, older, NUMBA_CACHE_DIR=str(tmp_path / "none")).stdout == "False\n"
    other = sealed / "trees" / "split.py"
    other.write_text(other.read_text() + "# changed\n")
    assert hits() == "0"


def test_a_full_disk_stops_nothing(tmp_path: Path) -> None:
    small = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
    made = run(SOURCE, small + RUN, NUMBA_CACHE_DIR=str(tmp_path))
    assert made.returncode == 0, made.stderr
    assert made.stdout.split()[1] == "0"


def test_processes_that_compile_at_once_never_run_each_others_code(tmp_path: Path) -> None:
    first, second = (File(str(tmp_path), "kernel-1.py3", "stamp") for _ in range(2))

    def late(name: str, data: bytes) -> None:
        first.__dict__.clear(), first.__dict__.update(vars(second))
        second.save(("b",), b"made for b")
        first._save_data(name, data)

    for file in (first, second):  # both begin before anything is kept
        file._load_index = dict
    first._save_data = late
    first.save(("a",), b"made for a")
    found = File(str(tmp_path), "kernel-1.py3", "stamp")
    assert found.load(("a",)) in (None, b"made for a")
    assert found.load(("b",)) in (None, b"made for b")


@pytest.mark.parametrize("collects", [True, False])
def test_compiling_leaves_the_collector_of_garbage_as_it_was(collects: bool) -> None:
    class Within(event.Listener):
        def on_start(self, event: object) -> None:
            found.append(gc.isenabled())

        def on_end(self, event: object) -> None:
            pass

    found: list[bool] = []
    with event.install_listener("numba:compile", Within()):
        try:
            gc.enable() if collects else gc.disable()
            made = numba.njit(lambda number: 2 * number)
            assert made(1) + made(2) == 6
            assert gc.isenabled() == collects
        finally:
            gc.enable()
    assert found == [False]


def test_no_compiled_function_returns_a_named_tuple() -> None:
    """Numba dies when a signal arrives while it makes one for Python, as it never does for `inner` ones."""
    boxed, compiled = {"kernel", "loop", "checked", "inlined"}, {"inner"}
    seen = 0
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        tuples = {
            node.name
            for node in tree.body
            if isinstance(node, ast.ClassDef)
            and any(isinstance(b, ast.Name) and b.id == "NamedTuple" for b in node.bases)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                names = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
                seen += bool(names & (boxed | compiled))
                if not names & boxed:
                    continue
                for made in ast.walk(node):
                    if isinstance(made, ast.Call) and isinstance(made.func, ast.Name):
                        assert made.func.id not in tuples, f"{path.name}: {node.name}"
    assert seen > 100
