"""Private copies of a project: taken once, refreshed, compared and restored."""
