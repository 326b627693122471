"""Handle the steward's secret key, which is stored in its own file and never shown."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import sys
from operator import index
from pathlib import Path
from typing import Any, Self

from .errors import HedgerowError, InputError, OutputError, ParameterError
from .files import unwritable
from .validation import PATH, takes

_SIZE = 32
_LEAST = 16
_HEAD = b"hedgerow-key-1 "
_MAKE = "make one with: (umask 077; head -c 32 /dev/urandom > key.bin)"
if sys.platform == "win32":
    _MAKE = """make one with: python -c "import os; open('key.bin', 'xb').write(os.urandom(32))\""""


def _content(path: str | Path, error: type[HedgerowError]) -> bytes:
    """Return the bytes of a key file; raise `error` if other users may read it."""
    try:
        mode = os.stat(path).st_mode
        device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)  # it may never end
        content = b"" if device else Path(path).read_bytes()
    except (OSError, ValueError) as fault:
        reason = getattr(fault, "strerror", None) or "that is no name of a file"
        raise error(f"cannot read the key file {path}: {reason}") from None
    if device:
        raise error(f"{path} is a device and no file", hint=_MAKE)
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise error(f"other users may read the key file {path}", hint=f"keep it to yourself: chmod 600 {path}")
    return content


def _no_zeros(secret: bytes) -> None:
    if secret and not any(secret):
        raise ParameterError("the key holds nothing but zeros, which anybody can guess", hint=_MAKE)


