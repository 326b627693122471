"""Engines: each of them executes plans on the tables that it opens."""

from .base import ENGINES, Engine, ReleasedTable, Transformed, engine, transform

__all__ = ["ENGINES", "Engine", "ReleasedTable", "Transformed", "engine", "transform"]
