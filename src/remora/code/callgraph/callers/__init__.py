"""Search for the callers of a node, based on its names and aliases."""
