"""Lint: remove ruff findings."""
