"""hedgerow verify-evidence: tell an auditor whether a release folder is the one that was signed."""

from __future__ import annotations

from pathlib import Path

from ..errors import ParameterError
from ..workflow.options import rows
from .command import Options, command
from .console import as_json, say, working


@command(*rows("verify_evidence"), config=False, folder=("FOLDER", "A release folder that protect --sign wrote."))
def verify_evidence(folder: Path, options: Options) -> int:
    """Check that a release folder is the one that a key signed.

    Table, plan.json and audit.json must be signed, and as they were then. Whether it holds is told
    in one sentence; if it does not, the exit code is 1.
    """
    from ..release.signing import check_signature

    if not options.get("signer"):
        raise ParameterError("no --signer given", hint="hedgerow verify-evidence release/ --signer KEY.pub")
    with working("checking"):
        checked = check_signature(folder, options["signer"])
    if options.get("json"):
        as_json({"holds": checked.holds, "says": checked.words, "files": list(checked.files)})
    else:
        say(checked.words)
    return int(not checked.holds)
