"""PrivateTree: a tree grown and released under differential privacy."""
