"""Review of change sets: accept, reject and revert."""
