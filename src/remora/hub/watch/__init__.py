"""Watchers: changed files as the system reports them, and whether the report is complete."""
