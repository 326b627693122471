"""hedgerow studio: a page in the browser of this machine alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import InputError
from ..workflow.options import Option
from .console import note, say
from .options import ConfigFile, command, merged

OPTIONS = (
    Option("port", int, "Port on 127.0.0.1. Default: one that is free."),
    Option("browser", bool, "Open the address in the browser. Default: yes."),
)


@command(OPTIONS, source=("FILE", "A table to begin with; another can be chosen in the page."))
def studio(source: str | None = None, config: ConfigFile = None, **given: Any) -> None:
    """Go from a table to a release in five steps, in a browser.

    The page is served to this machine alone, under an address that is good for one browser, until
    you stop it (Ctrl-C). Nothing leaves the machine; what is uploaded is removed at the end.
    """
    from ..studio.run import serve

    options = merged(given, config, OPTIONS)
    if source is not None and "://" not in source and "*" not in source and "::" not in source:
        if not Path(source).exists():
            raise InputError(f"there is no file {source}", hint="check the path")
        source = str(Path(source).resolve())

    def ready(address: str) -> None:
        say(address)
        note("Serving this machine alone until you press Ctrl-C.")
        if options.get("browser", True):
            import webbrowser

            webbrowser.open(address)

    serve(source, port=options.get("port", 0), ready=ready)
