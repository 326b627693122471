"""2 PROTECT: one file per published method."""
