"""Name lookup, which finds the node for a name that a user typed, or suggests similar names."""
