"""Isolated runs of project code: its tests, and single calls of its functions."""
