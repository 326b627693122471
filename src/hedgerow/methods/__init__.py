"""Methods that protect a table, one file per published method."""
