"""Check that the package grows in nothing that budget.toml limits.

    python scripts/check_budget.py            # fails where a number is above its budget
    python scripts/check_budget.py --lower    # writes the numbers as they are, where they are less

Limited are the lines of code of the package (without blank lines, comments, docstrings and imports), the lines
of words and templates beside it, its files, and what made the code hard to read once: functions with many
parameters, imports inside functions, class names and file names that stand for two things, docstrings that begin
with a question word, and names that say nothing. Why: decisions 24 and 28.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / "budget.toml"
HEAD = "# what the package may have at most; raising a number takes a decision page (decisions 24, 28 and 30 to 38)\n"
MANY_PARAMETERS = 8
QUESTIONS = ("What", "Whether", "How", "Where", "Which", "Who")
VAGUE = re.compile(
    r"_*(told|tells?|asked|said|given|made|taken|held|kept|handed|found|known|own|beside|ahead|room"
    r"|face|heard|odd|wary|heeds|apart|elsewhere|put|alike|carried|drawn|seen|left|away|because"
    r"|shown|gone)_*"
)
"""Names that do not say what they hold."""


def code_lines(text: str, tree: ast.Module) -> int:
    """Count the lines of a file that are code."""
    lines = text.splitlines()
    skipped = {i for i, line in enumerate(lines, 1) if not line.strip() or line.strip()[0] == "#"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            skipped |= set(range(node.lineno, (node.end_lineno or 0) + 1))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if first is not None and ast.get_docstring(node) is not None:
                skipped |= set(range(first.lineno, (first.end_lineno or 0) + 1))
    return len(lines) - len(skipped)


def _is_json(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef) and any(isinstance(b, ast.Name) and "TypedDict" in b.id for b in node.bases)


def _is_field(node: ast.AST) -> TypeGuard[ast.AnnAssign]:
    return isinstance(node, ast.AnnAssign)


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield every name that a file gives to a function, a parameter or a variable.

    Keys of a `TypedDict` are those of a JSON file, whose readers know them.
    """
    keys = {field.target for node in ast.walk(tree) if _is_json(node) for field in node.body if _is_field(field)}
    for node in ast.walk(tree):
        if node in keys:
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def measure(package: Path) -> tuple[Counter[str], Counter[str]]:
    """Return the lines of code, and of words and templates, and the habits."""
    lines, habits = Counter[str](), Counter[str]()
    classes, stems = Counter[str](), Counter[str]()
    words = (path for path in package.rglob("*") if path.suffix in (".toml", ".html", ".md"))
    lines["words and templates"] = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in words)
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines["code"] += code_lines(text, tree)
        habits["files"] += 1
        stems[path.stem] += path.stem != "__init__"
        habits["vague names"] += sum(VAGUE.fullmatch(n) is not None for n in _names(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                a = node.args
                many = len(a.posonlyargs + a.args + a.kwonlyargs) > MANY_PARAMETERS
                # an overload says the parameters of its function once more, for type checkers
                is_overload = any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list)
                habits["functions with more than 8 parameters"] += many and not is_overload
            if isinstance(node, ast.ClassDef):
                classes[node.name] += 1
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = re.split(r"\W", (ast.get_docstring(node) or "").strip())[0]
                habits["docstrings that begin with a question word"] += first in QUESTIONS
            if isinstance(node, ast.ImportFrom) and node.level and node.col_offset:
                habits["relative imports inside functions"] += 1
    habits["class names of two things"] = sum(n > 1 for n in classes.values())
    habits["file names of two folders"] = sum(n > 1 for n in stems.values())
    return lines, habits


def main() -> int:
    """Compare, or lower the budget."""
    numbers = dict(zip(("lines", "habits"), measure(ROOT / "src" / "hedgerow"), strict=True))
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    if "--lower" in sys.argv[1:]:
        text = HEAD
        for part, counts in numbers.items():
            limits = budget.get(part, {})
            limits = {name: min(n, limits.get(name, n)) for name, n in counts.items()}
            text += f"\n[{part}]\n" + "".join(f'"{n}" = {limits[n]}\n' for n in sorted(limits))
            budget[part] = limits
        BUDGET.write_text(text, encoding="utf-8")
    over = [
        f"{name}: {n:,} {part}, {n - budget[part].get(name, 0):,} above the budget"
        for part, counts in numbers.items()
        for name, n in sorted(counts.items())
        if n > budget[part].get(name, 0)
    ]
    print("\n".join(over) if over else f"budget: {numbers['lines']['code']:,} lines of code, nothing above")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
