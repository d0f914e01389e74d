"""Review of change sets in part, and withdrawal of verdicts."""
