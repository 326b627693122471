"""Check that no folder imports a later one: the table in docs/architecture.md as code."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

# Folders and files in the order in which data flows; each may import itself and any earlier one.
ORDER = (
    "facade",
    "errors",
    "texts",
    "validation",
    "files",
    "progress",
    "kernels",
    "json_types",
    "notation",
    "hierarchy",
    "rules",
    "display",
    "schema",
    "key",
    "profiles",
    "plan",
    "columns",
    "datasets",
    "measures",
    "trees",
    "backends",
    "methods",
    "guard",
    "release",
    "auditing",
    "report",
    "workflow",
    "studio",
    "cli",
)

# Files and folders that belong to a layer of another name: a table is columns that were read.
PART_OF = {"__main__": "cli", "io": "columns"}

# Third-party packages that only some folders may import (anywhere in a file).
ALLOWED = {
    "numba": {"kernels", "trees", "backends", "methods", "auditing"},
    "llvmlite": {"kernels"},
    "pyspark": {"backends"},
    "duckdb": {"columns", "backends", "datasets"},
    "sqlglot": {"backends", "rules"},
    "typer": {"cli"},
    "rich": {"cli"},
    "sklearn": {"methods", "release", "auditing"},
    "matplotlib": {"report", "release", "auditing"},  # the last two name its axes
    "jinja2": {"methods", "report", "studio"},
    "fastapi": {"studio"},
    "starlette": {"studio"},
    "uvicorn": {"studio"},
    "pyreadstat": {"columns"},
    "openpyxl": {"columns"},
    "opendp": {"methods"},
    "statsmodels": {"auditing"},
}

# Folders and files that need nothing but the standard library.
PLAIN = {"facade", "errors", "validation", "files", "hierarchy", "notation", "display", "schema", "profiles", "plan"}

# The one file that imports upwards, late: methods of public classes call what it names.
FACADE = "facade"

# Packages that take long to load: never at the top of a file that the command line always loads.
HEAVY = {
    "numpy",
    "scipy",
    "sklearn",
    "numba",
    "pyarrow",
    "duckdb",
    "pandas",
    "polars",
    "matplotlib",
    "sqlglot",
    "narwhals",
    "jinja2",
    "statsmodels",
}
LIGHT_FILES = ("__init__.py", "facade.py", "errors.py", "display.py", "schema.py", "hierarchy.py")
LIGHT_ROOMS = ("plan", "cli")


def imports(tree: ast.AST, package: tuple[str, ...], top_only: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the (line, absolute module) of every import; with `top_only`, those run on import."""
    for node in _statements(tree) if top_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if not node.level:
                yield node.lineno, node.module or ""
                continue
            base = package[: len(package) - node.level + 1]
            if node.module:
                yield node.lineno, ".".join((*base, node.module))
            else:
                yield from ((node.lineno, ".".join((*base, alias.name))) for alias in node.names)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield statements that run when the module is imported (not under TYPE_CHECKING)."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from _statements(node)


def faults(source: Path) -> list[str]:
    """Return the imports of the package in `source` that cross a border, and its circles."""
    crossings = []
    graph: dict[str, set[str]] = {}
    modules = {_module(path.relative_to(source)): path for path in sorted(source.rglob("*.py"))}
    for module, path in modules.items():
        relative = path.relative_to(source)
        room = relative.parts[0].removesuffix(".py")
        room = PART_OF.get(room, room)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        package = (source.name, *relative.parent.parts)
        where = relative.as_posix()
        if room not in ORDER and room != "__init__":
            crossings.append(f"{where}: the room {room!r} has no place in the order of docs/architecture.md")
            continue
        inner = graph.setdefault(module, set())
        for line, name in imports(tree, package):
            parts = name.split(".")
            if parts[0] == source.name:
                crossings += _inner(where, line, room, parts)
                target = _reached(parts[1:], modules)
                if room not in ("__init__", FACADE):
                    inner.add(target)
            elif room in PLAIN and parts[0] not in sys.stdlib_module_names:
                crossings.append(f"{where}:{line}: {room} imports {parts[0]}; it holds to the standard library")
            elif parts[0] in ALLOWED and room not in ALLOWED[parts[0]]:
                crossings.append(f"{where}:{line}: only {', '.join(sorted(ALLOWED[parts[0]]))} import {parts[0]}")
        if where in LIGHT_FILES or room in LIGHT_ROOMS:
            crossings += [
                f"{where}:{line}: {name} is heavy; import it where it is used"
                for line, name in imports(tree, package, top_only=True)
                if name.split(".")[0] in HEAVY
            ]
    crossings += [f"imports go in a circle: {' > '.join(c)}" for c in circles(graph)]
    return crossings


def _module(relative: Path) -> str:
    """Return a file's module name, without the package's."""
    parts = relative.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _reached(parts: list[str], modules: Mapping[str, Path]) -> str:
    """Return the module that an import reaches, whether it names the module or a name in it."""
    while parts and ".".join(parts) not in modules:
        parts = parts[:-1]
    return ".".join(parts)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return one circle of each set of modules that import each other; late imports count."""
    cycles, done = [], set[str]()
    for start in sorted(graph):
        if start in done:
            continue
        path_so_far: list[str] = []
        stack = [(start, iter(sorted(graph[start])))]
        while stack:
            at, rest = stack[-1]
            if len(path_so_far) < len(stack):
                path_so_far.append(at)
            for target in rest:
                if target in path_so_far:
                    cycles.append([*path_so_far[path_so_far.index(target) :], target])
                elif target not in done and target in graph:
                    stack.append((target, iter(sorted(graph[target]))))
                    break
            else:
                done.add(at)
                path_so_far.pop()
                stack.pop()
    return cycles


def _inner(where: str, line: int, room: str, parts: list[str]) -> list[str]:
    target = parts[1] if len(parts) > 1 else "__init__"
    target = PART_OF.get(target, target)
    if room in ("__init__", FACADE) or target == "__version__":
        return []
    if target == "__init__" or target not in ORDER:
        return (
            []
            if room in ("cli", "release", "auditing", "report")
            else [f"{where}:{line}: {room} imports the public face of the package"]
        )
    if ORDER.index(target) > ORDER.index(room):
        return [f"{where}:{line}: {room} imports {target}, which comes after it"]
    return []


def main() -> int:
    crossings = faults(Path(__file__).resolve().parent.parent / "src" / "hedgerow")
    print("\n".join(crossings) if crossings else "borders: nothing imports upwards")
    return 1 if crossings else 0


if __name__ == "__main__":
    sys.exit(main())
