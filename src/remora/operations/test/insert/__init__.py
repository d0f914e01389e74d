"""Insertion of tests into a test file and their removal, including imports, positions and names."""
