"""The turn loop of one agent: append, then apply, then act."""
