"""Runs as Inspect evaluation logs."""
