"""Insertion of a new test into a test file: imports, position, names."""
