"""Value generalisation hierarchies: from a value up to ``*``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import SchemaError

TOP = "*"


@dataclass(frozen=True)
class Hierarchy:
    """A tree of values, given as the path of each value up to the top.

    Parameters
    ----------
    paths : mapping of str to tuple of str
        For every original value its generalisations, from the value itself
        (level 0) to the top (the last level). All paths have the same length.

    Examples
    --------
    >>> h = Hierarchy({"nurse": ("nurse", "health", "*"), "cook": ("cook", "service", "*")})
    >>> h.generalize("cook", 1)
    'service'
    >>> h.common(["nurse", "cook"])
    '*'
    """

    paths: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        lengths = {len(path) for path in self.paths.values()}
        if len(lengths) > 1:
            raise SchemaError(
                f"a hierarchy has paths of {len(lengths)} different lengths",
                hint="give every value the same number of levels; repeat a value to fill up",
            )
        for value, path in self.paths.items():
            if not path or path[0] != value:
                raise SchemaError("a hierarchy path does not begin with its own value")

    @property
    def n_levels(self) -> int:
        """Number of levels, the original values included."""
        return len(next(iter(self.paths.values()))) if self.paths else 0

    def generalize(self, value: str, level: int) -> str:
        """The ancestor of `value` at `level` (0 is the value itself)."""
        return self.paths[value][level]

    def common(self, values: Iterable[str]) -> str:
        """The lowest common ancestor of `values`."""
        chosen = [self.paths[value] for value in values]
        for level in range(self.n_levels):
            ancestors = {path[level] for path in chosen}
            if len(ancestors) == 1:
                return ancestors.pop()
        return TOP

    @classmethod
    def from_csv(cls, path: str | Path, separator: str = ";") -> Hierarchy:
        """Read a hierarchy in ARX's format: one line a value, from the value to the top."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except OSError as error:
            raise SchemaError(
                f"cannot read the hierarchy {Path(path).name}: {error.strerror}"
            ) from None
        paths = {}
        for line in text.splitlines():
            if line.strip():
                cells = tuple(cell.strip() for cell in line.split(separator))
                paths[cells[0]] = cells
        return cls(paths)
