"""Exceptions that a function raises, with their conditions in English."""
