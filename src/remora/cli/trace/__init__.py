"""Commands for recorded streams."""
