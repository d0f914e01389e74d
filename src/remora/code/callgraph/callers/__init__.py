"""The callers of a function, found backward through every name it is known by."""
