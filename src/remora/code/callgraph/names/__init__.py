"""Name-based search for imports, candidate calls and call targets."""
