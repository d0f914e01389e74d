"""Questions about nodes, answered from any snapshot of the code."""
