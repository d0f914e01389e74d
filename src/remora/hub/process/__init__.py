"""The daemon's process: paths, addresses, control and requests."""
