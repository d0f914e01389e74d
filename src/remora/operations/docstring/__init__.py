"""Docstrings: what one should say, in which style, and the one edit that writes or mends it."""
