"""Tables as codes and dictionaries."""
