"""Paths, addresses, control and requests of the daemon's process."""
