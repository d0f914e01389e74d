"""The commands that run agents and show their results."""
