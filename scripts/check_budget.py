"""Check that no folder of the package has more lines of code than its budget in budget.toml.

    python scripts/check_budget.py            # fails where a folder is above its budget
    python scripts/check_budget.py --lower    # writes the lines as they are, where they are fewer

Lines of code are those without blank lines, comments, docstrings and imports. Why: decision 24.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / "budget.toml"


def code_lines(text: str) -> int:
    """Count the lines of a file that are code."""
    lines = text.splitlines()
    skipped = {i for i, line in enumerate(lines, 1) if not line.strip() or line.strip()[0] == "#"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            skipped |= set(range(node.lineno, (node.end_lineno or 0) + 1))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if first is not None and ast.get_docstring(node) is not None:
                skipped |= set(range(first.lineno, (first.end_lineno or 0) + 1))
    return len(lines) - len(skipped)


def measured(package: Path) -> Counter[str]:
    """Return the lines of code of each folder; files beside the folders stand under "."."""
    lines: Counter[str] = Counter()
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        lines[parts[0] if len(parts) > 1 else "."] += code_lines(path.read_text(encoding="utf-8"))
    return lines


def main() -> int:
    """Compare, or lower the budget."""
    lines = measured(ROOT / "src" / "hedgerow")
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    if "--lower" in sys.argv[1:]:
        budget = {name: min(n, budget.get(name, n)) for name, n in lines.items()}
        rows = "".join(f'"{name}" = {budget[name]}\n' for name in sorted(budget))
        BUDGET.write_text(f"# lines of code by folder; they only go down (decision 24)\n{rows}")
    over = [
        f"{name}: {n:,} lines of code, {n - budget.get(name, 0):,} above its budget"
        for name, n in sorted(lines.items())
        if n > budget.get(name, 0)
    ]
    print("\n".join(over) if over else f"budget: {sum(lines.values()):,} lines of code, none above")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
