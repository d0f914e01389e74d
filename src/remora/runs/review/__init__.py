"""Review of change sets, which can be accepted, rejected or reverted."""
