"""PrivateTree: a tree grown and released under differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction

# nothing heavy is loaded here: pages of the studio ask as well
# the most leaves, and people at epsilon 1 for each leaf
LEAVES, _PER_LEAF = 128, 300
# of epsilon: less drowns everything in noise, more promises nothing
LEAST, MOST = 0.001, 1_000.0


def meaning(epsilon: float) -> dict[str, str]:
    """Return what epsilon means, as text: the factor of odds, and how many of 100 guesses can be right, rounded up."""
    factor = math.exp(min(epsilon, 700))
    return {"epsilon": f"{epsilon:g}", "factor": f"{factor:,.3g}", "right": f"{math.ceil(100 * factor / (1 + factor))}"}


def depth_of(people: int, epsilon: Fraction) -> int:
    """Return how many levels can be grown for a noisy number of rows, at an epsilon for each row."""
    leaves = people * float(epsilon) / _PER_LEAF
    return max(0, min(LEAVES.bit_length() - 1, math.floor(math.log2(leaves)))) if leaves >= 1 else 0
