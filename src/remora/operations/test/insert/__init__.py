"""Insertion of new tests into a test file, and removal: imports, position, names."""
