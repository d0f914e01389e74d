"""Append-only event streams on disk (the Long Track)."""
