"""Review of changes, which can be accepted, rejected or reverted."""
