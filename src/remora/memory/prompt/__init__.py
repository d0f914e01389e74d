"""Prompt renderers. Each renderer is a pure function with a name and a version."""
