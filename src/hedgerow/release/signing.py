"""Sign release folders by an SSH key, and check the signature, both by the program ssh-keygen."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import HedgerowError, InputError, OutputError, ParameterError, UnsupportedError
from ..files import read_text, temporary_folder, write_private
from ..io.file_format import HIDDEN
from ..validation import PATH, check
from .folder import AUDIT, HASHES, PLAN, SIGNATURE, file_facts

# what a signature is for: one that the same key made for mail or commits is none of a release
NAMESPACE = "hedgerow"
_PUBLIC_KEY = re.compile(r"[a-z][\w@.-]+ [A-Za-z0-9+/]+=*( .*)?")
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


@dataclass(frozen=True)
class Signature:
    """The result of a check of a signed folder.

    Parameters
    ----------
    holds : bool
        Whether the key signed this folder, and no file that it signed was changed.
    words : str
        One sentence that says so, or what does not hold.
    files : tuple of str
        The names of the signed files; empty if the signature does not hold.
    """

    holds: bool
    words: str
    files: tuple[str, ...] = ()


def check_key(key: str | Path) -> None:
    """Sign nothing with a key, to find out before long work whether it can sign.

    Raises
    ------
    UnsupportedError
        The program ssh-keygen is missing.
    OutputError
        The key cannot sign.
    """
    with temporary_folder() as folder:
        write_private(folder / HASHES, "")
        _sign(folder / HASHES, key)


def with_signature(fill: Callable[[Path], list[str]], key: str | Path | None) -> Callable[[Path], list[str]]:
    """Return a function that fills a release folder and then signs it; `fill` itself if there is no key.

    Raises
    ------
    UnsupportedError
        The program ssh-keygen is missing.
    """
    if key is None:
        return fill
    check("sign", key, PATH)
    _program()

    def filled(folder: Path) -> list[str]:
        published = fill(folder)
        hashes = (f"{file_facts(path)['sha256']}  {name}\n" for name, path in _covered(folder).items())
        write_private(folder / HASHES, hashes)
        _sign(folder / HASHES, key)
        return published

    return filled


def check_signature(folder: str | Path, signer: str | Path) -> Signature:
    """Check that a key signed a release folder, and that table, plan and audit.json are those that it signed.

    Parameters
    ----------
    folder : path
        The release folder.
    signer : path
        The file of the public key, as ssh-keygen wrote it (``.pub``).

    Returns
    -------
    Signature

    Raises
    ------
    InputError
        There is no such folder.
    ParameterError
        The file holds no public key.
    UnsupportedError
        The program ssh-keygen is missing.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", hint="give the folder that protect --sign wrote")
    key = read_text(signer, "the public key", ParameterError).strip()
    with temporary_folder() as inside:
        write_private(inside / "key.pub", f"{key}\n")
        # a private key is none that an auditor should have, and ssh-keygen would take it
        fingerprint = _ssh_keygen("-l", "-f", inside / "key.pub") if _PUBLIC_KEY.fullmatch(key) else None
        if fingerprint is None or fingerprint.returncode:
            raise ParameterError(f"{signer} holds no SSH public key", hint="it is one line, in a file such as KEY.pub")
        try:
            listed = read_text(folder / HASHES, "the list", InputError)
            # a copy, for what lies in the folder need not be an ordinary file
            write_private(inside / SIGNATURE, read_text(folder / SIGNATURE, "the signature", InputError))
        except InputError as error:
            return Signature(False, f"{folder} is not signed: {error.message}.")
        write_private(inside / "allowed", f'steward namespaces="{NAMESPACE}" {key}\n')
        options = ("-f", inside / "allowed", "-I", "steward", "-n", NAMESPACE, "-s", inside / SIGNATURE)
        signed = _ssh_keygen("-Y", "verify", *options, stdin=listed.encode()).returncode == 0
    by = f"the key {fingerprint.stdout.split()[1].decode()}"
    if not signed:
        return Signature(False, f"{by[0].upper()}{by[1:]} did not sign {folder / HASHES} as it is.")
    hashes = {m[2]: m[1] for m in map(_LINE.fullmatch, listed.splitlines()) if m}
    if faults := _faults(folder, hashes):
        return Signature(False, f"{folder} is not what was signed by {by}: {'; '.join(faults)}.")
    *names, last = hashes
    return Signature(True, f"{', '.join(names)} and {last} are those signed by {by}.", tuple(hashes))


def _faults(folder: Path, hashes: dict[str, str]) -> list[str]:
    """Return what differs between a folder and the hashes that were signed."""
    present = _covered(folder)
    unsigned = dict.fromkeys(name for name in (*present, PLAN, AUDIT) if name not in hashes)
    if not any(Path(name).stem == "release" for name in hashes):
        unsigned["the table"] = None
    faults = [f"{name} is not among the signed files" for name in unsigned]
    for name, expected in hashes.items():
        if name not in present:
            faults.append(f"{name} is missing")
            continue
        try:
            same = file_facts(present[name])["sha256"] == expected
        except (OSError, HedgerowError):  # not readable, or a folder where a file was
            same = False
        faults += [] if same else [f"{name} was changed"]
    return faults


def _covered(folder: Path) -> dict[str, Path]:
    """Return the files of a folder that a signature covers, by name: tables and their parts, plan, audit.json.

    Parts are covered one by one as well, since bytes that move from one to the next are other rows.
    """
    tables = sorted(e for e in folder.iterdir() if e.stem in ("release", "sensitive") and e.suffix != ".html")
    parts = [p for t in tables if t.is_dir() for p in sorted(t.iterdir()) if not p.name.startswith(HIDDEN)]
    paths = [*tables, *parts, folder / PLAN, folder / AUDIT]
    return {p.relative_to(folder).as_posix(): p for p in paths if p.is_file() or p.is_dir()}


def _sign(file: Path, key: str | Path) -> None:
    """Write the signature of a file beside it, private; raise OutputError if the key cannot sign."""
    signature = file.with_name(SIGNATURE)
    signature.unlink(missing_ok=True)  # ssh-keygen would ask whether to replace it
    done = _ssh_keygen("-Y", "sign", "-f", key, "-n", NAMESPACE, file.resolve())
    if done.returncode:
        # the first line that says something; a warning of open permissions comes in a frame
        printed = done.stderr.decode(errors="replace").replace("Enter passphrase: ", "").splitlines()
        why = next((line.strip() for line in printed if line.strip() and line[0] != "@"), "ssh-keygen failed")
        why = "it is no SSH private key" if "No such file" in why and os.path.isfile(key) else why
        hint = "give the path of an SSH private key; add one with a passphrase to ssh-agent first (ssh-add)"
        raise OutputError(f"cannot sign with {key}: {why}", hint=hint)
    write_private(signature, signature.read_text("ascii"))


def _ssh_keygen(*words: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen without a terminal, so that it asks for no passphrase and waits for nobody."""
    return subprocess.run(
        [_program(), *map(str, words)],
        input=stdin,
        capture_output=True,
        start_new_session=True,
        env={**os.environ, "SSH_ASKPASS_REQUIRE": "never"},
    )


def _program() -> str:
    """Return the path of ssh-keygen; raise UnsupportedError if it is missing."""
    if (path := shutil.which("ssh-keygen")) is None:
        hint = "install OpenSSH (on Debian and Ubuntu: apt-get install openssh-client)"
        raise UnsupportedError("signatures need the program ssh-keygen, which is not installed", hint=hint)
    return path
