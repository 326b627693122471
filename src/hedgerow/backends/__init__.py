"""Where plans are executed."""

from .base import ENGINES, Engine, ReleasedTable, Transformed, engine, transform

__all__ = ["ENGINES", "Engine", "ReleasedTable", "Transformed", "engine", "transform"]
