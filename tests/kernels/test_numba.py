"""What Hedgerow uses of numba's private parts is as it was when the code was written (decision 29).

If one of these fails with a new version of numba, `kernels/numba_private.py` must be read again before the bound in
pyproject.toml is raised.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numba
import pytest
from llvmlite import binding
from numba.core import caching, codegen, compiler, dispatcher, event, targetconfig

from hedgerow.kernels import numba_private, siphash
from hedgerow.kernels.compiled import inner, kernel
from hedgerow.kernels.numba_private import Cache, FastCompiler, File, Flags

PARAMETERS = {
    compiler.CompilerBase.__init__: "self typingctx targetctx library args return_type flags locals",
    compiler.CompilerBase.compile_extra: "self func",
    codegen.CodeLibrary.__init__: "self codegen name",
    codegen.CodeLibrary.enable_object_caching: "self",
    codegen.CPUCodeLibrary._optimize_final_module: "self",
    codegen.CPUCodeLibrary._finalize_final_module: "self",
    caching._SourceFileBackedLocatorMixin.get_source_stamp: "self",
    caching._SourceFileBackedLocatorMixin.from_function.__func__: "cls py_func py_file",
    caching._CacheLocator.get_cache_path: "self",
    caching._CacheLocator.get_suitable_cache_subpath.__func__: "cls py_file",
    caching.CompileResultCacheImpl.__init__: "self py_func",
    caching.CompileResultCacheImpl.rebuild: "self target_context payload",
    caching.IndexDataCacheFile.__init__: "self cache_path filename_base source_stamp",
    caching.IndexDataCacheFile.load: "self key",
    caching.IndexDataCacheFile.save: "self key data",
    caching.IndexDataCacheFile._dump: "self obj",
    caching.IndexDataCacheFile._load_index: "self",
    caching.IndexDataCacheFile._save_index: "self overloads",
    caching.IndexDataCacheFile._load_data: "self name",
    caching.IndexDataCacheFile._save_data: "self name data",
    caching.IndexDataCacheFile._data_path: "self name",
    caching.FunctionCache.__init__: "self py_func",
    caching.FunctionCache.load_overload: "self sig target_context",
    caching.FunctionCache.save_overload: "self sig data",
    caching.FunctionCache.flush: "self",
    caching.FunctionCache.disable: "self",
    caching.FunctionCache._index_key: "self sig codegen",
}


@pytest.mark.parametrize("function", PARAMETERS, ids=lambda function: function.__qualname__)
def test_private_functions_take_what_they_took(function: Any) -> None:
    assert [*inspect.signature(function).parameters] == PARAMETERS[function].split()


def test_flags_that_were_equal_stay_equal() -> None:
    one, other = compiler.Flags(), compiler.Flags()
    one.nrt = False  # as it is by default
    assert one == other
    assert hash(one) == hash(other)
    for method in ("__eq__", "__hash__", "values"):
        assert getattr(targetconfig.TargetConfig, method).__module__ == "numba.core.targetconfig"
        assert method not in vars(compiler.Flags)


def test_fast_flags_are_flags_of_numba() -> None:
    plain = compiler.Flags()
    # the dictionary of what was set is all that a flag holds
    assert {*getattr(targetconfig.TargetConfig, "__slots__", ()), *getattr(plain, "__dict__", ())} == {"_values"}
    assert {name: getattr(plain, name) for name in plain.options} == numba_private._DEFAULTS == plain.values()
    for name, option in plain.options.items():
        for value in (option.default, *((not option.default,) if isinstance(option.default, bool) else ())):
            changed, fast = plain.copy(), Flags()
            changed._values[name] = fast._values[name] = value
            assert fast == changed == fast.copy() == Flags(changed)
            assert hash(fast) == hash(changed) == hash(fast.copy())
            assert (changed == plain) == (fast == plain) == (plain == fast) == (fast == Flags())
            assert {changed: 1}.get(fast) == {fast: 1}.get(changed) == 1
            assert type(fast.copy()) is Flags
    assert Flags() != "flags"


def test_comparing_fast_flags_reads_no_property(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(flags: Any) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(compiler.Flags, "values", refuse)
    one, other = Flags(), Flags()
    one.nrt = other.nrt = True
    assert one == other
    assert hash(one) == hash(other)
    other.nrt = False
    assert one != other


def test_the_compiler_takes_its_flags_and_library_from_us() -> None:
    seen = []

    class Compiler(FastCompiler):
        def define_pipelines(self) -> Any:
            seen.append(targetconfig.ConfigStack.top_or_none())
            return super().define_pipelines()

    assert numba.njit(pipeline_class=Compiler)(lambda number: number + 1)(1) == 2
    assert type(seen[0]) is Flags


def test_parts_are_linked_into_their_callers_and_have_no_machine_code() -> None:
    @inner
    def part(number: int) -> int:
        return 2 * number

    @kernel
    def whole(number: int) -> int:
        return part(number) + 1

    for each in (part, whole):
        each._cache = dispatcher.NullCache()  # a function of a test is not kept
    assert whole(3) == 7
    (of_part,), (of_whole,) = part.overloads.values(), whole.overloads.values()
    assert of_part.library in of_whole.library._linking_libraries
    assert type(of_part.library) is numba_private._Part
    assert not [f for f in of_part.library._final_module.functions if f.linkage == binding.Linkage.external]
    (made,) = [f for f in of_part.library._shared_module.functions if f.name == of_part.fndesc.mangled_name]
    assert made.linkage == binding.Linkage.linkonce_odr


def test_a_cache_has_the_parts_that_are_read() -> None:
    cache = Cache(siphash.siphash_words.py_func)
    impl = cache._impl
    assert isinstance(impl._locator_classes, list)
    assert isinstance(cache._cache_file, File)
    assert cache._cache_path == impl.locator.get_cache_path()
    assert cache._cache_file._data_name_pattern == f"{impl.filename_base}.{{number:d}}.nbc"
    assert Path(cache._cache_file._index_path) == Path(cache._cache_path, f"{impl.filename_base}.nbi")
    assert isinstance(siphash.siphash_words._cache, Cache)
    _, machine, code = cache._index_key(numba.int64(numba.int64), codegen.JITCPUCodegen("test"))
    assert machine == codegen.JITCPUCodegen("test").magic_tuple()
    assert len(code) == 2


def test_numba_tells_when_it_compiles() -> None:
    with event.install_recorder("numba:compile") as recorder:
        assert numba.njit(lambda number: 3 * number)(1) == 3
    assert [each.status for _, each in recorder.buffer] == [event.EventStatus.START, event.EventStatus.END]
