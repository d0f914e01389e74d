"""Composition root: builds connected objects from the configuration."""
