"""Commands that run agents and show results."""
