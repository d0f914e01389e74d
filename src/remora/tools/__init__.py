"""Tools: scripts that access a file tree only through a fixed set of host functions."""
