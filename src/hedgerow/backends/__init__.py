"""Engines: each executes plans on tables that it holds."""

from .base import ENGINES, Engine, ReleasedTable, Transformed, engine, transform

__all__ = ["ENGINES", "Engine", "ReleasedTable", "Transformed", "engine", "transform"]
