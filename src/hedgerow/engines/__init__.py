"""Where plans are executed; importing the package registers every executor."""

from . import maps, memory, randomize

__all__ = ["maps", "memory", "randomize"]
