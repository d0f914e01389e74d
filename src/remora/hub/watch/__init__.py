"""Watchers: what the system tells of changed files, and whether that is all of it."""