class Secret:
    """Secret bytes that are hidden when printed and never pickled.

    Parameters
    ----------
    secret : bytes
        At least 16 bytes.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) < _LEAST:
            raise ParameterError(f"the pseudonym key has {len(secret)} bytes; at least {_LEAST} are needed", hint=_MAKE)
        _no_zeros(secret)
        self._secret = secret

    @classmethod
    def from_value(cls, value: Any) -> Secret | None:
        """Return the secret for pseudonyms from bytes or a file; None stays None.

        Raises
        ------
        ParameterError
            The value is neither bytes nor a path, the secret is too short or all zeros, or the file
            cannot be read or is readable by other users.
        """
        if value is None or isinstance(value, Secret):
            return value
        if isinstance(value, bytes):
            return Secret(value)
        if not isinstance(value, (str, Path)):
            raise ParameterError(f"pseudonym_key is a {type(value).__name__}, not bytes or a path", hint=_MAKE)
        content = _content(value, ParameterError)
        if content.startswith(_HEAD):
            Key._read(Path(value))  # raises for a key that is damaged, short or nothing but zeros
        return Secret(content)

    def hmac(self, message: bytes) -> bytes:
        """Return the HMAC-SHA256 of a message under this secret."""
        self._check_kept()
        return hmac.digest(self._secret, message, "sha256")

    @property
    def forgotten(self) -> bool:
        """Return whether the key is empty because it was unpickled."""
        return not self._secret

    def _check_kept(self) -> None:
        if self.forgotten:
            raise InputError("this key was not pickled with its method", hint="give it again: set_params(key=...)")

    @classmethod
    def _forgotten(cls) -> Self:
        secret = object.__new__(cls)
        secret._secret = b""
        return secret

    def __reduce__(self) -> Any:
        # a pickled method may be handed on, so the secret stays behind
        return type(self)._forgotten, ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'forgotten' if self.forgotten else 'hidden'})"

    def __eq__(self, other: Any) -> bool:
        # the time of a comparison must not show where two secrets differ
        return isinstance(other, Secret) and secrets.compare_digest(self._secret, other._secret)

    def __hash__(self) -> int:
        return hash(self._secret)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class Key(Secret):
    """A secret key for random draws and pseudonyms.

    The key never enters a plan, log, report or pickle, and it is hidden when printed. Keep it: the
    same table, parameters and key give the same release to the byte. Every other release gets new
    random draws, even under the same key (`bound`), so that comparing two releases does not reveal
    the draws.

    Parameters
    ----------
    secret : bytes
        32 bytes. Use `Key.new` or `Key.file` instead of making one by hand.

    Examples
    --------
    >>> Key.new()
    Key(hidden)
    """

    __slots__ = ()

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes) or len(secret) != _SIZE:
            raise InputError(f"a key is {_SIZE} bytes", hint="make one with hedgerow.key.Key.new()")
        self._secret = secret

    @classmethod
    def from_key_or_seed(cls, key: Key | str | Path | None = None, random_state: int | None = None) -> Key:
        """Return the key that a method uses, from its `key` or `random_state` parameter.

        Parameters
        ----------
        key : Key or path, optional
            The steward's secret, or its file.
        random_state : int, optional
            For experiments: the key follows from this number, so it hides nothing.

        Raises
        ------
        ParameterError
            Both are given, or `random_state` is no whole number of at least 0.
        """
        if key is not None and random_state is not None:
            raise ParameterError(
                "key and random_state are both given", hint="a key hides what is drawn; random_state is for experiments"
            )
        if random_state is not None:
            try:
                number = index(random_state)
            except TypeError:
                number = -1
            if isinstance(random_state, bool) or number < 0:
                raise ParameterError("random_state must be a whole number of at least 0, or None")
            return cls(hashlib.blake2b(f"hedgerow seed {number}".encode(), digest_size=_SIZE).digest())
        if isinstance(key, (str, Path)):
            return cls.file(key)
        if key is not None and not isinstance(key, Key):
            raise ParameterError(f"key is a {type(key).__name__}, not a Key or the path of its file")
        if key is not None and not key.forgotten:
            _no_zeros(key._secret)
        return key or cls.new()

    @classmethod
    def new(cls) -> Key:
        """Return a new random key."""
        return cls(secrets.token_bytes(_SIZE))

    @classmethod
    @takes(path=PATH)
    def file(cls, path: str | Path) -> Key:
        """Return the key in a file; a missing file is created, readable only by its owner.

        Any other file of at least 16 bytes, such as random ones, also serves as a key.

        Raises
        ------
        InputError
            The file is not a key, cannot be read, or others may read it.
        OutputError
            The file cannot be made.
        """
        path = Path(path)
        key = cls.new()
        try:
            # O_EXCL: if two processes run at once, one creates the file and the other reads it
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return cls._read(path)
        except OSError as error:
            raise OutputError(f"cannot make the key file {path}: {error.strerror}") from None
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_HEAD + key._secret.hex().encode() + b"\n")
        except BaseException as error:  # no half a key is left, also on Ctrl-C
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise unwritable(path, error) from None
            raise
        return key

    @classmethod
    def _read(cls, path: Path) -> Key:
        content = _content(path, InputError)
        if not content.startswith(_HEAD) and len(content) >= _LEAST:
            _no_zeros(content)
            return cls(hashlib.blake2b(content, digest_size=_SIZE).digest())
        try:
            head, secret = content[: len(_HEAD)], content[len(_HEAD) :]
            key = cls(bytes.fromhex(secret.decode("ascii").strip()) if head == _HEAD else b"")
        except (ValueError, InputError):
            raise InputError(f"{path} is not a Hedgerow key file") from None
        _no_zeros(key._secret)
        return key

    def words(self, purpose: str) -> tuple[int, int]:
        """Derive two 64-bit integers for one purpose, such as a column's draws or the row ids."""
        digest = self._digest(purpose, 16)
        return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")

    def bound(self, to: str) -> Key:
        """Derive a key for one release, from which neither this key nor other releases' keys can be found."""
        return Key(self._digest(to, _SIZE))

    def _digest(self, purpose: str, size: int) -> bytes:
        self._check_kept()
        return hashlib.blake2b(purpose.encode(), key=self._secret, digest_size=size).digest()
