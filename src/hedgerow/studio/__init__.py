"""A page in the browser of this machine alone: from a table to a verified release in five steps."""
