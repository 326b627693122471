"""Compiled loops that several folders of the package share."""
