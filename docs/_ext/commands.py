"""A page for each command, made from what the command line itself says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer.main

from hedgerow.cli.app import app as commands


def _cell(text: str) -> str:
    """Text that stands in a cell of a table as it is."""
    return re.sub(r"([\\|*_`<$\[\]])", r"\\\1", " ".join(text.split()))


def _words(text: str) -> str:
    """A help text: indented lines are what one types, everything else is prose."""
    return re.sub(r"^\x08\n?", "", text.strip(), flags=re.MULTILINE)


def _rows(parameters: list[Any], context: Any) -> list[str]:
    rows = ["| | |", "|---|---|"]
    for each in parameters:
        record = each.get_help_record(context)
        if record is not None:
            flags = record[0].partition(" <")[0] if each.param_type_name == "argument" else record[0]
            rows.append(f"| `{flags}` | {_cell(record[1])} |")
    return rows


def page(name: str, command: Any) -> str:
    """What `hedgerow NAME --help` says, as a page."""
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"# hedgerow {name}", "", "```text", f"hedgerow {name} {usage}", "```", ""]
    lines += [_words(command.help or ""), ""]
    panels: dict[str, list[Any]] = {"Arguments": []}
    for each in command.get_params(context):
        argument = each.param_type_name == "argument"
        panels.setdefault("Arguments" if argument else each.rich_help_panel or "", []).append(each)
    rest = panels.pop("", [])
    panels["Options"] = rest
    for heading, parameters in panels.items():
        rows = _rows(parameters, context)
        if len(rows) > 2:
            lines += [f"## {heading}", "", *rows, ""]
    return "\n".join(lines)


def write(app: Any) -> None:
    """Pages below reference/commands, with a list of them."""
    folder = Path(app.srcdir) / "reference" / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    group = typer.main.get_command(commands)
    assert hasattr(group, "commands")
    for name, command in group.commands.items():
        (folder / f"{name}.md").write_text(page(name, command), encoding="utf-8")
    listed = "\n".join(group.commands)
    (folder / "index.md").write_text(
        "# Commands\n\n"
        "What `hedgerow COMMAND --help` says, and every option's key in a TOML file: its name "
        "without the dashes in front, and with `_` for `-` (`--max-disclosure` is "
        "`max_disclosure`). Every command ends with 0 when it is done, with 1 when a promise or "
        "a check does not hold, and with 2 after bad usage or bad input.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n",
        encoding="utf-8",
    )


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
