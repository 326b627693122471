"""1 READ: sources to codes and dictionaries, and back to the kind of frame or file that came in."""

from .bins import Bins, bins_between, bins_of
from .column import Column
from .counts import ValueCounts
from .sources import read
from .table import Table

__all__ = ["Bins", "Column", "Table", "ValueCounts", "bins_between", "bins_of", "read"]
