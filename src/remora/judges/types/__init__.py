"""Judges of annotations: type checkers, and what they accept."""
