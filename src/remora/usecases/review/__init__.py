"""Review of changes in part, and withdrawal of verdicts."""
