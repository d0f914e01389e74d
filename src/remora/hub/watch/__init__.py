"""Watchers, which report changed files and whether the report is complete."""
