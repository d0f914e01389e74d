"""Prompt renderers: pure functions, each with a name and a version."""
