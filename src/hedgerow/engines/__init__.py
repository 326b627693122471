"""Where plans are executed."""

from .base import Engine, Transformed, engine, transform

__all__ = ["Engine", "Transformed", "engine", "transform"]
