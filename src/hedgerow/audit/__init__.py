"""Measure what a release gives away, and what it is still good for."""
