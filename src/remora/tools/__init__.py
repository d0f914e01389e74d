"""Tools: scripts that run on a tree through a closed set of host functions."""
