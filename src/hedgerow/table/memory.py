"""Whether two columns are the same cells of memory, so that their values cannot differ."""

from __future__ import annotations

import pyarrow as pa


def same_memory(one: pa.Array | pa.ChunkedArray, other: pa.Array | pa.ChunkedArray) -> bool:
    """Whether two columns share type, place and length in memory, chunk by chunk."""
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
