"""Rendering of records for a terminal."""
