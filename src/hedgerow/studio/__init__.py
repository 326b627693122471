"""Serve local web pages that lead from a table to a verified release in five steps."""
