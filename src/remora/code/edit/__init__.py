"""Edits of Python source: lines, positions, edits, imports and comments for tools."""
