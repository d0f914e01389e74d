"""Insertion and removal of tests in a test file, including their imports, positions and names."""
