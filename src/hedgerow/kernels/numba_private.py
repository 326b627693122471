"""Keep machine code in files and generate it once, by parts of numba that are private to it.

What Hedgerow does with private parts of numba is here: where files of machine code are kept, in which form, how
flags are compared, and code that is only linked into its callers; `compiled.py` hands a `Cache` to each function.
`tests/kernels/test_numba.py` names each part that is used, and fails where a version of numba has another
(decision 29).
"""

from __future__ import annotations

import hashlib
import pickle
import platform
import stat
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba.core import caching, codegen, compiler

from ..files import this_user
from ..progress import compiling

# Code that a wheel brings along (scripts/build_kernels.py), for any processor of its kind: on Intel's and AMD's
# those since 2013. It is as fast as code for the very processor, and the numbers are the same.
BUILT = Path(__file__).with_name("built")
_IS_X86 = platform.machine() in ("x86_64", "AMD64")
BUILT_FOR = "x86-64-v3" if _IS_X86 else "generic"
_NEEDED = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe") if _IS_X86 else ()


@cache
def built_stamp() -> str | None:
    """Return the sources that built code must be of, as a digest, or None where none runs on this processor."""
    if not BUILT.is_dir() or not all(binding.get_host_cpu_features().get(name) for name in _NEEDED):
        return None
    # not their times, which installing a wheel sets, and of all files with loops, which are put into one another
    package = Path(__file__).parents[1]
    places = ("kernels/*.py", "trees/*.py", "backends/partitions.py", "methods/tpp/split_scores.py")
    sources = sorted(path for place in places for path in package.glob(place))
    return hashlib.blake2b(b"".join(path.read_bytes() for path in sources)).hexdigest()


class _TemporaryLocator(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
    """A private cache folder among the temporary files, for users without a writable home."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno
        # what is loaded from there is run, so it must not be anybody else's
        user = this_user() or 0  # on Windows every user has temporary files of their own
        folder = Path(tempfile.gettempdir(), f"hedgerow-kernels-{user}")
        folder.mkdir(mode=0o700, exist_ok=True)
        # Not followed if it is a link, which might lead to somebody else's folder.
        status = folder.lstat()
        is_open = sys.platform != "win32" and (status.st_uid != user or status.st_mode & 0o077)
        if not stat.S_ISDIR(status.st_mode) or is_open:
            raise PermissionError
        self._cache_path = str(folder / self.get_suitable_cache_subpath(py_file))

    def get_cache_path(self) -> str:
        return self._cache_path

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        try:
            return super().from_function(py_func, py_file)
        except OSError:
            return None


class _BuiltLocator(_TemporaryLocator):
    """The folder of built code, from which it is read where no folder can be written."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file, self._lineno, self._cache_path = py_file, py_func.__code__.co_firstlineno, str(BUILT)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return cls(py_func, py_file) if built_stamp() else None


class _Implementation(caching.CompileResultCacheImpl):
    _locator_classes = [*caching.CompileResultCacheImpl._locator_classes, _TemporaryLocator, _BuiltLocator]  # noqa: RUF012


class File(caching.IndexDataCacheFile):
    """Cache files that end in a digest of their content, so that a damaged one is never run.

    Each is named by the types that it was compiled for. Numba numbers them instead, so if two
    processes compile for different types at once, one would run the other's code.
    """

    def save(self, key: Any, data: Any) -> None:
        digest = hashlib.blake2b(repr(key).encode(), digest_size=8).hexdigest()
        name = self._data_name_pattern.replace("{number:d}", digest)
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})

    def _dump(self, obj: Any) -> bytes:
        data: bytes = super()._dump(obj)
        return data + hashlib.blake2b(data).digest()  # unpickling stops before it

    def _load_index(self) -> Any:
        path = Path(self._index_path)
        if path.exists():
            with path.open("rb") as file:
                pickle.load(file)  # the version
                _check(file.read())
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        _check(Path(self._data_path(name)).read_bytes())
        return super()._load_data(name)


def _check(data: bytes) -> None:
    size = hashlib.blake2b().digest_size
    if hashlib.blake2b(data[:-size]).digest() != data[-size:]:
        raise ValueError("damaged")


class Cache(caching.FunctionCache):
    """A cache of machine code whose failures cost only time; code that came with the wheel is taken first."""

    _impl_class = _Implementation
    is_built = False

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        base, built = self._impl.filename_base, BUILT / Path(py_func.__code__.co_filename).parent.name
        self._cache_file = File(self._cache_path, base, self._impl.locator.get_source_stamp())
        self.built = File(str(built), base, built_stamp())
        with suppress(Exception):  # as of any damaged file
            self.is_built = bool(self.built._load_index())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        cached = None
        with suppress(Exception):  # damaged files raise whatever their bytes happen to say
            cached = self._load_built(sig, target_context) if self.is_built else None
        try:
            cached = cached or super().load_overload(sig, target_context)
        except Exception:
            self._forget()
        if cached is None:
            compiling()
        return cached

    def _load_built(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        signature, _, code = self._index_key(sig, target_context.codegen())
        data = self.built.load((signature, BUILT_FOR, code))
        return data and self._impl.rebuild(target_context, data)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:  # a full disk, or files that are damaged by now
            self._forget()

    def _forget(self) -> None:
        try:
            self.flush()
        except OSError:
            self.disable()


def is_kept(function: Any) -> bool:
    """Return whether the machine code of a function is cached; True if nothing can be cached."""
    code = getattr(function, "_cache", None)
    return not isinstance(code, Cache) or code.is_built or Path(code._cache_file._index_path).exists()


class Flags(compiler.Flags):
    """Flags of numba that are compared, and hashed, without reading each of some thirty properties.

    The compiler looks up every call that it comes upon by types and flags, 50,000 times in a first fit. These
    equal, and hash as, numba's flags of the same values, so tables may hold both.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return _HASH

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, compiler.Flags):
            return False
        # whoever sets a default has the same flags as whoever sets nothing
        return self._values == other._values or _DEFAULTS | self._values == _DEFAULTS | other._values


_DEFAULTS = {name: option.default for name, option in compiler.Flags.options.items()}
_HASH = hash(compiler.Flags())  # numba hashes the names of properties alone


class FastCompiler(compiler.Compiler):
    """Numba's compiler, whose flags are compared fast."""

    def __init__(self, typing: Any, target: Any, library: Any, *arguments: Any) -> None:
        types, result, flags, variables = arguments
        super().__init__(typing, target, library, types, result, Flags(flags), variables)


class _Part(codegen.JITCodeLibrary):
    """Code that is only linked into its callers, which optimise it and generate its machine code.

    Numba does both for every function by itself and again in each caller. For a loop that is
    written as sixty functions that is a third of the time.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._shared_module = self._final_module.clone()
        for function in self._final_module.functions:
            if not function.is_declaration:
                # Several callers bring this function along, so the linker may keep any one of them.
                if function.linkage == binding.Linkage.external:
                    self._shared_module.get_function(function.name).linkage = "linkonce_odr"
                # gives no machine code; the module stays, for numba writes to its globals
                function.linkage = "available_externally"
        super()._finalize_final_module()


class PartCompiler(FastCompiler):
    """A compiler of functions that only compiled functions call."""

    def __init__(self, typing: Any, target: Any, library: Any, *arguments: Any) -> None:
        library = _Part(target.codegen(), "part")
        library.enable_object_caching()
        super().__init__(typing, target, library, *arguments)
