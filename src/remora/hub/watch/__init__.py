"""Watchers: changed files as the system reports them, and if the report is complete."""
