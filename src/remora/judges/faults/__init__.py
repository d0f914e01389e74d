"""Faults that can be planted in functions."""
