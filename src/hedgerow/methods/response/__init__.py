"""Randomized response: the mathematics of Guo, Ying & Wu on contingency tables."""
