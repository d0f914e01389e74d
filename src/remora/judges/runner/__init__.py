"""Isolated runs of project code, such as tests and single function calls."""
