"""Run the command line with ``python -m hedgerow``."""

from .cli import main

main()
