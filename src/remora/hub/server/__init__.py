"""Servers of the daemon: Unix socket and loopback HTTP."""
