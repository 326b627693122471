"""Serve local web pages that lead from a table to a verified release in five steps."""

from ..texts import read_toml

# the words of pages and messages, by group and key
WORDS = read_toml(__package__, "words.toml")
