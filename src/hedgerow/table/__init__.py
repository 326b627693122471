"""1 READ: sources to codes and dictionaries, and back to the kind of frame or file that came in."""

from .encode import Binned, Column, binned
from .sources import read
from .table import Table

__all__ = ["Binned", "Column", "Table", "binned", "read"]
