"""Lookup of names that users type: nodes or suggestions."""
