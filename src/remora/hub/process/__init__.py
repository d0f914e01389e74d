"""The daemon's process as commands see it: paths, addresses, control and requests."""
