"""The engine that works in memory, with compiled loops."""

from __future__ import annotations

from . import maps, partitions, randomize
from .base import Executors

_executors = Executors()
_executors.register("partition")(partitions.partition)
_executors.register("maps")(maps.recode)
_executors.register("randomize")(randomize.execute)
execute = _executors.execute
