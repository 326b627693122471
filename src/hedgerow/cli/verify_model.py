"""hedgerow verify-model: the recipient rebuilds the published trees from the release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..workflow.options import Option
from .console import as_json, say
from .options import command, merged
from .progress import working

OPTIONS = (Option("json", bool, "Print the result as JSON."),)


@command(
    OPTIONS,
    model=("MODEL", "The model.json of a release."),
    release=("RELEASE", "The released table."),
)
def verify_model(model: Path, release: str, **given: Any) -> int:
    """Rebuild the published trees from a release and compare.

    Splits, leaves and counts are compared to the last bit, means of leaves to 1e-12. Prints
    "identical", or the first node that differs; then the exit code is 1.
    """
    from ..methods.tpp import verify_model

    options = merged(given, None, OPTIONS)
    with working("rebuilding"):
        found = verify_model(model, release)
    if options.get("json"):
        as_json(
            {
                "identical": found.identical,
                "difference": found.difference or None,
                "models": found.n_models,
                "trees": found.n_trees,
                "splits": found.n_splits,
            }
        )
    else:
        say(str(found))
    return int(not found.identical)
