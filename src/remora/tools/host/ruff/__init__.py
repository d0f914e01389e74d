"""Ruff on a private copy: findings, fixes, configuration."""
