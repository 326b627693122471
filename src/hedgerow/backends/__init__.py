"""Where plans are executed."""

from .base import ENGINES, Engine, Transformed, engine, transform

__all__ = ["ENGINES", "Engine", "Transformed", "engine", "transform"]
