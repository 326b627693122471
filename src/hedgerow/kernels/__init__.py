"""Compiled loops that several folders of the package share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# of a `np.dtype` with named fields
Records = NDArray[Any]
