from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hedgerow import facade

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import check_borders  # noqa: E402
import check_words  # noqa: E402


def test_nothing_imports_upwards() -> None:
    assert check_borders.faults(ROOT / "src" / "hedgerow") == []


def test_the_words_are_modest() -> None:
    assert check_words.faults(ROOT) == []


@pytest.mark.parametrize(
    ("file", "code", "fault"),
    [
        ("plan/x.py", "import sklearn_extra", "holds to the standard library"),
        ("plan/x.py", "def f():\n    from ..release import protect", "plan imports release, which comes after it"),
        ("measures/guarantees.py", "from ..methods.mart import MART", "measures imports methods"),
        ("measures/guarantees.py", "from hedgerow import MART", "public face"),
        ("auditing/x.py", "import duckdb", "only backends, columns, datasets import duckdb"),
        ("cli/x.py", "import pyarrow", "pyarrow is heavy"),
        ("attic.py", "", "has no place in the order"),
    ],
)
def test_every_border_is_watched(tmp_path: Path, file: str, code: str, fault: str) -> None:
    path = tmp_path / "hedgerow" / file
    path.parent.mkdir(parents=True)
    path.write_text(code)
    found = check_borders.faults(tmp_path / "hedgerow")
    assert len(found) == 1
    assert fault in found[0]


@pytest.mark.parametrize(
    "code",
    [
        "from ..io.read import read",
        "def f():\n    import numpy",
        "from ..release import protect",
        "if TYPE_CHECKING:\n    import pyarrow",
    ],
)
def test_what_a_shell_may_import(tmp_path: Path, code: str) -> None:
    path = tmp_path / "hedgerow" / "cli" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text(code)
    assert check_borders.faults(tmp_path / "hedgerow") == []


def test_the_public_face_loads_nothing_heavy() -> None:
    code = (
        "import sys, hedgerow, hedgerow.plan, hedgerow.cli.app;"
        "print(sorted({m.split('.')[0] for m in sys.modules} & set(sys.argv[1].split())))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, " ".join(check_borders.HEAVY)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_short_report_loads_nothing_that_takes_longer_than_a_small_table() -> None:
    code = (
        "import sys, hedgerow.workflow.session, hedgerow.auditing.measure, hedgerow.release.folder\n"
        "print(sorted({'scipy.stats', 'scipy.optimize', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there_and_stays_a_name_of_the_face() -> None:
    code = (
        "import hedgerow.release.explode, hedgerow.release, hedgerow as hr\n"
        "for name in hr.__all__: getattr(hr, name)\n"
        "assert set(dir(hr)) == set(hr.__all__)\n"
        "assert callable(hr.explode) and callable(hr.protect)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "files",
    [
        {"release/a.py": "from .b import x", "release/b.py": "def f():\n    from .a import y"},
        {
            "release/a.py": "if TYPE_CHECKING:\n    from .b import x",
            "release/b.py": "from . import c",
            "release/c.py": "from .a import y",
        },
    ],
    ids=["late", "type-only"],
)
def test_imports_that_go_in_a_circle_are_found(tmp_path: Path, files: dict[str, str]) -> None:
    for name, code in files.items():
        path = tmp_path / "hedgerow" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    found = check_borders.faults(tmp_path / "hedgerow")
    assert len(found) == 1
    assert found[0].startswith("imports go in a circle: release.a > release.b")


def test_every_name_of_the_facade_comes_from_its_folder_and_is_used_in_one_file() -> None:
    source = ROOT / "src" / "hedgerow"
    files = [path for path in source.rglob("*.py") if path.name != "facade.py"]
    for name, home in facade.HOMES.items():
        assert getattr(facade, name).__module__.startswith(f"hedgerow.{home}"), name
        callers = [p for p in files if re.search(rf"\bfacade\.{name}\b", p.read_text())]
        # a type may stand in the signatures of several
        assert len(callers) == 1 or (callers and name == "Method"), name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        facade.nothing  # noqa: B018


def test_a_plan_that_was_imported_by_itself_recodes_people() -> None:
    code = (
        "import sys\nfrom hedgerow.plan import Plan\n"
        "assert not {'hedgerow.release', 'numpy'} & set(sys.modules)\n"
        "import hedgerow as hr\npeople = hr.datasets.make_people(60, seed=1)\n"
        "schema = hr.Schema(quasi=['age'], sensitive=['income'])\n"
        "plan = hr.protect(people, schema, hr.MART(k=5)).plan\n"
        "assert len(Plan.apply(plan, people)) == 60 and plan.explain()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
