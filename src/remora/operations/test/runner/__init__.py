"""Isolated runs of project code: tests, and single function calls."""
