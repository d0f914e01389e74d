"""Name lookup: finds the node for a name that a user typed, or suggests names."""
