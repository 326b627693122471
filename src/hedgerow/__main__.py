"""``python -m hedgerow``."""

from .cli import main

main()
