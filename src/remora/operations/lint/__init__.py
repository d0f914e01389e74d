"""Lint: remove findings of ruff."""
