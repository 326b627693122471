"""Columns as cells of memory."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import pyarrow as pa

# glibc keeps what numpy freed; other C libraries have no such calls
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None
_trim, _tune = (getattr(_libc, name, None) for name in ("malloc_trim", "mallopt"))
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
_LARGE = 1 << 20


def keep_small() -> None:
    """Have freed arrays go back to the system at once from now on: C libraries learn to keep them.

    What is set once stays as it is: glibc no longer raises the size from which memory is the
    system's own, and threads share two heaps.
    """
    if _tune is not None:
        _tune(_MMAP_THRESHOLD, _LARGE)
        _tune(_ARENA_MAX, 2)


def give_back() -> None:
    """Give freed memory back to the system, which allocators keep between the steps of long work."""
    pa.default_memory_pool().release_unused()
    if _trim is not None:
        _trim(0)


def filled(array: pa.Array, value: Any) -> pa.Array:
    """The array with a value in place of missing ones; itself where none is missing."""
    return array.fill_null(value) if array.null_count else array


def one_piece(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The chunks of a column as one array, where its type can hold them all."""
    if isinstance(array, pa.ChunkedArray) and array.num_chunks != 1:
        array = array.combine_chunks()
    whole = isinstance(array, pa.ChunkedArray) and array.num_chunks == 1
    return array.chunk(0) if whole else array


def storage(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The values of an array as they lie in memory; of an extension type those that it stands on."""
    if not isinstance(array.type, pa.BaseExtensionType):
        return array
    if not isinstance(array, pa.ChunkedArray):
        return array.storage
    return pa.chunked_array([c.storage for c in array.chunks], array.type.storage_type)


def same_memory(one: pa.Array | pa.ChunkedArray, other: pa.Array | pa.ChunkedArray) -> bool:
    """Whether two columns share type, place and length in memory, so that they cannot differ."""
    if one is other:
        return True
    if isinstance(one, pa.ChunkedArray):
        return one.num_chunks == other.num_chunks and all(
            map(same_memory, one.chunks, other.chunks)
        )
    if (one.type, one.offset, len(one)) != (other.type, other.offset, len(other)):
        return False
    if pa.types.is_dictionary(one.type) and not same_memory(one.dictionary, other.dictionary):
        return False
    return _addresses(one) == _addresses(other)


def _addresses(array: pa.Array) -> list[int | None]:
    return [None if buffer is None else buffer.address for buffer in array.buffers()]
