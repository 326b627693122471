"""Compiled loops that several folders of the package share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Bytes = NDArray[np.uint8]
UInts32 = NDArray[np.uint32]
Words = NDArray[np.uint64]
# codes of values, in the smallest type that holds them
Codes = NDArray[np.unsignedinteger]
# of a `np.dtype` with named fields
Records = NDArray[Any]
