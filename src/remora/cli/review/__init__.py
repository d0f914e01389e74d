"""Commands that accept, reject, revert and review changes."""
