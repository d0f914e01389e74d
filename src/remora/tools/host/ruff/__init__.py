"""Findings, fixes and configuration of ruff, run on a private copy."""
