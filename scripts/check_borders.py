"""Check that no room imports a later one: the table in docs/architecture.md as code."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

# Rooms in the order in which data flows; a room may import itself and any earlier one.
ORDER = (
    "errors",
    "files",
    "progress",
    "kernels",
    "hierarchy",
    "notation",
    "schema",
    "key",
    "plan",
    "table",
    "datasets",
    "classes",
    "guarantees",
    "trees",
    "engines",
    "methods",
    "explode",
    "release",
    "reconstruct",
    "audit",
    "report",
    "session",
    "papers",
    "cli",
    "studio",
)

# Files that belong to a room of another name.
PART_OF = {"__main__": "cli", "_people": "datasets"}

# Third-party packages that only some rooms may import (anywhere in a file).
ALLOWED = {
    "numba": {"kernels", "trees", "engines", "methods", "audit"},
    "llvmlite": {"kernels"},
    "pyspark": {"engines"},
    "duckdb": {"table", "engines", "datasets"},
    "sqlglot": {"plan", "engines"},
    "typer": {"cli", "studio"},
    "rich": {"cli", "studio"},
    "sklearn": {"methods", "release", "audit", "papers"},
    "matplotlib": {"report", "papers"},
    "jinja2": {"report"},
}

# Rooms that hold nothing but the standard library (plan: sqlglot inside `to_sql` alone).
PLAIN = {"errors", "files", "hierarchy", "notation", "schema", "plan"}

# Late imports against the order that keep the public face pleasant: (file, imported room).
LATE = {
    ("schema.py", "table"),  # Schema.guess
    ("plan/records.py", "release"),  # Plan.apply
    ("release/release.py", "audit"),  # the type that Release.write takes
    ("audit/result.py", "report"),  # Audit.report, and the text that print shows
    ("audit/frontier.py", "report"),  # Frontier.picture
    ("methods/porop_search.py", "audit"),  # PoROP(k="auto") is searched by the score
    ("__init__.py", "*"),  # the public names, looked up on first use
}

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
}
LIGHT_FILES = ("__init__.py", "errors.py", "schema.py", "hierarchy.py")
LIGHT_ROOMS = ("plan", "cli")


def imports(
    tree: ast.AST, package: tuple[str, ...], top_only: bool = False
) -> Iterator[tuple[int, str]]:
    """The (line, absolute module) of every import; with `top_only`, those run on import."""
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
    """Statements that run when the module is imported (not under TYPE_CHECKING)."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        ):
            continue
        yield node
        yield from _statements(node)


def faults(source: Path) -> list[str]:
    """Every border that a file of the package in `source` crosses."""
    found = []
    for path in sorted(source.rglob("*.py")):
        relative = path.relative_to(source)
        room = relative.parts[0].removesuffix(".py")
        room = PART_OF.get(room, room)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        package = (source.name, *relative.parent.parts)
        where = relative.as_posix()
        if room not in ORDER and room != "__init__":
            found.append(
                f"{where}: the room {room!r} has no place in the order of docs/architecture.md"
            )
            continue
        for line, module in imports(tree, package):
            parts = module.split(".")
            if parts[0] == source.name:
                found += _inner(where, line, room, parts)
            elif (
                room in PLAIN
                and parts[0] not in sys.stdlib_module_names
                and (room, parts[0]) != ("plan", "sqlglot")
            ):
                found.append(
                    f"{where}:{line}: {room} imports {parts[0]}; it holds to the standard library"
                )
            elif parts[0] in ALLOWED and room not in ALLOWED[parts[0]]:
                found.append(
                    f"{where}:{line}: only {', '.join(sorted(ALLOWED[parts[0]]))} import {parts[0]}"
                )
        if where in LIGHT_FILES or room in LIGHT_ROOMS:
            found += [
                f"{where}:{line}: {module} is heavy; import it where it is used"
                for line, module in imports(tree, package, top_only=True)
                if module.split(".")[0] in HEAVY
            ]
    return found


def _inner(where: str, line: int, room: str, parts: list[str]) -> list[str]:
    target = parts[1] if len(parts) > 1 else "__init__"
    target = PART_OF.get(target, target)
    if room == "__init__" or target == "__version__" or (where, target) in LATE:
        return []
    if target == "__init__" or target not in ORDER:
        return (
            []
            if room in ("cli", "release", "audit", "report", "papers")
            else [f"{where}:{line}: {room} imports the public face of the package"]
        )
    if ORDER.index(target) > ORDER.index(room):
        return [f"{where}:{line}: {room} imports {target}, which comes after it"]
    return []


def main() -> int:
    found = faults(Path(__file__).resolve().parent.parent / "src" / "hedgerow")
    print("\n".join(found) if found else "borders: nothing imports upwards")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
