"""Docstrings: expected content, style, and the edit that adds or updates a docstring."""
