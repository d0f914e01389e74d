"""Judges of docstrings: rules that find contradictions between docstrings and code."""
