"""Engines: each of them executes plans on the tables that it opens."""

from .base import ENGINES, Change, Engine, ReleasedTable, Transformed, engine, transform

__all__ = ["ENGINES", "Change", "Engine", "ReleasedTable", "Transformed", "engine", "transform"]
