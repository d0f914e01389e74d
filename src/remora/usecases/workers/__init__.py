"""Workers of an engine: found and checked."""
