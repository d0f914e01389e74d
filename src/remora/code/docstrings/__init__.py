"""Docstrings: what they document of their code, and what contradicts it."""
